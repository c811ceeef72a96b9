"""The loose rules of extraction, which find an answer by its position in a response without marks.

`bare_line`: the whole response, or its last line, is only a number, a label or one formula. `last_span`: the formula of
the last sentence. `concluding_number`: its number. The last two require that the text ends properly, because the last
number of a truncated response is not its conclusion.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from rewarden_verifiers.answer.math.limits import TooExpensive, Unreadable
from rewarden_verifiers.answer.math.reading import read
from rewarden_verifiers.answer.math.syntax import Text
from rewarden_verifiers.answer.math.tokens import FUNCTIONS
from rewarden_verifiers.answer.math.units import is_unit
from rewarden_verifiers.answer.sentence import DOUBT, EMPHASIS, ENDS, SPAN, blanked, last_sentence
from rewarden_verifiers.extraction import Extracted, Ladder, Rule

_MAX_SPAN = 400
_MAX_LINE = 400
_ENDING = EMPHASIS + "."
_LABEL = re.compile(r"\(?[A-Z]\)?")
_AMOUNT = re.compile(r"[-+\u2212]?(?:[$€£¥]|\\\$)? ?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:/\d+)?(?: ?(?:%|\\%|°))?")
_NUMBER = re.compile(
    r"(?<![A-Za-z0-9_.,\u00c0-\u1fff])[-\u2212]?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?%?(?:/\d+(?![\w.]))?"
)
_BEFORE = re.compile(r"[-+*/^<>≤≥×÷·\\π(\[{_|~∼≈]\s*$|:$|[A-Za-z0-9_\u00c0-\u1fff]$")
_AFTER = re.compile(r"[A-Za-z0-9_\u00c0-\u1fff]|\s*[-+*/^<>=≤≥×÷·:\\π!)\]}_|]|[,.]\d|°\w")
# "The angle is [ 90 ].": brackets around one number are not an interval.
_ALONE = re.compile(r"\[( ?-?\d+(?:\.\d+)? ?)\]")
_COMMAND = re.compile(r"\\(?:text|textbf|textrm|mathrm|mbox|begin|end)\s?\{[^{}]*\}|\\[A-Za-z]+")
_WORD = re.compile(r"[^\W\d_]{2,}")
_WORDS_OF_TWO = frozenset(
    "am an as at be by do go he if in is it me my no of on so to up us we".split()  # noqa: SIM905 (reads better as text)
)
_JOINING = frozenset(("or", "and", "pi", "oo", "infinity", "sqrt", "inf", "mod"))
_STATES = re.compile(r"(?:\b(?:is|are|was|were|equals?|be)|=)[\s$\\(\[]{0,6}$", re.IGNORECASE)
_MOST_UNITS = 3
"""Maximum number of words after a number that say what it counts."""
_NAME = re.compile(r"[\s\\A-Za-z'_{}\d]*")


def bare_line(text: str) -> Extracted | None:
    """The last line if it is only a number, a label or one formula; also a whole response that is a formula."""
    end = len(text.rstrip())
    start = text.rfind("\n", 0, end) + 1
    whole = not text[:start].strip()
    line = text[start:end]
    body = line.strip(EMPHASIS)
    body = body[:-1].rstrip(EMPHASIS) if body.endswith((".", "。")) and not body.endswith("..") else body
    if not body or len(body) > _MAX_LINE:
        return None
    at = start + line.index(body)
    found = Extracted((body,), "bare_line", (at, at + len(body)))
    before = text[:start].rstrip().rpartition("\n")[2].strip(_ENDING)
    if before != body.strip(_ENDING) and _is_bare(before):
        return None  # Attack: a list of answers, one per line
    if _LABEL.fullmatch(body) or (_AMOUNT.fullmatch(body) and any(char.isdigit() for char in body)):
        return found
    span = SPAN.fullmatch(body[1:-1] if body.startswith("[") and body.endswith("]") else body)
    if span is not None:
        inner = _inner(span)
        return Extracted((inner,), "bare_line", (at, at + len(body))) if _is_formula(inner) else None
    return found if whole and _is_mathematics(body) else None


def _is_bare(line: str) -> bool:
    """Returns whether a line is a number or one formula."""
    if _AMOUNT.fullmatch(line):
        return any(char.isdigit() for char in line)
    span = SPAN.fullmatch(line)
    return span is not None and "=" not in line and _is_formula(_inner(span))


def last_span(text: str) -> Extracted | None:
    """The formula of the last sentence, if it has one and no number after it."""
    sentence = last_sentence(text)
    if sentence is None:
        return None
    start, end = sentence
    spans = [span for span in SPAN.finditer(text, start, end) if _is_formula(_inner(span))]
    if not spans or DOUBT.search(blanked(text, start, end)) is not None:
        return None
    last = spans[-1]
    if len({_inner(span) for span in spans}) > 1 or _NUMBER.search(blanked(text, last.end(), end)) is not None:
        return None
    return Extracted((_inner(last),), "last_span", last.span())


def concluding_number(text: str) -> Extracted | None:
    """The last number of the last sentence, if it is the only one there or follows the sentence's last equals sign."""
    sentence = last_sentence(text)
    if sentence is None:
        return None
    start, end = sentence
    said = _ALONE.sub(r" \1 ", blanked(text, start, end))
    if DOUBT.search(said) is not None:
        return None
    numbers = list(_NUMBER.finditer(said))
    if not numbers:
        return None
    last = numbers[-1]
    equals = said.rfind("=")
    follows = equals >= 0 and not said[equals + 1 : last.start()].strip(" $€£¥*")
    if not follows and len({number.group() for number in numbers}) > 1:
        return None
    if _BEFORE.search(said, 0, last.start()) is not None or _AFTER.match(said, last.end()) is not None:
        return None
    return Extracted((last.group(),), "concluding_number", (start + last.start(), start + last.end()))


def within(text: str) -> str | None:
    """The formula or number that the prose of a reference arrives at ("The area is 5 square units"): what it says that
    something is or equals. None for a number in another role ("Apollo 11 landed").
    """
    sentence = text if text.rstrip().endswith(ENDS) else text + "."
    found = last_span(sentence) or concluding_number(sentence)
    if found is None or _STATES.search(sentence, 0, found.span[0]) is None:
        return None
    return found.text if len(sentence[found.span[1] :].split()) <= _MOST_UNITS else None


def _inner(span: re.Match[str]) -> str:
    return next(group for group in span.groups() if group is not None).strip(" \t\r\n.,")


@lru_cache(maxsize=1024)
def _is_formula(text: str) -> bool:
    """Returns whether a text is mathematics with content: not prose, money or the name of a thing."""
    named = _NAME.fullmatch(text) and not any(char.isdigit() for char in text)
    return not named and _is_mathematics(text)


def _is_mathematics(text: str) -> bool:
    """Returns whether a whole text is mathematics, without adjacent prose."""
    if SPAN.search(text) is not None or not all(map(_belongs, _WORD.findall(_COMMAND.sub(" ", text)))):
        return False
    try:
        return not isinstance(read(text, limit=_MAX_SPAN).node, Text)
    except TooExpensive:
        return len(text) <= _MAX_SPAN
    except Unreadable:
        return False


def _belongs(word: str) -> bool:
    if len(word) == 2:
        return word.lower() not in _WORDS_OF_TWO
    return word in FUNCTIONS or word in _JOINING or is_unit(word)


FORMULAS: Mapping[str, Rule] = {
    "bare_line": bare_line,
    "last_span": last_span,
    "concluding_number": concluding_number,
}
"""The loose rules for mathematical answers, in the order in which they are tried."""


def formula_ladder(extraction: Any) -> Ladder:
    """Reads the `extraction` parameter of a mathematical verifier. Raises InvalidParams with the problem."""
    return Ladder(extraction, FORMULAS, marks=("answer_line",), loose=tuple(FORMULAS), lax=("last_number",))
