#!/usr/bin/env bats
# profgrab hosts and the inventory. Opens no host, so it needs no rig.

load helper

setup_file() { :; }
teardown_file() { :; }
teardown() { :; }

setup() {
    e2e_setup
    cat >inv.yaml <<'Y'
version: 1
services:
  gitaly: { port: 9236, kinds: [cpu, heap] }
  web: { port: 6060, path: /internal/pprof/ }
hosts:
  file-[08-12]: { address: "{name}.example.internal", services: [gitaly], labels: { env: gprd } }
  laptop: { connect: direct, address: 127.0.0.1, services: [gitaly, web] }
groups:
  storage: [ "file-*" ]
Y
    chmod 600 inv.yaml
}

@test "hosts prints a table" {
    run_profgrab hosts -i inv.yaml
    assert_status 0
    assert_equal "${#lines[@]}" 7
    assert_equal "${lines[0]}" 'HOST     ADDRESS                   ROUTE   SERVICES              LABELS'
    assert_equal "${lines[1]}" 'file-08  file-08.example.internal  ssh     gitaly:9236           env=gprd'
    assert_equal "${lines[6]}" 'laptop   127.0.0.1                 direct  gitaly:9236,web:6060'
    [[ $output != *' '$'\n'* && $output != *' ' ]] || fail 'a line ends with a blank'
}

@test "hosts accepts globs, ranges and groups, and reports a pattern without a match" {
    run_profgrab hosts -i inv.yaml 'file-1*'
    assert_equal "${#lines[@]}" 4
    run_profgrab hosts -i inv.yaml 'file-[08-09]'
    assert_equal "${#lines[@]}" 3
    run_profgrab hosts -i inv.yaml storage
    assert_equal "${#lines[@]}" 6
    run_profgrab hosts -i inv.yaml fil-08
    assert_status 2
    assert_stderr_has 'file-08'
}

@test "hosts --json lists the hosts with their labels, routes and services" {
    run_profgrab hosts --json -i inv.yaml
    assert_status 0
    assert_equal "$(python3 -c '
import json, sys
hosts = json.load(sys.stdin)
print(len(hosts), hosts[0]["name"], hosts[0]["labels"]["env"], hosts[5]["route"], hosts[5]["services"][1]["path"])' <<<"$output")" \
        '6 file-08 gprd direct /internal/pprof'
}

@test "the inventory is found by -i, the variable, or in the user's directory; never in the working directory" {
    run_profgrab hosts
    assert_status 2
    mkdir "$XDG_CONFIG_HOME/profgrab"
    cp inv.yaml inventory.yaml
    run_profgrab hosts
    assert_status 2
    sed 's/laptop/own/' inv.yaml >"$XDG_CONFIG_HOME/profgrab/inventory.yaml"
    chmod 600 "$XDG_CONFIG_HOME/profgrab/inventory.yaml"
    run_profgrab hosts own
    assert_status 0
    sed 's/laptop/variable/' inv.yaml >variable.yaml
    chmod 600 variable.yaml
    PROFGRAB_INVENTORY=$PWD/variable.yaml run_profgrab hosts variable
    assert_status 0
    PROFGRAB_INVENTORY=$PWD/variable.yaml run_profgrab hosts -i inv.yaml laptop
    assert_status 0
}

@test "the inventory in the documentation is valid" {
    sed -n '/^```yaml$/,/^```$/ { /^```/d; p }' "$rig_root/docs/inventory.md" >doc.yaml
    chmod 600 doc.yaml
    run_profgrab hosts -i doc.yaml
    assert_status 0
    assert_stdout_has 'file-40'
}

@test "help and version print their texts" {
    run_profgrab help
    assert_status 0
    assert_stdout_has 'bundle'
    run_profgrab help grab
    assert_stdout_has '--ssh-config'
    assert_stdout_has 'goroutines[=text|grouped|proto]'
    run_profgrab bundle --help
    assert_stdout_has 'extract'
    run_profgrab --version
    assert_stdout_has 'profgrab '
    assert_stdout_has 'libssh2 '
    run_profgrab help nothing
    assert_status 2
}
