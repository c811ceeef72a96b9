"""Remarks in brackets after an answer: "**Barack Obama** (born 1961)"."""

from __future__ import annotations

import re

from rewarden_verifiers.answer.sentence import DOUBT
from rewarden_verifiers.answer.text.closed import CLOSED

_REMARK = re.compile(r"([^()\n]{2,200}?)\s{0,4}\(([^()*_`\"“”\n]{2,120})\)[\s.*_]{0,4}")
_MARKS = re.compile(r"\*\*|__|[*_`\"“”]")
_LETTER = re.compile(r"[^\W\d_]")
# Remarks about the answer that are not another answer: a time, what happened to it, or where it belongs.
_DESCRIBES = re.compile(
    r"(?:c(?:irca|a?\.)\s|in |since |from |until )?[0-9]{3,4}\b(?:\s?[-–]\s?(?:[0-9]{2,4}|present)\b)?|"
    r"(?:born|died|founded|established|built|completed|opened|released|published|launched|introduced|discovered|"
    r"invented|elected|signed|written|formed|created|located|situated|based) |[bd]\. ?[0-9]|"
    r"(?:the|an?|who|which|whose|where|in) (?=.*(?:[0-9]|\b(?:of|in|at|near|by) (?:the )?[^\W\d_]))",
    re.IGNORECASE,
)
_MONTHS = r"(?:January|February|March|April|June|July|August|September|October|November|December)"
# A capital letter can begin another candidate, except in a month and after a preposition: "the capital of France".
_NAMED = re.compile(
    rf"\b(?:(?:of|in|at|near|by|on)(?: the)?(?: [^\W\d_a-z][\w.’'-]{{0,30}}){{1,4}}|{_MONTHS}\b|AD\b|BCE?\b|CE\b)"
)
_CAPITAL = re.compile(r"[^\W\d_a-zß-öø-ÿ]")
_OTHER = re.compile(r"\b(?:and|also|alternatively|another|other|likely|probably|sure|think|versus|vs|answer)\b", re.I)


def before_remark(answer: str) -> str | None:
    """The answer before a remark in brackets that cannot be another answer; None if there is no such remark.

    Attack: offer a second candidate in the brackets. A remark must begin like a time or a description. It must not
    doubt or add anything, or contain emphasis or a name without a preposition before it.
    """
    match = _REMARK.fullmatch(answer.strip())
    if match is None:
        return None
    head, remark = match[1], match[2].strip()
    if _LETTER.search(head) is None or _DESCRIBES.match(remark) is None:
        return None
    if DOUBT.search(remark) or _OTHER.search(remark) or _CAPITAL.search(_NAMED.sub("", remark)):
        return None
    bare = _MARKS.sub("", head).strip()
    return None if bare.lower() in CLOSED else bare
