"""Snapshots of boxes: a restored box equals the original, which does not change while the snapshot is taken."""

from __future__ import annotations

import asyncio
import errno
import io
import tarfile
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from rewarden_sandboxes.errors import FileFault
from rewarden_sandboxes.remote_box import RemoteBox
from tests.programs import LAUNCHERS
from tests.sandbox.boxes import line, pieces, python, said, sh, whole
from tests.sandbox.served import Served, serving

pytestmark = [pytest.mark.needs_server, pytest.mark.alone, pytest.mark.asyncio(loop_scope="module")]

_FORM = "-printf '%p %y %m %T@ %n %s %l\\n'"
SHOW = f"""(
find / -xdev \\( -path /proc -o -path /sys -o -path /dev \\) -prune -o {_FORM}
find /dev/shm /var/tmp /tmp /usr/own /root {_FORM}
) | sort"""
"""Shell: all that the box has made, with kinds, modes, times, links and sizes."""
READ = "cat /app/hard /etc/hostname /usr/own/deep/a; chmod 700 /app/closed; chmod 400 /app/closed/b; cat /app/closed/b"

CHANGES = """
set -e
umask 0
mkdir -p /app/empty /usr/own/deep /app/closed
echo x > /app/file; chmod 4751 /app/file; touch -d '2001-02-03 04:05:06.123456789' /app/file
ln /app/file /app/hard; ln -s file /app/link; ln -s /no/where /app/dangling
mkfifo /app/pipe; echo own > /usr/own/deep/a; echo secret > /app/closed/b; chmod 000 /app/closed/b /app/closed
echo root > /root/x; echo shm > /dev/shm/s; echo var > /var/tmp/v; echo tmp > /tmp/t; rmdir /tmp/box
rm -r /etc/default; echo changed > /etc/hostname; rm /sbin; rmdir /srv; rm /bin; mkdir /bin; echo tool > /bin/tool
printf 'a' > "/app/new
line"; printf b > "$(printf '/app/\\377\\376')"; : > /app/.wh.file; : > /app/.wh..wh..opq
mkdir /app/timed; touch -d @1000000000 /app/timed /app/empty /usr/own /root /tmp /etc
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=LAUNCHERS)
async def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    async for each in serving(request.param, f"unix:{tmp_path_factory.mktemp('host')}/socket", boxes=3):
        yield each


async def restored(served: Served, box: RemoteBox, snapshot: bytes) -> None:
    await box.restore(pieces(*(snapshot[n : n + 100_000] for n in range(0, len(snapshot), 100_000))))


async def test_what_is_restored_is_what_was(served: Served) -> None:
    async with served.box() as box:
        report = await box.run(sh(CHANGES.strip()))
        assert (report.status, report.stderr) == ("ok", b""), report
        first = await whole(box.snapshot())
        shown = (await box.run(sh(SHOW, cwd="/"))).stdout
    async with served.box() as other:
        await restored(served, other, first)
        assert (await other.run(sh(SHOW, cwd="/"))).stdout == shown
        assert await whole(other.snapshot()) == first
        read = await other.run(sh(READ, cwd="/"))
        assert read.stdout == b"x\nchanged\nown\nsecret\n"
    assert b"/app/.wh.file" in shown
    assert b"\n/sbin " not in shown


SET = (
    "import os\nos.makedirs('/app/folder')\nopen('/app/file', 'w')\nfor path in ('/app/file', '/app/folder'):\n"
    "    os.setxattr(path, 'user.note', bytes(range(256)))\n"
)
GET = "import os\nfor path in ('/app/file', '/app/folder'): print(os.getxattr(path, 'user.note') == bytes(range(256)))"


async def test_extended_attributes_are_kept(served: Served) -> None:
    async with served.box() as box:
        made = await box.run(python(SET))
        if b"Operation not supported" in made.stderr:
            pytest.skip("the kernel's tmpfs has no extended attributes of users")
        snapshot = await whole(box.snapshot())
        archive = await whole(box.archive("/app"))
    async with served.box() as other:
        await restored(served, other, snapshot)
        assert (await other.run(python(GET))).stdout == b"True\nTrue\n"
    async with served.box() as other:
        await other.extract("/app", pieces(archive))
        assert (await other.run(python(GET))).stdout == b"True\nTrue\n"


async def test_a_fresh_box_restored_is_a_fresh_box(served: Served) -> None:
    async with served.box() as box:
        first = await whole(box.snapshot())
    async with served.box() as other:
        await restored(served, other, first)
        assert await whole(other.snapshot()) == first
        assert await said(other, "pwd; touch here /app; ls") == "/tmp/box\nhere\n"


async def test_devices_and_sockets_are_dropped_and_counted(served: Served) -> None:
    async with served.box() as box:
        report = await box.run(
            python("import socket, os\nsocket.socket(socket.AF_UNIX).bind('s')\nos.mknod('/tmp/gone', 0o020600, 0)")
        )
        assert report.status == "ok", report
        snapshot = await whole(box.snapshot())
        assert box.dropped == 2
        with tarfile.open(fileobj=io.BytesIO(snapshot)) as tar:
            names = tar.getnames()
        assert not [name for name in names if name.endswith(("/s", "/gone"))]


async def test_nothing_moves_while_a_snapshot_is_taken_and_all_goes_on_after(served: Served) -> None:
    code = (
        "import os, subprocess, sys\nchild = os.fork()\nos.makedirs(f'/app/{min(child, 1)}', exist_ok=True)\n"
        "print(flush=True)\nn = 0\n"
        "while True:\n    n += 1\n    for name in 'ab':\n"
        "        with open(f'/app/{min(child, 1)}/{name}', 'w') as f: f.write(str(n) * 1000)\n"
    )
    async with served.box() as box:
        busy = await box.exec(python(code))
        await line(busy)
        stopped = await box.exec(sh("sleep 1000 & kill -STOP $!; echo $!; wait"))
        sleeper = (await line(stopped)).decode().strip()
        for _ in range(3):
            await said(box, 'a=$(cat /app/0/a); while [ "$a" = "$(cat /app/0/a)" ]; do :; done')  # it goes on
            with tarfile.open(fileobj=io.BytesIO(await whole(box.snapshot()))) as tar:
                assert tar.getmember("app/0").isdir()
        assert " T " in await said(box, f"cat /proc/{sleeper}/stat")  # what the box had stopped stays so
        await box.stop()
        first, second = await whole(box.snapshot()), await whole(box.snapshot())
        assert first == second
        waiting = asyncio.ensure_future(box.run(sh("echo after")))
        assert await whole(box.snapshot()) == first
        await box.resume()
        assert (await waiting).stdout == b"after\n"
        assert await whole(box.snapshot(live=True)) != b""
        await busy.close()
        await stopped.close()


async def test_whoever_leaves_before_all_stand_still_leaves_nothing_standing(served: Served) -> None:
    async with served.box() as box:
        leaving = asyncio.ensure_future(box.stop())
        staying = asyncio.ensure_future(box.stop())
        await asyncio.sleep(0)
        leaving.cancel()
        await staying
        await box.resume()
        alone = asyncio.ensure_future(box.stop())
        await asyncio.sleep(0)
        alone.cancel()
        assert await said(box, "echo goes on") == "goes on\n"


async def test_a_box_can_be_forked(served: Served) -> None:
    async with served.box() as box, served.box() as fork:
        await said(box, "echo one > a")
        await fork.restore(box.snapshot())
        await said(box, "echo two > a")
        assert await said(fork, "cat a; echo three > a") == "one\n"
        assert await said(box, "cat a") == "two\n"


@pytest.mark.parametrize("size", [0, 512, 20_000])
async def test_a_snapshot_that_was_cut_off_is_refused(served: Served, size: int) -> None:
    async with served.box() as box:
        snapshot = await whole(box.snapshot())
        with pytest.raises(FileFault, match="cut off") as fault:
            await box.restore(pieces(snapshot[:size]) if size else pieces())
        assert fault.value.number == errno.EINVAL


async def test_the_source_of_a_restore_may_break(served: Served) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"x"
        raise RuntimeError("the store is gone")

    async with served.box() as box:
        with pytest.raises(RuntimeError, match="the store is gone"):
            await box.restore(broken())
        assert await said(box, "echo lives") == "lives\n"


@pytest.mark.parametrize(
    ("member", "number"),
    [
        ({"name": "../x"}, errno.EINVAL),
        ({"name": "/x"}, errno.EINVAL),
        ({"name": "link/x"}, errno.ELOOP),
        ({"name": "x", "type": tarfile.CHRTYPE}, errno.EINVAL),
        ({"name": "x", "type": tarfile.LNKTYPE, "linkname": "../../etc/passwd"}, errno.EINVAL),
        ({"name": "x", "type": tarfile.LNKTYPE, "linkname": "link/passwd"}, errno.ELOOP),
    ],
)
async def test_members_of_an_archive_stay_below_their_folder(
    served: Served, member: dict[str, object], number: int
) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc"
        tar.addfile(link)
        info = tarfile.TarInfo("x")
        for name, value in member.items():
            setattr(info, name, value)
        tar.addfile(info)
    async with served.box() as box:
        with pytest.raises(FileFault) as fault:
            await box.extract("into", pieces(packed.getvalue()))
        assert fault.value.number in (number, errno.ENOTDIR)
        assert await said(box, "ls / /etc | grep -c '^x$' || true") == "0\n"
