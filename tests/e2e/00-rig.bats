#!/usr/bin/env bats
# Tests of the rig itself with plain ssh and curl, because most other test files depend on the rig.

load helper

fixture() { # PATH [CURL-OPTION...]
    run --separate-stderr curl -sS --max-time 20 "${@:2}" "${FIXTURE:-http://127.0.0.1:$RIG_PORT_rude}$1"
}

# curl's exit codes.
curl_cut=18 curl_no_answer=52 curl_timeout=28 curl_bad_certificate=60 curl_receive_error=56 curl_out_of_memory=27

# get PREFIX NAME: saves a profile of the fixture as ./body.
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

@test "ssh -G resolves an alias to the rig and uses nothing of the user's configuration" {
    run --separate-stderr in_rig_ssh -T -G file-03
    assert_stdout_has "port $RIG_PORT_sshd"
    assert_stdout_has "identityfile $RIG_KEY"
    assert_stdout_has 'identityagent none'
    assert_stdout_has "userknownhostsfile $RIG_KNOWN_HOSTS"
}

@test "a forward reaches a service on the remote host" {
    local port ssh
    port=$(rig_free_port)
    ssh -F "$SSH_CONFIG" -N -o ExitOnForwardFailure=yes \
        -L "127.0.0.1:$port:localhost:$RIG_PORT_node_exporter" file-03 3>&- &
    ssh=$!
    wait_for rig_connects "$port"
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

@test "a second sshd has its own configuration lines and is ended by name" {
    rig_sshd strict strict-01 'AllowTcpForwarding no'
    run --separate-stderr in_rig_ssh -W "localhost:$RIG_PORT_rude" strict-01
    assert_status 255
    assert_stderr_has 'administratively prohibited'
    rig_end strict
    run rig_connects "$RIG_PORT_strict"
    assert_status 1
}

@test "an alias leads through a jump host" {
    rig_alias behind-01 sshd 'ProxyJump file-01'
    run --separate-stderr in_rig_ssh behind-01 'echo there'
    assert_stdout there
}

@test "ending the sshd ends its sessions" {
    rig_sshd doomed doomed-01
    ssh -F "$SSH_CONFIG" doomed-01 'echo here; exec sleep 300' >session 2>/dev/null 3>&- &
    local ssh=$!
    wait_for test -s session
    [[ $(<session) == here ]]
    rig_end doomed
    local code=0
    wait "$ssh" || code=$?
    assert_equal "$code" 255
}

@test "node_exporter and caddy are real services" {
    for port in "$RIG_PORT_node_exporter" "$RIG_PORT_caddy"; do
        run --separate-stderr curl -sSf "http://127.0.0.1:$port/debug/pprof/heap" -o heap
        assert_status 0
        gzip -t heap
    done
}

# ---- the fixture ----------------------------------------------------------------------------------------------

@test "fixture: polite serves every kind on TCP and on a Unix socket" {
    fixture /debug/pprof/
    assert_stdout_has widgets
    run --separate-stderr curl -sS --unix-socket "$RIG_DIR/rude.sock" http://localhost/debug/pprof/
    assert_stdout_has widgets
    fixture '/debug/pprof/goroutine?debug=1'
    assert_stdout_has main.parkedWorker
}

@test "fixture: a CPU profile contains the expected function" {
    get custom 'profile?seconds=1'
    assert_stdout 200
    gzip -dc body | grep -aq main.burnCycles
}

@test "fixture: each rude prefix has the real index page, except those with a bad one" {
    for prefix in notfound html busy escape cutgzip badcrc short stall big; do
        fixture "/$prefix/debug/pprof/"
        assert_status 0
        assert_stdout_has 'full goroutine stack dump'
    done
}

@test "fixture: each prefix answers with its own status and body" {
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

@test "fixture: damaged profiles are sent with 200" {
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
    get cuttrace 'trace?seconds=1'
    assert_stdout 200
    [[ $(head -c 13 body) == 'go 1.22 trace' && $(wc -c <body) == 529 ]]
    fixture /cutgzip/debug/pprof/heap -o /dev/null -D -
    assert_stdout_has 'Content-Length:'
    fixture /cutgzipchunked/debug/pprof/heap -o /dev/null -D -
    assert_stdout_has 'Transfer-Encoding: chunked'
}

@test "fixture: transfers end early, late or never" {
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

@test "fixture: a service answers with 404 for one kind, another program's page, errors in JSON, or 403" {
    get missing=heap heap
    assert_stdout 404
    get missing=heap allocs
    assert_stdout 200
    get otherindex ''
    grep -q '<title>Warehouse' body
    get otherindex heap
    gzip -t body
    get json heap
    assert_stdout 200
    assert_equal "$(<body)" '{"error":"upstream has no such route"}'
    get json=500 heap
    assert_stdout 500
    get forbidden heap
    assert_stdout 403
    fixture /auth/debug/pprof/ -D - -o body
    assert_stdout_has 'Www-Authenticate: Basic realm="profiles"'
    fixture /auth=bearer/debug/pprof/ -D - -o body
    assert_stdout_has 'Www-Authenticate: Bearer realm="profiles"'
}

@test "fixture: each redirect has the expected Location" {
    local here=http://127.0.0.1:$RIG_PORT_rude to
    declare -A location=(
        [redirect]='http://elsewhere.invalid/login?next=/debug/pprof/heap'
        [redirect=slash]="$here/redirect=slash/debug/pprof/heap/?gc=1"
        [redirect=path]="$here/debug/pprof/heap?gc=1"
        [redirect=url]="$here/debug/pprof/heap?gc=1"
        [redirect=loop]="$here/redirect=loop/debug/pprof/heap?gc=1"
        [redirect=https]="https://127.0.0.1:$RIG_PORT_rude/redirect=https/debug/pprof/heap?gc=1"
        [redirect=user]='http://ann:opensesame@elsewhere.invalid/debug/pprof/heap'
    )
    for to in "${!location[@]}"; do
        fixture "/$to/debug/pprof/heap?gc=1" -o body -w '%{http_code} %{redirect_url}'
        assert_stdout "302 ${location[$to]}"
    done
    for to in slash path url; do
        fixture "/redirect=$to/debug/pprof/heap?gc=1" -L -o body
        gzip -t body
    done
    fixture /redirect=slash/debug/pprof/ -o body -w '%{http_code}'
    assert_stdout 200
    fixture /redirect=loop/debug/pprof/heap -L
    assert_stderr_has 'redirects followed'
    fixture /redirect=escape/debug/pprof/heap -D - -o body
    assert_stdout_has $'\e[31mred'
}

# until_free PREFIX PATH: repeats the request until it succeeds, for at most 10 seconds.
until_free() {
    local deadline=$((SECONDS + 10))
    until curl -sf --max-time 20 "http://127.0.0.1:$RIG_PORT_rude/$1/debug/pprof/$2?seconds=1" -o body; do
        ((SECONDS < deadline)) || fail "the profiler of $1 stays in use"
    done
}

@test "fixture: a profiler in use by the program becomes free, and the goroutines show the user" {
    local path
    for path in profile trace; do
        get held=1 "$path?seconds=1"
        assert_stdout 500
        grep -q 'already' body
        get held=1 'goroutine?debug=1'
        grep -q main.continuousProfiler body
        until_free held=1 "$path"
    done
    get agent 'profile?seconds=1'
    assert_stdout 500
    get agent 'goroutine?debug=1'
    grep -q 'DataDog/dd-trace-go' body
}

@test "fixture: a profiler in use by another client answers with 500" {
    get rival=2 'profile?seconds=1'
    assert_stdout 500
    assert_equal "$(<body)" 'Could not enable CPU profiling: cpu profiling already in use'
    get rival=2 'goroutine?debug=1'
    grep -q net/http/pprof.Profile body
    get rival=2 'trace?seconds=1'
    assert_stdout 500
    get rival=2 'goroutine?debug=1'
    grep -q net/http/pprof.Trace body
    until_free rival=2 profile
}

@test "fixture: a WriteTimeout acts as in Go up to 1.22 and as in Go since 1.23" {
    FIXTURE=http://127.0.0.1:$RIG_PORT_rude_writetimeout
    for path in 'profile?seconds=2' 'trace?seconds=2' 'heap?seconds=2'; do
        fixture "/debug/pprof/$path" -o body -w '%{http_code} %{time_total}'
        [[ $output == '400 '[01].* ]] || fail_run "$path"
        assert_equal "$(<body)" "profile duration exceeds server's WriteTimeout"
    done
    fixture '/debug/pprof/profile?seconds=1' -o body
    gzip -t body
    FIXTURE=
    for path in 'profile?seconds=1' 'heap?seconds=1'; do
        fixture "/wrapped/debug/pprof/$path" -o body -w '%{time_total}'
        assert_status $curl_no_answer
        [[ $output == [1-9].* ]] || fail_run "$path"
    done
    get wrapped 'trace?seconds=1'
    assert_status $curl_cut
    assert_stdout 200
    assert_equal "$(head -c 3 body)" 'go '
    get wrapped heap
    gzip -t body
}

@test "fixture: bodies are late, slow or endless" {
    fixture /late=0.3/debug/pprof/heap -o body -w '%{time_starttransfer}'
    [[ $output == 0.[3-9]* || $output == [1-9].* ]] || fail_run late
    gzip -t body
    fixture /slow=0.3/debug/pprof/ -o body -w '%{time_starttransfer}'
    [[ $output == 0.[3-9]* || $output == [1-9].* ]] || fail_run slow
    fixture /late/debug/pprof/heap --max-time 0.3
    assert_status $curl_timeout
    fixture /trickle=0.05/debug/pprof/heap --max-time 0.5 -o trickle
    assert_status $curl_timeout
    (($(stat -c %s trickle) > 1 && $(stat -c %s trickle) < 12))
    for path in heap 'goroutine?debug=2'; do
        run bash -c "curl -sS 'http://127.0.0.1:$RIG_PORT_rude/endless/debug/pprof/$path' | head -c 20000000 >endless"
        assert_equal "$(stat -c %s endless)" 20000000
    done
}

@test "fixture: answers have headers and lengths that net/http itself never sends" {
    get overlong heap
    assert_status 0
    run gzip -t body
    assert_status 1
    get badchunk heap
    assert_status $curl_receive_error
    fixture /twolengths/debug/pprof/heap -D - -o body
    (($(grep -c '^Content-Length' <<<"$output") == 2))
    fixture /eviltype/debug/pprof/heap -D - -o body
    assert_stdout_has $'Content-Type: \e]0;title\a\e[31mred'
    gzip -t body
    fixture /evilserver/debug/pprof/heap -D - -o body
    assert_stdout_has $'Server: \e[31mred'
    fixture /evilstatus/debug/pprof/heap -D - -o body
    assert_stdout_has $'500 \e[31mOut'
    get hugeheader=90 heap
    assert_status 0
    get hugeheader heap
    ((status == curl_receive_error || status == curl_out_of_memory)) || fail_run hugeheader
    fixture /manyheaders/debug/pprof/heap -D - -o body
    (($(grep -c '^X-Note' <<<"$output") == 5000))
}

@test "fixture: basic and bearer authentication are required, and attempts are counted" {
    fixture /tries/
    local before=$output
    get basic heap
    assert_stdout 401
    fixture /basic/debug/pprof/heap -u "ann:wrong" -o body -w '%{http_code}'
    assert_stdout 401
    fixture /basic/debug/pprof/heap -u "ann:$SECRET" -o body
    gzip -t body
    fixture /bearer/debug/pprof/ -H 'Authorization: Bearer wrong' -o body -w '%{http_code}'
    assert_stdout 401
    fixture /bearer/debug/pprof/heap -H "Authorization: Bearer $SECRET" -o body
    gzip -t body
    assert_equal "$before" $'missing 0\nwrong 0\nright 0'
    fixture /tries/
    assert_stdout $'missing 1\nwrong 2\nright 2'
}

@test "fixture: a Host header is required, and an error repeats the secret" {
    get host=pprof.internal heap
    assert_stdout 403
    fixture /host=pprof.internal/debug/pprof/heap -H 'Host: pprof.internal' -o body
    gzip -t body
    get echo heap -H 'Authorization: Bearer quiet'
    assert_stdout 500
    fixture /echo=401/debug/pprof/heap -H 'Authorization: Bearer quiet' -w '%{http_code}'
    assert_stdout_has 'Bearer quiet'
    assert_stdout_has 401
}

@test "fixture: TLS listeners have the expected certificates" {
    local tls=$RIG_DIR/tls
    FIXTURE=https://localhost:$RIG_PORT_rude_https
    fixture /debug/pprof/heap -o body
    assert_status $curl_bad_certificate
    fixture /debug/pprof/heap --cacert "$tls/other-ca.pem" -o body
    assert_status $curl_bad_certificate
    fixture /debug/pprof/heap --cacert "$tls/ca.pem" -o body
    gzip -t body
    FIXTURE=https://pprof.internal:$RIG_PORT_rude_https
    fixture /debug/pprof/ --cacert "$tls/ca.pem" --resolve "pprof.internal:$RIG_PORT_rude_https:127.0.0.1" -o body
    assert_status 0
    FIXTURE=https://127.0.0.1:$RIG_PORT_rude_https
    fixture /debug/pprof/ --cacert "$tls/ca.pem"
    assert_status $curl_bad_certificate
    for listener in httpsexpired httpsself; do
        port=RIG_PORT_rude_$listener
        FIXTURE=https://localhost:${!port}
        fixture /debug/pprof/ --cacert "$tls/ca.pem"
        assert_status $curl_bad_certificate
        fixture /debug/pprof/ -k -o body
        assert_status 0
    done
    FIXTURE=https://localhost:$RIG_PORT_rude_httpsclient
    fixture /debug/pprof/ --cacert "$tls/ca.pem"
    assert_status $curl_receive_error
    fixture /debug/pprof/ --cacert "$tls/ca.pem" --cert "$tls/other-client.pem" --key "$tls/other-client.key"
    assert_status $curl_receive_error
    fixture /debug/pprof/heap --cacert "$tls/ca.pem" --cert "$tls/client.pem" --key "$tls/client.key" -o body
    gzip -t body
    assert_mode "$tls/client.key" 600
}

@test "fixture: every profile is served below another path" {
    fixture /api/internal/pprof/
    assert_stdout_has widgets
    fixture /api/internal/pprof/heap -o body
    gzip -t body
    fixture /api/internal/pprof/nothing -w '%{http_code}'
    assert_stdout_has 404
}

@test "fixture: mutex and block profiles are empty without -contention and have samples with it" {
    rig_fixture contended -contention
    for profile in mutex block; do
        fixture "/debug/pprof/$profile?debug=1"
        refute_stdout_has main.contend
        FIXTURE=http://127.0.0.1:$RIG_PORT_contended \
            fixture "/debug/pprof/$profile?debug=1"
        assert_stdout_has main.contend
    done
    rig_end contended
}

@test "fixture: a service has 100,000 goroutines" {
    rig_fixture crowded -goroutines 100000
    FIXTURE=http://127.0.0.1:$RIG_PORT_crowded fixture '/debug/pprof/goroutine?debug=1'
    [[ $output =~ ^'goroutine profile: total '([0-9]+) ]]
    ((BASH_REMATCH[1] >= 100000))
    rig_end crowded
}

@test "fixture: another build replaces the program on the same port between two profiles" {
    sed 's/rude-fixture-build-1/rude-fixture-build-2/g' "$rig_fixture" >next
    chmod +x next
    rig_fixture mortal -next "$PWD/next"
    FIXTURE=http://127.0.0.1:$RIG_PORT_mortal
    build() { gzip -dc body | grep -aq "$(printf %s "$1" | od -An -tx1 | tr -d ' \n')"; }
    for _ in 1 2; do
        get restart=2 heap
        assert_stdout 200
        build rude-fixture-build-1
    done
    # The service listens all the time; each request of curl is a new connection.
    for _ in 1 2 3; do
        get restart=2 heap
        assert_stdout 200
        build rude-fixture-build-2
    done
    rig_end mortal
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

@test "fixture: some listeners do not speak HTTP" {
    run curl -sS --http0.9 --max-time 0.5 "http://127.0.0.1:$RIG_PORT_rude_garbage/" -o garbage
    [[ -s garbage ]]
    run curl -sS --max-time 0.5 "http://127.0.0.1:$RIG_PORT_rude_silent/"
    assert_status $curl_timeout
    run curl -sS --http0.9 --max-time 0.5 "http://127.0.0.1:$RIG_PORT_rude_nobanner/"
    assert_status $curl_timeout
    [[ $output == *'no banner here'* ]]
}

# ---- the helpers ------------------------------------------------------------------------------------------------

@test "with_pty presses Ctrl-C on request, also twice" {
    with_pty --ctrl-c ready -- bash -c 'echo ready; sleep 60'
    assert_status 130
    # Python, because bash loses a signal that arrives during its trap for an earlier one.
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

@test "with_pty gives the program a terminal, and a file as stdout" {
    # shellcheck disable=SC2016 # the bash on the terminal expands it
    with_pty --stdout out --send 'name: ' $'bob\n' -- \
        bash -c 'read -rp "name: "; echo bob; [[ $REPLY == bob && -t 2 && ! -t 1 ]]'
    assert_status 0
    assert_equal "$(<out)" bob
}

@test "a test has its own home directory and no agent" {
    assert_mode "$HOME" 700
    [[ -z ${SSH_AUTH_SOCK-} && $TMPDIR == "$BATS_TEST_TMPDIR"/* && -z $(ls -A "$XDG_CONFIG_HOME") ]]
}

@test "write_inventory lists the running services" {
    write_inventory html big=5
    assert_mode "$INVENTORY" 600
    grep -q "node: { port: $RIG_PORT_node_exporter }" "$INVENTORY"
    grep -q 'file-05: { services: \[html, big-5\] }' "$INVENTORY"
}
