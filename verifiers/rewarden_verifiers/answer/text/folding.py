"""Maps equivalent forms of Unicode characters to one, without changing their meaning.

NFKC alone would equate "10²" with "102" and "1½" with "11⁄2". Characters that are numbers but not digits are therefore
written out first ("10^2", "1 1/2").
"""

from __future__ import annotations

import re
import unicodedata

_REMEMBERED = 20_000
_HYPHENS = "\u2010\u2011\u2012\u2013\u2212\ufe63\uff0d"
_DASHES = "\u2014\u2015\u2e3a\u2e3b"
_QUOTES = "\u201c\u201d\u201e\u201f\u00ab\u00bb\u300c\u300d"
_SUPERSCRIPTS = re.compile("[\u2070\u00b9\u00b2\u00b3\u2074-\u207b]{1,40}")
_RAISED = str.maketrans("\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079\u207a\u207b", "0123456789+-")


class _Table(dict[int, str | None]):
    """A table for `str.translate` that computes an entry when a character first occurs, and is cleared before it grows
    large.

    A text with all of Unicode's characters must not cost the process a hundred megabytes.
    """

    def __missing__(self, code: int) -> str | None:
        if len(self) >= _REMEMBERED:
            self.clear()
        made = self[code] = self.fold(chr(code))
        return made

    def fold(self, char: str) -> str | None:
        raise NotImplementedError


class _Numbers(_Table):
    """Before NFKC: numbers that are not digits."""

    def fold(self, char: str) -> str | None:
        if unicodedata.category(char) != "No":
            return char
        kind = unicodedata.decomposition(char).partition(" ")[0]
        plain = unicodedata.normalize("NFKC", char).replace("\u2044", "/")
        return plain if kind == "<sub>" else f" {plain} "


class _Marks(_Table):
    """After NFKC: digits of all scripts, hyphens, spaces; punctuation and currency signs as in ASCII."""

    def fold(self, char: str) -> str | None:
        if char.isascii():
            return char
        if char in _HYPHENS:
            return "-"
        if char in _DASHES:
            return " "
        category = unicodedata.category(char)
        if category == "Nd":
            return str(unicodedata.decimal(char))
        if category == "Cf":  # zero-width characters and direction marks
            return None
        if category == "Zs":
            return " "
        if category == "Sc":
            return "$"
        if char in _QUOTES:
            return '"'
        return "'" if category[0] == "P" else char


_NUMBERS, _MARKS = _Numbers(), _Marks()


def folded(text: str) -> str:
    """The text with equivalent forms unified."""
    text = _SUPERSCRIPTS.sub(lambda match: "^" + match.group().translate(_RAISED), text).translate(_NUMBERS)
    return unicodedata.normalize("NFKC", text).translate(_MARKS)


def without_accents(text: str) -> str:
    """The text without diacritics ("Beyoncé", "Beyonce")."""
    parts = unicodedata.normalize("NFD", text)
    return unicodedata.normalize("NFC", "".join(char for char in parts if unicodedata.category(char) != "Mn"))
