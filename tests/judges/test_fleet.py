"""Several addresses of one judge: load balancing, failover, and hedging of slow requests."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rewarden.errors import BudgetExhausted, ProviderError, ProviderRefused
from rewarden_server.engine.observer import Observer
from rewarden_server.judges.endpoint import Endpoint
from rewarden_server.judges.failure import Failure, of_status
from rewarden_server.judges.identity import identity
from rewarden_server.judges.settings import JudgeEndpoint
from rewarden_verifiers.chat import Question, Reply, Usage
from tests.judges.stand_in import FAILED, Clock, HeldClock, StandIn, endpoint, question, settled, text_of

USED = Usage(prompt_tokens=100, completion_tokens=10)
SPENT = Failure("no reply within 1 s", kind="timeout", passing=True, spent=True)


class Down(StandIn):
    """A `StandIn` that fails while `down` is set."""

    def __init__(self, failure: Failure = FAILED) -> None:
        super().__init__()
        self.down = True
        self.failure = failure

    async def complete(self, question: Question) -> Reply:
        """See `Provider`."""
        if self.down:
            self.asked.append(question)
            raise self.failure
        return await super().complete(question)


def states(judge: Endpoint) -> list[str]:
    """The addresses' states, in the order of the configuration."""
    return [one["state"] for one in judge.status()["addresses"]]


def at_first(judge: Endpoint, number: int) -> Question:
    """A question that goes to this address first, while all are well and idle."""
    texts = (question(f"question {place}") for place in range(1000))
    return next(one for one in texts if judge._fleet.order(one)[0].number == number)


async def test_questions_that_begin_alike_go_to_one_address_and_others_to_all() -> None:
    providers = [StandIn() for _ in range(4)]
    judge = endpoint(*providers)
    long = "the same beginning " * 500
    for place in range(20):
        await judge.ask(question(f"{long} {place}"))
    assert sorted(len(one.asked) for one in providers) == [0, 0, 0, 20]
    for place in range(200):
        await judge.ask(question(f"{place} and its own beginning"))
    assert all(len(one.asked) > 25 for one in providers)


async def test_an_address_with_more_than_its_share_passes_questions_on() -> None:
    providers = [StandIn(held=True) for _ in range(4)]
    judge = endpoint(*providers, concurrency=64, hedge=0)
    asks = [asyncio.ensure_future(judge.ask(question("x" * 5000, sample=number))) for number in range(40)]
    await settled()
    assert max(one.in_flight for one in providers) <= 13  # a quarter more than ten
    assert sum(one.in_flight for one in providers) == 40
    for ask in asks:
        ask.cancel()


@pytest.mark.parametrize("hedge", [0, 0.95])
async def test_concurrency_is_that_of_each_address(hedge: float) -> None:
    clock, providers = HeldClock(), [StandIn() for _ in range(3)]
    judge = endpoint(*providers, clock=clock, concurrency=2, hedge=hedge)
    await warmed(clock, judge, *providers)
    for one in providers:
        one.held, one.most = True, 0
    asks = [asyncio.ensure_future(judge.ask(question("x" * 5000, sample=number))) for number in range(20)]
    await settled()
    assert [one.in_flight for one in providers] == [2, 2, 2]
    while not all(ask.done() for ask in asks):
        for one in providers:
            one.release(2)
        await settled()
    assert [one.most for one in providers] == [2, 2, 2]


async def test_what_fails_at_one_address_goes_to_another_at_once() -> None:
    clock, down, well = Clock(), Down(), StandIn()
    judge = endpoint(down, well, clock=clock, retries=0, breaker_failures=1)
    replies = [await judge.ask(question(str(number))) for number in range(30)]
    assert [reply.text for reply in replies] == [str(number) for number in range(30)]
    assert (len(down.asked), clock.pauses) == (1, [])
    assert (states(judge), judge.status()["breaker"]) == (["left", "well"], "closed")


async def test_an_address_that_is_left_is_probed_by_one_question_and_comes_back() -> None:
    clock, down, well = HeldClock(), Down(), StandIn()
    judge = endpoint(down, well, clock=clock, retries=0, hedge=0)
    await judge.ask(at_first(judge, 1))
    for _ in range(5):
        await judge.ask(question())
    assert len(down.asked) == 1
    await clock.advance(0.5)
    for _ in range(5):
        await judge.ask(question())
    assert len(down.asked) == 2  # the probe; the pause is twice as long now
    down.down = False
    await clock.advance(0.5)
    await judge.ask(question())
    assert len(down.asked) == 2
    await clock.advance(0.5)
    await judge.ask(question())
    assert (len(down.asked), states(judge)) == (3, ["well", "well"])


@pytest.mark.parametrize("hedge", [0, 0.95])
async def test_a_probe_under_way_is_the_only_one(hedge: float) -> None:
    clock, down, well = HeldClock(), Down(), StandIn()
    judge = endpoint(down, well, clock=clock, hedge=hedge)
    await judge.ask(at_first(judge, 1))
    await clock.advance(0.5)
    down.down, down.held = False, True
    asks = [asyncio.ensure_future(judge.ask(question(str(number)))) for number in range(10)]
    await settled()
    assert (down.in_flight, states(judge), sum(ask.done() for ask in asks)) == (1, ["probing", "well"], 9)
    down.release()
    await asyncio.gather(*asks)
    assert states(judge) == ["well", "well"]


async def test_the_pause_doubles_up_to_breaker_s_and_a_reply_ends_that() -> None:
    clock, down, well = HeldClock(), Down(), StandIn()
    judge = endpoint(down, well, clock=clock, breaker_s=2.0, hedge=0)
    await judge.ask(at_first(judge, 1))
    for pause in (0.5, 1.0, 2.0, 2.0):
        before = len(down.asked)
        await clock.advance(pause - 0.01)
        await judge.ask(question())
        assert len(down.asked) == before
        await clock.advance(0.01)
        await judge.ask(question())
        assert len(down.asked) == before + 1


async def test_failures_that_were_under_way_together_count_once() -> None:
    clock, down, well = HeldClock(), StandIn(*[FAILED] * 8, held=True), StandIn()
    judge = endpoint(down, well, clock=clock, hedge=0)
    first = at_first(judge, 1)
    asks = [asyncio.ensure_future(judge.ask(question(text_of(first), sample=number))) for number in range(8)]
    await settled()
    failed = down.in_flight
    assert failed > 1
    down.release(failed)
    await asyncio.gather(*asks)
    await clock.advance(0.5)  # the first pause, not one that doubled with each
    down.ends.clear()
    down.held = False
    await judge.ask(question())
    assert states(judge) == ["well", "well"]


async def test_a_text_on_which_every_server_breaks_breaks_two_of_them_an_attempt() -> None:
    providers = [Down(SPENT) for _ in range(5)]
    judge = endpoint(*providers, retries=0)
    with pytest.raises(ProviderError, match="no reply within"):
        await judge.ask(question())
    assert sum(len(one.asked) for one in providers) == 2
    for one in providers:
        one.down = False
    assert (await judge.ask(question("another"))).text == "another"


async def test_a_hedge_is_one_of_the_two_that_a_text_may_break() -> None:
    """Attack: text on which each server works until its time is over, at our cost."""
    clock = HeldClock()
    providers = [StandIn() for _ in range(5)]
    judge = endpoint(*providers, clock=clock, retries=0)
    await warmed(clock, judge, *providers)
    before = sum(len(one.asked) for one in providers)
    for one in providers:
        one.held, one.ends = True, [SPENT]
    ask = asyncio.ensure_future(judge.ask(question("a text on which servers break")))
    for _ in range(5):
        await clock.advance(2)
        for one in providers:
            one.release()
        await settled()
    with pytest.raises(ProviderError, match="no reply within"):
        await ask
    assert sum(len(one.asked) for one in providers) == before + 2


@pytest.mark.parametrize("others", [1, 2])
async def test_a_question_that_is_refused_late_and_by_the_hedge_is_refused(others: int) -> None:
    """Attack: text that the servers refuse so slowly that the refusal looks like a failure of theirs."""
    clock = HeldClock()
    providers = [StandIn() for _ in range(1 + others)]
    judge = endpoint(*providers, clock=clock, retries=0)
    await warmed(clock, judge, *providers)
    for one in providers:
        one.held, one.ends = True, [of_status(400, {}, "no")]
    ask = asyncio.ensure_future(judge.ask(question("a text that is refused")))
    for _ in range(5):
        await clock.advance(2)
        for one in providers:
            one.release()
        await settled()
    with pytest.raises(ProviderRefused):
        await ask


@pytest.mark.parametrize("first_refuses", [True, False])
async def test_of_a_hedged_question_the_address_that_refuses_what_the_other_takes_is_left(first_refuses: bool) -> None:
    clock, slow, other = HeldClock(), StandIn(), StandIn()
    judge = endpoint(slow, other, clock=clock, retries=0)
    await warmed(clock, judge, slow, other)
    odd, replying = (slow, other) if first_refuses else (other, slow)
    odd.ends = [of_status(404, {}, "no such model")]
    ask = asyncio.ensure_future(judge.ask(at_first(judge, 1)))
    await clock.advance(2)
    odd.release()
    await settled()
    replying.release()
    assert (await ask).text
    assert states(judge) == (["left", "well"] if first_refuses else ["well", "left"])


async def test_forty_questions_survive_an_outage_of_all_addresses() -> None:
    clock, first, second = HeldClock(), Down(), Down()
    judge = endpoint(first, second, clock=clock, concurrency=8)
    asks = [asyncio.ensure_future(judge.ask(question(str(number)))) for number in range(40)]
    await clock.advance(60)
    assert not any(ask.done() for ask in asks)
    assert judge.status()["breaker"] in ("open", "probing")
    second.down = False
    await clock.advance(60)
    replies = await asyncio.gather(*asks)
    assert [reply.text for reply in replies] == [str(number) for number in range(40)]
    assert states(judge)[1] == "well"


async def test_a_rate_limit_at_one_address_sends_questions_elsewhere_for_as_long_as_it_asks() -> None:
    clock, busy, well = HeldClock(), StandIn(of_status(429, {"retry-after": "3"}, "")), StandIn()
    judge = endpoint(busy, well, clock=clock, hedge=0)
    await judge.ask(at_first(judge, 1))
    await clock.advance(2.9)
    await judge.ask(question())
    assert len(busy.asked) == 1
    await clock.advance(0.1)
    await judge.ask(question())
    assert (len(busy.asked), states(judge)) == (2, ["well", "well"])


async def test_a_question_that_one_address_refuses_is_not_refused_and_that_address_is_left() -> None:
    """Attack: text for the one address that is set up otherwise, whose refusal would be taken for proof."""
    clock, odd, well = HeldClock(), Down(of_status(404, {}, "no such model")), StandIn()
    judge = endpoint(odd, well, clock=clock, retries=0)
    assert (await judge.ask(at_first(judge, 1))).text
    assert states(judge) == ["left", "well"]
    await judge.ask(question())
    assert len(odd.asked) == 1


async def test_a_question_that_all_addresses_refuse_is_refused_and_none_is_left() -> None:
    providers = [Down(of_status(400, {}, "no")) for _ in range(3)]
    judge = endpoint(*providers, retries=0)
    with pytest.raises(ProviderRefused):
        await judge.ask(question())
    assert (states(judge), [len(one.asked) for one in providers]) == (["well"] * 3, [1, 1, 1])


async def test_a_refusal_while_an_address_cannot_be_asked_proves_nothing() -> None:
    down, refuses = Down(), Down(of_status(400, {}, "no"))
    judge = endpoint(down, refuses, retries=1)
    with pytest.raises(ProviderError) as caught:
        await judge.ask(at_first(judge, 1))
    assert not isinstance(caught.value, ProviderRefused)
    with pytest.raises(ProviderError) as caught:
        await judge.ask(question())
    assert not isinstance(caught.value, ProviderRefused)


async def warmed(clock: HeldClock, judge: Endpoint, *providers: StandIn, seconds: float = 2.0) -> None:
    """Replies that took so long each, until the usual time is known."""
    for number in range(20):
        for one in providers:
            one.held = True
        ask = asyncio.ensure_future(judge.ask(question(f"warm {number}")))
        await clock.advance(seconds)
        for one in providers:
            one.release()
        await ask


async def test_a_slow_reply_is_hedged_the_first_one_counts_and_both_are_paid_for() -> None:
    clock, slow, quick = HeldClock(), StandIn(), StandIn()
    judge = endpoint(slow, quick, clock=clock, budget_calls=1000, max_tokens=500)
    await warmed(clock, judge, slow, quick)
    before = judge.status()
    quick.held = False
    asked = at_first(judge, 1)
    ask = asyncio.ensure_future(judge.ask(asked))
    await clock.advance(1.9)
    assert (slow.in_flight, ask.done()) == (1, False)
    await clock.advance(0.1)
    assert (await ask).text == text_of(asked)
    assert (slow.in_flight, slow.asked[-1], quick.asked[-1]) == (0, asked, asked)
    after = judge.status()
    assert after["left"]["calls"] == before["left"]["calls"] - 2
    assert after["attempts"] == before["attempts"] + 2
    # The cancelled one counts with its bound: its server may work on it.
    assert after["completion_tokens"] == before["completion_tokens"] + 10 + 500
    assert (after["hedges"], after["in_flight"], states(judge)) == (1, 0, ["well", "well"])


async def test_who_leaves_a_hedged_question_ends_both_requests() -> None:
    clock, slow, other = HeldClock(), StandIn(), StandIn()
    judge = endpoint(slow, other, clock=clock)
    await warmed(clock, judge, slow, other)
    ask = asyncio.ensure_future(judge.ask(at_first(judge, 1)))
    await clock.advance(2)
    assert (slow.in_flight, other.in_flight) == (1, 1)
    ask.cancel()
    await settled()
    assert (slow.in_flight, other.in_flight, judge.status()["in_flight"]) == (0, 0, 0)


@pytest.mark.parametrize("first_fails", [True, False])
async def test_of_a_hedged_question_one_failure_is_none(first_fails: bool) -> None:
    clock, slow, other = HeldClock(), StandIn(), StandIn()
    judge = endpoint(slow, other, clock=clock, retries=0)
    await warmed(clock, judge, slow, other)
    failing, replying = (slow, other) if first_fails else (other, slow)
    failing.ends = [FAILED]
    ask = asyncio.ensure_future(judge.ask(at_first(judge, 1)))
    await clock.advance(2)
    failing.release()
    await settled()
    assert not ask.done()
    replying.release()
    assert (await ask).text
    assert states(judge)[0 if first_fails else 1] == "left"


@pytest.mark.parametrize(
    ("count", "settings", "why"),
    [
        (1, {}, "one address"),
        (2, {"hedge": 0}, "switched off"),
        (2, {"concurrency": 1}, "no place is free"),
    ],
)
async def test_nothing_is_hedged_where(count: int, settings: dict[str, Any], why: str) -> None:
    clock = HeldClock()
    providers = [StandIn() for _ in range(count)]
    judge = endpoint(*providers, clock=clock, **settings)
    await warmed(clock, judge, *providers)
    asks = [asyncio.ensure_future(judge.ask(question(f"q {number}"))) for number in range(2 if count == 2 else 1)]
    await clock.advance(50)
    assert judge.status()["hedges"] == 0, why
    for ask in asks:
        ask.cancel()


async def test_an_overload_is_not_made_worse_by_hedges() -> None:
    clock, one, two = HeldClock(), StandIn(), StandIn()
    judge = endpoint(one, two, clock=clock, concurrency=500)
    await warmed(clock, judge, one, two)
    asks = [asyncio.ensure_future(judge.ask(question(f"q {number}"))) for number in range(200)]
    await clock.advance(20)
    assert 1 <= judge.status()["hedges"] <= 0.1 * 220 + 1
    for ask in asks:
        ask.cancel()


async def test_a_hedge_without_budget_leaves_the_first_request_alone() -> None:
    clock, slow, other = HeldClock(), StandIn(), StandIn()
    judge = endpoint(slow, other, clock=clock, budget_calls=21)
    await warmed(clock, judge, slow, other)
    ask = asyncio.ensure_future(judge.ask(at_first(judge, 1)))
    await clock.advance(5)
    slow.release()
    assert (await ask).text
    with pytest.raises(BudgetExhausted):
        await judge.ask(question())
    assert len(slow.asked) + len(other.asked) == 21


async def test_a_probe_that_hangs_is_hedged_after_a_second() -> None:
    clock, hung, well = HeldClock(), Down(), StandIn()
    judge = endpoint(hung, well, clock=clock)
    await judge.ask(at_first(judge, 1))
    hung.down, hung.held = False, True
    await clock.advance(0.5)
    ask = asyncio.ensure_future(judge.ask(question()))
    await clock.advance(1)
    assert (await ask).text
    assert (states(judge)[0], len(well.asked)) == ("left", 2)


def test_addresses_are_no_part_of_a_judge_s_identity() -> None:
    one = JudgeEndpoint(model="m", base_url="http://a/v1")
    many = JudgeEndpoint(model="m", base_urls=("http://a/v1", "http://b/v1"), hedge=0.5)
    assert identity(one) == identity(many)
    assert [made.base_url for made in many.addressed()] == ["http://a/v1", "http://b/v1"]
    assert one.addressed() == [one]


async def test_neither_replies_nor_the_status_say_who_answered() -> None:
    one, other = StandIn(USED), StandIn(USED)
    assert await endpoint(one).ask(question()) == await endpoint(Down(), other).ask(question())
    urls = ("http://me:secret@a/v1", "http://me:secret@b/v1")
    assert "secret" not in repr(Endpoint("main", JudgeEndpoint(model="m", base_urls=urls), Observer()).status())
