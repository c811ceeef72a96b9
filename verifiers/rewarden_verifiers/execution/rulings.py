"""Judges' rulings, shared by samples: within a group, each distinct output of a test is judged once.

A ruling depends on the judge and on everything in its room: input, output, answer, arguments. If two programs print the
same output, the second one does not run the judge again. Runs in one room cannot affect each other (`series`).

Only rulings are shared. If a judge crashes, reaches a limit or gives no ruling, every other sample runs it again. If
the same program is judged again, the judge runs again, so that a random judge does not look deterministic.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import ClassVar
from weakref import WeakKeyDictionary

from rewarden.errors import SandboxError
from rewarden_sandboxes.job import Case, CaseResult, Job, JobEvent, Report, source
from rewarden_verifiers.execution import judges, series
from rewarden_verifiers.execution.reference import JudgeProgram, Trial
from rewarden_verifiers.sandbox import Sandbox

_LASTS_S = 600.0
"""Seconds until a ruling expires: the judge's image may have changed by then."""
_MOST_BYTES = 32 * 1024 * 1024
_LARGE_REPORT = 64 * 1024
_LARGE_CASE = 1024 * 1024
"""Size in bytes above which a case is not deduplicated: computing its digest would block the event loop."""
_ENTRY_BYTES = 1024


@dataclass(frozen=True, slots=True)
class _Known:
    """A ruling. `program`: the digest of the program whose output was read."""

    program: bytes
    report: Report
    until: float


@dataclass(frozen=True, slots=True)
class _UnderWay:
    """A run of a judge in progress. `program`: as in `_Known`. `report`: None if the judge did not run."""

    program: bytes
    report: asyncio.Future[Report | None]


class Rulings:
    """The rulings of judges in one sandbox. Used from a single event loop."""

    _of: ClassVar[WeakKeyDictionary[Sandbox, Rulings]] = WeakKeyDictionary()

    @classmethod
    def of(cls, sandbox: Sandbox) -> Rulings:
        """Returns the rulings in this sandbox."""
        return cls._of.setdefault(sandbox, cls())

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, _Known] = OrderedDict()
        self._size = 0
        self._under_way: dict[bytes, _UnderWay] = {}

    async def run(
        self, sandbox: Sandbox, job: Job, code: str, judge: JudgeProgram, trials: Sequence[Trial]
    ) -> AsyncGenerator[JobEvent, None]:
        """Yields the results of a judge's job, as `Sandbox.run` does, but in any order. Raises what that raises.

        code: the program whose outputs the judge reads. trials: the test of each case.
        """
        program = hashlib.sha256(source(code)).digest()
        keys = _keys(job)
        left: Sequence[int] = range(len(job.cases))
        while left:
            known: list[tuple[int, Report]] = []
            awaited: list[tuple[int, _UnderWay]] = []
            mine: list[int] = []
            for place in left:
                found = self._find(keys[place], program)
                if isinstance(found, Report):
                    known.append((place, found))
                elif found is not None:
                    awaited.append((place, found))
                else:
                    mine.append(place)
            claims = self._claim([keys[place] for place in mine], program)
            try:
                for place, report in known:
                    yield CaseResult(index=place, program=report)
                if mine:
                    waiting = deque(mine)  # results arrive in the order of the cases
                    some = replace(job, cases=[job.cases[place] for place in mine])
                    async with aclosing(series.run(sandbox, some)) as events:
                        async for event in events:
                            if isinstance(event, CaseResult):
                                if not waiting:
                                    raise SandboxError("the sandbox reported more runs than there were")
                                place = waiting.popleft()
                                event = replace(event, index=place)
                                self._settle(claims, keys[place], event.program, judge, trials[place])
                            yield event
            finally:
                for key in list(claims):
                    self._release(claims, key, None)
            left = []
            for place, run in awaited:
                # Wait without awaiting the future itself: cancelling this task would cancel it for everyone.
                await asyncio.wait([run.report])
                made = run.report.result()
                if made is not None and _rules(judge, trials[place], made):
                    yield CaseResult(index=place, program=made)
                    continue
                if made is not None:
                    # The judge failed on this output. Run it separately instead of waiting again: each run may take its
                    # whole time limit.
                    keys[place] = None
                left.append(place)

    def _find(self, key: bytes | None, program: bytes) -> Report | _UnderWay | None:
        """Returns the report on the same output of another program, or the run in progress."""
        if key is None:
            return None
        known = self._known.get(key)
        if known is not None and known.program != program and time.monotonic() < known.until:
            self._known.move_to_end(key)
            return known.report
        under_way = self._under_way.get(key)
        return under_way if under_way is not None and under_way.program != program else None

    def _claim(self, keys: Sequence[bytes | None], program: bytes) -> dict[bytes, _UnderWay]:
        """Registers these runs, unless they are in progress already, so that others can wait for them."""
        loop = asyncio.get_running_loop()
        fresh = {key for key in keys if key is not None and key not in self._under_way}
        claims = {key: _UnderWay(program, loop.create_future()) for key in fresh}
        self._under_way |= claims
        return claims

    def _settle(
        self, claims: dict[bytes, _UnderWay], key: bytes | None, report: Report, judge: JudgeProgram, trial: Trial
    ) -> None:
        """Passes a report to everyone who waits for it, and caches it if it is a ruling."""
        if key is None or key not in claims:
            return
        if _rules(judge, trial, report):
            self._forget(key)
            self._known[key] = _Known(claims[key].program, report, time.monotonic() + _LASTS_S)
            self._size += _held(report)
            while self._size > _MOST_BYTES:
                self._forget(next(iter(self._known)))
        self._release(claims, key, report)

    def _forget(self, key: bytes) -> None:
        known = self._known.pop(key, None)
        self._size -= _held(known.report) if known is not None else 0

    def _release(self, claims: dict[bytes, _UnderWay], key: bytes, report: Report | None) -> None:
        """Ends the wait of others for a run."""
        del self._under_way[key]
        claims.pop(key).report.set_result(report)


def _rules(judge: JudgeProgram, trial: Trial, report: Report) -> bool:
    """Returns whether a report is a ruling that can be shared."""
    whole = not report.flags and _held(report) <= _LARGE_REPORT
    return whole and judges.ruling(judge, trial, report).broken is None


def _held(report: Report) -> int:
    """Returns the size of a cached report in bytes."""
    return len(report.stdout) + len(report.stderr) + sum(map(len, report.files.values())) + _ENTRY_BYTES


def _keys(job: Job) -> list[bytes | None]:
    """Returns a digest of everything that each case of a job depends on, or None for a large case."""
    small = replace(job, program=replace(job.program, code=b"", files={}), cases=())
    judge = _digest(repr(small).encode("utf-8", "surrogatepass"), job.program.code, _table(job.program.files))
    return [None if _size(case) > _LARGE_CASE else _digest(judge, _case(case)) for case in job.cases]


def _size(case: Case) -> int:
    return len(case.stdin) + sum(map(len, case.files.values()))


def _case(case: Case) -> bytes:
    small = repr(replace(case, stdin=b"", files={}))
    return _digest(small.encode("utf-8", "surrogatepass"), case.stdin, _table(case.files))


def _table(files: Mapping[str, bytes]) -> bytes:
    return _digest(*(part for name in sorted(files) for part in (name.encode("utf-8", "surrogatepass"), files[name])))


def _digest(*parts: bytes) -> bytes:
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).digest()
