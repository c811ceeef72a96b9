"""The result of an extraction rule: the part of a response that is the answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

MAX_ANSWER = 20_000
"""Characters of an answer that are looked at; of a longer box one more is given, so that it is seen to be longer."""

MAX_TEXTS = 64
"""Answers of a cluster that are looked at, the last ones: whoever offers more hedges in any case."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """The result of a rule. `texts` has one entry, or several where the response offers several answers at once.

    `span` is the part of the viewed response that the rule read, in characters; it covers all the texts. `loose`: the
    rule went by where the answer stands, and by no mark of it.
    """

    texts: tuple[str, ...]
    rule: str
    span: tuple[int, int]
    loose: bool = False

    @property
    def text(self) -> str:
        """The last of the texts: the answer, where only one is expected."""
        return self.texts[-1]

    @property
    def oversized(self) -> bool:
        """Returns whether an answer, or several that stand together, exceed 20,000 characters, box and blanks included.

        Extraction cuts a box there and trims it: "Paris", 20,000 blanks and "London" would read as Paris. And
        sixty-four boxes that stand together are sixty-four answers to read.
        """
        return self.span[1] - self.span[0] > MAX_ANSWER


Rule = Callable[[str], "Extracted | None"]

MARKUP = "*_` \t\r\n$"

_RETRACTION = re.compile(
    r"\b(?:wait|no|actually|correct(?:ion|ed|ing)?|mistake|instead|re-?check\w*|sorry|should be|error|fix\w*|hmm|"
    r"final(?:ly)?|therefore|thus|hence|so|simplif\w*|which is|that is|i\.e\.)\b",
    re.IGNORECASE,
)
_MAX_GAP = 80
_ASCII_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


def lowered(text: str) -> str:
    """The text in lower case, of the same length, so that places in one are places in the other."""
    lower = text.lower()
    return lower if len(lower) == len(text) else text.translate(_ASCII_LOWER)


def joins(text: str, begin: int, end: int) -> bool:
    """Returns whether two answers with this gap between them are one offer: it is short, and takes nothing back."""
    return end - begin <= _MAX_GAP and _RETRACTION.search(text, begin, end) is None


def cluster(text: str, found: Sequence[tuple[int, int, str]], rule: str) -> Extracted | None:
    """The last answers that stand together and were not taken back in between.

    One that was cut is not stripped: it would look whole, and a second answer behind many blanks would be gone.
    """
    if not found:
        return None
    first = len(found) - 1
    while first > 0 and len(found) - first < MAX_TEXTS and joins(text, found[first - 1][1], found[first][0]):
        first -= 1
    last = found[first:]
    texts = tuple(answer[2] if len(answer[2]) > MAX_ANSWER else answer[2].strip() for answer in last)
    return Extracted(texts, rule, (last[0][0], last[-1][1]))


def trimmed(text: str, start: int, end: int, rule: str, strip: str | None = None) -> Extracted | None:
    """The part of the text without what surrounds it, if anything is left that is short enough for an answer."""
    inner = text[start:end]
    body = inner.lstrip(strip)
    start += len(inner) - len(body)
    body = body.rstrip(strip)
    if not body.strip() or len(body) > MAX_ANSWER:
        return None
    return Extracted((body,), rule, (start, start + len(body)))
