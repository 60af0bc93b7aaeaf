#!/usr/bin/env python3
"""hostile_workdir.py DIR KIND: makes a work directory that takes much time or memory to resume."""
import gzip, hashlib, json, os, sys

top, kind = sys.argv[1:]
os.umask(0o077)
os.makedirs(top)


def write_manifest(hosts, asked, text=None):
    targets = [{"host": host["name"], "service": service["name"], **({"address": host["name"]} if addresses else {})} for host in reversed(hosts) for service in reversed(host["services"])]
    head = {"format": "profgrab-bundle", "version": 1, "name": "b", "tool": {"name": "profgrab"}, "collector": {"user": "u"},
            "asked": {"kinds": asked, "targets": targets, **({"port": 1} if addresses else {})}, "hosts": hosts, "files": []}
    with open(top + "/manifest.json", "w") as out:
        out.write(text or json.dumps(head, separators=(",", ":")))


def make_file(path, size=0):
    os.makedirs(os.path.dirname(f"{top}/{path}"), exist_ok=True)
    fd = os.open(f"{top}/{path}", os.O_CREAT | os.O_WRONLY, 0o600)
    os.truncate(fd, size)
    os.close(fd)


def item(path, size=0):
    return {"kind": "heap", "status": "ok", "file": path, "bytes": size, "sha256": hashlib.sha256(b"").hexdigest()}


def services(host, names, items=lambda name: []):
    return {"name": host, "services": [{"name": name, "items": items(name)} for name in names]}


hosts, asked, text, addresses = [], ["heap"], None, False
if kind == "sparse":
    make_file("h/s/a", 1 << 42)
    hosts = [services("h", ["s"], lambda _: [item("h/s/a", 1 << 42)])]
elif kind == "holes":
    for i in range(40):
        make_file(f"h/s/{i}", 1 << 30)
    hosts = [services("h", ["s"], lambda _: [item(f"h/s/{i}", 1 << 30) for i in range(40)])]
elif kind == "changed":  # None of the files is what the manifest says.
    names = [f"s{i}" for i in range(199)]
    for name in names:
        for i in range(250):
            make_file(f"h/{name}/{i}")
    hosts = [services("h", names, lambda name: [item(f"h/{name}/{i}", 1) for i in range(250)])]
elif kind == "entries":  # 50,001 entries, with h, h/s and the manifest
    for i in range(49998):
        make_file(f"h/s/{i}")
elif kind == "directories":  # Each file is as the manifest says, in a directory of its own.
    for i in range(16000):
        make_file(f"h{i}/s/f")
    hosts = [services(f"h{i}", ["s"], lambda _: [item(f"h{i}/s/f")]) for i in range(16000)]
elif kind == "hosts":
    hosts = [services(f"h{i}", ["s"]) for i in range(60000)]
elif kind == "services":
    hosts = [services("h", [f"s{i}" for i in range(60000)])]
elif kind == "items":
    hosts = [services("h", ["s"], lambda _: [item(f"h/s/{i}") for i in range(60000)])]
elif kind == "planned":
    hosts = [services("h", ["s"])]
    hosts[0]["services"][0]["planned"] = [{"kind": "heap"}] * 150000
elif kind == "left":  # A profile that inflates a thousandfold, which the manifest plans very often and does not record; and a large hole.
    make_file("h/s/heap.pb.gz")
    with open(top + "/h/s/heap.pb.gz", "wb") as out:
        out.write(gzip.compress(b"\x0a\x04\x08\x01\x10\x02\x32\x00" + b"\x32\x01a" * 2, mtime=0))
        out.write(gzip.compress(b"\x32\x00" * (2 << 20), mtime=0) * 30)
    hosts = [services("h", ["s"])]
    make_file("h/s/cmdline.txt", 200 << 20)
    with open(top + "/h/s/cmdline.txt", "r+b") as out:
        out.write(b"a\0b")
    hosts[0]["services"][0]["planned"] = [{"kind": "cmdline"}] + [{"kind": "heap"}] * 200
elif kind == "outside":  # hosts that no inventory has
    hosts = [services(f"127.1.{i // 250}.{i % 250 + 1}", ["port-1"], lambda _: [{"kind": "heap", "status": "failed", "error": "x"}]) for i in range(4000)]
    addresses = True
elif kind == "kinds":
    hosts, asked = [services("h", ["s"], lambda _: [{"kind": "heap", "status": "failed", "error": "x"}])], [f"/p{i}" for i in range(80000)]
elif kind == "deep":
    os.makedirs(top + "/d" * 60)
elif kind == "braces":
    text = '{"format":"profgrab-bundle","version":1,"name":"b","hosts":[' + "{}," * 22000000 + "{}]}"
elif kind == "text":
    text = '{"format":"profgrab-bundle","version":1,"name":"b","reason":"' + "a" * ((64 << 20) - 200) + '","hosts":[],"files":[]}'
write_manifest(hosts, asked, text)
