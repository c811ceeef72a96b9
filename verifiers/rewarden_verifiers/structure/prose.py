"""Separates natural language from code, formulas, addresses and tags, and returns the code. Takes linear time."""

from __future__ import annotations

import re

_FENCE = re.compile(r"^[ \t]{0,8}(`{3,}|~{3,})[^\n]*$", re.MULTILINE)
_MATH = (("$$", "$$"), ("\\[", "\\]"), ("\\(", "\\)"), ("$", "$"))
_LONGEST_FORMULA = 2000
_INLINE_CODE = re.compile(r"`[^`\n]{1,300}`")
_ADDRESS = re.compile(r"(?:https?://|www\.)[^\s<>]{1,2000}")
_TAG = re.compile(r"</?[A-Za-z][^<>\n]{0,200}>")
_ATTRIBUTE = re.compile(r"""[\w:.-]{1,60}\s?=\s?(?:"[^"]*"|'[^']*'|[^\s"'>]{1,200})""")
_COMMENT = re.compile(r"\s{0,40}(?:#|//|\*|-)+\s")
_COMMAND = re.compile(r"\\[A-Za-z]{1,40}\*?")
_TEXT_COMMAND = re.compile(r"\\(?:text|textbf|textit|textrm|mbox|emph)\s?\{([^{}]{0,500})\}")
_WORD = re.compile(r"[^\W\d_]{4,}")
_CODE_SIGN = re.compile(r"[{}()=;<>\[\]_/\\+*#|$&]")


def split_code(text: str) -> tuple[list[str], str]:
    """Returns the contents of the fenced blocks (three or more backquotes or tildes), and the text without them. An
    unclosed block extends to the end.
    """
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


def prose(text: str) -> str:
    """Removes everything that belongs to no language. A formula or block that contains sentences counts as prose."""
    blocks, around = split_code(text)
    # Attack: writing thoughts in another language inside a fence, where they would not count.
    spoken = [line for block in blocks for line in _uncommented(block) if _says(line) and not _CODE_SIGN.search(line)]
    around = _ADDRESS.sub(" ", _INLINE_CODE.sub(_unless_said, around))
    for opening, closing in _MATH:
        around = _without(around, opening, closing)
    around = _COMMAND.sub(" ", _TEXT_COMMAND.sub(r" \1 ", _TAG.sub(_unless_prose, around)))
    return "\n".join([around, *spoken])


def _uncommented(block: str) -> list[str]:
    """The lines of a block. If most of them are comments, their text is returned, because there is no code to comment
    on.
    """
    lines = [line for line in block.splitlines() if line.strip()]
    if 2 * sum(_COMMENT.match(line) is not None for line in lines) > len(lines):
        return [_COMMENT.sub("", line, count=1) for line in lines]
    return lines


def _unless_prose(match: re.Match[str]) -> str:
    """Removes a tag, but keeps text in angle brackets that has the words of a sentence."""
    inner = _ATTRIBUTE.sub(" ", match.group()[1:-1])
    return f"\n{inner}\n" if _says(inner) or len(inner.split()) >= 4 else "\n"


def _says(text: str) -> bool:
    """Returns whether a text has the words of a sentence: five words of four letters, or ten characters of a script
    without spaces.
    """
    return len(_WORD.findall(_COMMAND.sub(" ", text))) >= 5 or sum(char > "\u3040" for char in text) >= 10


def _unless_said(match: re.Match[str]) -> str:
    return match.group() if _says(match.group()) else " "


def _without(text: str, opening: str, closing: str) -> str:
    if opening not in text:
        return text
    parts: list[str] = []
    after = 0
    start = text.find(opening)
    while start >= 0:
        begin = start + len(opening)
        end = text.find(closing, begin, begin + _LONGEST_FORMULA)
        if end < 0:
            parts.append(text[after:begin])
            after = begin
        else:
            inner = text[begin:end]
            parts.append(text[after:start])
            parts.append(inner if _says(inner) else " ".join(["", *_TEXT_COMMAND.findall(inner), ""]))
            after = end + len(closing)
        start = text.find(opening, after)
    parts.append(text[after:])
    return "".join(parts)
