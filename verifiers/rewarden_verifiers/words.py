"""Words of any script, shared by verifiers that count, compare or repeat them. Linear in the text.

A word is a run of letters, digits and their marks. In scripts without spaces between words (Han, kana, Thai, Lao,
Khmer, Burmese), every letter with its marks is a word: this needs no dictionary and is the same everywhere, and a text
in them is neither a single endless word nor free of charge.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

_SPACELESS = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u0edc-\u0edf\u1000-\u103f\u1050-\u108f\u1780-\u17d3\u3005-\u3007"
    "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\uff66-\uff9f\U00020000-\U000323af"
)
_SCANNED = 0x1F000
"""Code points whose category is looked up; beyond them, only those listed below matter here."""
_UNSEEN_TOO = "\u034f\u115f\u1160\u3164\ufe00-\ufe0f\uffa0\U000e0001-\U000e007f\U000e0100-\U000e01ef"
"""Tags, variation selectors, fillers and the grapheme joiner: further marks and letters that are invisible."""
_APOSTROPHES = "'\u2019\u02bc"


def _ranges(codes: Iterable[int]) -> str:
    """The inside of a character class for sorted code points."""
    parts: list[str] = []
    start = last = -2
    for code in codes:
        if code != last + 1:
            parts.append(f"{re.escape(chr(start))}-{re.escape(chr(last))}" if start >= 0 else "")
            start = code
        last = code
    return "".join(parts) + f"{re.escape(chr(start))}-{re.escape(chr(last))}"


def _patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Patterns of words, of words with inner apostrophes and decimal points, and of invisible characters."""
    categories = [unicodedata.category(chr(code)) for code in range(_SCANNED)]
    marks = _ranges(code for code, category in enumerate(categories) if category[0] == "M")
    unseen = _ranges(code for code, category in enumerate(categories) if category == "Cf") + _UNSEEN_TOO
    alone = f"[{_SPACELESS}][{marks}]*"
    letter = f"[^\\W_{_SPACELESS}]"
    run = f"{letter}(?:{letter}|[{marks}])*"
    # A join needs a letter or digit on both sides, so that a quotation mark at the end of a word is not part of it.
    joined = f"{run}(?:(?:[{_APOSTROPHES}](?=[^\\W\\d_])|(?<=\\d)[.,](?=\\d)){run})*"
    return re.compile(f"{alone}|{run}"), re.compile(f"{alone}|{joined}"), re.compile(f"[{unseen}]+")


# Built on import: it takes a tenth of a second, which must not count for any item.
_TOKEN, _WORD, _UNSEEN = _patterns()


def words(text: str) -> list[str]:
    """The words as a reader counts them: "don't" and "3.14" are one each, "well-known" is two."""
    # To a reader, invisible characters do not divide a word: neither a Persian word nor one that is meant to count as
    # several.
    return _WORD.findall(text if text.isascii() else _UNSEEN.sub("", text))


def tokens(text: str) -> list[str]:
    """Runs of letters and digits, in lower case and compatibility form, without invisible characters.

    On ASCII, these are the tokens of ROUGE's reference implementation: "don't" is "don" and "t".
    """
    if not text.isascii():
        # Attack: zero-width characters that split a word in two which still look like one, to evade comparisons.
        text = unicodedata.normalize("NFKC", _UNSEEN.sub("", text))
    return _TOKEN.findall(text.lower())


def visible(text: str) -> str:
    """The text as displayed: composed, without invisible characters, with single spaces, none at the ends."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", _UNSEEN.sub("", text))
    return " ".join(text.split())
