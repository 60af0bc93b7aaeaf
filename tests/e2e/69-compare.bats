#!/usr/bin/env bats
# Comparisons of several hosts or of two snapshots: on the page, in README.md and on a terminal. The hosts are Go programs at
# one port of several loopback addresses (tests/ailing): 01 to 03 have no problem, 04 encodes, 05 leaks.

load helper

# start_host NUMBER TROUBLE: starts the program with this problem on 127.0.0.NUMBER.
start_host() {
    rig_spawn "host-$1" "$rig_root/build/fixture/ailing" "$2" "127.0.0.$1:${PORT:-0}"
    rig_wait "host-$1" 20 grep -q '^listening ' "$RIG_DIR/host-$1/log"
}

# capture NAME ARG...: makes a bundle, and extracts it, in $RIG_DIR.
capture() {
    "$profgrab_program" -q --ssh-config /dev/null -i "$RIG_DIR/inventory.yaml" -o "$RIG_DIR/$1.tar.gz" "${@:2}"
    "$profgrab_program" bundle extract -C "$RIG_DIR" "$RIG_DIR/$1.tar.gz" >/dev/null
}

# Prints the smallest number of samples in the CPU profiles of 01 to 04.
fewest_samples() { # DIR
    python3 -c '
import json, sys
m = json.load(open(sys.argv[1]))
print(min(i["profile"]["sample_types"][0]["total"] for h in m["hosts"] if h["name"] != "file-05"
          for s in h["services"] for i in s["items"] if i["kind"] == "cpu"))' "$1/manifest.json"
}

# capture_busy NAME ARG...: capture with a CPU profile, which takes longer if a busy machine gave few samples.
capture_busy() {
    local seconds
    for seconds in 2 6 18; do
        rm -rf "${RIG_DIR:?}/$1" "$RIG_DIR/$1.tar.gz"
        capture "$@" "cpu=${seconds}s"
        (($(fewest_samples "$RIG_DIR/$1") < 60)) || return 0
    done
}

setup_file() {
    RIG_DIR=$(mktemp -d "${TMPDIR:-/tmp}/profgrab-rig.XXXXXX")
    export RIG_DIR PORT=
    mkdir "$RIG_DIR/pids"
    start_host 1 none
    PORT=$(sed -n 's/^listening .*://p' "$RIG_DIR/host-1/log")
    start_host 2 none
    start_host 3 none
    start_host 4 json
    start_host 5 leaking
    (
        umask 077
        echo "version: 1"
        echo "services: { app: { port: $PORT } }"
        echo "hosts:"
        for n in 1 2 3 4 5; do
            echo "  file-0$n: { connect: direct, address: 127.0.0.$n, services: [app] }"
        done
        echo 'groups: { healthy: [ "file-[01-03]" ] }'
    ) >"$RIG_DIR/inventory.yaml"
    capture pair --host file-05 --pair 2s heap goroutines
    capture_busy against --host file-04 --against healthy heap
    capture_busy group --host 'file-[01-05]' heap goroutines
    for n in 1 2 3 4 5; do
        rig_end "host-$n"
    done
}

setup() {
    e2e_setup
}

teardown() { :; } # no sshd, no log

# check_page FILE PYTHON...: runs the Python lines with `bundle`, its `manifest`, and `entries`:
# the page's data of each item by its title.
check_page() {
    python3 - "$@" <<'PY'
import base64, gzip, json, os, re, sys

text = open(sys.argv[1], encoding="utf-8").read()
bundle = json.loads(re.search(r'<script type="application/json" id="bundle">(.*?)</script>', text, re.S).group(1))
blocks = {i: json.loads(gzip.decompress(base64.b64decode(d)))
          for i, d in re.findall(r'<script type="application/octet-stream" id="(data-\d+)">([^<]*)</script>', text)}
entries = {e["title"]: blocks[e["id"]] for e in bundle["data"] if e["id"] and e["form"] != "goroutines"}
manifest = bundle["manifest"]

def total(entry, key, type):
    return sum(entry["nodes"][key][[t["type"] for t in entry["types"]].index(type)])

def collected(file):
    items = {i["file"]: i for h in manifest["hosts"] for s in h["services"] for i in s["items"]}
    return {t["type"]: t["total"] for t in items[file]["profile"]["sample_types"]}

for line in sys.argv[2:]:
    exec(line)
PY
}

@test "a target and its baseline are drawn in one picture with the items of both sides" {
    check_page "$RIG_DIR/against/report.html" \
        'sides = {e["kind"]: e for e in bundle["data"] if e.get("from") == "sides"}' \
        'assert sorted(sides) == ["cpu", "heap"] and "file" not in sides["cpu"]' \
        'assert sides["cpu"]["here"] == "file-04" and sides["cpu"]["there"] == "file-01, file-02, file-03", sides' \
        'cpu, heap = (entries[sides[k]["title"]] for k in ("cpu", "heap"))' \
        'assert cpu["basis"] == ["share", "share"] and dict(zip((t["type"] for t in heap["types"]), heap["basis"])) == {"alloc_objects": "share", "alloc_space": "share", "inuse_objects": "process", "inuse_space": "process"}' \
        'assert total(cpu, "here", "cpu") == collected("file-04/app/cpu.pb.gz")["cpu"]' \
        'assert total(cpu, "there", "cpu") == sum(collected(f"file-0{n}/app/cpu.pb.gz")["cpu"] for n in (1, 2, 3))' \
        'assert [s["processes"] for s in heap["sides"]] == [1, 3] and all(abs(s - 1 / 3) < 1e-9 for s in heap["scale"][1][2:])' \
        'assert abs(total(cpu, "there", "cpu") * cpu["scale"][1][1] - 1) < 1e-9'
}

@test "the target's excess is reported on the page, in README.md, and by report --text and --markdown" {
    local finding='file-04 spends [0-9]* % of the CPU time in encoding/json\.[^ ]*, file-01, file-02, file-03 [0-9.]* %'
    tr -d "\\\\" <"$RIG_DIR/against/README.md" | grep -q -- "^- app: $finding"
    run_profgrab report --text "$RIG_DIR/against.tar.gz"
    assert_status 0
    grep -q "^app: $finding" <<<"$output"
    run_profgrab report --markdown "$RIG_DIR/against.tar.gz"
    assert_equal "$output" "$(<"$RIG_DIR/against/README.md")"
    # The finding's link leads to the picture of both sides.
    check_page "$RIG_DIR/against/report.html" \
        'finding, = [s for s in bundle["summary"] if s["rule"] == "against-cpu"]' \
        'assert bundle["data"][finding["data"]]["form"] == "sides" and finding["look"].startswith("encoding/json.")' \
        'assert not any(s["rule"].startswith("host-") for s in bundle["summary"])'
}

@test "two snapshots show the allocations between them and the growth, as pprof does" {
    first=$RIG_DIR/pair/file-05/app/heap.pb.gz
    later=$RIG_DIR/pair/file-05/app/heap.later.pb.gz
    for type in alloc_space inuse_space; do
        go tool pprof -top -unit=B -sample_index=$type -base "$first" "$later" 2>/dev/null |
            awk '$6 == "main.forgetBuffers" { sub("B", "", $1); print $1 }' >$type
        [[ -s $type ]]
    done
    check_page "$RIG_DIR/pair/report.html" \
        'heap = entries["file-05 app heap: growth"]; types = [t["type"] for t in heap["types"]]' \
        'names = [heap["strings"][heap["functions"]["name"][f]] if f >= 0 else "" for f in heap["nodes"]["function"]]' \
        'flat = lambda type: sum(v for v, n in zip(heap["nodes"]["self"][types.index(type)], names) if n == "main.forgetBuffers")' \
        'assert all(abs(flat(t) - float(open(t).read())) <= 0.01 * flat(t) > 0 for t in ("alloc_space", "inuse_space")), (flat("inuse_space"), open("inuse_space").read())' \
        'assert heap["duration_ns"] > 1.9e9' \
        'assert [s["type"] for s in bundle["summary"] if s["rule"] == "allocated-between"] == ["alloc_space"]' \
        'assert entries["file-05 app goroutines: growth"] and entries["file-05 app heap, later"]' \
        'assert [e["title"] for e in bundle["data"] if e.get("from") == "growth"] == ["file-05 app heap: growth", "file-05 app goroutines: growth"]'
}

@test "two snapshots report leaks of memory and goroutines per hour" {
    run_profgrab report --text "$RIG_DIR/pair.tar.gz"
    assert_status 0
    grep -q '^memory from main.forgetBuffers has grown by [0-9.]*MB ([0-9]* objects) within [0-9.]*s, [0-9.]*GB an hour at that rate' <<<"$output"
    grep -q 'goroutines more than before are in main.waitForNobody ([0-9]*, then [0-9]*); [0-9,]* more an hour' <<<"$output"
    check_page "$RIG_DIR/pair/report.html" \
        'leak, = [s for s in bundle["summary"] if s["rule"] == "heap-growth"]; many, = [s for s in bundle["summary"] if s["rule"] == "goroutine-growth"]' \
        'assert [bundle["data"][s["data"]]["title"] for s in (leak, many)] == ["file-05 app heap: growth", "file-05 app goroutines: growth"]'
}

@test "two snapshots of different processes report the restart and subtract nothing" {
    # The later heap is of another process of the same program.
    # shellcheck disable=SC2016 # Python expands it
    modify_bundle "$RIG_DIR/pair" restarted 'files["file-05/app/heap.later.pb.gz"] = "../group/file-01/app/heap.pb.gz"'
    run_profgrab report --text restarted.tar.gz
    assert_stdout_has 'the process was restarted between the two snapshots: its counters are smaller in the second snapshot; they are not compared'
    refute_stdout_has 'more than before'
    profgrab report -o r.html restarted.tar.gz
    check_page r.html \
        'grown = [e for e in bundle["data"] if e.get("from") == "growth"]' \
        'assert [e["form"] for e in grown] == ["none", "none"] and "restarted" in grown[0]["why"]'
}

@test "hosts of a group have figures each, and the outlier is marked with its difference" {
    check_page "$RIG_DIR/group/report.html" \
        'group, = bundle["groups"]; hosts = {h["host"]: h for h in group["hosts"]}' \
        'assert group["service"] == "app" and sorted(hosts) == [f"file-0{n}" for n in range(1, 6)]' \
        'assert [n for n, h in hosts.items() if h.get("differs", {}).get("outlier") and h["differs"]["in"] == "cpu"] in (["file-04"], ["file-04", "file-05"]), hosts' \
        'd = hosts["file-04"]["differs"]; assert d["function"].startswith("encoding/json.") and d["share"] > 0.5 and d["median"] < 0.1, d' \
        'assert hosts["file-05"]["goroutines"]["exceeds"] and hosts["file-05"]["heap"]["exceeds"]' \
        'assert not any("exceeds" in hosts["file-02"][k] for k in ("cpu", "goroutines"))' \
        'assert hosts["file-04"]["goroutines"]["value"] == collected("file-04/app/goroutines.pb.gz")["goroutine"]'
    run_profgrab report --text "$RIG_DIR/group.tar.gz"
    # 05 may have too few samples to be compared.
    grep -q '^app: file-04 differs from [34] other hosts: [0-9]* % of its CPU time is in encoding/json' <<<"$output"
    grep -q '^app: file-05 differs from 4 other hosts: it ' <<<"$output"
}

@test "similar hosts have no outlier, and two hosts are not a group" {
    for hosts in 'file-0[1-3]' 'file-0[12]'; do
        rm -rf some some.tar.gz
        modify_bundle "$RIG_DIR/group" some "hosts = [h for h in hosts if __import__('fnmatch').fnmatch(h['name'], '$hosts')]"
        run_profgrab report --text some.tar.gz
        assert_status 0
        refute_stdout_has 'differs from'
        profgrab report -o "some-${#hosts}.html" some.tar.gz
        rm -f some.html
    done
    check_page some-11.html 'assert len(bundle["groups"][0]["hosts"]) == 3 and not any(h["differs"]["outlier"] for h in bundle["groups"][0]["hosts"] if "differs" in h)'
    check_page some-10.html 'assert "groups" not in bundle'
}

# modify_bundle DIR NAME PYTHON: packs the files of DIR as NAME.tar.gz, without page and summary. The Python line may change the
# manifest's `hosts`, and `files`, which maps an item's file to the file whose bytes it gets.
modify_bundle() {
    python3 - "$@" <<'PY'
import copy, json, os, sys, tarfile

source, name, line = sys.argv[1:]
m = json.load(open(os.path.join(source, "manifest.json")))
hosts = m["hosts"]
files = {}
exec(line)
m.update(name=name, hosts=hosts)
for key in ("summary", "report"):
    m.pop(key, None)
os.makedirs(name)
json.dump(m, open(os.path.join(name, "manifest.json"), "w"))
with tarfile.open(name + ".tar.gz", "w:gz") as tar:
    tar.add(os.path.join(name, "manifest.json"), name + "/manifest.json")
    for host in hosts:
        for service in host["services"]:
            for item in service["items"]:
                tar.add(os.path.join(source, files.get(item["file"], item["file"])), f"{name}/{item['file']}")
PY
}

@test "a hundred hosts are all in the table, and the page stays small and fast to make" {
    # shellcheck disable=SC2016 # Python expands it
    modify_bundle "$RIG_DIR/group" many '
some, hosts = hosts, []
for n in range(100):
    host = copy.deepcopy(some[3 if n == 42 else n % 3])
    for service in host["services"]:
        for item in service["items"]:
            old = item["file"]
            item["file"] = old.replace(host["name"], f"many-{n:02}")
            files[item["file"]] = old
    host["name"] = f"many-{n:02}"
    hosts.append(host)
'
    SECONDS=0
    profgrab report -o many.html many.tar.gz
    ((SECONDS < 15))
    (($(stat -c %s many.html) < 3000000))
    check_page many.html \
        'hosts = {h["host"]: h for h in bundle["groups"][0]["hosts"]}; assert len(hosts) == 100' \
        'assert [n for n, h in hosts.items() if h.get("differs", {}).get("outlier")] == ["many-42"]'
}

@test "the page of the capture and the page made by report are the same" {
    for bundle in against pair group; do
        profgrab report -o - "$RIG_DIR/$bundle.tar.gz" | cmp - "$RIG_DIR/$bundle/report.html"
    done
    run_profgrab bundle verify "$RIG_DIR/pair.tar.gz"
    assert_status 0
}

# copy OPTION...: makes copy.tar.gz, a copy of the bundle `against` as for a hand-off, and extracts its page as copy.html.
copy() {
    cp "$RIG_DIR/against.tar.gz" b.tar.gz
    "${COPY-$rig_root/build/gcc/tests/copy}" "$@" b.tar.gz
    mv b-handoff.tar.gz copy.tar.gz
    tar xzOf copy.tar.gz --wildcards '*/report.html' >copy.html
}

@test "a copy without redaction has the bundle's page unchanged" {
    copy
    cmp copy.html "$RIG_DIR/against/report.html"
}

@test "the page of a redacted copy is drawn again with the same pictures, and names the sender" {
    copy -r
    profgrab report -o - copy.tar.gz | cmp - copy.html
    run cmp -s copy.html "$RIG_DIR/against/report.html"
    assert_status 1
    # Only the manifest's `handoff` differs.
    check_page copy.html \
        'other = open(os.environ["RIG_DIR"] + "/against/report.html", encoding="utf-8").read()' \
        'handoff = json.dumps(manifest["handoff"], separators=(",", ":"), ensure_ascii=False)' \
        'assert manifest["handoff"]["user"] == "dave" and manifest["handoff"]["redactions"] == []' \
        'assert text.count(f""","handoff":{handoff}""") == 1' \
        'assert text.replace(f""","handoff":{handoff}""", "") == other'
}

@test "a damaged or missing file of a comparison is reported, and the rest is compared" {
    modify_bundle "$RIG_DIR/against" hurt 'hosts[0]["services"][0]["items"][:] = [i for i in hosts[0]["services"][0]["items"] if i["kind"] != "cpu"]'
    profgrab report -o hurt.html hurt.tar.gz
    check_page hurt.html 'assert [e["kind"] for e in bundle["data"] if e.get("from") == "sides"] == ["heap"]'
    modify_bundle "$RIG_DIR/pair" alone 'hosts[0]["services"][0]["items"][:] = [i for i in hosts[0]["services"][0]["items"] if i.get("pair") != 2]'
    profgrab report -o alone.html alone.tar.gz
    check_page alone.html 'assert not any(e.get("from") for e in bundle["data"])'
    head -c 300 "$RIG_DIR/pair/file-05/app/heap.later.pb.gz" >short.pb.gz
    modify_bundle "$RIG_DIR/pair" broken 'files["file-05/app/heap.later.pb.gz"] = os.path.abspath("short.pb.gz")'
    profgrab report -o broken.html broken.tar.gz
    check_page broken.html 'assert [e["title"] for e in bundle["data"] if e.get("from")] == ["file-05 app goroutines: growth"]' \
        'assert any(e["form"] == "none" and e["file"].endswith("heap.later.pb.gz") for e in bundle["data"])'
}
