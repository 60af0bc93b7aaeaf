#!/usr/bin/env python3
"""interrupt_when.py TEXT COMMAND...: runs the command, copies its stderr, and sends it SIGINT after the first line with TEXT. Ends
with the command's exit code."""
import signal
import subprocess
import sys

process = subprocess.Popen(sys.argv[2:], stderr=subprocess.PIPE, text=True)
interrupted = False
for line in process.stderr:
    sys.stderr.write(line)
    if sys.argv[1] in line and not interrupted:
        interrupted = True
        process.send_signal(signal.SIGINT)
sys.exit(process.wait())
