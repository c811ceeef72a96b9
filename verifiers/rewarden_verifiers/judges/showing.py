"""The part of a sample that a judge is shown: the response, or all that was said and called, and images."""

from __future__ import annotations

from typing import Any, Literal

from rewarden.types import Sample
from rewarden_verifiers.judges.prompts import Material
from rewarden_verifiers.view import Turn, turns

Show = Literal["response", "transcript"]

_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
_FENCE = 100
"""About the characters of a message's fence: many empty messages are long too."""


def of_transcript(sample: Sample) -> list[dict[str, Any]]:
    """The messages of the response for a prompt: each with `role` and its fenced `content`, what it calls included.

    What the assistant wrote is the candidate's; what tools and users said was written by others, but is no candidate.
    """
    return [
        {
            "role": turn.role if turn.role in _ROLES else "another",
            "content": Material(_whole(turn), candidate=turn.role == "assistant"),
        }
        for turn in turns(sample.response)
    ]


def written(sample: Sample) -> str:
    """All that the assistant wrote and called."""
    return "\n\n".join(_whole(turn) for turn in turns(sample.response) if turn.role == "assistant")


def size(sample: Sample) -> int:
    """About how many characters a judge is shown of the response's messages."""
    return sum(len(_whole(turn)) + _FENCE for turn in turns(sample.response))


def _whole(turn: Turn) -> str:
    return f"{turn.content}\n{turn.calls}" if turn.calls else turn.content
