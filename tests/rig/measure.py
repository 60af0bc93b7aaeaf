#!/usr/bin/env python3
"""measure.py SECONDS MEGABYTES -- COMMAND...: runs a command and prints on stderr, as the last line, the time and memory of it and its children.

Exit status: the command's, or 99 when its processor time or the largest of its processes was above that.
"""
import os
import resource
import subprocess
import sys

seconds, megabytes = float(sys.argv[1]), float(sys.argv[2])
assert sys.argv[3] == "--"
code = subprocess.run(sys.argv[4:]).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
took, held = used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6
print(f"measure: {took:.2f} s, {held:.0f} MB", file=sys.stderr)
sys.exit(99 if took > seconds or held > megabytes else code if code >= 0 else 128 - code)
