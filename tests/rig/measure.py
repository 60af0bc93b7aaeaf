#!/usr/bin/env python3
"""measure.py SECONDS MEGABYTES -- COMMAND...: runs a command, and prints its processor time and memory as the last line of stderr.

The time is that of all its processes, the memory that of the largest one. Exit status: the command's, or 99 if it exceeded one of
the limits.
"""
import os
import resource
import subprocess
import sys

seconds, megabytes = float(sys.argv[1]), float(sys.argv[2])
assert sys.argv[3] == "--"
most = int(seconds) + 2  # Ends a process that would run for ever.
code = subprocess.run(sys.argv[4:], preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (most, most))).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
took, memory = used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6
print(f"measure: {took:.2f} s, {memory:.0f} MB", file=sys.stderr)
sys.exit(99 if took > seconds or memory > megabytes else code if code >= 0 else 128 - code)
