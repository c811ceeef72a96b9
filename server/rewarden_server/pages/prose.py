"""Docstrings and values as markup. All that goes in is escaped."""

from __future__ import annotations

import json
import re
from html import escape
from textwrap import dedent
from typing import Any


def prose(text: str) -> str:
    """A docstring's paragraphs; indented ones keep their lines."""
    made = []
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        if any(line.startswith("    ") for line in paragraph.split("\n")):
            made.append(f'<pre class="text" tabindex="0">{escape(dedent(paragraph))}</pre>')
        else:
            made.append(f"<p>{prose_line(paragraph)}</p>")
    return "".join(made)


def prose_line(text: str) -> str:
    """A line, with what is in backticks set as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))


_LINK = re.compile(r"\[([^\]]+)\]\((https://[\w./?=#&;:%~-]+)\)")


def linked(text: str) -> str:
    """A line of ours with Markdown's links. Never for a text that quotes a request, whose links are its sender's."""
    return _LINK.sub(r'<a href="\2" rel="noreferrer">\1</a>', prose_line(text))


def pretty(value: Any) -> str:
    """JSON on several lines, in a block of its own that scrolls by itself."""
    return f'<pre class="text" tabindex="0">{escape(json.dumps(value, indent=1, ensure_ascii=False))}</pre>'


def code(value: Any) -> str:
    """JSON within a line."""
    return f"<code>{escape(json.dumps(value, ensure_ascii=False))}</code>"
