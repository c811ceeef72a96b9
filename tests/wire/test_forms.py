"""The JSON and protobuf forms say the same: whatever the types can hold comes back from either, exactly."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings

from rewarden.types import Batch, BatchResult, Group, Outcome, Run, RunResult, Sample, Use, Verdict, VerifierRef
from rewarden.wire import json as wire
from rewarden.wire import protobuf
from tests.wire import strategies

hard = settings(max_examples=40, deadline=None)


def over_json(value: Any) -> Any:
    return wire.loads(wire.dumps(value))


def over_protobuf(message: Any) -> Any:
    return type(message).FromString(message.SerializeToString())


def exactly(form: Any) -> str:
    """A text that tells 1 from 1.0 from true, and 0.0 from -0.0; the order of keys aside."""
    return json.dumps(form, sort_keys=True)


@hard
@given(strategies.batches)
def test_a_batch_comes_back_from_both_forms(batch: Batch) -> None:
    by_json = wire.batch_from_json(over_json(wire.batch_to_json(batch)))
    by_protobuf = protobuf.batch_from_message(over_protobuf(protobuf.batch_to_message(batch)))
    assert by_json == by_protobuf == batch
    assert (
        exactly(wire.batch_to_json(by_json))
        == exactly(wire.batch_to_json(by_protobuf))
        == exactly(wire.batch_to_json(batch))
    )


@hard
@given(strategies.batches)
def test_the_header_of_a_stream_is_the_batch_without_its_samples(batch: Batch) -> None:
    bare = replace(batch, samples=())
    assert wire.header_from_json(over_json(wire.header_to_json(batch))) == bare
    assert protobuf.header_from_message(over_protobuf(protobuf.header_to_message(batch))) == bare


@hard
@given(strategies.results)
def test_a_result_comes_back_from_both_forms(result: BatchResult) -> None:
    by_json = wire.result_from_json(over_json(wire.result_to_json(result)))
    by_protobuf = protobuf.result_from_message(over_protobuf(protobuf.result_to_message(result)))
    assert by_json == by_protobuf == result
    assert (
        exactly(wire.result_to_json(by_json))
        == exactly(wire.result_to_json(by_protobuf))
        == exactly(wire.result_to_json(result))
    )


@hard
@given(strategies.runs)
def test_a_run_comes_back_from_both_forms(run: Run) -> None:
    by_json = wire.run_from_json(over_json(wire.run_to_json(run)))
    by_protobuf = protobuf.run_from_message(over_protobuf(protobuf.run_to_message(run)))
    assert by_json == by_protobuf == run
    assert exactly(wire.run_to_json(by_json)) == exactly(wire.run_to_json(run))


@hard
@given(strategies.run_results)
def test_the_end_of_a_run_comes_back_from_both_forms(result: RunResult) -> None:
    by_json = wire.run_result_from_json(over_json(wire.run_result_to_json(result)))
    by_protobuf = protobuf.run_result_from_message(over_protobuf(protobuf.run_result_to_message(result)))
    assert by_json == by_protobuf == result
    assert exactly(wire.run_result_to_json(by_protobuf)) == exactly(wire.run_result_to_json(result))


@pytest.mark.parametrize("data", [b"", b"text", "é\0".encode(), b"\xff\xfe", bytes(range(256))])
def test_any_bytes_are_a_content_and_come_back(data: bytes) -> None:
    content = wire.content_of(data)
    assert wire.content_bytes(content) == data
    assert isinstance(content, str) == (data.decode(errors="ignore").encode() == data)


def test_a_plain_run_is_small() -> None:
    assert wire.run_to_json(Run(language="python", code="print(1)")) == {"language": "python", "code": "print(1)"}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"status": None}, "run.status: is missing"),
        ({"exit_code": 1.5}, "run.exit_code"),
        ({"cpu_time": "1"}, "run.cpu_time"),
        ({"enforced": {"cpu_s": 1}}, "run.enforced.cpu_s"),
        ({"compile": {"stdout": ""}}, "run.compile.status: is missing"),
    ],
)
def test_an_answer_that_is_no_run_is_refused_by_field(change: dict[str, Any], named: str) -> None:
    value = wire.run_result_to_json(RunResult(status="ok")) | change
    with pytest.raises(ValueError, match=named):
        wire.run_result_from_json(value)


@hard
@given(strategies.outcomes)
def test_an_outcome_comes_back(outcome: Outcome) -> None:
    assert wire.outcome_from_json(over_json(wire.outcome_to_json(outcome))) == outcome


@hard
@given(strategies.verdicts)
def test_the_standard_library_and_msgspec_write_and_read_alike(verdict: Verdict) -> None:
    value = wire.verdict_to_json(verdict)
    fast = wire.dumps(value)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wire, "_msgspec", None)
        slow = wire.dumps(value)
        assert exactly(wire.loads(fast)) == exactly(value)
    assert exactly(wire.loads(slow)) == exactly(value)


@hard
@given(strategies.verdicts)
def test_chosen_fields_come_back_and_the_others_hold_their_default(verdict: Verdict) -> None:
    fields = ("score", "extracted", "flags")
    kept = Verdict(
        index=verdict.index,
        id=verdict.id,
        status=verdict.status,
        score=verdict.score,
        extracted=verdict.extracted,
        flags=verdict.flags,
    )
    assert wire.verdict_from_json(over_json(wire.verdict_to_json(verdict, fields))) == kept
    assert protobuf.verdict_from_message(over_protobuf(protobuf.verdict_to_message(verdict, fields))) == kept


def test_a_plain_verdict_is_small() -> None:
    verdict = Verdict(
        status="scored",
        score=1.0,
        passed=True,
        verifier=VerifierRef(name="math", version="1", fingerprint="f"),
    )
    assert wire.verdict_to_json(verdict) == {
        "index": 0,
        "status": "scored",
        "score": 1.0,
        "passed": True,
        "reason": None,
        "fault": None,
        "verifier": {"name": "math", "version": "1", "fingerprint": "f"},
    }


def test_chosen_fields_always_come_with_index_id_and_status() -> None:
    verdict = Verdict(status="scored", score=0.5, index=3, id="a", run_s=1.0)
    assert wire.verdict_to_json(verdict, ["score"]) == {"index": 3, "id": "a", "status": "scored", "score": 0.5}


def test_a_use_is_written_as_its_name_where_that_says_it_all() -> None:
    assert wire.use_to_json(Use(name="math")) == "math"
    assert wire.use_to_json(Use(name="math", params={"strict": True})) == {"name": "math", "params": {"strict": True}}
    assert wire.use_to_json(Use(recipe={"score": "1.0"})) == {"recipe": {"score": "1.0"}}


def test_the_keys_of_pass_at_are_strings_in_json_and_numbers_again_afterwards() -> None:
    group = Group(group="g", size=2, scored=2, unscored=0, passed=1, pass_at={1: 0.5, 2: 1.0})
    value = wire.group_to_json(group)
    assert value["pass_at"] == {"1": 0.5, "2": 1.0}
    assert wire.group_from_json(value) == group


@pytest.mark.parametrize("number", [2**53 + 1, 2**64, 10**40, -(10**40)])
def test_integers_keep_every_digit(number: int) -> None:
    sample = Sample(response="", reference=number, metadata={"n": [number]})
    by_json = wire.sample_from_json(over_json(wire.sample_to_json(sample)))
    by_protobuf = protobuf.sample_from_message(over_protobuf(protobuf.sample_to_message(sample)))
    assert by_json == by_protobuf == sample


def test_an_answer_of_a_newer_server_is_understood() -> None:
    value = wire.verdict_to_json(Verdict(status="scored", score=1.0)) | {"confidence": {"of": "tomorrow"}}
    assert wire.verdict_from_json(value) == Verdict(status="scored", score=1.0)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"status": "fine"}, "verdict.status"),
        ({"status": None}, "verdict.status: is missing"),
        ({"index": None}, "verdict.index: is missing"),
        ({"score": "1.0"}, "verdict.score"),
        ({"score": float("nan")}, "verdict.score"),
        ({"range": [0.0]}, "verdict.range"),
        ({"components": {"a": {}}}, "verdict.components.a.status"),
        ({"verifier": {"name": "math"}}, "verdict.verifier.version"),
    ],
)
def test_an_answer_that_is_no_verdict_is_refused_by_field(change: dict[str, Any], named: str) -> None:
    value = wire.verdict_to_json(Verdict(status="scored", score=1.0)) | change
    with pytest.raises(ValueError, match=named):
        wire.verdict_from_json(value)


def test_half_a_surrogate_pair_in_a_verdict_costs_that_character_and_not_the_answer() -> None:
    verdict = Verdict(status="scored", score=1.0, feedback="x\ud800y", extracted="\ud800")
    assert wire.verdict_from_json(over_json(wire.verdict_to_json(verdict))) == verdict
    by_protobuf = protobuf.verdict_from_message(over_protobuf(protobuf.verdict_to_message(verdict)))
    assert by_protobuf == replace(verdict, feedback="x\ufffdy")
