"""Verifications that a generative model writes: read strictly, a verdict on each step."""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence

from rewarden.errors import InputTooLong, ModelError
from rewarden.types import Text
from rewarden_verifiers.contract import Context
from rewarden_verifiers.inference import Input, Write, Written
from rewarden_verifiers.judges.fencing import fenced, harmless
from rewarden_verifiers.judges.params import Prompt
from rewarden_verifiers.judges.prompts import Chat, Material, render
from rewarden_verifiers.models.model_tasks import ask
from rewarden_verifiers.models.rm_process_params import Params
from rewarden_verifiers.models.seen import Seen
from rewarden_verifiers.models.step_values import Values
from rewarden_verifiers.view import View, apply_view, transcript

_LINE = re.compile(r"[\s*_`]*step[ \t]{1,4}(\d{1,4})[\s*_`]*:[\s*_`]*(correct|incorrect)[\s*_`.]*", re.IGNORECASE)

_LIKE = re.compile(r"step[ \t]{1,4}\d{1,4}[\s*_`]{0,8}:[\s*_`]{0,8}(?:in)?correct", re.IGNORECASE)
"""Text that looks like such a line, wherever it stands."""

_CLOSED = View(special_tokens=())

_AGAIN = 1009
"""Between the seeds of attempts: more than there are samples."""

_WARMER = 0.5
"""The temperature of asking again: at 0 the same would come again."""


async def by_writing(
    steps: Sequence[str], prompt: Text | None, model: str | None, params: Params, ctx: Context, seen: Seen
) -> Values | None:
    """Of each step the share of verifications that call it correct; None where half of them or more cannot be read.

    Where a step itself holds such lines as a verification ends with, one that cannot be read calls all steps wrong.
    Where half of them or more cannot be read they are asked for again; and if none can be read then, unless the steps
    are escaped or withheld, all steps are wrong too. Otherwise a policy would write what spoils them to go unscored.
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
    # A step's fence is long as well, and there are as many as the policy wrote steps.
    candidate = "\n".join(
        fenced(f"step {place}", harmless(text).text, "0" * 16) for place, text in enumerate(steps, start=1)
    )

    async def asked(chat: Chat, samples: int, temperature: float, again: int) -> list[list[bool] | None]:
        task = Write(
            input=Input(messages=chat.messages, begin=True, candidate=candidate, fit=params.fit),
            samples=samples,
            max_tokens=params.max_tokens,
            temperature=temperature,
            seed=params.seed + again * _AGAIN,
        )
        return [verdicts(one, len(steps)) for one in (await ask(ctx, task, model, seen)).texts]

    async def readable(*, escape: bool = False, withhold: bool = False) -> bool:
        chat = render("rm_process.steps", Prompt(), variables, form, escape=escape, withhold=withhold)
        try:
            (one,) = await asked(chat, 1, params.temperature, 2)
        except (InputTooLong, ModelError):
            return False
        return one is not None

    chat = render("rm_process.steps", Prompt(), variables, form)
    flags = ["neutralised"] * bool(chat.neutralised)
    read = await asked(chat, params.samples, params.temperature, 0)
    spoiled = any(_LIKE.search(text) for text in steps)
    if not spoiled and read.count(None) * 2 >= len(read):
        read = await asked(chat, params.samples, params.temperature or _WARMER, 1)
        if read.count(None) * 2 >= len(read):
            spoiled = await readable(escape=True) or await readable(withhold=True)
            if not spoiled:
                return None
    lacking = read.count(None)
    if lacking and spoiled:
        flags.append("unreadable_reply")
        read = [[False] * len(steps) if one is None else one for one in read]
    given = [one for one in read if one is not None]
    shares = [statistics.fmean(row) for row in zip(*given, strict=True)]
    return Values(shares, flags, {"verifications": len(given), "unreadable": lacking})


def verdicts(written: Written, count: int) -> list[bool] | None:
    """Of each of so many steps whether it is called correct; None unless the text, behind a closed thought, ends with
    one such line a step, in order. What stands before them may quote anything."""
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
