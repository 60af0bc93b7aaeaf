#!/usr/bin/env bats
# The signed copy of a bundle for a hand-off: redaction, signature, and the messages of verify.

load helper

setup_file() {
    export RIG_DIR
    RIG_DIR=$(mktemp -d)
    # A process with labels, and a command line that contains a secret.
    mkdir "$RIG_DIR/pids" "$RIG_DIR/labels"
    cat >"$RIG_DIR/labels/main.go" <<'GO'
package main

import (
	"context"
	"os"
	"runtime"
	"runtime/pprof"
)

func alice(there, stop chan bool) { there <- true; <-stop }

func main() {
	there, stop := make(chan bool), make(chan bool)
	for _, user := range []string{"alice", "main.alice"} {
		labels := pprof.Labels("user", user, "path", "/repository", "tenant", "acme")
		go pprof.Do(context.Background(), labels, func(context.Context) { alice(there, stop) })
	}
	<-there
	<-there
	for i := 0; i < 1000; i++ {
		runtime.Gosched()
	}
	for name, debug := range map[string]int{"goroutines.pb.gz": 0, "goroutines.txt": 1} {
		f, err := os.Create(name)
		if err == nil {
			err = pprof.Lookup("goroutine").WriteTo(f, debug)
		}
		if err != nil {
			panic(err)
		}
	}
}
GO
    (cd "$RIG_DIR/labels" && GO111MODULE=off GOFLAGS=-mod=mod GOTOOLCHAIN=local GOPROXY=off GOCACHE=$rig_root/build/fixture/cache \
        go run main.go)
    make_bundle
}

# Makes $RIG_DIR/b.tar.gz of local profiles with labels, and a text.
make_bundle() {
    (cd "$RIG_DIR/labels" && echo plain >notes.md &&
        "$profgrab_program" bundle create -o "$RIG_DIR/b.tar.gz" goroutines.pb.gz goroutines.txt notes.md >/dev/null)
}

setup() {
    e2e_setup
    cp "$RIG_DIR/b.tar.gz" .
    ssh-keygen -q -t ed25519 -N '' -C carol -f key
}

teardown() {
    [[ -z ${SSH_AGENT_PID-} ]] || kill "$SSH_AGENT_PID"
    unset SSH_AGENT_PID
    [[ -z ${hung-} ]] || kill -KILL "$hung"
}

teardown_file() { rm -rf "$RIG_DIR"; }

copy_program=${COPY-$rig_root/build/gcc/tests/copy}

run_copy() { run --separate-stderr "$copy_program" "$@"; }

allow() { # PRINCIPAL FILE.pub [OPTIONS]: prints a line of a file of allowed signers
    printf '%s %s %s\n' "$1" "${3-}" "$(<"$2")"
}

# Prints the member `trusted` of the last run's JSON, and the state of the signature.
print_trust() {
    python3 -c 'import json, sys; m = json.load(sys.stdin); print(m["trusted"], m["signature"]["state"])' <<<"$output"
}

@test "a copy names its signer, time and recipients, follows the schema, and does not change the bundle" {
    cp b.tar.gz before
    ssh-keygen -q -t ed25519 -N '' -f team
    run_copy -r -s key -e team.pub b.tar.gz
    assert_status 0
    assert_stdout b.tar.gz.age
    cmp b.tar.gz before
    assert_mode b.tar.gz.age 600
    allow carol@example.org key.pub >allowed
    run_profgrab bundle verify -i team --allowed-signers allowed b.tar.gz.age
    assert_status 0
    assert_stdout_has 'handed off 20'
    assert_stdout_has 'Z, dave on here'
    assert_stdout_has 'recipients ssh-ed25519 SHA256:'
    assert_stdout_has 'redacted   2 files'
    assert_stdout_has 'of carol@example.org'
    run_profgrab bundle verify -i team --allowed-signers allowed --json b.tar.gz.age
    assert_status 0
    echo "$output" >verify.json
    python3 "$rig_root/tests/schema.py" "$rig_root/docs/formats.md#verify" verify.json
    dir=$("$profgrab_program" bundle extract -i team b.tar.gz.age)
    python3 "$rig_root/tests/schema.py" "$rig_root/docs/formats.md" "$dir/manifest.json"
    grep -q 'Encrypted to ssh-ed25519 SHA256' "$dir/README.md"
}

@test "ssh-keygen verifies the signature with a file of allowed signers" {
    run_copy -s key.pub b.tar.gz
    assert_status 0
    dir=$("$profgrab_program" bundle extract "$output")
    allow carol@example.org key.pub 'namespaces="profgrab-bundle"' >allowed
    ssh-keygen -Y verify -f allowed -I carol@example.org -n profgrab-bundle -s "$dir/manifest.json.sig" <"$dir/manifest.json"
    tar tzf b-handoff.tar.gz | sed -n 2,3p | diff - <(printf '%s\n' b/manifest.json b/manifest.json.sig)
}

@test "profgrab verifies signatures of ssh-keygen" {
    run_copy b.tar.gz
    tar xzf b-handoff.tar.gz
    ssh-keygen -q -Y sign -f key -n profgrab-bundle b/manifest.json
    tar czf theirs.tar.gz b/manifest.json b/manifest.json.sig b/README.md b/report.html b/files
    allow carol key.pub >allowed
    run_profgrab bundle verify --allowed-signers allowed theirs.tar.gz
    assert_status 0
    assert_stdout_has 'of carol'
}

@test "redaction removes values of labels, and go tool pprof reads the rest" {
    run_copy -r -l tenant b.tar.gz
    assert_status 0
    assert_equal "$stderr" '2 changed, 8 values, 1 not searched, signed by nobody'
    dir=$("$profgrab_program" bundle extract b-handoff.tar.gz)
    zcat "$dir/files/goroutines.pb.gz" >plain
    run ! grep -a acme plain
    grep -aq /repository plain
    go tool pprof -raw "$dir/files/goroutines.pb.gz" >raw 2>/dev/null
    grep -q 'user:\[\[redacted\]\]' raw
    grep -q 'main.alice' raw
    run ! grep -q 'user:\[alice\]' raw
    grep -q '"user":"\[redacted\]"' "$dir/files/goroutines.txt"
    grep -q '"path":"/repository"' "$dir/files/goroutines.txt"
    run ! grep acme "$dir/files/goroutines.txt"
    cmp "$dir/files/notes.md" "$RIG_DIR/labels/notes.md"
    run_profgrab bundle verify b-handoff.tar.gz
    assert_status 0
    grep -q 'Not searched: files/notes.md' "$dir/README.md"
}

@test "the agent signs with every key type; without the agent or the key, a hint names the next step" {
    local type
    eval "$(ssh-agent -s)" >/dev/null
    for type in ed25519 rsa ecdsa; do
        ssh-keygen -q -t "$type" -N '' -f "$type"
        ssh-add -q "$type"
        rm "$type"
        run_copy -s "$type.pub" b.tar.gz
        assert_status 0
        run_profgrab bundle verify "$output"
        assert_status 0
    done
    run_copy -s "$(<rsa.pub)" b.tar.gz
    assert_status 0
    ssh-add -q -D
    run_copy -s rsa.pub b.tar.gz
    assert_status 1
    assert_stderr_has 'the SSH agent does not have the key, and there is no file rsa'
    assert_stderr_has 'hint: ssh-add rsa'
    unset SSH_AUTH_SOCK
    run_copy -s rsa.pub b.tar.gz
    assert_status 1
    assert_stderr_has 'there is no SSH agent'
}

@test "an agent that does not answer times out; then the key file signs, or the failure is reported" {
    eval "$(ssh-agent -s)" >/dev/null
    ssh-add -q key
    kill -STOP "$SSH_AGENT_PID"
    hung=$SSH_AGENT_PID SSH_AGENT_PID=
    run_copy -t 500 -s key b.tar.gz
    assert_status 0
    rm key
    SECONDS=0
    run_copy -t 500 -s key.pub b.tar.gz
    assert_status 1
    ((SECONDS < 20)) # the agent hangs for ever
    assert_stderr_has 'cannot sign with ssh-ed25519 SHA256:'
    assert_stderr_has 'the SSH agent'
    [[ ! -e b-handoff-2.tar.gz ]]
}

@test "a security key signs through the agent, with a request to touch it" {
    local softkey=$rig_root/build/rig/softkey.so
    ssh-keygen -q -t ed25519-sk -w "$softkey" -N '' -f token
    mkfifo touch
    SOFTKEY_TOUCH=$PWD/touch rig_spawn agent ssh-agent -D -a "$PWD/agent" -P "$softkey"
    rig_wait agent 10 test -S agent
    export SSH_AUTH_SOCK=$PWD/agent
    ssh-add -q -S "$softkey" token
    "$copy_program" -s token b.tar.gz >copied 2>messages &
    local copying=$!
    # shellcheck disable=SC2016 # the waiting shell expands it
    timeout 15 bash -c 'until grep -q "touch the key" messages; do read -rt 0.1 <> <(:) || :; done'
    : >./touch
    wait "$copying"
    rig_end agent
    allow carol token.pub >allowed
    run_profgrab bundle verify --allowed-signers allowed "$(<copied)"
    assert_status 0
    assert_stdout_has 'sk-ssh-ed25519@openssh.com SHA256:'
}

@test "a passphrase is asked for on the terminal, again after a wrong one; without a terminal that is reported" {
    ssh-keygen -q -p -N open-sesame -f key
    with_pty --send "Enter passphrase for key 'key': " $'wrong\n' --send "Enter passphrase for key 'key': " $'open-sesame\n' -- \
        "$copy_program" -s key b.tar.gz
    assert_status 0
    run_profgrab bundle verify b-handoff.tar.gz
    assert_status 0
    assert_stdout_has 'signature  good'
    run --separate-stderr setsid -w "$copy_program" -s key.pub b.tar.gz
    assert_status 1
    assert_stderr_has 'key: there is no terminal to ask on'
    [[ ! -e b-handoff-2.tar.gz ]]
}

@test "verify --json trusts a bundle only if an allowed signer signed it" {
    allow ann key.pub >allowed
    run_profgrab bundle verify --json b.tar.gz
    assert_status 0
    assert_equal "$(print_trust)" 'False none'
    run_profgrab bundle verify --json --allowed-signers allowed b.tar.gz
    assert_status 1
    assert_equal "$(print_trust)" 'False none'
    run_copy -s key b.tar.gz
    run_profgrab bundle verify --json b-handoff.tar.gz
    assert_status 0
    assert_equal "$(print_trust)" 'False good'
    run_profgrab bundle verify --json --allowed-signers allowed b-handoff.tar.gz
    assert_status 0
    assert_equal "$(print_trust)" 'True good'
}

@test "verify reports unsigned, unknown, foreign and forged signatures with its exit codes" {
    ssh-keygen -q -t ed25519 -N '' -f other
    allow erin other.pub >allowed
    run_profgrab bundle verify b.tar.gz
    assert_status 0
    assert_stdout_has 'signature  none'
    run_profgrab bundle verify --allowed-signers allowed b.tar.gz
    assert_status 1
    assert_stderr_has 'it is not signed'
    run_copy -s key b.tar.gz
    run_profgrab bundle verify b-handoff.tar.gz
    assert_status 0
    assert_stdout_has 'signature  good, ssh-ed25519 SHA256:'
    assert_stdout_has '--allowed-signers'
    run_profgrab bundle verify --allowed-signers allowed b-handoff.tar.gz
    assert_status 1
    assert_stderr_has 'allowed does not allow the key'
    run_profgrab bundle verify --allowed-signers allowed --json b-handoff.tar.gz
    assert_status 1
    assert_equal "$(python3 -c 'import json,sys; m=json.load(sys.stdin); print(m["intact"], m["trusted"], m["signature"]["state"])' <<<"$output")" \
        'True False good'
    run_profgrab bundle verify --allowed-signers missing b-handoff.tar.gz
    assert_status 1
    assert_stderr_has 'missing'
    # The same files with another workstation in the manifest.
    tar xzf b-handoff.tar.gz
    sed -i 's/"workstation": ".*"/"workstation": "elsewhere"/' b/manifest.json
    tar czf forged.tar.gz b/manifest.json b/manifest.json.sig b/README.md b/report.html b/files
    run_profgrab bundle verify forged.tar.gz
    assert_status 1
    assert_stdout_has 'signature  BAD'
    assert_stderr_has 'the signature is not genuine'
}

@test "a signature is valid only for its purpose, and only recipients see the signer" {
    ssh-keygen -q -t ed25519 -N '' -C team -f team
    run_copy -r -s key -e team.pub b.tar.gz
    assert_status 0
    fingerprint=$(ssh-keygen -lf key.pub | cut -d' ' -f2)
    blob=$(cut -d' ' -f2 key.pub)
    run ! grep -aqF -e "${fingerprint#SHA256:}" -e "$blob" -e SSHSIG -e carol b.tar.gz.age
    dir=$("$profgrab_program" bundle extract -i team b.tar.gz.age)
    allow carol key.pub >allowed
    ssh-keygen -Y verify -f allowed -I carol -n profgrab-bundle -s "$dir/manifest.json.sig" <"$dir/manifest.json"
    for namespace in git file profgrab; do
        run ! ssh-keygen -Y verify -f allowed -I carol -n "$namespace" -s "$dir/manifest.json.sig" <"$dir/manifest.json"
    done
}

@test "verify shows the addressee of a bundle that its recipient sent on to others" {
    ssh-keygen -q -t ed25519 -N '' -C team -f team
    ssh-keygen -q -t ed25519 -N '' -C victim -f victim
    run_copy -r -s key -e team.pub b.tar.gz
    assert_status 0
    age -d -i team b.tar.gz.age | age -R victim.pub -o onward.age
    allow carol key.pub >allowed
    run_profgrab bundle verify -i victim --allowed-signers allowed onward.age
    assert_status 0
    # The signature is good, but the recipient in the manifest is not the reader.
    assert_stdout_has "recipients ssh-ed25519 $(ssh-keygen -lf team.pub | cut -d' ' -f2)"
    refute_stdout_has "$(ssh-keygen -lf victim.pub | cut -d' ' -f2)"
    # A manifest that names the reader instead breaks the signature.
    age -d -i team b.tar.gz.age | tar xz
    sed -i "s|$(ssh-keygen -lf team.pub | cut -d' ' -f2)|$(ssh-keygen -lf victim.pub | cut -d' ' -f2)|" b/manifest.json
    tar czf - b/manifest.json b/manifest.json.sig b/README.md b/report.html b/files | age -R victim.pub -o forged.age
    run_profgrab bundle verify -i victim --allowed-signers allowed forged.age
    assert_status 1
    assert_stdout_has 'signature  BAD'
}

@test "a wrong signature of an agent is found before it is used" {
    cat >agent.py <<'SCRIPT'
import base64, os, socket, struct
key = base64.b64decode(open("key.pub").read().split()[1])
string = lambda b: struct.pack(">I", len(b)) + b
listener = socket.socket(socket.AF_UNIX)
listener.bind("agent")
listener.listen(4)
while True:
    c, _ = listener.accept()
    while True:
        head = c.recv(5, socket.MSG_WAITALL)
        if len(head) < 5:
            break
        c.recv(struct.unpack(">I", head[:4])[0] - 1, socket.MSG_WAITALL)
        if head[4] == 11:
            reply = b"\x0c" + struct.pack(">I", 1) + string(key) + string(b"carol")
        else:
            reply = b"\x0e" + string(string(b"ssh-ed25519") + string(os.urandom(64)))
        c.sendall(string(reply))
SCRIPT
    python3 agent.py 3>&- &
    hung=$!
    wait_for test -S agent
    rm key
    SSH_AUTH_SOCK=$PWD/agent run_copy -s key.pub b.tar.gz
    assert_status 1
    assert_stderr_has 'the signature made with ssh-ed25519 SHA256:'
    assert_stderr_has 'not genuine'
    [[ ! -e b-handoff.tar.gz ]]
}

@test "text of a hostile manifest and signature is printable on the terminal" {
    run_copy b.tar.gz
    tar xzf b-handoff.tar.gz
    sed -i 's/"user": ".*"/"user": "\\u001b[31mroot\\u202e"/' b/manifest.json
    printf -- '-----BEGIN SSH SIGNATURE-----\n\033[2J\n' >b/manifest.json.sig
    tar czf hostile.tar.gz b/manifest.json b/manifest.json.sig b/README.md b/report.html b/files
    run_profgrab bundle verify hostile.tar.gz
    assert_status 1
    assert_stdout_has 'signature  BAD'
    [[ $output$stderr != *$'\033'* && $output != *$'\u202e'* ]]
}
