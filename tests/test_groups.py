"""`make test` runs each test once: its three groups have no test in common, and leave none out."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest
from _pytest.mark.expression import Expression

MAKEFILE = Path(__file__).parents[1] / "Makefile"
GROUPS = ("PURE", "SERVED", "ALONE")


def told(name: str) -> str:
    """What the Makefile says a group is."""
    found = re.search(rf"^{name} := (.+)$", MAKEFILE.read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None, name
    return found.group(1)


def test_make_test_runs_every_group() -> None:
    recipe = MAKEFILE.read_text(encoding="utf-8").partition("\ntest:")[2].partition("\n\n")[0]
    assert re.findall(r'-m "\$\((\w+)\)"', recipe) == list(GROUPS)


@pytest.mark.parametrize("marks", list(product((False, True), repeat=3)), ids=str)
def test_whatever_a_test_is_marked_with_it_is_in_exactly_one_group(marks: tuple[bool, ...]) -> None:
    marked = dict(zip(("needs_server", "alone", "forks"), marks, strict=True))
    groups = [name for name in GROUPS if Expression.compile(told(name)).evaluate(lambda mark, **_: marked[mark])]
    assert len(groups) == 1, (marked, groups)
