"""The reasoning of a message: where it begins, where it ends, and which tags do not mark reasoning.

Reasoning begins a message, or ends at a closing tag without an opening one, because the chat template wrote the opening
one. Tags elsewhere, in a sentence or in code, are text: an answer can be about them. A message that begins with
reasoning can have more of it, as agents write it between their calls: each block begins a line, or directly follows
another tag or word.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_FENCE = re.compile(r"(?:^[ \t]{0,8}|(?<=>))(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)
_SPAN = re.compile(r"(?<!`)(`{1,2})(?!`)[^`\n]+\1(?!`)")


@dataclass(frozen=True, slots=True)
class Thought:
    """A message's thought, from `start` to `end`, and where the `answer` begins; `first`: where the text after the
    first of several thoughts begins. closed: False if the thought never ends.
    """

    start: int
    end: int
    first: int
    answer: int
    closed: bool = True


def thought_of(text: str, opening: str, closing: str, *, starts_open: bool, apart: bool = False) -> Thought | None:
    """The thought of a message, with several thoughts joined into one; None if there is none.

    starts_open: the chat template wrote the opening tag. apart: the chat server already separated the thought, so only
    an opening tag begins another one.
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
        # An opened thought ends even if unpaired code marks make its closing tag look like code.
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
    # Attack: an answer, followed by another thought that never ends and may retract it.
    closed = _opener(opening).search(bare, answer) is None and not bare[answer:].lstrip().startswith(opening)
    return Thought(start, end, first, answer, closed)


_BEFORE = r"(?:^[ \t]*|(?<=>)[ \t\n]*|(?<=[^\s>\"'“‘«(\[{*_`/|=\0]))"
"""A further thought begins at the start of a line, after a tag, or directly after a word. In a sentence about the tag,
a space, quotation mark or bracket comes before it.
"""


@lru_cache(maxsize=64)
def _opener(opening: str) -> re.Pattern[str]:
    return re.compile(_BEFORE + re.escape(opening), re.MULTILINE)


@lru_cache(maxsize=64)
def _further(opening: str, closing: str) -> re.Pattern[str]:
    """Matches up to the end of the last thought in the searched text. That text ends with a closing tag, so that each
    opening tag finds one, and the time is linear in the text's length.
    """
    return re.compile(rf"(?sm:.*{_BEFORE}{re.escape(opening)}.*?{re.escape(closing)})")


def _without_code(text: str) -> str:
    """The text, of unchanged length, with closed code fences and inline code blanked out."""
    if "`" not in text and "~~~" not in text:
        return text
    pieces: list[str] = []
    done = 0
    opened: re.Match[str] | None = None
    for line in _FENCE.finditer(text):
        marks, info = line.group(1), line.group(2).strip()
        if "`" in info:
            continue  # inline code, or a fence on one line
        if opened is not None:
            own = opened.group(1)
            if marks[0] != own[0] or len(marks) < len(own):
                continue
            if not info:
                pieces += [text[done : opened.start()], "\0" * (line.end() - opened.start())]
                done, opened = line.end(), None
                continue
        # After a fence that never ended, as in an interrupted thought, another info string begins a new one.
        opened = line
    bare = "".join([*pieces, text[done:]])
    return _SPAN.sub(lambda found: "\0" * len(found.group()), bare)
