#!/usr/bin/env bats
# The program as a process: its location, arguments, signals, exit codes and standard streams.

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
}

@test "one pprof command reads a pipe, a member of a bundle, a URL and a file" {
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

@test "the program runs from another directory, through links and from PATH" {
    mkdir -p "some where/bin" links
    cp "$profgrab_program" "some where/bin/"
    run "some where/bin/profgrab" version
    assert_status 0
    ln -s "$PWD/some where/bin/profgrab" links/pg
    ln -s pg links/again
    run links/again version
    assert_status 0
    PATH=$PWD/links:$PATH run pg bundle list none.tar.gz
    assert_status 1
    [[ $output == 'profgrab: '* ]] || fail_run
}

@test "arguments, signals, exit codes and a closed stdout work as in any process" {
    run --separate-stderr "$profgrab_program" version '' 'a b'
    assert_status 2
    assert_stderr_has 'version takes no argument: ""'
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
    # The shell has opened the pipe before it runs the program.
    for _ in {1..400}; do
        ! grep -aq -- -top "/proc/$pid/cmdline" || break
        sleep 0.05
    done
    assert_equal "$(tr '\0' ' ' <"/proc/$pid/cmdline")" "$profgrab_program pprof -top - "
    kill -TERM "$pid"
    wait "$pid" && status=0 || status=$?
    exec 9>&-
    assert_equal "$status" 143
}

# as_user COMMAND...: replaces this process by the command, under an ordinary user.
as_user() {
    if ((EUID == 0)); then
        exec setpriv --reuid 65534 --regid 65534 --clear-groups -- "$@"
    else
        exec "$@"
    fi
}

@test "no core dump, and no other process may attach" {
    local pid other
    mkfifo pipe
    exec 7<"$profgrab_program" # the user may not be able to enter the directory of the program
    (TMPDIR=/tmp as_user /proc/self/fd/7 pprof -top -) <pipe 3>&- &
    pid=$!
    exec 9>pipe
    (as_user sleep 60) 3>&- 7>&- 9>&- &
    other=$!
    wait_for grep -q sleep "/proc/$other/comm"
    wait_for grep -q '^Max core file size *0 *0 ' "/proc/$pid/limits"
    if ! is_sanitized; then
        # The kernel lets a process read the environment of another one if it may also attach to it.
        run bash -c "$(declare -f as_user); as_user cat /proc/$pid/environ"
        assert_equal "$status: $output" "1: cat: /proc/$pid/environ: Permission denied"
        run bash -c "$(declare -f as_user); as_user cat /proc/$other/environ"
        assert_equal "$status" 0
    fi
    exec 9>&-
    wait "$pid" || :
    kill "$other"
}

@test "every command that prints ends silently with exit code 141 if the reader of standard output has ended" {
    local command
    profgrab bundle create -o all.tar.gz heap.pb.gz stacks
    ssh-keygen -q -t ed25519 -N '' -f key
    profgrab bundle encrypt --encrypt-to key.pub -o all.age all.tar.gz
    printf '%s\n' 'version: 1' 'services: {node: {port: 9100}}' 'hosts: {file-03: {services: [node]}}' >inventory.yaml
    while read -r command; do
        # shellcheck disable=SC2086 # words
        run_unread "$profgrab_program" $command
        [[ $status == 141 && $output != *'standard output'* && $output != *'Broken pipe'* ]] ||
            fail "$command: exit code $status: $output"
    done <<'END'
help
help pprof
help findings
version
completion bash
hosts --inventory inventory.yaml
hosts --inventory inventory.yaml --json
bundle list all.tar.gz
bundle list --json all.tar.gz
bundle verify all.tar.gz
bundle extract all.tar.gz
bundle create -o made.tar.gz heap.pb.gz
bundle encrypt --encrypt-to key.pub -o - all.tar.gz
bundle encrypt --encrypt-to key.pub --armor -o - all.tar.gz
bundle encrypt --encrypt-to key.pub -o again.age all.tar.gz
bundle decrypt -i key -o - all.age
pprof -top heap.pb.gz
pprof -raw heap.pb.gz
pprof -text all.tar.gz:*heap*
pprof -proto -output=/dev/stdout heap.pb.gz
goroutines stacks
goroutines --json stacks
diff heap.pb.gz heap.pb.gz
merge -o - heap.pb.gz heap.pb.gz
report --text all.tar.gz
report -o - all.tar.gz
report -o page.html all.tar.gz
view --no-browser heap.pb.gz
END
    # Standard output that is no pipe still gets a message.
    if [[ -w /dev/full ]]; then
        run --separate-stderr bash -c '"$1" bundle list all.tar.gz >/dev/full' - "$profgrab_program"
        assert_status 1
        assert_stderr_has 'cannot write to standard output'
    fi
}
