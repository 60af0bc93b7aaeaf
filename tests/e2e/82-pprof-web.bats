#!/usr/bin/env bats
# The web page of pprof -http: its answers compared with those of go tool pprof -http, saved settings, limits of a request,
# many clients, the end. Opens no host. tests/browser/pprof.test.js has the page itself.

load helper

setup_file() {
    e2e_setup_file
    curl -s "http://127.0.0.1:$RIG_PORT_caddy/debug/pprof/heap" -o "$RIG_DIR/heap.pb.gz"
    curl -s "http://127.0.0.1:$RIG_PORT_caddy/debug/pprof/goroutine" -o "$RIG_DIR/goroutine.pb.gz"
    # A profile whose flame graph takes a while.
    "$(dirname "$profgrab_program")/bench/generate" cpu 400000 >"$RIG_DIR/large.pb.gz"
}

setup() {
    e2e_setup
    export XDG_CONFIG_HOME=$PWD/config
}

end_page() {
    rig_end page
    rm -rf "$RIG_DIR/page"
}

teardown() {
    end_page
    e2e_teardown
}

# serve ARGUMENT...: starts the server in the background. Sets $url to the address with the token, $base to the server's.
serve() {
    rig_spawn page env "${environment[@]}" "$profgrab_program" pprof -http=127.0.0.1:0 -no_browser "$@"
    wait_for grep -q '^http://' "$RIG_DIR/page/log"
    url=$(sed -n '/^http:/p' "$RIG_DIR/page/log")
    base=${url%%/ui*}
    token=${url##*token=}
    read -r server _ <"$RIG_DIR/pids/page"
}

# get PATH [CURL-ARGUMENT...]: writes the answer to the file `body` and prints its status.
get() {
    local path=$1
    shift
    curl -s -o body -w '%{http_code}' -H "Authorization: Bearer $token" -H "Accept: ${accept-application/json}" "$@" "$base$path"
}

# The processes of the server's delegate and its children.
delegate() { pgrep -P "$server"; }
children() { pgrep -P "$(delegate)"; }

@test "pprof -http answers as go tool pprof -http does, in 400 random combinations of views and parameters" {
    # Real services, too.
    curl -s "http://127.0.0.1:$RIG_PORT_caddy/debug/pprof/allocs" -o allocs.pb.gz
    curl -s "http://127.0.0.1:$RIG_PORT_node_exporter/debug/pprof/profile?seconds=1" -o cpu.pb.gz
    run env PROFGRAB="$profgrab_program" python3 "$rig_root/tests/pprof/web.py" "$RIG_DIR/heap.pb.gz" "$RIG_DIR/goroutine.pb.gz" allocs.pb.gz cpu.pb.gz
    echo "$output"
    ((status == 0))
}

@test "old addresses lead to the flame graph and keep their parameters" {
    serve "$RIG_DIR/heap.pb.gz"
    local from to
    while read -r from to; do
        get "$from" -D head >/dev/null
        grep -qi "^location: $to"$'\r' head || fail "$from: $(cat head)"
    done <<'TABLE'
/?f=x /ui/?f=x
/nothing/at/all?f=x /ui/?f=x
/ui?f=x /ui/?f=x
/ui/?f=x flamegraph?f=x
/ui/flamegraph2?f=x flamegraph?f=x
/ui/flamegraphold?f=x flamegraph?f=x
TABLE
    assert_equal "$(get /ui/nothing)" 404
}

@test "the page is one HTML file with the view's data, and loads only its script and its style" {
    serve "$RIG_DIR/heap.pb.gz"
    assert_equal "$(accept=text/html get /ui/top -D head)" 200
    grep -q '^<script type="application/json" id="view">{"view":"top",' body
    grep -qi "^content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'" head
    local part
    for part in pprof.js pprof.css; do
        grep -q "../web/$part" body
        assert_equal "$(curl -s -o part -D head -w '%{http_code}' -H "Authorization: Bearer $token" "$base/web/$part")" 200
        [[ -s part ]]
        local tag
        tag=$(sed -n 's/^ETag: \(.*\)\r$/\1/p' head)
        assert_equal "$(curl -s -o part -w '%{http_code}' -H "Authorization: Bearer $token" -H "If-None-Match: $tag" "$base/web/$part")" 304
    done
    # Nobody without the token sees anything of the profile.
    assert_equal "$(curl -s -o body -w '%{http_code}' "$base/ui/top")" 403
    run ! grep -q caddy body
}

@test "download sends the whole profile, and freeze a page for offline reading" {
    serve "$RIG_DIR/heap.pb.gz"
    assert_equal "$(get '/ui/download?f=nothing' -D head)" 200
    grep -qi '^content-disposition: attachment; filename="profile.pb.gz"' head
    "$profgrab_program" pprof -raw "$RIG_DIR/heap.pb.gz" >whole
    mv body again.pb.gz
    "$profgrab_program" pprof -raw again.pb.gz >again
    cmp whole again
    assert_equal "$(get '/ui/freeze/top?f=caddy' -D head)" 200
    grep -qi '^content-disposition: attachment; filename="profile.html"' head
    grep -q '^<title>profgrab' body
    tail -n 1 body | grep -qx '</html>'
    assert_equal "$(get '/ui/freeze/nothing')" 404
}

@test "saved settings are those of go tool pprof, which reads them and writes them" {
    local go_pprof
    go_pprof=$(go tool -n pprof)
    serve "$RIG_DIR/heap.pb.gz"
    assert_equal "$(get '/ui/saveconfig?config=mine&f=main%7Cother&n=20&trim=f&g=lines' -X POST)" 200
    assert_equal "$(get /ui/configs)" 200
    python3 - <<'PY'
import json

menu = json.load(open("body"))
assert [c["name"] for c in menu] == ["Default", "mine"], menu
assert menu[0]["current"] and not menu[1]["current"] and menu[1]["saved"], menu
assert menu[1]["query"] == "f=main%7Cother&g=lines&n=20&trim=f", menu
PY
    # The menu of go tool pprof has the same entry; what it saves is in ours.
    cat >ask.py <<'PY'
import re, subprocess, sys, time, urllib.error, urllib.request


def ask(url):
    # `go tool pprof` prints its address before it listens.
    for _ in range(200):
        try:
            return urllib.request.urlopen(url).read().decode()
        except urllib.error.URLError as e:
            if not isinstance(e.reason, ConnectionRefusedError):
                raise
            time.sleep(0.05)
    raise TimeoutError(url)


process = subprocess.Popen([sys.argv[1], "-http=127.0.0.1:", "-no_browser", sys.argv[2]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
try:
    address = re.search(rb"http://\S+", process.stdout.readline()).group().decode()
    page = ask(address + "/ui/top")
    assert "f=main%7Cother&amp;g=lines&amp;n=20&amp;trim=f" in page, page[page.find("menu-item"):]
    ask(address + "/ui/saveconfig?config=theirs&h=runtime&nf=0.25&intel=t")
finally:
    process.terminate()
    process.wait()
PY
    python3 ask.py "$go_pprof" "$RIG_DIR/heap.pb.gz"
    assert_equal "$(get '/ui/configs?h=runtime&intel=t&nf=0.25&si=1')" 200
    python3 - <<'PY'
import json

menu = json.load(open("body"))
assert [c["name"] for c in menu] == ["Default", "mine", "theirs"], menu
assert menu[2]["current"] and menu[2]["query"] == "h=runtime&intel=t&nf=0.25&si=1", menu
PY
    assert_equal "$(get '/ui/deleteconfig?config=mine' -X DELETE)" 200
    assert_equal "$(get '/ui/deleteconfig?config=mine' -X DELETE)" 400
    assert_equal "$(cat body)" 'config mine not found'
    assert_equal "$(get '/ui/saveconfig?f=x' -X POST)" 400
    assert_equal "$(cat body)" 'invalid config name'
    python3 -c 'import json; assert [c["name"] for c in json.load(open("config/pprof/settings.json"))["configs"]] == ["theirs"]'
    # A link or another site cannot change the settings.
    assert_equal "$(get '/ui/saveconfig?config=bad')" 405
    assert_equal "$(get '/ui/saveconfig?config=bad' -X POST -H 'Origin: http://evil.example')" 403
    assert_equal "$(get '/ui/deleteconfig?config=theirs')" 405
    for path in x/saveconfig freeze/saveconfig x/y/top freeze/x/top freeze; do
        assert_equal "$(get "/ui/$path?config=bad")" 404
    done
    python3 -c 'import json; assert [c["name"] for c in json.load(open("config/pprof/settings.json"))["configs"]] == ["theirs"]'
    # A damaged file is an error for a change, and kept; a view goes on.
    echo '{' >config/pprof/settings.json
    assert_equal "$(get '/ui/saveconfig?config=new' -X POST)" 400
    grep -q 'settings.json: ' body
    assert_equal "$(cat config/pprof/settings.json)" '{'
    assert_equal "$(get /ui/configs)" 200
    assert_equal "$(get /ui/top)" 200
}

@test "changes of the settings at the same time are all kept" {
    serve "$RIG_DIR/heap.pb.gz"
    local i pids=()
    for i in {1..20}; do
        curl -s -o "answer.$i" -X POST -H "Authorization: Bearer $token" "$base/ui/saveconfig?config=c$i&n=$i" &
        pids+=($!)
    done
    wait "${pids[@]}"
    python3 -c 'import json; assert len(json.load(open("config/pprof/settings.json"))["configs"]) == 20'
}

@test "a view of a profile with names opens no binary" {
    strace -o /dev/null true 2>/dev/null || skip 'strace cannot trace here'
    [[ $profgrab_program == */gcc/* || $profgrab_program == */clang/* ]] || skip 'strace and sanitizers exclude each other'
    cp /bin/true binary
    python3 - <<'PY'
import gzip


def field(n, data):
    return bytes([n << 3 | 2, len(data)]) + data if isinstance(data, bytes) else bytes([n << 3, data])


strings = [b"", b"samples", b"count", b"main.f", b"binary"]
with open("named.pb.gz", "wb") as out:
    out.write(gzip.compress(field(1, field(1, 1) + field(2, 2)) + field(2, field(1, b"\x01") + field(2, b"\x01"))
                            + field(3, field(1, 1) + field(2, 16) + field(3, 32) + field(5, 4) + field(7, 1))
                            + field(4, field(1, 1) + field(2, 1) + field(3, 17) + field(4, field(1, 1)))
                            + field(5, field(1, 1) + field(2, 3)) + b"".join(field(6, s) for s in strings)))
PY
    serve named.pb.gz
    rig_spawn tracer strace -f -e trace=open,openat,openat2,execve -o "$PWD/calls" -p "$(delegate)"
    wait_for grep -q attached "$RIG_DIR/tracer/log"
    local path
    for path in flamegraph top peek?f=main tags download; do
        assert_equal "$path $(get "/ui/$path")" "$path 200"
    done
    rig_end tracer
    rm -r "$RIG_DIR/tracer"
    [[ -s calls ]]
    run ! grep -E '"(.*/)?binary"|execve' calls
}

@test "any two of the given profiles can be compared, and one of them shown alone" {
    serve "$RIG_DIR/heap.pb.gz" "$RIG_DIR/heap.pb.gz"
    assert_equal "$(get '/ui/top?from=0&to=1')" 200
    python3 - <<'PY'
import json

view = json.load(open("body"))
assert view["isDifference"] and len(view["sources"]) == 2, view
assert all(row["flat"] == 0 for row in view["data"]["rows"]), view["data"]["rows"][:3]
PY
    assert_equal "$(get '/ui/top?to=0')" 200
    "$profgrab_program" pprof -top "$RIG_DIR/heap.pb.gz" >one 2>/dev/null
    grep -qF "$(python3 -c 'import json; print(json.load(open("body"))["data"]["rows"][0]["flatText"])')" one
    local query
    for query in from=0 'to=2' 'to=x' 'from=7&to=0' 'to=-1' 'from=1&to=1'; do
        assert_equal "$query $(get "/ui/top?$query")" "$query 400"
    done
}

@test "a source may be a URL or standard input; both can be compared, and the password of a URL is on no page" {
    serve "http://ann:sesame-open@127.0.0.1:$RIG_PORT_caddy/debug/pprof/heap" "$RIG_DIR/heap.pb.gz"
    assert_equal "$(get /ui/top)" 200
    grep -qF "\"http://ann:xxxxx@127.0.0.1:$RIG_PORT_caddy/debug/pprof/heap\"" body || fail "$(head -c 600 body)"
    assert_equal "$(get '/ui/top?to=0')" 200
    assert_equal "$(get '/ui/top?from=1&to=0')" 200
    run ! grep -F sesame-open "$RIG_DIR/page/log" body
    end_page
    serve "127.0.0.1:$RIG_PORT_caddy/debug/pprof/heap" "ann:sesame-open@localhost:$RIG_PORT_caddy/debug/pprof/heap"
    assert_equal "$(get /ui/top)" 200
    grep -qF "\"sources\":[\"http://127.0.0.1:$RIG_PORT_caddy/debug/pprof/heap\",\"http://ann:xxxxx@localhost:$RIG_PORT_caddy/debug/pprof/heap\"]" body || fail "$(head -c 900 body)"
}

@test "a profile that disappears stays readable and comparable; of one profile or of too many, none can be compared" {
    cp "$RIG_DIR/heap.pb.gz" mine.pb.gz
    serve "$PWD/mine.pb.gz" "$RIG_DIR/heap.pb.gz"
    rm mine.pb.gz
    assert_equal "$(get /ui/top)" 200
    assert_equal "$(get '/ui/top?to=0')" 200
    assert_equal "$(get '/ui/top?from=0&to=1')" 200
    end_page
    serve "$RIG_DIR/heap.pb.gz"
    assert_equal "$(get '/ui/top?to=0')" 400
    assert_equal "$(cat body)" 'to=0: 2 to 32 profiles can be compared'
    local files i
    for i in {1..33}; do files+=("$RIG_DIR/heap.pb.gz"); done
    end_page
    serve "${files[@]}"
    assert_equal "$(get '/ui/top?to=0')" 400
}

@test "each member of a bundle and each base can be compared" {
    cp "$RIG_DIR/heap.pb.gz" first.heap.pb.gz
    cp "$RIG_DIR/heap.pb.gz" second.heap.pb.gz
    "$profgrab_program" bundle create -o b.tar.gz first.heap.pb.gz second.heap.pb.gz
    serve -base "$RIG_DIR/heap.pb.gz" 'b.tar.gz:*.pb.gz'
    assert_equal "$(get /ui/top)" 200
    python3 - <<'PY'
import json

view = json.load(open("body"))
assert view["comparable"] and view["bases"][0].endswith("heap.pb.gz") and not view["totalsAreOfBase"], view["bases"]
assert len(view["sources"]) == 2 and all(name.startswith("b.tar.gz:") for name in view["sources"]), view["sources"]
PY
    assert_equal "$(get '/ui/top?to=0&from=2')" 200
    python3 -c 'import json; assert json.load(open("body"))["totalsAreOfBase"]'
    assert_equal "$(get '/ui/top?to=2')" 200
}

@test "sources that cannot be read end pprof -http with the message of pprof, before the browser opens" {
    printf '#!/bin/sh\ntouch "$0.seen"\n' >browser
    chmod +x browser
    BROWSER=$PWD/browser run_profgrab pprof -http=127.0.0.1:0 missing.pb.gz
    assert_status 2
    assert_stderr_has 'missing.pb.gz'
    assert_equal "$output" ''
    [[ ! -e browser.seen ]]
    run_profgrab pprof -http=127.0.0.1:0 -top "$RIG_DIR/heap.pb.gz"
    assert_status 2
    assert_stderr_has '-http is not compatible with an output format on the command line'
    run_profgrab pprof -no_browser "$RIG_DIR/heap.pb.gz"
    assert_status 2
    run_profgrab pprof -http=127.0.0.1 "$RIG_DIR/heap.pb.gz"
    assert_status 2
    assert_stderr_has 'the address "127.0.0.1" has no port'
    serve "$RIG_DIR/heap.pb.gz"
    run_profgrab pprof -http="${base#http://}" "$RIG_DIR/heap.pb.gz"
    assert_status 2
    assert_stderr_has 'is in use by another program'
}

@test "a signal while the profile is loaded ends pprof -http, and the death of the process that loads it is reported" {
    mkfifo endless
    cat >signals.py <<'PY'
import os, signal, subprocess, sys, time

for number, expected in (signal.SIGINT, (130, b"")), (signal.SIGKILL, (2, b"signal 9 ended the process that loads the profile\n")):
    server = subprocess.Popen([sys.argv[1], "pprof", "-http=127.0.0.1:0", "-no_browser", "endless"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    delegate = ""
    while not delegate and server.poll() is None:
        time.sleep(0.01)
        delegate = subprocess.run(["pgrep", "-P", str(server.pid)], stdout=subprocess.PIPE, text=True).stdout.strip()
    os.kill(server.pid if number == signal.SIGINT else int(delegate), number)
    messages = server.communicate(timeout=60)[1]
    assert (server.returncode, messages) == expected, (number, server.returncode, messages)
PY
    run python3 signals.py "$profgrab_program"
    assert_status 0
}

@test "the options of the command line are the defaults of the page, and in the address that the browser opens" {
    serve -focus='caddy|x y' -lines "$RIG_DIR/heap.pb.gz"
    [[ $url == */ui/flamegraph\?f=caddy%7Cx%20y\&g=lines\&token=* ]] || fail "$url"
    assert_equal "$(get /ui/top)" 200
    mv body without
    assert_equal "$(get '/ui/top?f=caddy%7Cx%20y&g=lines')" 200
    python3 -c 'import json; assert json.load(open("body"))["data"] == json.load(open("without"))["data"]'
}

@test "-http without a value chooses a free port of localhost" {
    rig_spawn page "$profgrab_program" pprof -no_browser -http "$RIG_DIR/heap.pb.gz"
    wait_for grep -q '^http://localhost:[0-9]*/ui/flamegraph?token=' "$RIG_DIR/page/log"
}

# ---- requests that cost too much ----------------------------------------------------------------------------------

@test "a request whose client leaves ends its process, and no other request waits for it" {
    serve "$RIG_DIR/large.pb.gz"
    local i pids=()
    for i in 1 2 3 4; do
        curl -s -o /dev/null -H "Authorization: Bearer $token" "$base/ui/flamegraph?n=$i" &
        pids+=($!)
    done
    wait_for children
    kill "${pids[@]}"
    wait_for is_quiet
    assert_equal "$(get /ui/top)" 200
}
is_quiet() { ! children >/dev/null; }

@test "disasm without the binary answers 400 with the reason" {
    python3 - "$rig_root/tests/pprof" <<'END'
import sys
sys.path.insert(0, sys.argv[1])
import odd
p = odd.Profile(period_type=("cpu", "nanoseconds"), period=1)
m = p.mapping("/gone/program", 0x400000, 0x500000)
p.sample([p.location(0x400100, [(p.function("work", "work.c"), 1)], m)], [1, 10])
open("gone.pb", "wb").write(p.encode())
END
    serve "$PWD/gone.pb"
    assert_equal "$(get '/ui/disasm?f=work')" 400
    assert_equal "$(cat body)" 'no matches found for regexp work: open /gone/program: no such file or directory'
}

@test "without graphviz the graph answers 501 with upstream's sentence, and the other views go on" {
    environment=("PATH=$PWD/empty" PPROF_TOOLS=)
    serve "$RIG_DIR/heap.pb.gz"
    assert_equal "$(get /ui/graph)" 501
    assert_equal "$(cat body)" 'Could not execute dot; may need to install graphviz.'
    assert_equal "$(get /ui/top)" 200
}

@test "a request whose process dies gets an error, and the server goes on" {
    serve "$RIG_DIR/large.pb.gz"
    get /ui/flamegraph >status &
    local client=$!
    wait_for children
    children | xargs kill -KILL
    wait "$client"
    assert_equal "$(cat status)" 503
    assert_equal "$(cat body)" 'the process that makes the answer has ended: it exceeded a limit of memory or processor time, or has a fault'
    assert_equal "$(get /ui/top)" 200
}

@test "a request that exceeds its limits gets an error, and the next one an answer" {
    [[ $profgrab_program != *-1/* && $profgrab_program != *-thread/* ]] || skip 'sanitizers have no limit of memory'
    local used
    "$rig_root/tests/rig/hostile_file.py" long-names.pb.gz long-names
    serve "$PWD/long-names.pb.gz"
    assert_equal "$(get /ui/graph)" 400
    assert_equal "$(cat body)" 'the view is larger than 67108864 bytes'
    assert_equal "$(get '/ui/tags')" 200
    rig_end page
    rm -r "$RIG_DIR/page"
    # The children inherit a limit of the delegate, which has little room for them.
    serve "$RIG_DIR/large.pb.gz"
    used=$(sed -n 's/^VmData:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$(delegate)/status")
    prlimit --pid "$(delegate)" --data="$(((used + 4000) * 1024))"
    assert_equal "$(get /ui/flamegraph)" 503
    grep -q 'memory' body
    assert_equal "$(get '/ui/saveconfig?config=x' -X POST)" 200
}

@test "200 clients at once get their answers, beside clients that say nothing and clients that leave" {
    serve "$RIG_DIR/heap.pb.gz"
    cat >clients.py <<'PY'
import collections, concurrent.futures, socket, sys, time, urllib.request

base, token = sys.argv[1:]
host, port = base.removeprefix("http://").split(":")
# One address may have 256 connections: 10 silent ones, 200 that ask, and 20 that have left, which the server may not have noticed yet.
silent = [socket.create_connection((host, port)) for _ in range(10)]
for s in silent[5:]:
    s.sendall(b"GET /ui/top HTTP/1.1\r\nHost: localhost\r\nAuth")


def leave(_):
    with socket.create_connection((host, port)) as s:
        s.sendall(b"GET /ui/top HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n" % token.encode())
    return "left"


def ask(i):
    request = urllib.request.Request(f"{base}/ui/top?n={i}", headers={"Authorization": "Bearer " + token, "Accept": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.status, answer.read()[:14]


with concurrent.futures.ThreadPoolExecutor(200) as pool:
    results = collections.Counter(pool.map(lambda i: leave(i) if i % 30 == 0 else ask(i), range(600)))
print(results)
sys.exit(results != {"left": 20, (200, b'{"view":"top",'): 580})
PY
    run python3 clients.py "$base" "$token"
    assert_status 0
    wait_for is_quiet
    # Neither the server nor the delegate grows with the number of requests.
    local pid
    for pid in "$server" $(delegate); do
        (($(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$pid/status") < 40000)) || fail "$(grep VmHWM "/proc/$pid/status")"
        (($(find "/proc/$pid/fd" | wc -l) < 80)) || fail "$(ls -l "/proc/$pid/fd")"
    done
}

@test "the process that holds the profile has no socket of the network and no terminal's signal ends an open request" {
    serve "$RIG_DIR/large.pb.gz"
    run ls -l "/proc/$(delegate)/fd"
    assert_equal "$(grep -c socket: <<<"$output")" 1
    get /ui/flamegraph >status &
    local client=$!
    wait_for children
    # shellcheck disable=SC2046 # several words
    kill -INT "$server" $(delegate) $(children)
    wait "$client"
    assert_equal "$(cat status)" 200
    wait_for gone
    assert_equal "$(cat "$RIG_DIR/page/log")" "$url"
}
gone() { ! rig_alive page; }

@test "the delegate and its children end with the server, however it ends" {
    serve "$RIG_DIR/large.pb.gz"
    local processes client
    get /ui/flamegraph >status &
    client=$!
    wait_for children
    processes=$(delegate; children)
    kill -KILL "$server"
    wait "$client" || true
    all_gone() { ! ps -o pid= -p "${processes//$'\n'/,}" >/dev/null; }
    wait_for all_gone
}

@test "a member of an encrypted bundle is shown, and a passphrase is asked for before the server starts" {
    ssh-keygen -q -t ed25519 -N '' -f key
    "$profgrab_program" bundle create -o b.tar.gz "$RIG_DIR/heap.pb.gz"
    "$profgrab_program" bundle encrypt --encrypt-to key.pub b.tar.gz
    serve -identity key b.tar.gz.age
    assert_equal "$(get /ui/top)" 200
    grep -q '"view":"top"' body
}
