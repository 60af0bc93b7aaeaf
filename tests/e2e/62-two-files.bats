#!/usr/bin/env bats
# The program's files: what the small one does alone, when it loads the others, and what is said when they are not there.

load helper

setup_file() {
    rig_start
    rig_service node_exporter
}

setup() {
    e2e_setup
    export PPROF_TMPDIR=$BATS_TEST_TMPDIR/kept
    server=127.0.0.1:$RIG_PORT_node_exporter
    curl -fsS -o heap.pb.gz "http://$server/debug/pprof/heap"
    curl -fsS -o stacks "http://$server/debug/pprof/goroutine?debug=2"
    built=${profgrab_program%/bin/*}
}

# An installation of its own, in $1.
install_into() {
    mkdir -p "$1/bin" "$1/lib/profgrab"
    cp "$profgrab_program" "$1/bin/"
    cp "$built/lib/profgrab/"*.so "$1/lib/profgrab/"
}

# The libraries that a command has loaded when it ends, as the loader tells it.
loaded() { # ARG...
    LD_DEBUG=files "$profgrab_program" "$@" 2>&1 >/dev/null | grep -c 'calling init: .*/\(profgrab\.so\|libcurl\.so\|libssh2\.so\|libcrypto\.so\|libarchive\.so\)' || :
}

@test "what reads local files loads none of the libraries for anything else" {
    local command
    profgrab merge -o merged.pb.gz heap.pb.gz
    for command in 'pprof -top heap.pb.gz' 'pprof -h' 'goroutines stacks' 'diff heap.pb.gz merged.pb.gz' \
        'merge -o again.pb.gz heap.pb.gz merged.pb.gz' 'pprof -top missing.pb.gz' 'pprof -top -diff_base missing heap.pb.gz'; do
        # shellcheck disable=SC2086 # several words
        assert_equal "$command: $(loaded $command)" "$command: 0"
    done
    for command in version help hosts 'goroutines --json stacks' 'diff --help' "pprof -top http://$server/debug/pprof/heap"; do
        # shellcheck disable=SC2086 # several words
        assert_equal "$command: $(loaded $command)" "$command: 5"
    done
}

@test "what was read before the other file was needed is not lost: a pipe, a URL, a member, in one command" {
    profgrab bundle create -o all.tar.gz heap.pb.gz
    local member
    member=$(profgrab bundle list all.tar.gz | awk '/heap/ { print $3 }')
    run --separate-stderr "$profgrab_program" pprof -proto -output=sum.pb.gz - "all.tar.gz:$member" \
        "http://$server/debug/pprof/none" heap.pb.gz < <(cat heap.pb.gz)
    assert_status 0
    assert_stderr_has 'Fetched 3 source profiles out of 4'
    assert_equal "$(grep -c 'Fetching profile over HTTP' <<<"$stderr")" 1
    profgrab pprof -proto -output=three.pb.gz heap.pb.gz heap.pb.gz heap.pb.gz
    assert_equal "$(profgrab pprof -top sum.pb.gz)" "$(profgrab pprof -top three.pb.gz)"
    run --separate-stderr "$profgrab_program" goroutines --json - < <(cat stacks)
    assert_status 0
    python3 -m json.tool <<<"$output" >/dev/null
}

@test "the two find each other: another prefix, a link from elsewhere, a start by PATH" {
    install_into "$PWD/some where"
    run "some where/bin/profgrab" version
    assert_status 0
    mkdir links
    ln -s "$PWD/some where/bin/profgrab" links/pg
    ln -s pg links/again
    run links/again version
    assert_status 0
    PATH=$PWD/links:$PATH run pg bundle list none.tar.gz
    assert_status 1
    [[ $output == 'profgrab: '* ]] || fail_run
    mv 'some where' elsewhere
    run elsewhere/bin/profgrab version
    assert_status 0
}

@test "nothing in the environment or the working directory puts another file in its place" {
    mkdir -p evil/lib/profgrab evil/bin lib/profgrab
    cat >evil.c <<'C'
#include <unistd.h>
__attribute__((constructor)) static void begin(void) { write(1, "evil\n", 5); }
C
    cc -shared -fPIC -o evil/lib/profgrab/profgrab.so evil.c
    cp evil/lib/profgrab/profgrab.so lib/profgrab/
    cp evil/lib/profgrab/profgrab.so .
    cd evil/bin
    run env LD_ORIGIN_PATH="$PWD/evil/bin" LD_LIBRARY_PATH="$PWD/evil/lib/profgrab:$PWD" bash -c \
        'exec -a "$0" "$1" version' "$PWD/evil/bin/profgrab" "$profgrab_program"
    assert_status 0
    [[ $output != *evil* ]] || fail_run
}

@test "without the other file local profiles are shown, and all else says what is missing" {
    install_into here
    rm here/lib/profgrab/profgrab.so
    run --separate-stderr here/bin/profgrab pprof -top heap.pb.gz
    assert_status 0
    assert_stdout "$(profgrab pprof -top heap.pb.gz)"
    run --separate-stderr here/bin/profgrab --host file-03
    assert_status 1
    assert_stderr_has "profgrab: cannot load $PWD/here/lib/profgrab/profgrab.so: "
    assert_stderr_has 'hint: it belongs to this program: install all files of one build'
    run --separate-stderr here/bin/profgrab pprof -top "http://$server/debug/pprof/heap"
    assert_status 2
    assert_stderr_has 'cannot load'
    assert_stderr_has 'hint: '
    run --separate-stderr here/bin/profgrab goroutines --json stacks
    assert_status 1
    assert_stdout ''
    echo 'no library' >here/lib/profgrab/profgrab.so
    run --separate-stderr here/bin/profgrab version
    assert_status 1
    assert_stderr_has 'profgrab.so'
}

@test "what edits lines is loaded by a shell at a terminal, and by nothing else" {
    printf 'quit\n' >commands
    assert_equal "$(LD_DEBUG=files "$profgrab_program" pprof heap.pb.gz <commands 2>&1 | grep -c 'calling init: .*/\(profgrab\|editor\|libedit\)\.so')" 1
    assert_equal "$(LD_DEBUG=files "$profgrab_program" version 2>&1 | grep -c 'calling init: .*/\(editor\|libedit\)\.so')" 0
    install_into here
    TERM=xterm LD_DEBUG=files with_pty --deadline 30 --send '\(pprof\) ' $'quit\n' -- here/bin/profgrab pprof heap.pb.gz
    assert_status 0
    assert_stdout_has /libedit.so
    rm here/lib/profgrab/editor.so
    TERM=xterm with_pty --deadline 30 -- here/bin/profgrab pprof heap.pb.gz
    assert_status 2
    assert_stdout_has "cannot load $PWD/here/lib/profgrab/editor.so: "
    assert_stdout_has 'hint: it belongs to this program: install all files of one build'
    run --separate-stderr here/bin/profgrab pprof heap.pb.gz <commands
    assert_status 0
}

@test "files of two builds do not work together" {
    install_into here
    python3 - "here/lib/profgrab/profgrab.so" <<'P'
import re, subprocess, sys
path = sys.argv[1]
data = open(path, "rb").read()
# The mark is two numbers of cksum: of this library one digit of it becomes another.
mark = re.findall(rb"\0(\d{5,10}-\d{5,9})\0", open(path.replace("lib/profgrab/profgrab.so", "bin/profgrab"), "rb").read())
assert len(mark) == 1, mark
other = bytes([mark[0][0] ^ 1]) + mark[0][1:]
assert mark[0] in data
open(path, "wb").write(data.replace(mark[0], other))
P
    run --separate-stderr here/bin/profgrab version
    assert_status 1
    assert_stderr_has "profgrab: $PWD/here/lib/profgrab/profgrab.so is of another build"
    assert_stderr_has 'hint: it belongs to this program'
}

@test "the process stays what it was: arguments as they are, signals, exit codes, a closed stdout" {
    run --separate-stderr "$profgrab_program" version '' 'a b'
    assert_status 2
    assert_stderr_has 'version takes no argument, not ""'
    run --separate-stderr "$profgrab_program" ''
    assert_status 2
    run --separate-stderr bash -c '"$1" version >&-' - "$profgrab_program"
    assert_status 1
    assert_stderr_has 'cannot write to standard output'
    run --separate-stderr bash -c '"$1" version >/dev/full' - "$profgrab_program"
    assert_status 1
    mkfifo pipe
    "$profgrab_program" pprof -top - <pipe &
    local pid=$!
    exec 9>pipe
    assert_equal "$(tr '\0' ' ' <"/proc/$pid/cmdline")" "$profgrab_program pprof -top - "
    kill -TERM "$pid"
    wait "$pid" && status=0 || status=$?
    exec 9>&-
    assert_equal "$status" 143
}
