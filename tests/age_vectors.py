#!/usr/bin/env python3
"""Runs the test vectors of the age format with `profgrab bundle decrypt`.

    age_vectors.py PROGRAM PACKAGE.tgz DIRECTORY

Each vector has its expected result. A success must write the payload. A failure must have the message for its kind, and before it
only output that the vector allows. DIRECTORY is an empty directory for files. Vectors with post-quantum keys are skipped. Prints
each wrong result, and the number of vectors; exit code 1 if a result was wrong.
"""
import base64
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import zlib

BEGIN = b"-----BEGIN AGE ENCRYPTED FILE-----"
MESSAGES = {
    "no match": ["it is encrypted to ", "the passphrase does not open the file"],
    "HMAC failure": ["the header was changed"],
    "header failure": ["the header is damaged", "it is not in the age format"],
    "payload failure": ["it was changed", "it ends too early"],
    "armor failure": ["the armor is damaged"],
}


def vectors(package):
    """The name, keys and file of each vector. The package is a script with a base64 string for each."""
    with tarfile.open(package) as tar:
        script = tar.extractfile("package/index.js").read().decode()
    for name, text in re.findall(r'^var (\w+)_default = __toBinary\("([^"]*)"\)', script, re.M):
        head, _, body = base64.b64decode(text).partition(b"\n\n")
        keys = [line.split(": ", 1) for line in head.decode().split("\n")]
        yield name, keys, zlib.decompress(body) if ["compressed", "zlib"] in keys else body


def run(program, directory, keys, body):
    identities = [v for k, v in keys if k == "identity"]
    passphrases = [v for k, v in keys if k == "passphrase"]
    (directory / "identities").write_text("\n".join(identities) + "\n")
    (directory / "passphrase").write_text(passphrases[0] if passphrases else "none")
    (directory / "file").write_bytes(body)
    ask = directory / "ask"
    ask.write_text(f"#!/bin/sh\ncat {directory}/passphrase\n")
    ask.chmod(0o700)
    command = [program, "bundle", "decrypt", "-o", "-", *(["-i", str(directory / "identities")] if identities else []), str(directory / "file")]
    return subprocess.run(command, capture_output=True, check=False, timeout=120,
                          env={**os.environ, "SSH_ASKPASS": str(ask), "SSH_ASKPASS_REQUIRE": "force"})


def complaint(keys, body, result):
    """The fault, or None."""
    known = dict(keys)
    expect = known["expect"]
    messages = result.stderr.decode()
    if "payload" in known and hashlib.sha256(result.stdout).hexdigest() != known["payload"]:
        return "another payload"
    if "payload" not in known and result.stdout:
        return "there is output"
    if expect == "success":
        return None if result.returncode == 0 else messages
    words = MESSAGES[expect]
    # Without armor's first line, profgrab does not recognize armor.
    if expect == "armor failure" and not body.lstrip(b" \t\r\n").startswith(BEGIN):
        words = ["it is not in the age format"]
    if result.returncode != 1 or not any(w in messages for w in words):
        return f"expected {expect}, got exit code {result.returncode}: {messages}"
    return None


def main():
    program, package, directory = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]).resolve()
    counts, failed = {}, 0
    for name, keys, body in vectors(package):
        if "hybrid" in name:
            continue
        expect = dict(keys)["expect"]
        counts[expect] = counts.get(expect, 0) + 1
        wrong = complaint(keys, body, run(program, directory, keys, body))
        if wrong:
            print(f"{name}: {wrong}")
            failed += 1
    print(f"{sum(counts.values())} vectors, {failed} failed: {counts}")
    return 1 if failed else 0


sys.exit(main())
