"""The lane of judges: who is asked, equal questions once, and what happens to those who wait."""

from __future__ import annotations

import asyncio
import gc

import pytest

from rewarden.errors import BudgetExhausted, InvalidParams, MissingDependency, ProviderError
from rewarden_server.engine.lanes.judges import JudgeLane
from rewarden_server.engine.observer import Observer
from rewarden_server.judges.endpoint import Endpoint
from rewarden_server.judges.failure import of_status
from rewarden_server.judges.settings import JudgeEndpoint, JudgeSettings
from rewarden_verifiers.chat import Usage
from tests.judges.stand_in import Clock, Counts, HeldClock, StandIn, question, settled


def lane(
    observer: Observer | None = None,
    cache_mb: int = 1,
    default: str | None = "main",
    time: type[Clock] = Clock,
    **judges: object,
) -> JudgeLane:
    """A lane of judges by name: a stand-in, or a pair of it and the judge's settings."""
    made = {name: one if isinstance(one, tuple) else (one, {}) for name, one in judges.items()}

    def endpoint(name: str, settings: JudgeEndpoint, observer: Observer) -> Endpoint:
        clock = time()
        return Endpoint(name, settings, observer, providers=[made[name][0]], pause=clock.pause, clock=clock)

    named = {name: JudgeEndpoint(model=name, **more) for name, (_, more) in made.items()}
    return JudgeLane(JudgeSettings(named=named, default=default, cache_mb=cache_mb), observer, endpoint=endpoint)


async def test_equal_questions_at_once_are_one_and_one_of_them_pays() -> None:
    provider, counts = StandIn(held=True), Counts()
    judges = lane(counts, main=provider)
    asks = [asyncio.ensure_future(judges.ask(question())) for _ in range(5)]
    await settled()
    provider.release()
    replies = await asyncio.gather(*asks)
    assert len(provider.asked) == 1
    assert sorted(reply.cached for reply in replies) == [False] + [True] * 4
    assert (await judges.ask(question())).cached
    assert dict(counts.questions) == {"answered": 1, "coalesced": 4, "cached": 1}


@pytest.mark.parametrize(
    "other",
    [
        question("other"),
        question(sample=1),
        question(attempt=1),
        question(temperature=0.7),
        question(top_p=0.5),
        question(seed=1),
        question(max_tokens=5),
        question(alternatives=3),
        question(schema={"type": "object"}),
    ],
)
async def test_questions_that_differ_in_anything_are_asked_each(other: object) -> None:
    provider = StandIn()
    judges = lane(main=provider)
    await judges.ask(question())
    assert not (await judges.ask(other)).cached  # type: ignore[arg-type]
    assert len(provider.asked) == 2


async def test_judges_do_not_answer_for_each_other_and_nothing_is_kept_without_room() -> None:
    first, second = StandIn(), StandIn()
    judges = lane(main=first, second=second)
    await judges.ask(question())
    assert not (await judges.ask(question(), "second")).cached
    bare = lane(main=first, cache_mb=0)
    await bare.ask(question("x"))
    assert not (await bare.ask(question("x"))).cached


async def test_a_failure_is_not_remembered() -> None:
    provider = StandIn(of_status(400, {}, ""))
    judges = lane(main=provider)
    with pytest.raises(ProviderError):
        await judges.ask(question())
    assert not (await judges.ask(question())).cached


async def test_who_began_may_leave_and_the_others_have_their_reply() -> None:
    provider = StandIn(held=True)
    judges = lane(main=provider)
    first, second = (asyncio.ensure_future(judges.ask(question())) for _ in range(2))
    await settled()
    first.cancel()
    await settled()
    assert provider.in_flight == 1
    provider.release()
    assert not (await second).cached  # it is the one who has it


async def test_when_nobody_waits_any_more_the_request_ends_and_the_next_begins_anew() -> None:
    provider, counts = StandIn(held=True), Counts()
    judges = lane(counts, main=provider)
    asks = [asyncio.ensure_future(judges.ask(question())) for _ in range(3)]
    await settled()
    for ask in asks:
        ask.cancel()
    again = asyncio.ensure_future(judges.ask(question()))  # in the same moment, before the tasks have run
    await settled()
    assert provider.in_flight == 1
    provider.release(2)
    assert (await again).text == "?"
    assert counts.questions["left"] == 3
    again = asyncio.ensure_future(judges.ask(question("b")))
    await settled()
    again.cancel()
    await settled()
    assert provider.in_flight == 0


async def test_closing_tells_those_who_wait_and_leaves_no_task(recwarn: pytest.WarningsRecorder) -> None:
    before = asyncio.all_tasks()
    provider = StandIn(held=True)
    judges = lane(main=(provider, {"concurrency": 1}))
    asks = [asyncio.ensure_future(judges.ask(question(str(number)))) for number in range(4)]
    await settled()
    await judges.close()
    ended = await asyncio.gather(*asks, return_exceptions=True)
    assert all(isinstance(end, ProviderError) and "is stopping" in str(end) for end in ended)
    with pytest.raises(ProviderError, match="is stopping"):
        await judges.ask(question("later"))
    assert provider.in_flight == 0
    await settled()
    assert asyncio.all_tasks() == before
    gc.collect()
    assert not [warning for warning in recwarn if "never" in str(warning.message)]


async def test_a_fallback_answers_and_says_so() -> None:
    down = [of_status(503, {}, "")] * 3
    main, other = StandIn(*down), StandIn()
    judges = lane(
        main=(main, {"fallback": ("broke", "other"), "retries": 2}), broke=(StandIn(), {"budget_calls": 0}), other=other
    )
    reply = await judges.ask(question())
    assert (reply.fallback, len(main.asked), len(other.asked)) == (True, 3, 1)
    assert not (await judges.ask(question(), "other")).fallback


async def test_while_a_judge_is_down_its_fallback_answers_after_one_probe() -> None:
    main, other = StandIn(*[of_status(503, {}, "")] * 2), StandIn()
    settings = {"fallback": ("other",), "retries": 0, "breaker_failures": 1}
    judges = lane(main=(main, settings), other=other, time=HeldClock)
    assert (await judges.ask(question("finds it down"))).fallback
    main.held = True
    asks = [asyncio.ensure_future(judges.ask(question(str(number)))) for number in range(5)]
    await settled()
    assert (len(main.asked), len(other.asked)) == (2, 1)
    main.held = False
    main.release()
    assert all(reply.fallback for reply in await asyncio.gather(*asks))
    assert not (await judges.ask(question("finds it well"))).fallback


async def test_a_judge_whose_package_is_missing_has_its_fallback_too() -> None:
    judges = lane(main=(StandIn(MissingDependency("pip")), {"fallback": ("other",)}), other=StandIn())
    assert (await judges.ask(question())).fallback
    alone = lane(main=StandIn(MissingDependency("needs x: pip install x")))
    with pytest.raises(MissingDependency, match="pip install x"):
        await alone.ask(question())


async def test_where_nobody_answers_what_may_pass_is_said_and_all_that_was_said() -> None:
    down = of_status(503, {}, "")
    judges = lane(main=(StandIn(down), {"fallback": ("other",), "retries": 0}), other=(StandIn(), {"budget_calls": 0}))
    with pytest.raises(ProviderError, match=r"'main': status 503; judge 'other': budget_calls \(0\) is spent"):
        await judges.ask(question())
    spent = lane(main=(StandIn(), {"budget_calls": 0}))
    with pytest.raises(BudgetExhausted):
        await spent.ask(question())


async def test_fallbacks_in_a_circle_are_asked_once_each() -> None:
    down = [of_status(400, {}, "")] * 9
    first, second = StandIn(*down), StandIn(*down)
    judges = lane(main=(first, {"fallback": ("second",)}), second=(second, {"fallback": ("main",)}))
    with pytest.raises(ProviderError):
        await judges.ask(question())
    assert (len(first.asked), len(second.asked)) == (1, 1)


async def test_a_judge_that_hangs_holds_up_no_other() -> None:
    hanging, quick = StandIn(held=True), StandIn()
    judges = lane(main=(hanging, {"concurrency": 2}), quick=quick)
    asks = [asyncio.ensure_future(judges.ask(question(str(number)))) for number in range(20)]
    await settled()
    for number in range(20):
        assert (await judges.ask(question(str(number)), "quick")).judge
    for ask in asks:
        ask.cancel()
    await settled()


async def test_who_can_be_asked_is_told_to_who_asks_for_another() -> None:
    judges = lane(default=None, main=StandIn(), second=StandIn())
    with pytest.raises(InvalidParams, match="unknown judge 'third'; configured: main, second") as caught:
        await judges.ask(question(), "third")
    assert caught.value.details["path"] == "params.judge"
    with pytest.raises(InvalidParams, match="no default"):
        await judges.ask(question())
    with pytest.raises(InvalidParams, match=r"\[judges.named.NAME\]"):
        await lane(default=None).ask(question())
    assert (await lane(default=None, only=StandIn()).ask(question())).text == "?"


async def test_the_status_says_what_was_taken_and_no_secret() -> None:
    secret = {"api_key": "sk-secret", "base_url": "http://me:secret@host/v1", "headers": {"x-key": "secret"}}
    paid = Usage(prompt_tokens=100, completion_tokens=10, cost_usd=0.25)
    prices = {"input_usd": 1.0, "output_usd": 1.0, "budget_usd": 1.0, "budget_calls": 4}
    judges = lane(main=(StandIn(of_status(500, {}, "sk-secret"), paid), {**secret, **prices}))
    await judges.ask(question())
    status = judges.status()["main"]
    assert (status["attempts"], status["failures"], status["last_failure"]) == (2, 1, "server_error")
    assert (status["prompt_tokens"], status["completion_tokens"], status["cost_usd"]) == (100, 10, 0.25)
    assert (status["left"], status["breaker"], status["model"]) == ({"usd": 0.75, "calls": 2}, "closed", "main")
    assert "secret" not in repr(judges.status())
    assert "sk-secret" not in repr(JudgeEndpoint(model="m", **secret))
