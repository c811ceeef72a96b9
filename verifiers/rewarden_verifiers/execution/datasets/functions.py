"""Data sets of Python functions: assertions, test files, and scripts that check one function."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rewarden_verifiers.execution.datasets import contests
from rewarden_verifiers.execution.datasets.row import Row
from rewarden_verifiers.execution.datasets.tests import PRELUDE, asserted, functions_in
from rewarden_verifiers.execution.reference import CodeReference, Test, invalid

_METHOD = re.compile(r"(?:[^\W\d]\w*\(\)\.)?[^\W\d]\w*")


def acecode(row: Row, languages: Sequence[str]) -> CodeReference:
    """AceCode, and other lists of assertions: `test_cases`, in its second version `tests`."""
    column = row.first("test_cases", "tests")
    found = row.get(column)
    if isinstance(found, str) and (found.lstrip().startswith("assert") or " " in found.strip()) and found[:1] != "[":
        return CodeReference(language="python", tests=(asserted(found, row.at(column)),))
    made = [asserted(code, f"{row.at(column)}[{place}]") for place, code in enumerate(row.items(column))]
    if not made:
        raise invalid("there are no tests", row.at(column))
    return CodeReference(language="python", tests=tuple(made))


def kodcode(row: Row, languages: Sequence[str]) -> CodeReference:
    """KodCode: `test`, a pytest file that imports from `solution`; `solution`."""
    column = row.first("test", "test_code")
    content = row.code(column)
    test = Test(type="file", name="test_solution.py", content=content, expect=functions_in(content, row.at(column)))
    return CodeReference(language="python", tests=(test,), solution=row.text("solution", "") or None)


def leetcode(row: Row, languages: Sequence[str]) -> CodeReference:
    """LeetCodeDataset: `test` with `check(candidate)`, `entry_point` (`Solution().f`), the imports in `prompt`."""
    entry = row.code("entry_point").strip()
    if not _METHOD.fullmatch(entry):
        raise invalid(f"is neither 'f' nor 'Solution().f': {entry[:60]!r}", row.at("entry_point"))
    test = Test(type="assert", code=f"{row.code('test')}\n\ncheck({entry})\n")
    prefix = f"{PRELUDE}{row.text('prompt', '')}\n"
    return CodeReference(language="python", tests=(test,), prefix=prefix, solution=row.text("completion", "") or None)


def humaneval(row: Row, languages: Sequence[str]) -> CodeReference:
    """HumanEval and HumanEval+: `prompt`, `test` with `check(candidate)`, `entry_point`, `canonical_solution`."""
    return CodeReference(
        language="python",
        tests=(Test(type="assert", code=row.code("test")),),
        entry_point=row.code("entry_point").strip(),
        prefix=row.text("prompt", ""),
        solution=row.text("canonical_solution", "") or None,
    )


def mbpp(row: Row, languages: Sequence[str]) -> CodeReference:
    """MBPP and MBPP+: `test_list` after `test_imports` or `test_setup_code`; MBPP+'s `test`; `code`."""
    tests: tuple[Test, ...]
    if row.has("test"):
        tests = (Test(type="assert", code=row.code("test")),)
    else:
        before = row.items("test_imports") if row.has("test_imports") else []
        setup = "\n".join([*map(str, before), row.text("test_setup_code", "")]).strip("\n")
        column = row.first("test_list", "tests")
        items = enumerate(row.items(column))
        made = [asserted(code, f"{row.at(column)}[{place}]").code for place, code in items]
        tests = tuple(Test(type="assert", code=f"{setup}\n{code}" if setup else code) for code in made)
    if not tests:
        raise invalid("there are no tests", row.at("test_list"))
    return CodeReference(language="python", tests=tests, solution=row.text("code", "") or None)


def bigcodebench(row: Row, languages: Sequence[str]) -> CodeReference:
    """BigCodeBench: `test`, unittest cases that patch the function's globals and so share its process; `entry_point`,
    `code_prompt`, `canonical_solution`.
    """
    content = f"from solution import *\nfrom solution import {_name(row)}\n{row.code('test')}"
    test = Test(type="file", name="test_task.py", content=content, expect=functions_in(content, row.at("test")))
    prefix = row.text(row.first("code_prompt", "complete_prompt"), "")
    return CodeReference(
        language="python",
        tests=(test,),
        isolation="shared",
        entry_point=_name(row),
        prefix=prefix,
        solution=row.text("canonical_solution", "") or None,
    )


def _name(row: Row) -> str:
    name = row.code("entry_point").strip()
    if not name.isidentifier():
        raise invalid(f"is not the name of a function: {name[:60]!r}", row.at("entry_point"))
    return name


def reasoning360(row: Row, languages: Sequence[str]) -> CodeReference:
    """Reasoning360 (Guru): `functional`, `solution_file`, `pytest`, or `inputs` and `outputs`, in `ground_truth`, with
    `prefix` next to it."""
    tests = row.inner("ground_truth") if row.has("ground_truth") else row
    if tests.has("inputs"):
        return contests.eurus(row, languages)
    prefix = row.text("prefix", "")
    for column in ("functional", "solution_file"):
        if tests.get(column) is not None:
            prefix = prefix if column == "functional" else ""
            made = asserted(tests.get(column), tests.at(column))
            return CodeReference(language="python", tests=(made,), prefix=prefix)
    content = tests.code("pytest")
    expect = functions_in(content, tests.at("pytest"))
    return CodeReference(
        language="python",
        tests=(Test(type="file", name="test_solution.py", content=content, expect=expect),),
    )
