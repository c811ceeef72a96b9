"""The verifier `lean`: checks with Lean's kernel that a proof proves the given statement."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from rewarden.errors import InvalidParams, InvalidReference
from rewarden.types import Component, Outcome
from rewarden_verifiers.contract import Context, verifier
from rewarden_verifiers.execution.candidate import Missing, find
from rewarden_verifiers.lean.assembly import whole_file
from rewarden_verifiers.lean.feedback import evidence, told
from rewarden_verifiers.lean.gate import Refusal, refusals
from rewarden_verifiers.lean.inspecting import Findings, Proved, inspect
from rewarden_verifiers.lean.params import LeanParams
from rewarden_verifiers.lean.reference import PROVED, LeanReference, Statement, declarations, read_reference
from rewarden_verifiers.lean.resources import LeanResources
from rewarden_verifiers.lean.source import plain, split_header
from rewarden_verifiers.outcome import no_answer, scored, undecided
from rewarden_verifiers.provers import Checked, CheckStatus, Compiled, Project, Snippet

LABELS = frozenset({"lean", "lean4", "lean3", "tactics"})
"""Labels that fences use for Lean."""

MAX_CHARACTERS = 400_000
"""The maximum size of a submission."""

TOOLCHAIN = "/mnt/lean/toolchain"
"""The path of a project's toolchain in a room."""

_EXTRACTED = 20_000

First = TypeVar("First")
Second = TypeVar("Second")

_SORRY = re.compile(r"declaration uses .?sorry")

_QUOTED = re.compile(r"«[^»]*»")
_NUMBERED = re.compile(r"(?:^|\.)\d+(?:\.|$)")

_NATIVE = re.compile(r"(?:Lean\.)?(?:ofReduceBool|ofReduceNat|trustCompiler)")


@verifier(version="2", graded=True, resources=LeanResources)
async def lean(
    response: str, reference: str | LeanReference | None = None, *, params: LeanParams, ctx: Context
) -> Outcome:
    """The response proves the reference's statement, checked by Lean's kernel.

    First a warm process elaborates the submission, which is fast and rejects everything that does not compile. What
    passes is compiled again in a fresh room. Then another process, which never elaborated the submission, compares its
    theorems with the reference's as terms, collects the axioms, and gives every declaration to the kernel again. See
    docs/lean.md.

    Reasons with score 0: `lean_error`, `sorry`, `native_decide`, `axiom_added`, `axiom_not_permitted`,
    `elaboration_code`, `overridden_command`, `compiler_override`, `option_changed`, `early_exit`, `hidden_messages`,
    `module_header`, `unsafe_code`, `theorem_missing`, `kind_changed`, `statement_changed`, `shadowed_name`,
    `definition_changed`, `kernel_rejected`, `forged_result`, `time_limit`, `memory_limit`, `output_limit`, `crashed`,
    `too_expensive`. If the reference does not compile, the outcome is undecided, with the fault `reference`.
    """
    return await _Judgement(params, ctx, ctx.prover.project(params.project)).outcome(response, reference)


@dataclass
class _Judgement:
    """The judgement of one response."""

    params: LeanParams
    ctx: Context
    project: Project
    said: dict[str, Any] = field(default_factory=dict)
    extracted: str | None = None
    flags: list[str] = field(default_factory=list)

    async def outcome(self, response: str, reference: str | LeanReference | None) -> Outcome:
        params = self.params
        statement = None
        if params.mode != "statement":
            if reference is None:
                raise InvalidReference("reference is missing: the statement to be proved, as Lean source")
            statement = read_reference(reference, params.header)
            if params.mode == "proof" and not statement.core:
                raise InvalidReference("reference: mode `proof` needs a statement that asks for one theorem, its last")
        self.said |= {"project": self.project.name, "lean": self.project.version}
        found = find(response, params.rules, LABELS, params.unclosed)
        if isinstance(found, Missing):
            return no_answer(found.reason, flags=found.flags, evidence=self.said)
        self.said["rule"] = found.rule
        self.extracted = found.code.strip()
        if len(found.code) > MAX_CHARACTERS:
            return self._zero("too_expensive", f"more than {MAX_CHARACTERS} characters", flags=("too_expensive",))
        # In a thread: a long text takes a second, which would delay all others.
        refused = await asyncio.to_thread(_refused, found.code, open_proofs=statement is None, meta=params.meta)
        if refused is not None:
            return self._zero(refused.reason, refused.message)
        if statement is None:
            text, made = self._stated(found.code), "statement"
        else:
            text, made = await asyncio.to_thread(whole_file, found.code, statement, params.mode)
        self.said["mode"] = made
        if statement is None or params.tier == "screen":
            failed = self._screened(await self._screen(text), open_proofs=statement is None)
            if failed is not None:
                return failed
            if statement is None:
                return self._compiles(found.code)
            self.flags.append("screen_only")
            return self._done(1.0, passed=True)
        if self.project.kind == "remote":
            # A remote server only elaborates, and its result is the word of a process that ran the response.
            raise InvalidParams(
                f"the project {self.project.name!r} is a remote server, which has no strict tier: set tier to `screen`",
                path="params.tier",
            )
        # Beside the screen, even if the response fails there: if the reference does not compile, no response may score
        # 0.
        kept = self.ctx.prover.compile(self.project.name, statement.text, params.limits, keep=True)
        stated, checked = await _both(kept, self._screen(text))
        if stated.module is None:
            raise InvalidReference(f"reference does not compile: {_why(stated)}")
        failed = self._screened(checked, open_proofs=False)
        if failed is not None:
            return failed
        return await self._strict(text, statement, stated.module)

    # --- the screen ----------------------------------------------------------------------------------------------

    def _stated(self, source: str) -> str:
        """Returns a statement as a complete file."""
        source = plain(source)
        header = split_header(source)
        if header.imports or not self.params.header.strip():
            return source
        return f"{self.params.header.strip()}\n\n{source.lstrip()}"

    async def _screen(self, text: str) -> Checked:
        params = self.params
        checked = await self.ctx.prover.check(
            Snippet(
                project=self.project.name,
                text=text,
                limits=params.limits,
                sorries=params.goals,
                tactics=params.tactics,
                infotree=params.infotree,
                alone=params.meta,
            )
        )
        self.said["screen"] = evidence(checked, tactics=params.tactics)
        return checked

    def _screened(self, checked: Checked, *, open_proofs: bool) -> Outcome | None:
        """Returns the verdict if the screen decides it, or None."""
        if checked.status != "ok":
            return self._limited(checked.status)
        words = told(checked.messages, self.params.shown)
        if any(message.severity == "error" for message in checked.messages):
            return self._zero("lean_error", words)
        left_open = any(_SORRY.match(message.text) for message in checked.messages)
        if left_open and not open_proofs and self.params.tier == "screen":
            return self._zero("sorry", words)
        return None

    def _limited(self, status: CheckStatus) -> Outcome:
        return self._zero(status, status.replace("_", " "), flags=("too_expensive", status))

    def _compiles(self, source: str) -> Outcome:
        """Returns the verdict on a statement alone: whether it compiles, and whether there is one."""
        names = [name for _, word, name in declarations(source) if word in PROVED]
        if not names:
            return self._zero("theorem_missing", "it compiles, but it states no theorem")
        self.said["theorems"] = names[:100]
        return self._done(1.0, passed=True)

    # --- the strict tier -----------------------------------------------------------------------------------------

    async def _strict(self, text: str, statement: Statement, reference: bytes) -> Outcome:
        params, name, asked = self.params, self.project.name, statement.asked
        submission = await self.ctx.prover.compile(name, text, params.limits)
        self.said["strict"] = strict = {"cpu_s": round(submission.cpu_s, 4), "wall_s": round(submission.wall_s, 4)}
        if submission.status != "ok":
            return self._limited(submission.status)
        if submission.module is None:
            self.flags.append("tiers_disagree")
            return self._zero("lean_error", told(submission.messages, params.shown))
        question = {
            "theorems": list(asked.theorems) or None,
            "definitions": list(asked.definitions),
            "lemmas": list(asked.lemmas),
            "permitted_axioms": list(params.axioms),
            "replay": params.replay != "off",
            "toolchain": TOOLCHAIN,
            "path": list(self.project.path),
        }
        findings = await inspect(self.ctx.sandbox, name, reference, submission.module, question)
        strict["cpu_s"] = round(submission.cpu_s + findings.cpu_s, 4)
        strict["wall_s"] = round(submission.wall_s + findings.wall_s, 4)
        return await self._judged(findings, statement, strict)

    async def _judged(self, findings: Findings, statement: Statement, strict: dict[str, Any]) -> Outcome:
        params = self.params
        if findings.reference_malformed is not None:
            raise InvalidReference(f"reference cannot be read after compiling: {findings.reference_malformed}")
        if findings.fault is not None:
            return self._zero("too_expensive", "its compiled form is too large to inspect", flags=("too_expensive",))
        if findings.malformed is not None:
            # Attack: code that runs during elaboration wrote the compiled file itself.
            return self._zero("forged_result", findings.malformed)
        strict |= {"replay": findings.replay, **({"replay_by": findings.replay_by} if findings.replay_by else {})}
        if findings.replay == "rejected":
            return self._zero("kernel_rejected", findings.replay_message)
        if not findings.theorems:
            raise InvalidReference("reference: no theorem was found after compiling it")
        for where, found in (("theorems", findings.theorems), ("definitions", findings.definitions)):
            for one in found:
                if one.reason == "not_in_reference":
                    raise InvalidReference(f"reference.{where}: the statement declares no {one.name!r}")
        holes = sorted({hole for proved in findings.theorems for hole in proved.holes})
        if holes and params.holes == "refuse":
            # Attack: an open definition filled with the question itself (leanprover/comparator's README).
            raise InvalidReference(f"reference leaves definitions open: {', '.join(holes)[:300]} (params.holes)")
        if holes:
            self.flags.append("holes_filled")
        if findings.overrides:
            return self._zero("compiler_override", f"it sets {', '.join(findings.overrides)}")
        imported = sorted({name for proved in findings.theorems for name in proved.imported})
        rests = await self.ctx.prover.axioms(self.project.name, statement.header.text, imported) if imported else {}
        judged = [self._theorem(proved, rests) for proved in findings.theorems]
        strict["theorems"] = [
            {
                "name": proved.name,
                "reason": reason,
                "axioms": list(axioms),
                **({"uses": list(proved.uses), "steps": list(proved.steps)} if statement.asked.lemmas else {}),
                **({"holes": list(proved.holes)} if proved.holes else {}),
            }
            for proved, (reason, _, axioms) in zip(findings.theorems, judged, strict=True)
        ]
        if findings.replay == "unavailable":
            self.flags.append("not_replayed")
            strict["not_replayed"] = findings.replay_message
        wrong = [(reason, words) for reason, words, _ in judged if reason is not None]
        share = 1 - len(wrong) / len(judged)
        moved = [(kept.reason, kept.feedback) for kept in findings.definitions if kept.reason is not None]
        components = _subgoals(findings.theorems, statement)
        strict |= {name: part.score for name, part in components.items()}  # recipes read evidence, not components
        score = share if (params.several == "fraction" or not wrong) and not moved else 0.0
        stand = [proved for proved, (reason, _, _) in zip(findings.theorems, judged, strict=True) if reason is None]
        unknown = sorted({name for proved in stand for name in proved.imported if rests.get(name) is None})
        if score and findings.replay == "unavailable" and params.replay == "require":
            return undecided(
                "cannot_replay", evidence=self.said, feedback=findings.replay_message, flags=tuple(self.flags)
            )
        if score and unknown:
            strict["unknown_imports"] = unknown[:20]
            if params.unnamed == "trust" and all(map(_unnameable, unknown)):
                self.flags.append("unknown_axioms")
                unknown = []
        if score and unknown:
            unsaid = f"the axioms of these are unknown: {', '.join(unknown)[:500]}"
            return undecided("unknown_axioms", evidence=self.said, feedback=unsaid, flags=tuple(self.flags))
        if not wrong and not moved:
            return self._done(score, passed=True, components=components)
        reason, words = (*moved, *wrong)[0]
        return self._done(score, passed=False, reason=reason, feedback=words, components=components)

    def _theorem(
        self, proved: Proved, rests: Mapping[str, tuple[str, ...] | None]
    ) -> tuple[str | None, str | None, tuple[str, ...]]:
        """Returns the reason why a theorem fails, the same in words, and all axioms that it depends on."""
        imported = {axiom for name in proved.imported for axiom in rests.get(name) or ()}
        listed = tuple(sorted({*proved.axioms, *imported}))
        if proved.reason is not None:
            return proved.reason, proved.feedback, listed
        # Axioms that it declares itself are the reference's, or the inspection would have reported them.
        reason = _forbidden(sorted(imported), self.params.axioms)
        if reason is not None:
            return reason, f"`{proved.name}` rests on: {', '.join(listed)[:500]}", listed
        return None, None, listed

    # --- verdicts ------------------------------------------------------------------------------------------------

    def _zero(self, reason: str, words: str | None, *, flags: Iterable[str] = ()) -> Outcome:
        self.flags += flags
        return self._done(0.0, passed=False, reason=reason, feedback=words)

    def _done(self, score: float, *, passed: bool, **more: Any) -> Outcome:
        words = more.get("feedback")
        if words is not None:
            more["feedback"] = words[: max(self.params.shown, 200)]
        extracted = self.extracted[:_EXTRACTED] if self.extracted is not None else None
        return scored(
            score,
            passed=passed,
            extracted=extracted,
            evidence=self.said,
            flags=tuple(dict.fromkeys(self.flags)),
            **more,
        )


async def _both(first: Awaitable[First], second: Awaitable[Second]) -> tuple[First, Second]:
    """Awaits both concurrently; if one fails, the other is cancelled."""
    tasks = asyncio.ensure_future(first), asyncio.ensure_future(second)
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


def _refused(text: str, *, open_proofs: bool, meta: bool) -> Refusal | None:
    return next(refusals(text, sorry=open_proofs, meta=meta), None)


def _unnameable(name: str) -> bool:
    """Returns whether no source can contain the name: that of a private constant, or one with a number from the
    elaborator. The submission cannot make such names in the modules that it imports."""
    return _NUMBERED.search(_QUOTED.sub("«»", name)) is not None


def _forbidden(axioms: Iterable[str], permitted: tuple[str, ...]) -> str | None:
    """Returns why axioms are not permitted, with the plainest reason first, or None."""
    strange = [name for name in axioms if name not in permitted]
    if "sorryAx" in strange:
        return "sorry"
    if any(_NATIVE.fullmatch(name) or "_native" in name.split(".") for name in strange):
        return "native_decide"
    return "axiom_not_permitted" if strange else None


def _subgoals(theorems: Iterable[Proved], statement: Statement) -> dict[str, Component]:
    """Returns the share of the declared lemmas that the proofs use (DeepSeek-Prover-V2's consistency)."""
    lemmas = statement.asked.lemmas
    if not lemmas:
        return {}
    used = {name for proved in theorems for name in proved.uses}
    share = sum(name in used for name in lemmas) / len(lemmas)
    return {"subgoals": Component(status="scored", score=share)}


def _why(compiled: Compiled) -> str:
    if compiled.status != "ok":
        return compiled.status.replace("_", " ")
    return told(compiled.messages, 1000) or "Lean wrote no compiled file"
