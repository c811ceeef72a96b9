"""Live episodes: a start and the actions so far.

Only the workers have the state; they replay the actions (`environment`) and cache what they have replayed. So nothing
that a policy wrote runs in this process, and no episode is lost if a worker dies. If a judge plays a part, it is asked
for its words here; they become part of the start's script, so that every replay has them.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Protocol

from rewarden.errors import (
    InternalError,
    InvalidRequest,
    MissingDependency,
    NotFound,
    Overloaded,
    RequestError,
    Unavailable,
)
from rewarden.types import Batch, BatchResult, Sample, Use, Verdict
from rewarden_server.environments.played import Player, answered, unplayed
from rewarden_server.environments.settings import EnvironmentSettings
from rewarden_verifiers.environments.contract import MOST_CHARACTERS

_USE = Use(name="environment", params={"actions": "json", "waits": True})
SURFACE = "openenv"
MOST_ID = 255
"""The maximum length of an episode's id, in characters."""

_MOST_ASKED = 12
"""The maximum number of questions to a judge for one answer of the user. Attack: a policy that makes the user call
tools forever."""


class Full(Overloaded):
    """The key has reached its limit of live episodes."""

    code = "too_many_episodes"


class Ended(InvalidRequest):
    """The episode has ended or has not started."""

    code = "episode_ended"
    http_status = 409


class Judge(Player, Protocol):
    """The part of a service that replays episodes and asks judges."""

    def take_batch(self, batch: Batch) -> Batch:
        """See `Service`."""

    async def verify(self, batch: Batch, surface: str) -> BatchResult:
        """See `Service`."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The observation and the reward of an action; the start has no reward."""

    observation: Mapping[str, Any]
    reward: float | None
    done: bool


@dataclass(eq=False, slots=True)
class Place:
    """A place for one episode at a time. held: a connection holds it, so that it is not forgotten while the connection
    is open. opening: the number of requests that are starting an episode in it. session: it was opened before its first
    episode. ending: it ends with the connection that holds it. busy: a lock held during a message, so that the next one
    waits."""

    id: str
    owner: str
    environment: str
    used: float
    held: bool = False
    opening: int = 0
    session: bool = False
    ending: bool = False
    busy: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def in_use(self) -> bool:
        """True during a message and while a connection holds it."""
        return self.held or self.opening > 0 or self.busy.locked()

    @property
    def begun(self) -> bool:
        """True once an episode has begun in it."""
        raise NotImplementedError

    @property
    def kept(self) -> bool:
        """True while it must not be forgotten, no matter how long it has been idle."""
        return self.in_use

    @property
    def done(self) -> bool:
        """True if the episode has ended."""
        raise NotImplementedError

    def state(self) -> dict[str, Any]:
        """The state as a trainer sees it."""
        raise NotImplementedError


@dataclass(eq=False, slots=True)
class LiveEpisode(Place):
    """An episode that workers replay. start: the reference of its verdict; None before the first `reset`. actions: a
    malformed one is None. verdict: the verdict on the actions so far. repeated: how many times each question was asked
    again."""

    start: dict[str, Any] | None = None
    actions: list[str | None] = field(default_factory=list)
    verdict: Verdict | None = None
    repeated: int = 0

    def repeat(self) -> int:
        """Counts one more repeated question, and returns the count."""
        self.repeated += 1
        return self.repeated

    @property
    def begun(self) -> bool:
        """True once an episode has begun in it."""
        return self.start is not None

    @property
    def ended(self) -> str | None:
        """The reason why the episode has ended."""
        return None if self.verdict is None else self.verdict.evidence["ended"]

    @property
    def done(self) -> bool:
        """True if the episode has ended."""
        return self.ended is not None

    def state(self) -> dict[str, Any]:
        """The state that a trainer sees; a policy sees observations. With `reference` and `actions`, `environment`
        gives the episode's verdict."""
        evidence = self.verdict.evidence if self.verdict is not None else {}
        return {
            "episode_id": self.id,
            "step_count": len(self.actions),
            "environment": self.environment,
            "done": self.done,
            "success": evidence.get("success", False),
            "return": evidence.get("return", 0.0),
            "cost": evidence.get("cost", 0.0),
            "reference": self.start,
            "actions": list(self.actions),
        }


class LiveEpisodes:
    """The episodes of a server. Not thread-safe: use it on one event loop. clock: monotonic seconds."""

    def __init__(self, settings: EnvironmentSettings, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.settings = settings
        self._clock = clock
        self._open: dict[tuple[str, str], Place] = {}
        self._count: Counter[str] = Counter()

    def open(
        self,
        owner: str,
        environment: str,
        id: str | None = None,
        *,
        held: bool = False,
        kind: type[Place] = LiveEpisode,
    ) -> Place:
        """Opens a place for an episode of a kind. If the key has this id open already, its episode is over, and the
        place is reused. Raises Full, InvalidRequest."""
        if id is not None and not 1 <= len(id) <= MOST_ID:
            raise InvalidRequest(f"episode_id: must have 1 to {MOST_ID} characters", path="episode_id")
        self._forget()
        id = id or f"episode-{secrets.token_hex(12)}"
        found = self._open.get((owner, id))
        if found is not None:
            if held or found.held or found.environment != environment:
                raise InvalidRequest(f"episode_id: {id[:40]!r} is in use", path="episode_id")
            return found
        most = self.settings.per_key
        if self._count[owner] >= most:
            raise Full(
                f"the key {owner!r} has {most} live episodes (environments.per_key); close one, or wait until one is "
                "forgotten",
                limit="environments.per_key",
                most=most,
                retry_after_s=1.0,
            )
        made = kind(id, owner, environment, self._clock(), held)
        self._open[owner, id] = made
        self._count[owner] += 1
        return made

    @contextmanager
    def opening(self, owner: str, environment: str, id: str | None, kind: type[Place]) -> Iterator[Place]:
        """Opens a place like `open`, and forgets it at the end of the block if no episode has started in it. Flake: of
        two concurrent resets, the failing one made the server forget the other's episode and leave its box behind.
        """
        place = self.open(owner, environment, id, kind=kind)
        place.opening += 1
        try:
            yield place
        finally:
            place.opening -= 1
            if not (place.in_use or place.session or place.begun):
                self.close(place)

    def find(self, owner: str, environment: str, id: str) -> Place:
        """An open episode of a key. Raises NotFound."""
        self._forget()
        found = self._open.get((owner, id))
        if found is None or found.environment != environment:
            raise NotFound(f"there is no live episode {id[:40]!r} of {environment}; reset one")
        return found

    def attach(self, owner: str, environment: str, id: str) -> Place:
        """An open episode of a key, which is held from now on. Raises NotFound; InvalidRequest if it is held
        already."""
        found = self.find(owner, environment, id)
        if found.held:
            raise InvalidRequest(f"session_id: {id[:40]!r} has a connection", path="session_id")
        found.held = True
        self.used(found)
        return found

    def left_s(self, episode: Place) -> float:
        """Seconds for which it is still kept without a message."""
        if episode.busy.locked():
            return self.settings.idle_s
        return episode.used + self.settings.idle_s - self._clock()

    def holds(self, episode: Place) -> bool:
        """True until it is forgotten."""
        return self._open.get((episode.owner, episode.id)) is episode

    def __len__(self) -> int:
        return len(self._open)

    def close(self, episode: Place) -> None:
        """Forgets an episode."""
        if self._open.pop((episode.owner, episode.id), None) is not None:
            self._count[episode.owner] -= 1
            if not self._count[episode.owner]:
                del self._count[episode.owner]

    def _forget(self) -> None:
        """Forgets the episodes that have been idle for too long."""
        before = self._clock() - self.settings.idle_s
        idle = [each for each in self._open.values() if each.used < before and not each.kept]
        for each in idle:
            self.close(each)

    def used(self, episode: Place) -> None:
        """Restarts its idle time."""
        episode.used = self._clock()

    async def reset(self, judge: Judge, episode: LiveEpisode, start: dict[str, Any]) -> Seen:
        """Starts an episode. start: the reference; without a seed, any seed will do. Raises RequestError."""
        async with episode.busy:
            given = {**start, "environment": episode.environment}
            if given.get("seed") is None:
                given["seed"] = secrets.randbelow(2**31)
            start, verdict = await self._lived(judge, episode, given, [])
            episode.start, episode.actions, episode.verdict = start, [], verdict
            return Seen(verdict.evidence["observation"], None, episode.done)

    async def step(self, judge: Judge, episode: LiveEpisode, action: str | None) -> Seen:
        """Takes an action; None stands for a call without its argument. If it fails and the policy is not at fault,
        nothing has happened, and the action can be sent again. Raises RequestError, Ended."""
        async with episode.busy:
            if episode.start is None or episode.done:
                raise Ended("the episode has ended: reset" if episode.start else "there is no episode: reset first")
            # As in a replay, which refuses a text that is too long; so it need not take up memory here.
            actions = [*episode.actions, None if action is None else action[: MOST_CHARACTERS + 1]]
            start, verdict = await self._lived(judge, episode, episode.start, actions)
            episode.start, episode.actions, episode.verdict = start, actions, verdict
            return Seen(verdict.evidence["observation"], verdict.steps[-1].score, episode.done)

    async def _lived(
        self, judge: Judge, episode: LiveEpisode, start: dict[str, Any], actions: list[str | None]
    ) -> tuple[dict[str, Any], Verdict]:
        """The verdict, and the start with everything that a judge has said so far. Raises RequestError."""
        verdict = await self._replayed(judge, episode, start, actions)
        for number in count(1):
            asked = verdict.evidence.get("asked")
            if asked is None:
                break
            if number > _MOST_ASKED:
                raise unplayed(asked["judge"], "only called tools")
            try:
                said = await answered(judge, asked, start["seed"], episode.repeat)
            finally:
                self.used(episode)
            options = start["options"]
            start = {**start, "options": {**options, "script": [*(options.get("script") or []), *said]}}
            verdict = await self._replayed(judge, episode, start, actions)
        return start, verdict

    async def _replayed(
        self, judge: Judge, episode: LiveEpisode, start: Mapping[str, Any], actions: list[str | None]
    ) -> Verdict:
        sample = Sample(response=json.dumps(actions), reference=start)
        try:
            batch = judge.take_batch(Batch(samples=[sample], use=_USE))
            (verdict,) = (await judge.verify(batch, SURFACE)).verdicts
        finally:
            self.used(episode)
        if verdict.status == "scored" and "ended" in verdict.evidence:
            return verdict
        raise error_of(verdict)


def error_of(verdict: Verdict) -> RequestError:
    """The error of an episode that could not be replayed or judged."""
    said = verdict.feedback or verdict.reason or "the episode could not be replayed"
    why = {"reason": verdict.reason, **({"fault": verdict.fault} if verdict.fault else {})}
    if verdict.fault in ("reference", "caller"):
        return InvalidRequest(said.replace("reference.", ""), **why)
    if verdict.retryable:
        return Unavailable(said, **why, retry_after_s=1.0)
    if verdict.reason == MissingDependency.reason:
        return Unavailable(said, **why)
    if verdict.status == "scored":
        return InvalidRequest("the step needs more time or memory than it has", **why)
    return InternalError(said, **why)
