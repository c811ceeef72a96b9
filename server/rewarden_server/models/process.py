"""The model processes that the server starts: one per device."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from rewarden.errors import ModelError, SampleError
from rewarden_models.endpoint import ModelEndpoint
from rewarden_models.settings import Place, ProcessSettings, settings_to_json
from rewarden_server.models.connection import Connection, ProcessLost
from rewarden_server.models.settings import ModelSettings, is_ours
from rewarden_server.processes.kept import KeptProcess


class ModelProcess(KeptProcess[Connection]):
    """All models of one device, in a process kept alive from `start` to `close`. It answers before they are loaded."""

    what = "model process"
    prefix = "rewarden-model-"
    lost = ModelError

    loading_s: ClassVar[float] = 600.0
    """Replaces `silent_s` during loading: importing gigabytes of libraries from a slow disk blocks the process."""

    def __init__(self, settings: ProcessSettings) -> None:
        super().__init__()
        self.trial = asyncio.Lock()  # held while one of its models looks for the task that killed it
        self._loading = True
        self._look: asyncio.Timeout | None = None
        # Everyone can read a command line but not an environment, so keys for other engines go there.
        self._keys: dict[str, str] = {}
        models = {}
        for place, (name, model) in enumerate(settings.models.items()):
            if model.api_key is not None:
                variable = f"REWARDEN_MODEL_KEY_{place}"
                self._keys[variable] = model.api_key
                model = replace(model, api_key=None, api_key_env=variable)
            models[name] = model
        self.settings = replace(settings, models=models)

    def command(self, address: str) -> list[str]:
        """See `KeptProcess.command`."""
        return [*command(self.settings, address), "--tied"]

    def connect(self, address: str) -> Connection:
        """See `KeptProcess.connect`."""
        self._loading = True
        return Connection(address)

    async def look(self, client: Connection) -> None:
        """See `KeptProcess.look`."""
        try:
            async with asyncio.timeout(self.loading_s if self._loading else self.silent_s) as self._look:
                with contextlib.suppress(ProcessLost, SampleError):  # the process ends, or at least it answers
                    told = await client.get("/healthz")
                    # A health check that was in flight when the first model was loaded must not undo what `loaded` set.
                    self._loading &= isinstance(told, dict) and told.get("loading") is True
        finally:
            self._look = None

    def loaded(self, client: Connection) -> None:
        """A model of this process is loaded, so importing libraries no longer excuses silence: even a health check in
        progress must now be answered within `silent_s`. Flake: a process that hung right after loading was never
        noticed."""
        if client is not self.current:
            return
        self._loading = False
        if self._look is not None and not self._look.expired():
            self._look.reschedule(asyncio.get_running_loop().time() + self.silent_s)

    def swapped(self, name: str, place: Place) -> None:
        """Record that a model's weights now come from `place`, so that a successor of this process begins with them."""
        self.settings = replace(self.settings, swapped={**self.settings.swapped, name: place})

    def environment(self) -> dict[str, str]:
        """See `KeptProcess.environment`."""
        own = {
            "TOKENIZERS_PARALLELISM": "false",  # the library warns about forks that never happen
            "OMP_WAIT_POLICY": "passive",  # threads that spin while waiting take cores from the workers
        }
        return {**own, **super().environment(), **self._keys}


def command(settings: ProcessSettings, address: str) -> list[str]:
    """The command line of a model process with these settings."""
    return [*_host(), "--address", address, "--settings", settings_to_json(settings)]


def check_command(models: Mapping[str, ModelEndpoint]) -> list[str]:
    """The command line that prints a JSON object: for each model, why loading would refuse its files, or null. Models
    whose files are not here yet are left out."""
    return [*_host(), "--check", "--settings", settings_to_json(ProcessSettings(models=models))]


def _host() -> list[str]:
    # -P: do not import a folder of our package's name from the server's working directory.
    return [sys.executable, "-P", "-m", "rewarden_models"]


_ELSEWHERE = "elsewhere"


def device_of(model: ModelEndpoint) -> str:
    """A name for the device, the same for the same device as far as that can be told without querying it."""
    return "cuda:0" if model.device == "cuda" else model.device


def processes_of(settings: ModelSettings) -> dict[str, ModelProcess]:
    """The process of each model, except for our own models at an address. Models of one device share a process, and so
    do all models that other engines run, which are tokenised there. None is started."""
    devices: dict[str, dict[str, ModelEndpoint]] = {}
    for name, model in settings.named.items():
        if is_ours(model):
            devices.setdefault(device_of(model), {})[name] = model
        elif model.backend != "own":
            devices.setdefault(_ELSEWHERE, {})[name] = model
    found: dict[str, ModelProcess] = {}
    for models in devices.values():
        process = ModelProcess(ProcessSettings(models=models))
        found |= dict.fromkeys(models, process)
    return found
