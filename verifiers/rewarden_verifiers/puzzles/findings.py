"""The findings of a checker: whether an answer solves a puzzle, and if not, why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of a check. `reason` is None if the answer is right, else `wrong` (valid, but not a solution),
    `illegal` (it breaks a rule: another number, a changed given, a step through a wall) or `malformed` (it cannot be
    parsed).

    share: the share of a wrong answer that is right, from 0 to below 1, after subtracting what the best constant answer
    gets right.
    """

    reason: str | None = None
    share: float = 0.0
    why: str | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)


class Checker(Protocol):
    """A puzzle that can recognise its solutions."""

    def check(self, answer: str) -> Finding:
        """Checks an answer. Never raises, and takes near-linear time in the answer."""


class Task:
    """A puzzle as given in a reference. Its checker is made when the reference is read, so that errors in it are
    reported then.
    """

    def __post_init__(self) -> None:
        self.checker()

    def checker(self) -> Checker:
        """The puzzle. Raises ValueError or InvalidReference."""
        raise NotImplementedError


RIGHT = Finding()


def wrong(why: str, share: float = 0.0, **evidence: Any) -> Finding:
    """A finding for a valid answer that is not a solution."""
    return Finding(reason="wrong", why=why, share=share, evidence=evidence)


def illegal(why: str, share: float = 0.0, **evidence: Any) -> Finding:
    """A finding for an answer that breaks a rule of the puzzle."""
    return Finding(reason="illegal", why=why, share=share, evidence=evidence)


def malformed(why: str) -> Finding:
    """A finding for a text that cannot be parsed as an answer to this puzzle."""
    return Finding(reason="malformed", why=why)


def share_of(right: int, total: int, constant: int) -> float:
    """The share of right cells, rescaled so that the best constant answer earns nothing."""
    return max(0.0, (right - constant) / (total - constant)) if total > constant else 0.0
