"""Texts without the differences that a reader does not notice: case, accents, look-alike letters."""

from __future__ import annotations

import re
import unicodedata

_ACCENTS = re.compile("[\u0300-\u036f]+")
"""Combining marks of European scripts only: in Indic scripts and Thai, they distinguish words."""

_ALIKE = str.maketrans(
    "аеорсухіјѕһԁԛԝкмтвнгαεονρτυχκιϲϳ\u0131\u0142\u00f8\u0111",
    "aeopcyxijshdqwkmtbhraeovptyxkicjilod",
)
"""Lower-case letters of Cyrillic, Greek and Latin that look like one of a to z."""


def folded(text: str) -> str:
    """Returns the text in lower case and compatibility form, without accents, and with look-alike letters replaced.

    Only for comparing folded texts with each other: it does not preserve spelling, since "и" and "й" become one.
    """
    if text.isascii():
        return text.lower()
    plain = _ACCENTS.sub("", unicodedata.normalize("NFKD", text).lower())
    return unicodedata.normalize("NFC", plain.translate(_ALIKE))
