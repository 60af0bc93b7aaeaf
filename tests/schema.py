#!/usr/bin/env python3
"""Checks JSON against the schemas in the documentation.

usage: tests/schema.py docs/formats.md[#WORD] FILE.json...

The schema is the ```json block of the page whose title has WORD, by default `manifest`. Exit code 1 if a file is not valid, 2 for
wrong usage.
"""

import json
import re
import sys

from jsonschema import Draft202012Validator


def read_schema(page, word):
    """Returns the page's schema, after a check that each object in it has "additionalProperties"."""
    with open(page, encoding="utf-8") as f:
        blocks = re.findall(r"^```json\n(.*?)^```$", f.read(), re.DOTALL | re.MULTILINE)
    schemas = [schema for schema in map(json.loads, blocks) if word in re.findall(r"\w+", schema["title"])]
    if len(schemas) != 1:
        sys.exit(f"{page}: {len(schemas)} schemas whose title has \"{word}\", there must be one")
    schema = schemas[0]
    Draft202012Validator.check_schema(schema)
    for where, part in walk(schema, "#"):
        if part.get("type") == "object" and "additionalProperties" not in part:
            sys.exit(f"{page}: {where} lacks \"additionalProperties\"")
    return schema


def walk(value, where):
    """Every object in a JSON value, with its path."""
    if isinstance(value, dict):
        yield where, value
        for key, inner in value.items():
            yield from walk(inner, f"{where}/{key}")
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from walk(inner, f"{where}/{i}")


def faults(validator, name):
    """The faults of a file, one a line."""
    try:
        with open(name, encoding="utf-8") as f:
            value = json.load(f)
    except (OSError, ValueError) as e:
        return [str(e)]
    errors = sorted(validator.iter_errors(value), key=lambda e: [str(p) for p in e.absolute_path])
    return [f"{e.json_path}: {e.message}" for e in errors]


def main(arguments):
    if len(arguments) < 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    page, _, word = arguments[0].partition("#")
    validator = Draft202012Validator(read_schema(page, word or "manifest"))
    bad = 0
    for name in arguments[1:]:
        for fault in faults(validator, name):
            print(f"{name}: {fault}", file=sys.stderr)
            bad = 1
    return bad


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
