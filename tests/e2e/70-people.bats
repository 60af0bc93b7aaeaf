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
