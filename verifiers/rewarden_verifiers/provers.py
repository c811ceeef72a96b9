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
    """A position in the text as given. line: from 1. column: from 0, in characters."""

    line: int
    column: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message by the assistant about a range of the text. end: None if it gives none."""

    severity: Severity
    text: str
    start: Position
    end: Position | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """The open goals at a position: of a `sorry`, or of a tactic (before it ran). text: the source there. goals: empty
    if the assistant reports none for that position.
    """

    text: str
    start: Position
    end: Position
    goals: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """A whole file to elaborate in a warm process.

    project: a name in the server's `[lean.projects]`. limits: `cpu_s` and `wall_s` (idle) for this text alone; the
    server sets the process's `memory_mb`. sorries: report the goals at each `sorry`. tactics: report the goals at each
    tactic. infotree: report the assistant's information on each term and tactic, as text. alone: use a process in which
    nothing else runs before or after.
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
    """The result of checking a snippet. status `ok`: the assistant reached the end of the text, whatever it reported on
    the way.

    limit: the limit that was reached. cpu_s, wall_s: for this text alone, without queueing; without the imports if
    `warm`. infotree: None if not requested.
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
    messages: as printed by the compiler; a text that runs code of its own can have forged them.
    """

    status: CheckStatus
    limit: str | None = None
    messages: tuple[Message, ...] = ()
    module: bytes | None = None
    cpu_s: float = 0.0
    wall_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """The environment in which texts are elaborated. kind `local`: a toolchain, with a built lake project if there is
    one; `remote`: a server with Kimina's protocol, which checks and compiles nothing. identity: changes whenever the
    toolchain or the libraries do. version: Lean's, such as `4.35.0`, if known. path: the folders of its compiled
    modules, as seen from within rooms. replays: whether `leanchecker` is part of the toolchain.
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
    for failures on our side: no room was available, or a remote server does not answer.
    """

    def project(self, name: str | None) -> Project:
        """The project of that name; None: the server's default."""

    async def check(self, snippet: Snippet) -> Checked:
        """Elaborates in a warm process. If that dies without explanation, it retries once, alone."""

    async def compile(self, project: str, text: str, limits: Limits, *, keep: bool = False) -> Compiled:
        """Compiles in a room of its own, as the module `Main`. keep: the caller expects the same text again (a
        reference): the result is cached, and equal texts are compiled once even if requested at the same time.
        """

    async def axioms(self, project: str, header: str, names: Sequence[str]) -> Mapping[str, tuple[str, ...] | None]:
        """The axioms on which constants of the imported modules depend, as Lean prints them; None for a name that it
        does not know. Runs in a process that has seen `header` (import lines) and never a submission; cached.
        """
