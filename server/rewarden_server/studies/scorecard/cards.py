"""The scorecard: how often a verifier is right on labelled rollouts, with intervals, and which rows it gets wrong.

A row is `{"id", "sample" | "samples", "params"?, "label", "kind"?, "why"?}`. A label is `true` or `false` (should the
sample pass?), a number (the expected score), or, for `samples`, a list of them. An unscored verdict is never right, and
is counted apart: a verifier must not look better for saying nothing. `kind` is the kind of answer, by which rows are
told apart; where a row does not say it, it is what its reference looks like.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rewarden.types import BadSample, Batch, Sample, Use, Verdict
from rewarden.wire.json import sample_from_json
from rewarden_server.engine.engine import Engine
from rewarden_server.studies.scorecard.kinds import kind_of


@dataclass(frozen=True, slots=True)
class Row:
    """A labelled row: samples of one group (mostly one), with a label for each."""

    id: str
    samples: tuple[Sample, ...]
    labels: tuple[bool | float, ...]
    params: Mapping[str, Any]
    kind: str
    why: str


@dataclass(slots=True)
class Counts:
    """Counts over labelled rows. Positive: should pass. unscored_positive: of the unscored, those that should pass."""

    true_positive: int = 0
    false_positive: int = 0
    true_negative: int = 0
    false_negative: int = 0
    score_right: int = 0
    score_wrong: int = 0
    undecided: int = 0
    error: int = 0
    unscored_positive: int = 0

    @property
    def positive(self) -> int:
        """Returns the number of rows that should pass."""
        return self.true_positive + self.false_negative + self.unscored_positive

    @property
    def rows(self) -> int:
        """All that was judged."""
        decided = self.true_positive + self.false_positive + self.true_negative + self.false_negative
        return decided + self.score_right + self.score_wrong + self.undecided + self.error

    @property
    def right(self) -> int:
        """Returns the number of rows that were judged as labelled."""
        return self.true_positive + self.true_negative + self.score_right

    def count(self, label: bool | float, verdict: Verdict) -> bool:
        """Count one verdict; returns whether it is as labelled."""
        if verdict.status != "scored":
            self.undecided += verdict.status == "undecided"
            self.error += verdict.status == "error"
            self.unscored_positive += label is True
        elif isinstance(label, bool):
            passed = verdict.passed if verdict.passed is not None else verdict.score == verdict.range[1]
            if passed:
                self.true_positive += label
                self.false_positive += not label
            else:
                self.true_negative += not label
                self.false_negative += label
            return passed == label
        else:
            right = verdict.score is not None and math.isclose(verdict.score, label, abs_tol=1e-6)
            self.score_right += right
            self.score_wrong += not right
            return right
        return False


@dataclass(slots=True)
class Card(Counts):
    """A verifier's counts, in all and by kind of answer. `misses` are (row id, label, verdict, why)."""

    verifier: str = ""
    kinds: dict[str, Counts] = field(default_factory=dict)
    misses: list[tuple[str, bool | float, Verdict, str]] = field(default_factory=list)

    def judge(self, row: Row, label: bool | float, verdict: Verdict) -> None:
        """Count one verdict of a row."""
        self.kinds.setdefault(row.kind, Counts()).count(label, verdict)
        if not self.count(label, verdict):
            self.misses.append((row.id, label, verdict, row.why))


def load_rows(path: Path) -> list[Row]:
    """The rows of a labelled file. Raises ValueError with file and line for one that is not of the form."""
    rows: list[Row] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1):
        if line.strip():
            try:
                rows.append(_row(json.loads(line), f"{path.stem}-{number}"))
            except (KeyError, TypeError, ValueError) as error:
                raise ValueError(f"{path.name}:{number}: {error!r}") from error
    return rows


def _row(row: Mapping[str, Any], default_id: str) -> Row:
    given: Sequence[Any] = row["samples"] if "samples" in row else [row["sample"]]
    labels = row["label"] if isinstance(row["label"], list) else [row["label"]] * len(given)
    if len(labels) != len(given):
        raise ValueError(f"{len(given)} samples but {len(labels)} labels")
    samples: list[Sample] = []
    for value in given:
        sample = sample_from_json(value)
        if isinstance(sample, BadSample):
            raise ValueError(sample.message)
        samples.append(sample)
    checked = tuple(label if isinstance(label, bool) else float(label) for label in labels)
    kind = row["kind"] if "kind" in row else kind_of(samples[0].reference)
    return Row(str(row.get("id", default_id)), tuple(samples), checked, row.get("params", {}), kind, row.get("why", ""))


AT_ONCE = 8
"""Rows that are judged side by side: a program or a proof is mostly waited for."""


async def score(
    engine: Engine, verifier: str, rows: Sequence[Row], advance: Callable[[int], None] = lambda rows: None
) -> Card:
    """Judge labelled rows and count. Each row is a batch of its own, so that groups stay apart.

    advance: told how many more rows have been judged.
    """
    card = Card(verifier=verifier)
    for start in range(0, len(rows), AT_ONCE):
        some = rows[start : start + AT_ONCE]
        batches = [Batch(samples=row.samples, use=Use(name=verifier, params=row.params)) for row in some]
        results = await asyncio.gather(*(engine.verify(batch, source="scorecard") for batch in batches))
        for row, result in zip(some, results, strict=True):
            for label, verdict in zip(row.labels, result.verdicts, strict=True):
                card.judge(row, label, verdict)
        advance(len(some))
    return card
