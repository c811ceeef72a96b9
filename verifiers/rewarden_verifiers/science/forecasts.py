"""Reads the numbers of a forecast as models write them: lists, lines with labels, tables, amounts, units."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from rewarden_verifiers.puzzles.literals import NotRead, parse

MOST = 1e15
"""The largest number: the squares of all errors have a finite sum."""
_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE][+-]?[0-9]{1,2})?")
_BETWEEN = re.compile(r"[,;\s]+")
_SIGN = r"(?:->|→|⇒|=|,|\t|\||\s[-–—]\s)"
_DATE = r"(?:\d{4}[-/.]\d{1,2}(?:[-/.]\d{1,2})?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})"
_TIME = r"\d{1,2}:\d{2}(?::\d{2})?"
_LABEL = re.compile(
    r"[^:\n]{1,60}:[ \t]{1,8}"
    rf"|(?=[^:\n]{{0,60}}[^\W\d_])[^:=|\t\n→]{{1,60}}?\s{{0,4}}(?::|{_SIGN})\s{{0,4}}"
    rf"|(?:{_DATE}(?:[ T]{_TIME})?|{_TIME})\s{{0,4}}(?::|{_SIGN}|\s)\s{{0,4}}"
)
"""A label before a number. One without a word or a date needs a colon and a blank."""
_MARKER = re.compile(r"(?:[-*•+]|\(?(\d{1,4})[.)])[ \t]{1,8}")
_AMOUNT = re.compile(
    r"[~≈]?\s?(?P<sign>[+-]?)\s?[$€£¥₹]?\s?(?P<number>[+-]?(?=\.?[0-9])(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]{1,30})?"
    r"(?:\.[0-9]{0,30})?(?:[eE][+-]?[0-9]{1,2})?)\s?(?P<unit>[$€£¥₹%]|[°µμA-Za-z][°µμA-Za-z/²³^]{0,19})?\.?"
)
_SCALES_LIST = """
k m b t bn mn mm tn mio mrd thousand thousands million millions billion billions trillion hundred lakh crore dozen
or to and
"""
_SCALES = frozenset(_SCALES_LIST.split())
"""Words behind a number that make it another number, or that hedge."""
_ENTRIES = re.compile(r"[;\n→]|,\s|\s\|\s|\band\b")
_ROW = re.compile(r"\|?(?P<cells>[^\n]*\|[^\n]*?)\|?")
_RULE = re.compile(r"[\s|:-]+")
_NAME = re.compile(r"^(?:[^\W\d][^:=\[\](){}\n]{0,60}[:=]\s{0,4})?(?:np\.)?(?:array|tensor|list)?(?=\s?[\[({])")
_TIMES_LIST = "date day ds hour id index month period quarter step t time timestamp week year"
_TIMES = frozenset(_TIMES_LIST.split())
"""Fields that say when a value is due."""
_LATEX = (
    (re.compile(r"\{,\}"), ","),
    (re.compile(r"\\(?:[,;:! ]|q?quad(?![A-Za-z]))|~(?=\\)"), " "),
    (re.compile(r"\\(?:begin|end)\{[A-Za-z]{1,20}\*?\}|\\(?:left|right)(?![A-Za-z])"), " "),
    (re.compile(r"\\\\|(?<=\s)&(?=\s)"), ", "),
    (re.compile(r"\\(?:text|mathrm)\{([^{}]{0,400})\}"), r"\1"),
    (re.compile(r"\\(?=[$%{}])"), ""),
)


def forecast(text: str, wanted: int) -> list[float] | None:
    """The numbers of a forecast; None for anything else.

    The first reading that has as many numbers as are wanted counts, else the first.
    """
    first: list[float] | None = None
    for reading in _readings(text):
        found = _floats(reading)
        if found is not None and len(found) == wanted:
            return found
        first = first or found
    return first


def _readings(text: str) -> Iterator[Any]:
    """The forms that a text can have, the strictest reading first. Each yields one number for each time."""
    try:
        yield _listed(parse(text))
    except NotRead:
        body = text.strip().removeprefix("[").removesuffix("]").strip()
        yield _BETWEEN.split(body) if body else []
    text = text.replace("**", "").replace("\u2212", "-")
    for pattern, plain in _LATEX:
        text = pattern.sub(plain, text)
    text = text.strip()
    text = _NAME.sub("", text, count=1).strip()
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    if lines and all("|" in line and _ROW.fullmatch(line) for line in lines):
        yield _tabled(lines)
    while text[:1] + text[-1:] in ("[]", "()", "{}"):
        text = text[1:-1].strip(",; \n")
    yield _BETWEEN.split(text)
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    if len(lines) > 1:
        yield _amounts(_unmarked(lines))
    yield _amounts([entry for entry in map(str.strip, _ENTRIES.split(text)) if entry])


def _listed(value: Any) -> Any:
    """The list of a JSON value: a list, the only list of an object, the values of an object, or a field of objects."""
    if isinstance(value, dict):  # {"forecast": […]}, or a value for each time
        lists = [item for item in value.values() if isinstance(item, list)]
        return _listed(lists[0]) if len(lists) == 1 else list(value.values())
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        kept = [[item[key] for key in item if str(key).lower() not in _TIMES] for item in value]
        # Attack: [{"low": 11, "high": 13}], of which the better one would be chosen.
        return [one[0] for one in kept] if all(len(one) == 1 for one in kept) else None
    return [value] if isinstance(value, (int, float)) else value


def _tabled(lines: Sequence[str]) -> list[str] | None:
    """The numbers of a table: its one row, or its second column next to one of labels."""
    rows = [
        [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")]
        for line in lines
        if not _RULE.fullmatch(line)
    ]
    body = rows[1:] if len(rows) < len(lines) else rows  # a rule stands below the header
    if len(body) == 1:
        cells = body[0]
        return _amounts(cells if _amounts(cells[:1]) is not None else cells[1:])
    # Attack: two forecasts as two columns, with a choice between them. The first column must count up, or be words.
    if not body or any(len(row) != 2 for row in body):
        return None
    labels = [row[0] for row in body]
    if any(map(_NUMBER.fullmatch, labels)) and not _counts_up(labels):
        return None
    return _amounts([row[1] for row in body])


def _counts_up(labels: Sequence[str]) -> bool:
    """Returns whether labels are whole numbers, each one more than the one before."""
    if not all(label.isascii() and label.isdigit() and len(label) < 10 for label in labels):
        return False
    numbers = [int(label) for label in labels]
    return all(two == one + 1 for one, two in pairwise(numbers))


def _unmarked(lines: Sequence[str]) -> Sequence[str]:
    """The lines without bullets, or without numbers that count up."""
    marks = [_MARKER.match(line) for line in lines]
    if not all(marks):
        return lines
    numbers = [mark[1] for mark in marks if mark and mark[1]]
    if numbers and (len(numbers) < len(lines) or not _counts_up(numbers)):
        return lines
    return [line[mark.end() :] for line, mark in zip(lines, marks, strict=True) if mark]


def _amounts(entries: Sequence[str]) -> list[str] | None:
    """The number of each entry, all with a label or none, and all in one unit; None if an entry is anything else."""
    for labelled in (False, True):
        found, units = [], set()
        for entry in entries:
            label = _LABEL.match(entry) if labelled else None
            if labelled and label is None:
                break
            amount = _AMOUNT.fullmatch(entry.rstrip(",")[label.end() if label else 0 :])
            if amount is None or (amount["sign"] and amount["number"][:1] in "+-"):
                break
            # Attack: "1.2k" or "12 or", a unit that is part of the number or a hedge.
            if amount["unit"] and amount["unit"].lower() in _SCALES:
                break
            units.add(amount["unit"])
            found.append(amount["sign"] + amount["number"].replace(",", ""))
        else:
            if found and len(units) == 1:
                return found
    return None


def _floats(value: Any) -> list[float] | None:
    if not isinstance(value, list):
        return None
    found: list[float] = []
    for item in value:
        if isinstance(item, str) and _NUMBER.fullmatch(item):
            item = float(item)
        if isinstance(item, bool) or not isinstance(item, (int, float)) or not abs(item) <= MOST:
            return None
        found.append(float(item))
    return found
