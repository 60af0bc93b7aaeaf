#!/usr/bin/env bats
# Bad input: each message names the error, its place and the next step; nothing collected is lost.

load helper

# assert_refused STATUS TEXT...: the last run ended with STATUS, printed each TEXT on stderr, and left no files.
assert_refused() {
    assert_status "$1"
    local text
    for text in "${@:2}"; do assert_stderr_has "$text"; done
    assert_equal "$output" ''
    assert_equal "$(find . -name 'profgrab-*')" ''
    assert_printable "$stderr"
}

# ---- arguments --------------------------------------------------------------------------------------------------

@test "an unknown host lists the nearest names" {
    write_inventory
    run_profgrab --host file-30 heap
    assert_refused 2 'unknown host "file-30"' 'hint: ' 'file-03'
}

@test "an unknown group or service lists the nearest names" {
    write_inventory
    run_profgrab --group storge heap
    assert_refused 2 'storge' 'storage'
    run_profgrab --host file-03 --service cady heap
    assert_refused 2 'cady' 'caddy'
}

@test "a word close to a kind or a command suggests that one, and nothing is opened" {
    write_inventory
    run_profgrab --host file-04 heep
    assert_refused 2 'unknown kind "heep"; nothing was opened' 'did you mean "heap"'
    run_profgrab --host file-04 heap heep
    assert_refused 2 'unknown kind "heep"; nothing was opened' 'did you mean "heap"' '/debug/pprof/heep'
    refute_stderr_has 'connected to'
    run_profgrab --host file-04 cpuu=5s
    assert_refused 2 'unknown kind "cpuu=5s"; nothing was opened' 'did you mean "cpu"'
    run_profgrab grabb --host file-04
    assert_refused 2 '"grabb" is neither a command nor a kind' 'did you mean `profgrab grab`?'
    refute_stderr_has 'connected to'
    run_profgrab --host file-04 cpu 2s
    assert_refused 2 'unknown kind "2s"; nothing was opened' 'a duration follows the kind after an equals sign: cpu=2s'
    # Words that belong to other commands, without a host.
    run_profgrab verify x.tar.gz
    assert_refused 2 'no host given' 'did you mean `profgrab bundle verify`?'
    run_profgrab file-04 heap
    assert_refused 2 'no host given' 'if file-04 is a host: profgrab --host file-04 heap'
    run_profgrab help heap
    assert_refused 2 'unknown command "heap"' 'it is a kind: `profgrab help kinds` lists them'
    # An unknown host does not hide a misspelt kind.
    run_profgrab --host file-30 heap heep
    assert_refused 2 'unknown host "file-30"' 'file-03' 'also unknown kind "heep"; nothing was opened: did you mean "heap"'
    # A service's own kinds are known words.
    sed -i 's/^  rude: {/  rude: { kinds: [widgets, heeep],/' "$INVENTORY"
    run_profgrab --host file-04 widgetz
    assert_refused 2 'unknown kind "widgetz"; nothing was opened' 'did you mean "widgets"'
    run_profgrab --host file-04 heeep
    assert_refused 2 'file-04: rude: unknown kind "heeep"; nothing was fetched'
}

@test "a kind missing from the index is reported once for each service, with exit 2 before the first fetch" {
    write_inventory
    run_profgrab --host file-04 heap gadgets
    assert_refused 2 'file-04: rude: unknown kind "gadgets"; nothing was fetched' 'the target offers' 'widgets'
    refute_stderr_has 'heap: '[0-9]
    run_profgrab --host file-03,file-04 gadgets
    assert_status 2
    assert_equal "$(grep -c 'unknown kind "gadgets"' <<<"$stderr")" 3
    assert_equal "$(grep -c 'nothing was fetched: see above' <<<"$stderr")" 3
    run_profgrab --json --host file-04 gadgets
    [[ $output == *'unknown kind \"gadgets\"'* && $output != *'see above'* ]] || fail_run 'the JSON has no reason'
}

@test "a kind that the index does not list is reported before any request for it" {
    write_inventory
    run_profgrab --host file-04 fgprof
    assert_refused 1 'this program has no fgprof' 'nothing was collected, so there is no bundle'
    run_profgrab -v --host file-04 heap fgprof goroutineleak
    assert_status 3
    assert_stderr_has 'file-04: rude: fgprof: this program has no fgprof: its index page does not list it'
    assert_stderr_has 'hint: if the program serves it unlisted, request the path: /debug/fgprof?seconds=30'
    assert_stderr_has 'this program has no goroutineleak'
    refute_stderr_has taking
    refute_stderr_has 'GET /debug/fgprof'
    refute_stderr_has 'GET /debug/pprof/goroutineleak'
    # resume would fail again.
    refute_stderr_has 'profgrab resume'
    [[ $stderr == *'this program has no fgprof'*'heap: '* ]] || fail_run 'the missing kind is not reported first'
    # Once for each service, and not again in the table of failures.
    run_profgrab --host file-03,file-04 heap fgprof
    assert_status 3
    assert_equal "$(grep -c 'this program has no fgprof' <<<"$stderr")" 3
    assert_equal "$(grep -c 'fgprof: the service does not have it' <<<"$stderr")" 3
    run_profgrab --dry-run --host file-04 heap fgprof
    assert_status 3
    assert_stdout_has 'fgprof not there'
    assert_stdout_has '1 item cannot be fetched: the index page of the service lists no such profile'
}

@test "a page in answer to a request for a profile or a raw path is stored as damaged" {
    write_inventory html login
    run_profgrab --host file-05 --service html heap
    assert_status 1
    assert_stderr_has 'this is an HTML page titled "Sign in", not a profile'
    run_profgrab --host file-05 --service login /login/nosuch
    assert_status 1
    assert_stderr_has '/login/nosuch: this is an HTML page titled "Sign in", not what was asked for'
    assert_stderr_has 'hint: is the path right?'
    assert_stderr_has 'no item is intact: 1 damaged, see above'
    refute_stderr_has collected
    refute_stderr_has 'profgrab resume'
    "$profgrab_program" bundle list "$output" | grep -q 'login-nosuch.html.damaged$' || fail_run 'not kept as damaged'
    # A page is valid for a raw path that serves pages.
    run_profgrab --host file-04 /debug/pprof/
    assert_status 0
}

@test "bad arguments of kinds are refused: fractions, empty, unknown, too long" {
    write_inventory
    run_profgrab --host file-04 cpu=0.5s
    assert_refused 2 'cpu: whole seconds only, "0.5s" has a fraction'
    run_profgrab --host file-04 cpu=0
    assert_refused 2 'cpu: the duration is zero'
    run_profgrab --host file-04 cpu=soon
    assert_refused 2 'kind "cpu" does not take "soon"' 'hint: it takes a duration such as 30s'
    run_profgrab --host file-04 allocs=gc
    assert_refused 2 'kind "allocs" does not take "gc"' 'hint: write just allocs'
    run_profgrab --host file-04 cpu=6m
    assert_refused 2 'a profile of 6m is longer than 5 minutes' 'hint: add --yes'
}

@test "bad options are refused: unknown, without a value, out of range" {
    run_profgrab --hots file-03 heap
    assert_refused 2 'unknown option "--hots"' 'did you mean --host?'
    run_profgrab --host
    assert_refused 2 '--host needs a value: NAME[,...]'
    run_profgrab --host x --port 70000 heap
    assert_refused 2 '--port needs a number from 1 to 65535, not "70000"'
    run_profgrab --host x --timeout 0 heap
    assert_refused 2 '--timeout must be more than 0'
    run_profgrab --host a,,b heap
    assert_refused 2 'empty entry in the list'
}

@test "a missing host and a misspelt command are reported" {
    run --separate-stderr "$profgrab_program" heap
    assert_refused 2 'no host given' 'hint: '
    run --separate-stderr "$profgrab_program" hosst
    assert_refused 2 'no host given' 'did you mean `profgrab hosts`'
    run --separate-stderr "$profgrab_program" cpuu
    assert_refused 2 'no host given' 'did you mean the kind "cpu"?'
    echo x >t.out
    run --separate-stderr "$profgrab_program" trace t.out
    assert_refused 2 'no host given' 'trace is a kind, which is fetched from a host' 'profgrab view t.out' 'go tool trace'
    run --separate-stderr "$profgrab_program"
    assert_status 2
    assert_stdout_has 'usage: profgrab --host NAME'
    run --separate-stderr "$profgrab_program" bundle lst x
    assert_refused 2 'unknown verb "lst"' 'did you mean "list"'
}

@test "a file in place of a host suggests the command that reads the file" {
    local command
    echo x >'x y.tar.gz'
    for command in '' grab top; do
        # shellcheck disable=SC2086 # none or one word
        run --separate-stderr "$profgrab_program" $command 'x y.tar.gz'
        assert_refused 2 'no host given' "hint: to look at a file: profgrab view 'x y.tar.gz'"
    done
    for command in check forward; do
        run --separate-stderr "$profgrab_program" "$command" 'x y.tar.gz'
        assert_refused 2 "$command takes no kind" "hint: to look at a file: profgrab view 'x y.tar.gz'"
        run --separate-stderr "$profgrab_program" "$command" missing.tar.gz
        assert_refused 2 "$command takes no kind"
        refute_stderr_has 'profgrab view'
    done
    run --separate-stderr "$profgrab_program" missing.tar.gz
    assert_refused 2 'no host given'
    refute_stderr_has 'profgrab view'
}

@test "a command behind options is refused with a hint to put it first" {
    write_inventory
    run --separate-stderr "$profgrab_program" --ssh-config "$SSH_CONFIG" check --host file-04
    assert_refused 2 '"check" is a command, and a command comes before its options' 'hint: profgrab check [options]; `profgrab help check`'
    run --separate-stderr "$profgrab_program" --verbose hosts
    assert_refused 2 '"hosts" is a command, and a command comes before its options'
    run --separate-stderr "$profgrab_program" --host file-04 grab heap
    assert_refused 2 '"grab" is a command, and a command comes before its options'
}

# ---- inventory --------------------------------------------------------------------------------------------------

@test "a missing inventory is reported with how to make one" {
    run_profgrab --host file-03 heap
    assert_refused 2 'no inventory' 'hint: ' 'inventory.yaml' '--port'
    run_profgrab hosts
    assert_refused 2 'no inventory' 'hint: '
    # Wrong words are reported without an inventory too.
    run_profgrab grabb --host file-03
    assert_refused 2 '"grabb" is neither a command nor a kind' 'did you mean `profgrab grab`?'
    run_profgrab --host file-03 heap cpuu
    assert_refused 2 'unknown kind "cpuu"; nothing was opened' 'did you mean "cpu"?'
}

# inventory LINE...: writes the lines to inv.yaml
inventory() {
    printf '%b\n' "$@" >inv.yaml
}

@test "unknown and duplicate keys, a tab, and a service without port are reported with file:line:column" {
    inventory 'version: 1' 'services:' '  a: { prot: 80 }'
    run_profgrab -i inv.yaml --host x heap
    assert_refused 2 'inv.yaml:3:8: ' 'prot' 'port'
    inventory 'version: 1' 'services:' '  a: { port: 80 }' '  a: { port: 81 }'
    run_profgrab -i inv.yaml --host x heap
    assert_refused 2 'inv.yaml:4:3: ' '"a"'
    inventory 'version: 1' 'services:' '\ta: { port: 80 }'
    run_profgrab -i inv.yaml --host x heap
    assert_refused 2 'inv.yaml:3:1: ' 'hint: ' 'spaces'
    inventory 'version: 1' 'services:' '  a: { host: localhost }'
    run_profgrab -i inv.yaml --host x heap
    assert_refused 2 'inv.yaml:3:' 'port'
}

@test "all errors of an inventory are reported in one run, in the order of the file" {
    inventory 'version: 1' 'hosts: { web: { services: [gitaly, nobody] } }' 'services:' '  gitaly: { prot: 80 }' '  web: { port: 0 }'
    run_profgrab -i inv.yaml --host x heap
    assert_refused 2 'inv.yaml has 3 mistakes'
    assert_equal "$(grep -o 'inv.yaml:[0-9]*:[0-9]*: .*' <<<"$stderr")" 'inv.yaml:2:36: unknown service "nobody"
inv.yaml:4:13: unknown key "prot"
inv.yaml:5:16: port must be a number from 1 to 65535'
    run_profgrab hosts -i inv.yaml
    assert_refused 2 'inv.yaml:4:13' 'hint: did you mean "port"?' 'inv.yaml has 3 mistakes'
}

@test "wrong indentation in an inventory is reported with the line and the expected lines" {
    inventory 'version: 1' 'hosts:' '  web:' '    services:' '     - a' '    - b'
    run_profgrab hosts -i inv.yaml
    assert_refused 2 'inv.yaml:6:5: this line does not line up with those above it: "- b"' 'hint: '
    refute_stderr_has 'did not find'
    inventory 'version: 1' 'services:' '  gitaly:' '  port: 9236' '  caddy:' '  port: 2019'
    run_profgrab hosts -i inv.yaml
    assert_refused 2 'inv.yaml:4:3: "port" is a setting, but is indented like the services'"'"' names' $'  NAME:\n          port: 6060'
    refute_stderr_has twice
    inventory 'version: 1' 'services:' '  - gitaly: { port: 9236 }'
    run_profgrab hosts -i inv.yaml
    assert_refused 2 'services must be a mapping of services, not a list' \
        $'hint: write names without "- ":\n      services:\n        gitaly:\n          port: 6060'
    inventory 'version: 1' 'services:' '  a: { port: 443, tls: true }'
    run_profgrab hosts -i inv.yaml
    assert_refused 2 'inv.yaml:3:24: tls must be a mapping of settings' '`scheme: https`'
    inventory 'version: 1' 'services:' '  a: { port: 80 }' '  a: { port: 81 }'
    run_profgrab hosts -i inv.yaml
    assert_refused 2 'inv.yaml:4:3: "a" is listed twice, first in line 3'
}

@test "an inventory of 100 kB of [ is refused" {
    head -c 100000 /dev/zero | tr '\0' '[' >inv.yaml
    run timeout 5 "$profgrab_program" hosts -i inv.yaml
    assert_status 2
    assert_stdout_has 'inv.yaml:1:'
}

@test "an inventory that others can write is refused" {
    write_inventory
    chmod 666 "$INVENTORY"
    run_profgrab --host file-03 heap
    assert_refused 2 'chmod go-w'
}

# ---- connections ------------------------------------------------------------------------------------------------

@test "a closed port on the workstation's side is reported" {
    local port
    port=$(rig_free_port)
    rig_alias closed-01 sshd "Port $port"
    run_profgrab --host closed-01 --port 1 heap
    assert_refused 1 "closed-01: 127.0.0.1 port $port" 'Connection refused'
}

@test "a closed port on the remote side is reported" {
    local port
    port=$(rig_free_port)
    run_profgrab --host file-03 --port "$port" heap
    assert_refused 1 "file-03: port-$port: the SSH server cannot connect to localhost port $port" 'hint: nothing listens there'
}

@test "forbidden forwarding is reported" {
    rig_sshd strict strict-01 'AllowTcpForwarding no'
    run_profgrab --host strict-01 --port "$RIG_PORT_rude" heap
    assert_refused 1 'does not allow forwarding' 'AllowTcpForwarding'
    rig_end strict
}

@test "an unknown host key is reported with the fingerprint and the next step" {
    : >known
    rig_alias stranger-01 sshd "UserKnownHostsFile $PWD/known"
    run_profgrab --host stranger-01 --port "$RIG_PORT_rude" heap
    assert_refused 1 'host key is not known' "$(ssh-keygen -lf "$RIG_DIR/sshd/host_key.pub" | cut -d' ' -f2)" "$PWD/known" 'hint: '
}

@test "a changed host key is reported with both fingerprints, file and line" {
    ssh-keygen -q -t ed25519 -N '' -f other
    { echo '# a comment'; printf '[127.0.0.1]:%s %s\n' "$RIG_PORT_sshd" "$(cut -d' ' -f1,2 other.pub)"; } >known
    rig_alias changed-01 sshd "UserKnownHostsFile $PWD/known"
    run_profgrab --host changed-01 --port "$RIG_PORT_rude" heap
    assert_refused 1 'HOST KEY HAS CHANGED' "$(ssh-keygen -lf "$RIG_DIR/sshd/host_key.pub" | cut -d' ' -f2)" \
        "$(ssh-keygen -lf other.pub | cut -d' ' -f2)" "$PWD/known:2"
}

@test "a wrong key is reported with the keys that were offered" {
    ssh-keygen -q -t ed25519 -N '' -f other
    rig_alias wrongkey-01 sshd "IdentityFile $PWD/other"
    # ssh takes the first value of each option but collects identity files: leave only this one.
    sed "/^Host wrongkey-01/,\$ { /IdentityFile \"/d }" "$SSH_CONFIG" >config
    run --separate-stderr "$profgrab_program" --ssh-config config --host wrongkey-01 --port "$RIG_PORT_rude" heap
    assert_refused 1 'permission denied' "key $PWD/other" 'hint: '
}

@test "a key with a passphrase and no way to ask is reported with the next step" {
    ssh-keygen -q -t ed25519 -N secret -f locked
    cat locked.pub >>"$RIG_DIR/sshd/authorized_keys"
    rig_alias locked-01 sshd "IdentityFile $PWD/locked"
    sed "/^Host locked-01/,\$ { /IdentityFile \"/d }" "$SSH_CONFIG" >config
    run --separate-stderr "$profgrab_program" --batch --ssh-config config --host locked-01 --port "$RIG_PORT_rude" heap
    assert_refused 1 'passphrase' 'ssh-add'
}

@test "a silent port and a port without SSH are reported" {
    rig_alias silent-01 sshd "Port $RIG_PORT_rude_silent"
    run_profgrab --timeout 1s --host silent-01 --port 1 heap
    assert_refused 1 "127.0.0.1 port $RIG_PORT_rude_silent" 'sends no data'
    rig_alias http-01 sshd "Port $RIG_PORT_rude"
    run_profgrab --timeout 5s --host http-01 --port 1 heap
    assert_refused 1 'the server is not an SSH server' 'HTTP/1.1 400'
}

# ---- services ---------------------------------------------------------------------------------------------------

@test "a remote service without HTTP and a silent one are reported" {
    run_profgrab --host file-03 --port "$RIG_PORT_rude_garbage" heap
    assert_refused 1 "port $RIG_PORT_rude_garbage" 'does not speak HTTP'
    write_inventory silent
    run_profgrab --timeout 1s --host file-05 heap
    assert_refused 1 'no answer' 'no data arrived for 1s' "profgrab check -F $SSH_CONFIG --host file-05 --service silent\` shows each step"
}

@test "a service without pprof is reported with its 404 message" {
    write_inventory notfound noindex
    run_profgrab --host file-05 --service notfound heap
    assert_refused 1 'file-05: notfound: heap: HTTP 404: Unknown profile'
    # Without an index page the known kinds are still tried, but not the costly ones.
    run_profgrab --host file-05 --service noindex heap goroutines
    assert_status 0
    assert_stderr_has 'no text dump of the goroutines was taken'
    run_profgrab --host file-05 --service noindex widgets
    assert_status 2
    assert_stderr_has 'unknown kind "widgets"'
}

@test "README.md of a bundle quotes a body that is not a profile only once" {
    mkdir -p www/debug/pprof
    echo 'hello world, this is no profile' >www/debug/pprof/heap
    local port
    port=$(rig_free_port)
    rig_spawn words python3 -m http.server --bind 127.0.0.1 --directory "$PWD/www" "$port"
    rig_wait words 20 rig_connects "$port"
    run_profgrab --host file-03 --port "$port" -o words.tar.gz heap
    rig_end words
    assert_status 1
    run_profgrab report --markdown words.tar.gz
    assert_stdout_has 'this is text, not a profile: hello world'
    assert_equal "$(grep -o 'hello world' <<<"$output" | wc -l)" 1
}

@test "answers that are not profiles are never stored as profiles" {
    write_inventory html empty busy escape redirect auth
    run_profgrab --host file-05 --service html heap
    assert_status 1
    assert_stderr_has 'HTML'
    ! "$profgrab_program" bundle list "$output" | grep 'heap.pb.gz$' || fail 'stored as a profile'
    run_profgrab --host file-05 --service empty heap
    assert_status 1
    run_profgrab --host file-05 --service busy cpu=1s
    assert_status 1
    assert_stderr_has 'HTTP 500: Could not enable CPU profiling: cpu profiling already in use'
    run_profgrab --host file-05 --service escape heap
    assert_status 1
    assert_printable "$stderr"
    run_profgrab --host file-05 --service redirect heap
    assert_status 1
    assert_stderr_has 'HTTP 302'
    run_profgrab --host file-05 --service auth heap
    assert_status 1
    assert_stderr_has 'HTTP 401'
    # An unreadable index may have listed the kind, so this is no usage error.
    run_profgrab --host file-05 --service auth widgets
    assert_status 1
    assert_stderr_has 'the index page cannot be read: HTTP 401'
}

@test "cut gzip, bad CRC and cut text are kept as damaged; exit code 1 alone, 3 beside a good item" {
    local name
    write_inventory cutgzip cutgzipchunked badcrc cuttext badproto notgzip short abort
    for name in cutgzip cutgzipchunked badcrc badproto notgzip short abort; do
        run_profgrab --host file-05 --service "$name" -o "$name.tar.gz" heap
        assert_status 1
        assert_stderr_has 'no item is intact: 1 damaged, see above'
        refute_stderr_has collected
        "$profgrab_program" bundle list "$name.tar.gz" | grep -q 'heap.pb.gz.damaged$' || fail_run "$name"
        "$profgrab_program" bundle verify "$name.tar.gz"
    done
    run_profgrab --host file-05 --service cuttext goroutines=text
    assert_status 1
    assert_stderr_has 'cut off'
    run_profgrab --host file-05 --service notgzip heap
    assert_stderr_has 'notgzip: heap: this is not a profile: at byte 0: '
    run_profgrab --host file-05 --service short,cutgzip heap
    assert_status 1
    run_profgrab --host file-04,file-05 --service rude,short heap
    assert_status 3
    assert_stderr_has 'not complete: 2 damaged, see above; 2 items collected'
}

@test "a stalled body ends at the timeout, and the received bytes are kept" {
    write_inventory stall
    run_profgrab --timeout 1s --host file-05 heap allocs=x
    assert_status 2
    run_profgrab --timeout 1s --host file-05 heap
    assert_status 1
    assert_stderr_has 'the answer stalled'
}

@test "no name of a hostile index page reaches a path or the terminal" {
    write_inventory evilindex
    run_profgrab --host file-05 all cpu=1s
    assert_printable "$stderr"
    [[ -n $output ]] || fail_run "nothing"
    local dir
    dir=$("$profgrab_program" bundle extract "$output")
    assert_equal "$(find . -newer "$INVENTORY" -type f -not -path "./${dir##*/}/*" -not -name '*.tar.gz')" ''
}

# ---- output -----------------------------------------------------------------------------------------------------

@test "unwritable output is reported before anything is opened" {
    : >file
    run_profgrab --host file-03 --port 1 -o file/x.tar.gz heap
    assert_refused 1 'file'
    run_profgrab --host file-03 --port 1 -o missing heap
    assert_refused 2 'output missing must be' 'hint: -o missing/ makes a directory' '-o missing.tar.gz names the bundle'
    [[ ! -e missing ]]
    run_profgrab --host file-03 --port 1 -o file/below/ heap
    assert_refused 1 'output: cannot create the directory file: '
    run_profgrab --host file-03 --port 1 -o file/ heap
    assert_refused 1 'output: cannot create the directory file: '
}

@test "-o DIR/ creates the directory for grab, resume and bundle create" {
    write_inventory
    umask 022
    run_profgrab --host file-04 -o new/ heap
    assert_status 0
    [[ $output == new/profgrab-file-04-*.tar.gz && -s $output ]] || fail_run 'not in the directory'
    assert_mode new 700
    assert_mode "$output" 600
    run_profgrab --host file-04 -o new/ heap
    assert_status 0
    run_profgrab bundle create -o made/ "$INVENTORY"
    [[ -d made ]]
}

@test "-o DIR/ removes the directories that it created if nothing was collected" {
    write_inventory
    mkdir old
    for output in old/ old/new/ old/new/er/; do
        run_profgrab --host file-04 --port 1 -o "$output" heap
        assert_status 1
        assert_equal "$(ls -A old)" ''
    done
    run_profgrab bundle create -o old/new/ missing
    assert_status 1
    assert_equal "$(ls -A old)" ''
    mkdir old/new
    run_profgrab --host file-04 --port 1 -o old/new/ heap
    assert_equal "$(ls -A old)" new
}

@test "existing output is never overwritten" {
    write_inventory
    echo mine >mine.tar.gz
    run_profgrab --host file-04 -o mine.tar.gz heap
    assert_status 1
    assert_stderr_has 'mine.tar.gz'
    assert_equal "$(cat mine.tar.gz)" mine
    assert_equal "$(ls)" mine.tar.gz
}

@test "a full disk is reported, and the bundle of the collected items verifies" {
    write_inventory big=30
    # A file size limit simulates a full disk: the write fails in the same way.
    run --separate-stderr bash -c "ulimit -f 10000; exec \"\$@\"" - "$profgrab_program" --ssh-config "$SSH_CONFIG" \
        --host file-05 heap
    assert_status 1
    assert_stderr_has 'cannot write: File too large'
    run_profgrab bundle verify "$output"
    assert_status 0
    # Each item has enough space, the bundle has not.
    write_inventory big=9
    run --separate-stderr bash -c "ulimit -f 10000; exec \"\$@\"" - "$profgrab_program" --ssh-config "$SSH_CONFIG" \
        --host file-05 -o full.tar.gz heap allocs block mutex threadcreate
    assert_status 1
    assert_stderr_has 'full.tar.gz: cannot write: File too large'
    assert_stderr_has 'hint: everything collected is in full.partial: make room, then `profgrab resume'
    [[ -s full.partial/file-05/big-9/heap.pb.gz && -s full.partial/file-05/big-9/allocs.pb.gz && ! -e full.tar.gz ]]
    run_profgrab resume -q full.partial
    assert_status 0
    if [[ -w /dev/full ]]; then
        run --separate-stderr bash -c "\"\$@\" >/dev/full" - "$profgrab_program" version
        assert_status 1
        assert_stderr_has 'cannot write to standard output'
    fi
}

@test "more services than one bundle can describe are refused before anything is opened, with the maximum" {
    python3 - >inventory.yaml <<'END'
print("version: 1\nservices: { s: { port: 1 } }\nhosts:")
for i in range(4000):
    print(f"  h{i}: {{ connect: direct, address: 127.0.0.1, services: [s] }}")
END
    chmod 600 inventory.yaml
    run --separate-stderr "$profgrab_program" -i inventory.yaml --host 'h*' heap allocs goroutines mutex cpu trace --yes
    assert_status 2
    assert_stderr_has 'profgrab: 4000 services with 24000 items in all are too many for one bundle'
    assert_stderr_has 'hint: about 3131 such services fit'
    refute_stderr_has 'h1:'
    assert_equal "$(find . -name 'profgrab-*')" ''
    run --separate-stderr "$profgrab_program" -i inventory.yaml --host 'h*' heap allocs goroutines mutex cpu trace --pair 1s --yes
    assert_status 2
    assert_stderr_has 'profgrab: 4000 services with 48000 items in all are too many for one bundle'
}

@test "with stdout full or closed, the bundle's path goes to stderr, with exit code 3" {
    write_inventory
    for to in '>/dev/full' '>&-'; do
        run --separate-stderr bash -c "\"\$@\" $to" - "$profgrab_program" --ssh-config "$SSH_CONFIG" --host file-04 heap
        assert_status 3
        [[ $stderr =~ 'the bundle is '(profgrab-[^$'\n']*gz) ]] || fail_run "no path"
        [[ -s ${BASH_REMATCH[1]} ]]
    done
}

@test "without space for the bundle the work directory stays, and the message names it" {
    write_inventory big=6
    run --separate-stderr bash -c "ulimit -f 6500; exec \"\$@\"" - "$profgrab_program" --ssh-config "$SSH_CONFIG" \
        --host file-05 heap allocs
    assert_status 1
    assert_stderr_has 'the bundle could not be written'
    local partial
    partial=$(echo profgrab-*.partial)
    assert_stderr_has "make room, then \`profgrab resume -F $SSH_CONFIG $partial\`"
    [[ -s $partial/file-05/big-6/heap.pb.gz && -s $partial/manifest.json ]] || fail_run "$(find . -type f)"
    assert_equal "$(find . -name '*.tar.gz*')" ''
    # Nothing is missing: no host is opened, and no inventory is read.
    run_profgrab resume -i nowhere.yaml "$partial"
    assert_status 0
    [[ ! -e $partial ]]
    "$profgrab_program" bundle verify "$output" | grep -q 'big-6/allocs.pb.gz$'
}

@test "a work directory that is removed during the run is reported, and no hint names it as a place of the collected items" {
    write_inventory
    "$profgrab_program" --ssh-config "$SSH_CONFIG" --host file-04 -o gone.tar.gz heap cpu=2s 2>messages 3>&- &
    local pid=$! status=0
    wait_for test -e gone.partial/file-04/rude/heap.pb.gz
    # A file may appear between the removals of the files and of the directory.
    rm -rf gone.partial || rm -rf gone.partial
    wait "$pid" || status=$?
    assert_equal "$status" 1
    grep -q '^hint: gone.partial was removed or renamed during the run: what was collected is not there any more$' messages || fail "$(cat messages)"
    [[ $(<messages) != *'everything collected is in'* ]] || fail "$(cat messages)"
    [[ ! -e gone.tar.gz ]]
}
