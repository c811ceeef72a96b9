"""A reference read once: its alternatives, each under every style in which its text can be read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from rewarden_verifiers.answer.math.cursor import Style
from rewarden_verifiers.answer.math.limits import MAX_REFERENCE_TEXT, MAX_TEXT, TooExpensive, Unreadable
from rewarden_verifiers.answer.math.reading import read
from rewarden_verifiers.answer.math.syntax import Node, Text
from rewarden_verifiers.extraction import boxes

# One answer, or several of which one must be met.
Reference: TypeAlias = str | int | float | list[str | int | float] | dict[Literal["any_of"], list[str | int | float]]
Problem: TypeAlias = Literal["empty_reference", "unreadable_reference", "reference_too_expensive"]

_SEGMENT = re.compile(r"\$\$?([^$]{1,2000})\$\$?")
_MATHEMATICAL = re.compile(r"\\(?!text|mathrm|mbox|,|;|!| )[A-Za-z]|[\^_=<>]")


@dataclass(slots=True)
class Alternative:
    """One reference: its text and its trees, the usual reading first."""

    text: str
    nodes: list[Node]
    unreadable: bool = False  # words where mathematics was meant


@dataclass(slots=True)
class PreparedReference:
    """Everything about a reference that does not depend on a candidate."""

    alternatives: list[Alternative] = field(default_factory=list)
    problem: Problem | None = None
    limit: int = MAX_TEXT  # how long a candidate may be


def prepare_reference(reference: Reference) -> PreparedReference:
    """Read all alternatives. Never raises: what is wrong with the reference is `problem`."""
    prepared = PreparedReference()
    for text in _texts(reference):
        stated = _stated(text)
        if not stated.strip():
            prepared.problem = "empty_reference"
            continue
        prepared.limit = max(prepared.limit, 2 * len(stated))
        try:
            prepared.alternatives.append(_alternative(stated))
        except TooExpensive:
            prepared.alternatives.append(Alternative(stated, []))
            prepared.problem = prepared.problem or "reference_too_expensive"
        except Unreadable:
            prepared.problem = "empty_reference"
    if not prepared.alternatives:
        prepared.problem = prepared.problem or "empty_reference"
    return prepared


def readings(text: str, limit: int) -> Iterator[Node]:
    """The usual reading of a text, then the others, lazily."""
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
    if isinstance(nodes[0], Text):
        segments = _SEGMENT.findall(text)
        if len(segments) == 1:  # "The answer is $5$."
            inner = list(readings(segments[0], MAX_REFERENCE_TEXT))
            if not isinstance(inner[0], Text):
                return Alternative(text, inner)
        return Alternative(text, nodes, unreadable=_MATHEMATICAL.search(text.replace("$", "")) is not None)
    return Alternative(text, nodes)


def _texts(reference: Reference) -> list[str]:
    if isinstance(reference, dict):
        values: Sequence[str | int | float] = reference.get("any_of", [])
    elif isinstance(reference, list):
        values = reference
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


def _stated(text: str) -> str:
    """The answer in a reference that is a solution: what is boxed last, or stands after `####`."""
    if "\\boxed" in text:
        found = boxes(text)
        if found:
            return found[-1][2]
    _, marks, tail = text.rpartition("####")
    return tail.strip() if marks and tail.strip() else text
