#!/usr/bin/env python3
"""Checks what a program changed and opened, in the logs of `strace -ff -y -o PREFIX -e trace=%file,%desc`:

    confined.py PREFIX [--may-change PATH]... [--may-not-open PATH]...

Prints two kinds of calls that succeeded: those that opened a file for writing, made, renamed, linked or removed a name, or changed
a mode, an owner or a size outside of the paths of --may-change; and those that opened a file, also for reading, at or below a path
of --may-not-open. Exits with 1 if it printed a call, with 2 if the logs contain no call that opened a file.

The kernel resolves descriptors at the time of the call (strace -y). This program resolves names with a slash when it reads the
logs. It follows links in all components but the last one, as calls that change a name do.
"""
import argparse
import glob
import os
import re
import sys

# For each call that changes names: the index of the descriptor argument with the directory (or None), and that of the string.
STRING = r'"((?:[^"\\]|\\.)*)"'
FD = r"(?:AT_FDCWD|\d+)<([^>]*)>"
NAMES = {
    "rename": [(None, 0), (None, 1)],
    "renameat": [(0, 0), (1, 1)],
    "renameat2": [(0, 0), (1, 1)],
    "link": [(None, 1)],
    "linkat": [(0, 0), (1, 1)],
    "symlink": [(None, 1)],
    "symlinkat": [(0, 1)],
    "unlink": [(None, 0)],
    "unlinkat": [(0, 0)],
    "rmdir": [(None, 0)],
    "mkdir": [(None, 0)],
    "mkdirat": [(0, 0)],
    "mknod": [(None, 0)],
    "mknodat": [(0, 0)],
    "truncate": [(None, 0)],
    "chmod": [(None, 0)],
    "chown": [(None, 0)],
    "lchown": [(None, 0)],
    "fchmodat": [(0, 0)],
    "fchmodat2": [(0, 0)],
    "fchownat": [(0, 0)],
    "utimensat": [(0, 0)],
}
BY_DESCRIPTOR = ("fchmod", "fchown", "ftruncate", "fallocate")
OPENS = ("open", "openat", "openat2", "creat")
WRITES = re.compile(r"\bO_(WRONLY|RDWR|CREAT|TRUNC|TMPFILE)\b")
# strace's names for descriptors without a path, which are no files.
NO_PATH = re.compile(r"^(anon_inode|socket|pipe|memfd|UNIX|TCP|UDP|NETLINK)\b|^/(memfd|dev/shm)?:")


def resolve_directory(path):
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))


def path_of_descriptor(path):
    return path.removesuffix("(deleted)").rstrip()


def is_below(path, tops):
    return any(path == top or path.startswith(top.rstrip("/") + "/") for top in tops)


def changed(call, arguments, cwd):
    """The paths whose name or mode the call changed."""
    if call in BY_DESCRIPTOR:
        yield path_of_descriptor(re.match(r"\d+<([^>]*)>", arguments).group(1))
        return
    directories, strings = re.findall(FD, arguments), re.findall(STRING, arguments)
    if not strings:  # utimensat(FD, NULL, ...)
        yield path_of_descriptor(directories[0])
        return
    for directory, string in NAMES[call]:
        name = strings[string]
        if call == "linkat" and string == 0 and name.startswith("/proc/self/fd/"):
            continue  # the call gives a name to a file without one
        where = cwd if directory is None else path_of_descriptor(directories[directory])
        whole = os.path.join(where, name)
        yield resolve_directory(whole) if "/" in name else whole


def examine(line, options, cwd):
    """(number of opened files, complaints)"""
    match = re.match(r"(\w+)\((.*)\)\s+= (-?\d+)(<.*>)?", line)
    if not match or match.group(3).startswith("-"):
        return 0, []
    call, arguments, _, opened = match.groups()
    if call in OPENS:
        path = (opened or "<>")[1:-1]
        if not path or NO_PATH.match(path):
            return 0, []
        path = path_of_descriptor(path)
        if is_below(path, options.may_not_open):
            return 1, [f"opened {path}: {line}"]
        if (WRITES.search(arguments) or call == "creat") and not is_below(path, options.may_change):
            return 1, [f"opened for writing {path}: {line}"]
        return 1, []
    if call not in NAMES and call not in BY_DESCRIPTOR:
        return 0, []
    bad = []
    for path in changed(call, arguments, cwd):
        if not NO_PATH.match(path) and not is_below(path, options.may_change):
            bad.append(f"changed {path}: {line}")
    return 0, bad


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("prefix")
    parser.add_argument("--may-change", action="append", default=[])
    parser.add_argument("--may-not-open", action="append", default=[])
    options = parser.parse_args()
    options.may_change = [os.path.realpath(p) for p in options.may_change] + ["/dev", "/proc"]
    options.may_not_open = [resolve_directory(os.path.abspath(p)) for p in options.may_not_open]
    opened, complaints = 0, []
    for log in glob.glob(glob.escape(options.prefix) + ".*"):
        with open(log, errors="replace") as lines:
            for line in lines:
                n, bad = examine(line.strip(), options, os.getcwd())
                opened += n
                complaints += bad
    print(*complaints, sep="\n", end="\n" if complaints else "")
    sys.exit(1 if complaints else 0 if opened else 2)


if __name__ == "__main__":
    main()
