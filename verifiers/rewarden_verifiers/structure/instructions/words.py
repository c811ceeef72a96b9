"""IFBench's `words:*` and `sentence:*`: requirements on each word or sentence, or on a certain one."""

from __future__ import annotations

import re
import string
from collections import Counter
from itertools import pairwise

from rewarden_verifiers.structure.instructions.arguments import Arguments
from rewarden_verifiers.structure.instructions.checker import Check, checker, plain
from rewarden_verifiers.structure.instructions.sentences import sentences
from rewarden_verifiers.structure.instructions.text import STRIPPED, Text, bare
from rewarden_verifiers.structure.instructions.tokens import tokens
from rewarden_verifiers.structure.instructions.verbs import is_verb

_VOWELS = frozenset("aeiou")
_CLUSTER = re.compile("[bcdfghjklmnpqrstvwxyz]{2}")
_PRIMES = frozenset((2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97))
_PALINDROMES = 10
_LONG = 5
_ONE = "the official checker passes a single sentence, which has none to follow"


@plain("words:alphabet")
def alphabet(text: Text) -> bool:
    """Each word begins with the next letter of the alphabet, where A follows Z."""
    letters = string.ascii_lowercase
    words = text.bare.lower().split()
    first = letters.find(words[0][0]) if words else -1
    return first >= 0 and all(word[0] == letters[(first + place) % 26] for place, word in enumerate(words))


@plain("words:vowel")
def vowel(text: Text) -> bool:
    """One paragraph with at most three of the five vowels."""
    return "\n" not in text.value.strip() and len(_VOWELS.intersection(text.lower)) <= 3


@plain("words:consonants")
def consonants(text: Text) -> bool:
    """Each word contains two consecutive consonants."""
    return all(_CLUSTER.search(word) for word in text.lower.split())


@plain("words:palindrome")
def palindrome(text: Text) -> bool:
    """Ten palindromes of at least five characters; one may be repeated."""
    words = text.bare.lower().split()
    return sum(len(word) >= _LONG and word == word[::-1] for word in words) >= _PALINDROMES


@plain("words:prime_lengths")
def prime_lengths(text: Text) -> bool:
    """Each word has a prime number of characters, below 100."""
    return all(len(word) in _PRIMES for word in text.bare.split())


@plain("words:start_verb")
def start_verb(text: Text) -> bool:
    """The first word is a verb, by a list of verbs and the word that follows."""
    first = tokens(text.sentences[:1])
    return bool(first) and is_verb(first[0], first[1] if len(first) > 1 else "")


@checker("words:repeats")
def repeats(arguments: Arguments) -> Check:
    """No word occurs more than `small_n` times, ignoring case."""
    most = arguments.count("small_n")
    return lambda text: max(Counter(bare(text.lower).split()).values(), default=0) <= most


@plain(
    "words:odd_even_syllables",
    guard=lambda text: len(text.bare.split()) > 1,
    why="the official checker passes a single word",
)
def odd_even_syllables(text: Text) -> bool:
    """Words with odd and with even numbers of syllables alternate."""
    import syllapy  # imported on first use, because it loads a table of words

    before: int | None = None
    for word in text.bare.lower().split():
        odd: int = syllapy.count(word) % 2
        if odd == before:
            return False
        before = odd
    return True


def _several(text: Text) -> bool:
    return len(text.sentences) > 1


@plain(
    "words:last_first",
    guard=_several,
    why="the official checker passes a single sentence, which nothing follows",
)
def last_first(text: Text) -> bool:
    """The last word of each sentence is the first of the next, ignoring case."""
    for one, other in pairwise(text.sentences):
        last = one.rstrip(STRIPPED).split()
        first = other.lstrip(STRIPPED).split(maxsplit=1)
        if not last or not first or last[-1].lower() != first[0].lower():
            return False
    return True


def _paragraphs(text: Text) -> list[list[str]]:
    return [words for line in text.lower.split("\n") if (words := line.strip().strip(STRIPPED).split())]


@plain(
    "words:paragraph_last_first",
    guard=lambda text: any(len(words) > 1 for words in _paragraphs(text)),
    why="the official checker passes paragraphs of one word each",
)
def paragraph_last_first(text: Text) -> bool:
    """Each line ends with its first word, ignoring case."""
    return all(words[0] == words[-1] for words in _paragraphs(text))


@plain("words:no_consecutive")
def no_consecutive(text: Text) -> bool:
    """No two words in a row begin with the same letter."""
    words = bare(text.lower).split()
    return all(one[0] != other[0] for one, other in pairwise(words))


@checker("words:keywords_specific_position")
def keywords_specific_position(arguments: Arguments) -> Check:
    """`keyword` is the `m`-th word of the `n`-th sentence, ignoring case."""
    keyword = arguments.word("keyword").lower()
    sentence, place = arguments.count("n", 1), arguments.count("m", 1)

    def check(text: Text) -> bool:
        found = [word for one in text.sentences[sentence - 1 : sentence] for word in tokens(sentences(one))]
        spoken = [word for word in found if any(map(str.isalnum, word))]
        return len(spoken) >= place and spoken[place - 1].lower() == keyword

    return check


@checker("words:words_position")
def words_position(arguments: Arguments) -> Check:
    """`keyword` is the second and the second to last word, ignoring case; a final punctuation mark does not count."""
    keyword = arguments.word("keyword").lower()

    def check(text: Text) -> bool:
        words = text.tokens
        if len(words) < 2:
            return False
        back = 3 if words[-1] in string.punctuation else 2
        return len(words) >= back and words[1].lower() == words[-back].lower() == keyword

    return check


def _alliterative(sentence: str) -> int:
    """Returns the number of words in runs with the same first letter."""
    words = [word for raw in sentence.lower().split() if (word := raw.lstrip(STRIPPED))]
    number = 0
    running = False
    for one, other in pairwise(words):
        same = one[0] == other[0]
        number += same * (1 if running else 2)
        running = same
    return number


@plain("sentence:alliteration_increment", guard=_several, why=_ONE)
def alliteration_increment(text: Text) -> bool:
    """Each sentence has more alliterative words than the one before it."""
    numbers = [_alliterative(sentence) for sentence in text.sentences]
    return all(one < other for one, other in pairwise(numbers))


@checker("sentence:keyword")
def keyword(arguments: Arguments) -> Check:
    """`word` occurs in the `N`-th sentence, as a whole word in any case."""
    pattern = re.compile(rf"\b{re.escape(arguments.text('word'))}\b", re.IGNORECASE)
    place = arguments.count("N", 1)
    return lambda text: len(text.sentences) >= place and pattern.search(text.sentences[place - 1]) is not None


@checker("sentence:increment", guard=lambda arguments: _several, why=_ONE)
def increment(arguments: Arguments) -> Check:
    """Each sentence has exactly `small_n` words more than the previous one."""
    more = arguments.count("small_n")

    def check(text: Text) -> bool:
        numbers = [len(bare(sentence).split()) for sentence in text.sentences]
        return all(one + more == other for one, other in pairwise(numbers))

    return check
