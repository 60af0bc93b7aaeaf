#!/usr/bin/env bats
# Transports of SSH and their algorithms: Unix sockets on the remote host, compression, servers with few algorithms.

load helper

@test "a Unix socket on the remote host is reached over SSH" {
    chmod 666 "$RIG_DIR/rude.sock"
    run_profgrab --host file-03 --unix "$RIG_DIR/rude.sock" heap
    assert_status 0
    "$profgrab_program" bundle verify "$output"
}

@test "a Unix socket that does not exist or may not be forwarded to is reported" {
    run_profgrab --host file-03 --unix "$RIG_DIR/nosuch.sock" heap
    assert_status 1
    assert_stderr_has "the SSH server cannot connect to $RIG_DIR/nosuch.sock"
    assert_stderr_has 'AllowStreamLocalForwarding'
    rig_sshd inet inet-01 'AllowStreamLocalForwarding no'
    chmod 666 "$RIG_DIR/rude.sock"
    run_profgrab --host inet-01 --unix "$RIG_DIR/rude.sock" heap
    assert_status 1
    assert_stderr_has "$RIG_DIR/rude.sock"
    assert_stderr_has 'AllowStreamLocalForwarding'
    run_profgrab --host inet-01 --port "$RIG_PORT_rude" heap
    rig_end inet
    assert_status 0
}

# Prints how the latest login compresses the server's data, from the sshd's log at DEBUG1.
compression_of() { # SSHD
    sed -n 's/.*kex: server->client .* compression: \([^ ]*\).*/\1/p' "$RIG_DIR/$1/log" | tail -n 1
}

# Runs check, whose handshake step reports compression.
run_check() { # ARG...
    run_profgrab check --host file-03 --port "$RIG_PORT_rude" "$@"
    assert_status 0
}

@test "--compress compresses answers; with a short round trip, text is not compressed without it" {
    run_check --compress yes
    assert_stdout_has ', compressed'
    run_check --compress no
    refute_stdout_has compressed
    run_check
    refute_stdout_has compressed
    # Keys are exchanged again in the middle, and compression restarts with them.
    forgive_libssh2
    rig_sshd rekeys rekeys-01 'RekeyLimit 256K'
    run_profgrab --host rekeys-01 --port "$RIG_PORT_rude" --compress yes --path /bigtext=8/debug/pprof goroutines=text
    rig_end rekeys
    assert_status 0
    "$profgrab_program" bundle verify "$output"
    [[ $("$profgrab_program" bundle list "$output") =~ 83[0-9]{5}' ' ]] || fail "$("$profgrab_program" bundle list "$output")"
    run_profgrab --host file-03 --port "$RIG_PORT_rude" --compress some heap
    assert_status 2
    assert_stderr_has '--compress is auto, yes or no, not "some"'
}

@test "with a long round trip, text and traces are compressed by default, other profiles are not" {
    rig_sshd last last-01 'LogLevel DEBUG1'
    rig_spawn relay "$rig_root/tests/rig/delay_proxy.py" "$RIG_PORT_sshd" 15
    rig_wait relay 10 grep -q ^port= "$RIG_DIR/relay/log"
    rig_alias far-hop sshd 'HostName 127.0.0.1' "Port $(sed -n s/^port=//p "$RIG_DIR/relay/log")" "HostKeyAlias [127.0.0.1]:$RIG_PORT_sshd"
    run_profgrab --host last-01 --port "$RIG_PORT_rude" goroutines=text
    assert_status 0
    sed -i "s/^Host last-01/&\n    ProxyJump far-hop/" "$RIG_SSH_CONFIG"
    run_profgrab --host last-01 --port "$RIG_PORT_rude" heap
    assert_status 0
    assert_equal "$(compression_of last)" none
    run_profgrab --host last-01 --port "$RIG_PORT_rude" goroutines=text
    rig_end relay
    rig_end last
    assert_status 0
    assert_equal "$(compression_of last)" zlib@openssh.com
}

@test "Compression in ssh's configuration applies, and --compress overrides it" {
    SSH_CONFIG=$PWD/config
    { printf 'Host *\n    Compression yes\n' && cat "$RIG_SSH_CONFIG"; } >"$SSH_CONFIG"
    run_check
    assert_stdout_has ', compressed'
    run_check --compress no
    refute_stdout_has compressed
}

@test "--compress over OpenSSH overrides the configuration, which applies without it" {
    local host how expected
    rig_sshd loud loud-01 'LogLevel DEBUG1'
    SSH_CONFIG=$PWD/config
    { printf 'Host squeezed-01\n    Compression yes\n' && sed 's/^Host loud-01/& squeezed-01/' "$RIG_SSH_CONFIG"; } >"$SSH_CONFIG"
    while read -r host how expected; do
        run_profgrab --via openssh --host "$host" --port "$RIG_PORT_rude" --compress "$how" goroutines=text
        assert_status 0
        assert_equal "$host $how $(compression_of loud)" "$host $how $expected"
    done <<'EOF'
loud-01 yes zlib@openssh.com
loud-01 auto none
squeezed-01 no none
squeezed-01 auto zlib@openssh.com
EOF
    rig_end loud
}

@test "servers with few algorithms are reported with their offer, without guesses" {
    rig_sshd little little-01 'KexAlgorithms sntrup761x25519-sha512@openssh.com'
    run_profgrab --via libssh2 --host little-01 --port "$RIG_PORT_rude" heap
    rig_end little
    assert_status 1
    assert_stderr_has 'the server offers only the key exchanges sntrup761x25519-sha512@openssh.com'
    assert_stderr_has 'OpenSSH may support it'
    rig_sshd ripe ripe-01 'MACs umac-128-etm@openssh.com,umac-64@openssh.com' 'Ciphers aes256-ctr'
    run_profgrab --via libssh2 --host ripe-01 --port "$RIG_PORT_rude" heap
    assert_status 1
    assert_stderr_has 'the server offers only the MACs umac-128-etm@openssh.com, umac-64@openssh.com'
    run_profgrab --host ripe-01 --port "$RIG_PORT_rude" heap
    rig_end ripe
    assert_status 0
    assert_stderr_has 'OpenSSH'
}

@test "a configuration that allows only algorithms unknown to libssh2 is reported" {
    SSH_CONFIG=$PWD/config
    { printf 'Host *\n    KexAlgorithms sntrup761x25519-sha512@openssh.com\n' && cat "$RIG_SSH_CONFIG"; } >"$SSH_CONFIG"
    run_profgrab --via libssh2 --host file-03 --port "$RIG_PORT_rude" heap
    assert_status 1
    assert_stderr_has 'the configuration allows only the key exchanges sntrup761x25519-sha512@openssh.com'
    run_profgrab --host file-03 --port "$RIG_PORT_rude" heap
    assert_status 0
}
