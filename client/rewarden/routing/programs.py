"""Tests of programs, as data sets write them, as the reference of the verifier `code` (docs/code.md)."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from typing import Any

from rewarden.columns import only
from rewarden.routing.packed import read_json
from rewarden.types import Sample

_OUTPUTS = "floats"
"""Word by word, numbers within 1e-6: about what the data sets' own harnesses forgive."""

MAX_TESTS = 10_000
"""The number of tests that the verifier takes; more are refused before anything is made of them."""

_CALL = """\
def _plain(value):
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value

def _same(one, other):
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(_same(a, b) for a, b in zip(one, other))
    if isinstance(one, float) or isinstance(other, float):
        numbers = all(isinstance(item, (int, float)) for item in (one, other))
        return numbers and (one == other or abs(one - other) <= max(1e-9 * max(abs(one), abs(other)), 1e-12))
    return one == other

try:
    _function = Solution().{name}
except (NameError, AttributeError):
    _function = {name}
_expected = {expected}
_got = _plain(_function(*{arguments}))
assert any(_same(_got, value) for value in _expected), "wrong value"
"""
"""Calls a function, or the method of `Solution`: which of them the task asks for, such data does not say."""


def inputs_outputs(sample: Sample) -> dict[str, Any]:
    """`{"inputs", "outputs", "fn_name"?}` of APPS, TACO, PRIME and verl; or verl's `{"assert_case": [...]}`."""
    tests = _object(sample.reference)
    if isinstance(tests.get("assert_case"), list):
        return _reference([_assert(code) for code in _few(tests["assert_case"])])
    inputs, outputs = tests.get("inputs"), tests.get("outputs")
    if not isinstance(inputs, list) or not isinstance(outputs, list) or len(inputs) != len(outputs):
        raise ValueError('must contain the lists "inputs" and "outputs", of equal length')
    _few(inputs)
    name = tests.get("fn_name") or (sample.metadata or {}).get("fn_name")
    if name:
        return _reference([_call(name, given, wanted) for given, wanted in zip(inputs, outputs, strict=True)])
    return _reference([_printed(given, wanted) for given, wanted in zip(inputs, outputs, strict=True)])


def asserts(sample: Sample) -> dict[str, Any]:
    """A list of assertions, each a text; or JSON of it."""
    tests = read_json(sample.reference) if _is_packed(sample.reference) else sample.reference
    if isinstance(tests, str):
        tests = [tests]
    if not isinstance(tests, list):
        raise ValueError("is not a list of assertions")
    return _reference([_assert(code) for code in _few(tests)])


def stdio(sample: Sample) -> dict[str, Any]:
    """A list of `{"input", "output"}`, or JSON of it; with LiveCodeBench's `testtype` and PRIME's `type`."""
    tests = read_json(sample.reference)
    if not isinstance(tests, list) or not all(isinstance(test, Mapping) for test in tests):
        raise ValueError('is not a list of {"input", "output"}')
    return _reference([_of_pair(test, sample) for test in _few(tests)])


def guru(sample: Sample) -> dict[str, Any]:
    """Reasoning360's `{"functional"}`, `{"pytest"}`, `{"solution_file"}` or `{"inputs", "outputs"}`."""
    tests = _object(sample.reference)
    prefix = (sample.metadata or {}).get("prefix") or ""
    if "functional" in tests:
        return {**_reference([_assert(tests["functional"])]), **({"prefix": prefix} if prefix else {})}
    if "solution_file" in tests:
        return _reference([_assert(tests["solution_file"])])
    if "pytest" in tests:
        content = tests["pytest"]
        return _reference(
            [{"type": "file", "name": "test_solution.py", "content": content, "expect": _tests_in(content)}]
        )
    if "inputs" in tests and "outputs" in tests:
        return inputs_outputs(sample)
    raise ValueError('contains none of "functional", "pytest", "solution_file", "inputs" with "outputs"')


def _of_pair(test: Mapping[str, Any], sample: Sample) -> dict[str, Any]:
    if "input" not in test or "output" not in test:
        raise ValueError('has a test without "input" or "output"')
    if test.get("testtype") == "functional" or test.get("type") == "function_call":
        name = test.get("fn_name") or (sample.metadata or {}).get("func_name")
        if not name:
            raise ValueError('has tests that call a function, but neither "fn_name" nor metadata.func_name names it')
        return _call(name, test["input"], test["output"])
    return _printed(test["input"], test["output"])


def _printed(given: Any, wanted: Any) -> dict[str, Any]:
    return {"type": "stdio", "stdin": _lines(given, "input"), "stdout": _lines(wanted, "output")}


def _lines(value: Any, what: str) -> str:
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        return "\n".join(value)
    if not isinstance(value, str):
        raise ValueError(f"has an {what} that is neither a string nor a list of lines")
    return value.replace("\r\n", "\n")


def _call(name: Any, given: Any, wanted: Any) -> dict[str, Any]:
    """A call: arguments as a list, or each as JSON on a line of its own."""
    if not isinstance(name, str) or not all(part.isidentifier() for part in name.split(".")):
        raise ValueError(f"is not the name of a function: {name!r}")
    arguments = [read_json(line) for line in given.split("\n")] if isinstance(given, str) else given
    expected = read_json(wanted) if isinstance(wanted, str) and isinstance(given, str) else wanted
    if not isinstance(arguments, list):
        raise ValueError("has arguments that are not a list")
    # The sets wrap some results in a list of one, and do not say which.
    values = [expected, expected[0]] if isinstance(expected, list) and len(expected) == 1 else [expected]
    code = _CALL.format(name=name.rpartition(".")[2], arguments=_literal(arguments), expected=_literal(values))
    return {"type": "assert", "code": code}


def _literal(value: Any) -> str:
    """A JSON value in Python's words."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise ValueError("has arguments or results that are not JSON") from None
    return repr(value)


def _assert(code: Any) -> dict[str, Any]:
    if not isinstance(code, str) or not code.strip():
        raise ValueError("has an assertion that is not a string")
    return {"type": "assert", "code": code}


def _tests_in(content: Any) -> list[str]:
    """The tests that a file of pytest defines: read, not run."""
    if not isinstance(content, str):
        raise ValueError('has a "pytest" that is not a string')
    try:
        body = ast.parse(content).body
    except (SyntaxError, ValueError, RecursionError) as error:
        raise ValueError(f'has a "pytest" that is not valid Python: {error}') from None
    found = []
    for item in body:
        if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)) and item.name.startswith("test"):
            found.append(item.name)
        elif isinstance(item, ast.ClassDef) and item.name.startswith("Test"):
            methods = (one.name for one in item.body if isinstance(one, ast.FunctionDef))
            found += [f"{item.name}::{name}" for name in methods if name.startswith("test")]
    if not found:
        raise ValueError('has a "pytest" without a test')
    return found


def _object(reference: Any) -> Mapping[str, Any]:
    found = read_json(reference)
    if not isinstance(found, Mapping):
        raise ValueError("is not an object of tests")
    return found


def _is_packed(reference: Any) -> bool:
    """Returns whether a reference is JSON or packed, and not already the statements themselves."""
    reference = only(reference)
    if not isinstance(reference, str) or reference.lstrip().startswith("assert"):
        return False
    return reference.lstrip()[:1] == "[" or " " not in reference.strip()


def _few(tests: list[Any]) -> list[Any]:
    if len(tests) > MAX_TESTS:
        raise ValueError(f"contains {len(tests)} tests; the limit is {MAX_TESTS}")
    return tests


def _reference(tests: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    if not tests:
        raise ValueError("contains no tests")
    checker = {"checker": _OUTPUTS} if all(test["type"] == "stdio" for test in tests) else {}
    return {"language": "python", "tests": list(tests), **checker}
