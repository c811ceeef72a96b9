"""All commands print through this module, so that untrusted text cannot control the terminal."""

from __future__ import annotations

import argparse
import os
import re
import sys
from dataclasses import dataclass
from typing import Literal, NoReturn, TextIO

_STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Attack: an answer or an id with escape sequences (C0 and C1) that move the cursor, hide lines or set the title, or
with bidi controls that reorder what is read. Tabs and line ends are left: our own tables have them."""


def visible(text: str) -> str:
    """The text with each control and bidi character as `\\uXXXX`: within a string of JSON, the same value."""
    return _STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def one_line(text: str) -> str:
    """Like `visible`, with line ends and tabs escaped as well: a foreign name must not look like a line of ours."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


Look = Literal["bold", "red", "green", "yellow"]

_CODES: dict[Look, int] = {"bold": 1, "red": 31, "green": 32, "yellow": 33}


_MARKS: dict[str, tuple[str, str, Look | None]] = {
    "works": ("\u2713", "+", "green"),
    "unused": ("\u2013", "-", None),
    "broken": ("\u2717", "x", "red"),
}
"""By state: the mark, the mark in ASCII, and its look."""


@dataclass(frozen=True, slots=True)
class Styled:
    """A part of a line that stands out on a terminal with colours, and is plain text elsewhere."""

    text: str
    look: Look


def colours(stream: TextIO) -> bool:
    """Returns whether text on this stream can be styled: on a terminal, without NO_COLOR (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def say(*parts: object, file: TextIO | None = None, end: str = "\n", flush: bool = False) -> None:
    """Prints the parts as one text, for people or as JSON; to standard output unless a file is given."""
    plain = not colours(file or sys.stdout)
    print("".join(_shown(part, plain) for part in parts), file=file, end=end, flush=flush)


def _shown(part: object, plain: bool) -> str:
    if not isinstance(part, Styled):
        return visible(str(part))
    # Only our own codes are added, after the text has been escaped.
    return visible(part.text) if plain else f"\x1b[{_CODES[part.look]}m{visible(part.text)}\x1b[0m"


def say_state(state: Literal["works", "unused", "broken"], text: str) -> None:
    """Prints a line that begins with the mark of a state: in ASCII if the output's encoding lacks it."""
    mark, plain, look = _MARKS[state]
    try:
        mark.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        mark = plain
    say(Styled(mark, look) if look is not None else mark, f" {text}")


def pass_on(data: bytes, stream: TextIO) -> None:
    """Writes a program's output: unchanged to a file or a pipe, escaped on a terminal, which it could control."""
    if stream.isatty():
        say(data.decode(errors="backslashreplace"), file=stream, end="", flush=True)
        return
    stream.buffer.write(data)
    stream.buffer.flush()


def add_examples(parser: argparse.ArgumentParser, *commands: str) -> None:
    """Ends a command's help with examples, one per line."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = "\n  ".join([f"example{'s' if len(commands) > 1 else ''}:", *commands])


class Parser(argparse.ArgumentParser):
    """A parser of arguments, also for subcommands, whose errors escape the argument that they repeat."""

    def error(self, message: str) -> NoReturn:
        """See `argparse`."""
        super().error(one_line(message))
