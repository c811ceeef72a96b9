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
"""The axioms that Lean's own library depends on, and most of Mathlib."""


@dataclass(frozen=True, kw_only=True)
class LeanParams:
    """Options of `lean`.

    project: The name of a project in the server's `[lean.projects]`; null: the server's default.
    mode: What the response is. `file`: a whole file, or at least the whole theorem; `proof`: only the proof, as it
        follows `:=` or `by`; `auto`: a file if the response begins with a declaration or declares the required theorem,
        else a proof; `statement`: a formal statement that must compile, whose proof can be `sorry`; this mode has no
        reference.
    tier: `strict`: the full kernel check described in docs/lean.md; `screen`: elaboration in a warm process only, which
        trusts the submission and never compares the statement (every verdict is flagged `screen_only`).
    extraction: Where to find the source: `strict` (the last fenced block, labelled as Lean or not labelled), `lax` (as
        `strict`, then an answer tag, then the whole response), or a list of rules as in `code`.
    unclosed: Whether a fence that is never closed counts.
    header: Import lines for references and statements that have none, such as `import Mathlib`.
    axioms: Axioms that a proof can rest on, by full name.
    several: If the reference asks for several theorems: `all` must be proved, or the score is the `fraction` proved.
    holes: What to do with definitions that the reference leaves open (`def answer : Nat := sorry`): `refuse`, or
        `allow` the submission to fill them. A submission can fill in the question itself, so every such verdict is
        flagged `holes_filled`.
    replay: Whether a process that never saw the source gives the declarations to the kernel again: `auto` (if the
        toolchain can), `require` (undecided if it cannot), `off`.
    unnamed: What to do with a proof that uses imported constants whose axioms Lean cannot report because no source can
        name them (private or numbered ones), if Rewarden's own replay cannot run with this toolchain: `trust` the
        library (flag `unknown_axioms`), or `undecided`.
    meta: Whether the submission can run its own code during elaboration (`elab`, `#eval` …). Needs `replay: require` in
        the strict tier, because the compiled file could otherwise be forged.
    cpu_s: CPU seconds for each elaboration.
    wall_s: Seconds for which an elaboration can be idle.
    goals: Whether the evidence contains the goals at each `sorry`.
    tactics: Whether the evidence contains the goals before each tactic.
    infotree: Whether the evidence contains Lean's information on each term, as text.
    shown: Maximum number of characters of Lean's messages in the feedback.
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
        self.rules  # noqa: B018 - evaluated now, so that an error is reported once, and not for each sample

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """`extraction` as rules."""
        return rules_of(self.extraction)

    @property
    def limits(self) -> Limits:
        """The limits of one elaboration."""
        return Limits(cpu_s=self.cpu_s, wall_s=self.wall_s)
