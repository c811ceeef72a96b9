"""Sessions: programs that are fed and read while they run, until they end, are closed, or their caller is gone."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from rewarden.errors import InvalidSample, SandboxError
from rewarden_sandboxes.agent.frames import WINDOW
from rewarden_sandboxes.drain import Drain
from rewarden_sandboxes.errors import BadJob, HostError, NoRoom
from rewarden_sandboxes.job import Clock, Limits, Program
from rewarden_sandboxes.remote_session import RemoteSession
from rewarden_sandboxes.service import make_server
from rewarden_sandboxes.v1 import sandbox_pb2 as pb
from rewarden_server.engine.lanes.sandbox import SandboxLane
from rewarden_server.engine.observer import Observer
from rewarden_server.processes.settings import SandboxSettings
from tests.programs import LAUNCHERS
from tests.sandbox.conftest import run, started
from tests.sandbox.served import Served, called, python, serving

pytestmark = [pytest.mark.needs_server, pytest.mark.alone, pytest.mark.asyncio(loop_scope="module")]

ECHO = "import sys\nwhile line := sys.stdin.buffer.readline(): sys.stdout.buffer.write(line), sys.stdout.flush()"
FLOOD = "import os\nwhile True: os.write(1, b'x' * 65536)"
SLEEP = "import signal\nsignal.pause()"
SPIN = "import os, time\nif os.fork(): os.wait()\nwhile True: pass"


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=LAUNCHERS)
async def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    address = f"unix:{tmp_path_factory.mktemp('host')}/socket"
    async for served in serving(request.param, address, sessions=2):
        yield served


async def until(true: Callable[[], object]) -> None:
    """Wait for something that nobody tells us of."""
    async with asyncio.timeout(60):
        while not true():
            await asyncio.sleep(0.01)


async def rest(session: RemoteSession) -> bytes:
    """All that is still to come."""
    found = b""
    while data := await session.receive():
        found += data
    return found


async def line(session: RemoteSession) -> bytes:
    """The first line, and nothing may follow it."""
    found = b""
    while not found.endswith(b"\n"):
        found += await session.receive()
    return found


async def clock_when(session: RemoteSession, true: Callable[[Clock], bool]) -> Clock:
    """The clock as soon as it says so."""
    async with asyncio.timeout(60):
        while not true(clock := await session.clock()):
            await asyncio.sleep(0.02)
    return clock


# --- talking ---------------------------------------------------------------------------------------------------------


async def test_what_is_sent_comes_back_as_it_goes(served: Served) -> None:
    async with served.session(ECHO) as session:
        for number in range(20):
            await session.send(b"%d\n" % number)
            assert await line(session) == b"%d\n" % number
        assert session.report is None


async def test_more_than_the_window_passes_both_ways_whole(served: Served) -> None:
    sent = os.urandom(3 * WINDOW // 2).hex().encode() + b"\n"
    async with served.session(ECHO) as session:
        sending = asyncio.ensure_future(session.send(sent))
        assert await line(session) == sent
        await sending


async def test_a_program_finds_its_files_and_arguments(served: Served) -> None:
    code = "import sys\nprint(sys.argv[1:], open('beside').read())"
    async with served.session(code, files={"beside": b"file"}, args=("a", "b")) as session:
        assert await rest(session) == b"['a', 'b'] file\n"


# --- how it ends -----------------------------------------------------------------------------------------------------


async def test_the_report_says_how_it_ended_and_keeps_the_end_of_stderr(served: Served) -> None:
    code = "import sys\nsys.stderr.write('x' * 300_000 + 'the end')\nprint('said', flush=True)\nsys.exit(3)"
    async with served.session(code) as session:
        assert await rest(session) == b"said\n"
        report = session.report
        assert report is not None
        assert (report.status, report.exit_code, report.stdout) == ("runtime_error", 3, b"")
        assert len(report.stderr) == 1 << 16
        assert report.stderr.endswith(b"xthe end")
        assert await session.receive() == b""  # and again
        with pytest.raises(HostError, match="ended"):
            await session.send(b"x")
        assert (await session.clock()).cpu_s == report.cpu_time


async def test_a_good_end_is_ok(served: Served) -> None:
    async with served.session("print('x')") as session:
        assert await rest(session) == b"x\n"
        assert session.report is not None
        assert (session.report.status, session.report.exit_code) == ("ok", 0)


async def test_all_that_was_written_comes_though_the_program_is_gone(served: Served) -> None:
    async with served.session(f"import os\nfor _ in range(40): os.write(1, b'x' * {WINDOW // 32})") as session:
        assert await rest(session) == b"x" * (WINDOW // 32 * 40)


async def test_too_much_memory_ends_it_by_that_name(served: Served) -> None:
    code = "input()\nx = bytearray(400 << 20)\ninput()"
    async with served.session(code, limits=Limits(memory_mb=128)) as session:
        await session.send(b"\n")
        assert await rest(session) == b""
        assert session.report is not None
        assert (session.report.status, session.report.limit) == ("memory_limit", "memory_mb")


async def test_too_much_memory_of_a_child_ends_it_as_well(served: Served) -> None:
    code = "import os\nif not os.fork(): x = bytearray(400 << 20)\nos.wait()\ninput()"
    async with served.session(code, limits=Limits(memory_mb=128)) as session:
        assert await rest(session) == b""
        assert session.report is not None
        assert session.report.status == "memory_limit"


async def test_closing_kills_all_that_is_in_the_room(served: Served) -> None:
    name = f"rwc-{os.getpid()}"
    code = f"import os\nos.fork()\nopen('/proc/self/comm', 'w').write('{name}')\nos.write(1, b'x')\n{SLEEP}"
    async with served.session(code) as session:
        found = b""
        while len(found) < 2:
            found += await session.receive()
        assert len(called(name)) == 2
        await session.close()
        assert called(name) == []
        with pytest.raises(HostError, match="closed"):
            await session.receive()
        await session.close()


async def test_who_leaves_without_a_word_has_it_killed(served: Served) -> None:
    name = f"rwl-{os.getpid()}"
    async with served.client() as client:
        code = f"open('/proc/self/comm', 'w').write('{name}')\nprint(flush=True)\n{SLEEP}"
        session = await client.session(python(code))
        await line(session)
        assert called(name)
        waiting = asyncio.ensure_future(session.receive())
        await asyncio.sleep(0)
    await until(lambda: not called(name))
    with pytest.raises(HostError, match="host"):
        await waiting
    async with asyncio.timeout(60):  # the program is gone a moment before the host has cleared up after it
        while (await served.host.status())["sessions"]["open"]:
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("leaving", [False, True])
async def test_a_lost_slot_is_a_failure_of_ours(served: Served, leaving: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """And no loss of the host's, unless it is about to end: whoever ends it may end its slots with it."""
    name = f"rws-{os.getpid()}"
    async with served.session(f"open('/proc/self/comm', 'w').write('{name}')\nprint(flush=True)\n{SLEEP}") as session:
        await line(session)
        [pid] = called(name)
        supervisor = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
        monkeypatch.setattr(served.host, "_leaving", leaving)
        os.kill(supervisor, signal.SIGKILL)
        said = "slot was lost while the sandbox host ended" if leaving else "slot is gone"
        with pytest.raises(HostError, match=said):
            await session.receive()
        assert session.report is None
        with pytest.raises(HostError, match=said):
            await session.clock()
        assert session.host_lost == leaving


@pytest.mark.parametrize("way", ["it ends", "the connection breaks"])
async def test_a_session_knows_that_its_host_was_lost(served: Served, way: str, tmp_path: Path) -> None:
    drain = Drain()
    server = make_server(served.host, f"unix:{tmp_path}/socket", drain=drain)
    await server.start()
    lane = SandboxLane(SandboxSettings(address=f"unix:{tmp_path}/socket"), Observer())
    session = await lane.session(Program(language="python", code=SLEEP.encode()))
    assert not session.host_lost
    if way == "it ends":
        await drain.cut(30)
    else:
        await server.stop(0)
    with pytest.raises(SandboxError):
        await session.receive()
    assert session.host_lost
    await session.close()
    await lane.close()
    await server.stop(0)


# --- what is held back -----------------------------------------------------------------------------------------------


async def test_a_flood_is_held_back_until_somebody_reads(served: Served) -> None:
    async with served.session(FLOOD) as session:
        await until(lambda: sum(map(len, session._output)) >= WINDOW)
        before = (await session.clock()).idle_s
        await clock_when(session, lambda clock: clock.idle_s > before + 0.3)  # it waits at its pipe
        assert sum(map(len, session._output)) == WINDOW
        received = 0
        while received < 4 * WINDOW:
            received += len(await session.receive())


async def test_a_program_that_does_not_read_holds_its_caller_back(served: Served) -> None:
    async with served.session("import time\nwhile True: time.sleep(60)") as session:
        sending = asyncio.ensure_future(session.send(b"x" * 4 * WINDOW))
        await clock_when(session, lambda clock: clock.idle_s > 0.2)
        assert not sending.done()
        await session.close()
        with pytest.raises(HostError):
            await sending


async def test_what_is_fed_to_a_closed_stdin_is_lost_and_holds_nobody_back(served: Served) -> None:
    async with served.session("import os\nos.close(0)\nprint(flush=True)\nimport signal\nsignal.pause()") as session:
        await line(session)
        await asyncio.wait_for(session.send(b"x" * 3 * WINDOW), 60)


@pytest.mark.parametrize("order", [{"data": b"x" * (WINDOW + 1)}, {"taken": 1}])
async def test_a_caller_who_sends_more_than_is_wanted_loses_its_session_alone(
    served: Served, order: dict[str, object]
) -> None:
    async with served.client() as client:
        session, other = await client.session(python(SLEEP)), await client.session(python(ECHO))
        session._talk.order(pb.Order(id=session._number, **order))  # type: ignore[arg-type]
        with pytest.raises(BadJob):
            await session.receive()
        await other.send(b"x\n")
        assert await line(other) == b"x\n"


# --- the clock -------------------------------------------------------------------------------------------------------


async def test_the_clock_counts_the_cpu_of_all_its_processes(served: Served) -> None:
    async with served.session(SPIN) as session:
        clock = await clock_when(session, lambda clock: clock.cpu_s > 0.5)
        assert clock.idle_s < 0.5
        assert clock.memory is not None
        assert 1 << 20 < clock.memory < 512 << 20


async def test_the_clock_counts_idle_time_and_no_cpu_for_a_sleeper(served: Served) -> None:
    async with served.session(SLEEP) as session:
        clock = await clock_when(session, lambda clock: clock.idle_s > 0.5)
        assert clock.cpu_s < 0.25


# --- who gets one ----------------------------------------------------------------------------------------------------


async def test_sessions_have_a_quota_of_their_own_and_leave_runs_their_slots(served: Served) -> None:
    async with served.client() as client:
        first, second = await client.session(python(SLEEP)), await client.session(python(SLEEP))
        assert (await served.host.status())["sessions"] == {"open": 2, "most": 2}
        with pytest.raises(NoRoom, match="all 2 sessions"):
            await client.session(python(SLEEP), patience_s=0.05)
        reports = await asyncio.gather(*(run(served.host, "print(1)") for _ in range(4)))
        assert [report.stdout for report in reports] == [b"1\n"] * 4
        third = asyncio.ensure_future(client.session(python(ECHO)))
        await first.close()
        await (await third).send(b"x\n")
        assert await line(await third) == b"x\n"
        await second.close()
        await (await third).close()
        assert (await served.host.status())["sessions"]["open"] == 0


@pytest.mark.parametrize(
    ("program", "path"),
    [
        (Program(language="klingon", code=b""), "program.language"),
        (Program(language="c", code=b"int main() {}"), "program.language"),
        (Program(language="python", code=b"", mode="call"), "program.mode"),
        (Program(language="python", code=b"", limits=Limits(memory_mb=10**5)), "cases[0].limits.memory_mb"),
        (Program(language="python", code=b"", files={"../x": b""}), "program.files['../x']"),
    ],
)
async def test_a_session_that_cannot_be_is_refused_by_field(served: Served, program: Program, path: str) -> None:
    async with served.client() as client:
        with pytest.raises(BadJob) as refused:
            await client.session(program)
        assert refused.value.path == path


async def test_leaving_while_it_begins_leaves_nothing(served: Served) -> None:
    async with served.client() as client:
        asking = asyncio.ensure_future(client.session(python(SLEEP)))
        await asyncio.sleep(0)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        async with served.session(ECHO) as session:
            await session.send(b"x\n")
            assert await line(session) == b"x\n"


@pytest.mark.parametrize("name", LAUNCHERS)
async def test_where_no_rooms_can_be_had_there_are_no_sessions(name: str, tmp_path: Path) -> None:
    async for host in started(name, slots=2, warm=1, rooms="no"):
        server = make_server(host, f"unix:{tmp_path}/socket")
        await server.start()
        async with Served(host, f"unix:{tmp_path}/socket").client() as client:
            with pytest.raises(NoRoom, match="no sessions"):
                await client.session(python(SLEEP))
        await server.stop(0)


# --- the lane --------------------------------------------------------------------------------------------------------


async def test_the_lane_gives_sessions_in_the_verifiers_types(served: Served) -> None:
    lane = SandboxLane(SandboxSettings(address=served.address), Observer())
    try:
        session = await lane.session(Program(language="python", code=ECHO.encode() + b"\nraise SystemExit(4)"))
        await session.send(b"x\n")
        assert await session.receive() == b"x\n"
        assert (await session.clock()).cpu_s >= 0
        await session.close()
        with pytest.raises(SandboxError, match="closed"):
            await session.send(b"x")
        ended = await lane.session(Program(language="python", code=b"raise SystemExit(4)"))
        assert await ended.receive() == b""
        assert ended.report is not None
        assert ended.report.exit_code == 4
        with pytest.raises(InvalidSample, match="klingon"):
            await lane.session(Program(language="klingon", code=b""))
    finally:
        await lane.close()


async def test_without_a_sandbox_the_lane_says_so() -> None:
    lane = SandboxLane(SandboxSettings(launcher="none"), Observer())
    with pytest.raises(SandboxError, match="launcher is none"):
        await lane.session(Program(language="python", code=b""))
