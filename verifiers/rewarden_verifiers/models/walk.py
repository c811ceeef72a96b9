"""The steps of a response as a model sees them, with measures against steps that exist only to earn rewards."""

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
"""Characters of a step in which characters that look the same are told from others: that takes a while."""


@dataclass(frozen=True, slots=True)
class Walk:
    """parts: all steps, also empty ones. shown: of those with substance, the texts that the model reads; order: their
    places among the parts. same: of each of those shown, the first that says the same, by its place among them."""

    parts: Sequence[Part]
    order: Sequence[int]
    shown: Sequence[str]
    same: Sequence[int]
    flags: Sequence[str]


def walk_of(response: str, sample: Sample, params: Params) -> Walk:
    """The steps that the sample names, or else those into which the response falls.

    An empty step, or one that nobody sees, is neither asked about nor counted (`empty_steps`). One that is there
    already, but for its number, spaces, case and what looks the same, is `repeated_steps`. The mark within a step, by
    which a policy would set verdicts of its own, is broken by a space (`mark_in_step`). Raises InvalidSample for a
    named step that is none.
    """
    if sample.steps:
        parts = given_parts(sample.response, sample.steps)
    else:
        parts = joined(parts_of(response, params.split, params.tag), params.joined_below)
    order = [place for place, part in enumerate(parts) if _visible(part.text)]
    texts = [parts[place].text for place in order]
    if len(texts) > params.most_steps:
        return Walk(parts, order, texts, range(len(texts)), ())  # nobody is asked about them
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
    """The steps, each shorter than so many characters together with the next one, or at the end with the one before."""
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
    """The text without the mark, wherever it stands as a word of its own. A mark of one character or of blanks is left:
    it is in honest steps as well, and a model's values are read at places that no text moves."""
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
    """Of what somebody sees of it."""
    return len(text) if text.isascii() and text.isprintable() else len(harmless(text).text.strip())


def _visible(text: str) -> bool:
    return text[:1].isalnum() or _length(text.strip()) > 0


def _together(parts: Sequence[Part]) -> Part:
    first, last = parts[0], parts[-1]
    if first is last:
        return first
    return Part("\n".join(part.text for part in parts), first.start, last.end, first.message)
