#!/usr/bin/env bats
# Files in the age format: profgrab and age read each other's files, also cut, changed and hostile ones; recipients; passphrases
# on the terminal; files left after a failure.

load helper

setup_file() {
    # shellcheck disable=SC2119
    rig_start
    rig_service rude -raw
    export SSH_CONFIG=$RIG_SSH_CONFIG
    cd "$RIG_DIR" || return
    age-keygen -o id.txt 2>/dev/null
    age-keygen -y id.txt >id.pub
    age-keygen -o other.txt 2>/dev/null
    ssh-keygen -q -t ed25519 -N '' -C 'ann@home' -f ed25519
    ssh-keygen -q -t rsa -b 2048 -N '' -f rsa
    ssh-keygen -q -t ed25519 -a 2 -N open-sesame -f locked
    ssh-keygen -q -t rsa -b 2048 -a 2 -N open-sesame -f locked-rsa
    "$profgrab_program" -q --ssh-config "$SSH_CONFIG" --host file-03 --port "$RIG_PORT_rude" -o "$RIG_DIR/good.tar.gz" heap
}

teardown_file() { rig_stop; }

# set_answers [TEXT...]: SSH_ASKPASS answers with the lines of TEXT in turn, and appends the questions to `asked`.
set_answers() {
    printf '%s\n' "$@" >answers
    : >asked
    cat >askpass <<'SCRIPT'
#!/bin/sh
cd "$(dirname "$0")"
echo "$1" >>asked
sed -n "$(wc -l <asked)p" answers
SCRIPT
    chmod 700 askpass
    export SSH_ASKPASS=$PWD/askpass SSH_ASKPASS_REQUIRE=force
}

# Only these files exist in the test's directory: a failed run left none.
assert_left() { # NAME...
    assert_equal "$(find . -mindepth 1 -printf '%P\n' | sort)" "$(printf '%s\n' "$@" | sort)"
}

encrypt() { "$profgrab_program" bundle encrypt "$@"; }
decrypt() { "$profgrab_program" bundle decrypt "$@"; }

# ---- compatibility ----------------------------------------------------------------------------------------------

@test "profgrab and age read each other's files of every recipient type and size, binary and armored" {
    local n kind armor public
    for n in 0 1 65535 65536 65537 131072 1048577; do
        head -c "$n" /dev/urandom >plain
        for kind in id ed25519 rsa; do
            public=$RIG_DIR/$kind.pub
            [[ $kind != id ]] || kind=id.txt
            for armor in '' --armor; do
                encrypt $armor --encrypt-to "$public" -o ours plain >name
                assert_equal "$(cat name)" ours
                age -d -i "$RIG_DIR/$kind" ours | cmp - plain
                decrypt -i "$RIG_DIR/$kind" -o - ours | cmp - plain
                age ${armor:+-a} -R "$public" plain | decrypt -i "$RIG_DIR/$kind" -o back - >name
                cmp back plain
                rm ours back
            done
        done
    done
}

@test "profgrab and age read each other's files with a passphrase, at the boundaries of a chunk, also armored" {
    local n armor
    (umask 077 && echo open-sesame >words)
    while read -r n armor; do
        head -c "$n" /dev/urandom >plain
        encrypt ${armor:+"$armor"} --passphrase --passphrase-file words -o ours plain >name
        with_pty --stdout back --send 'Enter passphrase' $'open-sesame\n' -- age -d ours
        assert_status 0
        cmp back plain
        with_pty --send 'Enter passphrase' $'open-sesame\n' --send 'Confirm passphrase' $'open-sesame\n' -- \
            age -p ${armor:+-a} -o theirs plain
        decrypt --passphrase-file words -o - theirs | cmp - plain
        rm ours theirs back
    done <<<$'65536 --armor\n65537'
}

@test "each of several recipients can decrypt: given as text, in a file with comments, in authorized_keys" {
    echo hello >plain
    {
        echo '# the team'
        echo
        cat "$RIG_DIR/ed25519.pub"
        echo "restrict,command=\"echo \\\"a b\\\"\" $(cat "$RIG_DIR/rsa.pub")"
    } >team
    encrypt --encrypt-to "$(cat "$RIG_DIR/id.pub"),team" --encrypt-to "$(cat "$RIG_DIR/locked.pub")" plain
    assert_mode plain.age 600
    local identity
    for identity in id.txt ed25519 rsa; do
        age -d -i "$RIG_DIR/$identity" plain.age | cmp - plain
        decrypt -i "$RIG_DIR/other.txt" -i "$RIG_DIR/$identity" -o - plain.age | cmp - plain
    done
}

@test "without a key only the length, the types of recipients and 30 bits of an SSH key's fingerprint are visible; no bytes repeat" {
    head -c 100000 /dev/zero >plain
    encrypt --encrypt-to "$RIG_DIR/id.pub,$RIG_DIR/ed25519.pub,$RIG_DIR/rsa.pub" -o one plain >name
    encrypt --encrypt-to "$RIG_DIR/id.pub,$RIG_DIR/ed25519.pub,$RIG_DIR/rsa.pub" -o other plain >name
    python3 - "$RIG_DIR" <<'SCRIPT'
import base64, hashlib, sys
files = [open(name, "rb").read() for name in ("one", "other")]
assert len(files[0]) == len(files[1])
stanzas, bodies = [], []
for b in files:
    end = b.index(b"\n--- ") + 49
    lines = b[:end].split(b"\n")
    stanzas.append([line[3:].split(b" ") for line in lines if line.startswith(b"-> ")])
    bodies.append(b[end:])
    # Everything but the version, the types of the stanzas and the fingerprints differs each time.
kinds = [s[0] for s in stanzas[0]]
assert sorted(k for k in kinds if b"grease" not in k) == [b"X25519", b"ssh-ed25519", b"ssh-rsa"], kinds
for s, t in zip(*stanzas):
    if s[0] == b"X25519":
        assert len(s) == 2 and s[1] != t[1]
    else:
        key = open(sys.argv[1] + "/" + {b"ssh-rsa": "rsa", b"ssh-ed25519": "ed25519"}[s[0]] + ".pub").read().split()[1]
        tag = base64.b64encode(hashlib.sha256(base64.b64decode(key)).digest()[:4]).rstrip(b"=")
        assert s[1] == t[1] == tag and s[2:] != t[2:] or s[0] == b"ssh-rsa" and s[1:] == t[1:] == [tag]
pieces = [bodies[0][i:i + 16] for i in range(0, len(bodies[0]) - 16)]
assert len(set(pieces)) == len(pieces), "a block of the file repeats"
assert not set(pieces) & {bodies[1][i:i + 16] for i in range(0, len(bodies[1]) - 16)}
public = open(sys.argv[1] + "/id.pub").read().strip().encode()
assert all(public not in b and public[4:24] not in b for b in files)
SCRIPT
}

@test "the format's own test vectors pass" {
    local rc=0
    "$rig_root/tools/fetch-vectors" || rc=$?
    ((rc != 3)) || skip 'there is no npm to fetch them with'
    ((rc == 0))
    mkdir vectors
    python3 "$rig_root/tests/age_vectors.py" "$profgrab_program" "$rig_root"/build/vectors/cctv-age-*.tgz vectors
}

@test "encrypt prints the recipients and that the plain file stays; a bad recipient is reported before a taken name" {
    echo hello >plain
    ssh-keygen -q -t ed25519 -N '' -C '' -f key
    run_profgrab bundle encrypt --encrypt-to key.pub --encrypt-to "$RIG_DIR/id.pub" plain
    assert_status 0
    assert_stdout plain.age
    assert_stderr_has "encrypted to ssh-ed25519 $(ssh-keygen -lf key.pub | cut -d' ' -f2)"
    assert_stderr_has 'encrypted to age1'
    assert_stderr_has 'plain is unchanged, in plain text'
    run_profgrab bundle encrypt --encrypt-to key.pub plain
    assert_status 1
    assert_stderr_has 'plain.age exists already'
    assert_stderr_has 'hint: -o FILE writes another file, or remove that one first'
    run_profgrab bundle encrypt --encrypt-to nobody plain
    assert_status 2
    refute_stderr_has 'exists already'
    run_profgrab bundle encrypt --encrypt-to github:ann plain
    assert_status 2
    assert_stderr_has '--encrypt-to github:ann: profgrab does not fetch keys'
    assert_stderr_has 'hint: run `curl -fsSo ann.keys https://github.com/ann.keys`, check that the keys belong to that person, then use `--encrypt-to ./ann.keys`'
}

@test "decrypt and the bundle commands try the usual keys of ~/.ssh without -i" {
    mkdir -m 700 "$HOME/.ssh"
    echo broken >"$HOME/.ssh/id_rsa"
    ssh-keygen -q -t ed25519 -N '' -C '' -f "$HOME/.ssh/id_ed25519"
    echo hello >plain
    run_profgrab bundle encrypt --encrypt-to "$HOME/.ssh/id_ed25519.pub" plain
    run_profgrab bundle decrypt -o back plain.age
    assert_status 0
    cmp plain back
    # A file for another identity: no question, and a hint at -i.
    ssh-keygen -q -t ed25519 -N '' -C '' -f other
    run_profgrab bundle encrypt --encrypt-to other.pub -o other.age plain
    run_profgrab bundle decrypt -o none other.age
    assert_status 1
    assert_stderr_has 'hint: '
    [[ ! -e none ]]
}

# ---- names ------------------------------------------------------------------------------------------------------

@test "names are FILE.age and back, existing files stay, and standard input and output work" {
    echo hello >plain
    run_profgrab bundle encrypt --encrypt-to "$RIG_DIR/id.pub" plain
    assert_stdout plain.age
    run_profgrab bundle encrypt --encrypt-to "$RIG_DIR/id.pub" plain
    assert_status 1
    assert_stderr_has 'plain.age exists already'
    run_profgrab bundle decrypt -i "$RIG_DIR/id.txt" plain.age
    assert_status 1
    assert_stderr_has 'plain exists already'
    assert_left plain plain.age
    mv plain before
    run_profgrab bundle decrypt -i "$RIG_DIR/id.txt" plain.age
    assert_stdout plain
    assert_mode plain 600
    cmp plain before
    cp plain.age sealed
    run_profgrab bundle decrypt -i "$RIG_DIR/id.txt" sealed
    assert_status 2
    assert_stderr_has 'the output needs a name'
    # A file that is not encrypted is reported as such first, with its type.
    run_profgrab bundle decrypt -i "$RIG_DIR/id.txt" plain
    assert_status 1
    assert_stderr 'profgrab: plain is not encrypted: it is not in the age format'
    run_profgrab bundle decrypt -i "$RIG_DIR/id.txt" "$RIG_DIR/good.tar.gz"
    assert_status 1
    assert_stderr_has "$RIG_DIR/good.tar.gz is not encrypted: it is a bundle in plain text"
    assert_stderr_has "hint: \`profgrab bundle verify $RIG_DIR/good.tar.gz\`"
    run_profgrab bundle encrypt --encrypt-to "$RIG_DIR/id.pub" - <plain
    assert_status 2
    encrypt --encrypt-to "$RIG_DIR/id.pub" -o - - <before | decrypt -i "$RIG_DIR/id.txt" -o - - >out
    cmp out before
    # Plain text does not go to a terminal; an armored file does.
    with_pty -- "$profgrab_program" bundle decrypt -i "$RIG_DIR/id.txt" -o - plain.age
    assert_status 2
    assert_stdout_has 'standard output is a terminal'
    refute_stdout_has hello
    with_pty -- "$profgrab_program" bundle encrypt --armor --encrypt-to "$RIG_DIR/id.pub" -o - plain
    assert_status 0
    assert_stdout_has 'BEGIN AGE ENCRYPTED FILE'
}

@test "wrong recipients and identities are reported, and nothing is written" {
    echo hello >plain
    run_profgrab bundle encrypt plain
    assert_status 2
    assert_stderr_has 'no recipient is given'
    assert_stderr_has 'such as ~/.ssh/*.pub'
    ssh-keygen -q -t ecdsa -N '' -f ecdsa
    run_profgrab bundle encrypt --encrypt-to ecdsa.pub plain
    assert_status 2
    assert_stderr_has 'ecdsa.pub:1: ecdsa-sha2-nistp256: it is an ECDSA key, which can sign but not decrypt'
    run_profgrab bundle encrypt --encrypt-to ecdsa plain
    assert_status 2
    assert_stderr_has 'ecdsa is a private key'
    run_profgrab bundle encrypt --encrypt-to "$(tail -n 1 "$RIG_DIR/id.txt")" plain
    assert_status 2
    assert_stderr_has 'a secret key, not a recipient'
    refute_stderr_has "$(tail -n 1 "$RIG_DIR/id.txt" | cut -c17-30)"
    ssh-keygen -q -t rsa -b 1024 -N '' -f weak
    run_profgrab bundle encrypt --encrypt-to weak.pub plain
    assert_status 2
    assert_stderr_has '1024 bits'
    run_profgrab bundle encrypt --encrypt-to missing plain
    assert_status 2
    assert_stderr_has 'missing'
    run_profgrab bundle encrypt --passphrase --encrypt-to "$RIG_DIR/id.pub" plain
    assert_status 2
    encrypt --encrypt-to "$RIG_DIR/id.pub,$RIG_DIR/ed25519.pub" plain
    fingerprint=$(ssh-keygen -lf "$RIG_DIR/ed25519.pub" | cut -d' ' -f2)
    run_profgrab bundle decrypt -o out plain.age
    assert_status 1
    assert_stderr_has "plain.age: it is encrypted to X25519, ssh-ed25519 ${fingerprint:0:12}..."
    assert_stderr_has 'hint: give the identity'
    run_profgrab bundle decrypt -i "$RIG_DIR/other.txt" -i "$RIG_DIR/rsa" -o out plain.age
    assert_status 1
    assert_stderr_has 'none of the keys tried opens it; it is encrypted to X25519, ssh-ed25519 '
    run_profgrab bundle decrypt -i ecdsa -o out plain.age
    assert_status 2
    assert_stderr_has 'cannot decrypt'
    run_profgrab bundle decrypt -i "$RIG_DIR/id.pub" -o out plain.age
    assert_status 2
    assert_stderr_has 'id.pub:1: this is a recipient'
    run_profgrab bundle decrypt -i "$RIG_DIR/id.txt" -o out plain
    assert_status 1
    assert_stderr_has 'plain is not encrypted: it is not in the age format'
    assert_left ecdsa ecdsa.pub weak weak.pub plain plain.age
}

# ---- bad files --------------------------------------------------------------------------------------------------

# spoil PYTHON: writes to bad.age the value of the expression over the bytes `b` of plain.age. Its first chunk begins at `h`; a
# chunk has `c` bytes.
spoil() {
    python3 - "$1" <<'SCRIPT'
import sys
b = open("plain.age", "rb").read()
h = b.index(b"\n--- ") + 49 + 16
c = 65536 + 16
open("bad.age", "wb").write(eval(sys.argv[1]))
SCRIPT
}

@test "cut, flipped, extended and rearranged files give an error and no output file" {
    local what n
    head -c 200000 /dev/urandom >plain
    encrypt --encrypt-to "$RIG_DIR/id.pub" plain >name
    rm name
    for what in 'b[:0]' 'b[:10]' 'b[:h-20]' 'b[:h]' 'b[:h+100]' 'b[:h+c]' 'b[:h+2*c]' 'b[:-1]' 'b+b"x"' 'b+b[h:]' \
        'b[:30]+bytes([b[30]^1])+b[31:]' 'b[:h+70000]+bytes([b[h+70000]^1])+b[h+70001:]' 'b[:-1]+bytes([b[-1]^128])' \
        'b[:h]+b[h+c:]' 'b[:h]+b[h+c:h+2*c]+b[h:h+c]+b[h+2*c:]' 'b[:h+c]+b[h:]' 'b[:h+2*c]+b[h+3*c:]'; do
        spoil "$what"
        run_profgrab bundle decrypt -i "$RIG_DIR/id.txt" bad.age
        assert_status 1
        assert_stdout ''
        assert_left plain plain.age bad.age
        # decrypt writes the authentic part to a pipe, and its exit code shows that the part is incomplete.
        decrypt -i "$RIG_DIR/id.txt" -o - bad.age >out 2>err && fail "whole: $what"
        n=$(stat -c %s out)
        cmp -n "$n" out plain
        ((n < 200000)) || [[ $what == b+* ]] || fail "all of it: $what"
        rm out err
    done
    spoil 'b[:h+c]'
    run bash -c '"$1" bundle decrypt -i "$2" -o - bad.age | wc -c; exit "${PIPESTATUS[0]}"' - "$profgrab_program" "$RIG_DIR/id.txt"
    assert_status 1
    assert_stdout_has 'authentic, but incomplete'
    assert_stdout_has 65536
}

@test "a full disk is reported, and no file is left" {
    head -c 300000 /dev/urandom >plain
    encrypt --encrypt-to "$RIG_DIR/id.pub" plain
    # A file size limit simulates a full disk: writing fails in the middle.
    run --separate-stderr bash -c 'ulimit -f 100; "$0" bundle decrypt -i "$1" -o out plain.age' "$profgrab_program" "$RIG_DIR/id.txt"
    assert_status 1
    assert_stderr_has 'File too large'
    run --separate-stderr bash -c 'ulimit -f 100; "$0" bundle encrypt --encrypt-to "$1" -o out plain' "$profgrab_program" "$RIG_DIR/id.pub"
    assert_status 1
    assert_stderr_has 'out: cannot write: File too large'
    assert_left plain plain.age
    run --separate-stderr bash -c '"$0" bundle decrypt -i "$1" -o - plain.age >/dev/full' "$profgrab_program" "$RIG_DIR/id.txt"
    assert_status 1
    assert_stderr_has 'No space left'
    run --separate-stderr bash -c '"$0" bundle encrypt --encrypt-to "$1" -o missing/out plain' "$profgrab_program" "$RIG_DIR/id.pub"
    assert_status 1
    assert_stderr 'profgrab: cannot use the directory missing: No such file or directory'
    assert_left plain plain.age
}

# stall FILE N VERB...: runs `bundle VERB... -` on a terminal. Its input is a pipe with N bytes of FILE, which then stalls. Presses
# Ctrl-C once profgrab has read them.
stall() {
    cat >"$RIG_DIR/stall.py" <<'SCRIPT'
import fcntl, os, select, struct, sys, termios, time
pipe, closed = os.open("pipe", os.O_WRONLY), select.poll()
closed.register(pipe, select.POLLERR)
with open(sys.argv[1], "rb") as f:
    left = f.read(int(sys.argv[2]))
while left:
    left = left[os.write(pipe, left):]
while struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4))[0]:
    select.select([], [], [], 0.01)
print("all was read", flush=True)
closed.poll(20000)
SCRIPT
    mkfifo pipe
    # shellcheck disable=SC2016 # the shell on the terminal expands it
    with_pty --ctrl-c 'all was read' -- bash -c 'python3 "$0" "$1" "$2" & exec "${@:3}" - <pipe' \
        "$RIG_DIR/stall.py" "$1" "$2" "$profgrab_program" bundle "${@:3}"
    rm pipe
    assert_stdout_has 'all was read'
    assert_status 130
    assert_stdout_has interrupted
}

@test "Ctrl-C ends pprof and merge of an encrypted bundle while they wait for the reader of a FIFO" {
    encrypt -o b.age --encrypt-to "$RIG_DIR/id.pub" "$RIG_DIR/good.tar.gz" >/dev/null
    local command member
    member=b.age:$(tar tzf "$RIG_DIR/good.tar.gz" | sed -n 's,^[^/]*/\(.*/heap.pb.gz\)$,\1,p')
    mkfifo pipe
    for command in "pprof -identity $RIG_DIR/id.txt -top -output=pipe" "merge --force -i $RIG_DIR/id.txt -o pipe $member"; do
        # shellcheck disable=SC2086 # several words
        with_pty --ctrl-c 'Generating report in pipe' -- "$profgrab_program" $command "$member"
        assert_status 130
        assert_stdout_has 'open pipe: interrupted'
    done
}

@test "Ctrl-C or kill -9 while standard input is read leaves no file" {
    head -c 100000 /dev/zero >plain
    stall plain 100000 encrypt --encrypt-to "$RIG_DIR/id.pub" -o out
    assert_left plain
    local command pid
    head -c 300000 /dev/zero >plain
    encrypt --encrypt-to "$RIG_DIR/id.pub" plain >/dev/null
    for command in "encrypt --encrypt-to $RIG_DIR/id.pub" "decrypt -i $RIG_DIR/id.txt"; do
        mkfifo pipe
        # shellcheck disable=SC2086 # several words
        "$profgrab_program" bundle $command -o out - <pipe >/dev/null 2>&1 3>&- &
        pid=$!
        exec 4>pipe
        # More than the pipe has space for, so that some of it is read.
        case $command in
        encrypt*) head -c 250000 plain >&4 ;;
        decrypt*) head -c 250000 plain.age >&4 ;;
        esac
        kill -KILL "$pid"
        wait "$pid" || :
        exec 4>&-
        rm pipe
        assert_left plain plain.age
    done
}

@test "Ctrl-C while the input of decrypt stalls leaves no file: in the header, behind it, armored" {
    local armor n
    head -c 300000 /dev/urandom >plain
    for armor in '' --armor; do
        encrypt $armor --encrypt-to "$RIG_DIR/id.pub" -o sealed plain >name
        for n in 40 150000; do
            stall sealed "$n" decrypt -i "$RIG_DIR/id.txt" -o out
            assert_left name plain sealed
        done
        rm sealed
    done
}

@test "a signal ends writing to a pipe that nobody reads" {
    head -c 1000000 /dev/urandom >plain
    encrypt --encrypt-to "$RIG_DIR/id.pub" -o sealed plain
    cat >"$RIG_DIR/full.py" <<'SCRIPT'
import os, select, subprocess, sys, time
ours, theirs = os.pipe()
program = subprocess.Popen(sys.argv[1:], stdout=theirs, stderr=subprocess.PIPE, text=True)
deadline = time.monotonic() + 20
while select.select([], [theirs], [], 0)[1]:
    assert time.monotonic() < deadline and program.poll() is None
    time.sleep(0.01)
program.terminate()
_, messages = program.communicate(timeout=20)
print(messages)
sys.exit(program.returncode)
SCRIPT
    run --separate-stderr python3 "$RIG_DIR/full.py" "$profgrab_program" bundle decrypt -i "$RIG_DIR/id.txt" -o - sealed
    assert_status 143
    assert_stdout_has 'profgrab: interrupted; the written data is incomplete'
    for armor in '' --armor; do
        run --separate-stderr python3 "$RIG_DIR/full.py" "$profgrab_program" bundle encrypt $armor --encrypt-to "$RIG_DIR/id.pub" -o - plain
        assert_status 143
        assert_stdout_has 'interrupted'
    done
}

# ---- passphrases ------------------------------------------------------------------------------------------------

@test "a key with a passphrase causes a question as in ssh, only if the file has its stanza, at most three times" {
    echo hello >plain
    encrypt --encrypt-to "$RIG_DIR/ed25519.pub" -o other.age plain
    set_answers open-sesame
    run_profgrab bundle decrypt -i "$RIG_DIR/locked" -o out other.age
    assert_status 1
    assert_equal "$(cat asked)" ''
    local key
    for key in locked locked-rsa; do
        encrypt --encrypt-to "$RIG_DIR/$key.pub" -o "$key.age" plain
        set_answers wrong wronger open-sesame
        run_profgrab bundle decrypt -i "$RIG_DIR/$key" -o "$key.out" "$key.age"
        assert_status 0
        cmp "$key.out" plain
        assert_equal "$(sort asked | uniq -c | sed 's/^ *//')" "3 Enter passphrase for key '$RIG_DIR/$key': "
        # age writes, profgrab reads.
        age -R "$RIG_DIR/$key.pub" plain >theirs.age
        set_answers open-sesame
        decrypt -i "$RIG_DIR/$key" -o - theirs.age | cmp - plain
    done
    set_answers a b c open-sesame
    run_profgrab bundle decrypt -i "$RIG_DIR/locked" -o out locked.age
    assert_status 1
    assert_stderr_has "the passphrase does not open $RIG_DIR/locked"
    assert_equal "$(wc -l <asked)" 3
    [[ ! -e out ]]
    # A passphrase file answers once for each key.
    (umask 077 && echo open-sesame >words && echo wrong >others)
    decrypt --passphrase-file words -i "$RIG_DIR/locked" -o - locked.age | cmp - plain
    run_profgrab bundle decrypt --passphrase-file others -i "$RIG_DIR/locked" -o out locked.age
    assert_status 1
    assert_stderr_has 'the first line of others is not the right passphrase'
    encrypt --passphrase --passphrase-file words -o words.age plain
    decrypt --passphrase-file words -o - words.age | cmp - plain
    # There is no terminal to ask on.
    unset SSH_ASKPASS SSH_ASKPASS_REQUIRE
    run --separate-stderr setsid -w "$profgrab_program" bundle decrypt -i "$RIG_DIR/locked" -o out locked.age
    assert_status 1
    assert_stderr_has 'there is no terminal to ask on'
}

@test "a passphrase on the terminal is asked for twice and not shown, and age and profgrab read each other's file" {
    echo hello >plain
    with_pty --send 'Enter passphrase: ' $'open-sesame\n' --send 'Confirm passphrase: ' $'open-sesame\n' -- \
        "$profgrab_program" bundle encrypt --passphrase plain
    assert_status 0
    refute_stdout_has sesame
    with_pty --stdout out --send 'Enter passphrase: ' $'open-sesame\n' -- age -d plain.age
    assert_status 0
    cmp out plain
    rm out
    with_pty --send 'Enter passphrase: ' $'wrong\n' --send 'Enter passphrase: ' $'open-sesame\n' -- \
        "$profgrab_program" bundle decrypt -o out plain.age
    assert_status 0
    cmp out plain
    with_pty --send 'Enter passphrase' $'open-sesame\n' --send 'Confirm passphrase' $'open-sesame\n' -- age -p -o theirs.age plain
    set_answers open-sesame
    decrypt -o - theirs.age | cmp - plain
    with_pty --send 'Enter passphrase: ' $'one\n' --send 'Confirm passphrase: ' $'other\n' -- \
        env -u SSH_ASKPASS "$profgrab_program" bundle encrypt --passphrase -o new.age plain
    assert_status 2
    assert_stdout_has 'the two passphrases differ'
    [[ ! -e new.age ]]
}

@test "the passphrase of an encrypted identity file is asked for once" {
    echo hello >plain
    with_pty --send 'Enter passphrase' $'open-sesame\n' --send 'Confirm passphrase' $'open-sesame\n' -- \
        age -p -a -o sealed.txt "$RIG_DIR/id.txt"
    encrypt --encrypt-to "$RIG_DIR/id.pub" plain
    set_answers wrong open-sesame
    decrypt -i sealed.txt -o - plain.age | cmp - plain
    assert_equal "$(cat asked)" "$(printf "Enter passphrase for identity file 'sealed.txt': \n%.0s" 1 2)"
}

# ---- bundles ----------------------------------------------------------------------------------------------------

@test "list, verify and extract read encrypted bundles" {
    cp "$RIG_DIR/good.tar.gz" .
    encrypt --encrypt-to "$RIG_DIR/ed25519.pub" good.tar.gz
    run_profgrab bundle list good.tar.gz.age
    assert_status 1
    assert_stderr_has 'good.tar.gz.age: it is encrypted to ssh-ed25519 SHA256:'
    assert_stderr_has 'hint: give the identity that opens it: -i'
    run_profgrab bundle list -i "$RIG_DIR/ed25519" good.tar.gz.age
    assert_status 0
    assert_stdout "$("$profgrab_program" bundle list good.tar.gz)"
    run_profgrab bundle verify -i "$RIG_DIR/ed25519" good.tar.gz.age
    assert_status 0
    assert_stdout_has 'all match the manifest'
    run_profgrab bundle extract -i "$RIG_DIR/ed25519" good.tar.gz.age
    assert_status 0
    assert_stdout ./good
    tar xzf good.tar.gz --transform 's,^good,plain,'
    diff -r good plain
    # The bundle is whole, but its encrypted file is not.
    local cut
    for cut in 1 10 100; do
        head -c -"$cut" good.tar.gz.age >cut.age
        run_profgrab bundle verify -i "$RIG_DIR/ed25519" cut.age
        assert_status 1
        assert_stderr_has 'cut.age: it '
    done
    cat good.tar.gz.age good.tar.gz.age >twice.age
    run_profgrab bundle extract -C plain -i "$RIG_DIR/ed25519" twice.age
    assert_status 1
    [[ ! -e plain/good ]]
}

@test "a hostile bundle is refused inside an encrypted file too" {
    mkdir -p evil/top
    ln -s /etc evil/top/link
    tar czf evil.tar.gz -C evil top
    tar czPf dots.tar.gz --transform 's,^top,../top,' -C evil top
    head -c -1000 "$RIG_DIR/good.tar.gz" >half.tar.gz
    encrypt --encrypt-to "$RIG_DIR/id.pub" "$RIG_DIR/good.tar.gz" -o once.age
    cp once.age twice.tar.gz
    local name
    for name in evil dots half twice; do
        [[ -s $name.tar.gz ]]
        encrypt --encrypt-to "$RIG_DIR/id.pub" $name.tar.gz
        run_profgrab bundle extract -i "$RIG_DIR/id.txt" $name.tar.gz.age
        assert_status 1
        [[ ! -e top && ! -e ../top && ! -e good ]]
    done
}

@test "memory does not grow with the file" {
    head -c 64000000 /dev/zero >plain
    peak() { python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$@"; }
    ! is_sanitized || skip 'sanitizers take memory of their own'
    (($(peak "$profgrab_program" bundle encrypt --encrypt-to "$RIG_DIR/id.pub" plain) < 20000))
    (($(peak "$profgrab_program" bundle decrypt -i "$RIG_DIR/id.txt" -o - plain.age) < 20000))
}
