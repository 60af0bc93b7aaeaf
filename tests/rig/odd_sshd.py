#!/usr/bin/env python3
"""An SSH server that asks questions that no PAM module of Debian asks. Opens direct-tcpip channels to loopback.

    odd_sshd.py HOST_KEY [OPTION...]     prints "listening PORT" and serves until it is ended

Its keyboard-interactive wants, in this order: a round with a name, an instruction and two questions, the first shown, the
second hidden; a round that only says something; a round with one question of two lines. The answers are blue, 4711 and
yes. The user `forever` is asked without end, `control` gets control characters.

    --password TEXT   takes this password instead, by the methods `password` (user names that begin with kbd:
                      keyboard-interactive with one question); may be repeated, each one is taken. Prints
                      "password USER TEXT" for each that it is given, right or wrong
    --open            lets everybody in without asking
    --leads-to PORT   every channel leads there, whatever its destination
    --host-key FILE   a further host key: connections get the keys in turn
    --flood KIND      sends messages without end once a channel is open: `unexpected` ones, which libssh2 keeps (`tiny`:
                      of a few bytes), or ones to be ignored (`ignore`)
"""
import argparse
import itertools
import socket
import threading

import paramiko

ROUNDS = [
    ("Second factor", "Look at your\ntoken", [("Colour: ", True), ("Number:", False)], ["blue", "4711"]),
    ("", "You are nearly there", [], []),
    ("", "", [("Really?\nyes or no", True)], ["yes"]),
]


class Server(paramiko.ServerInterface):
    def __init__(self, options):
        self.options = options
        self.round = 0
        self.user = ""

    def get_allowed_auths(self, username):
        plain = self.options.password and not username.startswith("kbd")
        return "password" if plain else "keyboard-interactive"

    def check_auth_none(self, username):
        return paramiko.AUTH_SUCCESSFUL if self.options.open else paramiko.AUTH_FAILED

    def check_auth_password(self, username, password):
        print("password", username, password, flush=True)
        return paramiko.AUTH_SUCCESSFUL if password in self.options.password else paramiko.AUTH_FAILED

    def ask(self):
        if self.options.password:
            return paramiko.InteractiveQuery("", "", ("Password: ", False))
        name, instruction, questions, _ = ROUNDS[self.round % len(ROUNDS) if self.user == "forever" else self.round]
        if self.user == "control":
            name, instruction = "\x1b[31mred\x07", "right\u202eleft"
        return paramiko.InteractiveQuery(name, instruction, *questions)

    def check_auth_interactive(self, username, submethods):
        self.user, self.round = username, 0
        return self.ask()

    def check_auth_interactive_response(self, responses):
        if self.options.password:
            return self.check_auth_password(self.user, responses[0])
        if self.user != "forever" and list(responses) != ROUNDS[self.round][3]:
            return paramiko.AUTH_FAILED
        self.round += 1
        if self.user == "forever" or self.round < len(ROUNDS):
            return self.ask()
        return paramiko.AUTH_SUCCESSFUL

    def check_channel_direct_tcpip_request(self, chanid, origin, destination):
        self.destination = destination
        return paramiko.OPEN_SUCCEEDED


def copy(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


FLOODS = {
    "unexpected": bytes([52]) + bytes(30000),
    "tiny": bytes([52]) + bytes(3),
    "ignore": bytes([2]) + (29996).to_bytes(4, "big") + bytes(29996),
}


def flood(transport, kind):
    transport.packetizer.REKEY_BYTES = 1 << 40
    try:
        while True:
            transport._send_message(paramiko.Message(FLOODS[kind]))
    except (OSError, EOFError):
        pass


def serve(connection, key, options):
    transport = paramiko.Transport(connection)
    transport.add_server_key(key)
    server = Server(options)
    try:
        transport.start_server(server=server)
    except (paramiko.SSHException, EOFError):
        return
    while channel := transport.accept(60):
        if options.flood:
            flood(transport, options.flood)
            return
        far = socket.create_connection(("127.0.0.1", options.leads_to or server.destination[1]))
        for pair in (channel, far), (far, channel):
            threading.Thread(target=copy, args=pair, daemon=True).start()


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("host_key", nargs=1)
    arguments.add_argument("--host-key", dest="host_key", action="extend", nargs=1)
    arguments.add_argument("--password", action="append", default=[])
    arguments.add_argument("--open", action="store_true")
    arguments.add_argument("--leads-to", type=int)
    arguments.add_argument("--flood", choices=FLOODS)
    options = arguments.parse_args()
    keys = itertools.cycle([paramiko.ECDSAKey(filename=file) for file in options.host_key])
    listener = socket.create_server(("127.0.0.1", 0))
    print("listening", listener.getsockname()[1], flush=True)
    while True:
        connection = listener.accept()[0]
        threading.Thread(target=serve, args=(connection, next(keys), options), daemon=True).start()


main()
