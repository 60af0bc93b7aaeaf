#!/usr/bin/env bats
# Small hostile files cost at most 10 s of processor time and 300 MB of memory in every command that reads them.

load helper

export MOST_SECONDS=10 MOST_MB=300

setup_file() {
    export COSTLY=$BATS_FILE_TMPDIR/costly
    mkdir "$COSTLY"
    python3 "$rig_root/tests/e2e/costly.py" "$COSTLY"
}
teardown_file() { :; }
teardown() { :; }

# check_cost ARG...: runs profgrab; fails if it exceeds the limits or dies of a signal.
check_cost() {
    run python3 "$rig_root/tests/e2e/costly.py" --run timeout 60 "$profgrab_program" "$@"
    echo "$* | ${output: -400}"
    [[ $status == 0 && $output =~ exit\ [0-9]+$ && ! $output =~ exit\ (124|13[0-9])$ ]]
}

@test "a manifest of 64 MB that takes 65 kB in its bundle is within the limits" {
    local file
    ssh-keygen -q -t ed25519 -N '' -f key
    cat >inventory.yaml <<EOF
version: 1
services: { s: { port: 1 } }
hosts: { h: { services: [s] } }
trackers: { t: { kind: gitlab, url: 'http://127.0.0.1:1', token_env: TOKEN } }
EOF
    for file in "$COSTLY"/*.tar.gz; do
        check_cost report -o out.html "$file"
        check_cost report --text "$file"
        check_cost view --no-browser "$file"
        TOKEN=x check_cost attach "$file" -i inventory.yaml --to t:a/b --encrypt-to key.pub --dry-run
        [[ $output == *'manifest.json is too large: it would take more than 234.9 MB of memory'* ]]
        check_cost bundle list "$file"
        check_cost bundle verify "$file"
        [[ $output == *'manifest.json is too large: it would take more than 234.9 MB of memory'* ]]
        check_cost bundle extract -C . "$file"
        check_cost resume "$file"
        rm -rf out.html b
    done
}

@test "64 MB of short lines that take 65 kB are within the limits of goroutines and view" {
    local file
    check_cost goroutines "$COSTLY/frames.gz"
    [[ $output == *'a goroutine of the dump has more than 65536 frames'* ]]
    for file in lines.gz frames.gz stacks.gz; do
        check_cost goroutines "$COSTLY/$file"
        check_cost goroutines --json "$COSTLY/$file"
        check_cost view --no-browser "$COSTLY/$file"
    done
}

@test "400 kB of commas in a goroutine's state are within the limits" {
    MOST_SECONDS=1 check_cost goroutines "$COSTLY/commas.txt"
    MOST_SECONDS=1 check_cost view --no-browser "$COSTLY/commas.txt"
}

@test "samples of one location with very many lines are within the limits" {
    local format
    for format in top tree peek=. traces tags raw dot callgrind proto folded speedscope; do
        check_cost pprof "-$format" -output out "$COSTLY/inlined.pb.gz"
    done
    check_cost goroutines "$COSTLY/inlined.pb.gz"
    check_cost view --no-browser "$COSTLY/inlined.pb.gz"
    check_cost merge -o merged "$COSTLY/inlined.pb.gz" "$COSTLY/inlined.pb.gz"
}

@test "100 kB of targets with one port are within the limits" {
    cat >inventory.yaml <<EOF
version: 1
services: { s: { port: 1 } }
hosts: { h: { services: [s] } }
discovery: [{ file_sd: '$COSTLY/equal-ports.json', host: h }]
EOF
    MOST_SECONDS=2 check_cost hosts -i inventory.yaml
    [[ $output == *web-80-5000* || $output == *'web-80'* ]]
    MOST_SECONDS=2 check_cost hosts -i inventory.yaml --services
    [[ $output == *web-80-5000* ]]
}

# make_fleet FILE HOSTS ORDER: writes a bundle with a heap profile and a dump of goroutines of each host. ORDER is the order in the
# archive: the `same` as in the manifest, or `reversed`.
make_fleet() {
    python3 - "$@" <<'PY'
import gzip, io, json, sys, tarfile

path, n, order = sys.argv[1], int(sys.argv[2]), sys.argv[3]
dump = b"goroutine 1 [running]:\nmain.main()\n\t/x.go:1 +0x1\n\n"
hosts, members = [], []
for i in range(n):
    heap = gzip.compress(b"heap profile: 1: 1 [1: 1] @ heap/1048576\n1: 1 [1: 1] @ 0x%x\n" % (i + 1), 1)
    items = []
    for kind, name, data, more in ("heap", "heap.pb.gz", heap, {"profile": {"samples": 1}}), ("goroutines", "goroutines.txt", dump, {}):
        items.append({"kind": kind, "status": "ok", "file": f"h{i}/s/{name}", "bytes": len(data), **more})
        members.append((f"h{i}/s/{name}", data))
    hosts.append({"name": f"h{i}", "services": [{"name": "s", "items": items}]})
manifest = json.dumps({"format": "profgrab-bundle", "version": 1, "name": "b", "hosts": hosts, "files": []}).encode()
with tarfile.open(path, "w:gz") as tar:
    for name, data in [("manifest.json", manifest)] + members[:: -1 if order == "reversed" else 1]:
        info = tarfile.TarInfo("b/" + name)
        info.size = len(data)
        tar.addfile(info, io.BytesIO(data))
PY
}

# count_opens ARG...: runs profgrab, and sets $opened to the number of times that it opens a bundle.
count_opens() {
    strace -f -qq -e trace=openat -o trace "$profgrab_program" "$@" >out 2>err || {
        cat err
        return 1
    }
    opened=$(grep -c 'fleet[^"]*tar.gz' trace)
}

@test "pprof, merge, diff and goroutines open a bundle as often for 400 hosts as for 40" {
    local order few command
    [[ $profgrab_program == */gcc/* || $profgrab_program == */clang/* ]] || skip 'strace and sanitizers exclude each other'
    ssh-keygen -q -t ed25519 -N '' -f key
    for order in same reversed; do
        make_fleet fleet-few.tar.gz 40 $order
        make_fleet fleet-many.tar.gz 400 $order
        for command in "pprof -top F:*/heap.pb.gz" "merge -f -o merged F:*/heap.pb.gz" 'diff F F' 'goroutines F' 'goroutines F F'; do
            set -f
            # shellcheck disable=SC2086 # several words
            count_opens ${command//F/fleet-few.tar.gz}
            few=$opened
            # shellcheck disable=SC2086
            count_opens ${command//F/fleet-many.tar.gz}
            set +f
            echo "$command: $few, $opened"
            ((opened == few && few < 20))
        done
    done
    "$profgrab_program" bundle encrypt --encrypt-to key.pub -o fleet-few.tar.gz.age fleet-few.tar.gz
    "$profgrab_program" bundle encrypt --encrypt-to key.pub -o fleet-many.tar.gz.age fleet-many.tar.gz
    count_opens goroutines --identity key fleet-few.tar.gz.age
    few=$opened
    count_opens goroutines --identity key fleet-many.tar.gz.age
    ((opened == few && few < 20))
    count_opens merge -f -o merged --identity key 'fleet-few.tar.gz.age:*/heap.pb.gz'
    few=$opened
    count_opens merge -f -o merged --identity key 'fleet-many.tar.gz.age:*/heap.pb.gz'
    ((opened == few && few < 20))
}

@test "pprof, merge, diff and goroutines of a bundle of thousands of hosts are within the limits" {
    make_fleet fleet.tar.gz 4000 reversed
    MOST_SECONDS=5 check_cost pprof -top 'fleet.tar.gz:*/heap.pb.gz'
    [[ $output == *'exit 0' && $output == *'4000 profiles are added up'* ]]
    MOST_SECONDS=5 check_cost merge -o merged 'fleet.tar.gz:*/heap.pb.gz'
    [[ $output == *'exit 0' ]]
    MOST_SECONDS=5 check_cost goroutines fleet.tar.gz
    [[ $output == *'exit 0' ]]
    MOST_SECONDS=5 check_cost goroutines fleet.tar.gz fleet.tar.gz
    [[ $output == *'exit 0' ]]
    make_fleet fleet.tar.gz 1000 same
    check_cost diff fleet.tar.gz fleet.tar.gz
    [[ $output == *'exit 0' ]]
}
