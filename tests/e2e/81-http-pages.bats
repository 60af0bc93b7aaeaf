#!/usr/bin/env bats
# Pages over HTTP (view --http): the token and its cookie, other sites and hosts, the browser, addresses, the end.

load helper

setup_file() {
    e2e_setup_file
    curl -s "http://127.0.0.1:$RIG_PORT_caddy/debug/pprof/heap" -o "$RIG_DIR/heap.pb.gz"
}

teardown() {
    rig_end view
    rm -rf "$RIG_DIR/view"
    e2e_teardown
}

# serve OPTION...: starts view in the background, with the environment in the array `environment`. Sets $url to its address with the token, $page to it without.
serve() {
    rig_spawn view env "${environment[@]}" "$profgrab_program" view "$@" "$RIG_DIR/heap.pb.gz"
    wait_for grep -q '^http://' "$RIG_DIR/view/log"
    url=$(sed -n '/^http:/p' "$RIG_DIR/view/log")
    page=${url%%\?*}
}

# status CURL-ARGUMENT...: prints the status of an answer.
status() {
    curl -s -o body -w '%{http_code}' "$@"
}

@test "view --http shows the page to a visitor with the token, and afterwards with its cookie" {
    serve --http --no-browser
    [[ $url =~ ^http://localhost:[0-9]+/\?token=[0-9a-f]{48}$ ]]
    assert_equal "$(status "$page")" 403
    grep -q '<form method="post">' body
    assert_equal "$(status "$page?token=wrong")" 403
    assert_equal "$(status -c jar "$url")" 200
    grep -q 'http-equiv="refresh" content="0; url=/"' body
    grep -q '#HttpOnly_localhost' jar
    assert_equal "$(status -b jar "$page")" 200
    grep -q '^<title>' body && tail -n 1 body | grep -qx '</html>'
    mv body whole
    assert_equal "$(status -b jar --compressed "$page")" 200
    cmp body whole
    assert_equal "$(status -d token="${url##*=}" "$page")" 303
    assert_equal "$(status -H "Authorization: Bearer ${url##*=}" "$page")" 200
}

@test "view --http answers only for its own names, and not to pages of other sites" {
    serve --http=:0 --no-browser
    local port=${page##*:} bearer="Authorization: Bearer ${url##*=}"
    port=${port%/}
    assert_equal "$(status -H "$bearer" "http://127.0.0.1:$port/")" 200
    assert_equal "$(status -H "$bearer" -H 'Host: localhost:9000' "$page")" 200
    assert_equal "$(status -H "$bearer" -H 'Host: evil.example' "$page")" 421
    assert_equal "$(status -H "$bearer" -H 'Host: 10.0.0.1' "$page")" 421
    assert_equal "$(status -H "$bearer" -H 'Origin: http://evil.example' "$page")" 403
    assert_equal "$(status -H "$bearer" -X POST "$page")" 405
    assert_equal "$(status -H "$bearer" "${page}other")" 404
    assert_equal "$(curl -sI -H "$bearer" "$page" | grep -c "^Content-Security-Policy: default-src 'none'; script-src 'sha256-")" 1
}

@test "the browser gets the address in a file that only the user can read, and no command line has the token" {
    cat >browser <<'SH'
#!/bin/sh
[ "$1" = --new-window ] && shift
stat -c %a "$1" >mode && cp "$1" launcher.html && ps -eo args >processes && : >"seen.$#"
SH
    chmod +x browser
    export BROWSER="$PWD/browser --new-window"
    serve --http
    wait_for test -e seen.1
    assert_equal "$(cat mode)" 600
    grep -qF "content=\"0; url=$url\"" launcher.html
    grep -q profgrab-open- processes
    run ! grep -qF "${url##*=}" processes
    rig_end_politely
    assert_equal "$(ls "$XDG_RUNTIME_DIR")" ''
}

# Ends the server with SIGTERM, and waits for its end.
rig_end_politely() {
    local pid
    read -r pid _ <"$RIG_DIR/pids/view"
    kill -TERM "$pid"
    wait_for gone
}
gone() { ! rig_alive view; }

@test "without a browser view --http still serves, and says how to go on" {
    environment=("BROWSER=$PWD/missing" DISPLAY= "PATH=$PWD")
    serve --http
    assert_equal "$(status "$url")" 200
    grep -q "profgrab: no browser could be started: cannot start $PWD/missing" "$RIG_DIR/view/log"
    grep -q 'hint: set \$BROWSER to a browser, or open the address yourself' "$RIG_DIR/view/log"
}

@test "view --http warns if other machines can connect, and by default they cannot" {
    serve --http --no-browser
    local port=${page##*:}
    # The addresses of its listeners.
    run awk '{ print $4 }' < <(ss -Htln "sport = :${port%/}")
    [[ -n $output ]]
    run ! grep -vE '^(127\.0\.0\.1|\[::1\]):' <<<"$output"
    rig_end view
    rm -r "$RIG_DIR/view"
    serve --http=0.0.0.0:0 --no-browser
    grep -q 'warning: other machines can connect to 0.0.0.0' "$RIG_DIR/view/log"
    port=${page##*:}
    assert_equal "$(status "http://127.0.0.1:${port%/}/?token=${url##*=}")" 200
    assert_equal "$(status -H 'Host: evil.example' "http://127.0.0.1:${port%/}/?token=${url##*=}")" 421
}

@test "view --http reports an address that it cannot use" {
    serve --http --no-browser
    local port=${page##*:}
    run_profgrab view --http="localhost:${port%/}" --no-browser "$RIG_DIR/heap.pb.gz"
    assert_status 1
    assert_stderr_has "profgrab: localhost:${port%/} is in use by another program"
    assert_stderr_has 'hint: choose another port'
    # It reports the address before it reads the file.
    run_profgrab view --http="localhost:${port%/}" --no-browser missing.pb.gz
    assert_status 1
    assert_stderr_has 'is in use by another program'
    run_profgrab view --http=192.0.2.1:0 --no-browser "$RIG_DIR/heap.pb.gz"
    assert_status 1
    assert_stderr_has '192.0.2.1 is not an address of this machine'
    run_profgrab view --http localhost:8080 "$RIG_DIR/heap.pb.gz"
    assert_status 2
    assert_stderr_has 'hint: if it is the address, write --http=localhost:8080'
    local address
    for address in 8080 :99999 a:b '[::1' ::1:80; do
        run_profgrab view --http="$address" --no-browser "$RIG_DIR/heap.pb.gz"
        assert_status 2
        assert_stderr_has "the address \"$address\" has "
        assert_stderr_has 'hint: for example localhost:8080'
    done
}

@test "a signal ends view --http without an error, also while a client reads the page slowly" {
    serve --http --no-browser
    curl -s -H "Authorization: Bearer ${url##*=}" --limit-rate 1k -o slow "$page" &
    local reader=$!
    wait_for test -s slow
    rig_end_politely
    kill "$reader"
    assert_equal "$(cat "$RIG_DIR/view/log")" "$url"
    run --separate-stderr bash -c '"$1" view --http --no-browser "$2" >out & until [ -s out ]; do sleep 0.05; done; kill -TERM $!; wait $!' \
        - "$profgrab_program" "$RIG_DIR/heap.pb.gz"
    assert_status 143
    assert_equal "$stderr" ''
}
