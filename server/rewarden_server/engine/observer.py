"""The engine's one hook for observers: metrics, records, tests. The engine does not know Prometheus."""

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
        """A verdict was made. inline: by a recipe that stood in the request, which may have any name."""

    def group(self, group: Group, members: Sequence[Verdict], inline: bool = False) -> None:
        """A group is whole, and these are its members' verdicts. inline: as of a verdict, of any of them."""

    def batch(self, source: str, seconds: float, samples: int) -> None:
        """A batch or stream ended."""

    def worker_ended(self, reason: str) -> None:
        """A cpu worker is gone: `recycled`, `expired`, `memory`, `idle`, `died` or `closed`."""

    def program_ended(self, language: str, status: str, seconds: float) -> None:
        """A run in the sandbox ended; `status` is its report's, `seconds` its wall time."""

    def depth(self, lane: str, items: int) -> None:
        """`items` items wait in a lane."""

    def lean(self, alive: int, idle: int, waiting: int) -> None:
        """`alive` Lean processes live, `idle` of them have nothing to do, and `waiting` texts wait for one."""

    def judge_asked(self, judge: str, outcome: str) -> None:
        """A question to a judge ended: `answered`, `cached` (remembered), `coalesced` (asked by another too), `failed`
        (not reached), `exhausted` (its budget), or `left` (nobody waited any more)."""

    def judge_attempted(self, judge: str, outcome: str, seconds: float) -> None:
        """A request to a judge's server ended: `ok`, or the kind of `rewarden_server.judges.failure.Failure`."""

    def judge_retried(self, judge: str) -> None:
        """A request failed and is sent again."""

    def model_asked(self, model: str, kind: str, outcome: str) -> None:
        """A task for a model ended: `answered`, `cached` (remembered), `coalesced` (asked by another too), `refused`
        (the task is at fault), `failed` (not reached, or broken), or `left` (nobody waited any more)."""

    def model_worked(self, model: str, kind: str, seconds: float, tokens: int, written: int) -> None:
        """A model did a task, in so many seconds, waiting included; tokens that it read, and wrote."""

    def judge_spent(self, judge: str, usage: Usage) -> None:
        """A request to a judge's server took this usage, or at most this."""

    def cache_hit(self, place: str) -> None:
        """Work was known: in `memory`, in the `file`, or in `redis`."""

    def cache_missed(self) -> None:
        """Work that may be remembered was not known anywhere."""

    def cache_failed(self, place: str) -> None:
        """A place of the cache did not answer, or not in time."""
