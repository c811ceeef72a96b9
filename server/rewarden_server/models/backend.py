"""The engine's interface to whatever runs a model: our own process, or another engine behind its protocol."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

from rewarden_verifiers.inference import About, Task

R = TypeVar("R")


class Backend(Protocol):
    """One configured model. Used on one loop."""

    def start(self) -> None:
        """Begin to load what this server runs itself; returns at once. Without it the first task begins it."""

    async def run(self, task: Task[R]) -> R:
        """See `rewarden_verifiers.inference.Model.run`. Cancelling the call gives the work up."""

    async def about(self) -> About:
        """Returns what is known of the model; waits until it is loaded. Raises ModelError where it cannot be had."""

    async def reload(self, model: str | None, revision: str | None) -> About:
        """Swap the weights: for those of another folder or revision, or for what lies in the same place now. Nothing
        under way is lost. Raises ModelError where they cannot be had; the old ones then stay; InvalidParams where that
        is not allowed or not possible here."""

    def status(self) -> dict[str, Any]:
        """JSON-ready: `state` (starting, ready, failed, remote), `problem`, `version`, `in_flight`, and more."""

    async def close(self) -> None:
        """Let go of everything; what is under way fails."""
