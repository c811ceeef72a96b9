"""The 25 functions that Tulu 3's ground truth names (`func_name`, arXiv 2411.15124), as open-instruct has them.

The instructions are IFEval's, but the checks often differ: a word must occur an exact number of times, a limit can be
"around". open-instruct strips white space from a response before it calls them, and so does this module if guards are
on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence

from rewarden_verifiers.structure.instructions.arguments import Arguments
from rewarden_verifiers.structure.instructions.checker import Build, Check, checker
from rewarden_verifiers.structure.instructions.detectable import highlights
from rewarden_verifiers.structure.instructions.lengths import words_of
from rewarden_verifiers.structure.instructions.letters import is_english
from rewarden_verifiers.structure.instructions.text import Text

_QUANTIFIERS = ("at least", "around", "at most")
_SHARE = 0.1
"""The tolerance of "around", as a share of a number of words."""
_DIVIDER = "* * *"
_ENDS = re.compile(r"[.?!]\s")
_INITIALS = re.compile(r"\w\.\w.")
_TITLE = re.compile(r"[A-Z][a-z]\.")
_CAPITALS = re.compile(r"\b[A-Z]+\b")


def _function(name: str, *, guard: Build | None = None, why: str = "") -> Callable[[Build], Build]:
    """Registers a function under its name."""

    def enter(build: Build) -> Build:
        def stripped(arguments: Arguments) -> Check:
            check = build(arguments)
            return lambda text: check(text if text.value == text.value.strip() else Text(text.value.strip()))

        checker(name, guard=guard, why=why, official=build)(stripped)
        return build

    return enter


def _function_of_text(name: str, *, guard: Check | None = None, why: str = "") -> Callable[[Check], Check]:
    """Registers a function that takes only the response."""

    def enter(check: Check) -> Check:
        guarded: Build | None = None if guard is None else lambda arguments: guard
        _function(name, guard=guarded, why=why)(lambda arguments: check)
        return check

    return enter


def _quantified(arguments: Arguments, tolerance: Callable[[int], int]) -> Callable[[int], bool]:
    """Returns a test that compares a number with `N` as `quantifier` says. tolerance: the deviation that "around"
    permits.
    """
    wanted, how = arguments.count("N"), arguments.one_of("quantifier", _QUANTIFIERS)
    if how == "around":
        return lambda found: abs(found - wanted) <= tolerance(wanted)
    return lambda found: found >= wanted if how == "at least" else found <= wanted


def _tenth(number: int) -> int:
    return max(round(number * _SHARE), 1)


# --- words and letters -----------------------------------------------------------------------------------------


@_function("verify_keywords")
def verify_keywords(arguments: Arguments) -> Check:
    """Each of `keyword_list` occurs, ignoring case, even within a word."""
    keywords = [word.lower() for word in arguments.texts("keyword_list")]
    return lambda text: all(word in text.lower for word in keywords)


@_function("verify_keyword_frequency")
def verify_keyword_frequency(arguments: Arguments) -> Check:
    """`word` occurs as a whole word exactly `N` times, ignoring case."""
    word, wanted = arguments.text("word").lower(), arguments.count("N")
    return lambda text: words_of(Text(text.lower)).count(word) == wanted


@_function("validate_forbidden_words")
def validate_forbidden_words(arguments: Arguments) -> Check:
    """None of `forbidden_words` occurs, ignoring case, not even within a word."""
    words = [word.lower() for word in arguments.texts("forbidden_words")]
    return lambda text: not any(word in text.lower for word in words)


@_function("verify_letter_frequency")
def verify_letter_frequency(arguments: Arguments) -> Check:
    """`letter` occurs exactly `N` times, in this case."""
    letter, wanted = arguments.character("letter"), arguments.count("N")
    return lambda text: text.value.count(letter) == wanted


@_function("validate_response_language")
def validate_response_language(arguments: Arguments) -> Check:
    """The response is in `language`, a code of ISO 639-1, according to langdetect."""
    code = arguments.language("language")
    return lambda text: text.language == code


def _has_capitals_only(text: Text) -> bool:
    return text.value.isupper() and is_english(text)


@_function_of_text(
    "validate_uppercase",
    guard=_has_capitals_only,
    why="the official function passes what has no letters in two cases, and any language",
)
def validate_uppercase(text: Text) -> bool:
    """No lower-case letter."""
    return text.value == text.value.upper()


@_function_of_text(
    "validate_lowercase",
    guard=lambda text: text.value.islower() and is_english(text),
    why="the official function passes what has no letters in two cases, and any language",
)
def validate_lowercase(text: Text) -> bool:
    """No capital letter."""
    return text.value == text.lower


@_function("validate_frequency_capital_words")
def validate_frequency_capital_words(arguments: Arguments) -> Check:
    """The number of words in ASCII capital letters only is `N`, compared as `quantifier` says."""
    fits = _quantified(arguments, _tenth)
    return lambda text: fits(len(_CAPITALS.findall(text.value)))


# --- lengths ---------------------------------------------------------------------------------------------------


@_function("validate_word_constraint")
def validate_word_constraint(arguments: Arguments) -> Check:
    """The number of words, separated by blanks, is `N`, compared as `quantifier` says."""
    fits = _quantified(arguments, _tenth)
    return lambda text: fits(len(text.words))


def _sentences(text: str) -> int:
    """Returns the number of sentences: splits at blanks after a mark, except for initials and titles."""
    number = 1
    for match in _ENDS.finditer(text):
        blank = match.end() - 1
        initials = blank >= 4 and _INITIALS.match(text, blank - 4) is not None
        number += not (initials or (blank >= 3 and _TITLE.match(text, blank - 3) is not None))
    return number


@_function("verify_sentence_constraint")
def verify_sentence_constraint(arguments: Arguments) -> Check:
    """The number of sentences is `N`, compared as `quantifier` says; "around" permits one more or less."""
    fits = _quantified(arguments, lambda number: 1)
    return lambda text: fits(_sentences(text.value))


@_function("verify_paragraph_count")
def verify_paragraph_count(arguments: Arguments) -> Check:
    """`N` paragraphs, none of them blank, separated by `* * *`."""
    wanted = arguments.count("N")

    def check(text: Text) -> bool:
        # Strip the lines first, so that a divider must be within one line.
        parts = "\n".join(line.strip() for line in text.value.splitlines()).strip().split(_DIVIDER)
        return len(parts) == wanted and all(part.strip() for part in parts)

    return check


@_function("validate_paragraphs")
def validate_paragraphs(arguments: Arguments) -> Check:
    """`N` paragraphs, separated by a blank line, of which the `i`-th begins with `first_word`."""
    wanted, place = arguments.count("N", 1), arguments.count("i", 1)
    if place > wanted:
        arguments.refuse("i", "at most N")
    first = arguments.text("first_word")

    def check(text: Text) -> bool:
        parts = text.value.split("\n\n")
        return len(parts) == wanted and parts[place - 1].strip().startswith(first)

    return check


# --- marks and layout ------------------------------------------------------------------------------------------


@_function("verify_postscript")
def verify_postscript(arguments: Arguments) -> Check:
    """`postscript_marker` occurs, and something follows it."""
    marker = arguments.text("postscript_marker")

    def check(text: Text) -> bool:
        place = text.value.find(marker)
        return place >= 0 and len(text.value[place:].strip()) > len(marker)

    return check


def _between(text: Text, opening: str, closing: str) -> list[str]:
    """The passages between such marks on one line, each up to the nearest closing mark."""
    found: list[str] = []
    for line in text.lines:
        start = line.find(opening)
        while start >= 0 and (end := line.find(closing, start + len(opening))) >= 0:
            found.append(line[start + len(opening) : end])
            start = line.find(opening, end + len(closing))
    return found


@_function("validate_placeholders")
def validate_placeholders(arguments: Arguments) -> Check:
    """At least `N` placeholders in square brackets, such as [address]."""
    wanted = arguments.count("N")
    return lambda text: len(_between(text, "[", "]")) >= wanted


@_function("verify_bullet_points")
def verify_bullet_points(arguments: Arguments) -> Check:
    """Exactly `N` lines that begin with `*` or `-`."""
    wanted = arguments.count("N")
    return lambda text: sum(line.strip().startswith(("*", "-")) for line in text.lines) == wanted


@_function_of_text(
    "validate_title",
    guard=lambda text: any(title.strip() for title in _between(text, "<<", ">>")),
    why="the official function passes an empty title",
)
def validate_title(text: Text) -> bool:
    """A title is in double angle brackets, such as <<poem of joy>>, on one line."""
    return bool(_between(text, "<<", ">>"))


def _names_one(arguments: Arguments) -> Check:
    options = sorted(arguments.options("options"), key=len, reverse=True)
    pattern = re.compile("|".join(rf"(?<!\w){re.escape(option)}(?!\w)" for option in options))
    return lambda text: len(set(pattern.findall(text.value))) == 1


def _any_option(arguments: Arguments) -> Check:
    options: Sequence[str] = arguments.options("options", whole=False)
    return lambda text: any(option in text.value for option in options)


@checker(
    "validate_choice",
    guard=_names_one,
    why='the official function finds "no" in "know", and passes a response that names every option',
    official=_any_option,
)
def validate_choice(arguments: Arguments) -> Check:
    """One of `options` occurs."""
    options = arguments.options("options")
    return lambda text: any(option in text.value for option in options)


def _highlighted(arguments: Arguments) -> Check:
    wanted = arguments.count("N")
    return lambda text: highlights(text) >= wanted


@_function(
    "validate_highlighted_sections",
    guard=_highlighted,
    why='the official function finds two sections in "**bold**", and one in "**"',
)
def validate_highlighted_sections(arguments: Arguments) -> Check:
    """At least `N` passages between asterisks on the same line."""
    wanted = arguments.count("N")
    return lambda text: len(_between(text, "*", "*")) >= wanted


def _marked(arguments: Arguments) -> Check:
    mark, wanted = arguments.text("section_splitter"), arguments.count("N", 1)
    return lambda text: text.value.count(mark) >= wanted


@_function(
    "validate_sections",
    guard=_marked,
    why="the official function takes what stands before the first mark for a section: none is needed for one",
)
def validate_sections(arguments: Arguments) -> Check:
    """`N` sections, each of which begins with `section_splitter`."""
    mark, wanted = arguments.text("section_splitter"), arguments.count("N", 1)

    def check(text: Text) -> bool:
        return text.value.count(mark) + (not text.value.startswith(mark)) == wanted

    return check


@_function_of_text("validate_json_format")
def validate_json_format(text: Text) -> bool:
    """The whole text is JSON."""
    try:
        json.loads(text.value)
    except (ValueError, RecursionError):
        return False
    return True


# --- beginnings, ends and combinations -------------------------------------------------------------------------


@_function("validate_repeat_prompt")
def validate_repeat_prompt(arguments: Arguments) -> Check:
    """The response begins with `original_prompt`."""
    prompt = arguments.text("original_prompt")
    return lambda text: text.value.startswith(prompt)


@_function_of_text(
    "validate_two_responses",
    guard=lambda text: all(part.strip() for part in text.value.split("******")),
    why="the official function passes one response and a blank one",
)
def validate_two_responses(text: Text) -> bool:
    """Two different responses, separated by six asterisks."""
    one, _, other = text.value.partition("******")
    return text.value.count("******") == 1 and one.strip() != other.strip()


@_function("validate_end")
def validate_end(arguments: Arguments) -> Check:
    """The response ends with `end_phrase`."""
    phrase = arguments.text("end_phrase")
    return lambda text: text.value.endswith(phrase)


@_function_of_text("validate_quotation")
def validate_quotation(text: Text) -> bool:
    """The whole text is in double quotation marks."""
    return text.value.startswith('"') and text.value.endswith('"')


@_function_of_text("validate_no_commas")
def validate_no_commas(text: Text) -> bool:
    """No comma."""
    return "," not in text.value
