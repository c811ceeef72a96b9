"""Repeats the tests that fight the kernel, and counts how often each failed: `make stress`.

A test marked `stress` runs once in `make test`, in a form that is certain, and N times here. One marked
`stress(full=True)` runs only here: its bound is what a machine can just bear, or its outcome a race that is won all but
always.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import pytest

from tests.suite.record import Record

ONLY_HERE = "the full form of a test that fights the kernel"
"""The reason why a test of `stress(full=True)` is skipped elsewhere."""
REPETITION = "repetition"
TOLD = re.compile(r"#\d+-|-#\d+(?=\])|\[#\d+\]")
"""The part that a repetition adds to the id of its test, wherever it stands among the parameters."""


def repeat(metafunc: pytest.Metafunc, times: int) -> None:
    """Let a test run so many times that is marked, or some of whose parameters are; `select` drops the others."""
    if _fights(metafunc.definition):
        metafunc.fixturenames.append(REPETITION)
        metafunc.parametrize(REPETITION, range(times), ids=[f"#{number}" for number in range(1, times + 1)])


def _fights(function: pytest.Item) -> bool:
    parameters = (value for marker in function.iter_markers("parametrize") for value in marker.args[1])
    marks = (mark.name for value in parameters for mark in getattr(value, "marks", ()))
    return function.get_closest_marker("stress") is not None or "stress" in marks


def select(items: list[pytest.Item], repeating: bool) -> None:
    """Keep only marked tests where they are repeated; skip the full forms elsewhere."""
    marked = [(item, item.get_closest_marker("stress")) for item in items]
    if repeating:
        items[:] = [item for item, marker in marked if marker is not None]
        return
    for item, marker in marked:
        if marker is not None and marker.kwargs.get("full"):
            item.add_marker(pytest.mark.skip(reason=ONLY_HERE))


@dataclass(frozen=True)
class Rate:
    """The number of times that a test ran and failed, and the seconds that its runs took together."""

    test: str
    runs: int
    failed: int
    seconds: float

    @property
    def share(self) -> float:
        """The share of its runs that failed."""
        return self.failed / self.runs


def rates(record: Record) -> list[Rate]:
    """By test, those that failed most often first. What was skipped did not run."""
    runs: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    seconds: defaultdict[str, float] = defaultdict(float)
    for name, took in record.seconds.items():
        if name not in record.skipped:
            runs[name_of(name)] += 1
            seconds[name_of(name)] += took
    failed.update(name_of(name) for name in record.failed)
    found = (Rate(test, runs[test], failed[test], round(seconds[test], 1)) for test in runs)
    return sorted(found, key=lambda rate: (-rate.share, rate.test))


def name_of(name: str) -> str:
    """A test's id without the number of its repetition."""
    return TOLD.sub("", name)


def table(found: Iterable[Rate]) -> list[str]:
    """The lines that tell the rates."""
    lines = ["   runs  failed    rate  test"]
    lines += [f"  {rate.runs:5}  {rate.failed:6}  {rate.share:6.1%}  {rate.test}" for rate in found]
    return lines
