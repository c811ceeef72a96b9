"""Removes sentences that a response repeats from the preamble, which would declare things twice."""

from __future__ import annotations

import re
from collections.abc import Iterator

_DECLARING = re.compile(
    r"(?:#\[[^\]]*\]\s*)*(?:(?:Local|Global|Polymorphic|Monomorphic|Cumulative|NonCumulative|Private)\s+)*"
    r"(?:Inductive|CoInductive|Variant|Record|Structure|Class|Axioms?|Parameters?|Conjectures?)\s"
)
"""Declaring a type twice makes two types, and axioms in a response are rejected. Definitions can be repeated."""

_MARKS = re.compile(r'\(\*|\*\)|"|\.(?=\s|\Z)')


def without_repeated(text: str, preamble: str) -> str:
    """Returns a response without the preamble's sentences that declare a type or an axiom, whatever their spacing."""
    for sentence in _sentences(preamble):
        if _DECLARING.match(sentence) is not None:
            text = re.sub(r"\s+".join(map(re.escape, sentence.split())), " ", text, count=1)
    return text


def _sentences(text: str) -> Iterator[str]:
    """Yields the sentences of a text, without comments."""
    sentence, last, depth, quoted = "", 0, 0, False
    for mark in _MARKS.finditer(text):
        if quoted:
            quoted = mark[0] != '"'
        elif mark[0] == "(*":
            sentence += text[last : mark.start()] if depth == 0 else ""
            depth += 1
        elif mark[0] == "*)" and depth:
            depth -= 1
            last = mark.end()
        elif mark[0] == '"':
            quoted = True
        elif mark[0] == "." and depth == 0:
            yield (sentence + text[last : mark.end()]).strip()
            sentence, last = "", mark.end()
