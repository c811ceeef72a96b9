"""The reference of `patch_similarity`, read: the files, and the expected change as diffs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from rewarden.errors import InvalidReference
from rewarden_verifiers.patches.applying import apply_patch
from rewarden_verifiers.patches.gestalt import Budget, TooMuchWork, unified
from rewarden_verifiers.patches.patch import PatchError, safe
from rewarden_verifiers.patches.reading import read_patch

MOST_FILES = 1_000
MOST_CONTENT = 5_000_000
"""Characters of all files of a reference."""
MOST_DIFF = 50_000
"""Characters of all diffs of a change: larger ones cannot be compared within the time of a verdict."""
_CONTEXT = 3
"""Lines around each change in a diff, as in SWE-RL's code."""
_MOST_STEPS = 3_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchReference:
    """A change to files.

    files: the files before the change, by path. patch: the expected change, a unified diff or another form that
    responses can have. after: alternatively, the new content of each file that changes, or null where it is removed.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    files: dict[str, str]
    patch: str | None = None
    after: dict[str, str | None] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ExpectedChange:
    """A reference, read. diffs: the expected diff of each file that changes. blank: those that change blanks alone."""

    files: Mapping[str, str]
    diffs: Mapping[str, str]
    blank: frozenset[str]


def expected_change(reference: PatchReference) -> ExpectedChange:
    """Returns a reference, read.

    Raises InvalidReference for unusable files, an expected patch that does not apply, or one that changes nothing.
    """
    if (reference.patch is None) == (reference.after is None):
        raise InvalidReference("the reference needs either 'patch' or 'after'", path="reference")
    files = _contents(reference.files)
    try:
        if reference.patch is not None:
            after = apply_patch(read_patch(reference.patch), files).files
        else:
            after = _after(reference.after or {})
    except PatchError as error:
        raise InvalidReference(f"the expected patch cannot be used: {error.detail}", path="reference.patch") from error
    try:
        diffs = diffs_of(files, after, Budget(_MOST_STEPS))
    except TooMuchWork as error:
        raise InvalidReference("the expected change takes too much work to compare", path="reference") from error
    if not diffs:
        raise InvalidReference("the expected patch changes no line: no patch could be right", path="reference")
    if (size := sum(map(len, diffs.values()))) > MOST_DIFF:
        raise InvalidReference(
            f"the diffs of the expected change have {size} characters; at most {MOST_DIFF} are compared",
            path="reference",
        )
    blank = frozenset(path for path in diffs if blanks_alone(files.get(path), after[path]))
    return ExpectedChange(files, diffs, blank)


def diffs_of(files: Mapping[str, str], after: Mapping[str, str | None], budget: Budget) -> dict[str, str]:
    """Returns the diff of each file that has other lines afterwards. Raises TooMuchWork."""
    made = {path: unified(files.get(path, ""), after[path] or "", _CONTEXT, budget) for path in sorted(after)}
    return {path: diff for path, diff in made.items() if diff}


def blanks_alone(before: str | None, after: str | None) -> bool:
    """Returns whether two contents differ in blanks alone."""
    return "".join((before or "").split()) == "".join((after or "").split())


def _contents(files: Mapping[str, str]) -> dict[str, str]:
    if len(files) > MOST_FILES or sum(map(len, files.values())) > MOST_CONTENT:
        raise InvalidReference(
            f"the files are more than {MOST_FILES}, or have more than {MOST_CONTENT} characters", path="reference.files"
        )
    try:
        return {safe(path): content.replace("\r\n", "\n") for path, content in files.items()}
    except PatchError as error:
        raise InvalidReference(error.detail, path="reference.files") from error


def _after(after: Mapping[str, str | None]) -> dict[str, str | None]:
    return {safe(path): None if text is None else text.replace("\r\n", "\n") for path, text in after.items()}
