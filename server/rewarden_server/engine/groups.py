"""Groups within one request, stream or job: when they are whole, and their statistics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from rewarden.types import Group, Sample, Verdict
from rewarden_server.engine.work import BoundUse


@dataclass(slots=True, eq=False)
class OpenGroup:
    """A group whose members still come in.

    `seen` members were announced and `arrived` were planned; `size` is what was promised, where it was. `waiting`
    holds the members of group verifiers, by use.
    """

    name: str
    order: int
    size: int | None = None
    seen: int = 0
    arrived: int = 0
    closed: bool = False
    verdicts: list[Verdict] = field(default_factory=list)
    waiting: dict[int, tuple[BoundUse, list[tuple[int, Sample]]]] = field(default_factory=dict)

    @property
    def whole(self) -> bool:
        """Whether all the members that were promised have come."""
        return self.size is not None and self.arrived >= self.size

    @property
    def judged(self) -> bool:
        """Whether no more members come and all have their verdicts."""
        return self.closed and len(self.verdicts) >= self.seen


def pass_at_k(n: int, c: int, k: int) -> float:
    return 1.0 if n - c < k else 1.0 - math.prod((n - c - i) / (n - i) for i in range(k))


def summarise(name: str, verdicts: Sequence[Verdict]) -> Group:
    """The statistics of a group's verdicts: means over the scored ones, unscored ones counted apart."""
    scores = [v.score for v in verdicts if v.score is not None]
    passed = sum(1 for v in verdicts if v.status == "scored" and v.passed)
    n = len(scores)
    mean = math.fsum(scores) / n if n else None
    std = math.sqrt(math.fsum((s - mean) ** 2 for s in scores) / n) if mean is not None else None
    powers = [1 << i for i in range(n.bit_length()) if 1 << i <= n]
    return Group(
        group=name,
        size=len(verdicts),
        scored=n,
        unscored=len(verdicts) - n,
        passed=passed,
        mean=mean,
        std=std,
        best=max(scores) if scores else None,
        all_pass=n > 0 and passed == len(verdicts),
        all_fail=n > 0 and passed == 0 and n == len(verdicts),
        pass_at={k: pass_at_k(n, passed, k) for k in powers},
    )
