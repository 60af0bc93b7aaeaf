#!/usr/bin/env bats
# A run over a hundred targets: broken ones do not affect the others.
load helper

# The program runs this many times slower than usual.
SLOW=1
! is_sanitized || SLOW=4

setup_file() {
    # shellcheck disable=SC2119 # its arguments are lines for sshd, none here
    rig_start
    rig_service node_exporter
    rig_service rude -raw
    rig_fixture bad -ssh "127.0.0.1:$RIG_PORT_sshd"
    # shellcheck disable=SC2155 # the assignment cannot fail
    export SSH_CONFIG=$RIG_SSH_CONFIG RIG_PORT_nobody=$(rig_free_port)
    cp "$RIG_SSH_CONFIG" "$RIG_DIR/config"
    ssh-keygen -q -t ed25519 -N '' -f "$RIG_DIR/client/other"
    echo "[127.0.0.1]:$RIG_PORT_sshd $(<"$RIG_DIR/client/other.pub")" >"$RIG_DIR/client/other_hosts"
}

# Names of ten hosts. The first five have a fault in ssh's configuration, the others in their service.
BROKEN=(refused changed denied mute closing gone page locked silent cut)

# Writes ssh's configuration. With `mended` the first three hosts have no fault.
ssh_config() { # broken|mended
    local -A sshd=([refused]=nobody [changed]=sshd [denied]=sshd [mute]=bad_silent [closing]=bad_closing)
    local -A line=([changed]="UserKnownHostsFile \"$RIG_DIR/client/other_hosts\"" [denied]='User stranger')
    [[ $1 == broken ]] || sshd[refused]=sshd line=()
    cp "$RIG_DIR/config" "$RIG_SSH_CONFIG"
    for name in "${!sshd[@]}"; do
        rig_alias "$name" "${sshd[$name]}" ${line[$name]+"${line[$name]}"}
    done
    rig_alias '*' sshd
}

# Writes the inventory. With `mended` the first two services have no fault.
inventory() { # broken|mended
    local -A port=([gone]=$RIG_PORT_nobody [silent]=$RIG_PORT_rude_silent)
    local -A prefix=([page]=/login [locked]=/basic [cut]=/cutgzip)
    [[ $1 == broken ]] || unset 'port[gone]' 'prefix[page]'
    {
        echo 'version: 1'
        echo 'services:'
        echo "  node: { port: $RIG_PORT_node_exporter }"
        for name in gone page locked silent cut; do
            echo "  $name: { port: ${port[$name]-$RIG_PORT_rude}, path: ${prefix[$name]-}/debug/pprof }"
        done
        echo 'hosts:'
        echo '  host-[01-90]: { services: [node] }'
        for name in refused changed denied mute closing; do echo "  $name: { services: [node] }"; done
        for name in gone page locked silent cut; do echo "  $name: { services: [$name] }"; done
        echo 'groups:'
        echo '  fleet: [ "*" ]'
    } >inventory.yaml
    chmod 600 inventory.yaml
    export PROFGRAB_INVENTORY=$PWD/inventory.yaml
}

# count_complete BUNDLE: counts the targets with all requested items.
count_complete() {
    tar xzOf "$1" --wildcards '*/manifest.json' | python3 -c '
import json, sys
services = [s for h in json.load(sys.stdin)["hosts"] for s in h["services"]]
print(sum(len(s["items"]) == 3 and all(i["status"] == "ok" for i in s["items"]) for s in services))'
}

# set_limits SECONDS: sets the options $limits, and the timeout $deadline. The slowest broken hosts need all of it.
set_limits() {
    deadline=$(($1 * SLOW))
    limits=(--parallel 50 --timeout "${deadline}s" --connect-timeout "${deadline}s" -q)
}

# The messages of these hosts, each with its own reason, are the only messages of hosts.
assert_reasons() { # NAME...
    local -A why=(
        [refused]="127.0.0.1 port $RIG_PORT_nobody: cannot connect: Connection refused"
        [changed]="127.0.0.1 port $RIG_PORT_sshd: HOST KEY HAS CHANGED: the server offered ssh-ed25519 SHA256:"
        [denied]="127.0.0.1 port $RIG_PORT_sshd: permission denied for user stranger: the server refused key $RIG_KEY"
        [mute]="127.0.0.1 port $RIG_PORT_bad_silent: the server accepts the connection but sends no data (waited ${deadline}s for an SSH banner)"
        [closing]="127.0.0.1 port $RIG_PORT_bad_closing: tried "
        [gone]="gone: the SSH server cannot connect to localhost port $RIG_PORT_nobody"
        [page]='page: heap: this is an HTML page titled "Sign in", not a profile'
        [locked]='locked: heap: HTTP 401: who are you?'
        [silent]="silent: no answer: the connection was accepted, but no data arrived for ${deadline}s"
        [cut]='cut: heap: cut off inside gzip data after '
    )
    local name others
    others=$(grep -v '^hint: ' <<<"$stderr")
    for name in "$@"; do
        assert_stderr_has "profgrab: $name: ${why[$name]}"
        others=$(grep -v "^profgrab: $name: " <<<"$others")
    done
    [[ $others =~ ^'profgrab: not complete: '[^$'\n']*$ ]] || fail_run "others: $others"
}

@test "ten of a hundred targets fail in ten ways with ten reasons, the others succeed; resume fetches five repaired ones" {
    local began=$SECONDS
    ssh_config broken
    inventory broken
    set_limits 8
    run_profgrab --group fleet "${limits[@]}" heap goroutines
    took=$((SECONDS - began))
    assert_status 3
    [[ $(count_complete "$output") == 90 ]] || fail_run "$(count_complete "$output") complete targets"
    assert_reasons "${BROKEN[@]}"
    ((took <= deadline + 20 * SLOW)) || fail "it took $took s"
    "$profgrab_program" bundle verify "$output"
    local bundle=$output sum
    sum=$(sha256sum "$bundle")
    ssh_config mended
    inventory mended
    set_limits 4 # for ten hosts
    run_profgrab resume "$bundle" "${limits[@]}"
    assert_status 3
    [[ $(count_complete "$output") == 95 ]] || fail_run "$(count_complete "$output") complete targets"
    assert_reasons mute closing locked silent cut
    "$profgrab_program" bundle verify "$output"
    assert_equal "$(sha256sum "$bundle")" "$sum"
}

@test "with too few descriptors the limit is raised, or fewer hosts are opened at a time" {
    ssh_config broken
    inventory broken
    ulimit -Sn 100
    run_profgrab -q --host 'host-[01-20]' --parallel 20 heap
    assert_status 0
    assert_stderr ''
    ulimit -n 150
    run_profgrab -q --host 'host-[01-20]' --parallel 20 heap
    assert_status 0
    assert_stderr 'profgrab: hosts at a time: only 3, since no more than 150 files may be open here (`ulimit -Hn`)'
    run_profgrab -q --host 'host-[01-20]' --sync --yes cpu=1s
    assert_status 2
    assert_stderr_has '20 hosts at once need '
    assert_stderr_has ' open files, and the limit here is 150'
}
