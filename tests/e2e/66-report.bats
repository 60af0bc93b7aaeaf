#!/usr/bin/env bats
# report.html: in a bundle, made again by `report`, and of single files by `view`. Items that it omits. Content that it must not have.

load helper

setup_file() {
    e2e_setup_file
    (cd "$RIG_DIR" && "$profgrab_program" -q --ssh-config "$SSH_CONFIG" --host file-03 --port "$RIG_PORT_caddy" -o "$RIG_DIR/good.tar.gz" \
        cpu=1s heap goroutines)
    mkdir "$RIG_DIR/good" && tar xzf "$RIG_DIR/good.tar.gz" -C "$RIG_DIR/good" --strip-components=1
    mkdir "$RIG_DIR/profiles" && make_profiles "$RIG_DIR/profiles"
}

# make_profiles DIR: writes hostile profiles.
make_profiles() {
    python3 - "$1" <<'PY'
import gzip, os, sys

def number(n):
    n &= (1 << 64) - 1
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])

def field(f, v):
    return number(f << 3) + number(v) if isinstance(v, int) else number(f << 3 | 2) + number(len(v)) + v

def profile(path, names, stacks, label=None, padding=0):
    strings, out = [b"", b"samples", b"count", b"user", label or b""], bytearray()
    out += field(1, field(1, 1) + field(2, 2))
    for i, name in enumerate(names, 1):
        strings.append(name)
        out += field(5, field(1, i) + field(2, len(strings) - 1))
        out += field(4, field(1, i) + field(4, field(1, i)))
    tag = field(3, field(1, 3) + field(2, 4)) if label else b""
    for stack, value in stacks:
        out += field(2, field(1, b"".join(map(number, stack))) + field(2, number(value)) + tag)
    out += b"".join(field(6, s) for s in strings) + (field(6, bytes(padding)) if padding else b"")
    with open(os.path.join(sys.argv[1], path), "wb") as f:
        f.write(gzip.compress(out, 1))

profile("names.pb.gz", [b"</script><script>window.pwned=1</script>", b"\xff\xfe \xe2\x80\xae evil", b"x" * 10000, b"main.f"],
        [([1, 2, 3, 4], 5), ([4], 7)])
profile("deep.pb.gz", [b"main.f"], [([1] * 5000, 1)])
profile("wide.pb.gz", [b"main.f%d" % i for i in range(70000)], [([i + 1], 1) for i in range(70000)])
profile("labels.pb.gz", [b"main.f"], [([1], 5)], label=b"carol@example.org")
profile("large.pb.gz", [b"main.f"], [([1], 5)], padding=9000000)
PY
}

# check_page FILE PYTHON...: runs the Python lines with `bundle`, `entries` (the page's data of each item by its title) and the
# page's `text`.
check_page() {
    python3 - "$@" <<'PY'
import base64, gzip, json, re, sys

text = open(sys.argv[1], encoding="utf-8").read()
bundle = json.loads(re.search(r'<script type="application/json" id="bundle">(.*?)</script>', text, re.S).group(1))
blocks = {i: json.loads(gzip.decompress(base64.b64decode(d)))
          for i, d in re.findall(r'<script type="application/octet-stream" id="(data-\d+)">([^<]*)</script>', text)}
entries = {e["title"] + ("" if e["form"] == "profile" else " " + e["form"]): blocks[e["id"]] for e in bundle["data"] if e["id"]}
assert len(blocks) == sum(e["id"] is not None for e in bundle["data"])
for line in sys.argv[2:]:
    exec(line)
PY
}

@test "a bundle contains a small page with the collected items, listed in the manifest" {
    run_profgrab bundle verify "$RIG_DIR/good.tar.gz"
    assert_status 0
    grep -q '^intact .*report.html' <<<"$output"
    python3 "$rig_root/tests/schema.py" "$rig_root/docs/formats.md" "$RIG_DIR/good/manifest.json"
    assert_mode "$RIG_DIR/good/report.html" 600
    (($(stat -c %s "$RIG_DIR/good/report.html") < 400000))
    (($(stat -c %s "$RIG_DIR/good.tar.gz") < 400000))
    manifest=$RIG_DIR/good/manifest.json check_page "$RIG_DIR/good/report.html" \
        'import os; m = json.load(open(os.environ["manifest"]))' \
        'assert {k: v for k, v in m.items() if k not in ("report", "summary")} == bundle["manifest"]' \
        'assert bundle["name"] == m["name"] and bundle["made"] == m["finished"] and bundle["version"] == 1' \
        'assert [(s["rule"], s["text"]) for s in bundle["summary"]] == [(s["rule"], s["text"]) for s in m["summary"]] != []' \
        'assert all(bundle["data"][s["data"]]["id"] for s in bundle["summary"])' \
        'totals = {i["file"]: [t["total"] for t in i["profile"]["sample_types"]] for i in m["hosts"][0]["services"][0]["items"] if "profile" in i}' \
        'assert all([sum(s) for s in entries[e["title"]]["nodes"]["self"]] == totals[e["file"]] for e in bundle["data"] if e["form"] == "profile")' \
        'assert sorted(e["kind"] for e in bundle["data"]) == ["cpu", "goroutines", "goroutines", "heap"]' \
        'assert any("wait" in g for e in entries.values() if "groups" in e for g in e["groups"])'
}

@test "the page's policy names its script and its style by their hashes, and allows no loading" {
    check_page "$RIG_DIR/good/report.html" \
        'import hashlib; policy = re.search(r"<meta http-equiv=\"Content-Security-Policy\" content=\"(.*?)\">", text).group(1)' \
        'hash_of = lambda s: "'"'sha256-"'" + base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() + "'"'"'"' \
        'script, = re.findall(r"<script type=\"module\">(.*?)</script>", text, re.S); style, = re.findall(r"<style>(.*?)</style>", text, re.S)' \
        'assert policy == f"default-src '"'none'"'; script-src {hash_of(script)}; style-src {hash_of(style)}; img-src data:; base-uri '"'none'"'; form-action '"'none'"'"' \
        'assert not re.search(r"(src|href)=", re.sub(r"<(script|style)[^>]*>.*?</\1>", "", text, flags=re.S))'
}

@test "report makes the same page again byte for byte, writes to a file or standard output, reads encrypted bundles, and never replaces a file" {
    run_profgrab report "$RIG_DIR/good.tar.gz" -o r.html
    assert_status 0
    assert_equal "$output" r.html
    assert_mode r.html 600
    cmp r.html "$RIG_DIR/good/report.html"
    run_profgrab report "$RIG_DIR/good.tar.gz" -o r.html
    assert_status 1
    assert_stderr_has 'r.html exists already'
    local format
    for format in --text --markdown; do
        run_profgrab report "$format" "$RIG_DIR/good.tar.gz" -o r.html
        assert_status 1
        assert_stderr_has 'r.html exists already'
    done
    cmp r.html "$RIG_DIR/good/report.html"
    profgrab report -o - "$RIG_DIR/good.tar.gz" | cmp - r.html
    ssh-keygen -q -t ed25519 -N '' -f key
    profgrab bundle encrypt --encrypt-to key.pub -o b.tar.gz.age "$RIG_DIR/good.tar.gz"
    # The page would be a file in plain text beside the bundle.
    run_profgrab report -i key b.tar.gz.age
    assert_status 2
    assert_stderr_has 'b.tar.gz.age is encrypted, and its page would be in plain text'
    assert_stderr_has 'hint: -o FILE names a file for the page, and -o - writes it to standard output'
    [[ ! -e b.report.html ]]
    run_profgrab report -i key b.tar.gz.age -o opened.html
    assert_status 0
    cmp opened.html r.html
    profgrab report -i key -o - b.tar.gz.age | cmp - r.html
    cp "$RIG_DIR/good.tar.gz" b.tar.gz
    run_profgrab report b.tar.gz
    assert_status 0
    assert_equal "$output" b.report.html
    run_profgrab report b.tar.gz.age -o none.html
    assert_status 1
    [[ ! -e none.html ]]
}

@test "report of a missing, cut or foreign file is an error, and no file is left" {
    head -c 3000 "$RIG_DIR/good.tar.gz" >cut.tar.gz
    run_profgrab report cut.tar.gz
    assert_status 1
    assert_stderr_has 'cut'
    run_profgrab report "$RIG_DIR/good/file-03"/*/heap.pb.gz -o x.html
    assert_status 1
    run_profgrab report missing.tar.gz
    assert_status 1
    run_profgrab report
    assert_status 2
    assert_equal "$(ls)" cut.tar.gz
}

@test "markup in names, a name of 10 kB, a stack of 5,000 calls and 70,000 functions are only data" {
    run_profgrab bundle create -o b.tar.gz "$RIG_DIR/profiles"/{names,deep,wide}.pb.gz
    assert_status 0
    run_profgrab bundle verify b.tar.gz
    assert_status 0
    tar xzf b.tar.gz
    ! grep -q 'pwned' b/report.html || fail 'a name is in the page unescaped'
    check_page b/report.html \
        'names, deep, wide = (next(v for k, v in entries.items() if k.endswith(n + ".pb.gz")) for n in ("names", "deep", "wide"))' \
        'assert sum(names["nodes"]["self"][0]) == 12 and len(names["nodes"]["depth"]) == 5' \
        'assert any("pwned" in s for s in names["strings"]) and max(map(len, names["strings"])) < 2048' \
        'assert not any("\u202e" in s for s in names["strings"])' \
        'assert max(deep["nodes"]["depth"]) == 5000 and sum(deep["nodes"]["self"][0]) == 1' \
        'assert len(wide["nodes"]["depth"]) == 50000 and sum(wide["nodes"]["self"][0]) == 70000 and wide["nodes"]["function"].count(-2) == 1'
}

@test "a file that is too large or damaged is listed with the reason, one of an unknown kind is left out; a large one is drawn on request" {
    head -c 100 "$RIG_DIR/profiles/deep.pb.gz" >cut.pb.gz
    echo hello >notes.txt
    run_profgrab bundle create -o b.tar.gz "$RIG_DIR/profiles/large.pb.gz" cut.pb.gz notes.txt
    assert_status 3
    tar xzf b.tar.gz
    check_page b/report.html \
        'whys = {e["file"].split("/")[-1]: e.get("why") for e in bundle["data"]}' \
        'assert list(sorted(whys)) == ["cut.pb.gz", "large.pb.gz"]' \
        'assert "inflates to more than 4 MB: `profgrab view" in whys["large.pb.gz"] and "checks" in whys["cut.pb.gz"]'
    profgrab report b.tar.gz -o again.html
    check_page again.html 'assert [e["form"] for e in bundle["data"] if "large" in e["file"]] == ["profile"]'
}

@test "values of labels are not on the page, and a redacted copy has the same pictures" {
    printf '2 @ 0x1 0x2\n# labels: {"user":"dave@example.org"}\n#\t0x1\tmain.f+0x1\t/src/f.go:1\n' |
        cat <(echo 'goroutine profile: total 2') - >goroutines.txt
    printf '/usr/bin/ferris\0--listen=:6060\0' >cmdline.txt
    profgrab bundle create -o b.tar.gz "$RIG_DIR/profiles/labels.pb.gz" goroutines.txt cmdline.txt
    tar xzf b.tar.gz
    grep -q ferris b/files/cmdline.txt
    check_page b/report.html 'everything = text + json.dumps(list(entries.values()))' \
        'assert "main.f" in everything and not any(word in everything for word in ("carol", "dave", "ferris"))' \
        'assert any("groups" in e for e in entries.values())'
    "${COPY-$rig_root/build/gcc/tests/copy}" -r b.tar.gz
    run_profgrab bundle verify b-handoff.tar.gz
    assert_status 0
    assert_stdout_has 'redacted   2 files'
    # The page is drawn again, because it has the sizes of the files and what the hand-off has redacted.
    tar xzOf b-handoff.tar.gz b/report.html >copy.html
    profgrab report -o - b-handoff.tar.gz | cmp - copy.html
    check_page copy.html 'original = b"".join(open("b/report.html", "rb")).decode()' \
        'data = lambda html: re.findall(r"<script type=.application/octet-stream. id=.(data-[0-9]+).>([^<]*)</script>", html)' \
        'assert data(text) and data(text) == data(original)' \
        'everything = text + json.dumps(list(entries.values()))' \
        'assert "main.f" in everything and not any(word in everything for word in ("carol", "dave@", "ferris"))' \
        'assert sum("original" in f for f in bundle["manifest"]["files"]) == 2 and bundle["manifest"]["handoff"]["redactions"]'
    tar xzOf b-handoff.tar.gz b/manifest.json | python3 -c 'import json, sys; assert json.load(sys.stdin)["handoff"]["unsearched"] == []'
}

@test "with a full disk the bundle is written without the page, and that is reported" {
    # A file size limit simulates a full disk: the page is larger than the rest.
    limited() { run --separate-stderr bash -c "ulimit -f 60; exec \"\$@\"" - "$profgrab_program" "$@"; }
    limited bundle create -o b.tar.gz "$RIG_DIR/profiles/labels.pb.gz"
    assert_status 0
    assert_stderr_has 'report.html could not be made, so the bundle has none: '
    assert_stderr_has 'File too large'
    assert_stderr_has 'hint: `profgrab report BUNDLE` makes it later'
    run_profgrab bundle verify b.tar.gz
    assert_status 0
    ! grep -q report.html <<<"$output" || fail_run 'there is a report'
    limited report "$RIG_DIR/good.tar.gz" -o r.html
    assert_status 1
    assert_stderr_has 'r.html: cannot write: File too large'
    [[ ! -e r.html ]]
    run --separate-stderr bash -c 'ulimit -f 1; exec "$@"' - "$profgrab_program" merge -o merged.pb.gz "$RIG_DIR/profiles/wide.pb.gz"
    assert_status 1
    assert_stderr_has 'merged.pb.gz: cannot write: File too large'
    [[ ! -e merged.pb.gz ]]
}

@test "an interrupted capture has a page as well" {
    with_pty --deadline 30 --stdout path --ctrl-c 'cpu [1-9]s of 30s' -- "$profgrab_program" --ssh-config "$SSH_CONFIG" --host file-03 \
        --port "$RIG_PORT_caddy" -o b.tar.gz heap cpu=30s
    assert_status 130
    run_profgrab bundle verify b.tar.gz
    assert_status 0
    tar xzf b.tar.gz
    check_page b/report.html 'assert bundle["manifest"]["interrupted"] and any(e["kind"] == "heap" and e["form"] == "profile" for e in bundle["data"])'
}

@test "view opens files, a member or a bundle in the browser, with a page that only the user can read" {
    cat >browser <<'SH'
#!/bin/sh
stat -c %a "$1" >seen && cp "$1" seen.html
SH
    chmod +x browser
    export BROWSER=$PWD/browser
    heap=$(cd "$RIG_DIR/good" && echo file-03/*/heap.pb.gz)
    run_profgrab view "$RIG_DIR/good/$heap" "$RIG_DIR/good.tar.gz:${heap%/*}/goroutines.txt" "$RIG_DIR/profiles/large.pb.gz"
    assert_status 0
    [[ $output == "$XDG_RUNTIME_DIR"/profgrab-view-*.html && -s $output ]]
    assert_equal "$(cat seen)" 600
    cmp seen.html "$output"
    check_page seen.html 'assert [(e["form"], e["kind"] if "kind" in e else "") for e in bundle["data"]] == [("profile", "heap"), ("goroutines", "goroutines"), ("profile", "")]' \
        'assert bundle["manifest"] is None and bundle["name"] == "3 files"'
    local earlier=$output
    run_profgrab view "$RIG_DIR/good.tar.gz"
    assert_status 0
    cmp seen.html "$RIG_DIR/good/report.html"
    # Each name has six random characters or more.
    [[ $output == */profgrab-view-??????*.html && $output != "$earlier" ]] || fail_run 'the same name again'
    rm seen.html
    run_profgrab view --no-browser - <"$RIG_DIR/good/$heap"
    assert_status 0
    [[ -s $output && ! -e seen.html ]]
}

@test "a signal ends view at once, also if the browser ignores it, and the browser goes on" {
    cat >browser <<'SH'
#!/bin/sh
trap '' INT TERM HUP
echo $$ >browser.pid
sleep 30
SH
    chmod +x browser
    BROWSER=$PWD/browser "$profgrab_program" view "$RIG_DIR/profiles/labels.pb.gz" 3>&- &
    local view=$! browser
    until [[ -s browser.pid ]]; do sleep 0.05; done
    browser=$(cat browser.pid)
    kill -TERM "$view"
    timeout 10 tail --pid="$view" -f /dev/null
    wait "$view"
    kill -0 "$browser"
    kill -KILL -- "-$browser" 2>/dev/null || kill -KILL "$browser"
}

@test "view of an encrypted bundle keeps the page in memory, and warns about its plain text" {
    ssh-keygen -q -t ed25519 -N '' -f key
    profgrab bundle encrypt --encrypt-to key.pub -o b.tar.gz.age "$RIG_DIR/good.tar.gz"
    run_profgrab view --no-browser "$RIG_DIR/good.tar.gz"
    assert_stderr ''
    local source page
    for source in b.tar.gz.age "b.tar.gz.age:$(cd "$RIG_DIR/good" && echo file-03/*/heap.pb.gz)"; do
        run_profgrab view --no-browser -i key "$source"
        assert_status 0
        [[ $output == "$XDG_RUNTIME_DIR"/profgrab-view-*.html ]] || fail_run 'elsewhere'
        assert_stderr "profgrab: the page is in plain text: \`rm $output\` when you have seen it"
    done
    [[ -d /dev/shm && -w /dev/shm ]] || return 0
    run --separate-stderr env -u XDG_RUNTIME_DIR "$profgrab_program" view --no-browser -i key b.tar.gz.age
    page=$output
    [[ $page != /dev/shm/profgrab-view-*.html ]] || rm "$page"
    assert_status 0
    [[ $page == /dev/shm/profgrab-view-*.html ]] || fail_run 'on a disk'
    assert_equal "$(ls "$TMPDIR")" ''
}

@test "view without a readable input leaves no page; without a browser it fails and keeps the page" {
    run_profgrab view missing.pb.gz
    assert_status 1
    assert_stderr_has 'missing.pb.gz'
    echo hello >text
    run_profgrab view text
    assert_status 1
    assert_stderr_has 'text'
    assert_equal "$(ls "$XDG_RUNTIME_DIR")" ''
    run_profgrab view
    assert_status 2
    run --separate-stderr env BROWSER= DISPLAY= PATH="$PWD" "$profgrab_program" view "$RIG_DIR/profiles/labels.pb.gz"
    assert_status 1
    assert_stderr_has 'no browser was found'
    [[ -s $output ]]
}

@test "view with browsers that cannot start prints one message with the path, hides their output, and fails" {
    printf '#!/bin/sh\necho noise >&2\necho noise\nexit 3\n' >sensible-browser
    printf '#!/bin/sh\necho "cannot start firefox" >&2\nexit 4\n' >xdg-open
    chmod +x sensible-browser xdg-open
    run --separate-stderr env BROWSER="$PWD/missing" DISPLAY=:77 PATH="$PWD" "$profgrab_program" view "$RIG_DIR/profiles/labels.pb.gz"
    assert_status 1
    assert_equal "$stderr" "profgrab: no browser could be started: cannot start $PWD/missing: No such file or directory, sensible-browser ended with exit code 3, xdg-open ended with exit code 4
hint: set \$BROWSER to a browser, or open $output yourself"
    [[ -s $output ]]
    # A browser that starts is tried after those that cannot.
    printf '#!/bin/sh\n: >%q/seen\n' "$PWD" >xdg-open
    run --separate-stderr env BROWSER= DISPLAY=:77 PATH="$PWD" "$profgrab_program" view "$RIG_DIR/profiles/labels.pb.gz"
    assert_status 0
    assert_equal "$stderr" ''
    [[ -e seen ]]
}

@test "report --text and --markdown print the findings first, then the collected items" {
    run_profgrab report --text "$RIG_DIR/good.tar.gz"
    assert_status 0
    assert_equal "${output%%$'\n'*}" "$(python3 -c 'import json, sys; s = json.load(sys.stdin)["summary"][0]; print(s["text"], "(" + s["file"] + ")")' <"$RIG_DIR/good/manifest.json")"
    assert_stdout_has 'cpu'
    run_profgrab report --markdown "$RIG_DIR/good.tar.gz"
    assert_status 0
    assert_equal "$output" "$(<"$RIG_DIR/good/README.md")"
    run_profgrab report --markdown -o r.md "$RIG_DIR/good.tar.gz"
    assert_status 0
    cmp r.md "$RIG_DIR/good/README.md"
    run_profgrab report --text --markdown "$RIG_DIR/good.tar.gz"
    assert_status 2
}

@test "embed-web orders modules by their imports and refuses unknown syntax" {
    mkdir web
    mkdir web/pprof
    cp "$rig_root/web/report.html" web
    cp "$rig_root/web/pprof/"*.html web/pprof
    echo 'p { color: red }' >web/report.css
    echo 'b { color: blue }' >web/pprof/pprof.css
    echo 'export const one = 1;' >web/one.js
    printf "import { one } from './one.js';\nexport function two() { return one + 1; }\n" >web/two.js
    printf "import { two } from './two.js';\nimport { one } from './one.js';\ntwo(one);\n" >web/main.js
    echo "export const three = 3;" >web/pprof/one.js
    printf "import { one } from '../one.js';\nimport { three } from './one.js';\nconsole.log(one, three);\n" >web/pprof/main.js
    "$rig_root/tools/embed-web" web >page.c
    part() { # NAME: an array of the C source
        sed -n "/ $1\[/,/^0}/p" page.c | grep -oE '0x[0-9a-f]{2}' | sed 's/0x//' | tr -d '\n' | python3 -c 'import sys; print(bytes.fromhex(sys.stdin.read()).decode(), end="")'
    }
    assert_equal "$(part report_script)" $'const one = 1;\nfunction two() { return one + 1; }\ntwo(one);'
    assert_equal "$(part pprof_script)" $'const one = 1;\nconst three = 3;\nconsole.log(one, three);'
    assert_equal "$(part report_style)" 'p { color: red }'
    assert_equal "$(part pprof_style)" $'p { color: red }\nb { color: blue }'
    [[ $(part pprof_policy) == *"script-src 'self'; style-src 'self'; connect-src 'self';"* ]]
    refused() { # WORDS LINE...: embed-web refuses these lines in place of two.js, with WORDS
        printf '%s\n' "${@:2}" >web/two.js
        run --separate-stderr "$rig_root/tools/embed-web" web
        assert_status 1
        assert_stderr_has "$1"
    }
    refused 'an unsupported import' "import one from './one.js';" 'export function two() {}'
    refused 'an unsupported import' "import * as ones from './one.js';" 'export function two() {}'
    refused 'an unsupported export' 'export default 1;' 'export function two() {}'
    refused 'one.js does not export three' "import { three } from './one.js';" 'export function two() {}'
    refused 'imports itself' "import { x } from './main.js';" 'export function two() {}'
    refused 'declared at the top of two modules: one' 'const one = 2;' 'export function two() {}'
    refused 'would read as markup' "export function two() { return '</script>'; }"
    refused 'two.js does not export two' 'export function three() {}'
    printf "export function two() {}\n" >web/two.js
    echo 'const unused = 1;' >web/unused.js
    run --separate-stderr "$rig_root/tools/embed-web" web
    assert_status 1
    assert_stderr_has 'no module imports web/unused.js'
}
