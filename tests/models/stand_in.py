"""A model's backend without a process: what it makes of tasks comes when a test says so."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import Any

from rewarden.errors import InvalidParams
from rewarden_models.endpoint import ModelEndpoint
from rewarden_server.engine.observer import Observer
from rewarden_verifiers.inference import About, Classify, Facts, Input, Logits, Texts, Write, Written


def classify(text: str = "?", **more: Any) -> Classify:
    """A task."""
    return Classify(input=Input(text=text, **more))


class StandIn:
    """A `Backend`. ends: what comes of the tasks, in turn: an exception or a version; then results of `version`. While
    `held` a task, or a look at the model, waits to be let go with `release`."""

    def __init__(self, *ends: BaseException | str, held: bool = False, version: str = "v1") -> None:
        self.ends = list(ends)
        self.held = held
        self.version = version
        self.problem: BaseException | None = None
        self.tasks: list[Any] = []
        self.reloads: list[tuple[str | None, str | None]] = []
        self.in_flight = 0
        self.started = False
        self.closed = False
        self.name = ""
        self._gates: list[asyncio.Event] = []

    def __call__(self, name: str, settings: ModelEndpoint) -> StandIn:
        """See `ModelLane`: it is the backend of that model."""
        self.name = name
        return self

    def start(self) -> None:
        """See `Backend`."""
        self.started = True

    async def run(self, task: Any) -> Any:
        """See `Backend`."""
        self.tasks.append(task)
        end = self.ends.pop(0) if self.ends else self.version
        self.in_flight += 1
        try:
            await self._gate()
        finally:
            self.in_flight -= 1
        if isinstance(end, BaseException):
            raise end
        facts = Facts(model=self.name, version=end, tokens=7)
        if isinstance(task, Write):
            return Texts(texts=[Written(text=str(task.seed))] * task.samples, facts=facts)
        return Logits(values=[float(len(self.tasks))], labels=["LABEL_0"], facts=facts)

    async def about(self) -> About:
        """See `Backend`."""
        await self._gate()
        if self.problem is not None:
            raise self.problem
        return About(model=self.name, version=self.version, kinds=["classify"], context=512, dtype="float32")

    async def reload(self, model: str | None, revision: str | None) -> About:
        """See `Backend`. `/allowed` alone may be loaded."""
        if model not in (None, "/allowed"):
            raise InvalidParams("model: only /allowed", path="model")
        self.reloads.append((model, revision))
        about = await self.about()
        self.version += "'"
        return About(model=about.model, version=self.version, kinds=about.kinds, context=about.context)

    def status(self) -> dict[str, Any]:
        """See `Backend`."""
        return {"state": "ready" if self.problem is None else "failed", "in_flight": self.in_flight}

    async def close(self) -> None:
        """See `Backend`."""
        self.closed = True

    def release(self, count: int = 1) -> None:
        """Let so many of those that wait end, in the order in which they came."""
        for gate in self._gates[:count]:
            gate.set()
        del self._gates[:count]

    async def _gate(self) -> None:
        if self.held:
            gate = asyncio.Event()
            self._gates.append(gate)
            await gate.wait()


class Counts(Observer):
    """The counts of what was told of models."""

    def __init__(self) -> None:
        self.outcomes: dict[str, int] = defaultdict(int)
        self.tokens = 0

    def model_asked(self, model: str, kind: str, outcome: str) -> None:
        """See `Observer`."""
        self.outcomes[outcome] += 1

    def model_worked(self, model: str, kind: str, seconds: float, tokens: int, written: int) -> None:
        """See `Observer`."""
        self.tokens += tokens


async def settled() -> None:
    """Everything that can go on has gone on."""
    for _ in range(30):
        await asyncio.sleep(0)
