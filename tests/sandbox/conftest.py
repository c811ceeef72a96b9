"""Hosts for the tests: one for each launcher that this machine can have, shared by a module's tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from rewarden_sandboxes.host import Host
from rewarden_sandboxes.job import Case, CaseResult, CompileResult, Job, Limits, Program, Report
from rewarden_sandboxes.settings import HostSettings
from tests.programs import problem_of


async def started(name: str, **settings: object) -> AsyncIterator[Host]:
    """A started host of that launcher, closed at the end; skips with the reason where there can be none."""
    problem = await problem_of(name)
    if problem is not None:
        pytest.skip(problem)
    host = Host(HostSettings(launcher=name, **settings))  # type: ignore[arg-type]
    await host.start()
    try:
        yield host
    finally:
        await host.close()


async def events_of(host: Host, job: Job) -> list[CompileResult | CaseResult]:
    """All that a job gives."""
    async with aclosing(host.run(job)) as events:
        return [event async for event in events]


async def run(host: Host, code: str, language: str = "python", *, limits: Limits = Limits(), **case: object) -> Report:
    """The report of one run of a program that compiles."""
    program = Program(language=language, code=code.encode(), limits=limits)
    events = await events_of(host, Job(program=program, cases=[Case(**case)]))  # type: ignore[arg-type]
    assert isinstance(events[-1], CaseResult), events
    return events[-1].program
