#!/usr/bin/env bats
# profgrab on hostile input within limits of processor time and memory: the shapes that tests/e2e/79-limits.bats omits, because each
# takes seconds of processor time.

load ../e2e/helper
load ../e2e/limits

setup_file() { e2e_setup_file; }

teardown() {
    [[ -z ${server-} ]] || kill "$server"
    [[ -z ${scratch-} ]] || rm -rf "$scratch"
    e2e_teardown
}

@test "hostile bundles of every other shape take at most 10 s and 300 MB in bundle list, verify, extract and attach" {
    check_hostile_bundles long-paths requests secrets signs quotes names cmdlines zip-in-zip strings members directories
}

@test "bundles, profiles and dumps of every other shape take at most 10 s and 300 MB in report, view, goroutines and completion" {
    check_bundles_to_show braces
    check_files_to_show zeros lines pattern
}

@test "a source's answer of 60 MB of every other shape takes at most 10 s and 300 MB" {
    local shape
    write_inventory
    for shape in '[{"targets":[ "h:80", "h:80"]}]' '[{"labels":{ "a":"b", "job":"x"}}]' '[" \u20ac "]' ' [ ]'; do
        check_source "$shape"
    done
}

@test "slow matches in every other way cost at most 10 s and 300 MB" {
    check_slow_match '"1" * 248 + "r"' '([a-z0-9]+[0-9]+)-stor'
    check_slow_match '"a" * 249' '(a*)*[b-d]'
}

@test "an SSH server that floods an open session in every other way costs at most 10 s and 300 MB" {
    check_flood unexpected libssh2
    check_flood ignore libssh2
    check_flood trickle libssh2
    check_flood trickle openssh
    check_flood ignore openssh
}

@test "resume: a hostile work directory of every other shape takes at most 10 s and 300 MB" {
    check_hostile_workdirs changed directories hosts left text
}

@test "resume: every other hostile bundle of very many directories takes at most 10 s and 300 MB" {
    local kind
    make_scratch
    write_inventory
    sed -i 's/\<s\>/s0/g' inventory.yaml
    for kind in entries-to-resume long-paths; do
        hostile_file "$scratch/b.tar.gz" "$kind"
        run_bounded resume -y -q -i inventory.yaml "$scratch/b.tar.gz"
        assert_status 1
        assert_stderr_has 'nothing was collected, so there is no new bundle'
    done
    assert_equal "$(ls "$scratch")" b.tar.gz
}

@test "larger holes of a file raise no limit: each command refuses it or takes at most 10 s and 300 MB" {
    check_holes 2G
}

@test "goroutines --json prints the most stacks of a dump within 300 MB" {
    hostile_file stacks.txt stacks
    run_bounded goroutines --json stacks.txt
    assert_status 0
    python3 -c 'import json, sys; assert len(json.load(sys.stdin)["groups"]) == 190000' <<<"$output"
}

@test "every other answer in tiny chunks, or with endless chunk extensions, costs at most 10 s and 300 MB" {
    check_chunks bytes pprof
    check_chunks extensions grab
    check_chunks extensions pprof
    check_chunks extension grab
    check_chunks segments pprof
    check_chunks segments grab
    # Over SSH, each byte is a packet.
    sed -i 's/hosts:.*/hosts: { file-03: { services: [s] } }/' inventory.yaml
    run_bounded -F "$RIG_SSH_CONFIG" -i inventory.yaml --host file-03 heap
    assert_stderr_has 'receiving the answer took too much processor time'
}

@test "report and view of very many files of legacy text leave out the rest when their sum exceeds the limit" {
    check_sum_of_files many-texts
}

@test "every command that shows a bundle draws 20,000 services with one finding each" {
    check_services report -o services.html
    grep -q '"id":"data-19999"' services.html
    check_services report --text
    assert_stdout_has '(likewise h s1, h s10, h s100 and 19996 more)'
    check_services report --markdown
    check_services view --no-browser
}

@test "a grab ends the checks of very many bodies that inflate too much after 10 s" {
    serve_profile inflating heap heap{1..19}
    run_measured 14 -i inventory.yaml --host here -o b.tar.gz all
    assert_status 1
    assert_stderr_has 'heap: checking its body takes more than 2.0 s of processor time'
    assert_stderr_has 'heap19: checking all bodies of this process takes more than 10.'
    tar xzf b.tar.gz
    for i in {1..19}; do cmp "b/here/app/heap$i.pb.gz.damaged" inflating.pb.gz; done
}

@test "bundle create of very many bodies that inflate a thousandfold takes at most 10 s and 300 MB" {
    mkdir d
    hostile_file one.pb.gz inflating
    for i in {1..40}; do cp one.pb.gz "d/$i.pb.gz"; done
    run_bounded bundle create -o c.tar.gz d
    assert_status 1
    assert_stderr_has 'reading it takes more than'
    [[ ! -e c.tar.gz ]]
}

@test "pprof, merge and diff stop reading very many costly profiles of a bundle, also beside an empty input" {
    hostile_file many-samples.tar.gz many-samples
    hostile_file many-texts.tar.gz many-texts
    run_bounded pprof -top 'many-texts.tar.gz:*'
    assert_status 2
    assert_stderr_has 'reading it takes more than '
    # An empty input does not end the limits of the others.
    : >empty.pb.gz
    run_bounded pprof -top 'many-samples.tar.gz:*' empty.pb.gz
    assert_status 2
    assert_stderr_has 'reading it takes more than '
    run_bounded merge -o merged 'many-samples.tar.gz:*'
    assert_status 1
    assert_stderr_has 'reading it takes more than '
    [[ ! -e merged ]]
    run_bounded diff many-samples.tar.gz many-texts.tar.gz
    assert_status 2
}

@test "a source's YAML of every other shape takes at most 10 s and 300 MB, accepted or refused" {
    check_yaml_shapes <<'SHAPES'
scrape_configs: {x: [|a,|4000000|1560000|]}
scrape_configs: {x: [|{a,b},|1300000|320000|]}
scrape_configs: {x: [|[],|2600000|1780000|]}
SHAPES
}

@test "an SSH server that exchanges keys for ever before the login ends costs at most 10 s and 300 MB" {
    rig_odd_sshd rekeying --rekey
    rig_alias rekeying rekeying
    run_bounded --batch --via libssh2 --ssh-config "$RIG_SSH_CONFIG" --host rekeying --port 1 --connect-timeout 120s heap
    assert_status 1
    assert_stderr_has 'the login took too much processor time'
}
