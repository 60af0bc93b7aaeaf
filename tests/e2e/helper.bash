# Shared by the end-to-end tests. A test file begins with `load helper`. This file then starts the rig of tests/rig/rig.bash once
# for the test file, with node_exporter, caddy and the rude fixture. Each test gets an empty home, an empty TMPDIR and an empty
# configuration directory, and no SSH agent.
#
# A test file with other needs defines setup_file, setup, teardown or teardown_file itself, and calls e2e_* in them.
# shellcheck shell=bash disable=SC2154 # bats's run sets output, stderr and status

bats_require_minimum_version 1.5.0

# shellcheck source=tests/rig/rig.bash
source "${BASH_SOURCE[0]%/*}/../rig/rig.bash"

# The password and the token of the fixture.
SECRET=correct-horse-battery-staple

# ---- set-up ---------------------------------------------------------------------------------------------------

e2e_setup_file() {
    # shellcheck disable=SC2119 # its arguments are lines for sshd, none here
    rig_start
    rig_service node_exporter
    rig_service caddy
    (umask 077 && echo "$SECRET" >"$RIG_DIR/secret")
    rig_service rude -raw -unix "$RIG_DIR/rude.sock" -tls-dir "$RIG_DIR/tls" -secret "$RIG_DIR/secret"
    export SSH_CONFIG=$RIG_SSH_CONFIG
}

e2e_setup() {
    export HOME=$BATS_TEST_TMPDIR/home TMPDIR=$BATS_TEST_TMPDIR/tmp XDG_CONFIG_HOME=$BATS_TEST_TMPDIR/config
    export XDG_RUNTIME_DIR=$BATS_TEST_TMPDIR/run LC_ALL=C.UTF-8 TERM=xterm
    # Since 1.25 Go builds its pprof at the first use. With one cache it does so once for all tests, not in the home of each test.
    export GOCACHE=$rig_root/build/fixture/cache GOENV=off GOTOOLCHAIN=local
    unset COLUMNS SSH_AUTH_SOCK SSH_ASKPASS PROFGRAB_INVENTORY http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY
    mkdir -m 700 "$HOME" "$TMPDIR" "$XDG_CONFIG_HOME" "$XDG_RUNTIME_DIR" "$BATS_TEST_TMPDIR/work"
    cd "$BATS_TEST_TMPDIR/work" || return
}

# After a failed test, prints the end of the sshd's log, which bats shows.
e2e_teardown() {
    [[ -n ${BATS_TEST_COMPLETED-} ]] || tail -n 15 "$RIG_DIR/sshd/log"
}

e2e_teardown_file() { rig_stop; }

setup_file() { e2e_setup_file; }
setup() { e2e_setup; }
teardown() { e2e_teardown; }
teardown_file() { e2e_teardown_file; }

# ---- running --------------------------------------------------------------------------------------------------

profgrab_program=$(realpath -m "${PROFGRAB:-$rig_root/build/profgrab}")

# profgrab ARG...: the program, with the rig's ssh configuration for commands that open hosts. `ssh -G` ignores $HOME and would
# read the user's own configuration.
profgrab() {
    case ${1-} in
    '' | hosts | bundle | completion | attach | pprof | goroutines | merge | diff | report | view | version | help | --version | --help | -h)
        "$profgrab_program" "$@"
        ;;
    grab | check | forward | resume) "$profgrab_program" "$1" --ssh-config "$SSH_CONFIG" "${@:2}" ;;
    *) "$profgrab_program" --ssh-config "$SSH_CONFIG" "$@" ;;
    esac
}

# run_profgrab ARG...: sets $status, $output (stdout) and $stderr.
run_profgrab() { run --separate-stderr profgrab "$@"; }

# run_unread COMMAND...: runs it with a standard output whose reader has ended. Sets $output to its messages, and $status to its
# exit code, or to 128 + the signal that ended it.
run_unread() {
    run timeout 60 python3 -c '
import os, subprocess, sys
reading, writing = os.pipe()
os.close(reading)
program = subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=writing, stderr=subprocess.PIPE, text=True)
print(program.stderr, end="")
sys.exit(program.returncode if program.returncode >= 0 else 128 - program.returncode)' "$@"
}

# with_pty [--deadline S] [--stdout FILE] [--ctrl-c REGEX | --send REGEX TEXT]... -- COMMAND...: see tests/rig/pty.py. $output has
# the terminal's text. COMMAND is a program: "$profgrab_program" --ssh-config "$SSH_CONFIG" ...
with_pty() { run --separate-stderr python3 "$rig_root/tests/rig/pty.py" "$@"; }

# write_inventory [PREFIX...]: an inventory in $INVENTORY, which $PROFGRAB_INVENTORY names too:
#   file-03  node (node_exporter), caddy
#   file-04  rude, the fixture without faults
#   file-05  a service for each PREFIX of the fixture's table, named after it (big=5 becomes big-5)
#   laptop   node, without SSH
write_inventory() {
    local prefix names=
    INVENTORY=$BATS_TEST_TMPDIR/inventory.yaml
    export PROFGRAB_INVENTORY=$INVENTORY
    {
        echo 'version: 1'
        echo 'services:'
        echo "  node: { port: $RIG_PORT_node_exporter }"
        echo "  caddy: { port: $RIG_PORT_caddy }"
        echo "  rude: { port: $RIG_PORT_rude }"
        for prefix; do
            echo "  ${prefix/=/-}: { port: $RIG_PORT_rude, path: \"/$prefix/debug/pprof\" }"
            names+=${names:+, }${prefix/=/-}
        done
        echo 'hosts:'
        echo '  file-03: { services: [node, caddy], labels: { env: test } }'
        echo '  file-04: { services: [rude] }'
        [[ -z $names ]] || echo "  file-05: { services: [$names] }"
        echo '  laptop: { connect: direct, address: 127.0.0.1, services: [node] }'
        echo 'groups:'
        echo '  storage: [ "file-*" ]'
    } >"$INVENTORY"
    chmod 600 "$INVENTORY"
}

# wait_for COMMAND...: polls until it succeeds; fails after a minute, which is enough on a busy machine.
wait_for() {
    local deadline=$((SECONDS + 60))
    until "$@" 2>/dev/null; do
        ((SECONDS < deadline)) || {
            fail "not within a minute: $*"
            return 1
        }
        sleep 0.02
    done
}

# children_cpu [NAME]: sets NAME, or REPLY, to the milliseconds of processor time that this shell's ended children took. Other
# load on the machine does not count.
children_cpu() {
    local line
    # A pipe or $(...) would print the times of a subshell.
    times >"$BATS_TEST_TMPDIR/times"
    line=$(tail -n 1 "$BATS_TEST_TMPDIR/times")
    printf -v "${1-REPLY}" %d "$(awk -F '[ms ]+' '{ printf "%d", ($1 + $3) * 60000 + ($2 + $4) * 1000 }' <<<"$line")"
}

# own_network [UNSHARE-OPTION...] COMMAND...: runs it in its own network namespace, from which no other machine can be reached.
own_network() {
    if ((EUID == 0)); then
        unshare --net "$@"
    else
        unshare --net --user --map-current-user --keep-caps "$@"
    fi
}

# ---- asserting --------------------------------------------------------------------------------------------------

# Prints its arguments, which bats shows, and fails the test.
fail() {
    printf '%s\n' "$@"
    return 1
}

# Prints the results of the last `run --separate-stderr`.
fail_run() {
    fail "$@" "status: ${status-}" "stdout: ${output-}" "stderr: ${stderr-}"
}

assert_status() { # STATUS
    ((status == $1)) || fail_run "expected status $1"
}

assert_equal() { # ACTUAL EXPECTED
    [[ $1 == "$2" ]] || fail "expected: $2" "actual:   $1"
}

assert_stdout() { # TEXT, the whole of it
    [[ $output == "$1" ]] || fail_run "expected stdout: $1"
}

assert_stdout_has() { # TEXT
    [[ $output == *"$1"* ]] || fail_run "expected on stdout: $1"
}

refute_stdout_has() { # TEXT
    [[ $output != *"$1"* ]] || fail_run "not expected on stdout: $1"
}

assert_stderr() { # TEXT, the whole of it
    [[ $stderr == "$1" ]] || fail_run "expected stderr: $1"
}

assert_stderr_has() { # TEXT
    [[ $stderr == *"$1"* ]] || fail_run "expected on stderr: $1"
}

refute_stderr_has() { # TEXT
    [[ $stderr != *"$1"* ]] || fail_run "not expected on stderr: $1"
}

assert_mode() { # FILE MODE
    assert_equal "$(stat -c %a "$1")" "$2"
}

# The text has no control byte but newline. `[^[:print:]]` would depend on the locale.
assert_printable() { # TEXT
    ! LC_ALL=C grep -q '[[:cntrl:]]' <<<"$1" || fail "control bytes in: $(cat -v <<<"$1")"
}

# Succeeds for a program with sanitizers, which take memory and time of their own.
is_sanitized() {
    grep -qaE '__(asan|tsan)_init' "$profgrab_program"
}

# Hides leaks of libssh2: a few bytes at each key exchange after the first one of a session, and of some keys that it reads. Only
# for tests that exchange keys again or read such keys.
forgive_libssh2() {
    export LSAN_OPTIONS="suppressions=$rig_root/tests/lsan-libssh2.supp:print_suppressions=0"
}
