"""The lane of models: sends tasks to the backends of models, equal tasks once.

The key of a result contains everything that produced it: the model's name, its settings that can change numbers, its
version, and the whole task (`in_flight_cache.py`). A result with another version than the last known one means that the
weights were swapped: the remembered results of that model are dropped, and fingerprints change.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from rewarden.errors import InvalidParams, ModelError, NotFound, SampleError
from rewarden_models.endpoint import ModelEndpoint
from rewarden_models.wire import kind_of, to_wire
from rewarden_server.engine.lanes.in_flight_cache import OVERHEAD, InFlightCache
from rewarden_server.engine.observer import Observer
from rewarden_server.engine.orchestrator_slots import leave_slot
from rewarden_server.models.identity import default_model, identity, source
from rewarden_server.models.settings import ModelSettings, is_ours
from rewarden_server.observe.logs import get_logger
from rewarden_server.observe.telemetry.span import current, within
from rewarden_verifiers.canonical import canonical
from rewarden_verifiers.inference import About, Task
from rewarden_verifiers.models.resources import ModelResources

if TYPE_CHECKING:  # HTTP is slow to import, and most engines have no model
    from rewarden_server.models.process_backend import ProcessBackend

R = TypeVar("R")

Made = Callable[[str, ModelEndpoint], "ProcessBackend"]
Moved = Callable[[ModelResources, bool], None]

_PATIENCE_S = 5.0
"""Seconds that a request for a model's description waits for it."""

_log = get_logger("models")


@dataclass(slots=True)
class _Served:
    """A configured model. version: the last known one; swaps: how often it changed. about: the last description;
    problem: why there is none. learning: the task that fetches the first description."""

    name: str
    settings: ModelEndpoint
    backend: ProcessBackend
    prefix: bytes
    identity: bytes
    version: str | None = None
    swaps: int = 0
    about: About | None = None
    problem: str | None = None
    learning: asyncio.Task[None] | None = None
    swapping: asyncio.Lock = field(default_factory=asyncio.Lock)


class ModelLane:
    """A `rewarden_verifiers.inference.Model`. backend: makes the backend of a model. moved: receives the new resources
    when a model's version becomes known, or (True) changes."""

    def __init__(
        self,
        settings: ModelSettings,
        observer: Observer | None = None,
        *,
        backend: Made | None = None,
        moved: Moved | None = None,
    ) -> None:
        self._observer = observer or Observer()
        backends: Mapping[str, ProcessBackend] = {}
        if backend is not None:
            backends = {name: backend(name, made) for name, made in settings.named.items()}
        elif settings.named:
            from rewarden_server.models.process_backend import backends_of

            backends = backends_of(settings)
        self._served = {name: _served(name, made, backends[name]) for name, made in settings.named.items()}
        self._default = default_model(settings)
        self._moved = moved
        self._flights: InFlightCache[Any] = InFlightCache(
            settings.cache_mb * 1024**2, lambda result: OVERHEAD + _weight(result)
        )
        self._closed = False

    def start(self) -> None:
        """Begins to load the server's own models, and to fetch the versions of all models; returns at once."""
        for served in self._served.values():
            served.backend.start()
            served.learning = asyncio.get_running_loop().create_task(self._learn(served))

    def loading(self) -> list[str]:
        """Returns the server's own models that have not been available yet since `start`, without those whose loading
        failed."""
        return [
            served.name
            for served in self._served.values()
            if is_ours(served.settings) and served.learning is not None and not served.learning.done()
        ]

    @property
    def resources(self) -> ModelResources:
        """Returns the resources of this server for the verifiers that use models."""
        return ModelResources(
            models={served.name: identity(served.settings) for served in self._served.values()},
            default=self._default,
            versions={served.name: served.version for served in self._served.values() if served.version is not None},
        )

    async def run(self, task: Task[R], model: str | None = None) -> R:
        """See `Model.run`."""
        served = self._asked(model)
        kind = kind_of(task)
        digest = hashlib.blake2b(canonical(task).encode(), digest_size=20).digest()

        def note(outcome: str) -> None:
            self._observer.model_asked(served.name, kind, outcome)

        known = self._flights.known(_key(served, kind, digest))
        if known is not None:
            note("cached")
            return cast(R, _remembered(known))
        leave_slot()
        try:
            result, cached = await self._flights.shared(
                _key(served, kind, digest),
                lambda: self._done(served, kind, task),
                note=note,
                stopped=lambda: _stopped(served.name),
                kept_as=lambda made: (
                    _key(served, kind, digest) if made.facts.version == served.version else None  # of earlier weights
                ),
            )
        except SampleError as error:
            note("refused" if error.fault == "caller" else "failed")
            raise
        return cast(R, _remembered(result) if cached else result)

    async def about(self, name: str) -> dict[str, Any]:
        """Returns a model's description and state, ready for JSON. Raises NotFound."""
        served = self._named(name)
        if served.about is None and not self._closed:
            await self._learn(served, _PATIENCE_S)
        told = {} if served.about is None else {"about": to_wire(served.about)}
        return {**self._status(served), **told}

    async def reload(self, name: str, model: str | None = None, revision: str | None = None) -> About:
        """Swaps a model's weights for those of another folder or revision, or for the current ones in the same place.
        Returns when it is done. No work in progress is lost. One swap at a time.

        Raises NotFound, InvalidParams for a model that is not allowed or possible, and ModelError if the weights cannot
        be loaded; the old ones then stay.
        """
        served = self._named(name)
        async with served.swapping:
            if self._closed:
                raise _stopped(name)
            swaps = served.swaps
            about = await served.backend.reload(model, revision)
            self._told(served, about, swaps)
        _log.info("model reloaded", model=name, version=about.version)
        return about

    def status(self) -> dict[str, Any]:
        """Returns each model's state and load, ready for JSON."""
        return {name: self._status(served) for name, served in self._served.items()}

    async def close(self) -> None:
        """Cancels work in progress, and releases processes and connections."""
        self._closed = True
        learning = [served.learning for served in self._served.values() if served.learning is not None]
        for task in learning:
            task.cancel()
        await asyncio.gather(*learning, return_exceptions=True)
        await self._flights.close()
        await asyncio.gather(*(served.backend.close() for served in self._served.values()))

    async def _done(self, served: _Served, kind: str, task: Task[R]) -> R:
        swaps, started = served.swaps, time.monotonic()
        with within(current().child("model task", kind="client", model=served.name, task=kind)) as span:
            result = await served.backend.run(task)
            facts = result.facts  # type: ignore[attr-defined]  # every result has them
            span.note(tokens=facts.tokens, written=facts.written)
        self._observer.model_worked(served.name, kind, time.monotonic() - started, facts.tokens, facts.written)
        served.problem = None
        self._saw(served, facts.version, swaps)
        return cast(R, _weak(result)) if served.settings.weak else result

    async def _learn(self, served: _Served, patience_s: float | None = None) -> None:
        swaps = served.swaps
        try:
            async with asyncio.timeout(patience_s):
                about = await served.backend.about()
        except SampleError as error:
            served.problem = error.message
            _log.warning("model is not available", model=served.name, problem=error.message)
        except TimeoutError:
            pass  # its status shows its state
        else:
            self._told(served, about, swaps)

    def _told(self, served: _Served, about: About, swaps: int) -> None:
        served.problem = None
        self._saw(served, about.version, swaps)
        if about.version == served.version:
            served.about = about

    def _saw(self, served: _Served, version: str, swaps: int) -> None:
        """Handles the version in a result or description. swaps: the model's count when the request began: a late reply
        from weights that were swapped meanwhile is not another swap."""
        known = served.version
        if version == known or (known is not None and swaps != served.swaps):
            return
        served.version = version
        if known is not None:
            served.swaps += 1
            served.about = None
            self._flights.forget(served.prefix)
            _log.info("model swapped", model=served.name, before=known, version=version)
        if self._moved is not None:
            self._moved(self.resources, known is not None)

    def _status(self, served: _Served) -> dict[str, Any]:
        told = {
            "model": source(served.settings.model),
            "backend": served.settings.backend,
            "version": served.version,
            "swaps": served.swaps,
            **({} if served.problem is None else {"problem": served.problem}),
        }
        return {**told, **{name: value for name, value in served.backend.status().items() if value not in (None, "")}}

    def _asked(self, model: str | None) -> _Served:
        name = model or self._default
        if name is not None and name in self._served:
            return self._served[name]
        said = "no model is named, and the server has no default" if name is None else f"unknown model {name!r}"
        raise InvalidParams(f"params.model: {said}; configured: {self._known()}", path="params.model")

    def _named(self, name: str) -> _Served:
        if name not in self._served:
            raise NotFound(f"unknown model {name[:200]!r}; configured: {self._known()}")
        return self._served[name]

    def _known(self) -> str:
        return ", ".join(self._served) or "none; add a [models.named.NAME] with model"


def _served(name: str, settings: ModelEndpoint, backend: ProcessBackend) -> _Served:
    told = hashlib.blake2b(canonical(identity(settings)).encode(), digest_size=20).digest()
    prefix = hashlib.blake2b(name.encode(), digest_size=8).digest()
    return _Served(name=name, settings=settings, backend=backend, prefix=prefix, identity=told)


def _key(served: _Served, kind: str, digest: bytes) -> bytes:
    made = hashlib.blake2b(digest_size=20)
    for part in (served.identity, (served.version or "").encode(), kind.encode(), digest):
        made.update(len(part).to_bytes(4, "big"))
        made.update(part)
    return served.prefix + made.digest()


def _remembered(result: Any) -> Any:
    return replace(result, facts=replace(result.facts, cached=True))


def _weak(result: Any) -> Any:
    return replace(result, facts=replace(result.facts, weak=True))


def _stopped(name: str) -> ModelError:
    return ModelError(f"model {name!r}: the server is stopping", model=name, kind="stopped")


def _weight(value: Any) -> int:
    """Returns the approximate size of a result in bytes."""
    if isinstance(value, str):
        return 50 + 2 * len(value)
    if isinstance(value, Mapping):
        return 64 + sum(_weight(item) for item in value.values())
    if isinstance(value, Sequence):
        if value and isinstance(value[0], (int, float)):
            return 64 + 32 * len(value)
        return 64 + sum(map(_weight, value))
    if is_dataclass(value):
        return 64 + sum(_weight(getattr(value, item.name)) for item in fields(value))
    return 32
