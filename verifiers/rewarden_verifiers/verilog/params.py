"""The options of `verilog`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from rewarden_sandboxes.job import Limits
from rewarden_verifiers.execution.candidate import Rule, rules_of


@dataclass(frozen=True, kw_only=True)
class VerilogParams:
    """Options of `verilog`.

    cost: `none`: a design that is right earns 1. `area`, `depth`: it earns the cost of the reference's solution over
        its own, at most 1. The area is the number of gates and flip-flops after synthesis, the depth the number of
        gates on the longest path.
    costs: Whether the evidence has area and depth of a right design, even if they earn nothing.
    extraction: Where to find the design, as in `code`: by default the last fenced block, then an answer tag, then the
        whole response.
    unclosed: Whether a fence that is never closed counts.
    cycles: Clock cycles for which sequential designs are compared from reset, before the proof by induction.
    bounded: Accept a sequential design that agrees for `cycles` and is not proven to agree after that; its verdict has
        the flag `bounded`. A design can wait longer than that before it does something else.
    cpu_s: CPU seconds for each step.
    memory_mb: Memory for each step, in MiB.
    """

    cost: Literal["none", "area", "depth"] = "none"
    costs: bool = False
    extraction: str | tuple[str | dict[str, str], ...] = "lax"
    unclosed: Literal["refuse", "accept"] = "refuse"
    cycles: int = 20
    bounded: bool = False
    cpu_s: float = 20.0
    memory_mb: int = 1024

    def __post_init__(self) -> None:
        if not (math.isfinite(self.cpu_s) and 0.1 <= self.cpu_s <= 600):
            raise ValueError("cpu_s must be from 0.1 to 600")
        if not 64 <= self.memory_mb <= 8192:
            raise ValueError("memory_mb must be from 64 to 8192")
        if not 1 <= self.cycles <= 1000:
            raise ValueError("cycles must be from 1 to 1000")
        self.rules  # noqa: B018 - evaluated now, so that an error is reported once, and not for each sample

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """`extraction` as rules."""
        return rules_of(self.extraction)

    @property
    def limits(self) -> Limits:
        """The limits of a step."""
        return Limits(cpu_s=self.cpu_s, wall_s=self.cpu_s, memory_mb=self.memory_mb, output_bytes=4 * 1024**2)
