"""Verdicts for trainers: retries transient errors, and never turns an unscored sample into a number unless told to."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import random
import time
import weakref
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from rewarden.adapters.preflight import checked
from rewarden.adapters.settings import Settings
from rewarden.after_fork import start_in_child
from rewarden.client import AsyncClient
from rewarden.early_answers import EarlyAnswers, Unread
from rewarden.errors import (
    DeadlineExceeded,
    InvalidParams,
    InvalidRequest,
    Overloaded,
    RequestError,
    RewardenError,
    Unavailable,
    UnknownVerifier,
)
from rewarden.loop_thread import LoopThread
from rewarden.retry import NO_RETRY, warn
from rewarden.sample_stream import SampleStream
from rewarden.transports.targets import proxied
from rewarden.transports.thread_stream import ThreadStream
from rewarden.types import BadSample, Batch, Progress, Sample, Verdict

T = TypeVar("T")

_log = logging.getLogger("rewarden")
_early = EarlyAnswers()
"""Of all scorers of this process: whoever trains and evaluates by one use is told once."""
_ADVICE_S = 30.0
"""Seconds that advice may take: training is not held up for it."""

_FIRST_S, _MOST_S = 0.2, 10.0

FIELDS = (
    *("index", "id", "status", "score", "range", "passed", "reason", "fault", "components", "feedback", "extracted"),
    *("flags", "exclude", "exclude_reason", "group", "data_source", "verifier", "retryable"),
)
"""The fields of a verdict that adapters request: all but evidence, steps and times."""
_ALONE = "group_deadline"
"""The reason of a verdict whose siblings did not come in time."""
_MISCONFIGURED = frozenset({UnknownVerifier.reason, InvalidParams.reason})
"""The reasons of verdicts that are a mistake in the adapter's settings, not in a sample."""


class NoScore(RewardenError):
    """A sample has no score, the trainer cannot skip it, and `unscored` sets no number for it."""

    def __init__(self, verdict: Verdict) -> None:
        why = verdict.reason or verdict.status
        told = f": {verdict.feedback}" if verdict.feedback else ""
        super().__init__(
            f"sample {verdict.id or verdict.index} of {verdict.data_source or 'an unnamed data source'} has no score "
            f"({why}, fault {verdict.fault}){told}. Fix the cause, or set a number for such samples: unscored=NUMBER, "
            "or REWARDEN_UNSCORED in the environment",
            reason=verdict.reason,
            fault=verdict.fault,
        )
        self.verdict = verdict

    def __reduce__(self) -> tuple[type[NoScore], tuple[Verdict]]:
        return NoScore, (self.verdict,)


class Scorer:
    """Gets verdicts for one adapter. Picklable; it opens connections in the process that uses it, also after a fork."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._start()
        start_in_child(self, Scorer._start)

    def __reduce__(self) -> tuple[type[Scorer], tuple[Settings]]:
        return type(self), (self.settings,)

    def _start(self) -> None:
        self._thread = LoopThread("rewarden-adapter")
        self._thread_streams: dict[Progress | None, ThreadStream] = {}
        self._open: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Connection]
        self._open = weakref.WeakKeyDictionary()

    def score(self, samples: Sequence[Sample | BadSample], *, progress: Progress | None = None) -> list[Verdict]:
        """Like `verdicts`, for blocking callers. Also works inside a running event loop, which it blocks.

        Single samples share a stream, as those of `verdict` do: a trainer that calls from many threads gets the rate
        of a batch.
        """
        if (
            len(samples) == 1
            and isinstance(one := samples[0], Sample)
            and one.group is None
            and not proxied(self.settings.target)
        ):
            verdict = self._alone(one, progress)
            return [verdict if verdict.index == 0 else replace(verdict, index=0)]
        return self.run(self.verdicts(samples, progress=progress))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Returns the result of a coroutine that requests verdicts, for blocking callers."""
        return self._thread.run(work)

    def _alone(self, sample: Sample, progress: Progress | None) -> Verdict:
        """Like `verdict`, for blocking callers. The first attempt needs no event loop where threads can share a stream
        without one."""
        if not self.settings.target.startswith("http://"):
            return self.run(self.verdict(sample, progress=progress))
        routed = self._routed(sample)
        first: Verdict | RequestError | None = None
        if isinstance(routed, Sample):
            try:
                first = self._thread_stream(progress).verify(routed)
            except RequestError as error:
                first = error
        if isinstance(first, Verdict) and not _may_pass(first):
            _refuse_misconfigured(first)
            if (unread := self._unread(routed, first)) is not None:
                self.run(self._advise(unread))
            self._note(first, sample, retried=False)
            return first
        return self.run(self._judged(sample, routed, progress, first))

    def _thread_stream(self, progress: Progress | None) -> ThreadStream:
        found = self._thread_streams.get(progress)
        if found is None:
            for passed in [known for known, stream in list(self._thread_streams.items()) if not stream.open]:
                self._thread_streams.pop(passed, None)
            header = Batch(samples=(), progress=progress, **self._envelope)
            made = ThreadStream(
                self.settings.target, header, api_key=self._api_key(), timeout_s=self.settings.timeout_s
            )
            found = self._thread_streams.setdefault(progress, made)
        return found

    async def verdicts(
        self, samples: Sequence[Sample | BadSample], *, progress: Progress | None = None
    ) -> list[Verdict]:
        """Returns the verdicts of samples, in order, with one request. `progress` is for scheduled parameters.

        Transient errors are retried for `patience_s`. After that a verdict stays unscored, but a server that cannot be
        reached raises its error, which is not the error of a single sample. Raises RequestError; InvalidRequest, at
        once, if the verifier is unknown or rejects its parameters.
        """
        routed = [self._routed(sample) for sample in samples]
        verdicts, retried = await self._requested(routed, progress, Patience(self.settings.patience_s))
        for row, verdict in zip(routed, verdicts, strict=True):
            if (unread := self._unread(row, verdict)) is not None:
                await self._advise(unread)
        if self.settings.log is not None:
            shown = [row if isinstance(row, Sample) else Sample(response="", id=row.id) for row in samples]
            self.settings.log.add(verdicts, shown, retried=retried)
        return verdicts

    async def _requested(
        self, routed: Sequence[Sample | BadSample], progress: Progress | None, patience: Patience
    ) -> tuple[list[Verdict], int]:
        """Returns the verdicts of samples, asked for in one request, and how many samples were retried."""
        found: list[Verdict | None] = [
            _refused(row, place) if isinstance(row, BadSample) else None for place, row in enumerate(routed)
        ]
        left = {place: row for place, row in enumerate(routed) if isinstance(row, Sample)}
        client = self._connection().client
        retried: set[int] = set()
        while left:
            if patience.waited:
                retried.update(left)
            try:
                result = await client.verify(
                    list(left.values()),
                    self.settings.use,
                    progress=progress,
                    expect=self.settings.expect or None,
                    fields=self._fields,
                )
            except (Overloaded, Unavailable, DeadlineExceeded) as error:
                await patience.wait_or_raise(error)
                continue
            for place, verdict in zip(left, result.verdicts, strict=True):
                _refuse_misconfigured(verdict)
                found[place] = verdict if verdict.index == place else replace(verdict, index=place)
            again = [known for place in left if (known := found[place]) is not None and _may_pass(known)]
            groups = {verdict.group for verdict in again if verdict.group is not None}
            places = {verdict.index for verdict in again}
            # A group is judged as a whole: one member again is all of them again.
            left = {place: row for place, row in left.items() if place in places or row.group in groups}
            if again and not await patience.wait(f"{len(again)} samples have no score yet ({again[0].reason})"):
                break
        return [verdict for verdict in found if verdict is not None], len(retried)

    @property
    def _fields(self) -> tuple[str, ...]:
        """Returns the fields to request of each verdict: those that adapters use, and those that a log counts. Others
        would be sent in vain."""
        return FIELDS if self.settings.log is None else (*FIELDS, "cached", "queue_s", "run_s")

    async def verdict(self, sample: Sample, *, progress: Progress | None = None) -> Verdict:
        """Returns the verdict of one sample as soon as it is ready: concurrent calls of the same progress share a
        stream, and never wait for each other. Otherwise as `verdicts`.
        """
        return await self._judged(sample, self._routed(sample), progress, None)

    async def _judged(
        self,
        sample: Sample,
        routed: Sample | BadSample,
        progress: Progress | None,
        first: Verdict | RequestError | None,
    ) -> Verdict:
        """`verdict`, of a sample whose first attempt may have been made."""
        patience = Patience(self.settings.patience_s)
        if isinstance(routed, Sample):
            verdict = await self._streamed(routed, progress, patience, first)
        else:
            verdict = _refused(routed, 0)
        if (unread := self._unread(routed, verdict)) is not None:
            await self._advise(unread)
        self._note(verdict, sample, retried=patience.waited)
        return verdict

    def _note(self, verdict: Verdict, sample: Sample, *, retried: bool) -> None:
        if self.settings.log is not None:
            self.settings.log.add([verdict], [sample], retried=retried)

    def _unread(self, row: Sample | BadSample, verdict: Verdict) -> Unread | None:
        """Counts a verdict among the first of its use. Returns their responses once, if most have no answer."""
        use = (row.use or self.settings.use) if isinstance(row, Sample) else None
        if use is None or not isinstance(row, Sample) or not _early.watches(verdict):
            return None  # where the server's own routing decides, the server knows the use, and warns
        return _early.add(use, row, verdict)

    async def _advise(self, unread: Unread) -> None:
        """Warns if the answers that are not found could be."""
        try:
            advice = await asyncio.wait_for(unread.advice(self._asked), _ADVICE_S)
        except (RequestError, asyncio.TimeoutError):
            return  # the verdicts are there; this was only advice
        if advice is not None:
            _log.warning("%s", advice)

    async def _asked(self, samples: Sequence[Sample]) -> Sequence[Verdict]:
        client = self._connection().client
        return (await client.verify(list(samples), fields=("index", "status", "passed"))).verdicts

    async def _streamed(
        self, routed: Sample, progress: Progress | None, patience: Patience, first: Verdict | RequestError | None
    ) -> Verdict:
        before: Verdict | None = None
        while True:
            told, first = first, None
            try:
                if isinstance(told, RequestError):
                    raise told
                verdict = told or await self._connection().stream(progress).verify(routed)
            except (Overloaded, Unavailable, DeadlineExceeded) as error:
                await patience.wait_or_raise(error)
                continue
            except RequestError as error:
                path = str(error.details.get("path", ""))
                if isinstance(error, InvalidRequest) and path.startswith("samples["):
                    return _refused(BadSample(message=error.message, path=path, id=routed.id), 0)
                if routed.group is not None:
                    raise
                # It ended a stream of many: each of them asks alone, so that it is raised to its own caller only.
                (verdict,), _ = await self._requested([routed], progress, patience)
                return verdict
            _refuse_misconfigured(verdict)
            if before is not None and before.reason != _ALONE and verdict.reason == _ALONE:
                return before  # its siblings have their scores and do not come again
            before = verdict
            if not _may_pass(verdict) or not await patience.wait(f"a sample has no score yet ({verdict.reason})"):
                return verdict

    async def close(self) -> None:
        """Closes the connections of the running event loop."""
        connection = self._open.pop(asyncio.get_running_loop(), None)
        if connection is not None:
            await connection.close()

    def _connection(self) -> _Connection:
        loop = asyncio.get_running_loop()
        if loop not in self._open:
            # A loop and its connections hold each other: without this each `asyncio.run` would leave a socket behind.
            for ended in [known for known in self._open if known.is_closed()]:
                del self._open[ended]
            settings = self.settings
            # Targets of other packages know of no authority.
            options: dict[str, Any] = {} if settings.ca is None else {"ca": settings.ca}
            client = AsyncClient(
                settings.target,
                api_key=self._api_key(),
                timeout_s=settings.timeout_s,
                **options,
                retry=NO_RETRY,  # patience is ours: two loops around each other would multiply
            )
            self._open[loop] = _Connection(client, {**self._envelope, "timeout_s": settings.timeout_s})
        return self._open[loop]

    @property
    def _envelope(self) -> dict[str, Any]:
        """Returns what a stream states for all its samples, but their progress."""
        settings = self.settings
        envelope: dict[str, Any] = {"expect": settings.expect} if settings.expect else {}
        return envelope | {
            "use": settings.use,
            "group_deadline_s": settings.group_deadline_s,
            "fields": self._fields,
        }

    def _api_key(self) -> str | None:
        return self.settings.api_key or os.environ.get("REWARDEN_API_KEY") or None

    def _routed(self, sample: Sample | BadSample) -> Sample | BadSample:
        if isinstance(sample, BadSample):
            return sample
        if not isinstance(sample.response, (str, Sequence)):  # a generation that failed, in a batch of good ones
            kind = type(sample.response).__name__
            return BadSample(message=f"must be text or chat messages, not {kind}", path="response", id=sample.id)
        routed = sample if self.settings.routing is None else self.settings.routing.apply(sample)
        if self.settings.run is None or isinstance(routed, BadSample):
            return routed
        return replace(routed, metadata={"run": self.settings.run, **(routed.metadata or {})})


_scorers: dict[str, Scorer] = {}


def scorer(run: Any = None, /, **settings: Any) -> Scorer:
    """Returns the process's scorer for these settings: all threads and actor calls share its connections. The first
    call checks the settings (`rewarden.adapters.preflight`).

    run: the trainer's name for the run, if it has one; settings that name the run override it. Raises RequestError.
    """
    key = json.dumps([run, settings], sort_keys=True, default=_plainer)
    if key not in _scorers:
        _scorers.setdefault(key, Scorer(checked(Settings.read(**settings).of_run(run))))
    return _scorers[key]


def number_of(verdict: Verdict, settings: Settings) -> float:
    """Returns the score, or the number that `unscored` sets instead. Raises NoScore."""
    if verdict.status == "scored" and verdict.score is not None:
        return verdict.score
    if isinstance(settings.unscored, (int, float)):
        warn("unscored (%s, fault %s): using %s instead", verdict.reason, verdict.fault, settings.unscored)
        return settings.unscored
    raise NoScore(verdict)


def passed_of(verdict: Verdict) -> bool:
    """Returns whether a verdict passes. If the verifier sets no `passed`, only its best score does."""
    if verdict.passed is not None:
        return verdict.passed
    return verdict.score is not None and verdict.score >= verdict.range[1]


def score_or_none(verdict: Verdict, settings: Settings) -> float | None:
    """Returns the score, or None if there is none or a recipe excludes the sample, for trainers that can skip samples.

    `unscored` overrides it; with `raise`, a missing score raises NoScore.
    """
    if verdict.exclude:
        return None
    if verdict.status != "scored" and settings.unscored is None:
        return None
    return number_of(verdict, settings)


def _refuse_misconfigured(verdict: Verdict) -> None:
    """Raises InvalidRequest for a verdict that shows a mistake in the configuration.

    It affects all samples: with `unscored`, every reward of a run would be that number because of a misspelt name.
    """
    if verdict.status == "error" and verdict.reason in _MISCONFIGURED:
        raise InvalidRequest(verdict.feedback or f"the server rejects the verifier: {verdict.reason}")


def _may_pass(verdict: Verdict) -> bool:
    return verdict.status != "scored" and verdict.retryable


def _refused(row: BadSample, place: int) -> Verdict:
    """The verdict of a row that is not even sent: the same as the server would give."""
    evidence = {"path": row.path} if row.path else {}
    return Verdict(
        status="error",
        reason="invalid_sample",
        fault="caller",
        feedback=row.message,
        evidence=evidence,
        index=place,
        id=row.id,
    )


class _Connection:
    """The client of an event loop, and its streams: one for each progress, which a stream states once for all."""

    def __init__(self, client: AsyncClient, envelope: Mapping[str, Any]) -> None:
        self.client = client
        self._envelope = envelope
        self._streams: dict[Progress | None, SampleStream] = {}

    def stream(self, progress: Progress | None) -> SampleStream:
        if progress not in self._streams:
            for passed in [known for known, stream in self._streams.items() if not stream.open]:
                del self._streams[passed]
            self._streams[progress] = SampleStream(self.client, progress=progress, **self._envelope)
        return self._streams[progress]

    async def close(self) -> None:
        for stream in self._streams.values():
            await stream.close()
        await self.client.close()


class Patience:
    """Waits between retries, longer each time, until the patience is used up."""

    def __init__(self, patience_s: float) -> None:
        self.waited = False
        self._end = time.monotonic() + patience_s
        self._next_s = _FIRST_S

    async def wait(self, why: str, least_s: float = 0.0) -> bool:
        """Wait once; False, at once, where no time is left."""
        left = self._end - time.monotonic()
        if left <= least_s:
            return False
        # Spread, so that a thousand workers that failed together do not come back together.
        seconds = min(least_s + random.uniform(0.5, 1.0) * self._next_s, left)
        warn("%s; retrying in %.1f s, for up to %.0f s more", why, seconds, left)
        self.waited = True
        await asyncio.sleep(seconds)
        self._next_s = min(2 * self._next_s, _MOST_S)
        return True

    async def wait_or_raise(self, error: RequestError) -> None:
        """Wait once, as long as the server asks at least; the error where no time is left."""
        asked = error.details.get("retry_after_s")
        if not await self.wait(error.message, asked if isinstance(asked, (int, float)) else 0.0):
            raise error


def _plainer(value: Any) -> Any:
    """Configuration libraries' own mappings and lists (OmegaConf's), for a key."""
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if hasattr(value, "__iter__") else repr(value)
