"""The verifier `dafny`: checks, by Dafny's proof, that a program's declaration meets a given specification."""

from __future__ import annotations

from collections.abc import Iterable

from rewarden.errors import SandboxError
from rewarden.types import Outcome
from rewarden_verifiers.contract import Context, verifier
from rewarden_verifiers.dafny import rooms
from rewarden_verifiers.dafny.params import DafnyParams
from rewarden_verifiers.dafny.reference import DafnyReference, invalid
from rewarden_verifiers.dafny.tokens import refused
from rewarden_verifiers.execution.candidate import Missing, find
from rewarden_verifiers.outcome import no_answer, right, wrong

LABELS = frozenset({"dafny", "dfy"})
"""Fence labels for Dafny."""

MAX_CHARACTERS = 100_000
"""The maximum length of a response's program."""

_SHOWN = 2_000


@verifier(version="1")
async def dafny(response: str, reference: DafnyReference, *, params: DafnyParams, ctx: Context) -> Outcome:
    """The response is a Dafny program whose required declaration satisfies the reference's specification.

    One room checks the specification alone: it must be well formed, and its preconditions must be satisfiable. A second
    room verifies the response in a separate module. It then verifies Rewarden's own wrapper, which has the reference's
    `requires` and `ensures` and calls the response's declaration: that succeeds only if the response requires no more
    and guarantees no less. Finally, the same call must not prove `false`.

    Everything that Dafny accepts without a proof, or skips, is refused beforehand: `assume`, attributes such as
    `{:verify false}`, `{:axiom}` and `{:extern}`, traits, iterators, abstract and refining modules, `include`,
    preprocessor lines, and functions that read the heap as values (`~>`). Declarations without a body cannot have
    postconditions, and loops without a body do not verify. The wrapper cannot call a method that may run forever
    (`decreases *`).

    Reasons with score 0: `forbidden_construct`, `compile_error`, `not_verified`, `specification_unmet`,
    `declaration_differs` (or is missing), `contradiction`, `time_limit`, `memory_limit`, `output_limit`,
    `crashed`, `too_expensive`, `no_answer`.

    `effort` limits the prover in its own steps, not in seconds, so a slow machine finds the same proofs. The sandbox's
    language `dafny` shows the version of Dafny.
    """
    reference.check()
    found = find(response, params.rules, LABELS, "refuse")
    if isinstance(found, Missing):
        return no_answer(found.reason, flags=found.flags)
    text, sandbox = found.code.strip(), ctx.sandbox

    def zero(reason: str, words: str | None = None, flags: Iterable[str] = ()) -> Outcome:
        evidence = {"rule": found.rule}
        return wrong(reason, feedback=words, extracted=text[:_SHOWN], evidence=evidence, flags=tuple(flags))

    if len(text) > MAX_CHARACTERS:
        return zero("too_expensive", f"more than {MAX_CHARACTERS} characters", ("too_expensive",))
    if (construct := refused(text)) is not None:
        return zero("forbidden_construct", construct, ("forbidden_construct",))
    if (lacking := await sandbox.lacking([rooms.LANGUAGE])) is not None:
        raise SandboxError(f"this sandbox cannot verify Dafny: {lacking}")
    given = await rooms.stated(sandbox, reference, params)
    if given.failed == "vacuous":
        raise invalid("requires", "it can never hold, so any declaration would satisfy the specification")
    if given.failed is not None:
        raise invalid("ensures", f"the specification is not well formed ({given.failed}): {given.message}")
    checked = await rooms.judged(sandbox, reference, text, params)
    if checked.failed in rooms.LIMITS:
        return zero(checked.failed, checked.message, ("too_expensive", checked.failed))
    if checked.failed is not None:
        return zero(checked.failed, checked.message)
    return right(extracted=text[:_SHOWN], evidence={"rule": found.rule})
