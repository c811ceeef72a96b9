"""IFEval's `length_constraints:*`: numbers of words, sentences and paragraphs."""

from __future__ import annotations

import re

from rewarden_verifiers.structure.instructions.arguments import Arguments
from rewarden_verifiers.structure.instructions.checker import Check, checker
from rewarden_verifiers.structure.instructions.text import Text

_WORD = re.compile(r"\w+")
_DIVIDER = re.compile(r"\s?\*\*\*\s?")
_FIRST_WORD_ENDS = re.compile("[.,?!'\"]")


def words_of(text: Text) -> list[str]:
    """Runs of letters, digits and underscores."""
    return _WORD.findall(text.value)


@checker("length_constraints:number_words")
def number_words(arguments: Arguments) -> Check:
    """ "At least" or "less than" (`relation`) `num_words` words."""
    fits = arguments.compared("num_words")
    return lambda text: fits(len(words_of(text)))


@checker("length_constraints:number_sentences")
def number_sentences(arguments: Arguments) -> Check:
    """ "At least" or "less than" (`relation`) `num_sentences` sentences."""
    fits = arguments.compared("num_sentences")
    return lambda text: fits(len(text.sentences))


@checker("length_constraints:number_paragraphs")
def number_paragraphs(arguments: Arguments) -> Check:
    """Exactly `num_paragraphs` paragraphs, separated by `***`; only the first or the last may be blank."""
    wanted = arguments.count("num_paragraphs")

    def check(text: Text) -> bool:
        filled = [bool(part.strip()) for part in _DIVIDER.split(text.value)]
        return all(filled[1:-1]) and sum(filled) == wanted

    return check


@checker("length_constraints:nth_paragraph_first_word")
def nth_paragraph_first_word(arguments: Arguments) -> Check:
    """`num_paragraphs` paragraphs, separated by a blank line, and the `nth_paragraph` begins with `first_word`."""
    wanted = arguments.count("num_paragraphs", 1)
    place = arguments.count("nth_paragraph", 1)
    if place > wanted:
        arguments.refuse("nth_paragraph", "at most num_paragraphs")
    first = arguments.text("first_word").lower()

    def check(text: Text) -> bool:
        parts = text.value.split("\n\n")
        if sum(1 for part in parts if part.strip()) != wanted:
            return False
        words = parts[place - 1].split(maxsplit=1)
        return bool(words) and _FIRST_WORD_ENDS.split(words[0].lstrip("'").lstrip('"'), maxsplit=1)[0].lower() == first

    return check
