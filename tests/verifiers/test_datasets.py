"""Rows as they are published, judged with one word of configuration: right programs pass and wrong twins fail."""

from __future__ import annotations

import base64
import json
import pickle
import zlib
from collections.abc import Sequence
from typing import Any, get_args

import pytest
from pydantic import TypeAdapter

from rewarden.errors import InvalidReference
from rewarden.routing import routing_from_json
from rewarden.routing.datasets import DATASETS as BESIDE
from rewarden.types import Batch, Sample, Use, Verdict
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings
from rewarden_verifiers.execution import datasets
from rewarden_verifiers.execution.datasets import DATASETS, read_row, read_solutions, read_wrong
from rewarden_verifiers.execution.datasets.stored import none
from rewarden_verifiers.execution.reference import CodeReference, read_reference
from rewarden_verifiers.execution.reference_json import reference_to_json
from tests.verifiers.published_rows import CODEFORCES, CPP_SQUARE, HUMANEVAL, PUBLISHED, SQUARE, Published, packed

BROKEN = [
    pytest.param(one.dataset, row, path, id=f"{one.dataset}: {path}")
    for one in PUBLISHED
    for path, row in one.broken.items()
]


async def judged(samples: Sequence[Sample]) -> Sequence[Verdict]:
    engine = Engine(settings=EngineSettings(workers=1))
    await engine.start()
    try:
        return (await engine.verify(Batch(samples=samples))).verdicts
    finally:
        await engine.close()


def sample(one: Published, program: str, label: str | None = None, **params: Any) -> Sample:
    use = Use(name="code", params={"dataset": one.dataset, **params})
    response = f"So:\n```{one.label if label is None else label}\n{program}\n```"
    return Sample(response=response, reference=one.row, use=use, metadata=one.metadata, id=one.title)


@pytest.mark.needs_server
async def test_right_programs_pass_and_wrong_ones_fail() -> None:
    verdicts = await judged([sample(one, code) for one in PUBLISHED for code in (one.gold, one.wrong)])
    found = [(verdict.id, verdict.score, verdict.reason) for verdict in verdicts]
    assert [(one, score) for one, score, _ in found] == [
        (one.title, score) for one in PUBLISHED for score in (1.0, 0.0)
    ], found
    for verdict in verdicts[1::2]:
        assert verdict.reason == "wrong_answer", verdict


@pytest.mark.parametrize("name", DATASETS)
def test_every_set_has_a_row_here(name: str) -> None:
    assert any(one.dataset == name for one in PUBLISHED)
    assert name in get_args(datasets.Name)


def test_the_client_sends_what_a_set_keeps_beside_its_tests() -> None:
    assert BESIDE.keys() <= DATASETS.keys()
    routing = routing_from_json({"route": [{"use": "code", "params": {"dataset": "humaneval"}}]})
    row = dict(HUMANEVAL)
    tests = row.pop("test")
    beside = {name: row[name] for name in routing.metadata}
    assert read_row("humaneval", tests, beside) == read_row("humaneval", HUMANEVAL, None)


def test_more_tests_than_the_verifier_takes_are_refused_before_they_are_made() -> None:
    lists = {"inputs": [""] * 10_001, "outputs": [""] * 10_001}
    with pytest.raises(InvalidReference, match="inputs: contains 10001 tests"):
        read_row("apps", {"input_output": lists}, None)


@pytest.mark.parametrize(
    ("name", "written", "code"),
    [
        ("acecode", "assert(f(1)==1)", "assert(f(1)==1)"),
        ("acecode", ["assert(f(1)==1)"], "assert(f(1)==1)"),
        ("acecode", '["assert f(1) == 2"]', "assert f(1) == 2"),
        ("reasoning360", {"solution_file": "assert f()"}, "assert f()"),
    ],
)
def test_assertions_as_the_sets_write_them(name: str, written: Any, code: str) -> None:
    [test] = read_row(name, written, None).tests
    assert (test.type, test.code) == ("assert", code)


@pytest.mark.parametrize(
    "written",
    [
        [{"input": "3\n", "output": "9\n"}],
        [json.dumps([{"type": "stdin_stdout", "input": "3\n", "output": "9\r\n"}])],
        base64.b64encode(zlib.compress(b'[{"input": ["3", ""], "output": "9\\n"}]')).decode(),
    ],
)
def test_inputs_and_outputs_as_the_sets_write_them(written: Any) -> None:
    reference = read_row("deepcoder", written, None)
    assert ([(test.stdin, test.stdout) for test in reference.tests], reference.checker) == ([("3\n", "9\n")], "floats")


STORING = [name for name, data_set in DATASETS.items() if data_set.stored is not none]


@pytest.mark.parametrize("name", STORING)
def test_the_solutions_of_a_row_are_known(name: str) -> None:
    rows = [one for one in PUBLISHED if one.dataset == name and isinstance(one.row, dict)]
    found = [solution for one in rows for solution in read_solutions(name, one.row, None, ["python", one.label])]
    assert found
    for solution in found:
        assert any(one.gold in solution.text or solution.text.endswith(f"{one.gold}\n") for one in rows), solution


def test_only_solutions_that_the_row_allows_are_taken() -> None:
    row = next(one.row for one in PUBLISHED if one.dataset == "codecontests")
    assert [one.language for one in read_solutions("codecontests", row, None, ["python", "cpp"])] == ["cpp", "python"]
    assert [one.text for one in read_solutions("codecontests", row, None, ["python"])] == [SQUARE]
    submission = {"test_cases": [], "programmingLanguage": "Python 2", "verdict": "OK", "code": "print 1"}
    assert read_solutions("codeforces_python", submission, None, ["python"]) == []
    wrong = {**submission, "programmingLanguage": "Python 3", "verdict": "WRONG_ANSWER"}
    assert read_solutions("codeforces_python", wrong, None, ["python"]) == []


def test_programs_that_are_stored_as_wrong_ones_are_no_solutions() -> None:
    row = {"incorrect_solutions": {"language": [3, 2, 1], "solution": ["print(1)", "int main() {}", "print 1"]}}
    found = read_wrong("codecontests", row, None, ["python", "cpp"])
    assert [(one.language, one.text) for one in found] == [("python", "print(1)"), ("cpp", "int main() {}")]
    assert read_solutions("codecontests", row, None, ["python", "cpp"]) == []
    submission = {"test_cases": [], "programmingLanguage": "PyPy 3-64", "verdict": "WRONG_ANSWER", "code": "print(1)"}
    assert [one.text for one in read_wrong("codeforces_python", submission, None, ["python"])] == ["print(1)"]
    assert read_wrong("codeforces_python", {**submission, "verdict": "OK"}, None, ["python"]) == []
    assert read_wrong("apps", {"incorrect_solutions": ["print(1)"]}, None, ["python"]) == []


def test_solutions_beside_the_tests_are_found() -> None:
    beside = {"solutions": json.dumps([SQUARE])}
    assert [one.text for one in read_solutions("apps", '{"inputs": []}', beside, ["python"])] == [SQUARE]


@pytest.mark.parametrize("one", PUBLISHED, ids=lambda one: one.title)
def test_a_reference_can_be_written_as_json(one: Published) -> None:
    reference = read_row(one.dataset, one.row, one.metadata)
    written = json.loads(json.dumps(reference_to_json(reference)))
    assert TypeAdapter(CodeReference).validate_python(written) == reference


@pytest.mark.parametrize("one", PUBLISHED, ids=lambda one: one.title)
def test_a_row_can_be_json(one: Published) -> None:
    read = read_row(one.dataset, one.row, one.metadata)
    text = one.row if isinstance(one.row, str) else json.dumps(one.row)
    assert read_row(one.dataset, text, one.metadata) == read
    read_reference(read)


@pytest.mark.parametrize(("name", "row", "path"), BROKEN)
def test_a_mistake_names_its_field(name: str, row: Any, path: str) -> None:
    for written in (row, row if isinstance(row, str) else json.dumps(row)):
        for _ in range(2):  # the second time, it is remembered
            with pytest.raises(InvalidReference) as error:
                read_row(name, written, None)
            assert error.value.details["path"] == path
            assert path in error.value.message


def test_equal_texts_are_read_once() -> None:
    text = json.dumps(CODEFORCES)
    assert read_row("codeforces", text, None) is read_row("codeforces", text, None)
    assert read_row("codeforces", text, None, ["cpp"]).language == "cpp"


# --- pickles -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_the_pickle_of_a_text_is_read_and_not_loaded(protocol: int) -> None:
    tests = json.dumps([{"input": "é" * 300, "output": "9", "testtype": "stdin"}])
    text = base64.b64encode(zlib.compress(pickle.dumps(tests, protocol=protocol))).decode()
    [test] = read_row("livecodebench", {"private_test_cases": text}, None).tests
    assert (test.stdin, test.stdout) == ("é" * 300, "9")


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_no_other_pickle_is_read(protocol: int) -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return pytest.fail, ("a pickle was loaded",)

    for value in (Trap(), ["[]"], ("[]", "[]")):
        text = base64.b64encode(zlib.compress(pickle.dumps(value, protocol=protocol))).decode()
        with pytest.raises(InvalidReference, match="private_test_cases"):
            read_row("livecodebench", {"private_test_cases": text}, None)


@pytest.mark.parametrize("name", ["livecodebench", "deepcoder"])
def test_what_unpacks_to_too_much_is_refused(name: str) -> None:
    bomb = packed(["1" * 2 * 1024**2])
    row = {"private_test_cases": bomb, "tests": {"inputs": bomb, "outputs": bomb}}
    with pytest.raises(InvalidReference, match="decompresses to more than 1 MiB"):
        read_row(name, row, None, max_bytes=1024**2)


# --- languages ---------------------------------------------------------------------------------------------------


def codeforces(**more: Any) -> Published:
    return Published("x", "codeforces", {**CODEFORCES, **more}, SQUARE, "")


@pytest.mark.needs_server
async def test_the_fence_chooses_among_the_allowed_languages_and_no_others() -> None:
    verdicts = await judged(
        [
            sample(codeforces(), SQUARE, "python"),
            sample(codeforces(), CPP_SQUARE, "c++"),
            sample(codeforces(), SQUARE, ""),
            sample(codeforces(), "console.log(9)", "js"),
            sample(codeforces(language="cpp"), SQUARE, "python"),
            sample(codeforces(language="cpp"), CPP_SQUARE, ""),
            sample(codeforces(), SQUARE, "python", languages=["cpp"]),
            sample(codeforces(language="python"), SQUARE, "python", languages=["cpp"]),
        ]
    )
    wrong = (0.0, "wrong_language")
    right = (1.0, None)
    assert [(verdict.score, verdict.reason) for verdict in verdicts] == [
        right, right, right, wrong, wrong, right, wrong, right,
    ]  # fmt: skip
    assert [verdict.evidence["language"] for verdict in verdicts[:3]] == ["python", "cpp", "python"]


@pytest.mark.needs_server
async def test_a_language_that_cannot_run_is_refused_before_any_program_runs() -> None:
    verdicts = await judged([sample(codeforces(), SQUARE, languages=["python", "klingon"])] * 2)
    for verdict in verdicts:
        assert (verdict.status, verdict.fault) == ("undecided", "reference")
        assert "klingon" in str(verdict.feedback)


@pytest.mark.needs_server
async def test_code_without_a_fence_is_read_where_all_of_it_is_a_program() -> None:
    one, cpp = codeforces(), codeforces(language="cpp")

    def bare(row: Published, text: str) -> Sample:
        return Sample(response=text, reference=row.row, use=Use(name="code", params={"dataset": "codeforces"}))

    verdicts = await judged(
        [bare(one, SQUARE), bare(cpp, CPP_SQUARE), bare(one, f"It is:\n{SQUARE}"), bare(cpp, "I do not know.")]
    )
    assert [(verdict.score, verdict.reason) for verdict in verdicts] == [
        (1.0, None), (1.0, None), (0.0, "no_answer"), (0.0, "no_answer"),
    ]  # fmt: skip
