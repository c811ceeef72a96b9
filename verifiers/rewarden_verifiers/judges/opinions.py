"""Asks for k opinions, reads each strictly, and retries unreadable ones.

The cause of unreadable replies is tested, not guessed. A truncated reply is the judge's fault: it is requested once
more with four times the tokens and a request for short texts, and after that there is no opinion. Any other unreadable
reply is requested three times. If none of the three is readable, the same question is asked three times with a neutral
text of equal length in place of each candidate text. If all of these replies are readable, the candidate's own text
made the replies unreadable, and that must not pay (promise 2): the opinion counts as the lowest. Otherwise the judge is
at fault, and there is no opinion. If the judge becomes unreachable meanwhile, that error is raised, because the test is
incomplete.

If the judge's server refuses a question, the candidate is the cause if the server accepts the same characters in
another order, which have no fewer tokens. Attack: write text that a content filter refuses.

`refused` decides beforehand which responses need no judge; `readings` decides afterwards whether enough replies are
readable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

from rewarden.errors import ProviderError, ProviderRefused, SampleError
from rewarden.types import Media, Outcome
from rewarden_verifiers.chat import Judge, Question, Reply
from rewarden_verifiers.judges.empty_responses import empty_reason
from rewarden_verifiers.judges.gather import gather
from rewarden_verifiers.judges.ledger import Ledger
from rewarden_verifiers.judges.neutral_text import StandIn, as_long, scrambled
from rewarden_verifiers.judges.offload import offload
from rewarden_verifiers.judges.params import JudgeParams
from rewarden_verifiers.judges.prompts import Chat, Material, render, reply_form
from rewarden_verifiers.judges.replies import CutOffError, UnreadableError, read_object
from rewarden_verifiers.judges.showing import Portion, Subject
from rewarden_verifiers.outcome import no_answer, undecided, wrong

Reading = TypeVar("Reading")

ASKS = 3
"""The number of attempts to get a readable reply, and of attempts with a neutral text before the candidate's text is
blamed.
"""

MORE = 4
"""The factor by which the token limit is raised for the retry of a truncated reply."""

WARMER = 0.5
"""The temperature for retries: at 0 the judge would give the same reply."""


_BRIEF = (
    "Your last reply was cut off because it was too long. Keep each text in it to one short sentence or passage, "
    "whatever the material asks for."
)
"""Attack: a text that asks for a reply without end, so that its own verdict never comes. It asks nothing of a judge's
thought, which a hard question needs."""


class Asked(Protocol):
    """Receives the questions: a verifier's context, or a model hosted by Rewarden instead of its judge."""

    @property
    def judge(self) -> Judge:
        """See `rewarden_verifiers.chat`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inquiry(Generic[Reading]):
    """A question to ask, and how to read the reply.

    prompt: the name of the built-in prompt. variables: see `prompts.render`. schema: the schema of the reply. read:
    turns the reply's object, which matches the schema, into a reading; it may also raise UnreadableError. direct: reads
    the reply itself instead (token probabilities). form: describes the form of the reply; None: the schema does.
    verdicts: see `Question`. plain, roles: see `prompts.render`. portion: the portion of a longer response that is
    shown. findings: what the judge's tools returned, see `research.py`.
    """

    prompt: str
    variables: Mapping[str, Any]
    schema: Mapping[str, Any] | None
    read: Callable[[Mapping[str, Any]], Reading] | None = None
    direct: Callable[[Reply], Reading] | None = None
    form: str | None = None
    alternatives: int = 0
    max_tokens: int | None = None
    verdicts: int = 1
    media: Sequence[Media] = ()
    plain: bool = False
    roles: Mapping[str, str] | None = None
    portion: Portion | None = None
    findings: Sequence[Material] = ()


@dataclass(frozen=True, slots=True)
class Opinion(Generic[Reading]):
    """One reading; or None and the reason. blame: `policy` if the candidate's own text made the replies unreadable,
    `verifier` if the judge gives no readable reply.
    """

    reading: Reading | None
    problem: str | None = None
    blame: str | None = None


def refused(
    response: str,
    params: JudgeParams,
    reference: str | Sequence[str] | None = None,
    *,
    asked: str | None = None,
    in_portions: bool = False,
    **details: Any,
) -> Outcome | None:
    """The outcome of a response that needs no judge, because it has no substance or is too long to show; else None.
    asked: see `empty_reason`. in_portions: a response longer than the judge's context will be judged in portions, so
    only the request's own limit applies. details: fields of the outcome, such as its range.
    """
    most = params.longest if in_portions else params.most_shown
    if most is not None and len(response) > most:
        return too_long(len(response), most, **details)
    why = empty_reason(response, reference, asked=asked) if params.hollow == "refuse" else None
    if why is not None:
        return no_answer(why, feedback="The response has no content to judge.", **details)
    return None


def refused_subject(
    subject: Subject,
    params: JudgeParams,
    reference: str | Sequence[str] | None = None,
    *,
    criteria: Sequence[str] = (),
    in_portions: bool = False,
    **details: Any,
) -> Outcome | None:
    """Does the same for a subject. A transcript can be too long to show even if the candidate wrote little of it.
    criteria: the criteria that the subject is judged by.
    """
    most = params.longest if in_portions else params.most_shown
    if subject.show == "transcript" and most is not None and (size := subject.size()) > most:
        return too_long(size, most, **details)
    asked = "\n".join([subject.prompt or "", params.instructions, *criteria])
    return refused(subject.text(), params, reference, asked=asked, in_portions=in_portions, **details)


def too_long(size: int, most: int | None, *, feedback: str | None = None, **details: Any) -> Outcome:
    """The outcome of a response that is too long to show."""
    message = feedback or f"The response has {size} characters; a judge is shown at most {most}."
    return wrong("too_long", feedback=message, flags=("too_long",), **details)


async def opinions(
    ctx: Asked, params: JudgeParams, inquiry: Inquiry[Reading], ledger: Ledger
) -> list[Opinion[Reading]]:
    """Asks for `params.samples` opinions at the same time. Raises what `ctx.judge.ask` raises."""
    chat = await offload(_size(inquiry), rendered, params, inquiry)
    ledger.neutralised = max(ledger.neutralised, chat.neutralised)
    return await gather(*(_opinion(ctx, params, inquiry, chat, ledger, number) for number in range(params.samples)))


def readings(
    found: Sequence[Opinion[Reading]], lowest: Reading, ledger: Ledger, **details: Any
) -> tuple[list[Reading], Outcome | None]:
    """Returns the readings of the opinions; and an outcome if too few of them are readable.

    An opinion that the candidate's text made unreadable counts as `lowest`; if all are, the score is 0
    (`unreadable_reply`). If the judge is to blame for at least half of the opinions missing, the verdict is undecided.
    """
    evidence = {**ledger.evidence(), "problems": sorted({one.problem for one in found if one.problem})}
    flags = ledger.flags()
    lacking = sum(one.blame == "verifier" for one in found)
    if lacking * 2 >= len(found):
        message = f"the judge gave no readable reply: {', '.join(evidence['problems'])}"
        return [], undecided("unreadable_reply", feedback=message, evidence=evidence, flags=tuple(flags))
    if all(one.blame == "policy" for one in found if one.blame != "verifier"):
        message = "the response keeps the judge from giving a readable reply"
        flags.append("unreadable_reply")
        return [], wrong("unreadable_reply", feedback=message, evidence=evidence, flags=flags, **details)
    return [lowest if one.reading is None else one.reading for one in found if one.blame != "verifier"], None


async def _opinion(
    ctx: Asked, params: JudgeParams, inquiry: Inquiry[Reading], chat: Chat, ledger: Ledger, number: int
) -> Opinion[Reading]:
    problem = ""
    attempt = failed = refusals = 0
    more = 1
    while failed < ASKS:
        try:
            reading = await _asked(ctx, params, inquiry, chat, ledger, number, attempt, more, warm=failed > 0)
            return Opinion(reading)
        except CutOffError as error:
            if more > 1:
                return Opinion(None, str(error), "verifier")
            more = MORE
            chat = await offload(_size(inquiry), rendered, params, inquiry, brief=True)
        except UnreadableError as error:
            problem = str(error)
            failed += 1
        except ProviderRefused as error:
            if not refuses(error):
                raise
            problem = "refused by the judge's server"
            failed += 1
            refusals += 1
        attempt += 1
    neutral = scrambled if refusals else as_long
    chat = await offload(_size(inquiry), rendered, params, inquiry, neutral=neutral, brief=more > 1)
    for control in range(ASKS):
        # All opinions, and all texts of that length, share these attempts, whose numbers no other question uses.
        place = ASKS + 1 + control
        try:
            await _asked(ctx, params, inquiry, chat, ledger, 0, place, more, warm=control > 0)
        except UnreadableError:
            if refusals < ASKS:
                return Opinion(None, problem, "verifier")
            # The server accepted the text, which is all that had to be tested.
    return Opinion(None, problem, "policy")


def refuses(error: SampleError | None) -> bool:
    """Returns whether the judge's server rejected this question."""
    return isinstance(error, ProviderError) and error.details.get("kind") == "rejected"


async def _asked(
    ctx: Asked,
    params: JudgeParams,
    inquiry: Inquiry[Reading],
    chat: Chat,
    ledger: Ledger,
    number: int,
    attempt: int,
    more: int,
    *,
    warm: bool,
) -> Reading:
    """Returns the reading of one reply. Raises UnreadableError, and what `ctx.judge.ask` raises."""
    question = replace(
        _question(params, inquiry, chat),
        temperature=(params.temperature or WARMER) if warm else params.temperature,
        more=more,
        sample=number,
        attempt=attempt,
    )
    try:
        reply = await _answered(ctx, question, params.judge)
        ledger.enter(reply)
        if inquiry.direct is not None:
            return inquiry.direct(reply)
        assert inquiry.read is not None
        return inquiry.read(read_object(reply, inquiry.schema or {}))
    except UnreadableError:
        ledger.unreadable += 1
        raise


async def _answered(ctx: Asked, question: Question, judge: str | None) -> Reply:
    """The reply. If the server refuses the question, the token limit is lowered to the configured one, in case the
    judge's context has no room for more. Raises CutOffError if a truncated reply cannot get more tokens, and what
    `ctx.judge.ask` raises.
    """
    try:
        return await ctx.judge.ask(question, judge)
    except ProviderRefused as error:
        if not refuses(error) or (question.more == 1 and question.verdicts == 1):
            raise
        if question.more > 1:
            raise CutOffError("cut off, and its server allows no more tokens") from None
    return await ctx.judge.ask(replace(question, verdicts=1), judge)


def question_of(params: JudgeParams, inquiry: Inquiry[Any]) -> Question:
    """The question of an inquiry, as asked the first time."""
    return _question(params, inquiry, rendered(params, inquiry))


def _question(params: JudgeParams, inquiry: Inquiry[Any], chat: Chat) -> Question:
    return Question(
        messages=chat.messages,
        schema=inquiry.schema,
        alternatives=inquiry.alternatives,
        temperature=params.temperature,
        top_p=params.top_p,
        max_tokens=inquiry.max_tokens or params.max_tokens,
        verdicts=inquiry.verdicts,
        seed=params.seed,
    )


def _size(inquiry: Inquiry[Any]) -> int:
    """Characters of untrusted text in an inquiry, not counting nested values."""
    given = inquiry.variables.values()
    texts = [one for value in given for one in (value if isinstance(value, list) else (value,))]
    return sum(len(one.text) for one in [*texts, *inquiry.findings] if isinstance(one, Material))


def rendered(
    params: JudgeParams, inquiry: Inquiry[Any], *, neutral: StandIn | None = None, brief: bool = False
) -> Chat:
    """Renders an inquiry as a chat. neutral: see `prompts.render`. brief: the last reply was truncated."""
    form = inquiry.form if inquiry.form is not None else reply_form(inquiry.schema or {})
    if brief and inquiry.schema is not None:
        form = f"{form}\n\n{_BRIEF}"
    if inquiry.portion is not None:
        # Next to the form, because the form also follows a request's own prompt.
        form = f"{inquiry.portion.notice()}\n\n{form}"
    variables = {"instructions": params.instructions, **inquiry.variables}
    return render(
        inquiry.prompt,
        params.prompt,
        variables,
        form,
        neutral=neutral,
        media=inquiry.media,
        plain=inquiry.plain,
        roles=inquiry.roles,
        findings=inquiry.findings,
    )
