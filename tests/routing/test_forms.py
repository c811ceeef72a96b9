"""Reference forms: what data sets write, what comes of it, and what is refused in words."""

from __future__ import annotations

import base64
import json
import pickle
import zlib
from typing import Any

import pytest

from rewarden.routing import packed
from rewarden.routing.forms import FORMS, read_reference
from rewarden.types import Sample


def read(form: str, reference: Any, **metadata: Any) -> Any:
    return read_reference(form, Sample(response="x", reference=reference, metadata=metadata or None))


def refusal(form: str, reference: Any, **metadata: Any) -> str:
    with pytest.raises(ValueError, match=r".") as error:
        read(form, reference, **metadata)
    return str(error.value)


@pytest.mark.parametrize(
    ("form", "reference", "metadata", "expected"),
    [
        ("json", '{"a": 1}', {}, {"a": 1}),
        ("json", {"a": 1}, {}, {"a": 1}),
        ("one", ["4"], {}, "4"),
        ("one", "4", {}, "4"),
        ("gsm8k", "48/2 = 24 #### wait\n#### 1,072", {}, "1,072"),
        ("gsm8k", ["72"], {}, "72"),
        ("letter", "(b)", {}, "B"),
        ("letter", ["C."], {}, "C"),
        ("texts", "Paris", {}, ["Paris"]),
        ("texts", ["Paris", "City of Paris"], {}, ["Paris", "City of Paris"]),
        ("texts", '["Paris", 75]', {}, ["Paris", "75"]),
        ("texts", ['["Paris"]'], {}, ["Paris"]),
        ("target", {"target": ["a"]}, {}, ["a"]),
        ("table", "12.5", {}, "12.5"),
        ("table", 0.25, {}, 0.25),
        ("sql", "SELECT 1", {"db_id": "shop"}, {"database": "shop", "sql": "SELECT 1"}),
        ("sql", ["SELECT 1"], {"db_id": "shop"}, {"database": "shop", "sql": "SELECT 1"}),
        ("sql", ["SELECT 1", "SELECT 2"], {"db_id": "shop"}, {"database": "shop", "sql": ["SELECT 1", "SELECT 2"]}),
        ("sql", "SELECT 1\tshop", {}, {"database": "shop", "sql": "SELECT 1"}),
        ("sql", "SELECT '\t'", {"db_id": "shop"}, {"database": "shop", "sql": "SELECT '\t'"}),
        *(
            ("sql", {"question": "?", name: "SELECT 1", "db_id": "shop"}, {}, {"database": "shop", "sql": "SELECT 1"})
            for name in ("SQL", "query", "gt_sql", "gold_sql", "ground_truth", "sql")
        ),
        (
            "sql",
            {"query": "SELECT 1", "sql": {"select": []}, "db_id": "shop"},
            {},
            {"database": "shop", "sql": "SELECT 1"},
        ),
        ("sql", '{"db_id": "shop", "sql": "SELECT 1"}', {}, {"database": "shop", "sql": "SELECT 1"}),
        (
            "sql",
            {"database": {"script": "…"}, "result": {"rows": [[1]]}, "ordered": True},
            {},
            {"database": {"script": "…"}, "result": {"rows": [[1]]}, "ordered": True},
        ),
        ("lean", "theorem t : p := by", {}, {"statement": "theorem t : p := by"}),
        ("lean", ["theorem t : p := by"], {}, {"statement": "theorem t : p := by"}),
        *(
            ("lean", {"informal": "?", name: "theorem t : p", "name": "t"}, {}, {"statement": "theorem t : p"})
            for name in ("formal_statement", "lean4_statement", "lean4_formalization", "autoformalization", "statement")
        ),
        *(
            (
                "lean",
                {"statement": "Show that p.", "formal_statement": "theorem t : p", header: "import Mathlib"},
                {},
                {"statement": "theorem t : p", "header": "import Mathlib"},
            )
            for header in ("header", "lean4_src_header")
        ),
        ("lean", '{"formal_statement": "theorem t : p", "header": ""}', {}, {"statement": "theorem t : p"}),
        (
            "lean",
            {"statement": "theorem t : p", "theorems": ["t"], "lemmas": ["l"], "definitions": ["d"]},
            {},
            {"statement": "theorem t : p", "theorems": ["t"], "lemmas": ["l"], "definitions": ["d"]},
        ),
        (
            "lean",
            "Should be solved in Lean 4.",
            {"formal_statement": "theorem t : p", "header": "import Mathlib"},
            {"statement": "theorem t : p", "header": "import Mathlib"},
        ),
        ("lean", "theorem t : p", {"header": "open Nat"}, {"statement": "theorem t : p", "header": "open Nat"}),
        ("prediction", '"output": [1]', {}, {"alternatives": [{"output": [1]}, [1]]}),
        ("prediction", '{"input": {"n": 3}}', {}, {"alternatives": [{"input": {"n": 3}}, {"n": 3}]}),
        (
            "ifeval",
            [{"num_words": 3}],
            {"instruction_id_list": ["a:b"]},
            {"instruction_id_list": ["a:b"], "kwargs": [{"num_words": 3}]},
        ),
        ("grid", [[1, 2], [3, 4]], {}, {"task": "grid", "solution": [[1, 2], [3, 4]]}),
        ("names", '["a", "b"]', {}, ["a", "b"]),
        (
            "reasoning_gym",
            "4",
            {"task": "basic_arithmetic", "metadata": '{"difficulty": 1}'},
            {
                "task": "reasoning_gym",
                "dataset": "basic_arithmetic",
                "entry": {"question": "", "answer": "4", "metadata": {"difficulty": 1}},
            },
        ),
        (
            "reasoning_gym",
            {"question": "2+2?", "answer": "4", "metadata": {"source_dataset": "basic_arithmetic"}},
            {},
            {
                "task": "reasoning_gym",
                "dataset": "basic_arithmetic",
                "entry": {"question": "2+2?", "answer": "4", "metadata": {"source_dataset": "basic_arithmetic"}},
            },
        ),
    ],
)
def test_what_a_form_reads(form: str, reference: Any, metadata: dict[str, Any], expected: Any) -> None:
    assert read(form, reference, **metadata) == expected


STDIO = {"type": "stdio", "stdin": "3\n", "stdout": "9\n"}


@pytest.mark.parametrize(
    ("form", "reference"),
    [
        ("inputs_outputs", json.dumps({"inputs": ["3\n"], "outputs": ["9\n"]})),
        ("inputs_outputs", {"inputs": [["3", ""]], "outputs": ["9\r\n"]}),
        ("stdio", [{"input": "3\n", "output": "9\n"}]),
        ("stdio", json.dumps([{"input": "3\n", "output": "9\n", "testtype": "stdin"}])),
        ("stdio", [json.dumps([{"type": "stdin_stdout", "input": "3\n", "output": "9\n"}])]),
        ("stdio", base64.b64encode(zlib.compress(b'[{"input": "3\\n", "output": "9\\n"}]')).decode()),
        ("guru_code", json.dumps({"inputs": ["3\n"], "outputs": ["9\n"]})),
    ],
)
def test_texts_in_and_out(form: str, reference: Any) -> None:
    assert read(form, reference) == {"language": "python", "tests": [STDIO], "checker": "floats"}


@pytest.mark.parametrize("written", ["assert f(1) == 2", ["assert f(1) == 2"], '["assert f(1) == 2"]'])
def test_assertions(written: Any) -> None:
    assert read("asserts", written) == {
        "language": "python",
        "tests": [{"type": "assert", "code": "assert f(1) == 2"}],
    }


def test_calls_by_lists_or_by_lines_of_json() -> None:
    for given in ({"inputs": [[1, 2]], "outputs": [[3]]}, {"inputs": ["1\n2"], "outputs": ["[3]"]}):
        (test,) = read("inputs_outputs", json.dumps({**given, "fn_name": "add"}))["tests"]
        assert "_function(*[1, 2])" in test["code"]
        assert "_expected = [[3], 3]" in test["code"]
        compile(test["code"], "test", "exec")
    told = {"input": "1\n2", "output": "3", "testtype": "functional"}
    (test,) = read("stdio", [told], func_name="Solution.add")["tests"]
    assert "Solution().add" in test["code"]
    assert read("inputs_outputs", {"assert_case": ["assert f()"]})["tests"] == [
        {"type": "assert", "code": "assert f()"}
    ]


def test_a_file_of_tests_is_read_and_never_run() -> None:
    content = "import os\nos.abort()\ndef helper(): ...\ndef test_a(): ...\nclass TestB:\n    def test_c(self): ...\n"
    (test,) = read("guru_code", json.dumps({"pytest": content}))["tests"]
    assert (test["type"], test["expect"]) == ("file", ["test_a", "TestB::test_c"])


def test_a_prompts_code_stands_before_the_program() -> None:
    found = read("guru_code", json.dumps({"functional": "assert f(1)"}), prefix="import math\n")
    assert found["prefix"] == "import math\n"


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("pack", [zlib.compress, bytes])
def test_pickles_are_never_read(protocol: int, pack: Any) -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return pytest.fail, ("a pickle was read",)

    text = base64.b64encode(pack(pickle.dumps(Trap(), protocol=protocol))).decode()
    for form in ("stdio", "asserts", "inputs_outputs", "guru_code", "json"):
        told = refusal(form, text)
        assert "pickle" in told or "not JSON" in told
    if pack is zlib.compress:
        assert "A pickle is not read, because it can run code" in refusal("stdio", text)


def test_what_unpacks_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "MAX_BYTES", 1024**2)
    bomb = base64.b64encode(zlib.compress(b"[" + b" " * 2 * 1024**2 + b"]")).decode()
    assert "decompresses to more than 1 MiB" in refusal("stdio", bomb)


@pytest.mark.parametrize(
    ("form", "reference", "message"),
    [
        ("one", ["a", "b"], "a list of 2"),
        ("letter", "Paris", "not an option letter"),
        ("texts", [], "neither an answer nor a list"),
        ("texts", {"a": 1}, "neither an answer nor a list"),
        ("target", "Paris", "not JSON"),
        ("target", {"answer": 1}, 'under "target"'),
        ("table", "a|b", "several answers"),
        ("table", True, "neither a number nor a string"),
        ("prediction", '"result": 3', "neither"),
        ("prediction", "3", "not JSON"),
        ("ifeval", [{}], "instruction_id_list"),
        ("inputs_outputs", {"inputs": ["1"], "outputs": []}, "of equal length"),
        ("inputs_outputs", {"inputs": [], "outputs": []}, "no tests"),
        ("inputs_outputs", {"inputs": [3], "outputs": ["9"]}, "neither a string nor a list of lines"),
        (
            "inputs_outputs",
            {"inputs": [[1]], "outputs": [[1]], "fn_name": "f(); import os"},
            "not the name of a function",
        ),
        ("inputs_outputs", "[1]", "not an object of tests"),
        ("inputs_outputs", {"inputs": [[float("nan")]], "outputs": [[1]], "fn_name": "f"}, "not JSON"),
        ("asserts", [3], "not a string"),
        ("asserts", [], "no tests"),
        ("asserts", {"a": 1}, "not a list of assertions"),
        ("stdio", [{"input": "1"}], 'without "input" or "output"'),
        ("stdio", [{"input": "1", "output": "2", "testtype": "functional"}], "func_name"),
        ("guru_code", "{}", "contains none of"),
        ("guru_code", {"pytest": "def f(:"}, "not valid Python"),
        ("guru_code", {"pytest": "x = 1"}, "without a test"),
        ("guru_code", {"functional": ""}, "not a string"),
        ("zebra", {"rows": []}, "not a table"),
        ("grid", [[1], [2, 3]], "not a grid"),
        ("grid", [], "not a grid"),
        ("names", [1], "not a list of names"),
        ("reasoning_gym", "4", "names no data set"),
        ("sql", "SELECT 1", "add db_id"),
        ("sql", "SELECT '\t'", "add db_id"),
        ("sql", {"db_id": "shop", "sql": {"select": []}}, "contains no query"),
        ("sql", {"db_id": "shop", "query": " "}, "contains no query"),
        ("sql", {"db_id": "shop"}, "contains no query"),
        ("sql", 3, "contains no query"),
        ("lean", {"formal_statement": " ", "name": "t"}, "contains no statement"),
        ("lean", ["theorem a : p", "theorem b : p"], "contains no statement"),
        ("lean", 3, "contains no statement"),
        ("json", "[" * 100_000, "too deep"),
    ],
)
def test_what_is_not_in_the_form_is_refused_in_words(form: str, reference: Any, message: str) -> None:
    assert message in refusal(form, reference)


def test_every_form_needs_a_reference() -> None:
    for form in FORMS:
        assert "missing" in refusal(form, None)


def test_long_references_are_read_once_for_siblings() -> None:
    text = json.dumps([{"input": "1" * 3000, "output": "1"}])
    first, again = read("stdio", text), read("stdio", str(bytearray(text.encode()), "utf-8"))
    assert first is again  # of an equal text, not only of the same object
    assert read("json", text) != first
    long = json.dumps({"inputs": [[1]], "outputs": [1], "x": "y" * 3000})
    one, other = read("inputs_outputs", long, fn_name="one"), read("inputs_outputs", long, fn_name="other")
    assert one != other  # what stands beside counts
    assert refusal("stdio", "[" + " " * 3000) == refusal("stdio", "[" + " " * 3000)


def test_packed_texts_unpack_to_as_much_as_is_allowed_and_no_more() -> None:
    text = base64.b64encode(zlib.compress(json.dumps([{"input": "1" * 100_000, "output": "1"}]).encode(), 0)).decode()
    sample = Sample(response="x", reference=text)
    assert read_reference("stdio", sample, 200_000)["tests"]
    with pytest.raises(ValueError, match=r"decompresses to more than 0\.0625 MiB"):
        read_reference("stdio", sample, 64 * 1024)


def test_more_tests_than_the_verifier_takes_are_refused_before_they_are_made() -> None:
    assert "contains 10001 tests" in refusal("inputs_outputs", {"inputs": [[]] * 10_001, "outputs": [0] * 10_001})
    assert "contains 10001 tests" in refusal("stdio", [{"input": "", "output": "1"}] * 10_001)
    assert "contains 10001 tests" in refusal("asserts", ["assert f()"] * 10_001)


@pytest.mark.parametrize(
    ("form", "reference", "expected"),
    [
        ("texts", '"The Hobbit" by Tolkien', ['"The Hobbit" by Tolkien']),
        ("texts", '"The Hobbit"', ["The Hobbit"]),
        ("asserts", ["assert(f(1)==1)"], [{"type": "assert", "code": "assert(f(1)==1)"}]),
    ],
)
def test_answers_that_only_look_like_json_stand_as_they_are(form: str, reference: Any, expected: Any) -> None:
    found = read(form, reference)
    assert (found["tests"] if form == "asserts" else found) == expected


@pytest.mark.parametrize("reference", [[[1, None]], [[1, ""]], [[1, [2]]], [[{}, 1]]])
def test_a_grid_without_a_filling_is_no_reference(reference: Any) -> None:
    assert "a cell that is empty" in refusal("grid", reference)


def test_a_truth_value_is_no_text() -> None:
    assert "neither an answer" in refusal("texts", True)
