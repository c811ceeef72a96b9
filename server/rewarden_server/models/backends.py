"""The backends that run the configured models."""

from __future__ import annotations

from rewarden_server.models.backend import Backend
from rewarden_server.models.process import processes_of
from rewarden_server.models.process_backend import ProcessBackend
from rewarden_server.models.settings import ModelSettings


def backends_of(settings: ModelSettings) -> dict[str, Backend]:
    """By model. Nothing is started, and nobody is asked."""
    processes = processes_of(settings)
    return {
        name: ProcessBackend(name, made, processes.get(name), settings.start_s) for name, made in settings.named.items()
    }
