"""Words of any script, shared by verifiers that count, compare or repeat them. Linear in the text.

A word is a run of letters, digits and their marks. In scripts that put no spaces between words (Han, kana, Thai, Lao,
Khmer, Burmese) every letter with its marks is a word: this needs no dictionary, is the same everywhere, and a text in
them is neither a single endless word nor free of charge.
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
"""Code points whose category is asked for; beyond them none is of use here but those below."""
_UNSEEN_TOO = "\u034f\u115f\u1160\u3164\ufe00-\ufe0f\uffa0\U000e0001-\U000e007f\U000e0100-\U000e01ef"
"""Tags, variation selectors, fillers and the grapheme joiner: marks and letters that cannot be seen either."""
_APOSTROPHES = "'\u2019\u02bc"


def _ranges(codes: Iterable[int]) -> str:
    """The inside of a character class for code points that come in order."""
    parts: list[str] = []
    start = last = -2
    for code in codes:
        if code != last + 1:
            parts.append(f"{re.escape(chr(start))}-{re.escape(chr(last))}" if start >= 0 else "")
            start = code
        last = code
    return "".join(parts) + f"{re.escape(chr(start))}-{re.escape(chr(last))}"


def _patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Of words, of words with apostrophes and decimal points within them, and of what is invisible."""
    categories = [unicodedata.category(chr(code)) for code in range(_SCANNED)]
    marks = _ranges(code for code, category in enumerate(categories) if category[0] == "M")
    unseen = _ranges(code for code, category in enumerate(categories) if category == "Cf") + _UNSEEN_TOO
    alone = f"[{_SPACELESS}][{marks}]*"
    letter = f"[^\\W_{_SPACELESS}]"
    run = f"{letter}(?:{letter}|[{marks}])*"
    # A join needs a letter or digit at both sides, so that a quote at a word's end is not part of it.
    joined = f"{run}(?:(?:[{_APOSTROPHES}](?=[^\\W\\d_])|(?<=\\d)[.,](?=\\d)){run})*"
    return re.compile(f"{alone}|{run}"), re.compile(f"{alone}|{joined}"), re.compile(f"[{unseen}]+")


# Made when the module is imported: a tenth of a second that must be on no item's clock.
_TOKEN, _WORD, _UNSEEN = _patterns()


def words(text: str) -> list[str]:
    """The words as a reader counts them: "don't" and "3.14" are one each, "well-known" is two."""
    # What is invisible divides no word for a reader: neither a Persian one nor one that is to count as several.
    return _WORD.findall(text if text.isascii() else _UNSEEN.sub("", text))


def tokens(text: str) -> list[str]:
    """Runs of letters and digits, lower-cased, compatibility forms unified, without what is invisible.

    On ASCII this is what ROUGE's reference implementation compares: "don't" is "don" and "t".
    """
    if not text.isascii():
        # Zero-width characters would split a word in two that look like one (a way around any comparison).
        text = unicodedata.normalize("NFKC", _UNSEEN.sub("", text))
    return _TOKEN.findall(text.lower())


def visible(text: str) -> str:
    """The text as it is seen: composed, without what is invisible, a run of white space one blank, none at the ends."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", _UNSEEN.sub("", text))
    return " ".join(text.split())
