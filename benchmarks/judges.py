"""The overhead of `judge`, against an endpoint in another process that always gives the same reply.

"Bare" means calls of the `openai` client with the same chats, and nothing else, in the same run. CPU is that of this
process alone. A dead judge refuses connections, or accepts them and never replies.
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
    """Returns a judge."""
    return JudgeEndpoint(**{"model": MODEL, "base_url": url, "concurrency": _ALLOWED, "max_tokens": 64, **more})


@contextlib.asynccontextmanager
async def engine(cache_mb: int = 0, workers: int = 1, **judges: JudgeEndpoint) -> AsyncIterator[Engine]:
    """Returns an engine that caches only replies, up to the given number."""
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
    """Returns the chats that a batch leads to."""
    asked: list[list[Message]] = []

    async def note(question: Question, judge: str | None = None) -> Reply:
        asked.append(list(question.messages))
        return Reply(text=REPLY, judge="none", model=MODEL)

    async with engine() as made:
        made.judges.ask = note  # type: ignore[method-assign]
        await _right(made, batch)
    return asked


async def bare(url: str, asked: Sequence[list[Message]]) -> None:
    """Sends the same chats without Rewarden."""
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
    """Measures 200 requests, 2 s each, 100 at once."""
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
    """Measures the CPU time of a judged sample."""
    count, rounds = 200, 3
    costs: dict[str, list[float]] = {"bare": [], "no cache": [], "writing the cache": [], "cached": []}
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
        report.figure(f"CPU per sample: {name}", 1e3 * seconds, "ms")
        if name != "bare":
            report.figure("   times bare", seconds / middle["bare"], "x")


async def _beside(made: Engine, first: int) -> float:
    """Returns samples per second for verifiers that use no judge."""
    batches = beside(2000, first)
    start = time.perf_counter()
    for result in await asyncio.gather(*map(made.verify, batches)):
        assert all(verdict.status == "scored" for verdict in result.verdicts), result.verdicts[0]
    return 2000 / (time.perf_counter() - start)


async def _dead(report: Report, server: Slow) -> None:
    """Measures other samples next to a dead judge: 800 samples wait for it, more than orchestrators have places."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound but not listening: connections are refused
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
                    await asyncio.sleep(1)  # by then all waiting chats have been rendered
                    rates[name].append(await _beside(made, first))
                    if waiting is not None:
                        waiting.cancel()
                        await asyncio.gather(waiting, return_exceptions=True)
    alone = statistics.median(rates[""])
    report.figure("math and a recipe, alone", alone, "/s")
    for name in dead:
        report.figure(f"   next to a {name} judge", statistics.median(rates[name]), "/s")
        # Rates of equal runs differ by up to a tenth.
        report.figure("   times alone", statistics.median(rates[name]) / alone, "x", least=0.8)


async def _budgets(report: Report) -> None:
    """Measures the spending over a budget of 50.5 requests, with 100 in flight and 300 requested."""
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
    """Measures the CPU time of rendering a chat, without sending it."""
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
    """Runs and reports; returns the broken promises."""
    report = Report(f"judges: an endpoint that always replies the same, {_ALLOWED} requests in flight")
    asyncio.run(_run(report))
    return report.broken
