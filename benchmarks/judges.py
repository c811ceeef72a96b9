"""`judge` against an endpoint that always replies the same, in a process of its own: what our side adds.

"Bare" are calls of the `openai` client with the same chats, and nothing else, in the same run. CPU is that of this
process alone. A dead judge refuses connections, or takes them and never replies.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import statistics
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from openai import AsyncOpenAI

from benchmarks.judges_load import MODEL, REPLY, TOKENS, beside, judged, samples
from benchmarks.judges_server import Slow, slow
from benchmarks.report import Report
from rewarden.types import Batch, Sample
from rewarden_sandboxes.settings import cores
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings
from rewarden_server.judges.settings import JudgeEndpoint, JudgeSettings
from rewarden_verifiers.chat import Message, Question, Reply
from rewarden_verifiers.judges.params import Prompt
from rewarden_verifiers.judges.prompts import Material, render

_ALLOWED = 100
"""Requests in flight."""


def endpoint(url: str, **more: Any) -> JudgeEndpoint:
    """A judge."""
    return JudgeEndpoint(**{"model": MODEL, "base_url": url, "concurrency": _ALLOWED, "max_tokens": 64, **more})


@contextlib.asynccontextmanager
async def engine(cache_mb: int = 0, workers: int = 1, **judges: JudgeEndpoint) -> AsyncIterator[Engine]:
    """An engine that remembers nothing but replies, of which as much as said."""
    made = Engine(
        settings=EngineSettings(cache=False, workers=workers),
        judges=JudgeSettings(named=judges, cache_mb=cache_mb),
    )
    await made.start()
    try:
        yield made
    finally:
        await made.close(0)


async def chats(batch: Batch) -> list[list[Message]]:
    """The chats that a batch comes to."""
    asked: list[list[Message]] = []

    async def note(question: Question, judge: str | None = None) -> Reply:
        asked.append(list(question.messages))
        return Reply(text=REPLY, judge="none", model=MODEL)

    async with engine() as made:
        made.judges.ask = note  # type: ignore[method-assign]
        await _right(made, batch)
    return asked


async def bare(url: str, asked: Sequence[list[Message]]) -> None:
    """The same without us."""
    places = asyncio.Semaphore(_ALLOWED)
    async with AsyncOpenAI(api_key="none", base_url=url, max_retries=0, timeout=60) as client:

        async def one(chat: list[Message]) -> None:
            async with places:
                await client.chat.completions.create(model=MODEL, messages=chat, max_tokens=64, temperature=0.0)  # type: ignore[arg-type]

        await asyncio.gather(*map(one, asked))


async def _right(made: Engine, batch: Batch) -> None:
    result = await made.verify(batch)
    assert all(verdict.score == 1.0 for verdict in result.verdicts), result.verdicts[0]


async def _crowd(report: Report) -> None:
    """200 requests, 2 s each, 100 at once."""
    batch = judged(200)
    asked = await chats(batch)
    with slow() as server:
        await bare(server.url(0), asked[:2])  # loads the client
        start = time.perf_counter()
        await bare(server.url(2), asked)
        alone = time.perf_counter() - start
    with slow() as server:
        async with engine(main=endpoint(server.url(2))) as made:
            start = time.perf_counter()
            await _right(made, batch)
            took = time.perf_counter() - start
        counts = server.counts()
    report.figure("200 requests of 2 s, 100 in flight: bare", alone, "s")
    report.figure("   judged", took, "s", most=6)
    report.figure("   times bare", took / alone, "x")
    report.figure("   in flight at once", counts["most"], most=_ALLOWED)


async def _costs(report: Report, server: Slow) -> None:
    """CPU of a judged sample."""
    count, rounds = 200, 3
    costs: dict[str, list[float]] = {"bare": [], "remembering nothing": [], "remembering": [], "remembered": []}
    url = server.url(0)
    async with engine(forgetful=endpoint(url)) as off, engine(64, main=endpoint(url)) as on:
        for number in range(rounds + 1):
            batch = judged(count, number * count)
            asked = await chats(batch)
            spent = []
            for work in (bare(url, asked), _right(off, batch), _right(on, batch), _right(on, batch)):
                start = time.process_time()
                await work
                spent.append((time.process_time() - start) / count)
            if number:  # the first connects and compiles
                for name, seconds in zip(costs, spent, strict=True):
                    costs[name].append(seconds)
    middle = {name: statistics.median(seconds) for name, seconds in costs.items()}
    for name, seconds in middle.items():
        report.figure(f"CPU of a sample: {name}", 1e3 * seconds, "ms")
        if name != "bare":
            report.figure("   times bare", seconds / middle["bare"], "x")


async def _beside(made: Engine, first: int) -> float:
    """Samples a second of what asks no judge."""
    batches = beside(2000, first)
    start = time.perf_counter()
    for result in await asyncio.gather(*map(made.verify, batches)):
        assert all(verdict.status == "scored" for verdict in result.verdicts), result.verdicts[0]
    return 2000 / (time.perf_counter() - start)


async def _dead(report: Report, server: Slow) -> None:
    """Others beside a judge that is dead: 800 samples wait for it, more than there are places for orchestrators."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound and not listening: whoever connects is refused
        refusing = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
        dead = {"hanging": endpoint(server.url(3600)), "refusing": endpoint(refusing)}
        async with engine(workers=cores(), **dead) as made:
            await _beside(made, 0)
            rates: Mapping[str, list[float]] = {"": [], **{name: [] for name in dead}}
            for number in range(1, 6):
                for place, name in enumerate(rates):
                    first = (3 * number + place) * 2000
                    waiting = asyncio.create_task(made.verify(judged(800, first, name))) if name else None
                    while name and not made.judges.status()[name]["failures"] + made.judges.status()[name]["in_flight"]:
                        await asyncio.sleep(0.01)
                    await asyncio.sleep(1)  # by then all that waits has been rendered
                    rates[name].append(await _beside(made, first))
                    if waiting is not None:
                        waiting.cancel()
                        await asyncio.gather(waiting, return_exceptions=True)
    alone = statistics.median(rates[""])
    report.figure("math and a recipe, alone", alone, "/s")
    for name in dead:
        report.figure(f"   beside a {name} judge", statistics.median(rates[name]), "/s")
        # Rates of equal runs lie up to a tenth apart.
        report.figure("   times alone", statistics.median(rates[name]) / alone, "x", least=0.8)


async def _budgets(report: Report) -> None:
    """Measure the spending over a budget of 50.5 requests, 100 in flight, 300 wanted."""
    price = {"input_usd": 1.0, "output_usd": 1.0}
    budgets: Mapping[str, Mapping[str, Any]] = {
        "calls": {"budget_calls": 50},
        "tokens": {"budget_tokens": int(50.5 * TOKENS)},
        "dollars": {"budget_usd": 50.5 * TOKENS / 1e6, **price},
    }
    for name, budget in budgets.items():
        with slow() as server:
            async with engine(main=endpoint(server.url(0.05), **budget)) as made:
                result = await made.verify(judged(300))
            came = server.counts()["came"]
        scored = sum(verdict.score == 1.0 for verdict in result.verdicts)
        report.figure(f"a budget of 50 requests in {name}: requests made", came, least=50, most=51)
        report.figure("   samples scored", scored, least=50, most=51)


_PROMPT = Prompt(system="You compare.", user="{{ prompt }}\n\n{{ reference }}\n\n{{ response }}")


def _material(sample: Sample) -> Mapping[str, Material]:
    return {
        "prompt": Material(str(sample.prompt)),
        "reference": Material(str(sample.reference)),
        "response": Material(str(sample.response), candidate=True),
    }


def _render(report: Report) -> None:
    """CPU of a chat, without asking anybody."""
    for size in (500, 5_000, 50_000):
        texts = samples(60, size=size)
        start = time.process_time()
        for one in texts:
            render("judge.reference", _PROMPT, _material(one), "Reply with one JSON object and nothing else.")
        report.figure(f"a chat about {size / 1000:g} kB: CPU", 1e3 * (time.process_time() - start) / len(texts), "ms")


async def _run(report: Report) -> None:
    _render(report)
    await _crowd(report)
    with slow() as server:
        await _costs(report, server)
    with slow() as server:
        await _dead(report, server)
    await _budgets(report)


def run() -> list[str]:
    """Run and report; the promises not kept."""
    report = Report(f"judges: an endpoint that always replies the same, {_ALLOWED} requests in flight")
    asyncio.run(_run(report))
    return report.broken
