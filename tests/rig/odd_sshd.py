#!/usr/bin/env python3
"""An SSH server for questions, passwords and messages that no sshd of Debian sends. Opens direct-tcpip channels to loopback.

    odd_sshd.py HOST_KEY [OPTION...]     prints "listening PORT" and serves until it is ended

Its keyboard-interactive has three rounds: one with a name, an instruction and two questions, the first shown, the second hidden;
one with an instruction and no question; one with a question of two lines. The right answers are blue, 4711 and yes. For the user
`forever` the rounds never end; the user `control` gets control characters.

    --password TEXT   instead accepts this password, by the method `password` (for user names that begin with kbd by
                      keyboard-interactive with one question); may be repeated. Prints "password USER TEXT" for each
                      password that it receives, right or wrong
    --open            accepts every user without authentication
    --leads-to PORT   connects every channel to this port, whatever its destination
    --host-key FILE   a further host key: connections get the keys in turn
    --flood KIND      sends messages without end once a channel is open: `unexpected` large ones, which libssh2 keeps, `tiny`
                      unexpected ones, or `ignore`, which clients must ignore
    --rekey           exchanges keys again and again, which costs the client much more than the server; ends no login
    --trickle         sends 16 bytes of an HTTP answer after every 20 messages of the flood
"""
import argparse
import itertools
import socket
import threading

import paramiko
from paramiko import kex_group16
from paramiko.common import MSG_USERAUTH_FAILURE

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


def flood(transport, kind, channel):
    transport.packetizer.REKEY_BYTES = 1 << 40
    try:
        if channel:
            channel.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        while True:
            for _ in range(20):
                transport._send_message(paramiko.Message(FLOODS[kind]))
            if channel:
                channel.sendall(b"<!-- trickle -->")
    except (OSError, EOFError):
        pass


class CheapKex(kex_group16.KexGroup16SHA512):
    def _generate_x(self):
        self.x = 3


class CheapTransport(paramiko.Transport):
    _kex_info = paramiko.Transport._kex_info | {CheapKex.name: CheapKex}
    _preferred_kex = (CheapKex.name,)

    def _send_message(self, message):
        if message.asbytes()[0] != MSG_USERAUTH_FAILURE:
            super()._send_message(message)


def serve(connection, key, options):
    transport = (CheapTransport if options.rekey else paramiko.Transport)(connection)
    transport.add_server_key(key)
    server = Server(options)
    try:
        transport.start_server(server=server)
        while options.rekey:
            transport.renegotiate_keys()
    except (paramiko.SSHException, EOFError):
        return
    while channel := transport.accept(60):
        if options.flood:
            flood(transport, options.flood, channel if options.trickle else None)
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
    arguments.add_argument("--rekey", action="store_true")
    arguments.add_argument("--trickle", action="store_true")
    options = arguments.parse_args()
    keys = itertools.cycle([paramiko.ECDSAKey(filename=file) for file in options.host_key])
    listener = socket.create_server(("127.0.0.1", 0))
    print("listening", listener.getsockname()[1], flush=True)
    while True:
        connection = listener.accept()[0]
        threading.Thread(target=serve, args=(connection, next(keys), options), daemon=True).start()


main()
