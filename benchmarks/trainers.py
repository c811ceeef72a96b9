"""The cost that a trainer's call adds to the engine: 512 math samples (32 references × 16), cache off, 2 workers.

Load: the first 512 of the GRPO-like pairs, through adapters to a server in a separate process, over HTTP, alternating
with the engine alone in this process. `batch` is one call with lists (TRL, plain, OpenRLHF's file), `each` 512
concurrent calls of one sample (verl's asynchronous loop, slime, verifiers).
"""

from __future__ import annotations

import asyncio
import statistics
import time

from benchmarks.math_pairs import ours
from benchmarks.pairs import pairs
from benchmarks.report import Report
from benchmarks.server import served
from rewarden.adapters import plain, trl, verl

_SAMPLES, _WARM, _ROUNDS = 512, 64, 9


def run() -> list[str]:
    """Runs and reports; returns the broken promises."""
    report = Report("trainers: 512 math samples through an adapter, against the engine alone")
    load = pairs()[:_SAMPLES]
    texts, references = [pair.response for pair in load], [pair.reference for pair in load]
    seconds: dict[str, list[float]] = {"engine": [], "plain": [], "trl": [], "verl": []}
    with served(REWARDEN_ENGINE_CACHE="false", REWARDEN_ENGINE_WORKERS="2", REWARDEN_ENGINE_EAGER="true") as server:
        settings = {"use": "math", "target": server.http}
        plain_reward, trl_reward = plain.reward(**settings), trl.reward(**settings)
        prompts = [f"question of {pair.group}" for pair in load]

        def lists(reward: object) -> float:
            # Measured as the engine's own time is: warm, and after everything earlier was closed.
            reward(prompts=prompts[:_WARM], completions=texts[:_WARM], answer=references[:_WARM])  # type: ignore[operator]
            start = time.perf_counter()
            reward(prompts=prompts, completions=texts, answer=references)  # type: ignore[operator]
            return time.perf_counter() - start

        async def each() -> float:
            async def one(text: str, reference: str) -> object:
                return await verl.acompute_score("math", text, reference, {}, **settings)

            await asyncio.gather(*map(one, texts[:_WARM], references[:_WARM]))
            start = time.perf_counter()
            await asyncio.gather(*map(one, texts, references))
            return time.perf_counter() - start

        for _ in range(_ROUNDS):
            seconds["engine"].append(asyncio.run(ours(load))[1])
            seconds["plain"].append(lists(plain_reward))
            seconds["trl"].append(lists(trl_reward))
            seconds["verl"].append(asyncio.run(each()))
    middle = {name: statistics.median(found) for name, found in seconds.items()}
    report.figure("engine alone", _SAMPLES / middle["engine"], "/s")
    report.figure("plain, one call, times the engine alone", middle["plain"] / middle["engine"], most=1.2)
    report.figure("TRL, one call, times the engine alone", middle["trl"] / middle["engine"], most=1.2)
    report.figure("verl, 512 concurrent calls, times the engine alone", middle["verl"] / middle["engine"], most=1.2)
    return report.broken
