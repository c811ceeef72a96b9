"""Documents of a corpus, and the files that contain them. Imports nothing heavy, because a server reads the files when
it starts."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A document. title: may be empty."""

    id: str
    text: str
    title: str = ""


def read_entries(path: Path) -> Iterable[Entry]:
    """The documents of a file. Raises OSError, and ValueError naming the line."""
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
                entry = Entry(id=str(row["id"]), text=row["text"], title=row.get("title") or "")
                if not isinstance(entry.text, str) or not isinstance(entry.title, str):
                    raise TypeError("text and title must be strings")
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise ValueError(f"{path}:{number}: not an object with id, text and perhaps title: {error!r}") from None
            yield entry


def check_entries(path: Path) -> None:
    """Validates a whole file. Raises OSError; ValueError for a line that is not a document, a repeated id, or an empty
    file.
    """
    seen: set[str] = set()
    for entry in read_entries(path):
        if entry.id in seen:
            raise ValueError(f"{path}: two documents have the id {entry.id[:100]!r}")
        seen.add(entry.id)
    if not seen:
        raise ValueError(f"{path}: there are no documents")
