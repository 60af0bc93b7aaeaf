#!/usr/bin/env python3
"""Feeds sessions to the shells of `go tool pprof` and `profgrab pprof` and compares their output, messages and files.

    shell.py [--only TEXT] [--list]

Standard output and what is said on stderr are compared byte for byte, but for the words of help, which are our own, and hints; so are the
files that a session leaves: their names, and what is in those that are text or profiles. $PROFGRAB is the program, $PPROF the oracle in
place of the one of `go`."""

import argparse
import concurrent.futures
import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile

import odd
from compare import DATE, OLD

DEADLINE = 60
# Substitutes for viewers. chrome stands for the first browser that pprof looks for, so that no installed browser opens.
VIEWERS = ("gv", "eog", "evince", "kcachegrind", "chrome")

# A line: the profile, the flags and the typed lines, separated by `|`.
SESSIONS = r"""
plain |
plain | top
plain -top=false | top
plain | top10
plain | top 2
plain | top2
plain | top2 -cum
plain | top --cum 3
plain | top -1
plain | top 0
plain | top -3
plain | top 99999999999
plain | text
wide | top
wide | text | text 20
wide | nodecount=15 | top | top5 | top
wide | nodecount=-1 | top
wide -nodecount=7 | top
wide | top func1 | top func1 -func12 | top func1 func2 -func3 -func12 | top
wide | top5 -cum func1 | top
wide | focus=func1 | top | focus= | top | ignore=func[2-9] | top
wide | focus=func1 | top func2 | top
wide | focus=( | top | focus= | top
wide | top (
wide | hide=func1 | top | show=func2 | top | show_from=func3 | top | prune_from=func1 | top
wide | focus=func1 | ignore=func12 | hide=func13 | tagfocus=1 | tagignore=2 | top | : | top | o
wide | tags | tags worker | tags -worker | tags 1 -2 | tags worker=1
texts | tags | tags alice | tags -alice | tagfocus=alice | top | tagshow=route | tags | taghide=route | tags
texts | traces | tagroot=user | traces | tagleaf=route | traces
numbers | tags | unit=kb | tags | unit=minimum | tags
plain | list leaf | list . | list nothing | list ( | list | list leaf middle | list leaf -middle
plain | peek leaf | peek . | peek nothing | peek ( | peek | peek leaf top -other
plain | list10
plain | peek2 leaf
plain | tree | tree 2 | tree -cum | tree leaf | tree -leaf
plain | traces | traces leaf | traces -leaf
plain | raw | raw leaf
plain | comments
empty | comments | top | traces | tags
plain | dot | dot 2 | dot leaf -other
wide | dot | dot 5
plain | callgrind >grind.out | callgrind > grind2.out
plain | callgrind
plain | callgrind | callgrind | proto | topproto | proto | topproto 1
plain | proto >p.pb.gz | proto leaf >q.pb.gz | topproto > r.pb.gz
plain | svg | svg | png | pdf | ps | gif
plain | svg >x.svg | png > x.png
plain | gv | eog | evince | kcachegrind | web
plain | web leaf | web >x.svg
plain | top >out | top > out2 leaf | tree >out
plain | top >out | top | o
plain | top >
plain | top > | top
plain | top >a >b
plain | top leaf>x
plain | output=here | top | tree | output= | top | o
plain | output=p.pb.gz | proto | output=
plain | o | options | o x
plain | options=3 | o=2
plain | cum | cum= | cum=true | top | flat=1 | top | cum=yes | cum=false | cum=T | top | o
plain | sort | sort= | sort=cum | top | sort=x | sort=flat | top
plain | granularity=lines | top | granularity=files | top | granularity=x | granularity= | granularity | top
plain | lines=1 | top | o | addresses=1 | top | files=t | top | filefunctions=TRUE | top | functions=True | top | o
plain -lines | o | top
plain -cum -addresses | o | top
same_names | top | filefunctions=1 | top | lines=1 | top
inlined | lines=1 | top | noinlines | top | noinlines=false | top | noinlines=1 | tree
columns | lines=1 | showcolumns=true | top | list f
plain | trim=false | top | trim | top | trim=0 | top
wide | trim=0 | top | nodefraction=0.1 | top | trim=1 | top | edgefraction=0.5 | tree
plain | unit=s | top | unit=us | top | unit=nonsense | top | unit=auto | top | unit | unit= | top
plain | divide_by=2 | top | divide_by=0 | top | divide_by=x | divide_by= | divide_by | divide_by=1e400 | divide_by=0x10 | o
plain | divide_by=1000000 | o | divide_by=123456 | o | divide_by=1234567 | o | divide_by=0.0001 | o | divide_by=0.00001234 | o
plain | divide_by=1e21 | o | divide_by=.5 | o | divide_by=-3 | o | divide_by=inf | o | divide_by=nan | o | divide_by=0.1 | o
plain | mean | top | mean=0 | top | mean=maybe | mean=Y | top | mean=N | mean=NO | mean=False | mean=F | mean=1
plain | call_tree | dot | call_tree=no | tree
plain | relative_percentages | top leaf | relative_percentages=f | top leaf
plain | compact_labels=0 | top | compact_labels | top
plain | drop_negative | top | normalize | top | intel_syntax | o
negative | top | drop_negative | top
plain | trim_path=/x | source_path=/y | list leaf | o
plain | nodecount=3 | nodecount = 4 | o | nodecount=x | nodecount= | nodecount=1.5 | nodecount=99999999999999999999 | nodecount | nodecount=+2 | o
plain | nodecount=3 //: so many | o | focus=a//:b//:c | o | focus=//: | o | focus = leaf | top
plain |  top   2   leaf  |	tree	2
plain | focus = | o | focus= a b c | o | top | focus=
plain | tagfocus=1kb: | top | tagfocus=[ | top | tagfocus= | top
heap | inuse_space | top | alloc_objects | top | o | alloc_space | top | inuse_objects | top
heap | total_alloc_space | top | o | mean_alloc_space | top | o | mean_inuse_objects | top | total_inuse_space | top
heap | sample_index=alloc_space | top | sample_index=0 | top | sample_index=3 | top | o | sample_index=objects
heap | sample_index=4 | sample_index=-1 | sample_index=nothing | sample_index= | o | sample_index | top | sample_index=inuse_inuse_space | o
heap -alloc_space | o | top
heap -sample_index=1 | top | o
heap -inuse_objects | top | o
plain | sample_index=inuse_cpu | top | samples | top | cpu | top | total_cpu | mean_samples | top
units | top | o | speed | top | heat | top | gcu | top
zero | top | samples | top
one | top | o | things | top
many_mappings | top | focus=libc | top | hide=libc | top | focus=\[vdso\] | top
dropped | top | traces
recursive | top | tree | peek even | tree 1
deep | top | top 3 -cum
names | top | peek push_back | list func1
nothing_known | top | traces | raw | tree
no_mapping | top | tree
addresses | top | addresses=1 | top
overflowing | top | tree
huge | top | unit=auto | top
folded | top | raw
heap_later -base {heap} | top | tree | normalize | top
heap_later -diff_base {heap} | top | alloc_space | top | dot
heap heap_later | top | inuse_objects | top
plain | help nothing | help sort | help granularity | help o | help quit
plain | bogus | bogus12 | 12 | 12top | top12x | "quoted" | \back | TOP | Top | -top | =x | = | x=y | ==
plain | focus x | focus 12 | nodecount 5 | cum 1 | sort cum | tagfocus5 | cum5 | granularity lines
plain | tops | to | topp | top5.5 | top+3
plain | exit | top
plain | quit | top
plain | q | top
plain | q now | top
plain | quit= | exit x | top
plain | | | top |
plain | top 2 2 | top 3 1 | top 2 leaf 1
plain | top - | top -- | top ---x | top -cum -cum -leaf
plain | top leaf\|other | top leaf other | top ^leaf$
plain | top .*
plain | top leaf || tree
texts | top user | tags user=alice | tags user | tags :5 | tags n=3
heap | tags | tags bytes | tags bytes=1kb: | tags 1kb: | tags -1kb:
wide | tree 5 | tree 5 func1 | tree5 -cum | nodecount=4 | tree | dot
"""

# Sessions without a last newline, with other line ends, and with bytes that are no text.
RAW = {"no end": b"top", "one line": b"top\n", "windows": b"top 2\r\nq\r\ntop\n", "spaces": b"   \n \t \ntop\n", "nothing": b"", "end": b"\n",
       "unicode": "top 2 \u00fc\nfocus=\u4e16\no\n\u00fcber\n\u2003top\u00a02\n".encode(), "long": b"top " + b"a" * 20000 + b"\ntop\n",
       "many": b"top 1\n" * 40}
RAW_QUIETLY = {"bytes": b"top \xff\xfe\nfo\xff\nfocus=\xff\ntop\n", "controls": b"fo\x01o\n\x1b[31m\ntop \x07\n"}

# Hints, which only profgrab prints.
OURS = re.compile(rb"^hint: .*\n", re.M)
# Sessions in which an old pprof behaves differently.
OTHERWISE = re.compile(rb"^ *(o|options|tags|raw)\b|showcolumns", re.M)
# Files whose content is compared. Pictures are not: Graphviz writes their time, fonts and panning script in its own way.
TEXTS = re.compile(r"(^[^.]*|\.out|\.grind)$")


class Side:
    """`old`: one of the two is an old pprof, so its different dates, links and contents of profiles are left out."""

    def __init__(self, name, command, directory, old):
        self.name, self.command, self.directory, self.old = name, command, os.path.join(directory, name), old
        home = os.path.join(self.directory, "home")
        os.makedirs(home)
        self.environment = dict(os.environ, HOME=home, XDG_CONFIG_HOME=home, PPROF_TMPDIR=home, PPROF_BINARY_PATH="/nonexistent",
                                TZ="UTC", LC_ALL="C", PATH=os.path.join(directory, "bin") + ":" + os.environ["PATH"])
        for variable in ("BROWSER", "DISPLAY"):
            self.environment.pop(variable, None)

    def run(self, number, arguments, lines):
        """Its output, messages and files, as a dictionary."""
        here = os.path.join(self.directory, str(number))
        temporary = os.path.join(here, "tmp")
        os.makedirs(temporary)
        done = subprocess.run(self.command + ["-symbolize=none"] + arguments, input=lines, capture_output=True, timeout=DEADLINE,
                              env=dict(self.environment, TMPDIR=temporary, SEEN=os.path.join(here, "seen")), cwd=here, check=False)
        left = os.listdir(temporary)
        shutil.rmtree(temporary)
        printed = done.stdout.replace(self.directory.encode(), b"HERE")
        result = {"code": done.returncode, "printed": self.dateless(printed), "said": self.dateless(OURS.sub(b"", done.stderr)),
                  "temporary": left}
        for name in sorted(os.listdir(here)):
            result["file " + name] = self.read(os.path.join(here, name))
        shutil.rmtree(here)
        return result

    def dateless(self, data):
        return DATE.sub(b"", data) if self.old else data

    def read(self, path):
        if path.endswith(".pb.gz"):
            with gzip.open(path) as f:
                return bool(f.read()) if self.old else f.read()
        with open(path, "rb") as f:
            data = self.dateless(f.read())
        return data if TEXTS.search(path) else bool(data)


def sessions(paths):
    """(name, arguments, typed bytes, whether messages are compared)."""
    for line in SESSIONS.strip().splitlines():
        head, _, typed = line.partition(" |")
        words = head.split()
        flags = [paths[w[1:-1]] if w.startswith("{") else w for w in words if w not in paths]
        files = [paths[w] for w in words if w in paths]
        yield line, flags + files, "".join(t.strip(" ") + "\n" for t in re.split(r" \|(?: |$)", typed + " ")).encode(), True
    for quietly, group in ((False, RAW), (True, RAW_QUIETLY)):
        for name, typed in group.items():
            yield name, [paths["plain"]], typed, not quietly


def make_viewers(directory):
    """Programs that record their arguments, and whether their input file had content."""
    os.makedirs(directory)
    for name in VIEWERS:
        path = os.path.join(directory, name)
        with open(path, "w") as f:
            f.write('#!/bin/sh\nfor last; do :; done\ntest -s "$last" || echo nothing >>"$SEEN-%s"\n'
                    'echo "$# ${last##*/}" >>"$SEEN-%s"\n' % (name, name))
        os.chmod(path, 0o755)


def compare(number, session, oracle, ours):
    what, arguments, typed, aloud = session
    theirs, mine = oracle.run(number, arguments, typed), ours.run(number, arguments, typed)
    if not aloud:
        theirs["said"] = mine["said"] = b""
    return what, theirs, mine, [key for key in sorted(set(theirs) | set(mine)) if theirs.get(key) != mine.get(key)]


def tell(what, theirs, mine, different):
    print("differs: " + what)
    for key in different:
        for side, result in (("oracle", theirs), ("ours", mine)):
            print("   %s, %s: %s" % (key, side, repr(result.get(key))[:3000]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    pprof = os.environ.get("PPROF") or subprocess.run(["go", "tool", "-n", "pprof"], check=True, capture_output=True).stdout.decode().strip()
    program = os.path.abspath(os.environ.get("PROFGRAB", "build/profgrab"))
    with tempfile.TemporaryDirectory() as directory:
        profiles = os.path.join(directory, "profiles")
        os.makedirs(profiles)
        make_viewers(os.path.join(directory, "bin"))
        version = subprocess.run(["go", "version"], check=True, capture_output=True).stdout.decode()
        old = tuple(map(int, re.search(r"go(\d+)\.(\d+)", version).groups())) < OLD
        wanted = [s for s in sessions(odd.write_all(profiles)) if options.only in s[0] and not (old and OTHERWISE.search(s[2]))]
        if options.list:
            print("\n".join("%s: %s %r" % (what, " ".join(a), typed[:100]) for what, a, typed, _ in wanted))
            return 0
        oracle, ours = Side("oracle", [pprof], directory, old), Side("ours", [program, "pprof"], directory, old)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            results = list(pool.map(lambda ns: compare(*ns, oracle, ours), enumerate(wanted)))
        different = [r for r in results if r[3]]
        for result in different:
            tell(*result)
        printed = sum(len(theirs["printed"]) > 100 for _, theirs, _, _ in results)
        print("%d of %d sessions are equal, %d printed reports" % (len(results) - len(different), len(results), printed))
        return 0 if not different and (options.only or (len(results) > 100 and printed * 3 > len(results) * 2)) else 1


if __name__ == "__main__":
    sys.exit(main())
