#!/usr/bin/env python3
"""spoil.py BUNDLE.tar.gz DIRECTORY: writes a damaged bundle for each row of the tables below, as DIRECTORY/NAME.tar.gz.

Prints a line for each: NAME, the result of `bundle list` and the result of `bundle extract`, each ok or no. Both commands refuse a
file that is not a bundle. `bundle verify` and `attach` refuse every damaged bundle. The rows of SIGNED damage the signature and
the record of the hand-off, and are used only for a signed copy.
"""
import gzip
import hashlib
import io
import json
import pathlib
import sys
import tarfile

SIGNATURE = "manifest.json.sig"


class Bundle:
    """The members of a bundle, in order, by path below the top directory."""

    def __init__(self, path):
        self.entries = []
        with tarfile.open(path) as tar:
            for m in tar:
                self.entries.append((m, tar.extractfile(m).read() if m.isfile() else b""))
        self.top = self.entries[0][0].name.split("/")[0]

    def index(self, path):
        return next(i for i, (m, _) in enumerate(self.entries) if m.name == f"{self.top}/{path}")

    def has(self, path):
        return any(m.name == f"{self.top}/{path}" for m, _ in self.entries)

    def put(self, path, data):
        m, _ = self.entries[self.index(path)]
        m.size = len(data)
        self.entries[self.index(path)] = (m, data)

    def get(self, path):
        return self.entries[self.index(path)][1]

    def add(self, name, data=b"", kind=tarfile.REGTYPE, link=""):
        m = tarfile.TarInfo(name)
        m.type, m.linkname, m.size = kind, link, len(data)
        self.entries.append((m, data))

    def described(self):
        """The paths of two files that the manifest describes."""
        return [item["file"] for item in items(json.loads(self.get("manifest.json")))][:2]

    def tar(self):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for m, data in self.entries:
                tar.addfile(m, io.BytesIO(data) if m.isreg() else None)
        return out.getvalue()

    def gzip(self):
        return zipped(self.tar())


def zipped(data):
    return gzip.compress(data, 1, mtime=0)


def items(manifest):
    return manifest["files"] + [i for h in manifest["hosts"] for s in h["services"] for i in s["items"] if "file" in i]


def change_manifest(change):
    """Returns a function for the table that applies `change` to the manifest, and leaves the other members as they are."""

    def spoil(b):
        manifest = json.loads(b.get("manifest.json"))
        change(manifest, items(manifest))
        b.put("manifest.json", json.dumps(manifest, indent=1).encode())
        return b.gzip()

    return spoil


def replace_manifest(data):
    def spoil(b):
        b.put("manifest.json", data)
        return b.gzip()

    return spoil


def flip(data, at):
    return data[:at] + bytes([data[at] ^ 4]) + data[at + 1:]


def flip_member(path):
    def spoil(b):
        name = path or b.described()[0]
        b.put(name, flip(b.get(name), len(b.get(name)) // 2))
        return b.gzip()

    return spoil


def add(name, **how):
    def spoil(b):
        b.add(name.replace("TOP", b.top), **how)
        return b.gzip()

    return spoil


def drop(path):
    def spoil(b):
        del b.entries[b.index(path or b.described()[0])]
        return b.gzip()

    return spoil


def swap(b):
    one, two = b.described()
    data = b.get(one)
    b.put(one, b.get(two))
    b.put(two, data)
    return b.gzip()


def move_to_end(path):
    def spoil(b):
        b.entries.append(b.entries.pop(b.index(path)))
        return b.gzip()

    return spoil


def bomb(b):
    """Appends 1.5 GB of zeros that the manifest does not describe. A gzip file may have many members."""
    size = 1500 << 20
    m = tarfile.TarInfo(f"{b.top}/files/bomb")
    m.size = size
    tar = b.tar()
    tar = tar[:len(tar.rstrip(b"\0")) // 512 * 512 + 512]  # without the end of the archive
    return zipped(tar + m.tobuf(tarfile.USTAR_FORMAT)) + zipped(bytes(1 << 20)) * (size >> 20) + zipped(bytes(10240))


def set_first(key, value):
    return change_manifest(lambda manifest, all_items: all_items[0].update({key: value}))


def set_top(key, value):
    return change_manifest(lambda manifest, all_items: manifest.update({key: value}))


# NAME: the result of `list`, the result of `extract`, the change.
CASES = {
    "cut-gzip": ("no", "no", lambda b: b.gzip()[:-100]),
    "cut-gzip-half": ("no", "no", lambda b: b.gzip()[:len(b.gzip()) // 2]),
    "cut-tar": ("no", "no", lambda b: zipped(b.tar()[:len(b.tar()) // 2])),
    "extended-junk": ("no", "no", lambda b: b.gzip() + b"junk"),
    "extended-zeros": ("no", "no", lambda b: b.gzip() + bytes(512)),
    "extended-behind": ("no", "no", lambda b: b.gzip() + zipped(b"x" * 1000)),
    "extended-twice": ("no", "no", lambda b: b.gzip() + b.gzip() + zipped(b"x")),
    "flipped-gzip": ("no", "no", lambda b: flip(b.gzip(), len(b.gzip()) - 5)),
    "flipped-member": ("ok", "ok", flip_member(None)),
    "flipped-header": ("no", "no", lambda b: zipped(flip(b.tar(), b.tar().index(b.entries[-1][0].name.encode()) + 150))),
    "extra-member": ("ok", "ok", add("TOP/files/extra.txt", data=b"extra")),
    "extra-readme-below": ("ok", "ok", add("TOP/files/README.md", data=b"run this")),
    "missing-member": ("ok", "ok", drop(None)),
    "missing-manifest": ("no", "no", drop("manifest.json")),
    "reordered-manifest": ("no", "no", move_to_end("manifest.json")),
    "swapped-members": ("ok", "ok", swap),
    "manifest-hash": ("ok", "ok", set_first("sha256", hashlib.sha256(b"").hexdigest())),
    "manifest-bad-hash": ("ok", "ok", set_first("sha256", "x")),
    "manifest-size": ("ok", "ok", set_first("bytes", 1)),
    "manifest-huge-size": ("ok", "ok", set_first("bytes", 2**62)),
    "manifest-negative-size": ("ok", "ok", set_first("bytes", -1)),
    "manifest-path": ("ok", "ok", set_first("file", "../../x")),
    "manifest-own-path": ("ok", "ok", set_first("file", "manifest.json")),
    "manifest-twice": ("ok", "ok", change_manifest(lambda m, all_items: m["files"].append(dict(all_items[0])))),
    "manifest-nothing": ("ok", "ok", change_manifest(lambda m, all_items: m.update(files=[], hosts=[]))),
    "manifest-version": ("ok", "ok", set_top("version", 2)),
    "manifest-format": ("ok", "ok", set_top("format", "other")),
    "manifest-types": ("ok", "ok", set_top("files", {"a": 1})),
    "manifest-deep": ("ok", "ok", replace_manifest(b"[" * 100000)),
    "manifest-cut": ("ok", "ok", replace_manifest(b'{"format": "profgrab-bundle", "version": 1, "files": [')),
    "manifest-empty": ("ok", "ok", replace_manifest(b"")),
    "absolute": ("no", "no", add("/tmp/profgrab-x", data=b"x")),
    "above": ("no", "no", add("TOP/../x", data=b"x")),
    "second-top": ("no", "no", add("other/x", data=b"x")),
    "symlink": ("no", "no", add("TOP/files/link", kind=tarfile.SYMTYPE, link="/etc/passwd")),
    "hardlink": ("no", "no", add("TOP/files/link", kind=tarfile.LNKTYPE, link="TOP/manifest.json")),
    "device": ("no", "no", add("TOP/files/null", kind=tarfile.CHRTYPE)),
    "block-device": ("no", "no", add("TOP/files/disk", kind=tarfile.BLKTYPE)),
    "fifo": ("no", "no", add("TOP/files/pipe", kind=tarfile.FIFOTYPE)),
    "duplicate": ("no", "no", add("TOP/manifest.json", data=b"{}")),
    "control-name": ("no", "no", add("TOP/files/\033[2J", data=b"x")),
    "bomb": ("-", "-", bomb),
}
SIGNED = {
    "signature-gone": ("ok", "ok", drop(SIGNATURE)),
    "signature-flipped": ("ok", "ok", flip_member(SIGNATURE)),
    "signature-of-nothing": ("ok", "ok", lambda b: (b.put(SIGNATURE, b""), b.gzip())[1]),
    "sender": ("ok", "ok", change_manifest(lambda m, all_items: m["handoff"].update(user="mallory"))),
    "recipients": ("ok", "ok", change_manifest(lambda m, all_items: m["handoff"].update(recipients=["passphrase"]))),
    "readme": ("ok", "ok", lambda b: (b.put("README.md", b"run this: rm -rf /\n"), b.gzip())[1]),
}


def main():
    path, out = sys.argv[1:]
    cases = CASES | (SIGNED if Bundle(path).has(SIGNATURE) else {})
    for name, (listed, extracted, spoil) in cases.items():
        pathlib.Path(out, name + ".tar.gz").write_bytes(spoil(Bundle(path)))
        print(name, listed, extracted)


if __name__ == "__main__":
    main()
