"""Finds the patch in a response: search/replace blocks, unified diffs, or whole files.

The first form that the response contains is read, in this order, and the others are prose: the response never chooses
among readings of its own text, so nothing is gained by a patch in several forms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from rewarden_verifiers.patches.blocks import has_block, read_blocks, read_files
from rewarden_verifiers.patches.diffs import has_diff, read_diffs
from rewarden_verifiers.patches.patch import Patch, PatchError

Form = Literal["search_replace", "diff", "files"]
FORMS: tuple[Form, ...] = ("search_replace", "diff", "files")

MOST_CHARACTERS = 1_000_000
"""Characters of a text that is read."""

_READERS: Mapping[Form, tuple[Callable[[Sequence[str]], bool], Callable[[Sequence[str]], Patch]]] = {
    "search_replace": (has_block, read_blocks),
    "diff": (has_diff, read_diffs),
    "files": (lambda lines: any(line.lstrip().startswith(("```", "~~~")) for line in lines), read_files),
}


def read_patch(text: str, forms: Sequence[Form] = FORMS) -> Patch:
    """Returns the patch in a text, in one of these forms. Linear in the text.

    Raises PatchError: `no_patch`, `malformed_patch`, `unsafe_path`, `hedged` (two versions of a file),
    `too_expensive`.
    """
    if len(text) > MOST_CHARACTERS:
        raise PatchError("too_expensive", f"the text has {len(text)} characters; at most {MOST_CHARACTERS} are read")
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
    for form in FORMS:
        has, read = _READERS[form]
        if form in forms and has(lines):
            patch = read(lines)
            if patch.changes:
                return patch
    raise PatchError("no_patch", "the response contains no patch")
