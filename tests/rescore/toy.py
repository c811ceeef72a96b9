"""A target without an engine: judges at once, answers in any order, and can be told to break off."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from rewarden.errors import NotFound, Unavailable
from rewarden.types import Group, Sample, Verdict, VerifierRef

VERIFIERS = {"yes": False, "siblings": True}
"""`yes`: responses with `yes` in them are right. `siblings`: the score is the group's size over 100."""

STALL_S = 0.3
"""Seconds without a sample for the toy to believe that none will come; too short makes tests weaker, not wrong."""


HELD = 64
"""Samples in hand with which it answers them all."""


class ToyClient:
    """Stands for an `AsyncClient`. `seen` are the texts judged, in order; `most` how many were in hand at once.

    break_at: the stream raises Unavailable after so many verdicts. halt_at: it stops forever after so many, and at most
    HELD more. log: a file that gets a line for each verdict told. hold: responses with this text are answered when no
    more samples come.
    """

    target = "http://toy"

    def __init__(
        self,
        *,
        seed: int = 0,
        break_at: int | None = None,
        halt_at: float = math.inf,
        log: Path | None = None,
        hold: str = "",
    ) -> None:
        self._random = random.Random(seed)
        self._break_at = break_at
        self._halt_at = halt_at
        self._log = log
        self._hold = hold
        self._answered = 0
        self.seen: list[str] = []
        self.expected: dict[str, str] | None = None
        self.most = 0

    async def verifiers(self, name: str | None = None) -> list[dict[str, Any]]:
        if name not in VERIFIERS:
            raise NotFound(f"there is no verifier or recipe named {name!r}")
        return [{"name": name, "group": VERIFIERS[name], "available": True}]

    async def stream(
        self, samples: AsyncIterator[Sample], use: Any = None, *, progress: Any = None, expect: Any = None
    ) -> AsyncIterator[Verdict | Group]:
        self.expected = expect
        held: list[tuple[int, Sample]] = []
        index = 0
        while True:
            if self._answered >= self._halt_at:
                await asyncio.Event().wait()
            coming = asyncio.ensure_future(anext(samples, None))
            done, _ = await asyncio.wait({coming}, timeout=STALL_S)
            if not done:  # no more come until some are answered
                for item in held:
                    yield self._judge(*item, use)
                held = []
            sample = await coming
            if sample is None:
                break
            held.append((index, sample))
            index += 1
            self.most = max(self.most, len(held))
            for item in [one for one in held if self._ready(one, held)]:
                held.remove(item)
                yield self._judge(*item, use)
        self._random.shuffle(held)
        for item in held:
            yield self._judge(*item, use)

    def _ready(self, item: tuple[int, Sample], held: list[tuple[int, Sample]]) -> bool:
        """Some are answered at once, some wait for many others: verdicts come in any order."""
        sample = item[1]
        if self._hold and self._hold in str(sample.response):
            return False
        if sample.group_size is not None:
            return sum(one.group == sample.group for _, one in held) == sample.group_size
        return len(held) >= HELD or self._random.random() < 0.05

    def _judge(self, index: int, sample: Sample, use: Any) -> Verdict:
        if self._answered == self._break_at:
            raise Unavailable("the toy broke off")
        self._answered += 1
        text = str(sample.response)
        self.seen.append(text)
        if self._log is not None:
            with self._log.open("a", encoding="utf-8") as file:
                file.write(f"{text}\n")
        name = (sample.use or use).name
        common: dict[str, Any] = {
            "index": index,
            "id": sample.id,
            "verifier": VerifierRef(name=name, version="1", fingerprint=f"print-of-{name}"),
            "run_s": 0.001 + index,
            "evidence": {"reference": sample.reference},
            "flags": ("truncated",) if sample.finish_reason == "length" else (),
        }
        if name == "siblings":
            return Verdict(status="scored", score=(sample.group_size or 0) / 100, **common)
        if "broken" in text:
            return Verdict(status="error", reason="sandbox_failed", fault="infra", **common)
        if "unclear" in text:
            return Verdict(status="undecided", reason="unclear", fault="reference", **common)
        right = "yes" in text
        return Verdict(
            status="scored",
            score=float(right),
            passed=right,
            reason=None if right else "wrong",
            fault=None if right else "policy",
            **common,
        )
