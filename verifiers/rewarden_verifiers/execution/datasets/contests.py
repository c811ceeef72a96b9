"""Sets of programming contests: lists of inputs and outputs, with the limits and the checker of the site."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rewarden_verifiers.execution.datasets.row import Row
from rewarden_verifiers.execution.datasets.stored import by_language, first_in, listed
from rewarden_verifiers.execution.datasets.tests import asserted, contest, in_files, inputs_outputs, printed
from rewarden_verifiers.execution.reference import Checker, CodeReference, RunLimits, Test, invalid


def apps(row: Row, languages: Sequence[str]) -> CodeReference:
    """APPS and TACO: `input_output`, JSON of `inputs`, `outputs` and `fn_name`; `starter_code`, `solutions`."""
    tests = row.inner("input_output") if row.has("input_output") else row
    if not tests.has("inputs") and row.get("input_output") == "":
        raise invalid("is empty: the row has no tests", row.at("input_output"))
    name_of = tests if tests.has("fn_name") else row
    made = inputs_outputs(tests, name_of.get("fn_name"), name_of.at("fn_name"))
    return contest(made, languages, row, limits=_limits(row), solution=first_in(languages[0], listed(row)))


def eurus(row: Row, languages: Sequence[str]) -> CodeReference:
    """Eurus-2, and verl's rows made of it: `inputs`, `outputs` and `fn_name`, or `assert_case`, in `ground_truth`."""
    tests = row.inner("ground_truth") if row.has("ground_truth") else row
    if tests.has("assert_case"):
        items = tests.items("assert_case")
        made = [asserted(code, f"{tests.at('assert_case')}[{place}]") for place, code in enumerate(items)]
        return CodeReference(language="python", tests=tuple(made))
    name_of = tests if tests.has("fn_name") else row
    return contest(inputs_outputs(tests, name_of.get("fn_name"), name_of.at("fn_name")), languages, row)


def codecontests(row: Row, languages: Sequence[str]) -> CodeReference:
    """CodeContests: `public_tests`, `private_tests` and `generated_tests`, each with lists `input` and `output`; for
    tasks that do not use stdin or stdout, `input_file` and `output_file` name the files.
    """
    reads, writes = row.file_name("input_file"), row.file_name("output_file")
    tests: list[Test] = []
    for name in ("public_tests", "private_tests", "generated_tests"):
        if row.has(name):
            some = row.inner(name)
            given, wanted = some.items("input"), some.items("output")
            if len(given) != len(wanted):
                raise invalid(f"has {len(wanted)} items for {len(given)} of input", some.at("output"))
            tests += [
                printed(one, other, f"{some.at('input')}[{place}]", f"{some.at('output')}[{place}]")
                for place, (one, other) in enumerate(zip(given, wanted, strict=True))
            ]
    if not tests:
        raise invalid("there are no tests", row.at("public_tests"))
    tests = [in_files(test, reads, writes, judged=False) for test in tests]
    return contest(
        tests, languages, row, limits=_limits(row), solution=first_in(languages[0], by_language("solutions")(row))
    )


def codeforces(row: Row, languages: Sequence[str]) -> CodeReference:
    """open-r1/codeforces: `official_tests`, `generated_tests` joined to the row, `generated_checker`, the limits;
    `input_mode`, which is `file` for tasks that read `input.txt` and write `output.txt`."""
    if row.get("input_mode") not in (None, "", "stdio", "file"):
        raise invalid("is neither 'stdio' nor 'file'", row.at("input_mode"))
    if row.has("interaction_format"):
        raise invalid("the task is interactive, and the row has no interactor", row.at("interaction_format"))
    tests = _pairs(row, "official_tests")
    if isinstance(row.get("generated_tests"), (list, str)):  # in the published set, this is their number
        tests += _pairs(row, "generated_tests")
    if not tests:
        raise invalid("there are no tests", row.at("official_tests"))
    more: dict[str, Any] = {}
    if row.has("generated_checker"):
        checker = Checker(type="program", language="python", code=row.code("generated_checker"), protocol="score")
        more["checker"] = checker
    if row.has("language"):
        languages = (row.text("language"),)
    if row.get("input_mode") == "file":
        tests = [in_files(test, "input.txt", "output.txt", judged="checker" in more) for test in tests]
    return contest(tests, languages, row, limits=_limits(row), **more)


def codeforces_python(row: Row, languages: Sequence[str]) -> CodeReference:
    """Codeforces-Python-Submissions: `test_cases` with `input` and `output`, `time-limit`, `memory-limit`."""
    tests = _pairs(row, "test_cases")
    return contest(tests, languages, row, limits=_limits(row))


def rstar(row: Row, languages: Sequence[str]) -> CodeReference:
    """rStar-Coder's test cases: JSON lists `inputs` and `outputs`, with `func_name` for calls."""
    return contest(inputs_outputs(row, row.get("func_name"), row.at("func_name")), languages, row)


def _pairs(row: Row, name: str) -> list[Test]:
    found = []
    for one in row.rows(name):
        for part in ("input", "output"):
            if one.get(part) is None:
                raise invalid("is missing", one.at(part))
        found.append(printed(one.get("input"), one.get("output"), one.at("input"), one.at("output")))
    return found


def _limits(row: Row) -> RunLimits:
    """Returns the limits of a row: time in seconds, and memory in bytes or megabytes."""
    time = row.get("time_limit")
    if isinstance(time, Mapping):  # a protobuf duration
        seconds = float(time.get("seconds") or 0) + float(time.get("nanos") or 0) / 1e9
        cpu_s = seconds or None
    else:
        cpu_s = row.number(row.first("time_limit", "time-limit", "timeLimit"))
    in_bytes = row.number("memory_limit_bytes")
    megabytes = row.number(row.first("memory_limit", "memory-limit", "memoryLimit"))
    memory_mb = max(int(in_bytes // 2**20), 1) if in_bytes else int(megabytes) if megabytes else None
    return RunLimits(cpu_s=cpu_s, memory_mb=memory_mb)
