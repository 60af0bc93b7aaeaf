#!/usr/bin/env bats
# Captures of several hosts: started together, repeated, with a deadline, with a budget.

load helper

setup_file() {
    # shellcheck disable=SC2119 # its arguments are lines for sshd, none here
    rig_start
    local i
    for i in 1 2 3 4; do
        rig_fixture "p$i" -raw
    done
    export SSH_CONFIG=$RIG_SSH_CONFIG
}

# write_fleet [PREFIX...]: writes an inventory of file-01 to file-04, each with a process of the fixture, and of these hosts:
#   gone          has no sshd at its port
#   mute          has a listener that accepts connections and sends nothing
#   file-PREFIX   has a service at that prefix of the fixture (slow=1 becomes slow-1)
write_fleet() {
    local i port
    export PROFGRAB_INVENTORY=$PWD/inventory.yaml
    {
        echo 'version: 1'
        echo 'services:'
        for i in 1 2 3 4; do
            port=RIG_PORT_p$i
            echo "  p$i: { port: ${!port} }"
        done
        for i; do
            echo "  ${i//[=.]/-}: { port: $RIG_PORT_p1, path: \"/$i/debug/pprof\" }"
        done
        echo 'hosts:'
        for i in 1 2 3 4; do
            echo "  file-0$i: { services: [p$i] }"
        done
        echo '  gone: { services: [p1] }'
        echo '  mute: { services: [p1] }'
        for i; do
            echo "  file-${i//[=.]/-}: { services: [${i//[=.]/-}] }"
        done
    } >inventory.yaml
    chmod 600 inventory.yaml
    grep -q '^Host gone$' "$SSH_CONFIG" || rig_alias gone sshd 'Port 1'
    grep -q '^Host mute$' "$SSH_CONFIG" || rig_alias mute sshd "Port $RIG_PORT_p1_silent"
}

# check_manifest EXPRESSION...: each Python expression is true of the manifest `m` of the last run's bundle. `items` lists (host,
# service, item).
check_manifest() {
    tar xzOf "$output" --occurrence=1 --wildcards '*/manifest.json' >manifest.json
    python3 "$rig_root/tests/schema.py" "$rig_root/docs/formats.md" manifest.json
    python3 - "$@" <<'PY'
import json, sys
m = json.load(open("manifest.json"))
items = [(h, s, i) for h in m["hosts"] for s in h["services"] for i in s["items"]]
for expression in sys.argv[1:]:
    if not eval(expression):
        sys.exit("not so: %s\n%s" % (expression, json.dumps(m, indent=1)))
PY
}

ran_within() { # SECONDS: fails if more time has passed since $began
    local took=$((SECONDS - began))
    ((took <= $1)) || fail_run "it took $took s"
}

# ---- --sync ---------------------------------------------------------------------------------------------------

@test "--sync starts the timed profiles of all hosts together and records each one's skew; the estimate is printed once" {
    write_fleet
    run_profgrab --host 'file-0*' --sync heap cpu=1s trace=0.5
    assert_status 0
    assert_equal "$(grep -c 'estimate for each process, from file-' <<<"$stderr")" 1
    assert_stderr_has '1.5s of profiling'
    refute_stderr_has 'not ready'
    check_manifest 'm["sync"]["targets"] == 4 and m["sync"]["late"] == 0 and m["sync"]["skew_ms"]["max"] < 1000' \
        'sorted(m["sync"]) == ["at", "late", "skew_ms", "targets"]' \
        'all(abs(i["sync_skew_ms"]) < 1000 for h, s, i in items if i["kind"] == "cpu")'
    # A trace does not record when it began, and snapshots are taken before the common start.
    check_manifest 'all("sync_skew_ms" not in i for h, s, i in items if i["kind"] != "cpu")' \
        'all(i["started"] < m["sync"]["at"] for h, s, i in items if i["kind"] == "heap")'
}

@test "--sync: a dead host delays no other, and a slow one begins late and is marked" {
    write_fleet slow=5
    began=$SECONDS
    # On a busy machine the two fast processes may be seconds apart, and one of them late too.
    run_profgrab --host 'file-0[1-2],file-slow-5,gone' --sync --sync-deadline 3s cpu=1s
    assert_status 3
    ran_within 25
    assert_stderr_has 'gone: '
    assert_stderr_has 'file-slow-5: slow-5: cpu=1s: it began after the others'
    check_manifest 'm["sync"]["targets"] == 3 and m["sync"]["late"] == sum(1 for h, s, i in items if i.get("late"))' \
        '"file-slow-5" in [h["name"] for h, s, i in items if i.get("late")]' \
        'all(i["status"] == "ok" for h, s, i in items)' \
        'all(i["sync_skew_ms"] > 1000 for h, s, i in items if i.get("late"))' \
        'm["sync"]["skew_ms"]["max"] == max(i["sync_skew_ms"] for h, s, i in items if not i.get("late"))'
}

@test "--sync does not wait for hosts without a timed profile" {
    write_fleet
    began=$SECONDS
    run_profgrab --host 'file-0*' --sync heap
    assert_status 0
    ran_within 15
    check_manifest '"sync" not in m'
}

@test "--sync: only the first service of a process begins together with the others" {
    write_fleet custom=1
    sed -i 's/^  file-04:.*/  file-04: { services: [p1, custom-1] }/' inventory.yaml
    began=$SECONDS
    run_profgrab --host file-02,file-04 --sync cpu=1s
    assert_status 0
    ran_within 20
    check_manifest 'm["sync"]["targets"] == 2 and m["sync"]["late"] == 0' \
        'sorted(s["name"] for h, s, i in items if "sync_skew_ms" in i) == ["p1", "p2"]'
}

@test "--sync --concurrent: all profiles of one process begin together with the others" {
    write_fleet
    run_profgrab --host 'file-0[1-2]' --sync --concurrent cpu=1s mutex=1s
    assert_status 0
    check_manifest 'len([1 for h, s, i in items if abs(i["sync_skew_ms"]) < 700]) == 4'
}

@test "Ctrl-C while hosts wait for each other bundles the collected items" {
    write_fleet
    with_pty --deadline 30 --stdout path --ctrl-c 'cpu waiting: other targets are not ready yet' -- \
        "$profgrab_program" --ssh-config "$SSH_CONFIG" --connect-timeout 20s --host file-01,mute --sync heap cpu=1s
    assert_status 130
    output=$(cat path)
    check_manifest 'm["interrupted"] and [i["status"] for h, s, i in items] == ["ok", "interrupted"]'
}

@test "--sync with too small a --parallel, and --sync-deadline without --sync, are usage errors" {
    write_fleet
    run_profgrab --host 'file-0*' --sync --parallel 2 cpu=1s
    assert_status 2
    assert_stderr_has 'all 4 hosts are opened at once, and --parallel 2 allows fewer'
    run_profgrab --host file-01 --sync-deadline 2s cpu=1s
    assert_status 2
    assert_stderr_has '--sync-deadline needs --sync'
}

# ---- --retries ------------------------------------------------------------------------------------------------

@test "--retries: an item that fails twice and then works is not a failure" {
    write_fleet flaky=2-a cutting=1-a waking=2-a
    run_profgrab --host 'file-flaky-2-a,file-cutting-1-a,file-waking-2-a' --retries 2 heap
    assert_status 0
    assert_stderr_has 'file-flaky-2-a: flaky-2-a: retry: heap: again in '
    assert_stderr_has 'HTTP 503: try again later'
    check_manifest 'm["retries"] == 2 and all(i["status"] == "ok" for h, s, i in items)' \
        '["it was fetched at attempt 3; the first attempt failed: HTTP 503: try again later" in [v["text"] for v in i["verdicts"]] for h, s, i in items if s["name"] == "flaky-2-a"] == [True]' \
        '[[v["rule"] for v in s["verdicts"]] for h, s, i in items if s["name"] == "waking-2-a"] == [["retried"]]' \
        'all("verdicts" not in s for h, s, i in items if s["name"] != "waking-2-a")'
    # The first, cut body is not in the bundle.
    check_manifest '[i["file"] for h, s, i in items if s["name"] == "cutting-1-a"] == ["file-cutting-1-a/cutting-1-a/heap.pb.gz"]'
    [[ $(tar tzf "$output") != *damaged* && $(tar tzf "$output") != *before* ]]
}

@test "--retries: after the last attempt the item has failed, and the received bytes are kept" {
    write_fleet flaky=9-b cutting=9-b
    run_profgrab --host file-flaky-9-b,file-cutting-9-b --retries 1 heap
    assert_status 1
    assert_stderr_has 'heap: HTTP 503: try again later; it failed 2 times'
    check_manifest '[(i["status"], i.get("file")) for h, s, i in items if s["name"] == "cutting-9-b"] == [("damaged", "file-cutting-9-b/cutting-9-b/heap.pb.gz.damaged")]'
    [[ $(tar tzf "$output") != *before* ]]
}

@test "without --retries the first failure counts" {
    write_fleet flaky=1-c
    run_profgrab --host file-flaky-1-c --retries 0 heap
    assert_status 1
    refute_stderr_has 'again in'
}

@test "--retries opens an unreachable host again, but repeats nothing after a 404 or a refused login" {
    write_fleet missing=heap
    rig_alias barred sshd "User nobody-$BATS_TEST_NUMBER"
    printf '  barred: { services: [p1] }\n' >>inventory.yaml
    run_profgrab --host gone,file-missing-heap,file-01 --retries 1 heap
    assert_status 3
    assert_stderr_has 'gone: retry: again in '
    assert_stderr_has '; it failed 2 times'
    refute_stderr_has 'missing-heap: retry'
    assert_stderr_has 'HTTP 404'
    run_profgrab --batch --host barred --retries 3 heap
    assert_status 1
    refute_stderr_has 'again in'
}

# ---- --deadline -----------------------------------------------------------------------------------------------

@test "--deadline ends all transfers and bundles the collected items, not as an interruption" {
    write_fleet
    began=$SECONDS
    run_profgrab --host 'file-0[1-2],mute' --deadline 3s --connect-timeout 30s heap cpu=60s
    assert_status 3
    ran_within 15
    refute_stderr_has interrupted
    assert_stderr_has "mute: "
    assert_stderr_has "the run's deadline of 3s was over"
    check_manifest 'not m["interrupted"] and not m["complete"] and m["deadline_ms"] == 3000 and m["deadline_reached"]' \
        '[(i["kind"], i["status"]) for h, s, i in items] == 2 * [("heap", "ok"), ("cpu", "failed")]' \
        '["deadline of 3s" in h["error"] for h in m["hosts"] if h["name"] == "mute"] == [True]'
    run_profgrab bundle verify "$output"
    assert_status 0
}

@test "--deadline: half an item is kept as damaged, and items that were not begun have an error" {
    write_fleet drip=60
    run_profgrab --host file-drip-60 --deadline 2s heap allocs
    assert_status 1
    check_manifest '[i["status"] for h, s, i in items] == ["damaged", "failed"]' \
        '"was over before it was fetched" in items[1][2]["error"]'
    refute_stderr_has interrupted
}

@test "--deadline with nothing collected gives no bundle, and exit code 1" {
    write_fleet silent
    run_profgrab --host mute,file-silent --deadline 1s heap
    assert_status 1
    refute_stderr_has interrupted
    assert_equal "$(ls)" inventory.yaml
}

@test "--deadline limits the wait for other hosts and the pause before another attempt" {
    write_fleet flaky=9-d
    began=$SECONDS
    run_profgrab --host file-01,mute --sync --sync-deadline 60s --connect-timeout 60s --deadline 2s heap cpu=1s
    assert_status 3
    check_manifest '[(i["kind"], i["status"]) for h, s, i in items] == [("heap", "ok"), ("cpu", "failed")]'
    run_profgrab --host file-flaky-9-d --retries 20 --deadline 2s heap
    assert_status 1
    assert_stderr_has "then the run's deadline of 2s was over"
    ran_within 25
}

@test "--deadline limits a question" {
    write_fleet
    cp "$RIG_KEY" key && ssh-keygen -q -p -N 'a passphrase' -f key
    grep -q '^Host locked$' "$SSH_CONFIG" || {
        printf 'Host locked\n    HostName 127.0.0.1\n    Port %s\n    User %s\n' "$RIG_PORT_sshd" "$RIG_USER"
        printf '    IdentityFile %s\n    IdentitiesOnly yes\n    IdentityAgent none\n' "$PWD/key"
        printf '    UserKnownHostsFile %s\n' "$RIG_KNOWN_HOSTS"
    } >>"$SSH_CONFIG"
    sed -i 's/^  mute: .*/&\n  locked: { services: [p1] }/' inventory.yaml
    printf '#!/bin/sh\ntouch asked\nexec sleep 60\n' >ask && chmod 700 ask
    began=$SECONDS
    SSH_ASKPASS=$PWD/ask SSH_ASKPASS_REQUIRE=force run_profgrab --host locked --deadline 3s heap
    assert_status 1
    ran_within 20
    [[ -e asked ]] || fail_run 'no question was asked'
    assert_stderr_has "the run's deadline of 3s was over"
    refute_stderr_has interrupted
}

@test "--deadline that is not reached changes nothing" {
    write_fleet
    run_profgrab --host file-01 --deadline 2m heap
    assert_status 0
    check_manifest 'm["complete"] and m["deadline_ms"] == 120000 and not m["deadline_reached"]'
}

# ---- --budget -------------------------------------------------------------------------------------------------

@test "--budget seconds leaves items out by name with the reason; services of one process share it" {
    write_fleet custom=1
    sed -i 's/^  file-04:.*/  file-04: { services: [p1, custom-1] }/' inventory.yaml
    run_profgrab --host file-04 --budget seconds=1.5 heap cpu=1s trace=1s
    assert_status 3
    assert_stderr_has "p1: trace=1s: left out: it needs 1s of profiling, and of the budget's 1.5s only 500ms remain"
    check_manifest '[(s["name"], i["kind"], i["status"]) for h, s, i in items] == [("p1", "heap", "ok"), ("p1", "cpu", "ok"), ("p1", "trace", "left-out"),
            ("custom-1", "heap", "ok"), ("custom-1", "cpu", "left-out"), ("custom-1", "trace", "left-out")]' \
        'm["budget"] == {"profiled_ms": 1500} and not m["complete"]' \
        'items[0][1]["estimate"]["profiled_ms"] == 1000' \
        '[p["kind"] for p in items[0][1]["planned"]] == ["heap", "cpu", "trace"]'
}

@test "--budget bytes leaves items out by estimate, cuts a larger one, and leaves out the later ones" {
    write_fleet big=5
    run_profgrab --host file-01 --budget bytes=1MB heap trace=2s
    assert_status 3
    assert_stderr_has "trace=2s: left out: it needs about 2.0 MB, and of the budget's 1.0 MB only "
    check_manifest '[i["status"] for h, s, i in items] == ["ok", "left-out"]'
    run_profgrab --host file-big-5 --budget bytes=100kB heap allocs
    assert_status 1
    refute_stderr_has 'of profiling'
    assert_stderr_has 'its body is larger than the rest of the budget of 100.0 kB: the rest was not read'
    assert_stderr_has '--budget bytes=SIZE sets another limit'
    assert_stderr_has 'allocs: left out: earlier items used all of the budget'
    check_manifest '[i["status"] for h, s, i in items] == ["damaged", "left-out"] and items[0][2]["bytes"] <= 100000'
}

@test "--budget is checked before anything is opened" {
    write_fleet
    local wrong
    for wrong in bytes seconds=0 seconds=x bytes=0 bytes=much time=3 ''; do
        run_profgrab --host gone --budget "$wrong" heap
        assert_status 2
        assert_stderr_has '--budget'
    done
}
