"""Prometheus metrics. Counting is a dictionary's increment; families are made when `/metrics` is asked for.

The unscored share by data source is

    sum by (data_source) (rate(rewarden_verdicts_total{status!="scored"}[5m]))
      / sum by (data_source) (rate(rewarden_verdicts_total[5m]))

Labels that callers choose (data source, verifier, reason) keep their first values; later ones count as `other`.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, PlatformCollector, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from rewarden.types import Verdict
from rewarden_server.engine.observer import Observer
from rewarden_verifiers.chat import Usage

OTHER = "other"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

QUEUE_BUCKETS = (0.001, 0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 60.0, 300.0)
RUN_BUCKETS = (0.0001, 0.0005, 0.002, 0.01, 0.05, 0.2, 1.0, 5.0, 30.0, 120.0)
PROGRAM_BUCKETS = (0.01, 0.05, 0.2, 1.0, 5.0, 30.0, 120.0, 600.0)
JUDGE_BUCKETS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
BATCH_BUCKETS = (0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 60.0, 300.0, 1200.0)


class Distinct:
    """Bounds the values that a label takes: the first `most` stay, whatever comes later is `other`."""

    __slots__ = ("_most", "_seen")

    def __init__(self, most: int) -> None:
        self._most = most
        self._seen: dict[str, str] = {}

    def __call__(self, value: str | None) -> str:
        if value is None:
            return ""
        kept = self._seen.get(value)
        if kept is not None:
            return kept
        if len(self._seen) >= self._most:
            return OTHER
        # Label values come from callers: what cannot be printed as UTF-8 would break the whole page.
        kept = self._seen[value] = value.encode("utf-8", "replace").decode()[:120]
        return kept


class Histogram:
    """Counts by bucket, and their sum, of one series."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        """Count one value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def buckets(self) -> list[tuple[str, float]]:
        """Cumulative counts by upper bound, as Prometheus wants them."""
        found: list[tuple[str, float]] = []
        running = 0
        for bound, count in zip((*self.bounds, float("inf")), self.counts, strict=True):
            running += count
            found.append(("+Inf" if bound == float("inf") else repr(bound), running))
        return found


class Metrics(Observer, Collector):
    """What the engine did and what the surfaces answered. Used on the loop only."""

    def __init__(self, *, sources: int = 200, reasons: int = 200, verifiers: int = 200) -> None:
        self._source_label = Distinct(sources)
        self._reason_label = Distinct(reasons)
        self._verifier_label = Distinct(verifiers)
        self._verdicts: dict[tuple[str, str, str, str, str], int] = defaultdict(int)
        self._queue: dict[str, Histogram] = defaultdict(lambda: Histogram(QUEUE_BUCKETS))
        self._run: dict[str, Histogram] = defaultdict(lambda: Histogram(RUN_BUCKETS))
        self._cached: dict[str, int] = defaultdict(int)
        self._flags: dict[tuple[str, str], int] = defaultdict(int)
        self._admitted: dict[str, int] = defaultdict(int)
        self._refused: dict[tuple[str, str], int] = defaultdict(int)
        self._batches: dict[str, Histogram] = defaultdict(lambda: Histogram(BATCH_BUCKETS))
        self._workers: dict[str, int] = defaultdict(int)
        self._depths: dict[str, int] = {}
        self._language_label = Distinct(100)
        self._programs: dict[tuple[str, str], int] = defaultdict(int)
        self._program_s: dict[str, Histogram] = defaultdict(lambda: Histogram(PROGRAM_BUCKETS))
        self._sandbox: Mapping[str, Any] = {}
        self._lean = {"busy": 0, "idle": 0}
        self._judge_questions: dict[tuple[str, str], int] = defaultdict(int)
        self._judge_attempts: dict[tuple[str, str], int] = defaultdict(int)
        self._judge_retries: dict[str, int] = defaultdict(int)
        self._judge_s: dict[str, Histogram] = defaultdict(lambda: Histogram(JUDGE_BUCKETS))
        self._judge_tokens: dict[tuple[str, str], int] = defaultdict(int)
        self._judge_usd: dict[str, float] = defaultdict(float)
        self._judges: Mapping[str, Any] = {}
        self._requests: dict[tuple[str, str, str, str], int] = defaultdict(int)
        self._started = time.time()
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)

    # --- what the engine tells ---

    def admitted(self, source: str, samples: int) -> None:
        """Count admitted samples by surface."""
        self._admitted[source] += samples

    def refused(self, source: str, reason: str) -> None:
        """Count refused batches by surface and error code."""
        self._refused[source, self._reason_label(reason)] += 1

    def verdict(self, verdict: Verdict) -> None:
        """Count a verdict by verifier, status, reason, fault and data source; its queue and run time by verifier."""
        name = self._verifier_label(verdict.verifier.name if verdict.verifier is not None else None)
        source = self._source_label(verdict.data_source)
        reason = self._reason_label(verdict.reason)
        self._verdicts[name, verdict.status, reason, verdict.fault or "", source] += 1
        if verdict.cached:
            self._cached[name] += 1
        else:
            self._queue[name].add(verdict.queue_s)
            self._run[name].add(verdict.run_s)
        for flag in verdict.flags:
            self._flags[name, self._reason_label(flag)] += 1

    def batch(self, source: str, seconds: float, samples: int) -> None:
        """Count a batch or stream that ended, and how long it took."""
        self._batches[source].add(seconds)

    def worker_ended(self, reason: str) -> None:
        """Count an ended worker by why it ended."""
        self._workers[reason] += 1

    def program_ended(self, language: str, status: str, seconds: float) -> None:
        """Count a run in the sandbox by language and status, and its wall time by language."""
        name = self._language_label(language)
        self._programs[name, self._reason_label(status)] += 1
        self._program_s[name].add(seconds)

    def depth(self, lane: str, items: int) -> None:
        """Note how many items wait in a lane."""
        self._depths[lane] = items

    def lean(self, alive: int, idle: int, waiting: int) -> None:
        """Note the Lean processes, and the texts that wait for one."""
        self._lean = {"busy": alive - idle, "idle": idle}
        self._depths["lean"] = waiting

    def judge_asked(self, judge: str, outcome: str) -> None:
        """Count a question to a judge by how it ended."""
        self._judge_questions[judge, outcome] += 1

    def judge_attempted(self, judge: str, outcome: str, seconds: float) -> None:
        """Count a request to a judge's server by how it ended, and how long it took."""
        self._judge_attempts[judge, outcome] += 1
        self._judge_s[judge].add(seconds)

    def judge_retried(self, judge: str) -> None:
        """Count a request that is sent again."""
        self._judge_retries[judge] += 1

    def judge_spent(self, judge: str, usage: Usage) -> None:
        """Count tokens and dollars; of requests whose end is not known, the most that they can have taken."""
        self._judge_tokens[judge, "prompt"] += usage.prompt_tokens
        self._judge_tokens[judge, "completion"] += usage.completion_tokens
        self._judge_usd[judge] += usage.cost_usd or 0.0

    # --- what the surfaces tell ---

    def request(self, surface: str, route: str, status: str, key: str) -> None:
        """Count a request by surface, route or method, status, and the name of the key that asked."""
        self._requests[surface, route, status, key] += 1

    def sandbox(self, status: Mapping[str, Any]) -> None:
        """Note how the sandbox is, as its lane says it."""
        self._sandbox = status

    def judges(self, status: Mapping[str, Any]) -> None:
        """Note how the judges are, as their lane says it."""
        self._judges = status

    # --- what Prometheus reads ---

    def page(self) -> bytes:
        """The page of `/metrics`."""
        return generate_latest(self._registry)

    def collect(self) -> Iterable[Metric]:
        """The families, made from the counts."""
        yield _counter(
            "rewarden_verdicts",
            "Verdicts made.",
            ("verifier", "status", "reason", "fault", "data_source"),
            self._verdicts.items(),
        )
        yield _counter(
            "rewarden_verdicts_cached", "Verdicts answered from the cache.", ("verifier",), _single(self._cached)
        )
        yield _counter("rewarden_flags", "Flags on verdicts.", ("verifier", "flag"), self._flags.items())
        yield _histogram("rewarden_queue_seconds", "Wait before work began, by verdict.", "verifier", self._queue)
        yield _histogram("rewarden_run_seconds", "Work on a verdict.", "verifier", self._run)
        yield _counter("rewarden_admitted_samples", "Samples admitted.", ("source",), _single(self._admitted))
        yield _counter("rewarden_refused", "Batches refused.", ("source", "reason"), self._refused.items())
        yield _histogram("rewarden_batch_seconds", "From admission to the last verdict.", "source", self._batches)
        yield _counter("rewarden_workers_ended", "Workers that ended, by why.", ("reason",), _single(self._workers))
        yield _counter(
            "rewarden_requests",
            "Requests answered; key is the name of the caller's API key.",
            ("surface", "route", "status", "key"),
            self._requests.items(),
        )
        depths = GaugeMetricFamily("rewarden_lane_depth", "Items that wait, by lane.", labels=("lane",))
        for lane, items in self._depths.items():
            depths.add_metric((lane,), items)
        yield depths
        yield _counter(
            "rewarden_sandbox_runs",
            "Programs that ended in the sandbox; status is as in a run's result.",
            ("language", "status"),
            self._programs.items(),
        )
        yield _histogram("rewarden_sandbox_run_seconds", "Wall time of a program.", "language", self._program_s)
        slots = GaugeMetricFamily("rewarden_sandbox_slots", "The host's slots, by state.", labels=("state",))
        for state, count in _slots(self._sandbox).items():
            slots.add_metric((state,), count)
        yield slots
        yield GaugeMetricFamily(
            "rewarden_sandbox_ready", "Whether programs can run.", float(self._sandbox.get("state") == "ready")
        )
        processes = GaugeMetricFamily("rewarden_lean_processes", "Warm Lean processes, by state.", labels=("state",))
        for state, count in self._lean.items():
            processes.add_metric((state,), count)
        yield processes
        yield from self._of_judges()
        waiting = self._sandbox.get("waiting_here", 0) + self._sandbox.get("host", {}).get("waiting", 0)
        yield GaugeMetricFamily("rewarden_sandbox_waiting", "Jobs that wait, here and in the host.", waiting)
        yield GaugeMetricFamily("rewarden_started_seconds", "When the server started (Unix time).", self._started)

    def _of_judges(self) -> Iterator[Metric]:
        yield _counter(
            "rewarden_judge_questions",
            "Questions to judges: answered, cached, coalesced, failed, exhausted or left.",
            ("judge", "outcome"),
            self._judge_questions.items(),
        )
        yield _counter(
            "rewarden_judge_requests",
            "Requests to judges' servers: ok, or how they failed.",
            ("judge", "outcome"),
            self._judge_attempts.items(),
        )
        yield _counter(
            "rewarden_judge_retries", "Requests sent again after a failure.", ("judge",), _single(self._judge_retries)
        )
        yield _histogram("rewarden_judge_seconds", "From a request to its reply or failure.", "judge", self._judge_s)
        yield _counter(
            "rewarden_judge_tokens",
            "Tokens taken; the most that it can be where the server does not say.",
            ("judge", "kind"),
            self._judge_tokens.items(),
        )
        yield _counter("rewarden_judge_cost_usd", "US dollars, likewise.", ("judge",), _single(self._judge_usd))
        flight = GaugeMetricFamily("rewarden_judge_in_flight", "Requests under way or due.", labels=("judge",))
        waiting = GaugeMetricFamily("rewarden_judge_waiting", "Questions in line for a place.", labels=("judge",))
        breaker = GaugeMetricFamily("rewarden_judge_breaker", "1: the breaker's state.", labels=("judge", "state"))
        left = GaugeMetricFamily("rewarden_judge_budget_left", "What is not spent.", labels=("judge", "of"))
        for name, status in self._judges.items():
            flight.add_metric((name,), status["in_flight"])
            waiting.add_metric((name,), status["waiting"])
            for state in ("closed", "open", "probing"):
                breaker.add_metric((name, state), float(status["breaker"] == state))
            for of, amount in status["left"].items():
                left.add_metric((name, of), amount)
        yield from (flight, waiting, breaker, left)


def _slots(status: Mapping[str, Any]) -> dict[str, int]:
    """Slots by state, of all the host's pools together."""
    found = {"busy": 0, "idle": 0, "starting": 0}
    for pool in status.get("host", {}).get("slots", {}).values():
        found["busy"] += pool["slots"] - pool["idle"]
        found["idle"] += pool["idle"]
        found["starting"] += pool["starting"]
    return found


def _single(counts: Mapping[str, float]) -> Iterator[tuple[tuple[str], float]]:
    return (((label,), count) for label, count in counts.items())


def _counter(
    name: str, text: str, labels: tuple[str, ...], counts: Iterable[tuple[tuple[str, ...], float]]
) -> CounterMetricFamily:
    family = CounterMetricFamily(name, text, labels=labels)
    for values, count in counts:
        family.add_metric(values, count)
    return family


def _histogram(name: str, text: str, label: str, series: dict[str, Histogram]) -> HistogramMetricFamily:
    family = HistogramMetricFamily(name, text, labels=(label,))
    for value, histogram in series.items():
        family.add_metric((value,), histogram.buckets(), histogram.total)
    return family
