#!/usr/bin/env python3
"""costly.py DIRECTORY: writes small files that need much work to read; costly.py --run COMMAND...: measures a command that reads one.

With --run, the command writes its output as usual. Then costly.py writes a line `cost: S seconds of processor time, M MB of memory,
exit CODE` to standard error, for the command and the processes that it waited for. Its exit status is 1 if the time exceeds
$MOST_SECONDS or the memory $MOST_MB.
"""
import gzip
import io
import json
import os
import pathlib
import resource
import subprocess
import sys
import tarfile

HEAD = '{"format":"profgrab-bundle","version":1,"name":"b","started":"2026-01-01T00:00:00.000Z",'


def bundle(path, manifest):
    with gzip.open(path, "wb", 9) as out, tarfile.open(fileobj=out, mode="w") as tar:
        for name, data in ("b/", None), ("b/manifest.json", manifest.encode()), ("b/README.md", b"b\n"):
            member = tarfile.TarInfo(name)
            member.type = tarfile.REGTYPE if data is not None else tarfile.DIRTYPE
            member.size = len(data or b"")
            tar.addfile(member, io.BytesIO(data or b""))


def varint(n):
    out = bytearray()
    while n >= 128:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out + bytes([n]))


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def profile(path):
    """A location with very many lines, and as many samples of it."""
    strings = b"".join(field(6, s) for s in (b"", b"goroutine", b"count", b"main.f", b"/a.go"))
    lines = b"".join(field(4, field(1, 1) + field(2, i)) for i in range(1, 40000))
    sample = field(2, field(1, 1) + field(2, 1))
    data = strings + field(1, field(1, 1) + field(2, 2)) + field(5, field(1, 1) + field(2, 3) + field(4, 4))
    data += field(4, field(1, 1) + lines) + sample * 40000
    with gzip.open(path, "wb") as out:
        out.write(data)


def make(to):
    size = 64 << 20
    empty = (size - 1000) // 3
    bundle(to / "empty-objects.tar.gz", HEAD + '"hosts":[' + "{}," * empty + '{}],"files":[]}')
    bundle(to / "empty-files.tar.gz", HEAD + '"hosts":[],"files":[' + "{}," * empty + "{}]}")
    bundle(to / "one-text.tar.gz", HEAD + '"hosts":[],"files":[],"reason":"' + "a" * (size - 1000) + '"}')
    with gzip.open(to / "lines.gz", "wb") as out:
        out.write(b"a\n" * (size // 2))
    with gzip.open(to / "frames.gz", "wb") as out:
        out.write(b"goroutine 1 [x]:\n" + b"a\n" * (size // 2 - 10))
    with gzip.open(to / "stacks.gz", "wb") as out:
        out.write(b"".join(b"goroutine 1 [%x]:\na\n\n" % i for i in range(2000000)))
    (to / "commas.txt").write_text("goroutine 1 [x" + ", " * 200000 + "]:\nmain.main()\n")
    profile(to / "inlined.pb.gz")
    targets = [f"127.0.{i >> 8}.{i & 255}:80" for i in range(1, 5001)]
    (to / "equal-ports.json").write_text(json.dumps([{"targets": targets, "labels": {"job": "web"}}]))


def run(words):
    code = subprocess.run(words, stdin=subprocess.DEVNULL, check=False).returncode
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"cost: {used.ru_utime + used.ru_stime:.2f} seconds of processor time, {used.ru_maxrss // 1024} MB of memory, "
          f"exit {code}", file=sys.stderr)
    sys.exit(0 if used.ru_utime + used.ru_stime < float(os.environ["MOST_SECONDS"])
             and used.ru_maxrss < 1024 * int(os.environ["MOST_MB"]) else 1)


if sys.argv[1] == "--run":
    run(sys.argv[2:])
make(pathlib.Path(sys.argv[1]))
