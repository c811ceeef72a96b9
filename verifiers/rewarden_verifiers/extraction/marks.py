"""Marks of a final answer: a box, a tag, a key of a JSON object, `####`, a heading. Each rule is a linear scan."""

from __future__ import annotations

import json
import re

from rewarden_verifiers.extraction.extracted import MARKUP, MAX_ANSWER, Extracted, cluster, lowered, trimmed
from rewarden_verifiers.extraction.statement import stated

_BOX_TOKEN = re.compile(r"\\(?:boxed|fbox)\s*\{|\\(?:boxed|fbox)(?![A-Za-z])|\\.|[{}]", re.DOTALL)
# TeX arguments without braces: a number, a command with its arguments, or one letter.
_BARE_BOX = re.compile(
    r"\s{0,4}([-+\u2212]?\d[\d.,/]{0,60}%?|(?!\\(?:boxed|fbox))\\[A-Za-z]{1,30}(?:\{[^{}\n]{0,200}\}){0,2}"
    r"|(?<=\s)[A-Za-z](?![A-Za-z]))"
)
_TAGS = (
    ("<answer>", "</answer>"),
    ("<final_answer>", "</final_answer>"),
    ("[answer]", "[/answer]"),
    ("<|begin_of_box|>", "<|end_of_box|>"),
)
OPENINGS = tuple(opening for opening, _ in _TAGS)
"""The opening tags of an answer, in lower case."""

_CLOSING = dict(_TAGS)
_TAG = re.compile("|".join(re.escape(tag) for pair in _TAGS for tag in pair))

# Numbers are written as in GSM8K (`#### 1,234`); other text after `####` is a heading unless it ends the response.
_HASHED_NUMBER = re.compile(r"[-+\u2212$ ]*\d[\d.,/% ]*")
_KEY = re.compile(r'"(?:final_)?answer"\s{0,20}:\s{0,20}', re.IGNORECASE)
_STRING = re.compile(r'"((?:[^"\\\n]|\\.){0,4000})"')
_SCALAR = re.compile(r"-?\d[\d.eE+-]{0,60}|true|false|null")
_CLOSE = re.compile(r"\s{0,40}[,}]")
_MAX_VALUE, _MOST_VALUES = 4000, 64
"""Maximum number of characters of an answer that is a list or object, and of attempts to parse one: each attempt costs
its length.
"""
_OPEN = re.compile(r"[{,]\s{0,40}$")
_ESCAPED = re.compile(r'\\(["\\/])|\\u([0-9a-fA-F]{4})|\\n(?![A-Za-z])')
# "**Final Answer**", "## Answer:", "**Answer:** 42", but not "**Answer the question**".
_HEADING = re.compile(
    r"^[ \t]{0,8}(?:#{1,6}[ \t]{1,4}(?:\*\*|__)?|\*\*|__)(?:the[ \t])?(?:(?:final|correct|short)[ \t])?answer[ \t]{0,4}"
    r"(?:(?:\*\*|__)?[ \t]{0,4}[:\uff1a][ \t]{0,4}(?:\*\*|__)?|\*\*|__|(?=$))",
    re.IGNORECASE | re.MULTILINE,
)


def boxes(text: str) -> list[tuple[int, int, str]]:
    r"""Every outermost `\boxed{…}` or `\fbox{…}`, as (start, end, content). A box that never closes does not count."""
    return _boxes(text)[0]


def _boxes(text: str) -> tuple[list[tuple[int, int, str]], bool]:
    """The boxes of a text, and whether one is unclosed."""
    found: list[tuple[int, int, str]] = []
    slash = text.find("\\")
    if slash < 0:
        return found, False
    first, other = text.find("\\boxed", slash), text.find("\\fbox", slash)
    if first < 0 or 0 <= other < first:
        first = other
    if first < 0:
        return found, False
    opened: list[tuple[int, int]] = []  # for each open brace: start of its box (-1: no box) and of its content
    for match in _BOX_TOKEN.finditer(text, first):
        token = match.group()
        if token == "{":
            opened.append((-1, match.end()))
        elif token == "}":
            if opened:
                start, begin = opened.pop()
                if start >= 0:
                    while found and found[-1][0] > start:  # nested boxes
                        found.pop()
                    # One character more than the maximum, so that the reader sees a box that is too long, not a missing
                    # one.
                    end = min(match.start(), begin + MAX_ANSWER + 1)
                    found.append((start, match.end(), text[begin:end]))
        elif token[-1] == "{" and len(token) > 2:
            opened.append((match.start(), match.end()))
        elif len(token) > 2 and (bare := _BARE_BOX.match(text, match.end())) is not None:  # \boxed 7
            found.append((match.start(), bare.end(), bare.group(1).rstrip(".,")))
    return found, any(start >= 0 for start, _ in opened)


def unanswered(text: str) -> bool:
    """Returns whether a text without an answer in a box or tag still contains a box or tag, empty or unclosed."""
    found, left_open = _boxes(text)
    return left_open or bool(found) or _TAG.search(lowered(text)) is not None


def boxed(text: str) -> Extracted | None:
    """The last non-empty boxes."""
    return cluster(text, [box for box in boxes(text) if box[2].strip()], "boxed")


def answer_tag(text: str) -> Extracted | None:
    """The last answer tags; none if the last one never closes: that answer is unfinished."""
    return cluster(text, _tags(text) or [], "answer_tag")


def _tags(text: str) -> list[tuple[int, int, str]] | None:
    """The answers in tags, as (start, end, content); None if the last tag never closes."""
    if "<" not in text and "[" not in text:
        return []
    found: list[tuple[int, int, str]] = []
    start = begin = 0
    awaited: str | None = None
    for match in _TAG.finditer(lowered(text)):
        tag = match.group()
        if tag in _CLOSING:
            start, begin = match.span()  # of several unclosed tags, the one closest to the end tag counts
            awaited = _CLOSING[tag]
        elif tag == awaited:
            inner = text[begin : match.start()].strip()
            if inner and len(inner) <= MAX_ANSWER:
                found.append((start, match.end(), inner))
            awaited = None
    return found if awaited is None else None


def json_answer(text: str) -> Extracted | None:
    """The value of a JSON object's key `answer` or `final_answer`; the last cluster of such values.

    An unescaped backslash of LaTeX is kept: models write "\\frac" in JSON as they do elsewhere.
    """
    if "nswer" not in text:
        return None
    found: list[tuple[int, int, str]] = []
    tries = 0
    for match in _KEY.finditer(text):
        if _OPEN.search(text, max(0, match.start() - 42), match.start()) is None:
            continue
        if (quoted := _STRING.match(text, match.end())) is not None:
            end, inner = quoted.end(), _ESCAPED.sub(_unescaped, quoted.group(1))
        elif (plain := _SCALAR.match(text, match.end())) is not None:
            end, inner = plain.end(), plain.group()
        elif text.startswith(("[", "{"), match.end()) and tries < _MOST_VALUES:
            tries += 1
            try:
                _, size = json.JSONDecoder().raw_decode(text[match.end() : match.end() + _MAX_VALUE])
            except (ValueError, RecursionError):
                continue
            end = match.end() + size
            inner = text[match.end() : end]
        else:
            continue
        if inner.strip() and _CLOSE.match(text, end) is not None:
            found.append((match.start(), end, inner))
    return cluster(text, found, "json_answer")


def _unescaped(match: re.Match[str]) -> str:
    if match.group(2) is not None:
        return chr(int(match.group(2), 16))
    return match.group(1) or "\n"


def hashed(text: str) -> Extracted | None:
    """The line after the last `####`: a number, or any text that ends the response."""
    at = text.rfind("####")
    if at < 0:
        return None
    end = text.find("\n", at)
    line = text[at + 4 : end if end >= 0 else len(text)]
    if end >= 0 and text[end:].strip() and _HASHED_NUMBER.fullmatch(line.strip(MARKUP)) is None:
        return None
    return trimmed(text, at + 4, at + 4 + len(line), "hash", MARKUP)


def heading(text: str) -> Extracted | None:
    """The statement after the last heading that announces an answer, on its line or the next."""
    last = None
    for match in _HEADING.finditer(text):
        last = match
    return None if last is None else stated(text, last.end(), "heading")
