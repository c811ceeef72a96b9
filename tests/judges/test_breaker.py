"""A judge that is down: questions wait in line, one at a time probes, and none is lost because others failed."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from rewarden.errors import ProviderError
from rewarden_server.judges.endpoint import Endpoint
from rewarden_server.judges.failure import of_status
from rewarden_verifiers.chat import Question, Reply, Usage
from tests.judges.stand_in import FAILED, Failing, HeldClock, StandIn, endpoint, question, settled, text_of


def asks(judge: Endpoint, count: int, name: str = "") -> list[asyncio.Future[Reply]]:
    """So many questions, under way."""
    return [asyncio.ensure_future(judge.ask(question(f"{name}{number}"))) for number in range(count)]


def down_until(clock: HeldClock, back: float) -> Callable[[Question], bool]:
    """An outage that ends at a time."""
    return lambda _: clock.now < back


def times_asked(provider: StandIn) -> Counter[str]:
    """The number of attempts of each question."""
    return Counter(text_of(one) for one in provider.asked)


async def shut(provider: StandIn, clock: HeldClock, **settings: Any) -> Endpoint:
    """A judge that one question, which is given up, has found down."""
    judge = endpoint(provider, clock=clock, **{"breaker_failures": 1, **settings})
    leaver = asyncio.ensure_future(judge.ask(question("leaver")))
    await settled()
    leaver.cancel()
    await settled()
    assert judge.status()["breaker"] == "open"
    provider.asked.clear()
    return judge


@pytest.mark.parametrize("takes", [0.0, 0.4, 3.0])
@pytest.mark.parametrize("concurrency", [1, 8, 64])
async def test_forty_at_once_outlive_an_outage_of_seconds(takes: float, concurrency: int) -> None:
    """The defaults, full bounds of pauses or none: each sample had five attempts in 1.6 s, and was lost."""
    for chance in (0.0, 1.0):
        clock = HeldClock()
        provider = Failing(clock, down_until(clock, 8.0), takes)
        judge = endpoint(provider, clock=clock, chance=chance, concurrency=concurrency)
        burst = asks(judge, 40)
        await clock.advance(300)
        assert {(await one).text for one in burst} == {str(number) for number in range(40)}
        assert judge.status()["breaker"] == "closed"


async def test_failures_at_the_same_time_are_one() -> None:
    provider, clock = StandIn(*[FAILED] * 40, held=True), HeldClock()
    judge = endpoint(provider, clock=clock, breaker_failures=2)
    burst = asks(judge, 40)
    await settled()
    provider.release(40)
    await settled()
    assert (judge.status()["failures"], judge.status()["breaker"]) == (40, "closed")
    provider.held = False
    await clock.advance(1)
    assert all(one.done() and not one.exception() for one in burst)


async def test_a_failure_that_began_before_the_last_success_says_nothing() -> None:
    provider, clock = StandIn(FAILED, FAILED, Usage(), held=True), HeldClock()
    judge = endpoint(provider, clock=clock, retries=0, breaker_failures=1)
    old = asks(judge, 2)
    await settled()
    provider.held = False
    assert (await judge.ask(question("beside"))).text == "beside"
    provider.release(2)
    await asyncio.gather(*old, return_exceptions=True)
    assert judge.status()["breaker"] == "closed"


async def test_failures_with_a_success_between_are_not_in_a_row() -> None:
    provider = StandIn(FAILED, Usage(), FAILED, Usage(), FAILED, Usage())
    judge = endpoint(provider, retries=1, breaker_failures=2)
    for _ in range(3):
        await judge.ask(question())
    assert judge.status()["breaker"] == "closed"


async def test_no_question_runs_out_of_attempts_before_the_breaker_shuts() -> None:
    """As long as `breaker_failures` is no more than `retries`: each failure of one question is a story of its own."""
    clock = HeldClock()
    provider = Failing(clock, lambda _: True, 2.0)
    judge = endpoint(provider, clock=clock, retries=4, breaker_failures=3)
    burst = asks(judge, 5)
    while judge.status()["breaker"] == "closed":
        await clock.advance(1)
    assert max(times_asked(provider).values()) == 3
    assert not any(one.done() for one in burst)


async def test_one_probe_at_a_time_and_its_success_lets_all_go() -> None:
    clock, provider = HeldClock(), StandIn(FAILED)
    judge = await shut(provider, clock)
    provider.held = True
    line = asks(judge, 40)
    await settled()
    assert (provider.in_flight, judge.status()["breaker"], judge.status()["waiting"]) == (1, "probing", 39)
    provider.release()
    await settled()
    assert (provider.in_flight, judge.status()["breaker"], judge.status()["waiting"]) == (39, "closed", 0)
    assert [text_of(one) for one in provider.asked] == [str(number) for number in range(40)]
    provider.release(39)
    assert len(await asyncio.gather(*line)) == 40
    assert clock.now == 0  # nobody waited for a time


async def test_a_probe_that_fails_costs_its_own_question_alone() -> None:
    clock, provider = HeldClock(), StandIn(*[FAILED] * 4)
    judge = await shut(provider, clock, retries=1)
    line = asks(judge, 10)
    await settled()
    # Three failed, one after the other; the fourth found it well, and the others went with their first attempts.
    assert [text_of(one) for one in provider.asked[:4]] == ["0", "1", "2", "3"]
    await clock.advance(1)
    assert times_asked(provider) == {str(number): 2 if number < 3 else 1 for number in range(10)}
    assert {(await one).text for one in line} == {str(number) for number in range(10)}


async def test_who_failed_probes_after_a_pause_that_doubles_and_who_did_not_at_once() -> None:
    clock = HeldClock()
    provider = Failing(clock, lambda _: True)
    judge = await shut(provider, clock, retries=99, breaker_s=3, chance=0.0)
    times: list[float] = []
    provider.fails = lambda _: not times.append(clock.now)  # type: ignore[func-returns-value]
    asks(judge, 1)
    await clock.advance(10)
    assert times == [0.0, 0.5, 1.5, 3.5, 6.5, 9.5]
    provider.fails = lambda _: False
    assert (await judge.ask(question("untried"))).text == "untried"
    assert clock.now == 10
    assert judge.status()["breaker"] == "closed"
    await judge.close()


async def test_who_failed_less_often_probes_first() -> None:
    clock = HeldClock()
    provider = Failing(clock, lambda _: True)
    judge = await shut(provider, clock, retries=9, breaker_s=1)
    asks(judge, 3)
    await clock.advance(8)
    counts = times_asked(provider)
    assert max(counts.values()) - min(counts.values()) <= 1
    await judge.close()


async def test_a_probe_that_hangs_does_not_hold_the_line() -> None:
    clock, provider = HeldClock(), StandIn(FAILED)
    judge = await shut(provider, clock, breaker_s=15)
    provider.held = True
    line = asks(judge, 5)
    await clock.advance(14)
    assert provider.in_flight == 1
    provider.held = False
    await clock.advance(1)  # the second probe finds the judge well, and three follow
    assert [one.done() for one in line] == [False, True, True, True, True]
    provider.release()
    assert (await line[0]).text == "0"


async def test_a_probe_whose_caller_leaves_makes_way_for_another() -> None:
    clock, provider = HeldClock(), StandIn(FAILED)
    judge = await shut(provider, clock)
    provider.held = True
    line = asks(judge, 3)
    await settled()
    provider.held = False
    line[0].cancel()
    await settled()
    assert [text_of(one) for one in provider.asked] == ["0", "1", "2"]
    assert clock.now == 0


async def test_a_turn_that_comes_as_its_caller_leaves_goes_on() -> None:
    clock, provider = HeldClock(), StandIn(FAILED, FAILED)
    judge = await shut(provider, clock)
    provider.held = True
    line = asks(judge, 3)
    await settled()
    provider.held = False
    provider.release()
    for _ in range(6):  # somewhere in here the turn is the second's, who has not run yet
        await asyncio.sleep(0)
        line[1].cancel()
    await settled()
    assert (await line[2]).text == "2"


async def test_an_attempt_that_began_before_the_outage_may_end_it() -> None:
    provider, clock = StandIn(Usage(), FAILED, held=True), HeldClock()
    judge = endpoint(provider, clock=clock, breaker_failures=1)
    first = asks(judge, 1)
    await settled()
    provider.held = False
    second = asks(judge, 1)
    await settled()
    assert judge.status()["breaker"] == "open"
    provider.release()
    await first[0]
    assert judge.status()["breaker"] == "closed"
    await clock.advance(1)
    assert second[0].done()


async def test_who_waits_for_a_place_or_for_the_pace_waits_for_the_judge_instead() -> None:
    for limits in ({"concurrency": 1}, {"requests_per_minute": 1}):
        provider, clock = StandIn(FAILED, held=True), HeldClock()
        judge = endpoint(provider, clock=clock, breaker_failures=1, **limits)
        line = asks(judge, 3)
        await settled()
        provider.release()
        await settled()
        assert judge.status()["waiting"] + judge.status()["in_flight"] == 2  # the first one pauses
        assert not any(one.done() for one in line)
        await judge.close()
        provider.release()
        await clock.advance(1)
        await asyncio.gather(*line, return_exceptions=True)


async def test_a_text_that_breaks_the_server_holds_nobody_up() -> None:
    """Nine of ten texts are such; an honest question never waits for a time, nor is it lost."""
    clock = HeldClock()
    provider = Failing(clock, lambda one: text_of(one).startswith("hostile"))
    judge = endpoint(provider, clock=clock, concurrency=2)
    hostile = []
    for number in range(30):
        hostile += asks(judge, 9, f"hostile {number} ")
        honest = asks(judge, 1, f"honest {number} ")
        await settled()
        await settled()
        assert honest[0].done()
        assert not honest[0].exception()
    assert clock.now == 0
    await clock.advance(6000)
    ended = await asyncio.gather(*hostile, return_exceptions=True)
    assert all(isinstance(end, ProviderError) and end.details["kind"] == "server_error" for end in ended)
    assert max(times_asked(provider).values()) <= 5


async def test_a_dead_judge_ends_a_batch_within_one_outage() -> None:
    clock = HeldClock()
    provider = Failing(clock, lambda _: True, 10.0)
    judge = endpoint(provider, clock=clock, outage_s=60, timeout_s=1000, concurrency=4)
    line = asks(judge, 200)
    # The bound of the module: all wait at the same time, and nobody waits for another's attempts.
    await clock.advance(60 + 5 * 10 + 4 * 2 * 20)
    ended = await asyncio.gather(*line, return_exceptions=True)
    assert all(isinstance(end, ProviderError) and end.details["kind"] == "server_error" for end in ended)
    assert judge.status()["waiting"] == 0
    late = [end for end in ended if "longer than outage_s (60 s)" in str(end)]
    assert len(late) > 150
    assert len(provider.asked) < 40


async def test_who_is_given_up_is_told_the_last_failure_but_not_in_another_s_words() -> None:
    def at(_: Question) -> bool:
        raise of_status(500, {}, "cannot judge 'the secret reference of another'")

    clock = HeldClock()
    provider = Failing(clock, at)
    judge = await shut(provider, clock, outage_s=1, concurrency=1)
    provider.held = True
    probe, waiter = asks(judge, 2)
    await clock.advance(1)
    with pytest.raises(ProviderError, match=r"down for longer than outage_s \(1 s\), the last failure: status 500$"):
        await waiter
    provider.held = False
    provider.release()
    await clock.advance(30)
    with pytest.raises(ProviderError, match="status 500: cannot judge"):
        await probe


async def test_questions_without_patience_wait_for_the_probe_alone() -> None:
    clock, provider = HeldClock(), StandIn(*[FAILED] * 2)
    judge = await shut(provider, clock, retries=9)
    provider.held = True
    probe = asks(judge, 1)
    await settled()
    hasty = asyncio.ensure_future(judge.ask(question("hasty"), patient=False))
    patient = asks(judge, 1, "patient")
    await settled()
    assert not hasty.done()
    provider.release()
    with pytest.raises(ProviderError, match="is down, the last failure: status 503") as caught:
        await hasty
    assert caught.value.details["kind"] == "breaker"
    provider.held = False
    provider.release()
    await clock.advance(20)
    await asyncio.gather(*patient, *probe)


async def test_who_leaves_the_line_leaves_nothing_behind() -> None:
    before = asyncio.all_tasks()
    clock, provider = HeldClock(), StandIn(*[FAILED] * 9)
    judge = await shut(provider, clock)
    line = asks(judge, 5)
    await settled()
    for one in line:
        one.cancel()
    await settled()
    assert judge.status()["waiting"] == 0
    await clock.advance(600)
    assert asyncio.all_tasks() == before


async def test_closing_sends_who_waits_away() -> None:
    before = asyncio.all_tasks()
    clock, provider = HeldClock(), StandIn(FAILED, held=False)
    judge = await shut(provider, clock)
    provider.held = True
    line = asks(judge, 3)
    await settled()
    await judge.close()
    provider.release()
    ended = await asyncio.gather(*line, return_exceptions=True)
    assert [isinstance(end, ProviderError) and "is stopping" in str(end) for end in ended] == [False, True, True]
    await settled()
    assert asyncio.all_tasks() == before
