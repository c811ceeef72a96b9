"""Asking: k opinions, each read strictly, each asked again where it cannot be read.

A reply that cannot be read is asked for once more, and then once with the candidate's texts escaped and shortened. If
that one cannot be read either, the same is asked without the candidate's texts, which is one question for all siblings.
If one of these two can be read, the candidate's own text made the replies unreadable, and that must not pay (promise
2): the opinion counts as the lowest. Otherwise the judge is at fault, and there is no opinion.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from rewarden.errors import BudgetExhausted, ProviderError
from rewarden.types import Media
from rewarden_verifiers.chat import Question, Reply
from rewarden_verifiers.contract import Context
from rewarden_verifiers.judges.beside import beside
from rewarden_verifiers.judges.ledger import Ledger
from rewarden_verifiers.judges.params import JudgeParams
from rewarden_verifiers.judges.prompts import Chat, render, reply_form
from rewarden_verifiers.judges.replies import UnreadableError, read_object

Reading = TypeVar("Reading")

_WARMER = 0.5
"""The temperature of a question that is asked once more: at 0 the same reply would come again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inquiry(Generic[Reading]):
    """What is asked, and how a reply is read.

    prompt: the name of the built-in prompt. variables: see `prompts.render`. schema: of the reply. read: from the
    reply's object, which is of the schema, to what is wanted; it may raise UnreadableError too. direct: reads the reply
    itself, in the place of `read` (token probabilities). form: what is said of the reply's form; none: of the schema.
    """

    prompt: str
    variables: Mapping[str, Any]
    schema: Mapping[str, Any] | None
    read: Callable[[Mapping[str, Any]], Reading] | None = None
    direct: Callable[[Reply], Reading] | None = None
    form: str | None = None
    alternatives: int = 0
    max_tokens: int | None = None
    media: Sequence[Media] = ()


@dataclass(frozen=True, slots=True)
class Opinion(Generic[Reading]):
    """One reading; or None and why. blame: `policy` where the candidate's own text made the replies unreadable,
    `verifier` where the judge gives none that can be read."""

    reading: Reading | None
    problem: str | None = None
    blame: str | None = None


async def opinions(
    ctx: Context, params: JudgeParams, inquiry: Inquiry[Reading], ledger: Ledger
) -> list[Opinion[Reading]]:
    """`params.samples` opinions, asked for at the same time. Raises what `ctx.judge.ask` raises."""
    chat = _rendered(params, inquiry)
    ledger.neutralised = max(ledger.neutralised, chat.neutralised)
    return await beside(*(_opinion(ctx, params, inquiry, chat, ledger, number) for number in range(params.samples)))


async def _opinion(
    ctx: Context, params: JudgeParams, inquiry: Inquiry[Reading], chat: Chat, ledger: Ledger, number: int
) -> Opinion[Reading]:
    problem = ""
    for attempt in range(2):
        temperature = params.temperature if attempt == 0 or params.temperature else _WARMER
        try:
            reading = await _asked(ctx, params, inquiry, chat, ledger, number, attempt, temperature)
            return Opinion(reading)
        except UnreadableError as error:
            problem = str(error)
    try:
        await _asked(ctx, params, inquiry, _rendered(params, inquiry, escape=True), ledger, number, 2)
        return Opinion(None, problem, "policy")
    except UnreadableError:
        pass
    try:
        # Without it a text that persuades the judge even when it is escaped would be masked, and so be worth writing.
        await _asked(ctx, params, inquiry, _rendered(params, inquiry, withhold=True), ledger, 0, 3)
        return Opinion(None, problem, "policy")
    except (UnreadableError, ProviderError, BudgetExhausted):
        return Opinion(None, problem, "verifier")


async def _asked(
    ctx: Context,
    params: JudgeParams,
    inquiry: Inquiry[Reading],
    chat: Chat,
    ledger: Ledger,
    number: int,
    attempt: int,
    temperature: float | None = None,
) -> Reading:
    """What one reply says. Raises UnreadableError, and what `ctx.judge.ask` raises."""
    question = Question(
        messages=chat.messages,
        schema=inquiry.schema,
        alternatives=inquiry.alternatives,
        temperature=params.temperature if temperature is None else temperature,
        top_p=params.top_p,
        max_tokens=inquiry.max_tokens or params.max_tokens,
        seed=params.seed,
        sample=number,
        attempt=attempt,
    )
    reply = await ctx.judge.ask(question, params.judge)
    ledger.enter(reply)
    try:
        return _read(inquiry, reply)
    except UnreadableError:
        ledger.unreadable += 1
        raise


def _rendered(params: JudgeParams, inquiry: Inquiry[Any], *, escape: bool = False, withhold: bool = False) -> Chat:
    form = inquiry.form if inquiry.form is not None else reply_form(inquiry.schema or {})
    variables = {"instructions": params.instructions, **inquiry.variables}
    return render(inquiry.prompt, params.prompt, variables, form, escape=escape, withhold=withhold, media=inquiry.media)


def _read(inquiry: Inquiry[Reading], reply: Reply) -> Reading:
    if inquiry.direct is not None:
        return inquiry.direct(reply)
    assert inquiry.read is not None
    return inquiry.read(read_object(reply, inquiry.schema or {}))
