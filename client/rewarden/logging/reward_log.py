"""Collects verdicts, closes steps, and sends reports to sinks. Constant memory, and constant cost per verdict."""

from __future__ import annotations

import atexit
import contextvars
import copy
import functools
import logging
import math
import os
import queue
import re
import sys
import threading
import time
import weakref
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from rewarden.after_fork import start_in_child
from rewarden.errors import InvalidRequest
from rewarden.logging.counts import Counts, Known
from rewarden.logging.groups import GroupCounts, Groups
from rewarden.logging.logger import to_logger
from rewarden.logging.names import OTHER, Names
from rewarden.logging.report import ALL, Ending, Report, Sink
from rewarden.logging.rows import Rows, badness
from rewarden.types import Sample, Verdict

_log = logging.getLogger("rewarden.logging")

PREFIX = "rewarden"
UNNAMED = "unnamed"
"""Counts the verdicts without a data source."""

EVERY_S = 30.0
"""Seconds after which verdicts are reported at the latest, unless the caller closes the steps."""

MOST_SOURCES = 32
_unreported: set[RewardLog] = set()
"""The logs with verdicts that no sink has seen: kept until they are reported, even if nobody else holds them."""
_MOST_WAITING = 8
_EXIT_S = 10.0


class RewardLog:
    """Metrics of the verdicts of each step.

    sinks: where reports go (`to_wandb`, `to_jsonl` …); without any, to the logger `rewarden.logging`, at level info.
    every: close a step automatically after this many verdicts, and send it to the sinks from a thread. every_s: the
    same after this many seconds, unless the caller closes the steps: the first call of `step` turns this off, as does
    None. worst: rows per table. prefix: the start of every metric's name; not `reward`, which is a metric of TRL.
    clock: the seconds that `every_s` counts.

    Apart from bad arguments at construction, nothing raises into training: errors are logged as warnings, once per
    place. The last, incomplete step is reported when the process exits, or before the run of a sink ends. Thread-safe.
    Picklable if its sinks are; a copy starts empty in the process that uses it, as does a log after
    a fork.
    """

    def __init__(
        self,
        *sinks: Sink,
        every: int | None = None,
        every_s: float | None = EVERY_S,
        worst: int = 16,
        prefix: str = PREFIX,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        for name, number, least in (("every", every, 1), ("worst", worst, 0)):
            if number is not None and (not isinstance(number, int) or number < least):
                raise InvalidRequest(f"{name}: must be a whole number of at least {least}, not {number!r}")
        if every_s is not None and (not isinstance(every_s, (int, float)) or not every_s > 0):
            raise InvalidRequest(f"every_s: must be a positive number of seconds, or None, not {every_s!r}")
        if not re.fullmatch(r"[A-Za-z_][\w-]*(/[\w-]+)*", prefix):
            raise InvalidRequest(f"prefix: must be letters, digits, _ and -, in parts separated by /, not {prefix!r}")
        for sink in sinks:
            if not callable(getattr(sink, "write", None)) or not callable(getattr(sink, "close", None)):
                raise InvalidRequest(f"sinks: must be made by to_wandb, to_jsonl …, not {sink!r}")
        self.sinks = sinks
        self.every = every
        self.every_s = every_s
        self.worst = worst
        self.prefix = prefix
        self.rebuild: tuple[Callable[[str], RewardLog], tuple[str]] | None = None
        self._clock = clock
        self._start()
        start_in_child(self, RewardLog._start_in_child)

    def __reduce__(self) -> tuple[Any, ...]:
        if self.rebuild is not None:
            return self.rebuild
        made = functools.partial(
            RewardLog, every=self.every, every_s=self.every_s, worst=self.worst, prefix=self.prefix
        )
        return made, self.sinks

    def _start(self) -> None:
        self._pid = os.getpid()
        self._inherited = False
        self._lock = threading.Lock()
        self._writing = threading.RLock()  # a sink may end a run while it writes, and report the rest of it
        self._warned: set[str] = set()
        self._waiting: queue.Queue[Callable[[], None] | None] | None = None
        self._thread: threading.Thread | None = None
        self._next_step = 0
        self._stepped = False
        self._names = Names(MOST_SOURCES, reserved=(ALL, OTHER, "step", "worst", "unscored"))
        self._known: defaultdict[str, Known] = defaultdict(Known)
        self._groups = Groups()
        self._begin()

    def _start_in_child(self) -> None:
        """Resets after a fork: locks, threads and open sinks belong to the parent."""
        self._start()
        self.sinks = tuple(_anew(sink) for sink in self.sinks)
        self._inherited = True

    def _begin(self) -> None:
        """A new step."""
        self._since: float | None = None
        self._sources: defaultdict[str, Counts] = defaultdict(Counts)
        self._count = 0
        self._retried = 0
        self._rows = Rows(self.worst)
        self._unscored = Rows(self.worst)

    def add(self, verdicts: Sequence[Verdict], samples: Sequence[Sample] | None = None, *, retried: int = 0) -> None:
        """Counts verdicts. `samples`, in the same order, provide the responses for tables and the sizes of groups;
        without them, a group is whatever arrives in one call. `retried`: how many of them were retried.
        """
        try:
            self._inherited = False
            if samples is not None and len(samples) != len(verdicts):
                self._warn("samples", f"{len(samples)} samples for {len(verdicts)} verdicts: the samples are ignored")
                samples = None
            for sink in self.sinks:
                if isinstance(sink, Ending):
                    sink.before_end(self.report_rest)
            report = None
            with self._lock:
                if self._since is None and verdicts:
                    self._since = self._clock()
                    if self.every is not None or self.every_s is not None:
                        _keep(self)
                for place, verdict in enumerate(verdicts):
                    try:
                        self._add(verdict, None if samples is None else samples[place])
                    except Exception as error:  # noqa: BLE001 - an odd one must not cost the others
                        self._warn("verdict", f"a verdict could not be logged completely: {error!r}")
                self._groups.end_call()
                self._rows.settle()
                self._unscored.settle()
                self._retried += retried
                if (self.every is not None and self._count >= self.every) or self._due():
                    report = self._close(None)
                elif self._timed and self._thread is None:
                    self._begin_writing()
            if report is not None:
                self._hand_over(report)
        except Exception as error:  # noqa: BLE001 - logging must not end a training run
            self._warn("add", f"verdicts could not be logged: {error!r}")

    def step(self, step: int | None = None) -> Report:
        """Closes a step, sends its report to the sinks, and returns it. `step` is the trainer's step number, if known;
        otherwise reports are numbered from 0.
        """
        self._inherited = False
        with self._lock:
            self._stepped = True
            report = self._close(step)
        for sink in self.sinks:
            self._write(report, sink)
        return report

    def report_rest(self) -> None:
        """Reports the verdicts of the incomplete step, and waits until the sinks have every report."""
        if self._inherited:
            return
        with self._lock:
            report = self._close(None) if self._count else None
            waiting = self._waiting if threading.current_thread() is not self._thread else None
        if waiting is not None:
            written = threading.Event()
            try:
                waiting.put(written.set, timeout=_EXIT_S)
                written.wait(_EXIT_S)
            except queue.Full:
                self._warn("close", "the last reports could not be written in time")
        if report is not None:
            self._write_own(report)

    def close(self) -> None:
        """Reports the rest, and closes the sinks. The log can be used again."""
        if self._inherited:
            return
        self.report_rest()
        with self._lock:
            waiting, thread = self._waiting, self._thread
            self._waiting = self._thread = None
        if waiting is not None and thread is not None and thread is not threading.current_thread():
            with suppress(queue.Full):
                waiting.put(None, timeout=_EXIT_S)
                thread.join(_EXIT_S)
        for sink in self.sinks:
            try:
                sink.close()
            except Exception as error:  # noqa: BLE001 - as in `add`
                self._warn(f"close {type(sink).__name__}", f"{type(sink).__name__}: closing failed: {error!r}")

    def _add(self, verdict: Verdict, sample: Sample | None) -> None:
        if verdict.score is not None and not math.isfinite(verdict.score):
            # What is not a number is not a score, and one of them would hide a whole step's mean.
            verdict = replace(verdict, status="error", score=None, passed=None, fault="verifier", reason="not_finite")
        # The verdict of a row that was refused may know less than the row itself.
        given = verdict.data_source or (sample.data_source if sample is not None else None)
        source = self._names(given or UNNAMED)
        self._sources[source].add(verdict, self._known[source])
        self._count += 1
        if verdict.group is not None:
            self._groups.add(source, verdict.group, verdict, None if sample is None else sample.group_size)
        if verdict.score is None or verdict.status != "scored":
            self._unscored.add(0.0, verdict, sample)
        elif verdict.score < verdict.range[1]:
            self._rows.add(badness(verdict, verdict.score), verdict, sample)

    def _close(self, step: int | None) -> Report:
        """The report of the step that ends; the next one has begun."""
        try:
            number = self._next_step if step is None else int(step)
        except (TypeError, ValueError, OverflowError):
            self._warn("step", f"{step!r} is not a step number; reports are numbered instead")
            number, step = self._next_step, None
        metrics: dict[str, float] = {f"{self.prefix}/step": float(number)}
        whole, whole_groups = Counts(), GroupCounts()
        groups = self._groups.close()
        for source in sorted({*self._sources, *groups}):
            counts, of_source = self._sources.get(source, Counts()), groups.get(source, GroupCounts())
            whole.merge(counts, self._known[ALL])
            whole_groups.merge(of_source)
            for name, value in (*counts.metrics(self._known[source].reasons.known()), *of_source.metrics()):
                metrics[f"{self.prefix}/{source}/{name}"] = value
        for name, value in (*whole.metrics(self._known[ALL].reasons.known()), *whole_groups.metrics()):
            metrics[f"{self.prefix}/{ALL}/{name}"] = value
        if whole.count:
            metrics[f"{self.prefix}/{ALL}/retried"] = self._retried / whole.count
        report = Report(
            prefix=self.prefix,
            step=number,
            named=step is not None,
            metrics={name: value for name, value in metrics.items() if math.isfinite(value)},  # sums may overflow
            worst=self._rows.take(),
            unscored=self._unscored.take(),
        )
        self._next_step = number + 1
        self._begin()
        _unreported.discard(self)
        return report

    @property
    def _timed(self) -> bool:
        return self.every_s is not None and not self._stepped

    def _due(self) -> bool:
        return self._timed and self._since is not None and self._clock() - self._since >= (self.every_s or 0.0)

    def _left_s(self) -> float | None:
        """Returns the seconds until the step is due; None: it never is."""
        if not self._timed or self.every_s is None:
            return None
        return self.every_s if self._since is None else max(0.0, self._since + self.every_s - self._clock())

    def _close_due(self) -> None:
        """Closes and writes the step if it is due. The writer thread calls this."""
        with self._lock:
            report = self._close(None) if self._due() else None
        if report is not None:
            self._write_own(report)

    def _hand_over(self, report: Report) -> None:
        """Passes a report to the writer thread. If that is too slow, reports are dropped, because training comes first.
        The caller's context is passed on, because it contains trackio's current run.
        """
        with self._lock:
            waiting = self._waiting or self._begin_writing()
        try:
            waiting.put_nowait(functools.partial(contextvars.copy_context().run, self._write_own, report))
        except queue.Full:
            self._warn("slow", "the sinks are too slow; some reports are dropped")

    def _begin_writing(self) -> queue.Queue[Callable[[], None] | None]:
        """Starts the writer thread, which ends with this log. The caller has the lock."""
        waiting: queue.Queue[Callable[[], None] | None] = queue.Queue(_MOST_WAITING)
        self._waiting = waiting
        self._thread = threading.Thread(
            target=_work, args=(waiting, weakref.ref(self)), name="rewarden-logging", daemon=True
        )
        self._thread.start()
        weakref.finalize(self, _end, waiting, self._pid).atexit = False
        return waiting

    def _write_own(self, report: Report) -> None:
        """Writes a report that nobody gets but the sinks."""
        for sink in self.sinks or (to_logger(),):
            self._write(report, sink)

    def _write(self, report: Report, sink: Sink) -> None:
        with self._writing:
            try:
                sink.write(report)
            except Exception as error:  # noqa: BLE001 - as in `add`
                kind = type(sink).__name__
                self._warn(kind, f"{kind}: a report could not be written; training continues: {error!r}")

    def _warn(self, place: str, message: str) -> None:
        if place not in self._warned:
            self._warned.add(place)
            _log.warning("%s (this warning is logged once)", message)


def _anew(sink: Sink) -> Sink:
    try:
        return copy.copy(sink)
    except TypeError:  # made for a run that was given: it alone knows whether that run survives a fork
        return sink


def _work(waiting: queue.Queue[Callable[[], None] | None], log: weakref.ref[RewardLog]) -> None:
    """Writes what is handed over, and what is due, until None comes or the log is gone."""
    while True:
        found = log()
        left_s = None if found is None else found._left_s()
        ended = found is None
        del found  # the log must not live for this thread alone
        try:
            write = waiting.get(block=not ended, timeout=left_s)
        except queue.Empty:
            if ended:
                return
            if (due := log()) is not None:
                due._close_due()
            del due
            continue
        if write is None:
            return
        write()
        del write


def _end(waiting: queue.Queue[Callable[[], None] | None], pid: int) -> None:
    if os.getpid() == pid:
        with suppress(queue.Full):  # then the thread finds that the log is gone
            waiting.put_nowait(None)


_at_exit_in: set[int] = set()


def _keep(log: RewardLog) -> None:
    """Keeps a log until its verdicts are reported; at the latest, that is when the process exits."""
    _unreported.add(log)
    pid = os.getpid()
    if pid not in _at_exit_in:
        _at_exit_in.add(pid)
        if "multiprocessing.process" in sys.modules:
            from multiprocessing import parent_process
            from multiprocessing.util import Finalize

            if parent_process() is not None:  # processes of multiprocessing, pools too, end without atexit
                Finalize(None, _close_at_exit, exitpriority=10)


@atexit.register
def _close_at_exit() -> None:
    for log in list(_unreported):
        log.close()
