"""The two rooms of a check: one for the specification alone, and one for the response with it.

Dafny does not run the code that it verifies. Each run has separate files for its modules: `Task` with the preamble,
`Response`, and one of ours under a name that no response can contain, which states the specification and calls the
response. The response's own postconditions count only as far as they imply the specification.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rewarden.errors import SandboxError
from rewarden_sandboxes.job import Case, CaseResult, Job, Program, Report, source
from rewarden_verifiers.dafny.params import DafnyParams
from rewarden_verifiers.dafny.reference import DafnyReference
from rewarden_verifiers.sandbox import Sandbox

_SHOWN = 1_500

LANGUAGE = "dafny"
"""The entry in the sandbox's languages."""

LIMITS = frozenset(("time_limit", "memory_limit", "output_limit"))

_BEGIN = """
cat >z3.sh <<'END'
#!/bin/sh
sed -u /model_compress/d | exec z3 "$@"
END
chmod +x z3.sh
cat >mono.config <<'END'
<configuration>
<dllmap dll="System.Native" target="$mono_libdir/libmono-native.so"/>
<dllmap dll="MonoPosixHelper" target="$mono_libdir/libMonoPosixHelper.so"/>
<dllmap dll="libc" target="libc.so.6"/>
</configuration>
END
export MONO_CONFIG="$PWD/mono.config"
verify() {
  file=$1
  shift
  dafny /nologo /compile:0 /noCheating:1 /rlimit:%d /z3exe:"$PWD/z3.sh" "$@" >"$file" 2>&1 </dev/null
  echo "exit $?" >>"$file"
}
: >1.txt; : >2.txt; : >3.txt
"""
"""Debian's Dafny sets an option that Debian's z3 no longer supports. Rooms have no /etc, where Mono looks up the
locations of its own libraries.
"""

_STATED = "verify 1.txt task.dfy ours.dfy; verify 2.txt task.dfy doubt.dfy\n"
_JUDGED = """
verify 1.txt task.dfy response.dfy
[ "$(tail -n 1 1.txt)" = "exit 0" ] || exit 0
verify 2.txt task.dfy response.dfy ours.dfy
verify 3.txt task.dfy response.dfy doubt.dfy
"""
_SUMMARY = re.compile(r"Dafny program verifier finished with (\d+) verified, 0 errors")
_HARMLESS = re.compile(r"\w+\.dfy\(\d+,\d+\): (?:Warning|Info): (?!.*\bbody\b).*")
"""Messages that may precede the summary. Attack: a loop without a body, for which Dafny only prints a warning. Nothing
in the loop changes its guard, so the code after it is unreachable, and every postcondition holds there.
"""
_JUDGES = 4
"""The exit code of a run that could not prove something; with other codes there was nothing to prove."""


@dataclass(frozen=True, slots=True)
class Said:
    """The output of a run. proofs: the number of verified declarations if all were verified, else None."""

    text: str
    code: int
    proofs: int | None

    @property
    def open(self) -> bool:
        """True if there was something to prove, and some of it was not proved."""
        return self.proofs is None and self.code in (0, _JUDGES)


@dataclass(frozen=True, slots=True)
class Checked:
    """The end of a check. failed: None, the reason, `crashed`, or a limit. message: Dafny's output."""

    failed: str | None = None
    message: str = ""


async def stated(sandbox: Sandbox, reference: DafnyReference, params: DafnyParams) -> Checked:
    """Checks the specification alone: it is well formed, and its preconditions can be satisfied."""
    loop = "decreases *\n{ while true decreases * {} }"
    files = {"task.dfy": _task(reference)}
    for name, ensures, body in (("ours", reference.ensures, loop), ("doubt", ("false",), "{ }")):
        head = _head("method", reference, returns=name == "ours", ensures=ensures)
        files[f"{name}.dfy"] = f"module {name.title()} {{ import opened Task\n{head}\n{body}\n}}\n"
    runs = await _run(sandbox, _STATED, files, params)
    if isinstance(runs, Checked):
        return runs
    formed, doubt, _ = runs
    if formed.proofs is None:
        return Checked("ill_formed", formed.text)
    return Checked("vacuous", doubt.text) if doubt.proofs is not None else Checked()


async def judged(sandbox: Sandbox, reference: DafnyReference, text: str, params: DafnyParams) -> Checked:
    """Verifies the response, and that it meets the specification."""
    whole = "\0".join((repr(reference), text))
    secret = hashlib.sha256(whole.encode("utf-8", "replace")).hexdigest()[:32]
    files = {
        "task.dfy": _task(reference),
        "response.dfy": f"module Response {{ import opened Task\n{text}\n}}\n",
        "ours.dfy": _ours(f"Ours{secret}", reference, reference.ensures),
        "doubt.dfy": _ours(f"Doubt{secret}", reference, ("false",)),
    }
    runs = await _run(sandbox, _JUDGED, files, params)
    if isinstance(runs, Checked):
        return runs
    own, kept, doubt = runs
    if own.proofs is None:
        return Checked("not_verified" if own.open else "compile_error", own.text)
    if kept.proofs is None or kept.proofs <= own.proofs:
        return Checked("specification_unmet" if kept.open else "declaration_differs", kept.text)
    if doubt.proofs is not None:
        return Checked("contradiction", doubt.text)
    return Checked()


def _task(reference: DafnyReference) -> str:
    return f"module Task {{\n{reference.preamble}\n}}\n"


def _ours(module: str, reference: DafnyReference, ensures: Sequence[str]) -> str:
    """A module that states the specification and calls the response. Attack: a type or function in the response with
    the name of one in the specification; the response's module is not opened here.
    """
    call = f"Response.{reference.name}({reference.arguments})"
    if reference.kind == "function":
        (result,) = reference.returns
        joined = " && ".join(f"({each})" for each in ensures)
        head = _head("lemma", reference, returns=False, ensures=(f"var {result} := {call}; {joined}",))
        body = "{ }"
    else:
        head = _head(reference.kind, reference, returns=True, ensures=ensures)
        body = f"{{ {reference.results} := {call}; }}" if reference.returns else f"{{ {call}; }}"
    return f"module {module} {{ import opened Task\nimport Response\n{head}\n{body}\n}}\n"


def _head(kind: str, reference: DafnyReference, *, returns: bool, ensures: Sequence[str]) -> str:
    lines = [f"{kind} Check({', '.join(reference.parameters)})"]
    if returns and reference.returns:
        lines.append(f"returns ({', '.join(reference.returns)})")
    lines += [f"requires {each}" for each in reference.requires]
    lines += [f"ensures {each}" for each in ensures]
    return "\n".join(lines)


async def _run(
    sandbox: Sandbox, steps: str, files: Mapping[str, str], params: DafnyParams
) -> tuple[Said, Said, Said] | Checked:
    """The outputs of the runs, or the reason why there are none."""
    script = _BEGIN % (params.effort * 1_000_000) + steps
    program = Program(language=LANGUAGE, code=source(script), limits=params.limits)
    case = Case(files={name: source(text) for name, text in files.items()})
    names = ("1.txt", "2.txt", "3.txt")
    report: Report | None = None
    async for event in sandbox.run(Job(program=program, cases=[case], collect=names)):
        if isinstance(event, CaseResult):
            report = event.program
    if report is None or report.status == "internal_error":
        raise SandboxError(f"a room of the check did not run: {report.message if report else 'no report'}")
    if report.status != "ok":
        failed = report.status if report.status in LIMITS else "crashed"
        return Checked(failed, report.stderr.decode("utf-8", "replace").strip()[:_SHOWN])
    first, second, third = (_said(report.files[name].decode("utf-8", "replace")) for name in names)
    return first, second, third


def _said(text: str) -> Said:
    """Parses the output of a run.

    Attack: a proof that exceeds the prover's limit. Dafny then exits with 0 and reports 0 errors, so only a run that
    printed nothing but its summary has verified everything.
    """
    lines = [line for line in map(str.strip, text.splitlines()) if line and not _HARMLESS.fullmatch(line)]
    last = lines.pop() if lines else ""
    code = int(last.removeprefix("exit ")) if last.startswith("exit ") else -1
    summary = _SUMMARY.fullmatch(lines[0]) if len(lines) == 1 and code == 0 else None
    return Said("\n".join(lines)[:_SHOWN], code, None if summary is None else int(summary[1]))
