"""Inspects compiled modules, in a separate room, by a program that elaborates nothing.

The room's program is the package `inspection` beside this file. It reads bytes written by a process that ran the
submission's code, so it trusts none of them; if they should ever take it over, it is in a locked room.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Any

from rewarden.errors import SandboxError
from rewarden_sandboxes.job import Case, CaseResult, Job, Limits, Program, Report, source
from rewarden_verifiers.lean.inspection.main import LOADED, LOADING
from rewarden_verifiers.sandbox import Sandbox

_PACKAGE = "rewarden_verifiers.lean.inspection"
_MAIN = f"from {_PACKAGE}.main import main\n\nmain()\n"
_LIMITS = Limits(cpu_s=120.0, wall_s=60.0, output_bytes=4 * 1024**2)
_TOO_MUCH = frozenset({"time_limit", "memory_limit", "output_limit"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Proved:
    """The findings on one theorem, or on a definition that must stay the same.

    reason: why it fails, or None; feedback: the same in words. axioms: the submission's own axioms that its proof
    depends on. imported: constants of imported modules that it uses. uses: the declared lemmas that its proof uses;
    steps: those of them that it only states as a step. holes: definitions that the reference leaves open and the
    submission has filled.
    """

    name: str
    reason: str | None = None
    feedback: str | None = None
    axioms: tuple[str, ...] = ()
    imported: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    holes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """The findings of the inspection.

    malformed, reference_malformed: why Lean cannot have written a file. overrides: attributes by which compiled code
    differs from its definition. fault: how the inspection itself ended, if it was not completed. replay: `accepted`,
    `rejected`, `unavailable`, or `off`; replay_by: `kernel` or `leanchecker`.
    """

    theorems: tuple[Proved, ...] = ()
    definitions: tuple[Proved, ...] = ()
    overrides: tuple[str, ...] = ()
    malformed: str | None = None
    reference_malformed: str | None = None
    fault: str | None = None
    replay: str = "off"
    replay_by: str = ""
    replay_message: str = ""
    cpu_s: float = 0.0
    wall_s: float = 0.0


@cache
def _program() -> Mapping[str, bytes]:
    """Returns the inspection's modules as files of the room, where they import each other by their names here.

    The packages above it are empty there.
    """
    place = PurePosixPath(*_PACKAGE.split("."))
    empty = {f"{above}/__init__.py": b"" for above in place.parents if above.name}
    found = {item.name: item.read_bytes() for item in files(_PACKAGE).iterdir() if item.name.endswith(".py")}
    return {**empty, **{f"{place}/{name}": data for name, data in sorted(found.items())}}


async def inspect(
    sandbox: Sandbox, project: str, reference: bytes | None, submission: bytes, question: Mapping[str, Any]
) -> Findings:
    """Compares the modules, collects axioms, and replays the declarations. Raises SandboxError if that fails."""
    given = {**_program(), "submission.olean": submission, "question.json": json.dumps(question).encode()}
    if reference is not None:
        given["reference.olean"] = reference
    program = Program(language=f"lean-check-{project}", code=source(_MAIN), files=given, limits=_LIMITS)
    report = None
    async for event in sandbox.run(Job(program=program, cases=[Case()])):
        if isinstance(event, CaseResult):
            report = event.program
    if report is None or report.status == "internal_error":
        raise SandboxError(
            f"the inspection of a compiled file did not run: {report.message if report else 'no report'}"
        )
    if _loading(report.stderr) and (report.limit == "wall_s" or report.signal is not None):
        raise SandboxError(
            f"the imports of a compiled file were not loaded: {report.limit or f'signal {report.signal}'}"
        )
    if report.status in _TOO_MUCH or report.signal is not None:
        # The compiled file is too large or nested too deeply to inspect.
        fault = report.status if report.status in _TOO_MUCH else "crashed"
        return Findings(fault=fault, cpu_s=report.cpu_time, wall_s=report.wall_time)
    if report.status != "ok":
        words = report.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise SandboxError(f"the inspection of a compiled file broke: {words[:500]}")
    try:
        said = json.loads(report.stdout)
    except ValueError:
        raise SandboxError("the inspection of a compiled file said nothing that can be read") from None
    return _findings(said, report)


def _loading(stderr: bytes) -> bool:
    """Returns whether the inspection ended while loading the imports that both files share."""
    stages = [line for line in stderr.decode("utf-8", "replace").splitlines() if line in (LOADING, LOADED)]
    return stages[-1:] == [LOADING]


def _findings(said: Mapping[str, Any], report: Report) -> Findings:
    replay = said["replay"]
    malformed = said["malformed"]
    if said["imports_differ"]:
        malformed = "it imports other modules than the file that was compiled"
    return Findings(
        theorems=tuple(_proved(found) for found in said["theorems"]),
        definitions=tuple(_proved(found) for found in said["definitions"]),
        overrides=tuple(said["overrides"]),
        malformed=malformed,
        reference_malformed=said["reference_malformed"],
        fault="too_large" if said["too_large"] is not None else None,
        replay=replay["status"],
        replay_by=replay["by"],
        replay_message=replay["message"],
        cpu_s=report.cpu_time,
        wall_s=report.wall_time,
    )


def _proved(found: Mapping[str, Any]) -> Proved:
    names = ("axioms", "imported", "uses", "steps", "holes")
    return Proved(
        name=found["name"],
        reason=found["reason"],
        feedback=found["feedback"],
        **{name: tuple(found.get(name, ())) for name in names},
    )
