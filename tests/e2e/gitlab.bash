# A strict stateful GitLab for tests (tests/gitlab). A file that needs it has `load gitlab` after `load helper`.
# shellcheck shell=bash disable=SC2154 # the rig sets rig_root; the test sets control, a URL

# stub NAME [FLAG...]: starts a process of tests/gitlab; its ports become PORT_NAME, CONTROL_NAME and BUCKET_NAME.
stub() {
    local name=$1 log=$RIG_DIR/$1/log
    shift
    "$rig_root/tools/build-fixture" gitlab
    rig_spawn "$name" "$rig_root/build/fixture/gitlab" "$@"
    rig_wait "$name" 20 grep -q '^listening ' "$log"
    export "PORT_$name=$(sed -n 's/^listening .*://p' "$log")" "CONTROL_$name=$(sed -n 's/^control=//p' "$log")" \
        "BUCKET_$name=$(sed -n 's/^bucket=//p' "$log")"
}

# control CURL-ARG...: a request to the control of a stub, or to the stub itself.
control() { curl -sS --max-time 10 "$@"; }

# spoil ON DO [ARG [TIMES [AFTER]]]: lets the first AFTER requests that match ON pass, and answers the next TIMES of them with the
# fault DO.
spoil() {
    control -X POST -G "$control/fault" --data-urlencode "on=$1" --data-urlencode "do=$2" --data-urlencode "arg=${3-}" \
        --data-urlencode "times=${4-1}" --data-urlencode "after=${5-0}"
}

requests() { control "$control/log"; }
# state EXPRESSION: prints a Python expression over the state `s` of the tracker.
state() { control "$control/state" | python3 -c "import json, sys; s = json.load(sys.stdin); print($1)"; }

assert_requested() { # REGEX
    requests | grep -qE "$1" || fail "no request: $1" "$(requests)"
}

refute_requested() {
    ! requests | grep -E "$1" || fail "requested: $1" "$(requests)"
}
