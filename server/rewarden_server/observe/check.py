"""The result of checking one part: `rewarden doctor` prints it, and `/v1/info` lists its problems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

State = Literal["works", "unused", "broken"]


class Problem(NamedTuple):
    """Something that does not work: the cause, and the command or change that fixes it."""

    what: str
    fix: str


@dataclass(frozen=True, slots=True)
class Check:
    """The state of one part.

    summary: one short line. details: lines that only `--all` prints. used: False if the part is not configured.
    warnings: things that work but can fail under load; a part with only warnings counts as working.
    """

    part: str
    summary: str
    details: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    used: bool = True
    warnings: tuple[Problem, ...] = ()

    @property
    def state(self) -> State:
        """Returns `broken` for a part with a problem, configured or not."""
        if self.problems:
            return "broken"
        return "works" if self.used else "unused"

    def as_json(self) -> dict[str, Any]:
        """Returns the check as an object for JSON."""
        return {
            "part": self.part,
            "state": self.state,
            "summary": self.summary,
            "details": list(self.details),
            "problems": [problem._asdict() for problem in self.problems],
            "warnings": [warning._asdict() for warning in self.warnings],
        }
