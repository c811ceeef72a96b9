"""Mutants: one mistake each, of several kinds, and the same for the same seed."""

from __future__ import annotations

import ast

from rewarden_server.studies.data_check.mutants import mutants
from rewarden_server.studies.data_check.stand_ins import constant, printing, replaced

PYTHON = '''
import os


def count(xs: list[int], low: int = 3) -> int:
    """Returns how many are above 3."""
    found = 0
    for x in xs:
        if x > low and x != 7:
            found += 1
    return found


if __name__ == "__main__":
    print(count([1, 2]))
'''
CPP = """#include <vector>
// a < b, 5
int main() {
    std::vector<int> seen;
    for (int i = 0; i < 10; i++) {
        if (i % 2 == 0 && i != 4) {
            seen.push_back(i);
        }
    }
    std::printf("a < b && 3\\n");
    return seen.size() - 4;
}
"""


def lines_changed(before: str, after: str) -> int:
    old, new = before.splitlines(), after.splitlines()
    assert len(old) == len(new)
    return sum(one != other for one, other in zip(old, new, strict=True))


def test_a_mutant_of_python_differs_in_one_place() -> None:
    found = mutants(PYTHON, python=True, most=100, seed="1")
    assert {one.operator for one in found} == {
        "arithmetic",
        "comparison",
        "condition",
        "constant",
        "logic",
        "statement",
    }
    plain = ast.unparse(ast.parse(PYTHON)) + "\n"
    assert all(lines_changed(plain, one.code) == 1 for one in found)
    assert all("import os" in one.code and "__name__ == '__main__'" in one.code for one in found)


def test_a_mutant_of_another_language_differs_in_one_place_outside_of_texts() -> None:
    found = mutants(CPP, python=False, most=100, seed="1")
    assert {one.operator for one in found} == {
        "arithmetic",
        "comparison",
        "condition",
        "constant",
        "logic",
        "statement",
    }
    assert all(lines_changed(CPP, one.code) == 1 for one in found)
    kept = [one.code for one in found if one.operator != "statement"]
    assert all("// a < b, 5" in code and '"a < b && 3\\n"' in code for code in kept)
    assert any("if (!(i % 2 == 0 && i != 4))" in one.code for one in found)
    assert any("            ;\n" in one.code for one in found)
    assert all("std::vector<int> seen;" in one.code for one in found)


def test_few_mutants_are_of_many_kinds_and_the_same_again() -> None:
    few = mutants(PYTHON, python=True, most=6, seed="1")
    assert len({one.operator for one in few}) == 6
    assert mutants(PYTHON, python=True, most=6, seed="1") == few
    assert mutants("def f(:\n  1 < 2\n", python=True, most=6, seed="1")  # no Python of this version: as text
    assert mutants("", python=True, most=6, seed="1") == []


def test_functions_can_fail_or_return_a_constant_in_their_place() -> None:
    failing = replaced(PYTHON, None)
    assert failing is not None
    assert "raise RuntimeError" in failing
    assert "return found" not in failing
    assert "return [1]" in (replaced(PYTHON, "[1]") or "")
    assert replaced("print(1)", None) is None
    assert replaced("def f(:", None) is None


def test_a_constant_is_tried_where_it_can_be_right() -> None:
    def texts(*expected: str) -> list[dict[str, str]]:
        return [{"type": "stdio", "stdout": text} for text in expected]

    assert constant(texts("5\n", "5")) == ("stdio", "5")
    assert constant(texts("5", "6")) is None
    assert constant(texts("YES")) == ("stdio", "YES")
    assert constant(texts("314159")) is None  # nobody would guess it
    assert constant([{"type": "call", "returns": True}] * 2) == ("call", "True")
    assert constant([{"type": "assert", "code": "assert f(1) == [2]\nassert f(2) == [2]"}]) == ("call", "[2]")
    assert constant([{"type": "assert", "code": "assert f(1) == [2]\nassert f(2) == [3]"}]) is None
    assert constant([{"type": "assert", "code": "assert not f(1)"}]) is None
    assert constant([]) is None


def test_a_constant_can_be_printed_if_it_is_plain() -> None:
    assert printing("python", "a\nb") == "print('a\\nb')\n"
    assert 'puts("5")' in (printing("cpp", "5") or "")
    assert printing("cpp", "é") is None
    assert printing("brainfuck", "5") is None
