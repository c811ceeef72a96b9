"""The messages of a `lean --worker`, as far as they are used. The rest of a message is not decoded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeVar

import msgspec

from rewarden_server.lean.framing import Nonsense
from rewarden_server.lean.source_map import SourceMap
from rewarden_verifiers.provers import Message, Severity

_SEVERITIES: dict[int, Severity] = {1: "error", 2: "warning", 3: "info", 4: "info"}

FATAL = 2
"""The kind of progress of a file whose header cannot be loaded."""


NULL = msgspec.Raw(b"null")


class Incoming(msgspec.Struct, frozen=True, kw_only=True):  # no field of a dataclass may stay undecoded
    """A notification or a request (both have a method) or an answer."""

    id: int | str | None = None
    method: str | None = None
    params: msgspec.Raw = NULL
    result: msgspec.Raw = NULL
    error: msgspec.Raw = NULL


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """line: from 0. character: UTF-16 code units."""

    line: int
    character: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """A range of the document."""

    start: Point
    end: Point


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """A message. fullRange: `range` ends with its first line."""

    message: str
    range: Range
    fullRange: Range | None = None
    severity: Literal[1, 2, 3, 4] = 3

    def placed(self, sheet: SourceMap) -> Message:
        """Returns the message, with its place in the original text of the sheet."""
        stretch = self.fullRange or self.range
        start = sheet.place(stretch.start.line, stretch.start.character)
        end = sheet.place(stretch.end.line, stretch.end.character)
        return Message(severity=_SEVERITIES[self.severity], text=self.message, start=start, end=end)


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """`textDocument/publishDiagnostics`: all messages on a version so far, or (isIncremental) more of them."""

    diagnostics: list[Diagnostic]
    version: int | None = None
    isIncremental: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A range that is being processed."""

    kind: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """`$/lean/fileProgress`."""

    processing: list[Stretch]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainGoal:
    """The answer to `$/lean/plainGoal`: the goals before a tactic."""

    goals: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainTermGoal:
    """The answer to `$/lean/plainTermGoal`: the expected type of a term, and the term's place."""

    goal: str
    range: Range


Read = TypeVar("Read")


def read(data: bytes | msgspec.Raw, shape: type[Read]) -> Read:
    """Returns the message. Raises Nonsense for one of another shape."""
    try:
        return msgspec.json.decode(data, type=shape)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Nonsense(f"no {shape.__name__}: {error}") from None
