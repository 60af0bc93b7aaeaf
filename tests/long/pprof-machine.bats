#!/usr/bin/env bats
# Machine code of profiles that have samples in most of the instructions; tests/e2e/82-pprof-machine.bats has profiles with fewer.

load ../e2e/helper

setup_file() { :; }
teardown_file() { :; }
teardown() { :; }

@test "-disasm and -weblist of densely sampled programs equal those of google/pprof" {
    run env PROFGRAB="$profgrab_program" python3 "$rig_root/tests/pprof/machine.py" --live --all
    echo "$output"
    ((status == 0))
}
