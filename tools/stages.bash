# What tools/check and tools/check-long share: running stages one after the other, each with its time, and one closing line.
#
# A stage that fails does not keep the later ones from running, unless they need what it makes. Tests write TAP
# (`ok 1 - name`, `not ok 2 - name`) into the logs' directory; the closing line counts them.
# shellcheck shell=bash

# stages_begin DIR: the logs go there; what it held is removed.
stages_begin() {
    logs=$1
    rm -rf "$logs"
    mkdir -p "$logs"
    jobs=$(getconf _NPROCESSORS_ONLN)
    failed_stages=()
    trap 'echo; echo interrupted; exit 130' INT TERM
}

# stage NAME COMMAND...: runs it with its output in a log; shows the log when it fails.
stage() {
    local name=$1 start=$SECONDS code=0
    shift
    "$@" >"$logs/$name.log" 2>&1 </dev/null || code=$?
    if ((code == 0)); then
        printf '%-24s ok      %4d s\n' "$name" $((SECONDS - start))
        return 0
    fi
    printf '%-24s FAILED  %4d s\n' "$name" $((SECONDS - start))
    # Of tests the failures tell more than the end.
    { grep -A 30 '^not ok' "$logs/$name.log" || tail -n 60 "$logs/$name.log"; } | head -n 120 | sed 's/^/    /'
    failed_stages+=("$name")
    return 1
}

make_quietly() {
    make -s -j"$jobs" "$@"
}

# The closing line. 0: all stages and tests passed, and there were some.
stages_finish() {
    local passed failed
    passed=$(cat "$logs"/*.log | grep -c '^ok ')
    failed=$(cat "$logs"/*.log | grep '^not ok ' | grep -vc ' # TODO ')
    # A stage that failed without a failing test (a build, a linter, a crash) counts as one.
    local stage
    for stage in "${failed_stages[@]}"; do
        grep -q '^not ok ' "$logs/$stage.log" || failed=$((failed + 1))
    done
    echo
    ((${#failed_stages[@]} == 0)) || echo "failed: ${failed_stages[*]}; whole logs are in $logs/"
    echo "$passed passed, $failed failed"
    ((failed == 0 && passed > 0))
}
