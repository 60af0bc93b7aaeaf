"""Shared code of the benchmarks: the test rig as a separate process, ports, clocks."""
import pathlib
import shlex
import socket
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


class Rig:
    """sshd and the fixture through tests/rig/rig.bash, started by a shell; `prefix` is a command in front of it (nsenter).
    `.config` is the ssh configuration of file-*, `.port` the fixture's, `.env` all that the rig exports."""

    def __init__(self, directory, prefix=(), sshd_lines=(), more=""):
        script = f"""
            . {shlex.quote(str(ROOT / 'tests/rig/rig.bash'))}
            trap rig_stop EXIT
            rig_start {shlex.join(sshd_lines)} >&2 && rig_service rude >&2 || exit 1
            {more}
            env | grep ^RIG_; echo; read -r
        """
        self.shell = subprocess.Popen([*prefix, "bash", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                      cwd=directory)
        self.env = {}
        for line in iter(self.shell.stdout.readline, "\n"):
            if not line:
                sys.exit("the rig did not start")
            name, _, value = line.rstrip("\n").partition("=")
            self.env[name] = value
        self.config, self.port = self.env["RIG_SSH_CONFIG"], int(self.env["RIG_PORT_rude"])

    def stop(self):
        self.shell.stdin.close()
        self.shell.wait()


def timed(function):
    start = time.monotonic()
    function()
    return time.monotonic() - start


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]
