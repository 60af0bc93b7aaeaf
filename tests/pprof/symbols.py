#!/usr/bin/env python3
"""Builds programs, makes profiles of them that have only addresses, and lets google/pprof and `profgrab pprof` find the names.
Compares their output byte for byte, and their messages.

    symbols.py [--only TEXT] [--keep DIRECTORY]

The reference is built from the google/pprof in Go's sources, because `go tool pprof` reads binaries in another way. It has addr2line
and nm in its PATH, but no llvm-symbolizer. $PROFGRAB is the program."""

import argparse
import concurrent.futures
import contextlib
import http.server
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import urllib.request

import odd

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.join(HERE, "symbols")
DEADLINE = 60
TOOLS = ("addr2line", "nm", "c++filt")

# ---- the profiled programs -------------------------------------------------------------------------------------------

PROGRAMS = {  # name -> (compiler, arguments)
    "pie": ("gcc", "-g -O1 -pie -fPIE work.c"),
    "fixed": ("gcc", "-g -O1 -no-pie work.c"),
    "unoptimized": ("gcc", "-g -O0 -no-pie work.c"),
    "no-lines": ("gcc", "-O1 -pie -fPIE work.c"),
    "stripped": ("gcc", "-g -O1 -pie -fPIE -s work.c"),
    "no-id": ("gcc", "-g -O1 -pie -fPIE -Wl,--build-id=none work.c"),
    "one-segment": ("gcc", "-g -O1 -pie -fPIE -Wl,-z,noseparate-code work.c"),
    "shared": ("gcc", "-g -O1 -shared -fPIC work.c"),
    "cpp": ("g++", "-g -O1 -std=c++17 -pie -fPIE work.cc"),
    "cpp-unoptimized": ("g++", "-g -O0 -std=c++17 -no-pie work.cc"),
}


def run(*command, **more):
    return subprocess.run(command, check=True, capture_output=True, **more).stdout


def build(directory):
    """name -> path."""
    paths = {}
    for name, (compiler, arguments) in PROGRAMS.items():
        paths[name] = os.path.join(directory, name)
        run(compiler, *arguments.split(), "-o", paths[name], cwd=SOURCES)
    return paths


class Elf:
    """The executable segment and the build ID of a 64-bit ELF file of this machine."""

    def __init__(self, path):
        with open(path, "rb") as f:
            data = f.read()
        self.type, at, = struct.unpack_from("<H", data, 16)[0], struct.unpack_from("<Q", data, 32)[0]
        size, count = struct.unpack_from("<HH", data, 54)
        headers = [struct.unpack_from("<IIQQQQQQ", data, at + i * size) for i in range(count)]
        self.offset, self.address, self.size = next((h[2], h[3], h[6]) for h in headers if h[0] == 1 and h[1] & 1)
        notes = run("readelf", "-n", path).decode()
        found = re.search(r"Build ID: ([0-9a-f]+)", notes)
        self.build_id = found.group(1) if found else ""
        sections = run("readelf", "-SW", path).decode()
        text = re.search(r"\s\.text\s+PROGBITS\s+([0-9a-f]+) ([0-9a-f]+) ([0-9a-f]+)", sections)
        self.text = int(text.group(1), 16), int(text.group(3), 16)


def profile_of(path, base=None, named=None, build_id=None, step=5):
    """Samples all over .text, three addresses deep. named: the file that the mapping names."""
    elf, p, rng = Elf(path), odd.Profile(period_type=("cpu", "nanoseconds"), period=1), random.Random(os.path.basename(path))
    if base is None:
        base = 0x555555554000 if elf.type == 3 else 0
    start = base + (elf.address & ~0xfff)
    limit = base + (elf.address + elf.size + 0xfff & ~0xfff)
    m = p.mapping(path if named is None else named, start, limit, elf.offset & ~0xfff, elf.build_id if build_id is None else build_id,
                  (0, 0, 0, 0))
    begin, size = elf.text
    places = [p.location(base + begin + i, (), m) for i in range(0, size, step)]
    for place in places:
        p.sample([place, rng.choice(places), rng.choice(places)], [1, rng.randrange(1, 1000)])
    return p


def mangled():
    """Names as in a profile of perf."""
    with open(os.path.join(SOURCES, "names"), encoding="utf-8") as f:
        names = f.read().split("\n")[:-1]
    p = odd.Profile()
    m = p.mapping()
    for i, name in enumerate(names):
        p.sample([p.location(0x400000 + i, [(p.function(name, "x.cc", system=name), i)], m)], [1, i + 1])
    return p


# ---- both sides -------------------------------------------------------------------------------------------------

MAIN = """package main

import (
	"fmt"
	"os"

	"github.com/google/pprof/driver"
)

func main() {
	if err := driver.PProf(&driver.Options{}); err != nil {
		fmt.Fprintf(os.Stderr, "%v\\n", err)
		os.Exit(2)
	}
}
"""


def build_oracle(directory, change=lambda tree: None):
    """google/pprof, built from Go's sources. change(tree) may change the copy of them."""
    vendor = os.path.join(run("go", "env", "GOROOT").decode().strip(), "src/cmd/vendor/github.com")
    place = os.path.join(directory, "oracle")
    os.makedirs(place)
    modules = {"google/pprof": "require github.com/ianlancetaylor/demangle v0.0.0\n", "ianlancetaylor/demangle": ""}
    replaced = ""
    for module, needs in modules.items():
        copy = os.path.join(place, module)
        shutil.copytree(os.path.join(vendor, module), copy)
        if module == "google/pprof":
            change(copy)
        with open(os.path.join(copy, "go.mod"), "w", encoding="utf-8") as f:
            f.write("module github.com/%s\ngo 1.23\n%s" % (module, needs))
        replaced += "require github.com/%s v0.0.0\nreplace github.com/%s => ./%s\n" % (module, module, module)
    with open(os.path.join(place, "go.mod"), "w", encoding="utf-8") as f:
        f.write("module oracle\ngo 1.23\n" + replaced)
    with open(os.path.join(place, "main.go"), "w", encoding="utf-8") as f:
        f.write(MAIN)
    program = os.path.join(directory, "oracle.program")
    run("go", "build", "-o", program, ".", cwd=place,
        env=dict(os.environ, GOFLAGS="-mod=mod", GOPROXY="off", GOTOOLCHAIN="local", GOENV="off"))
    return program


class Side:
    def __init__(self, command, directory, name):
        self.command, self.directory = command, directory
        self.home = os.path.join(directory, "home-" + name)
        os.makedirs(self.home)

    def run(self, arguments, variables):
        environment = dict(os.environ, HOME=self.home, PPROF_TMPDIR=self.home, PPROF_BINARY_PATH="/nonexistent", TZ="UTC", LC_ALL="C",
                           PATH=os.path.join(self.directory, "tools"))
        environment.pop("PPROF_TOOLS", None)
        environment.update(variables)
        try:
            done = subprocess.run(self.command + arguments, stdin=subprocess.DEVNULL, capture_output=True, env=environment,
                                  cwd=self.directory, timeout=DEADLINE, check=False)
        except subprocess.TimeoutExpired:
            return None, b"", b"it did not end"
        return done.returncode, done.stdout, done.stderr


def comparable_lines(said):
    """The lines of the messages in a form that can be compared: without our hints, and without parts that differ between runs or between
    google/pprof and `go tool pprof`."""
    said = re.sub(rb"(?m)^hint: .*\n", b"", said)
    said = re.sub(rb"Saved profile in .*", b"Saved", said).replace(b"\x1b", b"?").replace(b": stat /", b": open /")
    # pprof fetches several profiles at the same time, so the order of the first two lines varies.
    lines = said.strip(b"\n").split(b"\n")
    return sorted(lines[:2]) + lines[2:]


# ---- the server -------------------------------------------------------------------------------------------------


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves the profile NAME at /ANSWER/debug/pprof/NAME. The function ANSWERS[ANSWER] answers the requests for its symbols."""

    def log_message(self, *_):
        pass

    def answer(self, status, body, kind="text/plain", **headers):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(body)

    def do_GET(self):
        name = self.path.split("?")[0].rsplit("/", 1)[1]
        if name in self.server.profiles:
            self.answer(200, self.server.profiles[name], "application/octet-stream")
        else:
            self.answer(404, b"no such profile\n")

    def do_POST(self):
        answer = self.path.split("/")[1]
        query = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.asked.append(self.path)
        if not self.path.endswith(("/symbol", "/symbolz")):
            self.answer(404, b"")
            return
        self.server.answers[answer](self, [int(word, 16) for word in query.split("+")])


def name_of(address):
    return "ns::function_%d(int, std::vector<char>)" % (address // 64)


def answer_all(handler, addresses):
    handler.answer(200, "".join(["num_symbols: 1\n"] + ["0x%x\t%s\n" % (a, name_of(a)) for a in addresses]).encode())


def answer_half(handler, addresses):
    answer_all(handler, addresses[::2])


def oddly(handler, addresses):
    lines = ["num_symbols: 1\n\n0x\n0xg 1\n  x0x%x  two  blanks \n0x%x\n" % (addresses[0], addresses[1])]
    lines += ["0X%X shouted\n0x%xz no blank\n0x12 0x%x nested\n" % (addresses[2], addresses[3], addresses[4])]
    lines += ["%x none\n0x%x first\n0x%x second\n0x%x without an end" % (addresses[5], addresses[6], addresses[6], addresses[7])]
    handler.answer(200, "".join(lines).encode())


def html(handler, addresses):
    handler.answer(200, b"<html><p>0x%x is not for you</html>\n" % addresses[0], "text/html")


def garbage(handler, _):
    handler.answer(200, random.Random(1).randbytes(100000))


def address_too_large(handler, _):
    handler.answer(200, b"0x1 a\n0x123456789abcdef01 too large\n")


def missing(handler, _):
    handler.answer(404, b"404 page not found\n")


def refused(handler, _):
    handler.answer(403, b"go away\x1b[2J\n", X_Go_Pprof="1")


def passed_on(handler, addresses):
    query = "+".join("0x%x" % a for a in addresses).encode()
    with urllib.request.urlopen(handler.server.real + "/debug/pprof/symbol", query, timeout=20) as answer:
        handler.answer(200, answer.read())


ANSWERS = {"well": answer_all, "half": answer_half, "oddly": oddly, "html": html, "garbage": garbage, "large": address_too_large, "missing": missing,
        "refused": refused, "real": passed_on}


@contextlib.contextmanager
def serving(profiles, answers, real=None):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.profiles, server.answers, server.asked, server.real = profiles, answers, [], real
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server, "http://127.0.0.1:%d" % server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


# ---- cases ------------------------------------------------------------------------------------------------------

REPORTS = ("-top -lines", "-raw", "-top", "-top -files -cum", "-tree -filefunctions", "-traces -lines", "-list=. -lines", "-top -addresses")
MODES = ("fastlocal", "local", "remote", "none", "force", "bogus", "local:bogus")
# Programs that are compared with all reports and modes; the others are compared with fewer.
FULLY_COMPARED = ("pie", "cpp")


def case(arguments, said=True, **variables):
    """said: compare the messages too."""
    return arguments.split(), said, variables


def write(profile, path):
    with open(path, "wb") as f:
        f.write(profile.encode())
    return path


def local_cases(directory, programs):
    cases = []
    for name, program in programs.items():
        path = write(profile_of(program), os.path.join(directory, name + ".pb"))
        whole = name in FULLY_COMPARED
        cases += [case("%s %s" % (report, path)) for report in REPORTS[:None if whole else 2]]
        cases += [case("-top -symbolize=%s %s" % (mode, path)) for mode in MODES[:None if whole else 1]]
        # The mapping's file does not exist. The binary is the argument before the profile, or is found by its name or build ID.
        elf, moved = Elf(program), os.path.join(directory, "moved-" + name)
        gone = write(profile_of(program, named="/gone/bin/" + name), os.path.join(directory, name + "-gone.pb"))
        other = write(profile_of(program, named="/gone/bin/" + name, build_id="0123456789abcdef"),
                      os.path.join(directory, name + "-other.pb"))
        places = [name, "gone/bin/" + name, "gone/bin/" + name + ".debug", "gone/bin/.debug/%s.debug" % name,
                  "usr/lib/debug/gone/bin/%s.debug" % name]
        if elf.build_id:
            places += [elf.build_id + "/" + name, elf.build_id + "/other", elf.build_id[:2] + "/" + elf.build_id[2:] + ".debug"]
        cases += [case("-top %s" % gone), case("-top %s %s" % (program, gone)), case("-raw %s %s" % (program, gone)), case("-top %s" % other),
                  case("-top %s %s" % (program, other))]
        for i, place in enumerate(places if whole else places[-1:]):
            copy = os.path.join(moved + str(i), place)
            os.makedirs(os.path.dirname(copy))
            os.symlink(program, copy)
            cases.append(case("-raw %s" % gone, PPROF_BINARY_PATH="/nonexistent:%s:/also/none" % (moved + str(i))))
            if i == 0:
                cases.append(case("-top %s" % other, PPROF_BINARY_PATH=moved + str(i)))
    return cases


def odd_cases(directory, programs):
    pie, fixed = programs["pie"], programs["fixed"]
    gone = write(profile_of(pie, named="/gone"), os.path.join(directory, "odd-gone.pb"))
    nameless = write(profile_of(pie, named="", build_id=""), os.path.join(directory, "odd-nameless.pb"))
    kernel = write(profile_of(pie, named="[kernel.kallsyms]"), os.path.join(directory, "odd-kernel.pb"))
    text = os.path.join(SOURCES, "work.c")
    no_elf = write(profile_of(pie, named=text), os.path.join(directory, "odd-text.pb"))
    no_id = write(profile_of(programs["no-id"]), os.path.join(directory, "odd-no-id.pb"))
    elsewhere = write(profile_of(pie, base=0x7ffff7000000), os.path.join(directory, "odd-base.pb"))
    names = write(mangled(), os.path.join(directory, "odd-names.pb"))
    two = "%s %s" % (os.path.join(directory, "pie.pb"), os.path.join(directory, "cpp.pb"))
    cases = [case("-top " + nameless), case("-raw %s %s" % (pie, nameless)), case("-top " + kernel),
             case("-top " + no_elf, said=False), case("-top %s %s" % (fixed, gone)), case("-top -buildid=1234 " + no_id),
             case("-top -buildid=1234 " + gone), case("-top " + elsewhere), case("-top -lines " + two), case("-raw " + two),
             case("-top -diff_base %s" % two), case("-proto -output=/dev/null " + two)]
    for mode in ("", "demangle=none", "demangle=full", "demangle=templates", "demangle=default", "force", "remote:demangle=full"):
        cases += [case("-top -symbolize=%s %s" % (mode, names)), case("-top -lines -symbolize=%s %s" % (mode, os.path.join(directory, "cpp.pb")))]
    # Without addr2line, only functions have names; without nm too, nothing has a name.
    for tools in ("only-nm", "nothing"):
        cases.append(case("-top -lines " + two, said=False, PATH=os.path.join(directory, tools)))
        cases.append(case("-top -lines -tools=%s %s" % (os.path.join(directory, "tools"), two), said=False, PATH=os.path.join(directory, tools)))
        cases.append(case("-top -lines -tools=%s %s" % (os.path.join(directory, tools), two), said=False))
    return cases


def remote_cases(url, names):
    cases = []
    for way in ANSWERS:
        if way == "real":
            continue
        for name in names:
            cases += [case("-top %s/%s/debug/pprof/%s" % (url, way, name)), case("-raw %s/%s/%s?x=1" % (url, way, name))]
    one, two = names[0], names[1]
    at = url + "/well/debug/pprof/"
    cases += [case("-top -symbolize=%s %s%s" % (mode, at, one)) for mode in ("local", "remote", "none", "force", "remote:demangle=full")]
    cases += [case("-top %s%s %s%s" % (at, one, at, two)), case("-raw -symbolize=remote -diff_base %s%s %s%s" % (at, one, at, two)),
              case("-top %s/half/%s %s/well/debug/pprof/%s" % (url, one, url, one)), case("-top %sbogus" % at)]
    return cases


def link_tools(directory):
    for name, tools in (("tools", TOOLS), ("only-nm", ("nm", "c++filt")), ("nothing", ())):
        os.makedirs(os.path.join(directory, name))
        for tool in tools:
            os.symlink(shutil.which(tool), os.path.join(directory, name, tool))


def tell(arguments, theirs, mine, shorten):
    print("differs: " + shorten(" ".join(arguments)))
    for name, (code, data, said), other in (("oracle", theirs, mine), ("ours", mine, theirs)):
        lines, others = data.split(b"\n"), other[1].split(b"\n")
        first = next((i for i, (a, b) in enumerate(zip(lines, others)) if a != b), min(len(lines), len(others)))
        shown = b"\n".join(b"      " + line[:180] for line in lines[first:first + 3]).decode(errors="backslashreplace") if data != other[1] else ""
        print("   %-7s ended with %s, %d bytes; said: %s\n%s" % (name, code, len(data), shorten(said.decode(errors="backslashreplace"))[:700], shown))


def compare(cases, oracle, ours, shorten):
    """(number of differences, of cases with names, of all cases)."""
    different = named = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        both = pool.map(lambda c: (oracle.run(c[0], c[2]), ours.run(c[0], c[2])), cases)
        for (arguments, said, _), (theirs, mine) in zip(cases, both):
            named += any(word in theirs[1] for word in (b"work.c", b"work_", b"function_", b"::"))
            if theirs[:2] != mine[:2] or (said and comparable_lines(theirs[2]) != comparable_lines(mine[2])):
                different += 1
                if different <= 10:
                    tell(arguments, theirs, mine, shorten)
    return different, named, len(cases)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--keep")
    parser.add_argument("--oracle", help="use this reference program instead of building it")
    o = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        directory = os.path.abspath(o.keep or temporary)
        os.makedirs(directory, exist_ok=True)
        link_tools(directory)
        programs = build(directory)
        oracle = Side([o.oracle or build_oracle(directory)], directory, "oracle")
        ours = Side([os.path.abspath(os.environ.get("PROFGRAB", "build/profgrab")), "pprof"], directory, "ours")
        served = {"profile": profile_of(programs["pie"], step=40).encode(), "heap": profile_of(programs["cpp"], named="", build_id="", step=90).encode(),
                  "fixed": profile_of(programs["fixed"], named="/gone", step=50).encode()}
        with serving(served, ANSWERS) as (_, url):
            cases = local_cases(directory, programs) + odd_cases(directory, programs) + remote_cases(url, sorted(served))
            cases = [c for c in cases if o.only in " ".join(c[0])]
            different, named, done = compare(cases, oracle, ours, lambda text: text.replace(directory + "/", ""))
    print("%d of %d are equal; %d had names" % (done - different, done, named))
    return 0 if not different and (o.only or (done > 170 and named * 2 > done)) else 1


if __name__ == "__main__":
    sys.exit(main())
