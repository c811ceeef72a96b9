"""The verifier `formalization`: a formal statement in Lean says the same as a reference statement."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from rewarden.errors import InvalidReference
from rewarden.types import Outcome, Sample, Use
from rewarden_verifiers.contract import Context, verifier
from rewarden_verifiers.execution.candidate import Missing, Rule, find, rules_of
from rewarden_verifiers.lean.reference import LeanReference, declarations, read_reference
from rewarden_verifiers.lean.source import code, plain, tokens
from rewarden_verifiers.lean.verifier import LABELS
from rewarden_verifiers.outcome import no_answer, right, wrong

ATTEMPTS = (
    "fun h => h",
    "fun h => no_implicit_lambda% @h",
    "by intro h; exact h",
    "by intro h; intros; apply h <;> assumption",
    "by simp_all",
    "by tauto",
    "by grind",
    "by aesop",
)
"""Proofs of an implication that use its premise in a few steps."""

MAX_CHARACTERS = 20_000
"""The maximum size of a statement."""

_OPENED = re.compile(r"open(?: scoped)?(?: [A-Za-z_][\w.']*)+")
_COMMANDS = """
by sorry admit axiom macro macro_rules notation syntax elab elab_rules run_tac run_cmd run_elab run_meta infix infixl
infixr prefix postfix set_option attribute instance def abbrev theorem lemma namespace section end open local scoped
private protected universe variable example opaque inductive structure class initialize import mutual deriving by_elab
unsafe partial noncomputable export include omit declare_syntax_cat builtin_initialize
"""
_TERMS_ONLY = frozenset(_COMMANDS.split())
"""Words that a statement does not need after its name. All others build terms, which change nothing around them."""

_OPENING, _CLOSING = frozenset("([{⦃⟨⟦"), frozenset(")]}⦄⟩⟧")

_EVALUATED = re.compile(r"#|[A-Za-z_]{2}%")
"""Commands, and terms such as `eval% e`."""

_REFERENCE, _RESPONSE, _UNPROVED = "RewardenReference", "RewardenResponse", "Rewarden.unproved"
_CARRIERS = frozenset((_REFERENCE, _RESPONSE, _UNPROVED))
"""Axioms that carry the statements. Attack: an attempt that searches, and finds one of them as a proof."""

_OPEN = f"axiom {_UNPROVED} : (p : Prop) → p"
"""In the place of `sorry`, which a Lean without its library lacks."""

_ABSURD = "∀ (p : Prop), p"
"""False, also where no library defines it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormalizationReference:
    """The statement that is right.

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


class Refused(ValueError):
    """A response that is no single statement. reason: of the verdict."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement without its proof: `open` lines, binders, and type. name: of its axiom."""

    name: str
    opened: str
    binders: str
    kind: str

    @property
    def text(self) -> str:
        """The statement as an axiom, which gives it a type. No proof may rest on it.

        Attack: a command after the type. It stands in brackets, and so do the binders, where no command can be.
        """
        return f"section\n{self.opened}\naxiom {self.name} {self.binders} : (\n{self.kind}\n)\nend\n"


@verifier(version="1")
async def formalization(
    response: str, reference: FormalizationReference, *, params: FormalizationParams, ctx: Context
) -> Outcome:
    """The response is a formal statement in Lean that is provably equivalent to the reference's.

    The statement must compile in the reference's context: its imports, and the definitions before its theorem. The
    verifier `lean` then tries each of `attempts` as a proof that the response implies the reference, and as a proof of
    the converse; the kernel checks both, and allows no axioms but Lean's own. The response is a single theorem, with or
    without a proof, after `import` and `open` lines. It cannot define anything, and its type cannot run tactics.

    If equivalence is neither proved nor refuted, the score is 0 and the reason is `unproven`. The verdict is not
    `undecided`, because the policy chooses the statement: one that no tactic can decide would never score 0. A correct
    formalisation in an unusual form can therefore score 0, so give attempts that suit your data. One direction earns no
    partial credit: every statement implies `True`, and `False` implies every statement.

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
    context = _Context(ctx, params, stated.header.text, stated.preamble)
    try:
        gold = _claim(stated.text, _REFERENCE)
    except Refused as error:
        raise InvalidReference(f"reference.statement: {error}") from None
    if (failed := await _control(context, gold)) is not None:
        return failed
    evidence: dict[str, Any] = {"rule": found.rule}
    try:
        own = await asyncio.to_thread(_candidate, text, stated.preamble)
    except Refused as error:
        return wrong(error.reason, feedback=str(error), extracted=text[:2000], evidence=evidence)
    compiled = await context.compiles(own)
    if compiled.status != "scored" and compiled.fault != "reference":
        return compiled
    if not compiled.passed:
        # The reference compiles in the same context, as its controls have shown.
        return wrong("lean_error", feedback=_own(compiled), extracted=text[:2000], evidence=evidence)
    forward, backward = await asyncio.gather(
        context.proof([gold, own], _implies(own, gold)), context.proof([gold, own], _implies(gold, own))
    )
    for ended in (forward, backward):
        if isinstance(ended, Outcome):
            # Each compiles by itself, and the reference is proved to imply itself: the response fails beside it.
            blamed = wrong("lean_error", feedback=ended.feedback, extracted=text[:2000], evidence=evidence)
            return blamed if ended.fault == "reference" else ended
    evidence |= {"forward": forward, "backward": backward}
    if forward is not None and backward is not None:
        return right(extracted=text[:2000], evidence=evidence)
    reason = "unproven" if forward is backward else "stronger" if forward is not None else "weaker"
    return wrong(reason, extracted=text[:2000], evidence=evidence)


@dataclass(frozen=True, slots=True)
class _Context:
    """The context of the statements, and the prover."""

    ctx: Context
    params: FormalizationParams
    header: str
    preamble: str

    async def compiles(self, claim: Claim) -> Outcome:
        """The outcome of a proof that a statement implies itself; the fault is the reference's if it does not
        compile."""
        return await self._tried([claim], _implies(claim, claim), "fun h => h")

    async def proof(self, claims: Sequence[Claim], goal: str) -> str | Outcome | None:
        """The first attempt that proves a goal, or None. An outcome where there is no verdict."""
        for attempt in self.params.attempts:
            outcome = await self._tried(claims, goal, attempt)
            if outcome.status != "scored":
                return outcome
            if outcome.passed and not _rests(outcome) & _CARRIERS:
                return attempt
        return None

    async def _tried(self, claims: Sequence[Claim], goal: str, attempt: str) -> Outcome:
        statement = f"{self._before(claims)}\n{_OPEN}\ntheorem Rewarden.goal : {goal} := {_UNPROVED} _\n"
        params = {"mode": "proof", "project": self.params.project, "extraction": "strict", "cpu_s": self.params.cpu_s}
        sample = Sample(response=f"```lean4\n:= {attempt}\n```", reference={"statement": statement})
        return await self.ctx.verify(Use(name="lean", params=params), sample=sample)

    def _before(self, claims: Sequence[Claim]) -> str:
        return "\n\n".join((self.header.strip(), self.preamble, *(claim.text for claim in claims)))


async def _control(context: _Context, gold: Claim) -> Outcome | None:
    """Raises InvalidReference for a reference on which proofs say nothing. None of it depends on a response. Returns
    the outcome of a control without a verdict for another reason."""
    controls = await asyncio.gather(
        context.proof([gold], _implies(gold, gold)),
        context.proof([gold], _type(gold)),
        context.proof([gold], f"{_type(gold)} → {_ABSURD}"),
    )
    for ended in controls:
        if isinstance(ended, Outcome):
            if ended.fault == "reference":
                raise InvalidReference(f"reference.statement: {ended.feedback or 'it does not compile'}")
            return ended
    itself, alone, absurd = controls
    if itself is None:
        raise InvalidReference("reference.statement: no attempt shows that it implies itself")
    if alone is not None:
        raise InvalidReference("reference.statement: an attempt proves it alone, so that it is equivalent to any truth")
    if absurd is not None:
        raise InvalidReference("reference.statement: an attempt refutes it")
    return None


def _type(claim: Claim) -> str:
    return f"(type_of% @{claim.name})"


def _implies(one: Claim, other: Claim) -> str:
    return f"{_type(one)} → {_type(other)}"


def _claim(text: str, name: str) -> Claim:
    """The last theorem of a source as a claim. Raises Refused for one that is no statement with binders in brackets."""
    _, word, own = declarations(text)[-1]
    core = read_reference(text, "").core
    rest = re.sub(rf"^[\s\S]*?\b{word}\s+{re.escape(own)}", "", core, count=1)
    depth = 0
    for token in code(rest):
        if token.text in _OPENING:
            depth += 1
        elif token.text in _CLOSING:
            depth -= 1
            if depth < 0:
                break
        elif token.text == ":" and depth == 0:
            return Claim(name, "", _bare(rest[: token.start]), _bare(rest[token.start + 1 :]))
        elif depth == 0:
            raise Refused("forbidden_construct", "binders must be in brackets")
    raise Refused("theorem_missing", "the theorem has no type")


def _bare(text: str) -> str:
    """A text without comments. Raises Refused where its brackets do not close."""
    depth, last, kept = 0, 0, list[str]()
    for token in tokens(text):
        if token.kind == "comment":
            continue
        depth += (token.text in _OPENING) - (token.text in _CLOSING)
        if depth < 0:
            raise Refused("forbidden_construct", "a bracket closes that was not opened")
        gap = text[last : token.start]
        kept += ["\n" if "\n" in gap else " " if gap else "", token.text]
        last = token.end
    if depth:
        raise Refused("forbidden_construct", "a bracket does not close")
    return "".join(kept).strip()


def _own(outcome: Outcome) -> str:
    """Lean's words on a response that stands in the place of a reference."""
    return (outcome.feedback or "").removeprefix("reference does not compile: ")


def _rests(outcome: Outcome) -> frozenset[str]:
    """The axioms on which a proof rests."""
    theorems = outcome.evidence.get("strict", {}).get("theorems", ())
    return frozenset(axiom for one in theorems for axiom in one["axioms"])


def _candidate(text: str, preamble: str) -> Claim:
    """The claim of a response, which may repeat the task's own context. Raises Refused."""
    if len(text) > MAX_CHARACTERS:
        raise Refused("too_expensive", f"more than {MAX_CHARACTERS} characters")
    source = plain(text)
    if preamble.strip():
        source = source.replace(preamble.strip(), "", 1)
    found = declarations(source)
    if not found or found[-1][1] not in ("theorem", "lemma"):
        raise Refused("theorem_missing", "it declares no theorem last")
    if len(found) > 1:
        raise Refused("extra_declarations", "it declares more than one theorem")
    try:
        stated = read_reference(source, "")
    except InvalidReference as error:
        raise Refused("theorem_missing", str(error)) from None
    opened = [line.strip() for line in _bare(stated.preamble).splitlines() if line.strip()]
    for line in opened:
        if _OPENED.fullmatch(line) is None:
            # Attack: a notation, macro, instance or axiom before the theorem, which changes what the goal means.
            raise Refused("extra_declarations", f"before the theorem only `open` is allowed: {line[:80]}")
    claim = _claim(source, _RESPONSE)
    rest = f"{claim.binders} : {claim.kind}"
    words = {token.text for token in code(rest) if token.kind == "word"}
    if refused := sorted(words & _TERMS_ONLY):
        raise Refused("forbidden_construct", f"its type has {', '.join(refused)[:200]}")
    if _EVALUATED.search(rest) is not None:
        raise Refused("forbidden_construct", "its type has a term that is evaluated")
    return replace(claim, opened="\n".join(opened))
