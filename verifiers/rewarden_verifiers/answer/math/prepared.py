"""A prepared reference: its alternatives, each parsed under every style that its text allows."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, TypeAlias

from rewarden_verifiers.answer.math import fallback, words
from rewarden_verifiers.answer.math.cursor import Style
from rewarden_verifiers.answer.math.limits import MAX_REFERENCE_TEXT, MAX_TEXT, TooExpensive, Unreadable
from rewarden_verifiers.answer.math.normalise import decimal_comma
from rewarden_verifiers.answer.math.reading import read
from rewarden_verifiers.answer.math.syntax import Node, Number, Text
from rewarden_verifiers.answer.worked import answer_in, reduced, spellings_in

# One answer, or several alternatives.
Reference: TypeAlias = str | int | float | list[str | int | float] | dict[Literal["any_of"], list[str | int | float]]
Problem: TypeAlias = Literal["empty_reference", "unreadable_reference", "reference_too_expensive"]

_SEGMENT = re.compile(r"\$\$?([^$]{1,2000})\$\$?")
_MATHEMATICAL = re.compile(r"\\(?!text|mathrm|mbox|,|;|!| )[A-Za-z]|[\^_=<>]")
# Traces of mathematics: numerals and signs. A dash or slash between letters ("N/A") is not one.
_REMAINS = re.compile(r"\d|[+*|]|(?<![^\W\d_])[-/]|[-/](?![^\W\d_])")
# "Class 3", "Player 1": a name can end in a numeral.
_NUMBERED = re.compile(r"((?:[^\W\d_]+ ){1,4})\d+")
# "1.000,99", "12 345,6": with such groups, the comma is a decimal comma.
_GROUPED_WITH_COMMA = re.compile(r"\d[. \u00a0\u2009\u202f]\d{3},\d")
_UNGROUPED = re.compile(r"(?<=\d)[. \u00a0\u2009\u202f](?=\d{3})")
_LONGEST_NAME = 6
"""Maximum number of words of a reference that is a name. A longer text is a sentence, and many others say the same."""


@dataclass(slots=True)
class Alternative:
    """One reference: its text and its trees, the usual reading first.

    beyond: its notation is beyond the parser, so `fallback` reads it. unreadable: nothing can read it: words instead of
    mathematics, an incomplete formula, or prose.
    """

    text: str
    nodes: list[Node]
    beyond: bool = False
    unreadable: bool = False


@dataclass(slots=True)
class PreparedReference:
    """Everything about a reference that does not depend on a candidate."""

    alternatives: list[Alternative] = field(default_factory=list)
    problem: Problem | None = None
    limit: int = MAX_TEXT  # maximum length of a candidate
    decimal_comma: bool = False  # it has decimal commas, so a candidate can have them too
    reduced: str | None = None  # the rule that reduced a worked solution

    @property
    def fault(self) -> Problem | None:
        """Returns the problem with the reference, because of which no answer can be called wrong."""
        if self.problem is None and any(alternative.unreadable for alternative in self.alternatives):
            return "unreadable_reference"
        return self.problem


def prepare_reference(reference: Reference) -> PreparedReference:
    """Prepares all alternatives. Problems with the reference are in `problem`; only MissingDependency is raised."""
    prepared = PreparedReference()
    for text in texts_of(reference):
        found = reduced(text)
        if found is not None:
            prepared.reduced = prepared.reduced or found.rule
        stated = answer_in(text)
        if not stated.strip():
            prepared.problem = "empty_reference"
            continue
        prepared.limit = max(prepared.limit, 2 * len(stated))
        grouped = _GROUPED_WITH_COMMA.search(stated) is not None
        pointed = decimal_comma(_UNGROUPED.sub("", stated) if grouped else stated, surely=grouped)
        prepared.decimal_comma |= grouped or pointed is not None
        try:
            prepared.alternatives.append(_alternative(stated))
            if pointed is not None:
                prepared.alternatives[-1].nodes.extend(readings(pointed, MAX_REFERENCE_TEXT))
        except TooExpensive:
            prepared.alternatives.append(Alternative(stated, []))
            prepared.problem = prepared.problem or "reference_too_expensive"
        except Unreadable:
            prepared.problem = "empty_reference"
    if not prepared.alternatives:
        prepared.problem = prepared.problem or "empty_reference"
    return prepared


def readings(text: str, limit: int) -> Iterator[Node]:
    """Yields the usual reading of a text, then the others, lazily."""
    first = read(text, limit=limit)
    yield first.node
    seen: list[Style] = []
    pending = list(first.others)
    while pending and len(seen) < 4:
        style = pending.pop(0)
        if style in seen:
            continue
        seen.append(style)
        yield read(text, style, limit).node


def _alternative(text: str) -> Alternative:
    nodes = list(readings(text, MAX_REFERENCE_TEXT))
    if not isinstance(nodes[0], Text):
        # A missing value of a table, "nan", parses as a product of letters, and "12 or maybe 13" as a list.
        said = words.plain(text).split()
        return Alternative(text, nodes, unreadable=said == ["nan"] or not words.DOUBTS.isdisjoint(said))
    segments = _SEGMENT.findall(text)
    if len(segments) == 1:  # "The answer is $5$."
        inner = list(readings(segments[0], MAX_REFERENCE_TEXT))
        if not isinstance(inner[0], Text):
            return Alternative(text, inner)
    value = fallback.value_of(text)
    if value is not None:
        return Alternative(text, [_valued(value)], beyond=True)
    if fallback.same(text, "1") is not None:
        return Alternative(text, nodes, beyond=True)
    return Alternative(text, nodes, unreadable=not _is_name(text, nodes[0].words))


def _valued(value: Fraction) -> Number:
    """A value from the fallback: a whole number, or a decimal with as many places as are known."""
    if value.denominator == 1:
        return Number(value)
    places = fallback.DIGITS - 1 - math.floor(math.log10(abs(value)))
    return Number(value, max(places, 1))


def _is_name(text: str, plain: str) -> bool:
    """Returns whether a reference in words is the name of something ("odd", "First player"), so that an answer either
    has it or is wrong. An answer that differs from prose, or from an incomplete formula, can still be right. plain: the
    reference without markup.
    """
    bare = text.replace("$", "")
    if _MATHEMATICAL.search(bare) or sum(map(str.isalpha, plain.split())) > _LONGEST_NAME:
        return False
    if any(bare.count(opening) != bare.count(closing) for opening, closing in ("{}", "()", "[]")):
        return False
    numbered = _NUMBERED.fullmatch(plain)
    if numbered is not None:
        return words.HEDGES.isdisjoint(numbered[1].split())
    return _REMAINS.search(bare) is None


def texts_of(reference: Reference) -> list[str]:
    """The alternatives of a reference, as texts."""
    if isinstance(reference, dict):
        values: Sequence[str | int | float] = reference.get("any_of", [])
    elif isinstance(reference, list):
        values = reference
    elif isinstance(reference, str):
        values = spellings_in(reference) or [reference]
    else:
        values = [reference]
    return [value if isinstance(value, str) else _number(value) for value in values]


def _number(value: int | float) -> str:
    """A JSON number as text; whole floats lose their point, so that 3.0 means 3."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    text = repr(value)
    mantissa, exponent, power = text.partition("e")
    return f"{mantissa} \\times 10^{{{int(power)}}}" if exponent else text
