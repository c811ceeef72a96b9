"""Coroutines for threads that have no event loop."""

from __future__ import annotations

import asyncio
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from rewarden.errors import Unavailable
from rewarden.loop_thread import LoopThread


def test_each_thread_gets_its_own_result_or_exception() -> None:
    thread = LoopThread("own")
    together = 0
    all_came = asyncio.Event()

    async def work(number: int) -> int:
        nonlocal together
        together += 1
        if together == 32:
            all_came.set()
        await all_came.wait()
        return 100 // number

    with ThreadPoolExecutor(32) as pool:
        calls = [pool.submit(lambda number=number: thread.run(work(number))) for number in range(32)]  # type: ignore[misc]
    assert isinstance(calls[0].exception(), ZeroDivisionError)
    assert [call.result() for call in calls[1:]] == [100 // number for number in range(1, 32)]
    thread.stop(asyncio.sleep(0))


def test_an_interrupt_cancels_the_work_of_its_own_thread_only(interruptible: None) -> None:
    thread = LoopThread("own")
    left = asyncio.Event()
    other_came = threading.Event()

    async def interrupted() -> None:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        try:
            await asyncio.Event().wait()
        finally:
            left.set()

    async def patient() -> str:
        other_came.set()
        await left.wait()
        return "answered"

    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(lambda: thread.run(patient()))
        assert other_came.wait(30)
        with pytest.raises(KeyboardInterrupt):
            thread.run(interrupted())
        assert other.result() == "answered"
    thread.stop(asyncio.sleep(0))


def test_stopping_ends_what_waits_and_what_has_not_begun() -> None:
    thread = LoopThread("own")
    stuck, begun, came = threading.Event(), threading.Event(), threading.Event()

    async def sticks() -> None:
        begun.set()
        stuck.wait()  # the loop stands still: what comes now cannot begin
        await asyncio.Event().wait()

    def late() -> None:
        came.set()
        thread.run(asyncio.sleep(0))

    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(lambda: thread.run(sticks()))
        assert begun.wait(30)
        second = pool.submit(late)
        assert came.wait(30)
        stopping = pool.submit(lambda: thread.stop(asyncio.sleep(0)))
        stuck.set()
        stopping.result()
        with pytest.raises(Unavailable, match="client was closed"):
            first.result()
        second.exception()  # it ended, before or after the stop
    assert thread.run(asyncio.sleep(0, "again")) == "again"
    thread.stop(asyncio.sleep(0))
