#!/usr/bin/env bats
# shellcheck disable=SC2030,SC2031 # each test is a subshell
# Ctrl-C in each phase of a hand-off: profgrab ends in time, keeps the bundle, and reports the data that left the workstation.
load helper
load gitlab

# A rig without an sshd: routes are direct.
setup_file() {
    RIG_DIR=$(mktemp -d "${TMPDIR:-/tmp}/profgrab-rig.XXXXXX")
    export RIG_DIR
    mkdir "$RIG_DIR/pids"
    rig_service node_exporter
    stub gitlab
    for who in mate me; do
        ssh-keygen -q -t ed25519 -N '' -C "$who" -f "$RIG_DIR/$who"
    done
}

teardown_file() { rig_stop; }

setup() {
    e2e_setup
    export TOKEN=glpat-manager-0123456789
    control=http://127.0.0.1:$CONTROL_gitlab
    control -X POST "$control/reset"
    inventory "http://127.0.0.1:$PORT_gitlab"
}

teardown() {
    [[ -z ${output-} || "$output$stderr" != *glpat-* ]] || fail_run 'the token was printed'
    assert_equal "$(control "$control/violations")" ''
}

inventory() { # URL [TRACKER-SETTING]
    cat >inventory.yaml <<END
version: 1
services: { node: { port: $RIG_PORT_node_exporter } }
hosts: { here: { connect: direct, address: 127.0.0.1, services: [node] } }
trackers:
  lab: { kind: gitlab, url: "$1", ${2:-token_env: TOKEN} }
teams:
  gitaly: { recipients: [ $RIG_DIR/mate.pub ], tracker: lab, project: ops/private, signature: required }
self: { recipients: [ $RIG_DIR/me.pub ], sign_with: $RIG_DIR/me.pub }
END
    chmod 600 inventory.yaml
}

# Makes a bundle with secrets and random bytes that needs many reads.
make_bundle() {
    python3 - <<'END'
import random

random.seed(7)
with open("goroutines.txt", "w") as out:
    for i in range(1, 12000):
        out.write(f"goroutine {i} [chan receive, password={random.randbytes(40).hex()}]:\nmain.f{i}(...)\n\t/a.go:1 +0x1\n\n")
with open("cmdline.bin", "wb") as out:
    out.write(random.randbytes(1500000))
END
    "$profgrab_program" bundle create -o b.tar.gz goroutines.txt cmdline.bin
    rm goroutines.txt cmdline.bin
}

needs_strace() {
    [[ $profgrab_program == */gcc/* || $profgrab_program == */clang/* ]] || skip 'strace and sanitizers exclude each other'
}

interrupts() { python3 "$rig_root/tests/rig/interrupts.py" --control "$control" "$@"; }

# Sends SIGINT to the process $pid, which waits for something that takes 60 s. The process ends within 8 s. Sets $rc to its status.
interrupt_in_time() {
    local began now
    began=$(date +%s%3N)
    kill -INT "$pid"
    wait "$pid" && rc=0 || rc=$?
    now=$(date +%s%3N)
    ((now - began < 8000)) || fail "it ended after $((now - began)) ms"
}

# Starts the command as $pid in the background, with SIGINT enabled: background jobs of a shell ignore it.
in_background() {
    python3 -c 'import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execvp(sys.argv[1], sys.argv[1:])' \
        "$@" >out 2>log 3>&- &
    pid=$!
}

until_true() { # COMMAND...
    for ((i = 0; i < 1000; i++)); do ! "$@" 2>/dev/null || return 0; sleep 0.01; done
    fail "never: $*" "$(<log)"
}

@test "SIGINT at each step of attach: copy, page, signature, encryption, queries, issue, upload, comparison, note" {
    needs_strace
    make_bundle
    interrupts --bundle b.tar.gz -- "$profgrab_program" attach b.tar.gz -i inventory.yaml --for gitaly
}

@test "SIGINT at each step of a grab's hand-off, after the bundle has its name: exit code 0 only with the issue" {
    needs_strace
    interrupts --bundle g.tar.gz --from 'linkat\(.*"g\.tar\.gz"' --each 3 -- \
        "$profgrab_program" -q -i inventory.yaml --host here -o g.tar.gz --for gitaly heap
}

@test "SIGINT that only the child drawing the copy's page receives: the hand-off ends, and nothing has left" {
    needs_strace
    make_bundle
    run --separate-stderr strace -f -o trace -e trace=close_range -e inject=close_range:signal=SIGINT:when=1 \
        "$profgrab_program" attach b.tar.gz -i inventory.yaml --for gitaly
    ((status != 0)) || fail_run 'it was handed off'
    assert_stderr_has 'nothing has left this workstation'
    refute_requested .
    assert_equal "$(ls -- *.age 2>/dev/null)" ''
}

@test "SIGINT while a name server is silent ends the program" {
    own_network --mount bash -c 'PATH=$PATH:/sbin:/usr/sbin ip link set lo up' || skip 'needs namespaces and ip(8)'
    make_bundle
    inventory https://tracker.example
    cat >names.py <<'END'
import socket, time

names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
names.bind(("127.0.0.1", 53))
open("up", "w").close()
names.recv(500)
open("asked", "w").close()
time.sleep(60)
END
    cat >isolated.bash <<'END'
PATH=$PATH:/sbin:/usr/sbin
ip link set lo up
echo nameserver 127.0.0.1 >resolv.conf
mount --bind resolv.conf /etc/resolv.conf
python3 names.py &
names=$!
until [[ -e up ]]; do sleep 0.01; done
"$@"
status=$?
kill "$names"
exit "$status"
END
    # The interrupted process is in a namespace of its own, so the signal is sent there.
    cat >interrupted.py <<'END'
import os, signal, subprocess, sys, time

process = subprocess.Popen(sys.argv[1:], preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
while not os.path.exists("asked") and process.poll() is None:
    time.sleep(0.01)
began = time.monotonic()
process.send_signal(signal.SIGINT)
status = process.wait()
took = time.monotonic() - began
sys.exit(f"it went on for {took:.1f} s" if took > 8 else status)
END
    run --separate-stderr own_network --mount timeout 50 bash isolated.bash python3 interrupted.py \
        "$profgrab_program" attach b.tar.gz -i inventory.yaml --for gitaly
    assert_status 130
    assert_stderr_has 'profgrab: nothing has left this workstation'
}

@test "SIGINT ends the program while it waits: for a token's command, an agent, a tracker that reads nothing" {
    make_bundle
    inventory "http://127.0.0.1:$PORT_gitlab" 'token_command: "touch asked; exec sleep 60"'
    in_background "$profgrab_program" attach b.tar.gz -i inventory.yaml --for gitaly
    until_true test -e asked
    interrupt_in_time
    assert_equal "$rc" 130
    grep -q '^profgrab: nothing has left this workstation$' log
    rm asked

    # An agent that answers no request.
    cat >agent.py <<'END'
import socket, time

agent = socket.socket(socket.AF_UNIX)
agent.bind("agent")
agent.listen()
connection, _ = agent.accept()
connection.recv(100)
open("asked", "w").close()
time.sleep(60)
END
    inventory "http://127.0.0.1:$PORT_gitlab"
    python3 agent.py 3>&- &
    server=$!
    until_true test -S agent
    SSH_AUTH_SOCK=$PWD/agent in_background "$profgrab_program" attach b.tar.gz -i inventory.yaml --for gitaly
    until_true test -e asked
    interrupt_in_time
    kill "$server"
    assert_equal "$rc" 130
    grep -q '^profgrab: nothing has left this workstation$' log
    rm asked

    # A tracker that accepts, but neither reads nor answers.
    cat >tracker.py <<'END'
import socket, time

tracker = socket.create_server(("127.0.0.1", 0))
with open("port", "w") as out:
    out.write(str(tracker.getsockname()[1]) + "\n")
for scheme in "http", "https":
    connection, _ = tracker.accept()
    open("asked-" + scheme, "w").close()
time.sleep(60)
END
    python3 tracker.py 3>&- &
    server=$!
    until_true grep -q . port
    for scheme in http https; do
        inventory "$scheme://127.0.0.1:$(<port)"
        in_background "$profgrab_program" attach b.tar.gz -i inventory.yaml --for gitaly
        until_true test -e "asked-$scheme"
        interrupt_in_time
        assert_equal "$rc" 130
        grep -q '^profgrab: nothing has left this workstation$' log
    done
    kill "$server"
    assert_equal "$(ls -- *.age 2>/dev/null)" ''
}
