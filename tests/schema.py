#!/usr/bin/env python3
"""Hold manifests against the JSON schema in the documentation.

usage: tests/schema.py docs/formats.md MANIFEST.json...

The schema is the one ```json block of the page. Exit code 1 if a manifest is not valid, 2 for wrong usage.
"""

import json
import re
import sys

from jsonschema import Draft202012Validator


def read_schema(page):
    """The schema of the page, itself checked: an object description that is open to any key is a slip."""
    with open(page, encoding="utf-8") as f:
        blocks = re.findall(r"^```json\n(.*?)^```$", f.read(), re.DOTALL | re.MULTILINE)
    if len(blocks) != 1:
        sys.exit(f"{page}: {len(blocks)} ```json blocks, there must be one")
    schema = json.loads(blocks[0])
    Draft202012Validator.check_schema(schema)
    for where, part in walk(schema, "#"):
        if part.get("type") == "object" and part.get("additionalProperties") is not False:
            sys.exit(f"{page}: {where} lacks \"additionalProperties\": false")
    return schema


def walk(value, where):
    """Every object in a JSON value, with its place."""
    if isinstance(value, dict):
        yield where, value
        for key, inner in value.items():
            yield from walk(inner, f"{where}/{key}")
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from walk(inner, f"{where}/{i}")


def faults(validator, manifest):
    """What is wrong with a manifest, one line each."""
    try:
        with open(manifest, encoding="utf-8") as f:
            value = json.load(f)
    except (OSError, ValueError) as e:
        return [str(e)]
    errors = sorted(validator.iter_errors(value), key=lambda e: [str(p) for p in e.absolute_path])
    return [f"{e.json_path}: {e.message}" for e in errors]


def main(arguments):
    if len(arguments) < 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    validator = Draft202012Validator(read_schema(arguments[0]))
    bad = 0
    for manifest in arguments[1:]:
        for fault in faults(validator, manifest):
            print(f"{manifest}: {fault}", file=sys.stderr)
            bad = 1
    return bad


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
