"""The whole engine while weights become known, are swapped, or cannot be had."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from rewarden.errors import FingerprintMoved, ModelError
from rewarden.types import Batch, BatchResult, Sample, Use
from rewarden_models.endpoint import ModelEndpoint
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings
from rewarden_server.models import process_backend
from rewarden_server.models.settings import ModelSettings
from rewarden_server.observe.metrics import Metrics
from rewarden_verifiers.contract import Context, Member, spec_of, verifier
from rewarden_verifiers.inference import Classify, Input
from rewarden_verifiers.models.model_tasks import ask
from rewarden_verifiers.models.resources import ModelResources
from rewarden_verifiers.models.seen import Seen
from rewarden_verifiers.outcome import Outcome, scored
from tests.engine.conftest import toy_registry
from tests.models.stand_in import StandIn, classify, settled
from tests.server.test_metrics import value


@verifier(version="1", graded=True, resources=ModelResources)
async def modelled(response: str, ctx: Context) -> Outcome:
    """Returns full marks, with the model's word on the response as evidence."""
    seen = Seen()
    await ask(ctx, Classify(input=Input(text=response)), None, seen)
    return scored(1.0, evidence=seen.evidence(), flags=seen.flags())


@verifier(version="1", graded=True, resources=ModelResources)
async def modelled_group(samples: list[Member], ctx: Context) -> list[Outcome]:
    """Returns scores by how many siblings there are, after the model was asked."""
    seen = Seen()
    await ask(ctx, classify("group"), None, seen)
    return [scored(1.0 / len(samples), evidence=seen.evidence()) for _ in samples]


@verifier(version="1")
async def unmodelled(response: str, ctx: Context) -> Outcome:
    """An orchestrator that asks nobody."""
    return scored(1.0)


@pytest.fixture
def backends(monkeypatch: pytest.MonkeyPatch) -> dict[str, StandIn]:
    """The stand-ins of models by name; there is `main`."""
    made = {"main": StandIn()}
    monkeypatch.setattr(
        process_backend, "backends_of", lambda settings: {name: made[name](name, None) for name in settings.named}
    )  # type: ignore[arg-type]
    return made


@asynccontextmanager
async def running(backends: dict[str, StandIn], **settings: Any) -> AsyncIterator[Engine]:
    """An engine with those models; nothing of it is started before it is needed."""
    registry = toy_registry()
    for function in (modelled, modelled_group, unmodelled):
        spec = spec_of(function)
        assert spec is not None
        registry.add(spec)
    named = {name: ModelEndpoint(model=name) for name in backends}
    engine = Engine(
        registry,
        EngineSettings(**{"workers": 1, **settings}),
        Metrics(),
        models=ModelSettings(named=named, default="main"),
    )
    await engine.start()
    try:
        yield engine
    finally:
        await engine.close(drain_s=0)


@pytest.fixture
async def engine(backends: dict[str, StandIn]) -> AsyncIterator[Engine]:
    """Such an engine."""
    async with running(backends) as made:
        yield made


async def judged(engine: Engine, *texts: str, use: str = "modelled", **header: Any) -> BatchResult:
    """The verdicts on these texts."""
    rows = [Sample(response=text, reference="x", group="g" if use == "modelled_group" else None) for text in texts]
    return await engine.verify(Batch(samples=rows, use=Use(name=use), **header))


def print_of(engine: Engine, use: str = "modelled") -> str:
    """The fingerprint in force."""
    return engine.planner.bind(Use(name=use)).ref.fingerprint


def made_by(result: BatchResult) -> list[tuple[str, tuple[str, ...]]]:
    """The weights' version and the flags of each verdict."""
    return [(verdict.evidence["models"]["main"], verdict.flags) for verdict in result.verdicts]


async def test_fingerprints_move_with_the_weights_and_back(engine: Engine, backends: dict[str, StandIn]) -> None:
    unknown = print_of(engine)
    pure = print_of(engine, "toy_cpu")
    (first,) = (await judged(engine, "a")).verdicts
    known = print_of(engine)
    assert first.verifier is not None
    assert first.verifier.fingerprint == known != unknown
    backends["main"].version = "v2"
    await judged(engine, "b")
    assert print_of(engine) not in (unknown, known)
    backends["main"].version = "v1"
    await judged(engine, "c")
    assert print_of(engine) == known
    assert print_of(engine, "toy_cpu") == pure


async def test_a_reload_moves_fingerprints_and_what_is_expected_is_refused(
    engine: Engine, backends: dict[str, StandIn]
) -> None:
    await judged(engine, "a")
    wanted = {"modelled": print_of(engine)}
    assert (await judged(engine, "b", expect=wanted)).verdicts[0].status == "scored"
    await engine.models.reload("main")
    with pytest.raises(FingerprintMoved):
        await judged(engine, "b", expect=wanted)


async def test_a_verdict_under_way_during_a_swap_says_so_and_which_weights_made_it(
    engine: Engine, backends: dict[str, StandIn]
) -> None:
    main = backends["main"]
    await judged(engine, "a")
    old = print_of(engine)
    main.held = True
    under_way = asyncio.ensure_future(judged(engine, "b", "c"))
    await settled()
    main.held = False
    await engine.models.reload("main")
    main.release(2)
    result = await under_way
    assert made_by(result) == [("v1", ("swapped",))] * 2
    assert {verdict.verifier.fingerprint for verdict in result.verdicts if verdict.verifier} == {old}
    assert made_by(await judged(engine, "b")) == [("v1'", ())]


async def test_who_demands_weights_that_were_swapped_under_way_has_no_verdict_of_others(
    engine: Engine, backends: dict[str, StandIn]
) -> None:
    main = backends["main"]
    await judged(engine, "a")
    wanted = {"modelled": print_of(engine)}
    main.held, main.ends = True, ["v2"]
    under_way = asyncio.ensure_future(judged(engine, "b", expect=wanted))
    await settled()
    main.release()
    (verdict,) = (await under_way).verdicts
    assert (verdict.status, verdict.fault, verdict.reason) == ("error", "caller", "invalid_params")


async def test_a_stream_binds_anew_after_a_swap(engine: Engine, backends: dict[str, StandIn]) -> None:
    stream = engine.open_stream(Batch(use=Use(name="modelled")))
    items = aiter(stream)
    prints: list[str] = []
    for text in "ab":
        await stream.put(Sample(response=text))
        verdict: Any = await anext(items)
        prints.append(verdict.verifier.fingerprint)
        await engine.models.reload("main")
    stream.finish()
    await stream.cancel()
    assert len(set(prints)) == 2


async def test_siblings_that_came_before_and_after_a_swap_are_one_group(
    engine: Engine, backends: dict[str, StandIn]
) -> None:
    await judged(engine, "x")
    stream = engine.open_stream(Batch(use=Use(name="modelled_group")))
    await stream.put(Sample(response="a", group="g", group_size=2))
    await settled()
    await engine.models.reload("main")
    await stream.put(Sample(response="b", group="g", group_size=2))
    found: list[Any] = []
    async for item in stream:
        found.append(item)
        if len(found) == 2:
            break
    assert [one.score for one in found] == [0.5, 0.5]
    await stream.cancel()


async def test_a_dead_or_loading_model_delays_nobody_beside_it(backends: dict[str, StandIn]) -> None:
    """Four orchestrators may be under way: not one of those that wait for the model is."""
    backends["main"].held = True
    async with running(backends, orchestrations=4) as engine:
        stuck = asyncio.ensure_future(judged(engine, *map(str, range(200))))
        await settled()
        assert backends["main"].in_flight == 200
        beside = await judged(engine, "1", use="unmodelled")
        assert beside.verdicts[0].status == "scored"
        assert not stuck.done()
        stuck.cancel()
        await asyncio.gather(stuck, return_exceptions=True)
        await settled()
        assert backends["main"].in_flight == 0
        assert engine.orchestrations._value == 4


async def test_a_deadline_ends_in_an_error_of_ours(engine: Engine, backends: dict[str, StandIn]) -> None:
    backends["main"].held = True
    (verdict,) = (await judged(engine, "a", deadline_s=0.05)).verdicts
    assert (verdict.status, verdict.fault, verdict.reason, verdict.score) == ("error", "infra", "deadline", None)
    await settled()
    assert backends["main"].in_flight == 0


async def test_a_model_that_breaks_is_an_error_of_ours_and_never_a_number(
    engine: Engine, backends: dict[str, StandIn]
) -> None:
    backends["main"].ends = [ModelError("its process was killed")]
    (verdict,) = (await judged(engine, "a")).verdicts
    assert (verdict.status, verdict.fault, verdict.reason, verdict.score) == ("error", "infra", "model_failed", None)
    assert verdict.retryable


async def test_an_engine_that_closes_ends_what_waits(engine: Engine, backends: dict[str, StandIn]) -> None:
    backends["main"].held = True
    asked = asyncio.ensure_future(judged(engine, "a", "b"))
    await settled()
    await engine.close(drain_s=0)
    await asyncio.gather(asked, return_exceptions=True)
    assert asked.done()
    assert (backends["main"].in_flight, backends["main"].closed) == (0, True)


async def test_what_models_did_is_in_the_metrics(engine: Engine, backends: dict[str, StandIn]) -> None:
    await judged(engine, "a", "a", "b")
    await judged(engine, "a")
    await engine.models.reload("main")
    metrics = engine.observer
    assert isinstance(metrics, Metrics)
    metrics.models(engine.models.status())
    page = metrics.page().decode()
    of_kind = {"model": "main", "kind": "classify"}
    outcomes = {
        how: value(page, "rewarden_model_tasks_total", outcome=how, **of_kind)
        for how in ("answered", "coalesced", "cached")
    }
    assert outcomes == {"answered": 2, "coalesced": 1, "cached": 1}
    assert value(page, "rewarden_model_seconds_count", model="main") == 2
    assert value(page, "rewarden_model_tokens_total", model="main", of="read") == 14
    assert value(page, "rewarden_model_in_flight", model="main") == 0
    assert value(page, "rewarden_model_state", model="main", state="ready") == 1
    assert value(page, "rewarden_model_swaps_total", model="main") == 1
