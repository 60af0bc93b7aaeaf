#!/usr/bin/env bats
# A browser that uses a forward. Part of make check-long because of the size of Debian's chromium-headless-shell.
load ../e2e/helper

teardown() {
    [[ -z ${pid-} ]] || kill -KILL "$pid" 2>/dev/null || :
    e2e_teardown
}

# Prints the document of a page after its scripts ran. The browser's own sandbox needs more privileges than a container has.
dom() { timeout 60 chromium-headless-shell --no-sandbox --disable-gpu --user-data-dir="$PWD/browser" --dump-dom "$1" 2>browser.log; }

@test "a browser shows the index page and follows its links, over several connections at once" {
    command -v chromium-headless-shell >/dev/null || skip 'there is no chromium-headless-shell'
    local i url
    "$profgrab_program" forward -v --ssh-config "$SSH_CONFIG" --host file-03 --port "$RIG_PORT_rude" --listen 0 >out 2>log 3>&- 4>&- &
    pid=$!
    for ((i = 0; i < 500; i++)); do [[ ! -s out ]] || break; sleep 0.02; done
    url=$(cat out)
    dom "$url" >index.html || fail "$(tail -n 5 browser.log)"
    grep -q '<a href="goroutine?debug=1">goroutine</a>' index.html || fail "$(cat index.html)"
    dom "${url}goroutine?debug=1" >goroutines.html
    grep -q 'goroutine profile: total' goroutines.html || fail "$(cat goroutines.html)"
    # A page that loads three profiles at a time.
    printf '<iframe src="%sheap?debug=1"></iframe><iframe src="%sallocs?debug=1"></iframe><iframe src="%scmdline"></iframe>' \
        "$url" "$url" "$url" >page.html
    dom "file://$PWD/page.html" >/dev/null
    (($(grep -c ' ended after ' log) >= 3)) || fail "$(cat log)"
    ! grep -q 'failed' log || fail "$(cat log)"
}
