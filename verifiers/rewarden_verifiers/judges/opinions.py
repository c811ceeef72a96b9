"""Asking: k opinions, each read strictly, each asked again where it cannot be read.

A reply that cannot be read is asked for once more, and then once with the candidate's texts escaped and shortened. If
that one cannot be read either, the same is asked without the candidate's texts, which is one question for all siblings.
If one of these two can be read, the candidate's own text made the replies unreadable, and that must not pay (promise
2): the opinion counts as the lowest. Otherwise the judge is at fault, and there is no opinion.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from rewarden.errors import BudgetExhausted, ModelError, ProviderError
from rewarden.types import Media
from rewarden_verifiers.chat import Judge, Question, Reply
from rewarden_verifiers.judges.gather import gather
from rewarden_verifiers.judges.ledger import Ledger
from rewarden_verifiers.judges.offload import offload
from rewarden_verifiers.judges.params import JudgeParams
from rewarden_verifiers.judges.prompts import Chat, Material, render, reply_form
from rewarden_verifiers.judges.replies import UnreadableError, read_object

Reading = TypeVar("Reading")

_WARMER = 0.5
"""The temperature of a question that is asked once more: at 0 the same reply would come again."""


class Asked(Protocol):
    """Whom questions go to: a verifier's context, or a model that we host in the place of its judge."""

    @property
    def judge(self) -> Judge:
        """See `rewarden_verifiers.chat`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inquiry(Generic[Reading]):
    """A question to be asked, and the reading of a reply.

    prompt: the name of the built-in prompt. variables: see `prompts.render`. schema: of the reply. read: from the
    reply's object, which is of the schema, to what is wanted; it may raise UnreadableError too. direct: reads the reply
    itself, in the place of `read` (token probabilities). form: what is said of the reply's form; none: of the schema.
    plain: see `prompts.render`.
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
    plain: bool = False


@dataclass(frozen=True, slots=True)
class Opinion(Generic[Reading]):
    """One reading; or None and why. blame: `policy` where the candidate's own text made the replies unreadable,
    `verifier` where the judge gives none that can be read."""

    reading: Reading | None
    problem: str | None = None
    blame: str | None = None


async def opinions(
    ctx: Asked, params: JudgeParams, inquiry: Inquiry[Reading], ledger: Ledger
) -> list[Opinion[Reading]]:
    """`params.samples` opinions, asked for at the same time. Raises what `ctx.judge.ask` raises."""
    chat = await offload(_size(inquiry), rendered, params, inquiry)
    ledger.neutralised = max(ledger.neutralised, chat.neutralised)
    return await gather(*(_opinion(ctx, params, inquiry, chat, ledger, number) for number in range(params.samples)))


async def _opinion(
    ctx: Asked, params: JudgeParams, inquiry: Inquiry[Reading], chat: Chat, ledger: Ledger, number: int
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
        chat = await offload(_size(inquiry), rendered, params, inquiry, escape=True)
        await _asked(ctx, params, inquiry, chat, ledger, number, 2)
        return Opinion(None, problem, "policy")
    except UnreadableError:
        pass
    try:
        # Without it a text that persuades the judge even when it is escaped would be masked, and so be worth writing.
        await _asked(ctx, params, inquiry, rendered(params, inquiry, withhold=True), ledger, 0, 3)
        return Opinion(None, problem, "policy")
    except (UnreadableError, ProviderError, BudgetExhausted, ModelError):
        return Opinion(None, problem, "verifier")


async def _asked(
    ctx: Asked,
    params: JudgeParams,
    inquiry: Inquiry[Reading],
    chat: Chat,
    ledger: Ledger,
    number: int,
    attempt: int,
    temperature: float | None = None,
) -> Reading:
    """Returns what one reply says. Raises UnreadableError, and what `ctx.judge.ask` raises."""
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


def _size(inquiry: Inquiry[Any]) -> int:
    """Characters of what others wrote, but for what is deep within."""
    given = inquiry.variables.values()
    texts = [one for value in given for one in (value if isinstance(value, list) else (value,))]
    return sum(len(one.text) for one in texts if isinstance(one, Material))


def rendered(params: JudgeParams, inquiry: Inquiry[Any], *, escape: bool = False, withhold: bool = False) -> Chat:
    """The chat of an inquiry. escape, withhold: see `prompts.render`."""
    form = inquiry.form if inquiry.form is not None else reply_form(inquiry.schema or {})
    variables = {"instructions": params.instructions, **inquiry.variables}
    return render(
        inquiry.prompt,
        params.prompt,
        variables,
        form,
        escape=escape,
        withhold=withhold,
        media=inquiry.media,
        plain=inquiry.plain,
    )


def _read(inquiry: Inquiry[Reading], reply: Reply) -> Reading:
    if inquiry.direct is not None:
        return inquiry.direct(reply)
    assert inquiry.read is not None
    return inquiry.read(read_object(reply, inquiry.schema or {}))
