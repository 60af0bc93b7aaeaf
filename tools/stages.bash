# The shared part of tools/check, tools/check-long and tools/quick: runs stages, prints the time of each, and a last line.
#
# After a failed stage the later ones still run, unless they need its output. Tests write TAP (`ok 1 - name`,
# `not ok 2 - name`) into the logs' directory; the last line counts the tests.
# shellcheck shell=bash

# stages_begin DIR: writes the logs to DIR, and removes older ones.
stages_begin() {
    logs=$1
    rm -rf "$logs"
    mkdir -p "$logs"
    jobs=$(getconf _NPROCESSORS_ONLN)
    failed_stages=()
    declare -gA stages_beside=()
    trap stages_interrupted INT TERM
}

# Ends the stages that run in parallel: each has its own process group, which gets no SIGINT from Ctrl-C.
stages_interrupted() {
    local name
    for name in "${!stages_beside[@]}"; do
        kill -TERM -- "-${stages_beside[$name]}" 2>/dev/null
    done
    wait
    echo
    echo interrupted
    exit 130
}

# stage NAME COMMAND...: runs the command with its output in a log. Shows the log if the command fails.
stage() {
    stage_run "$@"
    stage_report "$1"
}

# stage_beside NAME COMMAND...: starts a stage in parallel to the following ones; stage_await NAME waits and reports it.
stage_beside() {
    set -m
    stage_run "$@" &
    set +m
    stages_beside[$1]=$!
}

stage_await() { # NAME
    wait "${stages_beside[$1]}"
    unset "stages_beside[$1]"
    stage_report "$1"
}

stage_run() { # NAME COMMAND...
    local name=$1 start=$SECONDS code=0
    shift
    "$@" >"$logs/$name.log" 2>&1 </dev/null || code=$?
    echo "$code $((SECONDS - start))" >"$logs/$name.result"
}

stage_report() { # NAME
    local name=$1 code seconds
    read -r code seconds <"$logs/$name.result"
    if ((code == 0)); then
        printf '%-24s ok      %4d s\n' "$name" "$seconds"
        return 0
    fi
    printf '%-24s FAILED  %4d s\n' "$name" "$seconds"
    # The failed tests explain more than the end of the log.
    { grep -A 30 '^not ok' "$logs/$name.log" || tail -n 60 "$logs/$name.log"; } | head -n 120 | sed 's/^/    /'
    failed_stages+=("$name")
    return 1
}

make_quietly() {
    make -s -j"$jobs" "$@"
}

# Prints the last line. Returns 0 if all stages and tests passed, and there was at least one.
stages_finish() {
    local passed failed
    passed=$(cat "$logs"/*.log | grep -c '^ok ')
    failed=$(cat "$logs"/*.log | grep '^not ok ' | grep -vc ' # TODO ')
    # A stage that failed without a failing test (a build, a linter, a crash) counts as one failed test.
    local stage
    for stage in "${failed_stages[@]}"; do
        grep -q '^not ok ' "$logs/$stage.log" || failed=$((failed + 1))
    done
    echo
    ((${#failed_stages[@]} == 0)) || echo "failed: ${failed_stages[*]}; whole logs are in $logs/"
    echo "$passed passed, $failed failed"
    ((failed == 0 && passed > 0))
}
