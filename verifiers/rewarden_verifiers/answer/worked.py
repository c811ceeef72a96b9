r"""The answer in a reference that is a worked solution, found by the same marks as in a response.

The answer column of a data set can contain solutions: "… = 42\n#### 42", "… so \boxed{42}", "The answer is 42." A
reference that is only an answer has none of these marks, or is itself one of them, and is never reduced.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache

from rewarden_verifiers.answer.math.limits import TooExpensive, Unreadable
from rewarden_verifiers.answer.math.reading import read
from rewarden_verifiers.answer.math.syntax import Text
from rewarden_verifiers.extraction import Extracted, extract

_ANNOUNCED = re.compile(
    r"(?:^|[.!?\n])\W*(?:(?:so|thus|hence|therefore|then)\b,?\s)?(?:the\s|our\s)?(?:final\s|correct\s|right\s|best\s)?"
    r"(?:answers?|option|choice)\b[^.!?\n]{0,40}$",
    re.IGNORECASE,
)
_MAX_SOLUTION = 100_000


@lru_cache(maxsize=4096)
def reduced(reference: str) -> Extracted | None:
    """The answer marked in a worked solution; None for a reference that is an answer itself, or prose."""
    if len(reference) > _MAX_SOLUTION or (len(reference) < 200 and _is_answer(reference)):
        return None
    found = extract(reference, "explicit")
    if found is not None and found.rule == "phrase" and reference.isascii():
        # "Call and answer: a song form" announces nothing.
        return found if _ANNOUNCED.search(reference, 0, found.span[0]) else None
    return found


def answer_in(reference: str) -> str:
    """The reference itself, or the answer that it gives as a worked solution. Several boxes form a list."""
    found = reduced(reference)
    return reference if found is None else ", ".join(dict.fromkeys(found.texts))


def spellings_in(reference: str) -> list[str] | None:
    """The texts in a JSON list of texts, `["34"]`, as Skywork-OR1 and others write lists of answers into a text column;
    None for any other reference. "[1, 2]" is a vector.
    """
    text = reference.strip()
    if not (text.startswith("[") and text.endswith("]") and '"' in text) or len(text) > _MAX_SOLUTION:
        return None
    try:
        listed = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return listed if listed and all(isinstance(item, str) for item in listed) else None


def _is_answer(text: str) -> bool:
    if "\\boxed" in text or "####" in text:
        return False
    try:
        return not isinstance(read(text).node, Text)
    except (TooExpensive, Unreadable):
        return False
