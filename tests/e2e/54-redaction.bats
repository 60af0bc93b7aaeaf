#!/usr/bin/env bats
# Redaction of a copy, checked by other programs: hashes by Python, profiles by go tool pprof; messages on unsearched members;
# interrupted copies.

load helper

setup_file() {
    export RIG_DIR
    RIG_DIR=$(mktemp -d)
    mkdir "$RIG_DIR/labels"
    cat >"$RIG_DIR/labels/main.go" <<'GO'
package main

import (
	"context"
	"os"
	"runtime/pprof"
	"time"
)

func spin(until time.Time) (n int) {
	for time.Now().Before(until) {
		n++
	}
	return n
}

func main() {
	f, err := os.Create("cpu.pb.gz")
	if err == nil {
		err = pprof.StartCPUProfile(f)
	}
	if err != nil {
		panic(err)
	}
	for _, user := range []string{"alice@example.org", "main.spin"} {
		pprof.Do(context.Background(), pprof.Labels("user", user, "path", "/repository"), func(context.Context) {
			spin(time.Now().Add(300 * time.Millisecond))
		})
	}
	pprof.StopCPUProfile()
}
GO
    (cd "$RIG_DIR/labels" && GO111MODULE=off GOFLAGS=-mod=mod GOTOOLCHAIN=local GOPROXY=off GOCACHE=$rig_root/build/fixture/cache \
        go run main.go)
}

setup() { e2e_setup; }
teardown() { [[ -z ${copying-} ]] || kill -KILL "$copying" 2>/dev/null || :; }
teardown_file() { rm -rf "$RIG_DIR"; }

copy_program=${COPY-$rig_root/build/gcc/tests/copy}

# make_bundle [ZEROS]: writes b.tar.gz as another program might, with a secret for each rule, and a trace of ZEROS bytes.
make_bundle() {
    python3 - "$RIG_DIR/labels/cpu.pb.gz" "${1-10}" <<'PY'
import hashlib, io, json, sys, tarfile

files = {
    "cmdline.txt": ("cmdline", b"/usr/bin/server\0--db-password=hunter2\0--port=8080\0postgres://u:sesame@db/x\0ghp_0123456789abcdef"),
    "goroutines.txt": ("goroutines", b'1 @ 0x1\n# labels: {"user":"alice@example.org", "path":"/repository"}\n'),
    "cpu.pb.gz": ("cpu", open(sys.argv[1], "rb").read()),
    "quiet.txt": ("goroutines", b"goroutine 1 [running]:\nmain.main()\n"),
    "trace.out": ("trace", bytes(int(sys.argv[2]))),
}
items = []
for name, (kind, data) in files.items():
    item = {"kind": kind, "status": "ok", "file": "files/" + name, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    if kind == "cpu":
        item["profile"] = {"samples": 1, "sample_types": [{"type": "samples", "unit": "count", "total": 1}]}
    items.append(item)
manifest = {"format": "profgrab-bundle", "version": 1, "name": "b", "tool": {"name": "profgrab"}, "collector": {},
            "interrupted": False, "complete": True, "hosts": [], "files": items}
with tarfile.open("b.tar.gz", "w:gz", compresslevel=1) as tar:
    for path, data in [("manifest.json", json.dumps(manifest).encode())] + [("files/" + n, d) for n, (_, d) in files.items()]:
        info = tarfile.TarInfo("b/" + path)
        info.size = len(data)
        tar.addfile(info, io.BytesIO(data))
PY
}

@test "every rule redacts, and the manifest's two hashes of each changed member match Python's" {
    make_bundle
    "$copy_program" -r b.tar.gz
    run_profgrab bundle verify b-handoff.tar.gz
    assert_status 0
    assert_stdout_has 'redacted   3 files'
    tar xzOf b-handoff.tar.gz b/manifest.json >manifest.json
    python3 "$rig_root/tests/schema.py" "$rig_root/docs/formats.md" manifest.json
    python3 - <<'PY'
import gzip, hashlib, json, tarfile

def members(path):
    with tarfile.open(path) as tar:
        return {m.name.split("/", 1)[1]: tar.extractfile(m).read() for m in tar if m.isfile()}

def size_and_hash(data):
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}

before, after = members("b.tar.gz"), members("b-handoff.tar.gz")
manifest = json.loads(after["manifest.json"])
handoff = manifest["handoff"]
changed = set()
for item in manifest["files"]:
    path = item["file"]
    assert size_and_hash(after[path]) == {"bytes": item["bytes"], "sha256": item["sha256"]}, path
    assert size_and_hash(before[path]) == item.get("original", {"bytes": item["bytes"], "sha256": item["sha256"]}), path
    if "original" in item:
        changed.add(path)
        assert after[path] != before[path]
assert size_and_hash(after["README.md"]) == handoff["readme"]
assert {r["file"] for r in handoff["redactions"]} == changed == {"files/cmdline.txt", "files/goroutines.txt", "files/cpu.pb.gz"}
rules = {(r["file"], r["rule"]): r["count"] for r in handoff["redactions"]}
assert [rules["files/cmdline.txt", rule] for rule in ("option", "url", "token")] == [1, 1, 1], rules
assert rules["files/goroutines.txt", "label"] == 1 and rules["files/cpu.pb.gz", "label"] > 1, rules
assert handoff["unsearched"] == [{"file": "files/trace.out", "reason": "an execution trace"}], handoff
everything = b"".join(gzip.decompress(d) if p.endswith(".gz") else d for p, d in after.items())
for secret in (b"hunter2", b"sesame", b"ghp_", b"alice@example.org"):
    assert secret not in everything, secret
for harmless in (b"--port=8080", b"postgres://u:[redacted]@db/x", b"/repository", b"main.spin"):
    assert harmless in everything, harmless
PY
}

# plant_everywhere: writes b.tar.gz with a secret in each place that can contain text of a host or of the user: after a name such
# as "password", in a URL, in the form of a token, or repeated by a server. secrets.txt lists the secrets.
plant_everywhere() {
    python3 - <<'PY'
import gzip, hashlib, io, json, tarfile

secrets = []

def secret(prefix=""):
    secrets.append(prefix + hashlib.sha256(str(len(secrets)).encode()).hexdigest()[:20])
    return secrets[-1]

def planted(before="?token=", after=""):
    return before + secret() + after

def varint(n):
    out = b""
    while n > 0x7f:
        out += bytes([n & 0x7f | 0x80])
        n >>= 7
    return out + bytes([n])

def field(number, body):
    return varint(number << 3 | 2) + varint(len(body)) + body

def number(field_number, n):
    return varint(field_number << 3) + varint(n)

def profile():
    strings = ["", "samples", "count", "main.f?" + planted("password="), "/src/" + secret("ghp_") + ".go", "path", planted("/x?api_key="),
               "user", secret(), "/bin/x--token=" + secret(), "comment " + planted("postgres://u:a/", "@db")]
    out = field(1, number(1, 1) + number(2, 2))
    out += field(2, number(1, 1) + number(2, 7) + field(3, number(1, 5) + number(2, 6)) + field(3, number(1, 7) + number(2, 8)))
    out += field(3, number(1, 1) + number(2, 4096) + number(3, 8192) + number(5, 9))
    out += field(4, number(1, 1) + number(2, 1) + number(3, 5000) + field(4, number(1, 1) + number(2, 7)))
    out += field(5, number(1, 1) + number(2, 3) + number(3, 3) + number(4, 4))
    for s in strings:
        out += field(6, s.encode())
    return out + number(13, 10)

# Forms in which programs print their configuration.
def printed():
    return "\n".join([
        "map[password:" + secret() + " token:" + secret() + "]", "&{Token:" + secret() + " Secret:" + secret() + "}", planted("token%3d"),
        planted("password=&quot;", "&quot;"), planted("token&#61;"), planted("redis://:", "@h"), planted("password := "), planted("pwd => "), planted("password== "),
        planted("SECRET_KEY_BASE="), planted("redis://:p/", "@h"), planted("redis://:/", "@h"),
        planted("smtp://a@b.c:p/", "@h:25"), planted("{\"url\":\"http:\\/\\/u:p\\/", "@h\"}"), planted("postgres://u:p ", "@db"), planted("http://u:p/<", ">@db"),
        planted("{\"env\":[{\"name\":\"DB_PASSWORD\",\"value\":\"", "\"}]}"), planted("[name:password value:", "]"), planted("{\"pass\\u0077ord\":\"", "\"}"),
        planted("{\"tokens\":{\"a\":\"", "\"}}"), planted("{\"auths\":{\"reg\":{\"auth\":\"", "\"}}}"), planted("%7B%22password%22%3A%22", "%22%7D"),
        planted("mysql -u x -p "), planted("curl -u user:"), planted("<password>", "</password>"), planted("<add key=\"password\" value=\"", "\"/>"),
        planted("<td>password</td><td>", "</td>"), planted("https://hooks.slack.com/services/T000/B000/"), planted("/a?user%5Bpassword%5D="),
        planted("/a?%74oken="), planted("/a?next=https%3A%2F%2Fu%3A", "%40h"), planted("sent Bearer "), planted("TOKEN\t"), planted("/a?next=%2Fy%3Ftoken%3D"), planted("/a?odd="),
        "-----BEGIN RSA PRIVATE KEY-----\n" + secret() + "\n" + secret() + "\n-----END RSA PRIVATE KEY-----"]) + "\n"

def printed_strings():
    lines, key = printed().split("\n-----BEGIN")
    return lines.split("\n") + ["-----BEGIN" + key.replace("\n", " ")]

def numbered():
    secrets.append(str(int(hashlib.sha256(str(len(secrets)).encode()).hexdigest()[:11], 16) + 10 ** 13))
    return int(secrets[-1])

query = secret()
repeated = query + "-and-more"
dump = ("goroutine 1 [running, labels:{\"user\":\"%s\", \"path\":\"/x?secret=%s\"}]:\nmain.main()\n\t/src/main.go:1\n"
        "# GET /y?access_token=%s&page=1\n" % (secret(), secret(), secret()))
vars_ = {"cmdline": ["/bin/x", "--password", secret(), "-p", secret(), "-u", "u:" + secret(), "--db=postgres://u:%s@h/x" % secret()], "memstats": {"Alloc": 1}}
files = {
    "file-03/gitaly/x-token-%s.json" % query: ("/x?token=" + query, json.dumps(vars_).encode()),
    "file-03/gitaly/x-token-%s.txt" % query: ("/x?token=%s&b" % query, b"seen: " + planted("Authorization: Bearer ").encode()),
    "file-03/gitaly/%s.html" % secret("glpat-"): ("page", b"<p>" + planted("password=").encode()),
    "file-03/gitaly/cpu.pb.gz": ("cpu", gzip.compress(profile())),
    "file-03/%s/heap.pb.gz" % secret("ghp_"): ("heap", profile()),
    "file-03/%s/heap.pb.gz" % secret("ghp_"): ("heap", profile()),
    "file-03/gitaly/goroutines.txt": ("goroutines", dump.encode()),
    "file-03/gitaly/cmdline.txt": ("cmdline", b"/bin/x\0--data={\"password\": \"" + secret().encode() + b"\"}\0postgres://u:p/" +
                                   secret().encode() + b"@db"),
    "file-03/gitaly/trace.out": ("trace", b"go 1.22 trace"),
    "file-03/gitaly/served.txt": ("/z?token=" + query, ("served for %s only, %s. x-%s_y\n" % (query, query, query)).encode()),
    "file-03/gitaly/other.txt": ("goroutines", ("seen %s.\n" % query).encode()),
    "file-03/gitaly/printed.txt": ("page", printed().encode()),
    "file-03/gitaly/packed.txt": ("page", gzip.compress(planted("password=").encode())),
    "file-03/gitaly/wide.txt": ("page", b"password=" + secret().encode() + b"\0"),
    "file-03/gitaly/odd.pb.gz": ("heap", gzip.compress(profile() + field(100, planted("token=").encode()))),
    "file-03/gitaly/named.pb.gz": ("heap", b"\x1f\x8b\x08\x08" + bytes(6) + planted("token=").encode() + b"\0" + gzip.compress(profile())[10:]),
    "file-03/gitaly/numbers.json": ("vars", json.dumps({"password": numbered(), "db": {"token": numbered()}}, indent=2).encode()),
}
items = []
for name, (kind, data) in files.items():
    item = {"kind": kind, "status": "ok", "request": "GET " + kind, "file": name, "bytes": len(data),
            "sha256": hashlib.sha256(data).hexdigest(), "content_type": "text/plain; token=" + secret(),
            "verdicts": [{"rule": "odd", "text": "see %s: it says %s" % (name, planted("password: "))}]}
    if ".pb.gz" in name:
        item["profile"] = {"samples": 1, "sample_types": [{"type": "samples", "unit": "count", "total": 7}]}
    items.append(item)
items.append({"kind": "/y?token=" + query, "status": "failed", "request": "GET /y?token=" + query, "http_status": 403,
              "error": "HTTP 403: %s is no token" % query, "server_words": "who is %s? trailing period: %s. {\"secret\": \"%s\"}" % (query, query, secret())})
manifest = {
    "format": "profgrab-bundle", "version": 1, "name": "b", "tool": {"name": "profgrab", "version": planted("0?token=")},
    "collector": {"user": secret("glpat-"), "workstation": planted("https://u:", "@ws")}, "reason": planted("the token=", " leaked"),
    "started": "2026-11-21T07:48:00.000Z", "interrupted": False, "complete": False,
    "asked": {"kinds": ["/x?token=" + query], "targets": [{"host": "file-03", "service": "gitaly", "address": planted("a?token=")}],
              "path": planted("/debug?token="), "unix": planted("/run/x?secret=")},
    "summary": [{"rule": "busy", "text": planted("cpu: password="), "file": next(iter(files)), "look": "main.f?" + planted("password=")}],
    "hosts": [{
        "name": "file-03", "address": planted("u:", "@file-03"), "route": "ssh", "error": planted("kex: token="),
        "hops": [{"address": planted("u:", "@jump"), "port": 22, "user": secret("ghp_"), "via": planted("libssh2 token="),
                  "authentication": "key " + planted("passphrase=")}],
        "verdicts": [{"rule": "odd", "text": planted("host token=")}],
        "services": [{"name": "gitaly", "url": planted("http://u:", "@localhost/"), "error": planted("password="),
                      "offers": [{"name": planted("heap?token=")}], "planned": [{"kind": "/x?token=" + query}],
                      "go_version": planted("token="), "verdicts": [{"rule": "odd", "text": planted("service token=")}], "items": items}]}],
    "printed": printed_strings(), "access_token": numbered(), "secrets": [numbered()],
    "requests": ["GET /x?%s=%s" % (name, secret()) for name in ("sig", "code", "jwt", "otp", "session", "odd")],
    "files": [], "password": secret(), secret("glpat-"): 1, "unknown": [{"api_key": [secret(), secret()]}, {"name": "DB_PASSWORD", "value": secret()}, {"Value": numbered(), "Key": "token"}],
}
page = ("<html>" + json.dumps(manifest) + secret()).encode()
manifest["report"] = {"file": "report.html", "bytes": len(page), "sha256": hashlib.sha256(page).hexdigest()}
with tarfile.open("b.tar.gz", "w:gz") as tar:
    def add(path, data):
        info = tarfile.TarInfo("b/" + path)
        info.size = len(data)
        tar.addfile(info, io.BytesIO(data))
    for directory in ["", "file-03", *sorted({n.rsplit("/", 1)[0] for n in files})]:
        info = tarfile.TarInfo("b/" + directory)
        info.type, info.mode = tarfile.DIRTYPE, 0o700
        if directory == "":
            tar.addfile(info)
            add("manifest.json", json.dumps(manifest).encode())
            add("report.html", page)
        else:
            tar.addfile(info)
    for name, (_, data) in files.items():
        add(name, data)
open("secrets.txt", "w").write("\n".join(secrets))
PY
}

# assert_no_secret FILE...: no file contains a secret of secrets.txt, nor does an inflated member of a tarball or the data of a page.
assert_no_secret() {
    python3 - "$@" <<'PY'
import base64, gzip, re, sys, tarfile

def inside(name, data):
    yield name, data
    if data[:2] == b"\x1f\x8b":
        yield from inside(name + " inflated", gzip.decompress(data))
    for i, body in enumerate(re.findall(rb'<script type="application/octet-stream"[^>]*>([^<]*)<', data)):
        yield from inside("%s, data %d" % (name, i), base64.b64decode(body))

secrets = [s.encode() for s in open("secrets.txt").read().split()]
assert len(secrets) > 40
found = []
for path in sys.argv[1:]:
    pieces = []
    if path.endswith(".tar.gz"):
        with tarfile.open(path) as tar:
            for m in tar:
                pieces.append(("the name of a member", m.name.encode()))
                pieces += inside(m.name, tar.extractfile(m).read()) if m.isfile() else []
    else:
        pieces += inside(path, open(path, "rb").read())
    found += ["%s is in %s: %r" % (s, name, data[max(0, data.find(s) - 40):][:100]) for name, data in pieces for s in secrets if s in data]
sys.exit("\n".join(found) or 0)
PY
}

@test "no byte of a copy contains a secret from any place in the bundle" {
    plant_everywhere
    ! assert_no_secret b.tar.gz 2>log || fail 'nothing was planted'
    for secret in $(<secrets.txt); do grep -q "$secret" log || fail "$secret was not planted"; done
    "$copy_program" -r b.tar.gz
    assert_no_secret b-handoff.tar.gz
    run_profgrab bundle verify b-handoff.tar.gz
    assert_status 0
    tar xzf b-handoff.tar.gz
    python3 - <<'PY'
import json, os
manifest = json.load(open("b/manifest.json"))
files = [i["file"] for i in manifest["hosts"][0]["services"][0]["items"] if "file" in i]
assert files == ["file-03/gitaly/redacted.json", "file-03/gitaly/redacted-2.txt", "file-03/gitaly/redacted-3.html", "file-03/gitaly/cpu.pb.gz",
                 "file-03/redacted/heap.pb.gz", "file-03/redacted/heap-2.pb.gz", "file-03/gitaly/goroutines.txt",
                 "file-03/gitaly/cmdline.txt", "file-03/gitaly/trace.out", "file-03/gitaly/redacted-4.txt",
                 "file-03/gitaly/other.txt", "file-03/gitaly/printed.txt", "file-03/gitaly/packed.txt", "file-03/gitaly/wide.txt",
                 "file-03/gitaly/odd.pb.gz", "file-03/gitaly/named.pb.gz", "file-03/gitaly/numbers.json"], files
assert all(os.path.isfile("b/" + f) for f in files)
assert manifest["summary"][0]["file"] == files[0]
rules = {r["rule"]: r["count"] for r in manifest["handoff"]["redactions"] if r["file"] == "manifest.json"}
assert set(rules) == {"option", "url", "token", "repeat", "name"} and rules["name"] == 6, rules
assert [u["file"] for u in manifest["handoff"]["unsearched"]] == ["file-03/gitaly/trace.out"]
assert "original" in manifest["report"]
assert json.load(open("b/file-03/gitaly/redacted.json"))["memstats"] == {"Alloc": 1}
PY
    grep -q 'Not searched: file-03/gitaly/trace.out: an execution trace' b/README.md
    # The page shows the remaining items.
    grep -q '"title":"file-03 gitaly cpu"' b/report.html
    go tool pprof -top b/file-03/gitaly/cpu.pb.gz >top.txt 2>/dev/null
    grep -q 'main.f?password=\[redacted\]' top.txt
}

# serve_echo: starts a service with a heap profile, on a direct route. It answers requests for /nope with 404 and the values in them.
# Sets `copying` to its pid, which teardown kills, and writes inventory.yaml.
serve_echo() {
    cat >serve.py <<'PY'
import http.server, sys, urllib.parse

profile = open(sys.argv[1], "rb").read()
index = b"<html><head><title>/debug/pprof/</title></head><body>/debug/pprof/<br><table><tr><td>1</td><td><a href=heap?debug=1>heap</a></td></tr></table></body></html>"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        plain = [urllib.parse.unquote_plus(p.split("=", 1)[-1].split(":")[-1]) for p in url.query.split("&") if p]
        word = ", ".join(plain + url.path.split("/")[-1:])
        status, body = 200, profile if url.path.endswith("/heap") else index
        if "nope" in url.path:
            status, body = 404, ("denied: key %s is not known (%s)" % (word, self.path)).encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain" if status == 404 else "application/octet-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
PY
    mkfifo port
    python3 serve.py "$RIG_DIR/labels/cpu.pb.gz" >port 2>serve.log 3>&- &
    copying=$!
    disown
    read -r number <port
    ssh-keygen -q -t ed25519 -N '' -f team
    cat >inventory.yaml <<YAML
version: 1
services:
  app: { port: $number }
hosts:
  here: { connect: direct, address: 127.0.0.1, services: [app] }
teams:
  mailed: { recipients: [ $PWD/team.pub ] }
YAML
    chmod 600 inventory.yaml
}

@test "no byte of a copy contains a secret of a failed request, even if the server repeats it" {
    serve_echo
    local request secret i
    local -A requests=(
        [hunterabcdef]='/nope?token=hunterabcdef'
        [4711471147]='/nope?token=4711471147'
        [12345]='/nope?token=12345'
        [4711]='/nope?pin=4711'
        [sesame]='/nope/token/sesame'
        ['p4$w!x9']='/nope?token=p4$w!x9'
        ['ab1!cd$ef']='/nope?token=ab1%21cd%24ef'
        ['S3s ame']='/nope?token=S3s+ame'
        ['ab,cd,ef']='/nope?token=ab,cd,ef'
        ['ses;ame']='/nope?token=ses;ame'
        ['ses,ame']='/nope?token[]=ses,ame'
        [kJ8sQpZ2vLm9xRtW]='/nope?kJ8sQpZ2vLm9xRtW&y=1'
        [9f86d081884c7d659a2f]='/nope/9f86d081884c7d659a2f'
        [swordfish]='/nope?token:swordfish'
        [gatekeeper]='/nope/x?auth_key=gatekeeper')
    # These requests are so long that the item's error is cut within the secret.
    for i in 133 138 142; do
        requests[hunterabcdefgh$i]="/nope?n=$(printf '%0*d' "$i" 0)&token=hunterabcdefgh$i"
    done
    for secret in "${!requests[@]}"; do
        request=${requests[$secret]}
        rm -rf r.tar.gz r.tar.gz.age copy.tar.gz r copy
        run --separate-stderr "$profgrab_program" -q -i inventory.yaml --host here -o r.tar.gz "$request" heap
        tar xzf r.tar.gz
        grep -qF "$request" r/manifest.json || fail_run "$request was not asked for"
        grep -F 'denied: key' r/manifest.json | grep -qF "$secret" || fail_run "$request was not echoed"
        run --separate-stderr "$profgrab_program" attach r.tar.gz -q -i inventory.yaml --for mailed
        assert_status 0
        "$profgrab_program" bundle decrypt -i team r.tar.gz.age -o copy.tar.gz >/dev/null
        mkdir copy
        tar xzf copy.tar.gz -C copy
        # A hash or a time may contain the digits of a number.
        local -a forms=(-e "$secret")
        [[ $secret == *[!0-9]* ]] || forms=(-e "key $secret" -e "=$secret" -e "/$secret")
        [[ $secret != hunter* ]] || forms=(-e hunt)
        ! grep -rnF --exclude='*.gz' "${forms[@]}" copy >found || fail_run "$secret is in $(<found)"
    done
}

@test "a redacted profile opens with go tool pprof and differs only in the removed labels" {
    make_bundle
    "$copy_program" -r b.tar.gz
    tar xzOf b-handoff.tar.gz b/files/cpu.pb.gz >redacted.pb.gz
    for name in "$RIG_DIR/labels/cpu.pb.gz" redacted.pb.gz; do
        go tool pprof -raw "$name" 2>/dev/null >raw.txt
        go tool pprof -top "$name" 2>/dev/null | grep -v '^File: ' >top.txt
        sed 's/user:\[[^ ]*\]/user:[X]/' raw.txt >"raw-$(basename "$name")"
        mv top.txt "top-$(basename "$name")"
    done
    grep -q 'user:\[\[redacted\]\]' raw.txt
    grep -q 'main.spin' raw.txt
    grep -q 'user:\[X\]' raw-cpu.pb.gz
    # Samples that differ only in a removed label may become one sample: older versions of Go merge them.
    python3 - raw-cpu.pb.gz raw-redacted.pb.gz <<'PY'
import collections, re, sys

def read(path):
    samples, others, stack, values = collections.Counter(), [], None, ()
    def count(labels):
        for place, value in enumerate(values):
            samples[stack, labels, place] += value
    for line in open(path):
        sample = re.match(r" +([0-9 ]+): ([0-9 ]+)$", line)
        if stack is not None:
            count(line if not sample and line.startswith(" " * 16) else "")
        stack = None
        if sample:
            stack, values = sample[2], tuple(map(int, sample[1].split()))
        elif not line.startswith(" " * 16):
            others.append(line)
    return samples, others

one, other = map(read, sys.argv[1:])
assert any("user:[X]" in labels for _, labels, _ in one[0]), one
assert one == other, (one, other)
PY
    diff top-cpu.pb.gz top-redacted.pb.gz
}

@test "members that could not be searched are handed over, with a message even with -q" {
    make_bundle
    mkdir x && tar xzf b.tar.gz -C x
    # A damaged profile, and a command line of more than 4 MiB.
    head -c 5000000 /dev/zero >x/b/files/cmdline.txt
    echo hello >x/b/files/cpu.pb.gz
    python3 - <<'PY'
import hashlib, json
manifest = json.load(open("x/b/manifest.json"))
for item in manifest["files"]:
    data = open("x/b/" + item["file"], "rb").read()
    item["bytes"], item["sha256"] = len(data), hashlib.sha256(data).hexdigest()
json.dump(manifest, open("x/b/manifest.json", "w"))
PY
    tar czf odd.tar.gz -C x b/manifest.json b/files
    ssh-keygen -q -t ed25519 -N '' -f team
    cat >inventory.yaml <<YAML
version: 1
teams:
  mailed: { recipients: [ $PWD/team.pub ] }
YAML
    chmod 600 inventory.yaml
    run_profgrab attach odd.tar.gz -q -i inventory.yaml --for mailed
    assert_status 0
    assert_stderr_has 'not searched for secrets, and handed off unchanged: files/cmdline.txt: the command line is larger than 4194304 bytes'
    assert_stderr_has 'not searched for secrets, and handed off unchanged: files/cpu.pb.gz: at byte '
    refute_stderr_has 'files/trace.out'
    rm odd.tar.gz.age
    run_profgrab attach odd.tar.gz -i inventory.yaml --for mailed
    assert_status 0
    assert_stderr_has 'not searched for secrets: files/trace.out: an execution trace'
    run_profgrab bundle verify -i team odd.tar.gz.age
    assert_status 0
}

# begin_copy [OPTION...]: starts a copy that takes seconds, in the background. Its pid is in $copying.
begin_copy() {
    "$copy_program" "$@" b.tar.gz >out 2>log 3>&- &
    copying=$!
    wait_for_work
}

# Waits until the process $copying catches SIGTERM (signal 15) and has read 400 kB since.
wait_for_work() {
    local i caught read_bytes begin=
    for ((i = 0; i < 1000; i++)); do
        caught=$(sed -n 's/^SigCgt:\t//p' "/proc/$copying/status")
        if ((16#$caught & 1 << 14)); then
            read_bytes=$(sed -n 's/^rchar: //p' "/proc/$copying/io")
            ((read_bytes < ${begin:=$read_bytes} + 400000)) || return 0
        fi
        sleep 0.01
    done
    fail 'the program does not begin to read'
}

assert_ended() { # STATUS: compares $copying's exit status
    local rc=0
    wait "$copying" || rc=$?
    copying=
    assert_equal "$rc" "$1"
    assert_equal "$(ls -A)" $'b.tar.gz\nlog\nout'
}

@test "the first signal ends a copy at once in every phase, and no signal leaves a partial file" {
    make_bundle 300000000
    sha256sum b.tar.gz >"$BATS_TEST_TMPDIR/before"
    local redact before
    # Without redaction there is no search: the copy is being written when the signal arrives.
    for redact in -r ''; do
        begin_copy $redact
        children_cpu before
        # The processor time that the copy has taken before the signal counts only when it ends.
        ((before += $(awk '{ print ($14 + $15) * 10 }' "/proc/$copying/stat")))
        kill -TERM "$copying"
        assert_ended 1
        children_cpu
        ((REPLY - before < 500)) || fail "it went on for $((REPLY - before)) ms of processor time"
        grep -q interrupted log
        begin_copy $redact
        kill -KILL "$copying"
        assert_ended 137
    done
    sha256sum -c "$BATS_TEST_TMPDIR/before"
}

@test "the first signal ends list and extract, and extract keeps the files that are whole" {
    make_bundle 300000000
    local verb rc
    mkdir there
    for verb in 'list' 'extract -C there'; do
        # shellcheck disable=SC2086 # several words
        "$profgrab_program" bundle $verb b.tar.gz >out 2>log 3>&- &
        copying=$!
        wait_for_work
        kill -TERM "$copying"
        rc=0
        wait "$copying" || rc=$?
        copying=
        assert_equal "$verb: $rc" "$verb: 143"
        grep -q '^profgrab: interrupted' log
    done
    assert_equal "$(<log)" 'profgrab: interrupted; there/b has the first 5 files of the bundle'
    [[ ! -s out ]]
    assert_equal "$(cd there/b && find . -type f | sort)" \
        $'./files/cmdline.txt\n./files/cpu.pb.gz\n./files/goroutines.txt\n./files/quiet.txt\n./manifest.json'
    tar xzf b.tar.gz --exclude trace.out
    diff -r b there/b
}

@test "the second signal names the bundle and leaves nothing of the copy" {
    make_bundle 300000000
    ssh-keygen -q -t ed25519 -N '' -f "$BATS_TEST_TMPDIR/team"
    cat >"$BATS_TEST_TMPDIR/inventory.yaml" <<YAML
version: 1
teams:
  mailed: { recipients: [ $BATS_TEST_TMPDIR/team.pub ] }
YAML
    chmod 600 "$BATS_TEST_TMPDIR/inventory.yaml"
    "$profgrab_program" attach b.tar.gz -i "$BATS_TEST_TMPDIR/inventory.yaml" --for mailed >out 2>log 3>&- &
    copying=$!
    wait_for_work
    # Both signals are pending before the process continues, so that it receives the second one in the same phase.
    kill -STOP "$copying"
    kill -TERM "$copying"
    kill -HUP "$copying"
    kill -CONT "$copying"
    local rc=0
    wait "$copying" || rc=$?
    copying=
    ((rc == 129 || rc == 143))
    grep -q 'exited at once; the bundle is safe in b.tar.gz$' log
    assert_equal "$(ls -A)" $'b.tar.gz\nlog\nout'
}
