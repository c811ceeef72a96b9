"""The cutting of samples into pieces: nobody waits for a full piece, and no group is parted."""

from __future__ import annotations

import asyncio
import json

from rewarden.types import Sample
from rewarden_server.studies.rescore.pieces import Piece, Pieces


def texts(piece: Piece) -> list[str]:
    return [row["response"] for row in json.loads(piece.data)]


async def put(pieces: Pieces, *names: str, size: int | None = None, group: str | None = None) -> None:
    for name in names:
        await pieces.put(Sample(response=name, group=group, group_size=size))


async def test_what_lies_ready_is_taken_at_once_and_in_order() -> None:
    pieces = Pieces()
    await put(pieces, *"abcde")
    first, second = await pieces.take(3), await pieces.take(3)
    assert (texts(first), texts(second)) == (["a", "b", "c"], ["d", "e"])
    assert (first.first, second.first, pieces.count) == (0, 3, 5)


async def test_a_group_travels_whole_however_large() -> None:
    pieces = Pieces()
    await put(pieces, "a")
    await put(pieces, *"bcdef", size=5, group="g")
    await put(pieces, *"gh", size=2, group="h")
    assert [texts(await pieces.take(2)) for _ in range(2)] == [list("abcdef"), list("gh")]


async def test_a_group_that_is_not_whole_is_not_taken() -> None:
    pieces = Pieces()
    await put(pieces, *"ab", size=3, group="g")
    taking = asyncio.create_task(pieces.take(1))
    await asyncio.sleep(0)
    assert not taking.done()
    await put(pieces, "c", size=3, group="g")
    assert texts(await taking) == ["a", "b", "c"]


async def test_a_group_larger_than_what_may_lie_ready_comes_in() -> None:
    pieces = Pieces()
    await put(pieces, *map(str, range(2000)), size=2001, group="g")
    putting = asyncio.create_task(put(pieces, "last", size=2001, group="g"))
    assert (await pieces.take(1)).count == 2001
    await putting


async def test_what_comes_too_fast_waits_for_takers() -> None:
    pieces = Pieces()
    putting = asyncio.create_task(put(pieces, *map(str, range(600))))
    for _ in range(3):
        await asyncio.sleep(0)
    assert not putting.done()
    taken = 0
    while taken < 600:
        taken += (await pieces.take(100)).count
    await putting


async def test_what_comes_back_is_the_next_to_be_taken() -> None:
    pieces = Pieces()
    await put(pieces, *"ab")
    lost = await pieces.take(1)
    pieces.give_back(lost)
    assert await pieces.take(1) is lost
    assert texts(await pieces.take(1)) == ["b"]
