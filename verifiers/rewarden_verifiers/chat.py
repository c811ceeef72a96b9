"""A verifier's questions to a language model, and the replies to them. `ctx.judge` is a `Judge`.

A question is a chat in OpenAI's form; the server's configuration (`[judges]`) decides who answers it, with how many
attempts and at what price. A reply is only text, which the verifier reads strictly.
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
    """A chat to be completed once.

    schema: the JSON Schema that the reply should follow; it is enforced by the model's server where that can do so, and
    nobody may rely on it. alternatives: how many candidates for the reply's first token are wanted, with their
    log-probabilities. temperature, top_p, max_tokens, seed: None: as the judge is configured. verdicts: how many one
    reply holds, by which the configured tokens grow. more: as many times the tokens are allowed, for a reply that was
    cut off. sample: which of several answers to the same question this is; attempt: 0, then 1, 2 … for a question that
    is asked again. tools: the functions that the model may call, in OpenAI's form. Questions that are equal in all of
    these have one answer, which is remembered.
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
    """A model's call of a function. arguments: as the model wrote them, which need not be JSON."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The tokens and cost of a reply. cost_usd: None if the judge has no price. estimated: the model's server did not
    say, and these are upper bounds."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = None
    estimated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A model's answer. judge: the name of the judge that answered, which is not the asked one where that one
    failed and has a fallback (`fallback`). model: as its server calls it. finish: `length`: cut off. alternatives: of
    the first token, where they were asked for and the server gives them. calls: of the question's tools, none of a
    reply that was cut off. usage: of this reply, whether or not it was remembered (`cached`: then nothing was spent).
    weak: the judge is configured as too weak for its verdicts to count.
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
    """The judges that are configured. Inherits the request's deadline and cancellation."""

    async def ask(self, question: Question, judge: str | None = None) -> Reply:
        """The reply of the judge of that name (None: the default one), or of the first of its fallbacks that answers.

        Raises InvalidParams (`params.judge`) for a name that is not configured, ProviderError where no judge of the
        chain could be reached, BudgetExhausted where its budget is spent.
        """

    async def spare(self, question: Question, judge: str | None = None) -> int | None:
        """The tokens that the question and its reply leave of the judge's context, or of a fallback's with a smaller
        one; below 0: it does not fit. None: not known, or the question is short. A question's tokens are estimated, and
        rather too many. Raises InvalidParams (`params.judge`) for a name that is not configured.
        """
