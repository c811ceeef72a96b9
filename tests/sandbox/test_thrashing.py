"""Runs that are said to get nowhere for want of memory, by what a control group says, and what their end may take."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from rewarden_sandboxes.agent.accounting import Counters

MIB = 1 << 20
PAGES = MIB // os.sysconf("SC_PAGE_SIZE")
RUN = 64 * MIB


class Group:
    """The files of a group as the kernel would write them: a slot of 10 MiB in which a run has begun."""

    def __init__(self, folder: Path, *, stat: bool = True) -> None:
        self._folder = folder
        self.say(usage=10, files=4, again=0)
        (folder / "limit").write_text("0")
        names = ("usage", "limit", "stat") if stat else ("usage", "limit")
        self.numbers = {name: os.open(folder / name, os.O_RDWR) for name in names}
        self.counters = Counters(self.numbers)
        self.counters.begin_memory(RUN, beside=0)

    def say(self, *, usage: float, files: float, again: float) -> None:
        """MiB that the slot holds, how much of it is files, and how much of files was read again so far."""
        (self._folder / "usage").write_text(f"{int(usage * MIB)}\n")
        (self._folder / "stat").write_text(
            f"cache 1\nrss {int((usage - files) * MIB)}\ninactive_file {int(files * MIB)}\nactive_file 0\n"
            f"workingset_refault_file {int(again * PAGES)}\n"
        )

    @property
    def limit(self) -> int:
        """MiB that the slot can contain."""
        return int((self._folder / "limit").read_text()) // MIB

    def looks(self, *, usage: float, files: float, again: float) -> bool:
        """The same, and what a look at it says."""
        self.say(usage=usage, files=files, again=again)
        return self.counters.thrashes()


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Group]:
    """A group that says everything."""
    made = Group(tmp_path)
    yield made
    for number in made.numbers.values():
        os.close(number)


def test_code_that_is_read_again_and_again_at_the_limit_is_thrashing(group: Group) -> None:
    assert not group.looks(usage=74, files=9, again=5000), "what was read again before says nothing"
    assert not group.looks(usage=74, files=9, again=5200)
    assert group.looks(usage=73.9, files=9, again=5300)


def test_below_the_limit_nothing_is(group: Group) -> None:
    for again in range(0, 5000, 500):
        assert not group.looks(usage=70, files=9, again=again)


def test_files_larger_than_the_limit_may_be_read_over_and_over(group: Group) -> None:
    for again in range(0, 5000, 500):
        assert not group.looks(usage=74, files=40, again=again)


def test_a_moment_of_air_begins_the_count_anew(group: Group) -> None:
    assert not group.looks(usage=74, files=9, again=0)
    assert not group.looks(usage=74, files=9, again=200)
    assert not group.looks(usage=60, files=9, again=250)
    assert not group.looks(usage=74, files=9, again=300)
    assert not group.looks(usage=74, files=9, again=500)
    assert group.looks(usage=74, files=9, again=600)


@pytest.mark.parametrize(("usage", "files", "limit"), [(10, 4, 74), (200, 32, 264), (200, 150, 146), (2000, 1990, 106)])
def test_files_that_earlier_runs_read_are_no_memory_for_the_next(
    group: Group, usage: int, files: int, limit: int
) -> None:
    group.say(usage=usage, files=files, again=0)
    group.counters.begin_memory(RUN, beside=0)
    assert group.limit == limit


def test_the_next_run_is_not_blamed_for_the_last(group: Group) -> None:
    assert not group.looks(usage=74, files=9, again=0)
    assert group.looks(usage=74, files=9, again=600)
    group.say(usage=10, files=0, again=600)
    group.counters.begin_memory(RUN, beside=0)
    assert not group.looks(usage=74, files=9, again=900)


def test_where_nothing_is_told_nothing_is_said(tmp_path: Path) -> None:
    bare = Group(tmp_path, stat=False)
    try:
        assert not bare.looks(usage=74, files=9, again=0)
        assert not bare.looks(usage=74, files=9, again=9000)
    finally:
        for number in bare.numbers.values():
            os.close(number)


def test_the_supervisor_gets_air_once_in_a_run_and_the_next_run_has_no_more_for_it(group: Group) -> None:
    assert group.limit == 74
    group.counters.give_air()
    group.counters.give_air()
    assert group.limit == 90
    group.counters.begin_memory(RUN, beside=0)
    assert group.limit == 74
    group.counters.give_air()
    assert group.limit == 90


def test_a_slot_without_a_limit_of_its_own_gets_none() -> None:
    counters = Counters({})
    counters.begin_memory(RUN, beside=0)
    assert not counters.full
    counters.give_air()
    assert not counters.full
