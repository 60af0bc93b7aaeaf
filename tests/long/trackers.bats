#!/usr/bin/env bats
# shellcheck disable=SC2030,SC2031 # each test is a subshell
# Hand-offs to Debian's Redmine and Request Tracker. A manager may read them; an outsider and an anonymous visitor try to, and must
# get nothing. Needs tests/trackers/install.
load ../e2e/helper
load ../e2e/gitlab

# shellcheck source=tests/trackers/trackers.bash
source "$rig_root/tests/trackers/trackers.bash"

setup_file() {
    "$rig_root/tests/trackers/install" >/dev/null 2>&1 || return 0
    RIG_DIR=$(mktemp -d "${TMPDIR:-/tmp}/profgrab-rig.XXXXXX")
    export RIG_DIR
    mkdir "$RIG_DIR/pids"
    redmine_start
    rt_start
    nginx_start redmine
    # A proxy in front of each that can damage its answers.
    stub redmine_front -to "http://127.0.0.1:$RIG_PORT_redmine"
    stub rt_front -to "http://127.0.0.1:$RIG_PORT_rt"
    stub other
}

teardown_file() { rig_stop; }

HOST='file-03-stor-gprd'

setup() {
    [[ -n ${RIG_DIR-} ]] || skip 'the trackers are not installed: tests/trackers/install'
    e2e_setup
    redmine=http://127.0.0.1:$RIG_PORT_redmine rt=http://127.0.0.1:$RIG_PORT_rt
    { echo age-encryption.org/v1; head -c 300000 /dev/urandom; } >bundle.tar.gz.age
    head -c 200000 /dev/urandom >plain.tar.gz
}

teardown() { :; }

# hand_off TOKEN KIND URL PROJECT [OPTION...]: hands off the encrypted bundle with a summary. Sets $issue to the issue's number, and
# $name to the file's name.
hand_off() {
    hand_off_file bundle.tar.gz.age "$@" --encrypted
}

hand_off_file() { # FILE TOKEN KIND URL PROJECT [OPTION...]
    local file=$1 token=$2 kind=$3 at=$4 project=$5
    shift 5
    TOKEN=$token run --separate-stderr timeout 120 "$HANDOFF" --summary "cpu of $HOST"$'\n</pre>@all' "$@" \
        "$kind" "$at" "$project" "$file"
    issue=$(sed -nE 's/^url .*[/=]([0-9]+)$/\1/p' <<<"$output")
    name=$(sed -n 's/^name //p' <<<"$output")
    [[ "$output$stderr" != *"$token"* ]] || fail 'the token was printed'
}

get() { curl -sS --max-time 30 "$@"; }

status_of() { get -o answer -w '%{http_code}' "$@"; }

# as manager|outsider|nobody CURL-ARG...: prints Redmine's answer to that user; nobody has no key.
as() {
    local key=REDMINE_KEY_$1
    shift
    if [[ -n ${!key-} ]]; then
        get -H "X-Redmine-API-Key: ${!key}" "$@"
    else
        get "$@"
    fi
}

# json EXPRESSION: prints a Python expression over the JSON `o` on standard input.
json() { python3 -c "import json, sys; o = json.load(sys.stdin); print($1)"; }

# ---- Redmine --------------------------------------------------------------------------------------------------------

@test "Redmine: a private issue in a public project is read by the manager, and not by an outsider or a visitor" {
    local id who path
    hand_off "$REDMINE_KEY_manager" redmine "$redmine" ops
    assert_status 0
    assert_stdout_has 'step read-back done'
    as manager "$redmine/issues/$issue.json?include=journals,attachments" >issue.json
    [[ $(json 'o["issue"]["journals"][-1]["notes"]' <issue.json) == *"$HOST"* ]]
    assert_equal "$(json 'o["issue"]["journals"][-1]["private_notes"]' <issue.json)" True
    id=$(json 'o["issue"]["attachments"][0]["id"]' <issue.json)
    as manager "$redmine/attachments/download/$id/$name" | cmp - bundle.tar.gz.age
    # The summary is shown without markup and without a mention.
    as manager "$redmine/issues/$issue.json?include=journals" | json 'o["issue"]["journals"][-1]["notes"]' >notes
    grep -qF '< /pre>(at)all' notes || fail "$(cat notes)"
    for who in outsider nobody; do
        for path in "issues/$issue.json?include=journals,attachments" "issues/$issue" "attachments/$id.json" \
            "attachments/download/$id/$name" "attachments/$id" issues.json "projects/ops/activity" "search?q=stor"; do
            as "$who" -o answer "$redmine/$path"
            ! grep -qF "$HOST" answer || fail "$who reads the summary at $path"
            ! cmp -s answer bundle.tar.gz.age || fail "$who gets the file at $path"
            # A login page repeats the requested URL.
            [[ $path == *"$name" ]] || ! grep -qF "$name" answer || fail "$who learns the file's name at $path"
        done
    done
}

@test "Redmine: a private note on a readable issue hides the text, not the file, which must be encrypted" {
    local id who
    hand_off "$REDMINE_KEY_manager" redmine "$redmine" ops --issue 1
    assert_status 0
    assert_stdout_has 'step open-note done'
    id=$(as manager "$redmine/issues/1.json?include=attachments" | json 'o["issue"]["attachments"][-1]["id"]')
    for who in outsider nobody; do
        as "$who" "$redmine/issues/1.json?include=journals,attachments" >answer
        grep -q '"subject"' answer
        ! grep -qF "$HOST" answer || fail "$who reads the summary"
        as "$who" "$redmine/attachments/download/$id/$name" | cmp - bundle.tar.gz.age
    done
    hand_off_file plain.tar.gz "$REDMINE_KEY_manager" redmine "$redmine" ops --issue 1
    assert_status 4
    assert_stderr_has 'refused: the bundle is not encrypted'
}

@test "Redmine: plain text is sent to a private issue of a private project, where outsiders get nothing" {
    local id who path
    hand_off_file plain.tar.gz "$REDMINE_KEY_manager" redmine "$redmine" priv --assignee 'Manager T'
    assert_status 0
    id=$(as manager "$redmine/issues/$issue.json?include=attachments" | json 'o["issue"]["attachments"][-1]["id"]')
    as manager "$redmine/attachments/download/$id/$name" | cmp - plain.tar.gz
    for who in outsider nobody; do
        for path in "issues/$issue.json" "attachments/download/$id/$name" "attachments/$id.json"; do
            as "$who" -o answer "$redmine/$path"
            ! cmp -s answer plain.tar.gz || fail "$who gets the file at $path"
            [[ $path == *"$name" ]] || ! grep -qF "$name" answer || fail "$who learns the file's name at $path"
        done
    done
    hand_off_file plain.tar.gz "$REDMINE_KEY_manager" redmine "$redmine" ops
    assert_status 4
    assert_stderr_has 'readable by anyone'
}

@test "Redmine: a user who may set nothing private has the flags dropped, and nothing is uploaded" {
    local before after
    before=$(as manager "$redmine/issues.json?status_id=*&limit=1" | json 'o["total_count"]')
    hand_off "$REDMINE_KEY_reporter" redmine "$redmine" ops
    assert_status 4
    assert_stderr_has 'reading the flag back: the tracker created the issue without its confidential flag'
    after=$(as manager "$redmine/issues.json?status_id=*&limit=1" | json 'o["total_count"]')
    assert_equal "$after" $((before + 1))
    [[ $(as nobody "$redmine/issues/$issue.json?include=journals,attachments") != *"$HOST"* ]]
    hand_off "$REDMINE_KEY_reporter" redmine "$redmine" ops --issue 1
    assert_status 4
    assert_stderr_has 'creating an internal note: the tracker created the note without its internal flag'
    [[ $(as nobody "$redmine/issues/1.json?include=journals,attachments") != *"$HOST"* ]]
}

@test "Redmine: its refusals are reported in its words" {
    hand_off badkey redmine "$redmine" ops
    assert_stderr_has 'creating the issue: HTTP 401: the token is not accepted'
    hand_off "$REDMINE_KEY_outsider" redmine "$redmine" priv
    assert_stderr_has 'reading the place: project priv: HTTP 403: the token may not do that'
    hand_off "$REDMINE_KEY_manager" redmine "$redmine" ops --issue 2
    assert_stderr_has 'issue 2 belongs to another project than ops'
    head -c 6000000 /dev/zero >>bundle.tar.gz.age
    hand_off "$REDMINE_KEY_manager" redmine "$redmine" ops
    assert_status 4
    assert_stderr_has 'uploading: HTTP 422: refused: This file cannot be uploaded because it exceeds the maximum allowed file size'
    assert_stdout_has 'left the encrypted bundle (6.3 MB) left this workstation, and the tracker refused it'
}

@test "Redmine: an assignee beyond the first hundred members is found" {
    hand_off "$REDMINE_KEY_manager" redmine "$redmine" priv --assignee 'Late T'
    assert_status 0
    assert_equal "$(as manager "$redmine/issues/$issue.json" | json 'o["issue"]["assigned_to"]["name"]')" 'Late T'
    hand_off "$REDMINE_KEY_manager" redmine "$redmine" priv --assignee nobody
    assert_status 4
    assert_stderr_has 'reading the place: the project has no member "nobody" to assign'
}

@test "Redmine: a file that it changes, does not attach or returns changed is found, and no note refers to it" {
    local front=http://127.0.0.1:$PORT_redmine_front control=http://127.0.0.1:$CONTROL_redmine_front
    spoil '^PUT /issues/' edit '"uploads"=>"downloads"'
    hand_off "$REDMINE_KEY_manager" redmine "$front" ops
    assert_status 4
    assert_stderr_has 'attaching the file to the issue: the tracker accepted the request, but the issue does not have the file'
    assert_stdout_has 'left the tracker has the encrypted bundle but not the summary'
    issue=${issue:-$(sed -nE 's/^step create done issue ([0-9]+).*/\1/p' <<<"$output")}
    [[ $(as manager "$redmine/issues/$issue.json?include=journals") != *"$HOST"* ]]
    control -X POST "$control/reset"
    spoil '^POST /uploads.json' edit 'age-encryption.org/v1=>age-encryption.org/v2'
    hand_off "$REDMINE_KEY_manager" redmine "$front" ops
    assert_status 4
    assert_stderr_has 'verifying: the tracker stored other bytes: its token is '
    spoil '^GET /attachments/' rewrite 'age-encryption.org/v1=>age'
    hand_off "$REDMINE_KEY_manager" redmine "$front" ops
    assert_status 4
    assert_stderr_has 'verifying: the tracker stored 300004 of 300022 bytes'
    # The note's own flag, dropped on an issue that others can read.
    spoil '^PUT /issues/' edit '"private_notes":true=>"private_notes":false'
    hand_off "$REDMINE_KEY_manager" redmine "$front" ops --issue 1
    assert_status 4
    assert_stderr_has 'creating an internal note: the tracker created the note without its internal flag'
}

# each_request KIND PROJECT --fast|--cancel: causes the faults of each request; see tests/trackers/faults.py.
each_request() {
    local front=PORT_$1_front control=CONTROL_$1_front
    run --separate-stderr python3 "$rig_root/tests/trackers/faults.py" "${@:3}" "$1" "http://127.0.0.1:${!front}" \
        "http://127.0.0.1:${!control}" "$2" "http://127.0.0.1:$CONTROL_other"
    assert_status 0
    assert_stdout_has 'hand-offs, 0 not as they should be'
}

@test "Redmine: every fault of every request is handled" {
    TOKEN=$REDMINE_KEY_manager each_request redmine ops --fast
}

@test "Redmine: Ctrl-C during each request and each wait ends the hand-off" {
    TOKEN=$REDMINE_KEY_manager each_request redmine ops --cancel
}

# ---- nginx in front -------------------------------------------------------------------------------------------------

@test "nginx: TLS with a private CA works, and a body too large for it is reported" {
    local tls=https://127.0.0.1:$RIG_PORT_nginx
    hand_off "$REDMINE_KEY_manager" redmine "$tls" ops --ca "$RIG_DIR/nginx/ca.pem"
    assert_status 0
    hand_off "$REDMINE_KEY_manager" redmine "$tls" ops
    assert_status 4
    assert_stderr_has 'its TLS certificate is not accepted'
    assert_stdout_has 'left nothing has left this workstation'
    head -c 2000000 /dev/zero >>bundle.tar.gz.age
    hand_off "$REDMINE_KEY_manager" redmine "$tls" ops --ca "$RIG_DIR/nginx/ca.pem"
    assert_status 4
    assert_stderr_has 'uploading: HTTP 413: too large for the tracker: a web page: 413 Request Entity Too Large'
    hand_off "$REDMINE_KEY_manager" redmine "http://127.0.0.1:$RIG_PORT_nginx" ops
    assert_status 4
    assert_stderr_has 'HTTP 400'
}

# ---- Request Tracker ------------------------------------------------------------------------------------------------

# rt_as manager|requestor|outsider|nobody PATH: prints the answer of REST2 to that user; nobody has no token.
rt_as() {
    local token=RT_TOKEN_$1
    if [[ -n ${!token-} ]]; then
        get -H "Authorization: token ${!token}" "$rt/REST/2.0/$2"
    else
        get "$rt/REST/2.0/$2"
    fi
}

@test "Request Tracker: the hand-off uses only comments; the requestor sees only the ticket, others nothing" {
    local who id path transactions
    hand_off "$RT_TOKEN_manager" rt "$rt" Incidents
    assert_status 0
    assert_stdout_has 'step read-back skipped'
    id=$(rt_as manager "ticket/$issue/attachments?fields=Filename&per_page=100" |
        json '[i["id"] for i in o["items"] if i["Filename"].startswith("profgrab-")][0]')
    rt_as manager "attachment/$id" | json 'o["Content"]' | base64 -d | cmp - bundle.tar.gz.age
    read -ra transactions < <(rt_as manager "ticket/$issue/history?per_page=100&fields=Type" |
        json '" ".join(i["id"] for i in o["items"] if i["Type"] == "Comment")')
    assert_equal "${#transactions[@]}" 2
    [[ $(rt_as requestor "ticket/$issue") == *'"Subject"'* ]]
    for who in requestor outsider nobody; do
        for path in "attachment/$id" "ticket/$issue/attachments?fields=Filename,Content&per_page=100" \
            "ticket/$issue/history?fields=Content,Type&per_page=100" "ticket/$issue" "${transactions[@]/#/transaction/}"; do
            rt_as "$who" "$path" >answer
            ! grep -qF "$HOST" answer || fail "$who reads the summary at $path"
            ! grep -qF "$(head -c 60 bundle.tar.gz.age | base64 -w0 | head -c 60)" answer || fail "$who gets the file at $path"
            ! grep -qF "$name" answer || fail "$who learns the file's name at $path"
        done
    done
    for who in outsider nobody; do
        [[ $(rt_as "$who" "ticket/$issue") != *'"Subject"'* ]]
    done
}

@test "Request Tracker: plain text is not sent, because no one can query the readers of a queue" {
    hand_off_file plain.tar.gz "$RT_TOKEN_manager" rt "$rt" Incidents
    assert_status 4
    assert_stderr_has 'refused: the bundle is not encrypted, and the attachments in queue Incidents are readable by users that the tracker does not report'
    assert_stdout_has 'left nothing has left this workstation'
}

@test "Request Tracker: an existing ticket is used, and refusals are reported" {
    hand_off "$RT_TOKEN_manager" rt "$rt" Incidents
    assert_status 0
    hand_off "$RT_TOKEN_manager" rt "$rt" Incidents --issue "$issue"
    assert_status 0
    hand_off "$RT_TOKEN_outsider" rt "$rt" Incidents
    assert_stderr_has 'reading the place: queue Incidents: HTTP 403'
    hand_off 1-99-00 rt "$rt" Incidents
    assert_stderr_has 'reading the place: queue Incidents: HTTP 401: the token is not accepted'
    hand_off "$RT_TOKEN_requestor" rt "$rt" Incidents
    assert_stderr_has 'creating the issue: HTTP 403'
    assert_stdout_has 'left nothing has left this workstation'
}

@test "Request Tracker: an attachment that is dropped despite a success message is found" {
    head -c 2000000 /dev/urandom >>bundle.tar.gz.age
    hand_off "$RT_TOKEN_manager" rt "$rt" Incidents
    assert_status 4
    assert_stdout_has 'step upload done'
    assert_stderr_has 'verifying: the tracker did not store the file'
    assert_stdout_has 'left the tracker has the encrypted bundle but not the summary'
    [[ $(rt_as manager "ticket/$issue/history?fields=Content,Type&per_page=100") != *"$HOST"* ]]
}

@test "Request Tracker: transactions of its scrips after a comment are ignored" {
    local types
    hand_off "$RT_TOKEN_manager" rt "$rt" Incidents
    assert_status 0
    # Such transactions exist, although the manager does not see them.
    types=$(python3 -c 'import sqlite3, sys; print(*(r[0] for r in sqlite3.connect(sys.argv[1]).execute("SELECT Type FROM Transactions WHERE ObjectType = ? AND ObjectId = ? ORDER BY id", ("RT::Ticket", sys.argv[2]))), sep="\n")' "$RIG_DIR/rt/db" "$issue")
    [[ $types == *$'Comment\nCommentEmailRecord'*$'Comment\nCommentEmailRecord'* ]] || fail "$types"
}

@test "Request Tracker: a comment of a changed type and a file that is returned changed are found" {
    local front=http://127.0.0.1:$PORT_rt_front control=http://127.0.0.1:$CONTROL_rt_front
    spoil '/transaction/' rewrite '"Comment"=>"Correspond"'
    hand_off "$RT_TOKEN_manager" rt "$front" Incidents
    assert_status 4
    assert_stderr_has 'verifying: the tracker did not accept it as a comment'
    control -X POST "$control/reset"
    control -X POST -G "$control/fault" --data-urlencode 'on=/transaction/' --data-urlencode do=rewrite \
        --data-urlencode 'arg="Comment"=>"Correspond"' --data-urlencode after=1
    hand_off "$RT_TOKEN_manager" rt "$front" Incidents
    assert_status 4
    assert_stderr_has 'reading the note back: the note is not internal'
    assert_stdout_has 'left the tracker has the encrypted bundle and the summary'
    spoil '/comment$' edit 'age-encryption.org/v1=>age-encryption.org/v2'
    hand_off "$RT_TOKEN_manager" rt "$front" Incidents
    assert_status 4
    assert_stderr_has 'verifying: the tracker stored other bytes: SHA-256 '
}

@test "Request Tracker: every fault of every request is handled" {
    TOKEN=$RT_TOKEN_manager each_request rt Incidents --fast
}

@test "Request Tracker: Ctrl-C during each request and each wait ends the hand-off" {
    TOKEN=$RT_TOKEN_manager each_request rt Incidents --cancel
}
