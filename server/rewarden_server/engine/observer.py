"""The engine's one hook for whoever watches: metrics, records, tests. The engine does not know Prometheus."""

from __future__ import annotations

from rewarden.types import Verdict
from rewarden_verifiers.chat import Usage


class Observer:
    """Does nothing; subclasses count. Called on the engine's loop, so every method must be cheap."""

    def admitted(self, source: str, samples: int) -> None:
        """A batch or a stream's sample was admitted; `source` names the surface."""

    def refused(self, source: str, reason: str) -> None:
        """A batch was refused; `reason` is the error's code."""

    def verdict(self, verdict: Verdict) -> None:
        """A verdict was made."""

    def batch(self, source: str, seconds: float, samples: int) -> None:
        """A batch or stream ended."""

    def worker_ended(self, reason: str) -> None:
        """A cpu worker is gone: `recycled`, `expired`, `memory`, `idle`, `died` or `closed`."""

    def program_ended(self, language: str, status: str, seconds: float) -> None:
        """A run in the sandbox ended; `status` is its report's, `seconds` its wall time."""

    def depth(self, lane: str, items: int) -> None:
        """How many items wait in a lane."""

    def lean(self, alive: int, idle: int, waiting: int) -> None:
        """How many Lean processes live, how many of them have nothing to do, and how many texts wait for one."""

    def judge_asked(self, judge: str, outcome: str) -> None:
        """A question to a judge ended: `answered`, `cached` (remembered), `coalesced` (asked by another too), `failed`
        (not reached), `exhausted` (its budget), or `left` (nobody waited any more)."""

    def judge_attempted(self, judge: str, outcome: str, seconds: float) -> None:
        """A request to a judge's server ended: `ok`, or the kind of `rewarden_server.judges.failure.Failure`."""

    def judge_retried(self, judge: str) -> None:
        """A request failed and is sent again."""

    def judge_spent(self, judge: str, usage: Usage) -> None:
        """What a request took, or took at most."""
