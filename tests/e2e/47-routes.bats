#!/usr/bin/env bats
# Ways to a host: jump hosts and their shared sessions, destinations that keep a session waiting, busy servers.

load helper

# The lines of an sshd's log that say somebody logged in.
logins() { # SSHD
    grep -c '^Accepted publickey' "$RIG_DIR/$1/log"
}

# Aliases far-01 … far-N for the rig's sshd behind the jump host.
behind() { # JUMP N
    local i
    for ((i = 1; i <= $2; i++)); do rig_alias "far-0$i" sshd "ProxyJump $1"; done
}

@test "three jumps in a row: a body of 8 MB comes as it was sent, and the manifest names every hop" {
    local names
    rig_sshd jump_a jump-a
    rig_sshd jump_b jump-b
    rig_sshd jump_c jump-c
    rig_alias three sshd 'ProxyJump jump-a,jump-b,jump-c'
    run_profgrab --host three --port "$RIG_PORT_rude" --path /big=8/debug/pprof heap
    rig_end jump_a
    rig_end jump_b
    rig_end jump_c
    assert_status 0
    "$profgrab_program" bundle verify "$output"
    tar -xf "$output"
    names=$(python3 -c 'import json, sys
print(*[h["port"] for h in json.load(open(sys.argv[1]))["hosts"][0]["hops"]])' ./*/manifest.json)
    assert_equal "$names" "$RIG_PORT_jump_a $RIG_PORT_jump_b $RIG_PORT_jump_c $RIG_PORT_sshd"
}

@test "hosts behind one jump host share its session" {
    rig_sshd gate gate
    behind gate 6
    run_profgrab --host 'far-01,far-02,far-03,far-04,far-05,far-06' --port "$RIG_PORT_rude" -v heap
    assert_status 0
    assert_equal "$(logins gate)" 1
    assert_stderr_has "session: $RIG_USER@127.0.0.1 port $RIG_PORT_gate, its session is open"
    rig_end gate
}

@test "a jump host whose session ends is logged in to again, once for all" {
    rig_sshd gate2 gate2
    rig_alias "again-01 again-02" sshd 'ProxyJump gate2'
    : >log
    "$profgrab_program" --ssh-config "$SSH_CONFIG" --host again-01,again-02 --port "$RIG_PORT_rude" heap cpu=6 >path 2>log 3>&- &
    local pid=$! parent child i
    for ((i = 0; i < 500; i++)); do [[ $(grep -c 'taking 6s' log) != 2 ]] || break; sleep 0.02; done
    read -r parent _ <"$RIG_DIR/pids/gate2"
    child=$(rig_leaves "$parent" | tail -n 1)
    kill -KILL "$child"
    status=0
    wait "$pid" || status=$?
    ((status == 0)) || fail "status $status" "$(cat log)"
    assert_equal "$(logins gate2)" 2
    assert_equal "$(grep -c 'taken again over a new SSH session' log)" 2
    rig_end gate2
}

@test "more logins than the server bears: none is lost" {
    local hosts=busy-01 i
    rig_sshd busy 'busy-*' 'MaxStartups 2:100:2'
    for ((i = 2; i <= 20; i++)); do hosts+=,busy-$(printf %02d "$i"); done
    run_profgrab --parallel 20 --host "$hosts" --port "$RIG_PORT_rude" heap
    assert_status 0
    assert_equal "$(logins busy)" 20
    rig_end busy
}

# A port that takes no connection and refuses none, as a dead host does: its queue is full. Sets $hole.
hole_open() {
    rig_spawn hole python3 -c '
import socket, sys, time
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen(0)
port = listener.getsockname()[1]
full = []
for i in range(8):
    s = socket.socket()
    s.setblocking(False)
    s.connect_ex(("127.0.0.1", port))
    full.append(s)
print(port, flush=True)
time.sleep(600)'
    rig_wait hole 10 test -s "$RIG_DIR/hole/log"
    read -r hole <"$RIG_DIR/hole/log"
}

@test "a destination that does not answer costs nothing but itself: beside it, and behind the same jump host" {
    local began=$SECONDS
    hole_open
    rig_sshd narrow narrow
    rig_alias 'near-01 near-02 near-03' sshd 'ProxyJump narrow'
    printf 'Host dead-01\n    ProxyJump narrow\n    HostName 127.0.0.1\n    Port %s\n' "$hole" >>"$RIG_SSH_CONFIG"
    rig_alias dead-01 sshd
    cat >inventory.yaml <<EOF
version: 1
services:
  dead: { port: $hole }
  good: { port: $RIG_PORT_rude }
hosts:
  dead-01: { services: [good] }
  near-01: { services: [dead, good] }
  near-02: { services: [good] }
  near-03: { services: [good] }
EOF
    chmod 600 inventory.yaml
    run --separate-stderr "$profgrab_program" --ssh-config "$SSH_CONFIG" -i inventory.yaml --timeout 6s \
        --host dead-01,near-01,near-02,near-03 heap
    rig_end narrow
    rig_end hole
    assert_status 3
    assert_stderr_has "dead-01: the far host did not connect to 127.0.0.1 port $hole in time"
    assert_stderr_has "near-01: dead: "
    refute_stderr_has "near-01: good: the"
    for good in near-01 near-02 near-03; do assert_stderr_has "$good: good: heap: "; done
    tar -tf "$output" | grep -c '/good/heap.pb.gz$' | grep -qx 3
    ((SECONDS - began < 25)) || fail "$((SECONDS - began)) s"
}
