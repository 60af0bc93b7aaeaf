"""Small unusual profiles, and the encoder of profile.proto that writes them."""

import gzip
import os


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value) if value else b""


def block(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


def packed(field, values):
    return block(field, b"".join(map(varint, values))) if values else b""


class Profile:
    """A profile under construction. Strings are interned; the other objects are numbered from 1 in the order of creation."""

    def __init__(self, types=(("samples", "count"), ("cpu", "nanoseconds")), **rest):
        self.strings = {b"": 0}
        self.types = types
        self.parts = []
        self.counts = {"mapping": 0, "function": 0, "location": 0}
        self.rest = rest

    def string(self, text):
        text = text if isinstance(text, bytes) else text.encode()
        return self.strings.setdefault(text, len(self.strings))

    def next(self, what):
        self.counts[what] += 1
        return self.counts[what]

    def mapping(self, file="/usr/bin/service", start=0x400000, limit=0x800000, offset=0, build="", flags=(1, 1, 1, 1)):
        ident = self.next("mapping")
        fields = number(1, ident) + number(2, start) + number(3, limit) + number(4, offset)
        fields += number(5, self.string(file)) + number(6, self.string(build))
        for i, flag in enumerate(flags):
            fields += number(7 + i, flag)
        self.parts.append(block(3, fields))
        return ident

    def function(self, name, file="main.go", start=0, system=None):
        ident = self.next("function")
        system = name if system is None else system
        self.parts.append(block(5, number(1, ident) + number(2, self.string(name)) + number(3, self.string(system))
                                + number(4, self.string(file)) + number(5, start)))
        return ident

    def location(self, address=0, lines=(), mapping=0, folded=0):
        """lines: (function, line[, column]), the innermost first."""
        ident = self.next("location")
        fields = number(1, ident) + number(2, mapping) + number(3, address)
        for line in lines:
            function, at, column = (*line, 0)[:3]
            fields += block(4, number(1, function) + number(2, at) + number(3, column))
        self.parts.append(block(4, fields + number(5, folded)))
        return ident

    def sample(self, stack, values, *labels):
        """labels: (key, text) or (key, number[, unit])."""
        fields = packed(1, stack) + packed(2, values)
        for key, value, *unit in labels:
            label = number(1, self.string(key))
            label += number(3, value) if isinstance(value, int) else number(2, self.string(value))
            fields += block(3, label + (number(4, self.string(unit[0])) if unit else b""))
        self.parts.append(block(2, fields))

    def encode(self):
        rest = self.rest
        out = b"".join(block(1, number(1, self.string(t)) + number(2, self.string(u))) for t, u in self.types)
        out += b"".join(self.parts)
        tail = b"".join([
            number(7, self.string(rest.get("drop", ""))), number(8, self.string(rest.get("keep", ""))),
            number(9, rest.get("time", 0)), number(10, rest.get("duration", 0)),
            block(11, b"".join(number(i + 1, self.string(s)) for i, s in enumerate(rest["period_type"])))
            if "period_type" in rest else b"",
            number(12, rest.get("period", 0)),
            packed(13, [self.string(c) for c in rest.get("comments", ())]),
            number(14, self.string(rest.get("default", ""))), number(15, self.string(rest.get("doc", "")))])
        return out + b"".join(block(6, s) for s in self.strings) + tail


def chain(p, names, mapping=0, base=0x401000, file="main.go"):
    """A location for each name, one function each."""
    return [p.location(base + 16 * i, [(p.function(name, file), 10 + i)], mapping) for i, name in enumerate(names)]


# ---- the profiles ---------------------------------------------------------------------------------------------


def plain():
    p = Profile(time=1700000000 * 10**9, duration=10 * 10**9, period_type=("cpu", "nanoseconds"), period=10**7,
                comments=("taken by hand", "twice"), doc="https://example.org/help")
    m = p.mapping(build="abcdef0123")
    a, b, c, d = chain(p, ["leaf", "middle", "top", "other"], m)
    p.sample([a, b, c], [5, 50 * 10**6])
    p.sample([b, c], [3, 30 * 10**6])
    p.sample([d, c], [1, 10 * 10**6])
    p.sample([a, d, a, c], [2, 20 * 10**6])
    return p


def negative():
    p = Profile()
    a, b, c = chain(p, ["grown", "shrunk", "root"], p.mapping())
    p.sample([a, c], [7, 7000])
    p.sample([b, c], [-9, -9000])
    p.sample([a, b, c], [-1, 3000])
    return p


def zero():
    p = Profile()
    a, b = chain(p, ["a", "b"], p.mapping())
    p.sample([a, b], [0, 0])
    p.sample([b], [1, 0])
    p.sample([a], [0, 0], ("k", "v"))
    return p


def no_mapping():
    p = Profile()
    a, b, c = chain(p, ["a", "b", "c"])
    p.sample([a, b], [1, 1500])
    p.sample([c, b], [1, 2500])
    p.sample([b], [1, 999])
    return p


def many_mappings():
    p = Profile()
    stack = []
    for i, file in enumerate(["/usr/bin/service", "/lib/libc.so.6", "", "[vdso]", "//anon", "/opt/a b/c$d"]):
        m = p.mapping(file, 0x1000000 * (i + 1), 0x1000000 * (i + 2), i * 4096, build="%02x" % i * 4)
        stack += chain(p, ["f%d" % i, "g%d" % (i % 2)], m, 0x1000000 * (i + 1) + 64, "src/%d.c" % i)
    for i in range(1, len(stack)):
        p.sample(stack[i - 1:i + 1] + stack[-1:], [i, i * 12345])
    return p


def addresses():
    p = Profile()
    m, n = p.mapping(flags=(0, 0, 0, 0)), p.mapping("/lib/libz.so", 0x7f0000000000, 0x7f0000010000, flags=(0, 0, 0, 0))
    stack = [p.location(0x400100 + 256 * i, mapping=m) for i in range(4)] + [p.location(0x7f0000000040, mapping=n)]
    stack.append(p.location(0xdeadbeef))
    for i in range(len(stack)):
        p.sample(stack[i:], [1, 1000 * (i + 1)])
    return p


def columns():
    p = Profile()
    m, f, g = p.mapping(), p.function("f", "f.go", 3), p.function("g", "g.go", 7)
    for i, column in enumerate([0, 4, 4, 19]):
        at = p.location(0x400000 + i, [(f, 5, column), (g, 9, column)], m)
        p.sample([at], [i + 1, (i + 1) * 100])
    return p


def inlined():
    p = Profile()
    m = p.mapping()
    f, g, h, k = (p.function(n, n[0] + ".go", 1) for n in ["first", "go.inlined", "host", "kernel"])
    a = p.location(0x400010, [(f, 3), (g, 5), (h, 7)], m)
    b = p.location(0x400020, [(g, 6), (h, 8)], m)
    c = p.location(0x400030, [(h, 9)], m)
    d = p.location(0x400040, [(k, 1)], m)
    p.sample([a, c, d], [1, 100])
    p.sample([b, c, d], [2, 250])
    p.sample([c, d], [3, 330])
    p.sample([d, c, a], [1, 77])
    # The same call, not inlined.
    p.sample([p.location(0x400050, [(f, 3)], m), p.location(0x400060, [(g, 5)], m), d], [1, 41])
    return p


def recursive():
    p = Profile()
    a, b, c = chain(p, ["even", "odd", "main"], p.mapping())
    for depth in range(1, 6):
        p.sample([a, b] * depth + [c], [depth, depth * 1000])
        p.sample([b] * depth + [c], [1, 500])
    return p


def numbers():
    p = Profile((("objects", "count"), ("space", "bytes")))
    a, b, c = chain(p, ["small", "large", "main"], p.mapping())
    for i in range(9):
        p.sample([a if i < 5 else b, c], [i + 1, (i + 1) << (3 * i)], ("bytes", 1 << (3 * i), "bytes"),
                 ("request", 7 * i, "kilobytes"), ("plain", i), ("latency", 10 ** i, "nanoseconds"))
    return p


def texts():
    p = Profile()
    a, b, c = chain(p, ["a", "b", "main"], p.mapping())
    p.sample([a, c], [1, 10], ("user", "alice"), ("user", "bob"), ("route", "/x"))
    p.sample([a, c], [1, 20], ("user", "bob"), ("user", "alice"))
    p.sample([b, c], [2, 31], ("route", "/y"), ("n", 3), ("n", 4), ("n", 3, "items"))
    p.sample([b, c], [2, 33], ("route", "quotes \" and \\ and\nlines"), ("", "no key"))
    p.sample([c], [1, 5])
    return p


def units():
    """A label whose numbers have two units, about which a report has a message."""
    p = Profile()
    a, b = chain(p, ["a", "main"], p.mapping())
    p.sample([a, b], [1, 10], ("wait", 1500, "microseconds"))
    p.sample([b], [2, 20], ("wait", 1, "seconds"))
    return p


def dropped():
    p = Profile(drop="runtime\\..*|hidden", keep="runtime\\.kept")
    a, b, c, d, e = chain(p, ["runtime.low", "runtime.kept", "hidden", "work", "main"], p.mapping())
    p.sample([a, c, d, e], [1, 10])
    p.sample([b, d, e], [1, 20])
    p.sample([d, a, d, e], [1, 40])
    p.sample([c], [1, 80])
    return p


def folded():
    p = Profile()
    m = p.mapping()
    at = [p.location(0x400000 + i, [(p.function("f%d" % (i % 2)), i)], m, folded=i % 2) for i in range(4)]
    p.sample(at, [1, 10])
    p.sample(at[1:], [2, 20])
    return p


def empty():
    return Profile()


def one():
    p = Profile((("things", "count"),))
    p.sample(chain(p, ["alone"], p.mapping()), [1])
    return p


def units():
    p = Profile((("speed", "furlongs"), ("heat", "celsius"), ("mem", "MiB"), ("time", "hours"), ("gcu", "gcu")), default="mem")
    a, b, c = chain(p, ["a", "b", "c"], p.mapping())
    p.sample([a, c], [1, 2, 3, 4, 5])
    p.sample([b, c], [1000, 100000, 1024, 3600, 123456789])
    p.sample([c], [-3, 0, 2048, 1, 7])
    return p


def huge():
    p = Profile()
    a, b, c = chain(p, ["a", "b", "c"], p.mapping())
    p.sample([a, c], [2**61, 2**62])
    p.sample([b, c], [2**60, 2**61 + 12345])
    p.sample([c], [1, 1])
    return p


def overflowing():
    p = Profile()
    a, b = chain(p, ["a", "b"], p.mapping())
    p.sample([a, b], [2**63 - 1, 2**63 - 1])
    p.sample([b], [2**63 - 1, -2**63])
    p.sample([a], [5, 2**62])
    return p


def names():
    """C++, Java and Go names that some report shortens or quotes."""
    p = Profile()
    m = p.mapping()
    stack = chain(p, ["std::vector<std::pair<int, char>, std::allocator<int>>::push_back(int const&)",
                      "github.com/some/very/long/path/to/a/package.(*Type[go.shape.int]).Method.func1.2",
                      "java.util.concurrent.ThreadPoolExecutor$Worker.run", "operator\"\" _km", "tab\there",
                      "line\nbreak", "unicode-\u00fc\u4e16", "(anonymous namespace)::f(void (*)(int))", "<html>&amp;", "back\\slash"],
                  m, file="/home/someone/go/src/github.com/some/file with blank.go")
    for i in range(len(stack)):
        p.sample(stack[i:], [1, 1000 + i])
    return p


def same_names():
    """Functions that share a name but not a file, and locations that share a line."""
    p = Profile()
    m = p.mapping()
    f, g = p.function("init", "a.go", 1), p.function("init", "b.go", 1)
    at = [p.location(0x400000 + 8 * i, [(f if i % 2 else g, 10 + i // 2)], m) for i in range(6)]
    for i in range(6):
        p.sample(at[i:], [i + 1, (i + 1) * 100])
    return p


def wide():
    """More nodes than a graph shows, with values that tie."""
    p = Profile()
    m = p.mapping()
    at = chain(p, ["pkg%d.func%d" % (i % 7, i) for i in range(150)], m)
    for i in range(150):
        p.sample([at[i], at[i // 2], at[i // 3], at[0]], [1 + i % 5, (1 + i % 11) * 10**6], ("worker", str(i % 4)))
    return p


def deep():
    p = Profile()
    at = chain(p, ["level%d" % i for i in range(300)], p.mapping())
    p.sample(at, [1, 1000])
    p.sample(at[100:], [1, 500])
    p.sample(at[:1] + at[299:], [1, 1])
    return p


def nothing_known():
    """No names of functions, no files, a function without a name."""
    p = Profile()
    m = p.mapping("", 0, 0)
    f = p.function("", "")
    p.sample([p.location(0x1234, [(f, 0)], m), p.location(0, [(f, 3)]), p.location(0)], [1, 10])
    p.sample([p.location(0x99, [(p.function("only.name", ""), 0)])], [1, 10])
    p.sample([], [1, 5])
    return p


def heap():
    p = Profile((("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"), ("inuse_space", "bytes")),
                period_type=("space", "bytes"), period=524288, time=1700000001 * 10**9, default="inuse_space")
    a, b, c, d = chain(p, ["make", "append", "serve", "main"], p.mapping())
    p.sample([a, c, d], [10, 10 << 20, 2, 2 << 20], ("bytes", 1 << 20, "bytes"))
    p.sample([b, c, d], [3000, 3000 << 10, 0, 0], ("bytes", 1024, "bytes"))
    p.sample([b, a, d], [77, 77 * 48, 70, 70 * 48], ("bytes", 48, "bytes"))
    p.sample([d], [1, 5 << 30, 1, 5 << 30], ("bytes", 5 << 30, "bytes"))
    return p


def heap_later():
    p = Profile((("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"), ("inuse_space", "bytes")),
                period_type=("space", "bytes"), period=524288, time=1700000061 * 10**9, default="inuse_space")
    a, c, d, e = chain(p, ["make", "serve", "main", "leak"], p.mapping())
    p.sample([a, c, d], [25, 25 << 20, 1, 1 << 20], ("bytes", 1 << 20, "bytes"))
    p.sample([e, c, d], [500, 500 << 12, 500, 500 << 12], ("bytes", 4096, "bytes"))
    return p


ODD = [plain, negative, zero, no_mapping, many_mappings, addresses, columns, inlined, recursive, numbers, texts, units, dropped, folded,
       empty, one, units, huge, overflowing, names, same_names, wide, deep, nothing_known, heap, heap_later]


def write_all(directory):
    """Writes each as NAME.pb.gz, and every third as NAME.pb, to test both forms. Returns name -> path."""
    paths = {}
    for i, make in enumerate(ODD):
        data = make().encode()
        path = os.path.join(directory, make.__name__ + (".pb" if i % 3 == 2 else ".pb.gz"))
        with open(path, "wb") as f:
            f.write(data if i % 3 == 2 else gzip.compress(data, mtime=0))
        paths[make.__name__] = path
    plain_data = plain().encode()
    for name, data in (("cut", gzip.compress(plain_data)[:-20]), ("garbage", b"no profile at all\n"),
                       ("bad_index", block(2, packed(1, [99]) + packed(2, [1, 2])) + plain_data),
                       ("malformed", block(2, packed(1, [1]) + packed(2, [1])) + plain_data)):
        paths[name] = os.path.join(directory, name)
        with open(paths[name], "wb") as f:
            f.write(data)
    return paths
