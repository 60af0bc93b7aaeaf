# Runs profgrab on hostile input within limits of processor time and memory. tests/long/limits.bats tries every shape of input,
# 79-limits.bats some of them. They have `load limits` after `load helper`, and remove $scratch in their teardown.
# shellcheck shell=bash disable=SC2016,SC2030,SC2031,SC2034,SC2154 # each test is a subshell; the rig sets rig_root, bats's run sets status

# run_bounded ARG...: runs profgrab with at most 10 s of processor time and 300 MB.
run_bounded() {
    run_measured 10 "$@"
}

# run_measured SECONDS ARG...: runs profgrab with at most that processor time and 300 MB.
run_measured() {
    [[ $profgrab_program != *-1/* && $profgrab_program != *-thread/* ]] || skip 'sanitizers have no limit of memory'
    run --separate-stderr "$rig_root/tests/rig/measure.py" "$1" 300 -- "$profgrab_program" "${@:2}"
    [[ $status != 99 ]] || fail_run 'more processor time or memory than allowed'
}

hostile_file() { "$rig_root/tests/rig/hostile_file.py" "$@"; }
hostile_workdir() { "$rig_root/tests/rig/hostile_workdir.py" "$@"; }

# Sets $scratch to a new directory: in memory (/dev/shm) if possible, because a disk is slow with so many files and bytes.
make_scratch() {
    scratch=$(mktemp -d -p /dev/shm 2>/dev/null) || scratch=$(mktemp -d -p "$PWD")
}

# check_bundles_to_show KIND...: the commands that show a bundle stay within the limits on each.
check_bundles_to_show() {
    local kind
    for kind; do
        hostile_file "$kind.tar.gz" "$kind"
        run_bounded report -o - "$kind.tar.gz"
        run_bounded report --text "$kind.tar.gz"
        run_bounded report --markdown "$kind.tar.gz"
        run_bounded view --no-browser "$kind.tar.gz"
        run_bounded view --no-browser "$kind.tar.gz:*"
        run_bounded bundle list --profiles --dumps "$kind.tar.gz"
    done
}

# check_files_to_show KIND...: the commands that show a dump stay within the limits on each.
check_files_to_show() {
    local kind
    for kind; do
        hostile_file "$kind.gz" "$kind"
        run_bounded goroutines "$kind.gz"
        run_bounded goroutines --json "$kind.gz"
        run_bounded view --no-browser "$kind.gz"
        run_bounded view --no-browser - <"$kind.gz"
        run_bounded goroutines - <"$kind.gz"
    done
}

write_inventory() {
    printf 'version: 1\nservices: { s: { port: 1 } }\nhosts: { h: { connect: direct, address: 127.0.0.1, services: [s] } }\n' >inventory.yaml
    chmod 600 inventory.yaml
}

# check_source SHAPE: `hosts --from` stays within the limits on 60 MB of JSON. SHAPE is HEAD UNIT TAIL; UNIT is repeated.
check_source() {
    python3 - "$1" >t.json <<'PY'
import sys
head, unit, tail = sys.argv[1].split(" ")
print(head + unit * (60000000 // len(unit)) + tail)
PY
    run_bounded hosts -i inventory.yaml --from file_sd:t.json
}

# check_slow_match ADDRESS MATCH: 99,000 targets of that address, an expression in Python, are refused within the limits because MATCH
# takes long on them. The other source works.
check_slow_match() {
    write_inventory
    python3 -c 'import json, sys; print(json.dumps([{"targets": [eval(sys.argv[1]) + ":1"] * 99000, "labels": {"job": "j"}}]))' "$1" >t.json
    echo '[{"targets": ["127.0.0.1:2"], "labels": {"job": "other"}}]' >other.json
    printf 'discovery: [{ file_sd: t.json, match: "%s" }, { file_sd: other.json, host: h, name: other }]\n' "$2" >>inventory.yaml
    run_bounded hosts -i inventory.yaml
    assert_status 3
    assert_stderr_has 'file_sd: searching its 99000 targets for hosts by `match` takes more than 5 s of processor time'
    assert_stderr_has 'hint: begin `match` with ^'
    assert_stdout_has other
}

# check_flood KIND CARRIER: a grab from a server that floods the open session stays within the limits. KIND is one of odd_sshd.py,
# or trickle: `ignore` with a byte of data between the messages.
check_flood() {
    local options=(--flood "$1")
    [[ $1 != trickle ]] || options=(--flood ignore --trickle)
    [[ -e $RIG_DIR/flood_$1 ]] || rig_odd_sshd "flood_$1" --open "${options[@]}"
    rig_alias "flooding-$1" "flood_$1"
    # On a busy machine the server is slow to cause the 3 s of processor time.
    run_bounded --batch --via "$2" --ssh-config "$RIG_SSH_CONFIG" --host "flooding-$1" --port 1 --timeout 120s heap
    assert_status 1
    # The limit of ssh is its own processor time. On a busy machine the server may be too slow to reach it within the timeout.
    [[ $stderr == *'the server sent too much that belongs to no connection'* || $1 == ignore && $2 == openssh && $stderr == *'no data arrived for '* ]] ||
        fail_run
}

# check_hostile_bundles KIND...: bundle list, verify, extract and attach stay within the limits on each.
check_hostile_bundles() {
    local kind
    ssh-keygen -q -t ed25519 -N '' -f key
    printf 'version: 1\nteams: { mailed: { recipients: [ %s ] } }\n' "$PWD/key.pub" >inventory.yaml
    chmod 600 inventory.yaml
    make_scratch
    for kind; do
        hostile_file "$scratch/b.tar.gz" "$kind"
        run_bounded bundle list "$scratch/b.tar.gz"
        run_bounded bundle verify "$scratch/b.tar.gz"
        case $kind in
        undescribed)
            assert_status 1
            assert_stderr_has ' MB and inflates to more than '
            assert_stderr_has 'if you trust the file, unpack it with tar'
            ;;
        too-long-paths)
            assert_status 1
            assert_stderr_has 'the paths of all members have more than 4194304 bytes'
            ;;
        *) assert_status 0 ;;
        esac
        run_bounded bundle extract -C "$scratch" "$scratch/b.tar.gz"
        rm -rf "$scratch/x"
        run_bounded attach "$scratch/b.tar.gz" -q -i inventory.yaml --for mailed --dry-run
        case $kind in
        zip-in-zip)
            assert_status 4
            assert_stderr_has "profgrab: $scratch/b.tar.gz: making its copy takes more than 8 s of processor time"
            assert_stderr_has 'hint: a real bundle of this size needs less memory and time'
            ;;
        undescribed) assert_status 4 ;;
        requests)
            assert_status 4
            assert_stderr_has "$scratch/b.tar.gz: its requests contain too many different secrets"
            ;;
        growing)
            assert_status 4
            assert_stderr_has "$scratch/b.tar.gz: redaction would make its manifest.json more than 16777216 bytes longer"
            ;;
        esac
        assert_equal "$(ls "$scratch")" b.tar.gz
        rm -f "$scratch/b.tar.gz"
    done
}

# check_chunks SHAPE COMMAND: COMMAND stays within the limits on an answer in chunks of that shape (tests/fixture).
check_chunks() {
    local url=http://127.0.0.1:$RIG_PORT_rude/chunks=$1/debug/pprof
    if [[ $2 == pprof ]]; then
        run_bounded pprof -top "$url/heap"
    else
        printf 'version: 1\nservices: { s: { port: %s, path: /chunks=%s/debug/pprof } }\nhosts: { h: { connect: direct, address: 127.0.0.1, services: [s] } }\n' \
            "$RIG_PORT_rude" "$1" >inventory.yaml
        chmod 600 inventory.yaml
        run_bounded -i inventory.yaml --host h heap allocs goroutines threadcreate
    fi
    assert_stderr_has 'receiving the answer took too much processor time'
}

# check_holes SIZE: the commands that read a dump or a profile refuse files of SIZE that consist of holes, within the limits.
check_holes() {
    local command
    printf 'goroutine 1 [running]:\nmain.f(...)\n\t/a.go:1 +0x1\n\n' >dump.txt
    printf '\x0a\x04\x08\x01\x10\x02\x32\x00\x32\x01a\x32\x01b' >heap.pb
    truncate -s "$1" dump.txt heap.pb
    for command in 'goroutines dump.txt' 'view --no-browser dump.txt' 'pprof -top heap.pb' 'merge -f -o merged heap.pb heap.pb' 'diff heap.pb heap.pb'; do
        # shellcheck disable=SC2086 # words
        run_bounded $command
        ((status != 0)) || fail_run "$1: $command: it succeeded"
    done
}

# check_sum_of_files KIND: report and view leave out the files of such a bundle that come after their common limit.
check_sum_of_files() {
    local kind=$1
    hostile_file "$kind.tar.gz" "$kind"
    run_bounded report -o "$kind.html" "$kind.tar.gz"
    assert_status 0
    assert_stderr_has "$kind.tar.gz: "
    assert_stderr_has ' files are left out: reading the files before them took 2 s of processor time'
    grep -q 'the files before it used up the processor time' "$kind.html"
    run_bounded report --text "$kind.tar.gz"
    assert_status 0
    run_bounded view --no-browser "$kind.tar.gz:*"
    assert_status 0
    assert_stderr_has ' files are left out: '
}

# check_services ARG...: `profgrab ARG... BUNDLE` reads a bundle of 20,000 services within the limits, and leaves nothing out.
check_services() {
    [[ -e services.tar.gz ]] || hostile_file services.tar.gz services
    run_bounded "$@" services.tar.gz
    assert_status 0
    refute_stderr_has 'services.tar.gz'
}

# serve_profile KIND [NAME...]: starts a service whose profiles of these names (heap) are the hostile file KIND.pb.gz, on a direct route.
# Each name has `heap` in it. Sets $server and $number, its process and port, and writes inventory.yaml.
serve_profile() {
    local file=$1.pb.gz
    hostile_file "$file" "$1"
    shift
    cat >serve.py <<'PY'
import http.server, sys

profile = open(sys.argv[1], "rb").read()
names = sys.argv[2:] or ["heap"]
rows = "".join(f"<tr><td>1</td><td><a href={name}?debug=1>{name}</a></td></tr>" for name in names)
index = f"<html><head><title>/debug/pprof/</title></head><body>/debug/pprof/<br><table>{rows}</table></body></html>".encode()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = profile if "heap" in self.path else index
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
PY
    mkfifo port
    python3 serve.py "$file" "$@" >port 3>&- &
    server=$!
    read -r number <port
    printf 'version: 1\nservices:\n  app: { port: %s }\nhosts:\n  here: { connect: direct, address: 127.0.0.1, services: [app] }\n' "$number" >inventory.yaml
    chmod 600 inventory.yaml
}

# check_hostile_workdirs KIND...: resume of such a work directory fails with the message for it, within the limits.
check_hostile_workdirs() {
    local kind
    make_scratch
    write_inventory
    for kind; do
        hostile_workdir "$scratch/$kind.partial" "$kind"
        run_bounded resume -y -q -i inventory.yaml "$scratch/$kind.partial"
        case $kind in
        sparse) assert_stderr_has 'sparse.partial is not safe to resume: h/s/a in it is larger than 4 GiB, and no run makes such a file' ;;
        holes) assert_stderr_has 'in it is a sparse file, and the holes of the files come to more than 256 MiB' ;;
        entries) assert_stderr_has 'has more than 50000 entries' ;;
        changed) assert_stderr_has 'no item is intact' ;;
        directories) assert_stderr_has '16000 items collected' ;;
        hosts) assert_stderr_has 'nothing was collected, so there is no bundle' ;;
        services | items | planned) assert_stderr_has 'has too many entries' ;;
        left) assert_stderr_has 'hint: an earlier run left files there that take too long to check' ;;
        outside) assert_stderr_has 'outside.partial: 4000 of its hosts are not in the inventory, more than 1000' ;;
        kinds) assert_stderr_has 'kinds.partial: a service cannot be asked for more than 100 kinds and paths' ;;
        deep) assert_stderr_has 'lies deeper than 32 directories' ;;
        braces) assert_stderr_has 'manifest.json is too large: it would take more than' ;;
        esac
        ((status != 0)) || fail_run "$kind: it succeeded"
        rm -rf "${scratch:?}"/*
    done
}

# repeat HEAD UNIT TIMES TAIL: prints HEAD, UNIT so many times, and TAIL.
repeat() { python3 -c 'import sys; h, u, n, t = sys.argv[1:]; print(h + u * int(n) + t)' "$@"; }

# check_yaml_shapes: reads lines HEAD|UNIT|REFUSED|ACCEPTED|TAIL. A source's YAML file of REFUSED units is too large, and one of ACCEPTED
# units is not; both stay within the limits. `@` in a unit is a newline.
check_yaml_shapes() {
    local head unit refused accepted tail
    write_inventory
    # The first number of units needs too much memory, the second just less than a file may need.
    while IFS='|' read -r head unit refused accepted tail; do
        repeat "$head" "${unit//@/$'\n'}" "$refused" "$tail" >c.yml
        run_bounded hosts -i inventory.yaml --from scrape_configs:c.yml
        assert_status 2
        assert_stderr_has 'the file is too large: it would take more than 100.7 MB of memory'
        repeat "$head" "${unit//@/$'\n'}" "$accepted" "$tail" >c.yml
        run_bounded hosts -i inventory.yaml --from scrape_configs:c.yml
        refute_stderr_has 'too large'
    done
}
