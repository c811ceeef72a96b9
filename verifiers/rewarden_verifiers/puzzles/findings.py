"""The findings of a checker: whether an answer solves a puzzle, and how it fails if not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """`reason` is None if the answer is right, and else `wrong` (in order, but no solution), `illegal` (it breaks a
    rule: another number, a changed given, a wall walked through) or `malformed` (it cannot be read).

    share: what a wrong answer gets right, from 0 to below 1, less what the best constant answer gets right.
    """

    reason: str | None = None
    share: float = 0.0
    why: str | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)


class Checker(Protocol):
    """A puzzle that knows its solutions."""

    def check(self, answer: str) -> Finding:
        """Returns what an answer is worth. Never raises; its work is near-linear in the answer."""


class Task:
    """A puzzle as a reference has it. Its checker is made when it is read, so that a mistake in it is told then."""

    def __post_init__(self) -> None:
        self.checker()

    def checker(self) -> Checker:
        """The puzzle. Raises ValueError or InvalidReference."""
        raise NotImplementedError


RIGHT = Finding()


def wrong(why: str, share: float = 0.0, **evidence: Any) -> Finding:
    """In order, but no solution."""
    return Finding(reason="wrong", why=why, share=share, evidence=evidence)


def illegal(why: str, share: float = 0.0, **evidence: Any) -> Finding:
    """Against a rule of the puzzle."""
    return Finding(reason="illegal", why=why, share=share, evidence=evidence)


def malformed(why: str) -> Finding:
    """Not to be read as an answer to this puzzle."""
    return Finding(reason="malformed", why=why)


def share_of(right: int, total: int, constant: int) -> float:
    """The share of cells that are right, rescaled so that the best answer that is the same everywhere earns nothing."""
    return max(0.0, (right - constant) / (total - constant)) if total > constant else 0.0
