"""The verifier `rocq`: checks a proof of a given statement in Rocq (Coq)."""

from __future__ import annotations

from collections.abc import Iterable

from rewarden.errors import SandboxError
from rewarden.types import Outcome
from rewarden_verifiers.contract import Context, verifier
from rewarden_verifiers.execution.candidate import Missing, find
from rewarden_verifiers.outcome import no_answer, right, wrong
from rewarden_verifiers.rocq import steps
from rewarden_verifiers.rocq.params import RocqParams
from rewarden_verifiers.rocq.reference import RocqReference, invalid
from rewarden_verifiers.rocq.repeated import without_repeated

LABELS = frozenset({"coq", "rocq", "v"})
"""Fence labels for Rocq."""

MAX_CHARACTERS = 200_000
"""The maximum length of a response's text."""

_SHOWN = 2_000


@verifier(version="1")
async def rocq(response: str, reference: RocqReference, *, params: RocqParams, ctx: Context) -> Outcome:
    """The response is a Rocq (Coq) file that proves the reference's statement under the required name.

    Three locked rooms share nothing but compiled libraries. The first compiles the preamble and the statement, without
    the response. The second compiles the response, with the preamble already imported; the response is a whole file,
    with its own `Require`, lemmas and definitions. Where it repeats sentences of the preamble that declare a type or an
    axiom, only the preamble's count. The theorem can be in a module that the response exports. In the third room, the
    theorem must have the type of the statement, and the independent checker `coqchk` rechecks the libraries. It has no
    tactics, notations, plugins or options, so a response cannot influence what is checked. The installation's own
    libraries are trusted.

    Three things are refused: any axiom that the response declares (`Axiom`, `Parameter` or `Admitted`, even in a lemma
    that the theorem does not use); any axiom of a library that the theorem depends on, unless the preamble loads that
    library or `axioms` lists the axiom; and any definition that depends on a disabled check (guardedness, positivity or
    universes). The checker evaluates `vm_compute` casts again.

    Reasons with score 0: `compile_error`, `statement_differs` (or the theorem is missing), `axiom`,
    `unsafe_definition`, `check_failed`, `time_limit`, `memory_limit`, `output_limit`, `crashed`, `too_expensive`,
    `no_answer`.

    `evidence.axioms` lists the axioms that the theorem depends on. The sandbox's language `rocq` shows the version of
    Coq.
    """
    reference.check()
    found = find(response, params.rules, LABELS, "refuse")
    if isinstance(found, Missing):
        return no_answer(found.reason, flags=found.flags)
    text, limits, sandbox = found.code.strip(), params.limits, ctx.sandbox

    def zero(reason: str, words: str | None = None, flags: Iterable[str] = ()) -> Outcome:
        evidence = {"rule": found.rule}
        return wrong(reason, feedback=words, extracted=text[:_SHOWN], evidence=evidence, flags=tuple(flags))

    def failed(step: steps.Step, reason: str) -> Outcome:
        limit = step.failed in steps.LIMITS
        flags = ("too_expensive", str(step.failed)) if limit else ()
        return zero(reason if step.failed == "failed" else str(step.failed), step.message, flags)

    if len(text) > MAX_CHARACTERS:
        return zero("too_expensive", f"more than {MAX_CHARACTERS} characters", ("too_expensive",))
    if (lacking := await sandbox.lacking([steps.LANGUAGE])) is not None:
        raise SandboxError(f"this sandbox cannot check Rocq: {lacking}")
    goal = steps.goal_of(reference, text)
    given = await steps.stated(sandbox, reference, goal, limits)
    if given.failed is not None:
        raise invalid("statement", f"it does not compile ({given.failed}): {given.message}")
    if given.unsafe:
        raise invalid("preamble", f"it turns off a check: {', '.join(sorted(given.unsafe))[:500]}")
    answer = await steps.answered(sandbox, without_repeated(text, reference.preamble), reference.name, given, limits)
    if answer.failed is not None:
        return failed(answer, "compile_error")
    checked = await steps.judged(sandbox, goal, given, answer, limits)
    if checked.unsafe:
        return zero("unsafe_definition", ", ".join(sorted(checked.unsafe))[:_SHOWN])
    if checked.failed is not None:
        return failed(checked, "statement_differs" if checked.exit_code == 3 else "check_failed")
    own = {one for one in checked.axioms if one.startswith("Task.")}
    if foreign := (own | checked.used) - given.axioms - frozenset(params.axioms):
        return zero("axiom", ", ".join(sorted(foreign))[:_SHOWN])
    evidence = {"rule": found.rule, "axioms": sorted(checked.used)[:100]}
    return right(extracted=text[:_SHOWN], evidence=evidence)
