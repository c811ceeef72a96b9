"""Markdown that renders the same on a repository's page and on the site."""

from __future__ import annotations

import html
import json
from typing import Any


def code(value: Any, width: int | None = None) -> str:
    """A text, or a value as JSON, in one line as code, cut to `width` characters; safe within the cell of a table."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = text.replace("\n", "⏎")
    text = "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)
    if width is not None and len(text) > width:
        text = text[: width - 1] + "…"
    if not text.strip():
        return "(blank)" if text else "(empty)"
    if not set("`|") & set(text) and text == text.strip():
        return f"`{text}`"
    # A backtick ends code, and renderers differ on a bar in a cell: then every character that could mean something.
    plain = "".join(
        character if character.isalnum() or character in " …⏎" else f"&#{ord(character)};" for character in text
    )
    return f"<code>{plain}</code>"


def cell(text: str) -> str:
    """A text that is safe within a cell of a table."""
    return html.escape(" ".join(text.split()), quote=False).replace("|", "\\|")


def table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    """A table's lines; none if there are no rows. Cells must be safe already."""
    if not rows:
        return []
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return [*lines, *("| " + " | ".join(row) + " |" for row in rows), ""]
