"""A fault of a request is reported for the field that is wrong, and costs no other row."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewarden.errors import InvalidRequest
from rewarden.types import BadSample, Sample, Use
from rewarden.v1 import rewarden_pb2 as pb
from rewarden.wire import json as wire
from rewarden.wire import protobuf
from tests.wire import strategies

GOOD = {"response": "42"}
DEEP: Any = []
for _ in range(150):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("row", "path", "said"),
    [
        ({}, "response", "is missing"),
        ({"response": None}, "response", "is missing"),
        ({"response": 42}, "response", "text or a list of chat messages, not a number"),
        ({"response": ["a"]}, "response[0]", "must be an object"),
        ({**GOOD, "respones": "x"}, "respones", "did you mean 'response'?"),
        ({**GOOD, "ground_truth": "x"}, "ground_truth", "did you mean 'reference'?"),
        ({**GOOD, "zzz": 1}, "zzz", "known: response, id"),
        ({**GOOD, "id": 7}, "id", "must be a string, not a number"),
        ({**GOOD, "group_size": 0}, "group_size", "from 1 to"),
        ({**GOOD, "token_count": True}, "token_count", "whole number, not true or false"),
        ({**GOOD, "token_count": 1.0}, "token_count", "whole number"),
        ({**GOOD, "token_count": 2**63}, "token_count", "whole number from 0"),
        ({**GOOD, "finish_reason": "eos"}, "finish_reason", "one of stop, length, abort"),
        ({**GOOD, "use": ""}, "use", "empty"),
        ({**GOOD, "use": {}}, "use", "either 'name' or 'recipe'"),
        ({**GOOD, "use": {"name": "math", "recipe": {}}}, "use", "either 'name' or 'recipe'"),
        ({**GOOD, "use": {"name": "math", "parms": {}}}, "use.parms", "did you mean 'params'?"),
        ({**GOOD, "use": {"name": "math", "params": [1]}}, "use.params", "must be an object, not a list"),
        ({**GOOD, "steps": {}}, "steps", "must be a list, not an object"),
        ({**GOOD, "steps": [{}, {"start": -1}]}, "steps[1].start", "from 0"),
        ({**GOOD, "steps": [{"start": 5, "end": 4}]}, "steps[0].end", "before start"),
        ({**GOOD, "media": [{"id": "a"}]}, "media[0]", "exactly one of 'url', 'blob' and 'base64'"),
        ({**GOOD, "metadata": {"x": [0, float("nan")]}}, "metadata.x[1]", "finite"),
        ({**GOOD, "reference": float("inf")}, "reference", "finite"),
        ({**GOOD, "reference": {"odd key": float("inf")}}, 'reference["odd key"]', "finite"),
        ({"response": "a\ud800"}, "response", "a lone surrogate at character 1"),
        ({**GOOD, "signals": {"\udc00": 1}}, 'signals["\\udc00"]', "surrogate"),
        ({"response": [{"role": "assistant", "content": "\udfff"}]}, "response[0].content", "surrogate"),
        ("text", "", "must be an object, not a string"),
        ([], "", "must be an object, not a list"),
        (None, "", "must be an object, not null"),
    ],
)
def test_a_row_at_fault_names_its_field_and_the_fix(row: Any, path: str, said: str) -> None:
    bad = wire.sample_from_json(row)
    assert isinstance(bad, BadSample)
    assert bad.path == path
    assert said in bad.message
    assert bad.message.startswith(path or "the sample")


def test_nesting_without_end_is_its_rows_fault() -> None:
    bad = wire.sample_from_json({**GOOD, "reference": DEEP})
    assert isinstance(bad, BadSample)
    assert "nested too deeply; the limit is 100 levels" in bad.message


def test_a_message_never_holds_the_samples_text() -> None:
    secret = "the model's own words"
    for row in ({"response": {"text": secret}}, {**GOOD, "finish_reason": secret}, {**GOOD, "steps": secret}):
        bad = wire.sample_from_json(row)
        assert isinstance(bad, BadSample)
        assert secret not in bad.message


def test_one_bad_row_stands_in_its_place_and_its_neighbours_are_whole() -> None:
    batch = wire.batch_from_json({"samples": [GOOD, {"id": "b", "response": 1}, GOOD]})
    assert batch.samples[0] == batch.samples[2] == Sample(response="42")
    assert batch.samples[1] == BadSample(
        id="b", path="response", message="response: must be text or a list of chat messages, not a number"
    )


def test_an_id_is_kept_where_it_can_be_read() -> None:
    assert wire.sample_from_json({"id": "a"}) == BadSample(
        id="a",
        path="response",
        message="response: is missing; it is the model's response, as text or chat messages",
    )
    for unreadable in (7, "\ud800", None):
        bad = wire.sample_from_json({"id": unreadable})
        assert isinstance(bad, BadSample)
        assert bad.id is None


@pytest.mark.parametrize(
    ("value", "path", "said"),
    [
        ([], "", "must be an object, not a list"),
        ({}, "samples", "is missing"),
        ({"samples": {}}, "samples", "must be a list"),
        ({"samples": [], "sampels": []}, "sampels", "did you mean 'samples'?"),
        ({"samples": [], "verifier": "math"}, "verifier", "did you mean 'use'?"),
        ({"samples": [], "use": 5}, "use", "a name, {name, params} or {recipe}, not a number"),
        ({"samples": [], "use": {"name": "m", "params": {"x": float("nan")}}}, "use.params.x", "finite"),
        ({"samples": [], "shared": {"k": ["\ud800"]}}, "shared.k[0]", "surrogate"),
        ({"samples": [], "shared": []}, "shared", "must be an object"),
        ({"samples": [], "progress": {"step": -1}}, "progress.step", "from 0"),
        ({"samples": [], "deadline_s": 0}, "deadline_s", "above 0"),
        ({"samples": [], "deadline_s": float("nan")}, "deadline_s", "above 0"),
        ({"samples": [], "deadline_s": "5"}, "deadline_s", "number of seconds, not a string"),
        ({"samples": [], "expect": {"math": 1}}, "expect.math", "fingerprint"),
        ({"samples": [], "fields": ["scor"]}, "fields[0]", "did you mean 'score'?"),
    ],
)
def test_a_fault_of_the_envelope_refuses_the_request(value: Any, path: str, said: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        wire.batch_from_json(value)
    assert caught.value.details["path"] == path
    assert said in caught.value.message


def test_the_header_of_a_stream_has_no_samples() -> None:
    with pytest.raises(InvalidRequest, match="samples: must not be in the header"):
        wire.header_from_json({"use": "math", "samples": []})


@pytest.mark.parametrize(
    ("change", "path", "said"),
    [
        ({"language": None}, "language", "is missing"),
        ({"code": 1}, "code", "must be a string"),
        ({"code": "a\0"}, "code", "NUL at character 1"),
        ({"code": "a\ud800"}, "code", "surrogate"),
        ({"stdin": {"base64": "?"}}, "stdin.base64", "not valid base64"),
        ({"stdin": {}}, "stdin.base64", "is missing"),
        ({"files": {"a b": 1}}, 'files["a b"]', "must be a string, or"),
        ({"files": {"\ud800": ""}}, 'files["\\ud800"]', "surrogate"),
        ({"args": "x"}, "args", "must be a list"),
        ({"limits": {"cpu_s": float("nan")}}, "limits.cpu_s", "above 0"),
        ({"limits": {"processes": 0}}, "limits.processes", "from 1"),
        ({"limits": {"memory": 1}}, "limits.memory", "did you mean 'memory_mb'?"),
        ({"lang": "python"}, "lang", "did you mean 'language'?"),
    ],
)
def test_a_run_at_fault_names_its_field_and_the_fix(change: dict[str, Any], path: str, said: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        wire.run_from_json({"language": "python", "code": "", **change})
    assert caught.value.details["path"] == path
    assert said in caught.value.message


def test_null_is_the_same_as_absent() -> None:
    assert wire.sample_from_json({**GOOD, "reference": None, "use": None}) == Sample(response="42")
    assert wire.batch_from_json({"samples": [], "use": None, "shared": None, "fields": None}) == wire.batch_from_json(
        {"samples": []}
    )


@pytest.mark.parametrize(
    "value", ["math", {"name": "math"}, {"name": "math", "params": {}}, {"name": "math", "params": None}]
)
def test_a_use_may_be_a_name_or_an_object(value: Any) -> None:
    assert wire.use_from_json(value) == Use(name="math")


def test_a_sample_that_cannot_be_sent_is_named_by_its_place() -> None:
    from rewarden.types import Batch

    bad = BadSample(message="response: is missing", path="response")
    for to_wire in (wire.batch_to_json, protobuf.batch_to_message):
        with pytest.raises(InvalidRequest, match=r"samples\[1\]: response: is missing") as caught:
            to_wire(Batch(samples=[Sample(response=""), bad]))
        assert caught.value.details["path"] == "samples[1].response"


def test_protobuf_rows_are_blamed_as_json_rows_are() -> None:
    assert protobuf.sample_from_message(pb.Sample(id="a", token_count=-1, response=pb.Text(text=""))) == (
        wire.sample_from_json({"id": "a", "token_count": -1, "response": ""})
    )
    broken = protobuf.sample_from_message(pb.Sample(id="a", response=pb.Text(text=""), reference_json="{"))
    assert isinstance(broken, BadSample)
    assert (broken.id, broken.path) == ("a", "reference")
    assert "line 1, column 2" in broken.message
    assert isinstance(protobuf.sample_from_message(pb.Sample(response=pb.Text())), BadSample)
    with pytest.raises(InvalidRequest, match=r"shared\.k: not JSON"):
        protobuf.header_from_message(pb.Header(shared_json={"k": "{"}))
    with pytest.raises(InvalidRequest, match=r"use\.params: not JSON"):
        protobuf.header_from_message(pb.Header(use=pb.Use(name="math", params_json="{")))


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([*wire.SAMPLE_FIELDS, *wire.HEADER_FIELDS, "samples", "name"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@settings(max_examples=120, deadline=None)
@given(anything)
def test_no_value_whatever_breaks_the_reader(value: Any) -> None:
    assert isinstance(wire.sample_from_json(value), (Sample, BadSample))
    with suppress(InvalidRequest):
        wire.batch_from_json(value)
    with suppress(InvalidRequest):
        wire.run_from_json(value)


@settings(max_examples=60, deadline=None)
@given(strategies.samples, st.sampled_from(wire.SAMPLE_FIELDS), anything)
def test_a_sample_with_one_field_spoilt_is_read_or_blamed_at_that_field(sample: Sample, name: str, junk: Any) -> None:
    read = wire.sample_from_json({**wire.sample_to_json(sample), name: junk})
    if isinstance(read, BadSample):
        assert read.path.split(".")[0].split("[")[0] == name
