#!/usr/bin/env bats
# Bundles in use: list, verify, extract, create; good, cut, changed and hostile ones.

load helper

setup_file() {
    e2e_setup_file
    # One bundle for all tests of this file.
    (cd "$RIG_DIR" && "$profgrab_program" -q --ssh-config "$SSH_CONFIG" --host file-03 --port "$RIG_PORT_rude" -o "$RIG_DIR/good.tar.gz" \
        heap goroutines)
}

@test "list and verify print tables and JSON" {
    run_profgrab bundle list "$RIG_DIR/good.tar.gz"
    assert_status 0
    assert_stdout_has 'manifest.json'
    assert_stdout_has '/heap.pb.gz'
    run_profgrab bundle list --json "$RIG_DIR/good.tar.gz"
    assert_equal "$(python3 -c 'import json,sys; print(len(json.load(sys.stdin)))' <<<"$output")" 6
    run_profgrab bundle verify --json "$RIG_DIR/good.tar.gz"
    assert_equal "$(python3 -c 'import json,sys; m=json.load(sys.stdin); print(m["intact"], m["complete"], len(m["files"]))' <<<"$output")" \
        'True True 4'
}

# gzip_profiles N LINES [DISTINCT]: writes N profiles of LINES lines to profiles/, gzip'ed with level 1. DISTINCT of them (all) differ.
gzip_profiles() {
    mkdir -p profiles
    python3 - "$1" "$2" "${3-$1}" <<'PYTHON'
import gzip, random, sys
n, lines, distinct = map(int, sys.argv[1:])
words = ["net/http.(*conn).serve", "runtime.mallocgc", "encoding/json.(*decodeState).object", "main.handle"]
for i in range(n):
    random.seed(i % distinct)
    text = "".join(f"{random.choice(words)} {random.getrandbits(40):x}\n" for _ in range(lines))
    open(f"profiles/heap-{i:04}.gz", "wb").write(gzip.compress(text.encode(), 1, mtime=0))
PYTHON
}

# pack_profiles: packs profiles/ into packed.tar.gz, and its members with tar into peer.tar.gz. The bundle is at most 3 % larger.
pack_profiles() {
    rm -rf x packed.tar.gz
    run_profgrab bundle create -o packed.tar.gz profiles
    mkdir x
    tar xzf packed.tar.gz -C x
    tar czf peer.tar.gz -C x .
    python3 - <<'PYTHON'
import os
ours, peer = (os.path.getsize(name) for name in ("packed.tar.gz", "peer.tar.gz"))
assert ours <= peer * 1.03, (ours, peer)
PYTHON
}

@test "profiles that are already gzip'ed are stored, and every reader of tar.gz reads the bundle" {
    gzip_profiles 30 9000
    pack_profiles
    gzip -t packed.tar.gz
    python3 - <<'PYTHON'
import glob, tarfile, zlib
data = open("packed.tar.gz", "rb").read()
assert all(open(name, "rb").read(32768) in data for name in glob.glob("profiles/*")), "a profile was compressed again"
member = zlib.decompressobj(31)
member.decompress(data)
assert member.eof and not member.unused_data, "more than one gzip member"
assert len([m for m in tarfile.open("packed.tar.gz") if m.name.endswith(".gz")]) == 30
PYTHON
    run_profgrab bundle verify packed.tar.gz
    assert_stdout_has 'all match the manifest'
}

@test "a bundle of very many small profiles, equal ones or text is at most 3 % larger than tar czf makes it" {
    # Profiles of 2, 5, 8.4, 13 and 55 kB.
    for lines in 250 580 960 1500 6300; do
        gzip_profiles $((375000 / lines)) "$lines"
        pack_profiles
        rm -r profiles
    done
    gzip_profiles 300 250 1
    pack_profiles
    gunzip profiles/*
    pack_profiles
}

@test "extract writes all members or one, and never replaces a file" {
    run_profgrab bundle extract "$RIG_DIR/good.tar.gz"
    assert_status 0
    dir=$output
    [[ -s $dir/file-03/port-$RIG_PORT_rude/heap.pb.gz ]]
    assert_mode "$dir" 700
    assert_mode "$dir/manifest.json" 600
    run_profgrab bundle extract "$RIG_DIR/good.tar.gz"
    assert_status 1
    assert_stderr_has 'File exists'
    mkdir sub
    run_profgrab bundle extract -C sub "$RIG_DIR/good.tar.gz" '*/heap.pb.gz'
    assert_status 0
    assert_equal "$(find sub -type f | wc -l)" 1
}

@test "extract refuses -o, and an existing directory with a hint at -C" {
    run_profgrab bundle extract -o elsewhere "$RIG_DIR/good.tar.gz"
    assert_status 2
    assert_stderr_has 'bundle extract has no option -o'
    assert_stderr_has 'hint: use -C DIR to unpack below that directory'
    assert_equal "$(ls)" ''
    run_profgrab bundle extract "$RIG_DIR/good.tar.gz"
    assert_status 0
    run_profgrab bundle extract "$RIG_DIR/good.tar.gz" '*/heap.pb.gz'
    assert_status 1
    assert_stderr_has 'File exists'
    assert_stderr_has 'hint: use -C DIR to unpack below another directory'
    # A missing member is reported first.
    run_profgrab bundle extract "$RIG_DIR/good.tar.gz" '*/heap.pb.gz' nosuch
    assert_status 1
    assert_stderr_has 'no file in the bundle matches "nosuch"'
    mkdir sub
    run_profgrab bundle extract -C sub "$RIG_DIR/good.tar.gz" nosuch
    assert_status 1
    assert_equal "$(ls sub)" ''
}

@test "create refuses a bundle as its source, and writes nothing" {
    run_profgrab bundle create -o new.tar.gz "$RIG_DIR/good.tar.gz"
    assert_status 2
    assert_stderr_has "$RIG_DIR/good.tar.gz: it is a bundle already"
    assert_stderr_has "hint: \`profgrab view $RIG_DIR/good.tar.gz\`"
    ssh-keygen -q -t ed25519 -N '' -f key
    profgrab bundle encrypt --encrypt-to key.pub -o b.tar.gz.age "$RIG_DIR/good.tar.gz"
    run_profgrab bundle create -o new.tar.gz b.tar.gz.age
    assert_status 2
    assert_stderr_has 'b.tar.gz.age is encrypted'
    assert_equal "$(echo *)" 'b.tar.gz.age key key.pub'
}

@test "verify names a changed, a missing and an unknown member, with exit code 1" {
    mkdir x
    tar xzf "$RIG_DIR/good.tar.gz" -C x
    echo more >>x/*/file-03/*/heap.pb.gz
    repack changed
    run_profgrab bundle verify changed.tar.gz
    assert_status 1
    assert_stdout_has 'CHANGED'
    assert_stderr_has '1 changed, 0 missing, 0 unknown'
    rm x/*/file-03/*/heap.pb.gz
    echo extra >x/good/extra.txt
    repack other
    run_profgrab bundle verify other.tar.gz
    assert_status 1
    assert_stdout_has 'MISSING'
    assert_stdout_has 'UNKNOWN'
}

# repack NAME: packs x/good into NAME.tar.gz, the manifest first.
repack() {
    local files=(good/manifest.json good/README.md good/report.html good/file-03)
    [[ ! -e x/good/extra.txt ]] || files+=(good/extra.txt)
    tar czf "$1.tar.gz" -C x "${files[@]}"
}

@test "cut, empty, foreign and hostile files are refused with a message" {
    head -c 3000 "$RIG_DIR/good.tar.gz" >cut.tar.gz
    run_profgrab bundle verify cut.tar.gz
    assert_status 1
    assert_stderr_has 'cut'
    : >empty.tar.gz
    run_profgrab bundle list empty.tar.gz
    assert_status 1
    echo hello >text.tar.gz
    run_profgrab bundle list text.tar.gz
    assert_status 1
    run_profgrab bundle list missing.tar.gz
    assert_status 1
    assert_stderr_has 'missing.tar.gz'
    mkdir -p evil/top
    ln -s /etc evil/top/link
    tar czf evil.tar.gz -C evil top
    run_profgrab bundle extract evil.tar.gz
    assert_status 1
    [[ ! -e top ]]
    tar czPf evil.tar.gz --transform 's,^top,../top,' -C evil top
    run_profgrab bundle extract evil.tar.gz
    assert_status 1
    [[ ! -e ../top ]]
}

@test "create makes a bundle of local profiles that verifies" {
    curl -sS -o cpu.out "http://127.0.0.1:$RIG_PORT_rude/debug/pprof/profile?seconds=1"
    curl -sS -o trace.out "http://127.0.0.1:$RIG_PORT_rude/debug/pprof/trace?seconds=0.2"
    mkdir -p deep/er
    cp cpu.out deep/er/heap.pb.gz
    echo note >deep/note.txt
    run_profgrab bundle create -o local.tar.gz --reason 'benchmark of the parser' cpu.out trace.out deep
    assert_status 0
    assert_stdout local.tar.gz
    run_profgrab bundle verify local.tar.gz
    assert_status 0
    dir=$("$profgrab_program" bundle extract local.tar.gz)
    cmp cpu.out "$dir/files/cpu.out"
    cmp cpu.out "$dir/files/er/heap.pb.gz"
    python3 "$rig_root/tests/schema.py" "$rig_root/docs/formats.md" "$dir/manifest.json"
    # With the slash that a shell's completion adds.
    run_profgrab bundle create -o slash.tar.gz deep/
    assert_status 0
    "$profgrab_program" bundle list slash.tar.gz | grep -q ' files/er/heap.pb.gz$'
    run_profgrab bundle create -o local.tar.gz cpu.out
    assert_status 1
    run_profgrab bundle create -o other.tar.gz missing.out
    assert_status 1
    assert_stderr_has 'missing.out'
    [[ ! -e other.tar.gz && ! -e other.partial ]]
}

@test "create refuses a file whose path in the bundle is too long" {
    local part dir
    part=$(printf 'x%.0s' {1..200})
    dir=d/$part/$part/$part
    mkdir -p "$dir"
    echo text >"$dir/$part.txt"
    run_profgrab bundle create -o long.tar.gz d
    assert_status 1
    assert_stderr_has "a path in the bundle would have more than 799 bytes: d/$part/"
    assert_stderr_has 'hint: give its directory as the argument: the path in the bundle then begins there; or leave it out'
    [[ ! -e long.tar.gz ]]
    run_profgrab bundle create -o long.tar.gz "$dir"
    assert_status 0
    run_profgrab bundle verify long.tar.gz
    assert_status 0
}

@test "create takes the page of an extracted bundle as an intact file" {
    mkdir x
    tar xzf "$RIG_DIR/good.tar.gz" -C x
    [[ -s x/good/report.html ]]
    run_profgrab bundle create -o again.tar.gz x/good
    assert_status 0
    assert_stderr ''
    "$profgrab_program" bundle list again.tar.gz | grep -q ' files/report.html$'
    # An error page in the place of a profile or a dump is still damaged.
    cp x/good/report.html heap.pb.gz
    cp x/good/report.html goroutines.txt
    run_profgrab bundle create -o pages.tar.gz heap.pb.gz goroutines.txt
    assert_status 3
    assert_stderr_has 'heap.pb.gz: damaged: this is an HTML page titled'
    assert_stderr_has 'goroutines.txt: damaged: this is an HTML page titled'
}
