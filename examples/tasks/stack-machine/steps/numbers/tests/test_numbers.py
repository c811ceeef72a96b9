"""Programs of numbers and operators."""

import sys

import pytest

sys.path.append("/app")

from stack import run


def test_programs_leave_one_number() -> None:
    assert run("2 3 + 4 *") == 20
    assert run("7") == 7
    assert run("1 2 -") == -1


@pytest.mark.parametrize("text", ["", "1 2", "+", "1 +", "a"])
def test_other_programs_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"(?s).*"):
        run(text)
