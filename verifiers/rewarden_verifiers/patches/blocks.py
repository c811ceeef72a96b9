"""Reads search/replace blocks and whole files, as prompts ask for them: a path, then the changes.

    ### src/app.py               or the path in a line of its own, in backticks, after "File:", or at the fence
    <<<<<<< SEARCH
    the lines to find
    =======
    the lines in their place
    >>>>>>> REPLACE

Blocks can be in fences or outside; a block without a path belongs to the file of the block before it. The first divider
of a block ends its search text. A whole file is a fence with a path: `src/app.py` in its first line ("```python
src/app.py", "```python:src/app.py", "```python title="src/app.py"") or in the line before it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rewarden_verifiers.patches.patch import MOST_CHANGES, Block, Patch, PatchError, WholeFile, safe

_SEARCH = re.compile(r"<{7} SEARCH\s*")
_DIVIDER = re.compile(r"={7}\s*")
_REPLACE = re.compile(r">{7} REPLACE\s*")
_FENCE = re.compile(r"[ ]{0,3}(`{3,}|~{3,})(.*)")
_MARKED = re.compile(r"(?:#{1,6}\s+|\*\*|(?:[Ff]ile(?:name)?|[Pp]ath)\s*:\s*|`)")
_PATH = re.compile(r"[^\s<>|?*:\"'`,;()\[\]{}=]{1,1000}")
_LONGEST_LINE = 1_200
"""Characters of a line that names a path."""
_TITLE = re.compile(r"(?:title|file(?:name)?|path)=[\"']?([^\s\"']{1,1000})[\"']?")


def has_block(lines: Sequence[str]) -> bool:
    """Returns whether a search/replace block begins somewhere in a text."""
    return any(_SEARCH.fullmatch(line) for line in lines)


def read_blocks(lines: Sequence[str]) -> Patch:
    """Returns the search/replace blocks of a text. Raises PatchError if one is not complete or has no path."""
    changes: list[Block] = []
    path: str | None = None
    at = 0
    while at < len(lines):
        if not _SEARCH.fullmatch(lines[at]):
            if _REPLACE.fullmatch(lines[at]):
                raise PatchError("malformed_patch", "a search/replace block has no beginning")
            at += 1
            continue
        named = _path_before(lines, at)
        path = safe(named) if named is not None else path
        if path is None:
            raise PatchError("malformed_patch", "the first search/replace block has no path before it")
        divider = _next(lines, at + 1, _DIVIDER)
        end = _next(lines, divider + 1, _REPLACE)
        changes.append(Block(path, "\n".join(lines[at + 1 : divider]), "\n".join(lines[divider + 1 : end])))
        if len(changes) > MOST_CHANGES:
            raise PatchError("too_expensive", f"the patch has more than {MOST_CHANGES} blocks")
        at = end + 1
    return Patch("search_replace", tuple(changes))


def _next(lines: Sequence[str], at: int, mark: re.Pattern[str]) -> int:
    while at < len(lines) and not _SEARCH.fullmatch(lines[at]):
        if mark.fullmatch(lines[at]):
            return at
        if mark is _DIVIDER and _REPLACE.fullmatch(lines[at]):
            break
        at += 1
    raise PatchError("malformed_patch", "a search/replace block is not complete")


def _path_before(lines: Sequence[str], at: int) -> str | None:
    """Returns the path of a block: in the line before it, or at or above the fence that it begins."""
    if not at:
        return None
    fence = _FENCE.fullmatch(lines[at - 1])
    if fence is None:
        return _path_in_line(lines[at - 1], near=True) or _path_above(lines, at)
    return _path_in_info(fence[2]) or _path_above(lines, at - 1)


def _path_above(lines: Sequence[str], at: int) -> str | None:
    """Returns the path in the line above, at most one empty line away."""
    above = at - 1 if at and lines[at - 1].strip() else at - 2
    return _path_in_line(lines[above]) if above >= 0 else None


def _path_in_line(line: str, near: bool = False) -> str | None:
    """Returns the path that is a line of its own. near: the line is where a path must be, so any word can be one."""
    text = line.strip()
    if len(text) > _LONGEST_LINE:
        return None
    mark = ""
    while (found := _MARKED.match(text)) is not None:
        text, mark = text[found.end() :], found[0]
    text = text.rstrip(":`* ") if mark else text.removesuffix(":")
    if _PATH.fullmatch(text) is None or not any(one.isalnum() for one in text):
        return None
    stated = mark.rstrip().endswith(("`", ":")) or (near and not line.rstrip().endswith(":"))
    return text if stated or _looks_like_path(text) else None


def _looks_like_path(text: str) -> bool:
    return "/" in text or "." in text.strip(".")


def _path_in_info(info: str) -> str | None:
    """Returns the path in the first line of a fence."""
    if (title := _TITLE.search(info[:_LONGEST_LINE])) is not None:
        return title[1]
    for word in info[:_LONGEST_LINE].split():
        for part in (word.partition(":")[2], word):
            if _looks_like_path(part) and _PATH.fullmatch(part):
                return part
    return None


def read_files(lines: Sequence[str]) -> Patch:
    """Returns the fences of a text that have a path. Raises PatchError if one is not closed or a file comes twice."""
    changes: list[WholeFile] = []
    at = 0
    while at < len(lines):
        opened = _FENCE.fullmatch(lines[at])
        if opened is None or "`" in opened[2]:
            at += 1
            continue
        path = _path_in_info(opened[2])
        if path is None:
            path = _path_above(lines, at)
        end = at + 1
        while end < len(lines) and not _closes(lines[end], opened[1]):
            end += 1
        if path is not None:
            if end >= len(lines):
                raise PatchError("malformed_patch", f"the fence of {path[:80]} is not closed")
            changes.append(WholeFile(safe(path), "".join(line + "\n" for line in lines[at + 1 : end])))
            if len(changes) > MOST_CHANGES:
                raise PatchError("too_expensive", f"the response has more than {MOST_CHANGES} files")
        at = end + 1
    if len({change.path for change in changes}) < len(changes):
        # Of two versions, nobody can tell which one is meant.
        raise PatchError("hedged", "the response has two versions of a file")
    return Patch("files", tuple(changes))


def _closes(line: str, fence: str) -> bool:
    text = line.strip()
    return len(text) >= len(fence) and not text.strip(fence[0])
