"""The figures of one place (a step, or some seconds) of a run and one data source: sums and counts, of bounded size."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from enum import IntEnum
from typing import TypeVar

from rewarden.types import Verdict, VerifierRef
from rewarden_server.observe.rewards import position_of
from rewarden_server.observe.series import OTHER

N = TypeVar("N", int, str)

NAME_CHARS = 120
"""Characters of a source's, reason's or flag's name that are kept."""

MOST_NAMES = 200
"""Names of one kind that one place, or one run, tells apart; later ones count as `other`. Attack: reasons of inline
recipes, flags and data sources are the caller's."""

POSITION_BOUNDS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.999999, 1.0)
"""Upper bounds of the buckets of positions. The ends stand alone: most rewards are 0 or 1."""

_LONGEST_BITS = 32


class Kind(IntEnum):
    """A kind of what is counted by name, or by the number of a bucket."""

    SOURCE = 0
    STATUS = 1
    REASON = 2
    FLAG = 3
    FAULT = 4
    VERIFIER = 5
    POSITION = 6
    LENGTH = 7


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
number of tokens; positions: scores that have one, of which `position` is the sum and `squares` the sum of squares; then
groups by kind."""


def bucket_of(length: int) -> int:
    """The number of a length's bucket: two for each power of two."""
    bits = length.bit_length()
    return 2 * bits + (length >> bits - 2 & 1) if bits > 1 else bits


def bounds_of(bucket: int) -> tuple[int, int]:
    """The shortest and the longest length of a bucket."""
    if bucket < 2:
        return bucket, bucket
    bits, upper = divmod(bucket, 2)
    half = 1 << bits - 2
    low = 2 * half + upper * half
    return low, low + half - 1


class Figures:
    """The figures of verdicts; see `SUMS`. began, latest: when its first verdict came,
    and the last one, in seconds since the epoch."""

    __slots__ = (*SUMS, "began", "faults", "flags", "latest", "lengths", "places", "reasons", "statuses", "verifiers")

    def __init__(self, began: float) -> None:
        self.began = self.latest = began
        self.verdicts = self.scored = self.judged = self.passed = self.flagged = self.no_answer = self.truncated = 0
        self.cached = self.measured = self.chars = self.counted = self.tokens = self.positions = 0
        self.run_s = self.queue_s = self.score = self.position = self.squares = 0.0
        self.all_pass = self.all_fail = self.flat = self.mixed = self.partly = self.single = 0
        self.statuses: dict[str, int] = {}
        self.reasons: dict[str, int] = {}
        self.flags: dict[str, int] = {}
        self.faults: dict[str, int] = {}
        self.verifiers: dict[int, tuple[VerifierRef, int]] = {}  # by identity: to hash a reference takes longer
        self.places: dict[int, int] = {}
        self.lengths: dict[int, int] = {}

    def add(self, now: float, verdict: Verdict, length: int, tokens: int | None) -> None:
        """Count a verdict. length: of the response in characters, -1 where there is none."""
        self.latest = now
        self.verdicts += 1
        if verdict.cached:
            self.cached += 1
        else:
            self.run_s += verdict.run_s
            self.queue_s += verdict.queue_s
        if length >= 0:
            self.measured += 1
            self.chars += length
            _count(self.lengths, bucket_of(length))
        if tokens is not None:
            self.counted += 1
            self.tokens += tokens
        ref = verdict.verifier
        if ref is not None:
            known = self.verifiers.get(id(ref))
            if known is not None:
                self.verifiers[id(ref)] = (ref, known[1] + 1)
            elif len(self.verifiers) < MOST_NAMES:
                self.verifiers[id(ref)] = (ref, 1)
        reason = verdict.reason
        if reason is not None:
            try:
                self.reasons[reason] += 1
            except KeyError:
                _begin(self.reasons, reason)
        fault = verdict.fault
        if fault is not None:
            _count(self.faults, fault)
        if verdict.flags:
            self.flagged += 1
            for flag in verdict.flags:
                if flag == "no_answer":
                    self.no_answer += 1
                elif flag == "truncated":
                    self.truncated += 1
                try:
                    self.flags[flag] += 1
                except KeyError:
                    _begin(self.flags, flag)
        score = verdict.score
        if score is None:
            _count(self.statuses, verdict.status)
            return
        self.scored += 1
        self.score += score
        if verdict.passed is not None:
            self.judged += 1
            self.passed += verdict.passed
        position = position_of(verdict)
        if position is not None:
            self.positions += 1
            self.position += position
            self.squares += position * position
            _count(self.places, bisect_left(POSITION_BOUNDS, position))

    def add_group(self, kind: str) -> None:
        """Count a group by its kind (`observe.rewards.kind_of`)."""
        setattr(self, kind, getattr(self, kind) + 1)

    def names(self) -> Iterator[tuple[Kind, str, int]]:
        """Yields the counts by name: kind, name and number."""
        named = ((Kind.REASON, self.reasons), (Kind.FLAG, self.flags), (Kind.FAULT, self.faults))
        for kind, counts in (*named, (Kind.STATUS, self.statuses)):
            for name, count in counts.items():
                yield kind, name, count
        for ref, count in self.verifiers.values():
            yield Kind.VERIFIER, f"{ref.name[:NAME_CHARS]} {ref.version} {ref.fingerprint}", count

    def buckets(self) -> Iterator[tuple[Kind, int, int]]:
        """Yields the counts by bucket: kind, the bucket's number, and how many."""
        for kind, counts in ((Kind.POSITION, self.places), (Kind.LENGTH, self.lengths)):
            for bucket, count in counts.items():
                yield kind, bucket, count


def _count(counts: dict[N, int], name: N) -> None:
    """Count one of few."""
    counts[name] = counts.get(name, 0) + 1


def _begin(counts: dict[str, int], name: str) -> None:
    """Count a name for the first time, under its short form, or as `other` where there are enough."""
    if len(name) > NAME_CHARS:
        name = name[:NAME_CHARS]
    if name not in counts and len(counts) >= MOST_NAMES:
        name = OTHER
    counts[name] = counts.get(name, 0) + 1
