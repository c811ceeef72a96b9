"""The options of `dafny`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from rewarden_sandboxes.job import Limits
from rewarden_verifiers.execution.candidate import Rule, rules_of


@dataclass(frozen=True, kw_only=True)
class DafnyParams:
    """Options of `dafny`.

    extraction: Where to find the program, as in `code`: by default the last fenced block, then an answer tag, then the
        whole response.
    effort: Millions of steps of the prover for each declaration. Equal steps find equal proofs on any machine.
    cpu_s: CPU seconds for each of the two rooms.
    memory_mb: Memory for each room, in MiB.
    """

    extraction: str | tuple[str | dict[str, str], ...] = "lax"
    effort: int = 50
    cpu_s: float = 60.0
    memory_mb: int = 2048

    def __post_init__(self) -> None:
        if not 1 <= self.effort <= 2000:
            raise ValueError("effort must be from 1 to 2000")
        if not (math.isfinite(self.cpu_s) and 1 <= self.cpu_s <= 600):
            raise ValueError("cpu_s must be from 1 to 600")
        if not 256 <= self.memory_mb <= 8192:
            raise ValueError("memory_mb must be from 256 to 8192")
        self.rules  # noqa: B018 - evaluated now, so that an error is reported once, and not for each sample

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """`extraction` as rules."""
        return rules_of(self.extraction)

    @property
    def limits(self) -> Limits:
        """The limits of a room."""
        return Limits(cpu_s=self.cpu_s, wall_s=self.cpu_s, memory_mb=self.memory_mb, output_bytes=4 * 1024**2)
