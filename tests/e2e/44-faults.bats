#!/usr/bin/env bats
# SSH faults in the middle of a run: collected items are kept, lost ones are fetched again, and no wait exceeds its deadline.
# 46-ssh-table.bats tests faults before that.

load helper

# $SLOW: the program runs this many times slower than usual under valgrind.
SLOW=${SLOW:-1}

setup_file() {
    # shellcheck disable=SC2119 # its arguments are lines for sshd, none here
    rig_start
    rig_service rude
    export SSH_CONFIG=$RIG_SSH_CONFIG
    echo "faulty $(cut -d' ' -f1,2 "$RIG_DIR/sshd/host_key.pub")" >>"$RIG_KNOWN_HOSTS"
    rig_fixture bad -ssh "127.0.0.1:$RIG_PORT_sshd"
}

# Under valgrind a login takes longer, too.
patience=()
((SLOW == 1)) || patience=(--connect-timeout $((15 * SLOW))s)

# in_background ARG...: runs profgrab as $pid, with its output in ./path and ./log.
in_background() {
    "$profgrab_program" --ssh-config "$SSH_CONFIG" "${patience[@]}" "$@" >path 2>log 3>&- 4>&- &
    pid=$!
}

# until_logged TEXT: waits until it is in ./log.
until_logged() {
    local deadline=$((SECONDS + 20 * SLOW))
    until grep -qs -e "$1" log; do
        ((SECONDS < deadline)) || fail "no \"$1\" in the log:" "$(cat log)"
        sleep 0.02
    done
}

# Waits for $pid and sets $status, $output and $stderr as run_profgrab does.
wait_for_end() {
    status=0
    wait "$pid" || status=$?
    output=$(cat path)
    # shellcheck disable=SC2034 # for the assertions
    stderr=$(cat log)
}

# Prints the process that serves the last session of an sshd.
session_of() { # SSHD
    sed -n 's/^User child is on pid \([0-9]*\).*/\1/p' "$RIG_DIR/$1/log" | tail -n 1
}

manifest_of() { # BUNDLE: prints its manifest
    tar xzOf "$1" --wildcards '*/manifest.json'
}

# ran_within SECONDS: fails if more time has passed since $began.
ran_within() {
    local took=$((SECONDS - began))
    ((took <= $1 * SLOW)) || fail_run "it took $took s"
}

# inventory LINE...: an inventory with these hosts; its services are rude, and hole, which never answers.
inventory() {
    {
        echo 'version: 1'
        echo 'services:'
        echo "  rude: { port: $RIG_PORT_rude }"
        echo "  hole: { port: $RIG_PORT_bad_blackhole, host: 127.0.0.1 }"
        echo 'hosts:'
        printf '  %s\n' "$@"
    } >inventory.yaml
    chmod 600 inventory.yaml
    export PROFGRAB_INVENTORY=$PWD/inventory.yaml
}

# ---- lost sessions ------------------------------------------------------------------------------------------------

@test "a session killed during a profile is replaced, the profile is fetched again, and both are reported" {
    rig_sshd once once-01
    in_background --host once-01 --port "$RIG_PORT_rude" heap cpu=3s
    until_logged 'taking 3s'
    kill -KILL "$(session_of once)"
    wait_for_end
    rig_end once
    assert_status 0
    assert_stderr_has 'taken again over a new SSH session, because the one before was lost'
    "$profgrab_program" bundle verify "$output"
    manifest_of "$output" >manifest.json
    grep -q '"rule": "renewed"' manifest.json
    [[ $(grep -c '"status": "ok"' manifest.json) == 2 ]]
}

@test "a session killed between two profiles is replaced, and that is reported" {
    rig_sshd between between-01
    # No profile is in transfer, because another client uses the profiler.
    in_background --host between-01 --port "$RIG_PORT_rude" --path /held=2/debug/pprof heap cpu=6s
    until_logged 'taking 6s'
    sleep 1
    kill -KILL "$(session_of between)"
    wait_for_end
    rig_end between
    assert_status 0
    assert_stderr_has 'taken again over a new SSH session'
    "$profgrab_program" bundle verify "$output"
}

@test "a session killed while its first channel opens is replaced" {
    rig_sshd early early-01
    inventory 'early-01: { services: [hole] }'
    in_background --host early-01 --connect-timeout 4s
    until_logged 'connected'
    sleep 0.5
    kill -KILL "$(session_of early)"
    wait_for_end
    assert_status 1
    assert_stderr_has "127.0.0.1 port $RIG_PORT_bad_blackhole in time"
    [[ $(grep -c '^Accepted publickey' "$RIG_DIR/early/log") == 2 ]] || fail_run
    rig_end early
}

@test "a session killed during the index page is replaced, and that is reported for the service" {
    rig_sshd page page-01
    in_background --host page-01 --port "$RIG_PORT_rude" --path /slow=2/debug/pprof heap
    until_logged 'connected'
    sleep 1
    kill -KILL "$(session_of page)"
    wait_for_end
    rig_end page
    assert_status 0
    assert_stderr_has ': taken again over a new SSH session'
    manifest_of "$output" >manifest.json
    grep -q '"rule": "renewed"' manifest.json
}

@test "a session killed during a large body: the body of the second attempt has nothing of the first" {
    rig_sshd large large-01
    in_background -v --host large-01 --port "$RIG_PORT_rude" --path /drip=4/debug/pprof heap
    until_logged 'index: '
    sleep 1
    kill -KILL "$(session_of large)"
    wait_for_end
    rig_end large
    assert_status 0
    assert_stderr_has 'taken again over a new SSH session'
    "$profgrab_program" bundle verify "$output"
    [[ $(tar tzf "$output" | grep -c heap) == 1 ]]
}

@test "after a sshd ends for good, the collected items are bundled, and the fault is reported once" {
    local began=$SECONDS
    rig_sshd gone gone-01
    in_background --host gone-01 --port "$RIG_PORT_rude" --timeout $((5 * SLOW))s heap cpu=20s trace=1s
    until_logged 'taking 20s'
    # First the process that listens: otherwise a new session would be opened at once.
    kill -KILL "$(cut -d' ' -f1 "$RIG_DIR/pids/gone")" "$(session_of gone)"
    wait_for_end
    rig_end gone
    assert_status 3
    ran_within 12
    assert_stderr_has 'cpu=20s: the SSH session was lost'
    assert_stderr_has 'another could not be opened'
    assert_stderr_has 'trace=1s: not fetched: the SSH session was lost'
    "$profgrab_program" bundle verify "$output"
}

@test "a stopped sshd ends the run within its deadlines" {
    local began=$SECONDS
    rig_sshd stopped stopped-01
    in_background --host stopped-01 --port "$RIG_PORT_rude" --connect-timeout $((3 * SLOW))s --timeout $((3 * SLOW))s heap cpu=20s
    until_logged 'taking 20s'
    local child parent
    child=$(session_of stopped)
    parent=$(cut -d' ' -f1 "$RIG_DIR/pids/stopped")
    kill -STOP "$parent" "$child"
    wait_for_end
    kill -CONT "$parent" "$child"
    rig_end stopped
    assert_status 3
    # Silence until the session counts as dead, then one login without an answer.
    ran_within 15
    assert_stderr_has 'cpu=20s: the SSH session is dead: no data arrived for'
    assert_stderr_has 'another could not be opened'
    "$profgrab_program" bundle verify "$output"
}

@test "a jump host's session killed in the middle: the whole route is opened again" {
    rig_sshd bastion bastion-01
    rig_alias behind-01 sshd 'ProxyJump bastion-01'
    in_background --host behind-01 --port "$RIG_PORT_rude" heap cpu=3s
    until_logged 'taking 3s'
    kill -KILL "$(session_of bastion)"
    wait_for_end
    rig_end bastion
    assert_status 0
    assert_stderr_has 'taken again over a new SSH session'
    "$profgrab_program" bundle verify "$output"
}

# ---- new keys during a session --------------------------------------------------------------------------------------

# libssh2 1.10 does not free the previous host key: a leak of 51 bytes for each exchange.
allow_rekey_leaks() {
    export ASAN_OPTIONS="${ASAN_OPTIONS-}:fast_unwind_on_malloc=0"
    forgive_libssh2
}

# same_as_direct BUNDLE PREFIX: compares its heap byte for byte with the service's answer without SSH.
same_as_direct() {
    curl -s -o direct "http://127.0.0.1:$RIG_PORT_rude/$2/debug/pprof/heap"
    tar xzOf "$1" --wildcards '*/heap.pb.gz' | cmp - direct
}

@test "new keys every 128 or 512 kB during a profile do not change a byte" {
    allow_rekey_leaks
    rig_sshd rekey rekey-01 'RekeyLimit 128K'
    run_profgrab "${patience[@]}" --host rekey-01 --port "$RIG_PORT_rude" --path /big=1/debug/pprof heap
    assert_status 0
    same_as_direct "$output" big=1
    rig_end rekey
    # ssh requests new keys by its own configuration as well; libssh2 never does. Each exchange takes ssh up to 0.14 s of processor time.
    rig_sshd rekey2 rekey-02 'RekeyLimit 512K'
    rig_alias rekey-03 rekey2 'RekeyLimit 512K'
    run_profgrab "${patience[@]}" --host rekey-03 --port "$RIG_PORT_rude" --path /big=1/debug/pprof --via openssh heap
    rig_end rekey2
    assert_status 0
    same_as_direct "$output" big=1
}

@test "a session without traffic survives new keys every second" {
    allow_rekey_leaks
    rig_sshd idle idle-01 'RekeyLimit default 1s' 'LogLevel DEBUG1'
    run_profgrab "${patience[@]}" --host idle-01 --port "$RIG_PORT_rude" --path /late=4/debug/pprof heap allocs
    assert_status 0
    refute_stderr_has 'new SSH session'
    (($(grep -c 'SSH2_MSG_KEXINIT sent' "$RIG_DIR/idle/log") > 2)) || fail "$(cat "$RIG_DIR/idle/log")"
    rig_end idle
}

# ---- few logins for many hosts ----------------------------------------------------------------------------------------

@test "twelve hosts behind a bastion that allows two logins at a time are all fetched" {
    rig_sshd gate gate-01 'MaxStartups 2:100:2'
    rig_alias 'far-*' sshd 'ProxyJump gate-01'
    inventory '"far-[01-12]": { services: [rude] }'
    run_profgrab "${patience[@]}" --host 'far-*' heap
    assert_status 0
    [[ $(tar tzf "$output" | grep -c 'heap.pb.gz') == 12 ]]
    # All hosts shared one session of the jump host.
    assert_equal "$(grep -c 'Accepted publickey' "$RIG_DIR/gate/log")" 1
    rig_end gate
}

# ---- one service that does not answer, beside one that does -------------------------------------------------------------

@test "a service that never answers does not affect another one, with a short deadline" {
    local began=$SECONDS
    inventory 'file-01: { services: [hole, rude] }'
    run_profgrab --host file-01 --timeout $((5 * SLOW))s heap allocs
    assert_status 3
    ran_within 26
    [[ $(tar tzf "$output" | grep -c 'file-01/rude/.*pb.gz') == 2 ]] || fail_run "$(tar tzf "$output")"
    assert_stderr_has "hole: "
    assert_stderr_has "127.0.0.1 port $RIG_PORT_bad_blackhole"
    "$profgrab_program" bundle verify "$output"
}

@test "one of two services may not be forwarded to: the other is fetched" {
    rig_sshd partial partial-01 "PermitOpen localhost:$RIG_PORT_rude"
    inventory 'partial-01: { services: [hole, rude] }'
    run_profgrab "${patience[@]}" --host partial-01 heap
    rig_end partial
    assert_status 3
    assert_stderr_has "hole: the SSH server does not allow forwarding to 127.0.0.1 port $RIG_PORT_bad_blackhole"
    [[ $(tar tzf "$output" | grep -c 'heap.pb.gz') == 1 ]]
}

# ---- names --------------------------------------------------------------------------------------------------------------

# In a network namespace of its own, whose only name server receives queries and never answers.
@test "a hanging resolver ends within its deadline and is reported as the cause" {
    own_network --mount true 2>/dev/null || skip 'needs network namespaces'
    # The resolver itself would wait for two minutes.
    printf '%s\n' 'nameserver 127.0.0.1' 'options timeout:30 attempts:4' >resolv.conf
    cat >silent.py <<'PY'
import os, socket, subprocess, sys
name_server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
name_server.bind(("127.0.0.1", 53))
sys.exit(subprocess.run(sys.argv[1:]).returncode)
PY
    printf 'Host *\n    UserKnownHostsFile /dev/null\n    GlobalKnownHostsFile /dev/null\n    CanonicalizeHostname no\n' >config
    local began=$SECONDS
    run --separate-stderr own_network --mount bash -c 'PATH=$PATH:/sbin:/usr/sbin; ip link set lo up && mount --bind resolv.conf /etc/resolv.conf && exec "$@"' - \
        python3 silent.py "$profgrab_program" --ssh-config "$PWD/config" --host file-03.example --port 1 \
        --timeout $((2 * SLOW))s heap
    assert_status 1
    ran_within 30
    assert_stderr_has 'cannot resolve file-03.example'
    assert_stderr_has 'hint: '
}
