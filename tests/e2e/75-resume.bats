#!/usr/bin/env bats
# Resume of killed and incomplete runs: good items stay unchanged and are not requested again.

# shellcheck disable=SC2030,SC2031 # each test is a subshell
load helper

setup_file() {
    # shellcheck disable=SC2119 # its arguments are lines for sshd, none here
    rig_start
    rig_sshd second 'db-*'
    export BEHAVIOURS=$RIG_DIR/behaviours
    mkdir "$BEHAVIOURS" "$BEHAVIOURS/2"
    rig_fixture rude -behaviours "$BEHAVIOURS"
    rig_fixture other -behaviours "$BEHAVIOURS/2"
    export SSH_CONFIG=$RIG_SSH_CONFIG
}

setup() {
    e2e_setup
    find "$BEHAVIOURS" -type f -delete
    cat >inventory.yaml <<YAML
version: 1
services:
  app: { port: $RIG_PORT_rude, path: /varying/debug/pprof }
  side: { port: $RIG_PORT_other, path: /varying/debug/pprof }
hosts:
  web-01: { services: [app, side] }
  web-02: { services: [app] }
  db-01: { services: [side] }
YAML
    chmod 600 inventory.yaml
    export PROFGRAB_INVENTORY=$PWD/inventory.yaml
}

# set_behaviour PROFILE [PREFIX]: from now on, app answers requests for that profile as the prefix of the fixture does; without
# PREFIX, correctly.
set_behaviour() {
    rm -f "$BEHAVIOURS/$1"
    [[ -z ${2-} ]] || echo "$2" >"$BEHAVIOURS/$1"
}

# Prints the number of requests to app for that profile since forget_requests.
count_requests() {
    grep -c "$1" "$BEHAVIOURS/asked" || :
}
forget_requests() { rm -f "$BEHAVIOURS/asked" "$BEHAVIOURS/2/asked"; }

# start ARG...: runs profgrab in the background as $pid, with its output in path and log.
start() {
    if [[ $1 == resume ]]; then set -- "$1" --ssh-config "$SSH_CONFIG" "${@:2}"; else set -- --ssh-config "$SSH_CONFIG" "$@"; fi
    "$profgrab_program" "$@" >path 2>log 3>&- &
    pid=$!
}

# kill_when COMMAND...: kills the process $pid with SIGKILL once the command succeeds.
kill_when() {
    local i
    for ((i = 0; i < 500; i++)); do
        ! "$@" 2>/dev/null || break
        kill -0 "$pid" 2>/dev/null || fail "it ended by itself: $(cat log)"
        sleep 0.02
    done
    ((i < 500)) || fail "never: $*" "$(cat log)"
    kill -KILL "$pid"
    wait "$pid" || :
}

# Succeeds if the first profile is in transfer and the second one is recorded.
in_transfer() { # PROFILE PROFILE
    compgen -G "profgrab-*.partial/web-02/app/$1.*.part" >/dev/null &&
        grep -q "\"file\": \"web-02/app/$2" profgrab-*.partial/manifest.json
}

# Waits like kill_when, without killing.
wait_until() {
    local i
    for ((i = 0; i < 500; i++)); do
        ! "$@" 2>/dev/null || return 0
        sleep 0.02
    done
    fail "never: $*" "$(cat log)"
}

# Succeeds if a file of that pattern exists and is not empty.
file_exists() { # GLOB
    [[ -s $(compgen -G "$1") ]]
}

# Succeeds if app received at least that many requests for the profile.
has_requested() { # PROFILE TIMES
    (($(grep -c "/pprof/${1#pprof}\(?\|$\)" "$BEHAVIOURS/asked") >= $2))
}

# Prints the path and hash of each good file, from the manifest of a work directory or an extracted bundle.
good_files() { # DIR
    python3 - "$1" <<'PY'
import json, sys
for host in json.load(open(sys.argv[1] + "/manifest.json"))["hosts"]:
    for service in host["services"]:
        for item in service["items"]:
            if item["status"] == "ok":
                print(item["file"], item["sha256"])
PY
}

# Removes an item from a manifest, as if the run had been killed before it recorded the item.
forget_item() { # DIR KIND
    python3 - "$@" <<'PY'
import json, sys
path = sys.argv[1] + "/manifest.json"
m = json.load(open(path))
for host in m["hosts"]:
    for service in host["services"]:
        service["items"] = [i for i in service["items"] if i["kind"] != sys.argv[2]]
json.dump(m, open(path, "w"))
PY
}

extract() { # BUNDLE: extracts it, and prints the directory
    rm -rf out
    mkdir out
    "$profgrab_program" bundle extract -C out "$1"
}

# Packs an extracted bundle again, with any content.
repack() { # DIR BUNDLE
    python3 - "$@" <<'PY'
import os, sys, tarfile
top, out = sys.argv[1:]
files = [os.path.join(d, f) for d, _, fs in os.walk(top) for f in fs]
with tarfile.open(out, "w:gz", format=tarfile.USTAR_FORMAT) as tar:
    for f in sorted(files, key=lambda f: (not f.endswith("/manifest.json"), f)):
        tar.add(f)
PY
}

# Prints every profile below a directory with its time and its hash.
state_of() { # DIR
    (cd "$1" && find . -type f -name '*.pb.gz' -printf '%p %T@\n' -exec sha256sum {} \; | sort)
}

# The bundle verifies and is complete, and its manifest follows the schema.
assert_complete() { # BUNDLE: extracts its files into $dir
    "$profgrab_program" bundle verify "$1" >verified
    ! grep 'some requested items are missing' verified || fail "it is not complete"
    dir=$(extract "$1")
    python3 "$rig_root/tests/schema.py" "$rig_root/docs/formats.md" "$dir/manifest.json"
    grep -q '"complete": true' "$dir/manifest.json"
}

@test "kill -9 during the second item: the first stays, and only the rest is requested" {
    set_behaviour allocs stall
    start --host web-02 heap allocs goroutines
    kill_when in_transfer allocs heap
    local work before
    work=$(echo profgrab-*.partial)
    before=$(state_of "$work/web-02/app" | grep heap)
    set_behaviour allocs
    forget_requests
    run_profgrab resume "$work"
    assert_status 0
    assert_stderr_has '1 of 1 services are not complete; opening web-02'
    assert_equal "$(count_requests /pprof/heap)" 0
    assert_equal "$(count_requests /pprof/allocs)" 1
    [[ ! -e $work ]]
    assert_complete "$output"
    assert_equal "$(cd "$dir" && sha256sum web-02/app/heap.pb.gz)" "$(grep -o '[0-9a-f]* .*' <<<"$before" | tail -1 | sed 's| \./| web-02/app/|')"
    grep -q '"resumed"' "$dir/manifest.json"
    [[ ! -e $dir/web-02/app/allocs.pb.gz.damaged && ! -e $dir/web-02/app/allocs.pb.gz.earlier ]]
}

@test "kill -9 at every step of a run over three hosts: resume gets all, and requests no recorded item again" {
    local step profile work before whole
    # Each step is a profile and the behaviour of app for it; pprof is the index page, which app does not answer.
    for step in pprof:silent heap:stall heap:silent allocs:silent goroutine:stall; do
        profile=${step%:*}
        set_behaviour "$profile" "${step#*:}"
        forget_requests
        start --host web-01,web-02,db-01 heap allocs goroutines
        kill_when has_requested "$profile" 2
        work=$(compgen -G 'profgrab-*.partial')
        before=$(good_files "$work")
        whole=$(find "$work" -name '*.gz' -printf '%P\n')
        set_behaviour "$profile"
        forget_requests
        run_profgrab resume -q "$work"
        assert_status 0
        # Good items are unchanged, and app received no request for an item that had arrived, recorded or not.
        assert_equal "$(comm -13 <(good_files "$(extract "$output")" | sort) <(sort <<<"$before"))" ''
        for profile in heap allocs; do
            assert_equal "$(count_requests "/pprof/$profile")" "$((2 - $(grep -c "app/$profile" <<<"$whole" || :)))"
        done
        assert_complete "$output"
        rm -rf profgrab-*
    done
}

@test "killed before the first item was recorded: resume reads the request from the work directory" {
    set_behaviour pprof silent
    start --host web-02 heap
    kill_when compgen -G 'profgrab-*.partial/manifest.json'
    set_behaviour pprof
    run_profgrab resume profgrab-*.partial
    assert_status 0
    assert_complete "$output"
}

@test "a complete file that was not recorded is adopted with a message, also if its host is down" {
    set_behaviour allocs stall
    start --host web-02 heap allocs
    kill_when in_transfer allocs heap
    local work
    work=$(echo profgrab-*.partial)
    forget_item "$work" heap
    touch -d '2020-01-02 03:04:05' "$work/web-02/app/heap.pb.gz"
    set_behaviour allocs
    forget_requests
    local hash
    hash=$(sha256sum <"$work/web-02/app/heap.pb.gz")
    rig_alias gone sshd 'Port 1'
    sed 's/web-02:/web-02: { address: gone, services: [app] }\n  was:/' inventory.yaml >gone.yaml
    chmod 600 gone.yaml
    run_profgrab resume -i gone.yaml "$work"
    assert_status 3
    assert_stderr_has "hint: \`profgrab resume -i gone.yaml -F $SSH_CONFIG $output\` fetches the missing items"
    dir=$(extract "$output")
    assert_equal "$(sha256sum <"$dir/web-02/app/heap.pb.gz")" "$hash"
    grep -q '"rule": "adopted"' "$dir/manifest.json"
    # Half of allocs exists too.
    [[ -s $dir/web-02/app/allocs.pb.gz.damaged ]]
    run_profgrab resume "$output"
    assert_status 0
    assert_equal "$(count_requests /pprof/heap)" 0
    assert_complete "$output"
    assert_equal "$(sha256sum <"$dir/web-02/app/heap.pb.gz")" "$hash"
    assert_equal "$(tar -tvzf "$output" --full-time --utc | awk '/heap.pb.gz$/ { print $4, $5 }')" '2020-01-02 03:04:05'
    [[ ! -e $dir/web-02/app/allocs.pb.gz.damaged ]]
}

@test "a partial body is kept if the new one is shorter, and removed if the new one is complete" {
    set_behaviour heap stall
    start --host web-02 heap allocs
    kill_when file_exists "profgrab-*.partial/web-02/app/heap.pb.gz.part"
    local work size
    work=$(echo profgrab-*.partial)
    size=$(stat -c %s "$work/web-02/app/heap.pb.gz.part")
    set_behaviour heap notfound
    run_profgrab resume "$work"
    assert_status 3
    assert_stderr_has 'the part of an earlier run is kept'
    local bundle=$output
    dir=$(extract "$bundle")
    assert_equal "$(stat -c %s "$dir/web-02/app/heap.pb.gz.damaged")" "$size"
    run_profgrab bundle verify "$bundle"
    assert_status 0
    set_behaviour heap
    run_profgrab resume "$bundle"
    assert_status 0
    assert_complete "$output"
    [[ -s $dir/web-02/app/heap.pb.gz && ! -e $dir/web-02/app/heap.pb.gz.damaged ]]
}

@test "a bundle without one host's items is resumed, and only that host is opened" {
    local port=$RIG_PORT_second
    rig_end second
    run_profgrab --host web-02,db-01 heap allocs
    assert_status 3
    local first=$output sum hint
    hint=$(sed -n 's/^hint: `profgrab \(resume .*\)` fetches the missing items$/\1/p' <<<"$stderr")
    sum=$(sha256sum <"$first")
    # The host is still down: resume collects nothing, and writes no bundle.
    run_profgrab resume "$first"
    assert_status 1
    assert_stderr_has "$first is unchanged"
    assert_equal "$(echo profgrab-*)" "$first"
    rig_sshd_at second "$port"
    rig_wait second 20 rig_connects "$port"
    forget_requests
    # The printed command finds the same hosts.
    run --separate-stderr bash -c "\"\$0\" ${hint:?} -v" "$profgrab_program"
    assert_status 0
    assert_stderr_has '1 of 2 services are not complete; opening db-01'
    refute_stderr_has 'web-02:'
    assert_equal "$output" "${first%.tar.gz}-2.tar.gz"
    assert_stderr_has "profgrab: $first is unchanged; the resumed bundle is ${first%.tar.gz}-2.tar.gz"
    assert_equal "$(cat "$BEHAVIOURS/asked" 2>/dev/null)" ''
    assert_equal "$(sha256sum <"$first")" "$sum"
    assert_complete "$output"
    assert_equal "$(sha256sum <"$dir/web-02/app/heap.pb.gz")" "$(sha256sum <"$(extract "$first")/web-02/app/heap.pb.gz")"
    # The bundle is complete: resume writes no third one.
    local second=$output
    run_profgrab resume "$second"
    assert_status 0
    assert_stderr_has "nothing is missing in $second"
    assert_equal "$output" "$second"
    assert_equal "$(echo profgrab-*)" "$second $first"
}

@test "-o places the new bundle, and is refused for a work directory" {
    set_behaviour heap notfound
    run_profgrab --host web-02 heap allocs
    assert_status 3
    local first=$output
    set_behaviour heap
    run_profgrab resume -o mine.tar.gz "$first"
    assert_status 0
    assert_equal "$output" mine.tar.gz
    assert_complete mine.tar.gz
    mkdir there
    run_profgrab resume -o there "$first"
    assert_status 0
    assert_equal "$output" "there/$first"
    mkdir -m 700 x.partial
    run_profgrab resume -o there x.partial
    assert_status 2
    assert_stderr_has '--output is for a bundle'
}

@test "only a damaged file is fetched again, in a work directory and in a bundle" {
    set_behaviour goroutine stall
    start --host web-02 heap allocs goroutines
    kill_when in_transfer goroutines allocs
    local work
    work=$(echo profgrab-*.partial)
    printf x >>"$work/web-02/app/heap.pb.gz"
    set_behaviour goroutine
    forget_requests
    run_profgrab resume "$work"
    assert_status 0
    assert_stderr_has 'web-02/app/heap.pb.gz is not the file that was collected: it will be fetched again'
    assert_equal "$(count_requests /pprof/heap)" 1
    assert_equal "$(count_requests /pprof/allocs)" 0
    assert_complete "$output"
    # The same with a bundle that was packed again.
    local whole=$output top=${output%.tar.gz}
    tar -xzf "$whole"
    printf x >>"$top/web-02/app/allocs.pb.gz"
    rm "$top/web-02/app/goroutines.txt"
    repack "$top" changed.tar.gz
    forget_requests
    run_profgrab resume changed.tar.gz
    assert_status 0
    assert_stderr_has 'web-02/app/goroutines.txt is missing'
    assert_equal "$output" changed-2.tar.gz
    assert_equal "$(count_requests /pprof/heap)" 0
    assert_equal "$(count_requests /pprof/allocs)" 1
    assert_complete "$output"
    # A bundle that is cut off: resume uses its intact items.
    head -c $(($(stat -c %s "$whole") - 3000)) "$whole" >cut.tar.gz
    # If no item is left and none can be fetched, the bundle remains as it was, and no directory is left.
    head -c 3000 "$whole" >short.tar.gz
    rig_alias gone sshd 'Port 1'
    sed 's/web-02:/web-02: { address: gone, services: [app] }\n  was:/' inventory.yaml >gone.yaml
    chmod 600 gone.yaml
    run_profgrab resume -i gone.yaml short.tar.gz
    assert_status 1
    assert_stderr_has 'short.tar.gz is unchanged'
    assert_equal "$(compgen -G 'short*')" short.tar.gz
    run_profgrab resume cut.tar.gz
    assert_status 0
    assert_stderr_has 'the intact items of the earlier run are kept'
    assert_complete "$output"
}

@test "a damaged item that cannot be fetched again stays damaged" {
    run_profgrab --host web-02 heap allocs
    assert_status 0
    local top=${output%.tar.gz}
    tar -xzf "$output"
    printf x >>"$top/web-02/app/heap.pb.gz"
    repack "$top" changed.tar.gz
    set_behaviour heap notfound
    set_behaviour allocs notfound
    run_profgrab resume changed.tar.gz
    # The new answer is a 404, which does not replace the damaged file.
    assert_status 3
    dir=$(extract "$output")
    grep -q '"file": "web-02/app/heap.pb.gz.damaged"' "$dir/manifest.json"
    [[ -s $dir/web-02/app/heap.pb.gz.damaged && -s $dir/web-02/app/allocs.pb.gz ]]
}

@test "a second run in a directory refuses to start, and the first one completes" {
    set_behaviour heap stall
    start --host web-02 --timeout 3s heap allocs
    wait_until file_exists "profgrab-*.partial/web-02/app/heap.pb.gz.part"
    run_profgrab resume profgrab-*.partial
    assert_status 1
    assert_stderr_has 'is in use: the run of profgrab that works in it has not ended'
    status=0
    wait "$pid" || status=$?
    assert_status 3
    run_profgrab bundle verify "$(cat path)"
    assert_status 0
}

@test "Ctrl-C during a resume keeps the work directory or the bundle, which can be resumed again" {
    set_behaviour allocs stall
    start --host web-02 heap allocs goroutines
    kill_when in_transfer allocs heap
    local work
    work=$(echo profgrab-*.partial)
    forget_requests
    start resume "$work"
    wait_until has_requested allocs 1
    # A background job of a shell ignores SIGINT: SIGTERM has the same effect.
    kill -TERM "$pid"
    status=0
    wait "$pid" || status=$?
    assert_status 143
    local bundle
    bundle=$(cat path)
    [[ -n $bundle ]] || fail "$(cat log)"
    run_profgrab bundle verify "$bundle"
    assert_status 0
    [[ ! -e $work ]]
    # After a kill during the resume of a bundle, both the work directory and the bundle can be resumed.
    start resume "$bundle"
    kill_when compgen -G "profgrab-*.partial/web-02/app/allocs.*.part"
    set_behaviour allocs
    cp "$bundle" again.tar.gz
    run_profgrab resume profgrab-*.partial
    assert_status 0
    assert_complete "$output"
    run_profgrab resume again.tar.gz
    assert_status 0
    assert_complete "$output"
}

@test "resume without the inventory of the run says how to name it" {
    set_behaviour heap notfound
    run_profgrab --host web-02 heap allocs
    assert_status 3
    local bundle=$output name
    name=${bundle%.tar.gz}
    run --separate-stderr env -u PROFGRAB_INVENTORY "$profgrab_program" resume "$bundle"
    assert_status 2
    assert_stderr_has "$bundle: unknown host \"web-02\""
    assert_stderr_has 'hint: -i FILE names the inventory of the run'
    # resume packs a work directory without its inventory.
    tar xzf "$bundle"
    chmod -R go= "$name"
    mv "$name" "$name.partial"
    mv "$bundle" first.tar.gz
    run --separate-stderr env -u PROFGRAB_INVENTORY "$profgrab_program" resume "$name.partial"
    assert_status 3
    assert_stderr_has "there is no inventory, so 1 of the run's services cannot be fetched"
    assert_stderr_has 'hint: -i FILE names the inventory of the run'
    set_behaviour heap
    run_profgrab resume -i inventory.yaml first.tar.gz
    assert_status 0
}

@test "a directory or bundle that cannot be resumed is refused with the reason" {
    mkdir -m 700 plain empty.partial ours.partial
    run_profgrab resume plain
    assert_status 1
    assert_stderr_has 'plain is no work directory of profgrab: it is not called NAME.partial'
    run_profgrab resume empty.partial/
    assert_status 1
    assert_stderr_has 'empty.partial has no manifest.json: its run ended before anything was recorded'
    assert_stderr_has 'hint: remove it, and collect anew'
    run_profgrab resume nothing.partial
    assert_status 1
    assert_stderr_has 'nothing.partial'
    chmod 720 ours.partial
    echo '{}' >ours.partial/manifest.json
    run_profgrab resume ours.partial
    assert_status 1
    assert_stderr_has 'others can write into it'
    chmod 700 ours.partial
    run_profgrab resume ours.partial
    assert_status 1
    assert_stderr_has "ours.partial: manifest.json does not belong to a profgrab bundle"
    echo '{"format": "profgrab-bundle", "version": 7}' >ours.partial/manifest.json
    run_profgrab resume ours.partial
    assert_status 1
    assert_stderr_has 'ours.partial: manifest.json is of version 7, and this program reads version 1'
    run_profgrab resume
    assert_status 2
    assert_stderr_has 'resume takes one work directory or bundle'
    # Bundles of local files, and encrypted bundles.
    run_profgrab --host web-02 heap
    local bundle=$output
    tar -xzf "$bundle"
    run_profgrab bundle create -o local.tar.gz "${bundle%.tar.gz}/web-02/app/heap.pb.gz"
    run_profgrab resume local.tar.gz
    assert_status 1
    assert_stderr_has 'the bundle has only local files'
    ssh-keygen -q -t ed25519 -N '' -f key
    "$profgrab_program" bundle encrypt --encrypt-to key.pub "$bundle"
    local next
    run_profgrab resume "$bundle.age"
    assert_status 1
    assert_stderr_has "profgrab: $bundle.age is encrypted, and resume reads only bundles in plain text"
    assert_stderr_has "hint: profgrab bundle decrypt -i IDENTITY $bundle.age && profgrab resume $bundle"
    next=$(sed -n 's/^hint: //p' <<<"$stderr")
    mv "$bundle.age" sealed
    run_profgrab resume sealed
    assert_status 1
    assert_stderr_has 'hint: profgrab bundle decrypt -i IDENTITY -o NEW.tar.gz sealed && profgrab resume NEW.tar.gz'
    # The commands in the hints work unchanged.
    mv sealed "$bundle.age"
    rm "$bundle"
    mkdir bin
    ln -s "$profgrab_program" bin/profgrab
    run --separate-stderr env PATH="$PWD/bin:$PATH" bash -c "${next/IDENTITY/key}"
    assert_status 0
    assert_stderr_has "nothing is missing in $bundle"
    # A bundle without a manifest is not reported as encrypted.
    tar -czf none.tar.gz key.pub
    run_profgrab resume none.tar.gz
    assert_status 1
    refute_stderr_has decrypt
    assert_equal "$(compgen -G 'profgrab-*.partial' || :)" ''
}

@test "a hostile manifest selects no unknown hosts, patterns, ssh options or changed services" {
    set_behaviour heap notfound
    run_profgrab --host web-02 heap allocs
    local top=${output%.tar.gz}
    tar -xzf "$output"
    cp "$top/manifest.json" true.json
    forge() { # PYTHON
        python3 -c 'import json, sys
m = json.load(open("true.json")); t = m["asked"]["targets"]
exec(sys.argv[1])
json.dump(m, open(sys.argv[2], "w"))' "$1" "$top/manifest.json"
        repack "$top" forged.tar.gz
        forget_requests
        run_profgrab resume forged.tar.gz
        assert_equal "$(cat "$BEHAVIOURS/asked" 2>/dev/null)" ''
        assert_equal "$(compgen -G '*.partial' || :)" ''
        assert_printable "$stderr"
    }
    forge 't[0]["host"] = "evil.example"'
    assert_status 2
    assert_stderr_has 'unknown host "evil.example"'
    forge 't[0]["host"] = "web-*"'
    assert_status 1
    assert_stderr_has 'web-* is no name of a host'
    forge 't[0]["host"] = "../../etc"'
    assert_status 1
    assert_stderr_has 'asked.targets[0].host is not usable as the name of a directory'
    forge 't[0]["address"] = "-oProxyCommand=touch${IFS}pwned"; m["asked"]["port"] = 1'
    assert_status 2
    forge 't[0]["address"] = "web-01"'
    assert_status 1
    assert_stderr_has 'these names mean another target in this inventory'
    forge 't[0]["service"] = "app\n"'
    assert_status 1
    forge 't.append({"host": "web-02", "service": "app"})'
    assert_status 1
    assert_stderr_has 'is requested twice'
    forge 'm["asked"]["kinds"] = ["cpu=1h"]'
    assert_status 2
    assert_stderr_has 'longer than 5 minutes'
    forge 'm["asked"]["kinds"] = 7'
    assert_status 1
    assert_stderr_has 'asked.kinds is not a list'
    forge 'm["hosts"][0]["services"][0]["items"][1]["file"] = "../../x"'
    assert_status 1
    assert_stderr_has 'is not safe'
    [[ ! -e pwned ]]
}

@test "services and hosts that no inventory defines are found again, and printed before they are opened" {
    set_behaviour heap stall
    start --host file-09 --port "$RIG_PORT_rude" --path /varying/debug/pprof heap allocs
    kill_when file_exists "profgrab-*.partial/file-09/port-$RIG_PORT_rude/heap.pb.gz.part"
    set_behaviour heap
    # The hosts are printed even with -q.
    run_profgrab resume -q profgrab-*.partial
    assert_status 0
    assert_stderr_has "opening file-09 (not in the inventory), port $RIG_PORT_rude, path /varying/debug/pprof"
    assert_complete "$output"
}

@test "a host removed from the inventory prevents no other from being fetched" {
    set_behaviour heap notfound
    run_profgrab --host web-02,db-01,web-01 --service app,side heap allocs
    assert_status 3
    local first=$output
    sed 's/web-01:/file-01:/' inventory.yaml >renamed.yaml
    chmod 600 renamed.yaml
    set_behaviour heap
    run_profgrab resume -i renamed.yaml "$first"
    assert_status 3
    assert_stderr_has 'web-01: app: not fetched: unknown host "web-01"'
    assert_stderr_has 'not complete: 1 missing'
    refute_stderr_has 'not finished'
    dir=$(extract "$output")
    [[ -s $dir/web-02/app/heap.pb.gz && -s $dir/web-01/side/heap.pb.gz && ! -e $dir/web-01/app/heap.pb.gz ]]
    # A work directory becomes a bundle even if its hosts are gone.
    sed -i 's/web-02:/file-02:/' renamed.yaml
    set_behaviour allocs stall
    start --host web-02 heap allocs
    kill_when in_transfer allocs heap
    set_behaviour allocs
    run_profgrab resume -i renamed.yaml profgrab-web-02-*.partial
    assert_status 3
    dir=$(extract "$output")
    [[ -s $dir/web-02/app/heap.pb.gz ]]
    # resume has nothing to add to the bundle.
    run_profgrab resume -i renamed.yaml "$output"
    assert_status 2
    assert_stderr_has 'unknown host "web-02"'
}

@test "two services completed by a resume are complete in the table" {
    set_behaviour heap notfound
    run_profgrab --host web-01,web-02 --service app heap allocs
    assert_status 3
    set_behaviour heap
    run_profgrab resume "$output"
    assert_status 0
    assert_stderr_has '2 of 2 services are not complete'
    refute_stderr_has 'not finished'
    grep -Eq 'web-02: app +1/1 ' <<<"$stderr" || fail_run 'one of one'
}

@test "collected items do not count for the budget; --deadline and --sync apply to resume" {
    run_profgrab --host web-02 --budget seconds=1 cpu=1s trace=0.1
    assert_status 3
    assert_stderr_has "left out: it needs 100ms of profiling, and of the budget's 1s only 0s remain"
    run_profgrab resume --budget seconds=1 "$output"
    assert_status 0
    assert_complete "$output"
    set_behaviour heap notfound
    run_profgrab --host web-01 --service app --against web-02 heap allocs
    assert_status 3
    set_behaviour heap stall
    run_profgrab resume --deadline 1s "$output"
    assert_status 3
    assert_stderr_has "heap: the run's deadline of 1s was over"
    set_behaviour heap
    # Items to compare are taken at one instant, as before.
    local second=$output
    run_profgrab resume --parallel 1 "$second"
    assert_status 2
    assert_stderr_has 'all 2 hosts are opened at once, and --parallel 1 allows fewer'
    run_profgrab resume --sync-deadline 5s "$second"
    assert_status 0
    assert_complete "$output"
    # The team is checked even if nothing is missing.
    run_profgrab resume "$output" --for nobody
    assert_status 2
    assert_stderr_has 'no team "nobody" in the inventory'
}

@test "a smaller second body does not replace the first, after Ctrl-C or a kill" {
    local signal
    for signal in TERM KILL; do
        set_behaviour heap short
        rm -f path log
        start --host web-02 --retries 1 heap
        wait_until grep -q 'again in' log
        set_behaviour heap trickle=3600
        wait_until file_exists 'profgrab-*.partial/web-02/app/heap.pb.gz.part'
        kill -"$signal" "$pid"
        wait "$pid" || :
        output=$(cat path)
        if [[ $signal == KILL ]]; then
            set_behaviour heap notfound
            run_profgrab resume profgrab-*.partial
            assert_status 1
            # The bytes of the earlier run are kept, but a 404 never becomes a profile.
            assert_stderr_has 'no item is intact: 1 damaged, see above'
            refute_stderr_has 'hint: `profgrab resume'
        fi
        dir=$(extract "$output")
        (($(stat -c %s "$dir/web-02/app/heap.pb.gz.damaged") > 100)) || fail "$(ls -l "$dir/web-02/app")"
        [[ $signal == KILL ]] || grep -q '; then interrupted' "$dir/manifest.json"
        rm -rf out profgrab-*
    done
}

@test "parca.yaml's parameters are sent with every request, also by resume, and are in no bundle" {
    cat >>inventory.yaml <<'Y'
  here: { connect: direct, address: 127.0.0.1 }
discovery: [ { parca: parca.yaml, host: here } ]
Y
    cat >parca.yaml <<Y
scrape_configs:
  - job_name: varying
    params: { tenant: [a b], key: c4n4ry }
    profiling_config: { path_prefix: /varying }
    static_configs: [ { targets: ['127.0.0.1:$RIG_PORT_rude'] } ]
Y
    set_behaviour heap notfound
    run_profgrab --host here heap cpu=1s
    assert_status 3
    set_behaviour heap
    run_profgrab resume "$output"
    assert_status 0
    (($(wc -l <"$BEHAVIOURS/asked") >= 5))
    grep -q '^/debug/pprof/profile?seconds=1&tenant=a%20b&key=c4n4ry$' "$BEHAVIOURS/asked"
    run ! grep -v 'tenant=a%20b&key=c4n4ry$' "$BEHAVIOURS/asked"
    assert_complete "$(echo profgrab-*-2.tar.gz)"
    run ! grep -r c4n4ry "$dir"
}

@test "--json has the result of a resume" {
    set_behaviour heap notfound
    run_profgrab --host web-02 heap allocs
    set_behaviour heap
    run_profgrab resume --json "$output"
    assert_status 0
    python3 - "$output" <<'PY'
import json, sys
got = json.loads(sys.argv[1])
assert got["complete"] and got["exit_code"] == 0 and got["bundle"].endswith("-2.tar.gz"), got
assert [i["kind"] for i in got["items"]] == ["heap"], got
PY
    run_profgrab resume --json "$(python3 -c 'import json,sys; print(json.loads(sys.argv[1])["bundle"])' "$output")"
    assert_status 0
    assert_stdout_has '"complete": true'
}
