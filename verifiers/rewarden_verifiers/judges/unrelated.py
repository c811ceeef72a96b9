"""Unrelated subjects: a judge that gives a passage credit for these too gives credit for anything.

Attack: an opener, or a text that praises itself, which no list has, and which a credulous judge accepts whatever is
asked (Zhao et al. 2025, arXiv 2507.08794). No measure of its words finds it, since "42" and "B" have no more in common
with what was asked. So the judge itself is tested: the quote is shown alone, and held against another subject.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import TypeVar

from rewarden_verifiers.judges.gather import gather
from rewarden_verifiers.judges.unified import unified

SUBJECTS = (
    "copper kettles", "velvet bicycles", "Mombasa lighthouse", "seventeen walnuts", "plywood giraffe",
    "lukewarm porridge", "Uppsala tramway", "crooked umbrella", "origami hedgehog", "rusty accordion",
    "marmalade sandwich", "woollen mittens",
)  # fmt: skip

_WORDS = re.compile(r"\d+|[^\W\d_\u0530-\U0010ffff]+|[^\W\d_]")
"""Beyond the first blocks of Unicode, scripts without spaces: each character is a word."""

Name = TypeVar("Name")

Earns = Callable[[str, str, Collection[Name]], Awaitable[bool]]
"""Returns whether the judge gives a passage, shown alone, credit for a subject, in any of these parts."""


def words_of(text: str) -> set[str]:
    """Returns the words of a text, in one form."""
    return set(_WORDS.findall(unified(text).casefold()))


def unrelated_to(text: str) -> Sequence[str]:
    """Returns two subjects that share no word with a text. Attack: a text with a word of nearly all of them leaves
    fewer, so that it cannot be tested."""
    own = words_of(text)
    return [one for one in SUBJECTS if not words_of(one) & own][:2]


def subject_of(subject: str) -> str:
    """Returns the criterion that an unrelated subject makes."""
    return f"Describes {subject}."


async def credited_for_any(quotes: Mapping[Name, str], earns: Earns[Name]) -> set[Name]:
    """Returns the parts whose quote earns credit for two unrelated subjects, or leaves fewer than two.

    An honest judge is asked once for all quotes together. Only if they earn credit so, each is tried alone, because one
    opener must not take the credit from the other passages. Raises what `earns` raises.
    """
    if not quotes or not await _for_any("\n".join(dict.fromkeys(quotes.values())), list(quotes), earns):
        return set()
    parts: dict[str, list[Name]] = {}
    for name, quote in quotes.items():
        parts.setdefault(quote, []).append(name)
    if len(parts) == 1:
        return set(quotes)
    found = await gather(*(_for_any(quote, names, earns) for quote, names in parts.items()))
    return {name for names, credited in zip(parts.values(), found, strict=True) if credited for name in names}


async def _for_any(text: str, names: Collection[Name], earns: Earns[Name]) -> bool:
    subjects = unrelated_to(text)
    if len(subjects) < 2:
        return True
    for subject in subjects:
        if not await earns(text, subject, names):
            return False
    return True
