"""A trainer's data as samples."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from rewarden.adapters import Settings, rows
from rewarden.adapters.references import References
from rewarden.adapters.rows import label_fields, plain, sample_of
from rewarden.errors import InvalidRequest
from rewarden.wire.json import dumps, sample_to_json

WORKED = "24 + 24 + 24 is 72.\n#### 72"
VERLS = {"reward_model": {"style": "rule", "ground_truth": "72"}, "extra_info": {"uid": 7, "source": "cards", "n": 1}}


@pytest.fixture(autouse=True)
def references(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has seen no row."""
    monkeypatch.setattr(rows, "_references", References())


def test_the_reference_is_the_first_of_the_usual_names() -> None:
    assert sample_of("r", {"question": "q", "solution": "s", "answer": "a"}, Settings()).reference == "a"
    assert sample_of("r", {"answer": None, "solution": "s"}, Settings()).reference == "s"
    assert sample_of("r", {"question": "q"}, Settings()).reference is None


def test_an_empty_text_is_a_reference_only_where_nothing_else_is() -> None:
    assert sample_of("r", {"answer": "", "solution": "s"}, Settings()).reference == "s"
    assert sample_of("r", {"answer": "", "solution": ""}, Settings()).reference == ""


@pytest.mark.parametrize(
    ("row", "reference"),
    [
        pytest.param({"question": "q", "answer": WORKED}, WORKED, id="GSM8K"),
        pytest.param({"question": "q", "answer": WORKED, "final_answer": "72"}, WORKED, id="GSM8K, prepared"),
        pytest.param({"problem": "q", "solution": "It is $\\boxed{72}$.", "answer": "72"}, "72", id="MATH-500"),
        pytest.param({"problem": "q", "answer": "72", "solution": "1. Add. [Q.E.D.]"}, "72", id="DeepScaleR"),
        pytest.param(
            {"problem": "q", "answer": "72", "solution": "proof", "question_type": "x"}, "72", id="NuminaMath"
        ),
        pytest.param({"prompt": [], "solution": "72", "target": None, **VERLS}, "72", id="DAPO, processed"),
        pytest.param({"data_source": "d", "answer": "explained", **VERLS}, "72", id="verl, with more columns"),
        pytest.param({"question": "q", "final_answer": "72", "r1_solution_1": "…"}, "72", id="DeepMath"),
        pytest.param({"final_answer": ["72"], "solution": ["So 72."], "answer_type": "n"}, ["72"], id="OlympiadBench"),
        pytest.param({"nums": [3, 24], "target": 72}, 72, id="countdown"),
        pytest.param({"prompt": "q", "label": "72"}, "72", id="a label"),
        pytest.param({"answer": "B. Paris", "label": "B"}, "B. Paris", id="an option, and its letter"),
        pytest.param({"answer": "72 cards", "target": 72.0}, "72 cards", id="a number, and its unit"),
        pytest.param({"answer": "1,000", "expected": 1000}, "1,000", id="a number in two forms"),
        pytest.param({"answer": ["Paris", "the capital"], "target": "paris"}, ["Paris", "the capital"], id="aliases"),
        pytest.param({"answer": "Paris", "label": True}, "Paris", id="a label that says right or wrong"),
        pytest.param({"expected_answer": "72", "answer": "a draft"}, "72", id="Nemotron"),
        pytest.param({"question": "q", "solution": "def f(): …", "test": "assert f()"}, "def f(): …", id="KodCode"),
        pytest.param({"query": "q", "answers": "[]", "tools": "[]"}, None, id="xlam"),
    ],
)
def test_rows_of_public_data_have_one_reference(row: dict[str, Any], reference: Any) -> None:
    assert sample_of("r", row, Settings()).reference == reference


@pytest.mark.parametrize(
    ("row", "columns"),
    [
        ({"answer": "Paris", "label": "B"}, "'answer', 'label'"),
        ({"answer": "72", "final_answer": "172"}, "'answer', 'final_answer'"),
        ({"answer": "1/2", "target": "2", "expected": -2}, "'answer', 'target', 'expected'"),
        ({"solution": "It is 72.", "label": "easy"}, "'solution', 'label'"),
        ({"ground_truth": "B", "answer": "Paris", **VERLS}, "'ground_truth', 'reward_model.ground_truth'"),
        ({"answer": {"sql": "SELECT 1"}, "target": "72"}, "'answer', 'target'"),
    ],
)
def test_columns_that_contradict_each_other_are_not_chosen_between(row: dict[str, Any], columns: str) -> None:
    for _ in range(2):  # whoever swallows the error gets it again
        with pytest.raises(InvalidRequest, match=f"reference: the columns {columns} have different values") as raised:
            sample_of("r", row, Settings())
    assert "reference='" in str(raised.value)
    chosen = columns.split(", ")[-1].strip("'")
    assert sample_of("r", row, Settings(reference=chosen)).reference is not None


def test_the_chosen_column_is_said_once_with_an_example(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "rewarden")
    settings = Settings.read(use="math")
    for _ in range(3):
        sample_of("r", {"question": "q", "answer": "Cards: " + "24 and " * 99 + WORKED}, settings)
    sample_of("r", VERLS, Settings.read(use="math", reference="reward_model.ground_truth"))
    first, second = caplog.messages
    assert first.startswith("math reads its reference from answer (the first of the usual names), for example 'Cards: ")
    assert first.endswith("#### 72'")
    assert len(first) < 200
    assert second == "math reads its reference from reward_model.ground_truth (as named), for example '72'"
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]  # a guess is to be seen


def test_what_stands_for_nothing_in_a_data_frame_is_nothing() -> None:
    class NaTType:
        """As pandas', whose text is `NaT`."""

    nan = float("nan")
    assert sample_of("r", {"answer": NaTType()}, Settings()).reference is None
    sample = sample_of("r", {"answer": nan, "solution": "s", "data_source": nan, "uid": [None]}, Settings(group="uid"))
    assert (sample.reference, sample.data_source, sample.group) == ("s", None, None)


def test_names_of_a_label_are_texts_and_no_number_is_too_long_to_be_written() -> None:
    assert label_fields({"data_source": 3, "reference": 4}) == {"data_source": "3", "reference": 4}
    assert dumps(plain([10**4000, -(10**4500)])).count(b"null") == 1


def test_the_reference_is_the_column_that_is_named_or_built_of_several() -> None:
    columns = {"answer": "a", "label": "B", "options": ["x", "y"]}
    assert sample_of("r", columns, Settings(reference="label")).reference == "B"
    built = Settings(reference={"answer": "label", "options": "options"})
    assert sample_of("r", columns, built).reference == {"answer": "B", "options": ["x", "y"]}
    with pytest.raises(InvalidRequest, match="no column 'lable'; the columns are answer, label, options"):
        sample_of("r", columns, Settings(reference="lable"))


@pytest.mark.parametrize("nested", [VERLS, {name: json.dumps(value) for name, value in VERLS.items()}])
def test_every_column_can_be_a_path_also_into_json(nested: dict[str, Any]) -> None:
    named = Settings(
        reference={"answer": "reward_model.ground_truth"},
        data_source="extra_info.source",
        group="extra_info.uid",
        id="extra_info.n",
        metadata=("extra_info.n",),
    )
    sample = sample_of("r", nested, named)
    assert sample.reference == {"answer": "72"}
    assert (sample.data_source, sample.group, sample.id, sample.metadata) == ("cards", "7", "1", {"n": 1})
    assert sample_of("r", nested, Settings()).reference == "72"
    assert sample_of("r", nested, Settings(reference="reward_model.ground_truth")).reference == "72"
    assert sample_of("r", {"reward_model.ground_truth": "flat", **nested}, Settings()).reference == "flat"


def test_a_misspelt_path_is_answered_with_the_paths_beside_it() -> None:
    with pytest.raises(InvalidRequest, match=r"the columns are reward_model\.style, reward_model\.ground_truth"):
        sample_of("r", VERLS, Settings(reference="reward_model.truth"))
    with pytest.raises(InvalidRequest, match=r"group: no column 'info\.uid'; the columns are reward_model, extra_info"):
        sample_of("r", VERLS, Settings(group="info.uid"))
    # A row of another data set leaves the whole column empty.
    assert sample_of("r", {"reward_model": None}, Settings(reference="reward_model.truth")).reference is None


def test_data_source_group_id_and_metadata_come_from_their_columns() -> None:
    columns = {"data_source": "gsm8k", "uid": 7, "n": 3, "kind": "math", "image": b"\xff"}
    sample = sample_of("r", columns, Settings(group="uid", id="n", metadata=("kind", "absent")), prompt="p")
    assert (sample.data_source, sample.group, sample.id, sample.prompt) == ("gsm8k", "7", "3", "p")
    assert sample.metadata == {"kind": "math"}


@pytest.mark.parametrize("name", ["group", "id"])
def test_a_misspelt_column_is_no_column_without_values(name: str) -> None:
    settings = Settings(**{name: "uid"})
    with pytest.raises(InvalidRequest, match=f"{name}: no column 'uid'; the columns are uidd"):
        sample_of("r", {"uidd": 1}, settings)
    assert getattr(sample_of("r", {"uid": None}, settings), name) is None


def test_what_the_routing_looks_at_is_sent_along() -> None:
    from rewarden.routing import routing_from_json

    routing = routing_from_json({"route": [{"metadata": {"kind": "math*"}, "use": "math"}]})
    sample = sample_of("r", {"kind": "math-hard", "other": 1}, Settings(routing=routing))
    assert sample.metadata == {"kind": "math-hard"}
    assert routing.apply(sample).use.name == "math"  # type: ignore[union-attr]
    nested = sample_of("r", {"extra_info": {"kind": "math-hard"}}, Settings(routing=routing))
    assert nested.metadata == {"kind": "math-hard"}


@pytest.mark.parametrize("text", ["π ≈ 3", "\ud83d\ude00 whole", "half \ud83d of a pair", "\udce9", "😀"])
def test_every_text_can_be_sent(text: str) -> None:
    sample = sample_of(text, {"answer": [text]}, Settings(), prompt=[{"role": "user", "content": text}])
    assert dumps(sample_to_json(sample))


def test_foreign_numbers_and_arrays_become_plain() -> None:
    numpy = pytest.importorskip("numpy")

    class Odd:
        def __str__(self) -> str:
            return "odd"

    given: dict[Any, Any] = {
        "a": numpy.float32(0.5),
        "b": numpy.arange(2),
        3: (True, None),
        "n": float("nan"),
        "o": Odd(),
    }
    assert plain(given) == {"a": 0.5, "b": [0, 1], "3": [True, None], "n": None, "o": "odd"}
