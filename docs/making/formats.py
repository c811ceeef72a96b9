"""The formats of tool calls, as a table on the page of `tool_calls`."""

from __future__ import annotations

from making.markdown import code, table
from rewarden_verifiers.tools.tool_calls.formats import FORMATS, UNMARKED


def section() -> list[str]:
    """Returns the section's lines."""
    rows = [(row.name, row.shape, row.families, row.written) for row in FORMATS]
    rows += [(name, shape, families, written) for name, shape, families, written in UNMARKED]
    return [
        "## Formats",
        "",
        f"There are {len(rows)}, {len(UNMARKED)} of them without marks. `shapes` takes shapes and formats.",
        "",
        *table(
            ("format", "shape", "models", "written"),
            [(code(name), code(shape), families, _spans(written)) for name, shape, families, written in rows],
        ),
    ]


def _spans(written: str) -> str:
    """A description whose spans of code stay such within a cell, whatever they hold."""
    pieces = written.split("`")
    return "".join(code(piece) if number % 2 else piece for number, piece in enumerate(pieces))
