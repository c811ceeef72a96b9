"""Normalises texts that look the same to one form, in linear time."""

from __future__ import annotations

import re
import unicodedata

from rewarden_verifiers.judges.fencing import harmless

_MOST = 30
"""Maximum number of combining marks on a letter, as in Unicode's stream-safe text format; normalisation takes quadratic
time in their number.
"""

_STACKED = re.compile(
    "[" + "".join(chr(code) for code in range(0x300, 0x1F000) if unicodedata.combining(chr(code))) + "]+"
)


def unified(text: str) -> str:
    """The text in Unicode NFKC, neutralised, with at most 30 combining marks in a row."""
    text = harmless(text).text
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", _STACKED.sub(lambda found: found.group()[:_MOST], text))
