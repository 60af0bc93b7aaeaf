#!/usr/bin/env bats
# User authentication with real servers: every type of key, passphrases, certificates, agents, passwords, several steps.

load helper

setup_file() {
    e2e_setup_file
    rig_pam password hunter2
    rig_sshd password password-01 'UsePAM yes' 'PasswordAuthentication yes' 'AuthenticationMethods password'
    rig_pam rounds hunter2 4711
    rig_sshd rounds rounds-01 'UsePAM yes' 'KbdInteractiveAuthentication yes' 'AuthenticationMethods keyboard-interactive'
    rig_pam steps hunter2
    rig_sshd steps steps-01 'UsePAM yes' 'PasswordAuthentication yes' 'KbdInteractiveAuthentication yes' \
        'AuthenticationMethods publickey,keyboard-interactive publickey,password'
    rig_sshd twice twice-01 'AuthenticationMethods publickey,publickey'
}

setup() {
    e2e_setup
    # The sanitizers report leaks of libssh2 itself.
    export ASAN_OPTIONS="${ASAN_OPTIONS-}:fast_unwind_on_malloc=0"
    forgive_libssh2
}

# Runs also after a failed test.
teardown() {
    [[ -z ${SSH_AGENT_PID-} ]] || kill "$SSH_AGENT_PID"
    unset SSH_AGENT_PID
    e2e_teardown
}

# Configures the hosts `mine*` at that sshd, with these lines. Sets $config.
host_with() { # SSHD LINE...
    local port=RIG_PORT_$1
    config=$PWD/config
    shift
    {
        printf 'Host mine*\n'
        printf '    %s\n' "$@"
        cat <<EOF
    HostName 127.0.0.1
    Port ${!port}
    User $RIG_USER
    IdentityAgent none
    UserKnownHostsFile $RIG_KNOWN_HOSTS
    GlobalKnownHostsFile /dev/null
EOF
    } >"$config"
}

# Uses libssh2 only, which these tests are about.
run_mine() { # ARG...
    run --separate-stderr "$profgrab_program" --ssh-config "$config" --via libssh2 --host mine --port "$RIG_PORT_rude" "$@" heap
}

# The run succeeded, and the method of authentication in its manifest begins with TEXT. Removes the bundle.
assert_authenticated_by() { # TEXT
    assert_status 0
    local dir
    dir=$("$profgrab_program" bundle extract "$output")
    grep -qF "\"authentication\": \"$1" "$dir/manifest.json" || fail "$(grep authentication "$dir/manifest.json")"
    rm -r "$dir" "$output"
}

# Makes a key that the sshd named sshd accepts.
make_key() { # FILE TYPE [ssh-keygen's OPTION...]
    local file=$1 type=$2
    shift 2
    ssh-keygen -q -t "$type" -N '' -f "$file" "$@"
    trust "$file" sshd
}

trust() { # FILE SSHD...
    local sshd
    for sshd in "${@:2}"; do cat "$1.pub" >>"$RIG_DIR/$sshd/authorized_keys"; done
}

# Answers questions without a terminal: writes each question to `asked` and gives the next argument as the answer.
set_answers() { # ANSWER...
    printf '%s\n' "$@" >answers
    : >asked
    cat >askpass <<'EOF'
#!/bin/sh
cd "${0%/*}" || exit
printf '%s\n' "$1" | tr '\n' '|' >>asked
echo >>asked
line=$(($(wc -l <asked)))
[ "$line" -le "$(wc -l <answers)" ] && sed -n "${line}p" answers
EOF
    chmod 755 askpass
    export SSH_ASKPASS=$PWD/askpass SSH_ASKPASS_REQUIRE=force
}

assert_asked() { # NUMBER
    assert_equal "$(wc -l <asked)" "$1"
}

# The agent closes bats' descriptors, because bats waits until no process has them open.
agent_start() {
    eval "$(ssh-agent -a "$PWD/agent" 3>&- 4>&-)" >/dev/null
}

old_libssh2() {
    [[ $("$profgrab_program" version) == *'libssh2 1.'[0-9].* || $("$profgrab_program" version) == *'libssh2 1.10.'* ]]
}

# ---- keys --------------------------------------------------------------------------------------------------

@test "key files of every type and format log in, with and without a passphrase" {
    local type bits form passphrase file
    for type in ed25519- ecdsa-256 ecdsa-384 ecdsa-521 rsa-2048; do
        bits=${type#*-}
        for form in RFC4716 PEM PKCS8; do
            [[ $type != ed25519- || $form == RFC4716 ]] || continue
            file=$PWD/$type-$form
            make_key "$file" "${type%-*}" -m "$form" ${bits:+-b "$bits"}
            host_with sshd "IdentityFile $file" 'IdentitiesOnly yes'
            set_answers secret secret
            for passphrase in '' secret; do
                ssh-keygen -q -p -m "$form" -P '' -N "$passphrase" -f "$file"
                run_mine
                assert_authenticated_by "key $file"
                assert_asked "$((${#passphrase} > 0))"
            done
        done
    done
}

@test "PEM keys without their .pub and ed25519 keys in PKCS#8 log in" {
    make_key pem rsa -b 2048 -m PEM
    rm pem.pub
    host_with sshd "IdentityFile $PWD/pem" 'IdentitiesOnly yes'
    run_mine
    assert_authenticated_by "key $PWD/pem"
    ssh-keygen -q -p -m PEM -P '' -N secret -f pem
    set_answers wrong secret
    run_mine
    assert_authenticated_by "key $PWD/pem"
    assert_asked 2
    openssl genpkey -algorithm ed25519 -out pkcs8
    chmod 600 pkcs8
    host_with sshd "IdentityFile $PWD/pkcs8" 'IdentitiesOnly yes'
    run_mine
    assert_status 1
    assert_stderr_has "the server refused key $PWD/pkcs8"
}

@test "an RSA key refused with SHA-512 is tried with SHA-256" {
    rig_sshd sha256 sha256-01 'PubkeyAcceptedAlgorithms rsa-sha2-256'
    make_key rsa rsa -b 2048
    trust rsa sha256
    host_with sha256 "IdentityFile $PWD/rsa" 'IdentitiesOnly yes'
    run_mine
    assert_authenticated_by "key $PWD/rsa"
    host_with sshd "IdentityFile $PWD/rsa" 'IdentitiesOnly yes' 'PubkeyAcceptedAlgorithms ssh-ed25519'
    run_mine
    assert_status 1
    assert_stderr_has 'PubkeyAcceptedAlgorithms does not allow it'
    rig_end sha256
}

@test "a server that requires new RSA signatures is reported if libssh2 cannot make them" {
    rig_fetch dropbear
    cp "$rig_packages/usr/sbin/dropbear" "$rig_packages"/usr/lib/*/libtom*.so.* "$RIG_DIR/lib/"
    chmod 755 "$RIG_DIR/home"
    mkdir -p "$RIG_DIR/home/.ssh"
    make_key rsa rsa -b 2048
    cat rsa.pub "$RIG_KEY.pub" >"$RIG_DIR/home/.ssh/authorized_keys"
    chown -R "$RIG_UID:$RIG_GID" "$RIG_DIR/home/.ssh"
    chmod -R go-w "$RIG_DIR/home/.ssh"
    mkdir "$RIG_DIR/dropbear"
    LD_LIBRARY_PATH=$RIG_DIR/lib "$rig_packages/usr/lib/dropbear/dropbearconvert" openssh dropbear \
        <(ssh-keygen -q -t ecdsa -m PEM -N '' -f "$RIG_DIR/dropbear/key" >/dev/null; cat "$RIG_DIR/dropbear/key") "$RIG_DIR/dropbear/host_key"
    chown "$RIG_UID:$RIG_GID" "$RIG_DIR/dropbear/host_key"
    dropbear_at() {
        rig_spawn "$1" rig_as_user env -i PATH="$PATH" LD_LIBRARY_PATH="$RIG_DIR/lib" LD_PRELOAD=libnss_wrapper.so \
            NSS_WRAPPER_PASSWD="$RIG_DIR/lib/passwd" NSS_WRAPPER_GROUP="$RIG_DIR/lib/group" \
            "$RIG_DIR/lib/dropbear" -F -E -r "$RIG_DIR/dropbear/host_key" -p "127.0.0.1:$2" -P "$RIG_DIR/home/pid"
    }
    rig_on_port dropbear dropbear_at 'rig_connects PORT'
    printf '[127.0.0.1]:%s %s\n' "$RIG_PORT_dropbear" "$(cut -d' ' -f1,2 "$RIG_DIR/dropbear/key.pub")" >>"$RIG_KNOWN_HOSTS"
    host_with dropbear "IdentityFile $RIG_KEY" 'IdentitiesOnly yes'
    run_mine
    assert_authenticated_by "key $RIG_KEY"
    host_with dropbear "IdentityFile $PWD/rsa" 'IdentitiesOnly yes'
    run_mine
    if old_libssh2; then
        assert_status 1
        assert_stderr_has 'cannot use RSA keys with that server (SSH-2.0-dropbear'
        assert_stderr_has 'OpenSSH may support it'
        # The RSA key is tried last, so that it does not prevent other keys from being tried.
        host_with dropbear "IdentityFile $PWD/rsa" "IdentityFile $RIG_KEY" 'IdentitiesOnly yes'
        run_mine
        assert_authenticated_by "key $RIG_KEY"
    else
        assert_authenticated_by "key $PWD/rsa"
    fi
    rig_end dropbear
}

@test "a security key that libssh2 cannot use is reported with the alternative" {
    printf -- '%s\n' 'sk-ssh-ed25519@openssh.com AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29tAAAAICFo/k5LU8863u66YC9eUO2170QduohPURkQnbLa/dczAAAABHNzaDo= me' >sk.pub
    python3 - >sk <<'EOF'
import base64, struct
s = lambda b: struct.pack(">I", len(b)) + b
public = base64.b64decode(open("sk.pub").read().split()[1])
body = b"openssh-key-v1\0" + s(b"none") + s(b"none") + s(b"") + struct.pack(">I", 1) + s(public) + s(b"\0" * 64)
print("-----BEGIN OPENSSH PRIVATE KEY-----")
print(base64.b64encode(body).decode())
print("-----END OPENSSH PRIVATE KEY-----")
EOF
    chmod 600 sk
    host_with sshd "IdentityFile $PWD/sk" 'IdentitiesOnly yes'
    run_mine
    assert_status 1
    assert_stderr_has "the key $PWD/sk is a security key"
    assert_stderr_has 'OpenSSH may support it'
    host_with sshd "IdentityFile $PWD/sk" "IdentityFile $RIG_KEY" 'IdentitiesOnly yes'
    run_mine
    assert_authenticated_by "key $RIG_KEY"
}

# ---- passphrases -------------------------------------------------------------------------------------------

@test "a passphrase is asked for once for many hosts at once, at most three times, and not if the server refuses the key" {
    ssh-keygen -q -t ed25519 -N secret -f locked
    host_with sshd "IdentityFile $PWD/locked" 'IdentitiesOnly yes'
    set_answers secret
    run_mine
    assert_status 1
    assert_stderr_has "the server refused key $PWD/locked"
    assert_asked 0
    trust locked sshd
    set_answers wrong secret secret secret
    run --separate-stderr "$profgrab_program" --ssh-config "$config" --host 'mine-[1-8]' --port "$RIG_PORT_rude" heap
    assert_status 0
    # The order of the hosts does not matter.
    assert_equal "$(sed -E 's/mine-[1-8]/HOST/' asked)" "$(printf '%s\n' {1..2} | sed "s#.*#Passphrase for the key $PWD/locked, to log in as $RIG_USER@127.0.0.1 (HOST): |#")"
    set_answers one two three four
    run_mine
    assert_status 1
    assert_stderr_has 'none of 3 answers was right'
    assert_asked 3
    # After a failed question no other host asks it again.
    set_answers ''
    run --separate-stderr "$profgrab_program" --ssh-config "$config" --host 'mine-[1-8]' --port "$RIG_PORT_rude" heap
    assert_status 1
    assert_stderr_has 'it has a passphrase: no answer was given'
    assert_asked 1
}

@test "--passphrase-file opens keys in OpenSSH's format and in PEM, also with --batch; from a file or a pipe" {
    local how file
    (umask 077 && printf 'open sesame \303\251\nanother line\n' >pass)
    ssh-keygen -q -t ed25519 -N $'open sesame \303\251' -f ours
    ssh-keygen -q -t ecdsa -m PEM -N $'open sesame \303\251' -f pem
    trust ours sshd
    trust pem sshd
    set_answers wrong
    for file in ours pem; do
        host_with sshd "IdentityFile $PWD/$file" 'IdentitiesOnly yes'
        for how in --quiet --batch; do
            run_mine --passphrase-file pass "$how"
            assert_authenticated_by "key $PWD/$file"
        done
    done
    if grep -rq 'open sesame' "${output%.tar.gz}"; then fail 'the passphrase is in the bundle'; fi
    # shellcheck disable=SC2016 # that shell expands it
    run --separate-stderr bash -c '"$1" --ssh-config "$2" --via libssh2 --host mine --port "$3" --passphrase-file <(cat pass) heap' \
        - "$profgrab_program" "$config" "$RIG_PORT_rude"
    assert_authenticated_by "key $PWD/pem"
    assert_asked 0
}

@test "--passphrase-file is tried once if it is wrong, and answers only for keys" {
    (umask 077 && echo nonsense >pass)
    ssh-keygen -q -t ed25519 -N secret -f other
    trust other sshd
    host_with sshd "IdentityFile $PWD/other" 'IdentitiesOnly yes'
    set_answers secret
    run_mine --passphrase-file "$PWD/pass"
    assert_status 1
    assert_stderr_has "key $PWD/other (it has a passphrase: the first line of $PWD/pass is not the right passphrase)"
    if [[ $stderr == *nonsense* ]]; then fail_run 'the passphrase was printed'; fi
    assert_asked 0
    host_with password
    run_mine --passphrase-file "$PWD/pass" --batch
    assert_status 1
    assert_stderr_has 'no user can be asked'
    ! grep -q 'Failed password' "$RIG_DIR/password/log" || fail 'a password was tried'
    set_answers hunter2
    run_mine --passphrase-file "$PWD/pass"
    assert_authenticated_by password
    assert_asked 1
}

@test "--passphrase-file is refused before anything is opened if others can read it, or if it is missing or empty" {
    local logins
    host_with sshd
    logins=$(grep -c 'Connection from' "$RIG_DIR/sshd/log" || :)
    (umask 077 && echo secret >pass && : >empty && echo >line && mkdir dir)
    chmod 640 pass
    run_mine --passphrase-file pass
    assert_status 2
    assert_stderr_has '--passphrase-file: pass can be read or changed by others than its owner'
    assert_stderr_has 'chmod 600 pass'
    run_mine --passphrase-file dir
    assert_status 2
    assert_stderr_has 'dir is neither a file nor a pipe'
    run_mine --passphrase-file none
    assert_status 2
    assert_stderr_has 'cannot open none: No such file or directory'
    for file in empty line; do
        run_mine --passphrase-file "$file"
        assert_status 2
        assert_stderr_has "the first line of $file is empty"
    done
    # A pipe that nobody writes to.
    mkfifo -m 600 fifo
    run_mine --passphrase-file fifo --ask-timeout 300ms
    assert_status 1
    assert_stderr_has 'fifo: '
    for file in check forward; do
        run --separate-stderr "$profgrab_program" "$file" --ssh-config "$config" --host mine --port "$RIG_PORT_rude" --passphrase-file dir
        assert_status 2
    done
    assert_equal "$(grep -c 'Connection from' "$RIG_DIR/sshd/log" || :)" "$logins"
    [[ -z $(find . -name '*.partial') ]] || fail "$(ls)"
}

@test "--batch asks no question, and prints the question that it would ask" {
    make_key locked ed25519
    ssh-keygen -q -p -P '' -N secret -f locked
    set_answers secret
    host_with sshd "IdentityFile $PWD/locked" 'IdentitiesOnly yes'
    run_mine --batch
    assert_status 1
    assert_stderr_has "key $PWD/locked (it has a passphrase: no user can be asked for it)"
    assert_stderr_has 'without --batch you would be asked'
    host_with password
    run_mine --batch
    assert_status 1
    assert_stderr_has 'password (no user can be asked)'
    host_with sshd "IdentityFile $PWD/locked" 'IdentitiesOnly yes' 'BatchMode yes'
    run_mine
    assert_status 1
    assert_stderr_has 'no user can be asked for it'
    assert_asked 0
    unset SSH_ASKPASS SSH_ASKPASS_REQUIRE
    host_with sshd "IdentityFile $PWD/locked" 'IdentitiesOnly yes'
    run setsid --wait "$profgrab_program" --ssh-config "$config" --via libssh2 --host mine --port "$RIG_PORT_rude" heap </dev/null
    assert_status 1
    [[ $output == *'there is no terminal to ask on'* ]]
}

@test "SSH_ASKPASS is used as ssh uses it" {
    make_key locked ed25519
    ssh-keygen -q -p -P '' -N secret -f locked
    host_with sshd "IdentityFile $PWD/locked" 'IdentitiesOnly yes'
    set_answers secret
    local mine=("$profgrab_program" --ssh-config "$config" --via libssh2 --host mine --port "$RIG_PORT_rude" heap)
    # Without a terminal it needs a display, or force; never disables it.
    unset SSH_ASKPASS_REQUIRE
    run setsid --wait "${mine[@]}" </dev/null
    assert_status 1
    WAYLAND_DISPLAY=w run setsid --wait "${mine[@]}" </dev/null
    assert_status 0
    set_answers secret
    DISPLAY=:0 SSH_ASKPASS_REQUIRE=never run setsid --wait "${mine[@]}" </dev/null
    assert_status 1
    assert_asked 0
    # On a terminal it is used only with prefer.
    DISPLAY=:0 SSH_ASKPASS_REQUIRE=prefer with_pty -- "${mine[@]}"
    assert_status 0
    assert_asked 1
}

@test "a passphrase typed on the terminal is not shown, and the terminal's settings are restored" {
    make_key locked ed25519
    ssh-keygen -q -p -P '' -N open-sesame -f locked
    host_with sshd "IdentityFile $PWD/locked" 'IdentitiesOnly yes'
    cat >script <<EOF
"$profgrab_program" -v --ssh-config "$config" --via libssh2 --host mine --port "$RIG_PORT_rude" heap
echo "ended with \$?"
stty -a | grep -ow -e '-*echo'
EOF
    with_pty --send 'Passphrase for the key .*: ' $'open-sesame\n' -- bash script
    assert_stdout_has 'ended with 0'
    refute_stdout_has open-sesame
    [[ $output == *$'\necho'* ]]
    with_pty --send 'Passphrase for the key .*: ' $'wrong\n' --ctrl-c 'Passphrase for the key .*: ' -- bash -c "trap : INT; . ./script"
    assert_stdout_has 'ended with 130'
    assert_stdout_has stopping
    refute_stdout_has wrong
    [[ $output == *$'\necho'* ]]
    # Ctrl-D gives no answer.
    with_pty --send 'Passphrase for the key .*: ' $'\x04' -- bash script
    assert_stdout_has 'no answer was given'
    assert_stdout_has 'ended with 1'
}

@test "stopping the program at a question restores the terminal's settings, and the question is repeated" {
    make_key locked ed25519
    ssh-keygen -q -p -P '' -N open-sesame -f locked
    host_with sshd "IdentityFile $PWD/locked" 'IdentitiesOnly yes'
    cat >script <<EOF
set -m
"$profgrab_program" --ssh-config "$config" --via libssh2 --host mine --port "$RIG_PORT_rude" heap
echo "stopped with \$?: \$(stty -a | grep -ow -e '-*echo')"
fg
echo "ended with \$?: \$(stty -a | grep -ow -e '-*echo')"
EOF
    with_pty --send 'Passphrase for the key .*: ' $'\x1a' --send 'Passphrase for the key .*: ' $'open-sesame\n' -- bash script
    assert_stdout_has 'stopped with 148: echo'
    assert_stdout_has 'ended with 0: echo'
    refute_stdout_has open-sesame
}

# ---- certificates and agents -------------------------------------------------------------------------------

@test "certificates log in: beside their keys, configured, in the agent" {
    local type
    ssh-keygen -q -t ed25519 -N '' -f authority
    rig_sshd certified certified-01 "TrustedUserCAKeys $PWD/authority.pub" 'AuthorizedKeysFile none'
    chmod 755 "$BATS_TEST_TMPDIR" . && chmod 644 authority.pub
    cp authority.pub "$RIG_DIR/certified/ca.pub"
    rig_end certified
    rig_sshd certified2 certified-02 "TrustedUserCAKeys $RIG_DIR/certified/ca.pub" 'AuthorizedKeysFile none'
    for type in ecdsa ed25519 rsa; do
        ssh-keygen -q -t "$type" -N '' -f "$type"
        ssh-keygen -q -s authority -I "$type of ann" -n "$RIG_USER" "$type.pub"
        host_with certified2 "IdentityFile $PWD/$type" 'IdentitiesOnly yes'
        run_mine
        if [[ $type == ecdsa ]] || ! old_libssh2; then
            assert_authenticated_by "certificate \\\"$type of ann\\\" signed by SHA256:"
        else
            assert_status 1
            assert_stderr_has "the certificate \"$type of ann\" signed by SHA256:"
            assert_stderr_has 'is a certificate of a type that this libssh2 cannot use'
        fi
    done
    # The certificate is not beside its key, and the key has a passphrase.
    mv ecdsa-cert.pub elsewhere
    set_answers secret
    ssh-keygen -q -p -P '' -N secret -f ecdsa
    host_with certified2 "IdentityFile $PWD/ecdsa" "CertificateFile $PWD/elsewhere" 'IdentitiesOnly yes'
    run_mine
    assert_authenticated_by 'certificate'
    assert_asked 1
    # The agent has the certificate and its key.
    mv elsewhere ecdsa-cert.pub
    agent_start
    SSH_ASKPASS=$PWD/askpass ssh-add -q ecdsa </dev/null || { set_answers secret && ssh-add -q ecdsa </dev/null; }
    mkdir empty
    host_with certified2 "IdentityFile none" "IdentityAgent $PWD/agent"
    run_mine
    assert_authenticated_by 'agent ecdsa-sha2-nistp256-cert-v01@openssh.com SHA256:'
    rig_end certified2
}

@test "an agent logs in with RSA, also with IdentitiesOnly and only the public key file" {
    local i
    agent_start
    for ((i = 0; i < 7; i++)); do
        ssh-keygen -q -t ed25519 -N '' -f "stray$i"
        ssh-add -q "stray$i"
    done
    make_key held rsa -b 2048
    ssh-add -q held
    rm held
    host_with sshd "IdentityFile $PWD/held" 'IdentitiesOnly yes' "IdentityAgent $PWD/agent"
    run_mine
    assert_authenticated_by 'agent ssh-rsa SHA256:'
    # Without IdentitiesOnly the key is still offered first.
    host_with sshd "IdentityFile $PWD/held" "IdentityAgent $PWD/agent"
    run_mine
    assert_authenticated_by 'agent ssh-rsa SHA256:'
    ssh-add -q -d held.pub
    run_mine
    assert_status 1
    assert_stderr_has 'Too many authentication failures'
    host_with sshd "IdentityFile $PWD/held" 'IdentitiesOnly yes' "IdentityAgent $PWD/agent"
    run_mine
    assert_status 1
    assert_stderr_has "key $PWD/held (its private half is not in the agent)"
}

# Prints the exit status of ssh with this configuration: 0, or 255 if it cannot log in.
ssh_login_status() {
    local status=0
    ssh -F "$config" -o BatchMode=yes mine true </dev/null >/dev/null 2>&1 || status=$?
    echo "$status"
}

# assert_same_as_ssh works|refused FILE HOW: with IdentityFile FILE both ssh and profgrab log in, profgrab by HOW; or neither does,
# and profgrab prints HOW. No other key of the agent is offered.
assert_same_as_ssh() {
    local log=$RIG_DIR/sshd/log before
    host_with sshd "IdentityFile $2" 'IdentitiesOnly yes' "IdentityAgent $PWD/agent"
    before=$(wc -l <"$log")
    assert_equal "$2: ssh $(ssh_login_status)" "$2: ssh $([[ $1 == works ]] && echo 0 || echo 255)"
    run_mine --batch
    if [[ $1 == works ]]; then
        assert_authenticated_by "$3"
    else
        assert_status 1
        assert_stderr_has "$3"
    fi
    if tail -n +$((before + 1)) "$log" | grep -F "$(ssh-keygen -l -f stray.pub | cut -d' ' -f2)"; then
        fail "$2: another key of the agent was offered"
    fi
}

@test "IdentitiesOnly with a public key file and the private key in an agent works as in ssh" {
    local type held
    agent_start
    ssh-keygen -q -t ed25519 -N '' -f stray
    ssh-add -q stray
    for type in ed25519 ecdsa rsa; do
        make_key "$type" "$type"
        ssh-add -q "$type"
        rm "$type"
        held="agent $(cut -d' ' -f1 "$type.pub") SHA256:"
        assert_same_as_ssh works "$PWD/$type.pub" "$held"
        assert_same_as_ssh works "$PWD/$type" "$held"
    done
    held='agent ssh-ed25519 SHA256:'
    # ssh recognizes a public key by its content, not by its name.
    cp ed25519.pub handle
    assert_same_as_ssh works "$PWD/handle" "$held"
    { printf '\n# of the token\n  ' && cat ed25519.pub; } >commented.pub
    assert_same_as_ssh works "$PWD/commented.pub" "$held"
    # A file that is not a key, with a .pub beside it.
    (umask 077 && echo nonsense >ed25519)
    assert_same_as_ssh works "$PWD/ed25519" "$held"
    rm ed25519
    # Through the inventory, whose `identity:` means IdentitiesOnly; and through ssh.
    printf 'version: 1\nservices: { rude: { port: %s } }\nhosts: { mine: { services: [rude], ssh: { identity: %s, agent: %s } } }\n' \
        "$RIG_PORT_rude" "$PWD/ed25519.pub" "$PWD/agent" >inventory.yaml
    chmod 600 inventory.yaml
    host_with sshd
    PROFGRAB_INVENTORY=$PWD/inventory.yaml run_mine --batch
    assert_authenticated_by "$held"
    PROFGRAB_INVENTORY=$PWD/inventory.yaml run_mine --batch --via openssh
    assert_authenticated_by 'agent ED25519 SHA256:'
}

@test "IdentitiesOnly with a public key file and no such key in the agent is refused with the reason" {
    agent_start
    ssh-keygen -q -t ed25519 -N '' -f stray
    ssh-add -q stray
    make_key elsewhere ed25519
    # ssh does not look for the private key beside a named .pub.
    assert_same_as_ssh refused "$PWD/elsewhere.pub" "not offered: key $PWD/elsewhere.pub (its private half is not in the agent)"
    rm elsewhere
    assert_same_as_ssh refused "$PWD/elsewhere" "not offered: key $PWD/elsewhere (its private half is not in the agent)"
    (umask 077 && echo nonsense >elsewhere)
    assert_same_as_ssh refused "$PWD/elsewhere" \
        "($PWD/elsewhere: not a private key, and its private half is not in the agent)"
    echo 'ssh-ed25519 AAAA' >half.pub
    assert_same_as_ssh refused "$PWD/half.pub" "key $PWD/half.pub ($PWD/half.pub: not a private key)"
}

# ---- passwords and several steps ---------------------------------------------------------------------------

@test "a password has three attempts, and is not asked for if the server does not accept passwords" {
    host_with password
    set_answers wrong hunter2
    run_mine
    assert_authenticated_by password
    assert_equal "$(cat asked)" "$(printf "Password for $RIG_USER@127.0.0.1 (mine): |\n%.0s" 1 2)"
    set_answers wrong wrong wrong hunter2
    run_mine
    assert_status 1
    assert_asked 3
    assert_stderr_has 'refused password'
    host_with password 'NumberOfPasswordPrompts 1'
    set_answers wrong hunter2
    run_mine
    assert_status 1
    assert_asked 1
    host_with password 'PasswordAuthentication no'
    run_mine
    assert_status 1
    assert_asked 1
    assert_stderr_has 'the server accepts only password'
}

@test "keyboard-interactive has two rounds, the second one with visible input" {
    host_with rounds
    set_answers hunter2 4711
    run_mine -v
    assert_authenticated_by keyboard-interactive
    assert_asked 2
    assert_stderr_has 'authentication: keyboard-interactive'
    unset SSH_ASKPASS SSH_ASKPASS_REQUIRE
    with_pty --send "$RIG_USER@127.0.0.1 .mine.: Password: " $'hunter2\n' --send "$RIG_USER@127.0.0.1 .mine.: Password: " $'4711\n' -- \
        "$profgrab_program" --ssh-config "$config" --via libssh2 --host mine --port "$RIG_PORT_rude" heap
    assert_status 0
    refute_stdout_has hunter2
    assert_stdout_has 4711
    set_answers hunter2 1 hunter2 4711
    run_mine
    assert_authenticated_by keyboard-interactive
    assert_asked 4
}

@test "keyboard-interactive supports names, several questions in a round, and rounds without questions" {
    rig_odd_sshd odd
    host_with odd 'PubkeyAuthentication no'
    set_answers blue 4711 yes
    run_mine
    if old_libssh2 && [[ $status == 1 ]]; then
        # This libssh2 finds a name only if the packet before it was shorter.
        assert_stderr_has "cannot read the server's questions"
    else
        assert_authenticated_by keyboard-interactive
        assert_stderr_has 'You are nearly there'
        assert_equal "$(cat asked)" "$(printf '%s\n' \
            "Second factor|Look at your|token|$RIG_USER@127.0.0.1 (mine): Colour: |" \
            "$RIG_USER@127.0.0.1 (mine): Number: |" "Really?|$RIG_USER@127.0.0.1 (mine): yes or no |")"
    fi
    # Text of a hostile server is made printable, and the number of its questions is limited.
    sed -i 's/User .*/User control/' "$config"
    set_answers blue 4711 yes
    run_mine
    assert_printable "$(cat asked)"
    sed -i 's/User .*/User forever/' "$config"
    set_answers {1..200}
    run_mine
    assert_status 1
    assert_stderr_has 'the server asks without end'
    rig_end odd
}

@test "logins in several steps succeed: a key and a password, two keys" {
    host_with steps "IdentityFile $RIG_KEY" 'IdentitiesOnly yes'
    set_answers hunter2
    run_mine
    assert_authenticated_by "key $RIG_KEY and keyboard-interactive"
    host_with steps "IdentityFile $RIG_KEY" 'IdentitiesOnly yes' 'PreferredAuthentications password,publickey'
    set_answers wrong hunter2
    run_mine
    assert_authenticated_by "key $RIG_KEY and password"
    run_mine --batch
    assert_status 1
    assert_stderr_has "the server accepted key $RIG_KEY and requires more (password,keyboard-interactive"
    make_key second ecdsa
    trust second twice
    host_with twice "IdentityFile $RIG_KEY" "IdentityFile $PWD/second" 'IdentitiesOnly yes'
    run_mine
    assert_authenticated_by "key $RIG_KEY and key $PWD/second"
    host_with twice "IdentityFile $RIG_KEY" 'IdentitiesOnly yes'
    run_mine
    assert_status 1
    assert_stderr_has "the server accepted key $RIG_KEY and requires more (publickey)"
}

# ---- secrets -----------------------------------------------------------------------------------------------

@test "typed secrets are in no output, argument list or file" {
    make_key locked ed25519
    ssh-keygen -q -p -P '' -N correct-horse -f locked
    host_with steps "IdentityFile $PWD/locked" 'IdentitiesOnly yes'
    trust locked steps
    set_answers correct-horse hunter2
    # The search below reads the arguments and variables of each program too. strace and sanitizers exclude each other.
    local trace=()
    [[ $profgrab_program != */gcc/* && $profgrab_program != */clang/* ]] || trace=(strace -f -v -s 100000 -e trace=execve -o calls)
    run --separate-stderr "${trace[@]}" "$profgrab_program" --ssh-config "$config" --via libssh2 --host mine --port "$RIG_PORT_rude" -v --json heap
    assert_status 0
    ((${#trace[@]} == 0)) || grep -q 'execve(.*"-G"' calls
    refute_stdout_has correct-horse
    refute_stderr_has correct-horse
    refute_stdout_has hunter2
    refute_stderr_has hunter2
    rm answers asked
    run grep -rlaE 'correct-horse|hunter2' . "$HOME" "$TMPDIR" "$XDG_RUNTIME_DIR"
    assert_status 1
}

@test "--ask-timeout limits the wait for an answer" {
    local began=$SECONDS
    ssh-keygen -q -t ed25519 -N hush -f slow
    cat slow.pub >>"$RIG_DIR/sshd/authorized_keys"
    printf '#!/bin/sh\nexec sleep 60\n' >sleeper
    chmod 700 sleeper
    rig_alias slow-01 sshd "IdentityFile $PWD/slow"
    sed "/^Host slow-01/,\$ { /IdentityFile \"/d }" "$SSH_CONFIG" >config
    SSH_ASKPASS=$PWD/sleeper SSH_ASKPASS_REQUIRE=force run --separate-stderr "$profgrab_program" --ssh-config config \
        --ask-timeout 2s --host slow-01 --port "$RIG_PORT_rude" heap
    assert_status 1
    ((SECONDS - began < 30)) || fail "$((SECONDS - began)) s"
}
