"""The first verdicts of each use: where most responses have no answer that is read, another `extraction` may read it.

A run whose extraction is stricter than its policy's habits trains on zeros, and nothing else tells: the verdicts are
right. So the first responses without an answer are judged once more with laxer extractions, and the caller is told what
that finds. No verdict and no score changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from rewarden.reading import read_by
from rewarden.types import Sample, Use, Verdict

FIRST = 64
"""Verdicts of a use that are looked at."""

_MOST_USES = 256
"""Uses that are looked at: callers may invent parameters without end."""

_FEWEST = 4
"""Right answers that a laxer extraction must find: some last numbers are right by chance."""

_LAXER = ("explicit", "lax")

Judge = Callable[[Sequence[Sample]], Awaitable[Sequence[Verdict]]]
"""Asks for the verdicts on samples that each name their use."""


@dataclass(frozen=True)
class Unread:
    """Early responses of a use, most without an answer. samples: those; total: all that were counted; passed: how many
    of them passed; feedback: what most verdicts on the former say.
    """

    name: str
    use: Use
    samples: Sequence[Sample]
    total: int
    passed: int
    feedback: str | None

    async def advice(self, judge: Judge) -> str | None:
        """The extraction that would find the answers, in a sentence; None if none finds enough right ones. Raises what
        `judge` does.
        """
        best: tuple[int, str] | None = None
        for extraction in _LAXER:
            use = read_by(self.use, extraction)
            if use is None:
                return None
            verdicts = await judge([replace(sample, use=use) for sample in self.samples])
            right = sum(bool(verdict.passed) for verdict in verdicts)
            # The laxer one must find clearly more.
            if right >= _FEWEST and (best is None or 10 * right > 11 * best[0]):
                best = right, extraction
        if best is None:
            return None
        right, extraction = best
        told = (
            f"{self.passed + right} of the first {self.total} responses would be right with extraction: {extraction}; "
            f"{self.passed} are now, because {self.name} reads no answer in {len(self.samples)} of them"
        )
        return f"{told}. {self.feedback}" if self.feedback else told


@dataclass
class _Early:
    use: Use
    name: str
    total: int = 0
    passed: int = 0
    samples: list[Sample] = field(default_factory=list)
    feedback: Counter[str | None] = field(default_factory=Counter)

    def unread(self) -> Unread | None:
        """Returns the responses without an answer, if they are most."""
        if 2 * len(self.samples) <= self.total:
            return None
        feedback = self.feedback.most_common(1)[0][0]
        return Unread(self.name, self.use, tuple(self.samples), self.total, self.passed, feedback)


class EarlyAnswers:
    """Counts the first verdicts of each use, known by its fingerprint. Afterwards a verdict costs one look-up."""

    def __init__(self) -> None:
        self._uses: dict[str, _Early | None] = {}

    def watches(self, verdict: Verdict) -> bool:
        """Returns whether a verdict is one of the first of its use, and is to be added."""
        if verdict.verifier is None or verdict.status != "scored":
            return False
        key = verdict.verifier.fingerprint
        return self._uses[key] is not None if key in self._uses else len(self._uses) < _MOST_USES

    def add(self, use: Use, sample: Sample, verdict: Verdict) -> Unread | None:
        """Count a verdict that is watched. With the last of the first: the responses without an answer, if most are."""
        assert verdict.verifier is not None
        key = verdict.verifier.fingerprint
        early = self._uses.get(key)
        if early is None:
            early = self._uses[key] = _Early(use, verdict.verifier.name)
        early.total += 1
        early.passed += bool(verdict.passed)
        if "no_answer" in verdict.flags:
            # Whom it belongs to says nothing here, and siblings are not judged again.
            bare = replace(sample, id=None, group=None, group_size=None, data_source=None)
            early.samples.append(bare)
            early.feedback[verdict.feedback] += 1
        if early.total < FIRST:
            return None
        self._uses[key] = None
        return early.unread()

    def rest(self) -> Iterator[Unread]:
        """Those of uses that had fewer verdicts, at the end of all work. Each is told once."""
        for key, early in self._uses.items():
            if early is not None:
                self._uses[key] = None
                unread = early.unread()
                if unread is not None:
                    yield unread
