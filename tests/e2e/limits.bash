# Hostile input within limits of processor time and memory, for 79-limits.bats and for tests/long/limits.bats, which takes every
# shape. A file that needs it has `load limits` after `load helper`, and removes $place in its teardown.
# shellcheck shell=bash disable=SC2030,SC2031,SC2154 # each test is a subshell; rig_root is the rig's; bats's run sets status

# bounded ARG...: runs profgrab, with at most 10 s of processor time and 300 MB.
bounded() {
    [[ $profgrab_program != *-1/* && $profgrab_program != *-thread/* ]] || skip 'sanitizers have no limit of memory'
    run --separate-stderr "$rig_root/tests/rig/measure.py" 10 300 -- "$profgrab_program" "$@"
    [[ $status != 99 ]] || fail_run 'it cost too much'
}

hostile_file() { "$rig_root/tests/rig/hostile_file.py" "$@"; }
hostile_workdir() { "$rig_root/tests/rig/hostile_workdir.py" "$@"; }

# Sets place to a new directory: in memory if it has enough space, because a disk is slow with so many files and bytes.
make_place() {
    place=$(mktemp -d -p /dev/shm 2>/dev/null) || place=$(mktemp -d -p "$PWD")
}

# check_hostile_bundles KIND...: each costs little in bundle list, verify, extract and attach.
check_hostile_bundles() {
    local kind
    ssh-keygen -q -t ed25519 -N '' -f key
    printf 'version: 1\nteams: { mailed: { recipients: [ %s ] } }\n' "$PWD/key.pub" >inventory.yaml
    chmod 600 inventory.yaml
    make_place
    for kind; do
        hostile_file "$place/b.tar.gz" "$kind"
        bounded bundle list "$place/b.tar.gz"
        bounded bundle verify "$place/b.tar.gz"
        case $kind in
        undescribed)
            assert_status 1
            assert_stderr_has ' MB and inflates to more than '
            assert_stderr_has 'if you trust it, unpack it with tar'
            ;;
        *) assert_status 0 ;;
        esac
        bounded bundle extract -C "$place" "$place/b.tar.gz"
        rm -rf "$place/x"
        bounded attach "$place/b.tar.gz" -q -i inventory.yaml --for mailed --dry-run
        case $kind in
        zip-in-zip)
            assert_status 4
            assert_stderr_has "profgrab: $place/b.tar.gz: making its copy takes more than 8 s of processor time"
            assert_stderr_has 'hint: a real bundle of its size takes less'
            ;;
        undescribed) assert_status 4 ;;
        esac
        assert_equal "$(ls "$place")" b.tar.gz
        rm -f "$place/b.tar.gz"
    done
}

# check_chunks SHAPE COMMAND: an answer in chunks of that shape (tests/fixture) costs COMMAND little.
check_chunks() {
    local url=http://127.0.0.1:$RIG_PORT_rude/chunks=$1/debug/pprof
    if [[ $2 == pprof ]]; then
        bounded pprof -top "$url/heap"
    else
        printf 'version: 1\nservices: { s: { port: %s, path: /chunks=%s/debug/pprof } }\nhosts: { h: { connect: direct, address: 127.0.0.1, services: [s] } }\n' \
            "$RIG_PORT_rude" "$1" >inventory.yaml
        chmod 600 inventory.yaml
        bounded -i inventory.yaml --host h heap
    fi
    assert_stderr_has 'receiving the answer took too much processor time'
}

# check_sum_of_files KIND: report and view leave out the files of such a bundle that exceed the limit together.
check_sum_of_files() {
    local kind=$1
    hostile_file "$kind.tar.gz" "$kind"
    bounded report -o "$kind.html" "$kind.tar.gz"
    assert_status 0
    assert_stderr_has "$kind.tar.gz: "
    assert_stderr_has ' files are left out: reading the files before them took 2 s of processor time'
    grep -q 'reading the files before it took all the processor time' "$kind.html"
    bounded report --text "$kind.tar.gz"
    assert_status 0
    bounded view --no-browser "$kind.tar.gz:*"
    assert_status 0
    assert_stderr_has ' files are left out: '
}
