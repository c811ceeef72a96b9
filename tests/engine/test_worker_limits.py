"""The harm that a candidate's text can do to a worker: only the candidate pays for it."""

from __future__ import annotations

import contextlib
import os
import select
import signal

import pytest

from rewarden.types import Batch, Sample, Use
from rewarden_server.engine.engine import Engine
from tests.engine.conftest import Make, Recorder, verdicts_of

pytestmark = [pytest.mark.needs_server, pytest.mark.alone, pytest.mark.stress]


@pytest.mark.parametrize("word", ["loop", "swallow", "bigint"])
async def test_an_item_that_exhausts_its_cpu_time_is_scored_at_the_bottom(engine: Engine, word: str) -> None:
    bad, good = await verdicts_of(engine, [word, "yes"])
    assert (bad.status, bad.score, bad.reason, bad.fault) == ("scored", 0.0, "too_expensive", "policy")
    assert "too_expensive" in bad.flags
    assert bad.evidence["limit"] == "cpu"
    assert good.score == 1.0


async def test_an_item_that_exhausts_memory_is_scored_at_the_bottom_and_its_worker_replaced(engine: Engine) -> None:
    bad, good = await verdicts_of(engine, ["memory", "yes"])
    assert (bad.score, bad.reason, bad.evidence["limit"]) == (0.0, "too_expensive", "memory")
    assert good.score == 1.0
    assert isinstance(engine.observer, Recorder)
    await engine.observer.until_ended("recycled")


async def test_nesting_that_exhausts_the_stack_is_scored_at_the_bottom(engine: Engine) -> None:
    bad, inline = (await verdicts_of(engine, ["recurse"]))[0], (await verdicts_of(engine, ["recurse"], "toy_inline"))[0]
    assert (bad.score, bad.evidence["limit"]) == (0.0, "recursion")
    assert (inline.score, inline.evidence["limit"]) == (0.0, "recursion")


async def test_a_text_that_kills_its_worker_twice_alone_is_scored_at_the_bottom(engine: Engine) -> None:
    verdicts = await verdicts_of(engine, ["die", *["yes"] * 40])
    assert (verdicts[0].score, verdicts[0].reason, verdicts[0].fault) == (0.0, "killed_worker", "policy")
    assert [v.score for v in verdicts[1:]] == [1.0] * 40
    assert isinstance(engine.observer, Recorder)
    await engine.observer.until_ended("died", 3)  # once among others, twice alone


async def test_killing_every_worker_under_load_loses_nothing(engine: Engine) -> None:
    await verdicts_of(engine, ["yes"])
    stream = engine.open_stream(Batch(use=Use(name="toy_cpu")))
    total, seen = 400, {}
    for index in range(total):
        await stream.put(Sample(response=f"yes {index}", reference="yes"))
        if index % 100 == 50:
            for pid in engine.info()["lanes"]["cpu"]["pids"]:
                with contextlib.suppress(ProcessLookupError):  # it died of the last round
                    os.kill(pid, signal.SIGKILL)
    stream.finish()
    async for item in stream:
        seen[item.index] = item.score  # type: ignore[union-attr]
    assert seen == dict.fromkeys(range(total), 1.0)


async def test_a_defect_of_the_verifier_is_an_error_and_never_a_number(engine: Engine) -> None:
    for use in ("toy_cpu", "toy_inline"):
        for word in ("raise", "nan", "set"):
            (verdict,) = await verdicts_of(engine, [word], use)
            assert (verdict.status, verdict.score) == ("error", None)
            assert (verdict.reason, verdict.fault) == ("verifier_raised", "verifier")


async def test_a_pure_verifier_that_waits_is_ended_as_a_defect_of_the_verifier(make_engine: Make) -> None:
    engine = await make_engine(idle_s=0.2)
    waiting, good = await verdicts_of(engine, ["wait", "yes"])
    assert (waiting.status, waiting.fault) == ("error", "verifier")
    assert good.score == 1.0


@pytest.mark.parametrize(
    ("reference", "status", "reason"),
    [
        ("loop", "undecided", "reference_too_expensive"),
        ("bigint", "undecided", "reference_too_expensive"),
        ("memory", "undecided", "reference_too_expensive"),
        ("die", "undecided", "reference_kills_worker"),
        ("raise", "undecided", "invalid_reference"),
        (None, "undecided", "invalid_reference"),
        (17, "undecided", "invalid_reference"),
    ],
)
async def test_a_bad_reference_is_not_the_policys_fault(
    engine: Engine, reference: object, status: str, reason: str
) -> None:
    samples = [Sample(response="yes", reference=reference), Sample(response="yes", reference="fine")]
    bad, good = (await engine.verify(Batch(samples=samples, use=Use(name="toy_prepared")))).verdicts
    assert (bad.status, bad.score, bad.reason, bad.fault) == (status, None, reason, "reference")
    assert good.score == 1.0


async def test_expensive_neighbours_do_not_change_verdicts(engine: Engine) -> None:
    texts = [("loop" if i % 50 == 7 else "yes") + f" {i}" for i in range(300)]
    verdicts = await verdicts_of(engine, texts)
    assert [v.score for v in verdicts] == [0.0 if text.startswith("loop") else 1.0 for text in texts]


async def test_workers_are_replaced_after_so_many_items(make_engine: Make) -> None:
    engine = await make_engine(worker_items=20, slow_workers=1)
    verdicts = await verdicts_of(engine, [f"yes {i}" for i in range(200)])
    assert all(v.score == 1.0 for v in verdicts)
    assert isinstance(engine.observer, Recorder)
    await engine.observer.until_ended("recycled")


async def test_nothing_is_left_behind(make_engine: Make) -> None:
    before = set(os.listdir("/proc/self/fd"))
    engine = await make_engine()
    await verdicts_of(engine, ["loop", "die", "memory", *(f"yes {i}" for i in range(50))])
    pids = engine.info()["lanes"]["cpu"]["pids"]
    await engine.close()
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):  # gone already
            descriptor = os.pidfd_open(pid)
            ended, _, _ = select.select([descriptor], [], [], 30)
            os.close(descriptor)
            assert ended, f"worker {pid} still lives"
    assert len(set(os.listdir("/proc/self/fd")) - before) <= 1, "at most the directory's own descriptor"


@pytest.mark.parametrize("use", ["toy_heavy", "toy_loading"])
async def test_what_a_verifier_loads_is_no_items_time_or_memory(make_engine: Make, use: str) -> None:
    """Else the first item of each worker would be scored at the bottom for what its verifier imports, whether before
    the first item or within the first that needs it.
    """
    engine = await make_engine(workers=1)
    verdicts = await verdicts_of(engine, ["yes", "yes again", "loop", "yes at last"], use)
    assert [verdict.score for verdict in verdicts] == [1.0, 1.0, 0.0, 1.0]
    assert verdicts[2].reason == "too_expensive"


async def test_parameters_travel_without_what_they_worked_out(engine: Engine) -> None:
    verdicts = await verdicts_of(engine, ["yes", "no"], "toy_cached")
    assert [verdict.score for verdict in verdicts] == [1.0, 0.0]


async def test_what_cannot_be_sent_is_the_verifiers_error_and_hangs_nobody(engine: Engine) -> None:
    (bad,) = await verdicts_of(engine, ["yes"], "toy_unsent", reference={"word": "yes"})
    assert (bad.status, bad.fault) == ("error", "verifier")
    assert "cannot be sent to a worker" in (bad.feedback or "")
    assert [verdict.score for verdict in await verdicts_of(engine, ["yes"])] == [1.0]


async def test_what_nests_too_deep_to_be_sent_is_its_own_error_and_hangs_nobody(engine: Engine) -> None:
    """Surfaces bound the depth, but rescored files and an engine in the process do not pass them."""
    deep: list[object] = []
    for _ in range(2000):
        deep = [deep]
    (bad,) = await verdicts_of(engine, ["yes"], "json", reference=deep)
    assert (bad.status, bad.fault) == ("error", "caller")
    assert [verdict.score for verdict in await verdicts_of(engine, ["yes"])] == [1.0]
