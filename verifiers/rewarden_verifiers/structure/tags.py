"""The expected tags of a response: their requirements, and a single pass that finds them.

Only the expected tags are tags; everything else, HTML included, is text. A misplaced tag counts, even one that the
reasoning only mentions. Trainers that count tags do the same, and a response that downstream tools cannot split is not
well formed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar

MAX_DEPTH = 8
"""The maximum nesting depth of expected tags."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag:
    """The requirements on an expected tag.

    min, max: how often it occurs in its parent (max None: unbounded). empty: it can be blank. children: tags that it
    can contain. text: it can contain text besides its children. open, close: its spelling, if not `<name>` and
    `</name>`.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    name: str
    min: int = 1
    max: int | None = 1
    empty: bool = False
    children: tuple[Tag, ...] = ()
    text: bool = True
    open: str | None = None
    close: str | None = None

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z][\w-]*", self.name):
            raise ValueError(f"the tag's name {self.name!r} must be a letter and then letters, digits, '-' or '_'")
        if self.min < 0 or (self.max is not None and self.max < max(self.min, 1)):
            raise ValueError(f"tag {self.name!r}: min must be at least 0, and max at least min and 1")
        if (self.open is None) != (self.close is None) or self.open == "" or self.close == "":
            raise ValueError(f"tag {self.name!r}: give both open and close, neither of them empty, or none")
        if self.opening == self.closing:
            raise ValueError(f"tag {self.name!r}: open and close must differ")

    @property
    def opening(self) -> str:
        """The opening tag as written."""
        return self.open if self.open is not None else f"<{self.name}>"

    @property
    def closing(self) -> str:
        """The closing tag as written."""
        return self.close if self.close is not None else f"</{self.name}>"


@dataclass(slots=True)
class Element:
    """A tag that was found: the position of its content, its children, and the text besides them."""

    name: str
    start: int
    end: int = -1
    children: list[Element] = field(default_factory=list)
    blank: bool = True

    @property
    def closed(self) -> bool:
        """Returns whether its closing tag was found."""
        return self.end >= 0


@dataclass(slots=True)
class Tree:
    """The tags of a response. `stray` names tags that were misnested, unopened, unclosed or not allowed at their
    position.
    """

    root: Element
    stray: list[str]
    before: bool = False
    between: bool = False
    after: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Scanner:
    """Finds the expected tags in a text. Made by `scanner`."""

    pattern: re.Pattern[str] | None
    openings: dict[str, str]
    closings: dict[str, str]
    allowed: dict[str, frozenset[str]]
    """For each tag name ("" for the response), the names allowed directly inside it."""

    def scan(self, text: str) -> Tree:
        """Finds the tags of a text, in one pass and linear time. Never raises."""
        root = Element("", 0)
        tree = Tree(root, [])
        stack = [root]
        position = 0
        matches = self.pattern.finditer(text) if self.pattern is not None else ()
        for match in matches:
            token, here = match.group(), stack[-1]
            if not _blank(text, position, match.start()):
                here.blank = False
                if len(stack) == 1:
                    tree.between = tree.between or bool(root.children)
                    tree.before = tree.before or not root.children
            position = match.end()
            name = self.openings.get(token)
            if name is not None:
                if name not in self.allowed[here.name]:
                    tree.stray.append(token)
                    continue
                element = Element(name, match.end())
                here.children.append(element)
                stack.append(element)
            elif self.closings[token] == here.name:
                here.end = match.start()
                stack.pop()
            else:
                tree.stray.append(token)
        root.end = len(text)
        if not _blank(text, position, len(text)):
            stack[-1].blank = False
            if len(stack) == 1:
                tree.after = bool(root.children)
                tree.before = tree.before or not root.children
        tree.stray += [f"<{element.name}> never closes" for element in stack[1:]]
        return tree


def _blank(text: str, start: int, end: int) -> bool:
    return start >= end or not text[start:end].strip()


@lru_cache(maxsize=512)
def scanner(tags: tuple[Tag, ...]) -> Scanner:
    """Returns the scanner of these tags and their nested tags.

    Raises ValueError if two different tags have the same spelling, or the nesting is too deep.
    """
    openings: dict[str, str] = {}
    closings: dict[str, str] = {}
    allowed: dict[str, frozenset[str]] = {"": frozenset(tag.name for tag in tags)}
    seen: dict[str, Tag] = {}

    def add(listed: Sequence[Tag], depth: int) -> None:
        if depth > MAX_DEPTH:
            raise ValueError(f"tags nest deeper than {MAX_DEPTH}")
        if len({tag.name for tag in listed}) < len(listed):
            raise ValueError("a tag is listed twice in the same place; use its min and max")
        for tag in listed:
            if seen.setdefault(tag.name, tag) != tag:
                raise ValueError(f"tag {tag.name!r} is described in two ways")
            for written, names in ((tag.opening, openings), (tag.closing, closings)):
                if names.setdefault(written, tag.name) != tag.name:
                    raise ValueError(f"{written!r} denotes two tags")
            allowed[tag.name] = frozenset(child.name for child in tag.children)
            add(tag.children, depth + 1)

    add(tags, 1)
    if set(openings) & set(closings):
        raise ValueError("an opening tag is written like a closing one")
    written = sorted([*openings, *closings], key=len, reverse=True)
    pattern = re.compile("|".join(re.escape(text) for text in written)) if written else None
    return Scanner(pattern, openings, closings, allowed)
