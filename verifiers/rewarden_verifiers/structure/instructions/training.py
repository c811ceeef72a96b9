"""The 29 instructions that IF-RLVR trains on in addition to IFEval's (arXiv 2507.02833), as in open-instruct's
checkers.

Keywords are literal, as in `keywords`; if guards are off, they are regular expressions.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

from rewarden_verifiers.structure.instructions.arguments import Arguments
from rewarden_verifiers.structure.instructions.checker import Check, checker, plain
from rewarden_verifiers.structure.instructions.patterns import compiled, counted
from rewarden_verifiers.structure.instructions.ruled_sentences import ruled_sentences
from rewarden_verifiers.structure.instructions.sentences import sentences
from rewarden_verifiers.structure.instructions.text import Text
from rewarden_verifiers.structure.instructions.tokens import tokens

_STARS = re.compile(r"\s?\*\*\*\s?")
_MARKS = re.compile(r"[^\w\s]")
_SMALL_WORD = re.compile(r"\b[a-z]+\b")
_ASCII_LETTER = re.compile("[a-zA-Z]")
_LEAST_PALINDROME = 3
_COMPOSED_PARAGRAPHS = 3


def _literally(words: list[str], fits: Callable[[list[int]], bool]) -> Check:
    return counted([re.escape(word) for word in words], fits)


# --- what is copied --------------------------------------------------------------------------------------------


def _repeats_phrase(arguments: Arguments, read: Callable[[str], str]) -> Check:
    """read: makes a pattern from the phrase's first and last word."""
    words = arguments.word("phrase").split()
    wanted = arguments.count("small_n", 1)
    begin, end = compiled(read(words[0]), "%s ", False), compiled(read(words[-1]), " %s", False)

    def changed_once(found: list[str]) -> bool:
        return len(found) == len(words) and sum(one != other for one, other in zip(found, words, strict=True)) == 1

    def check(text: Text) -> bool:
        found: list[list[str]] = []
        for line in text.lines:
            place = 0
            # Always take the nearest end; if there is none, no later beginning has one either.
            while (first := begin.search(line, place)) and (last := end.search(line, first.end())):
                found.append(line[first.start() : last.end()].split())
                place = last.end()
        return len(found) == wanted and all(map(changed_once, found))

    return (lambda text: False) if begin is None or end is None else check


@checker("copy:repeat_phrase", official=lambda arguments: _repeats_phrase(arguments, str))
def repeat_phrase(arguments: Arguments) -> Check:
    """`phrase` occurs `small_n` times, each time with one word replaced that is neither the first nor the last."""
    return _repeats_phrase(arguments, re.escape)


@checker("copy:copying_simple")
@checker("copy:copy")
def copy(arguments: Arguments) -> Check:
    """The response is `prompt_to_repeat`, ignoring case."""
    prompt = arguments.word("prompt_to_repeat").lower()
    return lambda text: text.lower.strip() == prompt


@checker("copy:copying_multiple")
def copying_multiple(arguments: Arguments) -> Check:
    """The response is `prompt_to_repeat` `N` times, ignoring case, separated by six asterisks."""
    prompt, times = arguments.word("prompt_to_repeat").lower(), arguments.count("N", 1)
    return lambda text: [part.strip().lower() for part in text.value.split("******")] == [prompt] * times


@checker("new:copy_span_idx")
def copy_span_idx(arguments: Arguments) -> Check:
    """The response is the characters from `n_start` up to, and without, `n_end` of `prompt_to_repeat`, ignoring
    case.
    """
    prompt = arguments.text("prompt_to_repeat")
    span = prompt[arguments.count("n_start") : arguments.count("n_end")].strip().lower()
    if not span:
        arguments.refuse("n_end", "the index of a character after n_start, within prompt_to_repeat")
    return lambda text: text.value.strip().lower() == span


# --- words that must, and must not be there --------------------------------------------------------------------


@checker(
    "keywords:word_once", official=lambda arguments: counted([arguments.word("keyword")], lambda found: found[0] == 1)
)
def word_once(arguments: Arguments) -> Check:
    """`keyword` occurs once, ignoring case, even within a word."""
    return _literally([arguments.word("keyword")], lambda found: found[0] == 1)


def _different_numbers(arguments: Arguments, read: Callable[[str], str]) -> Check:
    fits = arguments.compared("frequency")
    return counted([read(arguments.word("keyword"))], lambda found: fits(found[0]))


@checker("keywords:word_count_different_numbers", official=lambda arguments: _different_numbers(arguments, str))
def word_count_different_numbers(arguments: Arguments) -> Check:
    """`keyword` occurs "at least" or "less than" (`relation`) `frequency` times, ignoring case."""
    return _different_numbers(arguments, re.escape)


def _increments(arguments: Arguments, read: Callable[[str], str]) -> Check:
    words = [read(arguments.word(f"keyword{place}")) for place in (1, 2)]
    return counted(words, lambda found: found == [1, 2])


@checker("count:count_increment_word", official=lambda arguments: _increments(arguments, str))
def count_increment_word(arguments: Arguments) -> Check:
    """`keyword1` occurs once and `keyword2` twice, ignoring case, even within words."""
    return _increments(arguments, re.escape)


def _nowhere_as_a_word(arguments: Arguments) -> Check:
    pattern = re.compile(rf"(?<!\w){re.escape(arguments.word('keyword'))}(?!\w)", re.IGNORECASE)
    return lambda text: pattern.search(text.value) is None


@checker(
    "keywords:exclude_word_harder",
    guard=_nowhere_as_a_word,
    why="the official checker finds the word between two spaces only: a comma behind it hides it",
)
def exclude_word_harder(arguments: Arguments) -> Check:
    """`keyword` does not occur anywhere."""
    keyword = f" {arguments.word('keyword')} "
    return lambda text: keyword not in text.value


@checker("keywords:keyword_specific_position")
def keyword_specific_position(arguments: Arguments) -> Check:
    """`keyword` is the `m`-th word of the `n`-th sentence; punctuation marks are words."""
    keyword = arguments.first_word("keyword")
    sentence, place = arguments.count("n", 1), arguments.count("m", 1)

    def check(text: Text) -> bool:
        return [
            words[place - 1]
            for one in text.ruled_sentences[sentence - 1 : sentence]
            if len(words := tokens(sentences(one))) >= place
        ] == [keyword]

    return check


def _long_palindrome(text: Text) -> bool:
    letters = (word for word in text.words if word == word[::-1])
    return any(sum(map(str.isalnum, word)) >= _LEAST_PALINDROME for word in letters)


@plain(
    "keywords:palindrome",
    guard=_long_palindrome,
    why='the official checker takes every "a" and "I" for a palindrome',
)
def palindrome(text: Text) -> bool:
    """A word reads the same backwards, case included."""
    return any(word == word[::-1] for word in text.words)


@plain("keywords:no_adjacent_consecutive")
def no_adjacent_consecutive(text: Text) -> bool:
    """No word begins with the letter that follows the first letter of the previous word in the alphabet."""
    firsts = [word[0].lower() for word in text.words]
    if len(firsts) > 1 and any(
        len(first) > 1 for first in firsts
    ):  # a capital that becomes two characters in lower case
        return False
    return all(ord(other) - ord(one) != 1 for one, other in pairwise(firsts))


@plain(
    "keywords:start_end",
    guard=lambda text: any(map(str.isalnum, text.tokens[0])),
    why="the official checker takes a punctuation mark for a word",
)
def start_end(text: Text) -> bool:
    """The first and the last word are the same, ignoring case, and nothing follows."""
    return len(text.tokens) > 1 and text.tokens[0].lower() == text.tokens[-1].lower()


# --- first and last words --------------------------------------------------------------------------------------


@checker("first_word:first_word_sent")
def first_word_sent(arguments: Arguments) -> Check:
    """Each sentence begins with `first_word`, ignoring case."""
    first = arguments.first_word("first_word").lower()

    def check(text: Text) -> bool:
        return all(one and one.split(maxsplit=1)[0].lower() == first for one in text.ruled_sentences)

    return check


@checker("first_word:first_word_answer")
def first_word_answer(arguments: Arguments) -> Check:
    """The response begins with `first_word`, ignoring case."""
    first = arguments.word("first_word").lower()
    return lambda text: bool(text.words) and text.words[0].lower() == first


def _last(words: str) -> str:
    return _MARKS.sub("", words.split()[-1]).lower()


@checker("last_word:last_word_sent")
def last_word_sent(arguments: Arguments) -> Check:
    """Each sentence ends with `last_word`, ignoring case, but for punctuation marks."""
    last = arguments.first_word("last_word").lower()
    return lambda text: all(one and _last(one) == last for one in text.ruled_sentences)


@checker("last_word:last_word_answer")
def last_word_answer(arguments: Arguments) -> Check:
    """The response ends with `last_word`, ignoring case, but for punctuation marks."""
    last = arguments.word("last_word").lower()
    return lambda text: bool(text.words) and _last(text.value) == last


# --- layout ----------------------------------------------------------------------------------------------------


def _two_paragraphs(parts: list[str]) -> bool:
    filled = [bool(part.strip()) for part in parts]
    return all(filled[1:-1]) and sum(filled) == 2


@plain("paragraphs:paragraphs")
def paragraphs(text: Text) -> bool:
    """Two paragraphs, separated by `***`; only the first or the last may be blank."""
    return _two_paragraphs(_STARS.split(text.value))


@plain("paragraphs:paragraphs2")
def paragraphs2(text: Text) -> bool:
    """Two paragraphs, separated by a blank line; only the first or the last may be blank."""
    return _two_paragraphs(text.value.split("\n\n"))


@plain(
    "detectable_format:sentence_hyphens",
    guard=lambda text: sum(1 for part in text.value.split("-") if part) > 1,
    why="the official checker passes a single sentence, which no hyphen connects",
)
def sentence_hyphens(text: Text) -> bool:
    """Sentences are joined by a hyphen without blanks, and no hyphen occurs elsewhere."""
    parted = ruled_sentences(text.value.replace("-", " "))
    return all(one == other for one, other in zip(text.value.split("-"), parted, strict=False))


@plain("detectable_format:square_brackets")
def square_brackets(text: Text) -> bool:
    """Each word is in square brackets."""
    return all(word.startswith("[") and word.endswith("]") for word in text.words)


@plain(
    "detectable_format:bigram_wrapping",
    guard=lambda text: len(text.words) > 1,
    why="the official checker passes a single word",
)
def bigram_wrapping(text: Text) -> bool:
    """Every two words are in double angle brackets; an odd last word may be outside."""
    pairs = zip(text.words[::2], text.words[1::2], strict=False)
    return all(one.startswith("<<") and other.endswith(">>") for one, other in pairs)


# --- counts and marks ------------------------------------------------------------------------------------------


@plain("punctuation:punctuation_dot")
def punctuation_dot(text: Text) -> bool:
    """No period."""
    return "." not in text.value


@plain("punctuation:punctuation_exclamation")
def punctuation_exclamation(text: Text) -> bool:
    """No exclamation mark."""
    return "!" not in text.value


@checker("count:lowercase_counting")
def lowercase_counting(arguments: Arguments) -> Check:
    """At most `N` words in lower-case letters only."""
    most = arguments.count("N")
    return lambda text: len(_SMALL_WORD.findall(text.value)) <= most


@checker("letters:letter_counting")
def letter_counting(arguments: Arguments) -> Check:
    """ "At least" or "less than" (`relation`) `N` ASCII letters."""
    fits = arguments.compared("N")
    return lambda text: fits(len(_ASCII_LETTER.findall(text.value)))


@checker("count:counting_composition")
def counting_composition(arguments: Arguments) -> Check:
    """Three paragraphs, separated by `***`, of `n_sent` sentences of `n_words` words each; marks are words."""
    wanted, words = arguments.count("n_sent", 1), arguments.count("n_words", 1)

    def check(text: Text) -> bool:
        parts = [ruled_sentences(part) for part in _STARS.split(text.value)]
        if len(parts) != _COMPOSED_PARAGRAPHS or any(len(part) != wanted for part in parts):
            return False
        return all(len(tokens(sentences(one))) == words for part in parts for one in part)

    return check


@plain(
    "count:count_unique",
    guard=lambda text: len({word.lower() for word in text.tokens}) == len(text.tokens),
    why='the official checker counts "the" and "The" as different words',
)
def count_unique(text: Text) -> bool:
    """No word occurs twice; punctuation marks count as words."""
    return len(set(text.tokens)) == len(text.tokens)
