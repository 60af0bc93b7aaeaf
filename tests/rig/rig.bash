# The test rig: a private sshd, and real Go services, on loopback ports, for the end-to-end tests, the demo and the bench.
#
#   . tests/rig/rig.bash
#   trap rig_stop EXIT
#   rig_start                                   # the directory, the keys, an sshd known as file-* and web-*
#   rig_service node_exporter                   # its port is $RIG_PORT_node_exporter
#   ssh -F "$RIG_SSH_CONFIG" file-03 true
#
# The rig changes nothing outside $RIG_DIR: no account, no service, no key of the user. The sshd runs as an unprivileged user even
# if root calls, with a passwd entry from libnss-wrapper. tools/fetch-packages unpacks packages below build/ at their first use;
# tools/build-fixture builds the fixture there. Every function returns 0, or prints the error and returns 1.
#
# $RIG_DIR/pids lists every started process with its start time, so that rig_end and rig_stop end exactly those, from this shell
# or its children. Every wait polls with a deadline, and fails at once if the process ends.
#
# Exported: RIG_DIR, RIG_USER (RIG_UID, RIG_GID), RIG_KEY, RIG_KNOWN_HOSTS, RIG_SSH_CONFIG, and RIG_PORT_<name> of each started
# service.
# shellcheck shell=bash

rig_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
rig_packages=$rig_root/build/services
rig_fixture=$rig_root/build/fixture/rude

rig_error() { printf 'rig: %s\n' "$*" >&2; }

# ---- packages -----------------------------------------------------------------------------------------------

# The packages of each program. node_exporter and caddy are the smallest Go services of Debian with /debug/pprof (4 and 9 MB,
# ready after 0.05 and 0.2 s). prometheus is 19 MB; etcd needs two ports and a disk, starts more slowly and offers no traces.
rig_fetch() { # sshd|node_exporter|caddy|prometheus...
    local name packages=()
    for name; do
        case $name in
        sshd) packages+=(openssh-server libwrap0 libnss-wrapper) ;;
        node_exporter) packages+=(prometheus-node-exporter) ;;
        caddy | prometheus) packages+=("$name") ;;
        pam) packages+=(libpam-wrapper) ;;
        kerberos)
            packages+=(krb5-kdc krb5-admin-server krb5-user libkdb5-10 libgssrpc4 libkadm5srv-mit12 libkadm5clnt-mit12
                libverto1 libverto-libev1 libev4 libss2)
            ;;
        paramiko)
            packages+=(python3-paramiko python3-cryptography python3-bcrypt python3-nacl python3-cffi-backend python3-six
                libsodium23)
            ;;
        dropbear) packages+=(dropbear-bin libtomcrypt1 libtommath1) ;;
        esac
    done
    "$rig_root/tools/fetch-packages" "$rig_packages" "${packages[@]}"
}

# ---- processes ----------------------------------------------------------------------------------------------

# Prints the start time of a process, or nothing if it has ended or is a zombie. The name in `stat` may contain any character.
rig_start_time() { # PID
    local stat fields
    { read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 0
    read -ra fields <<<"${stat##*) }" # from the third, the state, on
    [[ ${fields[0]} == [ZX] ]] || echo "${fields[19]}"
}

rig_alive() { # NAME
    local pid start
    read -r pid start <"$RIG_DIR/pids/$1" && [[ $(rig_start_time "$pid") == "$start" ]]
}

# rig_spawn NAME COMMAND...: starts the command in the background, with its output in $RIG_DIR/NAME/log.
rig_spawn() {
    local name=$1 pid
    shift
    mkdir -p "$RIG_DIR/$name"
    (
        # bats waits for every process that has its descriptors open.
        for fd in /proc/self/fd/*; do
            fd=${fd##*/}
            ((fd < 3 || fd == 255)) || eval "exec $fd>&-"
        done
        exec </dev/null >>"$RIG_DIR/$name/log" 2>&1
        if [[ $1 == rig_as_user || $1 == rig_kerberos_run ]]; then "$@"; else exec "$@"; fi
    ) &
    pid=$!
    disown "$pid"
    echo "$pid $(rig_start_time "$pid")" >"$RIG_DIR/pids/$name"
}

# rig_wait NAME SECONDS COMMAND...: waits until the command succeeds; returns 1 at once if NAME ends before.
rig_wait() {
    local name=$1 deadline=$((SECONDS + $2))
    shift 2
    until "$@" 2>/dev/null; do
        if ! rig_alive "$name" || ((SECONDS > deadline)); then
            return 1
        fi
        sleep 0.02
    done
    rig_alive "$name"
}

rig_connects() { # PORT
    (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

# A subshell, because the caller may use descriptor 3.
rig_http_is_ok() ( # PORT PATH: succeeds if HTTP answers 200
    exec 3<>"/dev/tcp/127.0.0.1/$1" &&
        printf 'GET %s HTTP/1.0\r\nHost: 127.0.0.1:%s\r\n\r\n' "$2" "$1" >&3 &&
        read -r -t 5 -u 3 status &&
        [[ $status == *' 200 '* ]]
)

# Prints a port without a listener, below those that the kernel gives to clients. Another process may take it first: the caller
# then tries the next one (rig_on_port).
rig_free_port() {
    local port
    while port=$((10000 + RANDOM % 20000)) && rig_connects "$port"; do :; done
    echo "$port"
}

# rig_on_port NAME START READY [SECONDS]: runs `START PORT`, waits for `READY PORT`, and sets RIG_PORT_NAME.
rig_on_port() {
    local name=$1 start=$2 port try
    for try in 1 2 3 4 5; do
        port=$(rig_free_port)
        "$start" "$name" "$port" || return 1
        # shellcheck disable=SC2086 # READY has arguments
        if rig_wait "$name" "${4-20}" ${3/PORT/$port}; then
            export "RIG_PORT_$name=$port"
            return 0
        fi
        rig_end "$name"
        grep -qi 'in use' "$RIG_DIR/$name/log" || break
    done
    rig_error "$name did not start (try $try)"
    tail -n 20 "$RIG_DIR/$name/log" >&2
    return 1
}

# Prints the process that serves the youngest session of an sshd: the last descendant. It is much faster than rig_leaves on a busy
# machine.
rig_session() { # PID
    local process=$1 child
    # Use the youngest, because an older one may be a login that is ending.
    while child=$(<"/proc/$process/task/$process/children") && [[ -n $child ]]; do
        child=${child% }
        process=${child##* }
    done
    echo "$process"
}

# Prints those descendants of a process that have no children, or the process itself if it has no children.
rig_leaves() { # PID
    local stat fields leaf=1
    for stat in /proc/[0-9]*/stat; do
        { read -r fields <"$stat"; } 2>/dev/null || continue
        read -ra fields <<<"${fields%% *} ${fields##*) }" # pid, state, parent
        if [[ ${fields[2]} == "$1" && ${fields[1]} != [ZX] ]]; then
            rig_leaves "${fields[0]}"
            leaf=0
        fi
    done
    ((leaf == 0)) || echo "$1"
}

# rig_end NAME: ends the process and its children: first those without children, so that their parents reap them.
rig_end() {
    local name=$1 pid start deadline=$((SECONDS + 30))
    [[ -e $RIG_DIR/pids/$name ]] || return 0
    read -r pid start <"$RIG_DIR/pids/$name"
    while rig_alive "$name"; do
        # shellcheck disable=SC2046 # one word for each process
        kill -KILL $(rig_leaves "$pid") 2>/dev/null || :
        # If a client reconnects at once, sshd replaces each child by a new one: after 2 s, end the sshd itself too.
        ((SECONDS < deadline - 28)) || kill -KILL "$pid" 2>/dev/null || :
        if ((SECONDS > deadline)); then
            rig_error "$name (pid $pid) does not end"
            return 1
        fi
        sleep 0.01
    done
    rm -f "$RIG_DIR/pids/$name"
}

# ---- the rig ------------------------------------------------------------------------------------------------

# Makes the user that the sshd runs as and that logs in: the caller, or for root an unused uid.
rig_make_user() {
    RIG_USER=rig
    RIG_UID=$(id -u)
    RIG_GID=$(id -g)
    if ((RIG_UID == 0)); then
        RIG_UID=64100
        while getent passwd "$RIG_UID" || getent group "$RIG_UID"; do RIG_UID=$((RIG_UID + 1)); done >/dev/null
        RIG_GID=$RIG_UID
    fi
    export RIG_USER RIG_UID RIG_GID
    mkdir "$RIG_DIR/home" "$RIG_DIR/lib"
    chown "$RIG_UID:$RIG_GID" "$RIG_DIR/home"
    echo "$RIG_USER:x:$RIG_UID:$RIG_GID:test rig:$RIG_DIR/home:/bin/bash" >"$RIG_DIR/lib/passwd"
    echo "$RIG_USER:x:$RIG_GID:" >"$RIG_DIR/lib/group"
    # The checkout may be in a directory that this user cannot enter.
    cp "$rig_packages/usr/sbin/sshd" "$rig_packages"/usr/lib/*/libwrap.so.0 "$rig_packages"/usr/lib/*/libnss_wrapper.so \
        "$RIG_DIR/lib/"
    (rig_as_user test -x "$RIG_DIR/lib/sshd") || {
        rig_error "uid $RIG_UID cannot reach $RIG_DIR: set TMPDIR to a directory that all can enter"
        return 1
    }
}

rig_as_user() { # COMMAND...: replaces this process
    if [[ $(id -u) == "$RIG_UID" ]]; then
        exec env -- "$@"
    fi
    exec setpriv --reuid "$RIG_UID" --regid "$RIG_GID" --clear-groups -- "$@"
}

# rig_start [LINE...]: makes the rig and starts the sshd named sshd, for the aliases file-* and web-*. The lines, such as
# `AllowTcpForwarding no`, are for its configuration.
rig_start() {
    rig_fetch sshd || return 1
    RIG_DIR=$(mktemp -d "${TMPDIR:-/tmp}/profgrab-rig.XXXXXX") || return 1
    chmod 711 "$RIG_DIR"
    mkdir -m 700 "$RIG_DIR/client"
    mkdir "$RIG_DIR/pids"
    RIG_KEY=$RIG_DIR/client/id_ed25519
    RIG_KNOWN_HOSTS=$RIG_DIR/client/known_hosts
    RIG_SSH_CONFIG=$RIG_DIR/client/config
    export RIG_DIR RIG_KEY RIG_KNOWN_HOSTS RIG_SSH_CONFIG
    ssh-keygen -q -t ed25519 -N '' -C rig -f "$RIG_KEY" || return 1
    : >"$RIG_KNOWN_HOSTS"
    : >"$RIG_SSH_CONFIG"
    rig_make_user && rig_sshd sshd 'file-* web-*' "$@"
}

# rig_sshd NAME ALIASES [LINE...]: starts one more sshd with its own host key, for the aliases. The lines precede the rig's own, and
# so override them. The sshd logs to $RIG_DIR/NAME/log and accepts the keys in $RIG_DIR/NAME/authorized_keys.
rig_sshd() {
    local name=$1 aliases=$2 dir=$RIG_DIR/$1
    shift 2
    mkdir -p "$dir"
    ssh-keygen -q -t ed25519 -N '' -C "$name" -f "$dir/host_key" || return 1
    cp "$RIG_KEY.pub" "$dir/authorized_keys"
    chown "$RIG_UID:$RIG_GID" "$dir/host_key"
    (($# == 0)) || printf '%s\n' "$@" >"$dir/sshd_config"
    cat >>"$dir/sshd_config" <<EOF
ListenAddress 127.0.0.1
HostKey "$dir/host_key"
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
LogLevel VERBOSE
AuthorizedKeysFile "$dir/authorized_keys"
AllowTcpForwarding yes
EOF
    rig_on_port "$name" rig_sshd_at 'rig_connects PORT' || return 1
    local port=RIG_PORT_$name
    printf '[127.0.0.1]:%s %s\n' "${!port}" "$(cut -d' ' -f1,2 "$dir/host_key.pub")" >>"$RIG_KNOWN_HOSTS"
    rig_alias "$aliases" "$name"
}

# pam_wrapper copies PAM's library into its TMPDIR, so the sshd preloads it only if it uses PAM.
rig_sshd_at() { # NAME PORT
    local pam=() kerberos=()
    [[ ! -e $RIG_DIR/$1/keytab ]] || kerberos=(KRB5_CONFIG="$RIG_DIR/$1/krb5.conf" KRB5_KTNAME="$RIG_DIR/$1/keytab")
    ! grep -qs '^UsePAM yes' "$RIG_DIR/$1/sshd_config" || pam=(LD_PRELOAD="libnss_wrapper.so libpam_wrapper.so"
        PAM_WRAPPER=1 PAM_WRAPPER_SERVICE_DIR="$RIG_DIR/$1/pam" TMPDIR="$RIG_DIR/home")
    rig_spawn "$1" rig_as_user env -i PATH="$PATH" LD_LIBRARY_PATH="$RIG_DIR/lib" LD_PRELOAD=libnss_wrapper.so \
        NSS_WRAPPER_PASSWD="$RIG_DIR/lib/passwd" NSS_WRAPPER_GROUP="$RIG_DIR/lib/group" "${pam[@]}" "${kerberos[@]}" \
        "$RIG_DIR/lib/sshd" -D -e -f "$RIG_DIR/$1/sshd_config" -p "$2"
}

# rig_pam NAME PASSWORD [CODE]: configures PAM for the sshd NAME, which the caller then starts with `UsePAM yes`. PAM asks for the
# password, hidden, and reports that it was right; then for the code, shown. Both prompts are "Password: ".
rig_pam() {
    local matrix=$RIG_DIR/lib/pam_matrix.so dir=$RIG_DIR/$1 type
    rig_fetch pam || return 1
    mkdir -p "$dir/pam"
    cp "$rig_packages"/usr/lib/*/libpam_wrapper.so "$rig_packages"/usr/lib/*/pam_wrapper/pam_matrix.so "$RIG_DIR/lib/"
    echo "$RIG_USER:$2:sshd" >"$dir/passwords"
    echo "$RIG_USER:${3-}:sshd" >"$dir/codes"
    {
        echo "auth required $matrix passdb=$dir/passwords"
        (($# == 2)) || echo "auth required $matrix passdb=$dir/codes echo"
        for type in account session; do echo "$type required $matrix passdb=$dir/passwords"; done
    } >"$dir/pam/sshd"
}

# rig_kerberos NAME: starts a realm with its own KDC. The sshd NAME accepts its tickets if the caller starts the sshd with
# `GSSAPIAuthentication yes` and, because the sshd's name is an address, `GSSAPIStrictAcceptorCheck no`. Clients use the realm's
# krb5.conf, and get tickets by rig_ticket.
rig_kerberos() {
    local dir=$RIG_DIR/$1
    rig_fetch kerberos || return 1
    mkdir -p "$dir"
    rig_on_port "$1_kdc" rig_kdc_at 'rig_connects PORT' || return 1
    if ! rig_kadmin "$1" addprinc -pw hush "$RIG_USER" || ! rig_kadmin "$1" addprinc -randkey host/127.0.0.1 ||
        ! rig_kadmin "$1" ktadd -k "$dir/keytab" host/127.0.0.1; then
        rig_error "no keys from $1_kdc"
        tail -n 20 "$dir/kadmin.log" >&2
        return 1
    fi
    chown "$RIG_UID:$RIG_GID" "$dir/keytab"
}

# The KDC listens on TCP only, because the rig cannot test whether a UDP port is free.
rig_kdc_at() { # NAME_kdc PORT
    local name=${1%_kdc} dir=$RIG_DIR/${1%_kdc}
    cat >"$dir/krb5.conf" <<EOF
[libdefaults]
    default_realm = RIG
    dns_lookup_kdc = false
    dns_lookup_realm = false
    dns_canonicalize_hostname = false
    rdns = false
    udp_preference_limit = 1
    default_ccache_name = FILE:$dir/cache
[realms]
    RIG = {
        kdc = 127.0.0.1:$2
    }
[domain_realm]
    127.0.0.1 = RIG
EOF
    cat >"$dir/kdc.conf" <<EOF
[kdcdefaults]
    kdc_listen = ""
    kdc_tcp_listen = 127.0.0.1:$2
[realms]
    RIG = {
        database_name = $dir/principal
        key_stash_file = $dir/stash
    }
[dbmodules]
    db_module_dir = $(echo "$rig_packages"/usr/lib/*/krb5/plugins/kdb)
[logging]
    default = STDERR
EOF
    [[ -e $dir/stash ]] || (rig_kerberos_run "$name" kdb5_util create -s -W -P master) >"$dir/kadmin.log" 2>&1 || {
        rig_error "no realm for $name"
        tail -n 20 "$dir/kadmin.log" >&2
        return 1
    }
    rig_spawn "$1" rig_kerberos_run "$name" krb5kdc -n
}

# rig_ticket NAME CACHE: gets a ticket for the rig's user from the realm of that sshd.
rig_ticket() {
    (rig_kerberos_run "$1" kinit -c "$2" "$RIG_USER") <<<hush >/dev/null
}

rig_kadmin() { # NAME ARG...
    (rig_kerberos_run "$1" kadmin.local "${@:2}") >>"$RIG_DIR/$1/kadmin.log" 2>&1
}

rig_kerberos_run() { # NAME PROGRAM ARG...: replaces this process
    local libraries=("$rig_packages"{/usr,}/lib/*-linux-gnu) # some packages use the first, some the second
    exec env KRB5_CONFIG="$RIG_DIR/$1/krb5.conf" KRB5_KDC_PROFILE="$RIG_DIR/$1/kdc.conf" \
        LD_LIBRARY_PATH="${libraries[0]}:${libraries[1]}" \
        PATH="$rig_packages/usr/sbin:$rig_packages/usr/bin:$PATH" "${@:2}"
}

# rig_odd_sshd NAME [OPTION...]: starts the server tests/rig/odd_sshd.py, for behaviour that sshd does not have.
rig_odd_sshd() {
    local name=$1 dir=$RIG_DIR/$1
    shift
    rig_fetch paramiko || return 1
    mkdir -p "$dir"
    ssh-keygen -q -t ecdsa -m PEM -N '' -f "$dir/host_key" || return 1
    rig_spawn "$name" env PYTHONPATH="$rig_packages/usr/lib/python3/dist-packages" \
        LD_LIBRARY_PATH="$(echo "$rig_packages"/usr/lib/*-linux-gnu)" \
        /usr/bin/python3 -W ignore "$rig_root/tests/rig/odd_sshd.py" "$dir/host_key" "$@"
    rig_wait "$name" 20 grep -q '^listening ' "$dir/log" || {
        rig_error "$name did not start"
        tail -n 20 "$dir/log" >&2
        rig_end "$name"
        return 1
    }
    local port
    port=$(sed -n 's/^listening //p' "$dir/log")
    export "RIG_PORT_$name=$port"
    printf '[127.0.0.1]:%s %s\n' "$port" "$(cut -d' ' -f1,2 "$dir/host_key.pub")" >>"$RIG_KNOWN_HOSTS"
}

# rig_alias ALIASES SSHD [LINE...]: adds names for an sshd to $RIG_SSH_CONFIG. The lines override the rig's own. If several blocks
# match a name, the first one wins.
rig_alias() {
    local aliases=$1 port=RIG_PORT_$2
    shift 2
    {
        printf 'Host %s\n' "$aliases"
        (($# == 0)) || printf '    %s\n' "$@"
        cat <<EOF
    HostName 127.0.0.1
    Port ${!port}
    User $RIG_USER
    IdentityFile "$RIG_KEY"
    IdentitiesOnly yes
    IdentityAgent none
    UserKnownHostsFile "$RIG_KNOWN_HOSTS"
    GlobalKnownHostsFile /dev/null
    StrictHostKeyChecking yes
EOF
    } >>"$RIG_SSH_CONFIG"
}

# rig_service node_exporter|caddy|rude [FLAG...]: starts the service and waits until /debug/pprof/ answers. The flags are for rude.
rig_service() {
    local name=$1
    shift
    case $name in
    node_exporter | caddy)
        rig_fetch "$name" && rig_on_port "$name" "rig_${name}_at" 'rig_http_is_ok PORT /debug/pprof/'
        ;;
    rude) rig_fixture rude "$@" ;;
    *)
        rig_error "no such service: $name"
        return 1
        ;;
    esac
}

rig_node_exporter_at() { # NAME PORT
    rig_spawn "$1" "$rig_packages/usr/bin/prometheus-node-exporter" --web.listen-address="127.0.0.1:$2"
}

# caddy serves pprof on its administration port, only to requests whose Host is that address.
rig_caddy_at() { # NAME PORT
    mkdir -p "$RIG_DIR/$1"
    printf '{\n    admin localhost:%s\n    auto_https off\n}\n' "$2" >"$RIG_DIR/$1/Caddyfile"
    rig_spawn "$1" env HOME="$RIG_DIR/$1" XDG_CONFIG_HOME="$RIG_DIR/$1" XDG_DATA_HOME="$RIG_DIR/$1" \
        "$rig_packages/usr/bin/caddy" run --config "$RIG_DIR/$1/Caddyfile" --adapter caddyfile
}

# rig_fixture NAME [FLAG...]: starts a process of the fixture. The ports of its further listeners become RIG_PORT_NAME_<listener>.
rig_fixture() {
    local name=$1 log=$RIG_DIR/$1/log line
    shift
    "$rig_root/tools/build-fixture" || return 1
    rig_spawn "$name" "$rig_fixture" "$@"
    rig_wait "$name" 20 grep -q '^listening ' "$log" || {
        rig_error "$name did not start"
        tail -n 20 "$log" >&2
        rig_end "$name"
        return 1
    }
    while read -r line; do
        case $line in
        'listening '*) export "RIG_PORT_$name=${line##*:}" ;;
        *=*) export "RIG_PORT_${name}_$line" ;;
        esac
    done <"$log"
}

# rig_stop: ends all processes of the rig and removes its directory. For an EXIT trap: keeps the exit status.
rig_stop() {
    local status=$? pid
    [[ ${RIG_DIR-} == */profgrab-rig.* && -d $RIG_DIR ]] || return "$status"
    for pid in "$RIG_DIR"/pids/*; do
        [[ ! -e $pid ]] || rig_end "${pid##*/}" || status=1
    done
    rm -rf "$RIG_DIR"
    unset RIG_DIR
    return "$status"
}
