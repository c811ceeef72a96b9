"""Reads unified diffs, git's and plain ones, anywhere in a text.

A hunk's header states how many lines the hunk has: a removed line that looks like a header is content. Models
miscount, so a hunk whose lines do not fit its counts is counted anew, as by `git apply --recount`: it ends where its
lines end. An empty line counts as empty context, since many models drop the space of its mark. Paths lose git's `a/`
and `b/`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rewarden_verifiers.patches.patch import MOST_CHANGES, SYMLINK_MODES, FileDiff, Hunk, Patch, PatchError, safe

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@.*")
_GIT = "diff --git "
_NOWHERE = "/dev/null"
_FENCES = ("```", "~~~")
_ESCAPE = re.compile(r'\\([abtnvfr"\\]|[0-3][0-7]{2})')
_ESCAPED = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}
_BARE_PAIR = re.compile(r'(?P<old>"(?:[^"\\]|\\.){1,4000}"|a/.{1,1000}) (?P<new>"(?:[^"\\]|\\.){1,4000}"|b/.{1,1000})')


def has_diff(lines: Sequence[str]) -> bool:
    """Returns whether a diff begins somewhere in a text."""
    return any(line.startswith(_GIT) or _titles(lines, at) for at, line in enumerate(lines))


def read_diffs(lines: Sequence[str]) -> Patch:
    """Returns the changes of all diffs in a text. Raises PatchError if one is malformed or unsafe."""
    changes: list[FileDiff] = []
    hunks = 0
    at = 0
    fenced = False
    while at < len(lines):
        if lines[at].startswith(_GIT) or _titles(lines, at):
            change, at = _file(lines, at, fenced)
            changes.append(change)
            hunks += 1 + len(change.hunks)
            if hunks > MOST_CHANGES:
                raise PatchError("too_expensive", f"the diff has more than {MOST_CHANGES} files and hunks")
        elif _HUNK.fullmatch(lines[at]):
            raise PatchError("malformed_patch", f"a hunk without a file before it: {lines[at][:80]}")
        else:
            fenced ^= lines[at].startswith(_FENCES)
            at += 1
    return Patch("diff", tuple(changes))


def _titles(lines: Sequence[str], at: int) -> bool:
    """Returns whether the lines `---` and `+++` of a file stand here, with a hunk after them."""
    return (
        lines[at].startswith("--- ")
        and at + 2 < len(lines)
        and lines[at + 1].startswith("+++ ")
        and lines[at + 2].startswith("@@ ")
    )


def _file(lines: Sequence[str], at: int, fenced: bool) -> tuple[FileDiff, int]:
    """Returns the file that begins at a line, and the line after it."""
    head: dict[str, str] = {}
    bare = lines[at][len(_GIT) :] if lines[at].startswith(_GIT) else None
    if bare is not None:
        at += 1
        while at < len(lines) and (entry := _entry(lines[at])) is not None:
            head[entry[0]] = entry[1]
            at += 1
    for title, mark in (("---", "--- "), ("+++", "+++ ")):
        if at < len(lines) and lines[at].startswith(mark) and (title == "+++" or _pair(lines, at)):
            head[title] = lines[at][4:]
            at += 1
    hunks: list[Hunk] = []
    while at < len(lines) and lines[at].startswith("@@"):
        hunk, at = _hunk(lines, at, fenced)
        hunks.append(hunk)
    return _made(head, bare, tuple(hunks)), at


_ENTRIES = (
    "index ",
    "old mode ",
    "new mode ",
    "new file mode ",
    "deleted file mode ",
    "similarity index ",
    "dissimilarity index ",
    "rename from ",
    "rename to ",
    "copy from ",
    "copy to ",
    "Binary files ",
    "GIT binary patch",
)


def _entry(line: str) -> tuple[str, str] | None:
    return next(((name.strip(), line[len(name) :]) for name in _ENTRIES if line.startswith(name)), None)


def _pair(lines: Sequence[str], at: int) -> bool:
    return at + 1 < len(lines) and lines[at + 1].startswith("+++ ")


def _hunk(lines: Sequence[str], at: int, fenced: bool) -> tuple[Hunk, int]:
    """Returns the hunk whose header is at a line, and the line after it."""
    header = _HUNK.fullmatch(lines[at])
    if header is None:
        raise PatchError("malformed_patch", f"the header of a hunk has no line numbers: {lines[at][:80]}")
    old, new = (int(header[group]) if header[group] is not None else 1 for group in (2, 4))
    end = _counted_end(lines, at + 1, old, new)
    if end is None or _continues(lines, end):
        end = _recounted_end(lines, at + 1, fenced)
        if old and not any(line[:1] != "+" for line in lines[at + 1 : end]):
            # Without old lines nothing tells whether its lines belong before or after the stated one.
            raise PatchError("malformed_patch", f"a hunk has fewer old lines than it states: {lines[at][:80]}")
    # Without old lines, the number is that of the line before.
    return _lines_of(lines[at + 1 : end], int(header[1]) + (old == 0)), end


def _counted_end(lines: Sequence[str], at: int, old: int, new: int) -> int | None:
    """Returns the line after a hunk with so many old and new lines; None if other lines stand there."""
    while old or new or (at < len(lines) and lines[at].startswith("\\ ")):
        mark = (lines[at][:1] or " ") if at < len(lines) else ""
        if mark == "\\" and lines[at].startswith("\\ "):
            at += 1
            continue
        if mark not in ("+", "-", " ") or (mark != "+" and not old) or (mark != "-" and not new):
            return None
        old -= mark != "+"
        new -= mark != "-"
        at += 1
    return at


def _continues(lines: Sequence[str], at: int) -> bool:
    """Returns whether a hunk has more lines than it states, with changes or a hunk behind them that would be lost."""
    first = at
    while at < len(lines) and lines[at][:1] in (" ", "+", "-") and not _ends(lines, at):
        if lines[at][0] != " ":
            return True
        at += 1
    return first < at < len(lines) and lines[at].startswith("@@ ")


def _recounted_end(lines: Sequence[str], at: int, fenced: bool) -> int:
    """Returns the line after a hunk that states wrong counts.

    It ends before the next one, the next file or the fence's end, and outside of a fence also before prose behind an
    empty line. Any other line without a mark is malformed: the hunk would lose the changes after it.
    """
    first = at
    while at < len(lines) and not _ends(lines, at):
        if lines[at] and lines[at][0] not in " +-\\":
            if fenced or lines[at - 1]:
                raise PatchError("malformed_patch", f"a line of a hunk has no mark: {lines[at][:80]}")
            break
        at += 1
    while at > first and not lines[at - 1]:  # an empty line at the end is none of the hunk's
        at -= 1
    return at


def _ends(lines: Sequence[str], at: int) -> bool:
    """Returns whether a line ends any hunk: the next hunk or file, a closing tag, a fence, or a mail's signature."""
    line = lines[at]
    return line.startswith(("@@ ", _GIT, "</", *_FENCES)) or line.rstrip() == "--" or _titles(lines, at)


def _lines_of(lines: Sequence[str], start: int) -> Hunk:
    """Returns a hunk of these lines."""
    before: list[str] = []
    after: list[str] = []
    ends: bool | None = None
    mark = ""
    for line in lines:
        if line.startswith("\\"):
            # The marker on a removed line says that the old file ended without a line break, the new one has it.
            if mark != "-":
                ends = False
            elif ends is None:
                ends = True
            continue
        mark, content = (line[0], line[1:]) if line else (" ", "")
        if mark != "+":
            before.append(content)
        if mark != "-":
            after.append(content)
    return Hunk(start, tuple(before), tuple(after), ends)


def _made(head: dict[str, str], bare: str | None, hunks: tuple[Hunk, ...]) -> FileDiff:
    if "Binary files" in head or "GIT binary patch" in head:
        raise PatchError("malformed_patch", "the patch changes a binary file")
    if "copy from" in head or "copy to" in head:
        raise PatchError("malformed_patch", "the patch copies a file; write the copy as a new file")
    mode = head.get("new mode", head.get("new file mode"))
    modes = (mode, head.get("old mode"), head.get("deleted file mode"), head.get("index", "").partition(" ")[2])
    if any(one is not None and one.strip() in SYMLINK_MODES for one in modes):
        # A link in the patch could lead a later change out of the folder.
        raise PatchError("unsafe_path", "the patch makes or changes a symbolic link or a submodule")
    old, new = _names(head, bare)
    if old is None and new is None:
        raise PatchError("malformed_patch", "a diff names no file")
    if "new file mode" in head and old is not None and "---" not in head:
        old = None
    if "deleted file mode" in head and new is not None and "+++" not in head:
        new = None
    if old is not None and new is not None and old != new and "rename from" not in head:
        raise PatchError("malformed_patch", f"a diff names two files, {old[:80]} and {new[:80]}, and no rename")
    return FileDiff(old, new, hunks, mode.strip() if mode is not None else None)


def _names(head: dict[str, str], bare: str | None) -> tuple[str | None, str | None]:
    """Returns a file's path before and after; None if there is no file."""
    if "rename from" in head and "rename to" in head:
        return safe(_unquoted(head["rename from"])), safe(_unquoted(head["rename to"]))
    if "---" in head and "+++" in head:
        old, new = (_unquoted(head[title].partition("\t")[0].rstrip()) for title in ("---", "+++"))
    elif bare is not None and (pair := _bare(bare)) is not None:
        old, new = pair
    else:
        raise PatchError("malformed_patch", "a diff names no file")
    prefixed = all(one == _NOWHERE or one.startswith(prefix) for one, prefix in ((old, "a/"), (new, "b/")))
    if prefixed:
        old, new = (one if one == _NOWHERE else one[2:] for one in (old, new))
    return (None if old == _NOWHERE else safe(old)), (None if new == _NOWHERE else safe(new))


def _bare(text: str) -> tuple[str, str] | None:
    """Returns the two paths of a line `diff --git`: equal ones, since a rename is stated in lines of its own."""
    half, odd = divmod(len(text) - 1, 2)
    if not odd and text[half : half + 1] == " " and text[:half][2:] == text[half + 1 :][2:]:
        return _unquoted(text[:half]), _unquoted(text[half + 1 :])
    found = _BARE_PAIR.fullmatch(text)
    return (_unquoted(found["old"]), _unquoted(found["new"])) if found is not None else None


def _unquoted(path: str) -> str:
    """Returns a path without the quotes and escapes that git writes around unusual characters."""
    if len(path) < 2 or path[0] != '"' or path[-1] != '"':
        return path
    raw = bytearray()
    end = 0
    inner = path[1:-1]
    for found in _ESCAPE.finditer(inner):
        raw += inner[end : found.start()].encode("utf-8", "surrogatepass")
        code = found[1]
        raw.append(_ESCAPED[code] if code in _ESCAPED else int(code, 8))
        end = found.end()
    raw += inner[end:].encode("utf-8", "surrogatepass")
    return raw.decode("utf-8", "replace")
