"""The figures of one place of a run (a step, or some seconds) and one data source: sums and counts of bounded size."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from enum import IntEnum
from math import isqrt
from operator import mul
from typing import Any

from rewarden.types import Verdict, VerifierRef
from rewarden_server.observe.rewards import position_of
from rewarden_server.observe.series import OTHER
from rewarden_verifiers.chat import Usage

NAME_CHARS = 120
"""The longest stored name of a source, reason or flag, in characters."""

MOST_NAMES = 200
"""Distinct names of one kind within a place or run; later ones count as `other`. Attack: reasons of inline recipes,
flags and data sources are chosen by the caller."""

POSITION_BOUNDS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.999999, 1.0)
"""Upper bounds of the buckets of positions. The ends have their own: most rewards are 0 or 1."""

_SHAPES, _GATHERED = 256, 4096
"""Shapes, and verdicts of one shape, that are collected before they are added up, so that neither shapes nor lengths
grow without end."""


class Kind(IntEnum):
    """A kind of count, by name or by the number of a bucket."""

    SOURCE = 0
    STATUS = 1
    REASON = 2
    FLAG = 3
    FAULT = 4
    VERIFIER = 5
    POSITION = 6
    LENGTH = 7


BUCKETS = (Kind.POSITION, Kind.LENGTH)
"""The kinds that are counted by the number of a bucket."""

SUMS = (
    "verdicts",
    "scored",
    "judged",
    "passed",
    "flagged",
    "no_answer",
    "truncated",
    "cached",
    "measured",
    "chars",
    "counted",
    "tokens",
    "run_s",
    "queue_s",
    "judge_calls",
    "judge_tokens",
    "cost_usd",
    "score",
    "positions",
    "position",
    "squares",
    "all_pass",
    "all_fail",
    "flat",
    "mixed",
    "partly",
    "single",
)
"""The sums that are stored. judged: verdicts that say whether they passed; measured: with a response; counted: with a
number of tokens; judge_calls: requests to judges, judge_tokens: of their prompts and completions, cost_usd: in US
dollars, 0 without a price; positions: scores that have one, of which `position` is the sum and `squares` the sum of
squares; then groups by kind."""


def bounds_of(bucket: int) -> tuple[int, int]:
    """The shortest and the longest length of a bucket. Its number is that of the bits of a length's square: there are
    two buckets for each power of two."""
    if bucket == 0:
        return 0, 0
    return isqrt((1 << bucket - 1) - 1) + 1, isqrt((1 << bucket) - 1)


class Figures:
    """The figures of verdicts; see `SUMS`. began, latest: the times of the first and the last verdict, in seconds since
    the epoch.

    Most verdicts of a place differ only in their lengths and times. So `add` counts *shapes* and appends lengths, which
    takes half the time of adding up each verdict; `fold` adds up what was collected.
    """

    __slots__ = ("_counts", "_lengths", "_shapes", "_sums", "_tokens", "began", "latest", "queue_s", "run_s")

    def __init__(self, began: float) -> None:
        self.began = self.latest = began
        self.run_s = self.queue_s = 0.0
        self._shapes: dict[tuple[Any, ...], list[Any]] = {}
        self._lengths: list[int] = []
        self._tokens: list[int] = []
        self._sums: dict[str, float] = dict.fromkeys(SUMS, 0)
        self._counts: dict[Kind, dict[Any, int]] = {kind: {} for kind in Kind}

    def add(self, now: float, verdict: Verdict, length: int, tokens: int | None) -> None:
        """Counts a verdict. length: of the response in characters, -1 if there is none."""
        self.latest = now
        cached, ref = verdict.cached, verdict.verifier
        if not cached:
            self.run_s += verdict.run_s
            self.queue_s += verdict.queue_s
        if length >= 0:
            self._lengths.append(length)
        if tokens is not None:
            self._tokens.append(tokens)
        shape = (
            verdict.status,
            verdict.score,
            verdict.range,
            verdict.passed,
            verdict.reason,
            verdict.fault,
            verdict.flags,
            cached,
            id(ref),  # to hash a reference takes longer
        )
        known = self._shapes.get(shape)
        if known is None:
            if len(self._shapes) >= _SHAPES:
                self.fold()
            self._shapes[shape] = [1, ref]
        elif known[0] < _GATHERED:
            known[0] += 1
        else:
            self.fold()
            self._shapes[shape] = [1, ref]

    def spend(self, now: float, usage: Usage) -> None:
        """Counts a request to a judge."""
        self.latest = now
        self._sums["judge_calls"] += 1
        self._sums["judge_tokens"] += usage.prompt_tokens + usage.completion_tokens
        self._sums["cost_usd"] += usage.cost_usd or 0.0

    def add_group(self, kind: str) -> None:
        """Counts a group by its kind (`observe.rewards.kind_of`)."""
        self._sums[kind] += 1

    def sums(self) -> list[float]:
        """Returns the sums, in the order of `SUMS`, after folding."""
        self._sums["run_s"], self._sums["queue_s"] = self.run_s, self.queue_s
        return [value if math.isfinite(value) else 0 for value in self._sums.values()]

    def sum(self, name: str) -> float:
        """Returns one of the sums, after folding."""
        return self._sums[name]

    def counts(self) -> Iterator[tuple[Kind, Any, int]]:
        """Yields the counts, after folding: the kind, a name or the number of a bucket, and the count."""
        for kind, counts in self._counts.items():
            for name, count in counts.items():
                yield kind, name, count

    def fold(self) -> None:
        """Adds up what was collected."""
        lengths, self._lengths = self._lengths, []
        shapes, self._shapes = self._shapes, {}
        tokens, self._tokens = self._tokens, []
        self._sums["counted"] += len(tokens)
        self._sums["tokens"] += sum(tokens)
        self._sums["measured"] += len(lengths)
        self._sums["chars"] += sum(lengths)
        of_lengths = self._counts[Kind.LENGTH]
        for bucket, count in Counter(map(int.bit_length, map(mul, lengths, lengths))).items():
            of_lengths[bucket] = of_lengths.get(bucket, 0) + count
        for shape, (count, ref) in shapes.items():
            self._add_up(shape[:-1], ref, count)

    def _add_up(self, shape: tuple[Any, ...], ref: VerifierRef | None, count: int) -> None:
        status, score, range, passed, reason, fault, flags, cached = shape
        sums = self._sums
        sums["verdicts"] += count
        sums["cached"] += count if cached else 0
        if ref is not None:
            self._count(Kind.VERIFIER, f"{ref.name[:NAME_CHARS]} {ref.version} {ref.fingerprint}", count)
        for kind, name in ((Kind.REASON, reason), (Kind.FAULT, fault)):
            if name is not None:
                self._count(kind, name[:NAME_CHARS], count)
        sums["flagged"] += count if flags else 0
        for flag in flags:
            if flag in ("no_answer", "truncated"):
                sums[flag] += count
            self._count(Kind.FLAG, flag[:NAME_CHARS], count)
        if score is None:
            self._count(Kind.STATUS, status, count)
            return
        sums["scored"] += count
        sums["score"] += count * score
        if passed is not None:
            sums["judged"] += count
            sums["passed"] += count if passed else 0
        position = position_of(score, range)
        if position is not None:
            sums["positions"] += count
            sums["position"] += count * position
            sums["squares"] += count * position * position
            self._count(Kind.POSITION, bisect_left(POSITION_BOUNDS, position), count)

    def _count(self, kind: Kind, name: Any, count: int) -> None:
        """Counts a name, or `other` if there are too many names."""
        counts = self._counts[kind]
        if name not in counts and len(counts) >= MOST_NAMES:
            name = OTHER
        counts[name] = counts.get(name, 0) + count
