"""Prometheus metrics. Counting is a dictionary's increment; families are made when `/metrics` is asked for.

The unscored share by data source is

    sum by (data_source) (rate(rewarden_verdicts_total{status!="scored"}[5m]))
      / sum by (data_source) (rate(rewarden_verdicts_total[5m]))

Labels that callers choose keep their first values, and families of several such labels their first tuples; later ones
count as `other`. A recipe that is in a request is `recipe:inline`, and the reason of its scores `custom`: it may have
any name, `math` too. What is said of rewards is in `rewards.py`.
"""

from __future__ import annotations

import resource
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from prometheus_client import CollectorRegistry, PlatformCollector, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from rewarden.types import Group, Verdict
from rewarden_server.engine.observer import Observer
from rewarden_server.observe.box_series import box_series
from rewarden_server.observe.rewards import Rewards
from rewarden_server.observe.sandbox_series import sandbox_series
from rewarden_server.observe.series import Distinct, Histogram, Tuples, counter, gauge, histogram
from rewarden_verifiers.chat import Usage

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

QUEUE_BUCKETS = (0.001, 0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 60.0, 300.0)
RUN_BUCKETS = (0.0001, 0.0005, 0.002, 0.01, 0.05, 0.2, 1.0, 5.0, 30.0, 120.0)
PROGRAM_BUCKETS = (0.01, 0.05, 0.2, 1.0, 5.0, 30.0, 120.0, 600.0)
MODEL_BUCKETS = (0.005, 0.02, 0.05, 0.2, 0.5, 2.0, 10.0, 60.0, 300.0)
JUDGE_BUCKETS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
REQUEST_BUCKETS = (0.002, 0.01, 0.05, 0.2, 1.0, 5.0, 30.0, 120.0, 600.0)
BATCH_BUCKETS = (0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 60.0, 300.0, 1200.0)


INLINE = "recipe:inline"
"""The verifier label of recipes that came with a request. No verifier can have this name."""

CUSTOM = "custom"
"""The reason label of such a recipe's scores."""


class Metrics(Observer, Collector):
    """Metrics of the engine's work and the surfaces' replies. Used on the loop only.

    verifiers: registered names, which always keep their own label. tuples: the most label tuples of a family.
    """

    def __init__(self, *, sources: int = 200, reasons: int = 200, verifiers: int = 200, tuples: int = 5000) -> None:
        self._source_label = Distinct(sources)
        self._reason_label = Distinct(reasons)
        self._verifier_label = Distinct(verifiers)
        self._verdicts = Tuples(tuples, others=(0, 4))
        self._queue: dict[str, Histogram] = defaultdict(lambda: Histogram(QUEUE_BUCKETS))
        self._run: dict[str, Histogram] = defaultdict(lambda: Histogram(RUN_BUCKETS))
        self._rewards = Rewards()
        self._cached: dict[str, int] = defaultdict(int)
        self._flags = Tuples(tuples, others=(0, 2))
        self._admitted: dict[str, int] = defaultdict(int)
        self._refused: dict[tuple[str, str], int] = defaultdict(int)
        self._batches: dict[str, Histogram] = defaultdict(lambda: Histogram(BATCH_BUCKETS))
        self._workers: dict[str, int] = defaultdict(int)
        self._depths: dict[str, int] = {}
        self._language_label = Distinct(100)
        self._programs: dict[tuple[str, str], int] = defaultdict(int)
        self._program_s: dict[str, Histogram] = defaultdict(lambda: Histogram(PROGRAM_BUCKETS))
        self._sandbox: Mapping[str, Any] = {}
        self._boxes: Mapping[str, Any] = {}
        self._lean = {"busy": 0, "idle": 0}
        self._judge_questions: dict[tuple[str, str], int] = defaultdict(int)
        self._judge_attempts: dict[tuple[str, str], int] = defaultdict(int)
        self._judge_retries: dict[str, int] = defaultdict(int)
        self._cache_hits: dict[str, int] = defaultdict(int)
        self._cache_misses = 0
        self._cache_failures: dict[str, int] = defaultdict(int)
        self._judge_s: dict[str, Histogram] = defaultdict(lambda: Histogram(JUDGE_BUCKETS))
        self._judge_tokens: dict[tuple[str, str], int] = defaultdict(int)
        self._judge_usd: dict[str, float] = defaultdict(float)
        self._judges: Mapping[str, Any] = {}
        self._model_tasks: dict[tuple[str, str, str], int] = defaultdict(int)
        self._model_s: dict[str, Histogram] = defaultdict(lambda: Histogram(MODEL_BUCKETS))
        self._model_tokens: dict[tuple[str, str], int] = defaultdict(int)
        self._models: Mapping[str, Any] = {}
        self._requests: dict[tuple[str, str, str, str], int] = defaultdict(int)
        self._request_s: dict[tuple[str, str], Histogram] = defaultdict(lambda: Histogram(REQUEST_BUCKETS))
        self._engine: Mapping[str, Any] = {}
        self._started = time.time()
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)

    def registered(self, verifiers: Iterable[str]) -> None:
        """Keeps these verifiers apart by name, however many others come first."""
        self._verifier_label.reserve(verifiers)

    # --- what the engine tells ---

    def admitted(self, source: str, samples: int) -> None:
        """Counts admitted samples by surface."""
        self._admitted[source] += samples

    def refused(self, source: str, reason: str) -> None:
        """Counts refused batches by surface and error code."""
        self._refused[source, self._reason_label[reason]] += 1

    def verdict(self, verdict: Verdict, inline: bool = False) -> None:
        """Counts a verdict by verifier, status, reason, fault and data source; its queue and run time by verifier."""
        name = self._name(verdict, inline)
        source = self._source_label[verdict.data_source]
        # A recipe chooses its own words only for scores.
        own = inline and verdict.score is not None and verdict.reason is not None
        reason = CUSTOM if own else self._reason_label[verdict.reason]
        self._verdicts.add(name, verdict.status, reason, verdict.fault or "", source)
        if verdict.score is not None:
            self._rewards.add(name, source, verdict)
        if verdict.cached:
            self._cached[name] += 1
        else:
            self._queue[name].add(verdict.queue_s)
            self._run[name].add(verdict.run_s)
        for flag in verdict.flags:
            self._flags.add(name, self._reason_label[flag.partition(":")[0]], source)

    def group(self, group: Group, members: Sequence[Verdict], inline: bool = False) -> None:
        """Counts a group by how its members' rewards differ, under the labels of the first scored member."""
        first = next((verdict for verdict in members if verdict.score is not None), members[0])
        name = self._name(first, inline)
        low, high = first.range
        self._rewards.group(name, self._source_label[first.data_source], group, high - low)

    def batch(self, source: str, seconds: float, samples: int) -> None:
        """Counts a batch or stream that ended, and its duration."""
        self._batches[source].add(seconds)

    def worker_ended(self, reason: str) -> None:
        """Counts a worker that ended, by the reason."""
        self._workers[reason] += 1

    def program_ended(self, language: str, status: str, seconds: float) -> None:
        """Counts a run in the sandbox by language and status, and its wall time by language."""
        name = self._language_label[language]
        self._programs[name, self._reason_label[status]] += 1
        self._program_s[name].add(seconds)

    def depth(self, lane: str, items: int) -> None:
        """Records how many items wait in a lane."""
        self._depths[lane] = items

    def lean(self, alive: int, idle: int, waiting: int) -> None:
        """Records the number of Lean processes, and of texts that wait for one."""
        self._lean = {"busy": alive - idle, "idle": idle}
        self._depths["lean"] = waiting

    def judge_asked(self, judge: str, outcome: str) -> None:
        """Counts a question to a judge by its outcome."""
        self._judge_questions[judge, outcome] += 1

    def judge_attempted(self, judge: str, outcome: str, seconds: float) -> None:
        """Counts a request to a judge's server by its outcome, and its duration."""
        self._judge_attempts[judge, outcome] += 1
        self._judge_s[judge].add(seconds)

    def cache_hit(self, place: str) -> None:
        """Counts work that was found in a cache."""
        self._cache_hits[place] += 1

    def cache_missed(self) -> None:
        """Counts work that was found in no cache."""
        self._cache_misses += 1

    def cache_failed(self, place: str) -> None:
        """Counts a part of the cache that did not answer."""
        self._cache_failures[place] += 1

    def judge_retried(self, judge: str) -> None:
        """Counts a request that is sent again."""
        self._judge_retries[judge] += 1

    def judge_spent(self, judge: str, usage: Usage) -> None:
        """Counts tokens and dollars. For a request whose end is unknown, the most that it can have used."""
        self._judge_tokens[judge, "prompt"] += usage.prompt_tokens
        self._judge_tokens[judge, "completion"] += usage.completion_tokens
        self._judge_usd[judge] += usage.cost_usd or 0.0

    def model_asked(self, model: str, kind: str, outcome: str) -> None:
        """Counts a task for a model by its outcome."""
        self._model_tasks[model, kind, outcome] += 1

    def model_worked(self, model: str, kind: str, seconds: float, tokens: int, written: int) -> None:
        """Counts the tokens of a task that a model completed, and its duration."""
        self._model_s[model].add(seconds)
        self._model_tokens[model, "read"] += tokens
        self._model_tokens[model, "written"] += written

    # --- what the surfaces tell ---

    def request(self, surface: str, route: str, status: str, key: str, seconds: float) -> None:
        """Counts a request by surface, route or method, status and the name of its key, and its duration."""
        self._requests[surface, route, status, key] += 1
        self._request_s[surface, route].add(seconds)

    def engine(self, info: Mapping[str, Any]) -> None:
        """Records the engine's state, as `Engine.info` returns it."""
        self._engine = info

    def sandbox(self, status: Mapping[str, Any]) -> None:
        """Records the sandbox's state, as its lane reports it."""
        self._sandbox = status

    def boxes(self, figures: Mapping[str, Any]) -> None:
        """Records the number of boxes, open and past, as `Boxes.figures` returns it."""
        self._boxes = figures

    def judges(self, status: Mapping[str, Any]) -> None:
        """Records the judges' state, as their lane reports it."""
        self._judges = status

    def models(self, status: Mapping[str, Any]) -> None:
        """Records the models' state, as their lane reports it."""
        self._models = status

    # --- what Prometheus reads ---

    def page(self) -> bytes:
        """Returns the page of `/metrics`."""
        return generate_latest(self._registry)

    def collect(self) -> Iterable[Metric]:
        """Yields the families, built from the counts."""
        yield counter(
            "rewarden_verdicts",
            "Verdicts.",
            ("verifier", "status", "reason", "fault", "data_source"),
            self._verdicts.items(),
        )
        yield counter("rewarden_verdicts_cached", "Verdicts served from the cache.", ("verifier",), self._cached)
        yield counter("rewarden_flags", "Flags on verdicts.", ("verifier", "flag", "data_source"), self._flags.items())
        yield from self._rewards.families()
        yield histogram(
            "rewarden_queue_seconds", "Waiting time before a verdict's work started.", ("verifier",), self._queue
        )
        yield histogram("rewarden_run_seconds", "Time spent on a verdict.", ("verifier",), self._run)
        yield counter("rewarden_admitted_samples", "Samples admitted.", ("source",), self._admitted)
        yield counter("rewarden_refused", "Batches rejected.", ("source", "reason"), self._refused.items())
        yield histogram(
            "rewarden_batch_seconds", "Time from admission to the last verdict.", ("source",), self._batches
        )
        yield counter("rewarden_workers_ended", "Workers that ended, by reason.", ("reason",), self._workers)
        yield counter(
            "rewarden_requests",
            "Requests served; key is the name of the caller's API key.",
            ("surface", "route", "status", "key"),
            self._requests.items(),
        )
        yield histogram(
            "rewarden_request_seconds",
            "Time from a request's first byte to the response's last.",
            ("surface", "route"),
            self._request_s.items(),
        )
        yield from self._of_engine()
        yield gauge("rewarden_lane_depth", "Waiting items, by lane.", ("lane",), self._depths)
        yield counter(
            "rewarden_sandbox_runs",
            "Programs that ended in the sandbox; status is as in a run's result.",
            ("language", "status"),
            self._programs.items(),
        )
        yield histogram("rewarden_sandbox_run_seconds", "Wall time of a program.", ("language",), self._program_s)
        yield from sandbox_series(self._sandbox)
        yield from box_series(self._boxes)
        if self._sandbox:
            yield gauge(
                "rewarden_sandbox_state",
                "State of the sandbox (1 for the current one): off, idle (not started), starting, ready or missing.",
                ("state",),
                {str(self._sandbox.get("state")): 1.0},
            )
        yield gauge("rewarden_lean_processes", "Warm Lean processes, by state.", ("state",), self._lean)
        yield from self._of_cache()
        yield from self._of_judges()
        yield from self._of_rechecks()
        yield from self._of_models()
        yield GaugeMetricFamily("rewarden_started_seconds", "When the server started (Unix time).", self._started)

    def _name(self, verdict: Verdict, inline: bool) -> str:
        ref = verdict.verifier
        return INLINE if inline and ref is not None else self._verifier_label[ref.name if ref is not None else None]

    def _of_engine(self) -> Iterator[Metric]:
        yield gauge(
            "rewarden_build_info", "The running version (always 1).", ("version",), {version("rewarden-server"): 1.0}
        )
        info = self._engine
        if not info:
            return
        limits = info["limits"]
        yield GaugeMetricFamily("rewarden_ready", "Whether the server accepts work.", float(info["ready"]))
        yield GaugeMetricFamily("rewarden_samples_under_way", "Samples in progress.", info["samples"])
        yield GaugeMetricFamily("rewarden_samples_limit", "engine.max_samples.", limits["max_samples"])
        yield GaugeMetricFamily("rewarden_bytes_under_way", "Bytes of these samples.", info["bytes"])
        yield GaugeMetricFamily("rewarden_bytes_limit", "engine.max_bytes.", limits["max_bytes"])
        yield GaugeMetricFamily("rewarden_cache_entries", "Outcomes kept in memory.", info["cache_entries"])
        lanes = info["lanes"].items()
        yield gauge(
            "rewarden_workers",
            "Worker processes, by lane.",
            ("lane",),
            {lane: len(told["pids"]) for lane, told in lanes},
        )
        yield gauge(
            "rewarden_worker_memory_bytes",
            "Memory of a lane's workers, without what they share with the process they were forked from.",
            ("lane",),
            {lane: float(sum(map(_own_memory, told["pids"]))) for lane, told in lanes},
        )

    def _of_cache(self) -> Iterator[Metric]:
        yield counter(
            "rewarden_cache_hits", "Cache hits, by place: memory, file or redis.", ("place",), self._cache_hits
        )
        yield CounterMetricFamily("rewarden_cache_misses", "Cache misses.", self._cache_misses)
        yield counter(
            "rewarden_cache_failures",
            "Failures of a place of the cache (an error or no answer in time).",
            ("place",),
            self._cache_failures,
        )
        shared = self._engine.get("cache_shared")
        if shared is not None:
            yield GaugeMetricFamily("rewarden_cache_redis_ready", "Whether Redis is in use.", float(shared == "ready"))

    def _of_judges(self) -> Iterator[Metric]:
        yield counter(
            "rewarden_judge_questions",
            "Questions to judges: answered, cached, coalesced, failed, exhausted or left.",
            ("judge", "outcome"),
            self._judge_questions.items(),
        )
        yield counter(
            "rewarden_judge_requests",
            "Requests to judges' servers: ok, or how they failed.",
            ("judge", "outcome"),
            self._judge_attempts.items(),
        )
        yield counter("rewarden_judge_retries", "Requests retried after a failure.", ("judge",), self._judge_retries)
        yield histogram(
            "rewarden_judge_seconds", "Time from a request to its reply or failure.", ("judge",), self._judge_s
        )
        yield counter(
            "rewarden_judge_tokens",
            "Tokens used (an upper bound if the server does not report them).",
            ("judge", "kind"),
            self._judge_tokens.items(),
        )
        yield counter(
            "rewarden_judge_cost_usd",
            "Cost in US dollars (an upper bound if the server does not report tokens).",
            ("judge",),
            self._judge_usd,
        )
        flight = GaugeMetricFamily("rewarden_judge_in_flight", "Requests in progress or due.", labels=("judge",))
        waiting = GaugeMetricFamily(
            "rewarden_judge_waiting",
            "Questions that wait for a free place, or for a judge that is down.",
            labels=("judge",),
        )
        breaker = GaugeMetricFamily(
            "rewarden_judge_breaker", "State of the breaker (1 for the current one).", labels=("judge", "state")
        )
        left = GaugeMetricFamily("rewarden_judge_budget_left", "Budget left.", labels=("judge", "of"))
        budget = GaugeMetricFamily("rewarden_judge_budget", "Budget in total.", labels=("judge", "of"))
        yield from self._of_addresses()
        for name, status in self._judges.items():
            flight.add_metric((name,), status["in_flight"])
            waiting.add_metric((name,), status["waiting"])
            for state in ("closed", "open", "probing"):
                breaker.add_metric((name, state), float(status["breaker"] == state))
            for of, amount in status["left"].items():
                left.add_metric((name, of), amount)
            for of, amount in status["budget"].items():
                budget.add_metric((name, of), amount)
        yield from (flight, waiting, breaker, left, budget)

    def _of_addresses(self) -> Iterator[Metric]:
        place = ("judge", "address")
        hedges = CounterMetricFamily(
            "rewarden_judge_hedges", "Requests sent to a second address, as the first took long.", labels=("judge",)
        )
        sent = CounterMetricFamily("rewarden_judge_address_requests", "Requests to one address.", labels=place)
        failed = CounterMetricFamily("rewarden_judge_address_failures", "Requests that failed there.", labels=place)
        flight = GaugeMetricFamily("rewarden_judge_address_in_flight", "Requests in progress there.", labels=place)
        well = GaugeMetricFamily("rewarden_judge_address_well", "1: in use; 0: left for a while.", labels=place)
        for name, status in self._judges.items():
            hedges.add_metric((name,), status["hedges"])
            for one in status["addresses"]:
                at = (name, str(one["number"]))
                sent.add_metric(at, one["requests"])
                failed.add_metric(at, one["failures"])
                flight.add_metric(at, one["in_flight"])
                well.add_metric(at, float(one["state"] == "well"))
        yield from (hedges, sent, failed, flight, well)

    def _of_rechecks(self) -> Iterator[Metric]:
        pair = ("rule", "then")
        checked = CounterMetricFamily(
            "rewarden_cascade_rechecks",
            "Verdicts of a cascade's rule that the other verifier checked: agreed, disagreed, unscored or given_up.",
            labels=(*pair, "outcome"),
        )
        drifted = GaugeMetricFamily(
            "rewarden_cascade_drifted", "1: the latest rechecks agree less than they should.", labels=pair
        )
        for row in self._engine.get("rechecks", ()):
            of = (row["rule"], row["then"])
            for outcome in ("agreed", "disagreed", "unscored", "given_up"):
                checked.add_metric((*of, outcome), row[outcome])
            drifted.add_metric(of, float(row["drifted"]))
        yield from (checked, drifted)

    def _of_models(self) -> Iterator[Metric]:
        yield counter(
            "rewarden_model_tasks",
            "Tasks for models: answered, cached, coalesced, refused, failed or left.",
            ("model", "kind", "outcome"),
            self._model_tasks.items(),
        )
        yield histogram(
            "rewarden_model_seconds", "Time from a task to its result, including waiting.", ("model",), self._model_s
        )
        yield counter("rewarden_model_tokens", "Tokens read and written.", ("model", "of"), self._model_tokens.items())
        flight = GaugeMetricFamily("rewarden_model_in_flight", "Tasks in progress or waiting.", labels=("model",))
        states = GaugeMetricFamily(
            "rewarden_model_state", "State of the model (1 for the current one).", labels=("model", "state")
        )
        swaps = CounterMetricFamily("rewarden_model_swaps", "Replacements of the weights.", labels=("model",))
        for name, status in self._models.items():
            flight.add_metric((name,), status.get("in_flight", 0))
            states.add_metric((name, str(status.get("state", ""))), 1.0)
            swaps.add_metric((name,), status["swaps"])
        yield from (flight, states, swaps)


def _own_memory(pid: int) -> int:
    """Returns the bytes of a process that are in memory and not shared with others; 0 if it has ended."""
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            resident, shared = file.read().split()[1:3]
    except OSError:
        return 0
    return (int(resident) - int(shared)) * resource.getpagesize()
