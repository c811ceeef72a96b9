"""The verifier `formalization`: checks that a formal statement in Lean is equivalent to a reference statement."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from rewarden.errors import InvalidReference
from rewarden.types import Outcome, Sample, Use
from rewarden_verifiers.contract import Context, verifier
from rewarden_verifiers.execution.candidate import Missing, Rule, find, rules_of
from rewarden_verifiers.lean.claim import Claim, Refused, claim_of_reference, claim_of_response, levels
from rewarden_verifiers.lean.reference import LeanReference, read_reference
from rewarden_verifiers.lean.verifier import LABELS
from rewarden_verifiers.outcome import no_answer, right, wrong

_IDENTITY = "fun h => no_implicit_lambda% @h"
"""Proves that a statement implies itself. With `fun h => h`, Lean may look for implicit variables that a statement does
not use.
"""

ATTEMPTS = (
    "fun h => h",
    _IDENTITY,
    "by intro h; exact h",
    "by intro h; intros; apply h <;> assumption",
    "by simp_all",
    "by tauto",
    "by grind",
    "by aesop",
)
"""Proofs of an implication that use its premise and a few more steps."""

MAX_UNIVERSES = 3
"""The maximum number of universe parameters of a reference."""

_LIMITS = frozenset(("time_limit", "memory_limit", "output_limit", "crashed"))
_MAX_LIMITS = 2
"""The maximum number of attempts per direction that may reach a limit. Attack: a statement on which all attempts run
until the caller gives up.
"""

_REFERENCE, _RESPONSE, _UNPROVED = "RewardenReference", "RewardenResponse", "Rewarden.unproved"
_CARRIERS = tuple(f".{name}" for name in (_REFERENCE, _RESPONSE, _UNPROVED))
"""The axioms that represent the statements. Attack: an attempt that searches, and finds one of them as a proof. Their
names can also have the reference's namespace as a prefix, because it stays open.
"""

_GOAL = "Rewarden.goal"

_OPEN = f"axiom {_UNPROVED} : (p : Prop) → p"
"""Replaces `sorry`, which is missing in a Lean without its library."""

_ABSURD = "∀ (p : Prop), p"
"""False, in a form that needs no library."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormalizationReference:
    """The right statement.

    statement: Lean source: imports, `open` lines and definitions as needed, and one theorem; its proof can be missing.
    header: Text before the statement, mainly imports, if the statement has none.
    """

    # A misspelt key must not be silently ignored.
    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    statement: str
    header: str = ""


@dataclass(frozen=True, kw_only=True)
class FormalizationParams:
    """Options of `formalization`.

    project: The name of a project in the server's `[lean.projects]`; null: the server's default.
    attempts: Proofs that are tried for each direction, as they follow `:=`. They should use the premise and little
        else: a tactic that proves the reference by itself proves every implication to it. One that searches all
        constants (`exact?`) finds the two statements, on which no proof may rest.
    extraction: Where to find the statement, as in `lean`.
    cpu_s: CPU seconds for each attempt.
    """

    project: str | None = None
    attempts: tuple[str, ...] = ATTEMPTS
    extraction: str | tuple[str | dict[str, str], ...] = "lax"
    cpu_s: float = 60.0

    def __post_init__(self) -> None:
        if not 1 <= len(self.attempts) <= 50 or not all(one.strip() for one in self.attempts):
            raise ValueError("attempts must have from 1 to 50 proofs")
        if not 0 < self.cpu_s <= 3600:
            raise ValueError("cpu_s must be above 0 and at most 3600")
        self.rules  # noqa: B018 - evaluated now, so that an error is reported once, and not for each sample

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """`extraction` as rules."""
        return rules_of(self.extraction)


@verifier(version="1")
async def formalization(
    response: str, reference: FormalizationReference, *, params: FormalizationParams, ctx: Context
) -> Outcome:
    """The response is a formal statement in Lean that is provably equivalent to the reference's.

    The statement must compile in the reference's context: its imports, and the definitions before its theorem. The
    verifier `lean` then tries each of `attempts` as a proof that the response implies the reference, and as a proof of
    the converse; the kernel checks both, and allows no axioms but Lean's own. The response is a single theorem, with or
    without a proof, after `import`, `open`, `universe` and `variable` lines. Its proof and attributes are not read, nor
    are options that only limit effort. It cannot define anything, and its type cannot run tactics. If the reference's
    theorem has universe parameters, the response must have as many, in the same order.

    If equivalence is neither proved nor refuted, the score is 0 and the reason is `unproven`. The verdict is not
    `undecided`, because the policy chooses the statement: one that no tactic can decide would never score 0. A correct
    formalisation in an unusual form can therefore score 0, so give attempts that suit your data. One direction earns no
    partial credit: every statement implies `True`, and `False` implies every statement. Equivalence is no identity: a
    true response that an attempt proves is equivalent to the reference if an attempt proves the reference from it.

    The reference is at fault if it does not compile, if no attempt proves that it implies itself, or if an attempt
    proves or refutes it on its own: every true statement, or every false one, would then be equivalent to it.

    Reasons with score 0: `unproven`, `weaker` (only the reference implies the response), `stronger` (only the reverse),
    `lean_error`, `theorem_missing`, `extra_declarations`, `forbidden_construct`, `too_expensive`, `no_answer`, and
    those of `lean` for limits. `evidence` has the proof of each direction.
    """
    found = find(response, params.rules, LABELS, "refuse")
    if isinstance(found, Missing):
        return no_answer(found.reason, flags=found.flags)
    text = found.code.strip()
    stated = await asyncio.to_thread(
        read_reference, LeanReference(statement=reference.statement, header=reference.header), ""
    )
    try:
        before, gold = await asyncio.to_thread(claim_of_reference, stated, _REFERENCE)
    except Refused as error:
        raise InvalidReference(f"reference.statement: {error}") from None
    context = _Context(ctx, params, stated.header.text, before)
    controlled = await _control(context, gold)
    if isinstance(controlled, Outcome):
        return controlled
    gold = controlled
    evidence: dict[str, Any] = {"rule": found.rule}
    try:
        own = await asyncio.to_thread(claim_of_response, text, before, gold.before, _RESPONSE)
    except Refused as error:
        return wrong(error.reason, feedback=str(error), extracted=text[:2000], evidence=evidence)
    own = replace(own, universes=gold.universes)
    compiled = await context.compiles(own)
    if compiled.status != "scored" and compiled.fault != "reference":
        return compiled
    if not compiled.passed:
        # The reference compiles in the same context, as the controls have shown.
        return wrong("lean_error", feedback=_own(compiled), extracted=text[:2000], evidence=evidence)
    # Attack: naming the reference's axiom in the response's statement. It is declared after the response's.
    both = [own, gold]
    forward, backward = await asyncio.gather(
        context.proof(both, _implies(own, gold)), context.proof(both, _implies(gold, own))
    )
    if isinstance(forward, Outcome):
        return _failed_beside(forward, text, evidence)
    if isinstance(backward, Outcome):
        return _failed_beside(backward, text, evidence)
    evidence |= {"forward": forward.attempt, "backward": backward.attempt}
    if forward.attempt is not None and backward.attempt is not None:
        return right(extracted=text[:2000], evidence=evidence)
    limits = sorted({*forward.limits, *backward.limits})
    reason = (
        "unproven" if forward.attempt is backward.attempt else "stronger" if forward.attempt is not None else "weaker"
    )
    return wrong(reason, extracted=text[:2000], evidence=evidence, flags=("too_expensive", *limits) if limits else ())


@dataclass(frozen=True, slots=True)
class _Tried:
    """The result for one direction. attempt: the first one that proves it, or None. limits: those that other attempts
    reached.
    """

    attempt: str | None
    limits: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Context:
    """The context of the statements, and the prover."""

    ctx: Context
    params: FormalizationParams
    header: str
    preamble: str

    async def compiles(self, claim: Claim) -> Outcome:
        """Returns the outcome of proving that a statement implies itself. If the statement does not compile, the
        outcome blames the reference.
        """
        return await self._tried([claim], _implies(claim, claim), _IDENTITY)

    async def proof(self, claims: Sequence[Claim], goal: str) -> _Tried | Outcome:
        """Runs attempts until one proves the goal. Returns an outcome if there is no verdict."""
        limits: list[str] = []
        for attempt in self.params.attempts:
            outcome = await self._tried(claims, goal, attempt)
            if outcome.status != "scored":
                return outcome
            if outcome.passed and not _rests_on_a_claim(outcome):
                return _Tried(attempt, tuple(limits))
            if outcome.reason in _LIMITS:
                limits.append(outcome.reason)
                if len(limits) == _MAX_LIMITS:
                    break
        return _Tried(None, tuple(limits))

    async def _tried(self, claims: Sequence[Claim], goal: str, attempt: str) -> Outcome:
        statement = (
            f"{self._before(claims)}\n{_OPEN}\ntheorem {_GOAL}{levels(claims[0].universes)} : {goal} := {_UNPROVED} _\n"
        )
        params = {"mode": "proof", "project": self.params.project, "extraction": "strict", "cpu_s": self.params.cpu_s}
        sample = Sample(response=f"```lean4\n:= {attempt}\n```", reference={"statement": statement})
        return await self.ctx.verify(Use(name="lean", params=params), sample=sample)

    def _before(self, claims: Sequence[Claim]) -> str:
        return "\n\n".join((self.header.strip(), self.preamble, *(claim.text for claim in claims)))


async def _control(context: _Context, gold: Claim) -> Claim | Outcome:
    """Returns the reference's claim with its number of universes. Raises InvalidReference if proofs about the reference
    are meaningless. This does not depend on the response. Returns a control's outcome if it has no verdict for another
    reason.
    """
    itself = await context.proof([gold], _implies(gold, gold))
    if isinstance(itself, _Tried) and itself.attempt is None:
        for universes in range(1, MAX_UNIVERSES + 1):
            compiled = await context.compiles(replace(gold, universes=universes))
            if compiled.passed:
                gold, itself = replace(gold, universes=universes), _Tried(_IDENTITY)
                break
    alone, absurd = await asyncio.gather(
        context.proof([gold], gold.type), context.proof([gold], f"{gold.type} → {_ABSURD}")
    )
    for ended in (itself, alone, absurd):
        if isinstance(ended, Outcome):
            if ended.fault == "reference":
                raise InvalidReference(f"reference.statement: {ended.feedback or 'it does not compile'}")
            return ended
        if ended is itself and ended.attempt is None:
            raise InvalidReference("reference.statement: no attempt shows that it implies itself")
        if ended is alone and ended.attempt is not None:
            raise InvalidReference(
                "reference.statement: an attempt proves it alone, so that it is equivalent to any truth"
            )
        if ended is absurd and ended.attempt is not None:
            raise InvalidReference("reference.statement: an attempt refutes it")
    return gold


def _failed_beside(ended: Outcome, text: str, evidence: Mapping[str, Any]) -> Outcome:
    """The outcome if a response compiles alone but fails next to the reference, for which the control passed."""
    if ended.fault != "reference":
        return ended
    return wrong("lean_error", feedback=ended.feedback, extracted=text[:2000], evidence=evidence)


def _implies(one: Claim, other: Claim) -> str:
    return f"{one.type} → {other.type}"


def _own(outcome: Outcome) -> str:
    """Lean's messages about a response that was given in place of a reference."""
    return (outcome.feedback or "").removeprefix("reference does not compile: ")


def _rests_on_a_claim(outcome: Outcome) -> bool:
    """Returns whether a proof depends on one of the axioms that represent the statements."""
    theorems = outcome.evidence.get("strict", {}).get("theorems", ())
    return any(f".{axiom}".endswith(_CARRIERS) for one in theorems for axiom in one["axioms"])
