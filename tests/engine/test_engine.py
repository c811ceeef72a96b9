"""Batches and streams: every sample one verdict, in order, whatever happens to its neighbours."""

from __future__ import annotations

import asyncio
import gc
import json
import os
from pathlib import Path

import pytest

from rewarden.errors import FingerprintMoved, Overloaded, Unavailable
from rewarden.types import BadSample, Batch, Group, Sample, Use, Verdict
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings
from tests.engine.conftest import Make, Recorder, verdicts_of

pytestmark = pytest.mark.needs_server

YES = Sample(response="yes", reference="yes")


async def test_one_bad_row_costs_no_other(engine: Engine) -> None:
    samples = [
        YES,
        BadSample(message="response: must be text", path="response", id="broken"),
        Sample(response="yes", reference="yes", use=Use(name="nobody")),
        Sample(response="yes", reference="yes", use=Use(name="toy_orchestrator", params={"usee": "x"})),
        Sample(response="yes", reference_key="absent"),
        Sample(response=[{"role": "user", "content": "yes"}], reference="yes"),
        YES,
    ]
    verdicts = (await engine.verify(Batch(samples=samples, use=Use(name="toy_cpu")))).verdicts
    assert [v.index for v in verdicts] == list(range(7))
    assert [v.status for v in verdicts] == ["scored", *["error"] * 5, "scored"]
    assert {v.fault for v in verdicts[1:6]} == {"caller"}
    assert [v.evidence.get("path") for v in verdicts[1:6]] == [
        "response",
        "use.name",
        "params.usee",
        "reference_key",
        "response",
    ]
    assert verdicts[1].id == "broken"


async def test_a_large_batch_keeps_its_order_over_all_lanes(engine: Engine) -> None:
    uses = [Use(name=name) for name in ("toy_inline", "toy_cpu", "toy_orchestrator", "toy_prepared")]
    samples = [Sample(response=f"{'yes' if i % 3 else 'no'} {i}", reference="r", use=uses[i % 4]) for i in range(600)]
    verdicts = (await engine.verify(Batch(samples=samples))).verdicts
    assert [v.extracted for v in verdicts] == [s.response for s in samples]
    assert [v.score for v in verdicts] == [float(i % 3 > 0) for i in range(600)]


@pytest.mark.parametrize("use", ["toy_inline", "toy_cpu", "toy_orchestrator", "toy_prepared"])
async def test_a_batch_leaves_memory_as_soon_as_it_is_judged(engine: Engine, use: str) -> None:
    """Held in a cycle, requests of long texts piled up to hundreds of megabytes until the collector came."""

    def held() -> int:
        return sum(isinstance(each, Sample) and each.id == "long" for each in gc.get_objects())

    gc.collect()
    gc.disable()
    try:
        for _ in range(3):
            sample = Sample(response="yes", reference="yes", use=Use(name=use), id="long")
            await engine.verify(Batch(samples=[sample, YES]))
        del sample
        for _ in range(10):
            await asyncio.sleep(0)  # callbacks that the loop still has to run
        assert held() == 0
    finally:
        gc.enable()


async def test_an_unclosed_thought_is_no_answer(engine: Engine) -> None:
    (verdict,) = await verdicts_of(engine, ["<think> yes, yes"])
    assert (verdict.score, verdict.reason, verdict.flags) == (0.0, "unclosed_thought", ("no_answer",))


async def test_shared_values_stand_instead_of_own_ones(engine: Engine) -> None:
    samples = [Sample(response="yes", reference_key="tests"), Sample(response="yes", reference_key="bad")]
    batch = Batch(samples=samples, use=Use(name="toy_prepared"), shared={"tests": "fine", "bad": "raise"})
    good, bad = (await engine.verify(batch)).verdicts
    assert good.score == 1.0
    assert bad.reason == "invalid_reference"


async def test_truncation_is_flagged(engine: Engine) -> None:
    batch = Batch(samples=[Sample(response="yes", reference="y", finish_reason="length")], use=Use(name="toy_inline"))
    (verdict,) = (await engine.verify(batch)).verdicts
    assert verdict.flags == ("truncated",)


async def test_a_deadline_ends_in_errors_of_the_infrastructure_and_the_rest_is_intact(make_engine: Make) -> None:
    engine = await make_engine(item_cpu_s=30.0, slow_s=30.0)
    await verdicts_of(engine, ["yes warm"])
    samples = [Sample(response=text, reference="y") for text in ("yes", "loop a", "loop b", "loop c")]
    for deadline_s in (1.0, 5.0, 25.0):  # on a busy machine even the quick one may not be done in the first
        batch = Batch(samples=samples, use=Use(name="toy_cpu"), deadline_s=deadline_s)
        verdicts = (await engine.verify(batch)).verdicts
        if verdicts[0].reason != "deadline":
            break
    assert verdicts[0].score == 1.0
    for verdict in verdicts[1:]:
        assert (verdict.status, verdict.reason, verdict.fault) == ("error", "deadline", "infra")
        assert verdict.retryable


async def test_a_deadline_cancels_orchestrators(engine: Engine) -> None:
    (verdict,) = await verdicts_of(engine, ["yes"], "toy_never", deadline_s=0.05)
    assert (verdict.status, verdict.reason) == ("error", "deadline")


async def test_a_caller_who_leaves_takes_the_work_along(engine: Engine) -> None:
    call = asyncio.ensure_future(verdicts_of(engine, ["yes"] * 3, "toy_never"))
    while engine.info()["samples"] == 0:
        await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert engine.info()["samples"] == 0
    assert (await verdicts_of(engine, ["yes"]))[0].score == 1.0


async def test_a_full_queue_is_an_answer_not_a_wait(make_engine: Make) -> None:
    engine = await make_engine(max_samples=4)
    call = asyncio.ensure_future(verdicts_of(engine, ["yes"] * 3, "toy_never"))
    while engine.info()["samples"] == 0:
        await asyncio.sleep(0)
    with pytest.raises(Overloaded) as refused:
        await verdicts_of(engine, ["yes"] * 2)
    assert refused.value.details["retry_after_s"] > 0
    assert (await verdicts_of(engine, ["yes"]))[0].score == 1.0, "what fits is still admitted"
    call.cancel()


async def test_identical_work_is_done_once(engine: Engine) -> None:
    first = await verdicts_of(engine, ["yes"] * 50)
    again = await verdicts_of(engine, ["yes"])
    assert len({v.run_s for v in first}) == 1, "one run told to fifty waiters"
    assert again[0].cached
    assert again[0].score == 1.0


async def test_what_is_stateful_or_at_a_limit_is_never_cached(engine: Engine) -> None:
    for use, text in (("toy_pid", "yes"), ("toy_cpu", "loop")):
        await verdicts_of(engine, [text], use)
        (again,) = await verdicts_of(engine, [text], use)
        assert not again.cached


async def test_the_cache_outlives_the_engine_where_a_folder_is_configured(make_engine: Make, tmp_path: object) -> None:
    first = await make_engine(cache_dir=tmp_path)
    await verdicts_of(first, ["yes stored"])
    await first.close()
    second = await make_engine(cache_dir=tmp_path)
    (verdict,) = await verdicts_of(second, ["yes stored"])
    assert verdict.cached
    assert verdict.extracted == "yes stored"


async def test_parameters_view_and_reference_are_part_of_what_is_identical(engine: Engine) -> None:
    samples = [
        Sample(response="<think>no</think>yes", reference="a", use=Use(name="toy_cpu")),
        Sample(response="<think>no</think>yes", reference="a", use=Use(name="toy_cpu", params={"view": "thinking"})),
    ]
    final, thought = (await engine.verify(Batch(samples=samples))).verdicts
    assert (final.score, thought.score) == (1.0, 0.0)
    assert final.verifier is not None
    assert thought.verifier is not None
    assert final.verifier.fingerprint != thought.verifier.fingerprint


async def test_a_demanded_fingerprint_that_moved_is_refused(engine: Engine) -> None:
    (verdict,) = await verdicts_of(engine, ["yes"])
    assert verdict.verifier is not None
    await verdicts_of(engine, ["yes"], expect={"toy_cpu": verdict.verifier.fingerprint})
    with pytest.raises(FingerprintMoved) as refused:
        await verdicts_of(engine, ["yes"], expect={"toy_cpu": "0" * 24})
    assert refused.value.details["fingerprint"] == verdict.verifier.fingerprint


async def test_a_version_may_be_demanded_in_place_of_a_fingerprint(engine: Engine) -> None:
    (verdict,) = await verdicts_of(engine, ["yes"], expect={"toy_cpu": "toy_cpu@1"})
    assert verdict.score == 1.0
    for other in ("toy_cpu@2", "toy_wait@1", "toy_cpu@", "@1"):
        with pytest.raises(FingerprintMoved, match=f"is toy_cpu@1, not the expected {other}") as refused:
            await verdicts_of(engine, ["yes"], expect={"toy_cpu": other})
        assert refused.value.details["version"] == "1"


async def test_verifiers_that_use_each_other_without_end_are_refused_when_bound(engine: Engine) -> None:
    (verdict,) = await verdicts_of(engine, ["yes"], "toy_loop")
    assert (verdict.status, verdict.fault) == ("error", "caller")
    assert "in a cycle" in (verdict.feedback or "")


async def test_draining_lets_what_runs_end_and_admits_no_more(engine: Engine) -> None:
    stream = engine.open_stream(Batch(use=Use(name="toy_cpu")))
    for index in range(20):
        await stream.put(Sample(response=f"yes {index}", reference="y"))
    closing = asyncio.ensure_future(engine.close(drain_s=30))
    await asyncio.sleep(0)
    with pytest.raises(Unavailable):
        await verdicts_of(engine, ["yes"])
    stream.finish()
    scores = [item.score async for item in stream if isinstance(item, Verdict)]
    await closing
    assert scores == [1.0] * 20


async def test_what_outlasts_the_drain_is_told_so_and_never_left_waiting(engine: Engine) -> None:
    stream = engine.open_stream(Batch(use=Use(name="toy_never")))
    await stream.put(YES)
    call = asyncio.ensure_future(verdicts_of(engine, ["yes"], "toy_never"))
    while engine.info()["samples"] < 2:
        await asyncio.sleep(0)
    await engine.close(drain_s=0.01)
    with pytest.raises(Unavailable):
        await asyncio.wait_for(call, 30)
    with pytest.raises(Unavailable):
        await asyncio.wait_for(anext(aiter(stream)), 30)


async def test_a_use_that_cannot_be_bound_is_its_samples_error_also_under_expect(engine: Engine) -> None:
    (verdict,) = await verdicts_of(engine, ["yes"], "nobody", expect={"toy_cpu": "0" * 24})
    assert (verdict.status, verdict.reason) == ("error", "unknown_verifier")


async def test_every_verdict_is_observed_once(engine: Engine) -> None:
    await verdicts_of(engine, ["yes", "no", "<think>", "raise"])
    assert isinstance(engine.observer, Recorder)
    assert sorted(v.index for v in engine.observer.verdicts) == [0, 1, 2, 3]


# --- groups -------------------------------------------------------------------------------------------------------


def member(group: str, text: str = "yes", size: int | None = None) -> Sample:
    return Sample(response=text, reference="y", group=group, group_size=size)


async def test_groups_have_statistics_in_order_of_appearance(engine: Engine) -> None:
    samples = [member("b"), member("a", "no"), member("b", "no"), member("a", "no"), member("b", "raise")]
    result = await engine.verify(Batch(samples=samples, use=Use(name="toy_cpu")))
    b, a = result.groups
    assert (b.group, b.size, b.scored, b.unscored, b.passed, b.mean) == ("b", 3, 2, 1, 1, 0.5)
    assert (a.group, a.all_fail, a.all_pass, a.best) == ("a", True, False, 0.0)
    assert not b.all_fail
    assert b.pass_at[1] == 0.5


async def test_a_group_verifier_sees_its_whole_group(engine: Engine) -> None:
    samples = [member("a"), member("b"), member("a"), member("a")]
    result = await engine.verify(Batch(samples=samples, use=Use(name="toy_group")))
    assert [v.raw for v in result.verdicts] == [3, 1, 3, 3]


async def test_a_member_that_cannot_be_judged_costs_no_sibling(engine: Engine) -> None:
    result = await engine.verify(Batch(samples=[member("a"), member("a", "refuse")], use=Use(name="toy_group")))
    assert [v.status for v in result.verdicts] == ["scored", "error"]


async def test_a_fingerprint_moves_with_what_a_verifier_builds_on(engine: Engine) -> None:
    fingerprints = set()
    for child in ("toy_cpu", "toy_inline"):
        use = Use(name="toy_orchestrator", params={"use": child})
        fingerprints.add(engine.planner.bind(use).ref.fingerprint)
    assert len(fingerprints) == 2


async def test_a_group_verifier_needs_a_group(engine: Engine) -> None:
    (verdict,) = await verdicts_of(engine, ["yes"], "toy_group")
    assert (verdict.fault, verdict.evidence["path"]) == ("caller", "group")


async def test_a_batch_that_breaks_its_promise_of_a_group_is_told_so(engine: Engine) -> None:
    samples = [member("a", size=3), member("a", size=3)]
    result = await engine.verify(Batch(samples=samples, use=Use(name="toy_group")))
    assert {v.reason for v in result.verdicts} == {"group_incomplete"}
    assert {v.fault for v in result.verdicts} == {"caller"}
    assert result.groups[0].unscored == 2


async def test_a_stream_judges_a_group_as_soon_as_it_is_whole(engine: Engine) -> None:
    stream = engine.open_stream(Batch(use=Use(name="toy_group")))
    for name in ("a", "b", "a"):
        await stream.put(member(name, size=2))
    items = aiter(stream)
    first = [await anext(items) for _ in range(3)]
    assert [type(item) for item in first] == [Verdict, Verdict, Group]
    await stream.put(member("b", size=2))
    stream.finish()
    rest = [item async for item in items]
    assert [item.group for item in rest] == ["b", "b", "b"]


async def test_a_group_that_does_not_become_whole_in_time_ends_in_errors(engine: Engine) -> None:
    stream = engine.open_stream(Batch(use=Use(name="toy_group"), group_deadline_s=0.05))
    await stream.put(member("a", size=2))
    items = aiter(stream)
    verdict = await anext(items)
    assert isinstance(verdict, Verdict)
    assert (verdict.status, verdict.reason, verdict.fault) == ("error", "group_deadline", "infra")
    stream.finish()


# --- streams ------------------------------------------------------------------------------------------------------


async def test_a_stream_waits_for_room(make_engine: Make) -> None:
    engine = await make_engine(window_samples=8)
    stream = engine.open_stream(Batch(use=Use(name="toy_cpu")))
    most = 0

    async def put() -> None:
        for index in range(200):
            await stream.put(Sample(response=f"yes {index}", reference="y"))
        stream.finish()

    putting = asyncio.ensure_future(put())
    count = 0
    async for _ in stream:
        count += 1
        most = max(most, engine.info()["lanes"]["cpu"]["depth"])
    await putting
    assert count == 200
    assert most <= 8


async def test_a_window_full_of_waiting_siblings_does_not_lock_up(make_engine: Make) -> None:
    engine = await make_engine(window_samples=4)
    stream = engine.open_stream(Batch(use=Use(name="toy_group")))
    for _ in range(10):
        await asyncio.wait_for(stream.put(member("a", size=10)), 30)
    stream.finish()
    assert len([item async for item in stream]) == 11


async def test_a_stream_waits_while_others_fill_the_engine(make_engine: Make) -> None:
    engine = await make_engine(max_samples=3)
    call = asyncio.ensure_future(verdicts_of(engine, ["yes"] * 3, "toy_never"))
    while engine.info()["samples"] == 0:
        await asyncio.sleep(0)
    stream = engine.open_stream(Batch(use=Use(name="toy_inline")))
    putting = asyncio.ensure_future(stream.put(YES))
    for _ in range(10):
        await asyncio.sleep(0)
    assert not putting.done()
    call.cancel()
    await asyncio.wait_for(putting, 30)
    stream.finish()
    assert len([item async for item in stream]) == 1
    assert engine.info()["samples"] == 0


async def test_a_cancelled_stream_leaves_nothing(engine: Engine) -> None:
    stream = engine.open_stream(Batch(use=Use(name="toy_never")))
    for _ in range(5):
        await stream.put(YES)
    await stream.cancel()
    with pytest.raises(Unavailable):
        await stream.put(YES)
    assert [item async for item in stream] == []
    assert (engine.info()["samples"], engine.info()["bytes"]) == (0, 0)


async def test_a_command_that_judges_with_one_verifier_waits_for_no_other() -> None:
    engine = Engine(settings=EngineSettings(workers=1))
    await engine.start()
    try:
        await engine.verify(Batch(samples=[Sample(response="The answer is 4", reference="4")], use=Use(name="json")))
        assert loaded_by_fork_servers() == [["json"]]
    finally:
        await engine.close(drain_s=0)


def loaded_by_fork_servers() -> list[list[str]]:
    """Returns the verifiers that this process's fork servers load before they fork."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="utf-8").split()
    words = [Path(f"/proc/{child}/cmdline").read_bytes().decode().split("\0") for child in children]
    return [json.loads(each[4])["warm"] for each in words if "rewarden_server.engine.fork_server" in each]
