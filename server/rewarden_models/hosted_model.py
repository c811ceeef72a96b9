"""One model in its process: loaded in the background, asked when it is there, swapped for others."""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
import traceback
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from rewarden_models.endpoint import ModelEndpoint, is_local
from rewarden_models.failure import Failure
from rewarden_models.memory import available
from rewarden_models.settings import Place
from rewarden_verifiers.inference import About, Task

AGAIN_S = 30.0
"""Seconds after which a model that could not be loaded is tried again, when somebody asks for it."""

_PACKAGES = ("torch", "transformers", "safetensors")

_INSTALL = "pip install 'rewarden-server[models]'"

_log = logging.getLogger(__name__)


class Engine(Protocol):
    """The engine that runs a model's tasks; see `engine.py`."""

    async def run(self, task: Task[Any]) -> Any:
        """A task's result. Raises Failure."""

    def about(self) -> About:
        """Returns what is known of the model."""

    def swap(self, loaded: Any) -> Any:
        """Use these weights from now on; what is under way ends with the old ones."""

    def status(self) -> dict[str, Any]:
        """JSON-ready."""


Load = Callable[[str, ModelEndpoint], Any]
"""Reads a model's weights: slow, run on a thread. Raises Failure."""

Make = Callable[[str, ModelEndpoint, Any], Engine]
"""An engine for what was loaded."""


def load(name: str, settings: ModelEndpoint) -> Any:
    """As `loading.load`, imported where it is needed. Raises Failure, also where torch or transformers is missing."""
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
    """A `ModelEngine`."""
    if settings.backend != "own":
        from rewarden_models.remote.engine import RemoteEngine

        return RemoteEngine(name, loaded)
    from rewarden_models.engine import ModelEngine

    made: Engine = ModelEngine(name, settings, loaded)
    return made


class HostedModel:
    """Made and used on one loop. `loads`: where weights are read, one model after another. place: of the weights that
    it begins with; None: those that are configured."""

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
        self._loading: asyncio.Task[None] | None = None
        self._reloads = asyncio.Lock()

    def start(self) -> None:
        """Begin to load; returns at once. Does nothing for a model that is there or loads already."""
        if self._engine is None and self._loading is None:
            self._loading = asyncio.get_running_loop().create_task(self._begin())

    def retry(self) -> None:
        """Begin to load once more what could not be loaded, if that was some time ago."""
        if self._engine is None and self._failure is not None and time.monotonic() - self._failed_at > AGAIN_S:
            self.start()

    @property
    def loading(self) -> bool:
        """Returns whether it is not there yet, and may be soon."""
        return self._engine is None and self._loading is not None

    @property
    def place(self) -> Place:
        """Returns where the weights come from."""
        return Place(model=self._settings.model, revision=self._settings.revision)

    async def run(self, task: Task[Any]) -> Any:
        """A task's result; waits for a model that loads. Raises Failure."""
        return await (await self._ready()).run(task)

    async def reload(self, model: str | None, revision: str | None) -> About:
        """Load other weights, or those that lie in the same place now, beside the old ones, then swap; one reload after
        another. Raises Failure; the old ones then stay."""
        # Whoever asked may leave: what was begun is brought to its end.
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
            # A new one: what is raised again and again gathers the tracebacks, and with them the tasks, of all.
            raise Failure(self._failure.kind, self._failure.message, **self._failure.details)
        raise Failure("failed", f"model {self.name!r} is not loaded")

    async def _begin(self) -> None:
        try:
            async with self._reloads:
                if self._engine is not None:  # a reload was before us
                    return
                settings = self._settings if self._begins is None else self._swapped(self._begins)
                self._engine = self._make(self.name, settings, await self._read(settings))
                self._settings = settings
            self._failure = None
        except Failure as failure:
            self._failed(failure)
        except Exception as error:  # noqa: BLE001 - the model is not there; the process's others are
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
            # torch's own (torch.OutOfMemoryError) is not to be imported here.
            if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
                raise Failure("memory", f"model {self.name!r}: there is not enough memory to load it") from None
            raise
        _log.info("model %r: loaded %s in %.1f s", self.name, settings.model, time.monotonic() - began)
        return loaded

    async def _reload(self, model: str | None, revision: str | None) -> About:
        async with self._reloads:
            settings = self._asked(model, revision)
            try:
                if self._engine is not None:
                    _check_room(self.name, settings)
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

    def _swapped(self, place: Place) -> ModelEndpoint:
        """The settings of what was swapped in before. Raises Failure if it is gone: none of ours would do."""
        try:
            return self._asked(place.model, place.revision)
        except Failure as failure:
            said = f"the weights of the last reload are not available: {failure.message}"
            raise Failure("loading", said) from None

    def _asked(self, model: str | None, revision: str | None) -> ModelEndpoint:
        """The settings of what is to be loaded. Raises Failure for what may not be."""
        if revision not in (None, self._settings.revision) and is_local(model or self._settings.model):
            raise Failure("forbidden", f"model {self.name!r}: a folder or file has no revisions")
        if model is None or model == self._settings.model:
            return replace(self._settings, revision=revision or self._settings.revision)
        if model == self._configured.model:
            return replace(self._configured, revision=revision or self._configured.revision)
        # Resolved, and it is the resolved path that is read: a link must not lead out of the folders allowed.
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


def defect(what: str, error: Exception) -> Failure:
    """Returns what is said of an exception that is none of ours. Its text may quote a sample: it is not passed on."""
    _log.error("%s: %s\n%s", what, type(error).__name__, "".join(traceback.format_tb(error.__traceback__)))
    return Failure("failed", f"{what}: {type(error).__name__}")


def _check_room(name: str, settings: ModelEndpoint) -> None:
    """Raises Failure if a folder's weights are more than this machine has memory left for: to run out of it would cost
    the model that works. A GPU says so by itself."""
    places = [Path(model) for model in (settings.model, settings.base) if model is not None]
    files = [file for place in places for file in ([place] if place.is_file() else place.glob("*.safetensors"))]
    need, free = sum(file.stat().st_size for file in files), available()
    if free is not None and need > free:
        raise Failure(
            "memory",
            f"model {name!r}: the new weights take {need / 1e6:,.0f} MB in addition to the old ones, and "
            f"{free / 1e6:,.0f} MB are free; the old ones are kept",
            needed=need,
            free=free,
        )
