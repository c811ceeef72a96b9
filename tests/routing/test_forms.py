"""Reference forms: values in data sets, the references made from them, and errors."""

from __future__ import annotations

import json
from typing import Any

import pytest

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
    text = json.dumps({"target": ["1" * 3000]})
    first, again = read("target", text), read("target", str(bytearray(text.encode()), "utf-8"))
    assert first is again  # of an equal text, not only of the same object
    assert read("json", text) != first
    long = "SELECT " + "1, " * 1000 + "1"
    one, other = read("sql", long, db_id="one"), read("sql", long, db_id="other")
    assert one != other  # what stands beside counts
    assert refusal("json", "[" + " " * 3000) == refusal("json", "[" + " " * 3000)


@pytest.mark.parametrize(
    ("form", "reference", "expected"),
    [
        ("texts", '"The Hobbit" by Tolkien', ['"The Hobbit" by Tolkien']),
        ("texts", '"The Hobbit"', ["The Hobbit"]),
    ],
)
def test_answers_that_only_look_like_json_stand_as_they_are(form: str, reference: Any, expected: Any) -> None:
    assert read(form, reference) == expected


@pytest.mark.parametrize("reference", [[[1, None]], [[1, ""]], [[1, [2]]], [[{}, 1]]])
def test_a_grid_without_a_filling_is_no_reference(reference: Any) -> None:
    assert "a cell that is empty" in refusal("grid", reference)


def test_a_truth_value_is_no_text() -> None:
    assert "neither an answer" in refusal("texts", True)
