"""SQuAD's normalisation without its faults.

SQuAD lower-cases the text, deletes punctuation, drops "a", "an" and "the", and collapses whitespace. Without
punctuation 1.5 becomes 15, -5 becomes 5, 1/2 becomes 12, 3-5 becomes 35, and "O+" and "O-" become "O"; without articles
"A" becomes empty. Here punctuation within and before numbers stays, and so does a last word; the rest is as in SQuAD.
"""

from __future__ import annotations

import re
import string

from rewarden_verifiers.answer.text.folding import folded, without_accents
from rewarden_verifiers.answer.text.markup import undressed
from rewarden_verifiers.answer.text.numerals import with_numerals

_LOWER = bytes.maketrans(string.ascii_uppercase.encode(), string.ascii_lowercase.encode())
_DELETED = string.punctuation.encode()
_P = re.escape(string.punctuation)
# ASCII texts without these are normalised by deletion only.
_DELICATE = re.compile(rf"[\\+#^<>]|[A-Za-z]~[A-Za-z]|-(?!\w)|[{_P}][0-9]")
_EXPONENT = re.compile(r"\^\{([^{}]{1,20})\}")
_BOUND = re.compile(r"([<>]=?)\s+(?=-?\$?[0-9])")
_GROUPED = re.compile(r"(?<=[0-9]),(?=[0-9]{3}(?![0-9]))")
_BETWEEN = re.compile(rf"(?<=[0-9])[{_P}]+(?=[0-9])")
_POINT = re.compile(r"(?<![\w.])\.(?=[0-9])")
_LEADING_MINUS = re.compile(r"^\s*-\s+(?=\$?[0-9])")
_KEPT = re.compile(
    rf"[^{_P}\s]+|\s+"
    r"|(?<=[0-9])[./:*,](?=[0-9-])"  # 1.5, 1/2, 3:45
    r"|\^(?=[\w-])"  # 10^5
    r"|(?<![^\W_])-(?=\$?[0-9])|(?<=[0-9]e)-(?=[0-9])"  # signs
    r"|(?<=[^\W\d_])\+|(?<=\+)\+|(?<=[^\W\d_])\#"  # O+, C++, C#
    r"|(?<=(?<![^\W_])[^\W\d_])-(?!\w)|(?<=(?<![^\W_])[^\W\d_]{2})-(?!\w)"  # O-, AB-, Cl-
    r"|[<>]=?(?=-?\$?[0-9])"  # <5, >5
)
_INNER = frozenset("./:*^,")
_SIGNED = frozenset(("^-", "/-", "*-", ":-"))

_AND = re.compile(r"(?<=\w),? (?:and|&) (?=\w)", re.IGNORECASE)
_MAX_LIST = 200

# Scripts without spaces between words: Han, Kana, Thai, Lao, Khmer, Burmese. One character is one token.
UNSPACED = (
    "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
    "\u0e01-\u0e30\u0e32\u0e33\u0e40-\u0e46\u0e81-\u0eb0\u0eb2\u0eb3\u0ebd-\u0ec6\u1000-\u102a\u1780-\u17b3"
)
_MARK = (
    "\u0300-\u036f\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u102b-\u103e\u17b6-\u17d3"
    "\u3099\u309a"
)
_TOKEN = re.compile(rf"[{UNSPACED}][{_MARK}]*|[^\s{UNSPACED}]+")
_HAS_UNSPACED = re.compile(f"[{UNSPACED}]")


def tokens(normalised: str) -> list[str]:
    """The tokens of a normalised text: words, and single characters in scripts without spaces between words."""
    if normalised.isascii() or _HAS_UNSPACED.search(normalised) is None:
        return normalised.split()
    return _TOKEN.findall(normalised)


def listed(text: str) -> str | None:
    """A list with a comma instead of "and" before its last item ("line and circle" as "line, circle"); None for a text
    without "and", or one too long for a list.
    """
    if len(text) > _MAX_LIST:
        return None
    joined = _AND.sub(", ", text)
    return joined if joined != text else None


def _between(match: re.Match[str]) -> str:
    run = match.group()
    return run if run in _INNER or run in _SIGNED or run[0] in "<>" else " "


def unpunctuated(text: str) -> str:
    """The text without punctuation, except where it is part of a number or a name."""
    if "^{" in text:
        text = _EXPONENT.sub(r"^\1", text)
    text = _BETWEEN.sub(_between, _GROUPED.sub("", text))
    text = _BOUND.sub(r"\1", _LEADING_MINUS.sub("-", _POINT.sub("0.", text)))
    return "".join(_KEPT.findall(text))


class Normaliser:
    """The differences to ignore. Calling it returns a text's canonical form, which is blank only for a blank text: a
    text of punctuation alone stays as it is.
    """

    def __init__(
        self,
        *,
        case: bool = True,
        punctuation: bool = True,
        articles: tuple[str, ...] = ("a", "an", "the"),
        whitespace: bool = True,
        unicode: bool = True,
        markup: bool = True,
        accents: bool = False,
        numerals: bool = False,
    ) -> None:
        self._case, self._punctuation, self._whitespace = case, punctuation, whitespace
        self._unicode, self._markup, self._accents, self._numerals = unicode, markup, accents, numerals
        self._dropped = frozenset(word.lower() for word in articles)
        self._article = re.compile(rf"(?<!\S)(?:{'|'.join(map(re.escape, articles))})\s(?=\s{{0,20}}\S)", re.IGNORECASE)
        self._plain = case and punctuation and whitespace and not numerals

    def __call__(self, text: str) -> str:
        """Returns the canonical form of a text. Linear; never raises."""
        if self._plain and text.isascii() and _DELICATE.search(text) is None:
            words = text.encode().translate(_LOWER, _DELETED).decode().split()
            if not words:
                return " ".join(text.split())
        else:
            whole = self._folded(text)
            bare = unpunctuated(whole) if self._punctuation else whole
            if not self._whitespace:
                bare = bare if bare.strip() else whole
                return self._article.sub("", bare) if self._dropped else bare
            words = bare.split()
            if not words:
                return " ".join(whole.split())
        dropped = self._dropped
        if not dropped.isdisjoint(words) or not self._case:
            # Before another word only: "Vitamin A" and a lone "A" are not articles.
            last = words.pop()
            words = [word for word in words if word.lower() not in dropped]
            words.append(last)
        return " ".join(words)

    def _folded(self, text: str) -> str:
        if self._markup:
            text = undressed(text)
        if self._unicode and not text.isascii():
            text = folded(text)
        if self._accents and not text.isascii():
            text = without_accents(text)
        if self._case:
            text = text.casefold()
        return with_numerals(text) if self._numerals else text
