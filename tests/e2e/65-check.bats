# `profgrab check`: each step with its result, and the next command for the step that fails.
load helper

steps() { # prints NAME=ok|failed for each step of the JSON in $output
    python3 -c 'import json, sys
for h in json.loads(sys.argv[1]):
    for part in [h] + h["services"]:
        for s in part["steps"]:
            print("%s=%s" % (s["step"], "ok" if s["ok"] else "failed"))' "$output" | tr '\n' ' '
}

# Standard output of the last run follows the schema of check.
assert_schema() {
    printf '%s\n' "$output" >out.json
    python3 "$rig_root/tests/schema.py" "$rig_root/docs/formats.md#check" out.json
    rm out.json
}

# field EXPRESSION: prints a Python expression over the `hosts` of the JSON in $output.
field() { python3 -c 'import json, sys; hosts = json.loads(sys.argv[1]); print(eval(sys.argv[2]))' "$output" "$1"; }

@test "a healthy host has every step, the profiles with their counts, and exit code 0" {
    write_inventory
    run_profgrab check --host file-04
    assert_status 0
    local step
    for step in configuration connection handshake 'host key' authentication dial index profiles clock; do
        assert_stdout_has " $step "
    done
    assert_stdout_has 'goroutine '
    assert_stdout_has 'SSH-2.0-OpenSSH'
    assert_stdout_has 'SHA256:'
    refute_stdout_has FAILED
    assert_stderr ''
    assert_equal "$(ls)" ''
}

@test "the text lists the steps of each service of a host, one service below the other" {
    write_inventory slow=1 big=2 big=3
    local host names
    for host in file-03 file-05; do
        names=(slow-1 big-2 big-3)
        [[ $host != file-03 ]] || names=(node caddy)
        run_profgrab check --host "$host"
        assert_status 0
        # shellcheck disable=SC2016,SC2086 # of awk; several words
        assert_equal "$(awk '/^  [^ ]+ +https?:/ { printf "%s:", $1; next } /^    [a-z]/ { printf " %s", $1 }
            /^    clock/ { print "" }' <<<"$output")" \
            "$(printf '%s: dial index profiles clock\n' "${names[@]}")"
    done
}

@test "JSON has the same steps" {
    write_inventory
    run_profgrab check --host file-03 --json
    assert_status 0
    assert_equal "$(steps)" 'configuration=ok connection=ok handshake=ok host key=ok authentication=ok dial=ok index=ok dial=ok index=ok '
    assert_schema
    assert_equal "$(field '[(h["name"], h["ok"], [s["name"] for s in h["services"]]) for h in hosts]')" "[('file-03', True, ['node', 'caddy'])]"
    assert_equal "$(field 'any(p["name"] == "heap" and p["count"] > 0 for p in hosts[0]["services"][0]["profiles"])')" True
}

@test "check stops at the step that fails, and prints the next command" {
    write_inventory
    run_profgrab check --host file-04 --port 1 --json
    assert_status 1
    assert_equal "$(steps)" 'configuration=ok connection=ok handshake=ok host key=ok authentication=ok dial=failed '
    assert_schema
    assert_equal "$(field 'hosts[0]["services"][0]["steps"][-1]["next"]')" "ssh -F $SSH_CONFIG file-04 'ss -ltnx'"
    run_profgrab check --host file-04 --port "$RIG_PORT_node_exporter" --path /nothing
    assert_status 1
    assert_stdout_has 'index          FAILED'
    assert_stdout_has "next: ssh -F $SSH_CONFIG file-04 'curl -sSi http://localhost:$RIG_PORT_node_exporter/nothing/'"
}

# Configures the host `mine` with these lines. Sets $SSH_CONFIG.
host_with() {
    export SSH_CONFIG=$BATS_TEST_TMPDIR/config-of-mine
    { printf 'Host mine\n    HostName 127.0.0.1\n    Port %s\n    User rig\n    UserKnownHostsFile %s\n' "$RIG_PORT_sshd" "$RIG_KNOWN_HOSTS"
      printf '    GlobalKnownHostsFile /dev/null\n    IdentitiesOnly yes\n'
      printf '    %s\n' "$@"; } >"$SSH_CONFIG"
}

@test "each step of SSH can fail by itself" {
    host_with "IdentityFile $RIG_KEY" 'BogusOption yes'
    run_profgrab check --host mine --port 6060 --json
    assert_status 1
    assert_equal "$(steps)" 'configuration=failed '
    host_with "IdentityFile $RIG_KEY"
    sed -i "s/Port .*/Port 1/" "$SSH_CONFIG"
    run_profgrab check --host mine --port 6060 --json
    assert_status 1
    assert_equal "$(steps)" 'configuration=ok connection=failed '
    assert_equal "$(field 'hosts[0]["steps"][-1]["next"]')" "ssh -F $SSH_CONFIG -v -o ConnectTimeout=5 mine true"
    sed -i "s/Port .*/Port $RIG_PORT_node_exporter/" "$SSH_CONFIG"
    run_profgrab check --host mine --port 6060 --json
    assert_status 1
    assert_equal "$(steps)" 'configuration=ok connection=ok handshake=failed '
    host_with "IdentityFile $RIG_KEY"
    sed -i 's/UserKnownHostsFile .*/UserKnownHostsFile \/dev\/null/' "$SSH_CONFIG"
    run_profgrab check --host mine --port 6060 --json
    assert_status 1
    assert_equal "$(steps)" 'configuration=ok connection=ok handshake=ok host key=failed '
    ssh-keygen -q -t ed25519 -N '' -f other
    host_with "IdentityFile $PWD/other"
    run_profgrab check --host mine --port 6060 --json
    assert_status 1
    assert_equal "$(steps)" 'configuration=ok connection=ok handshake=ok host key=ok authentication=failed '
}

@test "each hop of a route has its steps" {
    rig_sshd bastion bastion-01
    rig_alias inner-01 sshd 'ProxyJump bastion-01'
    run_profgrab check --host inner-01 --port "$RIG_PORT_rude" --json
    assert_status 0
    assert_schema
    assert_equal "$(field '[(s["hop"], s["hops"]) for s in hosts[0]["steps"] if s["step"] == "host key"]')" '[(1, 2), (2, 2)]'
    run_profgrab check --host inner-01 --port "$RIG_PORT_rude"
    assert_stdout_has '1/2 authentication'
    assert_stdout_has '2/2 authentication'
    rig_end bastion
}

@test "several hosts are checked independently, and a dead one does not hide the others" {
    write_inventory
    printf '  dead: { connect: direct, address: 127.0.0.1, services: [dead] }\n' >extra
    sed -i -e "/^services:/a\\  dead: { port: 1 }" -e "/^hosts:/r extra" "$PROFGRAB_INVENTORY"
    run_profgrab check --host dead --host file-04 --json
    assert_status 1
    assert_schema
    assert_equal "$(field '[(h["name"], h["ok"] and all(s["ok"] for s in h["services"])) for h in hosts]')" "[('dead', False), ('file-04', True)]"
    run_profgrab check --host dead --host file-04
    assert_stdout_has 'FAILED'
    assert_stdout_has 'SSH-2.0'
}

@test "findings on the index are shown: certificates that are not checked" {
    export PROFGRAB_INVENTORY=$BATS_TEST_TMPDIR/i.yaml
    printf 'version: 1\nservices:\n  app: { port: %s, scheme: https, tls: { insecure: true } }\nhosts:\n  file-03: { services: [app] }\n' \
        "$RIG_PORT_rude_httpsself" >"$PROFGRAB_INVENTORY"
    chmod 600 "$PROFGRAB_INVENTORY"
    run_profgrab check --host file-03
    assert_status 0
    assert_stdout_has 'its TLS certificate was not checked'
}

@test "-v prints every step of a grab too" {
    write_inventory
    run_profgrab -v --host file-04 heap
    assert_status 0
    local step
    for step in 'configuration' 'connection' 'handshake: SSH-2.0' 'host key: ssh-ed25519 SHA256:' 'authentication: key ' \
        'GET /debug/pprof/: HTTP 200' 'GET /debug/pprof/heap: HTTP 200' 'first byte after' 'last finished garbage collection'; do
        assert_stderr_has "$step"
    done
    run_profgrab -v -q --host file-04 heap
    assert_status 2
}

@test "a silent service is reported after ten seconds, and Ctrl-C ends the wait" {
    local began=$SECONDS
    run_profgrab check --host file-04 --port "$RIG_PORT_rude_silent"
    assert_status 1
    assert_stdout_has 'no data arrived for 10s'
    ((SECONDS - began < 20)) || fail "$((SECONDS - began)) s"
    run --separate-stderr timeout --preserve-status -s INT 1 "$profgrab_program" check --ssh-config "$SSH_CONFIG" --host file-04 --port "$RIG_PORT_rude_silent"
    assert_status 130
    refute_stdout_has FAILED
}

@test "check without a host or with a kind is a usage error" {
    run_profgrab check
    assert_status 2
    assert_stderr_has 'no host given'
    run_profgrab check --host file-03 heap
    assert_status 2
}

@test "a service that answers on a public address causes a warning" {
    own_network bash -c 'PATH=$PATH:/sbin ip link set lo up' || skip 'needs network namespaces and ip(8)'
    TMPDIR=/tmp run --separate-stderr own_network bash "$rig_root/tests/e2e/exposure.bash" "$profgrab_program"
    assert_status 0
    assert_stdout_has 'open: exposure       WARNING'
    assert_stdout_has 'it answers on 192.0.2.1 port'
    assert_stdout_has 'closed: exposure       ok'
}

# Runs the command in the last hint unchanged. A `profgrab` in it is the program under test.
run_hinted() {
    local line
    line=$(sed -n 's/^hint: .*`\(profgrab check [^`]*\)` shows each step$/\1/p' <<<"$stderr")
    [[ -n $line ]] || fail_run 'no hint at profgrab check'
    eval "run --separate-stderr \"\$profgrab_program\" ${line#profgrab }"
}

@test "the error of a refused or unanswered connection prints a check command that works unchanged" {
    local closed via arguments
    closed=$(rig_free_port)
    write_inventory
    # A service that does not exist.
    run_profgrab --host file-03 --port "$closed" --connect-timeout 3s heap
    assert_status 1
    assert_stderr_has 'the SSH server cannot connect'
    refute_stderr_has 'profgrab hosts'
    run_hinted
    assert_status 1
    assert_stdout_has 'dial           FAILED'
    # A port without sshd, with a blank in the name of ssh's configuration; through OpenSSH too.
    { printf 'Host gone\n    Port %s\n' "$closed" && cat "$SSH_CONFIG"; } >'my config'
    printf 'version: 1\nservices: { rude: { port: 1 } }\nhosts: { gone: { address: 127.0.0.1, services: [rude], ssh: { port: %s } } }\n' \
        "$closed" >'my inventory'
    chmod 600 'my inventory'
    for via in libssh2 openssh; do
        run --separate-stderr "$profgrab_program" -i 'my inventory' -F 'my config' --via "$via" --host gone heap
        assert_status 1
        assert_stderr_has 'Connection refused'
        run_hinted
        assert_status 1
        assert_stdout_has FAILED
        assert_stdout_has 'Connection refused'
    done
    # The same with a dry run or a forward; also in the JSON.
    for arguments in '--dry-run heap' 'heap'; do
        # shellcheck disable=SC2086 # words
        run --separate-stderr "$profgrab_program" -i 'my inventory' -F 'my config' --host gone $arguments
        run_hinted
        assert_status 1
    done
    run --separate-stderr "$profgrab_program" forward -i 'my inventory' -F 'my config' --host gone
    run_hinted
    assert_status 1
    run --separate-stderr "$profgrab_program" -i 'my inventory' -F 'my config' --host gone --json heap
    [[ $output == *"\"hint\": \""*"profgrab check -i 'my inventory' -F 'my config' --host gone\` shows each step\""* ]] || fail_run
}

@test "an error at a port of the command line does not mention the inventory" {
    write_inventory
    run_profgrab --host file-03 --port "$RIG_PORT_rude_silent" --timeout 1s heap
    refute_stderr_has 'profgrab hosts'
    run_profgrab --host file-03 --port "${RIG_PORT_sshd}" heap
    assert_stderr_has 'does not speak HTTP'
    refute_stderr_has 'inventory'
}
