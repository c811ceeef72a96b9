"""An archive of texts, and the similarity of another text to each of them."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from rewarden_verifiers.archives.folding import folded
from rewarden_verifiers.generation.texts import loops, read
from rewarden_verifiers.words import visible

Gram = tuple[str, ...]

WHOLE_WORDS = 8
"""Minimum number of words of an entry to count as copied if another text contains it whole."""
_WHOLE_LETTERS = 40
"""The same in letters and digits, for words that were split or joined."""


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """A text prepared for comparison. grams: its n-grams by order, from 1. letters: its letters and digits, joined."""

    words: tuple[str, ...]
    grams: tuple[Counter[Gram], ...] = field(repr=False)
    letters: str = field(repr=False)
    loops: bool


@dataclass(frozen=True, slots=True)
class Near:
    """The nearness of a text to an entry.

    own, theirs: the share of one's n-grams that the other contains, with multiplicity, averaged over their orders.
    copied: whether the text rearranges the entry or contains it whole.
    """

    own: float
    theirs: float
    copied: bool

    @property
    def nearness(self) -> float:
        """From 0 to 1, the larger of both shares. Attack: a copy within a long text is a small share of that text."""
        return 1.0 if self.copied else max(self.own, self.theirs)


@dataclass(frozen=True, slots=True, eq=False)
class Archive:
    """Entries in order. digest: over the texts in order."""

    entries: tuple[Entry, ...]
    digest: str

    def union(self) -> list[Counter[Gram]]:
        """Returns the n-grams of all entries by order, each with its highest count in any entry."""
        orders = max((len(one.grams) for one in self.entries), default=0)
        return [_highest([one.grams[at] for one in self.entries if at < len(one.grams)]) for at in range(orders)]

    def nearest(self, text: Entry, same: float) -> tuple[int, Near] | None:
        """Returns the index of the nearest entry (the first of several) and how near it is; None if there are no
        entries.
        """
        found = [near(text, entry, same) for entry in self.entries]
        best = max(range(len(found)), key=lambda place: found[place].nearness, default=None)
        return None if best is None else (best, found[best])


def entry(text: str, orders: int) -> Entry:
    """Prepares a text with its n-grams up to `orders`. A text of symbols alone counts as one word, as displayed."""
    found = read(folded(text))
    words = found.words or (visible(folded(text)),)
    grams = tuple(
        Counter(zip(*(words[place:] for place in range(order)), strict=False))
        for order in range(1, min(orders, len(words)) + 1)
    )
    return Entry(words, grams, "".join(words), loops(found))


def archive(texts: Sequence[str], orders: int) -> Archive:
    """Prepares the texts."""
    entries = tuple(entry(text, orders) for text in texts)
    digest = hashlib.blake2b(digest_size=12)
    for text in texts:
        digest.update(hashlib.blake2b(text.encode("utf-8", "surrogatepass")).digest())
    return Archive(entries, digest.hexdigest())


def near(text: Entry, known: Entry, same: float) -> Near:
    """Returns how near a text is to an entry. same: the minimum share of common words at which one is a rearrangement
    of the other.
    """
    shared = [_shared(own, theirs) for own, theirs in zip(text.grams, known.grams, strict=False)]
    theirs = _mean(shared, known.grams) if len(known.words) >= WHOLE_WORDS else 0.0
    return Near(_mean(shared, text.grams), theirs, _rearranged(shared[0], text, known, same) or _within(text, known))


def share_of(text: Entry, grams: Sequence[Counter[Gram]]) -> float:
    """Returns the share of a text's n-grams that occur among others, averaged over their orders."""
    return _mean([_shared(own, others) for own, others in zip(text.grams, grams, strict=False)], text.grams)


def _rearranged(shared: int, text: Entry, known: Entry, same: float) -> bool:
    """Returns whether a text consists of an entry's words in another order, with fewer other words than those."""
    # The few words of a short entry occur in many texts, so the text must consist of them, too.
    least = 0.5 if len(known.words) >= WHOLE_WORDS else same
    return shared >= same * len(known.words) and shared >= least * len(text.words)


def _within(text: Entry, known: Entry) -> bool:
    """Returns whether the text contains the whole entry. Attack: spaces and hyphens that split each word."""
    return len(known.letters) >= _WHOLE_LETTERS and known.letters in text.letters


def _mean(shared: Sequence[int], grams: Sequence[Counter[Gram]]) -> float:
    # Orders for which only one of the texts is long enough have no shared n-grams.
    return sum(count / own.total() for count, own in zip(shared, grams, strict=False)) / len(grams)


def _shared(own: Counter[Gram], others: Counter[Gram]) -> int:
    few, many = (own, others) if len(own) <= len(others) else (others, own)
    return sum(min(count, many[gram]) for gram, count in few.items() if gram in many)


def _highest(counts: Sequence[Counter[Gram]]) -> Counter[Gram]:
    found: Counter[Gram] = Counter()
    for own in counts:
        for gram, count in own.items():
            if count > found[gram]:
                found[gram] = count
    return found
