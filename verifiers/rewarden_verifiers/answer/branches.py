"""The branches of `answer`: the verifier for an expected answer, by its stated type or its form."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, get_args

from rewarden_verifiers.answer.math import words
from rewarden_verifiers.answer.math.limits import TooExpensive, Unreadable
from rewarden_verifiers.answer.math.reading import read
from rewarden_verifiers.answer.math.syntax import (
    Braces,
    Constant,
    Listing,
    Measure,
    NamedSet,
    Node,
    Number,
    Product,
    Quotient,
    Sum,
    Symbol,
    Text,
    children,
    free_symbols,
    walk,
)
from rewarden_verifiers.answer.math.tokens import FUNCTIONS
from rewarden_verifiers.answer.math.units import is_unit

Branch = Literal["math", "choice", "number", "label", "text", "time", "box"]
BRANCHES: tuple[str, ...] = get_args(Branch)

_ALIASES: Mapping[str, Branch] = {
    **{name: name for name in get_args(Branch)},
    **dict.fromkeys(("latex", "expression", "formula", "symbolic"), "math"),
    **dict.fromkeys(("mcq", "multiple_choice", "option", "letter"), "choice"),
    **dict.fromkeys(("numeric", "numerical", "float", "integer", "int", "count", "quantity", "distribution"), "number"),
    **dict.fromkeys(("boolean", "bool", "class", "classification", "multi_label"), "label"),
    **dict.fromkeys(("string", "free_form", "freeform", "open", "short_answer", "qa"), "text"),
    **dict.fromkeys(("date", "datetime", "duration", "timestamp"), "time"),
    **dict.fromkeys(("bbox", "boxes", "grounding", "detection"), "box"),
}
_BOX_KEYS = {"box", "bbox", "bbox_2d", "boxes"}
_NUMBER_KEYS = {"low", "high", "value"}

_LETTER = re.compile(r"\(?([A-J])\)?\.?")
_DATE = re.compile(
    r"\d{4}-\d{2}(?:-\d{2})?(?:[T ]\d{2}:\d{2}.{0,20})?"
    r"|P(?=[\dT])[\dYMWDTHS.]{1,40}"
    r"|(?:\d{1,2}(?:st|nd|rd|th)? )?(?:January|February|March|April|May|June|July|August|September|October|November|"
    r"December|(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\.?)(?: \d{1,2}(?:st|nd|rd|th)?)?,? \d{4}"
)
# "2 h 30 min"; a single unit is a quantity.
_DURATION = re.compile(
    r"(?:\d+(?:\.\d+)? ?(?:d|days?|h|hrs?|hours?|mins?|minutes?|s|secs?|seconds?|weeks?|months?|years?)"
    r"(?:,? (?:and )?|$)){2,}"
)
# The usual units; with other words after a number ("3 apples"), it is a text.
_UNIT = (
    r"(?:[kMGmcµμn]?(?:m|g|s|N|J|W|V|A|Hz|Pa|mol|L|l|eV|cal|bar)|°C|°F|K|kWh|mph|GB|MB|degrees?|min|h|d|Ω|"
    r"meters?|metres?|kilometers?|kilometres?|miles?|feet|foot|ft|inch(?:es)?|grams?|kilograms?|tons?|pounds?|lbs?|"
    r"seconds?|minutes?|hours?|days?|weeks?|months?|years?|lit(?:er|re)s?|gallons?|newtons?|joules?|watts?|volts?)"
    r"(?:\^?[-\d²³]{1,3})?"
)
_QUANTITY = re.compile(
    r"[-+\u2212]?(?:\d{1,3}(?:,\d{3}){1,10}|\d{1,40})(?:\.\d{1,30})?(?:[eE][-+]?\d{1,3})? ?"
    rf"{_UNIT}(?:[/·* ]{_UNIT}){{0,3}}"
)
# Years, scores, phone numbers, "50/50": as arithmetic, "1939-1945" would be -6. "14:30" is a clock or a ratio.
_SPAN = re.compile(r"\d[\d.,]*(?:(?<!,) ?[-\u2013] ?\d[\d.,]*)+|(\d{2,})/\1|\d{3}0s|\d{1,2}:[0-5]\d")
# H2O, C6H12O6, R2D2: as mathematics, the letters would commute.
_CHEMICAL = re.compile(r"(?=.*\d)(?:[A-Z][a-z]?\d{0,3}){2,}")
_NUMERIC_DATE = re.compile(r"(\d{1,2})([/.-])(\d{1,2})\2\d{4}|\d{4}([/.])\d{1,2}\4\d{1,2}")
_CLOCK = re.compile(r"\d{1,2}(?::[0-5]\d){0,2} ?[ap]\.?m\.?", re.IGNORECASE)
_MONEY = re.compile(r"[$€£¥] ?\d[\d.,]* (?:thousand|million|billion|trillion)|[€£¥] ?\d[\d.,]*")
_TRUTH = frozenset(("true", "false", "proved", "disproved"))
_TEX = re.compile(
    r"\\[A-Za-z(\[{]|[$^π∞√]|(?<![A-Za-z])[A-Za-z]_[{\w]|^pi$|\b(?:sin|cos|tan|log|ln|exp|sqrt)\b"
    r"|\d\s{0,2}[-+*/=<>]\s{0,2}[\d(A-Za-z]"
)
_FORMULA = re.compile(r"[-+\u2212±]?[\s\d.,:;()\[\]{}+*/=<>^|!%°π∞√−–-]{1,400}")
# "x", "2x + 1", "n(n+1)": single letters among signs and digits; but not "C++" or "a b".
_LONE_LETTERS = re.compile(r"(?:[\d\s.,()+*/=<>^−–-]|(?<![A-Za-z])[A-Za-z](?![A-Za-z]))+")
_WORD = re.compile(r"[^\W\d_]{2,}")
_SIGN = re.compile(r"[-\u2212+*/=<>^!'\u221a\u2264\u2265\u2260\u2261\u2208\u2227\u2228]")
_HYPHENATED = re.compile(r"[^\W\d_]-[^\W\d_]{2}|[^\W\d_]{2}-[^\W\d_]")
_NO_SOLUTION = re.compile(r"solution|root|set|such", re.IGNORECASE)
_ORDINAL = re.compile(r"\d{1,6}(?:st|nd|rd|th)\b")
_SAID = (
    {"mod"} | FUNCTIONS | words.JOINERS | words.CONDITION_WORDS | words.QUANTIFIED | words.CURRENCIES | words.ORDINALS
)
# Conditions on a number: "2k for all integers k", "|c| < 2 where c is real".
_CONDITIONS = words.CONDITION_WORDS | words.QUANTIFIED
_OF_NUMBERS = frozenset(words.PROPERTIES) | frozenset(
    ("is", "are", "an", "integer", "integers", "real", "reals", "natural", "whole", "number", "numbers", "constant")
)
_SCALES = frozenset(("hundred", "thousand", "million", "billion", "trillion", "dozen", "score", "half"))
_MAX_PRODUCT = 3
"""Maximum number of letters of a product written without signs; a longer run is a word."""
_MAX_COUNTED = 4
"""Maximum number of words that name what a number counts ("70 miles per hour"); more of them are a sentence."""
_OPERATED = re.compile(r"\d|^[A-Za-z]$|[A-Za-z)]\s?[-+*/=<>^]\s?[A-Za-z(]")


def branch_named(name: str) -> Branch | None:
    """The branch meant by a type's name, in any of the names that datasets use; None for an unknown one."""
    return _ALIASES.get(name.strip().lower().replace("-", "_").replace(" ", "_"))


def branch_of(reference: Any) -> Branch:
    """The branch for a reference without a type, by its form alone; `text` if nothing else fits.

    Numbers, vectors, ranges and quantities ("3.2 km") are `number`, truth values `label`, one letter or an object with
    options `choice`, dates and durations `time`, digits and formulas `math`. A bare list of four numbers is a vector: a
    box must be named, or be given under a key such as `bbox`.
    """
    if isinstance(reference, bool):
        return "label"
    if isinstance(reference, (int, float)):
        return "number"
    if isinstance(reference, str):
        return _of_text(reference.strip())
    if isinstance(reference, Mapping):
        if "options" in reference:
            return "choice"
        if _BOX_KEYS & set(reference):
            return "box"
        if set(reference) == {"any"}:
            return branch_of(reference["any"])
        if _NUMBER_KEYS & set(reference) or (reference and all(_is_number(value) for value in reference.values())):
            return "number"
        return "text"
    if isinstance(reference, Sequence) and reference:
        if all(_is_number(item) for item in reference):
            return "number"
        kinds = {branch_of(item) for item in reference if isinstance(item, (str, Mapping))}
        return kinds.pop() if len(kinds) == 1 else "text"
    return "text"


def _of_figures(text: str) -> Branch | None:
    """The branch of a short text of digits and signs that is not a formula."""
    if _SPAN.fullmatch(text) or _CHEMICAL.fullmatch(text):
        return "text"
    if _QUANTITY.fullmatch(text) or _MONEY.fullmatch(text):
        return "number"
    if _CLOCK.fullmatch(text):
        return "time"
    if (date := _NUMERIC_DATE.fullmatch(text)) is not None:
        # Day or month first? An ambiguous date is compared as text: the same digits are the same date.
        sure = date.group(1) is None or (int(date.group(1)) > 12) != (int(date.group(3)) > 12)
        return "time" if sure else "text"
    return None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


@lru_cache(maxsize=4096)
def _of_text(text: str) -> Branch:
    if _LETTER.fullmatch(text):
        return "choice"
    if text.lower() in _TRUTH:
        return "label"
    if _DATE.fullmatch(text) or (len(text) <= 80 and _DURATION.fullmatch(text)):
        return "time"
    if len(text) <= 80 and (branch := _of_figures(text)) is not None:
        return branch
    if len(text) <= 400 and (
        _TEX.search(text)
        or (_FORMULA.fullmatch(text) and any(letter.isdigit() for letter in text))
        or (_LONE_LETTERS.fullmatch(text) and _OPERATED.search(text))
        or _is_mathematics(text)
    ):
        return "math" if text else "text"
    return "text"


def _is_mathematics(text: str) -> bool:
    """Returns whether the mathematical reader understands a plain text without reading a word of it as a product of
    letters.

    In "y = mx + b" and "2xy", adjacent letters are a product; in "New York", "AC/DC", "x-ray" and "Bob", they spell a
    word.
    """
    try:
        node = read(text).node
    except (Unreadable, TooExpensive):
        return False
    parts = list(walk(node))
    if any(isinstance(part, Text) for part in parts):
        return False
    if isinstance(node, NamedSet) or node == Constant("oo"):
        return True
    if node == Braces(()):
        return _NO_SOLUTION.search(text) is not None
    spelt = _WORD.findall(text)
    listed = isinstance(node, Listing) and all(isinstance(item, (Symbol, Constant)) for item in node.items)
    if not any(letter.isdigit() for letter in text) and not _SIGN.search(text) and not (listed and not spelt):
        return False
    counted = [part for part in parts if isinstance(part, Measure)]
    nouns = {word for part in counted for word in part.unit.split()}
    if any(free_symbols(part) for part in counted) or len(nouns) > _MAX_COUNTED or not nouns.isdisjoint(_SCALES):
        return False
    if any(isinstance(part, Sum | Product | Quotient) and _holds_measure(part) for part in parts):
        return False
    ordinal = _ORDINAL.match(text) is not None
    if not _CONDITIONS.isdisjoint(spelt):
        spelt = [word for word in spelt if word not in _OF_NUMBERS]
    return all(_is_written_in_mathematics(word, text, nouns, ordinal) for word in spelt)


def is_value(text: Any) -> bool:
    """Returns whether an answer is a value that an option's letter may stand for: mathematics with a number in it and
    without a letter that names an option.
    """
    try:
        node = read(text).node if isinstance(text, str) else None
    except (Unreadable, TooExpensive):
        return False
    if node is None or any(_LETTER.fullmatch(name) for name in free_symbols(node)):
        return False
    return any(isinstance(part, Number) for part in walk(node))


def _holds_measure(node: Node) -> bool:
    return any(isinstance(child, Measure) for child in children(node))


def _is_written_in_mathematics(word: str, text: str, nouns: set[str], ordinal: bool) -> bool:
    """Returns whether adjacent letters are a mathematical word, something that a number counts, or a product."""
    lower = word.lower()
    if lower in _SAID or lower in words.NUMBER_WORDS or is_unit(lower):
        return True
    if lower in nouns:
        return word == lower or ordinal
    if word.isupper():
        return any(sign in text for sign in "=<>:")  # AB = 5, AB : BC = 1 : 2
    if word != lower or len(word) > _MAX_PRODUCT:
        return False
    hyphenated = _HYPHENATED.search(text) is not None and "=" not in text
    return (_SIGN.search(text) is not None and not hyphenated) or re.search(rf"\d{word}", text) is not None
