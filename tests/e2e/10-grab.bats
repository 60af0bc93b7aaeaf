#!/usr/bin/env bats
# The main job on real services: the contents of the bundle, the order of the requests, the manifest.

load helper

# Extracts the bundle of the last run; sets $bundle and $dir.
open_bundle() {
    bundle=$output
    [[ -f $bundle ]] || fail_run "no bundle"
    dir=$("$profgrab_program" bundle extract "$bundle")
}

# manifest EXPRESSION: prints a Python expression over the manifest `m` and the list of all its items `items`.
manifest() {
    python3 -c '
import json, sys
m = json.load(open(sys.argv[1]))
services = [s for h in m.get("hosts", []) for s in h["services"]]
items = [i for s in services for i in s["items"]] + m.get("files", [])
print(eval(sys.argv[2]))' "$dir/manifest.json" "$1"
}

@test "cpu heap goroutines of one service make one bundle with correct files" {
    write_inventory
    run_profgrab --host file-03 --service caddy cpu=1s heap goroutines
    assert_status 0
    [[ $output =~ ^profgrab-file-03-[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}-[0-9]{2}-[0-9]{2}Z\.tar\.gz$ ]] || fail_run "name"
    assert_mode "$output" 600
    open_bundle
    [[ ! -e ${bundle%.tar.gz}.partial ]]
    assert_equal "$(cd "$dir" && find . -type f | LC_ALL=C sort | tr '\n' ' ')" \
        "./README.md ./file-03/caddy/cpu.pb.gz ./file-03/caddy/goroutines.pb.gz ./file-03/caddy/goroutines.txt ./file-03/caddy/heap.pb.gz ./manifest.json ./report.html "
    run go tool pprof -top "$dir/file-03/caddy/heap.pb.gz"
    assert_status 0
    assert_stdout_has 'Type: inuse_space'
    run go tool pprof -top "$dir/file-03/caddy/cpu.pb.gz"
    assert_stdout_has 'Type: cpu'
    grep -q '^goroutine 1 \[' "$dir/file-03/caddy/goroutines.txt"
    assert_equal "$(manifest '[i["status"] for i in items]')" "['ok', 'ok', 'ok', 'ok']"
    assert_equal "$(manifest 'm["complete"], m["interrupted"]')" "(True, False)"
    python3 "$rig_root/tests/schema.py" "$rig_root/docs/formats.md" "$dir/manifest.json"
    run_profgrab bundle verify "$bundle"
    assert_status 0
    assert_stdout_has '5 files, all match the manifest'
}

@test "the next commands are printed on a terminal, but not elsewhere and not with -q" {
    write_inventory
    local next='next: `profgrab view profgrab-'
    with_pty --stdout out -- "$profgrab_program" --ssh-config "$SSH_CONFIG" --host file-03 --service caddy heap
    assert_status 0
    assert_stdout_has "$next"
    assert_stdout_has "\`profgrab report --text $(<out)\` prints its findings"
    with_pty --stdout out -- "$profgrab_program" --ssh-config "$SSH_CONFIG" -q --host file-03 --service caddy heap
    assert_status 0
    [[ $output != *"$next"* ]]
    run_profgrab --host file-03 --service caddy heap
    refute_stderr_has "$next"
}

@test "the files are byte for byte the server's, and the manifest has their hashes" {
    write_inventory big=3
    run_profgrab --host file-05 --service big-3 heap
    assert_status 0
    open_bundle
    curl -sS -o body "http://127.0.0.1:$RIG_PORT_rude/big=3/debug/pprof/heap"
    cmp body "$dir/file-05/big-3/heap.pb.gz"
    assert_equal "$(manifest 'items[0]["sha256"]')" "$(sha256sum <body | cut -d' ' -f1)"
    assert_equal "$(manifest 'items[0]["bytes"]')" "$(stat -c %s body)"
}

@test "the order is snapshots, deltas, cpu, trace, for any order of the arguments" {
    write_inventory
    run_profgrab --host file-04 trace=0.5s cpu=1s mutex=1s heap=gc goroutines=proto allocs
    assert_status 0
    open_bundle
    assert_equal "$(manifest '[i["kind"] for i in items]')" \
        "['goroutines', 'allocs', 'heap', 'mutex', 'cpu', 'trace']"
    assert_equal "$(manifest '[i["request"] for i in items]')" \
        "['GET /debug/pprof/goroutine', 'GET /debug/pprof/allocs', 'GET /debug/pprof/heap?gc=1', 'GET /debug/pprof/mutex?seconds=1', 'GET /debug/pprof/profile?seconds=1', 'GET /debug/pprof/trace?seconds=0.500']"
    assert_equal "$(manifest '[i["file"].split("/")[-1] for i in items]')" \
        "['goroutines.pb.gz', 'allocs.pb.gz', 'heap-gc.pb.gz', 'mutex-delta.pb.gz', 'cpu.pb.gz', 'trace.out']"
    go tool trace -pprof=sched "$dir/file-04/rude/trace.out" >sched.pb.gz
    go tool pprof -top "$dir/file-04/rude/cpu.pb.gz" | grep -q 'main\.burn'
}

@test "one kept-alive connection serves all items of a service" {
    # At this log level sshd logs each channel that it opens: one for the whole service.
    rig_sshd counted counted-01 'LogLevel DEBUG1'
    run_profgrab --host counted-01 --port "$RIG_PORT_rude" heap allocs goroutines cpu=1s
    rig_end counted
    assert_status 0
    refute_stderr_has 'new connection'
    assert_equal "$(grep -c 'server_request_direct_tcpip: originator' "$RIG_DIR/counted/log")" 1
}

@test "a server that closes the connection after each answer gives a complete bundle, and each item records it" {
    write_inventory close
    run_profgrab --host file-05 heap allocs
    assert_status 0
    open_bundle
    assert_equal "$(manifest '["new connection" in " ".join(v["text"] for v in i.get("verdicts", [])) for i in items]')" "[True, True]"
}

@test "several services of a host are fetched in parallel" {
    write_inventory
    run_profgrab --host file-03 cpu=2s heap
    assert_status 0
    open_bundle
    # Each profile began before the other one ended.
    manifest '[(i["started"], i["duration_ms"]) for i in items if i["kind"] == "cpu"]' >times.txt
    python3 -c '
import datetime, sys
times = [(datetime.datetime.fromisoformat(t.rstrip("Z")), datetime.timedelta(milliseconds=d)) for t, d in eval(open("times.txt").read())]
(a, a_long), (b, b_long) = times
sys.exit(not (a < b + b_long and b < a + a_long))' || fail "one after the other: $(cat times.txt)"
    assert_equal "$(manifest 'sorted(s["name"] for s in services)')" "['caddy', 'node']"
    assert_equal "$(manifest '[i["status"] for i in items]')" "['ok', 'ok', 'ok', 'ok']"
}

@test "two services at one port are one process and take one profile at a time" {
    write_inventory
    sed -i "s/^  rude: .*/&\n  same: { port: $RIG_PORT_rude }/; s/services: \[rude\]/services: [rude, same]/" "$INVENTORY"
    run_profgrab --host file-04 cpu=1s
    assert_status 0
    open_bundle
    assert_equal "$(manifest '[i["status"] for i in items]')" "['ok', 'ok']"
}

@test "a bad host in a group makes the bundle partial, with exit code 3" {
    write_inventory
    run_profgrab --host 'file-*,laptop' --service node,rude heap
    assert_status 0
    open_bundle
    assert_equal "$(manifest '[h["name"] for h in sorted(m["hosts"], key=lambda h: h["name"])]')" "['file-03', 'file-04', 'laptop']"
    [[ $bundle == profgrab-3-hosts-* ]]
    cat >>"$INVENTORY" <<<'x-note: { the: end }'
    sed -i '/^  laptop:/a \  dead: { connect: direct, address: 127.0.0.1, services: [nothing] }' "$INVENTORY"
    sed -i "/^services:/a \  nothing: { port: $(rig_free_port), hint: \"set ENABLE_PROFILING=true\" }" "$INVENTORY"
    run_profgrab --host laptop,dead heap
    assert_status 3
    assert_stderr_has 'dead: nothing: '
    assert_stderr_has 'hint: set ENABLE_PROFILING=true'
    open_bundle
    assert_equal "$(manifest 'm["complete"]')" False
}

@test "without an inventory, user@host and a port are enough" {
    run_profgrab --host "$RIG_USER@file-07" --port "$RIG_PORT_rude" heap
    assert_status 0
    open_bundle
    [[ -s $dir/file-07/port-$RIG_PORT_rude/heap.pb.gz ]]
    assert_equal "$(manifest 'm["hosts"][0]["hops"][0]["user"]')" "$RIG_USER"
    assert_equal "$(manifest 'm["hosts"][0]["hops"][0]["host_key"]')" \
        "$(ssh-keygen -lf "$RIG_DIR/sshd/host_key.pub" | cut -d' ' -f2)"
}

@test "a direct route uses no ssh" {
    write_inventory
    mkdir bin
    ln -s "$(command -v bash)" "$(command -v mktemp)" "$(command -v rm)" bin/
    run --separate-stderr env PATH="$PWD/bin" "$profgrab_program" --host laptop heap
    assert_status 0
}

@test "a host behind a jump host has its own session" {
    rig_sshd bastion bastion-01
    rig_alias inner-01 sshd 'ProxyJump bastion-01'
    run_profgrab --host inner-01 --port "$RIG_PORT_rude" heap
    assert_status 0
    open_bundle
    assert_equal "$(manifest '[h["port"] for h in m["hosts"][0]["hops"]]')" "[$RIG_PORT_bastion, $RIG_PORT_sshd]"
    rig_end bastion
}

@test "without KIND the service's own kinds are fetched, else the default set" {
    write_inventory
    sed -i "s/^  rude: {/  rude: { kinds: [allocs, \"goroutines=proto\"],/" "$INVENTORY"
    run_profgrab --host file-04
    assert_status 0
    open_bundle
    assert_equal "$(manifest '[i["kind"] for i in items]')" "['allocs', 'goroutines']"
}

@test "all fetches every snapshot of the index, then cpu, without costly or revealing kinds; it reports a disabled mutex profile and a busy CPU profiler" {
    write_inventory
    run_profgrab --host file-04 all cpu=1s
    assert_status 0
    assert_stderr_has 'mutex profiling is off in this process'
    assert_stderr_has '% busy'
    open_bundle
    run manifest '" ".join(i["kind"] for i in items)'
    for kind in allocs block goroutines heap mutex threadcreate widgets; do assert_stdout_has "$kind"; done
    for kind in cmdline trace symbol leak; do refute_stdout_has "$kind"; done
    [[ $output == *cpu ]]
}

@test "custom profiles, raw paths and aliases are accepted as kinds" {
    write_inventory
    run_profgrab --host file-04 widgets profile=1s mem /debug/pprof/cmdline
    assert_status 0
    open_bundle
    assert_equal "$(manifest 'sorted(i["kind"] for i in items)')" "['/debug/pprof/cmdline', 'cpu', 'heap', 'widgets']"
    grep -q rude "$dir/file-04/rude/debug-pprof-cmdline.txt"
}

@test "more than 10,000 goroutines are fetched in grouped form, with a message" {
    RIG_DIR=$RIG_DIR rig_spawn crowd "$rig_fixture" -goroutines 12000
    rig_wait crowd 20 grep -q '^listening ' "$RIG_DIR/crowd/log"
    port=$(sed -n 's/^listening .*://p' "$RIG_DIR/crowd/log")
    run_profgrab --host file-03 --port "$port" goroutines
    rig_end crowd
    assert_status 0
    assert_stderr_has 'goroutines, more than 10000'
    open_bundle
    [[ -s $dir/file-03/port-$port/goroutines-grouped.txt && ! -e $dir/file-03/port-$port/goroutines.txt ]]
}

@test "-q prints no messages; progress goes to stderr and only the path to stdout" {
    write_inventory
    run_profgrab -q --host file-04 heap
    assert_status 0
    assert_stderr ''
    run_profgrab --host file-04 heap
    assert_stderr_has 'profgrab: file-04: rude: heap: '
    assert_equal "$(wc -l <<<"$output")" 1
}

@test "-o accepts a directory or a name; --reason is in the manifest" {
    write_inventory
    mkdir out
    run_profgrab --host file-04 -o out --reason 'latency alert 4711' heap
    assert_status 0
    [[ $output == out/profgrab-file-04-* ]]
    open_bundle
    assert_equal "$(manifest 'm["reason"]')" 'latency alert 4711'
    run_profgrab --host file-04 -o mine.tar.gz heap
    assert_status 0
    assert_stdout mine.tar.gz
}

@test "a body of 100 MB arrives whole, in constant memory" {
    write_inventory big=100
    run --separate-stderr python3 - "$profgrab_program" --ssh-config "$SSH_CONFIG" -q --host file-05 --service big-100 heap <<'PY'
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)
PY
    assert_status 0
    is_sanitized || ((lines[1] < 32000)) || fail "resident: ${lines[1]} kB"
}

# connections FILE: prints the addresses in strace's output (peers of connect calls, own addresses of bind calls), each once.
connections() {
    sed -nE -e 's/.*sin_port=htons\(([0-9]+)\), sin_addr=inet_addr\("([^"]+)"\).*/\2:\1/p' \
        -e 's/.*sin6_port=htons\(([0-9]+)\).*inet_pton\(AF_INET6, "([^"]+)".*/[\2]:\1/p' \
        -e 's/.*sa_family=AF_UNIX, sun_path="([^"]+)".*/\1/p' "$1" | sort -u
}

@test "a grab connects only to the host's sshd, and listens only on a Unix socket in a private directory" {
    write_inventory
    run strace -f -yy -qq -e trace=connect,bind,listen,mkdir,mkdirat -o calls "$profgrab_program" --ssh-config "$SSH_CONFIG" --host file-03 --service caddy heap
    assert_status 0
    local peer sshd=0
    while read -r peer; do
        case $peer in
        "127.0.0.1:$RIG_PORT_sshd") sshd=1 ;;
        # The process's own listener, and the C library's name service cache.
        "$XDG_RUNTIME_DIR"/* | /var/run/nscd/socket) ;;
        *) fail_run "it connected to $peer" ;;
        esac
    done < <(connections calls)
    ((sshd == 1))
    grep -q ' listen(' calls || fail_run 'it listens nowhere'
    ! grep ' listen(' calls | grep -v ' listen([0-9]*<UNIX' || fail_run 'it listens on no Unix socket'
    peer=$(sed -nE 's/.* bind\(.*sun_path="([^"]+)\/[^"\/]+".*/\1/p' calls | sort -u)
    grep -qE " mkdir(at)?\\(.*\"(.*/)?${peer##*/}\", 0700\\) += 0" calls || fail_run "no private directory: $peer"
}
