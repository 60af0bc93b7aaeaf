#!/usr/bin/env bats
# Services from sources: a real Prometheus, files of Prometheus and Parca, and sources with bad answers.

load helper

setup_file() {
    e2e_setup_file
    rig_fetch prometheus
    mkdir "$RIG_DIR/prom"
    cat >"$RIG_DIR/prom/prometheus.yml" <<Y
global: { scrape_interval: 24h }
scrape_configs:
  - job_name: node
    static_configs: [ { targets: ["127.0.0.1:$RIG_PORT_node_exporter"] } ]
  - job_name: storage
    static_configs: [ { targets: ["file-03:9236", "FILE-04:9236", "elsewhere:1"] } ]
  - job_name: by-file
    file_sd_configs: [ { files: ["sd.json"] } ]
Y
    printf '[{"targets":["localhost:%s"],"labels":{"job":"rude"}}]' "$RIG_PORT_rude" >"$RIG_DIR/prom/sd.json"
    rig_on_port prometheus prometheus_at 'rig_http_is_ok PORT /-/ready'
    rig_wait prometheus 20 prometheus_is_ready
    rig_on_port source source_at 'rig_http_is_ok PORT /html'
}

prometheus_at() { # NAME PORT
    rig_spawn "$1" "$rig_packages/usr/bin/prometheus" --config.file="$RIG_DIR/prom/prometheus.yml" \
        --storage.tsdb.path="$RIG_DIR/prom/tsdb" --web.listen-address="127.0.0.1:$2"
}

source_at() { # NAME PORT
    rig_spawn "$1" "$rig_root/tests/rig/bad_discovery_source.py" "$2" "$RIG_PORT_prometheus" "$RIG_DIR/secret"
}

prometheus_is_ready() { curl -s "http://127.0.0.1:$RIG_PORT_prometheus/api/v1/targets" | grep -q '"job":"rude"'; }

setup() {
    e2e_setup
    PROMETHEUS=http://127.0.0.1:$RIG_PORT_prometheus SOURCE=http://127.0.0.1:$RIG_PORT_source
}

# with_sources ENTRY...: writes an inventory with these entries under `discovery`, which $PROFGRAB_INVENTORY names.
with_sources() {
    export PROFGRAB_INVENTORY=$PWD/inventory.yaml
    cat >inventory.yaml <<'Y'
version: 1
services:
  gitaly: { port: 1, kinds: [heap] }
  byhand: { port: 2 }
hosts:
  file-03: { labels: { env: test } }
  file-04: { services: [gitaly] }
  laptop: { connect: direct, address: 127.0.0.1, services: [byhand] }
discovery:
Y
    printf '  - %s\n' "$@" >>inventory.yaml
    chmod 600 inventory.yaml
}

# Prints host/service destination:port of each discovered service, from `hosts --json`.
list_discovered() {
    profgrab hosts --json 2>/dev/null | python3 -c '
import json, sys
for h in json.load(sys.stdin):
    for s in h["services"]:
        if "source" in s:
            print("%s/%s %s:%s" % (h["name"], s["name"], s["host"], s["port"]), end="; ")'
}

@test "the targets of a real Prometheus are found, with and without an inventory" {
    run_profgrab hosts --from "prometheus:$PROMETHEUS/targets"
    assert_status 0
    [[ ${lines[0]} =~ ^'HOST  SERVICE  ADDRESS    PORT   JOB'\ +LABELS$ ]] || fail_run "${lines[0]}"
    assert_equal "${#lines[@]}" 6
    assert_stdout_has "-     -        localhost  $RIG_PORT_rude  rude"
    with_sources "{ prometheus: \"$PROMETHEUS\", host: file-03 }"
    assert_equal "$(list_discovered)" "file-03/node 127.0.0.1:$RIG_PORT_node_exporter; file-03/rude localhost:$RIG_PORT_rude; file-03/storage file-03:9236; file-04/storage file-04:9236; "
    run_profgrab hosts
    assert_status 0
    assert_stdout_has "node:$RIG_PORT_node_exporter (prometheus, "
    assert_stdout_has 'gitaly:1,storage:9236 (prometheus'
    assert_stderr_has '1 of 5 targets belong to no host of the inventory; `profgrab hosts --from prometheus` shows them'
    run_profgrab hosts --from prometheus --json
    assert_equal "$(python3 -c '
import json, sys
o = json.load(sys.stdin)
print(o["source"]["kind"], len(o["targets"]), *(t["address"] for t in o["targets"] if t.get("host") is None))' <<<"$output")" \
        'prometheus 5 elsewhere'
}

@test "--from grabs the services of a source for one run, without an inventory" {
    rig_alias sick-01 sshd
    printf '[{"targets":["127.0.0.1:%s"],"labels":{"job":"rude"}},{"targets":["elsewhere:1"],"labels":{"job":"far"}}]' \
        "$RIG_PORT_rude" >t.json
    # A target on loopback belongs to the only named host.
    run_profgrab --from t.json --host sick-01 heap -o out.tar.gz
    assert_status 0
    tar tzf out.tar.gz | grep -q 'sick-01/rude/heap.pb.gz'
    run_profgrab check --from "file_sd:t.json" --host sick-01
    assert_status 0
    # The command in the hint finds the service in the same source.
    echo '[{"targets":["127.0.0.1:9"],"labels":{"job":"dead"}}]' >dead.json
    run_profgrab --from dead.json --host sick-01 heap
    assert_status 1
    assert_equal "$(grep -o '`profgrab check[^`]*`' <<<"$stderr")" \
        "\`profgrab check -F $SSH_CONFIG --from dead.json --host sick-01 --service dead\`"
    run_profgrab check --from dead.json --host sick-01 --service dead
    assert_status 1
    assert_stdout_has 'cannot connect to 127.0.0.1 port 9'
    # With --from, the inventory's sources and services are ignored.
    with_sources '{ file_sd: nothing.json }'
    sed 's/"rude"/"byhand"/' t.json >byhand.json
    run_profgrab --from byhand.json --host laptop --dry-run heap
    assert_status 0
    refute_stderr_has nothing.json
    refute_stdout_has ':2'
    # A source defines ports, never the hosts to open.
    unset PROFGRAB_INVENTORY
    run_profgrab --from t.json heap
    assert_status 2
    assert_stderr_has 'no host is selected: a source lists ports, not hosts to log in to'
    assert_stderr_has 'hint: add --host NAME'
    run_profgrab --from t.json --host sick-01 --service far heap
    assert_status 2
    assert_stderr_has 'file_sd lists no service "far" on these hosts'
    run_profgrab --from t.json --host sick-01 --port 1 heap
    assert_status 2
    run_profgrab --from nosuch.json --host sick-01 heap
    assert_status 2
    assert_stderr_has 'unknown source "nosuch.json"'
    # A failed source fails the run.
    echo '{' >bad.json
    run_profgrab --from bad.json --host sick-01 heap
    ((status == 1 || status == 2)) || fail_run 'not refused'
    assert_stderr_has 'profgrab: file_sd: '
    assert_stderr_has 'bad.json'
}

@test "labels of targets select services" {
    printf '[{"targets":["file-03:%s"],"labels":{"job":"rude","env":"prod"}},{"targets":["file-04:7"],"labels":{"job":"far","env":"dev"}}]' \
        "$RIG_PORT_rude" >t.json
    with_sources '{ file_sd: t.json }'
    rig_alias file-03 sshd
    sed -i 's/  file-03: { labels: { env: test } }/  file-03: { services: [byhand], labels: { shard: 1 } }/' inventory.yaml
    run_profgrab hosts --label env=prod
    assert_status 0
    assert_stdout_has file-03
    refute_stdout_has file-04
    run_profgrab hosts --json
    assert_equal "$(python3 -c 'import json, sys
print([(s["name"], s.get("labels")) for h in json.load(sys.stdin) for s in h["services"] if h["name"] == "file-03"])' <<<"$output")" \
        "[('byhand', None), ('rude', {'env': 'prod', 'job': 'rude'})]"
    # profgrab takes only those services of a host that have the label. The host's own labels count for all its services.
    run_profgrab --label env=prod --dry-run --json heap
    assert_equal "$(python3 -c 'import json, sys; print([t["service"] for t in json.load(sys.stdin)["targets"]])' <<<"$output")" "['rude']"
    run_profgrab --label shard=1 --dry-run --json heap
    assert_equal "$(python3 -c 'import json, sys; print([t["service"] for t in json.load(sys.stdin)["targets"]])' <<<"$output")" "['byhand', 'rude']"
    run_profgrab --label env=prod --service byhand heap
    assert_status 2
    assert_stderr_has 'none of the services has the requested labels'
    run_profgrab --label env=prdo heap
    assert_status 2
    assert_stderr_has 'did you mean "prod"?'
    run_profgrab --from t.json --host file-03,file-04 --label env=dev --dry-run --json heap
    assert_equal "$(python3 -c 'import json, sys; print([t["service"] for t in json.load(sys.stdin)["targets"]])' <<<"$output")" "['far']"
    # The job is a label of every target.
    run_profgrab --from t.json --host file-03,file-04 --label job=far --dry-run --json heap
    assert_equal "$(python3 -c 'import json, sys; print([t["service"] for t in json.load(sys.stdin)["targets"]])' <<<"$output")" "['far']"
    # A source lists no hosts, with or without labels.
    PROFGRAB_INVENTORY='' XDG_CONFIG_HOME=$PWD run_profgrab --from t.json --label env=dev heap
    assert_status 2
    assert_stderr_has 'no host is selected: a source lists ports, not hosts to log in to'
    assert_stderr_has 'hint: add --host NAME'
    run_profgrab --from t.json --host file-03,file-04 --label job=fra --dry-run heap
    assert_status 2
    assert_stderr_has 'did you mean "far"?'
}

@test "hosts --from shows the labels of targets, and --label selects by them" {
    printf '[{"targets":["a:1"],"labels":{"job":"one","env":"prod","tier":"x"}},{"targets":["b:2"],"labels":{"job":"two","env":"dev"}},{"targets":["c:3"]}]' >t.json
    run_profgrab hosts --from t.json
    assert_status 0
    assert_stdout 'HOST  SERVICE  ADDRESS  PORT  JOB  LABELS
-     -        a        1     one  env=prod tier=x
-     -        b        2     two  env=dev
-     -        c        3'
    run_profgrab hosts --from t.json --label env=prod,env=dev,job=two
    assert_status 0
    assert_stdout 'HOST  SERVICE  ADDRESS  PORT  JOB  LABELS
-     -        b        2     two  env=dev'
    run_profgrab hosts --from t.json --label tier=x --json
    assert_status 0
    assert_equal "$(python3 -c 'import json, sys; print([(t["address"], t["labels"]) for t in json.load(sys.stdin)["targets"]])' <<<"$output")" \
        "[('a', {'env': 'prod', 'tier': 'x'})]"
    run_profgrab hosts --from t.json --label env=prdo
    assert_status 2
    assert_stderr_has 'file_sd: none of its 3 targets has the requested labels'
    assert_stderr_has 'hint: `profgrab hosts --from file_sd:'
    run_profgrab hosts --from t.json --label env
    assert_status 2
    assert_stderr_has 'a label must be NAME=VALUE, not "env"'
}

@test "--from without --host reports targets on loopback that it leaves out" {
    printf '[{"targets":["file-03:%s"],"labels":{"job":"rude"}},{"targets":["127.0.0.1:7"],"labels":{"job":"near"}}]' \
        "$RIG_PORT_rude" >t.json
    with_sources '{ file_sd: nothing.json }'
    # The remote host does not know the name file-03; this test is about the target on loopback.
    run_profgrab --from t.json --dry-run heap
    assert_stdout_has 'file-03  rude'
    assert_stderr_has '1 target is on loopback, so its host is unknown: `--from` with a single `--host NAME` names the host'
    run_profgrab --from t.json --host file-03 --dry-run heap
    assert_stdout_has near
    refute_stderr_has 'its host is unknown'
    printf '[{"targets":["127.0.0.1:7"],"labels":{"job":"near"}}]' >near.json
    run_profgrab --from near.json --dry-run heap
    assert_status 2
    assert_stderr_has 'hint: use --from with a single --host NAME, the host on which they listen'
}

@test "resume --from finds the services of a run with --from again" {
    rig_alias sick-01 sshd
    printf '[{"targets":["127.0.0.1:%s"],"labels":{"job":"rude"}}]' "$(rig_free_port)" >t.json
    printf '[{"targets":["127.0.0.1:%s"],"labels":{"job":"node"}}]' "$RIG_PORT_node_exporter" >node.json
    python3 -c 'import json; a = json.load(open("t.json")) + json.load(open("node.json")); json.dump(a, open("both.json", "w"))'
    run_profgrab --from both.json --host sick-01 heap -o out.tar.gz
    assert_status 3
    sed -i "s/\"127.0.0.1:[0-9]*\"\], \"labels\": {\"job\": \"rude\"/\"127.0.0.1:$RIG_PORT_rude\"], \"labels\": {\"job\": \"rude\"/" both.json
    run_profgrab resume --from both.json out.tar.gz
    assert_status 0
    tar tzf "$output" | grep -q 'sick-01/rude/heap.pb.gz'
}

@test "--from guesses the kind of a file and of a URL" {
    printf '[{"targets":["file-03:7"],"labels":{"job":"j"}}]' >t.json
    printf -- '- targets: ["file-03:7"]\n' >t.yml
    printf 'scrape_configs:\n  - job_name: j\n    static_configs: [ { targets: ["file-03:7"] } ]\n' >prometheus.yml
    { echo 'object_storage: {}'; cat prometheus.yml; } >parca.yaml
    local source
    while read -r source kind; do
        run_profgrab hosts --json --from "$source"
        assert_status 0
        assert_equal "$(python3 -c 'import json, sys; print(json.load(sys.stdin)["source"]["kind"])' <<<"$output")" "$kind"
    done <<W
t.json file_sd
t.yml file_sd
prometheus.yml scrape_configs
parca.yaml parca
$PROMETHEUS prometheus
$PROMETHEUS/targets prometheus
W
    run_profgrab hosts --from "$SOURCE/html"
    assert_status 1
    assert_stderr_has 'http_sd: '
    run_profgrab hosts --from nosuch
    assert_status 2
    assert_stderr_has 'unknown source "nosuch"'
}

@test "hosts --from prints no hint at the command that just ran" {
    printf '[{"targets":["elsewhere:7"],"labels":{"job":"j"}}]' >t.json
    with_sources '{ file_sd: t.json, name: mine }'
    run_profgrab hosts --from file_sd:t.json
    assert_stderr_has '1 of 1 target belong'
    refute_stderr_has 'profgrab hosts --from'
    cp t.json other.json
    run_profgrab hosts --from other.json
    refute_stderr_has 'profgrab hosts --from'
    # Elsewhere the hint names a command that works.
    run_profgrab hosts
    assert_stderr_has '`profgrab hosts --from mine` shows them'
    run_profgrab hosts --from mine
    assert_status 0
}

@test "a target that is unreachable at its own address: the hint suggests loopback, and a check command" {
    with_sources "{ prometheus: \"$PROMETHEUS\", job: storage }"
    rig_alias file-03 sshd
    run_profgrab --host file-03 heap
    assert_status 1
    assert_stderr_has 'the SSH server cannot connect to file-03 port 9236'
    assert_stderr_has '`host: 127.0.0.1`'
    assert_equal "$(grep -o '`profgrab check[^`]*`' <<<"$stderr")" "\`profgrab check -F $SSH_CONFIG --host file-03 --service storage\`"
    run_profgrab check --host file-03 --service storage
    assert_status 1
    [[ $output$stderr == *'`host: 127.0.0.1`'* && $output$stderr != *'profgrab check --host'* ]] || fail_run 'the hint'
}

@test "hosts shows how ssh's configuration resolves an address" {
    with_sources '{ file_sd: nothing.json }'
    sed -i '/^discovery/,$d' inventory.yaml
    sed -i 's/file-03: { labels/file-03: { services: [], labels/' inventory.yaml
    printf 'Host file-03\n  HostName 10.9.8.7\n  User ops\n  ProxyJump ann@bastion:2222\nHost *\n  User rest\n' >ours
    run_profgrab hosts -F ours file-03
    assert_status 0
    assert_stdout_has 'file-03: ssh connects to ops@10.9.8.7 port 22 through ann@bastion port 2222'
    run_profgrab hosts -F ours
    refute_stdout_has 'ssh connects'
    run_profgrab hosts -F ours --ssh
    assert_stdout_has 'file-04: ssh connects to rest@file-04 port 22'
    refute_stdout_has 'laptop: ssh'
    run_profgrab hosts -F nowhere file-03
    assert_status 0
    assert_stdout_has 'file-03: not resolved: '
    run_profgrab hosts --ssh --json
    assert_status 2
}

@test "a source entry may rename its services, and adds to the inventory's own" {
    with_sources "{ prometheus: \"$PROMETHEUS\", job: storage, service: gitaly }"
    assert_equal "$(list_discovered)" 'file-03/gitaly file-03:9236; '
    run_profgrab hosts --from prometheus
    assert_equal "${#lines[@]}" 4
}

@test "a grab reaches a discovered port through SSH" {
    with_sources "{ prometheus: \"$PROMETHEUS\", job: [node, rude], host: file-03, through: file-03 }"
    run_profgrab --host file-03 --service node,rude heap -o out.tar.gz
    assert_status 0
    tar tzf out.tar.gz | grep -q 'file-03/node/heap.pb.gz'
    tar tzf out.tar.gz | grep -q 'file-03/rude/heap.pb.gz'
    run_profgrab check --host file-03 --service node
    assert_status 0
}

@test "answers are cached, and requested again when old or with --refresh" {
    with_sources "{ prometheus: \"$SOURCE/token\", job: storage, auth: { bearer_env: TOKEN } }"
    export TOKEN=$SECRET
    assert_equal "$(list_discovered)" 'file-03/storage file-03:9236; file-04/storage file-04:9236; '
    kept=("$HOME"/.cache/profgrab/*)
    assert_equal "${#kept[@]}" 1
    assert_mode "${kept[0]}" 600
    assert_mode "$HOME/.cache/profgrab" 700
    ! grep -rqF "$SECRET" "$HOME/.cache" || fail 'the secret is in the cache'
    # The cached answer is enough; --refresh needs a new one, and falls back to the cached one.
    TOKEN=wrong run_profgrab hosts
    assert_status 0
    refute_stderr_has 'ago is used'
    TOKEN=wrong run_profgrab hosts --refresh
    assert_status 0
    assert_stdout_has 'storage:9236 (prometheus'
    assert_stderr_has 's ago is used, because it cannot be queried: HTTP 401'
    refute_stderr_has wrong
    # Make the cached answer an hour older, which is beyond the limit of 5 minutes.
    python3 - "${kept[0]}" <<'PY'
import hashlib, sys
head, body = open(sys.argv[1], "rb").read().split(b"\n", 1)
at = str(int(head.split()[3]) - 3600_000).encode()
with open(sys.argv[1], "wb") as f:
    f.write(b"profgrab discovery 1 " + at + b" " + hashlib.sha256(at + b"\0" + body).hexdigest().encode() + b"\n" + body)
PY
    TOKEN=wrong run_profgrab hosts
    assert_stderr_has 'its answer of 1h ago is used'
    assert_stdout_has 'storage:9236 (prometheus, 1h)'
    run_profgrab hosts
    refute_stderr_has 'ago is used'
    [[ $output == *'(prometheus, '[0-9]s\)* ]] || fail_run 'the source was not queried again'
    # A file that others can write, or that is damaged, is not used.
    chmod 666 "${kept[0]}"
    TOKEN=wrong run_profgrab hosts
    assert_status 3
    assert_stderr_has 'that only you can change'
    chmod 600 "${kept[0]}"
    sed -i 's/9236/9237/' "${kept[0]}"
    TOKEN=wrong run_profgrab hosts
    assert_status 3
    assert_stderr_has 'is damaged: not used'
    refute_stdout_has 9237
}

@test "a host with very many services does not widen every row" {
    with_sources '{ file_sd: many.json, name: many }'
    python3 -c 'import json; print(json.dumps([{"targets": ["file-03:%d" % i for i in range(1, 301)] + ["file-04:1"], "labels": {"job": "j"}}]))' >many.json
    run_profgrab hosts
    assert_status 0
    assert_stdout_has 'j-300:300 (many)'
    (($(grep '^laptop' <<<"$output" | wc -c) < 150)) || fail_run "$(grep '^laptop' <<<"$output")"
}

@test "a failed source affects only the services that no other source lists" {
    with_sources "{ prometheus: \"$SOURCE/denied\" }"
    run_profgrab hosts
    assert_status 3
    assert_stdout_has 'byhand:2'
    assert_stderr_has 'prometheus: HTTP 401: no'
    assert_stderr_has 'hint: it requires authentication: set `auth:` in its entry under `discovery`'
    run_profgrab --host laptop heap
    assert_stderr_has 'prometheus: services that only this source lists are missing'
    # A service with a port in the inventory needs no source.
    run_profgrab --host laptop --port "$RIG_PORT_node_exporter" heap -o out.tar.gz
    assert_status 0
    refute_stderr_has prometheus
    run_profgrab --host file-03 heap
    assert_status 2
    assert_stderr_has 'host "file-03" has no services'
    assert_stderr_has 'the service may be in a source that failed: prometheus: HTTP 401'
    # Names for completion cause no request.
    run_profgrab hosts --services
    assert_status 0
    assert_stderr ''
}

@test "bad answers of a source are reported" {
    local what words
    while IFS='|' read -r what words; do
        run_profgrab hosts --from "prometheus:$SOURCE/$what"
        assert_status 1
        [[ $stderr == *"profgrab: prometheus: "*"$words"* ]] || fail_run "$what: $words"
        assert_printable "$stderr"
    done <<'W'
html|it is a page of HTML or XML, not JSON
half|it ends in the middle, after
denied|HTTP 401: no
closed|HTTP 403: no
missing|if the prometheus is below a path, add the path to its URL
redirect|it redirects to https://login.example/, which is not this service: not followed
wrong|activeTargets in it is not a list
W
    run_profgrab hosts --from "http_sd:$SOURCE/large"
    assert_status 1
    assert_stderr_has 'http_sd: a string in it is larger than 65536 bytes'
    run_profgrab hosts --from "http_sd:$SOURCE/many"
    assert_status 1
    assert_stderr_has 'its answer is larger than 64 MiB'
    run_profgrab hosts --from "http_sd:http://127.0.0.1:$(rig_free_port)/"
    assert_status 1
    assert_stderr_has 'http_sd: '
    [[ ! -e $HOME/.cache/profgrab ]] || fail "$(ls "$HOME/.cache/profgrab")"
}

@test "the secret of a source is not sent to a redirect, nor to another machine over plain HTTP" {
    with_sources "{ prometheus: \"$SOURCE/elsewhere\", job: storage, auth: { bearer_env: TOKEN } }"
    TOKEN=$SECRET run_profgrab hosts
    assert_stderr_has 'not followed'
    [[ ! -e $RIG_DIR/secret.seen ]] || fail "$(cat "$RIG_DIR/secret.seen")"
    # The request is refused before any connection.
    with_sources "{ prometheus: \"http://sources.invalid/\", job: storage, auth: { bearer_env: TOKEN } }"
    TOKEN=$SECRET run_profgrab hosts
    assert_stderr_has 'in clear text'
}

@test "a hostile source cannot add hosts, paths or terminal sequences" {
    with_sources "{ prometheus: \"$SOURCE/hostile\" }"
    run_profgrab hosts
    assert_status 0
    assert_printable "$output$stderr"
    assert_equal "$(list_discovered)" 'file-03/31mup file-03:1; file-03/a-b file-03:3; file-03/etc file-03:2; '
    assert_stderr_has 'is no address'
}

@test "Parca's own example works with and without a host" {
    cat >parca.yaml <<'Y'
object_storage:
  bucket:
    type: "FILESYSTEM"
    config:
      directory: "./data"
scrape_configs:
  - job_name: "one"
    scrape_interval: "3s"
    static_configs: [ { targets: ['127.0.0.1:6060'] } ]
  - job_name: "two"
    scrape_interval: "3s"
    static_configs: [ { targets: ['127.0.0.1:6061'] } ]
  - job_name: "three"
    scrape_interval: "3s"
    static_configs: [ { targets: ['127.0.0.1:6062'] } ]
Y
    with_sources '{ parca: parca.yaml, host: file-03 }'
    assert_equal "$(list_discovered)" 'file-03/one 127.0.0.1:6060; file-03/three 127.0.0.1:6062; file-03/two 127.0.0.1:6061; '
    # Any path to the file selects its entry; another file has no entry.
    run_profgrab hosts --from parca:../"${PWD##*/}"/parca.yaml
    assert_status 0
    assert_equal "${lines[1]}" 'file-03  one      127.0.0.1  6060  one'
    cp parca.yaml other.yaml
    run_profgrab hosts --from parca:other.yaml
    assert_status 0
    assert_equal "${lines[1]}" '-     -        127.0.0.1  6060  one'
    with_sources '{ parca: parca.yaml }'
    run_profgrab hosts
    assert_status 3
    assert_stderr_has "parca: the source's targets are on loopback (127.0.0.1 port 6060, job \"one\"), and its entry does not name their host"
    assert_stderr_has 'hint: add `host: NAME` to its entry under `discovery`'
    run_profgrab --host file-03 heap
    assert_status 2
    rm parca.yaml
    run_profgrab hosts
    assert_status 3
    assert_stderr_has 'parca.yaml'
    printf 'scrape_configs: [\n' >parca.yaml
    run_profgrab hosts --from parca:parca.yaml
    assert_status 2
    assert_stderr_has 'parca.yaml:2:1'
}

@test "Prometheus' own files and file_sd as YAML are read" {
    run_profgrab hosts --from "scrape_configs:$RIG_DIR/prom/prometheus.yml"
    assert_status 0
    assert_equal "${#lines[@]}" 6
    printf -- '- targets: ["file-03:7"]\n  labels: { job: yaml }\n' >a.yml
    printf '[{"targets":["file-04:8"],"labels":{"job":"json"}}]' >b.json
    mkdir sd && mv a.yml b.json sd
    with_sources '{ file_sd: "sd/*" }'
    assert_equal "$(list_discovered)" 'file-03/yaml file-03:7; file-04/json file-04:8; '
    run_profgrab hosts --from 'file_sd:nothing-*'
    assert_status 1
    assert_stderr_has 'there is no file'
}

@test "a source whose host cannot be opened is reported" {
    with_sources "{ prometheus: \"$PROMETHEUS\", through: laptop }" "{ prometheus: \"$PROMETHEUS\", name: far, through: file-04, host: file-03 }"
    cp "$SSH_CONFIG" ours
    run_profgrab hosts -F "$PWD/ours" --batch
    assert_status 0
    assert_stdout_has '(far, '
    printf 'Host *\n  Port 1\n  HostName 127.0.0.1\n' >ours
    run_profgrab hosts -F "$PWD/ours" --batch --refresh
    assert_status 0
    assert_stderr_has 'far: its answer of'
    assert_stderr_has 'file-04'
    # A cached answer through another ssh configuration is not used.
    cp ours others
    run_profgrab hosts -F "$PWD/others" --batch --refresh
    assert_status 3
    refute_stderr_has 'far: its answer of'
}

@test "an inventory or a working directory whose name has [, * or ? finds its files" {
    local name
    for name in '[x]' 'a*b?'; do
        mkdir "$BATS_TEST_TMPDIR/$name"
        cd "$BATS_TEST_TMPDIR/$name"
        echo '[{"targets":["file-03:9100"],"labels":{"job":"dead"}}]' >t.json
        with_sources '{ file_sd: "t*.json" }'
        run_profgrab hosts
        assert_status 0
        assert_stdout_has 'dead'
        run_profgrab hosts --from 'file_sd:t*.json'
        assert_status 0
        assert_stdout_has 'dead'
    done
}
