"""Texts without the differences that a reader does not notice: case, accents, look-alike letters."""

from __future__ import annotations

import re
import unicodedata

_ACCENTS = re.compile("[\u0300-\u036f]+")
"""Combining marks of European scripts alone: those of Indic and Thai letters tell words apart."""

_ALIKE = str.maketrans(
    "аеорсухіјѕһԁԛԝкмтвнгαεονρτυχκιϲϳ\u0131\u0142\u00f8\u0111",
    "aeopcyxijshdqwkmtbhraeovptyxkicjilod",
)
"""Small letters of Cyrillic, Greek and Latin that look like one of a to z."""


def folded(text: str) -> str:
    """Returns the text in lower case, in compatibility forms, without accents, look-alike letters replaced.

    It is for comparing texts that are all folded, and is no spelling of a word: "и" and "й" become one.
    """
    if text.isascii():
        return text.lower()
    plain = _ACCENTS.sub("", unicodedata.normalize("NFKD", text).lower())
    return unicodedata.normalize("NFC", plain.translate(_ALIKE))
