"""Statements of fact, compared by their words."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from rewarden_verifiers.archives.folding import folded
from rewarden_verifiers.generation.rouge import lcs
from rewarden_verifiers.words import tokens

LONGEST = 1_000
"""Maximum number of characters of a statement. Attack: a text that contains everything contains every fact."""

_ARTICLES = frozenset({"a", "an", "the"})
_NEGATION = re.compile(r"\b(?:not|no|never|none|nothing|nobody|nowhere|neither|nor|without|cannot)\b|n['’]t\b")
_NAME = re.compile(r"(?<![.!?:] )(?<=\s)[A-ZÀ-ÖØ-Þ]\w+")
"""A capitalised word within a sentence: at its beginning, any word is capitalised."""


@dataclass(frozen=True, slots=True, eq=False)
class Fact:
    """A prepared statement. names: its capitalised words. numbers: its words with digits, with multiplicity."""

    words: tuple[str, ...]
    names: frozenset[str]
    numbers: Counter[str]
    negated: bool


def fact(text: str) -> Fact:
    """Prepares a statement."""
    plain = folded(text)
    words = tuple(word for word in tokens(plain) if word not in _ARTICLES)
    names = frozenset(word for name in _NAME.findall(text) for word in tokens(folded(name)))
    numbers = Counter(word for word in words if any(letter.isdigit() for letter in word))
    return Fact(words, names - _ARTICLES, numbers, _NEGATION.search(plain) is not None)


def alike(one: Fact, other: Fact, threshold: float) -> float:
    """Returns how alike two statements are: the F1 of their longest common subsequence of words; 0 below the threshold,
    and if they differ in a number, a name, or a negation.

    A subsequence respects the order. Attack: reverse who did what to whom.
    """
    total = len(one.words) + len(other.words)
    if not one.words or not other.words:
        return 0.0
    if one.numbers != other.numbers or one.negated != other.negated:
        return 0.0
    if not (one.names <= set(other.words) and other.names <= set(one.words)):
        return 0.0
    # An upper bound that ignores the order, and is cheaper to compute.
    if 2 * (Counter(one.words) & Counter(other.words)).total() < threshold * total:
        return 0.0
    value = 2 * lcs(one.words, other.words) / total
    return value if value >= threshold else 0.0
