"""A trainer's data as samples."""

from __future__ import annotations

from typing import Any

import pytest

from rewarden.adapters import Settings
from rewarden.adapters.rows import label_fields, plain, sample_of
from rewarden.errors import InvalidRequest
from rewarden.wire.json import dumps, sample_to_json


def test_the_reference_is_the_first_of_the_usual_names() -> None:
    assert sample_of("r", {"question": "q", "solution": "s", "answer": "a"}, Settings()).reference == "a"
    assert sample_of("r", {"answer": None, "solution": "s"}, Settings()).reference == "s"
    assert sample_of("r", {"question": "q"}, Settings()).reference is None


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
