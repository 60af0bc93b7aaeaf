#!/usr/bin/env bats
# `profgrab pprof` compared with `go tool pprof`, and with recorded output of a recent one. Opens no host, so it needs no rig.

load helper

setup_file() { :; }
teardown_file() { :; }
teardown() { :; }

pprof_tests=$rig_root/tests/pprof

@test "pprof prints what go tool pprof prints, in more than a thousand combinations" {
    run env PROFGRAB="$profgrab_program" python3 "$pprof_tests/compare.py"
    echo "$output"
    ((status == 0))
}

@test "pprof prints the recorded output of a recent pprof" {
    run env PROFGRAB="$profgrab_program" python3 "$pprof_tests/goldens.py" "$rig_root/tests/data/pprof"
    echo "$output"
    ((status == 0))
}

@test "pprof passes upstream's own cases, if PPROF_CASES names their directory" {
    [[ -n ${PPROF_CASES-} ]] || skip 'PPROF_CASES is not set'
    run env PROFGRAB="$profgrab_program" python3 "$pprof_tests/goldens.py" --upstream "$PPROF_CASES"
    echo "$output"
    ((status == 0))
}
