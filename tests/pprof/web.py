#!/usr/bin/env python3
"""Compares the page of `profgrab pprof -http` with that of `go tool pprof -http`: the same addresses to both, the same rows of top,
text of peek and tags, stacks of the flame graph, headings, status codes and sentences of errors.

    web.py [--requests N] [--seed N] [--keep DIRECTORY] [--program FILE] [PROFILE...]

The profiles are those of compare.py, and PROFILE. $PROFGRAB is the program, $PPROF the oracle in place of the one of `go`. --program as in compare.py."""

import argparse
import collections
import gzip
import html
import json
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

import compare

SHOWN = 10
STARTS = 5
PROFILES = ["cpu.2", "heap.2", "mutex.2", "goroutine.2", "plain", "texts", "numbers", "units", "recursive", "inlined", "wide", "many_mappings", "dropped"]
PAIRS = [("heap.1", "heap.2"), ("cpu.1", "cpu.2")]  # -diff_base
VIEWS = ["top", "top", "peek", "flamegraph", "flamegraph", "graph", "source"]
# A parameter and its values; wrong ones too.
PARAMETERS = {
    "f": ["spin", "main\\.", "runtime", "nothing.at.all", "a", "(", "\\.go$"],
    "i": ["spin", ".", "^b", "runtime"],
    "h": ["spin", "runtime", "middle"],
    "s": ["main", "spin", "."],
    "sf": ["main", "serve"],
    "prunefrom": ["recurse", "c$"],
    "tf": ["route", "route=/api/w1", "user=alice,bob", "1kb:", ":64b", "["],
    "ti": ["w[12]", "bytes=1kb:"],
    "ts": ["route"],
    "th": ["round", "."],
    "n": ["3", "0", "-1", "x", "99999999999999999999"],
    "nf": ["0.1", "0", "y"],
    "ef": ["0.2"],
    "trim": ["f", "t", "maybe"],
    "g": ["functions", "filefunctions", "files", "lines", "addresses", "nonsense"],
    "sort": ["cum", "flat", "sideways"],
    "si": ["0", "1", "9", "nothing", "alloc_space"],
    "unit": ["ms", "kb", "auto", "nonsense"],
    "mean": ["t", "yes", "2"],
    "rel": ["t"],
    "norm": ["t"],
    "calltree": ["t"],
    "compact": ["t"],
    "dropneg": ["t"],
    "noinlines": ["t"],
    "showcolumns": ["t"],
    "intel": ["t"],
    "unknown": ["1"],
}


class Server:
    """A program that serves the page of one profile."""

    def __init__(self, *start):
        # `go tool pprof` prints its address before it listens, and the port may be in use.
        for _ in range(STARTS):
            self.start(*start)
            if self.listens():
                return
            self.end()
        raise OSError("the server does not listen")

    def listens(self):
        host, port = self.base.removeprefix("http://").split(":")
        while self.process.poll() is None:
            try:
                socket.create_connection((host, int(port))).close()
                return True
            except ConnectionRefusedError:
                time.sleep(0.02)
        return False

    def start(self, command, arguments, environment, directory):
        self.process = subprocess.Popen(command + ["-http=127.0.0.1:", "-no_browser"] + arguments, env=environment,
                                        cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        address = re.search(rb"(http://127\.0\.0\.1:\d+)(?:/ui/\S*token=(\w+))?", self.process.stdout.readline())
        self.base, token = address.group(1).decode(), address.group(2)
        self.headers = {"Authorization": "Bearer " + token.decode(), "Accept": "application/json"} if token else {}

    def get(self, path):
        """(status, body)."""
        request = urllib.request.Request(self.base + path, headers=self.headers)
        try:
            with urllib.request.urlopen(request, timeout=compare.DEADLINE) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as e:
            return e.code, e.read()

    def end(self):
        self.process.terminate()
        self.process.communicate()


# ---- what upstream's HTML shows ----------------------------------------------------------------------------------


def between(text, before, after):
    return text.split(before, 1)[1].split(after, 1)[0]


def heading_of_html(text):
    return [html.unescape(line) for line in re.findall(r"<div>(.*?)</div>", between(text, 'id="detailsbox">', "</div>\n  </div>"))]


def errors_of_html(text):
    """Upstream's page has blanks between the parts of a message, which its terminal does not have."""
    return [re.sub("(tag\\w+) :Interpreted ' (.*) '", r"\1:Interpreted '\2'", html.unescape(line.strip())) for line in re.findall(r"<div>(.*?)</div>", between(text + "</div>\n", 'id="errors">', "</div>\n"))]


def read_html(view, body):
    """The content of upstream's page, in the form of read_json."""
    text = body.decode()
    content = {"heading": heading_of_html(text), "errors": errors_of_html(text)}
    if view == "top":
        total, rows = re.search(r"makeTopTable\(\s*(-?\d+)\s*,\s*(\[.*\]|null)\s*\);", text).groups()
        content["total"] = int(total)
        content["rows"] = [(row["Name"], row["InlineLabel"], row["Flat"], row["FlatFormat"], row["Cum"], row["CumFormat"])
                           for row in json.loads(rows) or []]
    elif view == "peek":
        content["text"] = html.unescape(between(text, "<pre>", "</pre>")).strip()
    elif view == "flamegraph":
        stacks = json.loads(re.search(r"stackViewer\((\{.*?\}), \[", text).group(1))
        counted = collections.Counter()
        for stack in stacks["Stacks"] or []:
            places = tuple((stacks["Sources"][i]["FullName"], stacks["Sources"][i]["FileName"]) for i in stack["Sources"][1:])
            counted[places] += stack["Value"]
        content["stacks"] = {places: value for places, value in counted.items() if value != 0}
    return content


# ---- what our JSON has -------------------------------------------------------------------------------------------


def stacks_of(data, kind):
    """The stacks of a flame graph: (name, file) of each call, the outermost first, and the value of the sample type."""
    strings, functions, nodes = data["strings"], data["functions"], data["nodes"]
    path, stacks = [], collections.Counter()
    for depth, function, value in zip(nodes["depth"], nodes["function"], nodes["self"][kind]):
        del path[max(0, depth - 1):]
        if function >= 0:
            path.append((strings[functions["name"][function]], strings[functions["file"][function]]))
        elif function < -1:
            path.append(("smaller calls", ""))
        if value != 0:
            stacks[tuple(path)] += value
    return {places: value for places, value in stacks.items() if value != 0}


def read_json(view, body):
    answer = json.loads(body)
    data = answer["data"]
    content = {"heading": data.get("heading", answer["heading"]) if view == "top" else answer["heading"], "errors": answer["errors"]}
    if view == "top":
        content["total"] = data["total"]
        content["rows"] = [(row["name"], row["inline"], row["flat"], row["flatText"], row["cum"], row["cumText"]) for row in data["rows"]]
    elif view == "peek":
        content["text"] = data["text"].strip()
    elif view == "flamegraph":
        content["stacks"] = stacks_of(data, answer["type"])
    return content


# ---- comparing ---------------------------------------------------------------------------------------------------


# The parts of an answer that must be equal. The graph is the picture of -svg, whose graph compare.py compares as -dot; machine.py
# compares what source and disasm show, because `go tool pprof` has another disassembler.
PARTS = {"top": ["errors", "heading", "total", "rows"], "peek": ["errors", "text"], "flamegraph": ["errors", "stacks"], "graph": [], "source": []}


def compare_answers(view, theirs, ours):
    """A sentence about the difference, or None."""
    if theirs[0] != ours[0]:
        return "status %d and %d: %r" % (theirs[0], ours[0], ours[1][:200])
    if theirs[0] != 200:
        return None if theirs[1] == ours[1] else "%r and %r" % (theirs[1][:300], ours[1][:300])
    expected, got = read_html(view, theirs[1]), read_json(view, ours[1])
    for part in PARTS[view]:
        if expected[part] != got[part] and not is_same_list(part, expected[part], got[part]):
            return "%s: %s" % (part, difference(expected[part], got[part]))
    return None


def is_same_list(part, expected, got):
    """`go tool pprof` prints calls of +20ms and -20ms in a random order."""
    return part == "text" and re.search(r"-\d", expected) and sorted(expected.splitlines()) == sorted(got.splitlines())


def difference(expected, got):
    if isinstance(expected, dict):
        lacking = [(k, v) for k, v in expected.items() if got.get(k) != v][:2]
        more = [(k, v) for k, v in got.items() if expected.get(k) != v][:2]
        return "expected %r, got %r" % (lacking, more)
    if isinstance(expected, list):
        at = next((i for i, (a, b) in enumerate(zip(expected, got)) if a != b), min(len(expected), len(got)))
        return "of %d and %d, item %d: expected %r, got %r" % (len(expected), len(got), at, expected[at:at + 1], got[at:at + 1])
    if isinstance(expected, str):
        return compare.head(expected.encode(), got.encode()) + "\n" + compare.head(got.encode(), expected.encode())
    return "expected %r, got %r" % (expected, got)


# The error of a filter depends on when the filters are applied.
ALWAYS = [(view, {"f": "(", "rel": "t"}) for view in ("peek", "source", "disasm")]


def requests_of(choose, n):
    """Requests that are always made, and random views with up to three parameters."""
    requests = list(ALWAYS)
    while len(requests) < n:
        names = choose.sample(sorted(PARAMETERS), choose.choice((0, 1, 1, 2, 2, 3)))
        requests.append((choose.choice(VIEWS), {name: choose.choice(PARAMETERS[name]) for name in names}))
    return requests


def compare_profile(servers, requests, tell):
    differences = 0
    for view, parameters in requests:
        path = "/ui/%s?%s" % (view, urllib.parse.urlencode(parameters))
        theirs, ours = (server.get(path) for server in servers)
        why = compare_answers(view, theirs, ours)
        # Some answers of `go tool pprof` have the random order of a Go map.
        if why and any(compare_answers(view, servers[0].get(path), ours) is None for _ in range(compare.REPEATS)):
            why = None
        if why:
            differences += 1
            tell(path, why)
    return differences


def compare_download(servers, tell):
    path = "/ui/download?f=x"
    theirs, ours = (gzip.decompress(server.get(path)[1]) for server in servers)
    if theirs != ours:
        tell(path, "%d and %d bytes" % (len(theirs), len(ours)))
    return theirs != ours


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=400)
    parser.add_argument("--seed", type=int, default=6)
    parser.add_argument("--keep")
    parser.add_argument("--program")
    parser.add_argument("profiles", nargs="*")
    o = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        directory = os.path.abspath(o.keep or temporary)
        os.makedirs(directory, exist_ok=True)
        paths = compare.take_profiles(directory, o.program)
        pprof = os.environ.get("PPROF") or compare.output_of("go", "tool", "-n", "pprof")
        program = os.path.abspath(os.environ.get("PROFGRAB", "build/profgrab"))
        environments = [compare.Side(name, [], directory).environment for name in ("oracle", "ours")]
        choose = random.Random(o.seed)
        cases = [[paths[name]] for name in PROFILES] + [["-diff_base", paths[base], paths[new]] for base, new in PAIRS]
        cases += [[os.path.abspath(name)] for name in o.profiles]
        count = differences = 0
        shown = []

        def tell(path, why):
            shown.append("differs: %s %s\n   %s" % (" ".join(arguments).replace(directory + "/", ""), path, why))

        for arguments in cases:
            servers = []
            try:
                for command, environment in (([pprof], environments[0]), ([program, "pprof"], environments[1])):
                    servers.append(Server(command, ["-symbolize=none", *arguments], environment, directory))
                requests = requests_of(choose, -(-o.requests // len(cases)))
                differences += compare_profile(servers, requests, tell) + compare_download(servers, tell)
                count += len(requests)
            finally:
                for server in servers:
                    server.end()
        print("\n".join(shown[:SHOWN]), end="\n" if shown else "")
        print("%d of %d addresses have equal answers" % (count - differences, count))
        return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
