"""The upper bound of a question's usage, before it is sent, and the cost of a reply."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from rewarden_server.judges.settings import JudgeEndpoint
from rewarden_verifiers.chat import Question, Usage
from rewarden_verifiers.judges.tokens import tokens_at_most

_A_MESSAGE = 16
_A_CHAT = 64
"""Tokens added by a chat template: roles, delimiters, a system prompt of its own."""

_AN_IMAGE = 16_384
"""Maximum number of tokens of an image, by the default limit of Qwen2-VL's processor; other models use fewer."""


def cost(settings: JudgeEndpoint, prompt_tokens: int, completion_tokens: int) -> float | None:
    """The cost in US dollars; None if the judge has no price."""
    if settings.input_usd is None and settings.output_usd is None:
        return None
    return (prompt_tokens * (settings.input_usd or 0.0) + completion_tokens * (settings.output_usd or 0.0)) / 1e6


def bound(settings: JudgeEndpoint, question: Question) -> Usage:
    """Returns the maximum usage of one attempt: a token has at least one byte, and a reply has no more tokens than
    allowed.
    """
    prompt = prompt_bytes(question) + _A_CHAT + _A_MESSAGE * len(question.messages)
    completion = reply_tokens(settings, question)
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        cost_usd=cost(settings, prompt, completion),
        estimated=True,
    )


def needed(settings: JudgeEndpoint, question: Question) -> int:
    """Estimates how many tokens of a judge's context a question and its reply take, rather too high."""
    size = tokens_at_most(_forms(question))
    for message in question.messages:
        content = message.get("content")
        parts: Any = content if isinstance(content, list) else [{"text": content}]
        texts = [part.get("text") for part in parts]
        size += sum(tokens_at_most(text) if isinstance(text, str) else _AN_IMAGE for text in texts)
    return size + _A_CHAT + _A_MESSAGE * len(question.messages) + reply_tokens(settings, question)


def reply_tokens(settings: JudgeEndpoint, question: Question) -> int:
    """The maximum number of tokens of a reply, including its reasoning: the question's or the configured limit, plus an
    eighth for each further verdict; multiplied for the retry of a truncated reply.
    """
    own = question.max_tokens or settings.max_tokens + settings.max_tokens * (question.verdicts - 1) // 8
    # If only the first token is read, there is no reasoning.
    thinking = 0 if question.alternatives else settings.thinking_tokens
    return (own + thinking) * question.more


def prompt_bytes(question: Question) -> int:
    """The bytes of a question's text, and of its schema and tools, which servers may put into the prompt; an image
    counts with its maximum number of tokens.
    """
    size = len(_forms(question).encode())
    for message in question.messages:
        content = message.get("content")
        parts: Any = content if isinstance(content, list) else [{"text": content}]
        size += sum(_part_bytes(part) for part in parts)
    return size


def _forms(question: Question) -> str:
    """Returns the schema and the tools, as they may appear in a prompt."""
    forms = [*([] if question.schema is None else [question.schema]), *question.tools]
    return "".join(msgspec.json.encode(one).decode() for one in forms)


def _part_bytes(part: Mapping[str, Any]) -> int:
    text = part.get("text")
    return len(text.encode("utf-8", "replace")) if isinstance(text, str) else _AN_IMAGE
