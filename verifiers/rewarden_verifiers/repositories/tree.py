"""The files of a repository, and the interface that reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Blob:
    """A file. link: whether it is a symbolic link, whose target is `data`."""

    data: bytes
    executable: bool = False
    link: bool = False
    mode: int | None = None


Tree = Mapping[str, Blob]


class Repositories(Protocol):
    """Reads the repositories that references name."""

    def read(self, name: str, commit: str | None) -> Tree:
        """Reads the files of a folder, of a commit of a git repository, or of a tar archive. Blocks. Raises
        InvalidReference.
        """
