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
