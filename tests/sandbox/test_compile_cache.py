"""Programs are compiled once, for all who want the same; and nothing that one compilation wrote reaches another."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from rewarden_sandboxes.compile_cache import CompileCache, Compiled
from rewarden_sandboxes.host import Host
from rewarden_sandboxes.job import Case, CaseResult, CompileResult, Job, JobEvent, Limits, Program, Report
from rewarden_sandboxes.languages import Registry
from rewarden_sandboxes.resolve import Resolver
from rewarden_sandboxes.settings import HostSettings
from rewarden_sandboxes.slot import SlotLost
from tests.programs import LAUNCHERS
from tests.sandbox.conftest import events_of, started

MADE = Compiled(report=Report(status="ok"), files=b"x" * 1000)
ROOM = 8 * MADE.size
"""Bytes of a cache that holds eight of those, and none that is larger."""


# --- what is kept --------------------------------------------------------------------------------------------------


def kept(cache: CompileCache, keys: bytes) -> bytes:
    """Returns those of some keys of one byte that are kept."""
    return bytes(key for key in keys if bytes([key]) in cache)


def test_what_was_used_least_recently_makes_room() -> None:
    cache = CompileCache(ROOM)
    for key in b"abcdefgh":
        cache.keep(bytes([key]), MADE)
    assert cache.find(b"a") is MADE
    cache.keep(b"i", MADE)
    assert kept(cache, b"abcdefghi") == b"acdefghi"
    assert cache.status() == {
        "hits": 1,
        "misses": 0,
        "evictions": 1,
        "entries": 8,
        "bytes": ROOM,
        "most_bytes": ROOM,
    }


def test_one_program_cannot_take_the_room_of_all_others() -> None:
    cache = CompileCache(ROOM)
    cache.keep(b"a", MADE)
    cache.keep(b"b", replace(MADE, files=b"x" * 1001))
    assert kept(cache, b"ab") == b"a"


@pytest.mark.parametrize(
    "report",
    [
        Report(status="runtime_error", exit_code=1),  # the compiler's no: it may have been for want of a process
        Report(status="time_limit", limit="cpu_s"),
        Report(status="memory_limit", limit="memory_mb"),
        Report(status="internal_error", flags=("starved",)),
        Report(status="ok", flags=("rerun",)),  # between its soft and its hard limit: the next may end otherwise
    ],
    ids=lambda report: f"{report.status} {' '.join(report.flags)}".strip(),
)
def test_an_end_that_may_not_be_the_next_ones_is_never_kept(report: Report) -> None:
    cache = CompileCache(ROOM)
    cache.keep(b"a", Compiled(report=report, files=b""))
    assert kept(cache, b"a") == b""


def test_a_cache_without_room_keeps_nothing() -> None:
    cache = CompileCache(0)
    cache.keep(b"a", MADE)
    assert kept(cache, b"a") == b""


# --- once for all --------------------------------------------------------------------------------------------------


class Flight:
    """Some who want the same program. `compiling`: those who do, by number, each until it is told to end."""

    def __init__(self) -> None:
        self.cache = CompileCache(ROOM)
        self.compiling: dict[int, asyncio.Future[Compiled]] = {}
        self.tasks: list[asyncio.Task[bool]] = []

    async def join(self, count: int, keys: bytes = b"a") -> None:
        """So many more want all of these."""
        for _ in range(count):
            self.tasks.append(asyncio.create_task(self._want(len(self.tasks), [bytes([key]) for key in keys])))
        await self.settle()

    async def _want(self, number: int, keys: list[bytes]) -> bool:
        async with self.cache.turn(keys):
            if all(self.cache.find(key) for key in keys):
                return True
            self.compiling[number] = asyncio.get_running_loop().create_future()
            try:
                made = await self.compiling[number]
            finally:
                del self.compiling[number]
            for key in keys:
                self.cache.keep(key, made)
            return False

    async def settle(self) -> None:
        """Let all go as far as they can."""
        for _ in range(10):
            await asyncio.sleep(0)


async def test_of_those_who_want_the_same_one_compiles_and_all_others_have_it() -> None:
    flight = Flight()
    await flight.join(8)
    assert list(flight.compiling) == [0]
    flight.compiling[0].set_result(MADE)
    assert await asyncio.gather(*flight.tasks) == [False] + [True] * 7


async def test_who_gives_up_leaves_the_compilation_to_the_next() -> None:
    flight = Flight()
    await flight.join(3)
    flight.tasks[0].cancel()
    await flight.settle()
    assert list(flight.compiling) == [1]
    flight.compiling[1].set_result(MADE)
    assert await flight.tasks[2] is True


@pytest.mark.parametrize("lost", [False, True], ids=["it fails", "it kills its slot"])
async def test_after_a_failure_all_who_waited_compile_at_the_same_time(lost: bool) -> None:
    flight = Flight()
    await flight.join(3)
    if lost:
        flight.compiling[0].set_exception(SlotLost("the slot is gone"))
    else:
        flight.compiling[0].set_result(Compiled(report=Report(status="time_limit"), files=b""))
    await flight.settle()
    assert sorted(flight.compiling) == [1, 2]
    for waiting in flight.compiling.values():
        waiting.set_result(MADE)
    await asyncio.gather(*flight.tasks, return_exceptions=True)


async def test_two_who_want_the_same_two_never_wait_for_each_other() -> None:
    flight = Flight()
    await flight.join(1, b"ab")
    await flight.join(1, b"ba")
    await flight.join(1, b"c")
    assert sorted(flight.compiling) == [0, 2]
    flight.compiling[0].set_result(MADE)
    assert await flight.tasks[1] is True
    flight.compiling[2].set_result(MADE)
    await flight.tasks[2]


# --- the key -------------------------------------------------------------------------------------------------------

ROWS = """
sourced: {images: [python], file: main.sh, compile: [sh, main.sh], run: [sh, out], flags: [-x]}
flags: {images: [python], file: main.sh, compile: [sh, -e, main.sh], run: [sh, out]}
named: {images: [python], file: other.sh, compile: [sh, main.sh], run: [sh, out]}
mounted: {images: [python], file: main.sh, compile: [sh, main.sh], run: [sh, out], mounts: {/mnt/tools: /usr}}
"""
"""Languages whose compiler is the program itself: nothing that a hostile compilation can do is out of its reach."""

SOURCE = Program(language="sourced", code=b"echo echo 1 > out", files={"a": b"1", "b": b"2"})


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("languages") / "rows.yaml"
    path.write_text(ROWS, encoding="utf-8")
    return path


def key(rows: Path, job: Job, image: str = "sha256:1") -> bytes | None:
    """Returns the name of a job's first compilation."""
    resolver = Resolver(Registry.load(rows), HostSettings(languages=str(rows)))
    return resolver.ready(job).compilations[0].key(image)


@pytest.mark.parametrize(
    "other",
    [
        {"code": b"echo echo 1 > out\n"},
        {"language": "flags"},
        {"flags": ["-x"]},
        {"language": "named"},
        {"files": {"a": b"1"}},
        {"files": {"a": b"1", "b": b"3"}},
        {"files": {"a": b"2", "b": b"1"}},
        {"files": {"a": b"1", "c": b"2"}},
    ],
    ids=lambda other: " ".join(map(str, next(iter(other.items())))),
)
def test_another_source_command_or_file_is_another_key(rows: Path, other: Mapping[str, Any]) -> None:
    assert key(rows, Job(program=SOURCE)) != key(rows, Job(program=replace(SOURCE, **other)))


@pytest.mark.parametrize("limit", [{"cpu_s": 1.0}, {"memory_mb": 99}, {"disk_mb": 9}, {"output_bytes": 99}])
def test_another_limit_of_the_compilation_is_another_key(rows: Path, limit: dict[str, Any]) -> None:
    job = Job(program=SOURCE)
    assert key(rows, job) != key(rows, replace(job, compile_limits=Limits(**limit)))


def test_another_image_is_another_key(rows: Path) -> None:
    job = Job(program=SOURCE)
    assert key(rows, job) != key(rows, job, "sha256:2")


def test_the_same_compilation_has_the_same_key_whatever_it_is_for(rows: Path) -> None:
    job = Job(program=SOURCE)
    assert key(rows, job) == key(
        rows,
        Job(
            program=replace(SOURCE, args=["-x"], limits=Limits(cpu_s=1.0)),
            cases=[Case(stdin=b"1", files={"c": b"3"}, args=["-y"])] * 3,
            partner=Program(language="python", code=b""),
            once=True,
            patience_s=1.0,
        ),
    )


def test_what_depends_on_more_than_a_key_can_say_has_none(rows: Path) -> None:
    assert key(rows, Job(program=replace(SOURCE, language="mounted"))) is None  # a folder that its owner can change
    assert key(rows, Job(program=SOURCE), image="") is None  # the machine's own programs


# --- the host ------------------------------------------------------------------------------------------------------

in_rooms = [pytest.mark.needs_server, pytest.mark.alone, pytest.mark.asyncio(loop_scope="module")]


def rooms(test: Any) -> Any:
    for mark in in_rooms:
        test = mark(test)
    return test


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=LAUNCHERS)
async def host(request: pytest.FixtureRequest, rows: Path) -> AsyncIterator[Host]:
    async for each in started(request.param, slots=4, warm=1, languages=str(rows)):
        yield each


async def counted(host: Host, *jobs: Job) -> tuple[list[list[JobEvent]], tuple[int, int]]:
    """Returns what some jobs gave, begun at the same time, and the hits and misses that they brought."""
    before = host._compiled.status()
    events = await asyncio.gather(*(events_of(host, job) for job in jobs))
    after = host._compiled.status()
    return events, (after["hits"] - before["hits"], after["misses"] - before["misses"])


def shell(code: str, *, runs: int = 1, **more: Any) -> Job:
    return Job(program=Program(language="sourced", code=code.encode(), **more), cases=[Case()] * runs)


def printed(events: list[JobEvent]) -> list[bytes]:
    """Returns what each case printed. All must have ended well."""
    assert [event for event in events if isinstance(event, CompileResult) and event.report.status != "ok"] == []
    reports = [event.program for event in events if isinstance(event, CaseResult)]
    assert [report for report in reports if report.status != "ok"] == []
    return [report.stdout for report in reports]


@rooms
async def test_a_program_is_compiled_once_for_a_group_and_for_later_requests(host: Host) -> None:
    job = shell("echo compiling; echo 'echo ran' > out # group", runs=2)
    group, found = await counted(host, *[job] * 8)
    assert found == (7, 1)
    [later], found = await counted(host, job)
    assert found == (1, 0)
    for events in (*group, later):
        assert printed(events) == [b"ran\n"] * 2
        told = events[0]
        assert isinstance(told, CompileResult)
        assert told.report.stdout == b"compiling\n"  # who finds it hears what who made it heard


@rooms
async def test_a_program_and_a_partner_share_what_is_compiled(host: Host) -> None:
    code = "echo 'echo both' > out # shared"
    _, found = await counted(host, shell(code))
    assert found == (0, 1)
    job = replace(shell(code), partner=Program(language="sourced", code=code.encode()))
    [events], found = await counted(host, job)
    assert found == (2, 0)
    [case] = [event for event in events if isinstance(event, CaseResult)]
    assert case.partner is not None
    assert (case.program.stdout, case.partner.stdout) == (b"both\n", b"both\n")


@rooms
async def test_cases_of_a_compiled_program_are_shared_by_two_slots(host: Host) -> None:
    job = Job(
        program=Program(language="sourced", code=b"echo 'read x; echo $x' > out"),
        cases=[Case(stdin=b"%d\n" % number) for number in range(9)],
    )
    for _ in range(2):  # compiled, then found
        [events], _ = await counted(host, job)
        assert printed(events) == [b"%d\n" % number for number in range(9)]
        assert len([event for event in events if isinstance(event, CompileResult)]) == 1


@rooms
async def test_what_does_not_compile_is_compiled_again(host: Host) -> None:
    for _ in range(2):
        [events], found = await counted(host, shell("exit 3"))
        assert found == (0, 1)
        [told] = events
        assert isinstance(told, CompileResult)
        assert (told.report.status, told.report.exit_code) == ("runtime_error", 3)


@rooms
async def test_a_slot_of_another_image_neither_takes_nor_gives(host: Host) -> None:
    job = shell("echo 'echo image' > out")
    await counted(host, job)
    slots = [slot for pool in host._pools.values() for slot in pool._all]
    names = [slot.image for slot in slots]
    for slot in slots:
        slot.image = "another"
    try:
        [events], found = await counted(host, job)
    finally:
        for slot, name in zip(slots, names, strict=True):
            slot.image = name
    assert (printed(events), found) == ([b"image\n"], (0, 0))


@rooms
@pytest.mark.parametrize("launcher", LAUNCHERS)
async def test_with_the_cache_off_everything_ends_alike(launcher: str, host: Host, rows: Path) -> None:
    jobs = [
        shell("echo 'echo off' > out; echo warning >&2", runs=5),
        shell("echo no >&2; exit 1"),
        shell("echo 'exit 4' > out"),
        shell("true"),
        shell("sleep 60"),
    ]
    jobs[-1] = replace(jobs[-1], compile_limits=Limits(wall_s=0.2))
    async for off in started(launcher, slots=2, warm=1, languages=str(rows), compile_cache_mb=0):
        for job in jobs:
            plain = [_timeless(event) for event in await events_of(off, job)]
            for _ in range(2):
                assert [_timeless(event) for event in await events_of(host, job)] == plain
        assert off._compiled.status() == {
            "hits": 0,
            "misses": 0,
            "evictions": 0,
            "entries": 0,
            "bytes": 0,
            "most_bytes": 0,
        }


def _timeless(event: JobEvent) -> JobEvent:
    """The event without what no two runs have in common, and without what only tells of the launcher."""
    none: dict[str, Any] = {"cpu_time": 0.0, "wall_time": 0.0, "idle_time": 0.0, "peak_memory": None, "enforced": {}}
    if isinstance(event, CompileResult):
        return replace(event, report=replace(event.report, **none))
    return replace(event, program=replace(event.program, **none))


# --- poison --------------------------------------------------------------------------------------------------------

LOOK = (
    "ls -lA /tmp/box /tmp /dev/shm | grep -v ^total; grep -sl [w]hile /proc/[0-9]*/cmdline; cat ~/.profile 2>&1; true"
)
"""Prints all that a program can find which somebody may have left for it."""

POISON = {
    "files elsewhere": "for d in /tmp /dev/shm /var/tmp /usr/local/bin /run; do echo bad > $d/out; done 2>/dev/null",
    "a process": "setsid sh -c 'while :; do echo bad > /tmp/box/out; done' >/dev/null 2>&1 </dev/null &",
    "a library to be preloaded": "echo bad > /etc/ld.so.preload; echo bad > /tmp/ld.so.preload; true",
    "startup files": "for f in .profile .bashrc .gcc/specs specs; do mkdir -p ~/.gcc; echo bad > ~/$f; done",
}


@rooms
@pytest.mark.parametrize("name", POISON)
async def test_a_compilation_leaves_nothing_for_another_source(host: Host, name: str) -> None:
    honest = shell(f"({LOOK}) > seen; echo 'cat seen; {LOOK}' > out # {name}")
    clean = shell(f"({LOOK}) > seen; echo 'cat seen; {LOOK}' > out # before {name}")
    [events], _ = await counted(host, clean)
    [before] = printed(events)
    for _ in range(4):  # every slot
        await counted(host, *[shell(f"{POISON[name]}\necho 'echo bad' > out # {name} {number}") for number in range(4)])
    [events], found = await counted(host, honest)
    assert found == (0, 1)
    [after] = printed(events)
    assert _shapes(after, name) == _shapes(before, f"before {name}")


def _shapes(text: bytes, name: str) -> list[list[str]]:
    """The columns of listings that no user, size or time is in."""
    return [
        [column for place, column in enumerate(line.split()) if place not in (2, 3, 4, 5, 6, 7)]
        for line in text.decode().replace(name, "").splitlines()
    ]


@rooms
async def test_only_regular_files_of_the_working_folder_are_kept_and_without_special_rights(host: Host) -> None:
    code = (
        "ln -s /etc/passwd link; ln -s out way\n"
        "mkfifo pipe; echo twin > one; ln one two; echo x > /tmp/far; ln /tmp/far near 2>/dev/null\n"
        "echo own > suid; chmod 6777 suid; echo echo > out2; mkdir sub; echo deep > sub/deep; ln -s .. sub/up\n"
        "ln -s /tmp/far 'with space'\n"
    )
    job = shell(code + "echo 'find . ! -type d -printf \"%M %n %p\\n\" | sort' > out")
    for _ in range(2):  # as it was made, and as it is found
        [events], _ = await counted(host, job)
        [text] = printed(events)
        assert text.decode().splitlines() == [
            "-rw-r--r-- 1 ./main.sh",
            "-rw-r--r-- 1 ./near",
            "-rw-r--r-- 1 ./one",
            "-rw-r--r-- 1 ./out",
            "-rw-r--r-- 1 ./out2",
            "-rw-r--r-- 1 ./sub/deep",
            "-rw-r--r-- 1 ./two",
            "-rwxr-xr-x 1 ./suid",
        ]


@rooms
async def test_a_run_that_swaps_its_files_swaps_them_for_itself_alone(host: Host) -> None:
    code = "echo 'echo good; for f in out main.sh kept; do echo echo bad > $f; done; rm -f kept' > out; echo 1 > kept"
    job = shell(code + "\necho 'cat kept' >> out; sed -i 's/rm -f kept/true/' out", runs=2)
    first, _ = await counted(host, job)
    again, found = await counted(host, job, job)
    assert found == (2, 0)
    assert [printed(events) for events in (*first, *again)] == [[b"good\necho bad\n"] * 2] * 3


@rooms
async def test_a_job_that_is_left_while_it_compiles_leaves_nothing(host: Host) -> None:
    word = "left"
    slow = shell(f"echo 'echo half' > out; sleep 60; echo 'echo whole' > out # {word}")
    entries = host._compiled.status()["entries"]
    leaving = asyncio.create_task(_all(host, slow))
    while not host._compiled._under_way:
        await asyncio.sleep(0)
    leaving.cancel()
    await asyncio.gather(leaving, return_exceptions=True)
    assert host._compiled.status()["entries"] == entries
    assert not host._compiled._under_way


async def _all(host: Host, job: Job) -> None:
    async with aclosing(host.run(job)) as events:
        async for _ in events:
            pass
