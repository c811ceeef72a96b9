"""Parses values as Python and JSON write them: literals, and the arguments of a call. Nothing is evaluated.

The result has the form that references use (see `tagged`): JSON, and `{"$": TAGGED}` for values that JSON cannot
represent.
"""

from __future__ import annotations

import re
from typing import Any

from rewarden_verifiers.execution.tagged import ESCAPE, encode

MOST_DEPTH = 40
MOST_DIGITS = 1_000

_SPACE = re.compile(r"\s*")
_NUMBER = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|(?:[0-9][0-9_]*)?\.?[0-9]*(?:[eE][+-]?[0-9]{1,4})?)")
_INTEGER = re.compile(r"[+-]?[0-9]+(?:_[0-9]+)*")
_REAL = re.compile(r"[+-]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{0,200}")
_STRING = re.compile(
    r"([rRbBuU]?)(\"\"\"(?:[^\"\\]|\\.|\"(?!\"\"))*\"\"\"|'''(?:[^'\\]|\\.|'(?!''))*'''|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')",
    re.DOTALL,
)
_ESCAPED = re.compile(r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{1,3}|\n|.)", re.DOTALL)
_PLAIN = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "a": "\a", "v": "\v", "\n": "", "/": "/"}
_WORDS = {"None": None, "null": None, "True": True, "true": True, "False": False, "false": False}
_FLOATS = {"nan": "nan", "NaN": "nan", "inf": "inf", "Infinity": "inf", "math.nan": "nan", "math.inf": "inf"}
_FLOAT_CALL = re.compile(r"float\(\s*(['\"])([+-]?)(nan|inf|infinity)\1\s*\)", re.IGNORECASE)


class Unread(Exception):
    """The text is not a literal; the message says why."""


def value_of(text: str, name: str | None = None) -> Any:
    """Parses a literal. name: a function whose call may precede it, as in `assert f(1) == 2`. Raises Unread."""
    reader = _Reader(text)
    if name is not None and reader.calls(name):
        reader.arguments()
        reader.take("==")
    return reader.whole(reader.value(0))


def arguments_of(text: str, name: str) -> tuple[list[Any], dict[str, Any]]:
    """Parses positional and named arguments, either alone or in a call that may be followed by a value, as in `f(1) ==
    2`. Raises Unread.
    """
    reader = _Reader(text)
    called = reader.calls(name)
    if not called:
        reader = _Reader(f"{text})")
    found = reader.arguments()
    if called and not reader.over:
        reader.take("==")
        reader.value(0)
    reader.whole(found)
    return found


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self._blank()

    @property
    def over(self) -> bool:
        """Returns whether the text is used up."""
        return self.at >= len(self.text)

    def whole(self, found: Any) -> Any:
        """Returns `found` if nothing follows it. Raises Unread."""
        if not self.over:
            raise Unread(f"there is more than one value: {self.text[self.at : self.at + 40]!r}")
        return found

    def calls(self, name: str) -> bool:
        """Consumes `assert` and the opening of a call of that name, if they come next."""
        start = self.at
        if self.text.startswith("assert ", self.at):
            self.at += len("assert ")
            self._blank()
        if self.text.startswith(name, self.at):
            self.at += len(name)
            self._blank()
            if self.found("("):
                return True
        self.at = start
        return False

    def take(self, mark: str) -> None:
        """Consumes a mark. Raises Unread if it does not come next."""
        if not self.found(mark):
            raise Unread(f"{mark!r} is missing")

    def found(self, mark: str) -> bool:
        """Consumes a mark if it comes next."""
        if not self.text.startswith(mark, self.at):
            return False
        self.at += len(mark)
        self._blank()
        return True

    def arguments(self) -> tuple[list[Any], dict[str, Any]]:
        """Parses the arguments of a call and its closing bracket."""
        given: list[Any] = []
        named: dict[str, Any] = {}
        while not self.found(")"):
            word = _NAME.match(self.text, self.at)
            if word is not None and self._named(word[0]):
                if word[0] in named:
                    raise Unread("an argument is given twice")
                named[word[0]] = self.value(0)
            elif named:
                raise Unread("a positional argument follows a named one")
            else:
                given.append(self.value(0))
            if not self.found(","):
                self.take(")")
                break
        return given, named

    def _named(self, word: str) -> bool:
        start = self.at
        self.at += len(word)
        self._blank()
        if self.found("=") and not self.text.startswith("=", self.at):
            return True
        self.at = start
        return False

    def value(self, depth: int) -> Any:
        """Parses the next value, and skips the blanks after it."""
        if depth > MOST_DEPTH:
            raise Unread("the value is nested too deep")
        mark = self.text[self.at : self.at + 1]
        if mark in ("'", '"') or _STRING.match(self.text, self.at) is not None:
            return self._strings()
        if mark == "[":
            return self._items("[", "]", depth)[0]
        if mark == "(":
            items, commas = self._items("(", ")", depth)
            if len(items) == 1 and not commas:
                return items[0]
            return {ESCAPE: {"t": [encode(item) for item in items]}}
        if mark == "{":
            return self._braces(depth)
        return self._scalar()

    def _items(self, opening: str, closing: str, depth: int) -> tuple[list[Any], int]:
        self.take(opening)
        items: list[Any] = []
        commas = 0
        while not self.found(closing):
            items.append(self.value(depth + 1))
            if not self.found(","):
                self.take(closing)
                break
            commas += 1
        return items, commas

    def _braces(self, depth: int) -> Any:
        self.take("{")
        pairs: list[tuple[Any, Any]] = []
        items: list[Any] = []
        while not self.found("}"):
            one = self.value(depth + 1)
            if self.found(":"):
                pairs.append((one, self.value(depth + 1)))
            else:
                items.append(one)
            if pairs and items:
                raise Unread("a set and a dictionary are mixed")
            if not self.found(","):
                self.take("}")
                break
        if items:
            return {ESCAPE: {"s": [encode(item) for item in items]}}
        keys = [key for key, _ in pairs]
        if len({repr(encode(key)) for key in keys}) < len(keys):
            raise Unread("a key is given twice")  # duplicate keys hedge: {"a": 1, "a": 2}
        if all(isinstance(key, str) for key in keys) and keys != [ESCAPE]:
            return dict(pairs)
        # Attack: the policy writes the key that marks tagged values in a reference.
        return {ESCAPE: {"d": [[encode(key), encode(item)] for key, item in pairs]}}

    def _strings(self) -> Any:
        parts: list[str] = []
        while (found := _STRING.match(self.text, self.at)) is not None:
            prefix, quoted = found[1].lower(), found[2]
            inner = quoted[3:-3] if quoted[:3] in ('"""', "'''") else quoted[1:-1]
            if prefix == "b":
                raise Unread("bytes are not read")
            parts.append(inner if prefix == "r" else _ESCAPED.sub(_character, inner))
            self.at = found.end()
            self._blank()
        if not parts:
            raise Unread("a quotation mark is not closed")
        text = "".join(parts)
        if text.isascii():
            return text
        # JSON writes characters beyond U+FFFF as surrogate pairs; this joins the halves.
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")

    def _scalar(self) -> Any:
        special = _FLOAT_CALL.match(self.text, self.at)
        if special is not None:
            self.at = special.end()
            self._blank()
            word = "nan" if special[3].lower() == "nan" else f"{special[2].replace('+', '')}inf"
            return {ESCAPE: {"f": word}}
        sign = self.text[self.at : self.at + 1] if self.text[self.at : self.at + 1] in ("-", "+") else ""
        name = _NAME.match(self.text, self.at + len(sign))
        if name is not None:
            self.at = name.end()
            self._blank()
            if name[0] in _FLOATS:
                word = _FLOATS[name[0]]
                return {ESCAPE: {"f": word if word == "nan" or sign != "-" else f"-{word}"}}
            if name[0] in _WORDS and not sign:
                return _WORDS[name[0]]
            if name[0] == "set" and self.found("("):
                self.take(")")
                return {ESCAPE: {"s": []}}
            raise Unread(f"{name[0][:40]!r} is not a value")
        return self._number()

    def _number(self) -> Any:
        found = _NUMBER.match(self.text, self.at)
        written = found[0] if found is not None else ""
        if len(written) > MOST_DIGITS:
            raise Unread("a number is too long")
        self.at += len(written)
        if self.text[self.at : self.at + 1].isalnum():
            raise Unread("a number is followed by a letter")
        self._blank()
        if _INTEGER.fullmatch(written):
            return int(written.replace("_", ""))
        if written.lstrip("+-")[:2].lower() in ("0x", "0b"):
            return int(written, 0)
        if _REAL.fullmatch(written) is None:
            raise Unread(f"it is not a value: {self.text[self.at : self.at + 40]!r}")
        number = float(written)
        return number if abs(number) != float("inf") else {ESCAPE: {"f": "inf" if number > 0 else "-inf"}}

    def _blank(self) -> None:
        found = _SPACE.match(self.text, self.at)
        if found is not None:
            self.at = found.end()


def _character(found: re.Match[str]) -> str:
    written = found[0][1:]
    if written[0] in "xuU" and len(written) > 1:
        code = int(written[1:], 16)
        if code > 0x10FFFF:
            raise Unread("there is no such character")
        return chr(code)
    if written[0] in "01234567":
        return chr(int(written, 8))
    return _PLAIN.get(written, written if written in "\\'\"" else f"\\{written}")
