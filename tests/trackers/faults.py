#!/usr/bin/env python3
"""Hands off a bundle repeatedly; in each run one request fails in one way.

    faults.py [--cancel] [--fast] KIND URL CONTROL PROJECT OTHER

URL and CONTROL are the addresses of a tests/gitlab, which is a GitLab or a proxy in front of a tracker, and can spoil any answer.
OTHER is the control of a second one, the target of redirects. $HANDOFF is the program tests/handoff, $TOKEN the token.

After each fault: the exit code is 4; the error names the step; the report of the data that left is true; a changing request was
sent once; the token is in no output and at no other address. With --cancel the fault is Ctrl-C: while a request has no answer,
while the answer to an executed request is held back, and while a refused request waits to be repeated. With --fast each request
gets only some of the faults, but each fault is used.

Prints each hand-off with a wrong result, and a count at the end.
"""
import http.client, json, os, re, signal, subprocess, sys, time, urllib.parse

HOST = "file-03-stor-gprd"
SMALL, LARGE = 300_000, 30_000_000

# The reports of the data that left, from nothing to all: the beginnings of the sentences.
NOTHING, ISSUE, PART, MAYBE, FILE, WORDS_MAYBE, WORDS = range(7)
SENTENCES = [
    r"nothing has left this workstation$",
    r"nothing has left this workstation but a neutral issue or note$",
    r"(at most .* of )?the encrypted bundle (.* )?left this workstation, and the tracker (did not take|refused) it$",
    r"the tracker may have the encrypted bundle but does not have the summary$",
    r"the tracker has the encrypted bundle but not the summary$",
    r"the tracker has the encrypted bundle and may have the summary$",
    r"the tracker has the encrypted bundle and the summary$",
]


class Request:
    """A request of a hand-off: its pattern in the log, the number of earlier matches, its step, and the report of the data that
    left if the request failed (`before`). `maybe` is the report if the result is unknown; None for a request that only reads."""

    def __init__(self, on, step, before, maybe=None, after=0, file=False, survives=()):
        self.on, self.step, self.before, self.maybe, self.after = on, step, before, maybe, after
        self.file, self.survives = file, survives


GITLAB = "/api/v4/projects/[^/]*"
FLOWS = {
    "gitlab": [
        (["--assignee", "reporter"], [
            Request("^GET /api/v4/version$", "reading the place", NOTHING, survives=("403", "404")),
            Request(f"^GET {GITLAB}$", "reading the place", NOTHING),
            Request("^GET /api/v4/users$", "reading the place", NOTHING),
            Request(f"^POST {GITLAB}/issues$", "creating the issue", NOTHING, ISSUE),
            Request(f"^GET {GITLAB}/issues/3$", "reading the flag back", ISSUE),
            Request(f"^GET {GITLAB}$", "uploading", ISSUE, after=1),
            Request(f"^GET {GITLAB}/issues/3$", "uploading", ISSUE, after=1),
            Request(f"^POST {GITLAB}/uploads$", "uploading", ISSUE, MAYBE, file=True, survives=("413",)),
            Request(f"^GET {GITLAB}/uploads/", "verifying", FILE),
            Request(f"^GET {GITLAB}/issues/3$", "writing the note", FILE, after=2),
            Request(f"^POST {GITLAB}/issues/3/notes$", "writing the note", FILE, WORDS_MAYBE),
            Request(f"^GET {GITLAB}/issues/3/notes/", "reading the note back", WORDS),
        ]),
        (["--issue", "1"], [
            Request(f"^GET {GITLAB}/issues/1$", "reading the place", NOTHING),
            Request(f"^GET {GITLAB}/issues/1$", "reading the flag back", NOTHING, after=1),
            Request(f"^POST {GITLAB}/issues/1/notes$", "creating an internal note", NOTHING, ISSUE),
            Request(f"^GET {GITLAB}/issues/1/notes/", "creating an internal note", ISSUE),
            Request(f"^GET {GITLAB}/issues/1$", "uploading", ISSUE, after=2),
            Request(f"^PUT {GITLAB}/issues/1/notes/", "writing the note", FILE, WORDS_MAYBE),
            Request(f"^GET {GITLAB}/issues/1/notes/", "reading the note back", WORDS, after=1),
        ]),
        (["--upload-max", "1000"], [
            Request(f"^PUT {GITLAB}/packages/", "uploading", ISSUE, MAYBE, file=True),
            Request(f"^GET {GITLAB}/packages/[0-9]+/package_files$", "verifying", FILE),
        ]),
    ],
    "redmine": [
        (["--assignee", "Manager T"], [
            Request("^GET /projects/[a-z]+.json$", "reading the place", NOTHING),
            Request("^GET /projects/[0-9]+/memberships.json$", "reading the place", NOTHING),
            Request("^POST /issues.json$", "creating the issue", NOTHING, ISSUE),
            Request("^GET /issues/", "reading the flag back", ISSUE),
            Request("^GET /projects/[a-z]+.json$", "uploading", ISSUE, after=1),
            Request("^GET /issues/", "uploading", ISSUE, after=1),
            Request("^POST /uploads.json$", "uploading", ISSUE, MAYBE, file=True),
            Request("^GET /attachments/", "verifying", FILE),
            Request("^GET /issues/", "attaching the file to the issue", FILE, after=2),
            Request("^PUT /issues/", "attaching the file to the issue", FILE, FILE),
            Request("^GET /issues/", "attaching the file to the issue", FILE, after=3),
            Request("^GET /issues/", "writing the note", FILE, after=4),
            Request("^PUT /issues/", "writing the note", FILE, WORDS_MAYBE, after=1),
            Request("^GET /issues/", "reading the note back", WORDS, after=5),
        ]),
        (["--issue", "1"], [
            Request("^GET /issues/", "reading the place", NOTHING),
            Request("^PUT /issues/", "creating an internal note", NOTHING, ISSUE),
            Request("^GET /issues/", "creating an internal note", ISSUE, after=2),
            Request("^GET /issues/", "uploading", ISSUE, after=3),
        ]),
    ],
    "rt": [
        ([], [
            Request("^GET /REST/2.0/queue/", "reading the place", NOTHING),
            Request("^POST /REST/2.0/ticket$", "creating the issue", NOTHING, ISSUE),
            Request("^GET /REST/2.0/queue/", "uploading", ISSUE, after=1),
            Request("^POST .*/comment$", "uploading", ISSUE, MAYBE, file=True),
            Request("^GET .*/attachments$", "verifying", FILE),
            Request("^GET .*/attachment/", "verifying", FILE),
            Request("^GET .*/transaction/", "verifying", FILE),
            Request("^POST .*/comment$", "writing the note", FILE, WORDS_MAYBE, after=1),
            Request("^GET .*/attachments$", "reading the note back", WORDS, after=1),
            Request("^GET .*/attachment/", "reading the note back", WORDS, after=1),
            Request("^GET .*/transaction/", "reading the note back", WORDS, after=1),
        ]),
    ],
}

# The tracker's fault, its argument, whether the answer means that nothing was done, and the text of the error. For a GET of a
# file any other answer looks like a wrongly stored file, so the error may have another text.
FAULTS = [
    ("401", "", True, "HTTP 401: the token is not accepted"),
    ("403", "", True, "HTTP 403: the token may not do that"),
    ("404", "", True, "HTTP 404: there is none"),
    ("413", "", True, "HTTP 413: too large"),
    ("422", "", True, "HTTP 422: refused: title is too long"),
    ("later-text", "3600", True, "HTTP 429: too many requests; it accepts the next one in 3600 s"),
    ("later-json", "", True, "HTTP 429: too many requests"),
    ("500", "", False, "HTTP 500: the tracker failed"),
    ("html", "", False, "no JSON: a web page: Sign in|stored|content"),
    ("empty", "", False, "empty answer|HTTP 200|stored|content|stored 0"),
    ("redirect", "OTHER", True, "it redirects to OTHER.*: not followed|the store OTHER"),
    ("cut", "", False, "connection|closed"),
    ("cut-after", "", False, "closed the connection without an answer"),
    ("silent", "", False, "no answer: no data arrived for|the transfer stalled"),
]

# Groups of similar faults. With --fast, for a slow tracker, each request gets one fault of each group, in turn.
SIMILAR = [
    ["401", "403", "404", "413", "422"],
    ["later-text", "later-json"],
    ["500", "html", "empty"],
    ["redirect"],
    ["cut", "cut-after", "silent"],
]


class Control:
    def __init__(self, url):
        self.connection = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc, timeout=10)

    def ask(self, method, path):
        self.connection.request(method, path)
        return self.connection.getresponse().read().decode()

    def lines(self, path):
        return self.ask("GET", path).splitlines()

    def spoil(self, request, do, arg="", times=1):
        query = {"on": request.on, "do": do, "arg": arg, "times": times, "after": request.after}
        self.ask("POST", "/fault?" + urllib.parse.urlencode(query))

    def sent(self, request):
        return sum(bool(re.search(request.on, " ".join(line.split()[:2]))) for line in self.lines("/log"))


class FaultTest:
    def __init__(self, kind, url, control, project, other):
        self.kind, self.url, self.project, self.token = kind, url, project, os.environ["TOKEN"]
        self.control, self.other = Control(control), Control(other)
        self.other_url = self.other.ask("GET", "/address").strip()
        self.count, self.bad = 0, 0
        # A busy tracker must not count as silent.
        self.silence = 700 if kind == "gitlab" else 5000
        for name, size in ("small.age", SMALL), ("large.age", LARGE):
            with open(name, "wb") as f:
                f.write(b"age-encryption.org/v1\n" + bytes(size))

    def command(self, flags, large=False, silence=5000, patience=100):
        return [os.environ["HANDOFF"], "--encrypted", "--summary", f"cpu of {HOST}", "--silence", str(silence), "--patience",
                str(patience), *flags, self.kind, self.url, self.project, "large.age" if large else "small.age"]

    def complain(self, name, what, out, err):
        self.bad += 1
        print(f"{name}: {what}\n  {out.strip()}\n  {err.strip()}".replace("\n", "\n  "))

    def check_report(self, name, request, code, out, err, left, words, outcome):
        """Complains about each error in the report of a failed hand-off."""
        self.count += 1
        reported = re.search("^left (.*)", out, re.M).group(1) if "\nleft " in out else ""
        wrong = []
        if code != 4:
            wrong.append(f"code {code}")
        if not err.startswith(f"error: work: {request.step}: "):
            wrong.append(f"not at the step {request.step!r}")
        if not re.search(words, err):
            wrong.append(f"the error does not say {words!r}")
        # A tracker may refuse a file before any byte of it has left.
        lefts = [PART, request.before] if left == PART else [left]
        if not any(re.search("^" + SENTENCES[i], reported) for i in lefts):
            wrong.append(f"left should be {SENTENCES[left]!r}")
        if not re.search(f"^step .* ({outcome}) ", out, re.M):
            wrong.append(f"no step is {outcome}")
        if self.token in out + err:
            wrong.append("the token is printed")
        if re.search(r"[^\x20-\x7e\n]", out + err):
            wrong.append("the output is not printable")
        if request.maybe is not None and self.control.sent(request) > request.after + 1:
            wrong.append("it was sent again")
        wrong += self.unreported_objects(left)
        for what in wrong:
            self.complain(name, what, out, err)

    def unreported_objects(self, left):
        """The objects at the tracker that the report does not name. Only our own GitLab lists them."""
        if self.kind != "gitlab":
            return
        text = self.control.ask("GET", "/state")
        project = json.loads(text)[self.project]
        if left < WORDS_MAYBE and HOST in text:
            yield "the tracker has the summary"
        if left < MAYBE and (project["uploads"] or project["packages"]):
            yield "the tracker has the bundle"
        if left < ISSUE and (len(project["issues"]) > 2 or project["issues"][0]["notes"]):
            yield "the tracker has an issue or a note"

    def fault(self, flags, request, do, arg, refused, words):
        name = f"{request.on} {request.after} {do}"
        large = do == "cut" and request.file
        self.control.ask("POST", "/reset")
        # libcurl repeats a request itself if a kept-alive connection was closed.
        times = 10 if do.startswith("cut") and request.maybe is None else 1
        self.control.spoil(request, do, arg.replace("OTHER", self.other_url), times)
        silence = self.silence if do == "silent" else 5000
        r = subprocess.run(self.command(flags, large, silence), capture_output=True, text=True, timeout=60)
        if do in request.survives:
            self.count += 1
            if r.returncode != 0:
                self.complain(name, "the hand-off should have continued", r.stdout, r.stderr)
            return
        unsure = request.maybe is not None and not refused and not large
        left = request.maybe if unsure else PART if request.file else request.before
        words = words.replace("OTHER", re.escape(self.other_url))
        self.check_report(name, request, r.returncode, r.stdout, r.stderr, left, words, "unknown" if unsure else "failed")

    def interrupt(self, flags, request, do, arg, ready):
        """Sends SIGINT after `ready`, which waits for the request and returns the output that it has read."""
        self.control.ask("POST", "/reset")
        self.control.spoil(request, do, arg)
        p = subprocess.Popen(self.command(flags, silence=30000, patience=100000), stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
        early = ready(p)
        begun = time.monotonic()
        p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=30)
        if time.monotonic() - begun > 5:
            self.complain(f"{request.on} {do}", "it ended too late", out, err)
        unsure = request.maybe is not None and do != "later-text"
        left = request.maybe if unsure else PART if request.file else request.before
        self.check_report(f"Ctrl-C: {request.on} {request.after} {do}", request, p.returncode, early + out, err, left, "interrupted",
                   "unknown" if unsure else "failed")

    def wait_for_request(self, request):
        def ready(_):
            for _ in range(1000):
                if self.control.sent(request) > request.after:
                    return ""
                time.sleep(0.01)
            raise TimeoutError(request.on)
        return ready

    def run(self, cancel, fast):
        for flags, requests in FLOWS[self.kind]:
            for request in requests:
                if cancel:
                    self.interrupt(flags, request, "silent", "", self.wait_for_request(request))
                    if request.maybe is not None:
                        self.interrupt(flags, request, "held", "", self.wait_for_request(request))
                    self.interrupt(flags, request, "later-text", "60", lambda p: p.stdout.readline())
                    continue
                for group in SIMILAR:
                    for i in [requests.index(request) % len(group)] if fast else range(len(group)):
                        self.fault(flags, request, *next(f for f in FAULTS if f[0] == group[i]))
        for line in self.other.lines("/log"):
            if not line.endswith(" anonymous"):
                self.complain(line, "the token went to another host", "", "")


def main():
    arguments = [w for w in sys.argv[1:] if not w.startswith("--")]
    test = FaultTest(*arguments)
    test.run("--cancel" in sys.argv, "--fast" in sys.argv)
    print(f"{test.count} hand-offs, {test.bad} not as they should be")
    sys.exit(test.bad > 0)


main()
