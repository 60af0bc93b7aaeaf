#!/usr/bin/env bats
# shellcheck disable=SC2030,SC2031 # each test is a subshell
# Forwards as used by pprof, curl and a scraper: many at once, and failures.
load helper

# forward ARG...: starts `profgrab forward` in the background, its stdout in `out`, its stderr in `log`, and waits until it prints its
# addresses. Sets $pid, and $url to the first line.
forward() {
    # The log of an earlier forward does not count.
    rm -f out log
    "$profgrab_program" forward --ssh-config "$SSH_CONFIG" "$@" >out 2>log 3>&- 4>&- &
    pid=$!
    until_true test -s out || fail "$(cat log)"
    url=$(head -n 1 out)
}

# until_true COMMAND...: polls, for 20 s at most.
until_true() {
    local i
    for ((i = 0; i < 1000; i++)); do
        ! "$@" 2>/dev/null || return 0
        sleep 0.02
    done
    fail "never came true: $*" "$(cat log out)"
}

has_ended() { [[ -z $(rig_start_time "$1") ]]; }

logged() { grep -qF -- "$1" log; }

# Ends the forward by SIGTERM, because a background job ignores SIGINT. Sets $ended to its exit status.
forward_end() {
    ended=0
    kill -TERM "$pid"
    wait "$pid" || ended=$?
    pid=
}

teardown() {
    [[ -z ${pid-} ]] || kill -KILL "$pid" 2>/dev/null || :
    e2e_teardown
}

fetch() { curl -sS --max-time 20 "$@"; }

# ---- traffic ----------------------------------------------------------------------------------------------------

@test "pprof, curl and a streaming trace work through a forward; stdout has only the URL" {
    forward --host file-03 --port "$RIG_PORT_rude" --listen 0
    assert_equal "$(cat out)" "$url"
    [[ $url =~ ^http://127\.0\.0\.1:[0-9]+/debug/pprof/$ ]] || fail "$url"
    logged "listening on 127.0.0.1:" && logged "programs on this workstation only" || fail "$(cat log)"
    logged "try: go tool pprof ${url}profile" || fail "$(cat log)"
    go tool pprof -top "${url}profile?seconds=1" >top 2>pprof.log || fail "$(cat pprof.log)"
    grep -q 'flat%' top
    go tool pprof -proto -output heap.pb.gz "${url}heap" 2>pprof.log || fail "$(cat pprof.log)"
    go tool pprof -top heap.pb.gz 2>&1 | grep -q 'Type: inuse_space'
    fetch -o trace.out "${url}trace?seconds=1"
    assert_equal "$(head -c 4 trace.out)" 'go 1'
    fetch "$url" | grep -q 'Types of profiles available'
    forward_end
    assert_equal "$ended" 143
    refute_listening "$url"
}

refute_listening() { # URL
    ! fetch -o /dev/null "$1" 2>/dev/null || fail "still listening: $1"
}

@test "eight connections at once are byte for byte correct, beside one that reads slowly" {
    local i slow
    forward --host file-03 --port "$RIG_PORT_rude" --path /big=10/debug/pprof --listen 0
    fetch -o direct "http://127.0.0.1:$RIG_PORT_rude/big=10/debug/pprof/heap"
    fetch --limit-rate 100k -o slow "${url}heap" 3>&- &
    slow=$!
    for ((i = 0; i < 8; i++)); do
        fetch -o "body$i" "${url}heap" 3>&- &
        pids[i]=$!
    done
    for ((i = 0; i < 8; i++)); do
        wait "${pids[i]}"
        cmp direct "body$i"
    done
    kill -0 "$slow" || fail 'the slow connection ended before the others'
    kill "$slow"
    forward_end
}

@test "Prometheus scrapes through a forward" {
    rig_fetch prometheus
    forward --host file-03 --port "$RIG_PORT_node_exporter" --listen 0
    local port=${url#http://127.0.0.1:}
    printf 'scrape_configs:\n- job_name: far\n  scrape_interval: 1s\n  static_configs: [ { targets: ["127.0.0.1:%s"] } ]\n' \
        "${port%%/*}" >prometheus.yml
    prometheus_at() {
        rig_spawn "$1" "$rig_packages/usr/bin/prometheus" --config.file="$PWD/prometheus.yml" \
            --storage.tsdb.path="$PWD/tsdb" --web.listen-address="127.0.0.1:$2"
    }
    rig_on_port prometheus prometheus_at 'rig_http_is_ok PORT /-/ready'
    until_true scraped
    rig_end prometheus
    forward_end
}

scraped() { fetch "http://127.0.0.1:$RIG_PORT_prometheus/api/v1/targets" | grep -q '"health":"up"'; }

@test "https is carried unchanged, the printed command works, and the client sends the secret" {
    export PPROF_TOKEN=$SECRET
    printf 'version: 1\nservices:\n  app: { port: %s, scheme: https, path: /bearer/debug/pprof, host_header: localhost, tls: { ca: %s }, auth: { bearer_env: PPROF_TOKEN } }\nhosts:\n  file-03: { services: [app] }\n' \
        "$RIG_PORT_rude_https" "$RIG_DIR/tls/ca.pem" >inventory
    chmod 600 inventory
    forward -i inventory --host file-03 --listen 0
    [[ $url == https://127.0.0.1:*/bearer/debug/pprof/ ]] || fail "$url"
    logged 'forward adds none, so each client must send it' || fail "$(cat log)"
    logged 'expects "Host: localhost"' || fail "$(cat log)"
    logged "-H 'Host: localhost'" || fail "$(cat log)"
    # Runs the printed command, with the CA and the token added.
    local words
    eval "words=($(sed -n 's/.*try: curl //p' log))"
    assert_equal "$(fetch --cacert "$RIG_DIR/tls/ca.pem" -w '%{http_code}' "${words[@]/heap.pb.gz/refused}")" 401
    fetch --fail --cacert "$RIG_DIR/tls/ca.pem" -H "Authorization: Bearer $SECRET" "${words[@]}"
    go tool pprof -top heap.pb.gz >/dev/null
    forward_end
    ! grep -rqF "$SECRET" out log || fail 'the secret was printed'
}

@test "--compress yes and --compress no have an effect with libssh2 and OpenSSH; the default is no compression" {
    local via how expected
    rig_sshd loud loud-01 'LogLevel DEBUG1'
    while read -r via how expected; do
        forward -v --via "$via" --compress "$how" --host loud-01 --port "$RIG_PORT_rude" --listen 0
        fetch --fail -o /dev/null "${url}goroutine?debug=2"
        forward_end
        rm out
        assert_equal "$via $how $(sed -n 's/.*kex: server->client .* compression: \([^ ]*\).*/\1/p' "$RIG_DIR/loud/log" | tail -n 1)" \
            "$via $how $expected"
    done <<'EOF'
libssh2 yes zlib@openssh.com
libssh2 no none
libssh2 auto none
openssh yes zlib@openssh.com
openssh no none
openssh auto none
EOF
    rig_end loud
}

@test "the client's Host header reaches the service" {
    forward --host file-03 --port "$RIG_PORT_caddy" --listen 0
    assert_equal "$(fetch -o /dev/null -w '%{http_code}' "$url")" 403
    assert_equal "$(fetch -o /dev/null -w '%{http_code}' -H "Host: localhost:$RIG_PORT_caddy" "$url")" 200
    # Without an inventory, profgrab does not recognise caddy, so its example is go tool pprof.
    logged "try: go tool pprof ${url}profile" || fail "$(cat log)"
    forward_end
}

@test "the command printed for caddy sends the Host header that caddy accepts" {
    write_inventory
    forward --host file-03 --service caddy --listen 0
    logged "expects \"Host: localhost:$RIG_PORT_caddy\"" || fail "$(cat log)"
    logged "listens on the service's own port" || fail "$(cat log)"
    local words
    eval "words=($(sed -n 's/.*try: curl //p' log))"
    fetch --fail "${words[@]}"
    go tool pprof -top heap.pb.gz >/dev/null
    forward_end
}

# ---- addresses --------------------------------------------------------------------------------------------------

@test "without --listen the service's own port is used, or another one if it is taken" {
    # A listener on 127.0.0.2 does not take the port on 127.0.0.1. rig_free_port chooses a port below those that the kernel
    # gives to clients, so that no client takes it there.
    rig_fixture apart -listen "127.0.0.2:$(rig_free_port)"
    printf 'version: 1\nservices:\n  apart: { host: 127.0.0.2, port: %s }\n  rude: { port: %s }\nhosts:\n  file-03: { services: [apart, rude] }\n' \
        "$RIG_PORT_apart" "$RIG_PORT_rude" >inventory
    chmod 600 inventory
    forward -i inventory --host file-03
    assert_equal "$url" "http://127.0.0.1:$RIG_PORT_apart/debug/pprof/"
    assert_equal "$(wc -l <out)" 2
    fetch -o /dev/null "$url"
    fetch -o /dev/null "$(tail -n 1 out)"
    logged "rude: cannot listen on 127.0.0.1:$RIG_PORT_rude: another program listens there; listening on 127.0.0.1:" || fail "$(cat log)"
    forward_end
    rig_end apart
}

@test "several services have an address each; --json lists them, and -q prints no messages" {
    write_inventory
    forward -q --json --host file-03 --service caddy,node --listen 0 --listen "unix:$PWD/node sock"
    assert_equal "$(cat log)" ''
    assert_equal "$(wc -l <out)" 2
    python3 - "$PWD/node sock" <<'EOF'
import json, sys
caddy, node = (json.loads(line) for line in open("out"))
assert caddy["service"] == "caddy" and caddy["host"] == "file-03"
assert caddy["url"] == f"http://127.0.0.1:{caddy['port']}/debug/pprof/" and caddy["address"] == "127.0.0.1", caddy
assert node["socket"] == sys.argv[1] and node["url"] == "http://localhost/debug/pprof/", node
EOF
    fetch --fail --unix-socket "$PWD/node sock" -o /dev/null http://localhost/debug/pprof/heap
    forward_end
}

@test "--listen with port 0 gives each service a port of its own" {
    local zero
    write_inventory
    for zero in 127.0.0.1:0 0; do
        forward --json --host file-03 --service caddy,node --listen "$zero"
        assert_equal "$(wc -l <out)" 2
        python3 - <<'EOF'
import json
caddy, node = (json.loads(line) for line in open("out"))
assert (caddy["service"], node["service"]) == ("caddy", "node"), (caddy, node)
assert caddy["address"] == node["address"] == "127.0.0.1" and caddy["port"] != node["port"], (caddy, node)
open("urls", "w").write(node["url"] + "heap\n")
EOF
        fetch --fail -o /dev/null "$(cat urls)"
        forward_end
    done
    # Any other single address is for a single service.
    for zero in 127.0.0.1:6060 "unix:$PWD/sock"; do
        run_profgrab forward --host file-03 --service caddy,node --listen "$zero"
        assert_status 2
        assert_stderr_has '--listen names 1 address, but there are 2 services'
        assert_stderr_has 'or give only 127.0.0.1:0 for free ports'
    done
}

@test "a Unix socket is private, replaced when it is stale, and removed at the end" {
    forward --host file-03 --port "$RIG_PORT_rude" --listen "unix:$PWD/sock"
    assert_equal "$url" "$PWD/sock"
    assert_mode sock 600
    logged "try: curl --unix-socket $PWD/sock -o heap.pb.gz http://localhost/debug/pprof/heap" || fail "$(cat log)"
    fetch --fail --unix-socket sock -o heap.pb.gz http://localhost/debug/pprof/heap
    # The socket is not replaced while another process listens.
    run_profgrab forward --host file-03 --port "$RIG_PORT_rude" --listen "unix:$PWD/sock"
    assert_status 1
    assert_stderr_has 'another program listens there'
    fetch --fail --unix-socket sock -o heap.pb.gz http://localhost/debug/pprof/heap
    kill -KILL "$pid"
    wait "$pid" || :
    [[ -S sock ]]
    rm out
    forward --host file-03 --port "$RIG_PORT_rude" --listen "unix:$PWD/sock"
    fetch --fail --unix-socket sock -o heap.pb.gz http://localhost/debug/pprof/heap
    forward_end
    assert_equal "$ended" 143
    [[ ! -e sock ]]
}

@test "a service on a remote Unix socket works with libssh2 and OpenSSH" {
    local via
    # The sshd's user must be able to connect to it as well.
    chmod 777 "$RIG_DIR/rude.sock"
    for via in libssh2 openssh; do
        forward --via "$via" --host file-03 --unix "$RIG_DIR/rude.sock" --listen 0
        [[ $url =~ ^http://127\.0\.0\.1:[0-9]+/debug/pprof/$ ]] || fail "$url"
        fetch --fail -o heap.pb.gz "${url}heap"
        go tool pprof -top heap.pb.gz >/dev/null
        forward_end
        rm out
    done
}

@test "bad arguments and taken addresses are reported before anything is opened" {
    local logins
    write_inventory
    touch file
    logins=$(grep -c 'Connection from' "$RIG_DIR/sshd/log" || :)
    local bad=(2 '--listen :6060' 2 '--listen file-03:6060' 2 '--listen 65536' 2 '--listen unix:' 2 '--listen 1,2,3'
        2 '--listen 6060' 2 'heap' 2 '-q -v' 2 '--parallel 4' 2 '--service nod' 2 '--host file-04' 1 "--listen 0 --listen unix:$PWD/file"
        1 "--listen 0,$RIG_PORT_rude") at # bats's run has an i of its own
    for ((at = 0; at < ${#bad[@]}; at += 2)); do
        # shellcheck disable=SC2086 # words
        run_profgrab forward --host file-03 ${bad[at + 1]}
        assert_status "${bad[at]}"
        assert_stdout ''
        [[ -n $stderr ]]
    done
    assert_stderr_has "cannot listen on 127.0.0.1:$RIG_PORT_rude: another program listens there"
    run_profgrab forward
    assert_status 2
    assert_stderr_has 'no host given'
    [[ -f file ]]
    assert_equal "$(grep -c 'Connection from' "$RIG_DIR/sshd/log" || :)" "$logins"
}

@test "an address for the whole network needs to be given in full, and causes a warning" {
    # The test runs in a network namespace of its own, because the forward listens on all addresses. A direct route opens no
    # connection before the first client.
    write_inventory
    cat >run <<'EOF'
PATH=$PATH:/sbin:/usr/sbin
ip link set lo up
"$1" forward -q --host laptop --listen 0.0.0.0:6060 >out 2>log &
for ((i = 0; i < 500; i++)); do [[ ! -s out ]] || break; sleep 0.02; done
kill -TERM $!
wait $!
EOF
    own_network bash -c 'PATH=$PATH:/sbin:/usr/sbin ip link set lo up' || skip 'needs network namespaces and ip(8)'
    own_network bash run "$profgrab_program" || :
    assert_equal "$(cat out)" 'http://127.0.0.1:6060/debug/pprof/'
    logged 'WARNING: listening on 0.0.0.0:6060: any host that can reach this workstation over the network can read these profiles' ||
        fail "$(cat log)"
}

# ---- failures ---------------------------------------------------------------------------------------------------

@test "a host that cannot be opened ends the forward at once, with exit code 1 and empty stdout" {
    printf 'Host nowhere\n    HostName 127.0.0.1\n    Port %s\n' "$(rig_free_port)" >config
    run --separate-stderr "$profgrab_program" forward --ssh-config config --host nowhere --port 6060 --listen "unix:$PWD/sock"
    assert_status 1
    assert_stdout ''
    assert_stderr_has 'nowhere: '
    assert_stderr_has 'onnection refused'
    [[ ! -e sock ]]
}

@test "a missing service fails each connection; it is reported once, and again if it was up in between" {
    local port try
    port=$(rig_free_port)
    forward --host file-03 --port "$port" --listen 0
    for try in 1 2 3; do
        run fetch "$url"
        [[ $status == 52 || $status == 56 ]] || fail "curl, try $try: $status $output"
    done
    until_true logged 'a connection failed: '
    assert_equal "$(grep -c 'a connection failed: ' log)" 1
    rig_fixture late -listen "127.0.0.1:$port"
    fetch --fail -o /dev/null "$url"
    rig_end late
    run fetch "$url"
    until_true test "$(grep -c 'a connection failed: ' log)" = 2 || :
    forward_end
    assert_equal "$(grep -c 'a connection failed: ' log)" 2
}

@test "-v prints each connection with its bytes" {
    forward -v --host file-03 --port "$RIG_PORT_rude" --listen 0
    fetch -o /dev/null "$url"
    until_true logged ' received '
    forward_end
    grep -qE 'port-[0-9]+: 127\.0\.0\.1:[0-9]+: connected' log || fail "$(cat log)"
    grep -qE '127\.0\.0\.1:[0-9]+: ended after [0-9.]+m?s, sent [0-9]+ B, received [0-9.]+ kB' log || fail "$(cat log)"
}

# start_sshd NAME [LINE...]: starts an sshd for the alias NAME-01. Sets $sshd_pid.
start_sshd() {
    rig_sshd "$1" "$1-01" "${@:2}"
    sshd_pid=$(cut -d' ' -f1 "$RIG_DIR/pids/$1")
}

session_of() { rig_session "$sshd_pid"; }

# Kills the sshd: its listener first, so that it accepts no connection meanwhile.
kill_sshd() { # NAME
    local session
    session=$(session_of)
    kill -KILL "$sshd_pid" "$session"
    rig_end "$1"
}

# Starts the same sshd again at the same port.
restart_sshd() { # NAME
    local port=RIG_PORT_$1
    rig_sshd_at "$1" "${!port}"
    rig_wait "$1" 20 rig_connects "${!port}"
}

@test "a lost session ends its connections, is reported once, and the same address works again" {
    start_sshd lost
    forward --host lost-01 --port "$RIG_PORT_rude" --listen 0
    fetch -N -o heap.out "${url%debug/pprof/}drip/debug/pprof/heap" 3>&- &
    local cut=$!
    until_true test -s heap.out
    kill -KILL "$(session_of)"
    status=0
    wait "$cut" || status=$?
    [[ $status == 18 || $status == 56 ]] || fail "curl: $status" "$(cat log)"
    # A connection without a session waits a little.
    fetch --fail -o /dev/null "$url"
    until_true logged 'connected again after '
    assert_equal "$(grep -c 'opening another session' log)" 1
    assert_equal "$(wc -l <out)" 1
    forward_end
    rig_end lost
}

@test "while the sshd is down, the forward keeps reconnecting and keeps the address" {
    start_sshd away
    forward --host away-01 --port "$RIG_PORT_rude" --listen 0
    fetch --fail -o /dev/null "$url"
    kill_sshd away
    until_true logged 'not connected; trying again in '
    fetch --fail -o /dev/null "$url" 3>&- &
    local client=$!
    restart_sshd away
    wait "$client"
    until_true logged 'connected again after '
    assert_equal "$(grep -c 'opening another session' log)" 1
    forward_end
    assert_equal "$ended" 143
    rig_end away
}

@test "clients wait ten seconds for a lost session; then they are refused" {
    local killed waited
    start_sshd down
    forward --host down-01 --port "$RIG_PORT_rude" --listen 0
    fetch --fail -o /dev/null "$url" # before that, the process of the login may still exist
    killed=$(date +%s%N)
    kill_sshd down
    until_true logged 'opening another session'
    run fetch -o /dev/null "$url"
    waited=$((($(date +%s%N) - killed) / 1000000))
    [[ $status == 52 || $status == 56 ]] || fail "curl: $status $output"
    ((waited >= 10000 && waited < 30000)) || fail "refused after $waited ms"
    # The next client does not wait as long as the first one.
    run fetch --max-time 2 -o /dev/null "$url"
    [[ $status == 52 || $status == 56 ]] || fail "curl: $status $output"
    restart_sshd down
    until_true logged 'connected again after '
    fetch --fail -o /dev/null "$url"
    forward_end
    rig_end down
}

@test "a session that sends no more data counts as lost" {
    local session
    start_sshd mute
    forward --timeout 3s --host mute-01 --port "$RIG_PORT_rude" --listen 0
    fetch --fail -o /dev/null "$url"
    session=$(session_of)
    kill -STOP "$session"
    until_true logged 'connected again after '
    fetch --fail -o /dev/null "$url"
    forward_end
    kill -CONT "$session"
    rig_end mute
}

@test "a refused login or host key ends the forward without a retry" {
    local i
    for i in login key; do
        start_sshd "no$i"
        forward --host "no$i-01" --port "$RIG_PORT_rude" --listen "unix:$PWD/sock"
        # After this fetch, the login's process is gone, so session_of finds the session's process.
        fetch --fail -o /dev/null --unix-socket sock http://localhost/debug/pprof/heap
        if [[ $i == login ]]; then
            : >"$RIG_DIR/no$i/authorized_keys"
            kill -KILL "$(session_of)"
        else
            kill_sshd "no$i"
            rm "$RIG_DIR/no$i/host_key"
            ssh-keygen -q -t ed25519 -N '' -f "$RIG_DIR/no$i/host_key"
            chown "$RIG_UID:$RIG_GID" "$RIG_DIR/no$i/host_key"
            restart_sshd "no$i"
        fi
        until_true has_ended "$pid"
        ended=0
        wait "$pid" || ended=$?
        assert_equal "$ended" 1
        [[ ! -e sock ]]
        rm out
        if [[ $i == login ]]; then
            logged "nologin-01: 127.0.0.1 port $RIG_PORT_nologin: permission denied" || fail "$(cat log)"
        else
            logged "nokey-01: 127.0.0.1 port $RIG_PORT_nokey: HOST KEY HAS CHANGED" || fail "$(cat log)"
        fi
        rig_end "no$i"
    done
    pid=
}

@test "an idle forward answers the server's keepalives" {
    start_sshd idle 'ClientAliveInterval 1' 'ClientAliveCountMax 2'
    forward -v --host idle-01 --port "$RIG_PORT_rude" --listen 0
    fetch --fail -o /dev/null "$url"
    sleep 5 # the test is about time
    fetch --fail -o /dev/null "$url"
    forward_end
    rig_end idle
    ! logged 'lost' || fail "$(cat log)"
}

@test "Ctrl-C ends a forward with exit code 130 and removes the socket" {
    with_pty --deadline 30 --stdout out --ctrl-c 'try: curl' -- "$profgrab_program" forward --ssh-config "$SSH_CONFIG" \
        --host file-03 --port "$RIG_PORT_rude" --listen "unix:$PWD/sock"
    assert_status 130
    assert_equal "$(cat out)" "$PWD/sock"
    [[ ! -e sock ]]
    [[ $output == *'stopping; Ctrl-C again quits at once'* && $output != *interrupted* ]] || fail_run
}

@test "Ctrl-C works while a forward opens, and while it reconnects" {
    start_sshd stuck
    # A host that accepts and sends nothing.
    python3 -c '
import socket, time
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(); print(s.getsockname()[1], flush=True); time.sleep(60)' >port 3>&- 4>&- &
    local silent=$!
    until_true test -s port
    printf 'Host silent\n    HostName 127.0.0.1\n    Port %s\n' "$(cat port)" >config
    # "connected" is printed before profgrab waits for the banner.
    with_pty --deadline 30 --ctrl-c "127.0.0.1 port $(cat port)" -- "$profgrab_program" forward -v --ssh-config config \
        --host silent --port 6060 --listen unix:sock
    kill "$silent"
    assert_status 130
    [[ ! -e sock && $output == *"profgrab: silent: 127.0.0.1 port $(cat port): "*interrupted* ]] || fail_run
    : >out
    (until_true grep -q . out && fetch --fail -o /dev/null --unix-socket sock http://localhost/debug/pprof/heap && kill_sshd stuck) 3>&- 4>&- &
    with_pty --deadline 30 --stdout out --ctrl-c 'trying again in' -- "$profgrab_program" forward \
        --ssh-config "$SSH_CONFIG" --host stuck-01 --port "$RIG_PORT_rude" --listen "unix:$PWD/sock"
    wait
    assert_status 130
    [[ ! -e sock ]]
}

# sshd announces its other host keys after the login. To receive them, the hub opens a channel of its own. The answer takes 0.4 s
# here, and nothing else arrives until the next keepalive, 10 s later.
@test "a connection is carried at once while the hub waits for the server's own messages" {
    rig_sshd asking asking-01 'LogLevel DEBUG1'
    rig_fixture line -ssh "127.0.0.1:$RIG_PORT_asking"
    rig_alias far-01 line_farline 'HostKeyAlias asking'
    echo "asking $(cut -d' ' -f1,2 "$RIG_DIR/asking/host_key.pub")" >>"$RIG_KNOWN_HOSTS"
    forward --host far-01 --port "$RIG_PORT_rude" --listen 0
    until_true grep -q 'server_input_channel_open: ctype session' "$RIG_DIR/asking/log"
    curl -sS --max-time 5 -o body "${url}cmdline" || fail "$(cat log)"
    forward_end
    rig_end line
    rig_end asking
}
