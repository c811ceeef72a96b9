"""Applies a patch to files, strictly and in memory.

A hunk applies where all its old lines are: at the line that it states or, if they are not there, at the nearest place,
as with `git apply` and `patch --fuzz=0`. Unlike with these, a hunk without context at its end need not be at the end of
the file. There is no fuzz: context that differs means that the patch is for another file.

A block's search text is whole lines that occur in the file exactly once. `lenient` matches as SWE-RL's code does: the
text begins with a line but need not end with one, and every occurrence is replaced.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rewarden_verifiers.patches.patch import Block, FileDiff, Hunk, Patch, PatchError, WholeFile

MOST_CONTENT = 5_000_000
"""Characters of a changed file."""
_MOST_WORK = 200_000_000
"""Characters that searches pass; a line counts as 50. About half a second."""
_LINE = 50


@dataclass(frozen=True, slots=True)
class Applied:
    """The effect of a patch. files: each changed file's new content; None: it is gone. modes: each new mode, in git's
    notation.
    """

    files: Mapping[str, str | None]
    modes: Mapping[str, str]


def apply_patch(patch: Patch, files: Mapping[str, str], *, lenient: bool = False) -> Applied:
    """Returns the files that a patch changes; a file that ends as it was is not among them.

    Raises PatchError: `file_not_found`, `file_exists`, `path_conflict` (a file where a folder is), `search_not_found`,
    `search_repeated`, `hunk_mismatch`, `no_change` (a block that replaces a text by itself), `too_expensive`.
    """
    work = _Work(files)
    modes: dict[str, str] = {}
    for change in patch.changes:
        if isinstance(change, Block):
            content = work.content(change.path)
            work.charge(len(content or "") + len(change.search))
            work.write(change.path, _replaced(content, change, lenient))
        elif isinstance(change, WholeFile):
            work.write(change.path, change.content)
        else:
            _diff(work, change)
            if change.mode is not None and change.new is not None:
                modes[change.new] = change.mode
    changed = {path: content for path, content in work.written.items() if content != files.get(path)}
    _check_places(changed, files)
    return Applied(changed, {path: mode for path, mode in modes.items() if work.content(path) is not None})


class _Work:
    """The files while the patch is applied."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = files
        self._left = _MOST_WORK
        self.written: dict[str, str | None] = {}

    def charge(self, steps: int) -> None:
        """Counts the work of a search. Raises PatchError beyond the limit."""
        self._left -= steps
        if self._left < 0:
            raise PatchError("too_expensive", "applying the patch takes too much work")

    def content(self, path: str) -> str | None:
        """Returns a file's content; None if there is no such file."""
        return self.written[path] if path in self.written else self._files.get(path)

    def write(self, path: str, content: str | None) -> None:
        """Changes a file; None removes it."""
        if content is not None and len(content) > MOST_CONTENT:
            raise PatchError("too_expensive", f"{path[:80]} grows beyond {MOST_CONTENT} characters")
        self.written[path] = content


def _check_places(changed: Mapping[str, str | None], files: Mapping[str, str]) -> None:
    there = {path for path in (*files, *changed) if changed.get(path, "") is not None}
    folders = {path[:end] for path in there for end in _slashes(path)}
    for path, content in changed.items():
        if content is not None and (path in folders or any(path[:end] in there for end in _slashes(path))):
            raise PatchError("path_conflict", f"{path[:80]} is a file and a folder")


def _slashes(path: str) -> Iterable[int]:
    return (at for at, one in enumerate(path) if one == "/")


def _replaced(content: str | None, block: Block, lenient: bool) -> str:
    if block.search == block.replace:
        raise PatchError("no_change", f"a block for {block.path[:80]} replaces a text by itself")
    if lenient:
        return _replaced_everywhere(content or "", block)
    if not block.search.strip():
        if content is not None and content.strip():
            raise PatchError("file_exists", f"an empty search text is for a new file; {block.path[:80]} is there")
        return block.replace + "\n" if block.replace else ""
    if content is None:
        raise PatchError("file_not_found", f"there is no file {block.path[:80]}")
    # With a line break at each end, only whole lines match.
    framed = f"\n{content}" if content.endswith("\n") else f"\n{content}\n"
    wanted = f"\n{block.search}\n"
    at = framed.find(wanted)
    if at < 0:
        raise PatchError("search_not_found", f"the search text of a block is not in {block.path[:80]}")
    if framed.find(wanted, at + 1) >= 0:
        raise PatchError("search_repeated", f"the search text of a block occurs in {block.path[:80]} more than once")
    new = f"\n{block.replace}\n" if block.replace else "\n"
    result = (framed[:at] + new + framed[at + len(wanted) :])[1:]
    return result if content.endswith("\n") else result.removesuffix("\n")


def _replaced_everywhere(content: str, block: Block) -> str:
    framed, wanted, new = f"\n{content}", f"\n{block.search}", f"\n{block.replace}"
    count = framed.count(wanted)
    if not count:
        raise PatchError("search_not_found", f"the search text of a block is not in {block.path[:80]}")
    if len(framed) + count * len(new) > MOST_CONTENT:
        raise PatchError("too_expensive", f"{block.path[:80]} grows beyond {MOST_CONTENT} characters")
    return framed.replace(wanted, new)[1:]


def _diff(work: _Work, change: FileDiff) -> None:
    if change.old is None:
        assert change.new is not None
        if work.content(change.new) is not None:
            raise PatchError("file_exists", f"the patch makes {change.new[:80]}, which is there")
        old = ""
    else:
        found = work.content(change.old)
        if found is None:
            raise PatchError("file_not_found", f"there is no file {change.old[:80]}")
        old = found
    new = _patched(work, old, change)
    if change.new is None:
        assert change.old is not None
        if new and change.hunks:
            raise PatchError("hunk_mismatch", f"the patch deletes {change.old[:80]}, but not all of its lines")
        work.write(change.old, None)
        return
    if change.old is not None and change.old != change.new:
        if work.content(change.new) is not None:
            raise PatchError("file_exists", f"the patch renames a file to {change.new[:80]}, which is there")
        work.write(change.old, None)
    work.write(change.new, new)


def _patched(work: _Work, old: str, change: FileDiff) -> str:
    if not change.hunks:
        return old
    work.charge(len(old))
    lines = old.split("\n")
    ends = not old or not lines[-1]
    if not lines[-1]:
        lines.pop()
    made: list[str] = []
    done = 0
    shift = 0
    for hunk in change.hunks:
        at = _place(work, lines, hunk, done, hunk.start - 1 + shift)
        if at is None:
            raise PatchError(
                "hunk_mismatch",
                f"a hunk for line {hunk.start} does not apply to {(change.old or change.new or '')[:80]}",
            )
        shift = at - (hunk.start - 1)  # the next hunk is looked for where this one proved to be
        made += lines[done:at]
        made += hunk.after
        done = at + len(hunk.before)
        if hunk.ends is not None and done >= len(lines):
            ends = hunk.ends
    made += lines[done:]
    return "\n".join(made) + ("\n" if ends and made else "")


def _place(work: _Work, lines: list[str], hunk: Hunk, least: int, wanted: int) -> int | None:
    """Returns the place nearest to the wanted one, not before `least`, at which all old lines of a hunk stand."""
    size = len(hunk.before)
    last = len(lines) - size
    if not size:
        return wanted if least <= wanted <= last else None
    before = list(hunk.before)
    if least <= wanted <= last and lines[wanted : wanted + size] == before:
        return wanted
    rarest = max(range(size), key=lambda at: len(before[at]))  # a long line stands in few places
    work.charge(_LINE * max(0, last - least + 1))
    near = [at - rarest for at in range(least + rarest, last + rarest + 1) if lines[at] == before[rarest]]
    work.charge(_LINE * size * len(near))
    places = [at for at in near if lines[at : at + size] == before]
    # As `git apply` does: of two places equally far, the later one.
    return min(places, key=lambda at: (abs(at - wanted), -at), default=None)
