"""A judge's server without a server: what an endpoint asks is answered as a test says, when it says so."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from rewarden_server.engine.observer import Observer
from rewarden_server.judges.endpoint import Endpoint
from rewarden_server.judges.failure import Failure
from rewarden_server.judges.settings import JudgeEndpoint
from rewarden_server.judges.wire import Wire
from rewarden_verifiers.chat import Question, Reply, Usage

FAILED = Failure("status 503", kind="server_error", passing=True)


def question(text: str = "?", **more: Any) -> Question:
    """A question."""
    return Question(messages=[{"role": "user", "content": text}], **more)


def text_of(asked: Question) -> str:
    """Its text."""
    return str(asked.messages[0]["content"])


class StandIn:
    """A `Provider`. ends: what comes of the requests, in turn: an exception or a usage; then a reply. While `held` a
    request waits to be let go with `release`."""

    def __init__(self, *ends: BaseException | Usage, held: bool = False) -> None:
        self.wire = Wire(JudgeEndpoint(model="m"))
        self.ends = list(ends)
        self.asked: list[Question] = []
        self.in_flight = 0
        self.most = 0
        self.closed = False
        self.held = held
        self._gates: list[asyncio.Event] = []

    async def ready(self) -> None:
        """See `Provider`."""

    async def complete(self, question: Question) -> Reply:
        """See `Provider`."""
        self.asked.append(question)
        end = self.ends.pop(0) if self.ends else Usage(prompt_tokens=100, completion_tokens=10)
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        try:
            if self.held:
                gate = asyncio.Event()
                self._gates.append(gate)
                await gate.wait()
        finally:
            self.in_flight -= 1
        if isinstance(end, BaseException):
            raise end
        return Reply(text=text_of(question), judge="main", model="m", usage=end)

    def release(self, count: int = 1) -> None:
        """Let so many requests end, in the order in which they came."""
        for gate in self._gates[:count]:
            gate.set()
        del self._gates[:count]

    async def probe(self) -> str:
        """See `Provider`."""
        return "is a stand-in"

    async def close(self) -> None:
        """See `Provider`."""
        self.closed = True


class Clock:
    """Time that passes when somebody pauses, and when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []
        self.during: Callable[[], None] = lambda: None

    def __call__(self) -> float:
        return self.now

    async def pause(self, seconds: float) -> None:
        """Pause."""
        self.pauses.append(seconds)
        self.now += seconds
        self.during()
        await asyncio.sleep(0)


class HeldClock(Clock):
    """Time that passes only by `advance`, which wakes who pauses in the order in which they are due."""

    def __init__(self) -> None:
        super().__init__()
        self._due: list[tuple[float, int, asyncio.Future[None]]] = []

    async def pause(self, seconds: float) -> None:
        """Pause."""
        self.pauses.append(seconds)
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._due.append((self.now + seconds, len(self.pauses), woken))
        await woken

    async def advance(self, seconds: float) -> None:
        """So many seconds pass, and everything that can go on goes on."""
        end = self.now + seconds
        await settled()
        while due := sorted(one for one in self._due if one[0] <= end and not one[2].done()):
            self.now, _, woken = due[0]
            woken.set_result(None)
            await settled()
        self._due = [one for one in self._due if not one[2].done()]
        self.now = end


class Failing(StandIn):
    """A `StandIn` whose requests take `takes` seconds of a clock's, and fail while `fails` says so of a question."""

    def __init__(self, clock: HeldClock, fails: Callable[[Question], bool], takes: float = 0.0) -> None:
        super().__init__()
        self.clock = clock
        self.fails = fails
        self.takes = takes

    async def complete(self, question: Question) -> Reply:
        """See `Provider`."""
        reply = await super().complete(question)
        if self.takes:
            self.in_flight += 1
            try:
                await self.clock.pause(self.takes)
            finally:
                self.in_flight -= 1
        if self.fails(question):
            raise Failure("status 503", kind="server_error", passing=True)
        return reply


class Counts(Observer):
    """The counts of what was told of judges."""

    def __init__(self) -> None:
        self.questions: dict[str, int] = defaultdict(int)
        self.attempts: dict[str, int] = defaultdict(int)
        self.retries = 0
        self.tokens = 0

    def judge_asked(self, judge: str, outcome: str) -> None:
        """See `Observer`."""
        self.questions[outcome] += 1

    def judge_attempted(self, judge: str, outcome: str, seconds: float) -> None:
        """See `Observer`."""
        self.attempts[outcome] += 1

    def judge_retried(self, judge: str) -> None:
        """See `Observer`."""
        self.retries += 1

    def judge_spent(self, judge: str, usage: Usage) -> None:
        """See `Observer`."""
        self.tokens += usage.prompt_tokens + usage.completion_tokens


def endpoint(
    *providers: StandIn, clock: Clock | None = None, chance: float = 1.0, observer: Observer | None = None, **more: Any
) -> Endpoint:
    """An endpoint that asks it, or them as its addresses, with the settings given."""
    clock = clock or Clock()
    return Endpoint(
        "main",
        JudgeEndpoint(model="m", **more),
        observer or Observer(),
        providers=list(providers),
        pause=clock.pause,
        clock=clock,
        chance=lambda: chance,
    )


async def settled() -> None:
    """Everything that can go on has gone on."""
    for _ in range(30):
        await asyncio.sleep(0)
