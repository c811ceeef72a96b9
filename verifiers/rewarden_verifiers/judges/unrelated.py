"""Unrelated subjects: a judge that gives a passage credit for these too gives credit for anything.

Attack: an opener, or a text that praises itself, that is on no list and that a credulous judge accepts for any question
(Zhao et al. 2025, arXiv 2507.08794). Comparing words cannot detect it, since "42" and "B" share no more words with the
question. So the judge itself is tested: it sees the quote alone, with an unrelated subject.
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
"""Beyond the first Unicode blocks, in scripts without spaces, each character counts as a word."""

Name = TypeVar("Name")

Earns = Callable[[str, str, Collection[Name]], Awaitable[bool]]
"""Returns whether the judge, shown only this passage, gives credit for a subject in any of these parts."""


def words_of(text: str) -> set[str]:
    """Returns the words of a text, in normalised form."""
    return set(_WORDS.findall(unified(text).casefold()))


def unrelated_to(text: str) -> Sequence[str]:
    """Returns two subjects that share no word with a text, or fewer. Attack: a text that contains a word of nearly all
    of them leaves fewer than two, so it cannot be tested.
    """
    own = words_of(text)
    return [one for one in SUBJECTS if not words_of(one) & own][:2]


def subject_of(subject: str) -> str:
    """Returns the criterion for an unrelated subject."""
    return f"Describes {subject}."


async def credited_for_any(quotes: Mapping[Name, str], earns: Earns[Name]) -> set[Name]:
    """Returns the parts whose quote earns credit for two unrelated subjects, or leaves fewer than two of them.

    All quotes are tested together first, which settles the matter for an honest judge. Only if they earn credit
    together is each tested alone, so that one opener does not cost the other passages their credit. Raises what `earns`
    raises.
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
