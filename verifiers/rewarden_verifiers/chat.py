"""A verifier's questions to a language model, and the replies to them. `ctx.judge` is a `Judge`.

A question is a chat in OpenAI's format; the server's configuration (`[judges]`) decides who answers it, with how many
attempts and at what price. A reply is plain text, which the verifier reads strictly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Message = Mapping[str, Any]
"""`{"role", "content"}`; content is text, or OpenAI's parts (text, image_url)."""

Finish = Literal["stop", "length", "content_filter", "refusal"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A chat to complete once.

    schema: the JSON Schema that the reply should follow. The model's server enforces it if it can, so never rely on it.
    alternatives: how many candidates for the reply's first token to return, with their log-probabilities. temperature,
    top_p, max_tokens, seed: None: as the judge is configured. verdicts: how many verdicts one reply contains, by which
    the configured token limit grows. more: the factor of the token limit for retrying a truncated reply. sample: the
    number of this answer among several to the same question; attempt: 0, then 1, 2 … for retries. tools: the functions
    that the model can call, in OpenAI's format. Questions that are equal in all of these have one answer, which is
    cached.
    """

    messages: Sequence[Message]
    schema: Mapping[str, Any] | None = None
    alternatives: int = 0
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    verdicts: int = 1
    more: int = 1
    seed: int | None = None
    sample: int = 0
    attempt: int = 0
    tools: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """A candidate for a reply's first token. logprob: natural logarithm of its probability."""

    text: str
    logprob: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A function call by a model. arguments: as the model wrote them, which may not be JSON."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The tokens and cost of a reply. cost_usd: None if the judge has no price. estimated: the model's server reported
    no usage, and these are upper bounds.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = None
    estimated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A model's answer. judge: the name of the judge that answered; another one than requested if that one failed and
    has a fallback (`fallback`). model: the server's name for it. finish: `length`: truncated. alternatives: for the
    first token, if requested and supported by the server. calls: calls of the question's tools; none if the reply was
    truncated. usage: of this reply, even if it was cached (`cached`: then nothing was spent). weak: the judge is
    configured as too weak for its verdicts to count.
    """

    text: str
    judge: str
    model: str
    finish: Finish = "stop"
    alternatives: Sequence[Alternative] = ()
    calls: Sequence[Call] = ()
    usage: Usage = field(default_factory=Usage)
    cached: bool = False
    fallback: bool = False
    weak: bool = False


class Judge(Protocol):
    """The configured judges. Inherits the request's deadline and cancellation."""

    async def ask(self, question: Question, judge: str | None = None) -> Reply:
        """The reply of the named judge (None: the default), or of the first of its fallbacks that answers.

        Raises InvalidParams (`params.judge`) for a name that is not configured, ProviderError if no judge of the chain
        could be reached, and BudgetExhausted if its budget is spent.
        """

    async def spare(self, question: Question, judge: str | None = None) -> int | None:
        """The number of tokens that the question and its reply leave in the context of the judge, or of the fallback
        with the smallest one; below 0 if they do not fit. None: unknown, or the question is short. The question's
        tokens are estimated, rather too high. Raises InvalidParams (`params.judge`) for a name that is not configured.
        """
