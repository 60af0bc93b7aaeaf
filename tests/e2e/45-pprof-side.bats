# shellcheck disable=SC2030,SC2031 # each test is a subshell
# The pprof side of a capture: TLS, certificates, secrets, Unix sockets, redirects, a profiler that others hold.
load helper

# inventory TEXT: services of the host app (over the rig's sshd) and here (direct), as YAML lines.
inventory() {
    export PROFGRAB_INVENTORY=$BATS_TEST_TMPDIR/inventory.yaml
    printf 'version: 1\nservices:\n%s\nhosts:\n  file-03: { services: [app] }\n  here: { connect: direct, address: 127.0.0.1, services: [app] }\n' \
        "$1" >"$PROFGRAB_INVENTORY"
    chmod 600 "$PROFGRAB_INVENTORY"
}

manifest() { # FILTER...: over the manifest of the bundle in $output
    tar -xOf "$output" --wildcards '*/manifest.json' | python3 -c 'import json, sys; m = json.load(sys.stdin); print(eval(sys.argv[1]))' "$1"
}

# Nothing that was said or stored holds the secret, in whatever form.
refute_secret() {
    local encoded
    encoded=$(printf 'ann:%s' "$SECRET" | base64 -w0)
    [[ $output$stderr != *"$SECRET"* && $output$stderr != *"$encoded"* ]] || fail_run 'the secret was said'
    [[ -e $output ]] || return 0
    [[ $(tar -xOf "$output" | grep -acF -e "$SECRET" -e "$encoded") == 0 ]] || fail_run "the secret is in $output"
}

@test "https with a CA of our own, over SSH" {
    inventory "  app: { port: $RIG_PORT_rude_https, scheme: https, tls: { ca: $RIG_DIR/tls/ca.pem } }"
    run_profgrab --host file-03 heap cpu=1s
    assert_status 0
    assert_equal "$(manifest 'm["hosts"][0]["services"][0]["url"]')" "https://localhost:$RIG_PORT_rude_https/debug/pprof"
    assert_equal "$(manifest '[i["status"] for i in m["hosts"][0]["services"][0]["items"]]')" "['ok', 'ok']"
}

@test "a certificate of nobody we trust ends it, and the hint says where to name a CA" {
    inventory "  app: { port: $RIG_PORT_rude_https, scheme: https }"
    run_profgrab --host file-03 heap
    assert_status 1
    assert_stderr_has 'its TLS certificate is not accepted'
    assert_stderr_has 'ca: FILE'
    inventory "  app: { port: $RIG_PORT_rude_https, scheme: https, tls: { ca: $RIG_DIR/tls/other-ca.pem } }"
    run_profgrab --host file-03 heap
    assert_status 1
    assert_stderr_has 'its TLS certificate is not accepted'
}

@test "expired, of another name, signed by itself: refused; insecure takes it and the bundle says so" {
    inventory "  app: { port: $RIG_PORT_rude_httpsexpired, scheme: https, tls: { ca: $RIG_DIR/tls/ca.pem } }"
    run_profgrab --host file-03 heap
    assert_status 1
    assert_stderr_has 'expired'
    inventory "  app: { port: $RIG_PORT_rude_https, scheme: https, tls: { ca: $RIG_DIR/tls/ca.pem, server_name: other.internal } }"
    run_profgrab --host file-03 heap
    assert_status 1
    assert_stderr_has 'server_name'
    inventory "  app: { port: $RIG_PORT_rude_httpsself, scheme: https }"
    run_profgrab --host file-03 heap
    assert_status 1
    inventory "  app: { port: $RIG_PORT_rude_httpsself, scheme: https, tls: { insecure: true } }"
    run_profgrab --host file-03 heap
    assert_status 0
    assert_stderr_has 'its TLS certificate was not checked'
    assert_equal "$(manifest 'm["hosts"][0]["services"][0]["verdicts"][0]["rule"]')" tls-unchecked
}

@test "server_name is asked for, the Host header stays what it was" {
    inventory "  app: { port: $RIG_PORT_rude_https, scheme: https, path: /host=localhost/debug/pprof, tls: { ca: $RIG_DIR/tls/ca.pem, server_name: pprof.internal } }"
    run_profgrab --host file-03 heap
    assert_status 0
    inventory "  app: { port: $RIG_PORT_rude_https, scheme: https, path: /host=app.example/debug/pprof, host_header: app.example, tls: { ca: $RIG_DIR/tls/ca.pem } }"
    run_profgrab --host file-03 heap
    assert_status 0
}

@test "a client certificate is shown where one is set, and asked for in words where none is" {
    inventory "  app: { port: $RIG_PORT_rude_httpsclient, scheme: https, tls: { ca: $RIG_DIR/tls/ca.pem } }"
    run_profgrab --host file-03 heap
    assert_status 1
    assert_stderr_has 'cert'
    inventory "  app: { port: $RIG_PORT_rude_httpsclient, scheme: https, tls: { ca: $RIG_DIR/tls/ca.pem, cert: $RIG_DIR/tls/client.pem, key: $RIG_DIR/tls/client.key } }"
    run_profgrab --host file-03 heap
    assert_status 0
    inventory "  app: { port: $RIG_PORT_rude_httpsclient, scheme: https, tls: { ca: $RIG_DIR/tls/ca.pem, cert: $RIG_DIR/tls/client.pem, key: $RIG_DIR/tls/other-client.key } }"
    run_profgrab --host file-03 heap
    assert_status 1
    assert_stderr_has 'our certificate cannot be used'
    inventory "  app: { port: $RIG_PORT_rude_httpsclient, scheme: https, tls: { ca: $RIG_DIR/tls/ca.pem, cert: /no/such.pem } }"
    run_profgrab --host file-03 heap
    assert_status 1
    assert_stderr_has 'our certificate cannot be used'
}

@test "a key with a passphrase never asks on the terminal" {
    openssl pkcs8 -topk8 -in "$RIG_DIR/tls/client.key" -passout pass:x -out locked.key
    inventory "  app: { port: $RIG_PORT_rude_httpsclient, scheme: https, tls: { ca: $RIG_DIR/tls/ca.pem, cert: $RIG_DIR/tls/client.pem, key: $PWD/locked.key } }"
    with_pty --deadline 20 -- "$profgrab_program" --ssh-config "$SSH_CONFIG" --host file-03 heap
    assert_status 1
    [[ $output == *'no passphrase'* && $output != *'Enter PEM'* ]] || fail_run
}

@test "TLS where there is none, and none where there is TLS" {
    inventory "  app: { port: $RIG_PORT_rude, scheme: https }"
    run_profgrab --host file-03 heap
    assert_status 1
    assert_stderr_has 'scheme:'
    inventory "  app: { port: $RIG_PORT_rude_https }"
    run_profgrab --host file-03 heap
    assert_status 1
    assert_stderr_has 'scheme: https'
}

@test "a bearer token from the environment, a file and a command; never said, never stored" {
    export PPROF_TOKEN=$SECRET
    inventory "  app: { port: $RIG_PORT_rude, path: /bearer/debug/pprof, auth: { bearer_env: PPROF_TOKEN } }"
    run_profgrab --host file-03 heap
    assert_status 0
    refute_secret
    install -m 600 "$RIG_DIR/secret" token
    inventory "  app: { port: $RIG_PORT_rude, path: /bearer/debug/pprof, auth: { bearer_file: $PWD/token } }"
    run_profgrab --host file-03 heap
    assert_status 0
    inventory "  app: { port: $RIG_PORT_rude, path: /bearer/debug/pprof, auth: { bearer_command: \"cat $RIG_DIR/secret\" } }"
    run_profgrab --host file-03 heap
    assert_status 0
    refute_secret
}

@test "basic authentication" {
    export PPROF_PASSWORD=$SECRET
    inventory "  app: { port: $RIG_PORT_rude, path: /basic/debug/pprof, auth: { user: ann, password_env: PPROF_PASSWORD } }"
    run_profgrab --host file-03 heap
    assert_status 0
    refute_secret
    PPROF_PASSWORD=wrong-horse run_profgrab --host file-03 heap
    assert_status 1
    assert_stderr_has 'HTTP 401'
    assert_stderr_has 'does not accept the secret from $PPROF_PASSWORD'
    [[ $output$stderr != *wrong-horse* ]] || fail_run
}

@test "a command for a secret is never shown, also when what it printed is wrong" {
    inventory "  app: { port: $RIG_PORT_rude, path: /bearer/debug/pprof, auth: { bearer_command: \"echo hidden-in-a-command\" } }"
    run_profgrab -v --host file-03 heap
    assert_status 1
    assert_stderr_has 'does not accept what the command for the secret printed'
    refute_stderr_has hidden-in-a-command
}

@test "a secret that cannot be had is said before anything is opened" {
    inventory "  app: { port: $RIG_PORT_rude, path: /bearer/debug/pprof, auth: { bearer_env: NO_SUCH_TOKEN } }"
    run_profgrab --host file-03 heap
    assert_status 2
    assert_stderr_has 'NO_SUCH_TOKEN'
    refute_stderr_has 'connected'
    install -m 644 "$RIG_DIR/secret" token
    inventory "  app: { port: $RIG_PORT_rude, path: /bearer/debug/pprof, auth: { bearer_file: $PWD/token } }"
    run_profgrab --host file-03 heap
    assert_status 2
    assert_stderr_has 'chmod 600'
    assert_equal "$(ls)" token
}

@test "a service that sends the secret back does not get it into what we say and store" {
    export PPROF_TOKEN=$SECRET
    local path
    for path in echo echo=404 echo=200 title; do
        inventory "  app: { port: $RIG_PORT_rude, path: /$path/debug/pprof, auth: { bearer_env: PPROF_TOKEN } }"
        run_profgrab --host file-03 heap
        [[ $stderr == *'Bearer ***'* || $stderr == *'repeats the secret'* ]] || fail_run
        [[ $stderr != *"$SECRET"* ]] || fail_run
        [[ -z $output ]] || refute_secret
    done
    inventory "  app: { port: $RIG_PORT_rude, path: /echo/debug/pprof, auth: { user: ann, password_env: PPROF_TOKEN } }"
    run_profgrab --host file-03 heap
    refute_secret
}

@test "the secret is on no command line and in no core dump" {
    export PPROF_TOKEN=$SECRET
    local pid i limit line
    inventory "  app: { port: $RIG_PORT_rude, path: /bearer/debug/pprof, auth: { bearer_env: PPROF_TOKEN } }"
    "$profgrab_program" --ssh-config "$SSH_CONFIG" --host file-03 cpu=3s heap >path 2>log 3>&- &
    pid=$!
    for ((i = 0; i < 500; i++)); do ! grep -q 'taking 3s' log || break; sleep 0.02; done
    line=$(tr '\0' ' ' <"/proc/$pid/cmdline")
    limit=$(awk '/Max core file size/ { print $5, $6 }' "/proc/$pid/limits")
    wait "$pid"
    assert_equal "$limit" '0 0'
    [[ $line == *cpu=3s* && $line != *"$SECRET"* ]] || fail "$line"
}

@test "a secret does not cross the network in clear text" {
    export PPROF_TOKEN=$SECRET
    inventory "  app: { port: $RIG_PORT_rude, path: /bearer/debug/pprof, auth: { bearer_env: PPROF_TOKEN } }"
    run_profgrab --host here heap
    assert_status 0
    sed -i 's/address: 127.0.0.1/address: app.invalid/' "$PROFGRAB_INVENTORY"
    run_profgrab --host here heap
    assert_status 2
    assert_stderr_has 'clear text'
    inventory "  app: { port: $RIG_PORT_rude_httpsself, scheme: https, tls: { insecure: true }, auth: { bearer_env: PPROF_TOKEN } }"
    sed -i 's/address: 127.0.0.1/address: app.invalid/' "$PROFGRAB_INVENTORY"
    run_profgrab --host here heap
    assert_status 2
    assert_stderr_has 'takes the place of the service'
}

@test "redirects within the service are followed, no other" {
    local where
    for where in path url slash; do
        inventory "  app: { port: $RIG_PORT_rude, path: /redirect=$where/debug/pprof }"
        run_profgrab --host file-03 heap
        assert_status 0
    done
    for where in https user other; do
        inventory "  app: { port: $RIG_PORT_rude, path: /redirect=$where/debug/pprof }"
        run_profgrab --host file-03 heap
        assert_status 1
        assert_stderr_has 'which is not this service: not followed'
        refute_stderr_has opensesame
    done
    inventory "  app: { port: $RIG_PORT_rude, path: /redirect=loop/debug/pprof }"
    run_profgrab --host file-03 heap
    assert_status 1
    assert_stderr_has 'redirects in circles'
}

@test "a Unix socket without SSH" {
    inventory "  app: { unix: $RIG_DIR/rude.sock }"
    run_profgrab --host here heap cpu=1s
    assert_status 0
    assert_equal "$(manifest 'm["hosts"][0]["services"][0]["url"]')" "unix:$RIG_DIR/rude.sock /debug/pprof"
    run_profgrab --host 127.0.0.1 --unix "$RIG_DIR/nosuch.sock" heap
    [[ $status != 0 ]]
}

@test "a one-off service at another path, over TLS" {
    run_profgrab --host file-03 --port "$RIG_PORT_rude" --path /api/internal/pprof heap
    assert_status 0
    run_profgrab --host file-03 --port "$RIG_PORT_rude_https" --scheme https heap
    assert_status 1
    assert_stderr_has 'its TLS certificate is not accepted'
    run_profgrab --host file-03 --port 1 --scheme gopher heap
    assert_status 2
    run_profgrab --host file-03 --scheme https heap
    assert_status 2
}

@test "Ctrl-C ends the wait for a profiler" {
    inventory "  app: { port: $RIG_PORT_rude, path: /busy/debug/pprof }"
    with_pty --deadline 20 --ctrl-c 'waiting' -- "$profgrab_program" --ssh-config "$SSH_CONFIG" --host file-03 heap cpu=60s
    assert_status 130
    [[ $output == *profgrab-file-03*.tar.gz* ]] || fail_run
}

@test "a profile that nobody wants any more frees the profiler" {
    inventory "  app: { port: $RIG_PORT_rude }"
    with_pty --deadline 20 --ctrl-c 'of 1m' -- "$profgrab_program" --ssh-config "$SSH_CONFIG" --host file-03 heap cpu=60s
    assert_status 130
    run_profgrab --host file-03 cpu=1s
    assert_status 0
    refute_stderr_has waiting
}

@test "timed profiles side by side when asked for, each with a finding" {
    inventory "  app: { port: $RIG_PORT_rude }"
    run_profgrab --host file-03 --concurrent heap cpu=2s trace=1s block=1s
    assert_status 0
    local rules='sorted(i["kind"] for i in m["hosts"][0]["services"][0]["items"] if "beside" in [v["rule"] for v in i.get("verdicts", [])])'
    assert_equal "$(manifest "$rules")" "['block', 'cpu', 'trace']"
    local spans='(lambda t: max(t) - min(t))([i["started"][17:23] and float(i["started"][17:23]) for i in m["hosts"][0]["services"][0]["items"] if i["kind"] != "heap"]) < 0.5'
    assert_equal "$(manifest "$spans")" True
    tar -xzf "$output"
    go tool pprof -top ./*/file-03/app/cpu.pb.gz >/dev/null 2>&1
}

@test "what a trace costs is said before it is taken" {
    inventory "  app: { port: $RIG_PORT_rude }"
    run_profgrab --host file-03 trace=1s
    assert_status 0
    assert_stderr_has 'records every scheduling event'
    run_profgrab --host file-03 -q trace=1s
    assert_stderr ''
}

@test "the version of Go is found in the profiles" {
    inventory "  app: { port: $RIG_PORT_rude }"
    run_profgrab --host file-03 trace=1s goroutines=proto
    assert_status 0
    local version
    version=$(manifest 'm["hosts"][0]["services"][0].get("go_version")')
    [[ $version == 1.* || $version == '>= 1.'* ]] || fail "$version"
}

@test "--max-bytes bounds a body, and an endless one ends at it" {
    inventory "  app: { port: $RIG_PORT_rude, path: /endless/debug/pprof }"
    run_profgrab --host file-03 --max-bytes 3MB heap
    assert_status 1
    assert_stderr_has 'larger than 3.0 MB, the limit of this kind'
    assert_stderr_has '--max-bytes'
    local bytes
    bytes=$(manifest 'm["hosts"][0]["services"][0]["items"][0]["bytes"]')
    ((bytes > 2000000 && bytes <= 3000000)) || fail "$bytes"
    run_profgrab --host file-03 --max-bytes 3XB heap
    assert_status 2
}

# Last: while somebody holds the profiler of the fixture, no other test can have it.

@test "a profiler that is held is waited for, and the bundle says so" {
    inventory "  app: { port: $RIG_PORT_rude, path: /held=1.5/debug/pprof }"
    run_profgrab --host file-03 cpu=3s
    assert_status 0
    assert_stderr_has 'somebody else was profiling this process: it could begin only after'
    assert_equal "$(manifest '"waited" in [v["rule"] for v in m["hosts"][0]["services"][0]["items"][0]["verdicts"]]')" True
    inventory "  app: { port: $RIG_PORT_rude, path: /held=1.6/debug/pprof }"
    run_profgrab --host file-03 trace=3s
    assert_status 0
    assert_stderr_has 'could begin only after'
}

@test "a profiler that stays held is given up a little after the profile's own time, with who holds it" {
    inventory "  app: { port: $RIG_PORT_rude, path: /agent/debug/pprof }"
    run_profgrab --host file-03 cpu=1s heap
    assert_status 3
    assert_stderr_has 'cpu profiling already in use; still so after 3'
    assert_stderr_has "held by Datadog's profiler"
    inventory "  app: { port: $RIG_PORT_rude, path: /rival=6/debug/pprof }"
    run_profgrab --host file-03 cpu=1s heap
    assert_status 3
    assert_stderr_has 'held by another client that takes a CPU profile over HTTP'
    inventory "  app: { port: $RIG_PORT_rude, path: /busy/debug/pprof }"
    run_profgrab --host file-03 trace=1s heap
    assert_status 3
    assert_stderr_has 'tracing is already enabled; still so after 3'
    assert_stderr_has 'somebody else'
}
