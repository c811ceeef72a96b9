"""Names as they are stored: callers choose them, and SQLite and UTF-8 cannot hold every Python string."""

from __future__ import annotations


def stored_name(name: str, most: int | None = None) -> str:
    """Returns a name of at most this many characters, without lone surrogates and NUL."""
    return name[:most].encode("utf-8", "replace").decode().replace("\0", "\ufffd")
