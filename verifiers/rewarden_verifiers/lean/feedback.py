"""Selects the part of Lean's messages for the policy, and the part for the verdict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rewarden_verifiers.provers import Checked, Goal, Message

_KEPT = 50
"""The maximum number of messages, goals and tactics in a verdict."""
_TEXT = 2000
"""The maximum length of each."""


def told(messages: Iterable[Message], shown: int) -> str | None:
    """Returns Lean's errors and warnings as its command line prints them, up to this many characters; None if there are
    none.

    Errors come first, because the next attempt needs them.
    """
    if not shown:
        return None
    ordered = sorted(
        (one for one in messages if one.severity in ("error", "warning")), key=lambda one: one.severity != "error"
    )
    lines = [f"{one.start.line}:{one.start.column}: {one.severity}: {one.text.rstrip()}" for one in ordered]
    text = "\n".join(lines)
    return (text if len(text) <= shown else f"{text[:shown]} …") or None


def evidence(checked: Checked, *, tactics: bool) -> dict[str, Any]:
    """Returns a screen's result for the verdict, ready for JSON and limited in size."""
    said: dict[str, Any] = {
        "status": checked.status,
        "warm": checked.warm,
        "cpu_s": round(checked.cpu_s, 4),
        "wall_s": round(checked.wall_s, 4),
        "messages": [_message(one) for one in checked.messages[:_KEPT]],
    }
    if len(checked.messages) > _KEPT:
        said["messages_left_out"] = len(checked.messages) - _KEPT
    if checked.sorries:
        said["sorries"] = _goals(checked.sorries)
    if tactics:
        said["tactics"] = _goals(checked.tactics)
    if checked.infotree is not None:
        said["infotree"] = checked.infotree[: 50 * _TEXT]
    return said


def _message(message: Message) -> dict[str, Any]:
    said: dict[str, Any] = {
        "severity": message.severity,
        "line": message.start.line,
        "column": message.start.column,
        "text": message.text[:_TEXT],
    }
    if message.end is not None:
        said["end"] = [message.end.line, message.end.column]
    return said


def _goals(goals: Sequence[Goal]) -> list[dict[str, Any]]:
    return [
        {
            "line": goal.start.line,
            "column": goal.start.column,
            "text": goal.text[:_TEXT],
            "goals": [one[:_TEXT] for one in goal.goals[:10]],
        }
        for goal in goals[:_KEPT]
    ]
