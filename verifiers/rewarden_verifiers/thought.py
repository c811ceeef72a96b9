"""The reasoning of a message: where it begins, where it ends, and which tags do not mark reasoning.

Reasoning begins a message, or ends at a closing tag without an opening one, because the chat template wrote that. Tags
elsewhere, in a sentence or in code, are text: an answer can be about them. A message that begins with reasoning can
have more of it, as agents write it between their calls: each block begins a line, or directly follows another tag or
word.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_FENCE = re.compile(r"(?:^[ \t]{0,8}|(?<=>))(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)
_SPAN = re.compile(r"(?<!`)(`{1,2})(?!`)[^`\n]+\1(?!`)")


@dataclass(frozen=True, slots=True)
class Thought:
    """A message's thought, from `start` to `end`, and where the `answer` begins; `first`: where the text begins that
    follows the first of several thoughts. closed: False if it never ends."""

    start: int
    end: int
    first: int
    answer: int
    closed: bool = True


def thought_of(text: str, opening: str, closing: str, *, starts_open: bool, apart: bool = False) -> Thought | None:
    """The thought of a message, all of its thoughts as one; None if there is none.

    starts_open: the chat template wrote the opening tag. apart: the chat server set the thought apart, so that only an
    opening tag begins another.
    """
    begun = text.lstrip().startswith(opening)
    if not (begun or starts_open or (closing in text and not apart)):
        return None
    bare = _without_code(text)
    start = bare.find(opening) + len(opening) if begun else 0
    end = bare.find(closing, start)
    if not begun and not starts_open and (end < 0 or 0 <= bare.find(opening) < end):
        return None
    if end < 0:
        # A thought that opened ends, though marks of code that do not pair may make its end look like code.
        end = text.find(closing, start)
    if end < 0:
        return Thought(start, len(text), len(text), len(text), closed=False)
    first = answer = end + len(closing)
    last = bare.rfind(closing, answer)
    if last >= 0:
        further = _further(opening, closing).match(bare, answer, last + len(closing))
        if further is not None:
            answer = further.end()
            end = answer - len(closing)
    # Attack: an answer, and then another thought that never ends, in which it may be taken back.
    closed = _opener(opening).search(bare, answer) is None and not bare[answer:].lstrip().startswith(opening)
    return Thought(start, end, first, answer, closed)


_BEFORE = r"(?:^[ \t]*|(?<=>)[ \t\n]*|(?<=[^\s>\"'“‘«(\[{*_`/|=\0]))"
"""A further thought begins with a line, after a tag, or glued to what was said. In a sentence that is about the tag a
space, a quotation mark or a bracket comes before it."""


@lru_cache(maxsize=64)
def _opener(opening: str) -> re.Pattern[str]:
    return re.compile(_BEFORE + re.escape(opening), re.MULTILINE)


@lru_cache(maxsize=64)
def _further(opening: str, closing: str) -> re.Pattern[str]:
    """Up to the end of the last thought within the text that is searched. That ends with a closing tag, so that each
    opening tag finds one, and the time grows with the text's length."""
    return re.compile(rf"(?sm:.*{_BEFORE}{re.escape(opening)}.*?{re.escape(closing)})")


def _without_code(text: str) -> str:
    """The text, as long as it was, without what is in code fences that end and in inline code."""
    if "`" not in text and "~~~" not in text:
        return text
    pieces: list[str] = []
    done = 0
    opened: re.Match[str] | None = None
    for line in _FENCE.finditer(text):
        marks, info = line.group(1), line.group(2).strip()
        if "`" in info:
            continue  # inline code, or a fence within one line
        if opened is not None:
            own = opened.group(1)
            if marks[0] != own[0] or len(marks) < len(own):
                continue
            if not info:
                pieces += [text[done : opened.start()], "\0" * (line.end() - opened.start())]
                done, opened = line.end(), None
                continue
        # Behind a fence that never ended, as in a thought that broke off, another word for code begins one anew.
        opened = line
    bare = "".join([*pieces, text[done:]])
    return _SPAN.sub(lambda found: "\0" * len(found.group()), bare)
