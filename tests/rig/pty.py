#!/usr/bin/env python3
"""Runs a command on a new terminal, as a user would, and presses keys.

    pty.py [--deadline S] [--stdout FILE] [--ctrl-c REGEX | --send REGEX TEXT]... -- COMMAND...

The command leads its own session; its terminal is 80 by 24. For each REGEX in turn, pty.py waits for a match in the output after
the previous match, and then presses the keys. It copies the terminal's output to stdout. With --stdout the command's standard
output goes to FILE instead, as with `profgrab >FILE`.

Exit status: the command's, or 128 + N if signal N ended it; 124 if the deadline passed (its process group is killed), 125 if it
ended before every REGEX matched.
"""
import argparse
import errno
import fcntl
import os
import re
import select
import signal
import struct
import sys
import termios
import time


class Step(argparse.Action):
    """Stores --ctrl-c and --send in the order of the command line."""

    def __call__(self, parser, namespace, values, option_string=None):
        pattern, keys = values if self.nargs == 2 else (values, "\x03")
        namespace.steps.append((re.compile(pattern.encode()), keys.encode()))


def start(command, stdout):
    """Returns the pid and our end of the terminal."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    pid = os.fork()
    if pid:
        os.close(theirs)
        return pid, ours
    try:
        os.setsid()
        fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)
        out = os.open(stdout, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666) if stdout else theirs
        for number, fd in enumerate((theirs, out, theirs)):
            os.dup2(fd, number)
        os.closerange(3, 256)
        # Bash starts background commands with SIGINT and SIGQUIT ignored; Python ignores SIGPIPE.
        for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"pty.py: {command[0]}: {error.strerror}\n".encode())
    os._exit(127)


def read_terminal(fd):
    """The available bytes; none after the other end is closed (EIO on Linux)."""
    try:
        return os.read(fd, 65536)
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        return b""


def converse(fd, steps, deadline):
    """Copies the output and presses the keys until the terminal is closed. Returns False if the deadline passed."""
    unmatched = b""
    while True:
        if not select.select([fd], [], [], max(0, deadline - time.monotonic()))[0]:
            return False
        data = read_terminal(fd)
        if not data:
            return True
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        unmatched += data
        while steps and (match := steps[0][0].search(unmatched)):
            unmatched = unmatched[match.end():]
            os.write(fd, steps.pop(0)[1])


def reap(pid, deadline):
    """The exit status, or None if the deadline passed."""
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    return None


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--deadline", type=float, default=60)
    parser.add_argument("--stdout")
    parser.add_argument("--ctrl-c", action=Step, dest="steps", default=[])
    parser.add_argument("--send", action=Step, dest="steps", nargs=2)
    parser.add_argument("command", nargs="+")
    args = parser.parse_args()

    deadline = time.monotonic() + args.deadline
    pid, fd = start(args.command, args.stdout)
    status = reap(pid, deadline) if converse(fd, args.steps, deadline) else None
    if status is None:
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        print(f"pty.py: still running after {args.deadline:g} s", file=sys.stderr)
        return 124
    if args.steps:
        print(f"pty.py: ended with {status} before /{args.steps[0][0].pattern.decode()}/ was seen", file=sys.stderr)
        return 125
    return status if status >= 0 else 128 - status


sys.exit(main())
