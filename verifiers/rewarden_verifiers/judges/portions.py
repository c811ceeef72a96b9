"""The portions of a response that is longer than a judge's context: overlapping, and cut between paragraphs.

The judge's server rejects a response that does not fit, so it would have no score. Attack: padding, in the hope that a
judge of many portions credits one of them with more than the whole deserves. The rules that combine the verdicts on
portions are therefore never more lenient than a verdict on the whole; each verifier states its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from rewarden.types import Outcome
from rewarden_verifiers.contract import Context
from rewarden_verifiers.judges.offload import offload
from rewarden_verifiers.judges.opinions import Inquiry, question_of, too_long
from rewarden_verifiers.judges.params import LONGEST, JudgeParams
from rewarden_verifiers.judges.showing import Portion, Subject, whole
from rewarden_verifiers.judges.tokens import tokens_at_most
from rewarden_verifiers.view import Turn

_BORDERS = tuple(re.compile(border) for border in (r"\n[ \t]*\n\s*", r"\n", r"(?<=[.!?。！？])\s+", r"\s+"))
"""Ends of paragraphs, lines, sentences and words: where a text is cut, in the order of preference."""

_OVERLAP = 8
"""The share of a portion, as a divisor, that the next one repeats: a passage at a cut is seen whole in one of them."""

_LEAST = 256
"""Tokens of a portion. Where a context leaves fewer, the criteria or the prompt are what is too long."""

_SHORT = 1000
"""Characters of a response that fits anywhere."""

_BETWEEN = "\n\n"
"""The end of a message where a transcript is cut: a paragraph's."""

Inquire = Callable[[Subject], Inquiry[Any]]


async def portions(
    ctx: Context, params: JudgeParams, subject: Subject, inquire: Inquire, most: int, **details: Any
) -> list[Subject] | Outcome:
    """The subject, or its portions where it does not fit into the judge's context; the outcome `too_long` where these
    are more than `most`. inquire: the question about a subject. details: of the outcome.

    Of a transcript, portions begin and end between messages where they can, and those in which the candidate wrote
    nothing are left out: long results of tools are nothing to be judged by themselves. Where the context is not known,
    the response is whole up to `LONGEST` characters.
    """
    messages = [whole(turn) for turn in subject.turns()] if subject.show == "transcript" else None
    text = subject.response if messages is None else _BETWEEN.join(messages)
    size = len(text) if messages is None else subject.size()
    if size <= _SHORT:
        return [subject]
    question = await offload(len(text), question_of, params, inquire(subject))
    spare = await ctx.judge.spare(question, params.judge)
    if spare is None:
        if params.longest is None and size > LONGEST:
            return too_long(size, LONGEST, **details)
        return [subject]
    if spare >= 0:
        return [subject]
    room = await offload(len(text), tokens_at_most, text) + spare
    if room < _LEAST:
        return [subject]
    found = await offload(len(text), cut, text, room)
    if len(found) > most:
        message = f"The response takes {len(found)} portions of the judge's context; at most {most} are judged."
        return too_long(len(text), None, feedback=message, **details)
    cuts = [
        _portion(subject, text, Portion(number=place, count=len(found), start=start, end=end))
        for place, (start, end) in enumerate(found, start=1)
    ]
    return [one for one in cuts if one.text().strip()] or cuts


def _portion(subject: Subject, text: str, portion: Portion) -> Subject:
    if subject.show == "response":
        return replace(subject, response=text[portion.start : portion.end], portion=portion)
    shown: list[Turn] = []
    place = 0
    for turn in subject.turns():
        # A message that is shown in part is so with its calls, which are text to a judge.
        message = whole(turn)
        within = message[max(0, portion.start - place) : max(0, portion.end - place)]
        if within.strip():
            shown.append(Turn(turn.role, within))
        place += len(message) + len(_BETWEEN)
    return replace(subject, messages=tuple(shown), portion=portion)


def told(subjects: Sequence[Subject]) -> dict[str, Any]:
    """For the evidence: `portions`, where each is in the response; nothing if it was judged whole."""
    spans = [[one.portion.start, one.portion.end] for one in subjects if one.portion is not None]
    return {"portions": spans} if spans else {}


@dataclass(frozen=True, slots=True)
class _Unit:
    """A stretch of a text that is not cut. ends: it ends a paragraph."""

    start: int
    end: int
    tokens: int
    ends: bool


def cut(text: str, room: int) -> list[tuple[int, int]]:
    """The beginnings and ends of the portions. Each has at most `room` tokens, and begins with up to an eighth of that
    which the one before it ended with. It ends at the end of a paragraph if its last quarter has one."""
    overlap = max(1, room // _OVERLAP)
    units = _units(text, 0, len(text), overlap, 0)
    found: list[tuple[int, int]] = []
    first = 0
    while True:
        last, size = first, 0
        while last < len(units) and size + units[last].tokens <= room:
            size += units[last].tokens
            last += 1
        last = max(last, first + 1)
        if last >= len(units):
            found.append((units[first].start, units[-1].end))
            return found
        quarter = first + (last - first) * 3 // 4
        last = next((place + 1 for place in range(last - 1, quarter - 1, -1) if units[place].ends), last)
        found.append((units[first].start, units[last - 1].end))
        following, size = last, 0
        while following - 1 > first and size + units[following - 1].tokens <= overlap:
            following -= 1
            size += units[following].tokens
        first = following


def _units(text: str, start: int, end: int, most: int, level: int) -> list[_Unit]:
    """A stretch as units of at most so many tokens: paragraphs, and what they are made of where they are longer."""
    tokens = tokens_at_most(text[start:end])
    if level and (tokens <= most or end - start < 2):
        return [_Unit(start, end, tokens, ends=False)]
    if level < len(_BORDERS):
        borders = [found.end() for found in _BORDERS[level].finditer(text, start, end)]
        places = [start, *(place for place in borders if start < place < end), end]
    else:
        places = [start, (start + end) // 2, end]
    found: list[_Unit] = []
    for begin, stop in pairwise(places):
        found += _units(text, begin, stop, most, level + 1)
        if level == 0:
            found[-1] = replace(found[-1], ends=True)
    return found
