r"""Finding the answer in a response: an ordered list of rules, the first that fires wins and is named in the evidence.

Presets: `strict` reads a `\boxed{}` or an `<answer>` tag; `lax` adds `#### 42`, phrases such as "the answer is" and,
last, the last number. Every rule is a linear scan; caller's patterns run on RE2, which cannot backtrack.

Boxes that disagree (ATTACKS E, hedging): the last *cluster* of boxes counts. Boxes form a cluster when little but
connecting words stands between them ("\boxed{12} or \boxed{13}"); such a cluster yields several `texts`, and the
verifier decides whether several answers are permitted. A box taken back ("wait, …") does not join a cluster.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import re2

from rewarden.errors import InvalidParams

MAX_ANSWER = 20_000
"""Characters of an answer that are looked at; a longer one is not an answer."""

PRESETS: Mapping[str, tuple[str, ...]] = {
    "strict": ("boxed", "answer_tag"),
    "lax": ("boxed", "answer_tag", "hash", "phrase", "last_number"),
    "boxed": ("boxed",),
    "answer_tag": ("answer_tag",),
    "hash": ("hash",),
    "phrase": ("phrase",),
    "last_number": ("last_number",),
    "last_line": ("last_line",),
    "whole": ("whole",),
}


@dataclass(frozen=True, slots=True)
class Extracted:
    """What a rule found. `texts` has one entry, or several where the response offers several answers at once.

    `span` is where the first text stands in the viewed response, in characters.
    """

    texts: tuple[str, ...]
    rule: str
    span: tuple[int, int]

    @property
    def text(self) -> str:
        """The last of the texts: the answer, where only one is expected."""
        return self.texts[-1]


Rule = Callable[[str], "Extracted | None"]

_BOX = re.compile(r"\\(?:boxed|fbox)\s*(?=[{0-9A-Za-z\\])")
_RETRACTION = re.compile(
    r"\b(?:wait|no|actually|correct(?:ion|ed|ing)?|mistake|instead|re-?check\w*|sorry|should be|error|fix\w*|hmm|"
    r"final(?:ly)?|therefore|thus|hence|so|simplif\w*|which is|that is|i\.e\.)\b",
    re.IGNORECASE,
)
_MAX_GAP = 80

_TAG = re.compile(r"<answer>", re.IGNORECASE)
_TAG_END = re.compile(r"</answer>", re.IGNORECASE)
_PHRASE = re.compile(
    r"(?:(?:final|correct|right|best)\s+(?:answer|option|choice)|\banswer)\s*(?:is|are|:|=|would be|should be)\s*:?\s*",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[-+\u2212]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+|(?<=\d)\b|(?<=\d))(?:[eE][-+]?\d+)?%?(?:/\d+)?")
_MARKUP = "*_` \t\r\n$"


def balanced(text: str, start: int) -> int:
    """The index just past the brace that closes the one at `start`, or -1. Escaped braces do not count."""
    depth = 0
    i, n = start, len(text)
    while i < n:
        char = text[i]
        if char == "\\":
            i += 2
            continue
        if char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
            if depth == 0:
                return i + 1
        i += 1
        if i - start > MAX_ANSWER:
            return -1
    return -1


def boxes(text: str) -> list[tuple[int, int, str]]:
    r"""Every `\boxed{…}` or `\fbox{…}`, outermost, as (start, end, content). A box that never closes is none."""
    found: list[tuple[int, int, str]] = []
    position = 0
    while (match := _BOX.search(text, position)) is not None:
        begin = match.end()
        if text[begin] == "{":
            end = balanced(text, begin)
            if end < 0:
                position = begin
                continue
            found.append((match.start(), end, text[begin + 1 : end - 1]))
            position = end
        else:  # \boxed 7
            stop = begin
            while stop < len(text) and stop - begin < 64 and (text[stop].isalnum() or text[stop] in "./-"):
                stop += 1
            if stop > begin:
                found.append((match.start(), stop, text[begin:stop].rstrip(".")))
            position = max(stop, begin + 1)
    return found


def _boxed(text: str) -> Extracted | None:
    if "boxed" not in text and "\\fbox" not in text:
        return None
    found = [box for box in boxes(text) if box[2].strip()]
    if not found:
        return None
    first = len(found) - 1
    while first > 0:
        gap = text[found[first - 1][1] : found[first][0]]
        if len(gap) > _MAX_GAP or _RETRACTION.search(gap):
            break
        first -= 1
    cluster = found[first:]
    return Extracted(tuple(box[2].strip() for box in cluster), "boxed", (cluster[0][0], cluster[-1][1]))


def _answer_tag(text: str) -> Extracted | None:
    last = None
    for match in _TAG.finditer(text):
        last = match
    if last is None:
        return None
    close = _TAG_END.search(text, last.end())
    if close is None:
        return None
    inner = text[last.end() : close.start()].strip()
    if not inner or len(inner) > MAX_ANSWER:
        return None
    return Extracted((inner,), "answer_tag", (last.end(), close.start()))


def _hash(text: str) -> Extracted | None:
    at = text.rfind("####")
    if at < 0:
        return None
    line = text[at + 4 :].split("\n", 1)[0].strip(_MARKUP)
    return Extracted((line,), "hash", (at + 4, at + 4 + len(line))) if line else None


def _phrase(text: str) -> Extracted | None:
    last = None
    for match in _PHRASE.finditer(text):
        last = match
    if last is None:
        return None
    rest = text[last.end() : last.end() + 500].lstrip("*_` \t:")
    if not rest.strip():  # "Answer:\n\n 42"
        return None
    line = rest.lstrip().split("\n", 1)[0]
    # A sentence ends at ". " or at the line's end; "3.5" does not.
    cut = re.search(r"\.\s|[;!?]|,\s+(?:so|since|because|which|and so)\b", line)
    answer = (line[: cut.start()] if cut else line).strip(_MARKUP).rstrip(".").strip(_MARKUP)
    return Extracted((answer,), "phrase", (last.end(), last.end() + len(answer))) if answer else None


def _last_number(text: str) -> Extracted | None:
    tail = text[-2000:]
    last = None
    for match in _NUMBER.finditer(tail):
        if match.group().strip("+-\u2212"):
            last = match
    if last is None:
        return None
    offset = len(text) - len(tail)
    return Extracted((last.group(),), "last_number", (offset + last.start(), offset + last.end()))


def _last_line(text: str) -> Extracted | None:
    stripped = text.rstrip()
    at = stripped.rfind("\n") + 1
    line = stripped[at:].strip()
    return Extracted((line,), "last_line", (at, len(stripped))) if line and len(line) <= MAX_ANSWER else None


def _whole(text: str) -> Extracted | None:
    stripped = text.strip()
    return Extracted((stripped,), "whole", (0, len(text))) if stripped and len(stripped) <= MAX_ANSWER else None


_RULES: Mapping[str, Rule] = {
    "boxed": _boxed,
    "answer_tag": _answer_tag,
    "hash": _hash,
    "phrase": _phrase,
    "last_number": _last_number,
    "last_line": _last_line,
    "whole": _whole,
}


@lru_cache(maxsize=256)
def _regex_rule(pattern: str) -> Rule:
    try:
        compiled = re2.compile(pattern)
    except re2.error as error:
        raise InvalidParams(f"extraction: RE2 refuses the pattern {pattern!r}: {error}", path="extraction") from None
    group = 1 if compiled.groups else 0

    def rule(text: str) -> Extracted | None:
        last = None
        for match in compiled.finditer(text):
            last = match
        if last is None or not last.group(group):
            return None
        return Extracted((last.group(group).strip(),), "regex", last.span(group))

    return rule


@lru_cache(maxsize=256)
def _tag_rule(tag: str) -> Rule:
    opening, closing = f"<{tag}>", f"</{tag}>"

    def rule(text: str) -> Extracted | None:
        start = text.rfind(opening)
        end = text.find(closing, start)
        if start < 0 or end < 0:
            return None
        inner = text[start + len(opening) : end].strip()
        return Extracted((inner,), f"tag:{tag}", (start + len(opening), end)) if inner else None

    return rule


def rules_of(extraction: Any) -> tuple[Rule, ...]:
    """The `extraction` parameter as rules: a preset's name, or an ordered list of rules' names, `{"regex": pattern}`
    (RE2; the last match's first group) and `{"tag": name}`. Raises InvalidParams, naming what is wrong.
    """
    if isinstance(extraction, str):
        if extraction not in PRESETS:
            known = ", ".join(PRESETS)
            raise InvalidParams(f"extraction has no preset {extraction!r}; it has {known}", path="extraction")
        return tuple(_RULES[name] for name in PRESETS[extraction])
    if not isinstance(extraction, Sequence) or not extraction:
        raise InvalidParams("extraction must be a preset's name or a non-empty list of rules", path="extraction")
    found: list[Rule] = []
    for index, item in enumerate(extraction):
        if isinstance(item, str) and item in _RULES:
            found.append(_RULES[item])
        elif isinstance(item, Mapping) and set(item) == {"regex"} and isinstance(item["regex"], str):
            found.append(_regex_rule(item["regex"]))
        elif isinstance(item, Mapping) and set(item) == {"tag"} and isinstance(item["tag"], str):
            found.append(_tag_rule(item["tag"]))
        else:
            raise InvalidParams(
                f"extraction[{index}] must be one of {', '.join(_RULES)}, or {{'regex': …}} or {{'tag': …}}",
                path=f"extraction[{index}]",
            )
    return tuple(found)


def extract(text: str, extraction: Any = "strict") -> Extracted | None:
    """The first rule that fires on the viewed response, or None. Linear in the text; never raises for any text."""
    for rule in rules_of(extraction):
        found = rule(text)
        if found is not None:
            return found
    return None
