"""Steps: splits a response into parts that are judged one by one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from rewarden.errors import InvalidSample
from rewarden.types import Step, Text
from rewarden_verifiers.view import turns

Split = Literal["paragraphs", "lines", "numbered", "tags"]

_NUMBER = re.compile(
    r"^[ \t]{0,8}(?:[#*_]{1,4}[ \t]?)?(?:step[ \t]{0,3})?\(?\d{1,4}[.):](?=[\s*_])", re.IGNORECASE | re.M
)
_BLANK = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")


@dataclass(frozen=True, slots=True)
class Part:
    """A step: its text, and where it is in the response (start and end, in characters of the message `message`)."""

    text: str
    start: int
    end: int
    message: int = 0

    def place(self) -> dict[str, int]:
        """The position, ready for JSON: `message`, `start`, `end`."""
        return {"message": self.message, "start": self.start, "end": self.end}


def parts_of(text: str, split: Split, tag: str = "step") -> list[Part]:
    """Splits a text into steps, without blank ones.

    `paragraphs`: separated by blank lines. `lines`: one per line. `numbered`: each from a number at the beginning of a
    line ("1.", "2)", "Step 3:") to the next; text before the first number is a step too. `tags`: the content of
    `<tag>…</tag>`; text outside is not a step.
    """
    if split == "tags":
        spans = [found.span(1) for found in _tagged(tag).finditer(text)]
    elif split == "numbered":
        starts = [0, *(found.start() for found in _NUMBER.finditer(text))]
        spans = list(zip(starts, [*starts[1:], len(text)], strict=True))
    else:
        gaps = [found.span() for found in (_BLANK if split == "paragraphs" else re.compile("\n")).finditer(text)]
        spans = list(zip([0, *(end for _, end in gaps)], [*(start for start, _ in gaps), len(text)], strict=True))
    return [part for start, end in spans if (part := _trimmed(text, start, end)) is not None]


def given_parts(response: Text, steps: Sequence[Step]) -> list[Part]:
    """The steps given by the sample. A step that ends with a message includes that message's calls. Raises
    InvalidSample for an invalid step.
    """
    messages = turns(response)
    found: list[Part] = []
    for place, step in enumerate(steps):
        path = f"steps[{place}]"
        if not 0 <= step.message < len(messages):
            raise InvalidSample(f"{path}.message: the response has no message {step.message}", path=f"{path}.message")
        turn = messages[step.message]
        end = len(turn.content) if step.end is None else step.end
        if not 0 <= step.start <= end <= len(turn.content):
            raise InvalidSample(f"{path} does not lie within its message", path=path)
        text = turn.content[step.start : end]
        if step.end is None and turn.calls:
            text = f"{text}\n{turn.calls}"
        found.append(Part(text, step.start, end, step.message))
    return found


@lru_cache(maxsize=64)
def _tagged(tag: str) -> re.Pattern[str]:
    # Stop at the next tag of that name, so that many unclosed opening tags are not each searched to the end.
    name = re.escape(tag)
    return re.compile(rf"<{name}>((?:(?!</?{name}>).)*)</{name}>", re.DOTALL)


def _trimmed(text: str, start: int, end: int) -> Part | None:
    piece = text[start:end]
    shown = piece.strip()
    if not shown:
        return None
    start += len(piece) - len(piece.lstrip())
    return Part(shown, start, start + len(shown))
