"""The command lines whose output is compared with that of `go tool pprof`: every report of every profile, each flag alone, and pairs of flags."""

import random
import re

import odd

REAL = [kind + "." + n for kind in ("heap", "allocs", "cpu", "block", "mutex", "goroutine", "threadcreate") for n in "12"]
TEXT = [kind + ".text" for kind in ("heap", "allocs", "block", "mutex", "goroutine", "threadcreate")]

REPORTS = [["-top"], ["-text", "-cum"], ["-tree"], ["-peek=."], ["-list=."], ["-traces"], ["-tags"], ["-raw"], ["-comments"],
           ["-dot"], ["-callgrind"], ["-proto"], ["-topproto"]]

# Profiles with labels and comments, and some without.
TAGGED = ["heap.1", "heap.2", "allocs.2", "cpu.1", "cpu.2", "goroutine.2", "heap.text", "allocs.text", "zero", "numbers", "texts", "units", "wide",
          "heap", "heap_later"]
COMMENTED = ["plain", "heap.2", "cpu.1"]
WITHOUT = ["block.1", "inlined", "empty"]

# Each flag changes a report of the profiles below.
FLAGS = """
-cum|-flat|-nodecount=3|-nodecount=0|-nodefraction=0.1|-edgefraction=0.2|-trim=false|-nodecount=5 -nodefraction=0
-call_tree|-unit=ms|-unit=auto|-unit=kb|-unit=nonsense|-divide_by=3|-divide_by=0.5|-mean|-relative_percentages
-compact_labels|-drop_negative
-functions|-filefunctions|-files|-lines|-addresses|-noinlines|-showcolumns -lines|-noinlines -lines|-noinlines -addresses
-sample_index=0|-sample_index=1|-sample_index=space
-focus=spin|-focus=main\\.|-focus=nothing.at.all|-ignore=spin|-ignore=.|-hide=spin|-hide=runtime|-show=main|-show=spin|-show_from=main
-show_from=serve|-prune_from=recurse|-prune_from=c$|-focus=a|-ignore=^b|-hide=middle|-focus=\\.go$|-ignore=service
-tagfocus=route|-tagfocus=route=/api/w1|-tagfocus=user=alice,bob|-tagfocus=1kb:|-tagfocus=:64b|-tagfocus=bytes=8b:1mb|-tagfocus=1024
-tagignore=w[12]|-tagignore=bytes=1kb:|-tagignore=route=/x|-tagshow=route|-tagshow=bytes|-taghide=round|-taghide=.
-tagroot=route|-tagroot=user,route|-tagleaf=round|-tagleaf=bytes|-tagroot=route -tagleaf=user
-trim_path=/usr|-source_path=/nowhere|-add_comment=mine|-symbolize=none
"""
FLAGS = [flag.split() for line in FLAGS.strip().splitlines() for flag in line.split("|")]

ALONE = ["cpu.2", "heap.2", "texts", "numbers", "inlined"]
ALONE_REPORTS = ["-top", "-tree", "-dot", "-traces", "-proto", "-peek=.", "-tags", "-callgrind", "-topproto", "-raw"]
PAIRED = ["cpu.1", "cpu.2", "heap.2", "mutex.2", "goroutine.2", "plain", "heap", "recursive", "wide", "texts", "many_mappings"]
PAIRED_REPORTS = ["-top", "-tree", "-dot", "-traces", "-text", "-peek=."]

INDEXES = ["-inuse_space", "-inuse_objects", "-alloc_space", "-alloc_objects", "-sample_index=inuse_objects", "-sample_index=objects",
           "-sample_index=2", "-sample_index=9", "-sample_index=nothing", "--inuse_space", "-sample_index alloc_space"]

# {NAME} is replaced by a path. Command lines with several profiles, and wrong ones.
LINES = """
-base {heap.1} {heap.2}
-diff_base {heap.1} {heap.2}
-diff_base={heap.1} -normalize {heap.2}
-base {heap.1} -normalize -alloc_space {heap.2}
-base {cpu.1} {cpu.2}
-diff_base {cpu.1} -cum {cpu.2}
-diff_base {cpu.1} -drop_negative {cpu.2}
-diff_base {cpu.1} -relative_percentages -focus=spin {cpu.2}
-base {cpu.1} -base {cpu.1} {cpu.2} {cpu.2}
-base {heap} {heap_later}
-diff_base {heap} {heap_later}
-diff_base {heap} -mean -alloc_space {heap_later}
-diff_base {heap} -tagfocus=1kb: {heap_later}
-base {negative} {recursive}
-base {plain} {negative}
-diff_base {plain} {plain}
{cpu.1} {cpu.2}
{heap.1} {heap.2} {heap.1}
{mutex.1} {mutex.2}
{negative} {zero} {no_mapping} {recursive}
{plain} {heap}
{cpu.1} {garbage}
{garbage} {cut}
{heap} {heap_later} {heap.1}
{goroutine.1} {goroutine.text}
-base {goroutine.1} {goroutine.2}
-lines -cum -nodecount=5 -unit=us {cpu.1} {cpu.2}
"""
REPORTS_OF_LINES = ["-top", "-tree", "-dot", "-proto", "-raw", "-traces"]

WRONG = """
-top
-top {missing}
-top -tree {cpu.1}
-top -cum -flat {cpu.1}
-top -files -lines {cpu.1}
-top -nodecount=x {cpu.1}
-top -trim=maybe {cpu.1}
-top -nonsense {cpu.1}
-top -focus=( {cpu.1}
-top -focus=(?=x) {cpu.1}
-top -tagfocus=[ {cpu.1}
-top -base {cpu.1} -diff_base {cpu.1} {cpu.2}
-top -normalize {cpu.1}
-top {cut}
-top {garbage}
-top {bad_index}
-top {malformed}
-peek=nothing.matches {cpu.1}
-list=nothing.matches {cpu.1}
-list=( {cpu.1}
-top -base {missing} {cpu.1}
-top -diff_base {heap.1} {cpu.1}
"""


def lines(text):
    return [line.split() for line in text.strip().splitlines()]


def filled(words, paths):
    return [re.sub(r"\{(.+?)\}", lambda name: paths[name.group(1)], word) for word in words]


def says_something(report, name):
    """Whether this report of this profile is compared. -tags and -comments leave out profiles without content, except those in
    WITHOUT; -list=. leaves out the real profiles."""
    if report == "-list=.":
        return name not in REAL + TEXT
    wanted = {"-tags": TAGGED, "-comments": COMMENTED}.get(report)
    return wanted is None or name in wanted or name in WITHOUT


def judged_elsewhere(words, old):
    """Reports that `go tool pprof` prints differently in each run or version: goldens.py checks them."""
    if "-call_tree" in words and "-dot" in words:
        return True
    if not old:
        return False
    rounded = not {"-noinlines", "-divide_by=3", "-divide_by=0.5", "-normalize"}.isdisjoint(words)
    return (not {"-tags", "-traces", "-raw", "-showcolumns"}.isdisjoint(words) or (rounded and words[0] in ("-callgrind", "-proto"))
            or (not {"-files", "-diff_base"}.isdisjoint(words) and words[0] in ("-tree", "-peek=.", "-dot")))


def all_cases(paths, old, pairs=150, seed=6):
    """Lists of arguments, each once, always in the same order."""
    cases = []
    every = REAL + TEXT + [make.__name__ for make in odd.ODD]
    cases += [report + [paths[name]] for name in every for report in REPORTS if says_something(report[0], name)]
    cases += [["-list=" + what, paths["cpu.2"]] for what in ("main\\.", "spin$", "recurse|ping", "Worker|worker")]
    for i, flag in enumerate(FLAGS):
        for j, name in enumerate(ALONE):
            reports = [ALONE_REPORTS[(i + 3 * j + k) % len(ALONE_REPORTS)] for k in (0, 1)]
            cases += [[report] + flag + [paths[name]] for report in reports if report != "-tags" or name in TAGGED]
    cases += [["-top"] + flag.split() + [paths[name]] for flag in INDEXES for name in ("heap.2", "heap")]
    choose = random.Random(seed)
    for _ in range(pairs):
        flags = choose.choice(FLAGS) + choose.choice(FLAGS)
        cases.append([choose.choice(PAIRED_REPORTS)] + flags + [paths[choose.choice(PAIRED)]])
    for i, words in enumerate(lines(LINES)):
        cases += [[REPORTS_OF_LINES[(i + k) % len(REPORTS_OF_LINES)]] + filled(words, paths) for k in range(3)]
    cases += [filled(words, paths) for words in lines(WRONG)]
    unique = {tuple(case): case for case in cases if not judged_elsewhere(case, old)}
    return list(unique.values())
