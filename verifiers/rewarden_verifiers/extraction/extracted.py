"""The result of an extraction rule: the part of a response that is the answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

MAX_ANSWER = 20_000
"""Maximum number of characters of an answer. One more is returned of a longer box, which shows that it is too long."""

MAX_TEXTS = 64
"""Maximum number of answers read from a cluster, the last ones: a response that offers more is hedging anyway."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """The result of a rule. `texts` has one entry, or several if the response offers several answers at once.

    `span` is the part of the viewed response that the rule read, in characters; it covers all the texts. `loose`: the
    rule relied on the position of the answer, not on a mark.
    """

    texts: tuple[str, ...]
    rule: str
    span: tuple[int, int]
    loose: bool = False

    @property
    def text(self) -> str:
        """The last of the texts, which is the answer if only one is expected."""
        return self.texts[-1]

    @property
    def oversized(self) -> bool:
        """Returns whether an answer, or a cluster of several, exceeds 20,000 characters, including box and white space.

        Extraction cuts a box there and trims it: "Paris", 20,000 spaces and "London" would read as Paris. And a cluster
        of sixty-four boxes is sixty-four answers to read.
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
    """Returns the text in lower case with its length unchanged, so that positions in both agree."""
    lower = text.lower()
    return lower if len(lower) == len(text) else text.translate(_ASCII_LOWER)


def joins(text: str, begin: int, end: int) -> bool:
    """Returns whether two answers separated by this gap form one offer: the gap is short and retracts nothing."""
    return end - begin <= _MAX_GAP and _RETRACTION.search(text, begin, end) is None


def cluster(text: str, found: Sequence[tuple[int, int, str]], rule: str) -> Extracted | None:
    """The last cluster of answers, without a retraction in between.

    A truncated answer is not stripped: it would look complete, and a second answer after many spaces would be lost.
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
    """The part of the text without the surrounding characters, unless it is then empty or too long for an answer."""
    inner = text[start:end]
    body = inner.lstrip(strip)
    start += len(inner) - len(body)
    body = body.rstrip(strip)
    if not body.strip() or len(body) > MAX_ANSWER:
        return None
    return Extracted((body,), rule, (start, start + len(body)))
