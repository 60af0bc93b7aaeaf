#!/usr/bin/env bats
# The shell of `profgrab pprof`, compared with that of `go tool pprof`, and on a terminal. Opens no host, so it needs no rig.

load helper

setup_file() { :; }
teardown_file() { :; }
teardown() { :; }

pprof_tests=$rig_root/tests/pprof

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    python3 - "$pprof_tests" <<'P'
import sys
sys.path.insert(0, sys.argv[1])
import odd
p = odd.wide()
p.rest["comments"] = ("clear \033[2J the screen",)
for i in range(3000):
    p.sample([1 + i % 150, 1 + i % 149, 1 + i % 7], [1, 1000])
open("wide.pb", "wb").write(p.encode())
P
    # The keys that the tests send are those of this type of terminal.
    export TERM=xterm LC_ALL=C.UTF-8 TZ=UTC
}

on_terminal() { # [--send REGEX TEXT]...: types each TEXT at its prompt, in turn
    with_pty --deadline 30 "$@" -- "$profgrab_program" pprof wide.pb
}

prompt='\(pprof\) '

@test "the shell prints and writes the same as that of go tool pprof" {
    run env PROFGRAB="$profgrab_program" python3 "$pprof_tests/shell.py"
    echo "$output"
    ((status == 0))
}

@test "text of a profile is printable on the terminal of a shell" {
    on_terminal --send "$prompt" $'comments\n' --send "$prompt" $'quit\n'
    assert_status 0
    assert_stdout_has 'clear ?[2J the screen'
    refute_stdout_has $'\033[2J'
    # The shell's header and the command both print the comment.
    assert_equal "$(grep -c 'clear ?' <<<"$output")" 2
}

@test "completion and history work" {
    on_terminal --send "$prompt" $'nodec\t=2\n' --send "$prompt" $'peek pkg3.func10\t\n' \
        --send "$prompt" $'top\n' --send "$prompt" $'\033[A\n' --send "$prompt" $'\004'
    assert_status 0
    assert_stdout_has '| '
    assert_equal "$(grep -c 'Showing top 2 nodes' <<<"$output")" 2
}

@test "Ctrl-C drops a line, and leaves the shell at an empty one" {
    on_terminal --send "$prompt" 'nonsense' --send nonsense $'\003' --send "$prompt" $'top 1\n' --send "$prompt" $'\003'
    assert_status 0
    assert_stdout_has 'nonsense^C'
    refute_stdout_has unrecognized
    assert_stdout_has 'Showing top 1 nodes'
}

@test "Ctrl-C ends a report, not the shell" {
    mkfifo nobody_reads
    on_terminal --send "$prompt" $'traces >nobody_reads\n' --send 'Generating report in nobody_reads\r\n' $'\003' \
        --send "$prompt" $'top 1\n' --send "$prompt" $'quit\n'
    assert_status 0
    assert_stdout_has interrupted
    assert_stdout_has 'Showing top 1 nodes'
}

@test "Ctrl-C ends a picture's graphviz, not the shell" {
    mkdir bin
    printf '#!/bin/sh\necho $$ >dot.pid\necho drawing >&2\necho begun >/dev/tty\nexec sleep 60\n' >bin/dot
    chmod +x bin/dot
    PATH=$PWD/bin:$PATH on_terminal --send "$prompt" $'svg\n' --send begun $'\003' --send "$prompt" $'top 1\n' \
        --send "$prompt" $'quit\n'
    assert_status 0
    assert_stdout_has interrupted
    assert_stdout_has 'Showing top 1 nodes'
    [[ ! -e profile001.svg ]] || fail 'an unfinished picture is left'
    ! kill -0 "$(<dot.pid)" 2>/dev/null || fail "dot is still there"
}

@test "reports go to standard output, the prompt to the terminal" {
    with_pty --deadline 30 --stdout reports --send "$prompt" $'top 1\n' --send "$prompt" $'q\n' -- "$profgrab_program" pprof wide.pb
    assert_status 0
    refute_stdout_has 'flat%'
    head -n 1 reports | grep '^Showing nodes accounting for'
}

@test "a command that cannot be executed is refused, and the shell continues" {
    printf '%s\n' 'disasm x' 'weblist x' 'top >/nowhere/x' 'top 1' >commands
    run_profgrab pprof wide.pb <commands
    assert_status 0
    assert_stderr_has 'no matches found for regexp x'
    assert_stderr_has 'no matches found for regexp: x'
    assert_stderr_has 'open /nowhere/x: '
    assert_stdout_has 'Showing top 1 nodes'
}

@test "a terminal without line editing is read line by line" {
    TERM=dumb with_pty --deadline 30 --send "$prompt" $'top 1\n' --send "$prompt" $'\004' -- "$profgrab_program" pprof wide.pb
    assert_status 0
    assert_stdout_has 'Showing top 1 nodes'
}

@test "help describes every command and option" {
    local name
    printf '%s\n' help 'help top' 'help sample_index' 'help nothing' >commands
    run_profgrab pprof wide.pb <commands
    assert_status 0
    for name in top weblist nodecount granularity addresses sort; do
        grep -Eq "^ +$name( |\$)" <<<"$stderr" || fail "no help on $name"
    done
    assert_stderr_has 'one of samples cpu'
    assert_stderr_has 'Unknown command: nothing'
}
