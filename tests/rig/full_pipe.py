#!/usr/bin/env python3
"""full_pipe.py stdout|stderr COMMAND...: runs COMMAND. The named stream is a full pipe that nobody reads; the other one is /dev/null. Sends one SIGINT once the
command or a child of it waits for the pipe, and prints the exit code as a shell reports it. Fails if the command does not wait
within 60 s, or does not end within 30 s of the signal."""
import fcntl
import os
import pathlib
import signal
import struct
import subprocess
import sys
import time

F_SETPIPE_SZ = 1031
POLLOUT = 4
WRITES, POLLS = {'x86_64': ((1, 20), (7, 271)), 'aarch64': ((64, 66), (73,))}[os.uname().machine]


def process_tree(pid):
    yield pid
    for task in pathlib.Path(f'/proc/{pid}/task').iterdir():
        for child in (task / 'children').read_text().split():
            yield from process_tree(int(child))


def polled_for_writing(pid, address, n):
    """The descriptors that a call of poll(2) waits for to become writable."""
    with open(f'/proc/{pid}/mem', 'rb') as memory:
        memory.seek(address)
        fds = [struct.unpack_from('ihh', memory.read(8)) for _ in range(n)]
    return [fd for fd, events, _ in fds if events & POLLOUT]


def waits(pid, pipe):
    for task in pathlib.Path(f'/proc/{pid}/task').iterdir():
        call = (task / 'syscall').read_text().split()
        if call[0] in ('running', '-1'):
            continue
        number, first, second = int(call[0]), int(call[1], 16), int(call[2], 16)
        fds = [first] if number in WRITES else polled_for_writing(pid, first, second) if number in POLLS else []
        if any(fd >= 0 and os.readlink(f'/proc/{pid}/fd/{fd}') == pipe for fd in fds):
            return True
    return False


def any_waits(pid, pipe):
    try:
        return any(waits(each, pipe) for each in list(process_tree(pid)))
    except (FileNotFoundError, ProcessLookupError, OSError):
        return False  # a process or a call has just ended


def main(stream, *command):
    out, end = os.pipe()
    os.write(end, b'x' * fcntl.fcntl(end, F_SETPIPE_SZ, 4096))
    streams = {'stdout': subprocess.DEVNULL, 'stderr': subprocess.DEVNULL, stream: end}
    p = subprocess.Popen(command, stdin=subprocess.DEVNULL, **streams,
                         preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    try:
        deadline = time.monotonic() + 60
        while not any_waits(p.pid, os.readlink(f'/proc/self/fd/{end}')):
            assert p.poll() is None, f'it ended with {p.returncode} before it waited for the pipe'
            assert time.monotonic() < deadline, 'it does not wait for the pipe'
            time.sleep(0.01)
        p.send_signal(signal.SIGINT)
        code = p.wait(30)
        print(code if code >= 0 else 128 - code)
    finally:
        p.kill()
        p.wait()


main(*sys.argv[1:])
