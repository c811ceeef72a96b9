"""IFBench's `count:*` and `ratio:*`: numbers of words, names and marks, and their ratios."""

from __future__ import annotations

import re
from collections import Counter

from rewarden_verifiers.structure.instructions.arguments import Arguments
from rewarden_verifiers.structure.instructions.checker import Check, checker, plain
from rewarden_verifiers.structure.instructions.lengths import words_of
from rewarden_verifiers.structure.instructions.sentences import sentences
from rewarden_verifiers.structure.instructions.text import STRIPPED, Text
from rewarden_verifiers.structure.instructions.tokens import tokens

_CONJUNCTIONS = frozenset(("and", "but", "for", "nor", "or", "so", "yet"))
_NAMES_LIST = """
    Emma Liam Sophia Jackson Olivia Noah Ava Lucas Isabella Mason Mia Ethan Charlotte Alexander Amelia Benjamin Harper
    Leo Zoe Daniel Chloe Samuel Lily Matthew Grace Owen Abigail Gabriel Ella Jacob Scarlett Nathan Victoria Elijah Layla
    Nicholas Audrey David Hannah Christopher Penelope Thomas Nora Andrew Aria Joseph Claire Ryan Stella Jonathan
    """
_NAMES = frozenset(_NAMES_LIST.split())
_PRONOUNS_LIST = """
    i me we us you he him she her it they them my mine our ours your yours his hers its their theirs myself ourselves
    yourself yourselves himself herself itself themselves this that these those who whom whose which what whoever
    whomever whatever whichever anybody anyone anything everybody everyone everything nobody nothing somebody someone
    something each either neither both all some any none
    """
_PRONOUNS = frozenset(_PRONOUNS_LIST.split())
_NUMBER = re.compile(r"\d+")
_JAPANESE = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")
_MULTIPLES = (1, 2, 3, 5, 7)
_NEAR = 2
"""The tolerance for an overlap, in percentage points."""
_STOPWORDS_LIST = """
    i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers herself it
    its itself they them their theirs themselves what which who whom this that these those am is are was were be been
    being have has had having do does did doing a an the and but if or because as until while of at by for with about
    against between into through during before after above below to from up down in out on off over under again further
    then once here there when where why how all any both each few more most other some such no nor not only own same so
    than too very s t can will just don should now d ll m o re ve y ain aren couldn didn doesn hadn hasn haven isn ma
    mightn mustn needn shan shouldn wasn weren won wouldn
    """
_STOPWORDS = frozenset(_STOPWORDS_LIST.split())
"""NLTK's English list, without words that contain an apostrophe, because no counted word does."""


@checker("count:word_count_range")
def word_count_range(arguments: Arguments) -> Check:
    """Between `min_words` and `max_words` words."""
    least, most = arguments.count("min_words"), arguments.count("max_words")
    return lambda text: least <= len(words_of(text)) <= most


@checker("count:unique_word_count")
def unique_word_count(arguments: Arguments) -> Check:
    """At least `N` different words, ignoring case."""
    wanted = arguments.count("N")
    return lambda text: len({word.strip(STRIPPED) for word in text.lower.split()}) >= wanted


def _distinct_conjunctions(arguments: Arguments) -> Check:
    wanted = arguments.count("small_n")
    return lambda text: len(_CONJUNCTIONS.intersection(word.strip(STRIPPED).lower() for word in text.words)) >= wanted


@checker(
    "count:conjunctions",
    guard=_distinct_conjunctions,
    why='the official checker counts "and", "And" and "and," as different conjunctions',
)
def conjunctions(arguments: Arguments) -> Check:
    """At least `small_n` different coordinating conjunctions."""
    wanted = arguments.count("small_n")
    return lambda text: len({word for word in text.words if word.strip(STRIPPED).lower() in _CONJUNCTIONS}) >= wanted


@checker("count:person_names")
def person_names(arguments: Arguments) -> Check:
    """At least `N` different names of the fifty that the instruction lists."""
    wanted = arguments.count("N")
    return lambda text: len(_NAMES.intersection(words_of(text))) >= wanted


@checker("count:numbers")
def numbers(arguments: Arguments) -> Check:
    """Exactly `N` numbers. Punctuation within a number does not split it."""
    wanted = arguments.count("N")
    return lambda text: sum(1 for _ in _NUMBER.finditer(text.bare)) == wanted


@plain("count:punctuation")
def punctuation(text: Text) -> bool:
    """Every standard punctuation mark, and an interrobang, whose marks count only as such."""
    if not any(mark in text.value for mark in ("!?", "?!", "‽")):
        return False
    rest = text.value.replace("?!", "", 1) if "?!" in text.value else text.value.replace("!?", "", 1)
    return all(mark in rest for mark in ".,!?;:")


@checker("count:pronouns")
def pronouns(arguments: Arguments) -> Check:
    """At least `N` pronouns."""
    wanted = arguments.count("N")

    def check(text: Text) -> bool:
        words = tokens(sentences(text.value.replace("/", " ").lower()))
        return sum(word in _PRONOUNS for word in words) >= wanted

    return check


@checker("count:keywords_multiple")
def keywords_multiple(arguments: Arguments) -> Check:
    """`keyword1` to `keyword5` occur 1, 2, 3, 5 and 7 times, ignoring case."""
    keywords = [arguments.word(f"keyword{place}").lower() for place in range(1, 6)]
    wanted = tuple(zip(keywords, _MULTIPLES, strict=True))
    return lambda text: all(text.lower.count(keyword) == number for keyword, number in wanted)


def _long_enough(arguments: Arguments) -> Check:
    place = arguments.count("N", 1)
    return lambda text: len(text.words) >= place


@checker(
    "count:words_japanese",
    guard=_long_enough,
    why="the official checker passes a response of fewer than N words, none of them Japanese",
)
def words_japanese(arguments: Arguments) -> Check:
    """Every `N`-th word is Japanese; digits count as well."""
    place = arguments.count("N", 1)

    def check(text: Text) -> bool:
        chosen = (word.strip(STRIPPED) for word in text.words[place - 1 :: place])
        return all(not word or word.isdigit() or _JAPANESE.search(word) for word in chosen)

    return check


@checker("ratio:stop_words")
def stop_words(arguments: Arguments) -> Check:
    """At most `percentage` per cent of the words are English stop words."""
    most = arguments.percentage("percentage")

    def check(text: Text) -> bool:
        words = words_of(text)
        return bool(words) and sum(word.lower() in _STOPWORDS for word in words) / len(words) * 100 <= most

    return check


def _marks(text: Text) -> Counter[str]:
    return Counter(sentence[-1:] for sentence in text.sentences)


@plain(
    "ratio:sentence_type",
    guard=lambda text: _marks(text)["?"] > 0,
    why="the official checker passes a response without any declarative or interrogative sentence: 0 is twice 0",
)
def sentence_type(text: Text) -> bool:
    """Twice as many sentences end in a period as end in a question mark."""
    marks = _marks(text)
    return marks["."] == 2 * marks["?"]


@plain(
    "ratio:sentence_balance",
    guard=lambda text: _marks(text)["."] > 0,
    why="the official checker passes a response without any sentence that ends in a mark: 0 equals 0",
)
def sentence_balance(text: Text) -> bool:
    """Equally many sentences end in a period, in a question mark, and in an exclamation mark."""
    marks = _marks(text)
    return marks["."] == marks["?"] == marks["!"]


def _trigrams(text: str) -> set[str]:
    return {text[start : start + 3] for start in range(len(text) - 2)}


@checker("ratio:overlap")
def overlap(arguments: Arguments) -> Check:
    """`percentage` per cent (plus or minus two points) of the distinct character trigrams also occur in the
    reference.
    """
    reference = _trigrams(arguments.text("reference_text"))
    wanted = arguments.percentage("percentage")

    def check(text: Text) -> bool:
        own = _trigrams(text.value)
        return bool(own) and wanted - _NEAR <= len(own & reference) / len(own) * 100 <= wanted + _NEAR

    return check


@plain(
    "ratio:sentence_words",
    guard=lambda text: len(set(text.sentences)) == 3,
    why="the official checker does not look at the words: it passes the same sentence three times",
)
def sentence_words(text: Text) -> bool:
    """Three sentences with the same number of characters."""
    return len(text.sentences) == 3 and len({len(sentence.strip()) for sentence in text.sentences}) == 1
