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
"""Words that a text needs at least to count as copied where it stands whole within another."""
_WHOLE_LETTERS = 40
"""The same in letters and digits, for words that were cut or joined."""


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """A text read for comparison. grams: its n-grams by order, from 1. letters: its letters and digits in a row."""

    words: tuple[str, ...]
    grams: tuple[Counter[Gram], ...] = field(repr=False)
    letters: str = field(repr=False)
    loops: bool


@dataclass(frozen=True, slots=True)
class Near:
    """The nearness of a text to an entry.

    own, theirs: the share of the n-grams of the one that are in the other, each as often as there, in the mean over
    their orders. copied: whether it is the entry in another order, or has it whole.
    """

    own: float
    theirs: float
    copied: bool

    @property
    def nearness(self) -> float:
        """From 0 to 1, the nearer of the two. Attack: a copy within a long text shares little of that text."""
        return 1.0 if self.copied else max(self.own, self.theirs)


@dataclass(frozen=True, slots=True, eq=False)
class Archive:
    """Entries in order. digest: of the texts in order."""

    entries: tuple[Entry, ...]
    digest: str

    def union(self) -> list[Counter[Gram]]:
        """Returns the n-grams of all entries by order, each as often as in the one that has it most."""
        orders = max((len(one.grams) for one in self.entries), default=0)
        return [_highest([one.grams[at] for one in self.entries if at < len(one.grams)]) for at in range(orders)]

    def nearest(self, text: Entry, same: float) -> tuple[int, Near] | None:
        """Returns the entry that a text is nearest to, the first of several, and how near; None if there is none."""
        found = [near(text, entry, same) for entry in self.entries]
        best = max(range(len(found)), key=lambda place: found[place].nearness, default=None)
        return None if best is None else (best, found[best])


def entry(text: str, orders: int) -> Entry:
    """Returns the text, read with its n-grams up to `orders`. Of symbols alone it is one word, as it is seen."""
    found = read(folded(text))
    words = found.words or (visible(folded(text)),)
    grams = tuple(
        Counter(zip(*(words[place:] for place in range(order)), strict=False))
        for order in range(1, min(orders, len(words)) + 1)
    )
    return Entry(words, grams, "".join(words), loops(found))


def archive(texts: Sequence[str], orders: int) -> Archive:
    """Returns the texts, read."""
    entries = tuple(entry(text, orders) for text in texts)
    digest = hashlib.blake2b(digest_size=12)
    for text in texts:
        digest.update(hashlib.blake2b(text.encode("utf-8", "surrogatepass")).digest())
    return Archive(entries, digest.hexdigest())


def near(text: Entry, known: Entry, same: float) -> Near:
    """Returns how near a text is to an entry. same: the least share of common words at which one only rearranges the
    other."""
    shared = [_shared(own, theirs) for own, theirs in zip(text.grams, known.grams, strict=False)]
    theirs = _mean(shared, known.grams) if len(known.words) >= WHOLE_WORDS else 0.0
    return Near(_mean(shared, text.grams), theirs, _rearranged(shared[0], text, known, same) or _within(text, known))


def share_of(text: Entry, grams: Sequence[Counter[Gram]]) -> float:
    """Returns the share of a text's n-grams that stand among others, in the mean over their orders."""
    return _mean([_shared(own, others) for own, others in zip(text.grams, grams, strict=False)], text.grams)


def _rearranged(shared: int, text: Entry, known: Entry, same: float) -> bool:
    """Returns whether a text is the words of an entry in another order, and less than as many others."""
    # A short entry's few words stand in many texts: then the text must be made of them, too.
    least = 0.5 if len(known.words) >= WHOLE_WORDS else same
    return shared >= same * len(known.words) and shared >= least * len(text.words)


def _within(text: Entry, known: Entry) -> bool:
    """Returns whether the entry stands whole in the text. Attack: blanks and hyphens that cut each word."""
    return len(known.letters) >= _WHOLE_LETTERS and known.letters in text.letters


def _mean(shared: Sequence[int], grams: Sequence[Counter[Gram]]) -> float:
    # Orders that only one of the two texts is long enough for are shared by nothing.
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
