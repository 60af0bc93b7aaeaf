"""Shared code for tables in docs/ that tests make: placeholders for values that differ in each run, cells, renewal, comparison."""
import difflib
import re


def placeholders(environment):
    """Patterns of values that differ in each run, with the text in place of them."""
    ports = {value for name, value in environment.items() if name.startswith("RIG_PORT_")}
    return [
        *((re.compile(re.escape(environment[name])), "DIR") for name in ("BATS_TEST_TMPDIR", "BATS_FILE_TMPDIR", "RIG_DIR")),
        (re.compile(r"\b(%s)\b" % "|".join(ports)), "PORT"),
        (re.compile(r"(?<![=\w.\[])(?:\d+(?:\.\d+)?(?:ms|s|m|h))+\b"), "N s"),
        (re.compile(r"\b\d+(?:\.\d+)? ?(?:B|kB|MB|GB|bytes?)\b"), "N bytes"),
        (re.compile(r"\b\d+(?:\.\d+)? %"), "N %"),
        (re.compile(r"\bat byte \d+"), "at byte N"),
        (re.compile(r"\b\d{5,}\b"), "N"),
        (re.compile(r"\b[0-9a-f]{40}\b"), "ID"),
        (re.compile(r"\bprofgrab-(?:host|file-01)-[0-9TZ-]+"), "BUNDLE"),
        # The next two depend on the Go that built the fixture, and on the version of OpenSSL.
        (re.compile(r"\bsymbol, "), ""),
        (re.compile(r"\b(?:tlsv1|sslv3|tlsv13) alert [a-z ]+\b"), "REASON"),
        (re.compile(r"SHA256:[A-Za-z0-9+/=]+"), "SHA256:..."),
    ]


def cell(text):
    for character, escaped in (("&", "&amp;"), ("<", "&lt;"), ("|", "\\|"), ("*", "\\*"), ("\n", "<br>")):
        text = text.replace(character, escaped)
    return text


def replaced(lines, first, last, new):
    begin, end = lines.index(first), lines.index(last)
    return lines[:begin + 1] + new + lines[end:]


def renew_or_compare(path, change, renew, command):
    """Gives the document's lines to `change`; writes the result, or prints the differences. Returns the exit status."""
    with open(path, encoding="utf-8") as file:
        old = file.read().splitlines()
    new = change(old)
    if renew:
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(new) + "\n")
        return 0
    if old == new:
        return 0
    print("\n".join(difflib.unified_diff(old, new, path, "what profgrab says now", lineterm="", n=0)))
    print(f"if the new lines are better, `{command}` renews the table")
    return 1
