"""The output of Lean: messages as lines of JSON, and the axioms of a constant."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import msgspec

from rewarden_verifiers.provers import Message, Position, Severity

_SEVERITIES: dict[str, Severity] = {"error": "error", "warning": "warning", "information": "info", "trace": "trace"}

_AXIOMS = re.compile(r"depends on axioms: \[(.*)\]\s*\Z", re.DOTALL)
_NO_AXIOMS = re.compile(r"does not depend on any axioms\s*\Z")
_COMPONENT = re.compile(r"«([^»\n]+)»|([^.«»\n]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    line: int
    column: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Printed:
    data: str
    severity: Literal["error", "warning", "information", "trace"]
    pos: _Place
    endPos: _Place | None = None


def messages(stdout: bytes) -> Iterator[Message]:
    """Returns the messages that `lean --json` printed. Other lines, which the text's own code printed, are skipped."""
    for line in stdout.splitlines():
        try:
            printed = msgspec.json.decode(line, type=_Printed)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
        yield Message(
            severity=_SEVERITIES[printed.severity],
            text=printed.data,
            start=Position(line=printed.pos.line, column=printed.pos.column),
            end=Position(line=printed.endPos.line, column=printed.endPos.column) if printed.endPos else None,
        )


def axioms(text: str) -> tuple[str, ...] | None:
    """Returns the axioms that `#print axioms` lists; None if the text neither lists any nor says that there are
    none."""
    if _NO_AXIOMS.search(text) is not None:
        return ()
    found = _AXIOMS.search(text)
    return tuple(part.strip() for part in found[1].split(",")) if found is not None else None


def as_source(name: str) -> str | None:
    """Returns a constant's name as source; None if no source can name it: names that Lean makes itself contain numbers,
    and so do private ones."""
    parts = []
    at = 0
    while True:
        found = _COMPONENT.match(name, at)
        if found is None:
            return None
        part = found[1] or found[2]
        if part.isdigit() or part in ("_root_", "_private"):
            return None
        parts.append(f"«{part}»")
        at = found.end()
        if at == len(name):
            return ".".join(parts)
        if name[at] != ".":
            return None
        at += 1
