"""A verifier's requests to proof assistants, and their results. `ctx.prover` is a `Prover`.

A text can be elaborated in two ways, neither in our process. `check` uses a warm process that has the text's imports
loaded, and returns the assistant's messages. `compile` uses a fresh locked room, and returns the compiled module for
others to read. Both only report what the text's own process said; a trustworthy result requires reading the compiled
module in yet another process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from rewarden_sandboxes.job import Limits

Severity = Literal["error", "warning", "info", "trace"]

CheckStatus = Literal["ok", "time_limit", "memory_limit", "output_limit", "crashed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """A place in the text as it was given. line: from 1. column: from 0, in characters."""

    line: int
    column: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message of the assistant about a stretch of the text. end: None if it names none."""

    severity: Severity
    text: str
    start: Position
    end: Position | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """The goals left to be proved at a place: of a `sorry`, or of a tactic (before it ran). text: the source there.
    goals: none where the assistant says nothing about that place."""

    text: str
    start: Position
    end: Position
    goals: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """A whole file to be elaborated in a warm process.

    project: a name of the server's `[lean.projects]`. limits: `cpu_s` and `wall_s` (idle) of this text alone;
    `memory_mb` is the process's and the server's to set. sorries: goals at each `sorry`. tactics: goals at each
    tactic. infotree: what the assistant knows of each term and tactic, as text. alone: in a process that nothing ran
    in before and nothing will after.
    """

    project: str
    text: str
    limits: Limits = field(default_factory=Limits)
    sorries: bool = False
    tactics: bool = False
    infotree: bool = False
    alone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The result of checking a snippet. status `ok`: the assistant came to the text's end, whatever it said on the way.

    limit: which one was reached. cpu_s, wall_s: of this text alone, without waiting in line; without the imports where
    `warm`. infotree: None where not asked for.
    """

    status: CheckStatus
    limit: str | None = None
    messages: tuple[Message, ...] = ()
    sorries: tuple[Goal, ...] = ()
    tactics: tuple[Goal, ...] = ()
    infotree: str | None = None
    cpu_s: float = 0.0
    wall_s: float = 0.0
    warm: bool = False
    truncated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """A text compiled in a room of its own. module: the compiled module (Lean: the .olean file), None if there is none.
    messages: as the compiler printed them, which a text that runs code of its own may have forged."""

    status: CheckStatus
    limit: str | None = None
    messages: tuple[Message, ...] = ()
    module: bytes | None = None
    cpu_s: float = 0.0
    wall_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """The place where texts are elaborated. kind `local`: a toolchain, and a built lake project where there is one;
    `remote`: a server of Kimina's protocol, which checks and compiles nothing. identity: changes whenever the toolchain
    or the libraries do. version: Lean's, such as `4.35.0`, where it is known. path: the folders of its compiled
    modules, as rooms see them. replays: `leanchecker` is part of the toolchain.
    """

    name: str
    kind: Literal["local", "remote"]
    identity: str
    version: str = ""
    path: tuple[str, ...] = ()
    replays: bool = False


class Prover(Protocol):
    """Proof assistants. All inherit the request's deadline and cancellation.

    All raise InvalidSample for a project that is not configured (`params.project`), and SandboxError or ProviderError
    where something of ours broke: no room could be had, a remote server does not answer.
    """

    def project(self, name: str | None) -> Project:
        """The project of that name; None: the server's default."""

    async def check(self, snippet: Snippet) -> Checked:
        """Elaborate in a warm process. A death that nobody can explain is tried once more, alone."""

    async def compile(self, project: str, text: str, limits: Limits, *, keep: bool = False) -> Compiled:
        """Compile in a room of its own, as the module `Main`. keep: the caller expects the same text again (a
        reference): what came of it is kept, and equal texts that are under way are compiled once."""

    async def axioms(self, project: str, header: str, names: Sequence[str]) -> Mapping[str, tuple[str, ...] | None]:
        """The axioms on which constants of the imported modules depend, as Lean prints them; None for a name that it
        does not know. Asked of a process that has seen `header` (import lines) and never a submission; kept."""
