#!/usr/bin/env bats
# Every bad bundle of the table in tests/e2e/spoil.py, plain, signed and encrypted, with every command that reads bundles. The
# command refuses the bundle with a message, writes nothing, and does not change the file.

load helper

copy_program=${COPY-$rig_root/build/gcc/tests/copy}

setup_file() {
    export RIG_DIR
    RIG_DIR=$(mktemp -d)
    cd "$RIG_DIR" || return
    for name in carol team other; do
        ssh-keygen -q -t ed25519 -N '' -C "$name" -f "$name"
    done
    echo "carol $(<carol.pub)" >allowed
    # Larger than two chunks of an encryption, so that chunks can be rearranged.
    head -c 300000 /dev/urandom >one.bin
    printf '1 @ 0x1\n# labels: {"user":"alice"}\n' >two.txt
    "$profgrab_program" bundle create -o good.tar.gz one.bin two.txt >/dev/null
    "$copy_program" -s carol good.tar.gz 2>/dev/null
    mv good-handoff.tar.gz signed.tar.gz
    cat >inventory.yaml <<YAML
version: 1
teams:
  mailed: { recipients: [ $PWD/team.pub ] }
YAML
    chmod 600 inventory.yaml
}

setup() { e2e_setup; }
teardown() { :; }
teardown_file() { rm -rf "$RIG_DIR"; }

# make_cases BUNDLE: writes the bundle of every case to the working directory, and their table.
make_cases() {
    python3 "$rig_root/tests/e2e/spoil.py" "$1" . >"$BATS_TEST_TMPDIR/table"
    (($(wc -l <"$BATS_TEST_TMPDIR/table") >= 40))
}

# assert_unchanged fails unless the working directory has the files that record_files found, with the same bytes.
record_files() { sha256sum -- * >"$BATS_TEST_TMPDIR/before"; }
assert_unchanged() {
    sha256sum --quiet -c "$BATS_TEST_TMPDIR/before" || fail "changed: $1"
    assert_equal "$(ls -A)" "$(sed 's/^[^ ]*  //' "$BATS_TEST_TMPDIR/before")"
    [[ ! -e ../x && ! -e /tmp/profgrab-x ]]
}

# expect_outcome ok|no|- WORD...: runs profgrab WORD..., which succeeds (ok) or refuses (no). With - it does nothing.
expect_outcome() {
    local outcome=$1
    shift
    [[ $outcome != - ]] || return 0
    run_profgrab "$@"
    [[ $outcome == no ]] || { assert_status 0 && return; }
    ((status == 1 || status == 2 || status == 4)) || fail_run "$*"
    assert_stderr_has 'profgrab: '
    [[ $output$stderr != *$'\033'* ]] || fail_run 'an escape sequence was printed'
}

# check_commands FILE LISTED EXTRACTED OPTION...: runs every command that reads bundles on FILE. LISTED and EXTRACTED are the
# outcomes of list and extract.
check_commands() {
    local file=$1 listed=$2 extracted=$3 below=$BATS_TEST_TMPDIR/below
    shift 3
    mkdir "$below"
    expect_outcome "$listed" bundle list "$@" "$file"
    expect_outcome no bundle verify "$@" --allowed-signers "$RIG_DIR/allowed" "$file"
    expect_outcome "$extracted" bundle extract -C "$below" "$@" "$file"
    [[ $extracted == ok ]] || assert_equal "$(ls -A "$below")" ''
    # attach does not look into an encrypted file.
    if [[ $file != *.tar.gz.age ]]; then
        expect_outcome no attach "$file" -i "$RIG_DIR/inventory.yaml" --for mailed
        refute_stderr_has 'encrypted to 1 recipient'
    fi
    rm -rf "$below"
}

@test "plain: verify and attach refuse every bad bundle; list and extract refuse files that are not bundles" {
    make_cases "$RIG_DIR/good.tar.gz"
    record_files
    while read -r name listed extracted; do
        # Without allowed signers, verify requires no signature, so it reports the defect.
        run_profgrab bundle verify "$name.tar.gz"
        assert_status 1
        check_commands "$name.tar.gz" "$listed" "$extracted"
    done <"$BATS_TEST_TMPDIR/table"
    assert_unchanged plain
}

@test "signed: verify and attach also refuse what only the signature detects" {
    make_cases "$RIG_DIR/signed.tar.gz"
    grep -q '^sender ' "$BATS_TEST_TMPDIR/table"
    record_files
    while read -r name listed extracted; do
        check_commands "$name.tar.gz" "$listed" "$extracted"
    done <"$BATS_TEST_TMPDIR/table"
    run_profgrab bundle verify --allowed-signers "$RIG_DIR/allowed" sender.tar.gz
    assert_stdout_has 'signature  BAD'
    assert_unchanged signed
}

@test "signed and encrypted: the same within the encryption, and decrypt restores the encrypted file" {
    make_cases "$RIG_DIR/signed.tar.gz"
    local name listed extracted
    while read -r name listed extracted; do
        "$profgrab_program" bundle encrypt --encrypt-to "$RIG_DIR/team.pub" "$name.tar.gz" >/dev/null
    done <"$BATS_TEST_TMPDIR/table"
    record_files
    while read -r name listed extracted; do
        check_commands "$name.tar.gz.age" "$listed" "$extracted" -i "$RIG_DIR/team"
        "$profgrab_program" bundle decrypt -i "$RIG_DIR/team" -o - "$name.tar.gz.age" | cmp - "$name.tar.gz"
    done <"$BATS_TEST_TMPDIR/table"
    assert_unchanged encrypted
}

@test "a damaged encryption, or one to another identity, is refused: nothing is read, nothing written" {
    "$profgrab_program" bundle encrypt --encrypt-to "$RIG_DIR/team.pub" -o good.age "$RIG_DIR/signed.tar.gz" >/dev/null
    python3 - <<'PY'
import pathlib
good = pathlib.Path("good.age").read_bytes()
begin = good.index(b"\n--- ") + 5
begin = good.index(b"\n", begin) + 1 + 16
chunk = 65536 + 16
first, second, rest = good[begin:begin + chunk], good[begin + chunk:begin + 2 * chunk], good[begin + 2 * chunk:]
assert len(rest) > chunk
flip = lambda at: good[:at] + bytes([good[at] ^ 1]) + good[at + 1:]
for name, data in {
    "empty": b"", "cut-header": good[:50], "cut-nonce": good[:begin - 3], "cut-chunk": good[:-5], "cut-at-chunk": good[:begin + 2 * chunk],
    "no-chunks": good[:begin], "extended": good + b"x", "twice": good + good, "exchanged": good[:begin] + second + first + rest,
    "repeated": good[:begin] + first + first + rest, "left-out": good[:begin] + second + rest, "flip-version": flip(5),
    "flip-stanza": flip(good.index(b"-> ") + 20), "flip-mac": flip(begin - 25), "flip-nonce": flip(begin - 3),
    "flip-first": flip(begin + 7), "flip-last": flip(len(good) - 1), "flip-middle": flip(begin + chunk + 99),
}.items():
    pathlib.Path(name + ".bad").write_bytes(data)
PY
    record_files
    local file
    for file in *.bad; do
        check_commands "$file" no no -i "$RIG_DIR/team"
        expect_outcome no bundle decrypt -i "$RIG_DIR/team" -o "$BATS_TEST_TMPDIR/out" "$file"
        [[ ! -e $BATS_TEST_TMPDIR/out ]]
    done
    # A whole file, with the key of somebody else, and without a key.
    check_commands good.age no no -i "$RIG_DIR/other"
    assert_stderr_has 'is encrypted already'
    check_commands good.age no no
    expect_outcome no bundle decrypt -i "$RIG_DIR/other" -o "$BATS_TEST_TMPDIR/out" good.age
    assert_stderr_has 'it is encrypted to'
    [[ ! -e $BATS_TEST_TMPDIR/out ]]
    assert_unchanged encryption
}
