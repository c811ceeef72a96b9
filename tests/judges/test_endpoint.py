"""One judge's endpoint: line, retries, pace. Time is a test's own. Its breaker is in `test_breaker.py`."""

from __future__ import annotations

import asyncio

import pytest

from rewarden.errors import ProviderError
from rewarden_server.judges.failure import Failure, asked_pause, of_status
from tests.judges.stand_in import FAILED, Clock, Counts, StandIn, endpoint, question, settled, text_of


async def test_so_many_are_in_flight_and_the_others_are_served_in_their_order() -> None:
    provider = StandIn(held=True)
    judge = endpoint(provider, concurrency=3)
    asks = [asyncio.ensure_future(judge.ask(question(str(number)))) for number in range(10)]
    await settled()
    assert (provider.in_flight, judge.status()["in_flight"], judge.status()["waiting"]) == (3, 3, 7)
    while not all(ask.done() for ask in asks):
        provider.release()
        await settled()
    assert [text_of(one) for one in provider.asked] == [str(number) for number in range(10)]
    assert provider.most == 3
    assert (judge.status()["in_flight"], judge.status()["waiting"]) == (0, 0)


async def test_who_leaves_the_line_costs_nobody_a_place() -> None:
    provider = StandIn(held=True)
    judge = endpoint(provider, concurrency=1)
    first, second, third = (asyncio.ensure_future(judge.ask(question(text))) for text in "abc")
    await settled()
    second.cancel()
    first.cancel()  # in flight: its place goes to the third
    await settled()
    assert [text_of(one) for one in provider.asked] == ["a", "c"]
    provider.release(2)
    await settled()
    assert third.done()
    assert judge.status()["in_flight"] == 0


async def test_a_place_that_comes_as_its_waiter_leaves_goes_on() -> None:
    provider = StandIn(held=True)
    judge = endpoint(provider, concurrency=1)
    _first, second, third = (asyncio.ensure_future(judge.ask(question(text))) for text in "abc")
    await settled()
    second.add_done_callback(lambda _: None)
    provider.release()
    for _ in range(4):  # somewhere in here the place is the second's, who has not run yet
        await asyncio.sleep(0)
        second.cancel()
    await settled()
    provider.release(2)
    await settled()
    assert (await third).text == "c"


async def test_what_passes_is_asked_again_with_full_jitter() -> None:
    clock, counts = Clock(), Counts()
    judge = endpoint(StandIn(*[FAILED] * 4), clock=clock, observer=counts, retries=4, backoff_s=3, breaker_failures=99)
    assert (await judge.ask(question())).text == "?"
    assert clock.pauses == [0.5, 1.0, 2.0, 3.0]  # the bounds: chance is 1
    assert (counts.retries, dict(counts.attempts)) == (4, {"server_error": 4, "ok": 1})
    clock = Clock()
    judge = endpoint(StandIn(*[FAILED] * 2), clock=clock, chance=0.25)
    await judge.ask(question())
    assert clock.pauses == [0.125, 0.25]


async def test_attempts_are_bounded() -> None:
    provider, clock = StandIn(*[FAILED] * 99), Clock()
    judge = endpoint(provider, clock=clock, retries=2, breaker_failures=99)
    with pytest.raises(ProviderError, match="judge 'main': status 503"):
        await judge.ask(question())
    assert len(provider.asked) == 3


async def test_what_does_not_pass_is_not_asked_again() -> None:
    provider = StandIn(of_status(400, {}, "too long"))
    with pytest.raises(ProviderError, match="status 400: too long"):
        await endpoint(provider).ask(question())
    assert len(provider.asked) == 1


async def test_the_pause_that_a_server_asks_for_is_kept_and_a_longer_one_is_not_waited_for() -> None:
    clock = Clock()
    provider = StandIn(of_status(429, {"retry-after": "7"}, ""))
    await endpoint(provider, clock=clock).ask(question())
    assert clock.pauses == [7.5]  # never earlier, and a little later, so that not all come at once
    provider, clock = StandIn(of_status(429, {"retry-after": "3600"}, "")), Clock()
    with pytest.raises(ProviderError, match="429"):
        await endpoint(provider, clock=clock).ask(question())
    assert (len(provider.asked), clock.pauses) == (1, [])
    # A limit of requests a minute: outage_s is long enough for it, once or a few times.
    provider, clock = StandIn(of_status(429, {"retry-after": "60"}, "")), Clock()
    await endpoint(provider, clock=clock).ask(question())
    assert clock.pauses == [60.5]
    provider, clock = StandIn(*[of_status(429, {"retry-after": "60"}, "")] * 3), Clock()
    with pytest.raises(ProviderError, match="429"):
        await endpoint(provider, clock=clock, outage_s=150).ask(question())
    assert clock.pauses == [60.5, 61.0]
    # Another judge may answer sooner.
    provider, clock = StandIn(of_status(429, {"retry-after": "60"}, "")), Clock()
    with pytest.raises(ProviderError, match="429"):
        await endpoint(provider, clock=clock).ask(question(), patient=False)
    assert clock.pauses == []
    provider, clock = StandIn(of_status(503, {"retry-after": "3600"}, "")), Clock()
    await endpoint(provider, clock=clock).ask(question())  # of a server that is down, the longest pause is kept
    assert clock.pauses == [20.5]


def test_the_forms_of_a_pause_that_is_asked_for() -> None:
    assert asked_pause({"retry-after-ms": "1500", "retry-after": "9"}) == 1.5
    assert asked_pause({"retry-after": "2"}) == 2
    assert asked_pause({"retry-after": "-5"}) == 0
    assert asked_pause({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0
    for nonsense in ("nan", "inf", "soon", ""):
        assert asked_pause({"retry-after": nonsense}) is None
    assert asked_pause({}) is None


async def test_no_place_is_held_while_pausing_and_who_comes_back_goes_first() -> None:
    provider, clock = StandIn(FAILED, held=True), Clock()
    judge = endpoint(provider, clock=clock, concurrency=1)
    asks = [asyncio.ensure_future(judge.ask(question(text))) for text in "abcd"]
    for _ in range(5):
        await settled()
        provider.release()
    await asyncio.gather(*asks)
    assert [text_of(one) for one in provider.asked] == ["a", "b", "a", "c", "d"]


async def test_an_attempt_ends_at_its_time() -> None:
    provider = StandIn(held=True)
    judge = endpoint(provider, timeout_s=0.01, retries=0)
    with pytest.raises(ProviderError, match=r"no reply within 0\.01 s"):
        await judge.ask(question())
    assert (provider.in_flight, judge.status()["in_flight"]) == (0, 0)


async def test_a_server_that_says_no_is_there() -> None:
    """429 and 4xx are no reason to leave a judge alone: its other questions may be answered."""
    refusals = [of_status(status, {}, "") for status in (429, 400, 401, 404) * 5]
    provider = StandIn(*refusals)
    judge = endpoint(provider, retries=0, breaker_failures=2)
    for _ in refusals:
        with pytest.raises(ProviderError):
            await judge.ask(question())
    assert (await judge.ask(question())).text == "?"


async def test_a_refused_form_is_no_attempt() -> None:
    clock = Clock()
    form = Failure("another form", kind="form", passing=True)
    provider = StandIn(form, form, form)
    judge = endpoint(provider, clock=clock, retries=0)
    assert (await judge.ask(question())).text == "?"
    assert (clock.pauses, judge.status()["failures"]) == ([], 0)
    with pytest.raises(ProviderError):  # a server that takes no form at all is not asked for ever
        await endpoint(StandIn(*[form] * 99), retries=0).ask(question())


async def test_a_minute_s_worth_is_sent_and_the_rest_waits_in_order() -> None:
    provider = StandIn()
    judge = endpoint(provider, requests_per_minute=3)
    asks = [asyncio.ensure_future(judge.ask(question(str(number)))) for number in range(6)]
    await settled()
    assert [text_of(one) for one in provider.asked] == ["0", "1", "2"]
    await judge.close()
    ended = await asyncio.gather(*asks, return_exceptions=True)
    assert [isinstance(end, ProviderError) for end in ended] == [False] * 3 + [True] * 3


async def test_tokens_a_minute_count_what_may_be_written_and_small_questions_do_not_overtake() -> None:
    provider = StandIn()
    judge = endpoint(provider, tokens_per_minute=1000)
    sizes = (700, 900, 1)
    asks = [asyncio.ensure_future(judge.ask(question(str(size), max_tokens=size))) for size in sizes]
    await settled()
    assert [text_of(one) for one in provider.asked] == ["700"]
    asks[1].cancel()
    await settled()
    assert [text_of(one) for one in provider.asked] == ["700", "1"]
    await asyncio.gather(*asks, return_exceptions=True)
    huge = endpoint(provider, tokens_per_minute=10)
    assert (await huge.ask(question(max_tokens=5000))).text == "?"  # more than a minute's worth: all of it


async def test_closing_sends_all_away() -> None:
    provider = StandIn(held=True)
    judge = endpoint(provider, concurrency=1)
    asks = [asyncio.ensure_future(judge.ask(question(str(number)))) for number in range(3)]
    await settled()
    await judge.close()
    provider.release()
    ended = await asyncio.gather(*asks, return_exceptions=True)
    assert not isinstance(ended[0], BaseException)
    assert all(isinstance(end, ProviderError) for end in ended[1:])
    with pytest.raises(ProviderError, match="is stopping"):
        await judge.ask(question())
    assert provider.closed
