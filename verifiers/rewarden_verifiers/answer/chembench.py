"""The letters that ChemBench's parser reads as the answer to a question with options (`preset: chembench`)."""

from __future__ import annotations

import re2

from rewarden_verifiers.extraction import encodable

# All that Python takes for white space.
_BLANKS = r"[\s\x0b\x1c-\x1f\x{85}\p{Z}]*"
_MARKED = re2.compile(
    r"(?s)(?:\[(?:ANSWER|ANS)\]|<(?:ANSWER|ANS|ans)>)"
    rf"{_BLANKS}([A-Z](?:,{_BLANKS}[A-Z])*){_BLANKS}"
    r"(?:[.,].*?)?"
    r"(?:\[/?ANSWER\]|\[/ANS\]|</(?:ANSWER|ANS|ans)>)"
)


def marked_letters(response: str) -> frozenset[str] | None:
    """The letters between its marks, of all such places together; None if there is none, and ChemBench asks a model.
    What follows a full stop or a comma after the letters is passed over.
    """
    places = _MARKED.findall(encodable(response))
    return frozenset(letter for place in places for letter in place if letter.isalpha()) if places else None
