#!/usr/bin/env python3
"""make bench-fleet, the row of discovery: `profgrab hosts` with a Prometheus of 20,000 targets, with an inventory of 20,000 hosts.

    discovery.py [ROUNDS [static]]   prints time (median) and memory, the answer fetched and kept; $PROFGRAB is the program

The answer has the form of /api/v1/targets, with the labels of a discovery by Consul, or of static_configs. The server is a separate process on
loopback, which sends an answer that it made before.
"""
import http.server
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("PROFGRAB", str(ROOT / "build" / "profgrab"))
TARGETS = 20_000
STATIC = sys.argv[2:] == ["static"]


def target(number):
    name, ip = f"file-{number:05d}-stor-gprd", f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
    address = f"{name}.c.example-production.internal:9236"
    consul = {} if STATIC else {
            "__meta_consul_address": ip, "__meta_consul_dc": "production",
            "__meta_consul_health": "passing", "__meta_consul_node": name, "__meta_consul_service": "gitaly",
            "__meta_consul_service_address": "", "__meta_consul_service_id": f"gitaly-{number:05d}",
            "__meta_consul_service_metadata_external_source": "chef", "__meta_consul_service_port": "9236",
            "__meta_consul_tagged_address_lan": ip, "__meta_consul_tags": ",gitaly,production,"}
    return {
        "discoveredLabels": {
            "__address__": address, **consul, "__metrics_path__": "/metrics", "__scheme__": "http", "__scrape_interval__": "15s", "__scrape_timeout__": "10s",
            "job": "gitaly"},
        "labels": {"environment": "gprd", "fqdn": address.split(":")[0], "instance": address, "job": "gitaly",
                   "shard": "default", "stage": "main", "tier": "stor", "type": "gitaly"},
        "scrapePool": "gitaly", "scrapeUrl": f"http://{address}/metrics", "globalUrl": f"http://{address}/metrics",
        "lastError": "", "lastScrape": "2026-11-22T17:59:03.414821346Z", "lastScrapeDuration": 0.013216837, "health": "up",
        "scrapeInterval": "15s", "scrapeTimeout": "10s"}


def make_server(answer):
    class Prometheus(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *args):
            pass

    return http.server.HTTPServer(("127.0.0.1", 0), Prometheus)


def start_server():
    """Starts the server in a separate process, whose memory is not counted. Returns its pid, its port and its answer's size."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        answer = json.dumps({"status": "success", "data": {"activeTargets": [target(i) for i in range(TARGETS)], "droppedTargets": []}},
                            separators=(",", ":")).encode()
        server = make_server(answer)
        os.write(write, f"{server.server_address[1]} {len(answer)}\n".encode())
        server.serve_forever()
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        port, size = map(int, pipe.readline().split())
    return pid, port, size


HOST = 'address: "{name}-stor-gprd.c.example-production.internal", labels: {{ env: gprd }}'


def write_inventory(path, port, one_by_one):
    lines = ["version: 1", "services:", "  gitaly: { port: 1, kinds: [cpu, heap, goroutines] }", "hosts:"]
    if one_by_one:
        lines += [f"  file-{i:05d}: {{ {HOST.format(name=f'file-{i:05d}')} }}" for i in range(TARGETS)]
    else:
        lines.append(f"  file-[00000-{TARGETS - 1:05d}]: {{ {HOST.format(name='{name}')} }}")
    lines += ["discovery:", f'  - {{ prometheus: "http://127.0.0.1:{port}", service: gitaly }}']
    path.write_text("\n".join(lines) + "\n")
    path.chmod(0o600)


def run(inventory, *options):
    """Returns milliseconds of wall-clock time, kilobytes of resident memory, and milliseconds of processor time."""
    start = time.monotonic()
    process = subprocess.Popen([PROGRAM, "hosts", "-i", inventory, *options], stdout=subprocess.PIPE)
    found = process.stdout.read().count(b"gitaly:9236 (prometheus")
    _, status, usage = os.wait4(process.pid, 0)
    elapsed = (time.monotonic() - start) * 1000
    if status != 0 or found != TARGETS:
        sys.exit(f"discovery: status {status}, {found} services found")
    return elapsed, usage.ru_maxrss, (usage.ru_utime + usage.ru_stime) * 1000


def measure(port, rounds, one_by_one):
    runs = {"fetched": [], "kept": []}
    with tempfile.TemporaryDirectory() as directory:
        os.environ["XDG_CACHE_HOME"] = directory
        inventory = pathlib.Path(directory) / "inventory.yaml"
        write_inventory(inventory, port, one_by_one)
        for _ in range(rounds):
            runs["fetched"].append(run(inventory, "--refresh"))
            runs["kept"].append(run(inventory))
    return runs


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 11
    pid, port, size = start_server()
    try:
        runs = {how: measure(port, rounds, how == "one by one") for how in ("a range", "one by one")}
    finally:
        os.kill(pid, signal.SIGTERM)
        os.waitpid(pid, 0)
    print(f"discovery: {TARGETS} targets in {size / 1e6:.1f} MB, {TARGETS} hosts; limit: 300 ms, 60 MB")
    for how, kinds in runs.items():
        for what, values in kinds.items():
            wall, memory, cpu = (statistics.median(v[i] for v in values) for i in range(3))
            print(f"discovery {what}, hosts as {how}: {wall:.0f} ms (processor {cpu:.0f} ms), {memory / 1000:.1f} MB")


if __name__ == "__main__":
    main()
