"""The steps of a response as a model sees them, with safeguards against steps that exist only to earn rewards."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rewarden.types import Sample
from rewarden_verifiers.judges.fencing import harmless
from rewarden_verifiers.judges.splitting import Part, given_parts, parts_of
from rewarden_verifiers.judges.unified import unified
from rewarden_verifiers.models.rm_process_params import Params

_NUMBER = re.compile(r"[\s#*_]{0,8}(?:step\s{0,3}\d{1,4}[.):]?|\(?\d{1,4}[.):])[*_]{0,4}\s", re.IGNORECASE)


_LONG = 2000
"""Maximum number of characters of a step whose lookalike characters are unified, which is slow."""


@dataclass(frozen=True, slots=True)
class Walk:
    """parts: all steps, including empty ones. shown: the texts of the steps with substance, as the model reads them;
    order: their indices among the parts. same: for each step shown, the index of the first one with the same text.
    """

    parts: Sequence[Part]
    order: Sequence[int]
    shown: Sequence[str]
    same: Sequence[int]
    flags: Sequence[str]


def walk_of(response: str, sample: Sample, params: Params) -> Walk:
    """The steps that the sample names, or else those that the response is split into.

    An empty or invisible step is neither judged nor counted (`empty_steps`). A step that repeats an earlier one, except
    for its number, spaces, case and lookalike characters, is flagged `repeated_steps`. Attack: the mark within a step,
    by which a policy would add verdicts of its own; it is broken up by a space (`mark_in_step`). Raises InvalidSample
    for an invalid named step.
    """
    if sample.steps:
        parts = given_parts(sample.response, sample.steps)
    else:
        parts = joined(parts_of(response, params.split, params.tag), params.joined_below)
    order = [place for place, part in enumerate(parts) if _visible(part.text)]
    texts = [parts[place].text for place in order]
    if len(texts) > params.most_steps:
        return Walk(parts, order, texts, range(len(texts)), ())  # they will not be judged
    said: dict[str, int] = {}
    same = [said.setdefault(_bare(text), place) for place, text in enumerate(texts)]
    shown = [broken(text, params.mark) for text in texts] if params.by in ("head", "token") else texts
    flags = (
        ["empty_steps"] * (len(order) < len(parts))
        + ["repeated_steps"] * (len(said) < len(same))
        + ["mark_in_step"] * (shown != texts)
    )
    return Walk(parts, order, shown, same, flags)


def joined(parts: Sequence[Part], shortest: int) -> list[Part]:
    """The steps; one with fewer than `shortest` characters is joined with the next one, or at the end with the previous
    one.
    """
    if not shortest:
        return list(parts)
    found: list[list[Part]] = []
    short = False
    for part in parts:
        if short:
            found[-1].append(part)
        else:
            found.append([part])
        short = _length(part.text) < shortest
    if short and len(found) > 1:
        end = found.pop()
        found[-1] += end
    return [_together(some) for some in found]


def broken(text: str, mark: str) -> str:
    """Breaks up the mark wherever it occurs as a separate word. A mark of one character or of white space is left:
    honest steps contain it too, and the places where a model's values are read do not depend on the text.
    """
    bare = mark.strip()
    if len(bare) < 2 or bare not in text:
        return text
    before, after = (r"(?<!\w)" if bare[0].isalnum() else ""), (r"(?!\w)" if bare[-1].isalnum() else "")
    pattern = re.compile(before + re.escape(bare) + after)
    while pattern.search(text) is not None:
        text = pattern.sub(lambda found: f"{found.group()[0]} {found.group()[1:]}", text)
    return text


def _bare(text: str) -> str:
    text = (unified(text) if len(text) <= _LONG else harmless(text).text).lstrip()
    number = _NUMBER.match(text)
    return " ".join(text[0 if number is None else number.end() :].split()).casefold()


def _length(text: str) -> int:
    """The number of visible characters."""
    return len(text) if text.isascii() and text.isprintable() else len(harmless(text).text.strip())


def _visible(text: str) -> bool:
    return text[:1].isalnum() or _length(text.strip()) > 0


def _together(parts: Sequence[Part]) -> Part:
    first, last = parts[0], parts[-1]
    if first is last:
        return first
    return Part("\n".join(part.text for part in parts), first.start, last.end, first.message)
