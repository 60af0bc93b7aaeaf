#!/usr/bin/env bats
# Host keys: lines of known hosts files, and unknown hosts. Each test also runs ssh, to show that both decide alike.

load helper

setup() {
    e2e_setup
    key=$(cut -d' ' -f1,2 "$RIG_DIR/sshd/host_key.pub")
    fingerprint=$(ssh-keygen -lf "$RIG_DIR/sshd/host_key.pub" | cut -d' ' -f2)
    name="[127.0.0.1]:$RIG_PORT_sshd"
    ssh-keygen -q -t ed25519 -N '' -f other
    other=$(cut -d' ' -f1,2 other.pub)
    config=$PWD/config known=$PWD/known
    host_with "UserKnownHostsFile $known"
}

# Configures the host `mine`; these lines override.
host_with() { # LINE...
    {
        printf 'Host mine\n'
        printf '    %s\n' "$@"
        cat <<EOF
    HostName 127.0.0.1
    Port $RIG_PORT_sshd
    User $RIG_USER
    IdentityFile $RIG_KEY
    IdentitiesOnly yes
    IdentityAgent none
    GlobalKnownHostsFile /dev/null
EOF
    } >"$config"
}

run_check() { # ARG...
    run --separate-stderr "$profgrab_program" check --ssh-config "$config" --via libssh2 --host mine --port "$RIG_PORT_rude" "$@"
}

# Whether ssh connects with the same configuration.
ssh_connects() {
    ssh -F "$config" -o BatchMode=yes -W "127.0.0.1:$RIG_PORT_rude" mine </dev/null >ssh.out 2>ssh.log
}

# With these lines in the file both profgrab and ssh trust the host.
assert_trusted() { # LINE...
    printf '%s\n' "$@" >"$known"
    run_check
    assert_status 0
    ssh_connects || fail "ssh does not trust it: $(cat ssh.log)"
}

# Neither profgrab nor ssh trusts the host, and profgrab's message contains WORDS.
assert_refused() { # WORDS LINE...
    printf '%s\n' "${@:2}" >"$known"
    run_check
    assert_status 1
    assert_stdout_has "$1"
    assert_stdout_has "$fingerprint"
    ! ssh_connects || fail "ssh trusts it: $(cat ssh.log)"
}

hop() { # EXPRESSION: evaluates it over the one hop in the manifest of the bundle in $output
    tar -xOf "$output" --wildcards '*/manifest.json' |
        python3 -c 'import json, sys; hop = json.load(sys.stdin)["hosts"][0]["hops"][0]; print(eval(sys.argv[1]))' "$1"
}

# ---- known hosts files ------------------------------------------------------------------------------------------

@test "lines are read plain, with a comment, with CRLF, among invalid lines, without a final newline" {
    assert_trusted "$name $key"
    assert_stdout_has "ssh-ed25519 $fingerprint, known in $known line 1"
    assert_trusted '# ours' '' "other,$name $key a comment"
    assert_stdout_has "known in $known line 3"
    assert_trusted "$name $key"$'\r'
    assert_trusted 'nonsense' "$name ssh-ed25519" "$name ssh-ed25519 !!!" '|1|broken|x ssh-rsa AAAA' $'\e[31mx' "$name $key" ',,,'
    assert_stdout_has "known in $known line 6"
    printf '%s %s' "$name" "$key" >"$known"
    run_check
    assert_status 0
}

@test "hashed names match" {
    printf '%s %s\n[127.0.0.1]:1 %s\n' "$name" "$key" "$other" >"$known"
    ssh-keygen -q -H -f "$known"
    run grep -c 127 "$known"
    assert_status 1
    run_check
    assert_status 0
    ssh_connects
    printf '%s %s\n' "$name" "$other" >"$known"
    ssh-keygen -q -H -f "$known"
    run_check
    assert_status 1
    assert_stdout_has 'HOST KEY HAS CHANGED'
}

@test "wildcards and negation match as in ssh" {
    assert_trusted "[127.*]:* $key"
    assert_trusted "[127.0.0.?]:$RIG_PORT_sshd $key"
    assert_refused 'host key is not known' "*,!$name,!127.0.0.1 $key"
    assert_refused 'host key is not known' "[128.*]:* $key"
    assert_trusted "*,!$name $other" "$name $key"
}

@test "a key for the name without its port does not count for another port" {
    assert_trusted "127.0.0.1 $key"
    assert_refused "$known:1 has another key for the host without the port" "127.0.0.1 $other"
    assert_refused 'host key is not known' "[127.0.0.1]:1 $key"
}

@test "HostKeyAlias counts for every port, and is used unchanged" {
    host_with 'HostKeyAlias Farm-%h' "UserKnownHostsFile $known"
    assert_trusted "farm-%h $key"
    assert_refused 'host key is not known' "$name $key"
    assert_refused 'HOST KEY HAS CHANGED' "farm-%h $other"
}

@test "with several files any may list the host, and a conflict names its file" {
    printf '%s %s\n' "$name" "$key" >second
    printf '%s %s\n' "$name" "$other" >"global file"
    host_with "UserKnownHostsFile $PWD/none $known $PWD/second" "GlobalKnownHostsFile \"$PWD/global file\""
    assert_trusted '# nothing here'
    assert_stdout_has "known in $PWD/second line 1"
    assert_trusted "$name $other"
    assert_stdout_has "known in $PWD/second line 1"
    : >second
    assert_refused "$PWD/global file:1 has $(ssh-keygen -lf other.pub | cut -d' ' -f2)" '# nothing here'
    : >"global file"
    assert_refused "not in $known, $PWD/second, $PWD/global file" '# nothing here'
}

@test "a revoked key is refused, whether its line is before or after the one that accepts it" {
    assert_refused "is revoked by $known:1" "@revoked $name $key" "$name $key"
    assert_refused "is revoked by $known:2" "$name $key" "@revoked * $key"
    assert_trusted "@revoked $name $other" "$name $key"
}

@test "a changed key is reported with both fingerprints, file and line; a key of another type is refused too" {
    assert_refused "$known:2 has $(ssh-keygen -lf other.pub | cut -d' ' -f2)" '# ours' "$name $other"
    host_with "UserKnownHostsFile $known" 'StrictHostKeyChecking accept-new'
    assert_refused 'HOST KEY HAS CHANGED' "$name $other"
    ssh-keygen -q -t ecdsa -N '' -f ecdsa
    printf '%s %s\n' "$name" "$(cut -d' ' -f1,2 ecdsa.pub)" >"$known"
    run_check --accept-new
    assert_status 1
    run ! ssh_connects
    assert_equal "$(cat "$known")" "$name $(cut -d' ' -f1,2 ecdsa.pub)"
}

@test "libssh2 reports that it cannot check a host known only by a certificate authority" {
    printf '@cert-authority %s %s\n' "$name" "$other" >"$known"
    run_check
    assert_status 1
    assert_stdout_has "only a certificate authority is known for the host ($known:1), and libssh2 cannot check host certificates"
    # A key beside it is enough.
    assert_trusted "@cert-authority * $other" "$name $key"
}

# Moves the host `mine` to another sshd.
at_sshd() { # NAME
    local port=RIG_PORT_$1
    sed -i "s/Port .*/Port ${!port}/" "$config"
    name="[127.0.0.1]:${!port}"
}

# Runs with the default --via.
run_auto() {
    run --separate-stderr "$profgrab_program" --ssh-config "$config" --host mine --port "$RIG_PORT_rude" heap
}

@test "a host known by its certificate's authority is reached through OpenSSH" {
    local dir=$RIG_DIR/certified
    mkdir "$dir"
    ssh-keygen -q -t ed25519 -N '' -f authority
    ssh-keygen -q -t ed25519 -N '' -f "$dir/certified"
    ssh-keygen -q -s authority -h -I host -n 127.0.0.1 "$dir/certified.pub"
    chown "$RIG_UID:$RIG_GID" "$dir"/certified*
    rig_sshd certified certified-01 "HostKey $dir/certified" "HostCertificate $dir/certified-cert.pub"
    at_sshd certified
    printf '@cert-authority 127.0.0.1,[127.*]:* %s\n' "$(cut -d' ' -f1,2 authority.pub)" >"$known"
    run_auto
    assert_status 0
    assert_stderr_has 'only a certificate authority is known for the host'
    # An authority of another host does not count.
    printf '@cert-authority 127.0.0.1,[127.*]:* %s\n' "$other" >"$known"
    run_auto
    assert_status 1
    rig_end certified
}

@test "a host known only by an RSA key is checked with that key by libssh2 or OpenSSH" {
    local dir=$RIG_DIR/rsa
    mkdir "$dir"
    ssh-keygen -q -t rsa -b 2048 -N '' -f "$dir/rsa"
    chown "$RIG_UID:$RIG_GID" "$dir"/rsa*
    rig_sshd rsa rsa-01 "HostKey $dir/rsa"
    at_sshd rsa
    printf '%s %s\n' "$name" "$(cut -d' ' -f1,2 "$dir/rsa.pub")" >"$known"
    run_auto
    assert_status 0
    run_check
    case $("$profgrab_program" version | sed -n 's/^libssh2 //p') in
    1.[0-9].* | 1.10.*)
        assert_status 1
        assert_stdout_has "the known host key ($known:1) is of type ssh-rsa, which libssh2"
        ;;
    *) assert_status 0 ;;
    esac
    rig_end rsa
}

# ---- unknown hosts ------------------------------------------------------------------------------------------------

@test "an unknown host is reported with fingerprint, file and both ways to add it; nothing is written" {
    : >"$known"
    run_check
    assert_status 1
    assert_stdout_has "host key is not known: the server offered ssh-ed25519 $fingerprint, not in $known"
    assert_stdout_has 'compare that fingerprint'
    assert_stdout_has '--accept-new'
    assert_stdout_has 'your own ssh'
    [[ ! -s $known ]]
}

@test "--accept-new trusts a new host, writes its key once, and reports it in a message and the manifest" {
    host_with "UserKnownHostsFile $HOME/.ssh/known_hosts"
    local file=$HOME/.ssh/known_hosts
    run --separate-stderr "$profgrab_program" --ssh-config "$config" --host mine --port "$RIG_PORT_rude" --accept-new heap
    assert_status 0
    assert_stderr_has "mine: host key: ssh-ed25519 $fingerprint, new: written to $file"
    assert_equal "$(cat "$file")" "$name $key"
    assert_equal "$(stat -c '%a' "$HOME/.ssh" "$file" | tr '\n' ' ')" '700 600 '
    assert_equal "$(hop 'hop["host_key"], hop["host_key_new"]')" "('$fingerprint', True)"
    # Afterwards the key is known without the option too.
    run --separate-stderr "$profgrab_program" --ssh-config "$config" --host mine --port "$RIG_PORT_rude" heap
    assert_status 0
    assert_equal "$(hop '"host_key_new" in hop')" False
    ssh_connects
    assert_equal "$(cat "$file")" "$name $key"
}

@test "accept-new of the configuration applies, check reports it, and HashKnownHosts applies, and a last line without an end stays as it is" {
    printf 'elsewhere %s' "$other" >"$known"
    host_with "UserKnownHostsFile $known" 'StrictHostKeyChecking accept-new' 'HashKnownHosts yes'
    run_check
    assert_status 0
    assert_stdout_has "ssh-ed25519 $fingerprint, new: written to $known"
    assert_equal "$(head -n 1 "$known")" "elsewhere $other"
    assert_equal "$(wc -l <"$known")" 2
    run grep -c 127 "$known"
    assert_status 1
    ssh_connects || fail "$(cat ssh.log)"
    run_check
    assert_status 0
    assert_stdout_has "known in $known line 2"
}

@test "StrictHostKeyChecking no trusts a new host, but not a changed or revoked key" {
    host_with "UserKnownHostsFile $known" 'StrictHostKeyChecking no'
    run_check
    assert_status 0
    assert_equal "$(cat "$known")" "$name $key"
    printf '%s %s\n' "$name" "$other" >"$known"
    run_check
    assert_status 1
    assert_stdout_has 'HOST KEY HAS CHANGED'
    printf '@revoked %s %s\n' "$name" "$key" >"$known"
    run_check --accept-new
    assert_status 1
    assert_stdout_has "is revoked by $known:1"
    assert_equal "$(wc -l <"$known")" 1
    host_with "UserKnownHostsFile $known" 'StrictHostKeyChecking yes'
    : >"$known"
    run_check
    assert_status 1
    run_check --accept-new
    assert_status 0
}

@test "accept-new without a writable file trusts the host, as ssh does, and reports it" {
    host_with 'UserKnownHostsFile /dev/null' 'StrictHostKeyChecking accept-new'
    run_check
    assert_status 0
    assert_stdout_has 'new, not written down: /dev/null is no regular file'
    ssh_connects
    host_with "UserKnownHostsFile $PWD/none/none/known" 'StrictHostKeyChecking accept-new'
    run_check
    assert_status 0
    assert_stdout_has 'new, not written down: '
    ssh_connects
    # Without a file of known hosts, accept-new trusts no host.
    host_with 'UserKnownHostsFile none' 'StrictHostKeyChecking accept-new'
    assert_refused 'host key is not known' ''
}

@test "accept-new works with an alias and at another port of a known host" {
    host_with 'HostKeyAlias farm' "UserKnownHostsFile $known" 'StrictHostKeyChecking accept-new'
    run_check
    assert_status 0
    assert_equal "$(cat "$known")" "farm $key"
    host_with "UserKnownHostsFile $known" 'StrictHostKeyChecking accept-new'
    printf '127.0.0.1 %s\n' "$other" >"$known"
    run_check
    assert_status 0
    assert_equal "$(tail -n 1 "$known")" "$name $key"
    assert_equal "$(wc -l <"$known")" 2
}

@test "sixteen new hosts at once in two processes: no line is lost or written twice" {
    local i pids=() pid
    rig_sshd crowd crowd-01 'MaxStartups 100'
    # h1 to h16 have names of their own in the file; s1 to s3 share the name of the address.
    for ((i = 1; i <= 16; i++)); do
        printf 'Host h%d\n    HostKeyAlias h%d\n' "$i" "$i"
    done >"$config"
    cat >>"$config" <<EOF
Host *
    HostName 127.0.0.1
    Port $RIG_PORT_crowd
    User $RIG_USER
    IdentityFile $RIG_KEY
    IdentitiesOnly yes
    IdentityAgent none
    UserKnownHostsFile $PWD/new/known
    GlobalKnownHostsFile /dev/null
EOF
    local list=''
    for ((i = 1; i <= 16; i++)); do list+=${list:+,}h$i; done
    for i in 1 2; do
        "$profgrab_program" check --ssh-config "$config" --host "$list,s1,s2,s3" --port "$RIG_PORT_rude" --accept-new >"out$i" 2>&1 3>&- &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do wait "$pid" || fail "$(cat out1 out2)"; done
    assert_equal "$(wc -l <new/known)" 17
    assert_equal "$(sort -u new/known | wc -l)" 17
    assert_equal "$(grep -cF "[127.0.0.1]:$RIG_PORT_crowd " new/known)" 1
    run ! grep -q 'not written down' out1 out2
    rig_end crowd
}

# ---- the configuration ----------------------------------------------------------------------------------------------

@test "a hanging ssh -G is reported as such" {
    printf 'Match exec "exec sleep 100"\n    User x\n' >"$config"
    run --separate-stderr "$profgrab_program" --ssh-config "$config" --timeout 1s --host mine --port 1 heap
    assert_status 1
    assert_stderr_has 'ssh -G mine: it did not end within 1s'
    assert_stderr_has 'Match exec'
    assert_stderr_has "$config"
}

@test "--via refuses an unknown word" {
    run_check --via libssh
    assert_status 2
    assert_stderr_has '--via must be "auto", "libssh2" or "openssh", not "libssh"'
    assert_stderr_has 'did you mean "libssh2"?'
}
