"""Counts of a run, by data source, as its rows are written. Bounded, and JSON-ready for the journal's checkpoints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field, fields
from typing import Any

from rewarden_server.studies.rescore.baseline import Baseline
from rewarden_verifiers.execution.results import JUDGE_FAILED

MOST_SOURCES = 1000
MOST_NAMES = 1000
"""Sources, and reasons or flags of a source, that are counted by name; a mistaken column must not eat the memory."""
_MOST_MESSAGES = 20
"""Messages of a source: of mistakes in requests and references there are few kinds, or one for each row."""
OTHER = "(other)"
_LONGEST_NAME = 200


@dataclass(slots=True)
class Counts:
    """The counts of one data source. `judged`: scored by a verifier that has a notion of passing. `score_sum` is over
    the scored. `judge_failures`: by group, or row without one: the outputs on which the reference's own judge failed,
    which were blamed on the policy. `mistakes`: the feedback of verdicts without a
    score that are the fault of the caller or the reference.
    """

    rows: int = 0
    copied: int = 0
    left_out: int = 0
    responses: int = 0
    scored: int = 0
    judged: int = 0
    passed: int = 0
    score_sum: float = 0.0
    excluded: int = 0
    no_answer: int = 0
    truncated: int = 0
    undecided: Counter[str] = field(default_factory=Counter)
    error: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    flags: Counter[str] = field(default_factory=Counter)
    verifiers: Counter[str] = field(default_factory=Counter)
    judge_failures: Counter[str] = field(default_factory=Counter)
    mistakes: Counter[str] = field(default_factory=Counter)

    def add(self, verdict: Mapping[str, Any], group: str) -> None:
        """Count a verdict, in its JSON form. group: that of its sample, which shares one reference."""
        self.responses += 1
        status = verdict["status"]
        flags = verdict.get("flags") or ()
        if status == "scored":
            self.scored += 1
            self.score_sum += verdict.get("score") or 0.0
            passed = verdict.get("passed")
            if passed is not None:
                self.judged += 1
                self.passed += passed
        else:
            of_status = self.undecided if status == "undecided" else self.error
            _bump(of_status, verdict.get("fault") or "unknown")
            if verdict.get("fault") in ("caller", "reference") and verdict.get("feedback"):
                _bump(self.mistakes, verdict["feedback"][:_LONGEST_NAME], _MOST_MESSAGES)
        self.excluded += bool(verdict.get("exclude"))
        self.no_answer += "no_answer" in flags
        self.truncated += "truncated" in flags
        if verdict.get("reason"):
            _bump(self.reasons, verdict["reason"])
        for flag in flags:
            _bump(self.flags, flag)
        if JUDGE_FAILED in flags:
            _bump(self.judge_failures, group[:_LONGEST_NAME])
        ref = verdict.get("verifier")
        if ref:
            _bump(self.verifiers, f"{ref['name']} {ref['version']} {ref['fingerprint']}")

    def merge(self, other: Counts) -> None:
        """Add another's counts."""
        for item in fields(self):
            value = getattr(other, item.name)
            if isinstance(value, Counter):
                getattr(self, item.name).update(value)
            else:
                setattr(self, item.name, getattr(self, item.name) + value)


class Tally:
    """The counts of all data sources, in order of appearance, and what was set aside.

    baseline: the column of the scores that the rows have already, and from where on they pass; None if none has one.
    """

    def __init__(self, state: Mapping[str, Any] | None = None, baseline: tuple[str, float] | None = None) -> None:
        known = None if state is None else state.get("baseline")
        self.baseline = None if baseline is None else Baseline(*baseline, known)
        self.sources: dict[str, Counts] = {}
        self.places: dict[str, int] = {}
        self.rejected = 0
        if state is not None:
            self.rejected = state["rejected"]
            for name, values in state["sources"]:
                read: dict[str, Any] = {
                    key: Counter(value) if isinstance(value, dict) else value for key, value in values.items()
                }
                self.places[name] = len(self.sources)
                self.sources[name] = Counts(**read)

    def of(self, source: str | None) -> tuple[str, Counts]:
        """A source's counts, and the name under which it is counted."""
        name = source or ""
        counts = self.sources.get(name)
        if counts is None:
            if len(self.sources) >= MOST_SOURCES:
                name = OTHER
            counts = self.sources.setdefault(name, Counts())
            self.places.setdefault(name, len(self.places))
        return name, counts

    def total(self) -> Counts:
        """All sources together."""
        total = Counts()
        for counts in self.sources.values():
            total.merge(counts)
        return total

    def state(self) -> dict[str, Any]:
        """Returns the state, ready for JSON, from which `Tally` can be restored."""
        return {
            "rejected": self.rejected,
            **({} if self.baseline is None else {"baseline": self.baseline.state()}),
            "sources": [
                [name, {item.name: copy(getattr(counts, item.name)) for item in fields(counts)}]
                for name, counts in self.sources.items()
            ],
        }


def _bump(counter: Counter[str], name: str, most: int = MOST_NAMES) -> None:
    if name not in counter and len(counter) >= most:
        name = OTHER
    counter[name] += 1
