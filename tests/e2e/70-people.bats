#!/usr/bin/env bats
# What people see: live lines, what -v and -q say, JSON, help, completions and manual pages.

load helper

# on_screen ROWS COLUMNS [PTY-OPTION...] -- ARG...: profgrab on a terminal of that size; what it wrote is in $output, and
# the lines that stand there in the end in $screen. Its standard output is in the file path.
on_screen() {
    local rows=$1 columns=$2 options=()
    shift 2
    while [[ $1 != -- ]]; do
        options+=("$1")
        shift
    done
    with_pty --deadline 30 --stdout path "${options[@]}" -- \
        sh -c 'stty rows "$1" cols "$2"; shift 2; exec "$@"' - "$rows" "$columns" \
        "$profgrab_program" --ssh-config "$SSH_CONFIG" "${@:2}"
    mapfile -t screen < <(python3 "$rig_root/tests/screen.py" "$rows" "$columns" <<<"$output")
}

# ---- live lines -------------------------------------------------------------------------------------------------

@test "live lines: drawn in place at most ten times a second, gone in the end" {
    write_inventory
    on_screen 24 100 -- --host file-03 heap cpu=2s
    assert_status 0
    assert_stdout_has 'file-03: node: cpu 1s of 2s, 1s left, '
    assert_stdout_has 'file-03: caddy: cpu 1s of 2s, 1s left, '
    # Each drawing ends with it, and each plain line comes after it once.
    local drawings=${output//[^$'\e']/}
    ((${#drawings} < 150)) || fail "${#drawings} control sequences in about 3 seconds"
    # Only plain lines are left, each whole.
    local line
    for line in "${screen[@]}"; do
        [[ $line == 'profgrab: file-0'* ]] || fail "left: $line" "${screen[@]}"
    done
    assert_equal "$(printf '%s\n' "${screen[@]}" | grep -c 'heap: .* in ')" 2
    assert_equal "$(printf '%s\n' "${screen[@]}" | grep -c 'cpu=2s: .* in ')" 2
}

@test "live lines fit a screen of 10 by 40, and the rest is counted" {
    {
        echo 'version: 1'
        echo "services: { rude: { port: $RIG_PORT_rude, kinds: [goroutines=proto] } }"
        echo 'hosts: { "m-[01-12]": { connect: direct, address: 127.0.0.1, services: [rude] } }'
    } >inv.yaml
    chmod 600 inv.yaml
    on_screen 10 40 -- -q -i inv.yaml --host 'm-*'
    assert_status 0
    assert_equal "$output" ''
    on_screen 10 40 -- -i inv.yaml --host 'm-*' mutex=2s
    assert_status 0
    assert_stdout_has '... and 5 more targets'
    assert_stdout_has ': rude: mutex 1s of 2s, 1/1'
    # No live line is wider, and no drawing higher, than there is room for.
    assert_equal "$(grep -o 'm-[0-9]*: rude: mutex [^'$'\e'$'\r'']*' <<<"$output" | awk 'length > 39')" ''
    assert_equal "$(grep -oE $'\e''\[[0-9]+A' <<<"$output" | tr -dc '0-9\n' | sort -n | tail -n 1)" 7
}

@test "Ctrl-C wipes the live lines; nothing of them is left" {
    write_inventory
    on_screen 24 100 --ctrl-c 'cpu [1-9]s of 30s' -- --host file-03 heap cpu
    assert_status 130
    assert_equal "$(printf '%s\n' "${screen[@]}" | grep -v '^profgrab: ' | grep -v '^hint: ')" ''
    assert_equal "$(printf '%s\n' "${screen[@]}" | grep -c 'stopping; once more')" 1
    assert_equal "$(printf '%s\n' "${screen[@]}" | grep -c 'heap: .* in ')" 2
}

@test "no live lines on a dumb terminal, and none with -q" {
    write_inventory
    TERM=dumb on_screen 24 80 -- --host file-04 cpu=1s
    assert_status 0
    refute_stdout_has $'\e'
    assert_stdout_has 'cpu: taking 1s'
    on_screen 24 80 -- -q --host file-04 cpu=1s
    assert_status 0
    assert_equal "$output" ''
}

# ---- -v and -q --------------------------------------------------------------------------------------------------

@test "-q and -v cannot both be" {
    run_profgrab -q -v --host file-04 heap
    assert_status 2
    assert_stderr_has '--quiet and --verbose'
}

# ---- JSON -------------------------------------------------------------------------------------------------------

# is_json WORD: standard output of the last run, against the schema whose title has that word; sets $json.
is_json() {
    json=$PWD/out.json
    printf '%s\n' "$output" >"$json"
    python3 "$rig_root/tests/schema.py" "$rig_root/docs/formats.md#$1" "$json" || fail_run 'not as the schema has it'
}

# json EXPRESSION: a Python expression over it, `o`, printed.
json() {
    python3 -c 'import json, sys; o = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$json" "$1"
}

@test "--json: all well" {
    write_inventory
    run_profgrab --json --host file-04 heap cpu=1s
    assert_status 0
    is_json grab
    assert_equal "$(json 'o["exit_code"], o["complete"], o["interrupted"], o["failures"]')" '(0, True, False, [])'
    assert_equal "$(json '[(i["host"], i["service"], i["kind"], i.get("argument"), i["status"]) for i in o["items"]]')" \
        "[('file-04', 'rude', 'heap', None, 'ok'), ('file-04', 'rude', 'cpu', '1s', 'ok')]"
    local bundle
    bundle=$(json 'o["bundle"]')
    dir=$("$profgrab_program" bundle extract "$bundle")
    assert_equal "$(json 'sum(i["bytes"] for i in o["items"])')" "$(cat "$dir"/file-04/rude/* | wc -c)"
    assert_equal "$(cd "$dir" && ls file-04/rude/*)" "$(json '"\n".join(sorted(i["file"] for i in o["items"]))')"
}

@test "--json: what is missing, with the words and hints of stderr" {
    write_inventory busy notfound
    local port
    port=$(rig_free_port)
    sed -i "s/^services:/&\n  closed: { port: $port }/; s/^hosts:/&\n  bad-01: { services: [rude] }/; s/services: \[rude\]/services: [rude, closed]/" \
        "$INVENTORY"
    rig_alias bad-01 sshd "Port $port"
    run_profgrab --json --host 'file-0[4-5],bad-01' --service rude,closed,busy heap cpu=1s
    assert_status 3
    is_json grab
    assert_equal "$(json 'o["exit_code"], o["complete"], o["bundle"].endswith(".tar.gz")')" '(3, False, True)'
    assert_equal "$(json 'sorted((f["host"], f.get("service")) for f in o["failures"] if f["host"] != "file-05")')" \
        "[('bad-01', None), ('file-04', 'closed')]"
    local sentence
    while IFS= read -r sentence; do
        assert_stderr_has "$sentence"
    done < <(json '"\n".join([x[k] for x in o["failures"] + o["items"] for k in ("error", "hint") if k in x])')
}

@test "--json: nothing collected, nothing opened" {
    write_inventory notfound
    run_profgrab --json --host file-05 --service notfound heap
    assert_status 1
    is_json grab
    assert_equal "$(json 'o["bundle"], o["exit_code"], [i["status"] for i in o["items"]]')" "(None, 1, ['failed'])"
    run_profgrab --json --host nobody heap
    assert_status 2
    is_json grab
    assert_equal "$(json 'o["exit_code"], o["items"], "hint" in o')" '(2, [], True)'
    assert_stderr_has "$(json 'o["error"]')"
    # Not even understood: nothing on stdout.
    run_profgrab --json --hots nobody
    assert_status 2
    assert_equal "$output" ''
}

@test "--json: interrupted" {
    write_inventory
    on_screen 24 80 --ctrl-c 'cpu [1-9]s of 30s' -- --json --host file-04 heap cpu
    assert_status 130
    output=$(cat path)
    is_json grab
    assert_equal "$(json 'o["exit_code"], o["complete"], o["interrupted"], [i["status"] for i in o["items"]]')" \
        "(130, False, True, ['ok', 'interrupted'])"
}

@test "--json when stdout is full: the bundle is said on stderr" {
    write_inventory
    run --separate-stderr bash -c '"$@" >/dev/full' - "$profgrab_program" --ssh-config "$SSH_CONFIG" --json --host file-04 heap
    assert_status 3
    assert_stderr_has 'the bundle is profgrab-file-04-'
}

@test "every listing has --json, as documented" {
    write_inventory
    run_profgrab hosts --json
    is_json hosts
    assert_equal "$(json 'len(o)')" 3
    run_profgrab -q --host file-04 -o one.tar.gz heap
    run_profgrab bundle list --json one.tar.gz
    assert_status 0
    is_json list
    run_profgrab bundle verify --json one.tar.gz
    assert_status 0
    is_json verify
    assert_equal "$(json 'o["intact"], o["files"][0]["path"]')" "(True, 'file-04/rude/heap.pb.gz')"
}
