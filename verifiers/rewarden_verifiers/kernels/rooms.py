"""The two rooms of a comparison: the kernel's, and the judge's, which has the reference, the clock and the result."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rewarden.errors import SandboxError
from rewarden_sandboxes.job import Case, CaseResult, Job, Program, Report, source
from rewarden_verifiers.kernels.params import KernelParams
from rewarden_verifiers.kernels.reference import KernelReference
from rewarden_verifiers.sandbox import Sandbox

LANGUAGES = {"numpy": "python", "torch": "python-science"}
"""The entry in the sandbox's languages, by framework."""

_FOLDER = Path(__file__).parent
_ARRAYS, _WORDS, _CANDIDATE, _JUDGE = (
    (_FOLDER / f"room_{name}.py").read_bytes() for name in ("arrays", "words", "candidate", "judge")
)


@dataclass(frozen=True, slots=True)
class Judged:
    """The end of a comparison. result: the judge's, or None if its room ended without one. prepared: whether the
    reference's own work was finished. kernel, judge: the reports of the rooms.
    """

    result: Mapping[str, Any] | None
    prepared: bool
    kernel: Report
    judge: Report


async def compare(
    sandbox: Sandbox, reference: KernelReference, params: KernelParams, text: str | None, *, timed: bool
) -> Judged:
    """Compares the kernel in `text` with the reference; None puts the reference itself in its place, as a control.
    Raises SandboxError.
    """
    control = text is None
    if text is None:
        text = reference.source
    order = {
        "source": reference.source,
        "framework": reference.framework,
        "entry": reference.entry,
        "name": reference.entry if control else reference.name,
        "cases": list(reference.cases),
        "seeds": params.seeds,
        "dtypes": list(params.dtypes),
        "layouts": list(params.layouts),
        "atol": params.atol,
        "rtol": params.rtol,
        "forbidden": [] if control else list(params.forbidden),
        "required": [] if control else list(params.required),
        "text": text.encode("utf-8", "replace").decode(),
        "calls": params.calls if timed else 0,
        "seed": _seed(reference, text),
        "weights": 42,
    }
    language = LANGUAGES[reference.framework]
    files = {"rewarden_verifiers/kernels/room_arrays.py": _ARRAYS}
    job = Job(
        program=Program(
            language=language, code=_CANDIDATE, files={**files, "kernel.py": source(text)}, limits=params.limits
        ),
        partner=Program(
            language=language,
            code=_JUDGE,
            files={
                **files,
                "rewarden_verifiers/kernels/room_words.py": _WORDS,
                "order.json": json.dumps(order).encode(),
            },
            limits=params.judge_limits,
        ),
        join="socket",
        cases=[Case()],
    )
    async for event in sandbox.run(job):
        if isinstance(event, CaseResult) and event.partner is not None:
            return _judged(event.program, event.partner)
    raise SandboxError("the comparison reported nothing")


def _seed(reference: KernelReference, text: str) -> int:
    """The first seed of the inputs. Attack: outputs that were precomputed for known inputs. The seed depends on the
    entire code, so no code can contain matching outputs.
    """
    whole = json.dumps([reference.source, list(reference.cases), text.encode("utf-8", "replace").decode()])
    return int(hashlib.sha256(whole.encode()).hexdigest()[:10], 16)


def _judged(kernel: Report, judge: Report) -> Judged:
    for report in (kernel, judge):
        if report.status == "internal_error":
            raise SandboxError(f"the comparison did not run: {report.message or 'no report'}")
    lines = judge.stdout.decode("utf-8", "replace").splitlines()
    prepared = lines[:1] == ["prepared"]
    told = lines[prepared:]
    result = json.loads(told[0]) if judge.status == "ok" and len(told) == 1 else None
    if prepared and "killed_with_partner" in judge.flags:
        result = {"end": "gone"}  # the kernel's room reached a limit, which ends both rooms
    return Judged(result, prepared, kernel, judge)
