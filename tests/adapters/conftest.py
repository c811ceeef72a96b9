"""A real server behind the adapters."""

from __future__ import annotations

from tests.server.conftest import Running, Start, start

__all__ = ["Running", "Start", "start"]
