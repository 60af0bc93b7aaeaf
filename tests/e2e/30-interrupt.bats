#!/usr/bin/env bats
# After Ctrl-C and SIGTERM nothing collected is lost.

load helper

in_terminal() { # PTY-OPTION... -- ARG...: profgrab on a terminal
    local options=()
    while [[ $1 != -- ]]; do
        options+=("$1")
        shift
    done
    with_pty --deadline 30 "${options[@]}" -- "$profgrab_program" --ssh-config "$SSH_CONFIG" "${@:2}"
}

@test "Ctrl-C during the CPU profile gives a valid bundle of the collected items, and exit code 130" {
    write_inventory
    in_terminal --stdout path --ctrl-c 'cpu [1-9]s of 30s' -- --host file-04 heap goroutines cpu
    assert_status 130
    assert_stdout_has 'stopping and bundling the collected items; Ctrl-C again quits at once'
    local bundle
    bundle=$(cat path)
    run_profgrab bundle verify "$bundle"
    assert_status 0
    assert_stdout_has '(interrupted)'
    dir=$("$profgrab_program" bundle extract "$bundle")
    python3 "$rig_root/tests/schema.py" "$rig_root/docs/formats.md" "$dir/manifest.json"
    [[ -s $dir/file-04/rude/heap.pb.gz && -s $dir/file-04/rude/goroutines.txt ]]
    grep -q '"interrupted": true' "$dir/manifest.json"
    grep -q '"status": "interrupted"' "$dir/manifest.json"
    # The profiler is free again at once, because closing the socket cancels the profile.
    run_profgrab --host file-04 cpu=1s
    assert_status 0
}

@test "Ctrl-C while connecting gives no bundle, and exit code 130" {
    rig_alias silent-02 sshd "Port $RIG_PORT_rude_silent"
    in_terminal --ctrl-c 'silent-02: connecting' -- --host silent-02 --port 1 heap
    assert_status 130
    assert_stdout_has 'nothing was collected'
    assert_equal "$(ls)" ''
}

@test "after Ctrl-C a full stdout pipe is not waited for: the path of the bundle goes to stderr" {
    [[ $profgrab_program != *-thread/* ]] || skip 'the thread sanitizer puts signal handlers off'
    write_inventory
    # stdout is full, and nobody reads it.
    run timeout 20 python3 - "$profgrab_program" --ssh-config "$SSH_CONFIG" --host file-04 heap cpu <<'PY'
import os, signal, subprocess, sys
reading, writing = os.pipe()
os.set_blocking(writing, False)
try:
    while True:
        os.write(writing, b"x" * 4096)
except BlockingIOError:
    pass
os.set_blocking(writing, True)
program = subprocess.Popen(sys.argv[1:], stdout=writing, stderr=subprocess.PIPE, text=True)
seen = ""
for line in program.stderr:
    seen += line
    if "taking 30s" in line:
        program.send_signal(signal.SIGINT)
    if "cpu: interrupted" in line:
        break
seen += program.stderr.read()
print(seen, end="")
sys.exit(program.wait())
PY
    assert_status 130
    assert_stdout_has 'the bundle is profgrab-file-04'
}

@test "after Ctrl-C a full stderr pipe is not waited for: the bundle is written" {
    [[ $profgrab_program != *-thread/* ]] || skip 'the thread sanitizer puts signal handlers off'
    write_inventory
    # The reader of stderr stops reading, as a pager does, and the pipe is full when the signal arrives.
    run --separate-stderr timeout 60 python3 - "$profgrab_program" --ssh-config "$SSH_CONFIG" --host file-04 heap cpu <<'PY'
import os, select, signal, subprocess, sys
reading, writing = os.pipe()
program = subprocess.Popen(sys.argv[1:], stderr=writing)
with os.fdopen(reading, closefd=False) as messages:
    while "taking 30s" not in messages.readline():
        pass
while select.select([], [writing], [], 0)[1]:
    os.write(writing, b"x" * 4096)
program.send_signal(signal.SIGINT)
try:
    sys.exit(program.wait(30))
finally:
    program.kill()
PY
    assert_status 130
    [[ -s $output ]]
    run_profgrab bundle verify "$output"
    assert_status 0
    assert_stdout_has '(interrupted)'
}

@test "a service that dies during a profile is reported as such, not as the program now at its port" {
    rig_spawn mortal "$rig_fixture"
    rig_wait mortal 20 grep -q '^listening ' "$RIG_DIR/mortal/log"
    local port pid
    port=$(sed -n 's/^listening .*://p' "$RIG_DIR/mortal/log")
    "$profgrab_program" --ssh-config "$SSH_CONFIG" --host file-03 --port "$port" heap cpu >path 2>log 3>&- &
    pid=$!
    wait_for grep -q 'taking 30s' log
    # A connection that is lost within 0.5 s after a request counts as idle, and profgrab would repeat the request.
    sleep 1
    rig_end mortal
    status=0
    wait "$pid" || status=$?
    assert_status 3
    grep -q 'cpu: the service closed the connection after [1-9][.0-9]*s without an answer' log || fail "$(cat log)"
    grep -q 'did it crash or restart' log
    grep -q 'not complete: 1 missing' log
}

@test "SIGTERM and SIGHUP end the run like Ctrl-C, with exit codes 143 and 129" {
    write_inventory
    local signal pid
    for signal in TERM HUP; do
        : >log
        "$profgrab_program" --ssh-config "$SSH_CONFIG" --host file-04 heap cpu >path 2>log 3>&- &
        pid=$!
        wait_for grep -q 'taking 30s' log
        kill -"$signal" "$pid"
        status=0
        wait "$pid" || status=$?
        assert_status $((128 + $(kill -l "$signal")))
        "$profgrab_program" bundle verify "$(cat path)"
    done
}

@test "kill -9 leaves the work directory with a manifest; bundle create makes a bundle of it" {
    write_inventory
    "$profgrab_program" --ssh-config "$SSH_CONFIG" --host file-04 heap cpu >path 2>log 3>&- &
    local pid=$!
    wait_for grep -q 'taking 30s' log
    kill -KILL "$pid"
    wait "$pid" || true
    local partial
    partial=$(echo profgrab-*.partial)
    assert_mode "$partial" 700
    # The manifest already has all items collected before the long profile.
    grep -q '"file": "file-04/rude/heap.pb.gz"' "$partial/manifest.json"
    [[ -s $partial/file-04/rude/heap.pb.gz && -s $partial/manifest.json ]]
    run_profgrab bundle create "$partial"
    assert_status 3
    bundle=$output
    run_profgrab bundle list "$bundle"
    assert_stdout_has 'file-04/rude/heap.pb.gz'
    run_profgrab bundle verify "$bundle"
    assert_status 0
    assert_stdout_has 'some requested items are missing (interrupted)'
}

@test "modes are 0600 and 0700 whatever the umask" {
    write_inventory
    local mask
    for mask in 000 077 777; do
        run --separate-stderr bash -c "umask $mask; exec \"\$@\"" - "$profgrab_program" --ssh-config "$SSH_CONFIG" -q --host file-04 heap
        assert_status 0
        assert_mode "$output" 600
        dir=$(umask $mask; "$profgrab_program" bundle extract "$output")
        assert_equal "$(find "$dir" -type f -not -perm 600)$(find "$dir" -type d -not -perm 700)" ''
        rm -rf "$dir" "$output"
    done
}

@test "no socket and no directory stay in the runtime directory" {
    write_inventory
    run_profgrab --host file-04 heap
    assert_status 0
    assert_equal "$(ls -A "$XDG_RUNTIME_DIR")" ''
}

@test "a killed sshd is reported at once, and the collected items are bundled" {
    rig_sshd victim victim-01
    "$profgrab_program" --ssh-config "$SSH_CONFIG" --host victim-01 --port "$RIG_PORT_rude" heap cpu >path 2>log 3>&- &
    local pid=$!
    wait_for grep -q 'taking 30s' log
    # The stopped listener accepts no new connection while its sessions end.
    local parent
    read -r parent _ <"$RIG_DIR/pids/victim"
    kill -STOP "$parent"
    rig_end victim
    status=0
    wait "$pid" || status=$?
    assert_status 3
    grep -q 'cpu: the SSH session was lost' log || fail "$(cat log)"
    "$profgrab_program" bundle verify "$(cat path)"
}

@test "Ctrl-C while a passphrase opens a key or a bundle ends every command within 2 s and leaves no output" {
    echo 'goroutine 1 [running]:' >goroutines.txt
    "$profgrab_program" bundle create -o b.tar.gz goroutines.txt
    ssh-keygen -q -t ed25519 -N sesame -a 16 -f key
    "$profgrab_program" bundle encrypt --encrypt-to key.pub -o key.age b.tar.gz
    (umask 077 && echo sesame >passphrase)
    cat >interrupt.py <<'PYTHON'
import base64, os, resource, signal, subprocess, sys, time


def raise_rounds(path):
    """Raises the rounds of bcrypt. The derived key is then wrong, which profgrab finds only after the derivation."""
    lines = open(path).read().splitlines()
    data = base64.b64decode("".join(lines[1:-1]))
    at = data.index((16).to_bytes(4, "big"), data.index(b"bcrypt")) + 20  # the salt's length, the salt, the rounds
    data = data[:at] + (8000).to_bytes(4, "big") + data[at + 4 :]
    open(path, "w").write("\n".join([lines[0], base64.encodebytes(data).decode().strip(), lines[-1], ""]))


def write_scrypt_file(path):
    def text(n):
        return base64.b64encode(bytes(n)).rstrip(b"=")

    header = b"age-encryption.org/v1\n-> scrypt %s 21\n%s\n--- %s\n" % (text(16), text(32), text(32))
    open(path, "wb").write(header + bytes(100))


def derives(pid):
    """Whether the process derives a key: it has used the processor for a while, or has a child that does."""
    with open(f"/proc/{pid}/stat") as stat, open(f"/proc/{pid}/task/{pid}/children") as children:
        return int(stat.read().rsplit(")", 1)[1].split()[11]) >= 20 or children.read() != ""


# The processor time of ended children: other load on the machine does not count.
def processor_time():
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


raise_rounds("key")
write_scrypt_file("passphrase.age")
before, bad = sorted(os.listdir()), 0
for command in ["bundle decrypt -o out", "bundle decrypt -o -", "bundle verify", "bundle extract", "bundle list", "goroutines",
                "report -o out", "view --no-browser", "pprof -top", "merge -o out"]:
    for file in "key.age", "passphrase.age":
        option = "-identity" if command.startswith("pprof") else "--identity"
        words = [*command.split(), *([option, "key"] if file == "key.age" else []), "--passphrase-file", "passphrase", file]
        used = processor_time()
        process = subprocess.Popen([sys.argv[1], *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        while process.poll() is None and not derives(process.pid):
            time.sleep(0.01)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, messages = process.communicate()
        waited, took = time.monotonic() - began, processor_time() - used
        if waited > 10 or took > 2 or process.returncode != 130 or b"interrupted" not in messages or out or sorted(os.listdir()) != before:
            bad += 1
            print(f"{' '.join(words)}: {process.returncode}, {waited:.1f} s, {took:.1f} s of processor time, {os.listdir()}, {messages}")
sys.exit(bad != 0)
PYTHON
    run python3 interrupt.py "$profgrab_program"
    assert_status 0
}

@test "a capture without a reader of standard output writes its bundle, prints its path on stderr and exits with 141" {
    write_inventory
    run_unread "$profgrab_program" --ssh-config "$SSH_CONFIG" --host file-04 heap
    assert_status 141
    assert_stdout_has 'the bundle is profgrab-file-04'
    [[ $output != *'standard output'* ]] || fail "$output"
    profgrab bundle verify profgrab-file-04-*.tar.gz
    local command
    for command in '--json --host file-04 heap' '--dry-run --host file-04 heap' 'check --host file-04' 'check --json --host file-04' \
        'forward --host file-04 --listen 127.0.0.1:0'; do
        # shellcheck disable=SC2086 # words
        case $command in
        check* | forward*) run_unread "$profgrab_program" ${command%% *} --ssh-config "$SSH_CONFIG" ${command#* } ;;
        *) run_unread "$profgrab_program" --ssh-config "$SSH_CONFIG" $command ;;
        esac
        [[ $status == 141 && $output != *'standard output'* && $output != *'Broken pipe'* ]] ||
            fail "$command: exit code $status: $output"
    done
}
