"""The task that kills its process is found with few deaths, and none that is innocent is blamed."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from rewarden_server.models.suspects import culprits


class Process:
    """Dies of some numbers, whenever one of them is tried."""

    def __init__(self, deadly: Sequence[int]) -> None:
        self._deadly = set(deadly)
        self.tried: list[list[int]] = []
        self.deaths = 0

    async def attempt(self, group: list[int]) -> list[int]:
        """See `culprits`."""
        self.tried.append(group)
        died = not self._deadly.isdisjoint(group)
        self.deaths += died
        return group if died else []

    async def culprits_of(self, suspects: Sequence[int]) -> list[int]:
        return [found async for found in culprits(suspects, self.attempt)]


@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 200, 512, 1024])
async def test_the_one_that_kills_is_found_with_few_deaths(count: int) -> None:
    for deadly in {0, count // 3, count - 1}:
        process = Process([deadly])
        assert await process.culprits_of(range(count)) == [deadly]
        assert process.deaths <= 4
        assert set().union(*process.tried) == set(range(count))


async def test_when_none_kills_each_is_tried_once_in_few_groups() -> None:
    process = Process([])
    assert await process.culprits_of(range(512)) == []
    assert [len(group) for group in process.tried] == [64] * 8


async def test_of_several_that_kill_each_is_found() -> None:
    process = Process([3, 4, 300])
    assert await process.culprits_of(range(512)) == [3, 4, 300]


async def test_what_has_answered_before_the_death_is_suspected_no_more() -> None:
    async def attempt(group: list[int]) -> list[int]:
        return group[group.index(5) :] if 5 in group else []

    assert [found async for found in culprits(range(100), attempt)] == [5]


async def test_where_all_kill_the_process_does_not_die_for_ever() -> None:
    process = Process(range(512))
    assert sorted(await process.culprits_of(range(512))) == list(range(512))
    assert process.deaths == 16


async def test_nobody_is_suspected_of_nothing() -> None:
    process = Process([])
    assert await process.culprits_of([]) == []
    assert process.tried == []
