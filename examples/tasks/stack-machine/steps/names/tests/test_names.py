"""Programs with names."""

import sys

import pytest

sys.path.append("/app")

from stack import run


def test_names_stand_for_values() -> None:
    assert run("5 x = x x *") == 25
    assert run("1 a = 2 b = a b - a = a") == -1
    assert run("2 3 + 4 *") == 20


@pytest.mark.parametrize("text", ["x", "x =", "5 x ="])
def test_other_programs_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"(?s).*"):
        run(text)
