#!/usr/bin/env bats
# The rig itself, with plain ssh and curl: what the other files stand on.

load helper

fixture() { # PATH [CURL-OPTION...]
    run --separate-stderr curl -sS --max-time 20 "${@:2}" "http://127.0.0.1:$RIG_PORT_rude$1"
}

# What curl calls its errors.
curl_cut=18 curl_no_answer=52 curl_timeout=28

# get PREFIX NAME: a profile of the fixture into ./body.
get() {
    fixture "/$1/debug/pprof/$2" -o body -w '%{http_code}'
}

in_rig_ssh() { ssh -F "$SSH_CONFIG" "$@"; }

@test "ssh logs in as the rig's user, not as root" {
    run --separate-stderr in_rig_ssh file-03 'id -u; pwd'
    assert_status 0
    assert_stdout "$RIG_UID"$'\n'"$RIG_DIR/home"
    [[ $RIG_UID != 0 ]]
}

@test "ssh -G resolves an alias to the rig and to nothing of the user's" {
    run --separate-stderr in_rig_ssh -T -G file-03
    assert_stdout_has "port $RIG_PORT_sshd"
    assert_stdout_has "identityfile $RIG_KEY"
    assert_stdout_has 'identityagent none'
    assert_stdout_has "userknownhostsfile $RIG_KNOWN_HOSTS"
}

@test "a forward reaches a service on the far side" {
    local port ssh
    port=$(rig_free_port)
    ssh -F "$SSH_CONFIG" -N -o ExitOnForwardFailure=yes \
        -L "127.0.0.1:$port:localhost:$RIG_PORT_node_exporter" file-03 3>&- &
    ssh=$!
    for ((i = 0; i < 500; i++)); do ! rig_connects "$port" || break; sleep 0.02; done
    run --separate-stderr curl -sS "http://127.0.0.1:$port/debug/pprof/"
    kill "$ssh"
    assert_status 0
    assert_stdout_has 'full goroutine stack dump'
}

@test "an unknown host key is refused" {
    : >known_hosts
    run --separate-stderr in_rig_ssh -o UserKnownHostsFile="$PWD/known_hosts" file-03 true
    assert_status 255
    assert_stderr_has 'Host key verification failed'
}

@test "another sshd with lines of its own, ended by name" {
    rig_sshd strict strict-01 'AllowTcpForwarding no'
    run --separate-stderr in_rig_ssh -W "localhost:$RIG_PORT_rude" strict-01
    assert_status 255
    assert_stderr_has 'administratively prohibited'
    rig_end strict
    run rig_connects "$RIG_PORT_strict"
    assert_status 1
}

@test "an alias through a jump host" {
    rig_alias behind-01 sshd 'ProxyJump file-01'
    run --separate-stderr in_rig_ssh behind-01 'echo there'
    assert_stdout there
}

@test "ending the sshd ends its sessions" {
    rig_sshd doomed doomed-01
    ssh -F "$SSH_CONFIG" doomed-01 'echo here; exec sleep 300' >session 2>/dev/null 3>&- &
    local ssh=$!
    for ((i = 0; i < 500; i++)); do [[ ! -s session ]] || break; sleep 0.02; done
    [[ $(<session) == here ]]
    rig_end doomed
    local code=0
    wait "$ssh" || code=$?
    assert_equal "$code" 255
}

@test "the services are real: node_exporter and caddy" {
    for port in "$RIG_PORT_node_exporter" "$RIG_PORT_caddy"; do
        run --separate-stderr curl -sSf "http://127.0.0.1:$port/debug/pprof/heap" -o heap
        assert_status 0
        gzip -t heap
    done
}

# ---- the fixture ----------------------------------------------------------------------------------------------

@test "fixture: polite, on TCP and on a Unix socket" {
    fixture /debug/pprof/
    assert_stdout_has widgets
    run --separate-stderr curl -sS --unix-socket "$RIG_DIR/rude.sock" http://localhost/debug/pprof/
    assert_stdout_has widgets
    fixture '/debug/pprof/goroutine?debug=1'
    assert_stdout_has main.parkedWorker
}

@test "fixture: a CPU profile has the named function in it" {
    get custom 'profile?seconds=1'
    assert_stdout 200
    gzip -dc body | grep -aq main.burnCycles
}

@test "fixture: rude prefixes have the real index, but those whose index is rude" {
    for prefix in notfound html busy escape cutgzip badcrc short stall big; do
        fixture "/$prefix/debug/pprof/"
        assert_status 0
        assert_stdout_has 'full goroutine stack dump'
    done
}

@test "fixture: answers that are no profile" {
    get notfound heap
    assert_stdout 404
    assert_equal "$(<body)" 'Unknown profile'
    get html heap
    assert_stdout 200
    grep -q '<!DOCTYPE html>' body
    get login ''
    grep -q '<!DOCTYPE html>' body
    get noindex ''
    assert_stdout 404
    get noindex heap
    assert_stdout 200
    gzip -t body
    get auth heap
    assert_stdout 401
    get redirect heap
    assert_stdout 302
    get busy 'profile?seconds=1'
    assert_stdout 500
    assert_equal "$(<body)" 'Could not enable CPU profiling: cpu profiling already in use'
    get escape heap
    assert_stdout 500
    grep -q $'\e\[31mred' body
    get evilindex ''
    grep -q '\.\./\.\./\.\./etc/passwd' body
}

@test "fixture: bodies that are damaged under a 200" {
    for prefix in cutgzip cutgzipchunked badcrc notgzip; do
        get "$prefix" heap
        assert_status 0
        assert_stdout 200
        run gzip -t body
        assert_status 1
    done
    get empty heap
    assert_stdout 200
    [[ ! -s body ]]
    for prefix in badproto nosamples; do
        get "$prefix" heap
        gzip -t body
    done
    fixture /cutgzip/debug/pprof/heap -o /dev/null -D -
    assert_stdout_has 'Content-Length:'
    fixture /cutgzipchunked/debug/pprof/heap -o /dev/null -D -
    assert_stdout_has 'Transfer-Encoding: chunked'
}

@test "fixture: transfers that end early, late or never" {
    get short heap
    assert_status $curl_cut
    get abort heap
    assert_status $curl_cut
    get hangup heap
    assert_status $curl_no_answer
    fixture /stall/debug/pprof/heap --max-time 0.5 -o body
    assert_status $curl_timeout
    [[ -s body ]]
    fixture /silent/debug/pprof/ --max-time 0.5 -o silence
    assert_status $curl_timeout
    [[ ! -s silence ]]
    get drip=0.5 heap
    assert_status 0
    gzip -t body
    fixture /close/debug/pprof/heap -o /dev/null -D -
    assert_stdout_has 'Connection: close'
}

@test "fixture: large bodies are valid" {
    for body in big=5 bigsamples=5 bomb=5; do
        get "$body" heap
        assert_status 0
        gzip -t body
        (($(gzip -dc body | wc -c) >= 5 << 20))
    done
    fixture '/big/debug/pprof/heap?mb=3' -o body
    (($(gzip -dc body | wc -c) >= 3 << 20 && $(stat -c %s body) >= 3 << 20))
    get bigtext=3 'goroutine?debug=2'
    (($(stat -c %s body) >= 3 << 20))
    get cuttext 'goroutine?debug=2'
    assert_equal "$(stat -c %s body)" 67108864
}

@test "fixture: listeners that speak no HTTP" {
    run curl -sS --http0.9 --max-time 5 "http://127.0.0.1:$RIG_PORT_rude_garbage/" -o garbage
    [[ -s garbage ]]
    run curl -sS --max-time 0.5 "http://127.0.0.1:$RIG_PORT_rude_silent/"
    assert_status $curl_timeout
    run curl -sS --http0.9 --max-time 0.5 "http://127.0.0.1:$RIG_PORT_rude_nobanner/"
    assert_status $curl_timeout
    [[ $output == *'no banner here'* ]]
}

# ---- the helpers ------------------------------------------------------------------------------------------------

@test "with_pty presses Ctrl-C when it is told to, twice if need be" {
    with_pty --ctrl-c ready -- bash -c 'echo ready; sleep 60'
    assert_status 130
    # Python, since bash forgets a signal that comes while it is at the trap of one before.
    with_pty --deadline 20 --ctrl-c ready --ctrl-c again -- python3 -uc '
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
print("ready")
signal.sigwait([signal.SIGINT])
print("again")
signal.sigwait([signal.SIGINT])
exit(9)'
    assert_status 9
    with_pty --deadline 0.3 -- sleep 60
    assert_status 124
    with_pty --ctrl-c never -- true
    assert_status 125
}

@test "with_pty gives a terminal, and a file for stdout" {
    # shellcheck disable=SC2016 # for the bash on the terminal
    with_pty --stdout out --send 'name: ' $'bob\n' -- \
        bash -c 'read -rp "name: "; echo bob; [[ $REPLY == bob && -t 2 && ! -t 1 ]]'
    assert_status 0
    assert_equal "$(<out)" bob
}

@test "a test has a home of its own and no agent" {
    assert_mode "$HOME" 700
    [[ -z ${SSH_AUTH_SOCK-} && $TMPDIR == "$BATS_TEST_TMPDIR"/* && -z $(ls -A "$XDG_CONFIG_HOME") ]]
}

@test "the inventory names what runs" {
    write_inventory html big=5
    assert_mode "$INVENTORY" 600
    grep -q "node: { port: $RIG_PORT_node_exporter }" "$INVENTORY"
    grep -q 'file-05: { services: \[html, big-5\] }' "$INVENTORY"
}
