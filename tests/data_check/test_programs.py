"""`rewarden data check` on programs: each fault that was put into a row is named, and a good file has none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.data_check.command import asserting, ran, stdio, written
from tests.programs import no_sandbox

pytestmark = [
    pytest.mark.needs_server,
    pytest.mark.slow,
    pytest.mark.skipif(no_sandbox() is not None, reason=no_sandbox() or ""),
]

SQUARE = "n = int(input())\nprint(n * n)\n"
SQUARES = stdio(("2", "4"), ("-3", "9"), ("0", "0"))
PRICE = """
def price(n):
    if n > 9:
        return n * 2
    return n * 3
"""
CPP = """#include <iostream>
int main() {
    long long n;
    std::cin >> n;
    if (n < 3) {
        n = n + 5;
    }
    std::cout << n * n << std::endl;
}
"""
GOOD: list[dict[str, Any]] = [
    {"reference": SQUARES, "solution": SQUARE},
    {
        "reference": asserting("assert price(9) == 27\nassert price(10) == 20\nassert price(1) == 3"),
        "solution": f"It compares.\n```python\n{PRICE}```\n",
    },
    {"reference": stdio(("2", "49"), ("3", "9"), ("4", "16"), language="cpp"), "solution": CPP},
]
FEE = """
def fee(n):
    if n > 100:
        return 3
    if n > 50:
        return 2
    if n > 20:
        return 1
    return 0
"""
WORDS = "words = []\n\n\ndef add(word):\n    words.append(word)\n    return len(words)\n"


class Bad(NamedTuple):
    """A row with one fault. says: a part of the finding's message."""

    finding: str
    says: str
    reference: dict[str, Any]
    solution: str


BAD = [
    Bad("solution_fails", "wrong_answer in test 1 of 2", stdio(("2", "4"), ("3", "6")), SQUARE),
    Bad("solution_unscored", "reference.tests", {"language": "python", "tests": []}, SQUARE),
    Bad("missing_module", "(no_such_module)", SQUARES, f"import no_such_module\n{SQUARE}"),
    Bad("never_called", "", asserting("assert 1 + 1 == 2"), PRICE),
    Bad("never_called", "", asserting("assert callable(price)"), PRICE),
    Bad("empty_passes", "an empty program", stdio(("2", ""), ("3", "")), "n = int(input())\n"),
    Bad("constant_passes", "(YES)", stdio(("2", "YES"), ("3", "YES")), "print('YES' if int(input()) > 0 else 'NO')\n"),
    Bad("weak_tests", "of 17: ", asserting("assert fee(500) == 3\nassert fee(0) == 0"), FEE),
    Bad("needs_shared", "", asserting("import solution\nsolution.words = ['a']\nassert add('b') == 2"), WORDS),
]  # fmt: skip


SLOW = "import time\nwhile time.process_time() < 0.4:\n    pass\nprint(int(input()) ** 2)\n"
WARNED: list[dict[str, Any]] = [
    {"reference": stdio(("12", "144"), limits={"cpu_s": 0.6}), "solution": SLOW},
    {"reference": SQUARES, "solution": ["print(1)\n", {"language": "python", "code": SQUARE}]},
    {"reference": {**SQUARES, "solution": SQUARE}},
    {"reference": SQUARES},
]


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The result for all rows: with a fault, without, with a warning. Once, because it starts a sandbox."""
    folder = tmp_path_factory.mktemp("checked")
    rows = [{"reference": one.reference, "solution": one.solution} for one in BAD] + GOOD + WARNED
    source = written(folder, rows)
    status = ran(source, "-o", folder / "good.jsonl", "--report", folder / "page.html", "--mutants", "20", "-q")
    lines = (folder / "good.jsonl.check.jsonl").read_text(encoding="utf-8").splitlines()
    kept = (folder / "good.jsonl").read_bytes()
    return {
        "status": status,
        "rows": [json.loads(line) for line in lines],
        "source": source.read_bytes(),
        "kept": kept,
        "page": (folder / "page.html").read_text(encoding="utf-8"),
    }


@pytest.mark.parametrize("place", range(len(BAD)), ids=[one.finding for one in BAD])
def test_each_fault_is_named(place: int, checked: dict[str, Any]) -> None:
    row = checked["rows"][place]
    errors = {one["name"]: one["message"] for one in row["findings"] if one["kind"] == "error"}
    assert errors.keys() == {BAD[place].finding}
    assert BAD[place].says in errors[BAD[place].finding]
    assert row["good"] is False


def test_bad_rows_give_status_1_and_are_not_in_the_output(checked: dict[str, Any]) -> None:
    assert checked["status"] == 1
    assert checked["kept"] == b"".join(checked["source"].splitlines(keepends=True)[len(BAD) :])


def test_good_rows_have_figures_and_no_findings(checked: dict[str, Any]) -> None:
    for row in checked["rows"][len(BAD) : -len(WARNED)]:
        assert (row["findings"], row["good"], row["passed"], row["runs"], row["survivors"]) == ([], True, 1, 3, [])
        assert row["mutants"] > 1
        assert 0 < row["measured"]["cpu_s"] < row["measured"]["seconds"]
        assert 0 < row["measured"]["cpu_share"] < 0.5


def test_the_page_names_the_faults_and_the_rows(checked: dict[str, Any]) -> None:
    for one in BAD:
        assert one.finding.replace("_", " ") in checked["page"]
    assert "rows.jsonl:3" in checked["page"]
    assert "<script" not in checked["page"]


def test_a_good_file_gives_status_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = written(tmp_path, GOOD[:2])
    assert ran(source, "--mutants", "2", "-q") == 0
    assert "2: 2 good, 0 bad" in capsys.readouterr().out


def test_a_solution_that_passes_only_sometimes_is_flaky(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # Of 60 runs that fail by a coin each, all or none end alike once in 10^17.
    coin = "import os\nprint(1 if os.urandom(1)[0] % 2 else 2)\n"
    source = written(tmp_path, [{"reference": stdio(("", "1")), "solution": coin}])
    assert ran(source, "--runs", "60", "--mutants", "0", "--json", "-q") == 1
    (row,) = json.loads(capsys.readouterr().out)["checked"]
    assert [one["name"] for one in row["findings"]] == ["flaky"]
    assert "of 60 runs fail: wrong_answer" in row["findings"][0]["message"]


def test_what_speaks_for_a_closer_look_leaves_a_row_good(checked: dict[str, Any]) -> None:
    near, some, own, none = checked["rows"][len(BAD) + len(GOOD) :]
    assert [row["good"] for row in (near, some, own, none)] == [True] * 4
    assert "near_limit" in [one["name"] for one in near["findings"]]
    assert 0.5 < near["measured"]["cpu_share"] < 1
    assert (some["solutions"], some["passed"]) == (2, 1)
    assert [one["name"] for one in some["findings"]] == ["some_solutions_fail"]
    assert (own["solutions"], own["passed"], own["findings"]) == (1, 1, [])
    assert [one["name"] for one in none["findings"]] == ["no_solution"]
