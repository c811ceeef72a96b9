"""The verdicts that a person should look at: a bounded number, with bounded excerpts of their texts."""

from __future__ import annotations

import heapq
import json
from collections.abc import Mapping
from dataclasses import astuple, dataclass, fields
from typing import Any

from rewarden.types import Sample, Verdict

_TEXT_CHARS = 600
_SHORT_CHARS = 200
_SPREAD = 2654435761  # Knuth's multiplicative hash: the same rows for the same verdicts


@dataclass(frozen=True, slots=True)
class Row:
    """A verdict in a table. Texts are excerpts: of the response its beginning and its end; the last message's where it
    is a chat.
    """

    id: str
    data_source: str
    group: str | None
    status: str
    score: float | None
    reason: str | None
    fault: str | None
    extracted: str | None
    response: str | None
    feedback: str | None

    @property
    def cells(self) -> tuple[Any, ...]:
        """The values, in the order of `COLUMNS`."""
        return astuple(self)


COLUMNS = tuple(field.name for field in fields(Row))


class Rows:
    """Keeps the `most` rows that are worst: those with the greatest `badness`. Ties are broken as if by chance, because
    the first ones of a batch would mostly be siblings.
    """

    __slots__ = ("_count", "_heap", "_most")

    def __init__(self, most: int) -> None:
        self._most = most
        self._heap: list[tuple[float, int, int, Row | tuple[Verdict, Sample | None]]] = []
        self._count = 0

    def add(self, badness: float, verdict: Verdict, sample: Sample | None) -> None:
        """Keep it if it is among the worst. Its texts are read by `settle`: few of a call's rows stay."""
        self._count += 1
        tie = self._count * _SPREAD & 0xFFFFFFFF
        if len(self._heap) < self._most:
            heapq.heappush(self._heap, (badness, tie, self._count, (verdict, sample)))
        elif self._heap and (badness, tie) > self._heap[0][:2]:
            heapq.heapreplace(self._heap, (badness, tie, self._count, (verdict, sample)))

    def settle(self) -> None:
        """Make excerpts of what stayed, so that no whole response is held longer than a call."""
        for place, (badness, tie, count, kept) in enumerate(self._heap):
            if not isinstance(kept, Row):
                self._heap[place] = badness, tie, count, _row(*kept)

    def take(self) -> tuple[Row, ...]:
        """The rows, the worst first; they are given away."""
        self.settle()
        ordered = sorted(self._heap, key=lambda entry: (-entry[0], entry[2]))
        found = tuple(entry[3] for entry in ordered if isinstance(entry[3], Row))
        self._heap = []
        return found


def badness(verdict: Verdict, score: float) -> float:
    """Returns the distance of a score from full marks as a share of its range, which makes different ranges
    comparable.
    """
    low, high = verdict.range
    return (high - score) / (high - low) if high > low else 0.0


def text(value: Any, chars: int = _TEXT_CHARS) -> str:
    """Any value as a text of about `chars` characters: the beginning and, twice as much, the end."""
    whole = value if isinstance(value, str) else _json(value)
    if len(whole) > chars:
        head, tail = chars // 3, chars - chars // 3
        whole = f"{whole[:head]} … ({len(whole) - chars} characters omitted) … {whole[-tail:]}"
    return whole.encode("utf-8", "replace").decode()


def _json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except Exception:  # noqa: BLE001  keys that are not texts, circles, objects that cannot be shown
        return f"({type(value).__name__})"


def _row(verdict: Verdict, sample: Sample | None) -> Row:
    return Row(
        id=text(verdict.id if verdict.id is not None else str(verdict.index), _SHORT_CHARS),
        data_source=text(verdict.data_source or "", _SHORT_CHARS),
        group=None if verdict.group is None else text(verdict.group, _SHORT_CHARS),
        status=verdict.status,
        score=verdict.score,
        reason=None if verdict.reason is None else text(verdict.reason, _SHORT_CHARS),
        fault=verdict.fault,
        extracted=None if verdict.extracted is None else text(verdict.extracted, _SHORT_CHARS),
        # A row that was refused before it was a sample has no response.
        response=text(_said(sample.response)) if isinstance(sample, Sample) else None,
        feedback=None if verdict.feedback is None else text(verdict.feedback),
    )


def _said(response: Any) -> Any:
    """Returns the last message of the model."""
    if not isinstance(response, (list, tuple)) or not response or not isinstance(response[-1], Mapping):
        return response
    content = response[-1].get("content")
    if not isinstance(content, (list, tuple)):
        return content or ""
    return "".join(str(part.get("text", "")) if isinstance(part, Mapping) else str(part) for part in content)
