"""The feedback for the policy: a limited view of the difference between the results."""

from __future__ import annotations

from collections.abc import Sequence

from rewarden_verifiers.extraction import encodable
from rewarden_verifiers.sql.comparison.arrangement import likeliest
from rewarden_verifiers.sql.comparison.columns import columns_of, shaped_rows
from rewarden_verifiers.sql.comparison.matching import alone
from rewarden_verifiers.sql.comparison.settings import Comparison
from rewarden_verifiers.sql.engines.engine import Cell, ResultSet

MOST = 2000
"""The maximum length in characters."""

_CELL = 60
_ROW = 400
_CELLS = 20
_NAMES = 200

_WORDS = {
    "column_count": "the number of columns differs",
    "column_names": "the names of the columns differ",
    "row_count": "the number of rows differs",
    "values": "the values differ",
    "order": "the rows are right, but in another order",
    "duplicates": "the rows are right, but some occur more or less often",
}


def difference(
    how: str | None, expected: ResultSet, got: ResultSet, rows: int, comparison: Comparison | None = None
) -> str:
    """Describes the difference: a message, the sizes of both results, the column names if they matter, and the first
    rows that only one side has, as often as it has them in surplus; if only the order differs, the first positions that
    differ.

    comparison: how the two were compared: rows that agree under it count as the same. At most `MOST` characters. A cell
    cannot start a new line: non-printing characters are escaped. Never raises.
    """
    comparison = comparison or Comparison()
    lines = [f"{_WORDS.get(how or '', 'the results differ')}: expected {_size(expected)}, got {_size(got)}"]
    if how in ("column_count", "column_names"):
        lines += (f"columns expected: {_names(expected)}", f"columns got: {_names(got)}")
    if rows:
        places = _places(how, expected, got, comparison)
        if places is not None:
            lines += _side("expected, but not there", expected, places[0], rows)
            lines += _side("there, but not expected", got, places[1], rows)
    text = encodable("\n".join(lines))
    return text if len(text) <= MOST else text[: MOST - 1] + "…"


def _places(
    how: str | None, expected: ResultSet, got: ResultSet, comparison: Comparison
) -> tuple[list[int], list[int]] | None:
    """The positions of the rows to show; None if rows cannot be compared side by side."""
    if not expected.rows or not got.rows:
        return list(range(len(expected.rows))), list(range(len(got.rows)))
    ours, theirs = columns_of(expected, comparison.folded), columns_of(got, comparison.folded)
    if comparison.columns != "name" and (not ours or not comparison.fits(len(ours), len(theirs))):
        return None
    pairs = likeliest(ours, theirs, comparison)
    if len(pairs) < len(ours):
        return None
    left, right = shaped_rows(pairs, comparison)
    tolerance = comparison.tolerance
    if how == "order":
        differ = [
            place for place in range(min(len(left), len(right))) if any(alone([left[place]], [right[place]], tolerance))
        ]
        return differ, differ
    return alone(left, right, tolerance)


def _size(result: ResultSet) -> str:
    rows, columns = len(result.rows), len(result.columns)
    return f"{rows} row{'s' * (rows != 1)} of {columns} column{'s' * (columns != 1)}"


def _names(result: ResultSet) -> str:
    shown = ", ".join(_printed(name) for name in result.columns[:_CELLS])
    return shown[:_NAMES] + ("…" if len(result.columns) > _CELLS or len(shown) > _NAMES else "")


def _side(title: str, result: ResultSet, places: Sequence[int], most: int) -> list[str]:
    if not places:
        return []
    more = f" ({len(places)}, the first {most})" if len(places) > most else ""
    return [f"{title}{more}:", *(_row(result.rows[place]) for place in places[:most])]


def _row(row: tuple[Cell, ...]) -> str:
    text = ", ".join(_cell(cell) for cell in row[:_CELLS])
    return f"  ({text[:_ROW]}{', …' if len(row) > _CELLS or len(text) > _ROW else ''})"


def _cell(cell: Cell) -> str:
    if cell is None:
        return "NULL"
    if isinstance(cell, bytes):
        return f"<{len(cell)} bytes>"
    try:
        # In a list or structure, only repr() distinguishes texts from numbers.
        text = repr(cell) if isinstance(cell, (list, tuple, dict)) else str(cell)
    except (ValueError, RecursionError):  # an integer with thousands of digits; a list nested too deeply
        text = f"<{type(cell).__name__}>"
    return _printed(text)


def _printed(text: str) -> str:
    """Returns the text on one line, with non-printing characters escaped: a cell cannot forge lines or hide text."""
    cut = text[:_CELL]
    shown = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in cut)
    if len(text) > _CELL or len(shown) > _CELL:
        return shown[: _CELL - 1] + "…"
    return shown
