"""A critic's findings: the schema of its reply, and checks of its steps and spans against the response."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewarden.types import StepScore
from rewarden_verifiers.judges.critic_params import Params
from rewarden_verifiers.judges.fencing import harmless
from rewarden_verifiers.judges.neutral_text import as_long
from rewarden_verifiers.judges.quotes import quoted, readable
from rewarden_verifiers.judges.replies import UnreadableError, object_of

_TEXT = {"type": "string"}
_LABEL = {"type": "string", "enum": ["correct", "incorrect"]}


@dataclass(frozen=True, slots=True)
class Grade:
    """The grade of a step or span: a score from 0 to 1, its label if it has one, and the reason."""

    score: float
    label: str | None = None
    reason: str = ""

    def step(self, place: int, longest: int) -> StepScore:
        """The grade as a step of an outcome. longest: maximum number of characters of the reason."""
        return StepScore(index=place, score=self.score, label=self.label, feedback=self.reason[:longest] or None)


@dataclass(frozen=True, slots=True)
class Span:
    """A quoted part of the response. start, end: in characters; None if it matches only after control sequences are
    neutralised, or after spaces and quotation marks are normalised.
    """

    quote: str
    start: int | None
    end: int | None
    grade: Grade


def steps_schema(count: int, params: Params) -> dict[str, Any]:
    """The schema of a reply about `count` steps."""
    item = _entry({"index": {"type": "integer", "minimum": 1, "maximum": count}}, params)
    return object_of({"steps": {"type": "array", "minItems": count, "maxItems": count, "items": item}})


def whole_schema(params: Params) -> dict[str, Any]:
    """The schema of a reply about spans, or about the reasoning as a whole."""
    if params.mode == "spans":
        item = _entry({"quote": _TEXT}, params)
        return object_of({"spans": {"type": "array", "maxItems": params.max_spans, "items": item}})
    if params.mode == "trace":
        return object_of({"reason": _TEXT, "score": params.scale.schema()})
    return object_of({"reason": _TEXT, "verdict": _LABEL})


def grades(found: Mapping[str, Any], count: int, params: Params) -> list[Grade]:
    """The grades of the steps in order. Raises UnreadableError unless each step is graded exactly once."""
    by_index = {entry["index"]: entry for entry in found["steps"]}
    if sorted(by_index) != list(range(1, count + 1)):
        raise UnreadableError("not every step once")
    return [_grade(by_index[index], params) for index in range(1, count + 1)]


def spans(found: Mapping[str, Any], response: str, params: Params) -> list[Span]:
    """The spans in the order of the reply. Raises UnreadableError for a quote that does not occur in the response."""
    shown = harmless(response).text
    made: list[Span] = []
    begin: dict[str, int] = {}
    for entry in found["spans"]:
        quote = entry["quote"]
        if not quote.strip():
            raise UnreadableError("an empty quote")
        # A repeated quote refers to the next occurrence.
        start = response.find(quote, begin.get(quote, 0))
        if start < 0:
            if quote in begin:
                raise UnreadableError("a span is quoted more often than it occurs")
            # The judge may have been shown a neutral text instead; then it only matters whether the reply is readable.
            there = quote in shown or quote in as_long(shown)
            # Models often normalise quotation marks and spaces, and no response should pay for that.
            if not there and not quoted(quote, readable(response)):
                raise UnreadableError("a quote is not in the response")
            begin[quote] = len(response)
            made.append(Span(quote, None, None, _grade(entry, params)))
            continue
        end = begin[quote] = start + len(quote)
        made.append(Span(quote, start, end, _grade(entry, params)))
    return made


def _grade(entry: Mapping[str, Any], params: Params) -> Grade:
    if params.grade == "scale":
        return Grade(params.scale.share(entry["score"]), None, entry["reason"])
    return Grade(float(entry["label"] == "correct"), entry["label"], entry["reason"])


def _entry(first: dict[str, Any], params: Params) -> dict[str, Any]:
    """The schema of an entry for a step or span: what it refers to, the reason, and then the grade."""
    grade = {"score": params.scale.schema()} if params.grade == "scale" else {"label": _LABEL}
    return object_of({**first, "reason": _TEXT, **grade})


def means(opinions: Sequence[Sequence[Grade]]) -> list[Grade]:
    """Averages several opinions on the same steps: the mean score of each step, with the label and reason closest to
    it.
    """
    found: list[Grade] = []
    for given in zip(*opinions, strict=True):
        score = sum(one.score for one in given) / len(given)
        near = min(given, key=lambda one: abs(one.score - score))
        found.append(Grade(score, near.label, near.reason))
    return found
