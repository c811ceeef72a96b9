"""IFBench's `custom:csv_*`: tables as comma or tab separated values. They take no arguments."""

from __future__ import annotations

import csv
import io
import re

from rewarden_verifiers.structure.instructions.checker import plain
from rewarden_verifiers.structure.instructions.text import Text

_CITY = ["ID", "Country", "City", "Year", "Count"]
_SPECIAL = re.compile(r"[^\d\w\s]")


def _header(names: str, separator: str) -> re.Pattern[str]:
    return re.compile(separator.join(f'(?:{name}|"{name}")' for name in names.split()))


_PRODUCT = _header("ProductID Category Brand Price Stock", r",[ \t]*")
_STUDENT = _header("StudentID Subject Grade Semester Score", r"\t *")


def _rows(value: str, delimiter: str = ",") -> list[list[str]]:
    """The rows; none where it is no table."""
    try:
        return list(csv.reader(io.StringIO(value), delimiter=delimiter))
    except csv.Error:
        return []


def _quotes_kept(value: str) -> str:
    # A quotation mark written three times is one that opens or closes and one that is kept.
    return value.replace('"', '"""')


@plain("custom:csv_city")
def csv_city(text: Text) -> bool:
    """A header and seven rows of five fields, parted by commas."""
    rows = _rows(text.value)
    return len(rows) == 8 and rows[0] == _CITY and all(len(row) == 5 for row in rows[1:])


def _special(field: str) -> bool:
    """Returns whether quotation marks enclose a character that is no letter, digit or blank; on the field's first
    line.
    """
    line = field.partition("\n")[0]
    last = line.rfind('"')
    return line.startswith('"') and last > 1 and _SPECIAL.search(line, 1, last) is not None


@plain("custom:csv_special_character")
def csv_special_character(text: Text) -> bool:
    """A header and fourteen rows of five fields, parted by commas, with a special character in quotation marks."""
    if _PRODUCT.fullmatch(text.lines[0].strip()) is None:
        return False
    rows = _rows(_quotes_kept(text.value))
    if len(rows) != 15:
        return False
    for row in rows[1:]:
        if len(row) != 5:
            return False
        if any(map(_special, row)):
            return True  # as in the official checker, which looks at no row after it
    return False


@plain("custom:csv_quotes")
def csv_quotes(text: Text) -> bool:
    """A header and three rows of five fields, parted by tabs, each field in quotation marks."""
    if _STUDENT.fullmatch(text.lines[0].strip()) is None:
        return False
    rows = _rows(_quotes_kept(text.value), "\t")
    fields = [field.strip() for row in rows for field in row]
    shaped = len(rows) == 4 and all(len(row) == 5 for row in rows)
    return shaped and all(field.startswith('"') and field.endswith('"') for field in fields)
