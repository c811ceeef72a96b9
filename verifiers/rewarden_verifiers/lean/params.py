"""The options of `lean`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from rewarden_sandboxes.job import Limits
from rewarden_verifiers.execution.candidate import Rule, rules_of
from rewarden_verifiers.lean.assembly import Mode

AXIOMS = ("propext", "Quot.sound", "Classical.choice")
"""The axioms that Lean's own library rests on, and most of Mathlib."""


@dataclass(frozen=True, kw_only=True)
class LeanParams:
    """Options of `lean`.

    project: a name of the server's `[lean.projects]`; none: its default.
    mode: `file`: a whole file, or at least the whole theorem; `proof`: only what stands behind `:=` or `by`; `auto`: a
        proof where no theorem of the asked name is declared; `statement`: whether a formal statement compiles, its
        proof may be `sorry`, and there is no reference.
    tier: `strict`: the kernel's word, as described in docs/lean.md; `screen`: what a warm process says, which believes
        the submission's own words and never looks at the statement (every verdict is flagged `screen_only`).
    extraction: where the source stands: `strict` (the last fenced block, labelled as Lean or not at all), `lax` (then
        an answer tag, then the whole response), or a list of rules as `code` has them.
    unclosed: whether a fence that never closes counts.
    header: import lines for references and statements that have none, such as `import Mathlib`.
    axioms: axioms that a proof may rest on, by full name.
    several: where more than one theorem is asked for: `all` must be proved, or the `fraction` that is.
    holes: what becomes of definitions that the reference leaves open (`def answer : Nat := sorry`): `refuse`, `allow`
        (the submission fills them). What it fills in may well be the question again; every verdict is then flagged
        `holes_filled`.
    replay: whether the declarations are given to the kernel once more, by a process that never saw the source: `auto`
        where the toolchain allows it, `require` (else undecided), `off`.
    unnamed: what becomes of a proof that uses constants of the imports whose axioms Lean cannot be asked for, because
        no source can name them (private ones, numbered ones), where the toolchain's kernel is not called by our
        program: `trust` the library (flag `unknown_axioms`), or `undecided`.
    meta: whether the submission may run code of its own while it elaborates (`elab`, `#eval` …). Only with `replay:
        require` is its word then worth anything.
    cpu_s, wall_s: seconds of CPU, and of waiting, for each elaboration.
    goals: whether the goals at each `sorry` come with the evidence; tactics: those before each tactic; infotree: what
        Lean knows of each term, as text.
    shown: characters of Lean's messages in the feedback.
    """

    project: str | None = None
    mode: Mode = "auto"
    tier: Literal["strict", "screen"] = "strict"
    extraction: str | tuple[str | dict[str, str], ...] = "lax"
    unclosed: Literal["refuse", "accept"] = "refuse"
    header: str = ""
    axioms: tuple[str, ...] = AXIOMS
    several: Literal["all", "fraction"] = "all"
    holes: Literal["refuse", "allow"] = "refuse"
    replay: Literal["auto", "require", "off"] = "auto"
    unnamed: Literal["trust", "undecided"] = "trust"
    meta: bool = False
    cpu_s: float = 60.0
    wall_s: float = 30.0
    goals: bool = False
    tactics: bool = False
    infotree: bool = False
    shown: int = 2000

    def __post_init__(self) -> None:
        for name in ("cpu_s", "wall_s"):
            value = getattr(self, name)
            if not (math.isfinite(value) and 0 < value <= 3600):
                raise ValueError(f"{name} must be above 0 and at most 3600")
        if not 0 <= self.shown <= 100_000:
            raise ValueError("shown must be from 0 to 100000")
        if self.meta and self.tier == "strict" and self.replay != "require":
            raise ValueError("meta: true needs replay: require, or the compiled file could be forged")
        self.rules  # noqa: B018 - worked out now, so that a mistake is told once and not for each sample

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """`extraction` as rules."""
        return rules_of(self.extraction)

    @property
    def limits(self) -> Limits:
        """Of one elaboration."""
        return Limits(cpu_s=self.cpu_s, wall_s=self.wall_s)
