"""The last number of a response, for those who ask for no more than that."""

from __future__ import annotations

import re

from rewarden_verifiers.extraction.extracted import Extracted

_NUMBER = re.compile(r"[-+\u2212$ ]*\d[\d.,/% ]*")
_ASCII_CUES = ("answer", "option", "choice")
_CUES = (*_ASCII_CUES, "答案")
_QUALIFIED = ("final", "correct", "right", "best")
_CUE_END = re.compile(
    r"s?[\s*_]{0,8}(?:(?:is|are|(?:would|should|must|has to|will) be)\b|是|为|[:=\uff1a]"
    r"|(?<=\s)[-\u2013\u2014]\s)[\s*_]{0,8}[:\uff1a]?",
    re.IGNORECASE,
)
_PHRASE_REACH = 500
# A sentence ends at ". " or at the line's end; "3.5" does not.
_SENTENCE_END = re.compile(r"\.\s|[;!?。；！？]|,\s{1,8}(?:so|since|because|which|and so)\b")
_NUMBER = re.compile(
    r"(?:(?<![\w)\]])[-+\u2212])?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+|(?<!\d)(?=\.\d))(?:\.\d+)?(?:[eE][-+]?\d+)?%?(?:/\d+)?"
)
_NUMBER_REACH = 2000


def last_number(text: str) -> Extracted | None:
    """The digits of the last number, without a unit."""
    offset = max(0, len(text) - _NUMBER_REACH)
    last = None
    for match in _NUMBER.finditer(text, offset):
        last = match
    return None if last is None else Extracted((last.group(),), "last_number", last.span())
