"""Closed answers, mainly yes and no: as a word within another text they mean nothing."""

from __future__ import annotations

import re

OPPOSITES = {"yes": "no", "no": "yes", "true": "false", "false": "true"}
CLOSED = frozenset((*OPPOSITES, "noanswer"))
"""Normalised answers that are right or wrong but never partly right (after HotpotQA)."""

# "No, because the sample is too small", but neither "no idea" nor "No one".
_REMARK = re.compile(r"[,;:!.\n\u3001\u3002\uff0c(\u2013\u2014]|\s-\s|\s(?:because|since|as)\s", re.IGNORECASE)


def clause(text: str) -> tuple[str, str]:
    """The first clause of an answer, and the rest."""
    text = text.strip()
    match = _REMARK.search(text)
    return (text, "") if match is None else (text[: match.start()], text[match.end() :])
