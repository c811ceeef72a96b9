"""IFEval's `language:*`, `change_case:*` and `punctuation:*`: the language, the case and the punctuation."""

from __future__ import annotations

import re

from rewarden_verifiers.structure import languages
from rewarden_verifiers.structure.instructions.arguments import Arguments
from rewarden_verifiers.structure.instructions.checker import Check, checker, plain
from rewarden_verifiers.structure.instructions.sentences import seen
from rewarden_verifiers.structure.instructions.text import Text

_WORD = re.compile(r"(?<![\\\w])[^\W\d_]{2,}")
_READ = 20_000
"""The number of characters used to detect the language."""
_ENGLISH_SHARE = 2 / 3
_UNTOLD = "the official checker passes a response that is in no language, such as digits alone"


def _told(text: Text) -> bool:
    return text.language is not None


@checker("language:response_language", guard=lambda arguments: _told, why=_UNTOLD)
def response_language(arguments: Arguments) -> Check:
    """The response is in `language`, a code of ISO 639-1, according to langdetect."""
    code = arguments.language("language")
    return lambda text: text.language in (code, None)


def _english(text: Text) -> bool:
    return text.language in ("en", None)


def _words(text: Text) -> list[str]:
    """Words of two or more letters in lower case, without LaTeX commands."""
    return _WORD.findall(text.lower[:_READ])


def is_english(text: Text) -> bool:
    """Returns whether a text is English, judging by its lower-case form.

    langdetect errs on short texts and on formulas. So a text also counts as English if most of its words occur in
    English newspapers; in other European languages, hardly a third do.
    """
    if "en" in languages.probabilities(text.lower[:_READ]):
        return True
    words = _words(text)
    return bool(words) and sum(map(seen, words)) >= _ENGLISH_SHARE * len(words)


@checker("change_case:english_capital", official=lambda arguments: lambda text: text.value.isupper() and _english(text))
def english_capital(arguments: Arguments) -> Check:
    """English, in capital letters only.

    langdetect hardly recognises languages in capital letters: the official checker passes most of them, and takes some
    English for another language.
    """
    return lambda text: text.value.isupper() and is_english(text)


@plain("change_case:english_lowercase", guard=_told, why=_UNTOLD)
def english_lowercase(text: Text) -> bool:
    """English, in lower-case letters only."""
    return text.value.islower() and _english(text)


@checker("change_case:capital_word_frequency")
def capital_word_frequency(arguments: Arguments) -> Check:
    """ "At least" or "less than" (`capital_relation`) `capital_frequency` words in capital letters only."""
    fits = arguments.compared("capital_frequency", "capital_relation")
    return lambda text: fits(sum(map(str.isupper, text.tokens)))


@plain("punctuation:no_comma")
def no_comma(text: Text) -> bool:
    """No comma."""
    return "," not in text.value
