#!/usr/bin/env bats
# Two hosts that differ in one setting: no password, session or cached answer of one is used for the other. The servers record
# each password that they receive.

load helper

setup_file() {
    rig_start
    rig_service rude
    # Accepts both passwords, so that only profgrab can keep them apart.
    rig_odd_sshd any --password pw-one --password pw-two --password pw-other
    # Two servers at one private address, each behind a jump host of its own.
    rig_odd_sshd only_one --password pw-one
    rig_odd_sshd only_two --password pw-two
    rig_odd_sshd jump_one --open --leads-to "$RIG_PORT_only_one"
    rig_odd_sshd jump_two --open --leads-to "$RIG_PORT_only_two"
    rig_odd_sshd open --open
    # One server with two host keys in turn, like two servers behind one load balancer.
    mkdir "$RIG_DIR/turns"
    ssh-keygen -q -t ecdsa -m PEM -N '' -f "$RIG_DIR/turns/second"
    rig_odd_sshd turns --password pw-one --password pw-two --host-key "$RIG_DIR/turns/second"
    mkdir "$RIG_DIR/answers"
    printf '[{"targets":["127.0.0.1:%s"],"labels":{"job":"rude"}}]' "$RIG_PORT_rude" >"$RIG_DIR/answers/sd.json"
    rig_on_port source source_at 'rig_http_is_ok PORT /sd.json'
}

source_at() { # NAME PORT
    rig_spawn "$1" python3 -m http.server --bind 127.0.0.1 --directory "$RIG_DIR/answers" "$2"
}

host_key() { # FILE
    cut -d' ' -f1,2 "$1"
}

setup() {
    local name known port
    e2e_setup
    {
        for name in only_one only_two; do
            echo "10.0.0.5 $(host_key "$RIG_DIR/$name/host_key.pub")"
        done
        for name in any turns open; do
            port=RIG_PORT_$name
            for known in "[127.0.0.1]:${!port}" "[localhost]:${!port}" alias-one alias-two; do
                echo "$known $(host_key "$RIG_DIR/$name/host_key.pub")"
            done
        done
        echo "[127.0.0.1]:$RIG_PORT_turns $(host_key "$RIG_DIR/turns/second.pub")"
        echo "[127.0.0.1]:$RIG_PORT_jump_one $(host_key "$RIG_DIR/jump_one/host_key.pub")"
        echo "[127.0.0.1]:$RIG_PORT_jump_two $(host_key "$RIG_DIR/jump_two/host_key.pub")"
    } >known
    cat >config <<C
Host jump-one
    HostName 127.0.0.1
    Port $RIG_PORT_jump_one
Host jump-two
    HostName 127.0.0.1
    Port $RIG_PORT_jump_two
Host alias-one
    HostName 127.0.0.1
    HostKeyAlias alias-one
Host alias-two
    HostName 127.0.0.1
    HostKeyAlias alias-two
Host bastion-one
    HostName 127.0.0.1
    Port $RIG_PORT_any
    HostKeyAlias alias-one
Host bastion-two
    HostName 127.0.0.1
    Port $RIG_PORT_any
    HostKeyAlias alias-two
Host same-*
    HostName 127.0.0.1
Host *
    User ann
    IdentityFile none
    IdentityAgent none
    UserKnownHostsFile $PWD/known
    GlobalKnownHostsFile /dev/null
C
    cp known known-two
    cp config config-two
    # Answers with a host's password only if the question contains its name.
    cat >person <<'P'
#!/bin/sh
cd "${0%/*}" || exit
echo "$1" >>asked
case $1 in
*\(one\)* | *"of one)"* | one:*) echo pw-one ;;
*\(two\)* | *"of two)"* | two:*) echo pw-two ;;
*) echo pw-other ;;
esac
P
    chmod 700 person
    : >asked
    export SSH_ASKPASS=$PWD/person SSH_ASKPASS_REQUIRE=force XDG_CACHE_HOME=$PWD/cache
}

teardown() {
    [[ -n ${BATS_TEST_COMPLETED-} ]] || tail -n 5 "$RIG_DIR"/{any,only_one,only_two,turns}/log
}

# write_hosts ONE TWO [SOURCE...]: writes an inventory with these two hosts, in YAML's flow form, and sources.
write_hosts() {
    export PROFGRAB_INVENTORY=$PWD/inventory.yaml
    printf '%s\n' 'version: 1' "services: { rude: { port: $RIG_PORT_rude } }" hosts: \
        "  one: { services: [rude], $1 }" "  two: { services: [rude], $2 }" >inventory.yaml
    shift 2
    (($# == 0)) || printf '%s\n' discovery: "${@/#/  - }" >>inventory.yaml
    chmod 600 inventory.yaml
}

# A row of the matrix: two hosts that differ in one setting. Sets $one and $two.
row() { # SETTING
    local any="config: $PWD/config, port: $RIG_PORT_any"
    case $1 in
    hostname)
        one="address: 127.0.0.1, ssh: { $any }"
        two="address: localhost, ssh: { $any }"
        ;;
    jump)
        one="address: 10.0.0.5, ssh: { config: $PWD/config, jump: jump-one }"
        two="address: 10.0.0.5, ssh: { config: $PWD/config, jump: jump-two }"
        ;;
    alias)
        one="address: alias-one, ssh: { $any }"
        two="address: alias-two, ssh: { $any }"
        ;;
    known_hosts)
        one="address: 127.0.0.1, ssh: { $any, known_hosts: $PWD/known }"
        two="address: 127.0.0.1, ssh: { $any, known_hosts: $PWD/known-two }"
        ;;
    config)
        one="address: 127.0.0.1, ssh: { $any }"
        two="address: 127.0.0.1, ssh: { config: $PWD/config-two, port: $RIG_PORT_any }"
        ;;
    agent)
        one="address: 127.0.0.1, ssh: { $any, agent: $PWD/agent-one }"
        two="address: 127.0.0.1, ssh: { $any, agent: $PWD/agent-two }"
        ;;
    user)
        one="address: 127.0.0.1, ssh: { $any, user: ann }"
        two="address: 127.0.0.1, ssh: { $any, user: bob }"
        ;;
    host_key)
        one="address: 127.0.0.1, ssh: { config: $PWD/config, port: $RIG_PORT_turns }"
        two=$one
        ;;
    esac
}
ROWS="hostname jump alias known_hosts config agent user"

# Prints the passwords that the servers received since the last call, sorted: "USER PASSWORD" each.
received() {
    local log
    for log in any only_one only_two turns; do
        log=$RIG_DIR/$log/log
        tail -n +"$(($(cat "$log.read" 2>/dev/null || echo 0) + 1))" "$log" | sed -n 's/^password //p'
        wc -l <"$log" >"$log.read"
    done | sort
}

# run_hosts ARG...: runs profgrab. Forgets the questions and passwords of earlier runs.
run_hosts() {
    : >asked
    received >/dev/null
    run --separate-stderr "$profgrab_program" "$@"
}

# Each host's question was asked once with its name, and each server received only that host's password.
assert_apart() { # SETTING QUESTIONS GIVEN
    [[ $status == 0 && $(sort asked) == "$2" && $(received) == "$3" ]] ||
        fail_run "hosts that differ in: $1" "asked: $(cat asked)" "expected: $2" "given: $(received)" "expected: $3"
}

# ---- differences ----------------------------------------------------------------------------------------------

@test "two hosts that differ in one setting: each question names its host, and each server gets its own password" {
    local setting at parallel
    for setting in $ROWS; do
        row "$setting"
        write_hosts "$one" "$two"
        at=("ann@127.0.0.1" "ann@127.0.0.1")
        case $setting in
        hostname) at[1]=ann@localhost ;;
        jump) at=(ann@10.0.0.5 ann@10.0.0.5) ;;
        user) at[1]=bob@127.0.0.1 ;;
        esac
        for parallel in 1 2; do
            run_hosts --via libssh2 --host one,two --parallel "$parallel" heap
            assert_apart "$setting" $'Password for '"${at[0]}"$' (one): \nPassword for '"${at[1]}"$' (two): ' \
                "${at[0]%@*} pw-one"$'\n'"${at[1]%@*} pw-two"
        done
    done
}

@test "a server that shows another host key does not get the first one's password" {
    row host_key
    write_hosts "$one" "$two"
    run_hosts --via libssh2 --host one,two --parallel 1 heap
    assert_apart 'the host key' $'Password for ann@127.0.0.1 (one): \nPassword for ann@127.0.0.1 (two): ' \
        $'ann pw-one\nann pw-two'
}

@test "each keyboard-interactive question names its host" {
    local setting login
    sed -i 's/User ann/User kbd/' config config-two
    for setting in hostname jump alias known_hosts config agent; do
        row "$setting"
        write_hosts "$one" "$two"
        run_hosts --via libssh2 --host one,two heap
        login=(kbd@127.0.0.1 kbd@127.0.0.1)
        case $setting in
        hostname) login[1]=kbd@localhost ;;
        jump) login=(kbd@10.0.0.5 kbd@10.0.0.5) ;;
        esac
        assert_apart "$setting" "${login[0]} (one): Password: "$'\n'"${login[1]} (two): Password: " $'kbd pw-one\nkbd pw-two'
    done
}

@test "--via openssh keeps passwords and keyboard-interactive answers apart too" {
    local setting user
    for user in ann kbd; do
        sed -i "s/User [a-z]*$/User $user/" config config-two
        for setting in hostname jump alias known_hosts config agent; do
            row "$setting"
            write_hosts "$one" "$two"
            run_hosts --via openssh --host one,two heap
            [[ $status == 0 && $(cut -d: -f1 asked | sort) == $'one\ntwo' ]] || fail_run "$setting" "$(cat asked)"
            assert_equal "$(received)" "$user pw-one"$'\n'"$user pw-two"
        done
    done
    row user
    write_hosts "$one" "$two"
    run_hosts --via openssh --host one,two heap
    assert_equal "$status $(received)" $'0 ann pw-one\nbob pw-two'
}

@test "jump hosts that differ only in their alias share no session and no password" {
    local to="address: 127.0.0.1, ssh: { config: $PWD/config, port: $RIG_PORT_open, jump:"
    write_hosts "$to bastion-one }" "$to bastion-two }"
    run_hosts --via libssh2 --host one,two --parallel 1 heap
    assert_apart 'the jump host' \
        $'Password for ann@127.0.0.1 (jump host of one): \nPassword for ann@127.0.0.1 (jump host of two): ' \
        $'ann pw-one\nann pw-two'
    # The password of a jump host that both share is asked for once.
    write_hosts "$to bastion-one }" "$to bastion-one }"
    run_hosts --via libssh2 --host one,two --parallel 1 heap
    assert_apart 'nothing' 'Password for ann@127.0.0.1 (jump host of one): ' 'ann pw-one'
}

# ---- sources of services --------------------------------------------------------------------------------------

@test "sources through two hosts that differ in one setting share no password and no cached answer" {
    local setting source="http_sd: 'http://127.0.0.1:$RIG_PORT_source/sd.json'" user
    for setting in $ROWS; do
        row "$setting"
        rm -rf cache
        user=ann
        [[ $setting != user ]] || user=bob
        # Both in one run.
        write_hosts "$one" "$two" "{ $source, name: of-one, through: one, host: one }" \
            "{ $source, name: of-two, through: two, host: two }"
        run_hosts hosts
        [[ $status == 0 && $(wc -l <asked) == 2 ]] || fail_run "$setting" "$(cat asked)"
        assert_equal "$(received)" $'ann pw-one\n'"$user pw-two"
        # profgrab uses a cached answer for the same host, and not for the other one.
        rm -rf cache
        write_hosts "$one" "$two" "{ $source, through: one, host: one }"
        run_hosts hosts
        assert_equal "$setting $(received)" "$setting ann pw-one"
        run_hosts hosts
        assert_equal "$setting $(received)" "$setting "
        write_hosts "$one" "$two" "{ $source, through: two, host: one }"
        run_hosts hosts
        assert_equal "$setting $(received)" "$setting $user pw-two"
    done
}

# ---- the same login -------------------------------------------------------------------------------------------

@test "a password that a source needs is not asked for again for the capture" {
    local any="config: $PWD/config, port: $RIG_PORT_any"
    write_hosts "address: 127.0.0.1, ssh: { $any }" "address: other.example, ssh: { $any }" \
        "{ http_sd: 'http://127.0.0.1:$RIG_PORT_source/sd.json', through: one, host: one }"
    rm -rf cache
    run_hosts --via libssh2 --host one heap
    assert_status 0
    assert_equal "$(wc -l <asked)" 1
    assert_equal "$(received | uniq -c | sed 's/^ *//; s/pw-one/P/; s/pw-two/P/')" '2 ann P'
}

@test "one login under two host names is asked for once" {
    local any="config: $PWD/config, port: $RIG_PORT_any" parallel names
    for names in '127.0.0.1 127.0.0.1' 'same-1 same-2'; do
        # shellcheck disable=SC2086 # two words
        set -- $names
        write_hosts "address: $1, ssh: { $any }" "address: $2, ssh: { $any }"
        for parallel in 1 2; do
            run_hosts --via libssh2 --host one,two --parallel "$parallel" heap
            assert_status 0
            assert_equal "$(wc -l <asked)" 1
            assert_equal "$(received | uniq -c | sed 's/^ *//; s/pw-one/P/; s/pw-two/P/')" '2 ann P'
        done
    done
}

@test "a host given by its address is not named twice" {
    run_hosts --via libssh2 --ssh-config "$PWD/config" --host "ann@127.0.0.1:$RIG_PORT_any" --port "$RIG_PORT_rude" heap
    assert_status 0
    assert_equal "$(received)" 'ann pw-other'
    assert_equal "$(cat asked)" 'Password for ann@127.0.0.1: '
}
