"""The options of `rocq`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from rewarden_sandboxes.job import Limits
from rewarden_verifiers.execution.candidate import Rule, rules_of


@dataclass(frozen=True, kw_only=True)
class RocqParams:
    """Options of `rocq`.

    axioms: Full names of axioms on which a theorem may rest besides those that the preamble loads, such as
        `Coq.Logic.Classical_Prop.classic`. By default, none.
    extraction: Where to find the proof, as in `code`: by default the last fenced block, then an answer tag, then the
        whole response.
    cpu_s: CPU seconds for each step.
    memory_mb: Memory for each step, in MiB.
    """

    axioms: tuple[str, ...] = ()
    extraction: str | tuple[str | dict[str, str], ...] = "lax"
    cpu_s: float = 30.0
    memory_mb: int = 2048

    def __post_init__(self) -> None:
        if not (math.isfinite(self.cpu_s) and 0.1 <= self.cpu_s <= 600):
            raise ValueError("cpu_s must be from 0.1 to 600")
        if not 64 <= self.memory_mb <= 8192:
            raise ValueError("memory_mb must be from 64 to 8192")
        self.rules  # noqa: B018 - evaluated now, so that an error is reported once, and not for each sample

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """`extraction` as rules."""
        return rules_of(self.extraction)

    @property
    def limits(self) -> Limits:
        """The limits of a step."""
        return Limits(cpu_s=self.cpu_s, wall_s=self.cpu_s, memory_mb=self.memory_mb, output_bytes=4 * 1024**2)
