"""One model in its process: loaded in the background, run once it is ready, reloaded with other weights."""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from rewarden_models.endpoint import ModelEndpoint, is_local
from rewarden_models.failure import Failure
from rewarden_models.memory import free_cache
from rewarden_models.room import fits_beside
from rewarden_models.settings import Place
from rewarden_verifiers.inference import About, Task

AGAIN_S = 30.0
"""Seconds after which a request retries to load a model that could not be loaded."""

_PACKAGES = ("torch", "transformers", "safetensors")

_INSTALL = "pip install 'rewarden-server[models]'"

_log = logging.getLogger(__name__)


class Engine(Protocol):
    """The engine that runs a model's tasks; see `engine.py`."""

    async def run(self, task: Task[Any]) -> Any:
        """A task's result. Raises Failure."""

    def about(self) -> About:
        """The facts about the model."""

    def swap(self, loaded: Any) -> Any:
        """Use these weights from now on; tasks in progress finish with the old ones."""

    def status(self) -> dict[str, Any]:
        """JSON-ready."""

    def close(self) -> Any:
        """Release everything."""


Load = Callable[[str, ModelEndpoint], Any]
"""Reads a model's weights. Slow; runs on a thread. Raises Failure."""

Make = Callable[[str, ModelEndpoint, Any], Engine]
"""Creates an engine for a loaded model."""


def load(name: str, settings: ModelEndpoint) -> Any:
    """Like `loading.load`, imported on demand. Raises Failure, also if torch or transformers is missing."""
    missing = [package for package in _PACKAGES if find_spec(package) is None]
    if settings.backend == "own" and missing:
        raise Failure("missing", f"{' and '.join(missing)} must be installed: {_INSTALL}")
    try:
        if settings.backend != "own":
            from rewarden_models.remote import loading as remote

            return remote.load(name, settings)
        from rewarden_models import loading
    except ImportError as error:
        raise Failure("missing", f"{error.name or error} is not installed: {_INSTALL}") from None
    return loading.load(name, settings)


def make(name: str, settings: ModelEndpoint, loaded: Any) -> Engine:
    """An engine for the model's backend."""
    if settings.backend != "own":
        from rewarden_models.remote.engine import RemoteEngine

        return RemoteEngine(name, loaded)
    from rewarden_models.engine import ModelEngine

    made: Engine = ModelEngine(name, settings, loaded)
    return made


class HostedModel:
    """Created and used on one event loop. loads: the executor that reads weights, one model after another. place: the
    source of the first weights; None: as configured."""

    def __init__(
        self,
        name: str,
        settings: ModelEndpoint,
        loads: Executor,
        *,
        place: Place | None = None,
        load: Load = load,
        make: Make = make,
    ) -> None:
        self.name = name
        self._configured = settings
        self._settings = settings
        self._begins = place
        self._loads = loads
        self._load = load
        self._make = make
        self._engine: Engine | None = None
        self._failure: Failure | None = None
        self._failed_at = 0.0
        self._loading: asyncio.Task[Any] | None = None
        self._reloads = asyncio.Lock()
        self._under_way = 0
        self._idle = asyncio.Event()
        self._idle.set()

    def start(self) -> None:
        """Start loading; returns at once. Does nothing if the model is ready or already loading."""
        if self._engine is None and self._loading is None:
            self._loading = asyncio.get_running_loop().create_task(self._begin())

    def retry(self) -> None:
        """Start loading again after a failure, if that was long enough ago."""
        if self._engine is None and self._failure is not None and time.monotonic() - self._failed_at > AGAIN_S:
            self.start()

    @property
    def loading(self) -> bool:
        """Returns whether it is still loading."""
        return self._engine is None and self._loading is not None

    @property
    def place(self) -> Place:
        """The source of the weights."""
        return Place(model=self._settings.model, revision=self._settings.revision)

    async def run(self, task: Task[Any]) -> Any:
        """A task's result. Waits while the model loads. Raises Failure."""
        engine = await self._ready()
        self._under_way += 1
        self._idle.clear()
        try:
            return await engine.run(task)
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._idle.set()

    async def reload(self, model: str | None, revision: str | None) -> About:
        """Load other weights, or those that are in the same place now, next to the old ones, then swap; reloads run one
        at a time. If memory has no room for both, the old ones are dropped first. If it raises Failure, the old weights
        stay, or are loaded again."""
        # The caller may disconnect: a reload that has begun runs to its end.
        return await asyncio.shield(asyncio.get_running_loop().create_task(self._reload(model, revision)))

    def status(self) -> dict[str, Any]:
        """JSON-ready: `state` (loading, ready, failed), `problem` and its `kind`, `about`, and what the engine says."""
        if self._engine is not None:
            return {**self._engine.status(), "state": "ready", "about": self._engine.about()}
        if self._failure is not None and self._loading is None:
            return {"state": "failed", "problem": self._failure.message, "kind": self._failure.kind}
        return {"state": "loading"}

    async def _ready(self) -> Engine:
        self.retry()
        while self._engine is None and self._loading is not None:
            await asyncio.shield(self._loading)
        if self._engine is not None:
            return self._engine
        if self._failure is not None:
            # A new one: an exception that is raised again and again collects every caller's traceback, and with it
            # their tasks.
            raise Failure(self._failure.kind, self._failure.message, **self._failure.details)
        raise Failure("failed", f"model {self.name!r} is not loaded")

    async def _begin(self) -> None:
        try:
            async with self._reloads:
                if self._engine is not None:  # a reload came first
                    return
                settings = self._settings if self._begins is None else self._swapped(self._begins)
                self._engine = self._make(self.name, settings, await self._read(settings))
                self._settings = settings
            self._failure = None
        except Failure as failure:
            self._failed(failure)
        except Exception as error:  # noqa: BLE001 - this model is missing; the process's others work
            self._failed(defect(f"model {self.name!r} cannot be loaded", error))
        finally:
            self._loading = None

    def _failed(self, failure: Failure) -> None:
        self._failure, self._failed_at = failure, time.monotonic()
        _log.error("model %r: %s", self.name, failure.message)

    async def _read(self, settings: ModelEndpoint) -> Any:
        began = time.monotonic()
        loop = asyncio.get_running_loop()
        try:
            loaded = await loop.run_in_executor(self._loads, self._load, self.name, settings)
        except Exception as error:
            # torch.OutOfMemoryError, by name: torch must not be imported here.
            if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
                raise Failure("memory", f"model {self.name!r}: there is not enough memory to load it") from None
            raise
        _log.info("model %r: loaded %s in %.1f s", self.name, settings.model, time.monotonic() - began)
        return loaded

    async def _reload(self, model: str | None, revision: str | None) -> About:
        async with self._reloads:
            settings = self._asked(model, revision)
            if self._engine is not None and not fits_beside(self.name, self._settings, settings):
                return await self._replace(self._engine, settings)
            try:
                loaded = await self._read(settings)
                if self._engine is None:
                    self._engine = self._make(self.name, settings, loaded)
                else:
                    swapped = self._engine.swap(loaded)
                    if inspect.isawaitable(swapped):
                        await swapped
            except Failure:
                raise
            except Exception as error:  # noqa: BLE001 - the old weights stay
                raise defect(f"model {self.name!r}: the new weights cannot be loaded", error) from None
            self._settings, self._failure = settings, None
            return self._engine.about()

    async def _replace(self, old: Engine, settings: ModelEndpoint) -> About:
        """Drop the old weights, then load. Tasks in progress finish with the old weights; new ones wait."""
        self._engine = None
        self._loading = loading = asyncio.get_running_loop().create_task(self._in_turn(old, settings))
        failure = await loading
        if failure is not None:
            raise failure
        return (await self._ready()).about()

    async def _in_turn(self, old: Engine, settings: ModelEndpoint) -> Failure | None:
        """Never raises: everyone who waits for the model awaits this."""
        before, kinds = self._settings, old.about().kinds
        await self._idle.wait()
        try:
            try:
                await _close(old)
                del old
                self._engine = await self._made(settings, kinds)
                self._settings, self._failure = settings, None
                return None
            except Failure as failure:
                refused = failure
            except Exception as error:  # noqa: BLE001 - the old weights come back
                refused = defect(f"model {self.name!r}: the new weights cannot be loaded", error)
            try:
                self._engine = await self._made(before, kinds)
                said = f"{refused.message}; the old weights were loaded again"
                return Failure(refused.kind, said, **refused.details)
            except Failure as failure:
                self._failed(failure)
            except Exception as error:  # noqa: BLE001 - this model is lost; the process's others work
                self._failed(defect(f"model {self.name!r}: the old weights cannot be loaded again", error))
            return refused
        finally:
            self._loading = None

    async def _made(self, settings: ModelEndpoint, kinds: Sequence[str]) -> Engine:
        """An engine for weights that replace those of a model that could do `kinds`. Raises Failure if they cannot."""
        await asyncio.get_running_loop().run_in_executor(self._loads, free_cache)
        made = self._make(self.name, settings, await self._read(settings))
        has = made.about().kinds
        if not set(kinds) <= set(has):
            await _close(made)
            had, can = ", ".join(kinds), ", ".join(has)
            raise Failure("unsupported", f"model {self.name!r} could {had}; the new one can {can}")
        return made

    def _swapped(self, place: Place) -> ModelEndpoint:
        """The settings of the weights that were swapped in before. Raises Failure if they are gone: the configured ones
        would be the wrong ones."""
        try:
            return self._asked(place.model, place.revision)
        except Failure as failure:
            said = f"the weights of the last reload are not available: {failure.message}"
            raise Failure("loading", said) from None

    def _asked(self, model: str | None, revision: str | None) -> ModelEndpoint:
        """The settings of the weights to load. Raises Failure if they are not allowed."""
        if revision not in (None, self._settings.revision) and is_local(model or self._settings.model):
            raise Failure("forbidden", f"model {self.name!r}: a folder or file has no revisions")
        if model is None or model == self._settings.model:
            return replace(self._settings, revision=revision or self._settings.revision)
        if model == self._configured.model:
            return replace(self._configured, revision=revision or self._configured.revision)
        # The path is resolved, and the resolved path is what is read: a link must not lead out of the allowed folders.
        path = Path(model).resolve()
        folders = [Path(folder).resolve() for folder in self._configured.reload_from]
        allowed = any(path.is_relative_to(folder) for folder in folders)
        if allowed and not path.exists():
            raise Failure("forbidden", f"model {self.name!r}: {model} does not exist (reload_from would allow it)")
        if not allowed:
            places = ", ".join([self._configured.model, *self._configured.reload_from])
            raise Failure(
                "forbidden", f"model {self.name!r} can only be reloaded from {places} (models.named.NAME.reload_from)"
            )
        return replace(self._configured, model=str(path), revision=revision)


async def _close(engine: Engine) -> None:
    closed = engine.close()
    if inspect.isawaitable(closed):
        await closed


def defect(what: str, error: Exception) -> Failure:
    """The failure for an exception that is not ours. Its text may quote a sample, so callers never see it."""
    _log.error("%s: %s\n%s", what, type(error).__name__, "".join(traceback.format_tb(error.__traceback__)))
    return Failure("failed", f"{what}: {type(error).__name__}")
