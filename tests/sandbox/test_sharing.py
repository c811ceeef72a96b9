"""A job that two slots share: results come in order, and few of them wait for others. The slots are scripted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest

from rewarden_sandboxes import host as hosting
from rewarden_sandboxes.host import Host
from rewarden_sandboxes.job import Case, CaseResult, Job, JobEvent, Program, Report
from rewarden_sandboxes.settings import HostSettings
from tests.sandbox.conftest import events_of

JOB = Job(program=Program(language="python", code=b""), cases=[Case(stdin=b"%d" % number) for number in range(12)])


@pytest.mark.parametrize(
    ("most", "ran"),
    [
        (10**6, [6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5]),
        (1000, [6, 7, 8, 0, 1, 2, 3, 4, 5, 9, 10, 11]),  # the third was more than may wait
    ],
)
async def test_of_the_second_half_so_much_runs_ahead_as_may_wait(
    monkeypatch: pytest.MonkeyPatch, most: int, ran: list[int]
) -> None:
    monkeypatch.setattr(hosting, "_AHEAD_BYTES", most)
    host = Host(HostSettings(launcher="none", cpu_permits=4))
    host._known.set()
    begun: list[int] = []
    ahead_is_over = asyncio.Event()

    async def whole(job: Job) -> AsyncGenerator[JobEvent, None]:
        try:
            for index, case in enumerate(job.cases):
                if case.stdin == b"0":
                    await ahead_is_over.wait()
                begun.append(int(case.stdin))
                yield CaseResult(index=index, program=Report(status="ok", stdout=case.stdin.ljust(400)))
        finally:
            ahead_is_over.set()

    monkeypatch.setattr(host, "_whole", whole)
    events = await events_of(host, JOB)
    told = [(event.index, int(event.program.stdout)) for event in events if isinstance(event, CaseResult)]
    assert told == [(number, number) for number in range(12)]
    assert begun == ran
