#!/usr/bin/env python3
"""Runs many combinations of profile, report and flags through `go tool pprof` and `profgrab pprof` and compares what they print,
byte for byte, the inflated bytes of what is written as a profile, and whether they succeed.

    compare.py [--only TEXT] [--keep DIRECTORY] [--program FILE] [--list] [--all] [--unreal]

--program FILE is the built tests/pprof/program, which takes the real profiles; without it go builds it. --only: the combinations
whose arguments hold TEXT. --keep: where the profiles and what differs are left. $PROFGRAB is the program, $PPROF the oracle in place of
the one of `go`."""

import argparse
import concurrent.futures
import gzip
import os
import re
import subprocess
import sys
import tempfile

import cases
import odd

HERE = os.path.dirname(os.path.abspath(__file__))
DEADLINE = 60
OLD = (1, 23)  # before this version of Go, pprof writes other dates, columns and links to help, or none
DATE = re.compile(rb"(?:\\l|\n)(?:Time: [^\\\n]*UTC\)?|Doc: [^\\\n]*)")
SHOWN = 10  # the number of differences that are printed in full
REPEATS = 80  # runs of `go tool pprof` after a difference: of two orders it may print one in seven of eight runs


def output_of(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=os.path.join(HERE, "program")).stdout.decode().strip()


def build(directory):
    program = os.path.join(directory, "program")
    environment = dict(os.environ, GOFLAGS="-mod=mod", GOPROXY="off", GOTOOLCHAIN="local", GOENV="off")
    subprocess.run(["go", "build", "-o", program, "."], check=True, cwd=os.path.join(HERE, "program"), env=environment)
    return program


def take_profiles(directory, program):
    """name -> path: real profiles of a program, and odd ones."""
    subprocess.run([program or build(directory), directory], check=True)
    paths = {name: os.path.join(directory, name + ".pb.gz") for name in cases.REAL}
    paths.update({name: os.path.join(directory, name.replace(".text", ".2.txt")) for name in cases.TEXT})
    paths.update(odd.write_all(directory))
    paths["missing"] = os.path.join(directory, "missing")
    return paths


class Side:
    """One of the two programs, run with the same arguments."""

    def __init__(self, name, command, directory, reader=None):
        """reader: a command that prints a profile as text, if the bytes cannot be compared."""
        self.command, self.reader = command, reader
        self.out = os.path.join(directory, "out-" + name)
        home = os.path.join(directory, "home-" + name)
        os.makedirs(self.out, exist_ok=True)
        os.makedirs(home, exist_ok=True)
        self.environment = dict(os.environ, HOME=home, XDG_CONFIG_HOME=home, PPROF_TMPDIR=home, PPROF_BINARY_PATH="/nonexistent",
                                TZ="UTC", LC_ALL="C")
        self.directory = directory

    def read(self, path):
        if self.reader:
            return subprocess.run(self.reader + [path], capture_output=True, env=self.environment, check=False).stdout
        with gzip.open(path) as f:
            return f.read()

    def run(self, number, arguments):
        """(success, output, messages)."""
        written = None
        if "-proto" in arguments or "-topproto" in arguments:
            written = os.path.join(self.out, "%d.pb.gz" % number)
            arguments = ["-output=" + written] + arguments
        try:
            done = subprocess.run(self.command + ["-symbolize=none"] + arguments, stdin=subprocess.DEVNULL, capture_output=True,
                                  env=self.environment, cwd=self.directory, timeout=DEADLINE, check=False)
        except subprocess.TimeoutExpired:
            return False, b"", b"it did not end"
        data = done.stdout
        if written and os.path.exists(written):
            data += self.read(written)
        if self.reader:
            data = DATE.sub(b"", data)
        if done.returncode < 0:
            return None, data, b"it was killed by signal %d" % -done.returncode
        return done.returncode == 0, data, done.stderr


def is_real(data):
    """Whether the output is more than the head of a table."""
    return data.count(b"\n") >= 4 or b"\0" in data or (len(data) > 20 and b"Showing nodes" not in data)


def head(data, other):
    """The first line that differs, with the lines before and after it."""
    mine, theirs = data.split(b"\n"), other.split(b"\n")
    same = next((i for i, (a, b) in enumerate(zip(mine, theirs)) if a != b), min(len(mine), len(theirs)))
    return b"\n".join(b"      %d: %s" % (i + 1, mine[i][:200]) for i in range(max(0, same - 1), min(len(mine), same + 2))).decode(
        errors="backslashreplace")


def compare(number, arguments, oracle, ours):
    theirs, mine = oracle.run(number, arguments), ours.run(number, arguments)
    equal = theirs[:2] == mine[:2]
    # Some output of `go tool pprof` has the random order of a Go map. A result that it does not repeat cannot be compared.
    unsure = not equal and any(oracle.run(number, arguments)[:2] != theirs[:2] for _ in range(REPEATS))
    return {"arguments": arguments, "oracle": theirs, "ours": mine, "real": theirs[0] and is_real(theirs[1]), "equal": equal,
            "unsure": unsure}


def tell(result, shorten):
    print("differs: " + shorten(" ".join(result["arguments"])))
    for side, other in (("oracle", "ours"), ("ours", "oracle")):
        ok, data, said = result[side]
        print("   %-7s %s, %d bytes%s" % (side, {True: "ok", False: "failed", None: "KILLED"}[ok], len(data),
                                          "; " + shorten(said.decode(errors="backslashreplace")).strip()[:300] if said and not ok else ""))
        if result["oracle"][1] != result["ours"][1]:
            print(head(data, result[other][1]))


def summary_of(results):
    by_report = {}
    for result in results:
        report = next((a.split("=")[0] for a in result["arguments"] if re.match(r"-(top|text|tree|peek|list|traces|tags|raw|comments|dot|"
                                                                               r"callgrind|proto|topproto)\b", a)), "?")
        good, all_of = by_report.get(report, (0, 0))
        by_report[report] = good + result["equal"], all_of + 1
    return ", ".join("%s %d/%d" % (report, *counts) for report, counts in sorted(by_report.items()))


def judge(results, least):
    """0 if enough results have real output and all are equal, except the few for which `go tool pprof` has no stable result."""
    equal = sum(r["equal"] for r in results)
    real = sum(bool(r["real"]) for r in results)
    unsure = sum(r["unsure"] for r in results)
    print("%d of %d combinations are equal, of %d the oracle is not sure, %d had real output (%s)"
          % (equal, len(results), unsure, real, summary_of(results)))
    complaints = [complaint for complaint, holds in (
        ("fewer than the %d combinations that are wanted" % least, len(results) < least),
        ("fewer than nine in ten had real output: equal failures prove nothing", real * 10 < len(results) * 9),
        ("the oracle is not sure of more than one in fifty", unsure * 50 > len(results))) if holds]
    print("\n".join(complaints), end="\n" if complaints else "")
    return 0 if equal + unsure == len(results) and not complaints else 1


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--keep")
    parser.add_argument("--program")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--pairs", type=int, default=150, help="combinations of two flags taken by lot")
    parser.add_argument("--seed", type=int, default=6, help="of that lot")
    parser.add_argument("--old", action="store_true", help="$PPROF is that of an old Go")
    parser.add_argument("--unreal", action="store_true", help="list those without real output")
    parser.add_argument("--all", action="store_true", help="tell every difference")
    return parser.parse_args()


def main():
    o = options()
    with tempfile.TemporaryDirectory() as temporary:
        directory = os.path.abspath(o.keep or temporary)
        os.makedirs(directory, exist_ok=True)
        old = o.old or tuple(map(int, re.search(r"go(\d+)\.(\d+)", output_of("go", "version")).groups())) < OLD
        paths = take_profiles(directory, o.program)
        wanted = [c for c in cases.all_cases(paths, old, o.pairs, o.seed) if o.only in " ".join(c)]
        pprof = os.environ.get("PPROF") or output_of("go", "tool", "-n", "pprof")
        reader = [pprof, "-symbolize=none", "-raw"] if old else None
        oracle = Side("oracle", [pprof], directory, reader)
        ours = Side("ours", [os.path.abspath(os.environ.get("PROFGRAB", "build/profgrab")), "pprof"], directory, reader)
        if o.list:
            print("\n".join(" ".join(c) for c in wanted))
            return 0
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            results = list(pool.map(lambda nc: compare(*nc, oracle, ours), enumerate(wanted)))
        different = [r for r in results if not r["equal"] and not r["unsure"]]
        for result in different if o.all else different[:SHOWN]:
            tell(result, lambda text: text.replace(directory + "/", ""))
        if len(different) > SHOWN and not o.all:
            print("... and %d more: --all tells them" % (len(different) - SHOWN))
        if o.unreal:
            print("\n".join("not real: " + " ".join(r["arguments"]) for r in results if not r["real"]).replace(directory + "/", ""))
        return judge(results, 0 if o.only else 400)


if __name__ == "__main__":
    sys.exit(main())
