"""The files of a repository, and how they are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Blob:
    """A file. link: it is a symbolic link, and `data` says where to."""

    data: bytes
    executable: bool = False
    link: bool = False
    mode: int | None = None


Tree = Mapping[str, Blob]


class Repositories(Protocol):
    """Reads the repositories that references name."""

    def read(self, name: str, commit: str | None) -> Tree:
        """Returns the files of a folder, or of a commit of a git repository, or of a tar archive. Blocks. Raises
        InvalidReference."""
