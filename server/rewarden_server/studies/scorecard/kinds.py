"""The kind of an expected answer, as its form shows it: a verifier that is good at integers may be poor at sets."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

_PATTERNS: Mapping[str, re.Pattern[str]] = {
    "integer": re.compile(r"\\?\$?[-+\u2212]?\d[\d,]*(?:\\?%)?\$?"),
    "decimal": re.compile(r"\\?\$?[-+\u2212]?[\d,]*\.\d+(?:[eE][-+]?\d+)?(?:\\?%)?\$?"),
    "fraction": re.compile(r"[-+\u2212]?(?:\d+\s?/\s?\d+|\\[dt]?frac\s?\{?\s?\d+\s?\}?\s?\{?\s?\d+\s?\}?)"),
    "letter": re.compile(r"\(?[A-Z]\)?"),
    "tuple or interval": re.compile(r"(?:\\left)?\s?[\[(][^()\[\]]*,.*[\])]", re.DOTALL),
    "set": re.compile(r"\\?\{.*\\?\}|.*\\(?:cup|in|emptyset|cap)\b.*", re.DOTALL),
    "equation or inequality": re.compile(r".*(?:=|<|>|\\leq?|\\geq?|\\neq?).*", re.DOTALL),
}
"""The kinds that a whole text shows, in the order in which they are tried."""

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
    for name, pattern in _PATTERNS.items():
        if pattern.fullmatch(text):
            return name
    if len(text) <= 200 and _FORMULA.search(text):
        return "expression"
    return "text" if text else "none"
