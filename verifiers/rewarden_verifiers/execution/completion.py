"""Puts the prompt's code before a program that only continues it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from rewarden_verifiers.execution.candidate import Candidate
from rewarden_verifiers.execution.reference import PYTHON, CodeReference
from rewarden_verifiers.execution.shims.heads import PYTHON as PYTHON_HEADS
from rewarden_verifiers.execution.shims.known import shim_of
from rewarden_verifiers.extraction import encodable

Completion = Literal["auto", "always", "never"]


def complete(candidate: Candidate, reference: CodeReference, mode: Completion) -> Candidate:
    """Returns the candidate, with the prompt's code (`prefix`) before it if it only continues that code.

    auto: a program that defines the tested function is complete. In Python, the prompt's code still comes first,
    because prompts contain imports and helpers; its last function gets an empty body. Any other program continues the
    prefix.
    """
    prefix = encodable(reference.prefix)
    if not prefix.strip() or mode == "never":
        return candidate
    python = reference.language.lower() in PYTHON
    shim = shim_of(reference.language)
    if mode == "auto" and _stands_alone(candidate.code, reference, prefix, python):
        before = closed(prefix) if python else shim.preamble(prefix) if shim is not None else ""
        return replace(candidate, code=f"{before}\n{candidate.code}", prefixed=True) if before else candidate
    code = prefix + _stopped(candidate.code, reference.stop) + _end(reference)
    return Candidate(code, candidate.rule, prefixed=True, completed=True)


def _stopped(code: str, stop: Sequence[str]) -> str:
    """Cuts a continuation at the first stop text."""
    return code[: min((place for text in stop if text and (place := code.find(text)) >= 0), default=len(code))]


def _end(reference: CodeReference) -> str:
    """Returns the brace that closes the prompt's function if test code begins with it."""
    tests = [test.code for test in reference.tests if test.code is not None]
    shim = shim_of(reference.language)
    return "\n}\n" if shim is not None and tests and all(code.lstrip().startswith("}") for code in tests) else ""


def closed(prefix: str) -> str:
    """Returns the prompt's Python code as a complete program: if its last function has no body, the body
    becomes empty.
    """
    return f"{prefix}\n{_body_indent(prefix)}pass\n"


def _stands_alone(code: str, reference: CodeReference, prefix: str, python: bool) -> bool:
    shim = shim_of(reference.language)
    if shim is not None and reference.entry_point:
        return shim.defines(code, reference.entry_point)
    if not python:
        signature = " ".join(prefix.rstrip().rpartition("\n")[2].split())
        return signature in " ".join(code.split())
    names = {test.target.partition(".")[0] for test in reference.tests if test.target}
    if reference.entry_point:
        names.add(reference.entry_point)
    if not names:
        return not code.lstrip("\r\n").startswith((" ", "\t"))
    return PYTHON_HEADS.defines(code, *sorted(names))


def _body_indent(prefix: str) -> str:
    """Returns the indentation of the code after the prefix: that of its last line, or one step deeper if that line
    opens a body.
    """
    last = prefix.rstrip().rpartition("\n")[2]
    indent = last[: len(last) - len(last.lstrip())]
    return indent + "    " if last.partition("#")[0].rstrip().endswith(":") else indent
