#!/usr/bin/env bats
# profgrab's message for every kind of answer of a service. These tests make docs/captures.md: a test's name is the heading and
# the first column of a row. `make captures` renews the table.

load helper

setup_file() {
    e2e_setup_file
    rig_fixture contended -contention -goroutines 100000
}

# row EXIT WHERE WORD...: runs a grab of the kinds among the words (options follow them) and writes the row. WHERE is a prefix
# of the fixture, or LISTENER:PREFIX for a listener other than the first (unix is its Unix socket). Variables:
#   BASE      the path of pprof below the prefix, by default /debug/pprof
#   SERVICE   more keys of the service, in YAML's flow form
#   VIA       ssh: over SSH instead of directly
#   WITH      a command that runs the program
#   PATIENCE  the value of --timeout, if a busy machine may take longer than 2 s
row() {
    local code=$1 where=$2 listener=rude prefix name
    shift 2
    prefix=${where##*:}
    [[ $where != *:* ]] || listener=${where%%:*}
    inventory "RIG_PORT_$listener" "$prefix"
    # shellcheck disable=SC2086 # WITH has arguments
    run --separate-stderr timeout --foreground 60 ${WITH-} "$profgrab_program" --ssh-config "$SSH_CONFIG" \
        -i "$BATS_TEST_TMPDIR/captures.yaml" --host "$([[ ${VIA-} == ssh ]] && echo file-01 || echo host)" --timeout "${PATIENCE:-2s}" "$@"
    printf '%s\n' "$stderr" >"$BATS_TEST_TMPDIR/stderr"
    assert_printable "$stderr"
    mkdir -p "$BATS_FILE_TMPDIR/rows"
    name=$BATS_FILE_TMPDIR/rows/$(printf %03d "$BATS_TEST_NUMBER")
    "$rig_root/tests/captures" row --behaviour "$BATS_TEST_DESCRIPTION" --asked "$*" --exit "$status" \
        --stderr "$BATS_TEST_TMPDIR/stderr" --secret "$SECRET" "$PWD" >"$name"
    assert_status "$code"
    [[ -z $output ]] || "$profgrab_program" bundle verify "$output" >/dev/null
}

inventory() { # PORT-VARIABLE PREFIX
    local at="port: ${!1-}"
    [[ $1 != RIG_PORT_unix ]] || at="unix: $RIG_DIR/rude.sock"
    cat >"$BATS_TEST_TMPDIR/captures.yaml" <<EOF_INVENTORY
version: 1
services:
  app: { $at, path: "${2:+/$2}${BASE-/debug/pprof}"${SERVICE:+, $SERVICE} }
hosts:
  host: { connect: direct, address: 127.0.0.1, services: [app] }
  file-01: { services: [app] }
EOF_INVENTORY
    chmod 600 "$BATS_TEST_TMPDIR/captures.yaml"
}

# ---- success ----------------------------------------------------------------------------------------------------------

@test "success: a snapshot" { row 0 custom heap; }
@test "success: a CPU profile and a trace" { row 0 custom cpu=1s trace=1s; }
@test "success: a delta" { row 0 custom allocs mutex=1s; }
@test "success: over SSH" { VIA=ssh row 0 custom heap goroutines; }
@test "success: over a Unix socket" { row 0 unix: heap; }
@test "success: below another path" { BASE=/api/internal/pprof row 0 '' heap; }
@test "success: mutex and block profiling are on" { row 0 contended: mutex block; }
@test "success: mutex and block profiling are off, as they are by default" { row 0 custom mutex block; }
@test "success: 100,000 goroutines" { PATIENCE=20s row 0 contended: goroutines; }
@test "success: the connection is closed after each answer" { row 0 close heap allocs; }
@test "success: slow, but steady" { row 0 drip=1 heap; }
@test "success: the first byte comes late" { row 0 late=1 heap; }
@test "success: a profile without samples" { row 0 nosamples heap; }

# ---- connections ------------------------------------------------------------------------------------------------------

@test "connection: nothing listens on the port" {
    RIG_PORT_closed=$(rig_free_port)
    export RIG_PORT_closed
    row 1 closed: heap
}
@test "connection: nothing listens on the port, over SSH" {
    RIG_PORT_closed=$(rig_free_port)
    export RIG_PORT_closed
    VIA=ssh row 1 closed: heap
}
@test "connection: the listener sends random bytes" { row 1 rude_garbage: heap; }
@test "connection: the listener is silent" { row 1 rude_silent: heap; }
@test "connection: the listener speaks another text protocol" { row 1 rude_nobanner: heap; }

# ---- the index page ---------------------------------------------------------------------------------------------------

@test "the index page: no index page" { row 0 noindex heap goroutines; }
@test "the index page: the page of another program" { row 0 otherindex heap; }
@test "the index page: a login page for every path" { row 1 login heap; }
@test "the index page: profiles whose names contain paths, escapes or other hosts" { row 3 evilindex all cpu=1s; }
@test "the index page: the path is wrong" { BASE=/debug/prof row 1 '' heap; }
@test "the index page: no answer" { row 1 silent heap; }
@test "the index page: a misspelt kind" { row 2 custom heep; }
@test "the index page: an unknown kind" { row 2 custom gadgets; }
@test "the index page: a kind that is not listed" { row 3 custom fgprof heap; }

# ---- other answers ----------------------------------------------------------------------------------------------------

@test "other answers: an unknown profile" { row 1 notfound heap; }
@test "other answers: one unknown profile of two" { row 3 missing=allocs heap allocs; }
@test "other answers: 401, basic authentication required" { row 1 auth heap; }
@test "other answers: 401, bearer token required" { row 1 auth=bearer heap; }
@test "other answers: 403" { row 1 forbidden heap; }
@test "other answers: HTML with 200" { row 1 html heap; }
@test "other answers: a missing path, one page that answers every path" { row 1 login /login/nosuch; }
@test "other answers: an error in JSON with 200" { row 1 json heap; }
@test "other answers: an error in JSON with 500" { row 1 json=500 heap; }
@test "other answers: an empty body with 200" { row 1 empty heap; }
@test "other answers: a wrong Host header" { row 1 host=pprof.internal heap; }
@test "other answers: the right Host header" { SERVICE='host_header: pprof.internal' row 0 host=pprof.internal heap; }

@test "redirects: to another host" { row 1 redirect heap; }
@test "redirects: to this host, another path" { row 0 redirect=path heap; }
@test "redirects: to this host by name" { row 0 redirect=url heap; }
@test "redirects: to the same path with a slash at the end" { row 0 redirect=slash heap; }
@test "redirects: to itself, in a loop" { row 1 redirect=loop heap; }
@test "redirects: to HTTPS" { row 1 redirect=https heap; }
@test "redirects: to a URL with a password in it" { row 1 redirect=user heap; }

# ---- TLS --------------------------------------------------------------------------------------------------------------

# tls KEYS ROW...: a row with `scheme: https` and these keys below tls; DIR stands for the directory of the certificates.
tls() {
    local keys=${1//DIR/$RIG_DIR/tls}
    shift
    SERVICE="scheme: https${keys:+, tls: { $keys \}}${SERVICE:+, $SERVICE}" row "$@"
}

@test "TLS: a certificate of the inventory's CA" { tls 'ca: DIR/ca.pem' 0 rude_https: heap; }
@test "TLS: the same over SSH" { VIA=ssh tls 'ca: DIR/ca.pem' 0 rude_https: heap; }
@test "TLS: a certificate of an unknown CA" { tls '' 1 rude_https: heap; }
@test "TLS: a certificate of another CA than the inventory's" { tls 'ca: DIR/other-ca.pem' 1 rude_https: heap; }
@test "TLS: a certificate for another name" { SERVICE='host: 127.0.0.1' tls 'ca: DIR/ca.pem' 1 rude_https: heap; }
@test "TLS: a certificate for the inventory's server_name" {
    SERVICE='host: 127.0.0.1' tls 'ca: DIR/ca.pem, server_name: pprof.internal' 0 rude_https: heap
}
@test "TLS: an expired certificate" { tls 'ca: DIR/ca.pem' 1 rude_httpsexpired: heap; }
@test "TLS: a self-signed certificate" { tls 'ca: DIR/ca.pem' 1 rude_httpsself: heap; }
@test "TLS: a self-signed certificate with insecure" { tls 'insecure: true' 0 rude_httpsself: heap; }
@test "TLS: a client certificate is required" { tls 'ca: DIR/ca.pem' 1 rude_httpsclient: heap; }
@test "TLS: the right client certificate" {
    tls 'ca: DIR/ca.pem, cert: DIR/client.pem, key: DIR/client.key' 0 rude_httpsclient: heap
}
@test "TLS: a client certificate of another CA" {
    tls 'ca: DIR/ca.pem, cert: DIR/other-client.pem, key: DIR/other-client.key' 1 rude_httpsclient: heap
}
@test "TLS: the service speaks plain HTTP" { tls '' 1 custom heap; }
@test "TLS: the service speaks TLS, but the inventory says HTTP" { row 1 rude_https: heap; }

# ---- authentication -----------------------------------------------------------------------------------------------

# secret KEY ROW...: a row with a secret from the fixture's file, or with a wrong one if KEY ends in !.
secret() {
    local file=$RIG_DIR/secret key=${1%!}
    if [[ $1 == *! ]]; then
        file=$BATS_TEST_TMPDIR/wrong
        (umask 077 && echo wrong >"$file")
    fi
    shift
    [[ $key != password_file ]] || key="user: ann, $key"
    SERVICE="auth: { $key: $file }" row "$@"
}

@test "secrets: the right password" { secret password_file 0 basic heap; }
@test "secrets: a wrong password" { secret password_file! 1 basic heap; }
@test "secrets: no password" { row 1 basic heap; }
@test "secrets: the variable with the token is not set" {
    SERVICE='auth: { bearer_env: NO_SUCH_TOKEN }' row 2 bearer heap
}
@test "secrets: the right token" { secret bearer_file 0 bearer heap; }
@test "secrets: a wrong token" { secret bearer_file! 1 bearer heap; }
@test "secrets: an error repeats the token" { secret bearer_file 1 echo heap; }
@test "secrets: a page with the token in its title" { secret bearer_file 1 title heap; }
@test "secrets: a 401 repeats the password" { secret password_file 1 echo=401 heap; }
@test "secrets: a redirect to another host, with a token" { secret bearer_file 1 redirect heap; }

# ---- profilers in use -----------------------------------------------------------------------------------------------

@test "profiler in use: an unknown client has the CPU profiler" { row 3 busy cpu=1s heap; }
@test "profiler in use: an unknown client has the tracer" { row 1 busy trace=1s; }
@test "profiler in use: an agent in the program has the CPU profiler" { row 1 agent cpu=1s; }
@test "profiler in use: the program itself uses the CPU profiler for a second" { row 0 held=1 cpu=4s; }
@test "profiler in use: another client uses the CPU profiler for a second" { row 0 rival=1 cpu=4s; }

# ---- time limits ----------------------------------------------------------------------------------------------------

@test "time limits: a profile longer than the server's WriteTimeout, up to Go 1.22" { row 3 rude_writetimeout: cpu=2s heap; }
@test "time limits: the same for a trace and a delta" { row 1 rude_writetimeout: trace=2s mutex=2s; }
@test "time limits: a CPU profile longer than WriteTimeout, Go 1.23 or later, behind a middleware" { row 3 wrapped cpu=1s heap; }
@test "time limits: a delta longer than WriteTimeout, Go 1.23 or later, behind a middleware" { row 1 wrapped mutex=1s; }
@test "time limits: a trace longer than WriteTimeout, Go 1.23 or later, behind a middleware" { row 1 wrapped trace=1s; }
@test "time limits: a profile that takes longer than --timeout" { row 0 custom cpu=4s; }
@test "time limits: the first byte never comes" { row 1 late heap; }
@test "time limits: the body stops in the middle" { row 1 stall heap; }
@test "time limits: a byte every tenth of a second, for ever" { row 1 trickle=0.1 heap; }

# ---- bodies ---------------------------------------------------------------------------------------------------------

@test "damaged bodies: cut, and the connection closed" { row 1 short heap; }
@test "damaged bodies: without a length, and the connection broken" { row 1 reset goroutines=text; }
@test "damaged bodies: cut inside chunks" { row 1 abort heap; }
@test "damaged bodies: cut, with a matching length" { row 1 cutgzip heap; }
@test "damaged bodies: cut, with a proper end of the chunks" { row 1 cutgzipchunked heap; }
@test "damaged bodies: a trace cut in half, with the right length" { row 1 cuttrace trace=1s; }
@test "damaged bodies: no answer at all" { row 1 hangup heap; }
@test "damaged bodies: a body longer than its Content-Length, of which only that length is read" { row 1 overlong heap; }
@test "damaged bodies: one wrong bit" { row 1 badcrc heap; }
@test "damaged bodies: random bytes" { row 1 notgzip heap; }
@test "damaged bodies: gzip without a profile" { row 1 badproto heap; }
@test "damaged bodies: goroutines cut by the server at 64 MiB" { row 1 cuttext goroutines=text; }

# ---- large bodies ---------------------------------------------------------------------------------------------------

@test "large bodies: 100 kB that inflate a thousandfold" { row 0 bomb=100 heap; }
@test "large bodies: a profile that never ends" { row 1 endless heap --max-bytes 20MB; }
@test "large bodies: an endless answer to symbol: the limit of that kind applies" { row 1 endless symbol; }
@test "large bodies: a text that never ends" { row 1 endless goroutines=text --max-bytes 20MB; }
@test "large bodies: the file reaches the process's limit (ulimit -f)" {
    ulimit -f 4000
    trap '' XFSZ
    row 1 big=10 heap
}

# ---- invalid or oversized HTTP ----------------------------------------------------------------------------------------

@test "invalid or oversized HTTP: a chunk without a size" { row 1 badchunk heap; }
@test "invalid or oversized HTTP: two lengths, the second is right" { row 0 twolengths heap; }
@test "invalid or oversized HTTP: a header of 90 kB" { row 0 hugeheader=90 heap; }
@test "invalid or oversized HTTP: a header of 300 kB" { row 1 hugeheader heap; }
@test "invalid or oversized HTTP: 5,000 headers" { row 0 manyheaders heap; }
@test "hostile text: in the body of an error" { row 1 escape heap; }
@test "hostile text: in the status line" { row 1 evilstatus heap; }
@test "hostile text: in the content type" { row 0 eviltype heap; }
@test "hostile text: in a redirect" { row 1 redirect=escape heap; }
@test "hostile text: in other headers" { row 0 evilserver heap; }

# ---- changes during the run ------------------------------------------------------------------------------------------

@test "during the run: another build of the program takes over between two profiles" {
    sed 's/rude-fixture-build-1/rude-fixture-build-2/g' "$rig_fixture" >"$BATS_TEST_TMPDIR/next"
    chmod +x "$BATS_TEST_TMPDIR/next"
    rig_fixture mortal -next "$BATS_TEST_TMPDIR/next"
    row 0 mortal:restart=1 heap allocs
    rig_end mortal
}
@test "during the run: Ctrl-C while a profile is taken" {
    WITH="$rig_root/tests/rig/interrupt_when.py taking" row 130 custom heap cpu=30s
}

@test "the table in docs/captures.md matches these results" {
    "$rig_root/tests/captures" table ${CAPTURES:+--renew} "$BATS_FILE_TMPDIR/rows" "$rig_root/docs/captures.md"
}
