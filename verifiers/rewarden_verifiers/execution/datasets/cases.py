"""Data sets whose rows list test cases, each labelled as a call or as stdin input: LiveCodeBench and its successors."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from rewarden_verifiers.execution.datasets.row import Row
from rewarden_verifiers.execution.datasets.tests import called, contest, inputs_outputs, method_called, printed
from rewarden_verifiers.execution.reference import CodeReference, Test, invalid

_CALLS = ("functional", "function_call")


def livecodebench(row: Row, languages: Sequence[str]) -> CodeReference:
    """LiveCodeBench: `public_test_cases` and `private_test_cases`, JSON or packed; `metadata` with `func_name`."""
    if not row.has("public_test_cases") and not row.has("private_test_cases"):
        raise invalid("is missing", row.at("public_test_cases"))
    name = row.inner("metadata").get("func_name") if row.has("metadata") else row.get("func_name")
    tests = [
        _case(one, name)
        for column in ("public_test_cases", "private_test_cases")
        if row.has(column)
        for one in row.rows(column)
    ]
    return contest(tests, languages, row)


def deepcoder(row: Row, languages: Sequence[str]) -> CodeReference:
    """DeepCoder's `tests` (its rows are LiveCodeBench's, PrimeIntellect's, TACO's or Codeforces'), and lists of
    `{"input", "output"}` elsewhere."""
    tests = row.json("tests")
    if isinstance(tests, Mapping):
        inner = row.within(tests, row.at("tests"))
        return contest(inputs_outputs(inner, inner.get("fn_name"), inner.at("fn_name")), languages, row)
    name = row.get("func_name")
    if not name and isinstance(row.get("metadata"), (Mapping, str)):
        name = row.inner("metadata").get("func_name")
    return contest([_case(one, name) for one in row.rows("tests")], languages, row)


def primeintellect(row: Row, languages: Sequence[str]) -> CodeReference:
    """PrimeIntellect's sets, SYNTHETIC-1 and SYNTHETIC-2: `verification_info`, with `language` and `test_cases`."""
    info = _info(row)
    column = info.first("test_cases", "ground_truth")
    tests = info.json(column)
    if info.has("language"):
        languages = (info.text("language"),)
    if isinstance(tests, Mapping):
        inner = info.within(tests, info.at(column))
        name_of = inner if inner.has("fn_name") else info
        return contest(inputs_outputs(inner, name_of.get("fn_name"), name_of.at("fn_name")), languages, info)
    return contest([_case(one, info.get("fn_name")) for one in info.rows(column)], languages, info)


def _info(row: Row) -> Row:
    """Returns `verification_info`, which some of the sets write as a Python literal instead of JSON."""
    found = row.get("verification_info")
    if isinstance(found, str) and found.lstrip().startswith("{'"):
        try:
            found = ast.literal_eval(found)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            raise invalid("is neither JSON nor a literal of Python", row.at("verification_info")) from None
        if isinstance(found, Mapping):
            return row.within(found, row.at("verification_info"))
    if found is None and (row.has("test_cases") or row.has("ground_truth")):
        return row
    return row.inner("verification_info")


def _case(one: Row, name: Any) -> Test:
    for part in ("input", "output"):
        if one.get(part) is None:
            raise invalid("is missing", one.at(part))
    given, wanted = one.get("input"), one.get("output")
    kind = one.get("testtype") or one.get("type")
    if kind not in _CALLS:
        return printed(given, wanted, one.at("input"), one.at("output"))
    beside = one.get("metadata")
    nested = beside.get("func_name") if isinstance(beside, Mapping) else None
    name, name_at = next(
        (pair for pair in ((one.get("fn_name"), one.at("fn_name")), (nested, one.at("metadata.func_name"))) if pair[0]),
        (name, one.at("fn_name")),
    )
    if not name:
        raise invalid("is missing: the test calls a function, and nothing names it", name_at)
    if kind == "functional" and isinstance(given, str) and isinstance(wanted, str) and str(name).isidentifier():
        return method_called(str(name), given, wanted, one.at("input"), one.at("output"))
    return called(name, given, wanted, one.at("input"), one.at("output"), name_at)
