"""The part of a sample that a judge sees: the response, or all messages and calls, and images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rewarden.types import Sample
from rewarden_verifiers.judges.prompts import Material
from rewarden_verifiers.view import Turn, turns

Show = Literal["response", "transcript"]

_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
_FENCE = 100
"""Approximate length of a message's fence in characters: many empty messages are long too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Portion:
    """A portion of a response: number `number` of `count`. start, end: its position in characters."""

    number: int
    count: int
    start: int
    end: int

    def notice(self) -> str:
        """Returns the notice that tells the judge about the portion."""
        return (
            f"The response is too long to be shown at once: above stands portion {self.number} of {self.count}, and "
            "neighbouring portions overlap. Judge this portion by what stands in it. Suppose nothing about the others, "
            "which are judged by themselves."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The subject to judge: the viewed response to a prompt, or the messages of the sample's response. portion: the
    portion that `response`, or `messages` of a transcript, is; None: it is whole.
    """

    response: str
    prompt: str | None
    sample: Sample
    show: Show
    portion: Portion | None = None
    messages: tuple[Turn, ...] | None = None

    def turns(self) -> Sequence[Turn]:
        """Returns the messages of a transcript that are shown."""
        return turns(self.sample.response) if self.messages is None else self.messages

    def text(self) -> str:
        """The candidate's own text and calls, as far as the judge sees them: quotes must occur in it."""
        if self.show == "response":
            return self.response
        return "\n\n".join(whole(turn) for turn in self.turns() if turn.role == "assistant")

    def size(self) -> int:
        """The approximate number of characters of the messages shown to a judge."""
        return sum(len(whole(turn)) + _FENCE for turn in self.turns())

    def shown(self) -> dict[str, Any]:
        """The variables for a prompt: `response`, or `transcript`: messages with `role` and fenced `content`, including
        calls. The assistant's messages are the candidate's; those of tools and users are untrusted, but not the
        candidate's.
        """
        if self.show == "response":
            return {"response": Material(self.response, candidate=True), "transcript": []}
        messages = [
            {
                "role": turn.role if turn.role in _ROLES else "another",
                "content": Material(whole(turn), candidate=turn.role == "assistant"),
            }
            for turn in self.turns()
        ]
        return {"response": None, "transcript": messages}


def whole(turn: Turn) -> str:
    """Returns the content of a message, followed by its calls."""
    return f"{turn.content}\n{turn.calls}" if turn.calls else turn.content
