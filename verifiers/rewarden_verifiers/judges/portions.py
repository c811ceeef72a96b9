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
"""Ends of paragraphs, lines, sentences and words: where a text is cut, in order of preference."""

_OVERLAP = 8
"""The next portion repeats one part in this many, so that a passage at a cut is seen whole in one of the two."""

_LEAST = 256
"""Minimum number of tokens of a portion. If the context leaves fewer, the criteria or the prompt are too long."""

_SHORT = 1000
"""Maximum number of characters of a response that fits into any context."""

_BETWEEN = "\n\n"
"""The separator between messages at which a transcript is cut: the end of a paragraph."""

Inquire = Callable[[Subject], Inquiry[Any]]


async def portions(
    ctx: Context, params: JudgeParams, subject: Subject, inquire: Inquire, most: int, **details: Any
) -> list[Subject] | Outcome:
    """Returns the subject, or its portions if it does not fit into the judge's context; the outcome `too_long` if there
    are more than `most`. inquire: makes the question about a subject. details: fields of that outcome.

    Portions of a transcript begin and end between messages if possible. Portions without any text by the candidate are
    left out: long tool results are not to be judged on their own. If the context size is unknown, a response of up to
    `LONGEST` characters stays whole.
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
        # Render the calls of a message as text, since part of the message is shown.
        message = whole(turn)
        within = message[max(0, portion.start - place) : max(0, portion.end - place)]
        if within.strip():
            shown.append(Turn(turn.role, within))
        place += len(message) + len(_BETWEEN)
    return replace(subject, messages=tuple(shown), portion=portion)


def told(subjects: Sequence[Subject]) -> dict[str, Any]:
    """For the evidence: `portions` lists their positions in the response; empty if it was judged whole."""
    spans = [[one.portion.start, one.portion.end] for one in subjects if one.portion is not None]
    return {"portions": spans} if spans else {}


@dataclass(frozen=True, slots=True)
class _Unit:
    """An indivisible stretch of text. ends: whether it ends a paragraph."""

    start: int
    end: int
    tokens: int
    ends: bool


def cut(text: str, room: int) -> list[tuple[int, int]]:
    """The start and end of each portion. Each has at most `room` tokens, and repeats up to an eighth of that from the
    end of the previous one. It ends at the end of a paragraph if there is one in its last quarter.
    """
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
    """Splits a stretch into units of at most `most` tokens: paragraphs, or their lines, sentences and words if they are
    longer.
    """
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
