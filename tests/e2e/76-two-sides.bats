#!/usr/bin/env bats
# Captures to compare: a sick host with healthy ones, and two snapshots of one process.

load helper

# Extracts the bundle of the last run; sets $dir.
open_bundle() { dir=$("$profgrab_program" bundle extract "$output"); }

# manifest EXPRESSION: prints a Python expression over the manifest `m` and the list of all items `items`.
manifest() {
    python3 -c '
import json, sys
m = json.load(open(sys.argv[1]))
items = [i for h in m["hosts"] for s in h["services"] for i in s["items"]]
print(eval(sys.argv[2]))' "$dir/manifest.json" "$1"
}

# Writes an inventory. Each host of the group nodes has the service node; file-08 of the group mixed has only caddy.
write_hosts() {
    write_inventory
    cat >"$INVENTORY" <<YAML
version: 1
services:
  node: { port: $RIG_PORT_node_exporter }
  caddy: { port: $RIG_PORT_caddy }
hosts:
  file-03: { services: [node, caddy] }
  file-07: { services: [node] }
  file-08: { services: [caddy] }
  web-01: { address: file-09, services: [node] }
groups:
  nodes: [ file-03, file-07, web-01 ]
  mixed: [ file-03, file-08 ]
YAML
}

@test "--pair takes heap and goroutines twice at that interval, and cpu between them once" {
    write_hosts
    run_profgrab --host file-07 --pair 2s cpu=1s heap goroutines
    assert_status 0
    assert_stderr_has 'heap, later'
    open_bundle
    assert_equal "$(manifest '[(i["kind"], i.get("argument", ""), i.get("pair")) for i in items]')" \
        "[('heap', '', 1), ('goroutines', '', 1), ('goroutines', 'text', None), ('cpu', '1s', None), ('heap', '', 2), ('goroutines', '', 2)]"
    assert_equal "$(manifest '[i["file"] for i in items if i.get("pair") == 2]')" \
        "['file-07/node/heap.later.pb.gz', 'file-07/node/goroutines.later.pb.gz']"
    python3 - "$dir/manifest.json" <<'PY'
import datetime, json, sys
items = json.load(open(sys.argv[1]))["hosts"][0]["services"][0]["items"]
for kind in ("heap", "goroutines"):
    first, later = [datetime.datetime.fromisoformat(i["started"].replace("Z", "+00:00")) for i in items
                    if i["kind"] == kind and "pair" in i]
    # A busy machine may send the first request a little after its time.
    assert 1.5 <= (later - first).total_seconds() < 6, (kind, first, later)
PY
    python3 "$rig_root/tests/schema.py" "$rig_root/docs/formats.md" "$dir/manifest.json"
    run go tool pprof -top -diff_base "$dir/file-07/node/heap.pb.gz" "$dir/file-07/node/heap.later.pb.gz"
    assert_status 0
}

@test "--pair works with --concurrent, and is refused if no kind can be taken twice" {
    write_hosts
    run_profgrab --host file-07 --pair 1s --concurrent cpu=1s trace=0.5s allocs
    assert_status 0
    open_bundle
    assert_equal "$(manifest '[(i["kind"], i.get("pair")) for i in sorted(items, key=lambda i: i["file"])]')" \
        "[('allocs', 2), ('allocs', 1), ('cpu', None), ('trace', None)]"
    run_profgrab --host file-07 --pair 1s cpu=1s goroutines=text mutex=1s
    assert_status 2
    assert_stderr_has 'none of the kinds can be taken twice'
    assert_stderr_has 'heap, allocs, goroutines, block, mutex'
}

@test "Ctrl-C during the wait for the second of a pair bundles the collected items" {
    write_hosts
    with_pty --ctrl-c 'second of the pair' --deadline 20 -- "$profgrab_program" --ssh-config "$SSH_CONFIG" \
        --host file-07 --pair 5m heap
    assert_status 130
    output=$(echo profgrab-file-07-*.tar.gz)
    open_bundle
    assert_equal "$(manifest '[(i["status"], i["pair"]) for i in items]')" "[('ok', 1), ('interrupted', 2)]"
}

@test "--against a host takes the same items of both, and marks the healthy one" {
    write_hosts
    run_profgrab --host file-03 --against file-07 heap
    assert_status 0
    [[ $output == profgrab-file-03-* ]] || fail_run "named after the sick host"
    open_bundle
    assert_equal "$(manifest 'sorted((h["name"], "against" in h, sorted(s["name"] for s in h["services"])) for h in m["hosts"])')" \
        "[('file-03', False, ['caddy', 'node']), ('file-07', True, ['node'])]"
    python3 "$rig_root/tests/schema.py" "$rig_root/docs/formats.md" "$dir/manifest.json"
}

@test "--against a group takes its members that are not in --host" {
    write_hosts
    run_profgrab --host file-03 --service node --against nodes heap
    assert_status 0
    open_bundle
    assert_equal "$(manifest '[(h["name"], "against" in h) for h in m["hosts"]]')" \
        "[('file-03', False), ('file-07', True), ('web-01', True)]"
}

@test "--against uses each host's own services from a source" {
    write_hosts
    sed -i "s/node: { port: $RIG_PORT_node_exporter }/node: { port: 1, host: 127.0.0.1 }/; s/services: \[node\]/services: []/" "$INVENTORY"
    echo 'discovery: [ { file_sd: sd.json, service: node } ]' >>"$INVENTORY"
    printf '[{"targets":["file-07:%s","file-09:%s"]}]' "$RIG_PORT_node_exporter" "$RIG_PORT_node_exporter" >"${INVENTORY%/*}/sd.json"
    run_profgrab --host file-07 --against web-01 heap
    assert_status 0
    open_bundle
    assert_equal "$(manifest '[(h["name"], "against" in h) for h in m["hosts"]]')" "[('file-07', False), ('web-01', True)]"
    grep -q web-01 "$dir/report.html"
}

@test "--exclude keeps a healthy host from being opened too" {
    write_hosts
    run_profgrab --host file-03 --service node --against nodes --exclude file-07 heap
    assert_status 0
    open_bundle
    assert_equal "$(manifest '[h["name"] for h in m["hosts"]]')" "['file-03', 'web-01']"
    run_profgrab --host file-03 --service node --against file-07 --exclude 'file-0[7-8]' heap
    assert_status 2
    assert_stderr_has 'no host is left to compare with'
    # A service of the sick hosts need not exist on the healthy ones.
    run_profgrab --host file-03,root@file-05 --service node --against file-07 --exclude root@file-05 heap
    assert_status 0
}

@test "--against without a healthy host is reported before anything is opened" {
    write_hosts
    run_profgrab --host file-07 --against file-08 heap
    assert_status 2
    assert_stderr_has '--against: file-08 has none of the services'
    run_profgrab --host file-07 --against file-07 heap
    assert_status 2
    assert_stderr_has 'no host is left to compare with'
    run_profgrab --host file-07 --against flie-08 heap
    assert_status 2
    assert_stderr_has 'did you mean'
    run_profgrab --host file-03 --port "$RIG_PORT_node_exporter" --against file-08 heap
    assert_status 0
}
