#!/usr/bin/env bats
# What SSH carries, and with which algorithms: Unix sockets on the far side, servers that know little.

load helper

@test "a Unix socket on the far side, over SSH" {
    chmod 666 "$RIG_DIR/rude.sock"
    run_profgrab --host file-03 --unix "$RIG_DIR/rude.sock" heap
    assert_status 0
    "$profgrab_program" bundle verify "$output"
}

@test "a Unix socket that is not there, or that sshd does not lead to, is said" {
    run_profgrab --host file-03 --unix "$RIG_DIR/nosuch.sock" heap
    assert_status 1
    assert_stderr_has "the far host cannot connect to $RIG_DIR/nosuch.sock"
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
