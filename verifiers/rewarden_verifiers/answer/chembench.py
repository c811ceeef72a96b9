"""The letters that ChemBench's parser reads as the answer to a question with options (`preset: chembench`)."""

from __future__ import annotations

import re2

from rewarden_verifiers.extraction import encodable

# Everything that Python considers white space.
_BLANKS = r"[\s\x0b\x1c-\x1f\x{85}\p{Z}]*"
_MARKED = re2.compile(
    r"(?s)(?:\[(?:ANSWER|ANS)\]|<(?:ANSWER|ANS|ans)>)"
    rf"{_BLANKS}([A-Z](?:,{_BLANKS}[A-Z])*){_BLANKS}"
    r"(?:[.,].*?)?"
    r"(?:\[/?ANSWER\]|\[/ANS\]|</(?:ANSWER|ANS|ans)>)"
)


def marked_letters(response: str) -> frozenset[str] | None:
    """The letters between all marks together; None if there are none, in which case ChemBench asks a model. Text after
    a full stop or comma behind the letters is ignored.
    """
    places = _MARKED.findall(encodable(response))
    return frozenset(letter for place in places for letter in place if letter.isalpha()) if places else None
