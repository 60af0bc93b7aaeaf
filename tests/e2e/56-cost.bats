#!/usr/bin/env bats
# What small hostile files cost: at most 10 s of processor time and 300 MB of memory, whatever reads them.

load helper

export MOST_SECONDS=10 MOST_MB=300

setup_file() {
    export COSTLY=$BATS_FILE_TMPDIR/costly
    mkdir "$COSTLY"
    python3 "$rig_root/tests/e2e/costly.py" "$COSTLY"
}
teardown_file() { :; }
teardown() { :; }

# costs ARG...: profgrab with these; fails if it took too much, or died of a signal.
costs() {
    run python3 "$rig_root/tests/e2e/costly.py" --run timeout 60 "$profgrab_program" "$@"
    echo "$* | ${output: -400}"
    [[ $status == 0 && $output =~ exit\ [0-9]+$ && ! $output =~ exit\ (124|13[0-9])$ ]]
}

@test "a manifest of 64 MB that is 65 kB in its bundle: every command that reads bundles" {
    local file
    ssh-keygen -q -t ed25519 -N '' -f key
    cat >inventory.yaml <<EOF
version: 1
services: { s: { port: 1 } }
hosts: { h: { services: [s] } }
trackers: { t: { kind: gitlab, url: 'http://127.0.0.1:1', token_env: TOKEN } }
EOF
    for file in "$COSTLY"/*.tar.gz; do
        costs report -o out.html "$file"
        costs report --text "$file"
        costs view --no-browser "$file"
        TOKEN=x costs attach "$file" -i inventory.yaml --to t:a/b --encrypt-to key.pub --dry-run
        [[ $output == *'manifest.json is too large: it would take more than 234.9 MB of memory'* ]]
        costs bundle list "$file"
        costs bundle verify "$file"
        [[ $output == *'manifest.json is too large: it would take more than 234.9 MB of memory'* ]]
        costs bundle extract -C . "$file"
        costs resume "$file"
        rm -rf out.html b
    done
}

@test "64 MB of short lines that are 65 kB: goroutines and view" {
    local file
    costs goroutines "$COSTLY/frames.gz"
    [[ $output == *'a goroutine of the dump has more than 65536 frames'* ]]
    for file in lines.gz frames.gz stacks.gz; do
        costs goroutines "$COSTLY/$file"
        costs goroutines --json "$COSTLY/$file"
        costs view --no-browser "$COSTLY/$file"
    done
}

@test "400 kB of commas in a goroutine's state" {
    MOST_SECONDS=1 costs goroutines "$COSTLY/commas.txt"
    MOST_SECONDS=1 costs view --no-browser "$COSTLY/commas.txt"
}

@test "samples of a location of very many lines: every reader of profiles" {
    local format
    for format in top tree peek=. traces tags raw dot callgrind proto folded speedscope; do
        costs pprof "-$format" -output out "$COSTLY/inlined.pb.gz"
    done
    costs goroutines "$COSTLY/inlined.pb.gz"
    costs view --no-browser "$COSTLY/inlined.pb.gz"
    costs merge -o merged "$COSTLY/inlined.pb.gz" "$COSTLY/inlined.pb.gz"
}

@test "100 kB of targets of one port" {
    cat >inventory.yaml <<EOF
version: 1
services: { s: { port: 1 } }
hosts: { h: { services: [s] } }
discovery: [{ file_sd: '$COSTLY/equal-ports.json', host: h }]
EOF
    MOST_SECONDS=2 costs hosts -i inventory.yaml
    [[ $output == *web-80-5000* || $output == *'web-80'* ]]
    MOST_SECONDS=2 costs hosts -i inventory.yaml --services
    [[ $output == *web-80-5000* ]]
}
