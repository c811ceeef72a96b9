"""A judge's budget, and what counts towards it."""

from __future__ import annotations

import asyncio

import pytest

from rewarden.errors import BudgetExhausted, ProviderError
from rewarden_server.judges.failure import of_status, timed_out, unreachable
from rewarden_server.judges.price import bound, cost
from rewarden_server.judges.settings import JudgeEndpoint
from rewarden_verifiers.chat import Usage
from tests.judges.stand_in import FAILED, Counts, HeldClock, StandIn, endpoint, question, settled

USED = Usage(prompt_tokens=100, completion_tokens=10)


async def exhausted(judge: object, asks: list[asyncio.Future[object]]) -> int:
    """Returns how many of these ended because nothing was left; the others were answered."""
    ended = await asyncio.gather(*asks, return_exceptions=True)
    assert all(isinstance(end, BudgetExhausted) for end in ended if isinstance(end, BaseException))
    return sum(isinstance(end, BudgetExhausted) for end in ended)


@pytest.mark.parametrize("calls", [0, 1, 7])
async def test_a_budget_of_calls_is_kept_to_the_call(calls: int) -> None:
    provider = StandIn()
    judge = endpoint(provider, budget_calls=calls)
    asks = [asyncio.ensure_future(judge.ask(question(str(number)))) for number in range(20)]
    assert await exhausted(judge, asks) == 20 - calls
    assert len(provider.asked) == calls
    assert judge.status()["left"] == {"calls": 0}


async def test_tokens_are_exceeded_by_no_more_than_one_request() -> None:
    """Each takes 110, of which at most 700 is known before: nobody may go where another's bound could use it up."""
    provider = StandIn()
    judge = endpoint(provider, budget_tokens=1000, max_tokens=600, concurrency=64)
    asks = [asyncio.ensure_future(judge.ask(question(str(number)))) for number in range(50)]
    assert await exhausted(judge, asks) == 50 - 10
    assert len(provider.asked) * 110 == 1100
    assert provider.most == 1


async def test_what_fits_beside_another_goes_beside_it() -> None:
    provider = StandIn(held=True)
    one = bound(JudgeEndpoint(model="m", max_tokens=600), question("0"))
    judge = endpoint(provider, budget_tokens=3 * (one.prompt_tokens + 600) + 5, max_tokens=600)
    asks = [asyncio.ensure_future(judge.ask(question(str(number)))) for number in range(6)]
    await settled()
    assert provider.in_flight == 3
    provider.release()
    await settled()
    assert provider.in_flight == 2  # of what that one might have taken, too little came back
    provider.release(2)
    await settled()
    while not all(ask.done() for ask in asks):
        provider.release(6)
        await settled()
    assert await exhausted(judge, asks) == 0


async def test_dollars_are_counted_from_the_prices() -> None:
    settings = JudgeEndpoint(model="m", input_usd=2.0, output_usd=10.0)
    assert cost(settings, 1_000_000, 100_000) == 3.0
    assert cost(JudgeEndpoint(model="m"), 5, 5) is None
    assert cost(JudgeEndpoint(model="m", output_usd=1.0), 5, 1_000_000) == 1.0
    paid = Usage(prompt_tokens=1, completion_tokens=1, cost_usd=0.4)
    provider = StandIn(*[paid] * 9)
    judge = endpoint(provider, budget_usd=1.0, input_usd=0.0, output_usd=0.0)
    asks = [asyncio.ensure_future(judge.ask(question(str(number)))) for number in range(9)]
    await asyncio.gather(*asks, return_exceptions=True)
    assert judge.status()["cost_usd"] == pytest.approx(0.4 * len(provider.asked))


async def test_dollars_are_exceeded_by_no_more_than_one_request() -> None:
    paid = Usage(prompt_tokens=1000, completion_tokens=100, cost_usd=0.3)
    provider = StandIn(*[paid] * 9)
    judge = endpoint(provider, budget_usd=1.0, input_usd=100.0, output_usd=1000.0, max_tokens=1000)
    asks = [asyncio.ensure_future(judge.ask(question(str(number)))) for number in range(9)]
    assert await exhausted(judge, asks) == 5
    assert judge.status()["cost_usd"] == pytest.approx(1.2)
    assert judge.status()["left"]["usd"] == 0


async def test_what_may_have_been_taken_counts_and_what_cannot_have_been_does_not() -> None:
    provider = StandIn(timed_out(1), of_status(503, {}, ""), unreachable("refused", spent=False))
    judge = endpoint(provider, max_tokens=500, budget_tokens=10_000, retries=3, breaker_failures=99)
    await judge.ask(question("abc"))
    most = bound(JudgeEndpoint(model="m", max_tokens=500), question("abc"))
    status = judge.status()
    assert status["completion_tokens"] == 500 + 10
    assert status["prompt_tokens"] == most.prompt_tokens + 100
    assert (status["attempts"], status["failures"]) == (4, 3)


async def test_a_request_whose_caller_left_counts_with_its_bound() -> None:
    provider, counts = StandIn(held=True), Counts()
    judge = endpoint(provider, observer=counts, max_tokens=500, budget_tokens=10_000)
    ask = asyncio.ensure_future(judge.ask(question()))
    await settled()
    ask.cancel()
    await settled()
    assert judge.status()["completion_tokens"] == 500
    assert counts.tokens > 500
    assert judge.status()["left"]["tokens"] < 9500


async def test_who_waits_for_what_is_set_aside_is_told_when_it_is_gone() -> None:
    provider = StandIn(Usage(prompt_tokens=900, completion_tokens=200), held=True)
    judge = endpoint(provider, budget_tokens=1000, max_tokens=600)
    asks = [asyncio.ensure_future(judge.ask(question(str(number)))) for number in range(5)]
    await settled()
    assert provider.in_flight == 1
    provider.release()
    assert await exhausted(judge, asks) == 4
    with pytest.raises(BudgetExhausted, match=r"judge 'main': budget_tokens \(1000\) is spent"):
        await judge.ask(question())


async def test_a_spent_budget_ends_the_retries() -> None:
    provider = StandIn(*[of_status(500, {}, "")] * 9)
    judge = endpoint(provider, budget_calls=2, retries=5, breaker_failures=99)
    with pytest.raises(BudgetExhausted):
        await judge.ask(question())
    assert len(provider.asked) == 2


def test_a_budget_in_dollars_needs_a_price() -> None:
    with pytest.raises(ValueError, match="budget_usd needs input_usd"):
        endpoint(StandIn(), budget_usd=1.0)


def test_the_bound_is_above_what_any_tokenizer_makes_of_a_chat() -> None:
    settings = JudgeEndpoint(model="m", max_tokens=7)
    text = "日本語 ñ 🙂" * 50
    assert bound(settings, question(text)).prompt_tokens > len(text.encode())
    assert bound(settings, question(text)).completion_tokens == 7
    assert bound(settings, question(text, max_tokens=9)).completion_tokens == 9


def test_a_reply_has_tokens_by_its_verdicts_and_for_a_thought() -> None:
    settings = JudgeEndpoint(model="m", max_tokens=100, thinking_tokens=1000)
    assert bound(settings, question()).completion_tokens == 1100
    assert bound(settings, question(verdicts=9)).completion_tokens == 200 + 1000
    assert bound(settings, question(verdicts=9, more=4)).completion_tokens == 4 * (200 + 1000)
    # A number of the caller's is of the whole reply; and of a reply whose first token is read nothing is thought.
    assert bound(settings, question(verdicts=9, max_tokens=50)).completion_tokens == 1050
    assert bound(settings, question(alternatives=20, max_tokens=1)).completion_tokens == 1
    schema = {"type": "object", "properties": {"reason": {"type": "string"}}}
    assert bound(settings, question(schema=schema)).prompt_tokens > bound(settings, question()).prompt_tokens + 50
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 1_000_000}}
    seen = bound(settings, type(question())(messages=[{"role": "user", "content": [image]}])).prompt_tokens
    assert 16_384 <= seen < 20_000
    assert bound(settings, question()).estimated


async def test_a_missing_package_spends_nothing() -> None:
    from rewarden.errors import MissingDependency

    judge = endpoint(StandIn(MissingDependency("x")), budget_calls=1)
    with pytest.raises(MissingDependency):
        await judge.ask(question())
    assert judge.status()["left"] == {"calls": 1}
    assert (await judge.ask(question())).text == "?"


async def test_who_waits_for_a_judge_that_is_down_spends_nothing() -> None:
    clock = HeldClock()
    judge = endpoint(StandIn(*[FAILED] * 9), clock=clock, budget_calls=9, retries=1, breaker_failures=1, outage_s=0.4)
    asks = [asyncio.ensure_future(judge.ask(question(str(number)))) for number in range(3)]
    await clock.advance(5)
    assert all(isinstance(end, ProviderError) for end in await asyncio.gather(*asks, return_exceptions=True))
    # One call each, a second one of whose turn it was after the pause, and none of those who waited.
    assert judge.status()["left"] == {"calls": 5}
