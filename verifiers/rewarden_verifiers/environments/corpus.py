"""Corpora: documents with a BM25 index (extra `environments`)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from rewarden.errors import MissingDependency
from rewarden_verifiers.environments.contract import BadOptions
from rewarden_verifiers.environments.entries import Entry, read_entries
from rewarden_verifiers.words import tokens

_MOST_WORDS = 64
"""The number of words of a query that count: the cost of each word grows with the corpus."""


class Corpus:
    """Documents that can be searched."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        """Raises MissingDependency; BadOptions if there are no documents, or ids repeat."""
        self.entries = {entry.id: entry for entry in entries}
        if not entries or len(self.entries) != len(entries):
            raise BadOptions("there must be documents, each with an id of its own")
        self._order = list(entries)
        self._index = library().BM25()
        # A blank document has no words, which the library cannot index.
        self._index.index([tokens(f"{entry.title} {entry.text}") or [""] for entry in entries], show_progress=False)

    def search(self, query: str, most: int) -> list[Entry]:
        """The best matches for a query, best first; ties keep the order of the corpus. Documents without any of its
        words are left out.
        """
        words = [word for word in tokens(query) if word in self._index.vocab_dict][:_MOST_WORDS]
        if not words:
            return []
        scores = self._index.get_scores(words)
        (found,) = scores.nonzero()
        return [self._order[at] for at in found[(-scores[found]).argsort(kind="stable")][:most]]


def library() -> Any:
    """The library. Raises MissingDependency."""
    try:
        import bm25s
    except ModuleNotFoundError as error:
        raise MissingDependency(
            "the environment 'search' needs the package 'bm25s': pip install 'rewarden-server[environments]'"
        ) from error
    return bm25s


@lru_cache(maxsize=16)
def of_entries(entries: tuple[Entry, ...]) -> Corpus:
    """The corpus of a request's own documents. Raises as `Corpus` does."""
    return Corpus(entries)


def of_file(path: Path) -> Corpus:
    """The corpus in a file, which is read again only if the file has changed. Raises as `Corpus` does, and OSError."""
    state = path.stat()
    return _of_state(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=4)
def _of_state(path: Path, changed: int, size: int) -> Corpus:
    return Corpus(tuple(read_entries(path)))
