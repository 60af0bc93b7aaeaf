#!/usr/bin/env python3
"""hostile_file.py FILE KIND: makes a profile, a dump or a bundle that takes much time or memory to read."""
import gzip, io, random, struct, sys, tarfile, zlib

path, kind = sys.argv[1:]


def bundle(manifest, files):
    with tarfile.open(path, "w:gz") as tar:
        for name, text in {"manifest.json": manifest, **files}.items():
            info = tarfile.TarInfo("x/" + name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text))


def number(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(n, text):
    return number(n << 3 | 2) + number(len(text)) + text


def value(n, v):
    return number(n << 3) + number(v)


# A gzip'ed profile with a function and a sample for each name, and with this drop_frames.
def profile(names, drop):
    out = [field(1, value(1, 1) + value(2, 2))]
    for i in range(1, len(names) + 1):
        out += [field(2, field(1, number(i)) + field(2, number(1))), field(4, value(1, i) + field(4, value(1, i))),
                field(5, value(1, i) + value(2, i + 3))]
    out += [field(6, text) for text in [b"", b"samples", b"count", drop] + names] + [value(7, 3)]
    return gzip.compress(b"".join(out), mtime=0)


def manifest(items):
    return b'{"format":"profgrab-bundle","version":1,"name":"x","hosts":[%s]}' % items


# One gzip member that inflates to n // len(text) texts. A piece of a MiB is deflated once and then repeated, because after a full
# flush no piece refers to an earlier one.
def gzip_repeated(text, n):
    n -= n % len(text)
    piece = text * max(1, (1 << 20) // len(text))
    times, last = n // len(piece), piece[:n % len(piece)]

    def deflated(part, flush):
        pack = zlib.compressobj(9, zlib.DEFLATED, -15)
        return pack.compress(part) + pack.flush(flush)

    crc = 0
    for part in [piece] * times + [last]:
        crc = zlib.crc32(part, crc)
    body = deflated(piece, zlib.Z_FULL_FLUSH) * times + deflated(last, zlib.Z_FINISH)
    return b"\x1f\x8b\x08\0\0\0\0\0\x02\xff" + body + struct.pack("<II", crc, n & 0xffffffff)


# Writes a bundle that verifies, with these members: (kind, piece, number of pieces). Then appends about `undescribed` bytes of
# compressed zeros, which the manifest does not describe.
def write_bundle(members, extra=b"", undescribed=0):
    import hashlib, json

    def pieces(piece, times):
        each = max(1, (1 << 20) // len(piece))
        yield from [piece * each] * (times // each)
        yield piece * (times % each)

    items = []
    for i, (kind, piece, times) in enumerate(members):
        digest = hashlib.sha256()
        for part in pieces(piece, times):
            digest.update(part)
        items.append({"kind": kind, "status": "ok", "file": f"f/{i}.txt", "bytes": len(piece) * times, "sha256": digest.hexdigest()})
        if kind == "heap":
            items[-1]["profile"] = {"samples": 1, "sample_types": [{"type": "samples", "unit": "count", "total": 1}]}
    head = b'{"format":"profgrab-bundle","version":1,"name":"x",%s"hosts":[],"files":%s}' % (extra, json.dumps(items).encode())
    with gzip.GzipFile(path, "wb", compresslevel=6, mtime=0) as out:
        def member(name, size, parts):
            info = tarfile.TarInfo(name)
            info.size = size
            out.write(info.tobuf(tarfile.USTAR_FORMAT))
            for part in parts:
                out.write(part)
            out.write(bytes(-size % 512))

        member("x/manifest.json", len(head), [head])
        for i, (kind, piece, times) in enumerate(members):
            member(f"x/f/{i}.txt", len(piece) * times, pieces(piece, times))
        out.write(bytes(1024))
    # gzip members may be concatenated.
    with open(path, "ab") as out:
        out.write(gzip.compress(bytes(1 << 20), mtime=0) * (undescribed >> 20))


# Writes a bundle of one host whose services have 200 empty dumps each, at these paths below HOST/SERVICE, and a failed item.
def write_bundle_to_resume(paths):
    import hashlib, json

    item = {"kind": "goroutines", "status": "ok", "bytes": 0, "sha256": hashlib.sha256(b"").hexdigest()}
    files = [f"h/s{i // 200}/{name}" for i, name in enumerate(paths)]
    services = [{"name": f"s{i // 200}", "items": [{**item, "file": name} for name in files[i:i + 200]]} for i in range(0, len(files), 200)]
    services[0]["items"].append({"kind": "heap", "status": "failed", "error": "x"})
    head = {"format": "profgrab-bundle", "version": 1, "name": "x", "tool": {"name": "profgrab"}, "collector": {},
            "asked": {"kinds": ["heap", "goroutines"], "targets": [{"host": "h", "service": "s0"}]},
            "hosts": [{"name": "h", "services": services}], "files": []}
    text = json.dumps(head, separators=(",", ":")).encode()
    with gzip.GzipFile(path, "wb", compresslevel=6, mtime=0) as out:
        for name, content in [("manifest.json", text)] + [(name, b"") for name in files]:
            info = tarfile.TarInfo("x/" + name)
            info.size = len(content)
            out.write(info.tobuf(tarfile.PAX_FORMAT) + content + bytes(-len(content) % 512))
        out.write(bytes(1024))


def write_hostile_bundle(kind):
    most = 255 << 20  # a small bundle may inflate to little more
    if kind == "signs":
        write_bundle([("goroutines", b"a=", most // 2)])
    elif kind == "quotes":
        write_bundle([("goroutines", b'"a":', most // 4)])
    elif kind == "names":
        write_bundle([("goroutines", b"a ", most // 2)])
    elif kind == "secrets":
        write_bundle([("goroutines", b"u:p@h ", most // 6)])
    elif kind == "zip-in-zip":  # profiles of a GiB each
        write_bundle([("heap", gzip.compress(field(6, b"")) + gzip_repeated(field(6, b"x" * 1000), 1 << 30), 1)] * 8)
    elif kind == "undescribed":
        write_bundle([], undescribed=8 << 30)
    elif kind == "cmdlines":
        write_bundle([("cmdline", b"--a=b\0", (4 << 20) // 6)] * 60)
    elif kind == "members":
        write_bundle([("goroutines", b"a", 1)] * 49000)
    elif kind == "directories":  # about as many as a bundle may have, each at the end of a deep path
        write_bundle_to_resume(["a/" * 26 + f"{i}/f" for i in range(43000)])
    elif kind == "too-many-directories":
        write_bundle_to_resume([f"{i // 4}/" + "a/" * 26 + f"{i}/f" for i in range(46000)])
    elif kind == "entries-to-resume":  # as many as resume accepts
        write_bundle_to_resume(["a/" * 26 + f"{i}/f" for i in range(23000)])
    elif kind == "long-paths":  # as many bytes of paths as a bundle may have
        write_bundle_to_resume([f"{i:075}" for i in range(48800)])
    elif kind == "too-long-paths":
        write_bundle_to_resume(["/".join(["a" * 25] * 27) + f"/{i:0230}" for i in range(43000)])
    elif kind == "requests":  # different secrets, and very many strings
        paths = b",".join(b'"/x?token=a%06d%s"' % (i, b"xZ9q7" * 86) for i in range(9000))
        write_bundle([], b'"asked":{"kinds":[%s]},"list":[%s],' % (paths, b",".join([b'"1"'] * 1500000)))
    elif kind == "growing":  # strings that redaction makes much longer
        write_bundle([], b'"asked":{"kinds":["/x?token=Zq7"]},"list":[%s],' % b",".join([b'"%s"' % (b"Zq7 " * 8)] * 1250000))
    elif kind == "strings":
        write_bundle([], b'"list":[%s],' % b",".join(b'"token=w%07dabcdefg"' % i for i in range(700000)))


if kind == "braces":
    bundle(manifest(b"{}," * 21000000 + b"{}"), {})
elif kind == "zeros":
    open(path, "wb").write(gzip_repeated(b"\0" * 1000, 1 << 30))
elif kind == "lines":
    open(path, "wb").write(b"".join([gzip.compress(b"goroutine 1 [running]:\n"), gzip_repeated(b"a\n", 64 << 20)]))
elif kind == "goroutines":
    open(path, "wb").write(gzip_repeated(b"goroutine 1 [running]:\nmain.f(...)\n\n", 64 << 20))
elif kind == "stacks":
    with open(path, "w") as out:
        for i in range(190000):
            frames = "".join(f"main.function{i}_{j}(0x1)\n\t/src/pkg/file{i}.go:{j} +0x1d\n" for j in range(5))
            out.write(f"goroutine {i} [select]:\n{frames}\n")
elif kind == "pattern":
    open(path, "wb").write(profile([b"a" * 30 + b"%d" % i for i in range(20000)], b"((a*)*)*[bc]"))
elif kind == "deep":
    sample = field(2, field(1, number(1) * 16000000) + field(2, number(1)))
    place = field(4, value(1, 1) + field(4, value(1, 1))) + field(5, value(1, 1) + value(2, 1))
    strings = b"".join(field(6, text) for text in [b"", b"samples", b"count"])
    open(path, "wb").write(gzip.compress(field(1, value(1, 1) + value(2, 2)) + sample + place + strings, 1, mtime=0))
elif kind == "long-names":  # a graph of 450 calls, each with two names of 290 kB
    random.seed(1)
    calls, stack, at = set(), [], 0
    while len(stack) < 450:
        to = random.randrange(79)
        if to != at and (at, to) not in calls:
            calls.add((at, to))
            stack.append(at + 1)
            at = to
    out = [field(1, value(1, 1) + value(2, 2)), field(2, field(1, b"".join(map(number, stack))) + field(2, number(1)))]
    for i in range(1, 80):
        out += [field(4, value(1, i) + field(4, value(1, i))), field(5, value(1, i) + value(2, i + 2))]
    out += [field(6, text) for text in [b"", b"samples", b"count"] + [b"f%02d" % i + b"x" * 290000 for i in range(79)]]
    open(path, "wb").write(gzip.compress(b"".join(out), 9, mtime=0))
elif kind == "inlined":  # 1,000 places with 250 inlined calls each, in a binary
    out = [field(1, value(1, 1) + value(2, 2)), field(3, value(1, 1) + value(2, 0x1000) + value(3, 0x90000000) + value(5, 3) + value(7, 1))]
    for i in range(1, 1001):
        lines = b"".join(field(4, value(1, 1 + (j + i) % 50) + value(2, 1 + (j * 7 + i) % 1000)) for j in range(250))
        out += [field(2, field(1, number(i)) + field(2, number(1))), field(4, value(1, i) + value(2, 1) + value(3, 0x1000 + i * 3000) + lines)]
    texts = [b"", b"samples", b"count", b"/bin/true"]
    for i in range(1, 51):
        out.append(field(5, value(1, i) + value(2, len(texts)) + value(3, len(texts)) + value(4, len(texts) + 1)))
        texts += [b"main.f%d" % i, b"/x/%d.go" % i]
    open(path, "wb").write(gzip.compress(b"".join(out + [field(6, text) for text in texts]), mtime=0))
elif kind == "bundle-of-zeros":
    item = b'{"name":"h","services":[{"name":"s","items":[{"kind":"goroutines","status":"ok","file":"g.txt"}]}]}'
    bundle(manifest(item), {"g.txt": b"goroutine 1 [running]:\n" + b"a, " * 80000000})
elif kind == "inflating":  # Empty strings take longest.
    open(path, "wb").write(profile([], b"") + gzip.compress(b"\x32\x00" * (4 << 20), mtime=0) * 30)
elif kind == "fields":  # 2 MB of random bytes raise the limit of inflated bytes
    random.seed(7)
    head = profile([random.randbytes(2 << 20)], b"")
    open(path, "wb").write(head + gzip.compress(b"\x32\x00" * (20 << 20), mtime=0) * 6)
elif kind == "types":
    strings = b"".join(field(6, text) for text in (b"", b"cpu", b"count"))
    open(path, "wb").write(gzip.compress(field(1, value(1, 1) + value(2, 2)) * 4000000 + strings, mtime=0))
elif kind in ("many-samples", "many-texts", "many-small"):
    # A bundle of profiles, each of which takes as much as allowed.
    sample = field(2, field(1, number(1)) + field(2, number(1)))
    place = field(4, value(1, 1) + field(4, value(1, 1))) + field(5, value(1, 1) + value(2, 1))
    texts = b"".join(field(6, text) for text in [b"", b"samples", b"count"])
    heap = b"heap profile: 1: 1 [1: 1] @ heap/1048576\n"
    one = {"many-samples": field(1, value(1, 1) + value(2, 2)) + sample * 3000000 + place + texts,
           "many-texts": heap + b"1: 1 [1: 1] @ 0x1 0x2\n" * 1100000, "many-small": heap + b"1: 1 [1: 1] @ 0x1\n"}[kind]
    n = 3000 if kind == "many-small" else 70
    item = b'{"kind":"heap","status":"ok","profile":{},"file":"h/s/%d"}'
    items = b",".join(item % i for i in range(n))
    packed = gzip.compress(one, mtime=0)
    bundle(manifest(b'{"name":"h","services":[{"name":"s","items":[%s]}]}' % items), {"h/s/%d" % i: packed for i in range(n)})
elif kind == "services":  # with one small dump each: a finding for every file
    n = 20000
    item = b'{"name":"s%d","items":[{"kind":"goroutines","status":"ok","file":"h/s%d/g.txt"}]}'
    items = b",".join(item % (i, i) for i in range(n))
    dump = b"goroutine 1 [select]:\nmain.main()\n\t/a.go:1 +0x1\n"
    bundle(manifest(b'{"name":"h","services":[%s]}' % items), {"h/s%d/g.txt" % i: dump for i in range(n)})
elif kind == "entries":
    item = b'{"kind":"goroutines","status":"ok","profile":{},"file":"h/s/%d"}'
    items = b",".join(item % i for i in range(30000))
    bundle(manifest(b'{"name":"h","services":[{"name":"s","items":[%s]}]}' % items), {})
elif kind == "one-bad":
    # The bad dump, with very many goroutines, is between two good ones.
    item = b'{"name":"%s","services":[{"name":"s","items":[{"kind":"goroutines","status":"ok","file":"%s.txt"}]}]}'
    good = b"goroutine 1 [running]:\nmain.f(...)\n\t/a.go:1 +0x1\n"
    bundle(manifest(b",".join(item % (n, n) for n in (b"first", b"bad", b"last"))),
           {"first.txt": good, "bad.txt": b"goroutine 1 [a]:\na()\n\n" * 10800000, "last.txt": good})
elif kind in ("signs", "quotes", "names", "secrets", "zip-in-zip", "undescribed", "cmdlines", "members", "directories",
              "too-many-directories", "entries-to-resume", "long-paths", "too-long-paths", "requests", "growing", "strings"):
    write_hostile_bundle(kind)
elif kind == "large":
    random.seed(7)
    open(path, "wb").write(profile([b"main." + random.randbytes(20).hex().encode() for _ in range(20000)], b""))
