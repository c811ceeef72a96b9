"""The rules of Spider's and BIRD's own scripts that no parameter of `sql` covers (`preset: spider`, `preset: bird`)."""

from __future__ import annotations

import re
from typing import Any, Literal

from rewarden_verifiers.sql.comparison.comparison import Difference, difference
from rewarden_verifiers.sql.comparison.settings import Comparison
from rewarden_verifiers.sql.engines.engine import ResultSet
from rewarden_verifiers.sql.tokens import cut

Benchmark = Literal["spider", "bird"]

_THIS_YEAR = re.compile(r"YEAR\s*\(\s*CURDATE\s*\(\s*\)\s*\)\s*", re.IGNORECASE)


def amended(text: str, benchmark: Benchmark | None, dialect: str) -> str:
    """A query as the benchmark's script runs it. Spider's takes DISTINCT out of both sides, closes the operators that
    its data part (`> =`), and knows a year. Raises Unreadable.
    """
    if benchmark != "spider":
        return text
    for parted, whole in (("> =", ">="), ("< =", "<="), ("! =", "!=")):
        text = text.replace(parted, whole)
    done, pieces = 0, []
    for token in cut(text, dialect)[1]:
        if token.kind == "word" and token.lower == "distinct":
            pieces.append(text[done : token.start])
            done = token.end
    return _THIS_YEAR.sub("2020", "".join((*pieces, text[done:])))


def orders(text: str) -> bool:
    """Returns whether the order of rows counts for Spider's script: where the two words stand anywhere in the query,
    a subquery and a text among it."""
    return "order by" in text.lower()


def told_apart(expected: ResultSet, got: ResultSet, how: Comparison, benchmark: Benchmark) -> Difference | None:
    """The difference of two results in the eyes of a benchmark's script, None if they agree there: two without rows do,
    however many columns they have.
    """
    if not expected.rows and not got.rows:
        return None
    found = difference(expected, got, how)
    if found is None and benchmark == "spider" and difference(_sorted(expected), _sorted(got), _sets(how)) is not None:
        return "values"
    return found


def _sorted(result: ResultSet) -> ResultSet:
    """The rows, each with its cells in the order of their texts and types. Spider's script rejects what differs there
    before it looks further, and so 1 and 1.0, which are equal to it, may be in different places."""
    return ResultSet(result.columns, [tuple(sorted(row, key=_written)) for row in result.rows])


def _written(cell: Any) -> str:
    return f"{cell}{type(cell)}"


def _sets(how: Comparison) -> Comparison:
    return Comparison(ordered=how.ordered, duplicates=how.ordered, abs=0.0, rel=0.0)
