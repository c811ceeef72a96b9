"""The findings of a checker: whether a plan meets the reference, and how it fails if not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Credit = Literal["full", "goals", "prefix", "cost", "constraints"]
SHOWN = 200
"""Characters of the policy's text that feedback repeats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """`reason` is None for a right plan.

    share: what a plan that is not right, or costs more than it must, earns under the parameter `credit`.
    """

    reason: str | None = None
    share: float = 0.0
    why: str | None = None
    extracted: Any = None
    evidence: Mapping[str, Any] = field(default_factory=dict)


class Checker(Protocol):
    """A planning problem that can tell whether a plan solves it."""

    def check(self, text: str, marked: bool) -> Finding:
        """Returns the finding on the plan in a text. marked: the text is the plan alone, as the response marks it.

        Never raises; the work is bounded by the size of the text.
        """


class Unread(Exception):
    """A text holds no plan that can be read. `reason` is the verdict's."""

    def __init__(self, reason: str, why: str | None = None) -> None:
        super().__init__(why or reason)
        self.reason, self.why = reason, why

    def finding(self) -> Finding:
        """The finding on such a text."""
        return Finding(reason=self.reason, why=self.why)


def shown(text: str) -> str:
    """The policy's text as feedback repeats it: short, and without control or look-alike characters."""
    return ascii(text if len(text) <= SHOWN else f"{text[:SHOWN]}…")
