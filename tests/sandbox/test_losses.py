"""The blame for slots that die under a run, by what else the host knows. The slots are scripted."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Any, cast

import pytest

from rewarden_sandboxes import host as hosting
from rewarden_sandboxes.errors import HostError, Leaving, NoRoom
from rewarden_sandboxes.host import Host, Kind
from rewarden_sandboxes.job import Case, CaseResult, Job, Program
from rewarden_sandboxes.launchers.launcher import Launcher
from rewarden_sandboxes.pool import Pool
from rewarden_sandboxes.settings import HostSettings
from rewarden_sandboxes.slot import SlotLost
from tests.sandbox.conftest import events_of

JOB = Job(program=Program(language="python", code=b""), cases=[Case(), Case()])

DIES, BROKEN, WELL = "it dies in mid-run", "it can make no room", "it serves"


class Slots:
    """A pool's face, whose slots do what their words say, one after the other; each has one case. during: called in
    the pause in which the host waits for others to be lost too.
    """

    def __init__(self, *words: str, during: Callable[[Slots], None] = lambda slots: None) -> None:
        self.losses = 0
        self.idle_losses = 0
        self.sample = ScriptedSlot(WELL)  # one that lives
        self._words = list(words)
        self._during = during

    async def acquire(self, tiers: frozenset[str], patience_s: float) -> Any:
        return ScriptedSlot(self._words.pop(0))

    def release(self, slot: ScriptedSlot) -> None:
        self.losses += slot.lost

    def tend(self) -> None:
        self._during(self)


class ScriptedSlot:
    """A slot's face."""

    def __init__(self, word: str) -> None:
        self.enforced: dict[str, str] = {}
        self.lost = False
        self._word = word

    async def run(self, header: dict[str, Any], *_: object) -> AsyncGenerator[tuple[dict[str, Any], bytes], None]:
        if self._word == BROKEN:
            yield {"ev": "broken", "message": "Resource temporarily unavailable"}, b""
        if self._word == DIES:
            self.lost = True
            raise SlotLost("the slot is gone")
        for index in range(len(header["cases"])):
            yield {"ev": "case", "index": index, "program": REPORT, "earlier": []}, b""


REPORT: dict[str, Any] = {"status": "ok", "limit": None, "exit_code": 0, "signal": None}
REPORT |= {"stdout": [0, 0], "stderr": [0, 0], "reply": [0, 0]}
REPORT |= {"cpu_time": 0.1, "wall_time": 0.1, "idle_time": 0.0, "peak_memory": None, "truncated": False}
REPORT |= {"files": {}, "flags": [], "message": None}


@pytest.fixture(params=[True, False], ids=["rooms", "no rooms"])
def rooms(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    monkeypatch.setattr(hosting, "_OTHERS_S", 0.0)
    return bool(request.param)


def host_of(slots: Slots, rooms: bool) -> Host:
    """A host that has those slots alone."""
    host = Host(HostSettings(launcher="none", cpu_permits=1))
    host._launcher = cast(Launcher, object())
    host._rooms = rooms
    host._known.set()
    host._pools = {Kind("python"): cast(Pool, slots)}
    host._pool = lambda kind: cast(Pool, slots)  # type: ignore[method-assign]
    return host


async def ends(slots: Slots, rooms: bool) -> list[tuple[int, str, tuple[str, ...]]]:
    """Returns how each case of a job ended."""
    events = [event for event in await events_of(host_of(slots, rooms), JOB) if isinstance(event, CaseResult)]
    return [(event.index, event.program.status, tuple(event.program.flags)) for event in events]


KILLED = ("runtime_error", ("killed_sandbox",))


async def test_a_case_that_loses_one_slot_is_run_again(rooms: bool) -> None:
    assert await ends(Slots(DIES, WELL, WELL), rooms) == [(0, "ok", ()), (1, "ok", ())]


async def test_a_case_that_loses_two_slots_and_nobody_else_any_has_done_it(rooms: bool) -> None:
    # One after the other is blamed: the first case's slots do not excuse the second.
    assert await ends(Slots(DIES, DIES, DIES, DIES), rooms) == [(0, *KILLED), (1, *KILLED)]
    assert await ends(Slots(DIES, DIES, WELL), rooms) == [(0, *KILLED), (1, "ok", ())]


@pytest.mark.parametrize("words", [(BROKEN, BROKEN), (DIES, BROKEN), (BROKEN, DIES)])
async def test_a_slot_in_which_the_run_has_not_begun_is_never_the_programs_doing(
    rooms: bool, words: tuple[str, str]
) -> None:
    with pytest.raises(NoRoom, match="two slots were lost"):
        await ends(Slots(*words), rooms)


async def test_where_slots_died_that_ran_nothing_the_program_is_not_blamed(rooms: bool) -> None:
    def others(slots: Slots) -> None:
        slots.losses += 1
        slots.idle_losses += 1

    with pytest.raises(NoRoom, match="two slots were lost"):
        await ends(Slots(DIES, DIES, during=others), rooms)


@pytest.mark.parametrize(("rooms_", "fault"), [(True, NoRoom), (False, None)])
async def test_where_a_program_can_end_its_slot_two_that_do_excuse_nobody(
    monkeypatch: pytest.MonkeyPatch, rooms_: bool, fault: type[HostError] | None
) -> None:
    # Attack: a policy all of whose answers kill their slots at the same time must not go unscored.
    def others(slots: Slots) -> None:
        slots.losses += 1

    monkeypatch.setattr(hosting, "_OTHERS_S", 0.0)
    slots = Slots(DIES, DIES, WELL, during=others)
    if fault is not None:
        with pytest.raises(fault):
            await ends(slots, rooms_)
    else:
        assert await ends(slots, rooms_) == [(0, *KILLED), (1, "ok", ())]


async def test_a_host_that_is_told_to_end_a_moment_later_blames_no_program(rooms: bool) -> None:
    slots = Slots(DIES, DIES, during=lambda slots: host.leave())
    host = host_of(slots, rooms)
    with pytest.raises(Leaving):
        await events_of(host, JOB)
