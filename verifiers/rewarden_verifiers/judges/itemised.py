"""Opinions on each of several criteria, some of which are programs: the code shared by `rubric` and `checklist`.

The judge gets all criteria in one call, or one criterion per call. Programs run at the same time; if all criteria are
programs, no judge is called. For each criterion, k votes become one value, from 0 (not met) to 1 (met).

Criteria that the judge cannot decide count against the response: the vote is 0 for a criterion with positive points and
1 for one with negative points, so a text that judges cannot decide about gains nothing.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

from rewarden.errors import InvalidParams
from rewarden.types import Outcome
from rewarden_verifiers.contract import Context
from rewarden_verifiers.judges.criterion import Criterion
from rewarden_verifiers.judges.criterion_quotes import CriterionQuotes
from rewarden_verifiers.judges.gather import gather
from rewarden_verifiers.judges.ledger import Ledger
from rewarden_verifiers.judges.opinions import Inquiry, opinions, readings, refused_subject
from rewarden_verifiers.judges.panel import PanelParams
from rewarden_verifiers.judges.parts import Itemised, Part, Vote, reached, total, worst_of
from rewarden_verifiers.judges.pictures import images
from rewarden_verifiers.judges.portions import portions, told
from rewarden_verifiers.judges.prompts import Material
from rewarden_verifiers.judges.reach import Reach, joined, reaches
from rewarden_verifiers.judges.replies import by_number, numbered, object_of
from rewarden_verifiers.judges.research import researched, reserved
from rewarden_verifiers.judges.showing import Show, Subject
from rewarden_verifiers.judges.toolbox import toolbox
from rewarden_verifiers.judges.tools import Tools
from rewarden_verifiers.judges.votes import combine
from rewarden_verifiers.outcome import undecided

_UNREADABLE = "The response makes the judge's reply unreadable."


@dataclass(frozen=True, kw_only=True)
class ItemisedParams(PanelParams):
    """Options of verifiers that judge criterion by criterion. `aggregate` and `tie` apply to the opinions on one
    criterion: with `mean`, a criterion that two of three opinions find met earns two thirds of its points.

    calls: `together`: all criteria in one call; `each`: one call for each criterion, which multiplies the cost but
        judges each criterion independently.
    abstain: What to do if the judge cannot tell: count it `against` the response (not met, or met if its points are
        negative), `skip` the criterion (its points are not counted at all), or `undecided` (no score if at least half
        of the opinions on a criterion cannot tell). A response can often cause this itself, so the last two can be
        gamed.
    quotes: `require`: a criterion with positive points is met only with a word-for-word quote from the response, except
        for criteria about something absent, which the judge names in a question that shows only the criteria; and not
        with a quote that the judge accepts for two unrelated criteria. `free`: quotes are reported as the judge gives
        them.
    unscored: What to do if a program gives no score: `whole` leaves the whole sample without a score, for the same
        reason; `skip` ignores the criterion, unless the cause was a failure of the infrastructure (fault `infra`),
        which always affects the whole.
    threshold: The lowest score that passes; null: any score above 0.5.
    show: What the judge sees: the `response`, as selected by the view, or the whole `transcript`: all messages of the
        response, including tool calls and their results.
    media: Whether the judge sees the sample's images.
    tools: Tools that the judge may call before it judges, if its server has function calling.
    """

    calls: Literal["together", "each"] = "together"
    abstain: Literal["against", "skip", "undecided"] = "against"
    quotes: Literal["free", "require"] = "free"
    unscored: Literal["whole", "skip"] = "whole"
    threshold: float | None = None
    show: Show = "response"
    media: bool = False
    tools: Tools = field(default_factory=Tools)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.tools.check("params.tools")
        if self.threshold is not None and not -100 <= self.threshold <= 1:
            raise InvalidParams("params.threshold must be at most 1", path="params.threshold")

    @property
    def passing(self) -> float:
        """The lowest score that passes. Rounding can leave a sum of floats just below the threshold."""
        return math.nextafter(0.5, 1) if self.threshold is None else self.threshold - 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """The form of the question about criteria.

    prompt: the built-in prompt, which lists `criterion`. name: the name of the list in the reply. properties: the
    properties of its entries besides the number. read: turns an entry into a vote. met: see `Itemised`. passing: the
    value from which a vote is a yes. alone: one criterion per question, whatever `calls` says; the reply is then the
    entry itself, without list and number. graded: a vote is a degree, without a quote. in_portions: the form for the
    portions of a long response; None: this form.
    """

    prompt: str
    name: str
    properties: Mapping[str, Any]
    read: Callable[[Mapping[str, Any]], Vote]
    met: str
    passing: float = 0.5
    alone: bool = False
    graded: bool = False
    in_portions: Sheet | None = None


async def itemised(
    ctx: Context,
    params: ItemisedParams,
    criteria: list[Criterion],
    subject: Subject,
    sheet: Sheet,
    most: int = 1,
    **details: Any,
) -> Itemised | Outcome:
    """Asks judge and programs about the criteria. Returns their results, or an outcome if these cannot be combined.
    most: the maximum number of portions in which a long response is judged. details: fields of that outcome, such as
    its range. Raises what `ctx.judge.ask` raises.
    """
    ledger = Ledger()
    judged = [one for one in criteria if one.use is None]
    texts = [one.text for one in judged]
    early = refused_subject(subject, params, criteria=texts, in_portions=most > 1, **details) if judged else None
    if early is not None:
        return early
    asking = asyncio.ensure_future(_ask_portions(ctx, params, judged, subject, sheet, ledger, most, details))
    running = asyncio.ensure_future(_run_programs(ctx, criteria))
    await gather(asking, running)
    asked, programs = asking.result(), running.result()
    broken = [one for one in criteria if one.id in programs and programs[one.id].status != "scored"]
    # Never skip a program that could not be reached: the same response would score differently tomorrow.
    whole = [one for one in broken if params.unscored == "whole" or programs[one.id].fault == "infra"]
    if whole:
        return _unscored(whole[0], programs[whole[0].id], ledger)
    if isinstance(asked, Outcome):
        return asked
    parts: list[Part] = []
    for one in criteria:
        if one.id in programs:
            program = programs[one.id]
            value = reached(one, program) if program.status == "scored" else None
            parts.append(Part(criterion=one, value=value, program=program))
            continue
        part = _part(one, asked.votes[one.id], params, sheet)
        if isinstance(part, str):
            message = f"{one.label}: {'the judge cannot decide' if part == 'cannot_tell' else 'the votes are divided'}"
            return undecided(part, feedback=message, evidence=ledger.evidence(), flags=tuple(ledger.flags()))
        parts.append(part)
    score = total(parts)
    if score is None and broken:
        return _unscored(broken[0], programs[broken[0].id], ledger)
    flags = [*ledger.flags(), *asked.flags]
    flags += ["cannot_tell"] if any(part.abstentions for part in parts) else []
    flags += ["program_left_out"] if broken else []
    return Itemised(
        parts=tuple(parts), score=score, ledger=ledger, flags=tuple(flags), met=sheet.met, portions=asked.portions
    )


async def _run_programs(ctx: Context, criteria: list[Criterion]) -> dict[str, Outcome]:
    """Runs the criteria that are programs, each on the sample with the criterion's own reference, and returns their
    outcomes by id. A failing program also returns an outcome.
    """
    programs = {one.id: (one.use, one.reference) for one in criteria if one.use is not None}
    # Never pass the sample's own reference, which is the list that contains these criteria.
    found = await gather(*(ctx.verify(use, reference=reference) for use, reference in programs.values()))
    return dict(zip(programs, found, strict=True))


@dataclass(frozen=True, slots=True)
class _Asked:
    """Votes by criterion id. portions: see `Itemised`."""

    votes: dict[str, list[Vote]]
    flags: tuple[str, ...] = ()
    portions: Mapping[str, Any] = field(default_factory=dict)


async def _ask_portions(
    ctx: Context,
    params: ItemisedParams,
    criteria: list[Criterion],
    subject: Subject,
    sheet: Sheet,
    ledger: Ledger,
    most: int,
    details: Mapping[str, Any],
) -> _Asked | Outcome:
    """The votes on the whole response, or those that the votes on its portions come to."""
    if not criteria:
        return _Asked({})
    shown = [subject] if most == 1 else await _cut(ctx, params, criteria, subject, sheet, most, details)
    if isinstance(shown, Outcome):
        return shown
    if not told(shown):
        if params.quotes == "free":
            return await _ask(ctx, params, criteria, subject, sheet, ledger, details)
        reach = await reaches(ctx, params, criteria, ledger)
        if reach is None:
            return _unsorted(ledger)
        return await _ask(ctx, params, criteria, subject, sheet, ledger, details, reach)
    flags: dict[str, None] = {}
    if sheet.in_portions is not None:
        sheet, flags = sheet.in_portions, {"own_grader": None}
        shown = await _cut(ctx, params, criteria, subject, sheet, most, details)
        if isinstance(shown, Outcome):
            return shown
    if sheet.graded:
        return await _ask_lowest(ctx, params, criteria, shown, sheet, ledger, details)
    reach = await reaches(ctx, params, criteria, ledger)
    if reach is None:
        return _unsorted(ledger)
    found = await gather(*(_ask(ctx, params, criteria, one, sheet, ledger, details, reach) for one in shown))
    seen = _seen(found, criteria)
    if isinstance(seen, Outcome):
        return seen
    flags |= dict.fromkeys(_flags(found))
    votes = {one.id: joined(one, reach[one.id], [portion[one.id] for portion in seen]) for one in criteria}
    decided = {name: numbers for name, of in votes.items() if (numbers := sorted({n for _, n in of if n}))}
    return _Asked(
        {name: [vote for vote, _ in of] for name, of in votes.items()},
        tuple(flags),
        {**told(shown), "reach": reach, "decided_in": decided},
    )


def _unsorted(ledger: Ledger) -> Outcome:
    """The outcome if the judge's replies about the criteria alone are unreadable."""
    message = "the judge does not say which criteria are about the whole response"
    return undecided("unreadable_reply", feedback=message, evidence=ledger.evidence(), flags=tuple(ledger.flags()))


async def _cut(
    ctx: Context,
    params: ItemisedParams,
    criteria: list[Criterion],
    subject: Subject,
    sheet: Sheet,
    most: int,
    details: Mapping[str, Any],
) -> list[Subject] | Outcome:
    """Cuts the subject into portions that leave room for a question of this form. See `portions`."""
    batch, room = _batches(criteria, params, sheet)[0], reserved(params.tools)
    return await portions(
        ctx,
        params,
        subject,
        lambda one: replace(_inquiry(batch, one, params, sheet), findings=room),
        most,
        **details,
    )


async def _ask_lowest(
    ctx: Context,
    params: ItemisedParams,
    criteria: list[Criterion],
    shown: list[Subject],
    sheet: Sheet,
    ledger: Ledger,
    details: Mapping[str, Any],
) -> _Asked | Outcome:
    """The lowest vote on any portion, for each criterion: graded votes have no quote that shows which portion earns
    them.
    """
    found = await gather(*(_ask(ctx, params, criteria, one, sheet, ledger, details) for one in shown))
    seen = _seen(found, criteria)
    if isinstance(seen, Outcome):
        return seen
    votes = {
        one.id: [
            min(opinions, key=lambda vote: worst_of(one) if vote.value is None else vote.value)
            for opinions in zip(*(portion[one.id] for portion in seen), strict=False)
        ]
        for one in criteria
    }
    return _Asked(votes, tuple(dict.fromkeys(_flags(found))), told(shown))


def _seen(found: list[_Asked | Outcome], criteria: list[Criterion]) -> list[dict[str, list[Vote]]] | Outcome:
    """The votes of each portion; or an outcome, if a portion has no votes or the response spoiled all of them."""
    refused = [one for one in found if isinstance(one, Outcome)]
    for one in refused:
        if one.status != "scored" or len(refused) == len(found):
            return one
    lowest = {one.id: [Vote(value=worst_of(one), reason=_UNREADABLE)] for one in criteria}
    return [lowest if isinstance(one, Outcome) else one.votes for one in found]


def _flags(found: list[_Asked | Outcome]) -> list[str]:
    """Returns the flags of all portions."""
    refused = any(isinstance(one, Outcome) for one in found)
    return [
        *(flag for one in found if isinstance(one, _Asked) for flag in one.flags),
        *["unreadable_reply"] * refused,
    ]


def _batches(criteria: list[Criterion], params: ItemisedParams, sheet: Sheet) -> list[list[Criterion]]:
    """The criteria, grouped by question."""
    together = params.calls == "together" and not sheet.alone
    return [criteria] if together else [[one] for one in criteria]


async def _ask(
    ctx: Context,
    params: ItemisedParams,
    criteria: list[Criterion],
    subject: Subject,
    sheet: Sheet,
    ledger: Ledger,
    details: Mapping[str, Any],
    reach: Mapping[str, Reach] | None = None,
) -> _Asked | Outcome:
    """reach: the reach of each criterion, if credit needs a quote."""
    batches = _batches(criteria, params, sheet)
    asking = partial(_inquiry, params=params, sheet=sheet)
    inquiries = [asking(batch, subject) for batch in batches]
    if params.tools.use:
        box = await toolbox(ctx, params.tools, subject.sample)
        learned = await gather(*(researched(ctx, params, params.tools, box, one, ledger) for one in inquiries))
        inquiries = [replace(one, findings=known) for one, known in zip(inquiries, learned, strict=True)]
    found = await gather(*(opinions(ctx, params, inquiry, ledger) for inquiry in inquiries))
    said: list[Sequence[list[Vote]]] = []
    refused: list[Outcome] = []
    for batch, one in zip(batches, found, strict=True):
        lowest = [Vote(value=worst_of(criterion), reason=_UNREADABLE) for criterion in batch]
        read, early = readings(one, lowest, ledger, **details)
        if early is not None and early.status != "scored":
            return early
        if early is not None:
            refused.append(early)
        said.append(read or [lowest])
    if len(refused) == len(batches):
        return refused[0]
    quotes = None
    if reach is not None:
        # Attack: many portions are many chances for a judge to be mistaken. Credit for what is in one needs its quote.
        quotes = CriterionQuotes(ctx=ctx, params=params, subject=subject, reach=reach, asking=asking, ledger=ledger)
        asked = zip(batches, said, inquiries, strict=True)
        said = list(await gather(*(quotes.held(batch, rows, one.findings) for batch, rows, one in asked)))
    votes = {
        criterion.id: [row[place] for row in rows]
        for batch, rows in zip(batches, said, strict=True)
        for place, criterion in enumerate(batch)
    }
    if quotes is not None:
        await quotes.distinguished(votes, criteria)
    return _Asked(votes, ("unreadable_reply",) if refused else ())


def _inquiry(
    batch: Sequence[Criterion], subject: Subject, params: ItemisedParams, sheet: Sheet, *, again: bool = False
) -> Inquiry[list[Vote]]:
    """Returns the question about criteria. again: see `criterion_quotes.Asking`."""

    def read(found: Mapping[str, Any]) -> list[Vote]:
        rows = [found] if sheet.alone else by_number(found, sheet.name, len(batch))
        return [sheet.read(row) for row in rows]

    return Inquiry(
        prompt=sheet.prompt,
        variables={
            "prompt": Material(subject.prompt) if subject.prompt else None,
            **subject.shown(),
            "criterion": [Material(one.text) for one in batch],
            "points": [one.points for one in batch],
            "again": again,
        },
        schema=object_of(sheet.properties) if sheet.alone else numbered(sheet.name, len(batch), sheet.properties),
        read=read,
        verdicts=len(batch),
        media=images(subject.sample.media) if params.media else (),
        portion=subject.portion,
    )


def _part(
    one: Criterion, votes: list[Vote], params: ItemisedParams, sheet: Sheet
) -> Part | Literal["cannot_tell", "tie"]:
    """Combines k votes on a criterion into a part; or returns why they cannot be combined."""
    values = [vote.value for vote in votes if vote.value is not None]
    if params.abstain == "undecided" and (len(votes) - len(values)) * 2 >= len(votes):
        return "cannot_tell"
    if params.abstain == "against":
        values = [worst_of(one) if vote.value is None else vote.value for vote in votes]
    if not values:
        return Part(criterion=one, value=None, votes=tuple(votes))
    # Count votes in the response's favour, so that `any`, `all` and ties mean the same for undesirable content.
    favours = values if one.points >= 0 else [1 - value for value in values]
    verdict = combine(favours, sheet.passing, params)
    if verdict.score is None:
        return "tie"
    value = verdict.score if one.points >= 0 else 1 - verdict.score
    return Part(criterion=one, value=value, votes=tuple(votes), counted=tuple(values))


def _unscored(one: Criterion, outcome: Outcome, ledger: Ledger) -> Outcome:
    """The outcome if a required program has no score: it takes over the program's status, fault and reason."""
    message = f"{one.label}: {outcome.feedback or outcome.reason}"
    evidence = {**outcome.evidence, "criterion": one.id, **ledger.counted()}
    return Outcome(
        status=outcome.status,
        reason=outcome.reason,
        fault=outcome.fault,
        feedback=message,
        evidence=evidence,
        flags=outcome.flags,
    )
