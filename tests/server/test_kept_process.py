"""Processes that are kept: they end with `close`, whenever that comes, and take nothing of anybody else's with them."""

from __future__ import annotations

import asyncio
import gc
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvloop

from rewarden_server.processes.kept import KeptProcess

pytestmark = pytest.mark.needs_server

ANSWERS = "import sys; print('here', flush=True); sys.stdin.read()"


class Gone(Exception):
    """There is none."""


class Line:
    """A client that says nothing, and may break when it is closed."""

    def __init__(self, fault: OSError | None) -> None:
        self._fault = fault

    async def close(self) -> None:
        """See `Client`."""
        if self._fault is not None:
            raise self._fault


class Small(KeptProcess[Line]):
    """A process that is there in a moment."""

    what = "small process"
    prefix = "rewarden-host-"
    lost = Gone

    def __init__(self, fault: OSError | None = None, code: str = ANSWERS) -> None:
        super().__init__()
        self._fault = fault
        self._code = code

    def command(self, address: str) -> list[str]:
        """See `KeptProcess.command`."""
        return [sys.executable, "-S", "-c", self._code]

    def connect(self, address: str) -> Line:
        """See `KeptProcess.connect`."""
        return Line(self._fault)


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yields the folder in which their folders lie."""
    with tempfile.TemporaryDirectory(prefix="rw-") as made:
        monkeypatch.setattr(tempfile, "tempdir", made)
        yield Path(made)


def ended(pid: int) -> bool:
    """Returns whether no such process is left, nor its remains."""
    return not Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
def test_closing_it_in_any_moment_of_its_start_ends_it_and_nothing_else(run: Callable[..., Any], folder: Path) -> None:
    theirs: list[int] = []

    async def close_after(turns: int) -> None:
        process = Small()
        process.start()
        pids = set()
        for _ in range(turns):
            await asyncio.sleep(0)
            pids.add(process.pid)
        closing = asyncio.create_task(process.close())
        for _ in range(4):  # descriptors whose numbers were the process's own a moment ago
            await asyncio.sleep(0)
            theirs.append(os.open(os.devnull, os.O_RDONLY))
        await closing
        assert all(ended(pid) for pid in pids if pid is not None)

    async def every() -> None:
        for turns in range(12):
            await asyncio.wait_for(close_after(turns), 60)
        assert list(folder.iterdir()) == []

    run(every())
    gc.collect()
    for descriptor in theirs:
        os.close(descriptor)  # OSError where it was closed under its owner


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
def test_many_that_start_at_once_can_all_be_closed_at_once(run: Callable[..., Any], folder: Path) -> None:
    async def close(process: Small, wait_s: float) -> None:
        process.start()
        await asyncio.sleep(wait_s)
        await process.close()
        assert process.pid is None

    async def all_of_them() -> None:
        processes = [Small() for _ in range(16)]
        await asyncio.wait_for(asyncio.gather(*(close(each, 0.01 * n) for n, each in enumerate(processes))), 60)
        assert list(folder.iterdir()) == []

    run(all_of_them())


async def test_what_breaks_while_it_is_closed_does_not_keep_it_alive(folder: Path) -> None:
    process = Small(ConnectionResetError("its client broke"))
    await process.client(30)
    pid = process.pid
    assert pid is not None
    await asyncio.wait_for(process.close(), 60)
    assert ended(pid)
    assert (process.starts, process.pid, list(folder.iterdir())) == (1, None, [])


async def test_who_waits_for_one_that_is_closed_is_told_at_once() -> None:
    process = Small(code="import sys; sys.stdin.read()")  # it never answers
    waiting = asyncio.create_task(process.client(1000.0))
    while process.pid is None:
        await asyncio.sleep(0)
    await process.close()
    with pytest.raises(Gone, match="was stopped"):
        await asyncio.wait_for(waiting, 30)


async def until_it_answers(process: Small) -> None:
    async with asyncio.timeout(30):
        while not process.answers:
            await asyncio.sleep(0.01)


async def test_without_a_place_for_its_socket_it_says_so_and_is_tried_again(folder: Path) -> None:
    process = Small()
    first = await process.client(30)
    assert process.pid is not None
    shutil.rmtree(folder)
    os.kill(process.pid, signal.SIGKILL)
    await process.until_left(first)
    with pytest.raises(Gone, match=r"cannot start: .*No such file"):
        await asyncio.wait_for(process.client(1000.0), 30)
    folder.mkdir()
    await until_it_answers(process)
    assert process.problem is None
    await process.close()


async def test_a_first_line_beyond_all_measure_is_a_start_that_failed(folder: Path) -> None:
    process = Small(code="import sys; print('x' * 100_000, flush=True); sys.stdin.read()")
    with pytest.raises(Gone, match=r"cannot start: .*first line"):
        await asyncio.wait_for(process.client(1000.0), 30)
    process._code = ANSWERS
    await until_it_answers(process)
    await process.close()
    assert list(folder.iterdir()) == []
