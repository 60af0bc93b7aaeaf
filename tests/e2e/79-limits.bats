#!/usr/bin/env bats
# shellcheck disable=SC2030,SC2031 # each test is a subshell
# Hostile input has limits of memory and time, and Ctrl-C ends each phase in time.

load helper
load limits

setup_file() { e2e_setup_file; }

# ---- limits -------------------------------------------------------------------------------------------------------

@test "hostile bundles, profiles and dumps take at most 10 s and 300 MB in report, view, goroutines and completion" {
    check_bundles_to_show bundle-of-zeros
    check_files_to_show goroutines
}

@test "hostile bundles take at most 10 s and 300 MB in bundle list, verify, extract and attach" {
    check_hostile_bundles undescribed too-long-paths growing
}

@test "resume: a hostile work directory of any shape takes at most 10 s and 300 MB" {
    check_hostile_workdirs sparse holes entries services items planned kinds outside deep braces
}

@test "resume: a hostile bundle of very many directories takes at most 10 s and 300 MB" {
    make_scratch
    write_inventory
    hostile_file "$scratch/b.tar.gz" too-many-directories
    run_bounded resume -y -q -i inventory.yaml "$scratch/b.tar.gz"
    assert_status 1
    assert_stderr_has "$scratch/b.tar.gz: manifest.json has more than 50000 files and directories"
    run_bounded bundle extract -C "$scratch" "$scratch/b.tar.gz"
    assert_status 1
    assert_stderr_has 'b.tar.gz has more than 50000 directories'
    assert_equal "$(ls "$scratch")" b.tar.gz
}

# Writes the manifest of b.tar.gz with a claim: a failed item of 1 TB. Makes c.tar.gz and d.partial of it.
claim_bytes() {
    rm -rf x d.partial
    mkdir x && tar xzf b.tar.gz -C x && mv x/* d.partial
    python3 - <<'PY'
import json

m = json.load(open("d.partial/manifest.json"))
m["hosts"][0]["services"][0]["items"].append({"kind": "cpu", "status": "failed", "error": "x", "bytes": 10**12})
json.dump(m, open("d.partial/manifest.json", "w"))
PY
    chmod -R go= d.partial
    (cd d.partial && tar czf ../c.tar.gz --format=ustar --transform 's,^,b/,' manifest.json README.md report.html h/s/heap.pb.gz)
}

@test "a size that a manifest claims does not raise the limits of the page that resume draws" {
    [[ $profgrab_program == */gcc/* || $profgrab_program == */clang/* ]] || skip 'strace and sanitizers exclude each other'
    local earlier limits
    printf 'version: 1\nservices: { s: { port: %s }, t: { port: 1 } }\nhosts: { h: { connect: direct, address: 127.0.0.1, services: [s, t] } }\n' \
        "$RIG_PORT_rude" >inventory.yaml
    chmod 600 inventory.yaml
    run_profgrab -i inventory.yaml -o b.tar.gz --host h heap
    assert_status 3
    claim_bytes
    sed -i "s/port: 1 /port: $RIG_PORT_rude /" inventory.yaml
    for earlier in c.tar.gz d.partial; do
        run --separate-stderr strace -f -e trace=prlimit64,setrlimit -o trace "$profgrab_program" resume -q -y -i inventory.yaml "$earlier"
        assert_status 0
        limits=$(sed -n 's/.*RLIMIT_CPU, {rlim_cur=\([0-9]*\).*/\1/p' trace)
        assert_equal "$limits" 10
    done
}

@test "holes of a file raise no limit: each command refuses it or takes at most 10 s and 300 MB" {
    mkdir sparse
    printf 'a\0b' >sparse/cmdline.txt
    truncate -s 3G sparse/cmdline.txt
    run_bounded bundle create -o b.tar.gz sparse
    assert_status 1
    assert_stderr_has 'sparse/cmdline.txt is a sparse file, and the holes of the files come to more than 256 MiB'
    [[ ! -e b.tar.gz && ! -e b.partial ]]
    check_holes 200M
}

@test "view and goroutines read the manifest of a bundle only in a child process" {
    [[ $profgrab_program == */gcc/* || $profgrab_program == */clang/* ]] || skip 'strace and sanitizers exclude each other'
    local words
    # The manifest has 400 kB that do not compress. A process that looks only for the type of the file reads less than 40 kB.
    python3 - <<'PY'
import io, json, os, tarfile

dump = b"goroutine 1 [running]:\nmain.f(...)\n\t/a.go:1 +0x1\n"
item = {"kind": "goroutines", "status": "ok", "file": "h/s/goroutines.txt", "bytes": len(dump)}
m = {"format": "profgrab-bundle", "version": 1, "name": "b", "reason": os.urandom(200000).hex(),
     "hosts": [{"name": "h", "services": [{"name": "s", "items": [item, {**item, "file": "h/s/goroutines.2.txt"}]}]}], "files": []}
with tarfile.open("b.tar.gz", "w:gz", format=tarfile.USTAR_FORMAT) as bundle:
    for name, data in (("manifest.json", json.dumps(m).encode()), ("h/s/goroutines.txt", dump), ("h/s/goroutines.2.txt", dump)):
        member = tarfile.TarInfo("b/" + name)
        member.size, member.mode = len(data), 0o600
        bundle.addfile(member, io.BytesIO(data))
PY
    for words in 'goroutines b.tar.gz' 'view --no-browser b.tar.gz:*' 'view --no-browser b.tar.gz b.tar.gz' 'report --text b.tar.gz'; do
        # shellcheck disable=SC2086 # words
        run --separate-stderr strace -f -e trace=read,prctl -P b.tar.gz -o trace "$profgrab_program" $words
        assert_status 0
        python3 - <<'PY'
import re

read = {}
for line in open("trace"):
    if found := re.match(r"(\d+) .*= (\d+)$", line.rstrip()):
        read[found[1]] = read.get(found[1], 0) + int(found[2])
first = next(iter(read))
print(read)
assert read[first] < 40000 and max(read.values()) > 100000, read
PY
    done
}

@test "bodies that inflate a thousandfold take at most 10 s and 300 MB in a check and in bundle create" {
    hostile_file one.pb.gz inflating
    run_bounded bundle create -o b.tar.gz one.pb.gz
    assert_status 3
    assert_stderr_has 'one.pb.gz: damaged: it inflates to more than 128 MiB plus 64 times its size'
    # The page gets the time that the checks leave.
    if [[ $profgrab_program == */gcc/* || $profgrab_program == */clang/* ]]; then
        run --separate-stderr strace -f -e trace=prlimit64,setrlimit -o trace "$profgrab_program" bundle create -o e.tar.gz one.pb.gz
        assert_status 3
        (($(sed -n 's/.*RLIMIT_CPU, {rlim_cur=\([0-9]*\).*/\1/p' trace) < 10))
    fi
}

@test "a grab ends the check of a body that inflates to very many fields, and keeps the body as damaged" {
    serve_profile fields
    run_measured 4.5 -i inventory.yaml --host here -o b.tar.gz heap
    assert_status 1
    assert_stderr_has 'heap: checking its body takes more than 2.'
    assert_stderr_has 'hint: the bytes that arrived are kept: `profgrab pprof FILE` reads them within limits of memory and time'
    tar xzf b.tar.gz
    cmp b/here/app/heap.pb.gz.damaged fields.pb.gz
}

@test "a source's answer of 60 MB of any shape takes at most 10 s and 300 MB" {
    local shape
    write_inventory
    for shape in '[ {}, {}]' '[ {"targets":["h:80"],"labels":{"job":"j"}}, {}]'; do
        check_source "$shape"
    done
    assert_stderr_has 'it has more than 100000 targets'
    head -c 67200000 /dev/zero | tr '\0' ' ' | cat - <(echo '[]') >t.json
    run_bounded hosts -i inventory.yaml --from file_sd:t.json
    assert_stderr_has 't.json is larger than 67108864 bytes'
    # The maximum number of targets at different ports, and of labels.
    python3 - >t.json <<'PY'
import json
ports = iter(range(10**6))
labels = {f"a{i}": "v" * 60 for i in range(16)}
print(json.dumps([{"targets": [f"127.0.0.1:{1 + next(ports) % 65000}" for _ in range(24999)], "labels": {"job": f"j{k}", **labels}} for k in range(4)]))
PY
    run_bounded hosts --json -i inventory.yaml --from file_sd:t.json
    assert_status 0
    run_bounded --dry-run -y -i inventory.yaml --from file_sd:t.json --host h heap
    assert_status 2
    assert_stderr_has 'more than 1024 services of host "h" are selected'
    run_bounded check -i inventory.yaml --from file_sd:t.json --host h
    assert_status 2
    # Here each target has labels of its own.
    python3 - >t.json <<'PY'
import json
print(json.dumps([{"targets": [f"127.0.0.1:{1 + i % 65000}"], "labels": {"job": f"j{i}", **{k: str(i) for k in "abcd"}}} for i in range(99000)]))
PY
    echo 'discovery: [{ file_sd: "t.json", host: h }]' >>inventory.yaml
    run_bounded hosts --json -i inventory.yaml
    assert_status 0
}

@test "a selection of as many services from a source as are allowed takes at most 10 s and 300 MB" {
    local n hosts=
    for n in {1..9}; do hosts+="\"$n\": { connect: direct, address: 127.1.0.$n, services: [x] }, "; done
    printf '%s\n' 'version: 1' 'services: { x: { port: 1 } }' "hosts: { $hosts}" 'discovery: [{ file_sd: t.json, match: "127[.]1[.]0[.]([0-9]+)" }]' >inventory.yaml
    chmod 600 inventory.yaml
    python3 -c 'import json; print(json.dumps([{"targets": [f"127.1.0.{h}:{2000 + i}" for i in range(999)]} for h in range(1, 10)]))' >t.json
    run_bounded check -i inventory.yaml --host '[1-9]'
    assert_status 2
    assert_stderr_has '8991 services from sources are selected, more than 8000'
    # Nothing listens at these ports of the loopback.
    run_bounded check -i inventory.yaml --host '[1-8]'
    assert_status 1
    run_bounded --dry-run -y -i inventory.yaml --host '[1-8]' heap
    refute_stderr_has 'are selected'
}

@test "slow matches cost at most 10 s and 300 MB" {
    check_slow_match '("r-1" * 90)[:249]' '([a-z0-9-]+-[0-9]+)[.]stor'
    # The same addresses with an anchored expression.
    sed -i 's/match: "(/match: "^(/' inventory.yaml
    run_bounded hosts -i inventory.yaml
    assert_status 0
    # The maximum number of targets, with ordinary names. One of them is a host's.
    python3 -c 'print("[{\"targets\": [" + "".join(f"\"web-{i:05}-sv-gprd.c.production.internal:9168\"," for i in range(99999)) + "\"h.stor:1\"], \"labels\": {\"job\": \"fleet\"}}]")' >t.json
    sed -i 's/match: "[^"]*"/match: "([a-z0-9-]*[a-z0-9]+)[.]stor"/' inventory.yaml
    run_bounded hosts -i inventory.yaml
    assert_status 0
    assert_stdout_has fleet
    refute_stderr_has 'processor time'
}

@test "an SSH server that floods the handshake costs at most 10 s and 300 MB" {
    rig_fixture bad -ssh "127.0.0.1:$RIG_PORT_sshd"
    printf 'Host file-01\n  HostName 127.0.0.1\n  Port %s\n' "$RIG_PORT_bad_flood" >config
    run_bounded --batch --via libssh2 --ssh-config config --host file-01 --port 1 heap
    assert_status 1
    assert_stderr_has 'SSH handshake: the server sent more than 4 MiB before the login ended'
    run_bounded --batch --via openssh --ssh-config config --host file-01 --port 1 --connect-timeout 120s heap
    assert_status 1
    assert_stderr_has 'the login took too much processor time'
}

@test "an SSH server that floods an open session costs at most 10 s and 300 MB" {
    check_flood tiny libssh2
}

@test "answers in tiny chunks, or with endless chunk extensions, cost at most 10 s and 300 MB" {
    check_chunks bytes grab
    check_chunks extension pprof
}

@test "a TLS server that sends session tickets for ever costs at most 10 s and 300 MB, and a signal ends it" {
    printf '%s\n' 'version: 1' "services: { s: { port: $RIG_PORT_rude_httpstickets, scheme: https, tls: { ca: $RIG_DIR/tls/ca.pem } } }" \
        'hosts: { h: { connect: direct, address: 127.0.0.1, services: [s] } }' >inventory.yaml
    chmod 600 inventory.yaml
    run_bounded -i inventory.yaml --host h heap
    assert_stderr_has 'receiving the answer took too much processor time'
    run_bounded pprof -top "https+insecure://127.0.0.1:$RIG_PORT_rude_httpstickets/debug/pprof/heap"
    assert_stderr_has 'receiving the answer took too much processor time'
    # Here a complete answer precedes the tickets: they arrive when profgrab closes the connection or uses it again.
    run_bounded pprof -top "https+insecure://127.0.0.1:$RIG_PORT_rude_httpstickets/answered/debug/pprof/heap"
    assert_stderr_has 'server response: 404 Not Found'
    sed -i 's!scheme: https!path: /answered/debug/pprof, scheme: https!' inventory.yaml
    run_bounded -i inventory.yaml --host h heap
    assert_status 1
    sed -i 's!path: /answered/debug/pprof, !!' inventory.yaml
    "$profgrab_program" -i inventory.yaml --host h heap 2>log &
    local pid=$! status=0
    until (($(awk '{ print $14 + $15 }' "/proc/$pid/stat") >= 30)); do sleep 0.02; done
    kill -TERM "$pid"
    wait "$pid" || status=$?
    assert_equal "$status" 143
}

@test "a source's YAML of any shape takes at most 10 s and 300 MB, accepted or refused" {
    check_yaml_shapes <<'SHAPES'
scrape_configs: {|a,|4000000|500000|}
scrape_configs:|@-|4000000|1560000|
SHAPES
    head -c 8400000 /dev/zero | tr '\0' '\n' | cat - <(echo 'scrape_configs: []') >c.yml
    run_bounded hosts -i inventory.yaml --from scrape_configs:c.yml
    assert_stderr_has 'c.yml is larger than 8388608 bytes'
    # A configuration and a file of targets that it names are in memory together.
    repeat '[{targets: [' 'h:80,' 100000 '], labels: {job: j}}, {x: [' >part
    { cat part && repeat '' 'a,' 1350000 ']}]'; } >targets.yml
    repeat 'scrape_configs: [{job_name: j, file_sd_configs: [{files: [targets.yml]}], relabel_configs: [' 'a,' 1560000 ']}]' >c.yml
    run_bounded hosts -i inventory.yaml --from scrape_configs:c.yml
    assert_status 0
    refute_stderr_has 'too large'
    { cat part && repeat '' 'a,' 1600000 ']}]'; } >targets.yml
    run_bounded hosts -i inventory.yaml --from scrape_configs:c.yml
    assert_stderr_has 'would take more than 100.7 MB of memory: the targets of this file are missing'
    # Very many directives; then one large file of targets that is named very often.
    python3 -c 'print("".join(f"%TAG !a{i}! tag:x\n" for i in range(200000)) + "---\nscrape_configs: []")' >c.yml
    run_bounded hosts -i inventory.yaml --from scrape_configs:c.yml
    assert_status 2
    assert_stderr_has 'the file has more than 100 %TAG directives'
    repeat '[' '{},' 400000 ']' >targets.yml
    repeat 'scrape_configs: [{job_name: j, file_sd_configs: [{files: [' 'targets.yml,' 100000 ']}]}]' >c.yml
    run_bounded hosts -i inventory.yaml --from scrape_configs:c.yml
    assert_status 1
    assert_stderr_has 'reading its files takes more than 3 s of processor time'
}

@test "a file that exceeds the memory limit gives one message with its name, and no output file" {
    hostile_file zeros.gz zeros
    run_bounded goroutines zeros.gz
    assert_status 1
    [[ $stderr == 'profgrab: zeros.gz: reading it takes more than 31'?'.'?' MB of memory'$'\n''hint: an ordinary file of its size needs less: '* ]] || fail_run 'another message'
    run_bounded view --no-browser zeros.gz
    assert_status 1
    assert_stderr_has 'profgrab: zeros.gz: reading it takes more than 31'
    assert_equal "$(ls "$XDG_RUNTIME_DIR")" ''
}

@test "report and view of a bundle leave out the one file that exceeds the memory limit, and show all others" {
    local page
    hostile_file b.tar.gz one-bad
    run_bounded report -o page.html b.tar.gz
    assert_status 0
    assert_stderr_has 'profgrab: b.tar.gz: reading it takes more than 2'
    assert_stderr_has 'of memory; going on without bad.txt'
    run_bounded report --text b.tar.gz
    assert_status 0
    assert_stderr_has 'going on without bad.txt'
    run_bounded view --no-browser b.tar.gz
    assert_status 0
    assert_stderr_has 'going on without bad.txt'
    for page in page.html "$output"; do
        grep -q 'first s goroutines' "$page"
        grep -q 'last s goroutines' "$page"
        grep -q 'reading it exceeds the limit of memory or time' "$page"
    done
    "$profgrab_program" report -o - b.tar.gz 2>messages | cat >piped
    grep -q 'going on without bad.txt' messages
    cmp piped page.html
}

@test "report and view of very many files leave out the rest when their sum exceeds the limit" {
    check_sum_of_files many-samples
}

@test "report draws a bundle of 20,000 services with one finding each" {
    check_services report -o services.html
    grep -q '"id":"data-19999"' services.html
}

@test "view of several bundles has one limit for all" {
    hostile_file a.tar.gz many-samples
    cp a.tar.gz b.tar.gz
    cp a.tar.gz c.tar.gz
    run_bounded view --no-browser a.tar.gz b.tar.gz c.tar.gz
    assert_status 0
    assert_stderr_has 'profgrab: 210 files: 20'
    assert_stderr_has ' files are left out: reading the files before them took 2 s of processor time'
}

@test "view of several files leaves out the one file that exceeds the memory limit" {
    hostile_file b.tar.gz one-bad
    tar xzf b.tar.gz
    gzip -9nc x/bad.txt >x/bad.txt.gz
    run_bounded view --no-browser x/first.txt x/bad.txt.gz x/last.txt
    assert_status 0
    assert_stderr_has 'going on without x/bad.txt.gz'
    grep -q first "$output"
    grep -q last "$output"
    # Without its only file a view would be empty.
    run_bounded view --no-browser x/bad.txt.gz
    assert_status 1
    refute_stderr_has 'going on without'
}

teardown() {
    [[ -z ${server-} ]] || kill "$server"
    [[ -z ${scratch-} ]] || rm -rf "$scratch"
    e2e_teardown
}

@test "pprof: a profile from a URL or from standard input has the limits of a file" {
    serve_profile deep
    run_bounded pprof -folded "http://127.0.0.1:$number/debug/pprof/heap"
    assert_status 2
    assert_stderr_has '/debug/pprof/heap: reading it takes more than 2'
    run_bounded pprof -folded - < <(cat deep.pb.gz)
    assert_status 2
    assert_stderr_has 'reading it takes more than 2'
}

@test "pprof: an answer or a FIFO that never ends costs at most 300 MB" {
    run_bounded pprof -top "http://127.0.0.1:$RIG_PORT_rude/endless/debug/pprof/heap"
    assert_status 2
    assert_stderr_has 'the answer is larger than 268435456 bytes'
    assert_stderr_has 'hint: PROFGRAB_PPROF_MAX=8GB accepts larger profiles from a URL or a pipe'
    mkfifo fifo
    cat /dev/zero >fifo 3>&- &
    run_bounded pprof -top fifo
    assert_status 2
    assert_stderr_has 'is larger than 268435456 bytes'
    assert_stderr_has 'hint: PROFGRAB_PPROF_MAX=8GB accepts larger profiles from a URL or a pipe'
}

@test "pprof: a report that takes more memory than allowed gives one message and replaces no file" {
    local format
    hostile_file deep.pb.gz deep
    echo before >report
    for format in -folded -speedscope '-dot -call_tree' '-svg -call_tree'; do
        # shellcheck disable=SC2086 # two flags
        run_bounded pprof $format -output=report deep.pb.gz
        assert_status 2
        assert_stderr_has 'deep.pb.gz: reading it takes more than 2'
        assert_equal "$(cat report)" before
    done
}

@test "pprof: graphviz runs within limits" {
    hostile_file "heap.pb.gz" large
    mkdir bin
    printf '#!/bin/bash\n{ ulimit -t; ulimit -d; } >%q\ncat >/dev/null\necho "<svg/>"\n' "$PWD/limits" >bin/dot
    chmod +x bin/dot
    PATH=$PWD/bin:$PATH run --separate-stderr "$profgrab_program" pprof -svg -output heap.svg heap.pb.gz
    assert_status 0
    assert_equal "$(head -n 1 limits)" 300
    (($(tail -n 1 limits) < 2200000))
}

@test "pprof: a graph of very long names is refused before it fills the memory" {
    hostile_file long-names.pb.gz long-names
    run_bounded pprof -svg -output graph.svg long-names.pb.gz
    assert_status 2
    assert_stderr_has 'the graph is too large to draw: -nodecount shows fewer nodes'
    [[ ! -e graph.svg ]]
}

@test "pprof: -weblist of very many inlined calls takes at most 10 s and 300 MB" {
    hostile_file inlined.pb.gz inlined
    run_bounded pprof -weblist=. -output page.html inlined.pb.gz
    assert_status 0
    [[ -s page.html ]]
}

@test "pprof: a report of the shell that exceeds its limit gives one message, and the shell continues" {
    hostile_file deep.pb.gz deep
    run_bounded pprof deep.pb.gz < <(printf 'folded\ntop 3\nquit\n')
    assert_status 0
    assert_equal "$(grep -c 'deep.pb.gz: reading it takes more than 2' <<<"$stderr")" 1
    assert_stdout_has 'Showing nodes accounting for 1, 100% of 1 total'
}

@test "pprof, merge, diff, goroutines: bundles of very many profiles take at most 10 s and 300 MB" {
    hostile_file types.gz types
    run_bounded pprof -top types.gz
    assert_stderr_has 'parsing profile: it has more than 1000 sample types'
    hostile_file many-samples.tar.gz many-samples
    run_bounded pprof -top 'many-samples.tar.gz:*'
    assert_status 2
    assert_stderr_has 'reading it takes more than '
    assert_stderr_has many-samples.tar.gz:
    # Many members are read in few passes.
    hostile_file many-small.tar.gz many-small
    run_bounded pprof -top "many-small.tar.gz:*"
    assert_status 0
    run_bounded merge -o merged "many-small.tar.gz:*"
    assert_status 0
    hostile_file entries.tar.gz entries
    run_bounded diff entries.tar.gz entries.tar.gz
    run_bounded goroutines entries.tar.gz entries.tar.gz
}

@test "a profile with a costly drop_frames is not drawn, its page says why, and the bundle is made in time" {
    hostile_file pattern.pb.gz pattern
    run_bounded bundle create -o b.tar.gz pattern.pb.gz
    assert_status 0
    tar xzf b.tar.gz
    grep -q 'a regular expression takes too long on the names in this profile' b/report.html
    run_bounded view --no-browser pattern.pb.gz
    assert_status 1
    assert_stderr_has 'a regular expression takes too long on the names in this profile'
    run_bounded pprof -top pattern.pb.gz
    assert_stderr_has 'a regular expression takes too long on the names in this profile'
    assert_stderr_has "this is the profile's own drop_frames; -all_frames ignores it"
    run_bounded pprof -top -all_frames pattern.pb.gz
    assert_status 0
}

# ---- Ctrl-C after the last byte ----------------------------------------------------------------------------------------

# run_interrupted_at STRACE-OPTION...: runs a grab into b.tar.gz, with the signals and delays that strace injects.
run_interrupted_at() {
    strace_at_most_2_s "$@" "$profgrab_program" -q -i inventory.yaml --host here -o b.tar.gz heap
}

# strace_at_most_2_s STRACE-ARGUMENT...: runs a program that makes b.tar.gz under strace, and fails if it does not end within 2 s of its
# first SIGINT. Other load may delay a run, so the shortest of three runs counts.
strace_at_most_2_s() {
    [[ $profgrab_program == */gcc/* || $profgrab_program == */clang/* ]] || skip 'strace and sanitizers exclude each other'
    local took
    for _ in 1 2 3; do
        rm -rf b.tar.gz b.partial b
        [[ -z ${before_run-} ]] || "$before_run" 3>&- &
        run --separate-stderr strace -f -ttt -o trace "$@"
        took=$(awk '/--- SIGINT/ && !began { began = $2 } /\+\+\+ (exited|killed)/ { end = $2 } END { if (!began) exit 1; printf "%d\n", (end - began) * 1000 }' trace) ||
            fail_run "no signal was sent: $*"
        ((took >= 2000)) || return 0
    done
    fail_run "it took $took ms: $*"
}

@test "SIGINT while the page is drawn or the bundle is written: the whole bundle exists within 2 s" {
    serve_profile large
    local at
    # The signal arrives at the fork of the child that draws the page, in that child, or at its end; then while README.md, the
    # manifest, the tarball and its directory are written.
    for at in clone:signal=SIGINT:when=1 close_range:signal=SIGINT:when=1 wait4:signal=SIGINT:when=1 fsync:signal=SIGINT:when={3,4,5,6,7,8} \
        renameat:signal=SIGINT:when={2,3}; do
        run_interrupted_at -e trace="${at%%:*},exit_group" -e inject="$at"
        assert_status 0
        [[ ! -e b.partial ]]
        "$profgrab_program" bundle verify b.tar.gz >/dev/null
        case $at in
        clone* | close_range*)
            assert_stderr_has 'report.html could not be made, so the bundle has none: interrupted'
            ;;
        *) tar tzf b.tar.gz | grep -q '/report.html$' ;;
        esac
    done
}

@test "SIGINT while a bundle is packed slowly: the program ends within 2 s, the work directory stays, and resume packs it" {
    serve_profile large
    # Each of 22 pieces of 32 kB takes 0.3 s to read. The first signal goes only to the child that draws the page.
    run_interrupted_at -P "$PWD/b.partial/here/app/heap.pb.gz" -e inject=fstat,newfstatat:signal=SIGINT:when=1 -e inject=read:delay_enter=300000
    assert_status 130
    assert_stderr_has 'profgrab: the bundle could not be written: interrupted'
    assert_stderr_has 'hint: everything collected is in b.partial: `profgrab resume -i inventory.yaml b.partial` packs it'
    [[ ! -e b.tar.gz ]]
    run --separate-stderr "$profgrab_program" resume -q -i inventory.yaml b.partial
    assert_status 0
    "$profgrab_program" bundle verify b.tar.gz >/dev/null
}

# Sends SIGINT to the process whose ID is in the file pid, as soon as the complete body has its name.
interrupt_complete_body() {
    python3 - <<'PY'
import os, signal, time

for _ in range(6000):
    if os.path.exists("b.partial/here/app/heap.pb.gz"):
        os.kill(int(open("pid").read()), signal.SIGINT)
        break
    time.sleep(0.005)
PY
}

@test "SIGINT between the last byte and the bundle: the program ends within 2 s, the work directory stays, and resume packs it" {
    serve_profile large
    printf '#!/bin/sh\necho $$ >pid\nexec "%s" "$@"\n' "$profgrab_program" >gcc-program
    chmod +x gcc-program
    # The fetching thread waits before it closes the body. Then each of 22 pieces of 32 kB takes 0.1 s to read.
    before_run=interrupt_complete_body strace_at_most_2_s -P "$PWD/b.partial/here/app/heap.pb.gz.part" -P "$PWD/b.partial/here/app/heap.pb.gz" \
        -e inject=close:delay_enter=50000:when=1 -e inject=read:delay_enter=100000 \
        ./gcc-program -q -i inventory.yaml --host here -o b.tar.gz heap
    assert_status 130
    assert_stderr_has 'hint: everything collected is in b.partial: `profgrab resume -i inventory.yaml b.partial` packs it'
    run --separate-stderr "$profgrab_program" resume -q -i inventory.yaml b.partial
    assert_status 0
    "$profgrab_program" bundle verify b.tar.gz >/dev/null
}

@test "SIGINT while resume unpacks a bundle: within 2 s nothing is left" {
    [[ $profgrab_program != *-1/* && $profgrab_program != *-thread/* ]] || skip 'sanitizers make the removal slow'
    make_scratch
    write_inventory
    sed -i 's/\<s\>/s0/g' inventory.yaml
    hostile_file "$scratch/x.tar.gz" entries-to-resume
    # Sends the signal when most of the files exist. Without strace, which would delay each system call. Other load may delay a run, so
    # the shortest of three runs counts.
    python3 - "$profgrab_program" "$scratch" <<'PY'
import glob, os, signal, subprocess, sys, time

program, scratch = sys.argv[1:]
took = []
while len(took) < 3 and (not took or min(took) >= 2):
    child = subprocess.Popen([program, "resume", "-q", "-y", "-i", "inventory.yaml", scratch + "/x.tar.gz"])
    while child.poll() is None and not glob.glob(scratch + "/*.partial/h/s105"):
        time.sleep(0.002)
    began = time.monotonic()
    child.send_signal(signal.SIGINT)
    assert child.wait() == 130, f"exit status {child.returncode}"
    took.append(time.monotonic() - began)
    assert os.listdir(scratch) == ["x.tar.gz"]
assert min(took) < 2, f"it took {took} s"
print(f"it took {took} s", file=sys.stderr)
PY
}

@test "SIGINT while bundle create copies a large file: it exits within 2 s, and leaves nothing" {
    head -c 6000000 /dev/urandom >large.bin
    # Each of 92 pieces of 64 kB takes 0.1 s to read.
    strace_at_most_2_s -P "$PWD/large.bin" -P "$PWD/b.partial/files/large.bin" -e trace=read,write \
        -e inject=write:signal=SIGINT:when=3 -e inject=read:delay_enter=100000 "$profgrab_program" bundle create -o b.tar.gz large.bin
    assert_status 130
    refute_stderr_has 'is kept in'
    assert_stderr_has 'interrupted'
    assert_equal "$(compgen -G 'b.*')" ''
}
