#!/usr/bin/env bats
# The tree's own checks can fail: each is given a small tree that breaks its rule.

bats_require_minimum_version 1.5.0

setup() {
    tools=$(realpath "${BATS_TEST_DIRNAME}/../../tools")
    tree=$BATS_TEST_TMPDIR/tree
    mkdir -p "$tree/base" "$tree/cli" "$tree/tests/unit"
}

@test "check-json accepts jansson's readers in base/json.c and in tests" {
    echo 'json_t *root = json_loadb(text, n, 0, NULL);' | tee "$tree/base/json.c" >"$tree/tests/unit/test_x.c"
    echo 'return json_load_nothing(text);' >"$tree/cli/other.c"
    run "$tools/check-json" "$tree"
    echo "$output"
    [[ $status == 0 && $output == *'ok 1 -'* && $output != *'not ok'* ]]
}

@test "check-json fails on each of jansson's readers elsewhere" {
    local reader
    for reader in json_loads json_loadb json_loadf json_loadfd json_load_file json_load_callback; do
        printf 'int x;\njson_t *root = %s(text, 0, NULL);\n' "$reader" >"$tree/cli/digest.c"
        run "$tools/check-json" "$tree"
        echo "$output"
        [[ $status == 1 && $output == *'not ok 1 -'* && $output == *"./cli/digest.c:2:json_t *root = $reader("* ]]
    done
}
