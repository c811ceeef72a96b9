"""The file has the numbers."""

from pathlib import Path


def test_numbers() -> None:
    assert Path("/app/numbers.txt").read_text().split() == [str(number) for number in range(1, 11)]
