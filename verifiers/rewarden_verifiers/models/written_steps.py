"""Verifications that a generative model writes: read strictly, with a verdict on each step."""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence

from rewarden.errors import InputTooLong
from rewarden.types import Text
from rewarden_verifiers.contract import Context
from rewarden_verifiers.inference import Input, Write, Written
from rewarden_verifiers.judges.fencing import fenced, harmless
from rewarden_verifiers.judges.neutral_text import as_long
from rewarden_verifiers.judges.opinions import ASKS, MORE, WARMER
from rewarden_verifiers.judges.params import Prompt
from rewarden_verifiers.judges.prompts import Chat, Material, render
from rewarden_verifiers.models.model_tasks import ask
from rewarden_verifiers.models.rm_process_params import Params
from rewarden_verifiers.models.seen import Seen
from rewarden_verifiers.models.step_values import Values
from rewarden_verifiers.view import View, apply_view, transcript

_LINE = re.compile(r"[\s*_`]*step[ \t]{1,4}(\d{1,4})[\s*_`]*:[\s*_`]*(correct|incorrect)[\s*_`.]*", re.IGNORECASE)

_CLOSED = View(special_tokens=())

_AGAIN = 1009
"""The distance between the seeds of attempts: larger than the number of samples."""


async def by_writing(
    steps: Sequence[str], prompt: Text | None, model: str | None, params: Params, ctx: Context, seen: Seen
) -> Values | None:
    """For each step, the share of verifications that call it correct; None if at least half of the verifications are
    unreadable.

    Unreadable verifications are retried; after a truncated one, which is the model's own fault, with four times the
    tokens. If some are unreadable three times, and three verifications with neutral texts of equal length in place of
    the steps are all readable, they count as calling all steps wrong: otherwise a policy would write steps that spoil
    verifications to go unscored.
    """
    form = (
        f"Write down your check. At the very end write {len(steps)} lines and nothing behind them, one for each step, "
        "in order:\nStep NUMBER: correct\nor\nStep NUMBER: incorrect"
    )
    variables = {
        "prompt": Material(transcript(prompt)) if prompt else None,
        "step": [Material(text, candidate=True) for text in steps],
        "instructions": params.instructions,
    }
    # The fences take tokens too, and their number is the number of steps that the policy wrote.
    candidate = "\n".join(
        fenced(f"step {place}", harmless(text).text, "0" * 16) for place, text in enumerate(steps, start=1)
    )

    async def asked(chat: Chat, samples: int, again: int, more: int = 1, own: str = candidate) -> list[Written]:
        task = Write(
            input=Input(messages=chat.messages, begin=True, candidate=own, fit=params.fit),
            samples=samples,
            max_tokens=params.max_tokens * more,
            temperature=params.temperature if not again else params.temperature or WARMER,
            seed=params.seed + again * _AGAIN,
        )
        return list((await ask(ctx, task, model, seen)).texts)

    chat = render("rm_process.steps", Prompt(), variables, form)
    flags = ["neutralised"] * bool(chat.neutralised)
    written = await asked(chat, params.samples, 0)
    read = [verdicts(one, len(steps)) for one in written]
    cut = [one.finish == "length" for one in written]
    for again in range(1, ASKS):
        lacking = [place for place, one in enumerate(read) if one is None]
        if not lacking:
            break
        try:
            written = await asked(chat, len(lacking), again, MORE if any(cut) else 1)
        except InputTooLong:
            break  # the same input fitted before: the context has no room for more tokens
        for place, one in zip(lacking, written, strict=True):
            read[place], cut[place] = verdicts(one, len(steps)), one.finish == "length"
    unread = read.count(None)
    # A truncated verification is never the steps' fault.
    spoiled = any(one is None and not short for one, short in zip(read, cut, strict=True))
    if spoiled:
        neutral = render("rm_process.steps", Prompt(), variables, form, neutral=as_long)
        try:
            controls = await asked(neutral, ASKS, ASKS, MORE if any(cut) else 1, own="")
            spoiled = all(verdicts(one, len(steps)) is not None for one in controls)
        except InputTooLong:
            spoiled = False
    if spoiled:
        flags.append("unreadable_reply")
        wrong = [False] * len(steps)
        read = [wrong if one is None and not short else one for one, short in zip(read, cut, strict=True)]
    if read.count(None) * 2 >= len(read):
        return None
    given = [one for one in read if one is not None]
    shares = [statistics.fmean(row) for row in zip(*given, strict=True)]
    return Values(shares, flags, {"verifications": len(given), "unreadable": unread})


def verdicts(written: Written, count: int) -> list[bool] | None:
    """For each of `count` steps, whether it is called correct; None unless the text, after closed reasoning, ends with
    one such line per step, in order. Earlier text can quote anything.
    """
    if written.finish == "length":
        return None
    text = apply_view(written.text, _CLOSED).text
    lines = [line for line in (text or "").splitlines() if line.strip(" \t*_`")][-count:]
    found = [_LINE.fullmatch(line) for line in lines]
    if len(found) < count:
        return None
    read: list[bool] = []
    for place, line in enumerate(found, start=1):
        if line is None or int(line.group(1)) != place:
            return None
        read.append(line.group(2).lower() == "correct")
    return read
