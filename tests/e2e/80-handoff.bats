#!/usr/bin/env bats
# shellcheck disable=SC2030,SC2031 # each test is a subshell
# Hand-offs to our strict imitation of GitLab (tests/gitlab), and every fault of a hand-off. In each test the tracker receives no
# request that GitLab's documentation forbids, and no output contains the token.
load helper
load gitlab

# A rig without an sshd: only the tracker runs.
setup_file() {
    RIG_DIR=$(mktemp -d "${TMPDIR:-/tmp}/profgrab-rig.XXXXXX")
    export RIG_DIR
    mkdir "$RIG_DIR/pids"
    stub gitlab
    stub old -version 16.11.2
    stub tls -ca "$RIG_DIR/ca.pem"
}

teardown_file() { rig_stop; }

# The summary contains this host name: data that contains it is confidential.
HOST='file-03-stor-gprd'
MANAGER=glpat-manager-0123456789

setup() {
    e2e_setup
    export TOKEN=$MANAGER
    url=http://127.0.0.1:$PORT_gitlab
    control=http://127.0.0.1:$CONTROL_gitlab
    control -X POST "$control/reset"
    { echo age-encryption.org/v1; head -c 300000 /dev/urandom; } >bundle.tar.gz.age
    head -c 200000 /dev/urandom >plain.tar.gz
}

teardown() {
    [[ -z ${output-} || -z ${TOKEN-} || "$output$stderr" != *"$TOKEN"* ]] || fail_run 'the token was printed'
    [[ ! -s created ]] || remove_created
    [[ -n ${may_violate-} ]] || assert_equal "$(control "$control/violations")" ''
}

# hand_off PROJECT [OPTION...]: hands off the encrypted bundle with a summary.
hand_off() {
    local project=$1
    shift
    hand_off_file bundle.tar.gz.age "$project" --encrypted "$@"
}

hand_off_file() { # FILE PROJECT [OPTION...]
    local file=$1 project=$2
    shift 2
    run --separate-stderr timeout 60 "$HANDOFF" --patience 3000 --silence 10000 --summary "cpu of $HOST"$'\n/close\n@all' "$@" \
        gitlab "$url" "$project" "$file"
}

# Neither the bundle nor a word of the summary reached the tracker.
assert_nothing_sensitive() {
    refute_requested '^(POST|PUT) .*/(uploads|packages)'
    assert_no_words
}

assert_no_words() {
    [[ $(control "$control/state") != *"$HOST"* ]] || fail 'the tracker has the summary' "$(control "$control/state")"
}

# The hand-off failed with this error, a hint that begins so, and this report of the data that left.
assert_report() { # ERROR HINT LEFT
    assert_status 4
    assert_stderr_has "error: work: $1"
    [[ -z $2 ]] || assert_stderr_has "hint: $2"
    assert_stdout_has "left $3"
    assert_printable "$stderr"
}

# Reports of the data that left.
nothing='nothing has left this workstation'
empty='nothing has left this workstation but a neutral issue or note'
stored='the tracker has the encrypted bundle but not the summary'
refused='the encrypted bundle (300.0 kB) left this workstation, and the tracker refused it'

# ---- success --------------------------------------------------------------------------------------------------------

@test "a new issue: the confidential issue first, then the file, compared, then the internal note" {
    hand_off ops/public
    assert_status 0
    assert_stdout_has "url $url/ops/public/-/issues/3"
    assert_stdout_has 'left the tracker has the encrypted bundle and the summary'
    assert_equal "$(requests | sed -E 's/[0-9a-f]{32}/SECRET/; s/profgrab-[^ ]*/NAME/; s/notes\/[0-9]+/notes\/N/')" \
        "GET /api/v4/version 200 manager
GET /api/v4/projects/ops%2Fpublic 200 manager
POST /api/v4/projects/13/issues 201 manager
GET /api/v4/projects/13/issues/3 200 manager
GET /api/v4/projects/ops%2Fpublic 200 manager
GET /api/v4/projects/13/issues/3 200 manager
POST /api/v4/projects/13/uploads 201 manager
GET /api/v4/projects/13/uploads/SECRET/NAME 200 manager
GET /api/v4/projects/13/issues/3 200 manager
POST /api/v4/projects/13/issues/3/notes 201 manager
GET /api/v4/projects/13/issues/3/notes/N 200 manager"
    # The issue itself reveals nothing, not even the host; nor does the file's name.
    [[ $(state 's["ops/public"]["issues"][2]["issue"]') != *"$HOST"* ]]
    [[ $(state 's["ops/public"]["uploads"]') =~ /profgrab-[0-9TZ-]+-[0-9a-f]{12}\.tar\.gz\.age ]]
    [[ $(state 's["ops/public"]["issues"][2]["notes"][0]["body"]') == *$'```text\n  cpu of '"$HOST"$'\n  /close\n  @all\n```'* ]]
}

@test "outsiders get nothing, except the encrypted file of a public project by its address" {
    local secret note
    hand_off ops/public --issue 1
    assert_status 0
    secret=$(state 's["ops/public"]["uploads"][0]')
    note=$(state 's["ops/public"]["issues"][0]["notes"][0]["id"]')
    for token in '' glpat-outsider-0123456789 glpat-guest-0123456789; do
        local header=(-H "PRIVATE-TOKEN: $token")
        [[ -n $token ]] || header=()
        assert_equal "$(control "${header[@]}" "$url/api/v4/projects/ops%2Fpublic/issues/1/notes")" '[]'
        assert_equal "$(control "${header[@]}" -o /dev/null -w '%{http_code}' \
            "$url/api/v4/projects/ops%2Fpublic/issues/1/notes/$note")" 404
        # GitLab's documentation warns of such downloads. For this reason the bundle must be encrypted.
        control "${header[@]}" "$url/-/project/13/uploads/$secret" | cmp - bundle.tar.gz.age
    done
    control -X POST "$control/reset"
    hand_off_file plain.tar.gz ops/private
    assert_status 0
    secret=$(state 's["ops/private"]["uploads"][0]')
    for token in '' glpat-outsider-0123456789; do
        header=(-H "PRIVATE-TOKEN: $token")
        [[ -n $token ]] || header=()
        for path in "-/project/11/uploads/$secret" "api/v4/projects/11/uploads/$secret" api/v4/projects/11/issues/3 \
            api/v4/projects/11/issues/3/notes; do
            assert_equal "$(control "${header[@]}" -o /dev/null -w '%{http_code}' "$url/$path")" 404
        done
    done
    assert_equal "$(control -H 'PRIVATE-TOKEN: glpat-guest-0123456789' -o /dev/null -w '%{http_code}' \
        "$url/api/v4/projects/11/issues/3")" 404
}

@test "an issue that others can read: the internal note is checked before the upload, and filled after it" {
    hand_off ops/private --issue 1
    assert_status 0
    assert_stdout_has 'step open-note done'
    assert_equal "$(requests | grep -E '^(POST|PUT)' | sed -E 's/notes\/[0-9]+/notes\/N/')" \
        "POST /api/v4/projects/11/issues/1/notes 201 manager
POST /api/v4/projects/11/uploads 201 manager
PUT /api/v4/projects/11/issues/1/notes/N 200 manager"
    assert_equal "$(state 'len(s["ops/private"]["issues"][0]["notes"])')" 1
    assert_equal "$(state 's["ops/private"]["issues"][0]["notes"][0]["internal"]')" True
}

@test "a confidential issue gets a plain note" {
    hand_off ops/internal --issue 2
    assert_status 0
    assert_stdout_has 'step open-note skipped the issue is confidential'
    assert_equal "$(state 's["ops/internal"]["issues"][1]["notes"][0]["internal"]')" True
}

@test "labels, assignees and a title of the user's own are set" {
    hand_off ops/private --title $'slow pushes\e[31m' --label profiling --label 'team::gitaly' --assignee reporter
    assert_status 0
    assert_equal "$(state 's["ops/private"]["issues"][2]["issue"]["labels"]')" "['profiling', 'team::gitaly']"
    assert_equal "$(state 's["ops/private"]["issues"][2]["assignees"]')" '[2]'
    assert_equal "$(state 's["ops/private"]["issues"][2]["issue"]["title"]')" 'slow pushes?[31m'
    # With a title of the user's own, the report mentions the issue.
    spoil '^GET .*/issues/4$' 403
    hand_off ops/private --title 'slow pushes'
    assert_report 'reading the flag back: HTTP 403' '' 'nothing has left this workstation but an issue with your title'
    hand_off ops/private --assignee ghost
    assert_report 'reading the place: there is no user "ghost" to assign' '' "$nothing"
}

@test "a large file becomes a package, and the tracker's SHA-256 is compared" {
    hand_off ops/private --upload-max 1000
    assert_status 0
    refute_requested '/uploads'
    assert_requested '^GET .*/packages/[0-9]+/package_files 200'
    assert_equal "$(state 's["ops/private"]["packages"][0]["file_sha256"]')" "$(sha256sum <bundle.tar.gz.age | cut -d' ' -f1)"
    [[ $(state 's["ops/private"]["issues"][2]["notes"][0]["body"]') == *"$url/api/v4/projects/11/packages/generic/profgrab/"* ]]
}

@test "a GitLab that cannot return an upload gets a package" {
    url=http://127.0.0.1:$PORT_old control=http://127.0.0.1:$CONTROL_old
    hand_off ops/private
    assert_status 0
    refute_requested '/uploads'
    assert_requested '^PUT .*/packages/generic/'
}

@test "TLS with a private CA works; without the CA nothing is sent, least of all the token" {
    url=https://127.0.0.1:$PORT_tls control=http://127.0.0.1:$CONTROL_tls
    hand_off ops/private --ca "$RIG_DIR/ca.pem"
    assert_status 0
    control -X POST "$control/reset"
    hand_off ops/private
    assert_report 'reading the place: its TLS certificate is not accepted' 'add `ca: FILE` with the trusted authorities' "$nothing"
    assert_equal "$(requests)" ''
    url=http://127.0.0.1:$PORT_tls
    hand_off ops/private
    assert_report 'reading the place: HTTP 400' '' "$nothing"
    assert_equal "$(requests)" ''
    url=http://tracker.example
    hand_off ops/private
    assert_report 'the tracker'\''s url http://tracker.example would send the token unencrypted: use https' '' "$nothing"
}

@test "a dry run sends nothing, and shows each request without a secret" {
    unset TOKEN
    hand_off ops/private --dry-run --label profiling
    assert_status 0
    assert_equal "$(requests)" ''
    assert_stdout_has "would POST $url/api/v4/projects/ops%2Fprivate/issues title="
    assert_stdout_has 'confidential=true, labels=["profiling"]'
    assert_stdout_has "would POST $url/api/v4/projects/ops%2Fprivate/uploads file profgrab-"
    assert_stdout_has "would POST $url/api/v4/projects/ops%2Fprivate/issues/ISSUE/notes body ("
    refute_stdout_has "$HOST"
    hand_off ops/private --dry-run --issue 1
    assert_stdout_has "would PUT $url/api/v4/projects/ops%2Fprivate/issues/1/notes/NOTE body ("
    assert_equal "$(requests)" ''
}

# The host of these trackers does not exist, so a request would be an error.
@test "a dry run shows the requests for Redmine and Request Tracker" {
    unset TOKEN
    run --separate-stderr "$HANDOFF" --dry-run --encrypted --summary "cpu of $HOST" redmine https://tracker.invalid ops bundle.tar.gz.age
    assert_status 0
    assert_stdout_has 'would POST https://tracker.invalid/issues.json issue: { project_id="PROJECT", subject="Profiles taken with profgrab, '
    # The file first, then the check that the issue has it, then the note.
    assert_equal "$(sed -nE 's/^would (PUT|GET) [^ ]*\/issues\/ISSUE.json(\?include=[a-z]*)?.*/\1\2/p' <<<"$output")" \
        $'GET\nPUT\nGET?include=attachments\nPUT\nGET?include=journals'
    refute_stdout_has "$HOST"
    run --separate-stderr "$HANDOFF" --dry-run --encrypted --summary "cpu of $HOST" rt https://tracker.invalid ops bundle.tar.gz.age
    assert_status 0
    assert_equal "$(grep -c '^would POST https://tracker.invalid/REST/2.0/ticket/ISSUE/comment ' <<<"$output")" 2
    refute_stdout_has correspond
    refute_stdout_has "$HOST"
}

@test "a renamed project is found, and addressed by its number" {
    hand_off ops/old
    assert_status 0
    assert_requested '^GET /api/v4/projects/ops%2Fold 301'
    assert_requested '^POST /api/v4/projects/11/issues 201'
}

# ---- refusals -------------------------------------------------------------------------------------------------------

@test "plain text is not sent to a place that outsiders can read, unless the user confirms it" {
    local project
    for project in public internal secretive; do
        hand_off_file plain.tar.gz "ops/$project"
        assert_status 4
        assert_stderr_has "error: work: refused: the bundle is not encrypted, and the attachments in project ops/$project are "
        assert_stderr_has 'hint: encrypt it (--for TEAM, --encrypt-to); --plaintext-i-know sends it as it is'
        assert_stdout_has "left $nothing"
    done
    assert_stderr_has 'readable by users that the tracker does not report'
    hand_off_file plain.tar.gz ops/private --issue 1
    assert_report 'refused: the bundle is not encrypted, and the issue in project ops/private is not confidential' 'encrypt it' "$nothing"
    refute_requested '^(POST|PUT)'
    hand_off_file plain.tar.gz ops/private --issue 2
    assert_status 0
    hand_off_file plain.tar.gz ops/public --plaintext-i-know
    assert_status 0
}

@test "plain text does not become a package that anyone can read" {
    hand_off_file plain.tar.gz ops/open-packages --upload-max 1000
    assert_report 'uploading: the project lets anyone get its packages, and the bundle is not encrypted' 'encrypt it' "$empty"
    refute_requested '/packages'
    assert_no_words
}

@test "a file named as encrypted that is not encrypted is not sent" {
    hand_off_file plain.tar.gz ops/public --encrypted
    assert_status 4
    assert_stderr 'error: plain.tar.gz: it is not encrypted in the age format'
    assert_stdout_has "left $nothing"
    assert_equal "$(requests)" ''
}

@test "unknown issues and projects, and options of new issues with --issue, are refused" {
    hand_off ops/private --issue 0x1
    assert_status 4
    assert_stderr_has '"0x1" is no number of an issue'
    hand_off ops/private --issue 1 --label profiling
    assert_stderr_has 'exists and keeps its title, labels and assignees'
    hand_off ops/archived
    assert_stderr_has 'project ops/archived is archived'
    hand_off ops/none
    assert_report 'reading the place: project ops/none: HTTP 404' "the project's path is in its address: GROUP/PROJECT" "$nothing"
    hand_off ops/private --issue 99
    assert_report 'reading the place: issue 99: HTTP 404' '' "$nothing"
    may_violate=1
}

# ---- dropped flags --------------------------------------------------------------------------------------------------

@test "a dropped confidential flag stops the upload" {
    spoil '^POST .*/issues$' drop-confidential
    hand_off ops/public
    assert_report 'reading the flag back: the tracker created the issue without its confidential flag' 'is the token' "$empty"
    assert_stderr_has "close $url/ops/public/-/issues/3"
    assert_nothing_sensitive
}

@test "a dropped internal flag stops the upload, and the note reveals nothing" {
    export TOKEN=glpat-guest-0123456789
    hand_off ops/public --issue 1
    assert_report 'creating an internal note: the tracker created the note without its internal flag' 'may the token' "$empty"
    assert_nothing_sensitive
}

@test "an issue opened to all during the upload does not get the summary" {
    spoil '^POST .*/uploads$' open
    hand_off ops/public
    assert_report 'writing the note: the issue is not confidential any more' '' 'the tracker has the encrypted bundle but not the summary'
    assert_no_words
}

@test "a new issue opened to all after its flag was read back gets nothing" {
    local changed='uploading: the issue is not confidential any more'
    spoil '^GET .*/issues/3$' open
    hand_off ops/public
    assert_report "$changed" 'nothing was uploaded' "$empty"
    assert_nothing_sensitive
    # A package takes a file that an upload refuses; the issue is opened during that refusal.
    control -X POST "$control/reset"
    spoil '^POST .*/uploads$' 413
    spoil '^GET .*/issues/3$' open '' 1 1
    hand_off ops/public
    assert_report "$changed" 'nothing was uploaded' ''
    refute_requested '/packages'
    assert_no_words
}

@test "an issue opened to all after the first check gets no plain text" {
    spoil '^GET .*/issues/2$' open
    hand_off_file plain.tar.gz ops/private --issue 2
    assert_report 'reading the flag back: the bundle is not encrypted, and the issue in project ops/private is not confidential' \
        'encrypt it' "$nothing"
    refute_requested '^(POST|PUT)'
}

@test "a place opened to others before the upload gets no file" {
    local changed='uploading: project ops/private: readable by anyone now, and readable by its members when the hand-off began'
    spoil '^POST .*/issues$' visibility public
    hand_off_file plain.tar.gz ops/private
    assert_report "$changed" 'nothing was uploaded; check who can read there' "$empty"
    assert_nothing_sensitive
    # An encrypted bundle stops there too: a person should find out why the visibility changed.
    control -X POST "$control/reset"
    spoil '^POST .*/issues$' visibility public
    hand_off ops/private
    assert_report "$changed" 'nothing was uploaded' "$empty"
    assert_nothing_sensitive
    # Packages have a permission of their own, which changes while an upload is refused.
    control -X POST "$control/reset"
    spoil '^GET .*/projects/ops%2Fprivate$' packages public 1 1
    spoil '^POST .*/uploads$' 413
    hand_off ops/private
    # The tracker may refuse the upload before or after it has read the file.
    assert_report 'uploading: project ops/private is not as it was when the hand-off began' 'nothing was uploaded' ''
    [[ $output == *"left $empty"* || $output == *'left this workstation, and the tracker refused it'* ]] || fail_run 'what has left'
    refute_requested '^PUT .*/packages'
    assert_no_words
}

@test "a guest's note on his own confidential issue is as confidential as the issue" {
    export TOKEN=glpat-guest-0123456789
    hand_off ops/private
    assert_status 0
    assert_stdout_has 'step read-note done the note is as confidential as its issue'
}

# ---- bad answers ----------------------------------------------------------------------------------------------------

@test "401, 403, 404 and 422 are reported in the tracker's words, and nothing sensitive has left" {
    local what words
    while read -r what words; do
        control -X POST "$control/reset"
        spoil '^POST .*/issues$' "$what"
        hand_off ops/public
        assert_report "creating the issue: HTTP $words" '' "$nothing"
        assert_nothing_sensitive
    done <<'EOF'
401 401: the token is not accepted: 401 Unauthorized
403 403: the token may not do that: The request requires higher privileges
404 404: there is none, or the token may not see it: 404 Project Not Found
422 422: refused: title is too long has <b>markup</b> ?[31m
400 400: title is missing
EOF
    export TOKEN=glpat-nobody-0123456789
    hand_off ops/public
    assert_report 'reading the place: HTTP 401: the token is not accepted' 'has it expired?' "$nothing"
}

@test "a token repeated by a tracker is masked" {
    spoil '^POST .*/issues$' echo
    hand_off ops/public
    assert_report 'creating the issue: HTTP 400: what is *** for?' '' "$nothing"
}

@test "web pages, empty and endless answers instead of JSON are reported" {
    spoil '^GET .*/version' html
    hand_off ops/public
    assert_report 'reading the place: HTTP 200, and no JSON: a web page: Sign in' "is $url the tracker itself" "$nothing"
    spoil '^GET .*/projects/' empty
    hand_off ops/public
    assert_report 'reading the place: project ops/public: HTTP 200, and an empty answer instead of JSON' '' "$nothing"
    spoil '^GET .*/projects/' endless
    hand_off ops/public
    assert_report 'reading the place: project ops/public: the answer is larger than 1048576 bytes' '' "$nothing"
    spoil '^POST .*/issues$' html
    hand_off ops/public
    assert_report 'creating the issue: the request was sent, but its result is unknown: HTTP 200, and no JSON' \
        "check $url/ops/public before you repeat it" "$empty"
    assert_nothing_sensitive
}

@test "429 in both forms is waited for, and the same request is repeated" {
    # The tracker asks for a longer wait than profgrab's own pause.
    spoil '^POST .*/issues$' later-text 2
    spoil '^POST .*/notes$' later-json
    spoil '^POST .*/uploads$' later-text 1
    hand_off ops/public
    assert_status 0
    assert_equal "$(state 'len(s["ops/public"]["uploads"])')" 1
    assert_stdout_has 'waiting 2000 HTTP 429'
    assert_equal "$(requests | grep -c '^POST .*/issues later-text')" 1
    assert_equal "$(requests | grep -c '^POST .*/issues 201')" 1
    assert_equal "$(state 'len(s["ops/public"]["issues"][2]["notes"])')" 1
}

@test "429 with a longer wait than allowed is reported at once" {
    spoil '^POST .*/issues$' later-text 3600
    hand_off ops/public
    assert_report 'creating the issue: HTTP 429: too many requests; it accepts the next one in 3600 s' 'repeat it later' "$nothing"
}

@test "a file refused after the upload is reported as sent, encrypted or not" {
    spoil '^POST .*/uploads$' refused-late
    hand_off ops/public
    assert_report 'uploading: HTTP 422: refused: the virus scanner is out of order' '' "$refused"
    assert_no_words
    spoil '^POST .*/uploads$' refused-late
    hand_off_file plain.tar.gz ops/private
    assert_report 'uploading: HTTP 422' '' 'the bundle, in plain text, (200.0 kB) left this workstation, and the tracker refused it'
}

@test "413 on an upload, as a web page, causes a package instead" {
    head -c 3000000 /dev/urandom >>bundle.tar.gz.age
    spoil '^POST .*/uploads$' 413
    hand_off ops/private
    assert_status 0
    assert_requested '^POST .*/uploads 413'
    assert_requested '^PUT .*/packages/generic/.* 201'
    control -X POST "$control/reset"
    spoil '^POST .*/uploads$' 413
    spoil '^PUT .*/packages' 413
    hand_off ops/private
    assert_report 'uploading: the package registry: HTTP 413: too large for the tracker: a web page: 413 Request Entity Too Large' '' ''
    # A file refused before it was read may have left in part, or not at all.
    grep -qE '^left (nothing has left|at most .* of the encrypted bundle|the encrypted bundle .* refused)' <<<"$output" || fail_run 'left'
    assert_no_words
}

@test "after a 5xx answer, requests that read are repeated, and those that write are not" {
    spoil '^GET .*/projects/ops%2Fpublic$' 502
    hand_off ops/public
    assert_status 0
    spoil '^POST .*/uploads$' 502
    hand_off ops/public
    assert_report 'uploading: the request was sent, but its result is unknown: HTTP 502: the tracker failed: a web page: 502 Bad Gateway' \
        "check $url/ops/public/-/issues/4 before you repeat it" 'the tracker may have the encrypted bundle but does not have the summary'
    assert_equal "$(requests | grep -c '^POST .*/uploads 502')" 1
    spoil '^POST .*/issues$' 500
    hand_off ops/public
    assert_report 'creating the issue: the request was sent, but its result is unknown: HTTP 500' '' "$empty"
}

@test "a redirect to another host is reported and not followed, and does not get the token" {
    stub other
    local other=http://127.0.0.1:$PORT_other on
    for on in '^GET .*/projects/' '^POST .*/issues$' '^POST .*/uploads$'; do
        control -X POST "$control/reset"
        spoil "$on" redirect "$other"
        hand_off ops/public
        assert_status 4
        assert_stderr_has "HTTP 307: it redirects to $other/api/v4/projects/"
        assert_stderr_has "hint: the token goes to $url alone"
        assert_no_words
    done
    spoil '^GET .*/projects/' redirect "http://localhost:$PORT_gitlab"
    hand_off ops/public
    assert_stderr_has 'not followed'
    assert_equal "$(control "http://127.0.0.1:$CONTROL_other/log")" ''
    rig_end other
}

# ---- broken connections ---------------------------------------------------------------------------------------------

@test "an upload cut in the middle leaves no file, and is not repeated" {
    head -c 30000000 /dev/zero >>bundle.tar.gz.age
    spoil '^POST .*/uploads$' cut
    hand_off ops/public
    assert_report 'uploading: the connection ended' '' 'at most '
    grep -qE '^left at most [1-9][0-9.]* [kM]B of 30.3 MB of the encrypted bundle left this workstation, and the tracker did not take it$' <<<"$output" ||
        fail_run 'the data that left is not reported'
    assert_equal "$(requests | grep -c '/uploads')" 1
    assert_no_words
}

@test "an upload cut after its last byte, or without an answer, is reported as unknown and not repeated" {
    local how
    for how in cut-after lost; do
        control -X POST "$control/reset"
        spoil '^POST .*/uploads$' "$how"
        hand_off ops/public
        assert_report 'uploading: the request was sent, but its result is unknown: it closed the connection without an answer' \
            "check $url/ops/public/-/issues/3 before you repeat it" 'the tracker may have the encrypted bundle but does not have the summary'
        assert_equal "$(requests | grep -c '^POST .*/uploads')" 1
        assert_no_words
    done
    assert_equal "$(state 'len(s["ops/public"]["uploads"])')" 1
}

@test "a new issue whose answer was lost is not made twice" {
    spoil '^POST .*/issues$' lost
    hand_off ops/public
    assert_report 'creating the issue: the request was sent, but its result is unknown' "check $url/ops/public before" "$empty"
    assert_equal "$(state 'len(s["ops/public"]["issues"])')" 3
    assert_nothing_sensitive
}

@test "a silent tracker and an unreachable one are reported" {
    spoil '^POST .*/issues$' silent
    hand_off ops/public --silence 700
    assert_report 'creating the issue: the request was sent, but its result is unknown: no answer: no data arrived for 700ms' '' "$empty"
    url=http://127.0.0.1:1
    hand_off ops/public
    assert_report 'reading the place: Failed to connect' '' "$nothing"
}

@test "a file stored short or changed is found, and no note refers to it" {
    spoil '^POST .*/uploads$' truncate
    hand_off ops/public
    assert_report 'verifying: the tracker stored 150011 of 300022 bytes' 'the stored file differs from the sent one' \
        'the tracker has the encrypted bundle but not the summary'
    assert_no_words
    spoil '^POST .*/uploads$' flip
    hand_off ops/public
    assert_report 'verifying: the tracker stored other bytes: SHA-256 ' '' 'the tracker has the encrypted bundle but not the summary'
    spoil '^PUT .*/packages' truncate
    hand_off ops/public --upload-max 1000
    assert_report 'verifying: the tracker stored 150011 of 300022 bytes' '' 'the tracker has the encrypted bundle but not the summary'
    assert_no_words
}

@test "an interruption between two steps stops there, and reports what has left" {
    hand_off ops/public --cancel-after create
    assert_report 'reading the flag back: interrupted' '' "$empty"
    assert_nothing_sensitive
}

@test "a hand-off only reads the bundle" {
    local before
    before=$(sha256sum bundle.tar.gz.age; stat -c '%a %Y' bundle.tar.gz.age)
    spoil '^POST .*/uploads$' truncate
    hand_off ops/public
    assert_status 4
    assert_equal "$(sha256sum bundle.tar.gz.age; stat -c '%a %Y' bundle.tar.gz.age)" "$before"
}

# ---- every request --------------------------------------------------------------------------------------------------

# Every fault of each request, with its message: tests/trackers/faults.py.
each_request() { # NAME [--cancel]
    local other=CONTROL_$1
    stub "$1"
    run --separate-stderr python3 "$rig_root/tests/trackers/faults.py" "${@:2}" gitlab "$url" "$control" ops/public \
        "http://127.0.0.1:${!other}"
    assert_status 0
    assert_stdout_has 'hand-offs, 0 not as they should be'
    rig_end "$1"
}

@test "every fault of every request: the step and what has left are reported, nothing is sent twice, the token goes nowhere else" {
    each_request faulty
}

@test "Ctrl-C during each request and each wait ends the hand-off at once with a true report" {
    each_request interrupted --cancel
}

@test "waits are reported one by one with their sum, and end with --patience" {
    spoil '^POST .*/uploads$' later-json '' 10
    hand_off ops/public --patience 5000
    grep -qE '^waiting [0-9]+ HTTP 429$' <<<"$output" || fail_run 'the first wait is not reported'
    grep -qE '^waiting [0-9]+ HTTP 429, after [0-9.ms]+ of at most 5s$' <<<"$output" || fail_run 'the second wait is not reported'
    assert_equal "$(sed -n 's/^waiting \([0-9]*\).*/\1/p' <<<"$output" | awk '{ sum += $1 } END { print (sum > 0 && sum <= 5000) }')" 1
    assert_stderr_has 'error: work: uploading: HTTP 429: too many requests, also after waiting '
    assert_stderr_has 'hint: repeat it later'
    assert_equal "$(state 's["ops/public"]["uploads"]')" '[]'
    assert_no_words
    control -X POST "$control/reset"
    spoil '^GET .*/projects/ops%2Fpublic$' 502 '' 10
    hand_off ops/public --patience 10000
    assert_report 'reading the place: project ops/public: HTTP 502: the tracker failed, also after waiting ' '' "$nothing"
    assert_equal "$(requests | grep -c 'ops%2Fpublic 502')" 3
}

# The program itself, for its exit code.
@test "profgrab attach interrupted during the upload: exit code 143, what has left, and how to go on" {
    local bundle pid rc i
    ssh-keygen -q -t ed25519 -N '' -f mate
    cat >inventory.yaml <<EOF
version: 1
trackers: { lab: { kind: gitlab, url: "$url", token_env: TOKEN } }
teams: { gitaly: { recipients: [ $PWD/mate.pub ], tracker: lab, project: ops/public } }
EOF
    chmod 600 inventory.yaml
    bundle=$("$profgrab_program" bundle create "$rig_root"/tests/data/trace/go-1.22)
    spoil '^POST .*/uploads$' silent
    "$profgrab_program" attach "$bundle" -i inventory.yaml --for gitaly >out 2>log 3>&- &
    pid=$!
    for ((i = 0; i < 500; i++)); do
        ! requests | grep -q '/uploads silent' || break
        sleep 0.02
    done
    kill -TERM "$pid"
    wait "$pid" && rc=0 || rc=$?
    assert_equal "$rc" 143
    grep -q 'lab: uploading: the request was sent, but its result is unknown: interrupted' log || fail "$(cat log)"
    grep -q 'the tracker may have the encrypted bundle but does not have the summary' log || fail "$(cat log)"
    grep -q "hint: check $url/ops/public/-/issues/3 before you repeat it" log || fail "$(cat log)"
    grep -q 'to repeat the hand-off: profgrab attach ' log || fail "$(cat log)"
    ! grep -q "$TOKEN" out log || fail 'the token was printed'
    "$profgrab_program" bundle verify "$bundle"
}

@test "a second signal during the upload ends attach at once and prints what may have left" {
    local bundle pid rc
    ssh-keygen -q -t ed25519 -N '' -f mate
    cat >inventory.yaml <<EOF
version: 1
trackers: { lab: { kind: gitlab, url: "$url", token_env: TOKEN } }
teams: { gitaly: { recipients: [ $PWD/mate.pub ], tracker: lab, project: ops/public } }
EOF
    chmod 600 inventory.yaml
    bundle=$("$profgrab_program" bundle create "$rig_root"/tests/data/trace/go-1.22)
    local request left
    while IFS='|' read -r request left; do
        control -X POST "$control/reset"
        spoil "$request" silent
        "$profgrab_program" attach -q "$bundle" -i inventory.yaml --for gitaly >out 2>log 3>&- &
        pid=$!
        for ((i = 0; i < 500; i++)); do ! requests | grep -q ' silent ' || break; sleep 0.02; done
        # Both signals are pending when the process continues, so that the first one cannot end it.
        kill -STOP "$pid"
        kill -TERM "$pid"
        kill -HUP "$pid"
        kill -CONT "$pid"
        wait "$pid" && rc=0 || rc=$?
        [[ $rc == 129 || $rc == 143 ]] || fail "exit code $rc" "$(<log)"
        grep -q "^profgrab: exited at once; the bundle is safe in $bundle, its copy is $bundle.age$" log || fail "$(<log)"
        grep -q "^profgrab: $left$" log || fail "$(<log)"
        [[ ! -s out ]]
        rm "$bundle.age"
    done <<'EOF'
^GET .*/projects/|nothing has left this workstation
^POST .*/issues$|nothing has left this workstation but a neutral issue or note
^POST .*/uploads$|the tracker may have the encrypted bundle but does not have the summary
^GET .*/uploads/|the tracker has the encrypted bundle but not the summary
^POST .*/notes$|the tracker has the encrypted bundle and may have the summary
EOF
    "$profgrab_program" bundle verify "$bundle"
}

# ---- files in an object store ---------------------------------------------------------------------------------------

# The object store refuses requests with a token or a cookie and records a violation, which teardown finds.
@test "files in an object store are fetched back from there without the token" {
    spoil '^GET .*/uploads/' bucket
    hand_off ops/private
    assert_status 0
    assert_stdout_has 'step verify done'
    assert_requested '^BUCKET GET /uploads/'
    control -X POST "$control/reset"
    # GitLab returns a package's SHA-256, so it is not fetched back; a package without one is.
    spoil '^GET .*/packages/generic/' bucket
    hand_off ops/private --upload-max 1000
    assert_status 0
    refute_requested BUCKET
    spoil '^GET .*/package_files$' no-digest
    hand_off ops/private --upload-max 1000
    assert_status 0
    assert_requested '^BUCKET GET '
}

@test "an object store that truncates, refuses, or redirects to the tracker or to plain HTTP is reported" {
    local how words
    while IFS='|' read -r how words; do
        control -X POST "$control/reset"
        spoil '^GET .*/uploads/' bucket "$how"
        hand_off ops/private
        assert_report "verifying: ${words//STORE/the store http://127.0.0.1:$BUCKET_gitlab, to which the tracker redirects downloads}" \
            'the stored file differs from the sent one, or cannot be compared: no note refers to it' "$stored"
        refute_stderr_has X-Amz
        refute_stderr_has password
        assert_no_words
    done <<'EOF'
truncate|the tracker stored 150011 of 300022 bytes
403|it cannot be fetched back to be compared: STORE: HTTP 403
loop|it cannot be fetched back to be compared: STORE: HTTP 302
user|it cannot be fetched back to be compared: HTTP 302: it redirects to http://127.0.0.1
http://bucket.example|it cannot be fetched back to be compared: HTTP 302: it redirects to http://bucket.example/uploads/
back|it cannot be fetched back to be compared: the store http
EOF
    # The request that was redirected back to the tracker had no token.
    assert_requested '^GET /api/v4/projects/11 404 anonymous'
    # Answers other than files come from the tracker alone.
    spoil '^GET .*/issues/4$' redirect "http://127.0.0.1:$BUCKET_gitlab"
    hand_off ops/private
    assert_report 'reading the flag back: HTTP 307: it redirects to' 'the token goes to' "$empty"
    refute_requested 'BUCKET GET /api'
}

@test "an object store over TLS is checked with the system's CAs and the tracker's own" {
    url=https://127.0.0.1:$PORT_tls control=http://127.0.0.1:$CONTROL_tls
    control -X POST "$control/reset"
    spoil '^GET .*/uploads/' bucket
    hand_off ops/private --ca "$RIG_DIR/ca.pem"
    assert_status 0
    assert_requested '^BUCKET GET '
    stub untrusted -ca "$RIG_DIR/untrusted.pem"
    spoil '^GET .*/uploads/' bucket "https://127.0.0.1:$BUCKET_untrusted"
    hand_off ops/private --ca "$RIG_DIR/ca.pem"
    assert_report "verifying: it cannot be fetched back to be compared: the store https://127.0.0.1:$BUCKET_untrusted, to which the tracker redirects downloads: its TLS certificate is not accepted" \
        '' "$stored"
    assert_equal "$(control "http://127.0.0.1:$CONTROL_untrusted/log")" ''
    rig_end untrusted
}

@test "a proxy of the environment is not used for a tracker on loopback over plain HTTP" {
    http_proxy=http://127.0.0.1:1 HTTP_PROXY=http://127.0.0.1:1 all_proxy=http://127.0.0.1:1 hand_off ops/private
    assert_status 0
}

# ---- a real GitLab --------------------------------------------------------------------------------------------------

# request CURL-ARG...: sends a request with the token, which is not in curl's arguments.
request() {
    (umask 077 && printf 'PRIVATE-TOKEN: %s\n' "$TOKEN" >header)
    control -H @header "$@"
}

# Removes the objects listed in the file `created`; an issue that may not be removed is closed.
remove_created() {
    local path
    while read -r path; do
        [[ $(request -o /dev/null -w '%{http_code}' -X DELETE "$path") != 403 || $path != */issues/* ]] ||
            request -o /dev/null -X PUT -H 'Content-Type: application/json' -d '{"state_event":"close"}' "$path"
    done <created
    rm created
}

# assert_note: the note on $issue is internal and has the text; its file will be removed.
assert_note() {
    request "$issue/notes?per_page=100" >notes
    python3 - "$HOST" "$api" notes <<'EOF' >>created
import json, re, sys
host, api, notes = sys.argv[1:]
ours = [n for n in json.load(open(notes)) if not n.get("system") and "Profile bundle" in n["body"]]
assert len(ours) == 1 and ours[0]["internal"] and host in ours[0]["body"], ours
print(api + re.search(r"/uploads/[0-9a-f]{32}/[^)]+", ours[0]["body"]).group())
EOF
}

# assert_issue CONFIDENTIAL: checks the flag, and that $issue itself reveals nothing.
assert_issue() {
    request "$issue" >issue.json
    python3 - "$HOST" "$1" issue.json <<'EOF'
import json, sys
host, confidential, issue = sys.argv[1:]
o = json.load(open(issue))
assert str(o["confidential"]) == confidential and host not in str(o), o
EOF
}

# check_real_gitlab PROJECT: hands off to a new issue, and to an issue that others can read, on the GitLab at $url.
check_real_gitlab() {
    local api=$url/api/v4/projects/${1//\//%2F} issue number
    hand_off "$1" --title 'profgrab: a test, please ignore'
    number=$(sed -n 's|^url .*/||p' <<<"$output")
    issue=$api/issues/$number
    [[ -z $number ]] || echo "$issue" >>created
    assert_status 0
    assert_stdout_has 'step verify done'
    assert_stdout_has 'step read-note done'
    assert_issue True
    assert_note

    number=$(request -H 'Content-Type: application/json' -d '{"title":"profgrab: a test, please ignore"}' "$api/issues" |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["iid"])')
    issue=$api/issues/$number
    echo "$issue" >>created
    hand_off "$1" --issue "$number"
    assert_status 0
    assert_stdout_has 'step open-note done'
    assert_stdout_has 'step read-note done the note is internal'
    assert_issue False
    assert_note
}

# Tests check_real_gitlab itself, which rarely runs with a real GitLab.
@test "the requests to a real GitLab, and their complete removal, work with our own" {
    check_real_gitlab ops/private
    remove_created
    assert_equal "$(state 's["ops/private"]["uploads"]')" '[]'
    assert_equal "$(state '[i["issue"]["state"] for i in s["ops/private"]["issues"]]')" "['opened', 'opened', 'deleted', 'deleted']"
    # A reporter can remove neither issues nor files, and the files may be in an object store.
    export TOKEN=glpat-reporter-0123456789
    spoil '^GET .*/uploads/' bucket '' 2
    check_real_gitlab ops/private
    remove_created
    assert_equal "$(state '[i["issue"]["state"] for i in s["ops/private"]["issues"]][-2:]')" "['closed', 'closed']"
}

@test "a real GitLab (PROFGRAB_TEST_GITLAB_URL, _TOKEN, _PROJECT)" {
    [[ -n ${PROFGRAB_TEST_GITLAB_URL-} ]] || skip 'PROFGRAB_TEST_GITLAB_URL is not set'
    url=$PROFGRAB_TEST_GITLAB_URL
    export TOKEN=$PROFGRAB_TEST_GITLAB_TOKEN
    check_real_gitlab "$PROFGRAB_TEST_GITLAB_PROJECT"
    remove_created
}
