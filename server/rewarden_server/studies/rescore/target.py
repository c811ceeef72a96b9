"""The interface that a rescore needs of its target."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import Any, Protocol

from rewarden.types import Group, Progress, Sample, Use, Verdict

LOCAL = "local"
"""The target that is an engine in this process."""

RAY = "ray"
"""The target that is many engines on a Ray cluster, of the same packages as here."""

OURS = (LOCAL, RAY)
"""Targets whose verifiers are those of this process."""


class Target(Protocol):
    """An `AsyncClient`, or what stands for one. `target` names it."""

    @property
    def target(self) -> str:
        """`local`, `ray`, or a server's address."""

    def stream(
        self,
        samples: AsyncIterator[Sample],
        use: Use | None = None,
        *,
        progress: Progress | None = None,
        expect: Mapping[str, str] | None = None,
    ) -> AsyncGenerator[Verdict | Group, None]:
        """As `AsyncClient.stream`."""

    async def verifiers(self, name: str | None = None) -> list[dict[str, Any]]:
        """As `AsyncClient.verifiers`."""
