"""The kind of an expected answer, as its form shows it: a verifier that is good at integers may be poor at sets."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

_INTEGER = re.compile(r"\\?\$?[-+\u2212]?\d[\d,]*(?:\\?%)?\$?")
_DECIMAL = re.compile(r"\\?\$?[-+\u2212]?[\d,]*\.\d+(?:[eE][-+]?\d+)?(?:\\?%)?\$?")
_FRACTION = re.compile(r"[-+\u2212]?(?:\d+\s?/\s?\d+|\\[dt]?frac\s?\{?\s?\d+\s?\}?\s?\{?\s?\d+\s?\}?)")
_LETTER = re.compile(r"\(?[A-Z]\)?")
_TUPLE = re.compile(r"(?:\\left)?\s?[\[(][^()\[\]]*,.*[\])]", re.DOTALL)
_SET = re.compile(r"\\?\{.*\\?\}|.*\\(?:cup|in|emptyset|cap)\b.*", re.DOTALL)
_RELATION = re.compile(r".*(?:=|<|>|\\leq?|\\geq?|\\neq?).*", re.DOTALL)
_FORMULA = re.compile(r"[\\^_*/+{}]|\d[A-Za-z]|^[A-Za-z]$")


def kind_of(reference: Any) -> str:
    """A word or two for what a reference is: `integer`, `fraction`, `expression`, `tuple`, `text`, `object` …"""
    if reference is None:
        return "none"
    if isinstance(reference, bool):
        return "truth value"
    if isinstance(reference, int):
        return "integer"
    if isinstance(reference, float):
        return "decimal"
    if isinstance(reference, str):
        return _of_text(reference.strip().strip("$").strip())
    if isinstance(reference, Mapping):
        if "answer" in reference and len(reference) <= 2:
            return kind_of(reference["answer"])
        return "object"
    if isinstance(reference, Sequence):
        kinds = {kind_of(item) for item in reference}
        return f"several: {kinds.pop()}" if len(kinds) == 1 else "list"
    return "other"


def _of_text(text: str) -> str:
    for name, pattern in (
        ("integer", _INTEGER),
        ("decimal", _DECIMAL),
        ("fraction", _FRACTION),
        ("letter", _LETTER),
        ("tuple or interval", _TUPLE),
        ("set", _SET),
        ("equation or inequality", _RELATION),
    ):
        if pattern.fullmatch(text):
            return name
    if len(text) <= 200 and _FORMULA.search(text):
        return "expression"
    return "text" if text else "none"
