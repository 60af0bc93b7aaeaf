#!/usr/bin/env bats
# Dumps of goroutines of a real service, merged profiles and differences.

load helper

setup_file() {
    rig_start
    rig_service node_exporter
}

setup() {
    e2e_setup
    base=http://127.0.0.1:$RIG_PORT_node_exporter/debug/pprof
}

fetch() { # FILE PATH
    curl -fsS -o "$1" "$base/$2"
}

@test "goroutines: the three forms of one service agree" {
    local form forms=()
    fetch stacks 'goroutine?debug=2'
    fetch grouped 'goroutine?debug=1'
    fetch profile goroutine
    for form in stacks grouped profile; do
        run_profgrab goroutines --json "$form"
        assert_status 0
        echo "$output" >"$form.json"
        python3 "$rig_root/tests/schema.py" "$rig_root/docs/goroutines.md#goroutines" "$form.json"
        forms+=("$(python3 -c 'import json, sys; print(json.load(sys.stdin)["dumps"][0]["form"])' <"$form.json")")
    done
    assert_equal "${forms[*]}" 'stacks grouped profile'
    # In each of them a goroutine waits for connections.
    assert_equal "$(grep -l 'net.(\*netFD).accept\|net/http.(\*Server).Serve' ./*.json | wc -l)" 3
}

@test "goroutines and view read the output of a command: <(command)" {
    fetch dump 'goroutine?debug=2'
    run_profgrab goroutines <(cat dump) <(cat dump)
    assert_status 0
    assert_stdout_has ' goroutines, +0 since the first dump'
    run_profgrab view --no-browser <(cat dump) dump <(cat dump)
    assert_status 0
}

@test "goroutines prints a summary first, then the largest groups, with states and creators" {
    cat >dump <<'D'
goroutine 1 [running]:
main.main()
	/src/main.go:10 +0x1d

goroutine 5 [chan receive, 12 minutes]:
main.wait(0xc000012345)
	/src/wait.go:7 +0x1d
created by main.start in goroutine 1
	/src/start.go:3 +0x20

goroutine 6 [chan receive, 2 minutes]:
main.wait(0xc000054321)
	/src/wait.go:7 +0x1d
created by main.start in goroutine 1
	/src/start.go:3 +0x20
D
    run_profgrab goroutines dump
    assert_status 0
    assert_stdout '3 goroutines in 2 stacks: 2 chan receive, 1 running
the longest has waited 12 minutes, in chan receive

      2 chan receive, waiting 2 to 12 minutes, half of them at most 2
        main.wait  /src/wait.go:7
        created by main.start  /src/start.go:3

      1 running
        main.main  /src/main.go:10'
    run_profgrab goroutines -n 1 - <dump
    assert_status 0
    assert_stdout_has '1 more stack: --all shows them'
}

@test "goroutines of two dumps shows only the groups that grew" {
    printf 'goroutine 1 [select]:\nmain.a()\n\t/a.go:1\n\ngoroutine 2 [select]:\nmain.b()\n\t/b.go:1\n' >before
    printf 'goroutine %d [select]:\nmain.a()\n\t/a.go:1\n\n' 1 2 3 >after
    printf 'goroutine 9 [select]:\nmain.b()\n\t/b.go:1\n' >>after
    run_profgrab goroutines before after
    assert_status 0
    assert_equal "${lines[0]}" '4 goroutines, +2 since the first dump, in 2 stacks: 4 select'
    assert_stdout_has '     +2 (1 -> 3) select'
    refute_stdout_has main.b
    run_profgrab goroutines --all before after
    assert_stdout_has main.b
}

@test "goroutines handles a cut dump, hostile names, and a file that is not a dump" {
    printf 'goroutine 1 [\033[31mselect]:\nmain.\033]0;x\007()\n\t/a.go:1\n\ngoroutine 2 [sel' >cut.txt
    run_profgrab goroutines cut.txt
    assert_status 0
    assert_stdout_has '1 goroutine in 1 stack'
    assert_stderr_has 'cut.txt: the dump ends early; goroutines after that point are missing'
    assert_printable "$output"
    printf 'goroutine 1 [running]:\nmain.main()\n\t/a.g' >nothing-whole.txt
    run_profgrab goroutines nothing-whole.txt
    assert_status 1
    assert_equal "$output" ''
    assert_equal "$stderr" 'profgrab: nothing-whole.txt: the dump ends before its first goroutine is whole'
    run_profgrab goroutines cut.txt nothing-whole.txt
    assert_status 1
    assert_stderr_has 'nothing-whole.txt: the dump ends before its first goroutine is whole'
    echo nothing >none
    run_profgrab goroutines none
    assert_status 1
    assert_equal "$stderr" 'profgrab: none: not a dump of goroutines'
    run_profgrab goroutines - <none
    assert_status 1
    assert_equal "$stderr" 'profgrab: -: not a dump of goroutines'
    run_profgrab goroutines missing
    assert_status 1
    assert_stderr_has missing
    run_profgrab goroutines
    assert_status 2
}

@test "goroutines reads gzip'ed dumps up to a limit of inflated bytes" {
    local i
    for ((i = 0; i < 2000; i++)); do
        printf 'goroutine %d [select]:\nmain.a()\n\t/a.go:1\n\n' "$i"
    done | gzip >many.gz
    run_profgrab goroutines many.gz
    assert_status 0
    assert_equal "${lines[0]}" '2000 goroutines in 1 stack: 2000 select'
    PROFGRAB_PPROF_MAX=50kB run_profgrab goroutines many.gz
    assert_status 1
    assert_stderr_has 'many.gz: '
    PROFGRAB_PPROF_MAX=much run_profgrab goroutines many.gz
    assert_status 2
    assert_stderr_has 'PROFGRAB_PPROF_MAX needs a size such as 8GB, not "much"'
    run_profgrab goroutines - < <(head -c 300 many.gz)
    assert_status 1
    assert_stderr_has 'cut off'
}

@test "goroutines and merge read members of a bundle" {
    fetch goroutines.txt 'goroutine?debug=2'
    fetch heap.pb.gz heap
    profgrab bundle create -o all.tar.gz goroutines.txt heap.pb.gz
    local member
    member=$(profgrab bundle list all.tar.gz | awk '/goroutines/ { print $3 }')
    run_profgrab goroutines "all.tar.gz:$member"
    assert_status 0
    assert_stdout_has 'goroutines in'
    run_profgrab goroutines all.tar.gz:nothing
    assert_status 1
    assert_stderr_has 'profgrab bundle list all.tar.gz'
    member=$(profgrab bundle list all.tar.gz | awk '/heap/ { print $3 }')
    run_profgrab merge -o merged.pb.gz "all.tar.gz:$member" heap.pb.gz
    assert_status 0
}

@test "merge and goroutines name the input of an error, also one whose name is a part of another word" {
    echo 'not a profile' >a
    printf '\x1f\x8bbroken' >e
    fetch goroutines.txt 'goroutine?debug=2'
    local name
    for name in a e; do
        run_profgrab merge -o merged.pb.gz "$name" "$name"
        assert_status 1
        assert_stderr_has "profgrab: $name: "
        run_profgrab goroutines "$name" goroutines.txt
        assert_status 1
        assert_stderr_has "profgrab: $name: "
    done
    run_profgrab merge -o merged.pb.gz missing missing
    assert_status 1
    assert_stderr_has 'profgrab: stat missing: no such file or directory'
}

# Prints the total of a report.
total() { # FILE
    profgrab pprof -top -sample_index=alloc_objects "$1" | sed -n 's/.* of \([0-9]*\) total/\1/p'
}

@test "merge adds samples, also with weights, as go tool pprof does" {
    local n
    fetch heap.pb.gz heap
    n=$(total heap.pb.gz)
    profgrab merge -o twice.pb.gz heap.pb.gz heap.pb.gz
    assert_equal "$(total twice.pb.gz)" $((2 * n))
    profgrab merge -o weighted.pb.gz heap.pb.gz@3 heap.pb.gz
    assert_equal "$(total weighted.pb.gz)" $((4 * n))
    go tool pprof -proto -output=oracle.pb.gz heap.pb.gz heap.pb.gz
    cmp <(gunzip <twice.pb.gz) <(gunzip <oracle.pb.gz)
    run_profgrab merge -o x heap.pb.gz@-1
    assert_status 2
    assert_stderr_has 'a weight is a number above 0'
    run_profgrab merge heap.pb.gz
    assert_status 2
    assert_stderr_has '-o OUT'
    run_profgrab merge -o x missing.pb.gz
    assert_status 1
    [[ ! -e x ]]
}

@test "diff prints the same as pprof -top -diff_base, with its flags" {
    fetch a.pb.gz heap
    fetch b.pb.gz heap
    run_profgrab diff a.pb.gz b.pb.gz
    assert_status 0
    assert_stdout "$(profgrab pprof -top -diff_base a.pb.gz b.pb.gz)"
    run_profgrab diff -tree -sample_index=alloc_space a.pb.gz b.pb.gz
    assert_status 0
    assert_stdout "$(profgrab pprof -tree -sample_index=alloc_space -diff_base a.pb.gz b.pb.gz)"
    run_profgrab diff a.pb.gz
    assert_status 2
    run_profgrab diff missing b.pb.gz
    assert_status 2
}
