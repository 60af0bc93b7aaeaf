#!/usr/bin/env python3
"""Compares the output of `profgrab pprof` on the odd profiles with golden files, byte for byte.

    goldens.py DIRECTORY            tests/data/pprof: NAME.golden, the output of the arguments in its row below
    goldens.py --renew DIRECTORY    writes them with $PPROF, a recent google/pprof: never with what is to be tested
    goldens.py --upstream DIRECTORY google/pprof's own cases, as NAME.flags, NAME.golden and NAME.pb.gz

They have the reports that the pprof of an old Go prints differently, so that compare.py cannot compare them. $PROFGRAB is the program."""

import os
import subprocess
import sys
import tempfile

import compare
import odd

GOLDENS = {
    "tags": "-tags {texts}",
    "tags-numbers": "-tags {numbers}",
    "tags-unit": "-tags -unit=kb {numbers}",
    "tags-focus": "-tags -tagfocus=user=alice {texts}",
    "tags-relative": "-tags -relative_percentages -tagfocus=bytes=64b: {numbers}",
    "traces": "-traces {texts}",
    "traces-zero": "-traces {zero}",
    "traces-inlined": "-traces -lines {inlined}",
    "traces-addresses": "-traces -addresses {addresses}",
    "raw": "-raw {plain}",
    "raw-columns": "-raw {columns}",
    "raw-labels": "-raw {texts}",
    "raw-heap": "-raw {heap}",
    "top-columns": "-top -lines -showcolumns {columns}",
    "top-help": "-top {plain}",
    "tree-root": "-tree -tagroot=user,route {texts}",
    "dot-help": "-dot {plain}",
    "callgrind-noinlines": "-callgrind -noinlines {inlined}",
    "diff": "-top -diff_base {heap} {heap_later}",
    "merged": "-raw {heap} {heap_later}",
}


def command(program):
    return [os.path.abspath(program), "pprof"]


def output_of(side, arguments):
    _, data, said = side.run(0, arguments)
    return data, said


def own_goldens(temporary):
    """name -> arguments."""
    paths = odd.write_all(temporary)
    return {name: [word.format_map(paths) for word in line.split()] for name, line in GOLDENS.items()}


def check(name, expected, data, said):
    if data == expected:
        return True
    print("differs: %s %s" % (name, said.decode(errors="backslashreplace")[:300]))
    print("   expected\n%s\n   got\n%s" % (compare.head(expected, data), compare.head(data, expected)))
    return False


def renew(directory, temporary):
    oracle = compare.Side("oracle", [os.environ["PPROF"]], temporary)
    for name, arguments in own_goldens(temporary).items():
        data, _ = output_of(oracle, arguments)
        with open(os.path.join(directory, name + ".golden"), "wb") as f:
            f.write(data)
    return []


def own(directory, temporary):
    ours = compare.Side("ours", command(os.environ.get("PROFGRAB", "build/profgrab")), temporary)
    results = []
    for name, arguments in own_goldens(temporary).items():
        with open(os.path.join(directory, name + ".golden"), "rb") as f:
            results.append(check(name, f.read(), *output_of(ours, arguments)))
    return results


# ---- upstream's -----------------------------------------------------------------------------------------------

DEFAULTS = {"trim": "", "nodecount": "=20", "nodefraction": "=0.05", "edgefraction": "=0.01", "divide_by": "=1", "unit": "=minimum",
            "compact_labels": ""}


def arguments_of(flags, profile, output):
    given = flags.split(",")
    names = [flag.split("=")[0] for flag in given]
    return (["-%s%s" % default for default in DEFAULTS.items() if default[0] not in names] + ["-" + flag for flag in given]
            + ["-symbolize=none", "-output", output, profile])


def upstream_case(directory, name, temporary):
    path, out = os.path.join(directory, name), os.path.join(temporary, name)
    with open(path + ".flags", encoding="utf-8") as f:
        flags = f.read().split()[0]
    program = command(os.environ.get("PROFGRAB", "build/profgrab"))
    environment = dict(os.environ, TZ="UTC", PPROF_BINARY_PATH="/nonexistent", HOME=temporary)
    done = subprocess.run(program + arguments_of(flags, path + ".pb.gz", out), env=environment, capture_output=True, check=False)
    if "topproto" in flags and done.returncode == 0:
        done = subprocess.run(program + arguments_of(flags.replace("topproto", "text"), out, out + ".text"), env=environment, capture_output=True, check=False)
        out += ".text"
    data = b""
    if os.path.exists(out):
        with open(out, "rb") as f:
            data = f.read()
    with open(path + ".golden", "rb") as f:
        return check(name, f.read(), data, done.stderr)


def upstream(directory, temporary):
    names = sorted(f[:-len(".flags")] for f in os.listdir(directory) if f.endswith(".flags"))
    return [upstream_case(directory, name, temporary) for name in names]


def main():
    modes = {"--renew": renew, "--upstream": upstream}
    mode = modes.get(sys.argv[1], own)
    with tempfile.TemporaryDirectory() as temporary:
        results = mode(sys.argv[-1], temporary)
    print("%d of %d as written down" % (sum(results), len(results)))
    return 0 if all(results) and (results or mode is renew) else 1


if __name__ == "__main__":
    sys.exit(main())
