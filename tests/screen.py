#!/usr/bin/env python3
"""Prints the final screen of a terminal with this output.

usage: tests/screen.py ROWS COLUMNS <CAPTURE

Supports only what profgrab writes: text, \\r, \\n, and ESC [ n A, ESC [ J and ESC [ K. Exit code 1 for anything else.
"""

import re
import sys

CONTROL = r"(\x1b\[(\d*)([AJK]))|(.)"


class Screen:
    """Rows of text, and a cursor that scrolls them and wraps as terminals do."""

    def __init__(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.lines = [""] * rows
        self.row = self.column = 0

    def down(self):
        self.row += 1
        if self.row == self.rows:
            self.lines = self.lines[1:] + [""]
            self.row -= 1

    def put(self, character):
        if self.column == self.columns:
            self.column = 0
            self.down()
        line = self.lines[self.row].ljust(self.column)
        self.lines[self.row] = line[:self.column] + character + line[self.column + 1:]
        self.column += 1

    def control(self, count, letter):
        if letter == "A":
            self.row = max(0, self.row - int(count or 1))
            return
        self.lines[self.row] = self.lines[self.row][:self.column]
        if letter == "J":
            self.lines[self.row + 1:] = [""] * (self.rows - self.row - 1)

    def feed(self, text):
        for control, count, letter, character in re.findall(CONTROL, text, re.DOTALL):
            if control:
                self.control(count, letter)
            elif character == "\r":
                self.column = 0
            elif character == "\n":
                self.down()
            elif character.isprintable():
                self.put(character)
            else:
                sys.exit(f"tests/screen.py: {character!r}")


def main(rows, columns):
    screen = Screen(int(rows), int(columns))
    screen.feed(sys.stdin.buffer.read().decode())
    print("\n".join(line.rstrip() for line in screen.lines).rstrip("\n"))


main(*sys.argv[1:])
