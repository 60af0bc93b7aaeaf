#!/usr/bin/env python3
"""profiles.py DIR: hostile profiles for the page.

DIR/names/            names that are markup, that change the direction of writing, that are too long, that are not UTF-8; one file
                      has such a name itself, one has a stack of 5,000 calls, one 5,000 functions
DIR/million.pb.gz     a million functions
DIR/difference.pb.gz  negative values
DIR/base.pb.gz        a base for it
DIR/namesakes.pb.gz   a heap profile of two functions with one name in two files; values of hundreds of megabytes
DIR/types.pb.gz       functions that are in another order by each of the two sample types
DIR/folded.pb.gz      more calls than are drawn: main.main calls 250 functions, each of these the same 250, and these one;
                       the calls of app/rare are always folded
"""

import gzip
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "pprof"))
import odd  # noqa: E402

PWN = "window.pwned=1"
NAMES = [
    f"<script>{PWN}</script>",
    f"</script><script>{PWN}</script>",
    f"</title></style></textarea><img src=x onerror={PWN}>",
    f"\"><svg onload={PWN}>",
    f"' onmouseover='{PWN}' autofocus onfocus='{PWN}",
    f"javascript:{PWN}//",
    f"${{{PWN}}}`{{{{constructor.constructor('{PWN}')()}}}}",
    f"<!--<script>{PWN}//-->]]>",
    "__proto__",
    "constructor.prototype.polluted",
    "main.\u202egnp.exe\u202c\u2066\u2069\u200f",
    "main.\u05d0\u05d1\u05d2\u0627\u0644\u0639\u0631\u0628\u064a\u0629",
    "main.a\u0300" + "\u0316\u0489" * 400,
    "main." + "W" * 10000,
    "github.com/" + "deep/" * 2000 + "pkg.F",
    "word " * 2000,
    "\u00a0\u2003\u3000",
    "\x00\x01\x1b[31mred\x07\r\n\t\x7f\u0085\u2028\u2029\ufeff",
    b"\xff\xfe\xc0\x80\xed\xa0\x80 broken",
    "main.\U0001f525\u200d\U0001f692\ufe0f",
    "",
]


def hostile():
    """Each name as a function, a file, a label's key and value; all in one stack, and each in a stack of its own."""
    p = odd.Profile(types=[("samples", "count"), (NAMES[0], NAMES[3]), (NAMES[13], "nanoseconds"), (NAMES[10], NAMES[14])],
                    default=NAMES[0], comments=NAMES[:4])
    mapping = p.mapping(file=NAMES[2])
    stack = [p.location(0x401000 + 16 * i, [(p.function(name, name), 10 + i)], mapping) for i, name in enumerate(NAMES)]
    for i, location in enumerate(stack):
        p.sample([location], [1, 2, 3, 4], (NAMES[i], NAMES[i]))
        p.sample(stack[i:], [50 + i, 7, 8, 9], (NAMES[1], NAMES[i]))
    return p


def deep(n=5000):
    p = odd.Profile()
    chain = odd.chain(p, [f"main.level{i}" for i in range(n)])
    for i in range(0, n, 500):
        p.sample(chain[i:], [1, 1000])
    return p


def wide(n):
    p = odd.Profile()
    for i, location in enumerate(odd.chain(p, [f"example.com/m{i % 97}/p{i % 1009}.F{i}" for i in range(n)])):
        p.sample([location], [1, 10 + i % 7])
    return p


def million():
    """Makes the bytes faster than odd.Profile: every number has three bytes, and a function has the number of its name."""
    numbers = [bytes((low | 128, middle | 128, high)) for high in range(1, 63) for middle in range(128) for low in range(128)]
    first = numbers[0]
    out = [b"\x0a\x04\x08\x01\x10\x02"]
    out += [b"\x2a\x08\x08%b\x10%b\x22\x0a\x08%b\x22\x04\x08%b\x12\x08\x0a\x03%b\x12\x01\x01" % (n, n, n, n, n) for n in numbers]
    out += [b"\x12\x0a\x0a\x03%b\x12\x03\x80\x80\x04" % n for n in numbers[:40]]
    names = [b"", b"samples", b"count"] + [b""] * (0x4000 - 3)
    names += [b"example.com/module%d/package.F%d" % (i % 97, i) for i in range(len(numbers))]
    assert first == odd.varint(0x4000)
    return b"".join(out) + b"".join(b"\x32%c%b" % (len(name), name) for name in names)


def base():
    p = odd.Profile(types=[("cpu", "nanoseconds")])
    root, more = odd.chain(p, ["main.main", "main.more"])
    p.sample([more, root], [4000000])
    return p


def folded(n=250):
    p = odd.Profile(types=[("cpu", "nanoseconds")])
    root, common, *rest = odd.chain(p, ["main.main", "sync.common"] + [f"app/branch.B{i}" for i in range(n)] + [f"app/leaf.L{i}" for i in range(n)])
    for i, branch in enumerate(rest[:n]):
        for leaf in rest[n:]:
            p.sample([common, leaf, branch, root], [1000000 * (n - i)])
    # A function that has only folded calls, and its caller, which has too.
    rare, hidden = odd.chain(p, ["app/rare.(*Cache[go.shape.int]).Get", "app/rare.caller"])
    p.sample([rare, hidden, rest[n - 1], root], [700])
    return p


def namesakes():
    p = odd.Profile(types=[("space", "bytes")])
    root, leaf = odd.chain(p, ["main.main", "leaf"])
    for file, megabytes in (("/src/a.c", 575), ("/src/b.c", 975)):
        p.sample([leaf, p.location(0x402000 + megabytes, [(p.function("cmp", file), 7)]), root], [(megabytes << 20) + 220201])
    return p


def types():
    p = odd.Profile(types=[("objects", "count"), ("space", "bytes")])
    root, few, many, leaf = odd.chain(p, ["main.main", "main.few", "main.many", "main.leaf"])
    p.sample([leaf, few, root], [1, 300 << 20])
    p.sample([leaf, many, root], [500, 100 << 20])
    return p


def labels():
    """Labels whose keys and values have the characters that separate the parts of a tagfocus."""
    p = odd.Profile(types=[("cpu", "nanoseconds")])
    (work,) = odd.chain(p, ["main.work"])
    for i, label in enumerate([("user", "a,b"), ("user", "a"), ("user", "b"), ("k=v", "x"), ("k=v", "y=z,"), ("k", "v=x")]):
        p.sample([work], [1000000 << i], label)
    return p


def many_labels():
    """More values of a label than one answer has."""
    p = odd.Profile(types=[("cpu", "nanoseconds")])
    (work,) = odd.chain(p, ["main.work"])
    for i in range(2500):
        p.sample([work], [1000000 + 1000 * i], ("request", "r%d" % i))
    return p


def difference():
    p = odd.Profile(types=[("cpu", "nanoseconds")])
    root, more, less = odd.chain(p, ["main.main", "main.more", "main.less"])
    p.sample([more, root], [5000000])
    p.sample([less, root], [-3000000])
    return p


def write(path, profile):
    with open(path, "wb") as f:
        f.write(gzip.compress(profile if isinstance(profile, bytes) else profile.encode(), 1))


def main(directory):
    names = os.path.join(directory, "names")
    os.makedirs(names)
    write(os.path.join(names, "names.pb.gz"), hostile())
    write(os.path.join(names, f"'\"><img src=x onerror={PWN}>\u202e{'x' * 100}.pb.gz"), difference())
    write(os.path.join(names, "deep.pb.gz"), deep())
    write(os.path.join(names, "wide.pb.gz"), wide(5000))
    write(os.path.join(directory, "difference.pb.gz"), difference())
    write(os.path.join(directory, "base.pb.gz"), base())
    write(os.path.join(directory, "namesakes.pb.gz"), namesakes())
    write(os.path.join(directory, "types.pb.gz"), types())
    write(os.path.join(directory, "folded.pb.gz"), folded())
    write(os.path.join(directory, "labels.pb.gz"), labels())
    write(os.path.join(directory, "many_labels.pb.gz"), many_labels())
    write(os.path.join(directory, "million.pb.gz"), million())


main(sys.argv[1])
