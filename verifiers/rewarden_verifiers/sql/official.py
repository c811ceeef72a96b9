"""The rules of Spider's and BIRD's official scripts that no parameter of `sql` covers (`preset: spider`, `preset:
bird`).
"""

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
    """Returns a query as the benchmark's script runs it. Spider's script removes DISTINCT from both sides, closes up
    the operators that its data splits (`> =`), and replaces a fixed year. Raises Unreadable.
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
    """Returns whether the order of rows counts for Spider's script: it does if the two words occur anywhere in the
    query, even in a subquery or a text.
    """
    return "order by" in text.lower()


def told_apart(expected: ResultSet, got: ResultSet, how: Comparison, benchmark: Benchmark) -> Difference | None:
    """Returns the difference of two results according to a benchmark's script, or None if they agree there. Two results
    without rows agree however many columns they have.
    """
    if not expected.rows and not got.rows:
        return None
    found = difference(expected, got, how)
    if found is None and benchmark == "spider" and difference(_sorted(expected), _sorted(got), _sets(how)) is not None:
        return "values"
    return found


def _sorted(result: ResultSet) -> ResultSet:
    """Sorts each row's cells by their texts and types. Spider's script first rejects results that differ after this
    sorting, so 1 and 1.0, which are equal to it, may end up in different positions.
    """
    return ResultSet(result.columns, [tuple(sorted(row, key=_written)) for row in result.rows])


def _written(cell: Any) -> str:
    return f"{cell}{type(cell)}"


def _sets(how: Comparison) -> Comparison:
    return Comparison(ordered=how.ordered, duplicates=how.ordered, abs=0.0, rel=0.0)
