#!/usr/bin/env bats
# profgrab on hostile input within limits of processor time and memory: the shapes that tests/e2e/79-limits.bats omits, because each
# takes seconds of processor time.

load ../e2e/helper
load ../e2e/limits

setup_file() { e2e_setup_file; }

teardown() {
    [[ -z ${scratch-} ]] || rm -rf "$scratch"
    e2e_teardown
}

@test "hostile bundles of every other shape take at most 10 s and 300 MB in bundle list, verify, extract and attach" {
    check_hostile_bundles signs quotes names cmdlines zip-in-zip strings members directories
}

@test "bundles, profiles and dumps of every other shape take at most 10 s and 300 MB in report, view, goroutines and completion" {
    check_bundles_to_show braces
    check_files_to_show lines pattern
}

@test "a source's answer of 60 MB of every other shape takes at most 10 s and 300 MB" {
    local shape
    write_inventory
    for shape in '[{"targets":[ "h:80", "h:80"]}]' '[{"labels":{ "a":"b", "job":"x"}}]' '[" \u20ac "]' ' [ ]'; do
        check_source "$shape"
    done
}

@test "an SSH server that floods an open session in every other way costs at most 10 s and 300 MB" {
    check_flood unexpected libssh2
    check_flood ignore libssh2
    check_flood trickle libssh2
    check_flood ignore openssh
}

@test "goroutines --json prints the most stacks of a dump within 300 MB" {
    hostile_file stacks.txt stacks
    run_bounded goroutines --json stacks.txt
    assert_status 0
    python3 -c 'import json, sys; assert len(json.load(sys.stdin)["groups"]) == 190000' <<<"$output"
}

@test "every other answer in tiny chunks, or with endless chunk extensions, costs at most 10 s and 300 MB" {
    check_chunks bytes pprof
    check_chunks extensions grab
    check_chunks extensions pprof
    check_chunks extension grab
    check_chunks segments pprof
    check_chunks segments grab
    # Over SSH, each byte is a packet.
    sed -i 's/hosts:.*/hosts: { file-03: { services: [s] } }/' inventory.yaml
    run_bounded -F "$RIG_SSH_CONFIG" -i inventory.yaml --host file-03 heap
    assert_stderr_has 'receiving the answer took too much processor time'
}

@test "report and view of very many files of legacy text leave out the rest when their sum exceeds the limit" {
    check_sum_of_files many-texts
}
