"""Converts the tests in published rows to the reference's form: printed outputs, calls, and test code."""

from __future__ import annotations

import ast
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rewarden_verifiers.execution.datasets.packed import read_json
from rewarden_verifiers.execution.datasets.row import Row
from rewarden_verifiers.execution.reference import CodeReference, Test, invalid

PRELUDE = """\
import bisect, collections, copy, functools, heapq, itertools, math, operator, random, re, string, sys
from bisect import *
from collections import *
from functools import *
from heapq import *
from itertools import *
from math import ceil, comb, factorial, floor, gcd, inf, isqrt, lcm, log, log2, sqrt
from typing import *
"""
"""Names that are predefined on sites whose tasks give only a function's head, without imports."""

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
"""Calls a function, or the method of `Solution`, if the row does not say which of the two the task asks for."""


def printed(given: Any, wanted: Any, given_at: str, wanted_at: str) -> Test:
    """Returns a test on stdin. Both values are texts or lists of lines. Raises InvalidReference."""
    return Test(type="stdio", stdin=_lines(given, given_at), stdout=_lines(wanted, wanted_at))


def _lines(value: Any, path: str) -> str:
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        return "\n".join(value)
    if not isinstance(value, str):
        raise invalid("is neither a string nor a list of lines", path)
    return value.replace("\r\n", "\n")


def in_files(test: Test, reads: str, writes: str, judged: bool) -> Test:
    """Returns a stdin test that uses files for input and output, if they have names. judged: a checker program reads
    the output. Such a program also reads the input from stdin, so the candidate gets it there too.
    """
    changes: dict[str, Any] = {}
    if reads:
        changes = {"files": {reads: test.stdin}, **({} if judged else {"stdin": ""})}
    if writes:
        changes |= {"stdout": None, "outputs": {writes: test.stdout}}
    return replace(test, **changes)


def called(name: Any, given: Any, wanted: Any, given_at: str, wanted_at: str, name_at: str) -> Test:
    """Returns a test that calls a function by name, or a method of `Solution` if the name or the program says so.

    The arguments are a list, or a text with one JSON value per line. Raises InvalidReference.
    """
    if not isinstance(name, str) or not all(part.isidentifier() for part in name.split(".")):
        raise invalid(f"is not the name of a function: {name!r}", name_at)
    arguments = [_value(line, given_at) for line in given.split("\n")] if isinstance(given, str) else given
    if not isinstance(arguments, list):
        raise invalid("is not a list of arguments", given_at)
    expected = _value(wanted, wanted_at) if isinstance(wanted, str) and isinstance(given, str) else wanted
    # The sets wrap some results in a one-item list without marking them, so either form may be meant.
    values = [expected, expected[0]] if isinstance(expected, list) and len(expected) == 1 else [expected]
    code = _CALL.format(
        name=name.rpartition(".")[2], arguments=_literal(arguments, given_at), expected=_literal(values, wanted_at)
    )
    return Test(type="assert", code=code)


def method_called(name: str, given: str, wanted: str, given_at: str, wanted_at: str) -> Test:
    """Returns a call of a method of `Solution`, with one argument per line. Raises InvalidReference."""
    arguments = tuple(_value(line, given_at) for line in given.split("\n"))
    return Test(type="call", target=f"Solution.{name}", args=arguments, returns=_value(wanted, wanted_at))


def _value(text: str, path: str) -> Any:
    try:
        return read_json(text, max_bytes=0)
    except ValueError as error:
        raise invalid(str(error), path) from None


def _literal(value: Any, path: str) -> str:
    """Returns a JSON value as a Python literal."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise invalid("is not JSON", path) from None
    return repr(value)


def asserted(code: Any, path: str) -> Test:
    """Returns a test that runs assertions. Raises InvalidReference."""
    if not isinstance(code, str) or not code.strip():
        raise invalid("is not a string of assertions", path)
    return Test(type="assert", code=code)


def inputs_outputs(row: Row, name: Any = None, name_at: str = "", outputs: str = "outputs") -> list[Test]:
    """Returns the tests in the lists `inputs` and `outputs`. name: the function that they call, if they do."""
    given, wanted = row.items("inputs"), row.items(outputs)
    if len(given) != len(wanted):
        raise invalid(f"has {len(wanted)} items for {len(given)} of inputs", row.at(outputs))
    pairs = enumerate(zip(given, wanted, strict=True))
    if name:
        return [
            called(name, one, other, f"{row.at('inputs')}[{place}]", f"{row.at(outputs)}[{place}]", name_at)
            for place, (one, other) in pairs
        ]
    return [
        printed(one, other, f"{row.at('inputs')}[{place}]", f"{row.at(outputs)}[{place}]")
        for place, (one, other) in pairs
    ]


def functions_in(content: str, path: str) -> tuple[str, ...]:
    """Returns the names of the tests that a file defines. The file is parsed, not run. Imported names are not tests,
    whatever they are called. Raises InvalidReference.
    """
    try:
        body = ast.parse(content).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise invalid(f"is not valid Python: {error}", path) from None
    found: list[str] = []
    for item in body:
        if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)) and item.name.startswith("test"):
            found.append(item.name)
        elif isinstance(item, ast.ClassDef):
            bases = {ast.unparse(base).rpartition(".")[2] for base in item.bases}
            if item.name.startswith("Test") or "TestCase" in bases:
                methods = (one.name for one in item.body if isinstance(one, ast.FunctionDef))
                found += [f"{item.name}::{name}" for name in methods if name.startswith("test")]
    if not found:
        raise invalid("defines no test", path)
    return tuple(dict.fromkeys(found))


def contest(tests: Sequence[Test], languages: Sequence[str], row: Row, **more: Any) -> CodeReference:
    """Returns a reference for stdin tests, or for calls, which require Python. languages: those of stdin tests."""
    if not tests:
        raise invalid("there are no tests", row.path)
    if all(test.type == "stdio" for test in tests):
        more.setdefault("checker", "floats")  # roughly what the sets' own harnesses tolerate
        return CodeReference(language=languages[0], languages=tuple(languages), tests=tuple(tests), **more)
    more.setdefault("prefix", PRELUDE)
    return CodeReference(language="python", tests=tuple(tests), **more)
