"""Runs a C++ judge on many outputs in one room, each in a separate, isolated process (`series.cpp`).

A room costs as much as running a short program; a process costs a tenth of that. A ruling counts only if the judge
exited normally. A case that ends in any other way, or leaves anything behind, runs again in its own room, as do all
cases of judges that do not support this.
"""

from __future__ import annotations

import struct
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from rewarden_sandboxes.job import Case, CaseResult, CompileResult, Job, JobEvent, Limits, Report
from rewarden_verifiers.execution.shims import cpp
from rewarden_verifiers.sandbox import Sandbox

NAME = "rewarden_series.cpp"
"""The name of the file beside the judge."""

_FILES, _FILE, _ENDED = struct.Struct("<I"), struct.Struct("<II"), struct.Struct("<iii")
_LONGEST_NAME = 255
_MOST_BYTES = 32 * 1024 * 1024
_UNSURE = -1


async def run(sandbox: Sandbox, job: Job) -> AsyncGenerator[JobEvent, None]:
    """Yields the results of a judge's job, as `Sandbox.run` does. Raises what that raises."""
    done = 0
    while done < len(job.cases):
        some = job.cases[done:]
        rulings: Sequence[Report | None] = []
        if _fits(job, some):
            async with aclosing(sandbox.run(_in_series(job, some))) as events:
                async for event in events:
                    if isinstance(event, CaseResult):
                        rulings = list(_read(event.program))[: len(some)]
                    elif event.report.status == "ok":
                        yield event
        for report in rulings:
            if report is not None:
                yield CaseResult(index=done, program=report)
            else:
                async for event in _alone(sandbox, job, done, done + 1):
                    yield event
            done += 1
        # The series stopped early: the next case is the one that ended it.
        last = done + 1 if rulings else len(job.cases)
        async for event in _alone(sandbox, job, done, min(last, len(job.cases))):
            if isinstance(event, CompileResult) and event.report.status != "ok":
                yield event
                return
            yield event
        done = last


async def _alone(sandbox: Sandbox, job: Job, first: int, last: int) -> AsyncGenerator[JobEvent, None]:
    """Yields the results of some cases, each in its own room."""
    if first == last:
        return
    async with aclosing(sandbox.run(replace(job, cases=job.cases[first:last]))) as events:
        async for event in events:
            yield replace(event, index=first + event.index) if isinstance(event, CaseResult) else event


def _fits(job: Job, cases: Sequence[Case]) -> bool:
    """Returns whether these cases can share a room."""
    program = job.program
    if len(cases) < 2 or program.language.lower() not in cpp.NAMES or program.files or job.collect:
        return False
    first = cases[0]
    return sum(len(data) for case in cases for data in case.files.values()) <= _MOST_BYTES and all(
        (case.args, case.stdin, case.limits) == (first.args, b"", Limits())
        and all("/" not in name and len(name.encode()) <= _LONGEST_NAME for name in case.files)
        for case in cases
    )


def _in_series(job: Job, cases: Sequence[Case]) -> Job:
    packed = b"".join(part for case in cases for part in _packed(case))
    program = replace(job.program, files={NAME: _source()})
    # A case that exceeds the time of a single case runs again alone, where doubts about its time are resolved as usual.
    return replace(job, program=program, cases=[Case(stdin=packed, args=cases[0].args)], once=True)


@lru_cache(maxsize=1)
def _source() -> bytes:
    return Path(__file__).with_name("series.cpp").read_bytes()


def _packed(case: Case) -> Iterator[bytes]:
    yield _FILES.pack(len(case.files))
    for name, data in case.files.items():
        yield _FILE.pack(len(name.encode()), len(data))
        yield name.encode()
        yield data


def _read(whole: Report) -> Iterator[Report | None]:
    """Yields the report of each case that ended, or None for one that needs its own room."""
    said, at = whole.stdout, 0
    while at + _ENDED.size <= len(said):
        code, out, err = _ENDED.unpack_from(said, at)
        start = at + _ENDED.size
        at = start + out + err
        if at > len(said):
            return
        if code == _UNSURE:
            yield None
            continue
        yield replace(
            whole,
            status="ok" if code == 0 else "runtime_error",
            limit=None,
            exit_code=code,
            signal=None,
            stdout=said[start : start + out],
            stderr=said[start + out : at],
            truncated=False,
            flags=(),
            message=None,
        )
