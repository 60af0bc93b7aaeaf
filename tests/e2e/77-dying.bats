#!/usr/bin/env bats
# Hosts that die at each step of a run: between two bytes of the login, of the index page, of an item. No other host is
# affected.

load helper

setup_file() {
    # shellcheck disable=SC2119 # its arguments are lines for sshd, none here
    rig_start
    rig_service rude
    rig_fixture mortal -mortal "127.0.0.1:$RIG_PORT_sshd"
    rig_fixture mortal_service -mortal "127.0.0.1:$RIG_PORT_rude"
    export SSH_CONFIG=$RIG_SSH_CONFIG
    echo "mortal $(cut -d' ' -f1,2 "$RIG_DIR/sshd/host_key.pub")" >>"$RIG_KNOWN_HOSTS"
}

# write_mortals dies|hangs: writes an inventory of file-01, file-02, and a host for each lifetime after which the host dies or hangs.
# Sets $mortals to their names, in order.
write_mortals() {
    local line
    mortals=()
    while read -r line; do
        line=${line%%=*}
        mortals+=("${line/_/-}")
        rig_alias "${line/_/-}" "mortal_$line" 'HostKeyAlias mortal'
    done < <(grep "^${1}_" "$RIG_DIR/mortal/log")
    {
        echo 'version: 1'
        echo "services: { rude: { port: $RIG_PORT_rude } }"
        echo 'hosts:'
        printf '  %s: { services: [rude] }\n' file-01 file-02 "${mortals[@]}"
    } >inventory.yaml
    chmod 600 inventory.yaml
    export PROFGRAB_INVENTORY=$PWD/inventory.yaml
}

# Checks the bundle: the items of file-01 and file-02 are whole. Each mortal host has the items before its death, in the order of the
# plan, and a reason for the others that names no other host.
check_bundle() { # BUNDLE
    python3 - "$1" <<'PY'
import hashlib, json, sys, tarfile
tar = tarfile.open(sys.argv[1])
files = {m.name.split("/", 1)[1]: tar.extractfile(m).read() for m in tar if m.isfile()}
manifest = json.loads(files["manifest.json"])
hosts = {h["name"]: h for h in manifest["hosts"]}
plan = ["heap", "allocs", "goroutines", "goroutines"]
got = {}
for name, host in hosts.items():
    if "error" in host:
        got[name] = (0, host["error"])
        assert host["services"] == [], name
        continue
    [service] = host["services"]
    if "error" in service:
        got[name] = (1, service["error"])
        continue
    items = service["items"]
    assert [i["kind"] for i in items] == plan, (name, items)
    good = [i["status"] == "ok" for i in items]
    assert good == sorted(good, reverse=True), (name, "an item succeeded after a failed one")
    for item in items:
        if "file" in item:
            assert hashlib.sha256(files[item["file"]]).hexdigest() == item["sha256"], item["file"]
        assert item["status"] == "ok" or item["error"], (name, item)
    got[name] = (2 + sum(good), next((i["error"] for i in items if i["status"] != "ok"), None))
mortals = sorted((n for n in hosts if "-" in n and not n.startswith("file-")), key=lambda n: int(n.split("-")[1]))
reached = [got[n][0] for n in mortals]
print(list(zip(mortals, reached)))
assert all(got[n] == (6, None) for n in ("file-01", "file-02")), got
assert reached[0] == 0 and reached[-1] == 6, reached
# The size of dumps differs a little from host to host.
lives = [int(n.split("-")[1]) for n in mortals]
assert all(b >= a for x, a in zip(lives, reached) for y, b in zip(lives, reached) if y > 2 * x), "a host that lives twice as long gave fewer items"
assert len(set(reached)) >= 6, "hosts die at too few different steps"
for name in mortals[:-1]:
    assert got[name][0] == 6 or got[name][1], name
    assert not any(other in (got[name][1] or "") for other in mortals if other != name), got[name]
PY
}

@test "hosts that die at each step do not affect the others" {
    write_mortals dies
    run_profgrab --host 'file-*,dies-*' --parallel 40 heap allocs goroutines
    assert_status 3
    run check_bundle "$output"
    assert_status 0
}

@test "hosts that hang at each step do not exceed the run's deadlines" {
    local began=$SECONDS
    write_mortals hangs
    run_profgrab --host 'file-*,hangs-*' --parallel 40 --timeout 3s --connect-timeout 3s heap allocs goroutines
    assert_status 3
    ((SECONDS - began <= 20)) || fail_run "it took $((SECONDS - began)) s"
    run check_bundle "$output"
    assert_status 0
}

@test "services that die at each step do not affect others on their host" {
    {
        echo 'version: 1'
        echo 'services:'
        echo "  good: { port: $RIG_PORT_rude }"
        grep '^dies_' "$RIG_DIR/mortal_service/log" | sed 's/_/-/; s/\(.*\)=\(.*\)/  \1: { port: \2 }/'
        echo "hosts: { file-01: { services: [good, $(sed -n 's/^dies_\(.*\)=.*/dies-\1/p' "$RIG_DIR/mortal_service/log" | paste -sd,)] } }"
    } >inventory.yaml
    chmod 600 inventory.yaml
    PROFGRAB_INVENTORY=$PWD/inventory.yaml run_profgrab --host file-01 heap allocs goroutines
    assert_status 3
    run python3 - "$output" <<'PY'
import json, sys, tarfile
tar = tarfile.open(sys.argv[1])
manifest = json.load(next(tar.extractfile(m) for m in tar if m.name.endswith("/manifest.json")))
[host] = manifest["hosts"]
services = {s["name"]: s for s in host["services"]}
good = {n: sum(i["status"] == "ok" for i in s["items"]) for n, s in services.items()}
print(good)
assert good["good"] == 4 and good["dies-1073741824"] == 4 and good["dies-0"] == 0
for name, service in services.items():
    bad = [i for i in service["items"] if i["status"] != "ok"]
    assert service.get("error") or len(service["items"]) in (3, 4), name  # without an index page no text of goroutines
    assert all(i["error"] for i in bad), name
assert any("error" in s for s in services.values()) and len(set(good.values())) >= 4
PY
    assert_status 0
}
