"""Boxes: programs and files in a slot of one's own, until it is closed, lost, or its caller is gone."""

from __future__ import annotations

import asyncio
import bz2
import errno
import gzip
import io
import lzma
import os
import signal
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import zstandard

from rewarden_sandboxes.agent.frames import WINDOW
from rewarden_sandboxes.box import BoxSpec, Exec
from rewarden_sandboxes.drain import Drain
from rewarden_sandboxes.errors import BadJob, Busy, FileFault, HostError, HostLost, Leaving, NoRoom
from rewarden_sandboxes.job import Limits, Program
from rewarden_sandboxes.remote_box import RemoteBox
from rewarden_sandboxes.service import make_server
from rewarden_sandboxes.slot import Slot, SlotLost
from tests.programs import LAUNCHERS
from tests.sandbox.boxes import line, pieces, python, said, sh, whole
from tests.sandbox.conftest import run
from tests.sandbox.served import Served, called, serving

pytestmark = [pytest.mark.needs_server, pytest.mark.alone, pytest.mark.asyncio(loop_scope="module")]


SERVER = "import socket\ns = socket.create_server(('', 5000))\nprint('up', flush=True)\ns.accept()[0].sendall(b'hi')"
FORKS = """
import os, time
try:
    while True:
        if not os.fork(): time.sleep(1000)
except OSError as error: print(error)
"""
BOMB = "import os, time\nprint(flush=True)\nwhile True:\n    try: os.fork()\n    except OSError: time.sleep(0.01)"
NAMED = "import ctypes, signal\nctypes.CDLL(None).prctl(15, b'{}', 0, 0, 0)\nprint(flush=True)\nsignal.pause()"
SLEEPS = "cat /proc/[0-9]*/comm 2> /dev/null | grep -q sleep"
"""Shell: whether something sleeps in the box."""


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=LAUNCHERS)
async def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    address = f"unix:{tmp_path_factory.mktemp('host')}/socket"
    async for each in serving(request.param, address, boxes=3):
        yield each


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def box(served: Served) -> AsyncIterator[RemoteBox]:
    """One box for all tests that need none of their own, without the files of the tests before."""
    async with served.box() as box:
        yield box


# --- programs --------------------------------------------------------------------------------------------------------


async def test_what_one_program_leaves_the_next_one_finds(served: Served) -> None:
    async with served.box() as box:
        assert await said(box, "pwd; echo kept > a; mkdir /app; echo more > /app/b") == "/tmp/box\n"
        assert await said(box, "cat a /app/b") == "kept\nmore\n"
    async with served.box() as box:
        assert await said(box, "ls; ls /app 2>&1 || true") == "ls: cannot access '/app': No such file or directory\n"


async def test_a_program_in_a_language_runs_with_its_files_and_arguments(box: RemoteBox) -> None:
    code = b"import sys, os\nprint(sys.argv[1:], open('beside').read(), os.environ['X'])"
    program = Program(language="python", code=code, files={"beside": b"file"}, args=("a",))
    report = await box.run(Exec(program=program, env={"X": "y"}))
    assert (report.status, report.stdout) == ("ok", b"['a'] file y\n"), report
    await box.put("main.py", b"mine")
    failed = await box.run(python("import main"))
    assert b'"/tmp/box/main.py", line 1, in <module>' in failed.stderr
    assert b"    import main\n" in failed.stderr


async def test_python_has_both_of_its_names(box: RemoteBox) -> None:
    about = "import sys, numpy; print(sys.version, sys.prefix, numpy.__file__)"
    both = [await box.run(Exec(argv=(name, "-c", about))) for name in ("python", "python3")]
    assert both[0].stdout == both[1].stdout != b"", both


CPP = """
#include <fstream>
#include <iostream>
int main(int count, char** words) {
    std::ofstream("made") << words[1];
    std::cout << std::cin.rdbuf() << count;
    return 3;
}
"""


async def test_a_program_in_a_compiled_language_runs_in_the_working_folder_with_its_input(served: Served) -> None:
    async with served.box(image="toolchains", memory_mb=1024) as box:
        program = Program(language="cpp", code=CPP.encode(), args=("a b",))
        report = await box.run(Exec(program=program), stdin=b"fed ")
        assert (report.exit_code, report.stdout, report.stderr) == (3, b"fed 2", b""), report
        assert await said(box, "pwd; ls; cat made") == "/tmp/box\nmade\na b"
        broken = await box.run(Exec(program=Program(language="c", code=b"int main( {"), cwd="/usr"))
        assert (broken.status, broken.exit_code, broken.stdout) == ("runtime_error", 1, b"")
        assert b"main.c:1" in broken.stderr
        same = await box.run(
            sh("echo 'int main() { return 7; }' > a.c && gcc -o a a.c && ./a; echo $?; cp a /tmp; /tmp/a")
        )
        assert (same.stdout, same.exit_code) == (b"7\n", 7), same
        with pytest.raises(BadJob, match="one file"):
            await box.exec(Exec(program=Program(language="c", code=b"", files={"a.h": b""})))


async def test_a_program_finds_the_images_packages(box: RemoteBox) -> None:
    assert (await box.run(python("import numpy\nprint(numpy.arange(3).sum())"))).stdout == b"3\n"


async def test_the_environment_is_the_boxs_and_then_the_execs(served: Served) -> None:
    async with served.client() as client, await client.box(BoxSpec(env={"A": "1", "B": "2"})) as box:
        report = await box.run(sh("echo $A $B $PWD", env={"B": "3"}, cwd="/usr"))
        assert report.stdout == b"1 3 /usr\n"


async def test_the_report_says_how_a_program_ended(box: RemoteBox) -> None:
    report = await box.run(sh("echo out; echo err >&2; exit 3"))
    assert (report.status, report.exit_code, report.stdout, report.stderr) == ("runtime_error", 3, b"out\n", b"err\n")
    shot = await box.run(sh("kill -9 $$"))
    assert (shot.status, shot.signal, shot.exit_code) == ("runtime_error", signal.SIGKILL, None)
    missing = await box.run(Exec(argv=("no-such-program",)))
    assert (missing.status, missing.exit_code) == ("runtime_error", 126)
    assert b"no-such-program" in missing.stderr
    nowhere = await box.run(sh("true", cwd="/no/where"))
    assert (nowhere.exit_code, nowhere.stderr) == (127, b"No such file or directory: /no/where\n")
    folder = await box.run(Exec(argv=("/tmp",)))
    assert folder.exit_code == 126


async def test_many_programs_run_at_once_and_talk_to_each_other(box: RemoteBox) -> None:
    server = await box.exec(python(SERVER))
    assert await line(server) == b"up\n"
    report = await box.run(python("import socket\nprint(socket.create_connection(('127.0.0.1', 5000)).recv(9))"))
    assert report.stdout == b"b'hi'\n"
    assert "shared_clock" in report.flags
    assert (await server.finish()).status == "ok"
    assert "shared_clock" not in (await box.run(sh("true"))).flags


async def test_stdin_is_fed_and_closed(box: RemoteBox) -> None:
    running = await box.exec(Exec(argv=("cat",), stdin=True))
    await running.send(b"one\n")
    assert await line(running) == b"one\n"
    await running.send(b"two")
    running.close_stdin()
    report = await running.finish()
    assert (report.status, report.stdout) == ("ok", b"two")
    assert (await box.run(Exec(argv=("cat",)))).stdout == b""
    large = os.urandom(3 * WINDOW)
    assert (await box.run(Exec(argv=("cat",)), large)).stdout == large
    assert (await box.run(Exec(argv=("true",)), large)).status == "ok"  # it reads nothing, and holds nobody back


async def test_a_signal_reaches_the_process_or_its_group(box: RemoteBox) -> None:
    trap = await box.exec(sh("trap 'echo caught; exit 5' TERM; echo up; while :; do sleep 0.05; done"))
    assert await line(trap) == b"up\n"
    trap.signal(signal.SIGTERM)
    report = await trap.finish()
    assert (report.stdout, report.exit_code) == (b"caught\n", 5)
    group = await box.exec(sh("sleep 1000 & echo up; wait; echo never"))
    assert await line(group) == b"up\n"
    group.signal(signal.SIGKILL, group=True)
    assert (await group.finish()).signal == signal.SIGKILL
    assert await said(box, f"while {SLEEPS}; do :; done; echo gone") == "gone\n"


async def test_a_program_heeds_the_signals_that_whoever_is_above_it_ignores(box: RemoteBox) -> None:
    # Flake: dash holds a SIGINT that comes while it forks until its child has ended, so no shell is asked here.
    waiting = await box.exec(Exec(argv=("cat",), stdin=True))
    await waiting.send(b"up\n")
    await line(waiting)
    waiting.signal(signal.SIGINT, group=True)
    assert (await waiting.finish()).signal == signal.SIGINT
    # Flake: a signal that comes right before a read that waits, or a long sleep, interrupts it no more.
    loop = "try:\n    print('up', flush=True)\n    while True: time.sleep(0.01)"
    interrupted = await box.exec(python(f"import time\n{loop}\nexcept KeyboardInterrupt:\n    print('interrupted')"))
    await line(interrupted)
    interrupted.signal(signal.SIGINT)
    assert (await interrupted.finish()).stdout == b"interrupted\n"
    assert await said(box, "yes | head -n 1") == "y\n"


async def test_a_script_that_runs_long_is_not_written_over(served: Served) -> None:
    """A shell reads its script line by line."""

    def script(text: bytes) -> Exec:
        return Exec(program=Program(language="bash", code=text), stdin=True)

    async with served.box() as box:
        long = await box.exec(script(b"echo up\nread line\n" + b"# rest\n" * 10_000 + b"echo $line\n"))
        await line(long)
        for _ in range(127):
            await box.run(Exec(argv=("true",)))
        assert (await box.run(script(b"echo other"))).stdout == b"other\n"
        await long.send(b"said\n")
        assert (await long.finish()).stdout == b"said\n"


async def test_a_signal_that_follows_at_once_is_not_lost(box: RemoteBox) -> None:
    async with asyncio.timeout(60):
        for group in (True, False) * 15:
            begun = await box.exec(Exec(argv=("sleep", "1000")))
            begun.signal(signal.SIGTERM, group=group)
            assert (await begun.finish()).signal == signal.SIGTERM


async def test_closing_a_program_kills_it_and_what_it_began(box: RemoteBox) -> None:
    running = await box.exec(sh("setsid sleep 1000 & echo up; sleep 1000"))
    assert await line(running) == b"up\n"
    await running.close()
    with pytest.raises(HostError, match="closed"):
        await running.finish()
    assert await said(box, f"while {SLEEPS}; do :; done; echo gone") == "gone\n"


async def test_an_orphan_lives_on_in_the_box_and_holds_nobody_up(served: Served) -> None:
    async with served.box() as box:
        report = await box.run(sh("(while :; do echo $(( n = n + 1 )) > count; sleep 0.02; done) & echo began"))
        assert (report.status, report.stdout) == ("ok", b"began\n")
        first = await said(box, "while ! cat count 2> /dev/null | grep .; do :; done")
        assert (
            await said(box, f"while [ \"$(cat count)\" = '{first.strip()}' ]; do :; done; echo goes on") == "goes on\n"
        )
        assert "shared_clock" in (await box.run(sh("true"))).flags


async def test_orphans_are_reaped(served: Served) -> None:
    async with served.box(processes=32) as box:
        for _ in range(4):
            assert (await box.run(sh("for i in $(seq 20); do (true &) ; done"))).status == "ok"
        assert await said(box, "cat /proc/[0-9]*/stat 2> /dev/null | grep -c ' Z ' || true") == "0\n"


# --- limits ----------------------------------------------------------------------------------------------------------


async def test_cpu_and_idle_time_of_one_program_are_bounded_where_that_is_asked_for(box: RemoteBox) -> None:
    spun = await box.run(python("while True: pass", limits=Limits(cpu_s=0.3)))
    assert (spun.status, spun.limit) == ("time_limit", "cpu_s")
    slept = await box.run(sh("sleep 1000", limits=Limits(wall_s=0.2)))
    assert (slept.status, slept.limit) == ("time_limit", "wall_s")
    assert await said(box, "echo lives") == "lives\n"


async def test_another_programs_work_is_not_charged_to_one_that_sleeps(box: RemoteBox) -> None:
    busy = await box.exec(python("print(flush=True)\nwhile True: pass"))
    await line(busy)
    slept = await box.run(sh("sleep 0.6", limits=Limits(cpu_s=0.3)))
    assert slept.status == "ok"
    assert slept.cpu_time < 0.3
    await busy.close()


async def test_output_is_bounded_and_exact(box: RemoteBox) -> None:
    report = await box.run(sh("yes; echo never", limits=Limits(output_bytes=1000)))
    assert (report.status, report.limit, report.truncated) == ("output_limit", "output_bytes", True)
    assert len(report.stdout) == 1000
    exact = await box.run(sh("head -c 1000 /dev/zero", limits=Limits(output_bytes=1000)))
    assert (exact.status, len(exact.stdout)) == ("ok", 1000)


async def test_memory_is_the_boxs_and_the_box_lives_on(served: Served) -> None:
    async with served.box(memory_mb=64) as box:
        waits = await box.exec(sh("echo up; cat", stdin=True))
        await line(waits)
        hog = await box.run(python("b = bytearray(1 << 30)\nfor i in range(0, 1 << 30, 4096): b[i] = 1"))
        assert (hog.status, hog.limit) == ("memory_limit", "memory_mb"), hog
        assert await said(box, "echo lives") == "lives\n"
        waits.close_stdin()
        assert (await waits.finish()).status == "ok"


async def test_disk_inodes_and_processes_are_bounded(served: Served) -> None:
    async with served.box(disk_mb=8, processes=16) as box:
        full = await box.run(
            sh("head -c 100M /dev/zero > big; mkdir /app; head -c 100M /dev/zero > /app/big; rm big /app/big")
        )
        assert full.stderr.count(b"No space left") == 2 or full.stderr.count(b"File too large") == 2, full
        with pytest.raises(FileFault) as fault:
            await box.put("big", bytes(9 << 20))
        assert fault.value.number in (errno.ENOSPC, errno.EFBIG)
        many = await box.run(python("for i in range(20000): open(str(i), 'w').close()"))
        assert b"No space left" in many.stderr
        await said(box, "rm -r /tmp/box/*")
        bomb = await box.run(python(FORKS))
        assert bomb.stdout == b"[Errno 11] Resource temporarily unavailable\n"


async def test_a_flood_is_held_back_until_somebody_reads(box: RemoteBox) -> None:
    flood = await box.exec(python("import os\nwhile True: os.write(1, b'x' * 65536), os.write(2, b'y' * 65536)"))
    async with asyncio.timeout(60):
        while sum(len(output.data) for output in flood._output) < WINDOW:
            await asyncio.sleep(0.01)
    assert (await box.run(sh("echo others go on"))).stdout == b"others go on\n"
    assert sum(len(output.data) for output in flood._output) == WINDOW
    seen = {"stdout": 0, "stderr": 0}
    async for output in flood:
        seen[output.stream] += len(output.data)
        if min(seen.values()) > WINDOW:
            break
    await flood.close()


async def test_the_clock_of_a_box_and_of_a_program(box: RemoteBox) -> None:
    busy = await box.exec(python("print(flush=True)\nwhile True: pass"))
    await line(busy)
    async with asyncio.timeout(60):
        while (await busy.clock()).cpu_s < 0.3:
            await asyncio.sleep(0.02)
        while (clock := await box.clock()).processes != 1:  # what other tests have killed is on its way
            await asyncio.sleep(0.02)
    assert clock.cpu_s >= 0.3
    assert clock.memory
    assert clock.disk is not None
    await box.put("counted", bytes(5 << 20))
    more = await box.clock()
    assert more.disk is not None
    assert more.disk - clock.disk >= 5 << 20
    await busy.close()


async def test_standing_still_for_a_snapshot_is_not_idle_time(box: RemoteBox) -> None:
    sleeper = await box.exec(sh("echo; exec sleep 1000"))
    await line(sleeper)
    await box.stop()
    before = await sleeper.clock()
    end = asyncio.get_running_loop().time() + 0.5
    while asyncio.get_running_loop().time() < end:
        after = await sleeper.clock()
    await box.resume()
    assert after.idle_s - before.idle_s < 0.2
    await sleeper.close()


# --- files -----------------------------------------------------------------------------------------------------------


async def test_files_are_put_got_listed_and_removed(box: RemoteBox) -> None:
    data = os.urandom(3 * WINDOW)
    await box.put("deep/er/file", data, mode=0o750)
    assert await whole(box.get("/tmp/box/deep/er/file")) == data
    await said(box, "ln -s file deep/er/link; mkfifo deep/pipe")
    entries = {entry.path: entry for entry in await box.list("deep", depth=2)}
    assert {path: entry.kind for path, entry in entries.items()} == {
        **{"er": "folder", "er/file": "file", "er/link": "link", "pipe": "other"},
    }
    assert (entries["er/file"].size, entries["er/file"].mode) == (len(data), 0o750)
    assert entries["er/link"].target == "file"
    assert [entry.path for entry in await box.list("deep/er/file")] == ["file"]
    assert [entry.kind for entry in await box.list("deep", depth=0)] == ["folder"]
    await box.put("deep/er/file", b"short")
    assert await whole(box.get("deep/er/link")) == b"short"
    await box.remove("deep")
    assert "deep" not in [entry.path for entry in await box.list()]


@pytest.mark.parametrize(
    ("path", "number"),
    [("missing", errno.ENOENT), ("/tmp", errno.EISDIR), ("pipe", errno.EINVAL), ("/dev/null", errno.EINVAL)],
)
async def test_what_is_no_file_is_refused_by_number(box: RemoteBox, path: str, number: int) -> None:
    await said(box, "[ -p pipe ] || mkfifo pipe")
    with pytest.raises(FileFault) as fault:
        await whole(box.get(path))
    assert fault.value.number == number
    assert fault.value.path.endswith(path)


async def test_a_file_that_is_put_appears_whole_or_not_at_all(box: RemoteBox) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"new" * 100_000
        raise ConnectionError

    await said(box, "mkdir whole; echo old > whole/a; ln -s a whole/link")
    with pytest.raises(ConnectionError):
        await box.put("whole/a", broken())
    assert await said(box, "ls -A whole; cat whole/a") == "a\nlink\nold\n"
    size = 200_001
    await box.put("whole/link", b"n" * size, mode=0o700)
    assert await said(box, "ls -A whole; stat -c '%s %a' whole/a; readlink whole/link") == f"a\nlink\n{size} 700\na\n"


async def test_a_file_as_large_as_more_than_half_of_the_disk_can_be_put(served: Served) -> None:
    async with served.box(disk_mb=16) as box:
        await box.put("a", bytes(12 << 20))
        assert await said(box, "stat -c %s a") == f"{12 << 20}\n"


async def test_work_on_files_needs_nothing_of_what_the_box_has_left(served: Served) -> None:
    async with served.box(processes=8) as box:
        await said(box, "rm -r /tmp/box /etc; rm /bin /lib")
        await box.put("again", b"x")
        assert await whole(box.get("again")) == b"x"
        bomb = await box.exec(
            python(
                BOMB,
                cwd="/",
            )
        )
        await line(bomb)
        assert await whole(box.get("again")) == b"x"


async def test_an_archive_goes_in_and_out(box: RemoteBox) -> None:
    await said(
        box, "rm -rf a; mkdir -p a/b; echo x > a/b/c; ln -s c a/b/d; chmod 700 a/b; touch -d @1000000000.5 a/b/c"
    )
    archive = await whole(box.archive("a"))
    await box.extract("copy", pieces(archive[:700], archive[700:]))
    shown = "cd {}; find . -printf '%p %y %m %T@ %l\\n' | sort"
    assert await said(box, shown.format("copy") + " | tail -n +2") == await said(
        box, shown.format("a") + " | tail -n +2"
    )


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, zstandard.compress, bytes])
async def test_what_is_no_whole_archive_is_refused_with_the_way_to_make_one(box: RemoteBox, pack: Any) -> None:
    await said(box, "rm -rf a; mkdir a; echo x > a/b")
    archive = pack(await whole(box.archive("a")))
    cut, none = pieces(archive[:700] if pack is bytes else archive), pieces()
    for sent in (cut, none):
        with pytest.raises(FileFault, match=r"the archive is .*tar -cf - FOLDER") as caught:
            await box.extract("cut", sent)
        packed = "packed with" in caught.value.message
        assert packed == (pack is not bytes and sent is cut)


async def test_a_zip_is_refused_with_the_way_to_make_an_archive(box: RemoteBox) -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("a", "x")
    with pytest.raises(FileFault, match="packed with zip"):
        await box.extract("cut", pieces(made.getvalue()))


# --- how it ends -----------------------------------------------------------------------------------------------------


async def test_a_slot_that_dies_as_its_box_is_opened_is_worth_another_try(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing has run in it, so the caller repeats the request, as it does if there is no room."""

    @asynccontextmanager
    async def gone(slot: Slot, order: dict[str, Any]) -> AsyncIterator[None]:
        slot.lost = True
        raise SlotLost("the slot is gone")
        yield

    monkeypatch.setattr(Slot, "box", gone)
    with pytest.raises(Busy, match="try again"):
        async with served.box():
            pass


async def test_closing_a_box_ends_all_that_runs_in_it(served: Served) -> None:
    async with served.client() as client:
        box = await client.box(BoxSpec())
        name = f"kept{os.getpid()}"
        code = NAMED.format(name)
        running = await box.exec(python(code))
        await line(running)
        assert any(True for _ in called(name))
        await box.close()
        assert not any(True for _ in called(name))
        with pytest.raises(HostError):
            await running.finish()
        with pytest.raises(HostError, match="the box was closed"):
            await box.exec(sh("true"))
        assert (await box.wait()).message == "the box was closed"


async def test_a_box_whose_supervisor_is_killed_says_so_and_others_live(served: Served) -> None:
    async with served.box() as box, served.box() as other:
        name = f"lost{os.getpid()}"
        code = NAMED.format(name)
        running = await box.exec(python(code))
        await line(running)
        [pid] = called(name)
        supervisor = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
        os.kill(supervisor, signal.SIGKILL)
        assert "slot is gone" in (await box.wait()).message
        assert not box.host_lost
        with pytest.raises(HostError):
            await running.finish()
        assert await said(other, "echo lives") == "lives\n"


@pytest.mark.parametrize("way", ["it ends", "the connection breaks"])
async def test_a_box_knows_that_its_host_was_lost(served: Served, way: str, tmp_path: Path) -> None:
    drain = Drain()
    server = make_server(served.host, f"unix:{tmp_path}/socket", drain=drain)
    await server.start()
    async with Served(served.host, f"unix:{tmp_path}/socket").client() as client:
        box = await client.box(BoxSpec())
        if way == "it ends":
            await drain.cut(30)
        else:
            await server.stop(0)
        assert isinstance(await box.wait(), Leaving if way == "it ends" else HostLost)
        assert box.host_lost
    await server.stop(0)


async def test_boxes_have_a_quota_of_their_own_and_leave_runs_their_slots(served: Served, box: RemoteBox) -> None:
    async with served.client() as client:
        boxes = [await client.box(BoxSpec()) for _ in range(2)]  # beside the one of other tests
        told = (await served.host.status())["boxes"]
        assert (told["open"], told["most"]) == (3, 3)
        with pytest.raises(NoRoom, match="all 3 boxes"):
            await client.box(BoxSpec(), patience_s=0.05)
        reports = await asyncio.gather(*(run(served.host, "print(1)") for _ in range(4)))
        assert [report.stdout for report in reports] == [b"1\n"] * 4
        asking = asyncio.ensure_future(client.box(BoxSpec()))
        await boxes.pop().close()
        for each in [*boxes, await asking]:
            await each.close()
        assert (await served.host.status())["boxes"]["open"] == 1
        assert await said(box, "echo lives") == "lives\n"


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        (BoxSpec(image="no-such-image"), "image"),
        (BoxSpec(image=""), "image"),
        (BoxSpec(image="/"), "image"),
        (BoxSpec(image="../../../../../.."), "image"),
        (BoxSpec(image="python/../python"), "image"),
        (BoxSpec(image="./toolchains"), "image"),
        (BoxSpec(image="python:latest"), "image"),
        (BoxSpec(limits=Limits(cpu_s=1)), "limits.cpu_s"),
        (BoxSpec(limits=Limits(memory_mb=10**5)), "limits.memory_mb"),
        (BoxSpec(env={"A=": "x"}), "env['A=']"),
    ],
)
async def test_a_box_that_cannot_be_is_refused_by_field(served: Served, spec: BoxSpec, path: str) -> None:
    async with served.client() as client:
        with pytest.raises(BadJob) as refused:
            await client.box(spec)
        assert refused.value.path == path


@pytest.mark.parametrize(
    ("what", "path"),
    [
        (Exec(), "argv"),
        (Exec(argv=("",)), "argv[0]"),
        (Exec(argv=("a\0",)), "argv[0]"),
        (Exec(program=Program(language="java", code=b"")), "program.language"),
        (Exec(program=Program(language="klingon", code=b"")), "program.language"),
        (Exec(argv=("true",), limits=Limits(memory_mb=5)), "limits.memory_mb"),
        (Exec(argv=("true",), cwd="a\0"), "cwd"),
    ],
)
async def test_an_exec_that_cannot_be_is_refused_by_field_and_the_box_lives(
    box: RemoteBox, what: Exec, path: str
) -> None:
    with pytest.raises(BadJob) as refused:
        await box.exec(what)
    assert refused.value.path == path
    assert await said(box, "echo lives") == "lives\n"


async def test_an_exec_that_is_too_large_is_refused_and_ends_no_call(box: RemoteBox) -> None:
    with pytest.raises(BadJob, match="more than"):
        await box.exec(python("x" * (256 << 20)))
    assert await said(box, "echo lives") == "lives\n"
