"""Servers behind the adapters, and the verifiers of the server's tests."""

from __future__ import annotations

from tests.server.conftest import Gates, Start, gate, plugin, start

__all__ = ["Gates", "Start", "gate", "plugin", "start"]
