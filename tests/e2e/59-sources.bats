#!/usr/bin/env bats
# Bundles, plain and encrypted, as sources of the commands that read profiles and dumps; output files of reports and merged
# profiles; full pipes.

# shellcheck disable=SC2030,SC2031 # each test is a subshell
load helper

setup_file() {
    e2e_setup_file
    cd "$RIG_DIR" || return
    (umask 077 && cat >two.yaml) <<YAML
version: 1
services:
  node_exporter: { port: $RIG_PORT_node_exporter }
  caddy: { port: $RIG_PORT_caddy }
hosts:
  file-03: { services: [node_exporter, caddy] }
YAML
    local name
    for name in old new; do
        "$profgrab_program" -q --ssh-config "$SSH_CONFIG" -i two.yaml --host file-03 -o "$RIG_DIR/$name.tar.gz" heap goroutines trace=1s
    done
    "$profgrab_program" -q --ssh-config "$SSH_CONFIG" -i two.yaml --host file-03 --service caddy -o "$RIG_DIR/one.tar.gz" heap
    ssh-keygen -q -t ed25519 -N '' -f key
    ssh-keygen -q -t ed25519 -N open-sesame -a 2 -f locked
    "$profgrab_program" bundle encrypt --encrypt-to key.pub new.tar.gz >/dev/null
    "$profgrab_program" bundle encrypt --encrypt-to key.pub one.tar.gz >/dev/null
    "$profgrab_program" bundle encrypt --encrypt-to locked.pub -o locked.age new.tar.gz >/dev/null
}

setup() {
    e2e_setup
    cp "$RIG_DIR"/{old,new,one}.tar.gz "$RIG_DIR"/{new,one}.tar.gz.age "$RIG_DIR/locked.age" .
}

# ---- bundles ----------------------------------------------------------------------------------------------------

@test "goroutines of a bundle reports each service, and its growth between two bundles" {
    local service
    run_profgrab goroutines new.tar.gz
    assert_status 0
    for service in node_exporter caddy; do
        assert_equal "$(grep -c "^file-03/$service/goroutines" <<<"$output")" 1
    done
    assert_equal "$(grep -c 'goroutines in' <<<"$output")" 2
    assert_equal "$(LC_ALL=C grep '[^[:print:][:space:]]' <<<"$output")" ''
    run_profgrab goroutines --json new.tar.gz
    assert_equal "$(python3 -c 'import json,sys; print(len(json.load(sys.stdin)))' <<<"$output")" 2
    run_profgrab goroutines old.tar.gz new.tar.gz
    assert_status 0
    assert_equal "$(grep -c 'since the first dump' <<<"$output")" 2
    run_profgrab goroutines "new.tar.gz:file-03/caddy/goroutines.txt"
    assert_status 0
    assert_equal "$(grep -c 'goroutines in' <<<"$output")" 1
    run_profgrab goroutines one.tar.gz
    assert_status 1
    assert_stderr_has 'one.tar.gz has no dump of goroutines'
}

@test "goroutines of a file of another type is an error that names the type" {
    gunzip <new.tar.gz >new.tar
    run_profgrab goroutines new.tar
    assert_status 1
    assert_stderr_has 'new.tar is no dump of goroutines: it is a bundle or tarball'
    run_profgrab goroutines new.tar.gz:file-03/caddy/trace.out
    assert_status 1
    assert_stderr_has 'it is an execution trace'
    # A command in a hint works.
    assert_stderr_has 'hint: `profgrab bundle extract` unpacks it'
    run_profgrab goroutines new.tar
    assert_stderr_has 'hint: `gzip new.tar` makes a file that profgrab reads'
    gzip -c new.tar >again.tar.gz
    run_profgrab goroutines again.tar.gz
    assert_status 0
    run_profgrab goroutines - <new.tar.gz
    assert_status 1
    assert_stderr_has 'hint: save it to a file for `profgrab bundle list FILE`'
    printf 'goroutine 1 [running]:\nmain.main()\n\0\1\2' >binary
    run_profgrab goroutines binary
    assert_status 1
    assert_stderr_has 'binary is no dump of goroutines: it is not text'
    run_profgrab goroutines new.tar.gz:file-03/caddy/heap.pb.gz
    assert_status 1
    assert_stderr_has 'this is a profile, but not of goroutines'
    assert_stderr_has 'hint: `profgrab pprof -top new.tar.gz:file-03/caddy/heap.pb.gz` shows it'
}

@test "view of a file that is neither a profile nor a dump names the type and the command that reads it" {
    run_profgrab view --no-browser new.tar.gz:file-03/caddy/trace.out
    assert_status 1
    assert_stderr_has 'new.tar.gz:file-03/caddy/trace.out: neither a profile nor a dump of goroutines'
    assert_stderr_has 'hint: it is an execution trace: `profgrab bundle extract` unpacks it, and `go tool trace FILE` shows it'
    echo nothing >none
    run_profgrab view --no-browser none
    assert_status 1
    assert_equal "$stderr" 'profgrab: none: neither a profile nor a dump of goroutines'
}

@test "view refuses a tarball or a page that contains lines of a dump, as goroutines does" {
    gunzip <new.tar.gz >new.tar
    run_profgrab view --no-browser new.tar
    assert_status 1
    assert_stderr_has 'new.tar is no dump of goroutines: it is a bundle or tarball'
    run_profgrab view --no-browser - <new.tar
    assert_status 1
    assert_stderr_has 'it is a bundle or tarball'
    { echo '<!DOCTYPE html>'; tar xzOf new.tar.gz new/file-03/caddy/goroutines.txt; } >page.txt
    run_profgrab view --no-browser page.txt
    assert_status 1
    assert_stderr_has 'page.txt is no dump of goroutines: it is an HTML page'
}

@test "a directory, a misspelt member and an empty member have hints that name the next command" {
    local command
    mkdir left.partial plain
    for command in 'view --no-browser' goroutines 'pprof -top' 'report -o x' 'bundle list' 'bundle verify' \
        'bundle encrypt --encrypt-to key.pub'; do
        # shellcheck disable=SC2086 # several words
        run_profgrab $command left.partial/
        ((status != 0)) || fail "$command"
        assert_stderr_has 'hint: `profgrab resume left.partial` fetches the missing items and packs the bundle'
        # shellcheck disable=SC2086
        run_profgrab $command plain
        assert_stderr_has 'hint: it is a directory: name a bundle, or a file in it'
    done
    run_profgrab pprof -top new.tar.gz:file-03/caddy/hep.pb.gz
    assert_status 2
    assert_stderr_has 'the bundle has no file file-03/caddy/hep.pb.gz'
    assert_stderr_has 'hint: did you mean "file-03/caddy/heap.pb.gz"'
    run_profgrab goroutines new.tar.gz:nope
    assert_status 1
    assert_stderr_has 'hint: `profgrab bundle list new.tar.gz` lists its contents'
    # A bundle and a colon, as completion leaves them, name the bundle, not a host "one.tar.gz".
    run_profgrab pprof -top one.tar.gz:
    assert_status 0
    refute_stderr_has 'Fetching'
    run_profgrab pprof -top new.tar.gz:
    assert_status 2
    assert_stderr_has 'new.tar.gz has 4 profiles: name one of them'
}

@test "pprof -output and diff -output do not replace the bundle that they read" {
    cp one.tar.gz before.tar.gz
    ln one.tar.gz link.tar.gz
    run_profgrab pprof -top -output one.tar.gz one.tar.gz
    assert_status 2
    assert_stderr_has 'one.tar.gz is the bundle that is read, and the report would replace it'
    run_profgrab diff -output link.tar.gz new.tar.gz:file-03/caddy/heap.pb.gz one.tar.gz
    assert_status 2
    assert_stderr_has 'link.tar.gz is the bundle that is read'
    cmp one.tar.gz before.tar.gz
}

@test "view of a dump with too many stacks gives the same reason as goroutines" {
    awk 'BEGIN { for (i = 0; i < 200001; i++) printf "goroutine 1 [x]:\n%d\n\n", i }' >many
    run_profgrab goroutines many
    assert_status 1
    assert_equal "$stderr" 'profgrab: many: the dump has more than 200000 different stacks'
    run_profgrab view --no-browser many
    assert_status 1
    assert_equal "$stderr" 'profgrab: many: the dump has more than 200000 different stacks'
}

# swap_profile BUNDLE NEW [SERVICE...]: copies the bundle without dumps as text; the goroutine profiles of these services
# (default: node_exporter) get the bytes of a heap profile.
swap_profile() {
    PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$rig_root/tests/e2e python3 - "$@" <<'PYTHON'
import hashlib, json, sys
from spoil import Bundle, items
bundle = Bundle(sys.argv[1])
heap = bundle.get("file-03/node_exporter/heap.pb.gz")
swapped = [f"file-03/{service}/goroutines.pb.gz" for service in sys.argv[3:] or ["node_exporter"]]
for file in swapped:
    bundle.put(file, heap)
manifest = json.loads(bundle.get("manifest.json"))
for item in items(manifest):
    if item["file"] in swapped:
        item["bytes"], item["sha256"] = len(heap), hashlib.sha256(heap).hexdigest()
for host in manifest["hosts"]:
    for service in host["services"]:
        service["items"] = [i for i in service["items"] if not i.get("file", "").endswith("goroutines.txt")]
bundle.put("manifest.json", json.dumps(manifest).encode())
bundle.entries = [e for e in bundle.entries if not e[0].name.endswith("goroutines.txt")]
open(sys.argv[2], "wb").write(bundle.gzip())
PYTHON
}

@test "a goroutine item with another type of profile is skipped by report and view" {
    swap_profile old.tar.gz swapped.tar.gz
    run_profgrab report -o page.html swapped.tar.gz
    assert_status 0
    grep -q 'not of goroutines' page.html
    run_profgrab report --text swapped.tar.gz
    assert_status 0
    run_profgrab view --no-browser swapped.tar.gz
    assert_status 0
}

@test "goroutines of a bundle continues after a dump that cannot be read" {
    swap_profile new.tar.gz swapped.tar.gz
    run_profgrab goroutines swapped.tar.gz
    assert_status 1
    assert_stderr_has 'swapped.tar.gz:file-03/node_exporter/goroutines.pb.gz: this is a profile, but not of goroutines'
    assert_stderr_has 'hint: `profgrab pprof -top swapped.tar.gz:file-03/node_exporter/goroutines.pb.gz` shows it'
    assert_stderr_has 'profgrab: 1 of 2 dumps could not be read'
    assert_equal "$(grep '^file-03/' <<<"$output")" file-03/caddy/goroutines.pb.gz
    assert_equal "$(grep -c 'goroutines in' <<<"$output")" 1
    run_profgrab goroutines --json swapped.tar.gz
    assert_status 1
    assert_equal "$(python3 -c 'import json,sys; print(*(d["source"] for g in json.load(sys.stdin) for d in g["dumps"]))' <<<"$output")" \
        swapped.tar.gz:file-03/caddy/goroutines.pb.gz
    run_profgrab goroutines old.tar.gz swapped.tar.gz
    assert_status 1
    assert_stderr_has 'profgrab: 1 of 2 dumps could not be read'
    assert_equal "$(grep -c 'since the first dump' <<<"$output")" 1
    swap_profile new.tar.gz swapped.tar.gz node_exporter caddy
    run_profgrab goroutines --json swapped.tar.gz
    assert_status 1
    assert_equal "$output" '[]'
    assert_stderr_has 'profgrab: 2 of 2 dumps could not be read'
}

@test "diff of two bundles continues after a pair that cannot be compared" {
    swap_profile new.tar.gz swapped.tar.gz
    run_profgrab diff old.tar.gz swapped.tar.gz
    assert_status 2
    assert_stderr_has 'file-03/node_exporter/goroutines.pb.gz: '
    assert_stderr_has '1 of 4 profiles could not be compared'
    assert_equal "$(grep -c '^File: ' <<<"$output")" 3
}

@test "pprof of a bundle reads its only profile or lists them; a pattern may match several" {
    run_profgrab pprof -top one.tar.gz
    assert_status 0
    assert_stdout_has 'File: caddy'
    run_profgrab pprof -top new.tar.gz
    assert_status 2
    assert_stderr_has '  new.tar.gz:file-03/caddy/heap.pb.gz'
    assert_stderr_has '  new.tar.gz:file-03/node_exporter/heap.pb.gz'
    assert_stderr_has "hint: \`profgrab pprof -top new.tar.gz:file-03/caddy/goroutines.pb.gz\` reads one, and 'new.tar.gz:*/goroutines.pb.gz' adds up those that match"
    run_profgrab pprof -top 'new.tar.gz:*/caddy/heap.pb.gz'
    assert_status 0
    assert_stdout_has 'File: caddy'
    assert_equal "$stderr" ''
    run_profgrab pprof -top 'new.tar.gz:*/heap.pb.gz'
    assert_status 0
    assert_equal "$stderr" "new.tar.gz:*/heap.pb.gz: 2 profiles are added up:
  new.tar.gz:file-03/node_exporter/heap.pb.gz
  new.tar.gz:file-03/caddy/heap.pb.gz
warning: the added profiles are of different programs, one of them prometheus-node-exporter: name a single profile to see it alone"
    profgrab pprof -raw 'new.tar.gz:*/heap.pb.gz' >both
    profgrab pprof -raw new.tar.gz:file-03/node_exporter/heap.pb.gz new.tar.gz:file-03/caddy/heap.pb.gz >each
    cmp both each
    run_profgrab pprof -top 'new.tar.gz:*/nothing'
    assert_status 2
    assert_stderr_has 'no file of new.tar.gz matches */nothing'
    run_profgrab merge -o merged.pb.gz one.tar.gz 'new.tar.gz:*/caddy/heap*@2'
    assert_status 0
    run_profgrab merge -o merged2.pb.gz new.tar.gz
    assert_status 2
    assert_stderr_has '  new.tar.gz:file-03/caddy/heap.pb.gz'
}

@test "diff of a bundle and a member compares profiles of the same service and kind" {
    run_profgrab diff old.tar.gz new.tar.gz:file-03/caddy/heap.pb.gz
    assert_status 0
    assert_equal "$stderr" 'old.tar.gz: comparing with file-03/caddy/heap.pb.gz, its profile of the same service and kind'
    assert_equal "$output" "$(profgrab diff old.tar.gz:file-03/caddy/heap.pb.gz new.tar.gz:file-03/caddy/heap.pb.gz)"
    run_profgrab diff new.tar.gz:file-03/caddy/heap.pb.gz old.tar.gz
    assert_status 0
    assert_equal "$stderr" 'old.tar.gz: comparing with file-03/caddy/heap.pb.gz, its profile of the same service and kind'
    tar -xzOf new.tar.gz new/file-03/caddy/heap.pb.gz >heap.pb.gz
    run_profgrab diff old.tar.gz heap.pb.gz
    assert_status 2
    assert_stderr_has 'hint: `profgrab diff old.tar.gz:file-03/caddy/goroutines.pb.gz NEW` reads one'
    run_profgrab diff heap.pb.gz old.tar.gz
    assert_status 2
    assert_stderr_has 'hint: `profgrab diff OLD old.tar.gz:file-03/caddy/goroutines.pb.gz` reads one'
}

@test "diff of two bundles compares services and kinds that both have" {
    run_profgrab diff old.tar.gz new.tar.gz
    assert_status 0
    assert_stdout_has 'file-03/node_exporter/heap.pb.gz'
    assert_stdout_has 'file-03/caddy/heap.pb.gz'
    profgrab diff old.tar.gz:file-03/caddy/heap.pb.gz new.tar.gz:file-03/caddy/heap.pb.gz >caddy
    [[ $output == *"$(cat caddy)"* ]] || fail "$output"
    run_profgrab diff one.tar.gz new.tar.gz
    assert_status 0
    assert_stdout_has 'File: caddy'
    assert_stderr_has 'file-03/node_exporter/heap.pb.gz: only in the second bundle'
    run_profgrab diff new.tar.gz one.tar.gz
    assert_status 0
    assert_stderr_has 'file-03/node_exporter/heap.pb.gz: only in the first bundle'
    run_profgrab diff new.tar.gz nosuch.tar.gz
    assert_status 2
    assert_equal "$stderr" 'stat nosuch.tar.gz: no such file or directory'
    run_profgrab diff -output x old.tar.gz new.tar.gz
    assert_status 2
    assert_stderr_has '-output takes one report'
    [[ ! -e x ]]
}

@test "pprof of a file of another type names the type and the command that reads it" {
    run_profgrab pprof -top new.tar.gz:file-03/caddy/trace.out
    assert_status 2
    assert_stderr_has 'parsing profile: unrecognized profile format'
    assert_stderr_has 'it is an execution trace'
    assert_stderr_has 'go tool trace'
    run_profgrab pprof -top new.tar.gz:file-03/caddy/goroutines.txt
    assert_status 2
    assert_stderr_has '`profgrab goroutines new.tar.gz:file-03/caddy/goroutines.txt` shows it'
    echo '<!DOCTYPE html><p>Sign in' >page
    run_profgrab pprof -top page
    assert_stderr_has 'it is an HTML page'
}

# list_entries FILE...: sets $entries to the form and the title of each entry on the page of `profgrab view` for these files.
list_entries() {
    run_profgrab view --no-browser "$@"
    assert_status 0
    entries=$(python3 - "$output" <<'PY'
import json, re, sys
text = open(sys.argv[1], encoding="utf-8").read()
bundle = json.loads(re.search(r'<script type="application/json" id="bundle">(.*?)</script>', text, re.S).group(1))
print(*(f'{e["form"]} {e["title"]}' for e in bundle["data"]), sep="\n")
PY
    )
}

@test "view of BUNDLE:PATTERN and of several bundles lists every profile and dump by bundle and member" {
    list_entries 'new.tar.gz:*/heap.pb.gz'
    assert_equal "$entries" 'profile new.tar.gz:file-03/node_exporter/heap.pb.gz
profile new.tar.gz:file-03/caddy/heap.pb.gz'
    mkdir elsewhere
    mv new.tar.gz elsewhere
    list_entries 'elsewhere/new.tar.gz:*/caddy/*' "$RIG_DIR/old.tar.gz:file-03/caddy/heap.pb.gz"
    assert_equal "$entries" 'profile new.tar.gz:file-03/caddy/heap.pb.gz
goroutines new.tar.gz:file-03/caddy/goroutines.pb.gz
profile new.tar.gz:file-03/caddy/goroutines.pb.gz
goroutines new.tar.gz:file-03/caddy/goroutines.txt
profile old.tar.gz:file-03/caddy/heap.pb.gz'
    list_entries one.tar.gz old.tar.gz
    assert_equal "$entries" 'profile one.tar.gz:file-03/caddy/heap.pb.gz
profile old.tar.gz:file-03/node_exporter/heap.pb.gz
goroutines old.tar.gz:file-03/node_exporter/goroutines.pb.gz
profile old.tar.gz:file-03/node_exporter/goroutines.pb.gz
goroutines old.tar.gz:file-03/node_exporter/goroutines.txt
profile old.tar.gz:file-03/caddy/heap.pb.gz
goroutines old.tar.gz:file-03/caddy/goroutines.pb.gz
profile old.tar.gz:file-03/caddy/goroutines.pb.gz
goroutines old.tar.gz:file-03/caddy/goroutines.txt'
    list_entries --identity "$RIG_DIR/key" 'new.tar.gz.age:*heap*'
    assert_equal "$entries" 'profile new.tar.gz.age:file-03/node_exporter/heap.pb.gz
profile new.tar.gz.age:file-03/caddy/heap.pb.gz'
    run_profgrab view --no-browser 'one.tar.gz:*/cpu*'
    assert_status 1
    assert_stderr_has 'profgrab: no file of one.tar.gz matches */cpu*'
    assert_stderr_has 'hint: `profgrab bundle list one.tar.gz` lists its contents'
    run_profgrab view --no-browser 'old.tar.gz:*trace*'
    assert_status 1
    assert_stderr_has 'trace'
    assert_equal "$(compgen -G "$XDG_RUNTIME_DIR/*.html" | wc -l)" 4
}

# ---- encrypted bundles ---------------------------------------------------------------------------------------------

@test "encrypted bundles are read with -i or with the usual keys, and a hint names the option" {
    local command
    for command in 'goroutines new.tar.gz.age' 'pprof -top one.tar.gz.age' 'diff new.tar.gz.age new.tar.gz.age' \
        'report --text one.tar.gz.age' 'view --no-browser one.tar.gz.age' 'merge -o merged one.tar.gz.age' \
        'pprof -top new.tar.gz.age:file-03/caddy/heap.pb.gz' 'view --no-browser new.tar.gz.age:file-03/caddy/heap.pb.gz' \
        'goroutines new.tar.gz.age:file-03/caddy/goroutines.txt'; do
        rm -rf merged "$HOME/.ssh"
        # shellcheck disable=SC2086 # several words
        run_profgrab $command
        ((status != 0)) || fail "$command"
        assert_stderr_has 'it is encrypted to'
        case $command in
        pprof*) assert_stderr_has 'hint: -identity FILE' ;;
        diff*) assert_stderr_has 'hint: --identity FILE' ;;
        goroutines* | merge* | 'view --no-browser new'*) assert_stderr_has 'hint: --identity FILE' ;;
        *) assert_stderr_has '-i FILE' ;;
        esac
        # shellcheck disable=SC2086
        run_profgrab ${command%% *} --identity "$RIG_DIR/key" ${command#* }
        assert_status 0
        rm -f merged
        mkdir -m 700 "$HOME/.ssh"
        cp "$RIG_DIR/key" "$HOME/.ssh/id_ed25519"
        # shellcheck disable=SC2086
        run_profgrab $command
        assert_status 0
    done
}

@test "pprof and diff try each identity that the command line names" {
    local which
    ssh-keygen -q -t ed25519 -N '' -f other
    "$profgrab_program" bundle encrypt --encrypt-to other.pub -o other.age old.tar.gz >/dev/null
    for which in "-identity other -identity $RIG_DIR/key" "-identity $RIG_DIR/key -identity other"; do
        # shellcheck disable=SC2086 # several words
        run_profgrab pprof -top $which new.tar.gz.age:file-03/caddy/heap.pb.gz
        assert_status 0
        # shellcheck disable=SC2086
        run_profgrab diff ${which//-identity/--identity} other.age new.tar.gz.age
        assert_status 0
    done
}

@test "a usual key that is unreadable or of another type is skipped" {
    mkdir -m 700 "$HOME/.ssh"
    echo nonsense >"$HOME/.ssh/id_rsa"
    ssh-keygen -q -t ecdsa -N '' -f "$HOME/.ssh/id_ed25519"
    run_profgrab pprof -top one.tar.gz.age
    assert_status 2
    assert_stderr_has 'it is encrypted to'
    run_profgrab pprof -top one.tar.gz
    assert_status 0
}

@test "a key's passphrase is asked for once for all members" {
    cat >askpass <<'SCRIPT'
#!/bin/sh
echo "$1" >>asked
echo open-sesame
SCRIPT
    chmod 700 askpass
    export SSH_ASKPASS=$PWD/askpass SSH_ASKPASS_REQUIRE=force
    run_profgrab diff -identity "$RIG_DIR/locked" locked.age locked.age
    assert_status 0
    assert_equal "$(wc -l <asked)" 1
    rm asked
    run_profgrab goroutines -i "$RIG_DIR/locked" locked.age
    assert_status 0
    assert_equal "$(wc -l <asked)" 1
}

@test "a passphrase is read from a file, and a hint names the option if nobody can be asked" {
    local command name
    (umask 077 && echo open-sesame >word)
    for name in one new; do
        env -u SSH_ASKPASS "$profgrab_program" bundle encrypt --passphrase --passphrase-file word -o "$name.locked" "$name.tar.gz" >/dev/null
    done
    for command in 'goroutines new.locked' 'pprof -top one.locked' 'diff new.locked new.locked' 'report --text one.locked' \
        'view --no-browser one.locked' 'merge -o merged one.locked' 'pprof -top new.locked:file-03/caddy/heap.pb.gz' \
        "pprof -identity $RIG_DIR/locked -top locked.age:file-03/caddy/heap.pb.gz" "diff -identity $RIG_DIR/locked locked.age locked.age"; do
        rm -f merged
        # shellcheck disable=SC2086 # several words
        run setsid "$profgrab_program" $command
        ((status != 0)) || fail "$command"
        [[ $output == *'there is no terminal to ask on'* ]] || fail "$output"
        [[ $output == *'hint: --passphrase-file FILE names a file with the passphrase in its first line'* ]] || fail "$output"
        # shellcheck disable=SC2086
        run_profgrab ${command%% *} --passphrase-file word ${command#* }
        assert_status 0
        echo wrong >>word
        sed -i 1d word
        rm -f merged
        # shellcheck disable=SC2086
        run_profgrab ${command%% *} --passphrase-file word ${command#* }
        ((status != 0)) || fail "$command"
        assert_stderr_has 'the first line of word is not the right passphrase'
        echo open-sesame >word
    done
}

@test "no decrypted data is written to a disk" {
    strace -o /dev/null true 2>/dev/null || skip 'strace cannot trace here'
    local before command files
    # A profile with a mangled name, which c++filt reads: string_table "", "samples", "count", "_ZN6secret3barEv".
    python3 -c '
import gzip, sys
name = b"_ZN6secret3barEv"
strings = b"".join(b"\x32" + bytes([len(s)]) + s for s in (b"", b"samples", b"count", name))
sys.stdout.buffer.write(gzip.compress(b"\x0a\x04\x08\x01\x10\x02\x12\x06\x0a\x01\x01\x12\x01\x07\x22\x06\x08\x01\x22\x02\x08\x01"
                                      b"\x2a\x06\x08\x01\x10\x03\x18\x03" + strings))' >mangled.pb.gz
    profgrab bundle create -o mangled.tar.gz mangled.pb.gz
    profgrab bundle encrypt --encrypt-to "$RIG_DIR/key.pub" mangled.tar.gz
    run_profgrab pprof -top -identity "$RIG_DIR/key" mangled.tar.gz.age
    assert_stdout_has 'secret::bar'
    before=$(find . "$TMPDIR" "$XDG_RUNTIME_DIR" "$HOME" | sort)
    for command in 'pprof -top -identity' 'pprof -svg -identity' 'pprof -png -identity' 'pprof -traces -identity' 'report -o - -i' 'report --text -i' 'report --markdown -i' \
        'bundle list -i' 'bundle verify -i' 'goroutines -i' 'goroutines --json -i' 'diff -top -identity'; do
        files=(new.tar.gz.age)
        [[ $command != pprof* ]] || files=(one.tar.gz.age)
        [[ $command != *-traces* ]] || files=(mangled.tar.gz.age)
        [[ $command != diff* ]] || files+=(new.tar.gz.age)
        # shellcheck disable=SC2086 # several words
        run strace -f -e trace=openat,open,creat,openat2 -o "$RIG_DIR/calls" "$profgrab_program" $command "$RIG_DIR/key" "${files[@]}"
        assert_status 0
        assert_equal "$(grep -E 'O_(WRONLY|RDWR|CREAT|TMPFILE)' "$RIG_DIR/calls" | grep -v '/dev/\(null\|tty\)')" ''
        assert_equal "$(find . "$TMPDIR" "$XDG_RUNTIME_DIR" "$HOME" | sort)" "$before"
    done
}

@test "the picture that -web shows of an encrypted bundle is in memory" {
    [[ -d /dev/shm && -w /dev/shm ]] || skip 'there is no /dev/shm'
    printf '#!/bin/sh\necho "$1" >seen\n' >browser
    chmod +x browser
    BROWSER=$PWD/browser run_profgrab pprof -web -identity "$RIG_DIR/key" one.tar.gz.age
    assert_status 0
    [[ $(cat seen) == /dev/shm/pprof*.svg && ! -e $(cat seen) ]] || fail_run "$(cat seen)"
    BROWSER=$PWD/browser run_profgrab pprof -web one.tar.gz
    [[ $(cat seen) == "$TMPDIR"/pprof*.svg ]] || fail_run "$(cat seen)"
}

# ---- output files -------------------------------------------------------------------------------------------------

@test "pprof -output replaces a file, or the link itself, when the report is whole" {
    echo precious >precious
    ln -s precious link
    run_profgrab pprof -top -output link one.tar.gz
    assert_status 0
    assert_equal "$(cat precious)" precious
    [[ -f link && ! -L link ]]
    grep -q 'File: caddy' link
    (umask 027 && run_profgrab pprof -top -output new one.tar.gz)
    assert_mode new 640
    echo old >report
    chmod 640 report
    run_profgrab pprof -top -output report one.tar.gz
    assert_status 0
    grep -q 'File: caddy' report
    assert_mode report 640
    run_profgrab pprof -top -focus='(' -output report one.tar.gz
    assert_status 2
    grep -q 'File: caddy' report
    mkdir directory
    run_profgrab pprof -top -output directory one.tar.gz
    assert_status 2
    assert_equal "$(find . -name '*.tmp-*')" ''
}

@test "files of pprof, its shell, diff and merge have the modes that the umask allows" {
    umask 027
    run_profgrab pprof -top -output report one.tar.gz
    run_profgrab diff -top -output difference one.tar.gz one.tar.gz
    run_profgrab merge -o merged.pb.gz one.tar.gz one.tar.gz
    printf 'top >typed\nproto >typed.pb.gz\n' | run_profgrab pprof one.tar.gz
    local file
    for file in report difference merged.pb.gz typed typed.pb.gz; do assert_mode "$file" 640; done
}

@test "pprof -output and merge -o write to a FIFO and to /dev/stdout" {
    mkfifo pipe
    cat pipe >got &
    local reader=$!
    run_profgrab pprof -top -output pipe one.tar.gz
    assert_status 0
    wait "$reader"
    grep -q 'File: caddy' got
    [[ -p pipe ]]
    run_profgrab pprof -top -output /dev/stdout one.tar.gz
    assert_status 0
    assert_stdout_has 'File: caddy'
    # Other spellings of a descriptor's name. (One of /dev/stdout would replace the machine's link if it were taken for a file.)
    local name
    for name in /proc/self/../self//fd/./1 /proc/thread-self/fd/1 /dev/fd//1 /dev/../dev/fd/1; do
        run_profgrab pprof -top -output "$name" one.tar.gz
        assert_status 0
        assert_stdout_has 'File: caddy'
    done
    echo before >seven
    "$profgrab_program" pprof -top -output /dev/fd/7 one.tar.gz 7>>seven 2>/dev/null
    grep -q 'File: caddy' seven
    grep -q before seven
    # Other writers of standard output keep their bytes.
    { echo before && "$profgrab_program" pprof -top -output /dev/stdout one.tar.gz && echo after; } >all 2>/dev/null
    assert_equal "$(sed '1p;/^File:/p;$p;d' all)" $'before\nFile: caddy\nafter'
    "$profgrab_program" merge -o /dev/stdout one.tar.gz 2>/dev/null | cat >merged.pb.gz
    run_profgrab pprof -top merged.pb.gz
    assert_status 0
}

@test "pprof -output and merge -o take a path below /dev or /proc for a file, unless it is a device or names a descriptor" {
    local shared path
    shared=$(mktemp -d /dev/shm/profgrab-output.XXXXXX)
    # bats ends the test in a subshell, so this removes the directory also after a failure.
    trap 'rm -rf "$shared"' EXIT
    echo keep >precious
    for path in "$shared/new" "$shared/link" /proc/self/cwd/here; do
        ln -sf "$PWD/precious" "$shared/link"
        run_profgrab pprof -top -output "$path" one.tar.gz
        assert_status 0
        [[ ! -L $path ]]
        assert_equal "$(cat precious)" keep
    done
    grep -q 'File: caddy' "$shared/new" && grep -q 'File: caddy' "$shared/link" && grep -q 'File: caddy' here
    run_profgrab pprof -tree -output "$shared/new" one.tar.gz
    assert_status 0
    assert_equal "$(grep -c 'File: caddy' "$shared/new")" 1
    for path in "$shared/new" "$shared/link" /proc/self/cwd/here; do
        run_profgrab merge -o "$path" one.tar.gz
        assert_status 1
        assert_stderr_has "$path exists already"
    done
    ln -sf "$PWD/precious" "$shared/link"
    run_profgrab merge --force -o "$shared/link" one.tar.gz
    assert_status 0
    assert_equal "$(cat precious)" keep
    run_profgrab pprof -top -output /dev/null one.tar.gz
    assert_status 0
}

@test "a terminal gets no escape sequence of a profile and no binary output, whatever name -output gives it" {
    printf '\n\x04\x08\x01\x10\x02\x12\x06\x0a\x01\x01\x12\x01\x05\x22\x08\x08\x01\x22\x04\x08\x01\x10\x01\x2a\x04\x08\x01\x10\x032\x002\x03cpu2\x02ns2\x0ea\x1b]0;pwn\x07b\x1b[2J' >escape.pb
    local name
    for name in /dev/tty /dev/fd/2 /dev/stdout; do
        with_pty -- "$profgrab_program" pprof -top -output="$name" escape.pb
        assert_status 0
        [[ $output != *$'\e'* && $output != *$'\a'* ]] || fail_run
        [[ $output == *pwn* ]] || fail_run
        with_pty -- "$profgrab_program" pprof -proto -output="$name" escape.pb
        assert_status 2
        [[ $output == *'a terminal cannot show this output'* ]] || fail_run
    done
    with_pty -- "$profgrab_program" merge -o /proc/self/fd/2 escape.pb
    [[ $output == *'a terminal cannot show this output'* ]] || fail_run
}

@test "no message shows the password of a URL" {
    local command word
    for command in 'merge -o m' goroutines view report 'bundle list' 'bundle create -o q.tar.gz' resume 'pprof -top' diff; do
        for word in http://u:sesame@127.0.0.1:99999/a 'https://u:ses/ame@[bad/sesame' http:/u:sesame@127.0.0.1:1/ http:u:sesame@x:1; do
            # shellcheck disable=SC2086 # words
            run_profgrab $command "$word" "$word"
            [[ $status != 0 && $output$stderr != *:sesame@* ]] || fail_run "$command $word"
        done
    done
    run_profgrab report http://u:sesame@127.0.0.1:1/x
    assert_stderr_has 'http://u:xxxxx@127.0.0.1:1/x'
}

@test "merge -o - writes to standard output, makes no file of that name, and refuses a terminal" {
    "$profgrab_program" merge -o - one.tar.gz >merged.pb.gz 2>messages
    assert_equal "$(cat messages)" ''
    [[ ! -e ./- ]] || fail 'there is a file called -'
    run_profgrab pprof -top merged.pb.gz
    assert_status 0
    assert_stdout_has 'File: caddy'
    echo kept >./-
    "$profgrab_program" merge --force -o - one.tar.gz | cmp - merged.pb.gz
    assert_equal "$(cat ./-)" kept
    run script -qec "'$profgrab_program' merge -o - one.tar.gz" /dev/null
    assert_status 2
    assert_stdout_has 'a terminal cannot show the merged profile'
    assert_equal "$(compgen -G 'profile0*')" ''
}

@test "merge -o keeps an existing file unless --force is given" {
    echo precious >out
    ln -s out link
    run_profgrab merge -o out one.tar.gz
    assert_status 1
    assert_stderr_has 'out exists already'
    assert_stderr_has '--force replaces'
    assert_equal "$(cat out)" precious
    run_profgrab merge -o link one.tar.gz
    assert_status 1
    run_profgrab merge --force -o link one.tar.gz
    assert_status 0
    assert_equal "$(cat out)" precious
    run_profgrab merge --force -o out one.tar.gz
    assert_status 0
    cmp out link
}

@test "an unknown flag is reported with the nearest flag and how to list all" {
    run_profgrab pprof -topp one.tar.gz
    assert_status 2
    assert_equal "$stderr" 'flag provided but not defined: -topp
hint: did you mean -top? `profgrab pprof -h` lists all flags'
}

@test "the shell's help text of top is correct" {
    run --separate-stderr "$profgrab_program" pprof one.tar.gz <<<'help top'
    assert_stderr_has 'the heaviest entries, one a line'
}

# ---- a full pipe ------------------------------------------------------------------------------------------------

# ends_at_full_pipe stdout|stderr CODE ARG...: runs profgrab ARG..., and sends one SIGINT while it waits for the reader of a full
# pipe. It must end with that exit code.
ends_at_full_pipe() {
    run timeout 120 python3 "$rig_root/tests/rig/full_pipe.py" "$1" "$profgrab_program" "${@:3}"
    if ((status != 0)) || [[ $output != "$2" ]]; then
        fail "${*:3}, $1: $output, not $2"
    fi
}

full_pipe_setup() {
    local i
    mkdir many extracted
    for i in {1..300}; do echo "$i" >"many/a-file-with-a-rather-long-name-$i.txt"; done
    profgrab bundle create -o many.tar.gz many >/dev/null
    cp "$RIG_DIR"/key{,.pub} .
    write_inventory
}

@test "Ctrl-C ends a command that waits for the reader of a full pipe" {
    full_pipe_setup
    local command member=new.tar.gz:file-03/caddy encrypted=one.tar.gz.age:file-03/caddy/heap.pb.gz
    for command in 'bundle list many.tar.gz' 'bundle list --json many.tar.gz' 'bundle list -i key --profiles new.tar.gz.age' \
        'bundle verify --json many.tar.gz' 'bundle create -o created.tar.gz many/a-file-with-a-rather-long-name-1.txt' \
        'bundle extract -C extracted many.tar.gz' 'bundle encrypt --encrypt-to key.pub -o encrypted.age many.tar.gz' \
        'bundle encrypt --encrypt-to key.pub -o - new.tar.gz' 'bundle encrypt --armor --encrypt-to key.pub -o - one.tar.gz' \
        'bundle decrypt -i key -o - new.tar.gz.age' 'report --markdown many.tar.gz' 'report --text -i key new.tar.gz.age' \
        'report -o - new.tar.gz' "goroutines $member/goroutines.txt" "goroutines --json $member/goroutines.txt" \
        'goroutines -i key new.tar.gz.age' 'goroutines -i key --json new.tar.gz.age' \
        "goroutines -i key new.tar.gz.age:file-03/caddy/goroutines.txt" "pprof -top $member/heap.pb.gz" \
        "pprof -identity key -top $encrypted" "pprof -identity key -proto $encrypted" "merge -o - $member/heap.pb.gz" \
        "merge -i key -o - $encrypted" 'diff old.tar.gz new.tar.gz' 'diff -identity key one.tar.gz.age one.tar.gz.age' \
        "diff -identity key $encrypted $encrypted" 'view --no-browser -i key one.tar.gz.age' \
        hosts 'hosts --json' 'hosts file-03' 'hosts --ssh' 'hosts --names' 'help grab' --version 'completion bash' \
        "check --ssh-config $SSH_CONFIG --host file-03" "check --ssh-config $SSH_CONFIG --json --host file-03" \
        "--ssh-config $SSH_CONFIG --dry-run --host file-03 heap" "--ssh-config $SSH_CONFIG --host file-03 -o 1.tar.gz heap" \
        "--ssh-config $SSH_CONFIG --json --host file-03 -o 2.tar.gz heap" "forward --ssh-config $SSH_CONFIG --host laptop" \
        "forward --ssh-config $SSH_CONFIG --json --host laptop"; do
        # shellcheck disable=SC2086 # several words
        ends_at_full_pipe stdout 130 $command
    done
    # The bundles exist, though nobody read their paths.
    for command in 1.tar.gz 2.tar.gz created.tar.gz; do
        run_profgrab bundle verify "$command"
        assert_status 0
    done
}

@test "Ctrl-C ends a command that waits for the reader of its messages" {
    full_pipe_setup
    local command
    for command in 'hosts nobody' "--ssh-config $SSH_CONFIG --host file-03 -o 1.tar.gz heap" \
        "--ssh-config $SSH_CONFIG --dry-run --host file-03 heap" "forward --ssh-config $SSH_CONFIG --host laptop" \
        'pprof -proto -output p.pb.gz one.tar.gz' 'pprof -identity key -proto -output q.pb.gz one.tar.gz.age'; do
        # shellcheck disable=SC2086 # several words
        ends_at_full_pipe stderr 130 $command
    done
    # The file was written before the message with its recipients.
    ends_at_full_pipe stderr 0 bundle encrypt --encrypt-to key.pub -o encrypted.age many.tar.gz
    [[ -s encrypted.age ]]
}
