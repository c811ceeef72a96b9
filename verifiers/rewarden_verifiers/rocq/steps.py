"""The steps of a check, each in a locked room: the statement, the response, and the checker that judges both.

The rooms share only compiled libraries. The last one never sees the response's text: it states that the response's
theorem has the type of the statement, and runs `coqchk`, which has no tactics, notations, plugins or options, on these
libraries. The installation's libraries are not checked again: arithmetic alone takes 20 s.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from rewarden.errors import SandboxError
from rewarden_sandboxes.job import Case, CaseResult, Job, Limits, Program, Report, source
from rewarden_verifiers.rocq.reference import RocqReference
from rewarden_verifiers.sandbox import Sandbox

LANGUAGE = "rocq"
"""The entry in the sandbox's languages."""

LIMITS = frozenset(("time_limit", "memory_limit", "output_limit"))

_COQC = "coqc -q -w none -native-compiler no -Q . Task"
_FOUND = """
set -e
libraries=$(dirname "$(coqc -where)")
mkdir findlib
printf 'path="%s"\\ndestdir="%s"\\n' "$libraries" "$libraries" >findlib/findlib.conf
export OCAMLFIND_CONF="$PWD/findlib/findlib.conf"
"""
"""Rooms have no /etc, where the compiler looks up the location of its own plugins."""

_CHECKED = "coqchk -silent -o -Q . Task {} >checked.txt 2>&1\n"
_STATED = _FOUND + f"{_COQC} Preamble.v >&2\n{_COQC} {{goal}}.v >&2\n{_CHECKED}"
_ANSWERED = _FOUND + f"{_COQC} Response.v\n{_COQC} Name.v >name.txt 2>&1 || true\n"
_JUDGED = _FOUND + f"{_COQC} {{verdict}}.v >&2 || exit 3\n{_CHECKED}{_COQC} Used.v >used.txt\n"

_IMPORT = "From Task Require Import Preamble.\n"
_SECTION = re.compile(r"^\* ([^:\n]+):(.*(?:\n(?!\* ).*)*)", re.MULTILINE)
_USED = re.compile(r"([\w.']+)(?: :.*)?", re.DOTALL)
_RESPONSE = "Task.Response"
_LOCATED = re.compile(r"Constant (Task\.Response(?:\.[A-Za-z][A-Za-z0-9_']*)+)\s")
_CLOSED = "Closed under the global context"
_UNSAFE = (
    "Constants/Inductives relying on type-in-type",
    "Constants/Inductives relying on unsafe (co)fixpoints",
    "Inductives whose positivity is assumed",
)
"""The checker's headings for definitions that depend on a disabled check."""


@dataclass(frozen=True, slots=True)
class Step:
    """The result of a step. failed: None, or `failed`, `crashed`, or a limit. message: the tool's output. files:
    compiled libraries. axioms, unsafe: for steps with a check, full names of loaded axioms, and of definitions that
    depend on a disabled check. place: for a response, the full name of its theorem. used: for the last step, the axioms
    that the theorem depends on. exit_code: the step's.
    """

    failed: str | None = None
    message: str = ""
    files: Mapping[str, bytes] = field(default_factory=dict)
    axioms: frozenset[str] = frozenset()
    unsafe: frozenset[str] = frozenset()
    place: str = ""
    used: frozenset[str] = frozenset()
    exit_code: int | None = None


def goal_of(reference: RocqReference, text: str) -> str:
    """The name of the statement's library. Attack: define a constant, notation or module of that name. The name depends
    on the entire response, so no response can contain it.
    """
    whole = "\0".join((reference.preamble, reference.statement, text))
    return f"Goal{hashlib.sha256(whole.encode('utf-8', 'replace')).hexdigest()[:32]}"


async def stated(sandbox: Sandbox, reference: RocqReference, goal: str, limits: Limits) -> Step:
    """Compiles the preamble and the statement, and checks what they depend on themselves."""
    files = {
        "Preamble.v": source(reference.preamble + "\n"),
        f"{goal}.v": source(f"{_IMPORT}Definition statement : Prop :=\n{reference.statement}\n.\n"),
    }
    script = _STATED.format(_only("Preamble", goal), goal=goal)
    return _summary(await _step(sandbox, script, files, limits, ("Preamble.vo", f"{goal}.vo", "checked.txt")))


async def answered(sandbox: Sandbox, text: str, name: str, given: Step, limits: Limits) -> Step:
    """Compiles a response with only the preamble, and finds its theorem, which can be in an exported module.

    The response may forge the location, but that is only a name: its type and axioms are judged elsewhere.
    """
    files = {
        "Preamble.vo": given.files["Preamble.vo"],
        "Response.v": source(_IMPORT + text + "\n"),
        "Name.v": source(f"From Task Require Import Response.\nLocate {name}.\n"),
    }
    step = await _step(sandbox, _ANSWERED, files, limits, ("Response.vo", "name.txt"))
    if step.failed is not None:
        return step
    said = _LOCATED.match(step.files["name.txt"].decode("utf-8", "replace"))
    place = said[1] if said is not None and said[1].endswith(f".{name}") else f"{_RESPONSE}.{name}"
    return replace(step, files={"Response.vo": step.files["Response.vo"]}, place=place)


async def judged(sandbox: Sandbox, goal: str, given: Step, answer: Step, limits: Limits) -> Step:
    """States that the theorem has the type of the statement, checks the libraries again, and lists the axioms."""
    verdict = goal.replace("Goal", "Verdict")
    files = {
        **{place: content for place, content in given.files.items() if place.endswith(".vo")},
        **answer.files,
        f"{verdict}.v": source(
            f"Require Task.{goal} {_RESPONSE}.\nDefinition verdict : Task.{goal}.statement := @{answer.place}.\n"
        ),
        "Used.v": source(
            f"Require Task.{verdict}.\nSet Printing Depth 1000000.\nSet Printing Width 1000000.\n"
            f"Print Assumptions Task.{verdict}.verdict.\n"
        ),
    }
    script = _JUDGED.format(_only("Preamble", goal, "Response", verdict), verdict=verdict)
    step = _summary(await _step(sandbox, script, files, limits, ("checked.txt", "used.txt")))
    return step if step.failed is not None else _with_used(step)


def _only(*names: str) -> str:
    """The checker's arguments to check these libraries, without those that they load."""
    return " ".join(f"-norec Task.{name}" for name in names)


async def _step(
    sandbox: Sandbox, script: str, files: Mapping[str, bytes], limits: Limits, collect: Sequence[str]
) -> Step:
    program = Program(language=LANGUAGE, code=source(script), limits=limits)
    report: Report | None = None
    async for event in sandbox.run(Job(program=program, cases=[Case(files=files)], collect=collect)):
        if isinstance(event, CaseResult):
            report = event.program
    if report is None or report.status == "internal_error":
        raise SandboxError(f"a step of the check did not run: {report.message if report else 'no report'}")
    if report.status != "ok":
        words = (report.stderr + b"\n" + report.stdout).decode("utf-8", "replace").strip()
        failed = report.status if report.status in LIMITS else "crashed" if report.signal else "failed"
        return Step(failed=failed, message=words[:1_000], exit_code=report.exit_code)
    if missing := [name for name in collect if name not in report.files]:
        # Attack: `Cd "/tmp"`, which makes the compiler write its library elsewhere.
        return Step(failed="failed", message=f"it left no {', '.join(missing)}", exit_code=report.exit_code)
    return Step(files={name: report.files[name] for name in collect})


def _summary(step: Step) -> Step:
    """Returns the step with the results of its check."""
    if step.failed is not None:
        return step
    found = {
        heading: frozenset(line.strip() for line in listed.splitlines() if line.strip() not in ("", "<none>"))
        for heading, listed in _SECTION.findall(step.files["checked.txt"].decode("utf-8", "replace"))
    }
    if not {"Axioms", *_UNSAFE} <= found.keys():
        return replace(step, failed="failed", message="the checker printed no summary")
    unsafe = frozenset(name for heading in _UNSAFE for name in found[heading])
    return replace(step, axioms=found["Axioms"], unsafe=unsafe)


def _with_used(step: Step) -> Step:
    """Returns the step with the axioms that the theorem depends on.

    The list contains short names. Attack: an axiom with the short name of another; every full name from the checker
    that matches counts. Attack: options that shorten the output; a line that is not a name fails the check.
    """
    text = step.files["used.txt"].decode("utf-8", "replace").strip()
    if text == _CLOSED:
        return step
    heading, *lines = text.splitlines()
    names = [_USED.fullmatch(line) for line in lines if not line.startswith(" ")]
    if heading != "Axioms:" or None in names:
        return replace(step, failed="failed", message="the list of axioms cannot be read")
    used: set[str] = set()
    for name in (match[1] for match in names if match is not None):
        meant = {full for full in step.axioms if f".{full}".endswith(f".{name}")}
        used |= meant or {name}
    return replace(step, used=frozenset(used))
