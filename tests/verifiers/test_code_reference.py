"""References of `code`: what is accepted, and that whatever is wrong is told with its path."""

from __future__ import annotations

from typing import Any

import pytest

from rewarden.errors import InvalidReference
from rewarden_verifiers.execution.checkers import TextChecker
from rewarden_verifiers.execution.reference import JudgeProgram, Suite, read_reference
from rewarden_verifiers.execution.values import ValueChecker
from rewarden_verifiers.registry import Registry
from rewarden_verifiers.schema import parse_reference

SPEC = Registry().get("code")

STDIO = {"type": "stdio", "stdin": "1", "stdout": "2"}
CALL = {"type": "call", "target": "f", "args": [1], "returns": 2}
ASSERT = {"type": "assert", "code": "assert f(1) == 2"}
FILE = {"type": "file", "name": "test_f.py", "content": "def test_f(): ...", "expect": ["test_f"]}
JUDGE = {"type": "program", "language": "python", "code": "import sys"}


def suite(*tests: Any, **more: Any) -> Suite:
    value = {"language": "python", "tests": list(tests), **more}
    return read_reference(parse_reference(SPEC, value))


def test_every_type_of_test_is_read() -> None:
    read = suite(STDIO, CALL, ASSERT, FILE)
    assert [trial.id for trial in read.trials] == ["0", "1", "2", "3"]
    assert [type(trial.checker) for trial in read.trials] == [TextChecker, ValueChecker, type(None), type(None)]
    assert all(trial.hidden for trial in read.trials)


def test_bytes_that_are_no_text_come_as_base64() -> None:
    (trial,) = suite(
        {"type": "stdio", "stdin": {"base64": "AP8="}, "stdout": "x", "files": {"a/b": {"base64": ""}}}
    ).trials
    assert (trial.stdin, trial.files) == (b"\x00\xff", {"a/b": b""})


def test_a_tests_own_limits_come_before_the_references() -> None:
    read = suite(STDIO, {**STDIO, "limits": {"cpu_s": 3}}, limits={"cpu_s": 1, "memory_mb": 64})
    assert [(trial.limits.cpu_s, trial.limits.memory_mb) for trial in read.trials] == [(1, 64), (3, 64)]


def test_the_references_checker_is_for_the_tests_that_can_use_it() -> None:
    read = suite(STDIO, {**STDIO, "checker": "exact"}, CALL, ASSERT, checker={"type": "floats", "abs": 0.1})
    kinds = [getattr(trial.checker, "type", None) for trial in read.trials]
    assert kinds[:2] == ["floats", "exact"]
    assert isinstance(read.trials[2].checker, ValueChecker)


def test_one_judge_is_one_object_for_all_its_tests() -> None:
    read = suite(STDIO, {"type": "stdio", "stdin": "2"}, checker=JUDGE)
    assert isinstance(read.trials[0].checker, JudgeProgram)
    assert read.trials[0].checker is read.trials[1].checker


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({}, "reference.language"),
        ({"language": "python"}, "reference.tests"),
        ({"language": "python", "tests": []}, "reference.tests"),
        ({"language": " ", "tests": [STDIO]}, "reference.language"),
        ({"language": "python", "tests": [{}]}, "reference.tests[0].type"),
        ({"language": "python", "tests": [{"type": "stdin"}]}, "reference.tests[0].type"),
        ({"language": "python", "tests": [STDIO, {**STDIO, "stdut": "x"}]}, "reference.tests[1].stdut"),
        ({"language": "python", "tests": [STDIO, {"type": "stdio", "stdin": "1"}]}, "reference.tests[1].stdout"),
        ({"language": "python", "tests": [{**STDIO, "returns": 1}]}, "reference.tests[0].returns"),
        ({"language": "python", "tests": [{**STDIO, "stdin": {"base64": "?"}}]}, "reference.tests[0].stdin.base64"),
        ({"language": "python", "tests": [{**STDIO, "stdin": "\ud800"}]}, "reference.tests[0].stdin"),
        ({"language": "python", "tests": [{**STDIO, "id": "a"}, {**STDIO, "id": "a"}]}, "reference.tests[1].id"),
        ({"language": "python", "tests": [{**STDIO, "weight": -1}]}, "reference.tests[0].weight"),
        ({"language": "python", "tests": [{**STDIO, "weight": float("nan")}]}, "reference.tests[0].weight"),
        ({"language": "python", "tests": [{**STDIO, "weight": 0}]}, "reference.tests"),
        ({"language": "python", "tests": [{**STDIO, "limits": {"cpu": 1}}]}, "reference.tests[0].limits.cpu"),
        ({"language": "python", "tests": [{**STDIO, "limits": {"cpu_s": 0}}]}, "reference.tests[0].limits"),
        ({"language": "python", "tests": [STDIO], "limits": {"wall_s": float("nan")}}, "reference.limits"),
        ({"language": "python", "tests": [{**STDIO, "files": {"../x": ""}}]}, "reference.tests[0].files"),
        ({"language": "python", "tests": [STDIO], "files": {"/etc/x": ""}}, "reference.files"),
        ({"language": "python", "tests": [STDIO], "files": {"a\0b": ""}}, "reference.files"),
        ({"language": "python", "tests": [{"type": "call", "target": "f"}]}, "reference.tests[0].returns"),
        ({"language": "python", "tests": [{"type": "call", "returns": 1}]}, "reference.tests[0].target"),
        ({"language": "python", "tests": [{**CALL, "target": "a.b.c"}]}, "reference.tests[0].target"),
        ({"language": "python", "tests": [{**CALL, "target": "f()"}]}, "reference.tests[0].target"),
        ({"language": "python", "tests": [{**CALL, "types": {"arg": {}}}]}, "reference.tests[0].types.arg"),
        ({"language": "cpp", "tests": [CALL]}, "reference.tests[0].type"),
        ({"language": "cpp", "tests": [ASSERT]}, "reference.tests[0].type"),
        ({"language": "python", "tests": [{"type": "assert"}]}, "reference.tests[0].code"),
        ({"language": "python", "tests": [{**FILE, "expect": []}]}, "reference.tests[0].expect"),
        ({"language": "python", "tests": [{**ASSERT, "checker": "exact"}]}, "reference.tests[0].checker"),
        ({"language": "python", "tests": [{**CALL, "checker": "tokens"}]}, "reference.tests[0].checker"),
        ({"language": "python", "tests": [{**STDIO, "checker": "value"}]}, "reference.tests[0].checker"),
        ({"language": "python", "tests": [STDIO], "checker": "value"}, "reference.checker"),
        ({"language": "python", "tests": [STDIO], "checker": "fuzzy"}, "reference.checker"),
        ({"language": "python", "tests": [STDIO], "checker": {"type": "tokens", "abs": 1}}, "reference.checker"),
        ({"language": "python", "tests": [STDIO], "checker": {"type": "exact", "code": "x"}}, "reference.checker.code"),
        ({"language": "python", "tests": [STDIO], "checker": {"type": "program"}}, "reference.checker.language"),
        ({"language": "python", "tests": [STDIO], "checker": {**JUDGE, "abs": 1}}, "reference.checker.abs"),
        ({"language": "python", "tests": [STDIO], "checker": {"type": "regex", "pattern": "("}}, "reference.checker"),
        ({"language": "python", "tests": [STDIO], "isolation": "none"}, "reference.isolation"),
        ({"language": "python", "tests": [STDIO], "isolated": True}, "reference.isolated"),
        ("assert f(1) == 2", "reference"),
        (None, "reference"),
    ],
)
def test_what_is_wrong_is_the_references_fault_at_its_path(value: Any, path: str) -> None:
    with pytest.raises(InvalidReference) as raised:
        read_reference(parse_reference(SPEC, value))
    assert str(raised.value.details["path"]).startswith(path)
