"""Fenced code blocks (three backquotes or tildes and more), apart from the text around them. Linear."""

from __future__ import annotations

import re

_FENCE = re.compile(r"^[ \t]{0,8}(`{3,}|~{3,})[^\n]*$", re.MULTILINE)


def split_code(text: str) -> tuple[list[str], str]:
    """The contents of the blocks, and the text without them. A block that never closes runs to the end."""
    blocks: list[str] = []
    around: list[str] = []
    opened: re.Match[str] | None = None
    after = 0
    for fence in _FENCE.finditer(text):
        if opened is None:
            around.append(text[after : fence.start()])
            opened = fence
        elif fence.group(1).startswith(opened.group(1)):
            blocks.append(text[opened.end() : fence.start()])
            opened, after = None, fence.end()
    if opened is not None:
        blocks.append(text[opened.end() :])
    else:
        around.append(text[after:])
    return blocks, "".join(around)
