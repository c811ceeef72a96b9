"""The host believes nothing of a session's supervisor and of its caller that was not asked for."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewarden_sandboxes import codec
from rewarden_sandboxes.agent import frames
from rewarden_sandboxes.agent.frames import WINDOW, Body, FrameError
from rewarden_sandboxes.errors import BadJob
from rewarden_sandboxes.host import Host
from rewarden_sandboxes.job import Clock, Program, Report
from rewarden_sandboxes.launchers.launcher import Lease
from rewarden_sandboxes.session import Begun, Feed, SessionEvent, Taken
from rewarden_sandboxes.settings import HostSettings
from rewarden_sandboxes.slot import Slot, SlotLost
from rewarden_sandboxes.v1 import sandbox_pb2 as pb

LEASE = Lease(name="x", image="python", folder=Path("/nowhere"), uid=1, memory_mb=1, processes=1)
PLACE = SimpleNamespace(image="", defaults=None)


class Deaf:
    """The side of a slot's socket that is written to."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.transport = SimpleNamespace(abort=lambda: None)

    def writelines(self, parts: list[bytes]) -> None:
        self.written += parts

    def write(self, part: bytes) -> None:
        self.written.append(part)

    async def drain(self) -> None:
        await asyncio.sleep(0)


def said(header: dict[str, Any], body: bytes = b"") -> bytes:
    """A frame of the supervisor's."""
    out = Body()
    out.add(body)
    return b"".join(frames.pack(header, out))


async def hear(*told: bytes, feed: Feed | None = None) -> list[SessionEvent]:
    """Returns what the host makes of these frames, after which the supervisor is gone."""
    reader = asyncio.StreamReader()
    reader.feed_data(b"".join(told))
    reader.feed_eof()
    slot = Slot(LEASE, PLACE, reader, Deaf())  # type: ignore[arg-type]
    host = Host(HostSettings(launcher="none"))
    feed = feed or Feed()
    ready = host._resolver.session(Program(language="python", code=b""))
    try:
        async with aclosing(slot.session({"op": "session"}, Body(), feed)) as events:
            return [host._session_event(header, body, slot, ready, feed) async for header, body in events]
    except SlotLost:
        assert slot.lost
        raise


BEGUN, END = said({"ev": "begun"}), said({"ev": "end"})
ENDED = said(
    {
        "ev": "ended",
        "report": {
            **{"status": "ok", "limit": None, "exit_code": 0, "signal": None, "cpu_time": 1, "wall_time": 1},
            **{"idle_time": 0, "peak_memory": None, "truncated": False, "message": None, "flags": [], "files": {}},
            **{"stdout": [0, 0], "stderr": [0, 0], "reply": [0, 0]},
        },
    }
)
HALF = said({"ev": "data"}, b"x" * (WINDOW // 2))


async def test_an_honest_supervisor_is_heard() -> None:
    begun, data, report = await hear(BEGUN, said({"ev": "data"}, b"x"), ENDED, END)
    assert (begun, data) == (Begun(), b"x")
    assert isinstance(report, Report)
    assert report.exit_code == 0


@pytest.mark.parametrize(
    "told",
    [
        pytest.param([], id="nothing"),
        pytest.param([BEGUN], id="no end"),
        pytest.param([ENDED, END], id="an end without a beginning"),
        pytest.param([BEGUN, BEGUN, ENDED, END], id="two beginnings"),
        pytest.param([BEGUN, ENDED, ENDED, END], id="two ends"),
        pytest.param([BEGUN, ENDED, HALF, END], id="output after the end"),
        pytest.param([BEGUN, said({"ev": "case", "index": 0}), END], id="an event of a job"),
        pytest.param([BEGUN, HALF, HALF, said({"ev": "data"}, b"x"), ENDED, END], id="more than was wanted"),
        pytest.param([BEGUN, said({"ev": "data"}), ENDED, END], id="empty output"),
        pytest.param([BEGUN, said({"ev": "taken", "bytes": 1}), ENDED, END], id="taken what was not sent"),
        pytest.param([BEGUN, said({"ev": "taken", "bytes": -1}), ENDED, END], id="taken less than nothing"),
        pytest.param([BEGUN, said({"ev": "taken"}), ENDED, END], id="taken without a size"),
        pytest.param(
            [BEGUN, said({"ev": "clock", "cpu_s": 0, "idle_s": 0, "memory": 0}), ENDED, END], id="a clock unasked"
        ),
        pytest.param([BEGUN, said({"ev": "data"}, b"x" * (WINDOW + 1)), ENDED, END], id="a frame that is too large"),
        pytest.param([BEGUN, said({"ev": "ended", "report": {}}), END], id="a report that is none"),
        pytest.param([BEGUN, said({"ev": "ended"}), END], id="no report"),
        pytest.param([b"\xff" * 40], id="noise"),
    ],
)
async def test_a_supervisor_that_says_what_none_says_loses_its_slot(told: list[bytes]) -> None:
    with pytest.raises(SlotLost):
        await hear(*told)


async def test_a_caller_who_leaves_twice_at_once_leaves_no_program_to_the_next() -> None:
    reader = asyncio.StreamReader()
    reader.feed_data(BEGUN)
    deaf = Deaf()
    slot = Slot(LEASE, PLACE, reader, deaf)  # type: ignore[arg-type]
    begun = asyncio.Event()

    async def work() -> None:
        async with aclosing(slot.session({"op": "session"}, Body(), Feed())) as events:
            async for _ in events:
                begun.set()

    task = asyncio.ensure_future(work())
    await begun.wait()
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()  # its connection goes as well
    await asyncio.gather(task, return_exceptions=True)
    assert slot.lost  # nobody has heard that the program is dead


async def test_leaving_in_the_middle_of_a_frame_costs_no_slot() -> None:
    reader = asyncio.StreamReader()
    data = said({"ev": "data"}, b"x" * 100)
    reader.feed_data(BEGUN + data[:40])
    slot = Slot(LEASE, PLACE, reader, Deaf())  # type: ignore[arg-type]
    begun = asyncio.Event()

    async def work() -> None:
        async with aclosing(slot.session({"op": "session"}, Body(), Feed())) as events:
            async for _ in events:
                begun.set()

    task = asyncio.ensure_future(work())
    await begun.wait()
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.sleep(0)
    reader.feed_data(data[40:] + END)
    await asyncio.gather(task, return_exceptions=True)
    assert not slot.lost


# --- the caller ------------------------------------------------------------------------------------------------------


def test_what_is_fed_goes_out_together_and_once() -> None:
    feed = Feed()
    feed.send(b"ab")
    feed.send(b"c")
    feed.ask()
    [(data, body), (clock, _)] = feed.orders()
    assert (data, b"".join(body.parts), clock) == ({"op": "data"}, b"abc", {"op": "clock"})
    assert feed.orders() == []


def test_no_more_is_taken_than_the_window() -> None:
    feed = Feed()
    feed.send(b"x" * WINDOW)
    feed.orders()
    with pytest.raises(BadJob):
        feed.send(b"x")
    feed.took(10)
    feed.send(b"x" * 10)
    with pytest.raises(BadJob):
        feed.send(b"x")


def test_credit_is_given_back_for_what_came_and_no_more() -> None:
    feed = Feed()
    assert feed.came(b"x" * WINDOW)
    with pytest.raises(FrameError):
        feed.came(b"x")
    feed.grant(7)
    assert feed.orders()[0][0] == {"op": "credit", "bytes": 7}
    assert feed.came(b"x" * 7) == b"x" * 7
    feed.grant(WINDOW)
    with pytest.raises(BadJob):
        feed.grant(1)


# --- the wire --------------------------------------------------------------------------------------------------------

events = st.one_of(
    st.just(Begun()),
    st.binary(min_size=1, max_size=20),
    st.builds(Taken, st.integers(1, 2**40)),
    st.builds(Clock, cpu_s=st.floats(0, 1e6), idle_s=st.floats(0, 1e6), memory=st.none() | st.integers(0, 2**50)),
    st.builds(Report, status=st.sampled_from(["ok", "memory_limit"]), stderr=st.binary(max_size=20)),
)


@settings(max_examples=40)
@given(events)
def test_an_event_arrives_as_it_was_sent(event: SessionEvent) -> None:
    sent = pb.Answer.FromString(codec.session_event_to_answer(7, event).SerializeToString())
    assert codec.session_event_from_answer(sent) == event
    assert sent.last == isinstance(event, Report)


@given(st.binary(max_size=20), st.none() | st.floats(0.1, 1e3))
def test_a_session_arrives_as_it_was_asked_for(code: bytes, patience_s: float | None) -> None:
    program = Program(language="python", code=code, args=("a",), files={"b": b"c"})
    sent = pb.Session.FromString(codec.session_to_message(program, patience_s).SerializeToString())
    assert codec.session_from_message(sent) == (program, patience_s)


def test_an_event_of_a_newer_host_is_refused_and_not_guessed() -> None:
    with pytest.raises(ValueError, match="not known here"):
        codec.session_event_from_answer(pb.Answer(id=1))
