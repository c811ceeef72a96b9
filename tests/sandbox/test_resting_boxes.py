"""Resting boxes: unused boxes in which nothing runs give up their slots, and come back as they were."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from rewarden_sandboxes.box import BoxSpec
from rewarden_sandboxes.errors import HostError, NoRoom
from rewarden_sandboxes.open_box import MOST_KEPT, OpenBox
from rewarden_sandboxes.slot import Slot
from tests.programs import LAUNCHERS
from tests.sandbox.boxes import line, pieces, python, said, sh, whole
from tests.sandbox.conftest import started
from tests.sandbox.served import Served, called, serving

pytestmark = [pytest.mark.needs_server, pytest.mark.alone, pytest.mark.asyncio(loop_scope="module")]

NAMED = "import ctypes, signal\nctypes.CDLL(None).prctl(15, b'{}', 0, 0, 0)\nprint(flush=True)\nsignal.pause()"
TREE = """
mkdir -p kept/empty /app && echo a > kept/a && chmod 640 kept/a && ln kept/a kept/b && ln -s a kept/c
mkfifo kept/pipe && touch -d @1000000000.5 kept/a && chmod 500 kept/empty && echo x > /app/x
echo t > /tmp/t && echo s > /dev/shm/s && echo v > /var/tmp/v && echo e >> /etc/hostname.new
rm /etc/debian_version
"""
LOOK = """
cd / && stat -c '%n %A %s %y' app app/x etc/hostname.new && cat app/x tmp/t dev/shm/s var/tmp/v && ls /etc
cd /tmp/box && stat -c '%n %A %h %s %Y' kept kept/* && cat kept/a kept/b kept/c && pwd
"""
SEGMENT = "import ctypes\nprint(ctypes.CDLL(None).shmget(7, 4096, 0o1666) >= 0)"
READS_SEGMENT = "import ctypes\nprint(ctypes.CDLL(None).shmget(7, 0, 0) >= 0)"


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=LAUNCHERS)
async def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    address = f"unix:{tmp_path_factory.mktemp('host')}/socket"
    async for each in serving(request.param, address, boxes=2, box_rest_s=0.05):
        yield each


async def resting(served: Served, count: int) -> None:
    """Wait until so many boxes rest."""
    async with asyncio.timeout(60):
        while (await served.host.status())["boxes"]["resting"] != count:
            await asyncio.sleep(0.01)


async def in_slots(served: Served, count: int) -> None:
    """Wait until so many slots of boxes are in use. Flake: a slot of an earlier box that still ends counts too."""
    async with asyncio.timeout(60):
        while True:
            pools = (await served.host.status())["slots"]
            if sum(pool["slots"] - pool["idle"] for name, pool in pools.items() if "boxes" in name) == count:
                return
            await asyncio.sleep(0.01)


async def test_a_box_that_rests_has_no_slot_and_comes_back_as_it_was(served: Served) -> None:
    async with served.box() as box:
        await said(box, TREE)
        before = await said(box, LOOK)
        await resting(served, 1)
        await in_slots(served, 0)
        assert await said(box, LOOK) == before
        await resting(served, 1)  # and again
        assert await said(box, LOOK) == before


async def test_files_can_be_read_and_written_in_a_box_that_rests(served: Served) -> None:
    async with served.box() as box:
        await box.put("a", b"first")
        await resting(served, 1)
        assert await whole(box.get("a")) == b"first"
        await resting(served, 1)
        await box.put("a", b"second")
        await resting(served, 1)
        snapshot = await whole(box.snapshot())
        await resting(served, 1)
        async with served.box() as other:
            await other.restore(pieces(snapshot))
            assert await said(other, "cat a") == "second"


async def test_programs_that_want_a_resting_box_at_once_get_the_same_one(served: Served) -> None:
    async with served.box() as box:
        await said(box, "mkdir all")
        await resting(served, 1)
        await asyncio.gather(*(said(box, f"touch all/{n}") for n in range(6)))
        assert await said(box, "ls all") == "0\n1\n2\n3\n4\n5\n"


async def test_its_limits_and_environment_stay(served: Served) -> None:
    async with served.client() as client, await client.box(BoxSpec(env={"OWN": "1"})) as box:
        before = await said(box, "echo $OWN; ulimit -a; df --output=size /tmp")
        await resting(served, 1)
        assert await said(box, "echo $OWN; ulimit -a; df --output=size /tmp") == before


async def test_its_clock_goes_on_where_it_stood_and_can_be_read_at_rest(served: Served) -> None:
    async with served.box() as box:
        await box.run(python("import time\nwhile time.process_time() < 0.3: pass"))
        await resting(served, 1)
        at_rest = await box.clock()
        assert at_rest.cpu_s >= 0.3
        assert (at_rest.processes, (await served.host.status())["boxes"]["resting"]) == (0, 1)
        await said(box, "true")
        assert at_rest.cpu_s <= (await box.clock()).cpu_s < at_rest.cpu_s + 0.25


@pytest.mark.parametrize("leaves", ["orphan", "program"])
async def test_a_box_in_which_something_runs_does_not_rest(served: Served, leaves: str) -> None:
    name = f"rest{os.getpid() % 10**6:06}{leaves[:1]}"
    async with served.box() as busy, served.box() as idle:
        await busy.put("main.py", NAMED.format(name).encode())
        if leaves == "orphan":
            await said(busy, "python3 main.py > out & while ! test -s out; do sleep 0.01; done")
        else:
            await line(await busy.exec(sh("exec python3 main.py")))
        await said(idle, "true")
        await resting(served, 1)
        assert len(called(name)) == 1
        await said(busy, "true")
        assert len(called(name)) == 1


@pytest.mark.parametrize(
    ("makes", "looks"),
    [
        (python("import socket\nsocket.socket(socket.AF_UNIX).bind('socket')\nprint(True)"), sh("ls socket")),
        (python(SEGMENT), python(READS_SEGMENT)),
        (sh(f"head -c {MOST_KEPT + (1 << 20)} /dev/zero > large; echo True"), sh("stat -c %s large")),
    ],
    ids=["socket", "segment", "many bytes"],
)
async def test_a_box_whose_content_cannot_be_kept_does_not_rest(served: Served, makes: object, looks: object) -> None:
    async with served.box(disk_mb=128) as full, served.box(disk_mb=128) as idle:
        assert (await full.run(makes)).stdout == b"True\n"  # type: ignore[arg-type]
        before = await full.run(looks)  # type: ignore[arg-type]
        assert before.status == "ok"
        await said(idle, "true")
        await resting(served, 1)
        await in_slots(served, 1)
        assert (await full.run(looks)).stdout == before.stdout  # type: ignore[arg-type]


async def test_a_box_that_stands_still_does_not_rest_until_it_goes_on(served: Served) -> None:
    async with served.box() as box, served.box() as idle:
        await resting(served, 2)
        await box.stop()
        await said(idle, "true")
        await resting(served, 1)
        held = asyncio.create_task(said(box, "echo went on"))
        await box.resume()
        assert await held == "went on\n"
        await resting(served, 2)


async def test_a_resting_box_keeps_its_place_and_gives_it_back_when_closed(served: Served) -> None:
    async with served.box(), served.box():
        await resting(served, 2)
        with pytest.raises(NoRoom):
            async with served.client() as client:
                await client.box(BoxSpec(), patience_s=0.1)
    async with served.box() as box:
        await said(box, "true")


async def test_what_is_kept_of_a_box_goes_with_it(served: Served) -> None:
    async with served.box():
        await resting(served, 1)
        assert len(list(served.host.folder.glob("rest-*"))) == 1
    async with asyncio.timeout(30):
        while list(served.host.folder.glob("rest-*")):
            await asyncio.sleep(0.01)


async def test_without_a_slot_a_resting_box_waits_and_is_not_lost(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with served.box() as box:
        await said(box, "echo kept > a")
        await resting(served, 1)
        with monkeypatch.context() as broken:

            async def acquire(*_: object) -> Slot:
                raise NoRoom("no slot")

            broken.setattr("rewarden_sandboxes.pool.Pool.acquire", acquire)
            with pytest.raises(NoRoom):
                await box.run(sh("true"))
        assert await said(box, "cat a") == "kept\n"


async def test_a_box_whose_image_was_replaced_while_it_rested_is_lost(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with served.box() as box:
        await resting(served, 1)
        move_in = Slot.box

        def replaced(slot: Slot, *args: object) -> object:
            slot.image = "sha256:another"
            return move_in(slot, *args)  # type: ignore[arg-type]

        monkeypatch.setattr(Slot, "box", replaced)
        with pytest.raises(HostError, match="was replaced while the box was resting"):
            await box.run(sh("true"))
        assert "was replaced" in (await box.wait()).message


async def test_a_caller_who_leaves_while_its_box_wakes_leaves_it_to_the_next(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with served.box() as box:
        await said(box, "echo kept > a")
        await resting(served, 1)
        begun, acquire = asyncio.Event(), Slot.tell

        async def tell(slot: Slot, header: dict[str, object], body: object = None) -> None:
            if header["op"] == "exec" and not begun.is_set():
                begun.set()
                await asyncio.Event().wait()
            await acquire(slot, header, body)  # type: ignore[arg-type]

        monkeypatch.setattr(Slot, "tell", tell)
        leaving = asyncio.create_task(box.run(sh("true")))
        await begun.wait()
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)
        assert await said(box, "cat a") == "kept\n"


async def test_a_box_that_is_closed_while_it_wakes_leaves_no_slot(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with served.box() as box:
        await resting(served, 1)
        begun, closed, move_in = asyncio.Event(), asyncio.Event(), OpenBox._move_in

        async def late(box: OpenBox) -> Slot:
            slot = await move_in(box)
            begun.set()
            await closed.wait()
            return slot

        monkeypatch.setattr(OpenBox, "_move_in", late)
        waking = asyncio.create_task(box.run(sh("true")))
        await begun.wait()
        await box.close()
        closed.set()
        await asyncio.gather(waking, return_exceptions=True)
    await in_slots(served, 0)


@pytest.mark.parametrize("name", LAUNCHERS)
async def test_a_box_never_rests_without_the_setting(name: str) -> None:
    async for host in started(name, slots=2, warm=1, box_rest_s=0):
        async with host.box(BoxSpec()) as box:
            assert (box._timer, box.rests) == (None, False)
