#!/usr/bin/env bats
# SSH through OpenSSH's client: its keys and jumps, live master connections, and failures.

load helper

setup_file() {
    e2e_setup_file
    rig_sshd jump jump-01
    rig_sshd second second-01
    rig_sshd strict strict-01 "PermitOpen localhost:$RIG_PORT_rude"
    rig_alias 'far-*' sshd 'ProxyJump jump-01,second-01'
    # The sshd's user must be able to connect to it as well.
    chmod 777 "$RIG_DIR/rude.sock"
}

setup() {
    e2e_setup
    SSH_CONFIG=$RIG_SSH_CONFIG
}

# A run leaves no private directory.
teardown() {
    local left
    [[ -z ${master-} ]] || kill "$master" 2>/dev/null || :
    e2e_teardown
    left=$(find "$XDG_RUNTIME_DIR" "$TMPDIR" -name 'profgrab-*')
    [[ -z $left ]] || fail "left behind: $left"
}

run_via() { # HOST ARG...: fetches heap through OpenSSH
    run_profgrab --via openssh --host "$1" --port "$RIG_PORT_rude" "${@:2}" heap
}

# Configures the host `mine`; the lines override. Sets $SSH_CONFIG.
host_with() { # LINE...
    SSH_CONFIG=$PWD/config
    {
        printf 'Host mine\n'
        printf '    %s\n' "$@"
        cat <<END
    HostName 127.0.0.1
    Port $RIG_PORT_sshd
    User $RIG_USER
    IdentityFile "$RIG_KEY"
    IdentitiesOnly yes
    IdentityAgent none
    UserKnownHostsFile "$RIG_KNOWN_HOSTS"
    GlobalKnownHostsFile /dev/null
END
    } >"$SSH_CONFIG"
}

# The same host behind the jump host `bastion`, which has the lines.
behind_bastion() { # LINE...
    host_with 'ProxyJump bastion'
    {
        printf 'Host bastion\n'
        printf '    %s\n' "$@"
        cat <<END
    HostName 127.0.0.1
    Port $RIG_PORT_jump
    User $RIG_USER
    IdentityFile "$RIG_KEY"
    IdentitiesOnly yes
    IdentityAgent none
    UserKnownHostsFile "$RIG_KNOWN_HOSTS"
    GlobalKnownHostsFile /dev/null
END
    } >>"$SSH_CONFIG"
}

# Starts a master connection of the user's own to that host, at $PWD/live. Its process is $master.
start_master() { # HOST
    local i
    ssh -F "$SSH_CONFIG" -M -N -S "$PWD/live" "$1" </dev/null >/dev/null 2>master.log 3>&- 4>&- &
    master=$!
    for ((i = 0; i < 500; i++)); do
        [[ ! -S live ]] || return 0
        sleep 0.02
    done
    fail "$(cat master.log)"
}

manifest() {
    cat "$("$profgrab_program" bundle extract "$output")/manifest.json"
}

@test "the manifest has the host key, the key and the program of one hop" {
    run_via file-03
    assert_status 0
    manifest >m
    grep -q '"via": "OpenSSH_' m
    grep -q "\"authentication\": \"key $RIG_KEY\"" m
    grep -q "$(ssh-keygen -lf "$RIG_DIR/sshd/host_key.pub" | cut -d' ' -f2)" m
}

@test "three hops run over ssh, and each ends with profgrab" {
    run_via far-01
    assert_status 0
    # All three sessions have ended.
    local i name
    for name in jump second sshd; do
        for ((i = 0; i < 250; i++)); do
            [[ -n $(pgrep -P "$(cut -d' ' -f1 "$RIG_DIR/pids/$name")") ]] || break
            sleep 0.02
        done
        ((i < 250)) || fail "a session to $name is left"
    done
}

@test "several services and items share one login" {
    : >"$RIG_DIR/sshd/log"
    run_profgrab --via openssh --host file-03 --port "$RIG_PORT_rude" heap allocs goroutines threadcreate cpu=1s
    assert_status 0
    assert_equal "$(grep -c '^Accepted publickey' "$RIG_DIR/sshd/log")" 1
}

@test "a remote Unix socket is reached, which libssh2 1.10 cannot open" {
    run_profgrab --via openssh --host file-03 --unix "$RIG_DIR/rude.sock" heap
    assert_status 0
    run_profgrab --via openssh --host file-03 --unix "$RIG_DIR/nothing.sock" heap
    assert_status 1
    assert_stderr_has "the SSH server cannot connect to $RIG_DIR/nothing.sock"
}

@test "a service that does not listen and one that may not be forwarded to are reported" {
    run_profgrab --via openssh --host file-03 --port 1 heap
    assert_status 1
    assert_stderr_has 'the SSH server cannot connect to localhost port 1: Connection refused'
    run_profgrab --via openssh --host strict-01 --port "$RIG_PORT_caddy" heap
    assert_status 1
    assert_stderr_has "the SSH server does not allow forwarding to localhost port $RIG_PORT_caddy"
    assert_stderr_has 'PermitOpen'
}

@test "an unknown host and one with a changed key are refused" {
    : >known
    host_with "UserKnownHostsFile $PWD/known"
    run_via mine
    assert_status 1
    assert_stderr_has 'host key is not known: the server offered ssh-ed25519 SHA256:'
    assert_equal "$(wc -c <known)" 0
    ssh-keygen -q -t ed25519 -N '' -f other
    printf '[127.0.0.1]:%s %s\n' "$RIG_PORT_sshd" "$(cut -d' ' -f1,2 other.pub)" >known
    run_via mine
    assert_status 1
    assert_stderr_has 'HOST KEY HAS CHANGED'
    printf '@revoked * %s\n' "$(cut -d' ' -f1,2 "$RIG_DIR/sshd/host_key.pub")" >known
    run_via mine
    assert_status 1
    assert_stderr_has 'is revoked'
}

@test "--accept-new trusts an unknown host and stores its key" {
    : >known
    host_with "UserKnownHostsFile $PWD/known"
    run_via mine --accept-new
    assert_status 0
    grep -q ssh-ed25519 known
    assert_stderr_has "mine: host key: $(fingerprint_of sshd), new: trusted by ssh"
    assert_equal "$(host_key_new)" True
    run_via mine
    assert_status 0
    refute_stderr_has 'host key'
    assert_equal "$(host_key_new)" None
    # As in ssh, the key is trusted even if it cannot be stored.
    host_with "UserKnownHostsFile $PWD/none/none/known"
    run_via mine --accept-new
    assert_status 0
    assert_equal "$(host_key_new)" True
}

fingerprint_of() { # SSHD: prints the type and the fingerprint of its key
    echo "ssh-ed25519 $(ssh-keygen -lf "$RIG_DIR/$1/host_key" | cut -d' ' -f2)"
}

# Prints the manifest's host_key_new of the bundle in $output, or None.
host_key_new() {
    manifest | python3 -c 'import json, sys; print(json.load(sys.stdin)["hosts"][0]["hops"][0].get("host_key_new"))'
}

@test "a key that the server refuses is reported when nobody can be asked" {
    ssh-keygen -q -t ed25519 -N secret -f locked
    host_with "IdentityFile $PWD/locked" 'IdentityFile none'
    sed -i "/$(basename "$RIG_DIR")\/client\/id/d" "$SSH_CONFIG"
    run_via mine
    assert_status 1
    assert_stderr_has 'the server accepted none of the offered keys and methods; it allows: publickey'
}

@test "a jump host's failure is reported for the jump host" {
    : >known
    behind_bastion "UserKnownHostsFile $PWD/known"
    run_via mine
    assert_status 1
    assert_stderr_has "[127.0.0.1]:$RIG_PORT_jump: host key is not known; ssh says: No ED25519 host key is known for [127.0.0.1]:$RIG_PORT_jump"
    refute_stderr_has "127.0.0.1 port $RIG_PORT_sshd: host key"
    ssh-keygen -q -t ed25519 -N '' -f stranger
    behind_bastion "IdentityFile $PWD/stranger" 'IdentityFile none' "User $RIG_USER"
    python3 - config "$RIG_KEY" <<'END'
import sys
name, key = sys.argv[1:]
target, bastion = open(name).read().split('Host bastion')
open(name, 'w').write(target + 'Host bastion' + bastion.replace(f'IdentityFile "{key}"', ''))
END
    run_via mine
    assert_status 1
    assert_stderr_has "the proxy or jump host: $RIG_USER@127.0.0.1: Permission denied (publickey"
    refute_stderr_has 'the server accepted none of'
    behind_bastion 'Port 1'
    run_via mine
    assert_status 1
    assert_stderr_has 'the proxy or jump host: ssh: connect to host 127.0.0.1 port 1: Connection refused'
}

@test "--accept-new applies to jump hosts too, but never disables checking" {
    : >known
    behind_bastion "UserKnownHostsFile $PWD/known" 'StrictHostKeyChecking no'
    run_via mine
    assert_status 1
    assert_stderr_has 'host key is not known'
    assert_equal "$(wc -c <known)" 0
    run_via mine --accept-new
    assert_status 0
    grep -q ssh-ed25519 known
    ssh-keygen -q -t ed25519 -N '' -f other
    printf '[127.0.0.1]:%s %s\n' "$RIG_PORT_jump" "$(cut -d' ' -f1,2 other.pub)" >known
    run_via mine --accept-new
    assert_status 1
    assert_stderr_has "[127.0.0.1]:$RIG_PORT_jump: HOST KEY HAS CHANGED"
}

@test "no forwarding and no command of the configuration is used, neither for the host nor for its jump host" {
    local evil=("PermitLocalCommand yes" "LocalCommand touch $PWD/local-command" 'RemoteCommand echo remote-command' 'ForwardAgent yes'
        'ForwardX11 yes' 'ForwardX11Trusted yes' 'Tunnel yes' "LocalForward 127.0.0.1:$(rig_free_port) 127.0.0.1:1"
        "RemoteForward $(rig_free_port) 127.0.0.1:1" "DynamicForward 127.0.0.1:$(rig_free_port)" 'StrictHostKeyChecking ask' 'ControlPersist yes' 'UpdateHostKeys yes') host setting
    behind_bastion "${evil[@]}"
    # The host itself has the same lines.
    printf '%s\n' 'Host *' "${evil[@]}" >>"$SSH_CONFIG"
    # Records the settings that ssh derives from the arguments and the file of each connection.
    mkdir bin
    cat >bin/ssh <<END
#!/bin/bash
if [[ " \$* " != *' -G '* && " \$* " == *' -F '* ]]; then
    for ((i = 1; i < \$#; i++)); do [[ \${!i} != -F ]] || { next=\$((i + 1)) file=\${!next}; }; done
    $(command -v ssh) -G "\$@" >>$PWD/effective-mine
    $(command -v ssh) -F "\$file" -G bastion >>$PWD/effective-bastion
fi
exec $(command -v ssh) "\$@"
END
    chmod +x bin/ssh
    PATH=$PWD/bin:$PATH run_via mine
    assert_status 0
    for host in mine bastion; do
        for setting in 'clearallforwardings yes' 'permitlocalcommand no' 'forwardagent no' 'forwardx11 no' 'tunnel false' \
            'stricthostkeychecking true' 'controlpersist no' 'updatehostkeys false'; do
            grep -qx "$setting" "effective-$host" || fail "$host: no $setting: $(grep "^${setting% *}" "effective-$host")"
            ! grep "^${setting% *} " "effective-$host" | grep -vqx "$setting" || fail "$host: not only $setting"
        done
        ! grep -E '^(local|remote|dynamic)forward |^remotecommand ' "effective-$host" | grep -v '^remotecommand none$' || fail "$host forwards"
    done
    [[ ! -e local-command ]] || fail 'the local command ran'
}

@test "the host's own policy for host keys does not apply to its jump host" {
    local policy
    for policy in no accept-new; do
        : >known
        behind_bastion "UserKnownHostsFile $PWD/known"
        sed -i "1a StrictHostKeyChecking $policy" "$SSH_CONFIG"
        run_via mine
        assert_status 1
        assert_stderr_has 'host key is not known'
        assert_equal "$(wc -c <known)" 0
    done
}

@test "directories for sockets may have long or unusual paths" {
    local deep
    # The path has room for a socket's name, but not for the longer one that ssh binds first.
    deep=$BATS_TEST_TMPDIR/$(printf 'd%.0s' {1..200})
    deep=${deep:0:$((108 - 17 - 14))}
    mkdir -m 700 "$deep" "$BATS_TEST_TMPDIR/%h of mine"
    XDG_RUNTIME_DIR=$deep run_via far-01
    assert_status 0
    XDG_RUNTIME_DIR="$BATS_TEST_TMPDIR/%h of mine" run_via far-01
    assert_status 0
}

@test "a port without server, an unknown name and a port without SSH are reported" {
    host_with 'Port 1'
    run_via mine
    assert_status 1
    assert_stderr_has 'cannot connect to 127.0.0.1 port 1: Connection refused'
    host_with "Port $RIG_PORT_rude"
    run_via mine --timeout 2s
    assert_status 1
    refute_stderr_has 'debug1'
    refute_stderr_has 'without a message'
}

@test "a server that accepts and stays silent is reported" {
    local pid i
    python3 -c '
import socket, time
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(); print(s.getsockname()[1], flush=True); time.sleep(60)' >port 3>&- &
    pid=$!
    wait_for test -s port
    host_with "Port $(cat port)"
    run_via mine --timeout 1s
    assert_status 1
    assert_stderr_has 'the server accepts the connection but sends no data'
    behind_bastion "Port $(cat port)"
    run_via mine --timeout 1s
    kill "$pid"
    assert_status 1
    assert_stderr_has 'through the jump host or proxy on the way: the server accepts the connection but sends no data'
}

@test "no common algorithm is reported" {
    rig_sshd old old-01 'KexAlgorithms diffie-hellman-group1-sha1'
    run_via old-01
    rig_end old
    assert_status 1
    assert_stderr_has 'no matching key exchange method found'
}

@test "a live master connection is used with every --via, and stays open" {
    host_with "ControlPath $PWD/live"
    start_master mine
    : >"$RIG_DIR/sshd/log"
    run_profgrab --host mine --port "$RIG_PORT_rude" heap
    assert_status 0
    manifest | grep -q "\"via\": \"the ssh -M at $PWD/live\""
    run_profgrab --host mine --unix "$RIG_DIR/rude.sock" heap
    assert_status 0
    run_profgrab --host mine --port 1 heap
    assert_status 1
    assert_stderr_has 'the SSH server does not connect to localhost port 1'
    assert_equal "$(grep -c '^Accepted' "$RIG_DIR/sshd/log")" 0
    ssh -F "$SSH_CONFIG" -O check -S "$PWD/live" mine
}

@test "a master socket that is dead, silent or of another user is skipped" {
    local pid i
    host_with "ControlPath $PWD/live"
    python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.bind("live")'
    run_profgrab --host mine --port "$RIG_PORT_rude" heap
    assert_status 0
    rm live
    python3 -c '
import socket, time
s = socket.socket(socket.AF_UNIX); s.bind("live"); s.listen(); print("ready", flush=True); time.sleep(60)' >ready 3>&- &
    pid=$!
    wait_for test -s ready
    run_profgrab --host mine --port "$RIG_PORT_rude" heap
    kill "$pid"
    assert_status 0
    manifest | grep -q '"via": "libssh2'
    ((EUID == 0)) || return 0
    rm live
    start_master mine
    chown 64123 live
    run_profgrab --host mine --port "$RIG_PORT_rude" heap
    assert_status 0
    manifest | grep -q '"via": "libssh2'
    chown 0 live
    run_profgrab --host mine --port "$RIG_PORT_rude" heap
    assert_status 0
    manifest | grep -q '"via": "the ssh -M'
}

@test "a master connection killed during a profile is replaced by profgrab's own ssh, and the profile is fetched again" {
    local i pid
    host_with "ControlPath $PWD/live"
    start_master mine
    "$profgrab_program" --ssh-config "$SSH_CONFIG" --via openssh --host mine --port "$RIG_PORT_rude" heap cpu=2s >path 2>log 3>&- &
    pid=$!
    wait_for grep -q 'taking 2s' log
    kill -KILL "$master"
    status=0
    wait "$pid" || status=$?
    ((status == 0)) || fail "$(cat log)"
    grep -q 'taken again over a new SSH session' log || fail "$(cat log)"
    "$profgrab_program" bundle verify "$(cat path)"
}

@test "profgrab's own ssh killed during a profile is started again, and the profile is fetched again" {
    local i pid
    "$profgrab_program" --ssh-config "$SSH_CONFIG" --via openssh --host file-03 --port "$RIG_PORT_rude" heap cpu=2s >path 2>log 3>&- &
    pid=$!
    wait_for grep -q 'taking 2s' log
    kill -KILL "$(pgrep -P "$pid" ssh)"
    status=0
    wait "$pid" || status=$?
    ((status == 0)) || fail "$(cat log)"
    grep -q 'taken again over a new SSH session' log || fail "$(cat log)"
}

descendants() { # PID
    local child
    for child in $(pgrep -P "$1"); do
        echo "$child"
        descendants "$child"
    done
}

# Prints those of the processes that exist.
existing() { # PID...
    local process
    for process; do [[ ! -e /proc/$process ]] || echo "$process"; done
}

@test "a killed profgrab leaves no ssh process and no open socket" {
    local i pid carrier carriers left signal
    # After KILL no cleanup runs; the second of two TERMs ends profgrab at once.
    for signal in KILL TERM; do
        : >log # without the line of the previous run
        "$profgrab_program" --ssh-config "$SSH_CONFIG" --via openssh --host far-01 --port "$RIG_PORT_rude" cpu=60s >path 2>log 3>&- &
        pid=$!
        wait_for grep -q 'taking 1m' log
        carrier=$(pgrep -P "$pid" ssh)
        [[ -n $carrier ]] || fail "$(cat log)"
        mapfile -t carriers < <(echo "$carrier" && descendants "$carrier")
        ((${#carriers[@]} > 1)) || fail 'ssh has no process for its jump hosts'
        kill -$signal "$pid"
        # The first signal may have ended it already.
        [[ $signal == KILL ]] || kill -$signal "$pid" 2>/dev/null || :
        wait "$pid" 2>/dev/null || :
        for ((i = 0; i < 500; i++)); do
            left=$(find "$XDG_RUNTIME_DIR" -path '*/profgrab-*/*' -name '[a-z]*')
            if [[ -z $(existing "${carriers[@]}") && -z $left ]]; then break; fi
            sleep 0.02
        done
        [[ -z $(existing "${carriers[@]}") ]] || fail "ssh is left after SIG$signal"
        [[ -z $left ]] || fail "left after SIG$signal: $left"
        # The sockets of the services have numbers as names, and stay without a listener.
        rm -rf "$XDG_RUNTIME_DIR"/profgrab-*
    done
}

# ---- questions ------------------------------------------------------------------------------------------------

# Answers through SSH_ASKPASS and records the questions. Sets the variables that profgrab reads.
set_answer() { # ANSWER
    printf '#!/bin/sh\necho "$1" >>"%s/asked"\necho %s\n' "$PWD" "$1" >person
    chmod 700 person
    export SSH_ASKPASS=$PWD/person SSH_ASKPASS_REQUIRE=force
    : >asked
}

@test "a passphrase is asked for once for all items; a wrong one is not kept" {
    ssh-keygen -q -t ed25519 -N hush -f locked
    cat locked.pub >>"$RIG_DIR/sshd/authorized_keys"
    host_with "IdentityFile $PWD/locked"
    sed -i "/client\/id_ed25519/d" "$SSH_CONFIG"
    set_answer hush
    # strace records the arguments and variables of each program. It does not work with sanitizers.
    local trace=()
    [[ $profgrab_program != */gcc/* && $profgrab_program != */clang/* ]] || trace=(strace -f -v -s 100000 -e trace=execve -o calls)
    run --separate-stderr "${trace[@]}" "$profgrab_program" --ssh-config "$SSH_CONFIG" --via openssh --host mine --port "$RIG_PORT_rude" heap allocs cpu=1s
    assert_status 0
    ((${#trace[@]} == 0)) || grep -q 'execve(.*/person"' calls
    assert_equal "$(grep -rlaF hush . "$XDG_RUNTIME_DIR")" ./person
    assert_equal "$(cat asked)" "Enter passphrase for key '$PWD/locked':"
    refute_stderr_has hush
    run_profgrab bundle extract "$output"
    assert_status 0
    if grep -rq hush "$output"; then fail 'the passphrase is in the bundle'; fi
    set_answer wrong
    run_via mine
    assert_status 1
    assert_stderr_has 'the server accepted none of the offered keys and methods'
    set_answer hush
    run_via mine --batch
    assert_status 1
    assert_equal "$(cat asked)" ''
}

@test "a passphrase for the ssh of several hosts is asked for once" {
    ssh-keygen -q -t ed25519 -N hush -f locked
    cat locked.pub >>"$RIG_DIR/sshd/authorized_keys"
    host_with "IdentityFile $PWD/locked"
    sed -i "/client\/id_ed25519/d; s/^Host mine/Host mine twin third/" "$SSH_CONFIG"
    set_answer hush
    run_via mine,twin,third
    assert_status 0
    assert_equal "$(cat asked)" "Enter passphrase for key '$PWD/locked':"
}

# Adds a host that has only the keys of the lines.
locked_host() { # NAME PORT LINE...
    {
        printf 'Host %s\n    Port %s\n' "$1" "$2"
        printf '    %s\n' "${@:3}"
        cat <<END
    HostName 127.0.0.1
    User $RIG_USER
    IdentitiesOnly yes
    IdentityAgent none
    UserKnownHostsFile "$RIG_KNOWN_HOSTS"
    GlobalKnownHostsFile /dev/null
END
    } >>"$SSH_CONFIG"
}

# Makes the keys `first` (its passphrase is `first-words`) and `second` (`other-words`). The user answers the first N questions about `first`
# wrong, and all others right. Starts a configuration in which ssh asks only once for each key of the host `twin`.
locked_keys() { # N
    ssh-keygen -q -t ed25519 -N first-words -f first
    ssh-keygen -q -t ed25519 -N other-words -f second
    cat first.pub second.pub | tee -a "$RIG_DIR/jump/authorized_keys" >>"$RIG_DIR/sshd/authorized_keys"
    set_answer other-words
    cat >person <<END
#!/bin/sh
echo "\$1" >>"$PWD/asked"
case \$1 in
*first*) [ "\$(grep -c first "$PWD/asked")" -gt $1 ] && echo first-words || echo wrong ;;
*) echo other-words ;;
esac
END
    SSH_CONFIG=$PWD/config
    printf 'Host twin\n    NumberOfPasswordPrompts 1\n' >"$SSH_CONFIG"
}

assert_asked() { # KEY...
    assert_equal "$(sed 's/.*\/\(.*\)'\''.*/\1/' asked)" "$(printf '%s\n' "$@")"
}

@test "after three wrong answers, ssh goes on to the next key, and the wrong passphrase is not kept" {
    locked_keys 3
    locked_host mine "$RIG_PORT_sshd" "IdentityFile $PWD/first" "IdentityFile $PWD/second"
    locked_host twin "$RIG_PORT_sshd" "IdentityFile $PWD/first"
    run_via mine,twin --parallel 1
    assert_status 0
    assert_asked first first first second first
}

@test "a wrong passphrase is not kept after a login with a key that needs none" {
    locked_keys 3
    locked_host mine "$RIG_PORT_sshd" "IdentityFile $PWD/first" "IdentityFile $RIG_KEY"
    locked_host twin "$RIG_PORT_sshd" "IdentityFile $PWD/first"
    run_via mine,twin --parallel 1
    assert_status 0
    assert_asked first first first first
}

@test "a wrong passphrase for a jump host's ssh is not given to the ssh of the host" {
    locked_keys 3
    locked_host bastion "$RIG_PORT_jump" "IdentityFile $PWD/first" "IdentityFile $PWD/second"
    locked_host twin "$RIG_PORT_sshd" "IdentityFile $PWD/first" 'ProxyJump bastion'
    run_via twin
    assert_status 0
    assert_asked first first first second first
}

@test "a wrong passphrase is not given again for another name of the same key" {
    locked_keys 1
    ln -s first other-first
    locked_host twin "$RIG_PORT_sshd" "IdentityFile $PWD/first" "IdentityFile $PWD/other-first"
    run_via twin
    assert_status 0
    assert_asked first other-first
}

@test "a right passphrase is kept, also if the server refuses the key" {
    locked_keys 0
    # ssh asks before it offers the key, because a PEM file does not show the public half.
    ssh-keygen -q -t ecdsa -m PEM -N other-words -f stranger
    rm stranger.pub
    locked_host mine "$RIG_PORT_sshd" "IdentityFile $PWD/stranger"
    locked_host twin "$RIG_PORT_sshd" "IdentityFile $PWD/stranger" "IdentityFile $RIG_KEY"
    run_via mine,twin --parallel 1
    assert_status 3
    assert_stderr_has 'mine: 127.0.0.1 port'
    assert_asked stranger
}

@test "the passphrase of a security key is kept, its PIN is not" {
    local softkey=$rig_root/build/rig/softkey.so
    locked_keys 0
    sed -i "/^case/a *PIN*) echo 1234 ;;" person
    ssh-keygen -q -t ed25519-sk -O verify-required -w "$softkey" -N other-words -f token
    : >asked # ssh-keygen has asked for the PIN too
    cat token.pub >>"$RIG_DIR/sshd/authorized_keys"
    locked_host mine "$RIG_PORT_sshd" "IdentityFile $PWD/token" "SecurityKeyProvider $softkey"
    locked_host twin "$RIG_PORT_sshd" "IdentityFile $PWD/token" "SecurityKeyProvider $softkey"
    run_via mine,twin --parallel 1
    assert_status 0
    assert_equal "$(sed "s|$PWD/||; s/: *$//" asked)" "$(printf '%s\n' "Enter passphrase for key 'token'" \
        'mine: Enter PIN for ED25519-SK key token' 'twin: Enter PIN for ED25519-SK key token')"
}

@test "--passphrase-file answers ssh on every hop, also with --batch; a wrong one is tried once" {
    (umask 077 && echo hush >pass && echo nonsense >wrong)
    ssh-keygen -q -t ed25519 -N hush -f locked
    cat locked.pub >>"$RIG_DIR/sshd/authorized_keys"
    cat locked.pub >>"$RIG_DIR/jump/authorized_keys"
    host_with "IdentityFile $PWD/locked" 'ProxyJump bastion'
    printf 'Host bastion\n    Port %s\n    HostName 127.0.0.1\n' "$RIG_PORT_jump" >bastion
    sed '1d; /^    Port/d; /^    HostName/d; /ProxyJump/d' "$SSH_CONFIG" >>bastion
    cat bastion >>"$SSH_CONFIG"
    sed -i "/client\/id_ed25519/d" "$SSH_CONFIG"
    set_answer nonsense
    run_via mine --passphrase-file pass --batch
    assert_status 0
    run_via mine --passphrase-file wrong
    assert_status 1
    assert_stderr_has "key $PWD/locked: the first line of wrong is not the right passphrase"
    assert_equal "$(cat asked)" ''
    # One hop: the server's own message, and the reason why no key was offered.
    sed -i '/ProxyJump/d' "$SSH_CONFIG"
    run_via mine --passphrase-file wrong --batch
    assert_status 1
    assert_stderr_has "the server accepted none of the offered keys and methods; it allows: publickey; not offered: key $PWD/locked: the first line of wrong is not the right passphrase"
}

@test "--via auto finds that only ssh can use a key in a PKCS#11 token" {
    local module id
    "$rig_root/tools/fetch-packages" "$rig_packages" softhsm2 libsofthsm2
    module=$rig_packages/usr/lib/softhsm/libsofthsm2.so
    mkdir tokens
    echo "directories.tokendir = $PWD/tokens" >softhsm.conf
    export SOFTHSM2_CONF=$PWD/softhsm.conf
    "$rig_packages/usr/bin/softhsm2-util" --module "$module" --init-token --free --label ours --pin 1234 --so-pin 12345678
    openssl genpkey -quiet -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out key.pem 2>/dev/null ||
        openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out key.pem 2>/dev/null
    "$rig_packages/usr/bin/softhsm2-util" --module "$module" --token ours --import key.pem --label k --id 01 --pin 1234
    id=$(ssh-keygen -D "$module")
    echo "$id" >>"$RIG_DIR/sshd/authorized_keys"
    host_with "PKCS11Provider $module" 'IdentitiesOnly no'
    sed -i "/client\/id_ed25519/d" "$SSH_CONFIG"
    set_answer 1234
    run_profgrab --host mine --port "$RIG_PORT_rude" heap
    assert_status 0
    assert_stderr_has 'PKCS11Provider'
    assert_equal "$(cat asked)" "mine: Enter PIN for 'ours':"
    manifest | grep -q "\"authentication\": \"token "
}

# Runs profgrab with a security key that waits for a touch: opening ./touch for writing is the touch. Sets $pid, and $helper:
# the process that waits for the touch on ssh's behalf.
run_untouched() { # ARG...
    local softkey=$rig_root/build/rig/softkey.so i carrier
    ssh-keygen -q -t ed25519-sk -w "$softkey" -N '' -f token
    cat token.pub >>"$RIG_DIR/sshd/authorized_keys"
    host_with "IdentityFile $PWD/token" "SecurityKeyProvider $softkey"
    sed -i "/client\/id_ed25519/d" "$SSH_CONFIG"
    mkfifo touch
    SOFTKEY_TOUCH=$PWD/touch "$profgrab_program" --ssh-config "$SSH_CONFIG" --host mine --port "$RIG_PORT_rude" "$@" heap \
        >path 2>log 3>&- &
    pid=$!
    for ((i = 0; i < 1000; i++)); do
        carrier=$(pgrep -P "$pid" -x ssh) && helper=$(pgrep -P "$carrier" -x ssh-sk-helper) &&
            grep -q '^Confirm user presence for key ED25519-SK SHA256:' log && return
        sleep 0.02
    done
    fail "$(cat log)"
}

@test "the touch of a security key is asked for, and waited for" {
    run_untouched
    timeout 10 bash -c ': >touch'
    wait "$pid" || fail "$(cat log)"
    output=$(cat path)
    manifest | grep -q '"authentication": "security key '
}

@test "a security key without a touch is reported, and its helper process ends" {
    local i
    run_untouched --ask-timeout 2s
    ! wait "$pid" || fail "$(cat log)"
    grep -q 'the user did not touch the key$' log || fail "$(cat log)"
    for ((i = 0; i < 500; i++)); do
        [[ -e /proc/$helper ]] || return 0
        sleep 0.02
    done
    fail "ssh's helper is left"
}

@test "a touch that the agent requests has the timeout of a question, not of a step" {
    local softkey=$rig_root/build/rig/softkey.so
    ssh-keygen -q -t ed25519-sk -w "$softkey" -N '' -f token
    cat token.pub >>"$RIG_DIR/sshd/authorized_keys"
    mkfifo touch
    SOFTKEY_TOUCH=$PWD/touch rig_spawn agent ssh-agent -D -a "$PWD/agent" -P "$softkey"
    rig_wait agent 10 test -S agent
    SSH_AUTH_SOCK=$PWD/agent ssh-add -q -S "$softkey" token
    host_with "IdentityAgent $PWD/agent" 'IdentityFile none' 'IdentitiesOnly no'
    sed -i "/client\/id_ed25519/d" "$SSH_CONFIG"
    run_profgrab --host mine --port "$RIG_PORT_rude" --connect-timeout 1s --ask-timeout 4s heap
    rig_end agent
    assert_status 1
    grep -Eq 'ssh did not log in within ([4-9]|[1-9][0-9])[.s].*publickey$' <<<"$stderr" || fail_run
    assert_stderr_has "does the agent's key wait for a touch"
}
