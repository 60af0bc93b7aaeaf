#!/usr/bin/env bats
# Inputs and outputs of `profgrab pprof`: URLs of real services, members of bundles, files, pictures, terminals.

load helper

setup_file() {
    rig_start
    rig_service node_exporter
    rig_service rude -raw
}

setup() {
    e2e_setup
    export PPROF_TMPDIR=$BATS_TEST_TMPDIR/kept BROWSER=
    server=127.0.0.1:$RIG_PORT_node_exporter
    curl -fsS -o heap.pb.gz "http://$server/debug/pprof/heap"
}

# Prints a program's messages on stderr, without the parts that change from run to run. Several sources are fetched at the same time,
# so the order of their first messages changes too.
messages() { # COMMAND...
    "$@" 2>&1 >/dev/null | sed "s|$PPROF_TMPDIR.*|KEPT|; s|^Time: .*|Time|" |
        awk '/^Fetching/ { print | "sort"; next } { close("sort"); print }'
}

@test "a URL is fetched as go tool pprof fetches it, and the saved profile gives the same report" {
    run_profgrab pprof -top "http://$server/debug/pprof/heap"
    assert_status 0
    assert_stdout_has 'Type: inuse_space'
    local kept=("$PPROF_TMPDIR"/*.pb.gz)
    assert_equal "${#kept[@]}" 1
    assert_stderr_has "Saved profile in ${kept[0]}"
    assert_stdout "$(profgrab pprof -top "${kept[0]}")"
    gunzip -t "${kept[0]}"
    local source
    for source in "http://$server/debug/pprof/heap" "$server/debug/pprof/heap?debug=0" "$server/debug/pprof/none" \
        "http://$server/debug/pprof/heap http://$server/debug/pprof/none heap.pb.gz"; do
        # shellcheck disable=SC2086 # several words
        assert_equal "$(messages profgrab pprof -symbolize=none -top $source)" "$(messages go tool pprof -symbolize=none -top $source)"
    done
}

@test "a service without a path gives its CPU profile of -seconds" {
    run_profgrab pprof -seconds 1 -comments -top "$server"
    assert_status 2
    assert_stderr_has 'must set at most one output format'
    run_profgrab pprof -seconds 1 -top "$server"
    assert_status 0
    assert_stdout_has 'Type: cpu'
    assert_stderr_has "Fetching profile over HTTP from http://$server/debug/pprof/profile?seconds=1"
    assert_stderr_has 'Please wait... (1s)'
}

@test "several sources are merged; one that fails is reported, and the command fails only if all do" {
    run_profgrab pprof -top -sample_index=alloc_objects heap.pb.gz missing.pb.gz "http://$server/debug/pprof/none" heap.pb.gz
    assert_status 0
    assert_stderr_has 'missing.pb.gz: stat missing.pb.gz: no such file or directory'
    assert_stderr_has 'server response: 404 Not Found'
    assert_stderr_has 'Fetched 2 source profiles out of 4'
    run_profgrab pprof -top missing.pb.gz
    assert_status 2
    assert_stderr_has 'failed to fetch any source profiles'
}

@test "errors in large files are reported in the files' order, although two are read at a time" {
    local name order
    for name in d b c a; do
        printf 'no profile %.0s' {1..40000} >"junk-$name"
    done
    cp heap.pb.gz input.pb.gz
    run_profgrab pprof -top -sample_index=alloc_objects junk-d missing.pb.gz junk-b heap.pb.gz - junk-c junk-a <input.pb.gz
    assert_status 0
    assert_stderr_has 'Fetched 2 source profiles out of 7'
    order=$(grep -oE '^(junk-.|missing[^:]*):' <<<"$stderr" | tr -d '\n')
    [[ $order == junk-d:missing.pb.gz:junk-b:junk-c:junk-a: ]] || fail_run "expected in that order"
}

@test "a server that is silent, rude or endless ends in an error within its time; a password is never shown" {
    run_profgrab pprof -timeout 1 -top "http://ann:s3same@127.0.0.1:$RIG_PORT_rude/silent/debug/pprof/heap"
    assert_status 2
    [[ $stderr != *s3same* ]] || fail_run
    assert_stderr_has 'ann:xxxxx@'
    run_profgrab pprof -top "127.0.0.1:$RIG_PORT_rude/html/debug/pprof/heap"
    assert_status 2
    assert_printable "$stderr"
    PROFGRAB_PPROF_MAX=100kB run_profgrab pprof -top "127.0.0.1:$RIG_PORT_rude/big=5/debug/pprof/heap"
    assert_status 2
    assert_stderr_has 'larger than 100000 bytes'
}

@test "a pipe that never ends is refused at the limit" {
    PROFGRAB_PPROF_MAX=100kB run_profgrab pprof -top - < <(cat /dev/zero)
    assert_status 2
    assert_stderr_has 'larger than 100000 bytes'
}

@test "a member of a bundle is a source, also if its name contains a colon" {
    profgrab bundle create -o all.tar.gz heap.pb.gz
    local member
    member=$(profgrab bundle list all.tar.gz | awk '/heap/ { print $3 }')
    run_profgrab pprof -top "all.tar.gz:$member"
    assert_status 0
    assert_stdout "$(profgrab pprof -top heap.pb.gz)"
    cp all.tar.gz 'a:b.tar.gz'
    run_profgrab pprof -top -diff_base "all.tar.gz:$member" "a:b.tar.gz:$member"
    assert_status 0
    assert_stdout_has 'Showing nodes accounting for 0, 0% of'
    run_profgrab pprof -top all.tar.gz:nothing
    assert_status 2
    assert_stderr_has '`profgrab bundle list all.tar.gz` lists its contents'
}

@test "pictures are made by graphviz from the output of -dot; a missing graphviz is reported, and no file is left" {
    run_profgrab pprof -svg -output heap.svg heap.pb.gz
    assert_status 0
    python3 -c 'import xml.dom.minidom, sys; assert "<g id=\"graph0\"" in xml.dom.minidom.parse("heap.svg").toxml()'
    profgrab pprof -png heap.pb.gz >heap.png
    assert_equal "$(head -c 4 heap.png | tail -c 3)" PNG
    profgrab pprof -pdf heap.pb.gz >heap.pdf
    assert_equal "$(head -c 4 heap.pdf)" %PDF
    mkdir empty
    run --separate-stderr env PATH="$PWD/empty" "$profgrab_program" pprof -svg -output none.svg heap.pb.gz
    assert_status 2
    assert_stderr_has 'failed to execute dot. Is Graphviz installed?'
    assert_stderr_has '-dot writes the graph as text'
    [[ ! -e none.svg ]]
    [[ -z $(ls -A "$TMPDIR") ]] || fail "$(ls -A "$TMPDIR")"
}

@test "a browser opens a picture, which is removed afterwards" {
    cat >browser <<'B'
#!/bin/sh
cp "$1" seen.svg
B
    chmod +x browser
    BROWSER=$PWD/browser run_profgrab pprof -web heap.pb.gz
    assert_status 0
    grep -q '<svg' seen.svg
    [[ -z $(ls -A "$TMPDIR") ]] || fail "$(ls -A "$TMPDIR")"
}

@test "\$BROWSER may have arguments, and the picture is the last one" {
    cat >browser <<'B'
#!/bin/sh
printf '%s\n' "$@" >arguments
B
    chmod +x browser
    BROWSER=" $PWD/browser --new-window  -P me " run_profgrab pprof -web heap.pb.gz
    assert_status 0
    mapfile -t lines <arguments
    assert_equal "${lines[*]:0:3}" '--new-window -P me'
    [[ ${#lines[@]} == 4 && ${lines[3]} == *.svg ]] || fail "$(cat arguments)"
    # -gv has an argument of its own.
    cp browser gv
    PATH=$PWD:$PATH run_profgrab pprof -gv heap.pb.gz
    assert_status 0
    mapfile -t lines <arguments
    [[ ${#lines[@]} == 2 && ${lines[0]} == --noantialias && ${lines[1]} == *.ps ]] || fail "$(cat arguments)"
    # An error names the program. Blanks alone are like no $BROWSER.
    run --separate-stderr env BROWSER="$PWD/missing --new-window" DISPLAY= PATH="$PWD" "$profgrab_program" view heap.pb.gz
    assert_stderr_has "no browser could be started: cannot start $PWD/missing: No such file"
    run --separate-stderr env BROWSER='  ' DISPLAY= PATH="$PWD" "$profgrab_program" view heap.pb.gz
    assert_stderr_has 'no browser was found'
}

@test "a full disk, a missing directory and a closed pipe are handled" {
    run_profgrab pprof -top -output /dev/full heap.pb.gz
    assert_status 2
    assert_stderr_has 'No space left on device'
    run_profgrab pprof -top -output missing/top heap.pb.gz
    assert_status 2
    assert_stderr_has 'open missing/top'
    run bash -c '"$1" pprof -traces heap.pb.gz | head -n 1; echo "${PIPESTATUS[0]}"' - "$profgrab_program"
    assert_equal "${lines[0]}" 'File: prometheus-node-exporter'
    ((${#lines[@]} <= 4)) || fail "$output"
}

@test "text of a profile is printable on a terminal, and binary formats are written to a file" {
    python3 - "$rig_root/tests/pprof" <<'P'
import sys
sys.path.insert(0, sys.argv[1])
import odd
p = odd.Profile()
p.sample(odd.chain(p, ["\033]0;title\007red\033[31m"], p.mapping()), [1, 10])
open("hostile.pb", "wb").write(p.encode())
P
    with_pty -- "$profgrab_program" pprof -top hostile.pb
    assert_status 0
    assert_stdout_has '?]0;title?red?[31m'
    [[ $output != *$'\033'* ]] || fail_run
    with_pty -- "$profgrab_program" pprof -proto heap.pb.gz
    assert_status 0
    assert_stdout_has 'Generating report in profile001.pb.gz'
    gunzip -t profile001.pb.gz
}
