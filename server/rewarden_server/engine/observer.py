"""The engine's only interface for observers: metrics, records, tests. The engine does not depend on Prometheus."""

from __future__ import annotations

from collections.abc import Sequence

from rewarden.types import Group, Verdict
from rewarden_verifiers.chat import Usage


class Observer:
    """Does nothing; subclasses count. Called on the engine's loop, so every method must be cheap."""

    def admitted(self, source: str, samples: int) -> None:
        """A batch or a stream's sample was admitted; `source` names the surface."""

    def refused(self, source: str, reason: str) -> None:
        """A batch was refused; `reason` is the error's code."""

    def verdict(self, verdict: Verdict, inline: bool = False) -> None:
        """A verdict was made. inline: by a recipe within the request, which can have any name."""

    def group(self, group: Group, members: Sequence[Verdict], inline: bool = False) -> None:
        """A group is complete, with its members' verdicts. inline: as for verdicts, for any of them."""

    def batch(self, source: str, seconds: float, samples: int) -> None:
        """A batch or stream ended."""

    def worker_ended(self, reason: str) -> None:
        """A cpu worker is gone: `recycled`, `expired`, `memory`, `idle`, `died` or `closed`."""

    def program_ended(self, language: str, status: str, seconds: float) -> None:
        """A run in the sandbox ended; `status` is its report's, `seconds` its wall time."""

    def depth(self, lane: str, items: int) -> None:
        """`items` items are waiting in a lane."""

    def lean(self, alive: int, idle: int, waiting: int) -> None:
        """`alive` Lean processes are running, `idle` of them have no work, and `waiting` texts wait for one."""

    def judge_asked(self, judge: str, outcome: str) -> None:
        """A question to a judge ended: `answered`, `cached`, `coalesced` (another caller asked the same at the same
        time), `failed` (no reply), `exhausted` (its budget), or `left` (all callers left)."""

    def judge_attempted(self, judge: str, outcome: str, seconds: float) -> None:
        """A request to a judge's server ended: `ok`, or the kind of `rewarden_server.judges.failure.Failure`."""

    def judge_retried(self, judge: str) -> None:
        """A request failed and is sent again."""

    def model_asked(self, model: str, kind: str, outcome: str) -> None:
        """A task for a model ended: `answered`, `cached`, `coalesced` (another caller asked the same at the same time),
        `refused` (the task is at fault), `failed` (no result), or `left` (all callers left)."""

    def model_worked(self, model: str, kind: str, seconds: float, tokens: int, written: int) -> None:
        """A model completed a task, with its duration including the wait, and the tokens that it read and wrote."""

    def judge_spent(self, judge: str, usage: Usage) -> None:
        """A request to a judge's server had this usage, or at most this."""

    def cache_hit(self, place: str) -> None:
        """Work was found in the cache: in `memory`, in the `file`, or in `redis`."""

    def cache_missed(self) -> None:
        """Cacheable work was not found in any cache."""

    def cache_failed(self, place: str) -> None:
        """A part of the cache did not answer, or not in time."""
