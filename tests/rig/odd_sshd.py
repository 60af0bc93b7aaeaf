#!/usr/bin/env python3
"""An SSH server that asks oddly: for what no PAM module of Debian's asks. Opens direct-tcpip channels to loopback.

    odd_sshd.py HOST_KEY     prints "listening PORT" and serves until it is ended

Its keyboard-interactive wants, in this order: a round with a name, an instruction and two questions, the first shown, the
second hidden; a round that only says something; a round with one question of two lines. The answers are blue, 4711 and
yes. The user `forever` is asked without end, `control` gets control characters.
"""
import socket
import sys
import threading

import paramiko

ROUNDS = [
    ("Second factor", "Look at your\ntoken", [("Colour: ", True), ("Number:", False)], ["blue", "4711"]),
    ("", "You are nearly there", [], []),
    ("", "", [("Really?\nyes or no", True)], ["yes"]),
]


class Server(paramiko.ServerInterface):
    def __init__(self):
        self.round = 0
        self.user = ""

    def get_allowed_auths(self, username):
        return "keyboard-interactive"

    def ask(self):
        name, instruction, questions, _ = ROUNDS[self.round % len(ROUNDS) if self.user == "forever" else self.round]
        if self.user == "control":
            name, instruction = "\x1b[31mred\x07", "right\u202eleft"
        return paramiko.InteractiveQuery(name, instruction, *questions)

    def check_auth_interactive(self, username, submethods):
        self.user, self.round = username, 0
        return self.ask()

    def check_auth_interactive_response(self, responses):
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
    while data := source.recv(65536):
        sink.sendall(data)
    sink.shutdown(socket.SHUT_WR)


def serve(connection, key):
    transport = paramiko.Transport(connection)
    transport.add_server_key(key)
    server = Server()
    try:
        transport.start_server(server=server)
    except (paramiko.SSHException, EOFError):
        return
    while channel := transport.accept(60):
        far = socket.create_connection(("127.0.0.1", server.destination[1]))
        for pair in (channel, far), (far, channel):
            threading.Thread(target=copy, args=pair, daemon=True).start()


def main():
    key = paramiko.ECDSAKey(filename=sys.argv[1])
    listener = socket.create_server(("127.0.0.1", 0))
    print("listening", listener.getsockname()[1], flush=True)

    while True:
        threading.Thread(target=serve, args=(listener.accept()[0], key), daemon=True).start()


main()
