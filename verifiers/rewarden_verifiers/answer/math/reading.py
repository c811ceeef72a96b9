"""Turns an answer from text into a tree: cleaned, unwrapped and parsed, or read as words if it is not mathematics."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

from rewarden_verifiers.answer.math import words
from rewarden_verifiers.answer.math.cursor import Style
from rewarden_verifiers.answer.math.limits import MAX_HEIGHT, MAX_TEXT, TooExpensive, Unreadable
from rewarden_verifiers.answer.math.normalise import clean, join_thousands
from rewarden_verifiers.answer.math.parser import Parser
from rewarden_verifiers.answer.math.syntax import (
    Braces,
    Constant,
    Listing,
    NamedSet,
    Node,
    Number,
    Symbol,
    Text,
    height,
)
from rewarden_verifiers.answer.math.tokens import tokenize

# A text command, or nothing, before an opening brace.
_WRAPPER = re.compile(r"(?:\\(?:text|textbf|textrm|textit|mathrm|mathbf|mbox|boxed|fbox))?(?=\{)")


class Reading(NamedTuple):
    """A tree, and the other styles in which the text would parse differently."""

    node: Node
    others: tuple[Style, ...]


def read(text: str, style: Style | None = None, limit: int = MAX_TEXT) -> Reading:
    """Reads an answer: as mathematics if it parses, else as words. Raises Unreadable only for an empty answer."""
    style = style or Style()
    cleaned = unwrap(clean(text, limit))
    if not cleaned:
        raise Unreadable("empty")
    joined = join_thousands(cleaned) if style.thousands else cleaned
    named = _by_name(joined)
    if named is not None:
        return Reading(named, ())
    others: list[Style] = []
    if joined is not cleaned:
        others.append(style._replace(thousands=False))
    try:
        parser = Parser(tokenize(joined), style)
        node = parser.answer()
    except Unreadable:
        return Reading(_as_words(joined), ())
    except RecursionError:
        raise TooExpensive("nested too deeply") from None
    if height(node) > MAX_HEIGHT:
        raise TooExpensive("nested too deeply")
    if parser.saw_tight:
        others.append(style._replace(tight=True))
    if parser.saw_log:
        others.append(style._replace(common_log=True))
    return Reading(node, tuple(others))


def unwrap(text: str) -> str:
    """The content of a text command, or of braces, that enclose the whole answer."""
    for _ in range(8):
        wrapper = _WRAPPER.match(text)
        if wrapper is None or not text.endswith("}") or not _spans(text, wrapper.end()):
            return text
        inner = text[wrapper.end() + 1 : -1].strip()
        if not wrapper.group() and "," in inner:
            return text
        text = inner
    return text


def _spans(text: str, start: int) -> bool:
    """Returns whether the brace at `start` closes at the end of the text."""
    depth = 0
    for index in range(start, len(text)):
        if text[index] in "{}" and text[index - 1] != "\\":
            depth += 1 if text[index] == "{" else -1
            if depth == 0:
                return index == len(text) - 1
    return False


def _by_name(text: str) -> Node | None:
    """A mathematical object named by a phrase."""
    if len(text) > 40 or not text[-1].isalpha():
        return None
    phrase = words.plain(text)
    if phrase in words.INFINITE:
        return Constant("oo")
    if phrase in words.NOTHING and len(phrase) > 3:
        return Braces(())
    if phrase in words.EVERYTHING:
        return NamedSet("R")
    if phrase in words.UNDEFINED:
        return Text("undefined")
    if phrase in words.YES:
        return Text(words.YES[phrase])
    if phrase in words.NUMBER_WORDS:
        return Number(Fraction(words.NUMBER_WORDS[phrase]))
    return None


def _as_words(text: str) -> Node:
    """Words, or a list of them if commas or "and" join short items."""
    letter = words.choice(text)
    if letter is not None:
        return Symbol(letter)
    whole = words.plain(text)
    if not whole:
        raise Unreadable("nothing but signs")
    return Text(whole)


def join_words(node: Text) -> Node:
    """Words as a list if "and" or "or" joins short items; else the node itself."""
    for joiner in ("or", "and"):
        parts = node.words.split(f" {joiner} ")
        if len(parts) > 1 and all(len(part.split()) <= 4 for part in parts):
            return Listing(tuple(Text(part) for part in parts), joiner)
    return node
