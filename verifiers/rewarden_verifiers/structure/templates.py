"""Named formats of published systems. If a system's tags differ, give `tags` instead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from rewarden_verifiers.structure.tags import Tag

Outside = Literal["forbid", "allow", "after"]


@dataclass(frozen=True, slots=True)
class Template:
    """A named format: its tags, where text outside them is allowed, and their order.

    `sequence` is a regular expression over the tags' names, if the listed order does not describe it.
    """

    tags: tuple[Tag, ...]
    outside: Outside = "forbid"
    sequence: str | None = None


def _one_each(*names: str) -> tuple[Tag, ...]:
    return tuple(Tag(name=name) for name in names)


_THINK = Tag(name="think")
_ANSWER = Tag(name="answer")
_MANY = 1000

TEMPLATES: Mapping[str, Template] = {
    # DeepSeek-R1 (arXiv 2501.12948) and most of its successors.
    "think_answer": Template((_THINK, _ANSWER)),
    # The output of reasoning models: a thought, then the answer without tags.
    "think": Template((_THINK,), outside="after"),
    # TON: an empty thought is allowed.
    "think_or_not": Template((Tag(name="think", empty=True), _ANSWER)),
    "reasoning_answer": Template(_one_each("reasoning", "answer")),
    "caption_reason_answer": Template(_one_each("caption", "reason", "answer")),
    "guess_think_answer": Template(_one_each("guess", "think", "answer")),
    "reasoning_observing_decision": Template(_one_each("reasoning", "observing", "decision")),
    # TimeMaster: reasoning, class label, open-ended insight.
    "think_class_extension": Template(_one_each("think", "class", "extension")),
    # Search agents (Search-R1, SSRL): each search is followed by its results.
    "search": Template(
        (
            Tag(name="think", max=_MANY),
            Tag(name="search", min=0, max=_MANY),
            Tag(name="information", min=0, max=_MANY, empty=True),
            _ANSWER,
        ),
        sequence="think (search information think)* answer",
    ),
    # Tool callers: a thought, calls, and a reply; at least one of the last two.
    "thinking_tool_call_response": Template(
        (Tag(name="thinking"), Tag(name="tool_call", min=0, max=_MANY), Tag(name="response", min=0)),
        sequence="thinking (tool_call+ response?|response)",
    ),
    "think_tool_call_response": Template(
        (_THINK, Tag(name="tool_call", min=0, max=_MANY), Tag(name="response", min=0)),
        sequence="think (tool_call+ response?|response)",
    ),
    "principle_critique_score": Template(_one_each("principle", "critique", "score")),
}
