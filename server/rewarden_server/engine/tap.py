"""The engine's hook for whoever needs the samples with their verdicts: one tap for each request, stream or job.

An `Observer` counts what the whole engine does; a tap knows the request's header, and, since it is opened within the
request, the caller. Both are called on the engine's loop, so every method must be cheap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from rewarden.types import BadSample, Batch, Group, Sample, Verdict
from rewarden_verifiers.chat import Usage


class Tap(Protocol):
    """Told about the samples of one scope."""

    def verdict(self, sample: Sample | BadSample, verdict: Verdict) -> None:
        """A verdict was made."""

    def group(self, group: Group, members: Sequence[Verdict]) -> None:
        """A group is whole, and these are its members' verdicts."""

    def spent(self, sample: Sample, usage: Usage) -> None:
        """A request to a judge had this usage, or at most this. It was made for the sample, or for the group whose
        first member it is. It can come to its end after `close`."""

    def close(self) -> None:
        """No more verdicts come."""


OpenTap = Callable[[Batch], Tap | None]
"""Opens the tap of a scope, given its header; None if nobody listens."""
