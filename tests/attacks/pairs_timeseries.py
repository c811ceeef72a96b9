"""Attacks on `timeseries`, each with its honest twin."""

from __future__ import annotations

from typing import Any

from tests.attacks.pairs import Pair

RISING = {"values": [12, 14], "history": [6, 8, 10]}


def pair(title: str, attack: str, twin: str = "[12, 14]", **params: Any) -> Pair:
    return Pair(
        title=title,
        use="timeseries",
        attack=f"<answer>{attack}</answer>",
        twin=f"<answer>{twin}</answer>",
        reference=RISING,
        params=params,
    )


PAIRS = [
    pair("silence", " "),
    pair("an empty list", "[]"),
    pair("the last value again", "10, 10", "12, 14"),
    pair("the last value again, by sMAPE", "10, 10", "12, 14", measure="smape"),
    pair("the mean of the history", "[8, 8]"),
    pair("zeros", "0 0", "12 14", measure="mse"),
    pair("one value for all", "[12]"),
    pair("every value twice", "[12, 12, 14, 14]"),
    pair("a menu of values", "[10, 12, 14]"),
    pair("a range", "10-14, 12-16", "12, 14"),
    pair("two values for a place", "[[12, 10], [14, 10]]"),
    pair("a value or another", "12 or 10, 14"),
    pair("not a number", "[NaN, NaN]"),
    pair("not a number, in words", "nan, nan"),
    pair("infinity", "[Infinity, 14]"),
    pair("beyond doubles", "[1e400, 14]"),
    pair("a huge error by squares", "[1e200, 14]", measure="rmse"),
    pair("an integer of thousands of digits", f"[{'9' * 5_000}, 14]"),
    pair("true for a number", "[true, 14]"),
    pair("nothing for a number", "[null, 14]"),
    pair("a formula", "[6*2, 14]"),
    pair("underscores", "1_2, 1_4", "12.0, 1.4e1"),
    pair("digits of another script", "\u0661\u0662, \u0661\u0664"),
    pair("brackets without end", "[" * 19_000),
    pair("numbers without end", "12," * 6_000),
    pair("near, but not graded", "12, 13", "12, 13.9", threshold=0.9, graded=False),
    pair("a second forecast as the first column", "| a | b |\n|---|---|\n| 10 | 12 |\n| 15 | 14 |", "| a | b |\n|---|---|\n| 1 | 12 |\n| 2 | 14 |"),
    pair("numbers that do not count up", "7. 12\n3. 14", "7. 12\n8. 14"),
    pair("a hedge in the place of a unit", "12 or\n14 or", "12 cm\n14 cm"),
    pair("a range behind a label", "Jan: 11-13\nFeb: 13-15", "Jan: 12\nFeb: 14"),
    pair("a number as the label's end", "Jan 12 14\nFeb 14 16", "Jan 12: 12\nFeb 14: 14"),
    pair("a scale as the unit", "0.012 thousand, 0.014 thousand", "12 units, 14 units"),
    pair("labels without end", "a:" * 9_000),
    pair("a table without end", "|" * 18_000),
    pair("bars and blanks without end", " | " * 6_000),
]  # fmt: skip
