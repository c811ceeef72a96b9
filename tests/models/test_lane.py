"""The lane of models: routing, deduplication of equal tasks, and the effect of swapping weights."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from rewarden.errors import InputTooLong, InvalidParams, ModelError, NotFound
from rewarden_models.endpoint import ModelEndpoint
from rewarden_server.engine.lanes.models import ModelLane
from rewarden_server.engine.observer import Observer
from rewarden_server.models.settings import ModelSettings
from rewarden_verifiers.inference import Choose, Classify, Embed, Input, Rate, Task, Write
from rewarden_verifiers.models.resources import ModelResources
from tests.models.stand_in import Counts, StandIn, classify, settled


def lane(
    observer: Observer | None = None,
    cache_mb: int = 1,
    default: str | None = "main",
    moved: Callable[[ModelResources, bool], None] | None = None,
    settings: dict[str, Any] | None = None,
    **models: StandIn,
) -> ModelLane:
    """A lane of stand-ins by name."""
    named = {name: ModelEndpoint(model=name, **(settings or {})) for name in models}
    return ModelLane(
        ModelSettings(named=named, default=default, cache_mb=cache_mb),
        observer,
        backend=lambda name, made: models[name](name, made),
        moved=moved,
    )


# --- equal tasks ----------------------------------------------------------------------------------------------------


async def test_equal_tasks_at_once_are_one_and_one_of_them_pays() -> None:
    backend, counts = StandIn(held=True), Counts()
    models = lane(counts, main=backend)
    asked = [asyncio.ensure_future(models.run(classify())) for _ in range(5)]
    await settled()
    backend.release()
    results = await asyncio.gather(*asked)
    assert len(backend.tasks) == 1
    assert sorted(result.facts.cached for result in results) == [False] + [True] * 4
    backend.held = False
    assert (await models.run(classify())).facts.cached
    assert dict(counts.outcomes) == {"answered": 1, "coalesced": 4, "cached": 1}
    assert counts.tokens == 7


@pytest.mark.parametrize(
    "other",
    [
        Classify(input=Input(text="other")),
        Classify(input=Input(messages=[{"role": "user", "content": "?"}])),
        Classify(input=Input(text="?", pair="b")),
        Classify(input=Input(text="?", fit="left")),
        Classify(input=Input(text="?", candidate="?")),
        Choose(input=Input(text="?"), choices=["a"]),
        Embed(input=Input(text="?")),
        Embed(input=Input(text="?"), normalise=False),
        Rate(input=Input(text="?"), steps=["a"], mark="+"),
        Write(input=Input(text="?")),
    ],
)
async def test_tasks_that_differ_in_anything_are_done_each(other: Task[Any]) -> None:
    backend = StandIn()
    models = lane(main=backend)
    await models.run(classify())
    assert not (await models.run(other)).facts.cached
    assert len(backend.tasks) == 2


async def test_samples_are_told_apart_by_their_seed_and_are_the_same_for_the_same() -> None:
    backend = StandIn()
    models = lane(main=backend)
    task = Write(input=Input(text="?"), temperature=1.0, seed=1)
    first = await models.run(task)
    second = await models.run(replace(task, seed=2))
    assert (first.texts[0].text, second.texts[0].text, second.facts.cached) == ("1", "2", False)
    assert (await models.run(task)).facts.cached


async def test_models_do_not_answer_for_each_other_and_nothing_is_kept_without_room() -> None:
    first, second = StandIn(), StandIn()
    models = lane(main=first, second=second)
    await models.run(classify())
    assert not (await models.run(classify(), "second")).facts.cached
    alike = {name: ModelEndpoint(model="same") for name in ("a", "b")}
    both = ModelLane(ModelSettings(named=alike), backend=lambda name, made: StandIn()(name, made))
    for name in ("a", "b"):
        await both.run(classify(f"of {name}"), name)  # the versions are known, and the same
    await both.run(classify(), "a")
    assert not (await both.run(classify(), "b")).facts.cached
    bare = lane(main=first, cache_mb=0)
    await bare.run(classify("x"))
    assert not (await bare.run(classify("x"))).facts.cached


async def test_what_is_remembered_is_bounded_and_the_oldest_goes_first() -> None:
    backend = StandIn()
    models = lane(main=backend, cache_mb=1)
    for number in range(2000):  # each result takes some 900 bytes
        await models.run(classify(str(number)))
    assert (await models.run(classify("1999"))).facts.cached
    assert not (await models.run(classify("0"))).facts.cached
    assert len(models._flights) < 2000


async def test_a_failure_is_not_remembered_and_whose_it_is_is_counted() -> None:
    counts = Counts()
    backend = StandIn(ModelError("away"), InputTooLong("long", tokens=9, context=4, candidate=9))
    models = lane(counts, main=backend)
    for error in (ModelError, InputTooLong):
        with pytest.raises(error):
            await models.run(classify())
    assert not (await models.run(classify())).facts.cached
    assert dict(counts.outcomes) == {"failed": 1, "refused": 1, "answered": 1}


async def test_who_began_may_leave_and_the_others_have_their_result() -> None:
    backend = StandIn(held=True)
    models = lane(main=backend)
    first, second = (asyncio.ensure_future(models.run(classify())) for _ in range(2))
    await settled()
    first.cancel()
    await settled()
    assert backend.in_flight == 1
    backend.release()
    assert not (await second).facts.cached  # it is the one who has it


async def test_when_nobody_waits_any_more_the_task_ends() -> None:
    backend, counts = StandIn(held=True), Counts()
    models = lane(counts, main=backend)
    asked = [asyncio.ensure_future(models.run(classify())) for _ in range(3)]
    await settled()
    for ask in asked:
        ask.cancel()
    await settled()
    assert (backend.in_flight, counts.outcomes["left"]) == (0, 3)


async def test_closing_tells_those_who_wait_and_leaves_no_task(recwarn: pytest.WarningsRecorder) -> None:
    before = asyncio.all_tasks()
    backend = StandIn(held=True)
    models = lane(main=backend)
    models.start()
    asked = [asyncio.ensure_future(models.run(classify(str(number)))) for number in range(4)]
    await settled()
    await models.close()
    ended = await asyncio.gather(*asked, return_exceptions=True)
    assert all(isinstance(end, ModelError) and "is stopping" in str(end) for end in ended)
    with pytest.raises(ModelError, match="is stopping"):
        await models.run(classify("later"))
    with pytest.raises(ModelError, match="is stopping"):
        await models.reload("main")
    assert backend.closed
    await settled()
    assert asyncio.all_tasks() == before
    gc.collect()
    assert not [warning for warning in recwarn if "never" in str(warning.message)]


async def test_a_model_that_hangs_holds_up_no_other() -> None:
    hanging, quick = StandIn(held=True), StandIn()
    models = lane(main=hanging, quick=quick)
    asked = [asyncio.ensure_future(models.run(classify(str(number)))) for number in range(20)]
    await settled()
    for number in range(20):
        assert (await models.run(classify(str(number)), "quick")).facts.model == "quick"
    for ask in asked:
        ask.cancel()
    await settled()


# --- weights --------------------------------------------------------------------------------------------------------


async def test_another_version_forgets_what_that_model_said_and_tells() -> None:
    told: list[tuple[dict[str, str], bool]] = []
    main, other = StandIn(), StandIn(version="o1")
    models = lane(main=main, other=other, moved=lambda resources, moved: told.append((dict(resources.versions), moved)))
    await models.run(classify("a"))
    await models.run(classify("a"), "other")
    assert (await models.run(classify("a"))).facts.cached
    main.version = "v2"
    assert (await models.run(classify("b"))).facts.version == "v2"
    again = await models.run(classify("a"))
    assert (again.facts.cached, again.facts.version) == (False, "v2")
    assert (await models.run(classify("a"), "other")).facts.cached
    known = [({"main": "v1"}, False), ({"main": "v1", "other": "o1"}, False), ({"main": "v2", "other": "o1"}, True)]
    assert told == known
    assert models.status()["main"]["swaps"] == 1
    main.version = "v1"
    await models.run(classify("c"))
    assert not (await models.run(classify("a"))).facts.cached  # the weights are those again; what was said is forgotten


async def test_a_result_of_the_old_weights_that_comes_late_is_no_swap_back_and_not_remembered() -> None:
    moves: list[bool] = []
    backend = StandIn("v1", "v1", "v2", held=True)
    models = lane(main=backend, moved=lambda resources, moved: moves.append(moved))
    first, late, new = (asyncio.ensure_future(models.run(classify(text))) for text in "abc")
    await settled()
    backend.release()  # v1 is known
    assert (await first).facts.version == "v1"
    gate = backend._gates.pop(0)
    backend.release()  # v2
    assert (await new).facts.version == "v2"
    gate.set()
    assert (await late).facts.version == "v1"
    assert moves == [False, True]
    assert models.resources.versions == {"main": "v2"}
    backend.held, backend.version = False, "v2"
    assert (await models.run(classify("b"))).facts.version == "v2"


async def test_who_asks_after_a_swap_does_not_share_what_began_before_it() -> None:
    backend = StandIn()
    models = lane(main=backend)
    await models.run(classify("known"))
    backend.held, backend.ends = True, ["v1", "v2"]
    before = asyncio.ensure_future(models.run(classify()))
    await settled()
    backend.held, backend.version = False, "v2"
    backend.ends = []
    await models.run(classify("other"))
    assert (await models.run(classify())).facts.version == "v2"
    backend.release()
    assert (await before).facts.version == "v1"


async def test_a_reload_swaps_forgets_and_tells_of_the_new_weights() -> None:
    backend = StandIn()
    moves: list[bool] = []
    models = lane(main=backend, moved=lambda resources, moved: moves.append(moved))
    await models.run(classify())
    about = await models.reload("main", "/allowed", "r2")
    assert (about.version, backend.reloads) == ("v1'", [("/allowed", "r2")])
    assert models.resources.versions == {"main": "v1'"}
    assert not (await models.run(classify())).facts.cached
    assert moves == [False, True]
    assert (await models.about("main"))["about"]["version"] == "v1'"
    with pytest.raises(InvalidParams):
        await models.reload("main", "/elsewhere")
    with pytest.raises(NotFound, match="unknown model 'other'; configured: main"):
        await models.reload("other")
    assert models.resources.versions == {"main": "v1'"}


async def test_reloads_of_one_model_are_one_after_another() -> None:
    backend = StandIn(held=True)
    models = lane(main=backend)
    both = asyncio.gather(models.reload("main"), models.reload("main"))
    await settled()
    assert len(backend.reloads) == 1
    backend.release()
    await settled()
    assert len(backend.reloads) == 2
    backend.release()
    await both
    assert models.resources.versions == {"main": "v1''"}


# --- start and status -----------------------------------------------------------------------------------------------


async def test_a_start_begins_all_and_says_which_of_our_own_still_load() -> None:
    main, broken = StandIn(held=True), StandIn(held=True)
    broken.problem = ModelError("no such folder")
    models = lane(main=main, broken=broken)
    assert models.loading() == []  # nobody has begun
    models.start()
    assert main.started
    await settled()
    assert models.loading() == ["main", "broken"]
    main.release()
    broken.release()
    await settled()
    assert models.loading() == []
    status = models.status()
    assert (status["main"]["version"], status["broken"]["problem"]) == ("v1", "no such folder")
    await models.close()


async def test_models_that_run_elsewhere_are_not_waited_for() -> None:
    backend = StandIn(held=True)
    models = lane(main=backend, settings={"address": "http://elsewhere"})
    models.start()
    await settled()
    assert models.loading() == []
    await models.close()


async def test_a_problem_is_over_when_there_is_a_result() -> None:
    backend = StandIn()
    backend.problem = ModelError("away")
    models = lane(main=backend)
    models.start()
    await settled()
    assert models.status()["main"]["problem"] == "away"
    await models.run(classify())
    backend.problem = None
    assert "problem" not in models.status()["main"]
    assert (await models.about("main"))["about"]["context"] == 512
    await models.close()


async def test_the_site_says_what_changes_numbers_and_no_secret() -> None:
    secret = {"api_key": "sk-secret", "address": "http://me:secret@host", "model": "/secret/place/rm"}
    models = ModelLane(
        ModelSettings(named={"main": ModelEndpoint(**secret)}), backend=lambda name, made: StandIn()(name, made)
    )
    assert "secret" not in repr(models.resources)
    assert "secret" not in repr(models.status())
    resources = models.resources
    assert (resources.default, resources.models["main"]["model"]) == ("main", "rm")
    prints = {resources.fingerprint, ModelResources().fingerprint}
    for name, value in (
        ("dtype", "bfloat16"),
        ("revision", "r"),
        ("context", 64),
        ("pooling", "cls"),
        ("head", "value"),
        ("model", "m"),
    ):
        changed = ModelSettings(named={"main": ModelEndpoint(**{**secret, name: value})})
        prints.add(ModelLane(changed, backend=lambda name, made: StandIn()(name, made)).resources.fingerprint)
    same = ModelSettings(named={"main": ModelEndpoint(model="rm", concurrency=1, timeout_s=1.0)})
    assert (
        ModelLane(same, backend=lambda name, made: StandIn()(name, made)).resources.fingerprint == resources.fingerprint
    )
    await models.run(classify())
    prints.add(models.resources.fingerprint)
    assert len(prints) == 9


async def test_who_can_be_asked_is_told_to_who_asks_for_another() -> None:
    models = lane(default=None, main=StandIn(), second=StandIn())
    with pytest.raises(InvalidParams, match="unknown model 'third'; configured: main, second") as caught:
        await models.run(classify(), "third")
    assert caught.value.details["path"] == "params.model"
    with pytest.raises(InvalidParams, match="no default"):
        await models.run(classify())
    with pytest.raises(InvalidParams, match=r"\[models.named.NAME\]"):
        await lane(default=None).run(classify())
    assert (await lane(default=None, only=StandIn()).run(classify())).facts.model == "only"
