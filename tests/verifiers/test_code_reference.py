"""References of `code`: accepted forms, and errors with the path of each mistake."""

from __future__ import annotations

from typing import Any

import pytest

from rewarden.errors import InvalidReference
from rewarden_verifiers.execution.checkers import TextChecker
from rewarden_verifiers.execution.reference import JudgeProgram, Suite, read_reference
from rewarden_verifiers.execution.shared_need import shared_need
from rewarden_verifiers.execution.values import ValueChecker
from rewarden_verifiers.registry import Registry
from rewarden_verifiers.schema import parse_reference

SPEC = Registry().get("code")

STDIO = {"type": "stdio", "stdin": "1", "stdout": "2"}
CALL = {"type": "call", "target": "f", "args": [1], "returns": 2}
ASSERT = {"type": "assert", "code": "assert f(1) == 2"}
FILE = {"type": "file", "name": "test_f.py", "content": "def test_f(): ...", "expect": ["test_f"]}
JUDGE = {"type": "program", "language": "python", "code": "import sys"}


TALKS = {**JUDGE, "type": "interactive"}


def with_checker(*tests: Any, **checker: Any) -> Any:
    """A reference whose tests have these fields besides the usual ones."""
    return {"language": "python", "tests": [{**STDIO, **test} for test in tests or ({},)], "checker": checker}


def grouped(**groups: Any) -> Any:
    return {"language": "python", "tests": [{**STDIO, "group": "a"}], "groups": groups}


def generating(generate: Any, **test: Any) -> Any:
    generators = {"g": {"language": "python", "code": "print(1)"}}
    return {"language": "python", "tests": [{"type": "stdio", "generate": generate, **test}], "generators": generators}


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
        ({"language": "c", "tests": [CALL]}, "reference.tests[0].type"),
        ({"language": "cpp", "tests": [ASSERT]}, "reference.tests[0].code"),
        ({"language": "c", "languages": ["cpp"], "flags": ["-O3"], "tests": [STDIO]}, "reference.flags"),
        ({"language": "c", "flags": "-O3", "tests": [STDIO]}, "reference.flags"),
        ({"language": "js", "tests": [{**CALL, "kwargs": {"a": 1}}]}, "reference.tests[0].kwargs"),
        ({"language": "python", "tests": [{"type": "assert"}]}, "reference.tests[0].code"),
        (
            {"language": "python", "tests": [{**FILE, "content": "def test_a(tmp_path): f(str(tmp_path))"}]},
            "reference.tests[0].content",
        ),
        (
            {"language": "python", "tests": [{**ASSERT, "code": "assert f().equals(pd.DataFrame({'a': [1]}))"}]},
            "reference.tests[0].code",
        ),
        (
            {
                "language": "python",
                "prefix": "@dataclass\nclass P:\n    a: int\n",
                "tests": [{**ASSERT, "code": "assert f(P(1)) == [P(2)]"}],
            },
            "reference.tests[0].code",
        ),
        ({"language": "python", "tests": [{**CALL, "init": [1]}]}, "reference.tests[0].init"),
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
        (with_checker(type="tokens", args=["x"]), "reference.checker.args"),
        (with_checker(type="trimmed", spaces=True), "reference.checker"),
        (with_checker(type="kattis", args=["case"]), "reference.checker"),
        (with_checker(type="kattis", abs=1), "reference.checker.abs"),
        (with_checker(**JUDGE, spaces=True), "reference.checker.spaces"),
        (with_checker(**JUDGE, max_points=0), "reference.checker.max_points"),
        (with_checker(**JUDGE, max_points="most"), "reference.checker.max_points"),
        (with_checker(**JUDGE, max_points=100, protocol="exit"), "reference.checker.max_points"),
        (with_checker(**JUDGE, passes=2), "reference.checker.passes"),
        (with_checker(**JUDGE, passes=101, protocol="kattis"), "reference.checker.passes"),
        (with_checker(**JUDGE, unbuffered=True), "reference.checker.unbuffered"),
        (with_checker({"weight": 0}, {}, **JUDGE, max_points="weight"), "reference.tests[0].weight"),
        (with_checker({"alternatives": ["2"]}, **JUDGE), "reference.tests[0].alternatives"),
        (with_checker({"outputs": {"a": ""}}, **TALKS), "reference.tests[0].outputs"),
        ({"language": "python", "tests": [{**STDIO, "checker_args": ["x"]}]}, "reference.tests[0].checker_args"),
        (with_checker({"checker_args": ["x"]}, type="tokens"), "reference.tests[0].checker_args"),
        ({"language": "python", "tests": [{**STDIO, "outputs": {"../a": ""}}]}, "reference.tests[0].outputs"),
        ({"language": "python", "tests": [{**CALL, "outputs": {"a": ""}}]}, "reference.tests[0].outputs"),
        (
            {"language": "python", "tests": [{"type": "stdio", "outputs": {"a": ""}, "alternatives": ["x"]}]},
            "reference.tests[0].alternatives",
        ),
        (grouped(b={}), "reference.groups['b']"),
        (grouped(a={"point": 1}), "reference.groups.a.point"),
        (grouped(a={"points": -1}), "reference.groups['a'].points"),
        (grouped(a={"points": 0}), "reference.groups"),
        (grouped(a={"requires": ["b"]}), "reference.groups['a'].requires"),
        (grouped(a={"requires": ["a"]}), "reference.groups['a'].requires"),
        (generating(["h"]), "reference.tests[0].generate"),
        (generating(["g"], stdin="1"), "reference.tests[0].generate"),
        (generating(["g"]), "reference.tests[0].stdout"),
        ({"language": "python", "tests": [STDIO], "isolated": True}, "reference.isolated"),
        ("assert f(1) == 2", "reference"),
        (None, "reference"),
    ],
)
def test_what_is_wrong_is_the_references_fault_at_its_path(value: Any, path: str) -> None:
    with pytest.raises(InvalidReference) as raised:
        read_reference(parse_reference(SPEC, value))
    assert str(raised.value.details["path"]).startswith(path)


def test_groups_run_after_those_that_they_require() -> None:
    tests = [{**STDIO, "group": name} for name in "cab"] + [STDIO]
    groups = {"b": {"requires": ["a"]}, "c": {"requires": ["a", "b"]}}
    assert [trial.wave for trial in suite(*tests, groups=groups).trials] == [2, 0, 1, 0]


@pytest.mark.parametrize("step", [1, -1])
def test_a_chain_of_groups_is_of_bounded_length(step: int) -> None:
    tests = [{**STDIO, "group": str(place)} for place in range(5_000)]
    groups = {str(place): {"requires": [str(place + step)]} for place in range(1, 4_999)}
    with pytest.raises(InvalidReference, match="in a row"):
        suite(*tests, groups=groups)


def test_a_tests_own_flags_for_the_default_validator_come_after_the_checkers() -> None:
    checker = {"type": "kattis", "args": ["case_sensitive"]}
    read = suite(STDIO, {**STDIO, "checker_args": ["float_tolerance", "1e-3"]}, checker=checker)
    first, second = (trial.checker for trial in read.trials)
    assert isinstance(first, TextChecker)
    assert isinstance(second, TextChecker)
    assert [first.type, second.type, second.abs, second.ignore_case] == ["tokens", "floats", 1e-3, False]


def test_a_judge_with_different_arguments_is_compiled_once() -> None:
    read = suite(STDIO, {**STDIO, "checker_args": ["x"]}, checker=JUDGE)
    assert read.trials[0].checker is read.trials[1].checker


@pytest.mark.parametrize(
    "code",
    [
        "assert area(P(1)) == 2",
        "def test_a(capsys): assert f() == 1",
        "assert f()['a'].tolist() == [1]",
        "tmp_path = '/x'\nassert f(tmp_path) == 1",
    ],
)
def test_test_code_that_crosses_is_not_taken_for_code_that_needs_one_process(code: str) -> None:
    assert shared_need(code, "@dataclass\nclass P:\n    a: int\n") is None
