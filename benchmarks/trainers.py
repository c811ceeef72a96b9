"""The cost that a trainer's call adds to the engine: 512 math samples (32 references × 16), cache off, 2 workers.

Load: the first 512 of the GRPO-like pairs, through adapters to a server in a separate process, over HTTP, alternating
with the engine alone in this process. `plain` and `TRL` are one call with lists; `acompute_score` is 512 concurrent
calls of one sample in an event loop (verl's asynchronous loop, slime, verifiers); `compute_score` blocks, and is called
with one sample at a time by 1, 8 and 32 threads of this process, and by 8 and 32 processes of one thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

from benchmarks.math_pairs import engine_alone
from benchmarks.pairs import Pair, pairs
from benchmarks.report import Report
from benchmarks.server import served
from rewarden.adapters import plain, trl, verl

_SAMPLES, _WARM, _ROUNDS = 512, 64, 9
_THREADS, _PROCESSES = (1, 8, 32), (8, 32)


def run() -> list[str]:
    """Runs and reports; returns the broken promises."""
    report = Report("trainers: 512 math samples through an adapter, against the engine alone")
    load = pairs()[:_SAMPLES]
    rounds: list[dict[str, float]] = []
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(
            served(REWARDEN_ENGINE_CACHE="false", REWARDEN_ENGINE_WORKERS="2", REWARDEN_ENGINE_EAGER="true")
        )
        ways = _in_this_process(load, server.http) | {
            f"{count} processes": stack.enter_context(_processes(count, server.http)) for count in _PROCESSES
        }
        alone = stack.enter_context(engine_alone(load))
        for _ in range(_ROUNDS):
            rounds.append({"engine": alone()} | {name: way() for name, way in ways.items()})

    def times(name: str, base: str) -> float:
        """Returns the middle of the rounds' ratios, in each of which the other work on this machine was the same."""
        return statistics.median(round[name] / round[base] for round in rounds)

    report.figure("engine alone", _SAMPLES / statistics.median(round["engine"] for round in rounds), "/s")
    report.figure("plain, one call, times the engine alone", times("plain", "engine"), most=1.15)
    report.figure("TRL, one call, times the engine alone", times("TRL", "engine"), most=1.15)
    report.figure("acompute_score, 512 concurrent calls, times the engine", times("acompute_score", "engine"), most=1.2)
    report.figure("acompute_score, share of the rate of one call", times("plain", "acompute_score"))
    for name in ways:
        if name not in ("plain", "TRL", "acompute_score"):
            report.figure(f"compute_score, {name}", _SAMPLES / statistics.median(each[name] for each in rounds), "/s")
            least = 0.5 if name.startswith("32") else None
            report.figure(f"compute_score, {name}, share of the rate of one call", times("plain", name), least=least)
    return report.broken


def _in_this_process(load: list[Pair], target: str) -> dict[str, Callable[[], float]]:
    """Returns the ways of scoring the load that need no other process, each as a function that returns its seconds.

    They are measured as the engine's own time is: warm, and after everything earlier was closed.
    """
    settings = {"use": "math", "target": target}
    texts, references = [pair.response for pair in load], [pair.reference for pair in load]
    prompts = [f"question of {pair.group}" for pair in load]
    plain_reward, trl_reward = plain.reward(**settings), trl.reward(**settings)

    def lists(reward: Callable[..., object]) -> float:
        reward(prompts=prompts[:_WARM], completions=texts[:_WARM], answer=references[:_WARM])
        start = time.perf_counter()
        reward(prompts=prompts, completions=texts, answer=references)
        return time.perf_counter() - start

    async def each() -> float:
        async def one(text: str, reference: str) -> object:
            return await verl.acompute_score("math", text, reference, {}, **settings)

        await asyncio.gather(*map(one, texts[:_WARM], references[:_WARM]))
        start = time.perf_counter()
        await asyncio.gather(*map(one, texts, references))
        return time.perf_counter() - start

    def by_threads(count: int, size: int) -> float:
        def work(first: int) -> None:
            for place in range(first, size, count):
                verl.compute_score("math", texts[place], references[place], {}, **settings)

        threads = [threading.Thread(target=work, args=(first,)) for first in range(count)]
        start = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return time.perf_counter() - start

    def threads(count: int) -> Callable[[], float]:
        return lambda: (by_threads(count, _WARM), by_threads(count, _SAMPLES))[1]

    return {
        "plain": lambda: lists(plain_reward),
        "TRL": lambda: lists(trl_reward),
        "acompute_score": lambda: asyncio.run(each()),
        **{f"{count} thread{'s' * (count > 1)}": threads(count) for count in _THREADS},
    }


@contextlib.contextmanager
def _processes(count: int, target: str) -> Iterator[Callable[[], float]]:
    """Yields a function that scores the load by so many processes, and returns its seconds."""
    workers = [
        subprocess.Popen(
            [sys.executable, "-m", "benchmarks.trainers", target, str(first), str(count)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for first in range(count)
    ]

    def all_of_them(word: str) -> None:
        for worker in workers:
            assert worker.stdin is not None
            print(word, file=worker.stdin, flush=True)
        for worker in workers:
            assert worker.stdout is not None
            assert worker.stdout.readline() == "done\n"

    def measure() -> float:
        all_of_them("warm")
        start = time.perf_counter()
        all_of_them("all")
        return time.perf_counter() - start

    try:
        yield measure
    finally:
        for worker in workers:
            worker.communicate()


def _work(target: str, first: int, count: int) -> None:
    """Scores every `count`th sample of the load, or of its beginning, for each line of the input."""
    load = pairs()[:_SAMPLES]
    for line in sys.stdin:
        for pair in load[first : _SAMPLES if line == "all\n" else max(_WARM, first + 1) : count]:
            verl.compute_score("math", pair.response, pair.reference, {}, use="math", target=target)
        print("done", flush=True)


if __name__ == "__main__":
    _work(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
