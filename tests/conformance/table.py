"""The table of docs/trainers/README.md, which is the specification that the tests of this folder hold true."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs/trainers/README.md"
BEGIN, END = "<!-- conformance: begin -->", "<!-- conformance: end -->"


def read() -> dict[str, dict[str, str]]:
    """Front to situation to what happens, in the page's words."""
    inside = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    head, _, *rows = [_cells(line) for line in inside.split("\n") if "|" in line]
    return {row[0]: dict(zip(head[1:], row[1:], strict=True)) for row in rows}


def _cells(line: str) -> list[str]:
    return [cell.strip().strip("`") for cell in line.strip()[1:-1].split("|")]
