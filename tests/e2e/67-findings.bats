#!/usr/bin/env bats
# Findings on programs that have a problem (tests/ailing), and on healthy ones: each rule reports its own problem with the
# function, and no other rule does. The program `waiting` runs during all tests, the others only while their profiles are taken.

load helper

BUSY=(none collection allocation channels locks waking unbuffered buffered native regexp json)
MIN_SAMPLES=100

start_ailing() { # PROGRAM...
    local program
    for program; do
        rm -f "$RIG_DIR/$program/log"
        rig_spawn "$program" "$rig_root/build/fixture/ailing" "$program"
    done
    for program; do
        rig_wait "$program" 20 grep -q '^listening ' "$RIG_DIR/$program/log"
    done
}

ailing_port() { # PROGRAM
    sed -n 's/^listening .*://p' "$RIG_DIR/$1/log"
}

# Starts these programs, takes their CPU profiles and ends them. Runs two programs at a time, because each needs a core.
fetch_profiles() { # SECONDS PROGRAM...
    local seconds=$1 program fetching pair
    shift
    while (($# > 0)); do
        pair=("${@:1:2}") fetching=()
        shift "${#pair[@]}"
        start_ailing "${pair[@]}"
        for program in "${pair[@]}"; do
            fetch_profile "$seconds" "$program" &
            fetching+=($!)
        done
        wait "${fetching[@]}"
        for program in "${pair[@]}"; do rig_end "$program"; done
    done
}

fetch_profile() { # SECONDS PROGRAM
    curl -fsS -o "$RIG_DIR/$2.pb.gz" "http://127.0.0.1:$(ailing_port "$2")/debug/pprof/profile?seconds=$1"
}

samples() { # PROGRAM: prints the number of samples in its profile
    "$PROFGRAB" pprof -raw -sample_index=samples "$RIG_DIR/$1.pb.gz" 2>/dev/null |
        awk '/^Samples:/ { on = 1; next } /^Locations/ { on = 0 } on && $1 ~ /^[0-9]+$/ { n += $1 } END { print n + 0 }'
}

setup_file() {
    local program seconds taken too_few_samples=("${BUSY[@]}")
    RIG_DIR=$(mktemp -d "${TMPDIR:-/tmp}/profgrab-rig.XXXXXX")
    export RIG_DIR
    mkdir "$RIG_DIR/pids"
    start_ailing waiting
    fetch_profile 2 waiting
    # On a busy machine some profiles have too few samples: these are taken again, and longer.
    for seconds in 2 4 8 16 32; do
        ((${#too_few_samples[@]} > 0)) || break
        fetch_profiles "$seconds" "${too_few_samples[@]}"
        taken=("${too_few_samples[@]}") too_few_samples=()
        for program in "${taken[@]}"; do
            (($(samples "$program") >= MIN_SAMPLES)) || too_few_samples+=("$program")
        done
    done
}

setup() {
    e2e_setup
}

teardown() { :; } # no sshd, no log

# Sets $output to the findings on the files.
run_findings() { # [KIND=]FILE...
    run --separate-stderr "$FINDINGS" "$@"
    assert_status 0
}

# A finding in $output has this rule and this function.
assert_rule() { # RULE FUNCTION
    if ! grep -q "^$1 $2: " <<<"$output"; then
        echo "no $1 of $2 in: $output"
        return 1
    fi
}

# Sets $output to the findings on the program's CPU profile. Only these rules, cpu-hot, cpu-spread and cpu-idle may report.
assert_only() { # PROGRAM RULE...
    local line program=$1
    shift
    run_findings "cpu=$RIG_DIR/$program.pb.gz"
    for line in "${lines[@]}"; do
        [[ " $* cpu-hot cpu-spread cpu-idle " == *" ${line%% *} "* ]] || {
            echo "$program: $line"
            return 1
        }
    done
}

@test "a healthy program has only its hottest function as a finding" {
    assert_only none
    assert_rule cpu-hot main.compute
}

@test "a busy garbage collector and goroutines that must help it are found" {
    assert_only collection gc-share gc-assist allocation
    assert_rule gc-share main.grow
    assert_rule gc-assist main.grow
}

@test "many small allocations are found" {
    # The collector's share depends on the free processors.
    assert_only allocation allocation gc-share gc-assist
    assert_rule allocation main.makeSmall
}

@test "channels and locks in hot loops are found" {
    assert_only channels channels scheduler
    assert_rule channels main.countByChannel
    assert_only locks locks scheduler
    assert_rule locks main.countLocked
}

@test "goroutines that wake each other at every step are found" {
    assert_only waking scheduler channels
    grep -q '^scheduler ' <<<"$output"
}

@test "many small writes are found, and a program that writes as often through a buffer has no finding" {
    assert_only unbuffered unbuffered
    assert_rule unbuffered main.writeBytes
    assert_only buffered
    assert_rule 'cpu-[a-z]*' '[a-z]*.*'
}

@test "native code is found" {
    assert_only native native
    assert_rule native main.callNative
}

@test "expressions compiled again and again, and encoding, are found" {
    assert_only regexp regexp-compile allocation gc-share gc-assist
    assert_rule regexp-compile main.matchAnew
    assert_only json encoding allocation gc-share gc-assist
    assert_rule encoding main.encodeOften
}

@test "a waiting program has findings on memory in use, goroutines and locks, and none on CPU" {
    local kind base
    base=http://127.0.0.1:$(ailing_port waiting)/debug/pprof
    for kind in heap mutex block; do
        curl -fsS -o "$kind.pb.gz" "$base/$kind"
    done
    curl -fsS -o before.txt "$base/goroutine?debug=2"
    curl -fsS -o before.pb.gz "$base/goroutine"
    curl -fsS "http://127.0.0.1:$(ailing_port waiting)/more"
    curl -fsS -o after.txt "$base/goroutine?debug=2"

    assert_only waiting
    assert_rule cpu-idle -
    run_findings heap=heap.pb.gz mutex=mutex.pb.gz block=block.pb.gz
    assert_rule heap-in-use main.keepBuffers
    assert_rule heap-allocated main.keepBuffers
    assert_rule mutex-delay main.holdLong
    assert_rule block-delay main.holdLong
    run_findings goroutines=before.txt
    assert_rule leak-suspect main.waitForNobody
    assert_rule lock-waits main.updateHeld
    assert_rule goroutine-states main.waitForNobody
    refute_stdout_has goroutine-growth
    run_findings goroutines=before.pb.gz
    assert_rule leak-suspect main.waitForNobody
    assert_rule lock-waits main.updateHeld
    run_findings goroutines=before.txt,after.txt
    assert_rule goroutine-growth main.waitForNobody
}

@test "a program without a problem has none of these findings" {
    # A process of its own, with few goroutines and without a fault.
    rig_spawn quiet "$rig_root/build/fixture/ailing" none
    rig_wait quiet 20 grep -q '^listening ' "$RIG_DIR/quiet/log"
    curl -fsS -o quiet.txt "http://127.0.0.1:$(ailing_port quiet)/debug/pprof/goroutine?debug=2"
    curl -fsS -o mutex.pb.gz "http://127.0.0.1:$(ailing_port quiet)/debug/pprof/mutex"
    curl -fsS -o block.pb.gz "http://127.0.0.1:$(ailing_port quiet)/debug/pprof/block"
    rig_end quiet
    run_findings goroutines=quiet.txt mutex=mutex.pb.gz block=block.pb.gz
    assert_equal "${#lines[@]}" 1
    assert_rule goroutine-states '.*'
}

@test "the findings are at the top of README.md, report --text and report --markdown" {
    cp "$RIG_DIR/regexp.pb.gz" regexp.pb.gz
    run_profgrab bundle create -o b.tar.gz regexp.pb.gz
    assert_status 0
    run_profgrab report --text b.tar.gz
    assert_status 0
    [[ ${lines[0]} == 'compiling regular expressions took '*' in main.matchAnew ('*'regexp.pb.gz)' ]]
    assert_stdout_has '1 local file'
    run_profgrab report --markdown b.tar.gz
    assert_status 0
    printf '%s\n' "$output" >again.md
    # After the line with the title.
    [[ ${lines[1]} == 'Performance profiles of running services'* ]]
    assert_stdout_has $'## What the profiles show\n\n- compiling regular expressions took '
    tar -xzOf b.tar.gz --wildcards '*/README.md' >README.md
    diff again.md README.md
    run_profgrab report --text --markdown b.tar.gz
    assert_status 2
    run_profgrab report --text /dev/null
    assert_status 1
}
