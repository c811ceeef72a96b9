"""The verifier `kernel`: checks that a function on arrays agrees with a reference, and can time it against the
reference."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from rewarden.errors import InvalidReference, SandboxError
from rewarden.types import Outcome
from rewarden_verifiers.contract import Context, VerifierSpec, spec_of, verifier
from rewarden_verifiers.execution.candidate import Missing, find
from rewarden_verifiers.kernels.params import KernelParams
from rewarden_verifiers.kernels.reference import MAX_CHARACTERS, KernelReference, invalid
from rewarden_verifiers.kernels.rooms import LANGUAGES, Judged, compare
from rewarden_verifiers.outcome import no_answer, scored, wrong

LABELS = frozenset({"python", "py", "python3"})
"""Fence labels for Python."""

_LIMITS = frozenset(("time_limit", "memory_limit", "output_limit"))
_SHOWN = 2_000
_TRIES = 3


def _variant(params: KernelParams) -> VerifierSpec | None:
    own = spec_of(kernel)
    return replace(own, determinism="sampled", variant=None) if own is not None and params.speed != "none" else None


@verifier(version="1", graded=True, variant=_variant)
async def kernel(response: str, reference: KernelReference, *, params: KernelParams, ctx: Context) -> Outcome:
    """The response is a kernel, a function or module on arrays, whose outputs match the reference's.

    The kernel runs in a locked room that contains neither the reference nor the expected outputs, and whose clock is
    not used. In another room, the judge generates inputs, sends them as bytes, receives the outputs as bytes, and
    compares them. Inputs are random for each case, dtype and layout, with seeds that depend on the response. Both sides
    draw their weights from the same seed, as in KernelBench. Outputs must have the reference's dtype and shape. A
    kernel may modify its inputs only as the reference does, and must not overwrite the output of its previous call.

    With `speed`, the judge measures from the first byte of the inputs to the last byte of the output. It measures the
    reference in the same way, before and after the kernel. Both times include the transfer of the arrays, so large
    speed-ups come out smaller. Every timed call gets new inputs, and its output is compared. If the reference's two
    times differ by more than `steady`, the judge measures again; after three attempts the verdict is an `error` with
    fault `infra`, because noise on the machine is not the kernel's fault. `raw` is the speed-up.

    The reference is at fault if it fails, if its output varies for the same input, or if constants or one of its inputs
    would be within tolerance of its outputs. Such a reference cannot measure anything.

    GPU kernels cannot be judged, because rooms have no GPU. In the image `python-science`, kernels can use torch, C++
    through `torch.utils.cpp_extension`, and numba.

    Reasons with score 0: `kernel_missing`, `load_failed`, `call_failed`, `wrong_shape` (or another dtype),
    `wrong_output`, `input_changed`, `output_overwritten`, `forbidden_operation`, `forbidden_construct`,
    `required_missing`, `bad_reply`, `crashed` (also an early exit), `time_limit`, `memory_limit`, `output_limit`,
    `judge_failed_on_output`, `unsteady` (correct at first, but not while it is timed), `too_expensive`, `no_answer`.
    """
    reference.check()
    found = find(response, params.rules, LABELS, "refuse")
    if isinstance(found, Missing):
        return no_answer(found.reason, flags=found.flags)
    text, sandbox = found.code.strip(), ctx.sandbox

    def zero(reason: str, words: str | None = None, flags: Iterable[str] = (), place: str = "") -> Outcome:
        evidence = {"rule": found.rule} | ({"call": place} if place else {})
        return wrong(reason, feedback=words, extracted=text[:_SHOWN], evidence=evidence, flags=tuple(flags))

    if len(text) > MAX_CHARACTERS:
        return zero("too_expensive", f"more than {MAX_CHARACTERS} characters", ("too_expensive",))
    if (lacking := await sandbox.lacking([LANGUAGES[reference.framework]])) is not None:
        raise SandboxError(f"this sandbox cannot judge kernels of {reference.framework}: {lacking}")

    async def run(*, timed: bool) -> Judged:
        return await compare(sandbox, reference, params, text, timed=timed)

    async def run_reference(*, timed: bool) -> Sequence[float]:
        """Runs the reference in place of the kernel. Returns its seconds by case. Raises InvalidReference."""
        done = await compare(sandbox, reference, params, None, timed=timed)
        if done.result is not None and done.result["end"] == "right":
            seconds: Sequence[float] = done.result["seconds"]
            return seconds
        raise _at_fault(done)

    done = await run(timed=False)
    result = done.result
    if result is None:
        if not done.prepared:
            raise _at_fault(done)
        await run_reference(timed=False)
        return zero("judge_failed_on_output", None, ("judge_failed_on_output",))
    if result["end"] == "reference":
        raise invalid(result["field"], result["message"])
    if result["end"] == "gone":
        status = done.kernel.status
        if status in _LIMITS:
            # If the reference exceeds the limit as well, the kernel is not to blame.
            await run_reference(timed=False)
            return zero(status, None, ("too_expensive", status))
        return zero("crashed", done.kernel.stderr[-_SHOWN:].decode("utf-8", "replace"))
    if result["end"] == "wrong":
        return zero(result["reason"], result["message"], place=result["place"])
    evidence = {"rule": found.rule, "calls": result["calls"], "largest_difference": result["worst"]}
    if params.speed == "none":
        return scored(1.0, passed=True, extracted=text[:_SHOWN], evidence=evidence)
    for _ in range(_TRIES):
        before = await run_reference(timed=True)
        own = await run(timed=True)
        after = await run_reference(timed=True)
        if own.result is None or own.result["end"] != "right":
            # The reference passed the same calls, so the kernel passed by luck, or fails when it is timed.
            return zero("unsteady", None if own.result is None else own.result.get("message"))
        if max(max(one, other) / min(one, other) for one, other in zip(before, after, strict=True)) <= params.steady:
            ratios = [
                (one * other) ** 0.5 / mine
                for one, other, mine in zip(before, after, own.result["seconds"], strict=True)
            ]
            speedup = math.exp(sum(map(math.log, ratios)) / len(ratios))
            score = min(1.0, speedup / params.target) if params.speed == "score" else 1.0
            evidence |= {"speedup": speedup, "seconds": own.result["seconds"], "reference_seconds": list(before)}
            return scored(score, passed=True, raw=speedup, extracted=text[:_SHOWN], evidence=evidence)
    raise SandboxError("the machine is too busy to time a kernel: the reference's own times differ")


def _at_fault(done: Judged) -> InvalidReference:
    """The error for a reference that fails in place of the kernel, or earlier."""
    if done.result is None:
        said = done.judge.stderr[-500:].decode("utf-8", "replace")
        return invalid("source", f"the judge's sandbox ends with {done.judge.status}: {said}")
    if done.result["end"] == "gone":
        return invalid("source", f"run as the kernel, it ends with {done.kernel.status}; raise the limits")
    return invalid("source", f"run as the kernel, it fails: {done.result.get('message')}")
