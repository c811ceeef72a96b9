"""A worker as an untrusted process: its messages, its end, and its limits."""

from __future__ import annotations

import pytest

from rewarden.errors import SandboxError
from rewarden_server.lean.framing import FrameReader, Nonsense, frame
from rewarden_server.lean.process import Bounds, Ended, Process
from rewarden_server.lean.source_map import SourceMap
from rewarden_verifiers.lean.source import split_header
from rewarden_verifiers.provers import Position
from tests.lean.workers import NONSENSE, Box, Worker

BOUNDS = Bounds(cpu_s=60.0, wall_s=60.0, output_bytes=100_000)


async def opened() -> tuple[Process, Worker]:
    """A process with an empty header, and its worker."""
    box = Box()
    process = Process(Worker(box))
    await process.open("", BOUNDS)
    return process, process._session  # type: ignore[return-value]


async def test_messages_are_those_of_the_version_and_none_of_the_text_before() -> None:
    process, _ = await opened()
    for text in ("a\nb", "c"):
        await process.elaborate(text, BOUNDS)
        assert [each.message for each in process.diagnostics] == text.split("\n")


async def test_what_a_text_used_is_its_own() -> None:
    process, _ = await opened()
    for text in ("a", "b"):
        await process.elaborate(text, BOUNDS)
        assert process.spent.cpu_s == 0.25


@pytest.mark.parametrize("word", NONSENSE)
async def test_nonsense_ends_the_process_and_raises_nothing_else(word: str) -> None:
    process, _ = await opened()
    with pytest.raises(Ended) as raised:
        await process.elaborate(word, BOUNDS)
    assert raised.value.status == "crashed"


@pytest.mark.parametrize(
    ("word", "status", "limit"),
    [
        ("DIE", "crashed", None),
        ("HUNGRY", "memory_limit", "memory_mb"),
        ("SPIN", "time_limit", "cpu_s"),
        ("SLEEP", "time_limit", "wall_s"),
        ("FLOOD", "output_limit", "output_bytes"),
    ],
)
async def test_every_end_has_its_name(word: str, status: str, limit: str | None) -> None:
    process, _ = await opened()
    with pytest.raises(Ended) as raised:
        await process.elaborate(f"before\n{word}", Bounds(cpu_s=9.0, wall_s=9.0, output_bytes=100_000))
    assert (raised.value.status, raised.value.limit) == (status, limit)
    assert process.diagnostics[0].message == "before", "what was said until then is kept"


async def test_a_room_that_was_lost_is_ours() -> None:
    process, _ = await opened()
    with pytest.raises(SandboxError):
        await process.elaborate("LOST", BOUNDS)


async def test_cpu_time_beyond_the_limit_counts_though_the_answer_came_before_anybody_looked() -> None:
    process, _ = await opened()
    with pytest.raises(Ended) as raised:
        await process.elaborate("a", Bounds(cpu_s=0.1, wall_s=9.0, output_bytes=1000))
    assert raised.value.limit == "cpu_s"


async def test_a_header_that_cannot_be_loaded_says_so() -> None:
    process = Process(Worker(Box()))
    await process.open("import NO_SUCH\n", BOUNDS)
    assert process.fatal
    assert [each.message for each in process.diagnostics] == ["import NO_SUCH"]


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_frames_are_cut_wherever_the_bytes_are(size: int) -> None:
    data = b"".join(frame({"x": "é" * count}) for count in range(20))
    reader = FrameReader(1000)
    bodies = [body for at in range(0, len(data), size) for body in reader.feed(data[at : at + size])]
    assert len(bodies) == 20
    assert b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(body), body) for body in bodies) == data


def test_a_frame_that_is_too_large_is_refused_before_it_is_read() -> None:
    with pytest.raises(Nonsense):
        list(FrameReader(10).feed(b"Content-Length: 11\r\n\r\n"))


def test_places_come_back_in_the_callers_text() -> None:
    text = "/- 𝔸 -/ prelude\nimport Base -- x\n  𝔸𝔸 foo\nlast"
    sheet = SourceMap(text, split_header(text))
    assert sheet.sent == "prelude\nimport Base\n\n -- x\n  𝔸𝔸 foo\nlast"
    assert sheet.place(0, 3) == Position(line=1, column=0)  # the header is ours
    assert sheet.place(3, 1) == Position(line=2, column=12)
    assert sheet.place(4, 7) == Position(line=3, column=5)
    assert sheet.place(99, 99) == Position(line=4, column=4)
    assert sheet.point(text.index("foo")) == (4, 7)
    assert sheet.point(text.index("-- x")) == (3, 1)


def test_half_a_surrogate_pair_moves_no_place() -> None:
    text = "a\ud800b\nc"
    sheet = SourceMap(text, split_header(text))
    assert sheet.sent.encode().decode().endswith("a\ufffdb\nc")
    assert sheet.place(1, 2) == Position(line=1, column=2)
