#!/usr/bin/env bats
# Runs two whole captures at once in one process. This shows that the code in capture/ needs no terminal, signals or exit codes.

load helper

two_captures=${TWO_CAPTURES:-$rig_root/build/gcc/tests/two_captures}

# run_two NAME HOST KINDS CANCEL NAME HOST KINDS CANCEL: runs both captures at once (see tests/two_captures.c) and writes `report`.
run_two() {
    run timeout 120 "$two_captures" report "$INVENTORY" "$SSH_CONFIG" "$@"
    cat report
    assert_status 0
    assert_equal "$output" ''
}

assert_valid() { # BUNDLE TEXT: verify accepts it, with TEXT
    run_profgrab bundle verify "$1"
    assert_status 0
    assert_stdout_has "$2"
}

@test "two captures at once give two complete bundles and print nothing" {
    write_inventory
    run_two first file-03 heap,goroutines,cpu=1s - second file-04 heap,cpu=1s -
    grep -q '^first packed not-cancelled 8 0 ' report
    grep -q '^second packed not-cancelled 2 0 ' report
    assert_valid first.tar.gz file-03/node/heap.pb.gz
    assert_valid second.tar.gz file-04/rude/cpu.pb.gz
    # Each bundle has only its own hosts, and its own page.
    run_profgrab bundle list first.tar.gz
    refute_stdout_has file-04
    assert_stdout_has report.html
    run_profgrab bundle list second.tar.gz
    refute_stdout_has file-03
    assert_stdout_has report.html
}

@test "cancelling one of two captures bundles its items, and the other one completes" {
    write_inventory
    run_two stopped file-04 heap,cpu=30s cpu whole file-03 heap,cpu=2s -
    grep -q '^stopped packed cancelled 1 1 ' report
    grep -q '^whole packed not-cancelled 4 0 ' report
    assert_valid stopped.tar.gz '(interrupted)'
    assert_valid whole.tar.gz file-03/caddy/heap.pb.gz
    # The same with the captures swapped.
    run_two whole2 file-04 heap,cpu=2s - stopped2 file-03 heap,cpu=30s cpu
    grep -q '^whole2 packed not-cancelled 2 0 ' report
    # Two services: the second heap may have arrived or not.
    grep -qE '^stopped2 packed cancelled (2 2|1 3) ' report
    assert_valid whole2.tar.gz file-04/rude/heap.pb.gz
}

@test "a capture that collects nothing does not affect the other" {
    write_inventory
    run_two none file-04 cpu=30s cpu whole file-03 heap -
    grep -q '^none nothing cancelled 0 1 ' report
    grep -q '^whole packed not-cancelled 2 0 ' report
    assert_equal "$(echo *.partial *.tar.gz)" '*.partial whole.tar.gz'
}
