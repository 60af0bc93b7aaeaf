#!/usr/bin/env python3
"""A source of services with bad answers: bad_discovery_source.py PORT UPSTREAM_PORT SECRET_FILE

    /token/...    the answer of the Prometheus on UPSTREAM_PORT, for requests with the secret
    /html         a login page, with 200      /half      the first half of a good answer
    /large        50 MB in one text           /many      65 MiB of targets
    /elsewhere    a redirect to /seen of another origin, which records the Authorization header
    /redirect     to another machine          /denied    401      /closed    403      /missing   404
    /wrong        JSON, but no list           /hostile   invalid names and addresses
"""
import http.server
import json
import sys
import urllib.request

PORT, UPSTREAM = int(sys.argv[1]), int(sys.argv[2])
with open(sys.argv[3]) as file:
    SECRET = file.read().strip()


def target(address, job):
    return {"scrapeUrl": f"http://{address}/metrics", "scrapePool": job, "labels": {"job": job}}


def targets(*items):
    return json.dumps({"status": "success", "data": {"activeTargets": list(items)}}).encode()


class Source(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body, kind="application/json", **headers):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        try:
            self.wfile.write(body)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def token(self):
        if self.headers.get("Authorization") != f"Bearer {SECRET}":
            return self.answer(401, f"who is {self.headers.get('Authorization')}?".encode(), "text/plain")
        path = self.path.removeprefix("/token")
        with urllib.request.urlopen(f"http://127.0.0.1:{UPSTREAM}{path}") as upstream:
            return self.answer(200, upstream.read())

    def do_GET(self):
        name = self.path.split("/")[1].split("?")[0]
        good = targets(target("file-03:1", "a"), target("file-04:2", "a"))
        if name == "token":
            self.token()
        elif name == "html":
            self.answer(200, b"<!DOCTYPE html><title>Log in</title>", "text/html")
        elif name == "half":
            self.answer(200, good[: len(good) // 2])
        elif name == "large":
            self.answer(200, b'[{"targets":["' + b"a" * 50_000_000 + b'"]}]')
        elif name == "many":
            self.answer(200, b'[{"targets":["h:1"' + b" " * (65 << 20) + b"]}]")
        elif name == "redirect":
            self.answer(302, b"", Location="https://login.example/")
        elif name == "elsewhere":
            self.answer(302, b"", Location=f"http://localhost:{PORT}/seen")
        elif name == "seen":
            with open(sys.argv[3] + ".seen", "a") as seen:
                seen.write(f"{self.headers.get('Authorization')}\n")
            self.answer(200, good)
        elif name in ("denied", "closed", "missing"):
            self.answer({"denied": 401, "closed": 403, "missing": 404}[name], b"no", "text/plain")
        elif name == "wrong":
            self.answer(200, b'{"status":"success","data":{"activeTargets":{"a":1}}}')
        elif name == "hostile":
            self.answer(200, targets(target("file-03:1", "../../\x1b[31mup"), target("file-03:2", "/etc"),
                                  target("file-03:3", "a\u202eb"), target("file-03 -oProxyCommand=x:4", "a"),
                                  target("file-03:99999", "a"), target("..:5", "a")))
        else:
            self.answer(404, b"nothing")

    def log_message(self, *args):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", PORT), Source).serve_forever()
