"""IFEval's `language:*`, `change_case:*` and `punctuation:*`: which letters and marks."""

from __future__ import annotations

from rewarden_verifiers.structure.instructions.arguments import Arguments
from rewarden_verifiers.structure.instructions.checker import Check, checker, plain
from rewarden_verifiers.structure.instructions.text import Text

_UNTOLD = "the official checker passes a response that is in no language, such as digits alone"


def _told(text: Text) -> bool:
    return text.language is not None


@checker("language:response_language", guard=lambda arguments: _told, why=_UNTOLD)
def response_language(arguments: Arguments) -> Check:
    """The response is in `language`, a code of ISO 639-1, as langdetect tells it."""
    code = arguments.language("language")
    return lambda text: text.language in (code, None)


def _english(text: Text) -> bool:
    return text.language in ("en", None)


@plain(
    "change_case:english_capital",
    guard=lambda text: Text(text.lower).language == "en",
    why="langdetect hardly tells languages in capital letters: the official checker passes most of them",
)
def english_capital(text: Text) -> bool:
    """English, in capital letters only."""
    return text.value.isupper() and _english(text)


@plain("change_case:english_lowercase", guard=_told, why=_UNTOLD)
def english_lowercase(text: Text) -> bool:
    """English, in small letters only."""
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
