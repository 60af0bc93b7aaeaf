#!/usr/bin/env python3
"""Compares `profgrab pprof -disasm` and `-weblist` with google/pprof.

    machine.py                  with its recorded output, made with simulated programs: tests/data/machine
    machine.py --renew PPROF    writes these files with a recent google/pprof: never with what is to be tested
    machine.py --live [PPROF]   with the google/pprof in Go's sources, or that one: on programs that gcc makes; also the page of -http
    machine.py --live --all     the same, also on profiles with samples in most of the instructions
    machine.py --go [PPROF]     the same, on programs that Go makes, with llvm-symbolizer; and the places of -disasm with `go tool pprof`

-disasm must be equal byte for byte. The pages of -weblist are read, and must have the same functions, lines, instructions and values.
$PROFGRAB is the program."""

import argparse
import difflib
import html
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import urllib.parse

import odd
import symbols
import web

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(os.path.dirname(HERE), "data", "machine")
TOOLS = ("addr2line", "nm", "c++filt", "objdump")

# ---- pages ------------------------------------------------------------------------------------------------------------
# Both readers return [(function, file, flat, cum, percent, [(number, opens, flat, cum, text, [row])])]. A row is
# ("gap",), ("call", text, place) or ("code", flat, cum, address, text, place).


def expand(text):
    """Replaces tabs as google/pprof does."""
    out = ""
    for c in text:
        out += " " * (8 - len(out) % 8) if c == "\t" else c
    return out


def read_upstream(page):
    functions = []
    unescape = html.unescape
    for part in page[page.index("<body>"):].split("<h2>")[1:]:
        total = re.search(r"  Total:  +(\S+) +(\S+) \(flat, cum\) +(\S+)", part).groups()
        file = re.search(r'<p class="filename">(.*?)</p>', part, re.S).group(1)
        lines = []
        for line in part.split("<span class=line>")[1:]:
            number, kind, flat, cum, text = re.match(r" +(\d+)</span> <span class=(\w+)>  +(\S+) +(\S+)           (.*?) </span>", line, re.S).groups()
            rows = []
            body = line[line.index("<span class=asm>") + 16:line.rindex("</span>")] if "<span class=asm>" in line else ""
            for row in filter(str.strip, body.split("\n")):
                call = re.match(r" {42}<span class=inlinesrc>(.*?)</span> <span class=unimportant>(.*?)</span>$", row)
                code = re.match(r" {10}( *\S+) ( *\S+) +([0-9a-f]+): (.*?) <span class=unimportant>(.*?)</span>$", row)
                if call:
                    rows.append(("call", unescape(call.group(1)).rstrip(), unescape(unescape(call.group(2)))))
                elif code:
                    rows.append(("code", code.group(1).strip(), code.group(2).strip(), code.group(3), unescape(code.group(4)).rstrip(),
                                 unescape(unescape(code.group(5)))))
                else:
                    rows.append(("gap",))
            lines.append((int(number), kind == "livesrc", flat, cum, unescape(text), rows))
        functions.append((unescape(part[:part.index("</h2>")]), unescape(file), *total, lines))
    return functions


def read_ours(page):
    functions = []
    for part in page.split("<h2>")[1:]:
        file, values = re.findall(r"<p>(.*?)</p>", part, re.S)[:2]
        total = re.match(r"flat (\S+), cum (\S+), (\S+) of the total", values).groups()
        lines = []
        for line in re.split(r'(?=<details>|<div class="row none">)', part)[1:]:
            flat, cum, number, text = re.search(r"<b>(.*?)</b><b>(.*?)</b><i>(\d+)</i><code>(.*?)</code>", line, re.S).groups()
            rows = []
            for kind, *rest in re.findall(r'<div class="row( call)?"><b>(.*?)</b><b>(.*?)</b><i>(.*?)</i><code>(.*?)</code>(?:<em>(.*?)</em>)?</div>', line):
                own_flat, own_cum, address, code, place = map(html.unescape, rest)
                code = expand(code).rstrip()
                if not kind:
                    rows.append(("code", own_flat, own_cum, address, code, place))
                else:
                    rows.append(("gap",) if code == "..." else ("call", code, place))
            lines.append((int(number), line.startswith("<details>"), flat, cum, html.unescape(text), rows))
        functions.append((html.unescape(part[:part.index("</h2>")]), html.unescape(file), *total, lines))
    return functions


def listing(functions):
    """As text, a line for each part."""
    out = []
    for *head, lines in functions:
        out.append("FUNCTION " + " | ".join(head))
        for number, opens, flat, cum, text, rows in lines:
            out.append("%6d%s %8s %8s %s" % (number, "+" if opens else " ", flat, cum, text))
            out += ["        " + " | ".join(row) for row in rows]
    return "\n".join(out) + "\n"


# ---- runs -------------------------------------------------------------------------------------------------------------


class Side:
    def __init__(self, command, directory, name, reader):
        self.command, self.directory, self.reader = command, directory, reader
        self.tools = "tools"
        self.page = os.path.join(directory, name + ".html")

    def environment(self):
        environment = dict(os.environ, PATH=os.path.join(self.directory, self.tools), HOME=self.directory, PPROF_TMPDIR=self.directory,
                           PPROF_BINARY_PATH="/nonexistent", TZ="UTC", LC_ALL="C")
        environment.pop("PPROF_TOOLS", None)
        return environment

    def output(self, arguments):
        """(exit code, text, messages). The text of -weblist is its listing."""
        page = any(word.startswith("-weblist") for word in arguments)
        if os.path.exists(self.page):
            os.unlink(self.page)
        done = subprocess.run(self.command + (["-output=" + self.page] if page else []) + arguments, stdin=subprocess.DEVNULL, capture_output=True,
                              env=self.environment(), cwd=self.directory, timeout=120, check=False)
        said = re.sub(r"(?m)^(Generating report in|hint:).*\n", "", done.stderr.decode(errors="replace"))
        # google/pprof prints there why it cannot read a binary, profgrab on stderr.
        text = re.sub(r"(?m)^stat /gone.*\n", "", done.stdout.decode(errors="replace"))
        if page and os.path.exists(self.page):
            with open(self.page, encoding="utf-8", errors="replace") as f:
                text += listing(self.reader(f.read()))
        return done.returncode, text, said.replace("pprof: ", "")


def differences(names, texts):
    return "".join(line if line.endswith("\n") else line + "\n"
                   for line in list(difflib.unified_diff(*(t.splitlines(True) for t in texts), *names, n=1))[:30])


# ---- recorded ---------------------------------------------------------------------------------------------------------

RECORDED = {
    "disasm": "-disasm=work_ cpu.pb",
    "disasm-all": "-disasm=. cpu.pb",
    "disasm-intel": "-disasm=work_leaf -intel_syntax cpu.pb",
    "disasm-address": "-disasm=0x401d4a cpu.pb",
    "disasm-scaled": "-disasm=main -sample_index=cpu -unit=us -focus=work_leaf cpu.pb",
    "disasm-nothing": "-disasm=nothing cpu.pb",
    "weblist": "-weblist=work_ -source_path={sources} -trim_path=/src/example cpu.pb",
    "weblist-all": "-weblist=. cpu.pb",
    "weblist-intel": "-weblist=work_leaf -intel_syntax cpu.pb",
    "weblist-address": "-weblist=0x401d06 -source_path={sources} -trim_path=/src/example cpu.pb",
    "weblist-nothing": "-weblist=nothing cpu.pb",
    "weblist-bare": "-weblist=gone -source_path={sources} -trim_path=/src/example cpu.pb",
}


def fake_elf():
    """An ELF file whose addresses 0x401000 to 0x403000 are machine code."""
    header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 2, 62, 1, 0x401000, 64, 0, 0, 64, 56, 1, 64, 0, 0)
    return header + struct.pack("<IIQQQQQQ", 1, 5, 0x1000, 0x401000, 0x401000, 0x2000, 0x2000, 0x1000) + bytes(0x2000)


def recorded_profile(binary):
    """Samples at instructions and between them, with the calls of addr2line's recorded output."""
    calls, place = {}, None
    with open(os.path.join(DATA, "addr2line"), encoding="utf-8") as f:
        for line in f.read().split("\n")[:-1]:
            if line.startswith("0x"):
                place = calls[int(line, 16)] = []
            else:
                place.append(line)
    p, rng = odd.Profile(period_type=("cpu", "nanoseconds"), period=1), random.Random(1)
    m = p.mapping(binary, 0x401000, 0x403000, 0x1000)
    functions, locations = {}, []
    for address, words in calls.items():
        lines = []
        for name, at in zip(words[::2], words[1::2]):
            file, number = re.sub(r" \(discr.*", "", at).replace(":?", ":0").replace("??", "").rsplit(":", 1)
            if (name, file) not in functions:
                functions[name, file] = p.function(name, file)
            lines.append((functions[name, file], int(number)))
        if rng.random() < 0.5:
            locations.append(p.location(address + rng.randrange(2), lines, m))
    for location in locations:
        p.sample([location, rng.choice(locations), rng.choice(locations)], [1, rng.randrange(1000)])
    gone = p.mapping("/gone/library", 0x500000, 0x600000)
    bare = p.location(0x500100, [(p.function("inlined", "/src/example/work.c"), 8), (p.function("gone", "/src/example/work.c"), 21)], gone)
    p.sample([bare, locations[0]], [2, 77])
    return p


def prepare_recorded(directory):
    os.makedirs(os.path.join(directory, "tools"))
    with open(os.path.join(directory, "a.out"), "wb") as f:
        f.write(fake_elf())
    with open(os.path.join(directory, "cpu.pb"), "wb") as f:
        f.write(recorded_profile(os.path.join(directory, "a.out")).encode())
    for name in ("objdump", "nm", "addr2line"):
        path = os.path.join(directory, "tools", name)
        with open(path, "w", encoding="utf-8") as f:
            f.write('#!/bin/sh\nexec %s %s %s "$@"\n' % (os.path.realpath(sys.executable), os.path.join(DATA, "tool.py"), name))
        os.chmod(path, 0o755)


def compare_recorded(directory, side, renew):
    prepare_recorded(directory)
    different = 0
    for name, words in RECORDED.items():
        code, text, said = side.output(words.format(sources=symbols.SOURCES).split())
        text = "exit %d\n%s%s" % (code, text, said if code else "")
        path = os.path.join(DATA, name + ".golden")
        if renew:
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            continue
        with open(path, encoding="utf-8") as f:
            expected = f.read()
        if text != expected:
            different += 1
            print("differs: %s\n%s" % (words, differences(("recorded", "ours"), (expected, text))))
    print("%d of %d are equal" % (len(RECORDED) - different, len(RECORDED)))
    return different


# ---- live -------------------------------------------------------------------------------------------------------------

# What newer versions of google/pprof than that of Go 1.26 do differently: (file, pattern, replacement).
NEWER = (
    ("report/report.go", r"s\.sym\.Start, s\.sym\.End, o\.IntelSyntax", "s.sym.Start, s.sym.End+1, o.IntelSyntax"),
    ("report/report.go", r"address < s\.sym\.End", "address <= s.sym.End"),
    ("report/source.go", r"\n\t\t\tcum\[addr\] \+= value\n", "\n\t\t\tif !seen[addr] {\n\t\t\t\tseen[addr] = true\n\t\t\t\tcum[addr] += value\n\t\t\t}\n"),
    ("report/source.go", r"\n(\t\t// Find call-sites matching sym\.)", r"\n\t\tseen := map[uint64]bool{}\n\1"),
    ("binutils/addr2liner.go", r'fileline == "\?\?:0" \{', 'fileline == "??:0" || fileline == "??:?" {'),
)
PADDING = '__asm__(".text\\n.skip 3000, 0x90\\n");\n'  # google/pprof shows nothing within 500 bytes of the edge of a mapping
DENSITIES = ((11, 0.1), (5, 1))  # the bytes between two addresses, and the share of them that get samples
EXPRESSIONS = ("work", "main", ".", "work_mix", r"work\.c", "Ring", "nothing")


def make_newer(tree):
    for name, pattern, replacement in NEWER:
        path = os.path.join(tree, "internal", name)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        with open(path, "w", encoding="utf-8") as f:
            f.write(re.sub(pattern, replacement, text))


def build_programs(directory):
    padding = os.path.join(directory, "padding.c")
    with open(padding, "w", encoding="utf-8") as f:
        f.write(PADDING)
    for name in ("pie", "fixed", "unoptimized", "no-lines", "stripped", "cpp"):
        compiler, arguments = symbols.PROGRAMS[name]
        *options, source = arguments.split()
        if compiler == "g++":
            options += ["-x", "c++"]
        path = os.path.join(directory, name)
        symbols.run(compiler, *options, padding, source, padding, "-o", path, cwd=symbols.SOURCES)
        yield name, path


def live_profile(path, step, share):
    """Samples in .text without its padding."""
    elf, p, rng = symbols.Elf(path), odd.Profile(period_type=("cpu", "nanoseconds"), period=1), random.Random(step)
    base = 0x555555554000 if elf.type == 3 else 0
    start, limit = base + (elf.address & ~0xfff), base + (elf.address + elf.size + 0xfff & ~0xfff)
    m = p.mapping(path, start, limit, elf.offset & ~0xfff, elf.build_id, (0, 0, 0, 0))
    begin, size = elf.text
    places = [p.location(base + begin + i, (), m) for i in range(3100, size - 3100, step) if rng.random() < share]
    for place in places:
        p.sample([place, rng.choice(places), rng.choice(places)], [1, rng.randrange(1, 1000)])
    return p


def link_tools(directory, tools):
    os.makedirs(os.path.join(directory, "tools"))
    for tool in tools:
        os.symlink(shutil.which(tool), os.path.join(directory, "tools", tool))


def compare_cases(ours, theirs, cases):
    """Returns how many of them differ."""
    different = 0
    for arguments in cases:
        expected, got = theirs.output(arguments), ours.output(arguments)
        if expected != got:
            different += 1
            print("differs: %s: %s\n%s" % (" ".join(arguments), (expected[0], expected[2], got[0], got[2]),
                                           differences(("theirs", "ours"), (expected[1], got[1]))))
    return different


def compare_live(directory, ours, theirs, densities):
    link_tools(directory, TOOLS)
    different = done = 0
    for name, path in build_programs(directory):
        for step, share in densities:
            profile, named = (os.path.join(directory, "%s-%d%s" % (name, step, end)) for end in (".pb", ".named.pb"))
            with open(profile, "wb") as f:
                f.write(live_profile(path, step, share).encode())
            ours.output(["-proto", "-output=" + named, profile])
            cases = [["-%s=%s" % (report, expression), named] for report in ("disasm", "weblist") for expression in EXPRESSIONS]
            cases += [["-%s=work" % report, *more, named] for report in ("disasm", "weblist")
                      for more in (["-intel_syntax"], ["-mean"], ["-sample_index=0", "-focus=leaf"], ["-source_path=" + symbols.SOURCES])]
            more, pages = compare_pages(directory, ours, theirs, named)
            different, done = different + compare_cases(ours, theirs, cases) + more, done + len(cases) + pages
    print("%d of %d are equal" % (done - different, done))
    return different


# ---- the page of -http -------------------------------------------------------------------------------------------------

PAGES = [(view, {"f": expression, **more}) for view in ("source", "disasm") for expression, more in (
    ("work", {}), ("main", {}), (".", {}), (r"work\.c", {}), ("nothing", {}), ("(", {}), ("work", {"intel": "t"}),
    ("work", {"i": "work_twice"}), ("main", {"si": "0"}), ("work_mix", {"unit": "us"}), ("work", {"mean": "t"}))]


def sections(functions):
    """What both pages show of the functions of -weblist, in a fixed order: names, values, lines and instructions."""
    def code_rows(rows):
        return [tuple(part.strip() for part in row[1:]) for row in rows if row[0] != "gap"]

    return sorted((function, file, flat, cum, [(number, line_flat, line_cum, expand(text).rstrip(), code_rows(rows))
                                               for number, _, line_flat, line_cum, text, rows in lines])
                  for function, file, flat, cum, _, lines in functions)


def sections_of_json(data):
    def dotted(value):
        return value or "."

    def code_rows(code):
        """Each instruction after the inlined calls that lead to it."""
        rows = []
        for c in code:
            rows += [(expand(call["text"]).strip(), "%s:%d" % (call["file"], call["line"])) for call in c["inlined"]]
            rows.append((dotted(c["flat"]), dotted(c["cum"]), c["at"], expand(c["text"]).strip(), c["place"]))
        return rows

    return sorted((function["name"], file["path"], function["flat"], function["cum"],
                   [(line["n"], dotted(line["flat"]), dotted(line["cum"]), expand(line["text"]).rstrip(), code_rows(line["code"]))
                    for line in function["lines"]])
                  for file in data["files"] for function in file["functions"])


def page_content(view, answer, ours):
    status, body = answer
    if status != 200:
        return status, body.decode()
    if view == "disasm":
        return status, json.loads(body)["data"]["text"].strip() if ours else html.unescape(web.between(body.decode(), "<pre>", "</pre>")).strip()
    return status, sections_of_json(json.loads(body)["data"]) if ours else sections(read_upstream(body.decode()))


def compare_pages(directory, ours, theirs, profile):
    """Returns how many pages differ, and how many were compared."""
    different = 0
    servers = [web.Server(side.command, [profile], side.environment(), directory) for side in (theirs, ours)]
    try:
        for view, parameters in PAGES:
            path = "/ui/%s?%s" % (view, urllib.parse.urlencode(parameters))
            expected, got = (page_content(view, server.get(path), server is servers[1]) for server in servers)
            if expected != got:
                different += 1
                texts = ["%d\n%s" % (status, content if isinstance(content, str) else "\n".join(map(str, content))) for status, content in (expected, got)]
                print("differs: %s: %s\n%s" % (os.path.basename(profile), path, differences(("theirs", "ours"), texts)))
    finally:
        for server in servers:
            server.end()
    return different, len(PAGES)


# ---- programs of Go -----------------------------------------------------------------------------------------------------

GO_PROGRAMS = {  # name -> (flags, variables). Go 1.25 and later write DWARF 5.
    "go": ((), {}),
    "go-unoptimized": (("-gcflags=-N",), {}),
    "go-not-inlined": (("-gcflags=-l",), {}),
    "go-uncompressed": (("-ldflags=-compressdwarf=false",), {}),
    "go-pie": (("-buildmode=pie",), {}),
    "go-dwarf4": ((), {"GOEXPERIMENT": "nodwarf5"}),
}
GO_EXPRESSIONS = (r"main\.work", r"main\.", "mix|twice", r"work\.go", "push", "apply", "nothing")
# google/pprof also takes columns and the first lines of functions from llvm-symbolizer. The other formats show them.
GO_REPORTS = ("-top -lines", "-top", "-traces -lines", "-tree -filefunctions")


def build_go_programs(directory):
    version = int(re.match(r"go1\.(\d+)", symbols.run("go", "env", "GOVERSION").decode()).group(1))
    for name, (flags, variables) in GO_PROGRAMS.items():
        if "GOEXPERIMENT" in variables and version < 25:
            continue
        path = os.path.join(directory, name)
        symbols.run("go", "build", *flags, "-o", path, "work.go", cwd=symbols.SOURCES, env=dict(os.environ, GOFLAGS="", GOTOOLCHAIN="local", **variables))
        yield name, path


def go_profile(path):
    """Samples in the functions of package main."""
    elf, p, rng = symbols.Elf(path), odd.Profile(period_type=("cpu", "nanoseconds"), period=1), random.Random(1)
    base = 0x555555554000 if elf.type == 3 else 0
    start, limit = base + (elf.address & ~0xfff), base + (elf.address + elf.size + 0xfff & ~0xfff)
    m = p.mapping(path, start, limit, elf.offset & ~0xfff, elf.build_id, (0, 0, 0, 0))
    places = []
    for line in symbols.run("nm", "-P", path).decode().split("\n"):
        name, kind, begin, *size = line.rsplit(" ", 3) if line else ("", "", "")
        if name.startswith("main.") and kind in "tT" and size and size[0]:
            begin, size = int(begin, 16), int(size[0], 16)
            places += [p.location(base + address, (), m) for address in range(begin, begin + size, 3)]
    for place in places:
        p.sample([place, rng.choice(places), rng.choice(places)], [1, rng.randrange(1, 1000)])
    return p


def places_of(disasm):
    """The place (file.go:12) of each address in the text of -disasm. An instruction without one has that of the instruction above. Without padding."""
    places, place = {}, ""
    for line in disasm.split("\n"):
        code = re.match(r" +\S+ +\S+ +([0-9a-f]+): (.*)$", line)
        comment = re.search(r";(?:.* )?([^ ;]+:\d+)?$", line)
        if line.startswith("ROUTINE"):
            place = ""
        if comment:
            place = comment.group(1) or ""
        if code and not re.match(r"int\s*3", code.group(2), re.I):
            places[int(code.group(1), 16)] = place
    return places


def compare_places(ours, theirs, arguments):
    """Compares the places of -disasm with those of `go tool pprof`. Returns whether they differ."""
    (code, expected, said), (own_code, got, own_said) = theirs.output(arguments), ours.output(arguments)
    expected, got = places_of(expected), places_of(got)
    # The two disassemblers may end an unusual instruction at different addresses.
    both = sorted(expected.keys() & got.keys())
    wrong = ["%x: %s, not %s" % (address, got[address], expected[address]) for address in both if expected[address] != got[address]]
    if (code == 0) == (own_code == 0) and not wrong and len(both) * 10 >= len(expected) * 9:
        return False
    print("differs: %s: exit %d and %d, %d of %d addresses are shown: %s%s%s" %
          (" ".join(arguments), code, own_code, len(both), len(expected), "; ".join(wrong[:10]), said, own_said))
    return True


def compare_go(directory, ours, theirs):
    link_tools(directory, (*TOOLS, "llvm-symbolizer"))
    # Go builds the program now, because the environment of a side has no compiler.
    go = Side([symbols.run("go", "tool", "-n", "pprof").decode().strip()], directory, "go", read_upstream)
    different = done = 0
    for name, path in build_go_programs(directory):
        bare, named = (os.path.join(directory, name + end) for end in (".pb", ".named.pb"))
        with open(bare, "wb") as f:
            f.write(go_profile(path).encode())
        ours.output(["-proto", "-output=" + named, bare])
        # The first program is compared in more ways.
        reports, expressions = (GO_REPORTS, GO_EXPRESSIONS) if done == 0 else (GO_REPORTS[:1], GO_EXPRESSIONS[:3])
        cases = [[*report.split(), bare] for report in reports] + [["-weblist=" + expression, named] for expression in expressions]
        different += compare_cases(ours, theirs, cases)
        different += sum(compare_places(ours, go, ["-disasm=" + expression, named]) for expression in expressions)
        done += len(cases) + len(expressions)
    print("%d of %d are equal" % (done - different, done))
    return different


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--renew", metavar="PPROF")
    parser.add_argument("--live", action="store_true")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--go", action="store_true")
    parser.add_argument("pprof", nargs="?")
    o = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        directory = os.path.join(temporary, "run")
        os.makedirs(directory)
        ours = Side([os.path.abspath(os.environ.get("PROFGRAB", "build/profgrab")), "pprof"], directory, "ours", read_ours)
        if o.renew:
            return compare_recorded(directory, Side([os.path.abspath(o.renew)], directory, "theirs", read_upstream), True)
        if not o.live and not o.go:
            return 1 if compare_recorded(directory, ours, False) else 0
        oracle = os.path.abspath(o.pprof) if o.pprof else symbols.build_oracle(temporary, make_newer)
        theirs = Side([oracle], directory, "theirs", read_upstream)
        different = compare_go(directory, ours, theirs) if o.go else compare_live(directory, ours, theirs, DENSITIES if o.all else DENSITIES[:1])
        return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
