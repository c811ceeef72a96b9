"""The options of `smt`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from rewarden_verifiers.execution.candidate import Rule, rules_of
from rewarden_verifiers.smt.solver import Bounds

Task = Literal["solve", "formalise"]


@dataclass(frozen=True, kw_only=True)
class SmtParams:
    """Options of `smt`.

    task: The response's task, if the reference does not name it. `solve`: to say whether the script is `sat` or
        `unsat`, with a model; `formalise`: to write a script that means the same as the reference's.
    model: For `sat`, whether a model is `required`, `optional` (checked if there is one) or `ignored`.
    extraction: Rules that find the answer, as in `code`: by default the last fenced block, then an answer tag, then the
        whole response. In `solve`, only the last line of a whole response counts, unless all of it is output of a
        solver.
    unclosed: Whether a fence that is never closed counts.
    work: The amount of work for each check, as Z3 counts it (`rlimit`): 1,000,000 take about 0.2 s. The same check ends
        alike on any machine.
    cpu_s: CPU seconds for each check, if the work is not used up before.
    memory_mb: Memory for each check, in MiB.
    """

    task: Task = "solve"
    model: Literal["required", "optional", "ignored"] = "optional"
    extraction: str | tuple[str | dict[str, str], ...] = "lax"
    unclosed: Literal["refuse", "accept"] = "refuse"
    work: int = 10_000_000
    cpu_s: float = 20.0
    memory_mb: int = 512

    def __post_init__(self) -> None:
        if not 1_000 <= self.work <= 4_000_000_000:
            raise ValueError("work must be from 1000 to 4000000000")
        if not (math.isfinite(self.cpu_s) and 1 <= self.cpu_s <= 600):
            raise ValueError("cpu_s must be from 1 to 600")
        if not 64 <= self.memory_mb <= 8192:
            raise ValueError("memory_mb must be from 64 to 8192")
        self.rules  # noqa: B018 - evaluated now, so that an error is reported once, and not for each sample

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """`extraction` as rules."""
        return rules_of(self.extraction)

    @property
    def bounds(self) -> Bounds:
        """The limits of one check."""
        return Bounds(self.work, self.cpu_s, self.memory_mb)
