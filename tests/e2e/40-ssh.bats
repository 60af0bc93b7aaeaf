#!/usr/bin/env bats
# Keys, agents, and sessions that die, against a real sshd.

load helper

# Configures the host `mine` with these lines, which override the common ones. Sets $config.
host_with() { # LINE...
    config=$PWD/config
    {
        printf 'Host mine\n'
        printf '    %s\n' "$@"
        cat <<EOF
    HostName 127.0.0.1
    Port $RIG_PORT_sshd
    User $RIG_USER
    UserKnownHostsFile $RIG_KNOWN_HOSTS
    GlobalKnownHostsFile /dev/null
EOF
    } >"$config"
}

run_mine() { # ARG...
    run --separate-stderr "$profgrab_program" --ssh-config "$config" --host mine --port "$RIG_PORT_rude" "$@" heap
}

# Makes a key of that type, and lets the sshd accept it.
make_key() { # TYPE FILE [PASSPHRASE]
    ssh-keygen -q -t "$1" -N "${3-}" -f "$2"
    cat "$2.pub" >>"$RIG_DIR/sshd/authorized_keys"
}

# The agent closes bats' descriptors, because bats waits until no process has them open.
agent_start() {
    eval "$(ssh-agent -a "$PWD/agent" 3>&- 4>&-)" >/dev/null
}

agent_stop() {
    [[ -z ${SSH_AGENT_PID-} ]] || kill "$SSH_AGENT_PID"
    unset SSH_AGENT_PID
}

# Runs also after a failed test.
teardown() {
    agent_stop
    e2e_teardown
}

@test "ed25519 and ecdsa key files log in, in OpenSSH's format and in PEM" {
    local type
    export ASAN_OPTIONS="${ASAN_OPTIONS-}:fast_unwind_on_malloc=0"
    forgive_libssh2
    for type in ed25519 ecdsa; do
        make_key "$type" "key_$type"
        host_with "IdentityFile $PWD/key_$type" 'IdentityAgent none'
        run_mine
        assert_status 0
    done
    ssh-keygen -q -p -N '' -m PEM -f key_ecdsa
    run_mine
    assert_status 0
    dir=$("$profgrab_program" bundle extract "$output")
    grep -q "\"authentication\": \"key $PWD/key_ecdsa\"" "$dir/manifest.json"
}

@test "the agent logs in with ed25519 and ecdsa, also for a configured key with a passphrase" {
    make_key ed25519 locked secret
    printf '#!/bin/sh\necho secret\n' >askpass
    chmod +x askpass
    agent_start
    DISPLAY=:0 SSH_ASKPASS=$PWD/askpass SSH_ASKPASS_REQUIRE=force ssh-add -q locked </dev/null
    host_with "IdentityFile $PWD/locked" "IdentitiesOnly yes" "IdentityAgent $PWD/agent"
    run_mine
    assert_status 0
    dir=$("$profgrab_program" bundle extract "$output")
    grep -q '"authentication": "agent ssh-ed25519 SHA256:' "$dir/manifest.json"
    make_key ecdsa other
    ssh-add -q -D
    ssh-add -q other
    host_with 'IdentityFile none' "IdentityAgent $PWD/agent"
    run_mine
    agent_stop
    assert_status 0
}

@test "an agent with many keys offers as many as the server allows, the configured one first" {
    local i
    agent_start
    for ((i = 0; i < 8; i++)); do
        ssh-keygen -q -t ed25519 -N '' -f "stray$i"
        ssh-add -q "stray$i"
    done
    host_with "IdentityFile $RIG_KEY" "IdentityAgent $PWD/agent"
    run_mine
    assert_status 1
    assert_stderr_has 'Too many authentication failures'
    assert_stderr_has 'it had refused agent ssh-ed25519 SHA256:'
    assert_stderr_has 'IdentitiesOnly yes'
    # The configured key is first if the agent has it too, and the only one with IdentitiesOnly.
    ssh-add -q "$RIG_KEY"
    run_mine
    assert_status 0
    ssh-add -q -d "$RIG_KEY"
    host_with "IdentityFile $RIG_KEY" "IdentityAgent $PWD/agent" 'IdentitiesOnly yes'
    run_mine
    agent_stop
    assert_status 0
}

@test "an agent that has ended or does not answer is reported and skipped" {
    host_with "IdentityFile $RIG_KEY" "IdentityAgent $PWD/nobody"
    run_mine
    assert_status 0
    ssh-keygen -q -t ed25519 -N '' -f unknown
    host_with "IdentityFile $PWD/unknown" "IdentityAgent $PWD/nobody"
    run_mine
    assert_status 1
    assert_stderr_has "cannot reach the SSH agent at $PWD/nobody"
    python3 -c '
import socket, sys, time
s = socket.socket(socket.AF_UNIX); s.bind("silent"); s.listen(); print("ready", flush=True); time.sleep(30)' >ready 3>&- &
    local pid=$! i
    wait_for grep -q ready ready
    host_with "IdentityFile $RIG_KEY" "IdentityAgent $PWD/silent"
    run_mine --timeout 1s
    kill "$pid"
    assert_status 0
}

# freeze NAME session|all: fetches `heap cpu=5` through the sshd NAME, and during cpu stops its session, or the listener too.
# profgrab's messages are in `log`, its standard output in `path`, its exit code in $status.
freeze() {
    local i pid parent child
    "$profgrab_program" --ssh-config "$SSH_CONFIG" --timeout 2s --host "$1-01" --port "$RIG_PORT_rude" heap cpu=5 >path 2>log 3>&- &
    pid=$!
    wait_for grep -q 'taking 5s' log
    # The process that serves the session is the last of the sshd's children.
    read -r parent _ <"$RIG_DIR/pids/$1"
    child=$(rig_session "$parent")
    [[ $2 == session ]] || kill -STOP "$parent"
    kill -STOP "$child"
    status=0
    wait "$pid" || status=$?
    kill -CONT "$child" "$parent"
}

@test "a session that stops answering during an item is replaced, the item is fetched again, and both are reported" {
    rig_sshd frozen frozen-01
    freeze frozen session
    rig_end frozen
    ((status == 0)) || fail "status $status" "$(cat log)"
    grep -q 'cpu=5: taken again over a new SSH session' log || fail "$(cat log)"
    "$profgrab_program" bundle verify "$(cat path)"
}

@test "a sshd that stops answering ends the run after --timeout, and the collected items are bundled" {
    rig_sshd icy icy-01
    freeze icy all
    rig_end icy
    ((status == 3)) || fail "status $status" "$(cat log)"
    grep -q 'cpu=5: the SSH session is dead: no data arrived for [2-4] s; another could not be opened: ' log || fail "$(cat log)"
    "$profgrab_program" bundle verify "$(cat path)"
}

@test "endless jumps are refused with a hint" {
    config=$PWD/config
    printf 'Host mine\n    HostName 127.0.0.1\n    ProxyJump round\nHost round\n    HostName 127.0.0.2\n    ProxyJump mine\n' >config
    run_mine
    [[ $status != 0 ]]
    assert_stderr_has 'jump'
}

@test "a sshd that refuses more logins is reported with a hint" {
    rig_sshd busy busy-01 'MaxStartups 1'
    # A connection without a login takes the only slot, once the rig's own probe has left it.
    local banner="" i
    for ((i = 0; i < 100; i++)); do
        exec 7<>"/dev/tcp/127.0.0.1/$RIG_PORT_busy"
        read -r -t 10 banner <&7 || true
        [[ $banner != SSH-* ]] || break
        exec 7>&-
        sleep 0.05
    done
    [[ $banner == SSH-* ]]
    run_profgrab --connect-timeout 3s --host busy-01 --port "$RIG_PORT_rude" heap
    assert_status 1
    assert_stderr_has 'MaxStartups'
    assert_stderr_has '--parallel 4'
    refute_stderr_has 'no SSH server'
    # forward has only one host and no such option.
    run_profgrab forward --connect-timeout 3s --host busy-01 --port "$RIG_PORT_rude" --listen 0
    exec 7>&-
    rig_end busy
    assert_status 1
    assert_stderr_has 'MaxStartups'
    assert_stderr_has 'wait a little and try again'
    refute_stderr_has '--parallel'
}
