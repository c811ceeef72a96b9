"""Folders of the machine in a room: read, never written, and seen by nobody whose language does not mount them."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from rewarden_sandboxes.errors import BadJob, NoRoom
from rewarden_sandboxes.host import Host, Kind
from rewarden_sandboxes.job import CaseResult, Job, Limits, Program
from rewarden_sandboxes.settings import MOST_LIMITS, ROOM_LIMITS
from tests.programs import LAUNCHERS
from tests.sandbox.conftest import events_of, run, started

pytestmark = [pytest.mark.needs_server, pytest.mark.asyncio(loop_scope="module")]

ROWS = """
{name}:
  images: [python]
  file: main.py
  run: [python3, main.py]
  python: true
  fences: []
  limits: {{memory_mb: {memory_mb}}}
  mounts: {{{mounts}}}
"""

TRY = """
import os
for path in ("/mnt/tool/here/word", "/mnt/tool/here/new", "/mnt/new", "/mnt/tool/new"):
    try:
        open(path, "w")
        print("written", path)
    except OSError as error:
        pass
try:
    os.chmod("/mnt/tool/here/word", 0o777)
    print("changed")
except OSError:
    pass
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the folder that is mounted: everybody may write to it, and nobody but its owner may come near it."""
    above = tmp_path_factory.mktemp("closed")
    inner = above / "tool"
    inner.mkdir()
    (inner / "word").write_text("mounted")
    (inner / "word").chmod(0o666)
    inner.chmod(0o777)
    above.chmod(0o700)
    return inner


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=LAUNCHERS)
async def host(
    request: pytest.FixtureRequest, folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Host]:
    rows = tmp_path_factory.mktemp("rows") / "rows.yaml"
    both = f'"/mnt/tool/here": "{folder}", "/mnt/other": "{folder}"'
    rows.write_text(
        ROWS.format(name="mounted", memory_mb=256, mounts=both)
        + ROWS.format(name="large", memory_mb=700, mounts=f'"/mnt/tool": "{folder}"')
        + ROWS.format(name="missing", memory_mb=256, mounts='"/mnt/tool": "/nowhere/at/all"')
    )
    limits, most = replace(ROOM_LIMITS, memory_mb=128), replace(MOST_LIMITS, memory_mb=256)
    async for each in started(request.param, slots=4, warm=1, languages=str(rows), limits=limits, max_limits=most):
        yield each


async def test_a_program_reads_what_its_language_mounts(host: Host) -> None:
    report = await run(
        host, "for p in ('/mnt/tool/here/word', '/mnt/other/word'): print(open(p).read())", language="mounted"
    )
    assert report.stdout == b"mounted\nmounted\n", report


async def test_nothing_that_is_mounted_nor_the_folder_around_it_can_be_written(host: Host, folder: Path) -> None:
    report = await run(host, TRY, language="mounted")
    assert (report.status, report.stdout) == ("ok", b""), report
    assert [path.name for path in folder.iterdir()] == ["word"]
    assert (folder / "word").read_text() == "mounted"


async def test_languages_that_mount_other_things_see_nothing_of_it(host: Host) -> None:
    await run(host, "print(1)", language="mounted")
    report = await run(host, "import os\nprint(os.listdir('/mnt'))")
    assert report.stdout == b"[]\n"
    assert (await run(host, "import os\nprint(os.listdir('/mnt'))", language="large")).stdout == b"['tool']\n"


async def test_a_row_may_give_more_than_a_job_may_ask_for(host: Host) -> None:
    report = await run(host, "x = bytearray(600 << 20); print(len(x) >> 20)", language="large")
    assert (report.status, report.stdout) == ("ok", b"600\n"), report
    for language, most in (("large", 700), ("mounted", 256)):
        over = Job(program=Program(language=language, code=b"", limits=Limits(memory_mb=most + 1)))
        with pytest.raises(BadJob, match=str(most)):
            await events_of(host, over)


async def test_a_folder_that_is_not_there_is_named(host: Host) -> None:
    with pytest.raises(NoRoom, match="/nowhere/at/all"):
        await events_of(host, Job(program=Program(language="missing", code=b""), patience_s=20.0))
    assert not Path("/nowhere").exists()


async def test_two_programs_in_one_slot_mount_what_both_need(host: Host) -> None:
    write, read = b"print(open('/mnt/other/word').read())", b"import sys; sys.exit(input() != 'mounted')"
    mounted, plain = Program(language="mounted", code=write), Program(language="python", code=read)
    [result] = await events_of(host, Job(program=mounted, partner=plain, join="stdio"))
    assert isinstance(result, CaseResult)
    assert result.partner is not None
    assert (result.program.status, result.partner.status) == ("ok", "ok")
    large = Program(language="large", code=b"")
    other = Program(language="missing", code=b"")
    # At the same place, and one in the other: what is mounted cannot be written to, so nothing can be mounted in it.
    for partner in (other, mounted):
        for pair in ((large, partner), (partner, large)):
            with pytest.raises(BadJob, match="/mnt/tool") as refused:
                await events_of(host, Job(program=pair[0], partner=pair[1], join="stdio", patience_s=20.0))
            assert refused.value.path == "partner.language"


HOLD = """
import fcntl, time
file = open("/mnt/tool/here/word")
fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
print("locked", flush=True)
time.sleep({})
"""


async def test_a_lock_on_what_is_mounted_tells_a_run_beside_nothing(host: Host) -> None:
    if host.settings.launcher == "docker" or os.geteuid() != 0:
        pytest.skip("slots have inodes of their own with bubblewrap as root")
    beside = [asyncio.ensure_future(run(host, HOLD.format(0.5), language="mounted")) for _ in range(2)]
    assert [report.stdout for report in await asyncio.gather(*beside)] == [b"locked\n"] * 2


async def test_what_a_host_says_of_itself_tells_no_folder_of_the_machine(host: Host, folder: Path) -> None:
    await run(host, "print(1)", language="mounted")
    await run(host, "print(1)", language="large")
    told = await host.status()
    assert str(folder) not in json.dumps(told)
    assert told["languages"]["mounted"]["mounts"] == ["/mnt/other", "/mnt/tool/here"]
    assert len(told["slots"]) == len(host._pools)


async def test_pools_of_other_mounts_have_other_names() -> None:
    kinds = [Kind("python", (("/mnt/lean/toolchain", outside),), 1024) for outside in ("/a", "/b")]
    assert len({str(kind) for kind in kinds}) == 2
