"""All commands print through this module, so that untrusted text cannot control the terminal."""

from __future__ import annotations

import argparse
import os
import re
import sys
from typing import Literal, NoReturn, TextIO

_STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Attack: an answer or an id with escape sequences (C0 and C1) that move the cursor, hide lines or set the title, or
with bidi controls that reorder what is read. Tabs and line ends are left: our own tables have them."""

_MARKS = {"works": ("\u2713", "+", 32), "unused": ("\u2013", "-", 2), "broken": ("\u2717", "x", 31)}
"""By state: the mark, the mark in ASCII, and the code of its colour."""


def visible(text: str) -> str:
    """The text with each control and bidi character as `\\uXXXX`: within a string of JSON, the same value."""
    return _STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def one_line(text: str) -> str:
    """Like `visible`, with line ends and tabs escaped as well: a foreign name must not look like a line of ours."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def say(text: object = "", *, file: TextIO | None = None, end: str = "\n", flush: bool = False) -> None:
    """Prints, for people or as JSON; to standard output unless a file is given."""
    print(visible(str(text)), file=file, end=end, flush=flush)


def say_state(state: Literal["works", "unused", "broken"], text: str) -> None:
    """Prints a line that begins with the mark of a state: in ASCII if the output's encoding lacks it. The mark has a
    colour on a terminal unless NO_COLOR is set."""
    mark, plain, colour = _MARKS[state]
    try:
        mark.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        mark = plain
    if sys.stdout.isatty() and not os.environ.get("NO_COLOR"):
        mark = f"\x1b[{colour}m{mark}\x1b[0m"
    print(f"{mark} {visible(text)}")


def pass_on(data: bytes, stream: TextIO) -> None:
    """Writes a program's output: unchanged to a file or a pipe, escaped on a terminal, which it could control."""
    if stream.isatty():
        say(data.decode(errors="backslashreplace"), file=stream, end="", flush=True)
        return
    stream.buffer.write(data)
    stream.buffer.flush()


class Parser(argparse.ArgumentParser):
    """A parser of arguments, also for subcommands, whose errors escape the argument that they repeat."""

    def error(self, message: str) -> NoReturn:
        """See `argparse`."""
        super().error(one_line(message))
