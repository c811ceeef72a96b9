"""Splits sentences by the rules of IFEval's first code, which IF-RLVR's checkers use instead of Punkt.

Every period, question mark and exclamation mark ends a sentence, unless a rule says otherwise. Spaces count. The rules
use the same internal marks as the official code, so a response that contains such a mark is split as there.
"""

from __future__ import annotations

import re

_PERIOD, _END = "<prd>", "<stop>"
_STARTERS = (
    r"(Mr|Mrs|Ms|Dr|Prof|Capt|Cpt|Lt|He\s|She\s|It\s|They\s|Their\s|Our\s|We\s|But\s|However\s|That\s|This\s|Wherever)"
)
_LETTER = "([A-Za-z])"
_SUFFIX = "(Inc|Ltd|Jr|Sr|Co)"

_TITLES_AND_NUMBERS = (
    (re.compile(r"(Mr|St|Mrs|Ms|Dr)\."), rf"\1{_PERIOD}"),
    (re.compile(r"\.(com|net|org|io|gov|edu|me)"), rf"{_PERIOD}\1"),
    (re.compile(r"([0-9])\.([0-9])"), rf"\1{_PERIOD}\2"),
    (re.compile(r"\.\.+"), lambda match: _PERIOD * len(match.group()) + _END),
)
_ABBREVIATIONS = (
    (re.compile(rf"\s{_LETTER}\. "), rf" \1{_PERIOD} "),
    (re.compile(rf"([A-Z]\.[A-Z]\.(?:[A-Z]\.)?) {_STARTERS}"), rf"\1{_END} \2"),
    (re.compile(rf"{_LETTER}\.{_LETTER}\.{_LETTER}\."), rf"\1{_PERIOD}\2{_PERIOD}\3{_PERIOD}"),
    (re.compile(rf"{_LETTER}\.{_LETTER}\."), rf"\1{_PERIOD}\2{_PERIOD}"),
    (re.compile(rf" {_SUFFIX}\. {_STARTERS}"), rf" \1{_END} \2"),
    (re.compile(rf" {_SUFFIX}\."), rf" \1{_PERIOD}"),
    (re.compile(rf" {_LETTER}\."), rf" \1{_PERIOD}"),
)
_QUOTED = ((".”", "”."), ('."', '".'), ('!"', '"!'), ('?"', '"?'))


def ruled_sentences(text: str) -> list[str]:
    """Splits a text into stripped sentences."""
    text = f" {text}  ".replace("\n", " ")
    for pattern, written in _TITLES_AND_NUMBERS:
        text = pattern.sub(written, text)
    text = text.replace("Ph.D.", f"Ph{_PERIOD}D{_PERIOD}")
    for pattern, kept in _ABBREVIATIONS:
        text = pattern.sub(kept, text)
    for inside, outside in _QUOTED:
        text = text.replace(inside, outside)
    for mark in ".?!":
        text = text.replace(mark, f"{mark}{_END}")
    parts = [part.strip() for part in text.replace(_PERIOD, ".").split(_END)]
    return parts if parts[-1] else parts[:-1]
