"""The JSON forms of Arrow's types: one rule for each, and nothing depends on where an array was cut."""

from __future__ import annotations

import datetime as dt
import json
import sys
from decimal import Decimal
from typing import Any

import pytest

from rewarden_server.studies.rescore.arrow import JSON_MARK, load_pyarrow, rows_of, values_of
from rewarden_server.studies.rescore.options import RescoreError

pa = pytest.importorskip("pyarrow")

CASES: list[tuple[str, Any, Any]] = [
    ("null", pa.array([None, None], pa.null()), [None, None]),
    ("bool", pa.array([True, None, False]), [True, None, False]),
    ("int8", pa.array([-1, None], pa.int8()), [-1, None]),
    ("uint64", pa.array([2**64 - 1], pa.uint64()), [2**64 - 1]),
    ("float16", pa.array([1.5, None], pa.float32()).cast(pa.float16()), [1.5, None]),
    ("double", pa.array([0.1, None]), [0.1, None]),
    ("string", pa.array(["a", None, ""]), ["a", None, ""]),
    ("large string", pa.array(["é", None], pa.large_string()), ["é", None]),
    ("dictionary", pa.array(["a", None, "b", "a"]).dictionary_encode(), ["a", None, "b", "a"]),
    ("decimal", pa.array([Decimal("1.50"), None, Decimal("-0.01")], pa.decimal128(10, 2)), ["1.50", None, "-0.01"]),
    ("large decimal", pa.array([Decimal(10**30)], pa.decimal256(40, 0)), [str(10**30)]),
    ("binary that is text", pa.array([b"text", None]), ["text", None]),
    ("binary", pa.array([b"\xff\x00"]), [{"base64": "/wA="}]),
    ("fixed binary", pa.array([b"ab"], pa.binary(2)), ["ab"]),
    ("date", pa.array([dt.date(2024, 2, 29), None]), ["2024-02-29", None]),
    ("time", pa.array([dt.time(1, 2, 3, 45)]), ["01:02:03.000045"]),
    ("time in seconds", pa.array([3661], pa.time32("s")), ["01:01:01"]),
    ("timestamp", pa.array([0, None, -1], pa.timestamp("s")), ["1970-01-01T00:00:00", None, "1969-12-31T23:59:59"]),
    ("timestamp with nanoseconds", pa.array([1], pa.timestamp("ns")), ["1970-01-01T00:00:00.000000001"]),
    ("timestamp of a zone", pa.array([1500], pa.timestamp("ms", "Asia/Tokyo")), ["1970-01-01T00:00:01.500Z"]),
    ("timestamp beyond the calendar", pa.array([2**60], pa.timestamp("s")), [2**60]),
    ("duration", pa.array([1500, 2000, None], pa.duration("ms")), [1.5, 2, None]),
    ("list", pa.array([[1, 2], None, [], [3]]), [[1, 2], None, [], [3]]),
    ("large list", pa.array([["a"], None], pa.large_list(pa.string())), [["a"], None]),
    ("fixed list", pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int8(), 2)), [[1, 2], None, [3, 4]]),
    ("struct", pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": "y"}]), [{"a": 1, "b": "x"}, None, {"b": "y"}]),
    ("map", pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int8())), [{"k": 1}, None, {}]),
    (
        "map whose keys come twice",
        pa.array([[("k", 1), ("k", 2)]], pa.map_(pa.string(), pa.int8())),
        [[["k", 1], ["k", 2]]],
    ),
    ("map of numbers", pa.array([[(1, "a")]], pa.map_(pa.int8(), pa.string())), [[[1, "a"]]]),
    (
        "chat messages",
        pa.array([[{"role": "user", "content": "hi", "name": None}], []]),
        [[{"role": "user", "content": "hi"}], []],
    ),
    ("lists of lists of structs", pa.array([[[{"a": [1]}], None], None]), [[[{"a": [1]}], None], None]),
]


@pytest.mark.parametrize(("array", "values"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_type_has_one_json_form(array: Any, values: Any) -> None:
    assert values_of(array) == values
    json.dumps(values_of(array), allow_nan=False)


@pytest.mark.parametrize("array", [case[1] for case in CASES], ids=[case[0] for case in CASES])
def test_a_part_of_an_array_has_the_same_values_as_that_part_of_the_whole(array: Any) -> None:
    whole = values_of(array)
    for start in range(len(array) + 1):
        for length in range(len(array) - start + 1):
            assert values_of(array.slice(start, length)) == whole[start : start + length]


def test_texts_that_are_marked_as_json_are_read() -> None:
    field = pa.field("x", pa.string(), metadata=JSON_MARK)
    assert values_of(pa.array(['{"a":[1]}', None, '"b"', "{broken"]), field) == [{"a": [1]}, None, "b", "{broken"]
    assert values_of(pa.array(['{"a":1}'])) == ['{"a":1}']


def test_rows_keep_columns_that_are_null() -> None:
    batch = pa.RecordBatch.from_pylist([{"a": 1, "b": None}], pa.schema([("a", pa.int8()), ("b", pa.string())]))
    assert rows_of(batch) == [{"a": 1, "b": None}]


def test_without_pyarrow_the_command_that_installs_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(RescoreError, match=r"pip install 'rewarden-server\[parquet\]'"):
        load_pyarrow()
