# shellcheck disable=SC2030,SC2031 # each test is a subshell
# The service's side of a capture: TLS, certificates, secrets, Unix sockets, redirects, a profiler in use.
load helper

# inventory TEXT: the services of the hosts app (over the rig's sshd) and here (direct), as YAML lines.
inventory() {
    export PROFGRAB_INVENTORY=$BATS_TEST_TMPDIR/inventory.yaml
    printf 'version: 1\nservices:\n%s\nhosts:\n  file-03: { services: [app] }\n  here: { connect: direct, address: 127.0.0.1, services: [app] }\n' \
        "$1" >"$PROFGRAB_INVENTORY"
    chmod 600 "$PROFGRAB_INVENTORY"
}

manifest() { # EXPRESSION: prints a Python expression over the manifest `m` of the bundle in $output
    tar -xOf "$output" --wildcards '*/manifest.json' | python3 -c 'import json, sys; m = json.load(sys.stdin); print(eval(sys.argv[1]))' "$1"
}

# No output and no file contains the secret in any form.
refute_secret() {
    local encoded
    encoded=$(printf 'ann:%s' "$SECRET" | base64 -w0)
    [[ $output$stderr != *"$SECRET"* && $output$stderr != *"$encoded"* ]] || fail_run 'the secret was printed'
    [[ -e $output ]] || return 0
    [[ $(tar -xOf "$output" | grep -acF -e "$SECRET" -e "$encoded") == 0 ]] || fail_run "the secret is in $output"
}

@test "https with a CA of the inventory works over SSH" {
    inventory "  app: { port: $RIG_PORT_rude_https, scheme: https, tls: { ca: $RIG_DIR/tls/ca.pem } }"
    run_profgrab --host file-03 heap cpu=1s
    assert_status 0
    assert_equal "$(manifest 'm["hosts"][0]["services"][0]["url"]')" "https://localhost:$RIG_PORT_rude_https/debug/pprof"
    assert_equal "$(manifest '[i["status"] for i in m["hosts"][0]["services"][0]["items"]]')" "['ok', 'ok']"
}

@test "a certificate of an unknown CA is refused, with a hint at the key for a CA" {
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

@test "expired, misnamed and self-signed certificates are refused; insecure accepts them, and the bundle records it" {
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
    # It applies to its own service only.
    inventory "  app: { port: $RIG_PORT_rude_httpsself, scheme: https, tls: { insecure: true } }
  other: { port: $RIG_PORT_rude_httpsself, scheme: https, host_header: other }"
    sed -i 's/\[app\]/[app, other]/' "$PROFGRAB_INVENTORY"
    run_profgrab --host file-03 heap
    assert_status 3
    assert_stderr_has 'other: '
    assert_equal "$(manifest '[(s["name"], [i["status"] for i in s.get("items", [])]) for s in m["hosts"][0]["services"]]')" "[('app', ['ok']), ('other', [])]"
}

@test "server_name sets the name for TLS, and the Host header does not change" {
    inventory "  app: { port: $RIG_PORT_rude_https, scheme: https, path: /host=localhost/debug/pprof, tls: { ca: $RIG_DIR/tls/ca.pem, server_name: pprof.internal } }"
    run_profgrab --host file-03 heap
    assert_status 0
    inventory "  app: { port: $RIG_PORT_rude_https, scheme: https, path: /host=app.example/debug/pprof, host_header: app.example, tls: { ca: $RIG_DIR/tls/ca.pem } }"
    run_profgrab --host file-03 heap
    assert_status 0
}

@test "a client certificate is sent if one is configured; a missing one is reported" {
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

@test "a client key with a passphrase never causes a prompt" {
    openssl pkcs8 -topk8 -in "$RIG_DIR/tls/client.key" -passout pass:x -out locked.key
    inventory "  app: { port: $RIG_PORT_rude_httpsclient, scheme: https, tls: { ca: $RIG_DIR/tls/ca.pem, cert: $RIG_DIR/tls/client.pem, key: $PWD/locked.key } }"
    with_pty --deadline 20 -- "$profgrab_program" --ssh-config "$SSH_CONFIG" --host file-03 heap
    assert_status 1
    [[ $output == *'no passphrase'* && $output != *'Enter PEM'* ]] || fail_run
}

@test "TLS to a plain service, and plain HTTP to a TLS service, are reported" {
    inventory "  app: { port: $RIG_PORT_rude, scheme: https }"
    run_profgrab --host file-03 heap
    assert_status 1
    assert_stderr_has 'scheme:'
    inventory "  app: { port: $RIG_PORT_rude_https }"
    run_profgrab --host file-03 heap
    assert_status 1
    assert_stderr_has 'scheme: https'
}

@test "a bearer token from the environment, a file or a command is never printed or stored" {
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

@test "basic authentication works" {
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

@test "a command for a secret is never shown, even if its output was wrong" {
    inventory "  app: { port: $RIG_PORT_rude, path: /bearer/debug/pprof, auth: { bearer_command: \"echo hidden-in-a-command\" } }"
    run_profgrab -v --host file-03 heap
    assert_status 1
    assert_stderr_has 'does not accept the output of the command for the secret'
    refute_stderr_has hidden-in-a-command
}

@test "an unavailable secret is reported before anything is opened" {
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

@test "a secret repeated by a service is in no output and no file" {
    export PPROF_TOKEN=$SECRET
    local path
    for path in echo echo=404 echo=200 title; do
        inventory "  app: { port: $RIG_PORT_rude, path: /$path/debug/pprof, auth: { bearer_env: PPROF_TOKEN } }"
        run_profgrab --host file-03 heap
        [[ $stderr == *'Bearer ***'* || $stderr == *'contains the secret of the request'* ]] || fail_run
        [[ $stderr != *"$SECRET"* ]] || fail_run
        [[ -z $output ]] || refute_secret
    done
    inventory "  app: { port: $RIG_PORT_rude, path: /names/debug/pprof, auth: { bearer_env: PPROF_TOKEN } }"
    run_profgrab --host file-03 heap
    refute_secret
    assert_equal "$(manifest '[o["name"] for o in m["hosts"][0]["services"][0]["offers"]]')" "['heap']"
    inventory "  app: { port: $RIG_PORT_rude, path: /echo/debug/pprof, auth: { user: ann, password_env: PPROF_TOKEN } }"
    run_profgrab --host file-03 heap
    refute_secret
}

@test "the secret is on no command line and in no core dump" {
    export PPROF_TOKEN=$SECRET
    local pid limit line
    inventory "  app: { port: $RIG_PORT_rude, path: /bearer/debug/pprof, auth: { bearer_env: PPROF_TOKEN } }"
    "$profgrab_program" --ssh-config "$SSH_CONFIG" --host file-03 cpu=3s heap >path 2>log 3>&- &
    pid=$!
    wait_for grep -q 'taking 3s' log
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
    assert_stderr_has 'imitates the service'
}

@test "a proxy of the environment is not used for services" {
    local host
    inventory "  app: { port: $RIG_PORT_rude }"
    for host in here file-03; do
        http_proxy=http://127.0.0.1:1 HTTP_PROXY=http://127.0.0.1:1 all_proxy=http://127.0.0.1:1 no_proxy='' run_profgrab --host "$host" heap
        assert_status 0
    done
    inventory "  app: { port: $RIG_PORT_rude_httpsself, scheme: https, tls: { insecure: true } }"
    https_proxy=http://127.0.0.1:1 HTTPS_PROXY=http://127.0.0.1:1 all_proxy=http://127.0.0.1:1 no_proxy='' run_profgrab --host here heap
    assert_status 0
}

@test "only redirects within the service are followed" {
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

@test "a Unix socket without SSH works" {
    inventory "  app: { unix: $RIG_DIR/rude.sock }"
    run_profgrab --host here heap cpu=1s
    assert_status 0
    assert_equal "$(manifest 'm["hosts"][0]["services"][0]["url"]')" "unix:$RIG_DIR/rude.sock /debug/pprof"
    run_profgrab --host 127.0.0.1 --unix "$RIG_DIR/nosuch.sock" heap
    [[ $status != 0 ]]
}

@test "an ad hoc service works at another path; over TLS its certificate is checked" {
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

@test "cancelling a profile frees the profiler" {
    inventory "  app: { port: $RIG_PORT_rude }"
    with_pty --deadline 20 --ctrl-c 'of 1m' -- "$profgrab_program" --ssh-config "$SSH_CONFIG" --host file-03 heap cpu=60s
    assert_status 130
    run_profgrab --host file-03 cpu=1s
    assert_status 0
    refute_stderr_has waiting
}

@test "--concurrent takes timed profiles in parallel, each with a finding" {
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

@test "the cost of a trace is printed before it is taken" {
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

@test "--max-bytes limits a body, also an endless one" {
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

# The following tests come last, because they keep the fixture's profiler in use.

@test "a profiler in use is waited for, and the bundle records it" {
    inventory "  app: { port: $RIG_PORT_rude, path: /held=1.5/debug/pprof }"
    run_profgrab --host file-03 cpu=3s
    assert_status 0
    assert_stderr_has 'another client was profiling this process: this profile could begin only after'
    assert_equal "$(manifest '"waited" in [v["rule"] for v in m["hosts"][0]["services"][0]["items"][0]["verdicts"]]')" True
    inventory "  app: { port: $RIG_PORT_rude, path: /held=1.6/debug/pprof }"
    run_profgrab --host file-03 trace=3s
    assert_status 0
    assert_stderr_has 'could begin only after'
}

@test "the wait for a profiler in use ends after the profile's own time, and the user of the profiler is named" {
    inventory "  app: { port: $RIG_PORT_rude, path: /agent/debug/pprof }"
    run_profgrab --host file-03 cpu=1s heap
    assert_status 3
    assert_stderr_has 'cpu profiling already in use; the profiler was still in use after 3'
    assert_stderr_has "in use by Datadog's profiler"
    inventory "  app: { port: $RIG_PORT_rude, path: /rival=6/debug/pprof }"
    run_profgrab --host file-03 cpu=1s heap
    assert_status 3
    assert_stderr_has 'in use by another client that takes a CPU profile over HTTP'
    inventory "  app: { port: $RIG_PORT_rude, path: /busy/debug/pprof }"
    run_profgrab --host file-03 trace=1s heap
    assert_status 3
    assert_stderr_has 'tracing is already enabled; the profiler was still in use after 3'
    assert_stderr_has 'another client'
}
