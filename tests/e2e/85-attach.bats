#!/usr/bin/env bats
# shellcheck disable=SC2030,SC2031 # each test is a subshell
# `profgrab attach` and `grab --for` with a real sshd, a real Go service, and our strict imitation of GitLab (tests/gitlab). age and
# ssh-keygen read the stored files.
load helper
load gitlab

setup_file() {
    e2e_setup_file
    stub gitlab
    for who in mate me; do
        ssh-keygen -q -t ed25519 -N '' -C "$who" -f "$RIG_DIR/$who"
    done
}

setup() {
    e2e_setup
    export TOKEN=glpat-manager-0123456789
    url=http://127.0.0.1:$PORT_gitlab
    control=http://127.0.0.1:$CONTROL_gitlab
    control -X POST "$control/reset"
    inventory "signature: required"
}

teardown() {
    [[ -z ${output-} || "$output$stderr" != *glpat-* ]] || fail_run 'the token was printed'
    assert_equal "$(control "$control/violations")" ''
    e2e_teardown
}

# inventory [TEAM-SETTING [SELF]]: writes inventory.yaml. TEAM-SETTING is one more key of the team gitaly.
inventory() {
    cat >inventory.yaml <<EOF
version: 1
services:
  node: { port: $RIG_PORT_node_exporter }
hosts:
  file-03: { services: [node] }
trackers:
  lab: { kind: gitlab, url: "$url", token_env: TOKEN }
  filed: { kind: gitlab, url: "$url", token_file: $PWD/token }
  red: { kind: redmine, url: "$url", token_env: TOKEN }
  rt: { kind: rt, url: "$url", token_env: TOKEN }
  walled: { kind: gitlab, url: "$url", token_env: TOKEN, ca: $PWD/missing.pem }
teams:
  gitaly: { recipients: [ $RIG_DIR/mate.pub ], tracker: lab, project: ops/private, labels: [profiling], ${1:-signature: optional} }
  public: { recipients: [ $RIG_DIR/mate.pub ], tracker: lab, project: ops/public }
  mailed: { recipients: [ $RIG_DIR/mate.pub ] }
  red: { recipients: [ $RIG_DIR/mate.pub ], tracker: red, project: ops }
  crowd: { recipients: [ $RIG_DIR/mate.pub ], tracker: rt, project: Incidents, assignees: [ann, bob] }
self: ${2-{ recipients: [ $RIG_DIR/me.pub ], sign_with: $RIG_DIR/me.pub \}}
EOF
    chmod 600 inventory.yaml
}

grab() {
    run --separate-stderr "$profgrab_program" --ssh-config "$SSH_CONFIG" -i inventory.yaml --host file-03 "$@" heap goroutines
}

# Makes a bundle to hand off, and sets $bundle.
make_bundle() {
    grab
    assert_status 0
    bundle=$output
}

attach() {
    run --separate-stderr "$profgrab_program" attach "$bundle" -i inventory.yaml "$@"
}

# Downloads the file that the tracker stored for a project, to `stored`.
fetch_stored() { # PROJECT NUMBER
    local secret
    secret=$(state "s[\"$1\"][\"uploads\"][0]")
    control -H "PRIVATE-TOKEN: $TOKEN" -o stored "$url/-/project/$2/uploads/$secret"
}

@test "a grab ends with the URL of a confidential issue, and the team reads the bundle" {
    grab --for gitaly --reason 'slow pushes'
    assert_status 0
    assert_equal "${#lines[@]}" 2
    [[ -f ${lines[0]} && ${lines[0]} == *.tar.gz ]]
    assert_equal "${lines[1]}" "$url/ops/private/-/issues/3"
    assert_equal "$(state 's["ops/private"]["issues"][2]["issue"]["confidential"]')" True
    assert_equal "$(state 's["ops/private"]["issues"][2]["issue"]["labels"]')" "['profiling']"
    note=$(state 's["ops/private"]["issues"][2]["notes"][0]["body"]')
    [[ $note == *'file-03, node: heap, goroutines'* && $note == *'Reason: slow pushes'* && $note == *'bundle verify'* ]] || fail "$note"
    # Both the team and the user can read it; nobody else can.
    fetch_stored ops/private 11
    for who in mate me; do
        age -d -i "$RIG_DIR/$who" stored >plain.tar.gz
    done
    ssh-keygen -q -t ed25519 -N '' -f other
    run age -d -i other stored
    [[ $status != 0 ]]
    # ssh-keygen verifies the signature.
    tar -xzf plain.tar.gz
    dir=$(echo profgrab-file-03-*/)
    echo "me $(cat "$RIG_DIR/me.pub")" >allowed
    namespace=$(sed -n 's/.*namespace `\([^`]*\)`.*/\1/p' "$rig_root/docs/formats.md" | head -n 1)
    ssh-keygen -Y verify -f allowed -I me -n "$namespace" -s "$dir/manifest.json.sig" <"$dir/manifest.json"
    run --separate-stderr "$profgrab_program" bundle verify -i "$RIG_DIR/mate" --allowed-signers allowed stored
    assert_status 0
    # The local bundle is the collected one.
    run --separate-stderr "$profgrab_program" bundle verify "${lines[0]}"
}

@test "--json describes the hand-off" {
    grab --for gitaly --json
    assert_status 0
    python3 - "$output" "$url" <<'EOF'
import hashlib, json, sys
r, url = json.loads(sys.argv[1]), sys.argv[2]
h = r["handoff"]
assert h["attached"] and h["confidential"] and h["left"] == "words" and h["issue"] == url + "/ops/private/-/issues/3", h
assert hashlib.sha256(open(h["copy"], "rb").read()).hexdigest() == h["sha256"], h
EOF
    echo "$output" >result.json
    python3 "$rig_root/tests/schema.py" "$rig_root/docs/formats.md#grab" result.json
}

# json_handoff PYTHON: $output follows its schema, and the expression over its handoff `h` and the whole report `r` is true.
json_handoff() {
    echo "$output" >result.json
    python3 "$rig_root/tests/schema.py" "$rig_root/docs/formats.md#grab" result.json
    python3 -c 'import json, sys; r = json.load(open("result.json")); h = r["handoff"]; assert eval(sys.argv[1]), h' "$1"
}

@test "--json describes a hand-off that failed, was not begun, or had no bundle; it has none without --for" {
    spoil '^POST .*/issues$' empty
    grab --for gitaly --json
    assert_status 4
    json_handoff 'not h["attached"] and h["left"] == "issue" and h["step"] == "create" and h["unknown"] and "creating the issue" in h["error"] and "copy" not in h'
    json_handoff 'h["repeat"].startswith("profgrab attach profgrab-file-03-") and r["exit_code"] == 4 and "error" not in r'
    control -X POST "$control/reset"
    spoil '^POST .*/uploads$' 401
    grab --for gitaly --json
    assert_status 4
    json_handoff 'h["left"] == "part" and h["confidential"] and h["step"] == "upload" and not h["unknown"] and "repeat" in h'
    grab --for gitaly --dry-run
    assert_status 0
    assert_stderr_has 'the bundle would go to team gitaly: lab:ops/private, encrypted to '
    grab --for gitalyy --json
    assert_status 2
    json_handoff 'not h["attached"] and h["left"] == "nothing" and "gitalyy" in r["error"]'
    run --separate-stderr "$profgrab_program" --ssh-config "$SSH_CONFIG" -i inventory.yaml --host file-03 --port 1 --for gitaly --json heap
    assert_status 1
    json_handoff 'not h["attached"] and h["left"] == "nothing" and r["bundle"] is None'
    grab --json
    assert_status 0
    refute_stdout_has '"handoff"'
}

@test "attach reports bad arguments before it makes anything, with exit code 2" {
    make_bundle
    for bad in '--for gitalyy|no team "gitalyy"|did you mean "gitaly"' '--to nowhere:a/b|no tracker "nowhere"|' '--to lab|no place|TRACKER:PROJECT' \
        '--to lab:ops/private#x|no place|' '--to lab:#3|no place|' '--title hello|no meaning without --for|' '|neither --for nor --to is given|--for TEAM' \
        '--for gitaly --encrypt-to missing.txt|missing.txt|'; do
        IFS='|' read -r words message hint <<<"$bad"
        # shellcheck disable=SC2086 # several words
        attach $words
        assert_status 2
        assert_stderr_has "$message"
        [[ -z $hint ]] || assert_stderr_has "$hint"
    done
    ssh-keygen -q -t ecdsa -N '' -f ecdsa
    attach --for gitaly --encrypt-to ecdsa.pub
    assert_status 2
    assert_stderr_has ecdsa
    refute_requested .
    assert_equal "$(ls -- *.age 2>/dev/null)" ''
    # A file that is not a bundle is not reported as safe.
    echo hello >hello.tar.gz
    for bundle in missing.tar.gz hello.tar.gz; do
        attach --for gitaly
        assert_status 1
        assert_stderr_has "$bundle"
        refute_stderr_has safe
    done
    refute_requested .
    # A grab reports a bad argument before it opens anything.
    grab --for gitalyy
    assert_status 2
    grab --title hello
    assert_status 2
    assert_equal "$(find . -name 'profgrab-*' | wc -l)" 1
}

# refuse WORDS MESSAGE [HINT]: a grab refuses with exit code 2 before it connects, and attach before it makes anything.
refuse() {
    # shellcheck disable=SC2086 # several words
    grab $1
    assert_status 2
    refute_stderr_has 'connected to'
    assert_stderr_has "$2"
    [[ -z ${3-} ]] || assert_stderr_has "hint: $3"
    # shellcheck disable=SC2086
    attach $1
    assert_status 2
    assert_stderr_has "$2"
    [[ -z ${3-} ]] || assert_stderr_has "hint: $3"
    refute_stderr_has safe
    assert_equal "$(find . -name 'profgrab-*' | wc -l)" 1
}

@test "bad settings of the inventory and the command line are refused before anything is opened" {
    make_bundle
    refuse '--for gitaly --to lab:ops/private#1 --title slow' 'lab: issue 1 exists and keeps its title' 'omit them, or omit #1'
    refuse '--for gitaly --to lab:ops/private#1 --issue-label slow' 'keeps its title, labels and assignees'
    refuse '--for gitaly --to lab:ops/private#0' '"0" is no number of an issue'
    refuse '--for gitaly --to rt:Incidents --issue-label slow' 'rt: this kind of tracker has no labels'
    refuse '--for crowd' 'rt: this kind of tracker has at most 1 assignee, not 2'
    refuse '--for gitaly --to red:ops --assignee ann,bob' 'red: this kind of tracker has at most 1 assignee, not 2'
    refuse "--for gitaly --to lab:ops/$(printf 'x%.0s' {1..180})" 'the name of a project has at most 180 characters, not 184'
    # Request Tracker does not report who can read a queue, so no request is needed.
    refuse '--to rt:Incidents' 'rt: refused: the bundle is not encrypted' 'encrypt it'
    refuse '--for gitaly --to filed:ops/private' "filed: the token: cannot open $PWD/token" 'create it so that only you can read it'
    echo "$TOKEN" >token
    refuse '--for gitaly --to filed:ops/private' "$PWD/token can be read or changed by others" 'chmod 600'
    refuse '--for gitaly --to walled:ops/private' "walled: the authorities: cannot open $PWD/missing.pem"
    TOKEN='' refuse '--for gitaly' 'lab: the token: the environment variable TOKEN is empty'
    (unset TOKEN && refuse '--for gitaly' 'the environment variable TOKEN is not set' 'set it without showing it')
    # A dry run reads no token.
    (unset TOKEN && attach --for gitaly --dry-run && assert_status 0)
    inventory 'signature: required' "{ recipients: [ $RIG_DIR/me.pub ] }"
    refuse '--for gitaly' 'team gitaly requires a signature: no key to sign with' 'name one in the inventory'
    inventory 'signature: required' "{ recipients: [ $RIG_DIR/me.pub ], sign_with: $PWD/gone.pub }"
    refuse '--for gitaly' 'team gitaly requires a signature: the key to sign with'
    refute_requested .
}

@test "a passphrase is asked for once in a run, for the login and the signature" {
    ssh-keygen -q -t ed25519 -N open-sesame -f locked
    cat locked.pub >>"$RIG_DIR/sshd/authorized_keys"
    inventory 'signature: required' "{ recipients: [ $RIG_DIR/me.pub ], sign_with: $PWD/locked.pub }"
    sed -i "s|services: \[node\] }|services: [node], ssh: { identity: $PWD/./locked } }|" inventory.yaml
    with_pty --send 'Passphrase for the key' $'wrong\n' --send 'Passphrase for the key' $'open-sesame\n' -- \
        "$profgrab_program" --ssh-config "$SSH_CONFIG" -i inventory.yaml --host file-03 --for gitaly heap
    assert_status 0
    assert_stdout_has 'signed with SHA256:'
    refute_stdout_has 'Enter passphrase'
    assert_stdout_has /ops/private/-/issues/3
    # Without a terminal, the login fails.
    run --separate-stderr setsid -w "$profgrab_program" --ssh-config "$SSH_CONFIG" -i inventory.yaml --host file-03 --for gitaly heap
    assert_status 1
    assert_stderr_has 'there is no terminal to ask on'
}

@test "a failed hand-off has exit code 4, keeps the bundle, and prints a command that repeats it" {
    spoil '^POST .*/issues$' empty
    grab --for gitaly --title "it's slow"
    assert_status 4
    [[ -f ${lines[0]} ]]
    assert_stderr_has 'nothing has left this workstation'
    assert_equal "$(ls -- *.age 2>/dev/null)" ''
    again=$(sed -n 's/.*; to repeat the hand-off: //p' <<<"$stderr")
    [[ $again == "profgrab attach "* ]] || fail_run 'no line to repeat it'
    control -X POST "$control/reset"
    profgrab() { "$profgrab_program" "$@"; }
    run --separate-stderr eval "$again"
    assert_status 0
    assert_equal "$output" "$url/ops/private/-/issues/3"
    assert_equal "$(state 's["ops/private"]["issues"][2]["issue"]["title"]')" "it's slow"
}

@test "a required signature that cannot be made stops the hand-off; an optional one causes a warning" {
    make_bundle
    mv "$RIG_DIR/me" "$RIG_DIR/me.away"
    attach --for gitaly
    mv "$RIG_DIR/me.away" "$RIG_DIR/me"
    assert_status 2
    assert_stderr_has 'team gitaly requires a signature: cannot sign with ssh-ed25519 SHA256:'
    assert_stderr_has "hint: ssh-add $RIG_DIR/me"
    # An agent may have the key: profgrab asks it only when it signs, so the hand-off fails later, with exit code 4.
    mv "$RIG_DIR/me" "$RIG_DIR/me.away"
    rig_spawn agent ssh-agent -D -a "$PWD/agent"
    rig_wait agent 10 test -S agent
    SSH_AUTH_SOCK=$PWD/agent attach --for gitaly
    mv "$RIG_DIR/me.away" "$RIG_DIR/me"
    rig_end agent
    assert_status 4
    assert_stderr_has 'team gitaly requires a signature: cannot sign with ssh-ed25519 SHA256:'
    assert_stderr_has 'to repeat the hand-off: profgrab attach'
    refute_requested .
    inventory 'signature: required' "{ recipients: [ $RIG_DIR/me.pub ] }"
    attach --for gitaly
    assert_status 2
    assert_stderr_has 'no key to sign with'
    inventory 'signature: optional' "{ recipients: [ $RIG_DIR/me.pub ], sign_with: $PWD/gone.pub }"
    attach --for gitaly
    assert_status 0
    assert_stderr_has 'the copy is not signed'
    fetch_stored ops/private 11
    run --separate-stderr "$profgrab_program" bundle verify -i "$RIG_DIR/mate" stored
    assert_status 0
}

@test "plain text is sent only to members, unless its option confirms it" {
    make_bundle
    attach --to lab:ops/public
    assert_status 4
    assert_stderr_has 'not encrypted'
    assert_stderr_has --plaintext-i-know
    refute_requested '^(POST|PUT)'
    attach --to lab:ops/private
    assert_status 0
    attach --to lab:ops/public --plaintext-i-know
    assert_status 0
}

# The copy is in plain text, so that the test can search the whole of it.
@test "text that looks like a secret is not in the copy, the note or the title" {
    local secret=5wordfish-0815 where
    grab --reason "password: $secret" heap "/debug/vars?token=$secret"
    [[ $status == 0 || $status == 3 ]] || fail_run
    bundle=${lines[0]}
    tar -xzf "$bundle"
    grep -rq "$secret" "${bundle%.tar.gz}" || fail 'nothing was planted'
    [[ -n $(find "${bundle%.tar.gz}" -name "*$secret*") ]] || fail 'no file is named after it'
    rm -r "${bundle%.tar.gz}"
    attach --to lab:ops/private --title "why token=$secret fails at $secret"
    assert_status 0
    assert_stderr_has 'the title contains text that looks like a secret, and is sent as "why token=[redacted] fails at [redacted]"'
    [[ $(control "$control/state") != *"$secret"* ]] || fail "$(control "$control/state")"
    [[ $(state 's["ops/private"]["issues"][2]["notes"][0]["body"]') == *'Reason: password: [redacted]'* ]]
    fetch_stored ops/private 11
    mkdir there
    tar -xzf stored -C there
    find there -name '*.gz' -exec gunzip {} +
    where=$(grep -rl "$secret" there; find there -name "*$secret*") || :
    assert_equal "$where" ''
    run_profgrab bundle verify stored
    assert_status 0
}

@test "a label or an assignee that looks like a secret is refused" {
    grab heap '/debug/vars?token=sesame99x'
    [[ $status == 0 || $status == 3 ]] || fail_run
    bundle=${lines[0]}
    attach --for gitaly --issue-label sesame99x --dry-run
    assert_status 4
    assert_stderr_has 'the label "[redacted]" of the issue contains text that looks like a secret: nothing is sent'
    assert_stderr_has 'hint: give another one: --issue-label, or `labels:` of the team in the inventory'
    attach --to lab:ops/private --assignee token=abcde
    assert_status 4
    assert_stderr_has 'the assignee "token=[redacted]" of the issue'
    refute_requested .
    attach --for gitaly --issue-label sesame99 --dry-run
    assert_status 0
}

@test "an encrypted bundle is attached to an existing issue" {
    make_bundle
    attach --for gitaly --to 'lab:ops/private#1'
    assert_status 0
    attach --for public --to 'lab:ops/private#1'
    assert_status 0
    assert_equal "$output" "$url/ops/private/-/issues/1"
    # Labels are only for new issues.
    assert_equal "$(state 's["ops/private"]["issues"][0]["issue"]["labels"]')" None
}

@test "--dry-run shows each request, sends none, and leaves nothing behind" {
    make_bundle
    attach --for public --dry-run
    assert_status 0
    assert_stdout_has "POST $url/api/v4/projects/ops%2Fpublic/issues"
    assert_stdout_has confidential=true
    refute_requested .
    assert_equal "$(ls -- *.age 2>/dev/null)" ''
}

@test "Ctrl-C ends --dry-run that waits for the reader of a full pipe" {
    make_bundle
    local stream
    for stream in stdout stderr; do
        run timeout 120 python3 "$rig_root/tests/rig/full_pipe.py" "$stream" "$profgrab_program" attach "$bundle" -i inventory.yaml \
            --for public --dry-run
        assert_status 0
        assert_equal "$output" 130
        assert_equal "$(ls -- *.age 2>/dev/null)" ''
    done
}

@test "a team without a tracker gets a file" {
    make_bundle
    attach --for mailed --title hello
    assert_status 2
    assert_stderr_has 'team mailed has no tracker'
    attach --for mailed --dry-run
    assert_status 0
    assert_equal "$(ls -- *.age 2>/dev/null)" ''
    attach --for mailed
    assert_status 0
    age -d -i "$RIG_DIR/mate" "$output" | tar -tzf - >members
    grep -q manifest.json.sig members
    refute_requested .
}

@test "a grab without --for requests nothing from a tracker" {
    grab
    assert_status 0
    refute_requested .
}

@test "an interrupted grab is not handed off, and prints how to" {
    "$profgrab_program" --ssh-config "$SSH_CONFIG" -i inventory.yaml --host file-03 --for gitaly heap cpu=20s >out 2>log 3>&- &
    pid=$!
    wait_for grep -q 'taking 20s' log
    kill -TERM "$pid"
    wait "$pid" && rc=0 || rc=$?
    assert_equal "$rc" 143
    grep -q 'not handed off' log
    grep -q 'to repeat the hand-off: profgrab attach ' log
    refute_requested .
}

@test "a second --for or --to is refused, and a missing inventory is reported" {
    make_bundle
    refuse '--for gitaly --for mailed' '--for is given twice'
    refuse '--for gitaly,mailed' '--for takes one team' 'each gets an issue of its own'
    refuse '--to lab:ops/private --to lab:ops/public' '--to is given twice'
    refuse "--for gitaly --title= " 'lab: the title is empty'
    run --separate-stderr "$profgrab_program" attach "$bundle" --for gitaly
    assert_status 2
    assert_stderr_has 'hint: there is no inventory: write one'
}

@test "an encrypted bundle and a copy are refused at once, with a hint at the original" {
    make_bundle
    attach --for mailed
    assert_status 0
    bundle=$output
    attach --for gitaly
    assert_status 2
    assert_stderr_has "$bundle is encrypted already"
    assert_stderr_has "hint: use the original bundle, or first \`profgrab bundle decrypt -i KEY $bundle\`"
    age -d -i "$RIG_DIR/mate" "$bundle" >copy.tar.gz
    bundle=copy.tar.gz
    attach --for gitaly
    assert_status 2
    assert_stderr_has 'profgrab: copy.tar.gz is a copy that was handed off already'
    assert_stderr_has 'hint: use the original bundle;'
    refute_requested .
}

@test "a signing key whose passphrase nobody can type is reported with a hint; if optional, the copy is not signed" {
    make_bundle
    ssh-keygen -q -t ed25519 -N open-sesame -f locked
    inventory 'signature: required' "{ recipients: [ $PWD/locked.pub ], sign_with: $PWD/locked }"
    run --separate-stderr setsid -w "$profgrab_program" attach "$bundle" -i inventory.yaml --for gitaly
    assert_status 4
    assert_stderr_has "team gitaly requires a signature: $PWD/locked: there is no terminal to ask on"
    assert_stderr_has "hint: ssh-add the key of $PWD/locked, or name a file with its passphrase: --passphrase-file FILE"
    assert_stderr_has 'to repeat the hand-off: profgrab attach'
    attach --for gitaly --batch
    assert_status 4
    (umask 077 && echo open-sesame >words)
    attach --for gitaly --batch --passphrase-file words
    assert_status 0
    inventory 'signature: optional' "{ recipients: [ $PWD/locked.pub ], sign_with: $PWD/locked }"
    attach --for gitaly --batch
    assert_status 0
    assert_stderr_has 'the copy is not signed'
}

@test "without space or permission for the copy: exit code 4, and only the bundle is left" {
    ((EUID == 0)) || skip 'only root can mount'
    make_bundle
    mkdir small
    # Enough space for the bundle, not for a copy of it.
    mount -t tmpfs -o "size=$(($(stat -c %s "$bundle") / 1024 + 8))k" none small
    cp "$bundle" small/b.tar.gz
    run --separate-stderr "$profgrab_program" attach small/b.tar.gz -i inventory.yaml --for gitaly
    left=$(ls small)
    umount small
    assert_equal "$left" b.tar.gz
    assert_status 4
    assert_stderr_has 'No space left on device'
    assert_stderr_has 'hint: the copy is written beside the bundle'
    assert_stderr_has 'to repeat the hand-off: profgrab attach small/b.tar.gz'
    cp "$bundle" small/b.tar.gz
    mount --bind small small
    mount -o remount,ro,bind small
    run --separate-stderr "$profgrab_program" attach small/b.tar.gz -i inventory.yaml --for gitaly
    umount small
    assert_status 4
    assert_stderr_has 'Read-only file system'
    assert_stderr_has 'hint: the copy is written beside the bundle'
    refute_requested .
}

@test "interrupted at each step: what has left is reported, and the copy stays only if the tracker may have it" {
    make_bundle
    local step on left
    while IFS='|' read -r step on left; do
        control -X POST "$control/reset"
        spoil "$on" silent
        "$profgrab_program" attach "$bundle" -i inventory.yaml --for gitaly >out 2>log 3>&- &
        pid=$!
        for ((i = 0; i < 500; i++)); do ! requests | grep -q ' silent ' || break; sleep 0.02; done
        kill -TERM "$pid"
        wait "$pid" && rc=0 || rc=$?
        assert_equal "$step $rc" "$step 143"
        grep -q "$left" log || fail "$step:" "$(<log)"
        grep -q 'to repeat the hand-off: profgrab attach ' log
        [[ ! -s out ]]
        case $left in *'encrypted bundle'*) ls -- *.age ;; *) run ! ls -- *.age ;; esac
        rm -f -- *.age
    done <<'EOF'
query|^GET .*/projects/|profgrab: nothing has left this workstation$
create|^POST .*/issues$|nothing has left this workstation but a neutral issue or note
read-back|^GET .*/issues/|nothing has left this workstation but a neutral issue or note
upload|^POST .*/uploads$|the tracker may have the encrypted bundle but does not have the summary
verify|^GET .*/uploads/|the tracker has the encrypted bundle but not the summary
note|^POST .*/notes$|the tracker has the encrypted bundle and may have the summary
EOF
    "$profgrab_program" bundle verify "$bundle"
}
