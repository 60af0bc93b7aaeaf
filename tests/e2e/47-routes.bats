#!/usr/bin/env bats
# Routes to a host: jump hosts and their shared sessions, destinations that do not answer, busy servers.

load helper

# Prints the number of logins in an sshd's log.
logins() { # SSHD
    grep -c '^Accepted publickey' "$RIG_DIR/$1/log"
}

# Adds the aliases far-01 … far-N for the rig's sshd behind the jump host.
add_hosts_behind() { # JUMP N
    local i
    for ((i = 1; i <= $2; i++)); do rig_alias "far-0$i" sshd "ProxyJump $1"; done
}

@test "three jumps in a row do not change a body of 8 MB, and the manifest names every hop" {
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
    add_hosts_behind gate 6
    run_profgrab --host 'far-01,far-02,far-03,far-04,far-05,far-06' --port "$RIG_PORT_rude" -v heap
    assert_status 0
    assert_equal "$(logins gate)" 1
    assert_stderr_has "session: $RIG_USER@127.0.0.1 port $RIG_PORT_gate, its session is open"
    rig_end gate
}

@test "a lost jump host session is opened again once for all hosts" {
    rig_sshd gate2 gate2
    rig_alias "again-01 again-02" sshd 'ProxyJump gate2'
    : >log
    "$profgrab_program" --ssh-config "$SSH_CONFIG" --host again-01,again-02 --port "$RIG_PORT_rude" heap cpu=3 >path 2>log 3>&- &
    local pid=$! parent child i
    for ((i = 0; i < 500; i++)); do [[ $(grep -c 'taking 3s' log) != 2 ]] || break; sleep 0.02; done
    read -r parent _ <"$RIG_DIR/pids/gate2"
    child=$(rig_session "$parent")
    kill -KILL "$child"
    status=0
    wait "$pid" || status=$?
    ((status == 0)) || fail "status $status" "$(cat log)"
    assert_equal "$(logins gate2)" 2
    assert_equal "$(grep -c 'taken again over a new SSH session' log)" 2
    rig_end gate2
}

@test "more logins than the server accepts at a time all succeed" {
    local hosts=busy-01 i
    rig_sshd busy 'busy-*' 'MaxStartups 2:100:2'
    for ((i = 2; i <= 20; i++)); do hosts+=,busy-$(printf %02d "$i"); done
    run_profgrab --parallel 20 --host "$hosts" --port "$RIG_PORT_rude" heap
    assert_status 0
    assert_equal "$(logins busy)" 20
    rig_end busy
}

# Opens a port that neither accepts nor refuses a connection, as on a dead host: its queue is full. Sets $hole.
start_hole() {
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
    rig_wait hole 30 test -s "$RIG_DIR/hole/log"
    read -r hole <"$RIG_DIR/hole/log"
}

@test "a destination that does not answer does not affect others behind the same jump host" {
    local began=$SECONDS
    start_hole
    rig_sshd narrow narrow
    rig_alias 'near-01 near-02 near-03' sshd 'ProxyJump narrow'
    printf 'Host hole-01\n    ProxyJump narrow\n    HostName 127.0.0.1\n    Port %s\n' "$hole" >>"$RIG_SSH_CONFIG"
    rig_alias hole-01 sshd
    cat >inventory.yaml <<EOF
version: 1
services:
  dead: { port: $hole }
  good: { port: $RIG_PORT_rude }
hosts:
  hole-01: { services: [good] }
  near-01: { services: [dead, good] }
  near-02: { services: [good] }
  near-03: { services: [good] }
EOF
    chmod 600 inventory.yaml
    run --separate-stderr "$profgrab_program" --ssh-config "$SSH_CONFIG" -i inventory.yaml --timeout 4s \
        --host hole-01,near-01,near-02,near-03 heap
    rig_end narrow
    rig_end hole
    assert_status 3
    assert_stderr_has "hole-01: the SSH server did not connect to 127.0.0.1 port $hole in time"
    assert_stderr_has "near-01: dead: "
    refute_stderr_has "near-01: good: the"
    for good in near-01 near-02 near-03; do assert_stderr_has "$good: good: heap: "; done
    tar -tf "$output" | grep -c '/good/heap.pb.gz$' | grep -qx 3
    ((SECONDS - began < 50)) || fail "$((SECONDS - began)) s"
}

# Adds the aliases dead-01 … dead-N behind a jump host, each at a port that does not answer.
add_dead_hosts() { # JUMP N
    local i port
    rig_spawn holes python3 -c '
import socket, sys, time
full = []
for n in range(int(sys.argv[1])):
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(0)
    full.append(listener)
    for i in range(4):
        s = socket.socket()
        s.setblocking(False)
        s.connect_ex(listener.getsockname())
        full.append(s)
    print(listener.getsockname()[1], flush=True)
print("end", flush=True)
time.sleep(600)' "$2"
    rig_wait holes 10 grep -q end "$RIG_DIR/holes/log"
    i=0
    while read -r port && [[ $port != end ]]; do
        i=$((i + 1))
        printf 'Host dead-%02d\n    HostName 127.0.0.1\n    Port %s\n    ProxyJump %s\n    User %s\n    UserKnownHostsFile %s\n' \
            "$i" "$port" "$1" "$RIG_USER" "$RIG_KNOWN_HOSTS" >>"$RIG_SSH_CONFIG"
    done <"$RIG_DIR/holes/log"
}

@test "a dozen dead hosts behind a jump host: each message names its own host, and the healthy hosts are fetched" {
    local i hosts=well-01,well-02
    rig_sshd crowd crowd
    rig_alias 'well-*' sshd 'ProxyJump crowd'
    add_dead_hosts crowd 12
    for i in {01..12}; do hosts+=,dead-$i; done
    run_profgrab --connect-timeout 6s --parallel 14 --host "$hosts" --port "$RIG_PORT_rude" heap
    rig_end holes
    rig_end crowd
    assert_status 3
    tar -tf "$output" | grep -c '/heap.pb.gz$' | grep -qx 2 || fail_run 'not both were fetched'
    # No message names another host's destination.
    while read -r i; do
        assert_stderr_has "dead-$i: the SSH server did not connect to 127.0.0.1 port"
    done < <(printf '%02d\n' {1..12})
    refute_stderr_has 'sessions to the SSH server wait'
}

@test "after the end of a live master behind a jump host, the new session uses the jump host too" {
    local pid i before
    rig_sshd round round
    rig_alias rounded sshd 'ProxyJump round' "ControlPath $PWD/live"
    ssh -F "$RIG_SSH_CONFIG" -M -N -S "$PWD/live" rounded </dev/null >/dev/null 2>master.log 3>&- 4>&- &
    local master=$!
    wait_for test -S live
    before=$(logins round)
    : >log
    "$profgrab_program" --ssh-config "$SSH_CONFIG" --host rounded --port "$RIG_PORT_rude" heap cpu=3 >path 2>log 3>&- &
    pid=$!
    wait_for grep -q 'taking 3s' log
    kill -KILL "$master"
    wait "$master" || true
    status=0
    wait "$pid" || status=$?
    ((status == 0)) || fail "status $status" "$(cat log)"
    assert_equal "$(logins round)" $((before + 1))
    rig_end round
}

@test "a live master over another route than the configured one is not used" {
    local master i
    rig_sshd aside aside
    printf 'Host file-03\n    ControlPath %s\n' "$PWD/live" | cat - "$RIG_SSH_CONFIG" >config
    ssh -F config -M -N -S "$PWD/live" file-03 </dev/null >/dev/null 2>master.log 3>&- 4>&- &
    master=$!
    wait_for test -S live
    cat >inventory.yaml <<EOF
version: 1
services:
  rude: { port: $RIG_PORT_rude }
hosts:
  other: { address: file-03, ssh: { jump: aside }, services: [rude] }
  same: { address: file-03, services: [rude] }
EOF
    chmod 600 inventory.yaml
    run --separate-stderr "$profgrab_program" --ssh-config config -i inventory.yaml --host other heap
    assert_status 0
    assert_equal "$(logins aside)" 1
    run --separate-stderr "$profgrab_program" --ssh-config config -i inventory.yaml --host same heap
    assert_status 0
    assert_stderr_has 'via: the ssh -M at'
    kill "$master"
    wait "$master" || true
    rig_end aside
}

@test "a jump host with the same name and port as the host behind it causes no deadlock" {
    local hosts=self-01 i
    rig_sshd mirror mirror
    # profgrab reaches each host through the jump host, at the address of the jump host itself.
    rig_alias 'self-*' mirror 'ProxyJump mirror'
    for i in 2 3 4 5 6 7 8 9; do hosts+=,self-0$i; done
    run_profgrab --parallel 9 --host "$hosts" --port "$RIG_PORT_rude" heap
    rig_end mirror
    assert_status 0
}

@test "through OpenSSH, a jump host that allows few logins loses none" {
    local hosts=slim-01 i
    rig_sshd slim slim 'MaxStartups 2:100:2'
    rig_alias 'slim-*' sshd 'ProxyJump slim'
    for i in 2 3 4 5 6; do hosts+=,slim-0$i; done
    run_profgrab --via openssh --parallel 6 --host "$hosts" --port "$RIG_PORT_rude" heap
    rig_end slim
    assert_status 0
}

@test "a failed proxy command is reported at once, with its message or without any" {
    local began=$SECONDS
    rig_alias mute sshd 'ProxyCommand sh -c "exit 3"'
    run_profgrab --host mute --port "$RIG_PORT_rude" heap
    assert_status 1
    assert_stderr_has 'the proxy command ended with exit code 3, without a message'
    refute_stderr_has MaxStartups
    rig_alias curt sshd 'ProxyCommand sh -c "echo no such gate >&2; exit 1"'
    run_profgrab --host curt --port "$RIG_PORT_rude" heap
    assert_status 1
    assert_stderr_has 'the proxy command says "no such gate"'
    assert_stderr_has 'hint: ProxyCommand in ssh'
    ((SECONDS - began < 10)) || fail "$((SECONDS - began)) s"
    # A proxy command's messages before its success are not failures.
    rig_alias chatty sshd "ProxyCommand sh -c 'echo on my way >&2; exec ssh -F $RIG_SSH_CONFIG -W %h:%p file-03'"
    run_profgrab --host chatty --port "$RIG_PORT_rude" heap
    assert_status 0
}
