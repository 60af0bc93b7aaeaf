#!/usr/bin/env bats
# Many hosts: the selection, its cost, the question before the start, the table at the end.

load helper

setup_file() {
    e2e_setup_file
    mkdir "$RIG_DIR/behaviours"
    rig_fixture varying -behaviours "$RIG_DIR/behaviours"
}

# write_fleet N [LINE...]: writes an inventory of m-01 to m-N and of the hosts in the LINEs. All of them reach one process of the
# fixture without SSH; the process records its requests.
write_fleet() {
    local n=$1 where="port: $RIG_PORT_varying, path: /varying/debug/pprof"
    shift
    : >"$RIG_DIR/behaviours/asked"
    {
        echo 'version: 1'
        echo "services: { rude: { $where, kinds: [goroutines=proto] }, cpu: { $where, kinds: [cpu=1s] } }"
        echo 'hosts:'
        echo "  \"m-[01-$n]\": { connect: direct, address: 127.0.0.1, services: [rude], labels: { env: test, half: one } }"
        (($# == 0)) || printf '  %s\n' "$@"
        echo 'groups: { canary: [m-01, m-02], all: ["m-*"] }'
    } >inv.yaml
    chmod 600 inv.yaml
    export PROFGRAB_INVENTORY=$PWD/inv.yaml
}

# on_terminal [PTY-OPTION...] -- ARG...: runs profgrab on a terminal. Sets $output to the terminal's text; standard output is in
# the file path.
on_terminal() {
    local options=()
    while [[ $1 != -- ]]; do
        options+=("$1")
        shift
    done
    with_pty --deadline 30 --stdout path "${options[@]}" -- \
        sh -c 'stty rows 40 cols 100; exec "$@"' - "$profgrab_program" --ssh-config "$SSH_CONFIG" "${@:2}"
}

# No host of the fleet received a request, and no file is left.
assert_nothing_opened() {
    assert_equal "$(<"$RIG_DIR/behaviours/asked")" ''
    assert_equal "$(find . -name 'profgrab-*')" ''
}

# assert_schema WORD: standard output of the last run follows the schema whose title has that word. Sets $json to a file with it.
assert_schema() {
    json=$PWD/out.json
    printf '%s\n' "$output" >"$json"
    python3 "$rig_root/tests/schema.py" "$rig_root/docs/formats.md#$1" "$json" || fail_run 'it does not follow the schema'
}

# json EXPRESSION: prints a Python expression over the JSON in $json, `o`.
json() {
    python3 -c 'import json, sys; o = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$json" "$1"
}

# ---- selection --------------------------------------------------------------------------------------------------

@test "labels select from all or from the named hosts, exclusions apply, and case is ignored" {
    write_fleet 06 'w-[1-2]: { connect: direct, address: 127.0.0.1, services: [rude], labels: { env: stage, half: two } }'
    run_profgrab hosts --names --label env=stage
    assert_stdout $'w-1\nw-2'
    run_profgrab hosts --names --label env=stage,env=test --label half=one --exclude 'canary,m-[04-05]'
    assert_stdout $'m-03\nm-06'
    run_profgrab hosts --names --exclude 'm-*' 'W-*'
    assert_stdout $'w-1\nw-2'
    run_profgrab hosts --labels
    assert_stdout $'env=test\nhalf=one\nenv=stage\nhalf=two'
    run_profgrab -q --json --label env=stage --exclude w-2
    assert_status 0
    assert_schema grab
    assert_equal "$(json '[i["host"] for i in o["items"]]')" "['w-1']"
    run_profgrab -q --json --host M-01,m-03 --group canary --exclude M-02
    assert_schema grab
    assert_equal "$(json 'sorted(i["host"] for i in o["items"])')" "['m-01', 'm-03']"
}

@test "a selection without a host is a usage error before anything is opened" {
    write_fleet 06
    refuse() { # MESSAGE HINT ARG...
        run_profgrab "${@:3}"
        assert_status 2
        assert_stderr_has "$1"
        assert_stderr_has "hint: $2"
        assert_nothing_opened
    }
    refuse 'no host has a label "evn"' 'did you mean "env"?' --label evn=test
    refuse 'no host has the label env with the value "tset"' 'did you mean "test"?' --host 'm-*' --label env=tset
    refuse 'no host or group is named "m-1"' 'did you mean "m-01"' --group all --exclude m-1
    refuse 'no host or group is named "cannary"' 'did you mean "canary"?' --group all --exclude cannary
    refuse '6 hosts are selected, more than --max-hosts 5' '--sample 5' --group all --max-hosts 5
    refuse '--label selects hosts by NAME=VALUE: "profiling" has no "="' 'a label of the new issue is --issue-label profiling' \
        --group all --label profiling
    run_profgrab --group canary --exclude 'm-0[1-2]'
    assert_status 2
    assert_stderr_has 'all selected hosts are excluded'
    run_profgrab --group all --exclude 'x*'
    assert_status 2
    assert_stderr_has 'nothing to exclude: no host matches "x*"'
    assert_nothing_opened
    run_profgrab attach nothing.tar.gz --for gitaly --label profiling
    assert_status 2
    assert_stderr_has 'did you mean --issue-label or --redact-label?'
}

@test "a group that contains itself and names that differ only in case are reported with their place" {
    write_fleet 06
    sed -i 's/^groups: .*/groups:\n  a: [m-01, b]\n  b: [c]\n  c: [a]/' inv.yaml
    run_profgrab hosts
    assert_status 2
    assert_stderr_has 'inv.yaml:8:7: group "a" contains itself'
    write_fleet 06 'M-03: { services: [rude] }'
    run_profgrab hosts
    assert_status 2
    assert_stderr_has 'inv.yaml:5:3: host "M-03" differs only by case from "m-03" at inv.yaml:4:3'
}

@test "--sample selects so many hosts in order, and reports it" {
    write_fleet 30
    run_profgrab --json --group all --sample 3 --max-hosts 3
    assert_status 0
    assert_stderr_has 'profgrab: a sample: 3 of 30 hosts'
    assert_schema grab
    assert_equal "$(json 'len(o["targets"]), [t["host"] for t in o["targets"]] == sorted({t["host"] for t in o["targets"]})')" '(3, True)'
    run_profgrab --dry-run --group canary --sample 3
    assert_status 0
    refute_stderr_has sample
}

@test "two hosts of one address are reported, and recorded in the manifest" {
    write_fleet 04 'other: { connect: direct, address: 127.0.0.1, services: [rude] }' \
        'apart: { connect: direct, address: 127.0.0.2, services: [rude] }'
    run_profgrab hosts
    assert_status 0
    assert_stderr_has 'profgrab: m-01, m-02 and 3 more have the same address, 127.0.0.1: one process gets each request 5 times'
    assert_stderr_has 'hint: for a range of hosts, the address needs {name}'
    run_profgrab hosts --names
    assert_stderr ''
    run_profgrab --host m-02,other -o two.tar.gz
    assert_status 0
    assert_stderr_has 'profgrab: m-02 and other have the same address, 127.0.0.1: one process gets each request 2 times'
    refute_stderr_has hint
    profgrab bundle extract two.tar.gz
    python3 "$rig_root/tests/schema.py" "$rig_root/docs/formats.md" two/manifest.json
    python3 - <<'P'
import json
hosts = {h["name"]: h for h in json.load(open("two/manifest.json"))["hosts"]}
assert hosts["other"]["verdicts"][0]["rule"] == "same-address", hosts
assert "this host and m-02 have the same address, 127.0.0.1" in hosts["other"]["verdicts"][0]["text"], hosts
P
    grep -F 'this host and m-02 have the same address' two/README.md
    run_profgrab -q --host m-02,other
    assert_stderr ''
    run_profgrab --host m-01
    refute_stderr_has address
}

# ---- cost -------------------------------------------------------------------------------------------------------

@test "--dry-run opens hosts and reads the index, but fetches and leaves nothing" {
    write_inventory
    run_profgrab --dry-run --host 'file-0[3-4],laptop' heap goroutines cpu=30s
    assert_status 0
    assert_equal "$(ls -A)" ''
    [[ ${lines[0]} =~ ^HOST\ +SERVICE\ +ROUTE\ +TIME\ +BYTES\ +ITEMS$ ]] || fail_run heading
    [[ ${lines[3]} =~ ^file-04\ +rude\ +ssh\ +3[0-9](\.[0-9])?s\ +[0-9.]+\ kB\ +heap\ \([0-9]+\ records?\),\ goroutines\ \([0-9]+\ records?\),\ goroutines=text\ \([0-9]+\ records?\),\ cpu=30s$ ]] || fail_run row
    [[ ${lines[4]} =~ ^laptop\ +node\ +direct\ +3[0-9] ]] || fail_run direct
    assert_stdout_has '16 items of 4 targets on 3 hosts: about '
    assert_stdout_has ', 3 hosts at a time'
    assert_stdout_has 'estimate for each process: up to 30s of profiling and '
    refute_stderr_has 'GET /debug/pprof/heap'
    run_profgrab -v --dry-run --host file-04 heap cpu
    refute_stdout_has 'at a time'
    assert_equal "$(grep -c 'GET /' <<<"$stderr")" 1
}

@test "--dry-run reports failures with the exit code of a capture" {
    write_inventory
    local port
    port=$(rig_free_port)
    sed -i "s/^hosts:/&\n  bad-01: { services: [rude, node] }/" "$INVENTORY"
    rig_alias bad-01 sshd "Port $port"
    run_profgrab --dry-run --host bad-01,file-04 heap
    assert_status 3
    assert_stdout_has 'failed: 127.0.0.1 port'
    assert_stdout_has '2 of 3 targets would give no item'
    run_profgrab --dry-run --host bad-01 heap
    assert_status 1
    run_profgrab --dry-run --host file-04 no-such-kind
    assert_status 2
    assert_stdout_has 'failed: unknown kind "no-such-kind"'
    run_profgrab --dry-run --json --host bad-01,file-04 heap
    assert_status 3
    assert_schema estimate
    assert_equal "$(json '[(t["host"], t["service"], len(t["items"]), "error" in t) for t in o["targets"]]')" \
        "[('bad-01', 'rude', 0, True), ('bad-01', 'node', 0, True), ('file-04', 'rude', 1, False)]"
    assert_equal "$(json 'o["targets"][2]["items"][0]["kind"], o["bytes"] == o["targets"][2]["bytes"] > 0, o["most_profiled_ms"]')" "('heap', True, 0)"
    run_profgrab --dry-run --json --host nobody heap
    assert_status 2
    assert_schema grab
}

@test "--dry-run estimates the time of --parallel hosts at once" {
    write_fleet 12
    run_profgrab --dry-run --parallel 3 --json --group all cpu=10s
    assert_status 0
    assert_schema estimate
    assert_equal "$(json '40000 <= o["duration_ms"] < 45000, o["most_profiled_ms"]')" '(True, 10000)'
    # Services at one port are one process, and take profiles one after the other.
    run_profgrab --dry-run --parallel 12 --json --group all --service rude,cpu cpu=10s
    assert_schema estimate
    assert_equal "$(json '20000 <= o["duration_ms"] < 25000, o["most_profiled_ms"]')" '(True, 20000)'
    run_profgrab --dry-run --json --host m-01 --pair 50s heap cpu=10s
    assert_schema estimate
    assert_equal "$(json '50000 <= o["duration_ms"] < 53000, [i["pair"] for i in o["targets"][0]["items"] if "pair" in i]')" '(True, [1, 2])'
}

@test "--dry-run lists the items that a budget would leave out" {
    write_fleet 02
    run_profgrab --dry-run --json --host m-01 --budget seconds=5 heap cpu=4s trace=4s
    assert_status 3
    assert_schema estimate
    assert_equal "$(json '[(i["kind"], "left_out" in i) for i in o["targets"][0]["items"]], o["most_profiled_ms"]')" \
        "([('heap', False), ('cpu', False), ('trace', True)], 4000)"
    run_profgrab --dry-run --host m-01 --budget seconds=5 heap cpu=4s trace=4s
    assert_stdout_has 'trace=4s left out'
    assert_stdout_has '1 item would be left out by the budget'
}

# ---- the question -----------------------------------------------------------------------------------------------

@test "more than 10 targets with cpu, trace, a delta or text need --yes" {
    write_fleet 12
    local kind
    for kind in cpu=1s trace=1s mutex=1s goroutines=text; do
        run_profgrab --group all heap "$kind"
        assert_status 2
        assert_stderr_has "profgrab: $kind on 12 targets, 12 hosts (m-01 ... m-12): more than 10 targets need a confirmation"
        assert_stderr_has 'hint: add --yes to confirm'
        assert_nothing_opened
    done
    # The kinds of services in the inventory count too, for these services only.
    run_profgrab --group all --service rude,cpu
    assert_status 2
    assert_stderr_has 'cpu=1s on 12 targets, 12 hosts'
    run_profgrab -q --group all --exclude canary goroutines=text
    assert_status 0
    run_profgrab -q --group all heap goroutines=proto
    assert_status 0
    run_profgrab --dry-run --group all cpu=1s
    assert_status 0
    # resume needs the same confirmation.
    run_profgrab -q --yes --group all --budget seconds=0.5 heap cpu=1s
    assert_status 3
    run_profgrab resume "$output"
    assert_status 2
    assert_stderr_has 'cpu=1s on 12 targets, 12 hosts (m-01 ... m-12): more than 10 targets need a confirmation'
}

@test "the question on a terminal accepts y; any other answer opens nothing" {
    write_fleet 12
    on_terminal --send 'continue\? \[y/N\] ' $'n\r' -- --group all goroutines=text
    assert_status 1
    assert_stdout_has 'goroutines=text on 12 targets, 12 hosts (m-01 ... m-12): continue? [y/N] '
    assert_stdout_has 'profgrab: nothing was opened'
    assert_nothing_opened
    on_terminal --send 'continue\? \[y/N\] ' $'\r' -- --group all goroutines=text
    assert_status 1
    assert_nothing_opened
    on_terminal --ctrl-c 'continue\? \[y/N\] ' -- --group all goroutines=text
    assert_status 130
    assert_nothing_opened
    on_terminal -- --batch --group all goroutines=text
    assert_status 2
    on_terminal --send 'continue\? \[y/N\] ' $'yes\r' -- --group all goroutines=text
    assert_status 0
    [[ -s $(cat path) ]]
    on_terminal -- --yes --group all goroutines=text
    assert_status 0
}

# ---- the table --------------------------------------------------------------------------------------------------

@test "the table lists failed targets last with the host's own message; a single target has no table" {
    write_inventory notfound
    local port bundle
    port=$(rig_free_port)
    sed -i "s/^hosts:/&\n  down: { services: [rude, node] }/" "$INVENTORY"
    rig_alias down sshd "Port $port"
    run_profgrab --host 'file-0[3-5],down' heap allocs
    assert_status 3
    mapfile -t lines < <(sed -n '/^TARGET/,/^profgrab/p' <<<"$stderr")
    assert_equal "${#lines[@]}" 7
    [[ ${lines[0]} =~ ^TARGET\ +ITEMS\ +BYTES\ +TIME\ +WHAT\ FAILED$ ]] || fail_run "${lines[0]}"
    [[ ${lines[1]} =~ ^file-03:\ node\ +2/2\ +[0-9.]+\ kB\ +[0-9.]+m?s$ ]] || fail_run "${lines[1]}"
    [[ ${lines[4]} =~ ^file-05:\ notfound\ +0/2\ +-\ +[0-9.]+m?s\ +heap:\ HTTP\ 404:\ .*\(and\ 1\ more\)$ ]] || fail_run "${lines[4]}"
    [[ ${lines[5]} =~ ^down\ +-\ +-\ +[0-9.]+m?s\ +127.0.0.1\ port\ $port:\ cannot\ connect ]] || fail_run "${lines[5]}"
    [[ ${lines[6]} == 'profgrab: not complete: 3 missing, '* ]] || fail_run "${lines[6]}"
    bundle=$(basename "$output" .tar.gz)
    profgrab bundle extract "$output"
    grep -F 'of 4 hosts 2 lack something, see "What is missing" below' "$bundle/README.md"
    assert_equal "$(grep -c '^## down' "$bundle/README.md")" 0
    grep -F -- '- down: 127.0.0.1 port' "$bundle/README.md"
    local how
    for how in -q --json; do
        run_profgrab "$how" --host file-03,file-05 heap
        assert_status 3
        refute_stderr_has TARGET
    done
    run_profgrab --host file-04 heap
    refute_stderr_has TARGET
    # --json lists the same targets.
    run_profgrab --json --host 'file-0[4-5],down' heap allocs
    assert_schema grab
    assert_equal "$(json '[(t["host"], t.get("asked"), t["got"], t["bytes"] > 0, "error" in t) for t in o["targets"]]')" \
        "[('file-04', 2, 2, True, False), ('file-05', 2, 0, False, True), ('down', None, 0, False, True), ('down', None, 0, False, True)]"
}

@test "the table counts more than 20 whole targets in one line without -v, and fits the terminal" {
    local port
    port=$(rig_free_port)
    write_fleet 25 "bad: { connect: direct, address: 127.0.0.1, services: [gone] }"
    sed -i "s/^services: {/& gone: { port: $port, hint: \"$(printf 'turn it on %.0s' {1..20})\" },/" inv.yaml
    run_profgrab --label env=test --host 'm-*,bad' --exclude bad
    assert_status 0
    assert_equal "$(grep -c '^m-' <<<"$stderr")" 0
    [[ $stderr =~ $'\n'25\ targets\ +25\ +[0-9.]+\ kB\ +[0-9.]+m?s\ to\ [0-9.]+m?s($'\n'|$) ]] || fail_run 'one line'
    run_profgrab -v --host 'm-*'
    assert_equal "$(grep -cE '^m-[0-9]+: rude +1/1 ' <<<"$stderr")" 25
    on_terminal -- --host 'm-*,bad'
    assert_status 3
    assert_equal "$(sed -n '/TARGET/,$p' <<<"$output" | tr -d '\r' | grep -v '^profgrab\|^hint' | awk 'length > 99')" ''
    assert_stdout_has 'WHAT FAILED'
}
