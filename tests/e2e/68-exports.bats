#!/usr/bin/env bats
# Profiles of a real service in other tools' formats: nothing is lost, filters apply, and the JSON follows speedscope's schema.

load helper

setup_file() {
    rig_start
    rig_service node_exporter
}

setup() {
    e2e_setup
    curl -fsS -o heap.pb.gz "http://127.0.0.1:$RIG_PORT_node_exporter/debug/pprof/heap"
}

@test "folded stacks have the profile's sum, for each type, also with a filter" {
    local type all some root
    for type in alloc_objects alloc_space inuse_objects inuse_space; do
        run_profgrab pprof -folded -sample_index="$type" heap.pb.gz
        assert_status 0
        all=$(awk '{ n += $NF } END { print n }' <<<"$output")
        run_profgrab pprof -raw heap.pb.gz
        assert_status 0
        assert_equal "$all" "$(awk -v want="$type" '
            /^Samples:/ { getline; for (i = 1; i <= NF; i++) { split($i, t, "/"); if (t[1] == want) at = i }; on = 1; next }
            /^Locations/ { on = 0 }
            on && /:/ && $at ~ /^[0-9]+:?$/ { n += $at }
            END { print n + 0 }' <<<"$output")"
    done
    # Which functions a heap profile has is a matter of chance: the first function of the last stack is one of them.
    run_profgrab pprof -folded -sample_index=alloc_space heap.pb.gz
    root=${lines[-1]% *}
    root=${root%%;*}
    run_profgrab pprof -folded -sample_index=alloc_space -focus "^\\Q$root\\E$" heap.pb.gz
    assert_status 0
    some=$(awk '{ n += $NF } END { print n + 0 }' <<<"$output")
    ((some > 0))
    awk -F ';' -v root="$root" '{ sub(/ [0-9]+$/, ""); for (i = 1; i <= NF; i++) if ($i == root) next; exit 1 }' <<<"$output" || fail_run
}

@test "speedscope's file follows its schema and has the sum of the folded stacks" {
    run_profgrab pprof -speedscope -sample_index=alloc_space -lines -output heap.speedscope.json heap.pb.gz
    assert_status 0
    run_profgrab pprof -folded -sample_index=alloc_space heap.pb.gz
    assert_status 0
    python3 - heap.speedscope.json "$(awk '{ n += $NF } END { print n }' <<<"$output")" <<'P'
import json, sys
whole = json.load(open(sys.argv[1], encoding="utf-8"))
assert whole["$schema"] == "https://www.speedscope.app/file-format-schema.json"
frames = whole["shared"]["frames"]
assert frames and all(isinstance(f["name"], str) and f["name"] for f in frames)
assert all(isinstance(f.get("line", 1), int) for f in frames)
assert len({json.dumps(f) for f in frames}) == len(frames)
[profile] = whole["profiles"]
assert profile["type"] == "sampled" and profile["unit"] == "bytes" and profile["name"] == "alloc_space"
assert len(profile["samples"]) == len(profile["weights"]) > 0
assert all(stack and all(0 <= f < len(frames) for f in stack) for stack in profile["samples"])
assert profile["startValue"] == 0 and profile["endValue"] == sum(profile["weights"]) == int(sys.argv[2])
P
}
