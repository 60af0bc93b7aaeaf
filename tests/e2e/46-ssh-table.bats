#!/usr/bin/env bats
# Runs profgrab against SSH servers in many configurations. These tests make docs/ssh.md: each test is one heading of the table,
# and its rows run in parallel. `make ssh-table` renews the column of the libssh2 in use.

load helper

# Number of rows at a time: a run waits more than it computes, except under valgrind, where it is $SLOW times slower.
SLOW=${SLOW:-1}
AT_ONCE=$((SLOW == 1 ? 6 : 2))

setup_file() {
    # shellcheck disable=SC2119 # its arguments are lines for sshd, none here
    rig_start
    rig_service rude -unix "$RIG_DIR/rude.sock"
    chmod 666 "$RIG_DIR/rude.sock"
    export SSH_CONFIG=$RIG_SSH_CONFIG
    export ROWS=$BATS_FILE_TMPDIR/rows
    mkdir -p "$ROWS"
    echo "faulty $(host_key sshd)" >>"$RIG_KNOWN_HOSTS"
    rig_fixture bad -ssh "127.0.0.1:$RIG_PORT_sshd"
}

# Runs also after a failed test.
teardown() {
    [[ -z ${SSH_AGENT_PID-} ]] || kill "$SSH_AGENT_PID"
    unset SSH_AGENT_PID
    e2e_teardown
}

setup() {
    e2e_setup
    row=0
    # profgrab runs proxy commands with this shell, whose messages are in the table.
    export SHELL=/bin/bash
    # A host name that is too long for DNS, so no resolver sends a query. The table shows it as NAME.
    nameless=$(printf 'x%.0s' {1..64})
    # A sanitizer without a symbolizer would print a warning into the program's output.
    export ASAN_OPTIONS="${ASAN_OPTIONS-}:fast_unwind_on_malloc=0:symbolize=0"
    forgive_libssh2
}

host_key() { # SSHD: prints its public key without the comment
    cut -d' ' -f1,2 "$RIG_DIR/$1/host_key.pub"
}

# Makes a key that the sshd accepts; with - no sshd accepts it.
make_key() { # NAME SSHD OPTION-OF-SSH-KEYGEN...
    local file=$PWD/$1 sshd=$2
    shift 2
    [[ " $* " == *' -N '* ]] || set -- -N '' "$@"
    ssh-keygen -q -C "${file##*/}" -f "$file" "$@"
    [[ $sshd == - ]] || cat "$file.pub" >>"$RIG_DIR/$sshd/authorized_keys"
}

# make_askpass NAME WORD...: writes a program ./NAME for SSH_ASKPASS that answers with each word in turn, then repeats the last one.
make_askpass() {
    printf '%s\n' "${@:2}" >"$1.words"
    cat >"$1" <<'ASKPASS'
#!/bin/sh
echo >>"$0.$PPID.asked"
at=$(wc -l <"$0.$PPID.asked")
[ "$at" -le "$(wc -l <"$0.words")" ] || at='$'
sed -n "${at}p" "$0.words"
ASKPASS
    chmod 755 "$1"
}

# row EXPECTED CASE SSHD [LINE...] [-- ARG...]: starts a run against that sshd (or `bad_NAME`, or a port) with these arguments.
# The lines go into ssh's configuration. They override the defaults: the rig's key, no agent, the rig's known hosts.
# tests/ssh-table compares the result with EXPECTED.
row() {
    local expected=$1 name=$2 sshd=$3 port=RIG_PORT_$3 lines=() dir
    shift 3
    while (($#)) && [[ $1 != -- ]]; do
        lines+=("$1")
        shift
    done
    (($# == 0)) || shift
    row=$((row + 1))
    dir=$ROWS/$(printf '%02d-%02d' "$BATS_TEST_NUMBER" "$row")
    mkdir "$dir" "$dir/work"
    echo "$expected" >"$dir/expected"
    echo "$BATS_TEST_DESCRIPTION: $name" >"$dir/case"
    echo "$((${LIMIT:-10000} * SLOW))" >"$dir/limit"
    {
        echo 'Host the-host'
        printf '    %s\n' "${lines[@]}"
        [[ "${lines[*]}" == *HostName* ]] || echo '    HostName 127.0.0.1'
        [[ "${lines[*]}" == *IdentityFile* ]] || echo "    IdentityFile $RIG_KEY"
        cat <<EOF_CONFIG
    Port ${!port-$sshd}
    User $RIG_USER
    IdentitiesOnly yes
    IdentityAgent none
    UserKnownHostsFile $RIG_KNOWN_HOSTS
    GlobalKnownHostsFile /dev/null
    StrictHostKeyChecking yes
EOF_CONFIG
        cat "$RIG_SSH_CONFIG"
    } >"$dir/config"
    ((SLOW == 1)) || [[ " $* " == *' --connect-timeout '* ]] || set -- --connect-timeout $((5 * SLOW))s "$@"
    [[ " $* " == *' --port '* || " $* " == *' --unix '* ]] || set -- --port "$RIG_PORT_rude" "$@"
    while (($(jobs -rp | wc -l) >= AT_ONCE)); do wait -n || :; done
    run_row "$dir" "$@" 3>&- 4>&- &
}

run_row() { # DIR ARG...
    local dir=$1 since=${EPOCHREALTIME/[.,]/} status=0
    shift
    cd "$dir/work" || return
    timeout --foreground -k 5 $((60 * SLOW)) "$profgrab_program" --ssh-config "$dir/config" --host the-host \
        --timeout "$((${TIMEOUT:-5} * SLOW))s" "$@" heap >"$dir/stdout" 2>"$dir/stderr" </dev/null || status=$?
    echo $(((${EPOCHREALTIME/[.,]/} - since) / 1000)) >"$dir/took"
    echo "$status" >"$dir/exit"
}

# Waits for the rows of this test and checks them. Under valgrind, checks only for errors of valgrind and for timeouts, because
# the messages depend on the clock.
rows_done() {
    wait
    if ((SLOW > 1)); then
        ! grep -lxE '99|124|137' "$ROWS/$(printf '%02d' "$BATS_TEST_NUMBER")"-*/exit
        return
    fi
    "$rig_root/tests/ssh-table" judge "$ROWS/$(printf '%02d' "$BATS_TEST_NUMBER")"-*
}

# ---- keys -------------------------------------------------------------------------------------------------------------

@test "keys in files" {
    make_key ed25519 sshd -t ed25519
    row works 'ed25519' sshd "IdentityFile $PWD/ed25519"
    local bits
    for bits in 256 384 521; do
        make_key ecdsa$bits sshd -t ecdsa -b $bits
        row works "ecdsa, $bits bits" sshd "IdentityFile $PWD/ecdsa$bits"
    done
    make_key ecdsa-pem sshd -t ecdsa -m PEM
    row works 'ecdsa, in PEM (SEC 1)' sshd "IdentityFile $PWD/ecdsa-pem"
    make_key ecdsa-pkcs8 sshd -t ecdsa -m PKCS8
    row works 'ecdsa, in PKCS#8' sshd "IdentityFile $PWD/ecdsa-pkcs8"
    make_key rsa sshd -t rsa -b 2048
    row 'works ssh' 'RSA' sshd "IdentityFile $PWD/rsa"
    make_key rsa-pem sshd -t rsa -b 2048 -m PEM
    row 'works ssh' 'RSA, in PEM (PKCS#1)' sshd "IdentityFile $PWD/rsa-pem"
    make_key rsa-pkcs8 sshd -t rsa -b 2048 -m PKCS8
    row 'works ssh' 'RSA, in PKCS#8' sshd "IdentityFile $PWD/rsa-pkcs8"
    rm ed25519.pub
    row works 'ed25519, without its .pub' sshd "IdentityFile $PWD/ed25519"
    make_key stranger - -t ed25519
    row refused 'a key that the server does not know' sshd "IdentityFile $PWD/stranger"
    row refused 'a key file that does not exist' sshd "IdentityFile $PWD/nothing"
    echo 'no key' >garbage
    row refused 'a file that is not a key' sshd "IdentityFile $PWD/garbage"
    rows_done
}

@test "keys with a passphrase" {
    make_askpass right secret
    local SSH_ASKPASS=$PWD/right SSH_ASKPASS_REQUIRE=force
    export SSH_ASKPASS SSH_ASKPASS_REQUIRE
    make_key ed25519 sshd -t ed25519 -N secret
    row works 'ed25519' sshd "IdentityFile $PWD/ed25519"
    make_key ecdsa-pem sshd -t ecdsa -m PEM -N secret
    row works 'ecdsa, in PEM' sshd "IdentityFile $PWD/ecdsa-pem"
    make_key rsa sshd -t rsa -b 2048 -N secret
    row works 'RSA' sshd "IdentityFile $PWD/rsa"
    make_key rsa-pem sshd -t rsa -b 2048 -m PEM -N secret
    row works 'RSA, in PEM' sshd "IdentityFile $PWD/rsa-pem"
    row ssh 'ed25519, with --via openssh' sshd "IdentityFile $PWD/ed25519" -- --via openssh
    make_askpass wrong terces
    SSH_ASKPASS=$PWD/wrong row refused 'a wrong passphrase' sshd "IdentityFile $PWD/ed25519"
    SSH_ASKPASS=/nonexistent SSH_ASKPASS_REQUIRE=never row refused 'no terminal for the prompt' sshd "IdentityFile $PWD/ed25519"
    row refused '--batch' sshd "IdentityFile $PWD/ed25519" -- --batch
    rows_done
}

@test "agents and certificates" {
    local type held
    eval "$(ssh-agent -a "$PWD/agent" 3>&- 4>&-)" >/dev/null
    held="IdentityAgent $PWD/agent"
    for type in ed25519 ecdsa rsa; do
        make_key "$type" sshd -t "$type"
        ssh-add -q "$type"
        mv "$type" "$type.gone"
        row 'works ssh' "an agent's $type key" sshd "IdentityFile $PWD/$type" "$held"
    done
    row 'works ssh' 'IdentityFile names a .pub without its private key, the agent has the key' sshd "IdentityFile $PWD/ed25519.pub" "$held"
    make_key elsewhere sshd -t ed25519
    mv elsewhere elsewhere.gone
    row refused 'IdentityFile names a .pub without its private key, the agent does not have the key' sshd "IdentityFile $PWD/elsewhere.pub" "$held"
    row refused 'no agent at its socket, and no key' sshd 'IdentityFile none' "IdentityAgent $PWD/nobody"
    make_key authority - -t ed25519
    mkdir -p "$RIG_DIR/certified"
    cp authority.pub "$RIG_DIR/certified/authority.pub"
    rig_sshd certified certified "TrustedUserCAKeys $RIG_DIR/certified/authority.pub" 'AuthorizedKeysFile none'
    for type in ed25519 ecdsa rsa; do
        make_key "user-$type" - -t "$type"
        ssh-keygen -q -s authority -I ann -n "$RIG_USER" "user-$type.pub"
        row 'works ssh' "a user's certificate for an $type key" certified "IdentityFile $PWD/user-$type"
    done
    ssh-add -q user-ecdsa
    row 'works ssh' "an agent's certificate, ecdsa" certified 'IdentityFile none' 'IdentitiesOnly no' "$held"
    make_key expired - -t ed25519
    ssh-keygen -q -s authority -I ann -n "$RIG_USER" -V 20010101:20010102 expired.pub
    row refused 'a certificate that has expired' certified "IdentityFile $PWD/expired"
    rows_done
}

# Only OpenSSH supports these. The security key is a software one (tests/rig/softkey.c), or a key handle without a device.
@test "security keys, smart cards, Kerberos" {
    security_keys
    printf '%s\n' 'sk-ssh-ed25519@openssh.com AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29tAAAAICFo/k5LU8863u66YC9eUO2170QduohPURkQnbLa/dczAAAABHNzaDo= me' >sk.pub
    python3 - >sk <<'PY'
import base64, struct
s = lambda b: struct.pack(">I", len(b)) + b
public = base64.b64decode(open("sk.pub").read().split()[1])
key = public + b"\x01" + s(b"handle of no token") + s(b"") + s(b"me")
private = b"\1\2\3\4" * 2 + key
private += bytes(range(1, 1 + -len(private) % 8))
body = b"openssh-key-v1\0" + s(b"none") + s(b"none") + s(b"") + struct.pack(">I", 1) + s(public) + s(private)
print("-----BEGIN OPENSSH PRIVATE KEY-----")
print(base64.b64encode(body).decode())
print("-----END OPENSSH PRIVATE KEY-----")
PY
    chmod 600 sk
    cat sk.pub >>"$RIG_DIR/sshd/authorized_keys"
    row refused 'a security key that is not plugged in' sshd "IdentityFile $PWD/sk"
    row refused 'a security key, with --via libssh2' sshd "IdentityFile $PWD/sk" -- --via libssh2
    smart_card
    cat card.pub >>"$RIG_DIR/sshd/authorized_keys"
    SSH_ASKPASS=$PWD/pin SSH_ASKPASS_REQUIRE=force row ssh 'a smart card (PKCS#11)' sshd "PKCS11Provider $module" 'IdentityFile none' 'IdentitiesOnly no'
    row refused 'a smart card, with --via libssh2' sshd "PKCS11Provider $module" -- --via libssh2
    kerberos
    rig_sshd hostbased hostbased 'HostbasedAuthentication yes' 'AuthenticationMethods hostbased'
    row refused 'only host-based authentication is allowed' hostbased 'HostbasedAuthentication yes'
    rows_done
}

security_keys() {
    local type softkey=$rig_root/build/rig/softkey.so
    local provider="SecurityKeyProvider $softkey"
    local SSH_ASKPASS=$PWD/pin SSH_ASKPASS_REQUIRE=force
    export SSH_ASKPASS SSH_ASKPASS_REQUIRE
    make_askpass pin 1234
    make_askpass wrong-pin 4321
    for type in ed25519-sk ecdsa-sk; do
        make_key "$type" sshd -t "$type" -w "$softkey"
        row ssh "a security key ($type)" sshd "IdentityFile $PWD/$type" "$provider"
    done
    make_key verified sshd -t ed25519-sk -w "$softkey" -O verify-required
    row ssh 'a security key with a PIN' sshd "IdentityFile $PWD/verified" "$provider"
    SSH_ASKPASS=$PWD/wrong-pin row refused 'a security key with a PIN, wrong PIN' sshd "IdentityFile $PWD/verified" "$provider"
    row refused 'a security key with a PIN, with --batch' sshd "IdentityFile $PWD/verified" "$provider" -- --batch
    mkfifo touch
    SOFTKEY_TOUCH=$PWD/touch row refused 'a security key without a touch' sshd "IdentityFile $PWD/ed25519-sk" "$provider" -- \
        --ask-timeout 2s
    LIMIT=15000 SOFTKEY_TOUCH=$PWD/touch row refused 'a security key without a touch, with --batch' sshd "IdentityFile $PWD/ed25519-sk" \
        "$provider" -- --connect-timeout 3s --batch
    security_agent at_once
    row ssh "an agent's security key" sshd 'IdentityFile none' 'IdentitiesOnly no' "IdentityAgent $PWD/at_once"
    SOFTKEY_TOUCH=$PWD/touch security_agent never
    row refused "an agent's security key without a touch" sshd 'IdentityFile none' 'IdentitiesOnly no' \
        "IdentityAgent $PWD/never" -- --connect-timeout 2s --ask-timeout 3s
}

# Starts an agent at ./NAME with the key ed25519-sk.
security_agent() { # NAME
    rig_spawn "$1" ssh-agent -D -a "$PWD/$1" -P "$softkey"
    rig_wait "$1" 10 test -S "$1"
    SSH_AUTH_SOCK=$PWD/$1 ssh-add -q -S "$softkey" ed25519-sk
}

# Starts the rows for a realm whose sshd accepts only its tickets.
kerberos() {
    local KRB5_CONFIG=$RIG_DIR/kerberos/krb5.conf gssapi='GSSAPIAuthentication yes' ticket
    export KRB5_CONFIG
    rig_kerberos kerberos
    rig_sshd kerberos kerberos "$gssapi" 'GSSAPIStrictAcceptorCheck no' 'AuthenticationMethods gssapi-with-mic'
    for ticket in ticket first elsewhere; do rig_ticket kerberos "$PWD/$ticket"; done
    sed "s|kdc = .*|kdc = 127.0.0.1:$RIG_PORT_bad_blackhole|" "$KRB5_CONFIG" >silent.conf
    sed "s|default_ccache_name = .*|default_ccache_name = FILE:$PWD/elsewhere|" "$KRB5_CONFIG" >elsewhere.conf
    KRB5CCNAME=$PWD/ticket row ssh 'a Kerberos ticket (GSSAPI)' kerberos "$gssapi"
    KRB5CCNAME=$PWD/ticket row ssh 'a Kerberos ticket, with --batch' kerberos "$gssapi" -- --batch
    PATH=$rig_packages/usr/bin:$PATH KRB5_CONFIG=$PWD/elsewhere.conf row ssh 'a Kerberos ticket in the cache that krb5.conf names' kerberos "$gssapi"
    KRB5CCNAME=$PWD/ticket row refused 'a Kerberos ticket, with --via libssh2' kerberos "$gssapi" -- --via libssh2
    KRB5CCNAME=$PWD/first KRB5_CONFIG=$PWD/silent.conf row refused 'a Kerberos ticket, and the KDC does not answer' kerberos \
        "$gssapi" -- --connect-timeout 2s
    row refused 'only GSSAPI is allowed, no ticket' kerberos "$gssapi"
}

# Makes a software smart card; its key is in ./card.pub, its PIN is the output of ./pin. Sets $module.
smart_card() {
    "$rig_root/tools/fetch-packages" "$rig_packages" softhsm2 libsofthsm2 softhsm2-common
    module=$rig_packages/usr/lib/softhsm/libsofthsm2.so
    export SOFTHSM2_CONF=$PWD/softhsm.conf
    mkdir tokens
    echo "directories.tokendir = $PWD/tokens" >softhsm.conf
    openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out card.pem 2>/dev/null
    local util=("$rig_packages/usr/bin/softhsm2-util" --module "$module" --pin 1234)
    "${util[@]}" --init-token --free --label card --so-pin 1234 >/dev/null
    "${util[@]}" --import card.pem --label card --id 01 --token card >/dev/null
    ssh-keygen -D "$module" >card.pub
    make_askpass pin 1234
}

@test "passwords and several steps" {
    rig_pam password hunter2
    rig_sshd password password 'UsePAM yes' 'PasswordAuthentication yes' 'AuthenticationMethods password'
    rig_pam rounds hunter2 4711
    rig_sshd rounds rounds 'UsePAM yes' 'KbdInteractiveAuthentication yes' 'AuthenticationMethods keyboard-interactive'
    rig_pam steps hunter2
    rig_sshd steps steps 'UsePAM yes' 'PasswordAuthentication yes' 'AuthenticationMethods publickey,password'
    rig_sshd twice twice 'AuthenticationMethods publickey,publickey'
    make_askpass password hunter2
    make_askpass wrong hunter1
    make_askpass both hunter2 4711
    local SSH_ASKPASS=$PWD/password SSH_ASKPASS_REQUIRE=force
    export SSH_ASKPASS SSH_ASKPASS_REQUIRE
    row works 'a password' password
    row ssh 'a password, with --via openssh' password -- --via openssh
    SSH_ASKPASS=$PWD/wrong row refused 'a wrong password' password
    row refused 'a password, with --batch' password -- --batch
    SSH_ASKPASS=$PWD/both row works 'keyboard-interactive, two rounds' rounds
    SSH_ASKPASS=$PWD/wrong row refused 'keyboard-interactive, the wrong answers' rounds
    row works 'a key and a password' steps
    make_key second twice -t ed25519
    row works 'two keys are required' twice "IdentityFile $RIG_KEY" "IdentityFile $PWD/second"
    row refused 'two keys are required, one exists' twice
    rows_done
}

# ---- host keys --------------------------------------------------------------------------------------------------------

@test "host keys" {
    local here="[127.0.0.1]:$RIG_PORT_sshd" key
    key=$(host_key sshd)
    known() { # FILE LINE...: a line of ssh's configuration for a file of these lines
        printf '%s\n' "${@:2}" >"$PWD/$1"
        echo "UserKnownHostsFile $PWD/$1"
    }
    make_key other - -t ed25519
    local other
    other=$(cut -d' ' -f1,2 other.pub)
    row works 'known' sshd "$(known plain "$here $key")"
    : "$(known hashed "$here $key")"
    ssh-keygen -q -H -f hashed >/dev/null 2>&1
    row works 'known, hashed' sshd "UserKnownHostsFile $PWD/hashed"
    row works 'known by a wildcard' sshd "$(known wildcard "[127.0.0.*]:* $key")"
    row refused 'known by a wildcard, but negated' sshd "$(known negated "![127.0.0.1]:*,[127.0.0.*]:* $key")"
    row works 'known without its port' sshd "$(known bare "127.0.0.1 $key")"
    row works 'known by its HostKeyAlias' sshd "$(known alias "the-alias $key")" 'HostKeyAlias the-alias'
    row works 'known in the second of two files' sshd "UserKnownHostsFile $PWD/none $PWD/plain"
    row works 'known, with Windows line ends' sshd "$(known crlf "$here $key"$'\r')"
    row works 'known, after invalid lines' sshd "$(known garbage 'garbage' '@what is this' "$here $key")"
    row refused 'unknown' sshd "$(known empty '')"
    row refused 'another key than the known one' sshd "$(known changed "$here $other")"
    row refused 'the known key is of another type' sshd "$(known type "$here $(ssh-keygen -q -t ecdsa -N '' -f ecdsa; cut -d' ' -f1,2 ecdsa.pub)")"
    row refused 'revoked' sshd "$(known revoked "@revoked $here $key" "$here $key")"
    row 'ssh refused' 'only a certificate authority is known, and the host has no certificate' sshd "$(known authority "@cert-authority * $other")"
    row works 'unknown, with --accept-new' sshd "$(known new '')" -- --accept-new
    row refused 'another key than the known one, with --accept-new' sshd "$(known changed2 "$here $other")" -- --accept-new
    rows_done
}

# ---- routes -----------------------------------------------------------------------------------------------------------

@test "routes" {
    rig_sshd second second-hop
    rig_sshd third third-hop
    row works 'ProxyJump' sshd 'ProxyJump second-hop'
    row works 'ProxyJump, three hops' sshd 'ProxyJump second-hop,third-hop'
    row works 'ProxyCommand' sshd "ProxyCommand ssh -F $RIG_SSH_CONFIG -W %h:%p second-hop"
    row refused 'ProxyCommand that fails' sshd 'ProxyCommand echo no way through here >&2; exit 1'
    row refused 'ProxyCommand that does not exist' sshd 'ProxyCommand /nonexistent/program %h'
    TIMEOUT=2 row refused 'ProxyCommand without output' sshd 'ProxyCommand sleep 30'
    row works 'a Unix socket on the far side' sshd -- --unix "$RIG_DIR/rude.sock"
    row refused 'a Unix socket that is not there' sshd -- --unix "$RIG_DIR/nothing.sock"
    row ssh '--via openssh' sshd -- --via openssh
    row ssh '--via openssh, three hops' sshd 'ProxyJump second-hop,third-hop' -- --via openssh
    row refused 'a loop of jump hosts' sshd 'ProxyJump the-host'
    row refused 'a jump host that does not resolve' sshd "ProxyJump $nameless"
    row refused 'a Match exec that takes too long' sshd "Match exec \"sleep $((30 * SLOW))\"" -- --timeout 2s
    rows_done
}

# ---- servers ----------------------------------------------------------------------------------------------------------

@test "what servers offer and allow" {
    local name
    rig_sshd gcm gcm 'Ciphers aes256-gcm@openssh.com'
    rig_sshd chacha chacha 'Ciphers chacha20-poly1305@openssh.com'
    rig_sshd etm etm 'MACs hmac-sha2-256-etm@openssh.com'
    rig_sshd sntrup sntrup 'KexAlgorithms sntrup761x25519-sha512@openssh.com'
    ssh-keygen -q -t rsa -b 2048 -N '' -f "$RIG_DIR/lib/rsa_host_key"
    chown "$RIG_UID:$RIG_GID" "$RIG_DIR/lib/rsa_host_key"
    rig_sshd rsahost rsahost "HostKey $RIG_DIR/lib/rsa_host_key" 'HostKeyAlgorithms rsa-sha2-512'
    echo "[127.0.0.1]:$RIG_PORT_rsahost $(cut -d' ' -f1,2 "$RIG_DIR/lib/rsa_host_key.pub")" >>"$RIG_KNOWN_HOSTS"
    rig_sshd noforward noforward 'AllowTcpForwarding no'
    rig_sshd permitopen permitopen 'PermitOpen 127.0.0.1:1'
    rig_sshd restricted restricted
    sed -i 's/^/restrict /' "$RIG_DIR/restricted/authorized_keys"
    rig_sshd denied denied "DenyUsers $RIG_USER"
    rig_sshd tries tries 'MaxAuthTries 2'
    row 'works ssh' 'the only cipher is aes256-gcm' gcm
    row 'works ssh' 'the only cipher is chacha20-poly1305' chacha
    row 'works ssh' 'the only MAC is an -etm one' etm
    row ssh 'the only key exchange is sntrup761x25519' sntrup
    row 'works ssh' 'the only host key is RSA' rsahost
    row refused 'with --via libssh2, the only key exchange is sntrup761x25519' sntrup -- --via libssh2
    row refused 'AllowTcpForwarding no' noforward
    row refused 'PermitOpen allows another port' permitopen
    row refused 'authorized_keys says restrict' restricted
    row refused 'DenyUsers' denied
    for name in 1 2 3; do make_key "stray$name" - -t ed25519; done
    row refused 'too many keys for MaxAuthTries' tries "IdentityFile $PWD/stray1" "IdentityFile $PWD/stray2" "IdentityFile $PWD/stray3" \
        "IdentityFile $RIG_KEY"
    rows_done
}

# ---- faults -----------------------------------------------------------------------------------------------------------

# fault EXPECTED CASE NAME: a listener of tests/fixture/sshfaults.go.
fault() {
    TIMEOUT=2 row "$1" "$2" "bad_$3" 'HostKeyAlias faulty'
}

@test "faults on the way to the server" {
    RIG_PORT_closed=$(rig_free_port)
    export RIG_PORT_closed
    TIMEOUT=2 row refused 'nothing listens on the port' closed
    TIMEOUT=2 row refused 'the name does not resolve' sshd "HostName $nameless"
    fault refused 'the host does not answer' blackhole
    fault refused 'the connection is closed at once' closing
    fault refused 'a silent server' silent
    TIMEOUT=2 row refused 'a silent server behind a jump host' bad_silent 'HostKeyAlias faulty' 'ProxyJump file-01'
    TIMEOUT=2 row refused 'nothing listens on the port, behind a jump host' closed 'ProxyJump file-01'
    TIMEOUT=2 row refused 'the name does not resolve behind a jump host' sshd "HostName $nameless" 'ProxyJump file-01'
    TIMEOUT=2 row refused 'the host does not answer, behind a jump host' bad_blackhole 'HostKeyAlias faulty' 'ProxyJump file-01'
    TIMEOUT=2 row refused 'an HTTP server listens on the port' "$RIG_PORT_rude"
    fault refused 'a mail server listens on the port' mail
    fault refused 'terminal escapes in place of a banner' escapes
    fault refused 'endlessly many lines before the banner' manylines
    fault refused 'one endless line before the banner' longline
    fault refused 'version 1 of SSH' oldversion
    rows_done
}

@test "faults in the handshake" {
    fault works 'lines before the banner' preface
    fault works 'a slow banner' slowbanner
    fault refused 'a banner too slow for the deadline' drippingbanner
    fault refused 'a banner, then nothing' nokex
    fault refused 'a banner, then random bytes' noisy
    fault refused 'the connection is closed in the middle of the list of algorithms' cutoffer
    fault refused 'the connection is closed in the middle of the key exchange' cutkey
    fault refused 'silence in the middle of the list of algorithms' stalloffer
    fault refused 'silence in the middle of the key exchange' stallkey
    fault refused 'a byte of the key exchange is wrong' flippedkey
    rows_done
}

@test "the table in docs/ssh.md matches these results" {
    ((SLOW == 1)) || skip 'the table has the messages of a run without valgrind'
    "$rig_root/tests/ssh-table" table ${SSH_TABLE:+--renew} "$ROWS" "$rig_root/docs/ssh.md" \
        "$("$profgrab_program" version | sed -n 's/^libssh2 //p')"
}
