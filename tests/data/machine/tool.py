"""A simulated objdump, nm and addr2line: prints recorded output. The name of the program is the first argument."""

import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def recorded(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as f:
        return f.read()


def objdump(words):
    """Prints the instructions of the range, with the lines that objdump writes above them."""
    if "--version" in words:
        return print("GNU objdump, simulated")
    options = dict(word.split("=") for word in words if "=" in word)
    start, stop = int(options["--start-address"], 16), int(options["--stop-address"], 16)
    above = {}
    for line in recorded("objdump-intel" if "intel" in words else "objdump-att").split("\n"):
        found = re.match(r" +([0-9a-f]+):\t", line)
        if not found:
            kind = 0 if line.endswith(">:") else 1 if line.endswith("():") else 2
            above = {k: text for k, text in above.items() if k < kind} if ":" in line and "file format" not in line else {}
            above[kind] = line
        elif start <= int(found.group(1), 16) < stop:
            for kind in sorted(above):
                print(above[kind])
            print(line)
            above = {}
    return None


def addr2line(_):
    """Answers one address at a time: google/pprof waits for each answer."""
    answers = {}
    for line in recorded("addr2line").split("\n"):
        if line.startswith("0x"):
            last = answers[int(line, 16)] = []
        elif line:
            last.append(line)
    for line in sys.stdin:
        address = int(line, 16)
        print("0x%016x" % address, *answers.get(address, ["??", "??:0"]), sep="\n", flush=True)


def nm(words):
    print(recorded("nm-sizes" if "--format=posix" in words else "nm"), end="")


{"objdump": objdump, "addr2line": addr2line, "nm": nm}[sys.argv[1]](sys.argv[2:])
