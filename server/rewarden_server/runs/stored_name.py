"""Names as the store takes them: callers choose them, and SQLite and UTF-8 do not hold every text of Python."""

from __future__ import annotations


def stored_name(name: str, most: int | None = None) -> str:
    """Returns a name of at most so many characters, without halves of surrogate pairs and NUL."""
    return name[:most].encode("utf-8", "replace").decode().replace("\0", "\ufffd")
