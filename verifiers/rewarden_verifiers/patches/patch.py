"""A patch: the changes to files that a response asks for, in the order in which they apply.

Every reader of this package makes one, and `applying` applies it. A reader or the application raises `PatchError` if
the patch cannot be used; its `reason` becomes the verdict's.
"""

from __future__ import annotations

from dataclasses import dataclass

MOST_PATH = 1_000
"""Characters of a path."""
MOST_CHANGES = 2_000
"""Blocks, files or hunks of a patch; no honest patch needs more."""

SYMLINK_MODES = ("120000", "160000")
"""Git's modes of symbolic links and submodules, through which a path can lead out of the folder."""


class PatchError(Exception):
    """A patch that cannot be read or applied. reason: snake_case. detail: a sentence for people."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Hunk:
    """A hunk of a unified diff. start: the line of the old file at which it begins, from 1.

    before, after: its lines without line breaks in the old and the new file. ends: whether the new last line ends with
    a line break; None if the hunk has no marker, and the file's own end decides.
    """

    start: int
    before: tuple[str, ...]
    after: tuple[str, ...]
    ends: bool | None = None


@dataclass(frozen=True, slots=True)
class FileDiff:
    """A file of a unified diff. old: its path before, None for a new file. new: its path after, None for a deletion.

    mode: its new mode in git's notation, if the diff states one.
    """

    old: str | None
    new: str | None
    hunks: tuple[Hunk, ...]
    mode: str | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """A search/replace block. An empty `search` makes a new file."""

    path: str
    search: str
    replace: str


@dataclass(frozen=True, slots=True)
class WholeFile:
    """The whole new content of a file."""

    path: str
    content: str


Change = FileDiff | Block | WholeFile


@dataclass(frozen=True, slots=True)
class Patch:
    """Changes in their order. form: `search_replace`, `diff` or `files`."""

    form: str
    changes: tuple[Change, ...]


def safe(path: str) -> str:
    """Returns a path relative to the folder of the files, without `.`.

    Raises PatchError for an absolute path, one with `..`, one into git's own folder, and one with characters that only
    a trick needs.
    """
    if not path or len(path) > MOST_PATH or any(ord(one) < 32 or one in "\x7f\\" for one in path):
        raise PatchError("unsafe_path", f"the path {path[:80]!r} is empty, too long or has control characters")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if path.startswith(("/", "~")) or path[1:2] == ":" or ".." in parts or not parts:
        raise PatchError("unsafe_path", f"the path {path[:80]!r} leads out of the folder")
    if any(part.lower() == ".git" for part in parts):
        raise PatchError("unsafe_path", f"the path {path[:80]!r} leads into git's own folder")
    return "/".join(parts)
