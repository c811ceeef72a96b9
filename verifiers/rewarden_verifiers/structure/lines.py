"""Requirements of `format` on the lines of a response: of a block that others prepare, and of repeated ones."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import re2

_WORD = re.compile(r"\w+")


@lru_cache(maxsize=1024)
def compiled(regex: str) -> Any:
    """A pattern of RE2. Raises ValueError."""
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(regex, options)
    except re2.error as error:
        raise ValueError(f"RE2 refuses the pattern {regex!r}: {error}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Echo:
    r"""The last block of a kind, whose lines other blocks must contain, as reasoning prepares a final program.

    block, sources: regular expressions whose first group is the content of such a block. share: the least share of the
    block's different lines that the sources contain. most: the most lines of each source, as a share of the block's;
    `free` lines are always allowed. ignore: regular expressions of what does not count, such as comments.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    block: str
    sources: str
    share: float = 0.0
    most: float | None = None
    free: int = 5
    ignore: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for regex in (self.block, self.sources):
            if compiled(regex).groups < 1:
                raise ValueError(f"the pattern {regex!r} needs a group: the content of a block")
        for regex in self.ignore:
            compiled(regex)
        if not 0 <= self.share <= 1 or self.free < 0 or (self.most is not None and self.most <= 0):
            raise ValueError("share must lie between 0 and 1, most must be above 0, and free at least 0")

    def problem(self, text: str) -> str | None:
        """Returns what is wrong with a text, or None."""
        blocks = _contents(self.block, text)
        if not blocks:
            return "there is no block"
        block, sources = blocks[-1].strip(), _contents(self.sources, text)
        if self.most is not None:
            most = max(self.free, int(len(block.split("\n")) * self.most))
            if any(len(source.split("\n")) > most for source in sources):
                return f"a source has more than {most} lines"
        lines = self._lines([block])
        found = len(lines & self._lines(sources))
        if found < self.share * len(lines) or not lines:
            return f"the sources have {found} of {len(lines)} lines"
        return None

    def _lines(self, texts: Sequence[str]) -> set[str]:
        found: set[str] = set()
        for text in texts:
            for regex in self.ignore:
                text = compiled(regex).sub("", text)
            found |= {stripped for line in text.split("\n") if (stripped := line.strip())}
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """Lines that may not be repeated.

    words: the least words of a line that counts. times: so often it is too often. within: looks in each tag of this
    name instead of the response. ignore: regular expressions of what does not count, such as code.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    words: int
    times: int
    within: str | None = None
    ignore: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for regex in self.ignore:
            compiled(regex)
        if self.words < 1 or self.times < 2:
            raise ValueError("words must be at least 1, and times at least 2")

    def problem(self, texts: Sequence[str]) -> str | None:
        """Returns what is wrong with texts, or None."""
        for text in texts:
            for regex in self.ignore:
                text = compiled(regex).sub("", text)
            counts = Counter(line.strip().lower() for line in text.splitlines())
            for line, count in counts.items():
                if count >= self.times and len(_WORD.findall(line)) >= self.words:
                    return f"a line occurs {count} times"
        return None


def _contents(regex: str, text: str) -> list[str]:
    return [match.group(1) or "" for match in compiled(regex).finditer(text)]
