"""A caller's episodes of both kinds: those that workers replay, and those in a box."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rewarden.errors import InvalidRequest, NotFound
from rewarden_server.access.caller import CURRENT, Caller
from rewarden_server.boxes.desk import Desk
from rewarden_server.environments import boxed
from rewarden_server.environments.boxed import BoxedEpisode
from rewarden_server.environments.live import MOST_ID, SURFACE, LiveEpisode, Place, Seen
from rewarden_server.service import BOX_SCOPE, Service
from rewarden_verifiers.environments.episode import MOST_SEED
from rewarden_verifiers.environments.table import names

_OF_EPISODE = ("max_steps", "illegal")


def name_of(given: str) -> str:
    """The name of an existing environment. Raises NotFound."""
    if given not in boxed.NAMES and given not in names():
        raise NotFound(f"there is no environment {given[:100]!r}; see /openenv")
    return given


def caller_of(name: str) -> Caller:
    """The caller, if allowed to use an environment. Raises Forbidden."""
    caller = CURRENT.get()
    assert caller is not None  # no route of environments is public
    if name in boxed.NAMES:
        caller.demand(BOX_SCOPE)
    return caller


def place_kind(name: str) -> type[Place]:
    """The kind of place for an environment's episodes."""
    return BoxedEpisode if name in boxed.NAMES else LiveEpisode


@dataclass(frozen=True, slots=True)
class Begin:
    """A reset request. own: fields of the episode, as opposed to options of the environment."""

    seed: int | None
    id: str | None
    own: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)


def begin_of(body: Mapping[str, Any]) -> Begin:
    """The request in a body. Fields that do not belong to the episode are options of the environment. Raises
    InvalidRequest."""
    seed, id = body.get("seed"), body.get("episode_id")
    if seed is not None and (type(seed) is not int or not 0 <= seed <= MOST_SEED):
        raise InvalidRequest(f"seed: must be a whole number from 0 to {MOST_SEED}", path="seed")
    if id is not None and not (isinstance(id, str) and 1 <= len(id) <= MOST_ID):
        raise InvalidRequest(f"episode_id: must be a string of 1 to {MOST_ID} characters", path="episode_id")
    given = body.get("options")
    if given is not None and not isinstance(given, dict):
        raise InvalidRequest("options: must be an object", path="options")
    known = ("seed", "episode_id", "options", "environment", *_OF_EPISODE)
    flat = {name: value for name, value in body.items() if name not in known}
    both = next((name for name in flat if name in (given or {})), None)
    if both is not None:
        raise InvalidRequest(f"{both[:40]}: is given twice", path=both[:40])
    own = {name: body[name] for name in _OF_EPISODE if body.get(name) is not None}
    return Begin(seed, id, own, {**(given or {}), **flat})


async def begin(service: Service, caller: Caller, place: Place, asked: Begin) -> tuple[Seen, int | None]:
    """Starts an episode; also returns its seed. Raises RequestError."""
    if isinstance(place, BoxedEpisode):
        options = {**asked.own, **asked.options}
        if asked.id is not None:
            options.setdefault("rollout", asked.id)
        seen = await place.reset(service, Desk(service, caller, SURFACE), asked.seed, options)
        service.episodes.used(place)
        return seen, asked.seed
    assert isinstance(place, LiveEpisode)
    seen = await service.episodes.reset(service, place, {**asked.own, "seed": asked.seed, "options": asked.options})
    return seen, (place.start or {}).get("seed")


async def act(service: Service, caller: Caller, place: Place, action: Mapping[str, Any]) -> Seen:
    """Takes an action in the environment's form. Raises RequestError."""
    if isinstance(place, BoxedEpisode):
        seen = await place.step(Desk(service, caller, SURFACE), action)
        service.episodes.used(place)
        return seen
    assert isinstance(place, LiveEpisode)
    return await service.episodes.step(service, place, action["text"])


async def end(service: Service, caller: Caller, place: Place) -> None:
    """Forgets an episode, and closes its box."""
    service.episodes.close(place)
    if isinstance(place, BoxedEpisode):
        await place.leave(Desk(service, caller, SURFACE))
