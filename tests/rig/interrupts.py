#!/usr/bin/env python3
"""Interrupts a hand-off at each of its system calls, in one run after the other, and checks how it ends.

    interrupts.py --control URL --bundle FILE [--from REGEX] [--each N] -- COMMAND...

COMMAND hands off FILE to the project ops/private of tests/gitlab, whose control is at URL. The first run, under strace and without
a signal, records the calls of the program's first thread. In every later run strace sends SIGINT at one of them: at each call that
opens, names, syncs, forks or sends, and at about N of each frequent call (reads, writes, polls). With --from, only calls after the
first line of the trace that REGEX matches count; without it, calls after the creation of the signals' pipe.

After each run:
- the program has ended within 2 s of the signal, in at least one of three runs, because the machine may be busy;
- it has made at most 20 more reads and writes: a phase that does not check for the signal makes more, on any machine;
- the bundle exists, and is whole;
- the program has reported the data that left the workstation, and the tracker has these data and no others;
- the copy exists only if the tracker may have some of it, and there is no other new file;
- the exit status is 130, or 0 after a complete hand-off.

Prints each run that ended in another way. Exit status: 0, or 1 if there was such a run.
"""
import argparse
import collections
import json
import os
import re
import subprocess
import sys
import urllib.request

EACH = re.compile(r"openat|clone3?|wait4|fsync|linkat|connect|sendto|ftruncate|unlinkat")
FREQUENT = re.compile(r"read|write|pread64|poll|lseek|recvfrom|mmap")
MOST_AFTER = 20
TOO_LONG = "it ended after"

# For each report of the data that left: the numbers of issues, uploads and notes that the tracker must have (a number that is not
# listed may have any value), and whether the copy stays.
LEFT = [
    (r"nothing has left this workstation$", {"issues": 0, "uploads": 0, "notes": 0}, False),
    (r"nothing has left this workstation but a neutral issue or note$", {"uploads": 0, "notes": 0}, False),
    (r"at most .* of the encrypted bundle left this workstation, and the tracker did not take it$",
     {"issues": 1, "uploads": 0, "notes": 0}, True),
    (r"the tracker may have the encrypted bundle but does not have the summary$", {"issues": 1, "notes": 0}, True),
    (r"the tracker has the encrypted bundle but not the summary$", {"issues": 1, "uploads": 1, "notes": 0}, True),
    (r"the tracker has the encrypted bundle and may have the summary$", {"issues": 1, "uploads": 1}, True),
    (r"the tracker has the encrypted bundle and the summary$", {"issues": 1, "uploads": 1, "notes": 1}, True),
    (r"the bundle was not handed off, because you interrupted$", {"issues": 0, "uploads": 0, "notes": 0}, False),
]


class Handoff:
    def __init__(self, args):
        self.args = args
        self.whole = None  # the bundle's bytes, if every run uses the same bundle
        if os.path.exists(args.bundle):
            with open(args.bundle, "rb") as f:
                self.whole = f.read()
        self.before = set(os.listdir(".")) | {"trace"}

    def request(self, path, method="GET"):
        message = urllib.request.Request(self.args.control + path, method=method)
        with urllib.request.urlopen(message, timeout=20) as answer:
            return answer.read().decode()

    def run(self, *options):
        """Runs the command under strace with these options, after removing new files of the directory."""
        for name in set(os.listdir(".")) - self.before:
            os.remove(name)
        self.request("/reset", "POST")
        return subprocess.run(["strace", "-ttt", "-o", "trace", *options, *self.args.command],
                              capture_output=True, text=True, stdin=subprocess.DEVNULL)

    def added_objects(self):
        """The numbers of objects that the run added to the tracker."""
        project = json.loads(self.request("/state"))["ops/private"]
        issues = project["issues"][2:]
        return {"issues": len(issues), "uploads": len(project["uploads"] or []),
                "notes": sum(len(issue["notes"] or []) for issue in issues)}


def calls():
    """Each system call of the trace: its name, its number among those of that name, its line."""
    seen = collections.Counter()
    with open("trace", encoding="utf-8", errors="replace") as trace:
        for line in trace:
            call = re.match(r"[\d.]+ (\w+)\(", line)
            if call:
                seen[call[1]] += 1
                yield call[1], seen[call[1]], line


def choose(start, each):
    """The calls at which a signal is sent."""
    begun, found = False, collections.defaultdict(list)
    for name, number, line in calls():
        begun = begun or re.search(start, line)
        if begun and (EACH.fullmatch(name) or FREQUENT.fullmatch(name)):
            found[name].append((number, line))
    for name, points in found.items():
        step = 1 if EACH.fullmatch(name) else max(1, len(points) // each)
        for number, line in points[::step]:
            yield name, number, line


def after_signal():
    """The seconds from the signal to the end, and the number of reads and writes after it; None without a signal."""
    began, end, moved = None, None, 0
    with open("trace", encoding="utf-8", errors="replace") as trace:
        for line in trace:
            when = float(line.split(" ", 1)[0])
            began = began or (when if "--- SIGINT" in line else None)
            moved += bool(began and re.match(r"[\d.]+ p?(read|write)(64)?\(", line))
            end = when if "+++ " in line else end
    return None if not began or not end else (end - began, moved)


def faults(handoff, run):
    """The faults in the end of a run."""
    args, messages, has = handoff.args, run.stderr.splitlines(), handoff.added_objects()
    left = [(state, copy) for line in messages for text, state, copy in LEFT
            if re.fullmatch(r"profgrab: " + text, line)]
    ended = after_signal()
    if not ended:
        return  # the program did not make the call in this run
    if ended[0] > 2:
        yield f"{TOO_LONG} {ended[0]:.1f} s"
    if ended[1] > MOST_AFTER:
        yield f"it made {ended[1]} more reads and writes"
    if run.returncode == 0:
        left = [(LEFT[6][1], True)]
    elif run.returncode != 130:
        yield f"exit status {run.returncode}"
    if len(left) != 1:
        yield "it did not report what left"
        return
    state, copy = left[0]
    for what, number in state.items():
        if has[what] != number:
            yield f"the tracker has {has[what]} {what}"
    new = set(os.listdir(".")) - handoff.before
    bundle = {os.path.basename(args.bundle)} - handoff.before
    if new != bundle | ({os.path.basename(args.bundle) + ".age"} if copy else set()):
        yield f"there is {' '.join(sorted(new)) or 'nothing'}"
    if handoff.whole is None:
        if subprocess.run([args.command[0], "bundle", "verify", args.bundle], capture_output=True).returncode:
            yield "the bundle is not whole"
    else:
        with open(args.bundle, "rb") as f:
            if f.read() != handoff.whole:
                yield "the bundle has changed"


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--control", required=True)
    parser.add_argument("--bundle", required=True)
    parser.add_argument("--from", dest="start", default=r"pipe2\(")
    parser.add_argument("--each", type=int, default=6)
    parser.add_argument("command", nargs="+")
    args = parser.parse_args()
    handoff = Handoff(args)
    run = handoff.run()
    if run.returncode != 0:
        print(run.stderr)
        return 1
    points, bad, ends = list(choose(args.start, args.each)), 0, collections.Counter()
    for name, number, line in points:
        for _ in range(3):
            run = handoff.run("-e", f"inject={name}:signal=SIGINT:when={number}")
            wrong = list(faults(handoff, run))
            if not wrong or not all(fault.startswith(TOO_LONG) for fault in wrong):
                break
        ends[run.returncode] += 1
        if wrong:
            bad += 1
            print(f"SIGINT at {line.split(' ', 1)[1].strip()[:100]}: {'; '.join(wrong)}\n{run.stderr}")
    print(f"{len(points)} runs, by exit status: {dict(ends)}")
    # Most runs must end by the signal; otherwise no signal was sent.
    return 1 if bad or ends[130] * 2 < len(points) else 0


sys.exit(main())
