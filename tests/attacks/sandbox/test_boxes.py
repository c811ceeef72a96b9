"""Attacks from inside of a box: on the machine, on the sandbox's own processes in it, and on what it says of the box."""

from __future__ import annotations

import ast
import asyncio
import errno
import io
import signal
import tarfile
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest
import pytest_asyncio

from rewarden_sandboxes.box import MOST_EXECS, Exec
from rewarden_sandboxes.errors import BadJob, FileFault, HostError
from rewarden_sandboxes.remote_box import RemoteBox
from tests.programs import LAUNCHERS
from tests.sandbox.boxes import line, python, said, sh, whole
from tests.sandbox.served import Served, serving

pytestmark = [pytest.mark.alone, pytest.mark.asyncio(loop_scope="module")]

REFUSED = """
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
def refused(name, *arguments):
    ctypes.set_errno(0)
    return getattr(libc, name)(*arguments) == -1 and ctypes.get_errno() in (errno.EPERM, errno.EACCES, errno.ENOSYS)
own = open('/proc/self/ns/mnt').fileno()
print(all([
    refused('unshare', 0x10000000), refused('unshare', 0x20000), refused('setns', own, 0), refused('chroot', b'/tmp'),
    refused('mount', b'none', b'/tmp', b'tmpfs', 0, None), refused('umount2', b'/tmp', 2), refused('ptrace', 0, 0, 0, 0),
    refused('pivot_root', b'/', b'/tmp') if hasattr(libc, 'pivot_root') else True,
]))
"""
OPEN = """
import os
found = {number: os.path.exists(f'/proc/self/fd/{number}') for number in range(1024)}
print([number for number in found if found[number]])
"""
SEGMENTS = """
import ctypes
libc = ctypes.CDLL(None)
libc.shmat.restype, libc.shmat.argtypes = ctypes.c_void_p, (ctypes.c_int, ctypes.c_void_p, ctypes.c_int)
while True:
    size = 8 << 20
    place = libc.shmat(libc.shmget(0, size, 0o1600), None, 0)
    ctypes.memset(place, 1, size)
"""
SEEN = "cat /proc/[0-9]*/comm 2> /dev/null | grep -vE '^(cat|sh|grep)$' || true"
"""Shell: the programs in the box beside those that look."""


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=LAUNCHERS)
async def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    async for each in serving(request.param, f"unix:{tmp_path_factory.mktemp('host')}/socket", boxes=3):
        yield each


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def box(served: Served) -> AsyncIterator[RemoteBox]:
    """One box for attacks that leave it as it was."""
    async with served.box() as box:
        yield box


async def test_a_program_has_no_capability_and_its_filters_whatever_it_is(box: RemoteBox) -> None:
    shown = "grep -E '^(Cap(Inh|Prm|Eff|Amb)|NoNewPrivs|Seccomp):' /proc/self/status | tr -d '\\t '"
    nothing = [f"Cap{name}:0000000000000000" for name in ("Inh", "Prm", "Eff", "Amb")]
    expected = [*nothing, "NoNewPrivs:1", "Seccomp:2"]
    assert (await said(box, shown)).split() == expected
    code = "import re\nprint(re.findall(r'(Cap(?:Inh|Prm|Eff|Amb)|NoNewPrivs|Seccomp):\\t(.*)', open('/proc/self/status').read()))"
    report = await box.run(python(code))
    assert [f"{name}:{value}" for name, value in ast.literal_eval(report.stdout.decode())] == expected


async def test_no_namespace_mount_or_other_process_can_be_had(box: RemoteBox) -> None:
    report = await box.run(python(REFUSED))
    assert report.stdout == b"True\n", report


async def test_a_program_has_its_three_streams_and_nothing_of_the_sandboxs(box: RemoteBox) -> None:
    for what in (python(OPEN), Exec(argv=("python3", "-c", OPEN))):
        assert (await box.run(what)).stdout == b"[0, 1, 2]\n"


async def test_neither_the_supervisor_nor_the_init_nor_the_machine_is_seen(box: RemoteBox) -> None:
    assert await said(box, SEEN) == ""
    assert await said(box, "ls /sys /run /mnt | grep -v : | tr -d '\\n'") == ""
    for path in ("/proc/1/root/etc", "/proc/1/cwd/etc", "/proc/1/fd/0", "/proc/1/mem", "/proc/1/status"):
        assert await said(box, f"cat {path} 2> /dev/null || echo refused") == "refused\n"
    assert "denied" in await said(box, "(echo 1 > /proc/sys/kernel/hostname) 2>&1 || true")


@pytest.mark.parametrize("link", ["/proc/1/root", "/proc/self/root", "/proc/thread-self/cwd", "/dev/fd"])
async def test_a_link_leads_work_on_files_nowhere_but_into_the_box(box: RemoteBox, link: str) -> None:
    await said(box, f"ln -sfn {link} away; echo boxed > /etc/hostname")
    with pytest.raises(FileFault) as fault:
        await whole(box.get("away/etc/hostname"))
    assert fault.value.number in (errno.ENOENT, errno.EACCES)
    with pytest.raises(FileFault):
        await box.put("away/tmp/planted", b"x")
    await said(box, "ln -sfn / away")
    assert await whole(box.get("away/etc/hostname")) == b"boxed\n"


async def test_killing_all_kills_the_boxs_own_and_the_box_lives_on(served: Served) -> None:
    async with served.box() as box:
        victim = await box.exec(sh("echo up; cat", stdin=True))
        await line(victim)
        feed: asyncio.Queue[bytes] = asyncio.Queue()
        begun = asyncio.Event()

        async def slowly() -> AsyncIterator[bytes]:
            begun.set()
            while part := await feed.get():
                yield part

        putting = asyncio.ensure_future(box.put("while", slowly()))
        feed.put_nowait(b"before ")
        await begun.wait()
        killer = await box.run(python("import os, signal\nos.kill(-1, signal.SIGKILL)\nprint('killed')"))
        assert killer.stdout == b"killed\n"
        assert (await victim.finish()).signal == signal.SIGKILL
        feed.put_nowait(b"after")
        feed.put_nowait(b"")
        await putting
        assert await said(box, "cat while; kill -9 1; kill -STOP 1; true") == "before after"
        assert await said(box, "echo lives") == "lives\n"


async def test_work_on_files_is_not_seen_while_it_is_done(box: RemoteBox) -> None:
    begun, go = asyncio.Event(), asyncio.Event()

    async def held() -> AsyncIterator[bytes]:
        begun.set()
        yield b"x"
        await go.wait()

    putting = asyncio.ensure_future(box.put("held", held()))
    await begun.wait()
    assert await said(box, SEEN) == ""
    go.set()
    await putting


async def test_marks_of_the_kernel_and_of_snapshots_cannot_be_forged(served: Served) -> None:
    code = """
import os
os.makedirs('/usr/own/inner')
for path in ('/usr', '/usr/own', '/var', '/app'):
    os.makedirs(path, exist_ok=True)
    for name in ('user.overlay.opaque', 'user.overlay.whiteout', 'user.overlay.redirect'):
        try: os.setxattr(path, name, b'y')
        except OSError: pass
for name in ('.wh..wh..opq', '.wh.lib', '.wh.bin', '.wh..wh..end'):
    open('/usr/' + name, 'w').close()
try: os.mknod('/usr/lib64', 0o020000, 0)
except OSError: pass
print(sorted(os.listdir('/usr')))
"""
    async with served.box() as box:
        seen = (await box.run(python(code))).stdout
        assert b"'.wh.bin', '.wh.lib'" in seen
        snapshot = await whole(box.snapshot())
        with tarfile.open(fileobj=io.BytesIO(snapshot)) as tar:
            marked = [info.name for info in tar if "REWARDEN.mark" in info.pax_headers]
        assert not [name for name in marked if name.startswith(("usr/", "var/.", "var/lib"))]
    async with served.box() as other:
        await other.restore(_once(snapshot))
        assert await whole(other.snapshot()) == snapshot
        assert (await other.run(python("import os\nprint(sorted(os.listdir('/usr')))"))).stdout == seen


async def test_files_take_no_memory_from_programs(served: Served) -> None:
    async with served.box(memory_mb=64, disk_mb=128) as box:
        assert b"No space left" in (await box.run(sh("head -c 1G /dev/zero > a || head -c 1G /dev/zero > b"))).stderr
        assert await said(box, "python3 -c 'b = bytearray(40 << 20); print(len(b))'") == "41943040\n"


async def test_memory_that_is_nobodys_ends_programs_and_not_the_supervisor(served: Served) -> None:
    """Segments of System V outlive whoever made them."""
    async with served.box(memory_mb=64) as box:
        for _ in range(3):
            await box.run(python(SEGMENTS))
        with suppress(HostError):
            await box.put("x", b"x")
        assert box.fault is None
    async with served.box() as box:
        assert await said(box, "echo lives") == "lives\n"


async def _once(data: bytes) -> AsyncIterator[bytes]:
    yield data


async def test_many_programs_keep_no_file_from_being_read(served: Served) -> None:
    """A policy decides by no number of programs whether its answer can be had."""
    async with served.box(processes=128) as box:
        await box.put("answer", b"42")
        for _ in range(MOST_EXECS):
            await box.exec(Exec(argv=("cat",), stdin=True))
        with pytest.raises(BadJob, match="are already running in this box"):
            await box.exec(Exec(argv=("cat",), stdin=True))
        assert await whole(box.get("answer")) == b"42"
        assert await whole(box.snapshot())


async def test_no_file_can_be_leased(box: RemoteBox) -> None:
    await box.put("answer", b"42")
    code = "import fcntl\nfcntl.fcntl(open('answer'), fcntl.F_SETLEASE, fcntl.F_RDLCK)"
    assert b"PermissionError" in (await box.run(python(code))).stderr


async def test_folders_too_deep_for_an_archive_are_the_boxs_fault(served: Served) -> None:
    code = "import os\nfor _ in range(1500):\n    os.mkdir('d')\n    os.chdir('d')"
    async with served.box() as box:
        await box.run(python(code))
        for taken in (box.archive(), box.snapshot()):
            with pytest.raises(FileFault) as fault:
                await whole(taken)
            assert fault.value.number == errno.ENAMETOOLONG
            assert len(fault.value.path) < 500
        assert await said(box, "echo lives") == "lives\n"


async def test_a_list_has_a_bounded_size_whatever_links_say(served: Served) -> None:
    code = "import os\nfor number in range(2500):\n    os.symlink('x' * 4000, str(number))"
    async with served.box() as box:
        assert (await box.run(python(code))).status == "ok"
        with pytest.raises(FileFault) as fault:
            await box.list()
        assert fault.value.number == errno.EFBIG


async def test_holes_of_files_fill_no_disk_of_who_keeps_a_snapshot(served: Served) -> None:
    async with served.box() as box:
        await said(box, "truncate -s 40M one; printf x >> one")
        snapshot = await whole(box.snapshot())
        async with served.box() as other:
            await other.restore(_once(snapshot))
            assert await said(other, "stat -c %s one; tail -c 1 one; du -k one | cut -f 1") == "41943041\nx4\n"
        await said(box, "truncate -s 40M two")
        with pytest.raises(FileFault) as fault:
            await whole(box.snapshot())
        assert fault.value.number == errno.EFBIG
        assert await said(box, "echo lives") == "lives\n"


async def test_a_folder_that_nobody_may_look_into_hides_no_other(served: Served) -> None:
    async with served.box() as box:
        await said(box, "mkdir -p a/b c; touch a/b/x c/y; chmod 0 a/b")
        assert [entry.path for entry in await box.list(depth=5)] == ["a", "a/b", "c", "c/y"]


async def test_an_error_can_be_shown_whatever_a_name_has_in_it(box: RemoteBox) -> None:
    await box.run(python("import os\nos.makedirs(b'odd/\\xff')\nos.chmod(b'odd', 0o500)"))
    with pytest.raises(FileFault) as fault:
        await box.remove("odd")
    assert fault.value.path.endswith("\\xff")
    await said(box, "chmod 700 odd")


async def test_what_is_forbidden_to_all_keeps_no_archive_from_being_had(box: RemoteBox) -> None:
    await said(box, "mkdir -p work/shut; echo a > work/shut/a; echo b > work/b; chmod 0 work/b work/shut")
    with tarfile.open(fileobj=io.BytesIO(await whole(box.archive("work")))) as tar:
        assert tar.getnames() == ["b", "shut", "shut/a"]
    with pytest.raises(FileFault) as fault:
        await whole(box.archive("/etc/shadow"))
    assert fault.value.number in (errno.EACCES, errno.ENOENT)


async def test_what_forks_and_ends_again_and_again_stands_still_as_well(served: Served) -> None:
    code = """
import os
file = os.open('count', os.O_CREAT | os.O_RDWR)
number = 0
while True:
    if os.fork():
        os._exit(0)
    number += 1
    os.pwrite(file, b'%d' % number, 0)
"""
    async with served.box() as box:
        await box.put("chain.py", code.encode())
        await said(
            box, "for each in 1 2 3; do python3 -S chain.py > /dev/null & done; while ! [ -s count ]; do :; done"
        )
        for _ in range(10):
            await box.stop()
            seen = {await whole(box.get("count")) for _ in range(5)}
            await box.resume()
            assert len(seen) == 1
            await said(box, "true")


async def test_a_link_to_a_file_without_end_is_refused(box: RemoteBox) -> None:
    await said(box, "sleep 1000 > /dev/null & ln -sf /proc/$!/pagemap endless")
    with pytest.raises(FileFault):
        await whole(box.get("endless"))
    assert b"MemTotal" in await whole(box.get("/proc/meminfo"))


@pytest.mark.parametrize(
    ("headers", "number"),
    [
        ({"mtime": "soon"}, errno.EINVAL),
        ({"mtime": "9" * 30}, errno.EINVAL),
        ({"GNU.sparse.map": "0,1,x"}, errno.EINVAL),
        ({"GNU.sparse.size": str(1 << 40), "GNU.sparse.map": "0,0"}, errno.EFBIG),
    ],
)
async def test_numbers_of_an_archive_that_are_none_are_refused_at_once(
    box: RemoteBox, headers: dict[str, str], number: int
) -> None:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.PAX_FORMAT) as tar:
        info = tarfile.TarInfo("name")
        info.pax_headers = headers
        tar.addfile(info)
    with pytest.raises(FileFault) as fault:
        await box.extract("numbers", _once(archive.getvalue()))
    assert fault.value.number == number
