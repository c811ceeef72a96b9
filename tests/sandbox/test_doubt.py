"""The verdict on a program's time: of runs that ended near a limit, or that the host starved, as many as are needed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from rewarden_sandboxes.agent.accounting import Clock
from rewarden_sandboxes.agent.frames import Body
from rewarden_sandboxes.agent.reports import Report, _judge
from rewarden_sandboxes.agent.supervisor import Supervisor, _different


def report(story: str, output: bytes = b"") -> Report:
    """A run that tells this story: within, over, starved, waited and then ended or cut off, cut off at the hard limit,
    or ended for its memory.
    """
    made = Report.__new__(Report)
    doubt = story.removesuffix(" and cut")
    made.doubt = doubt if doubt in ("over", "starved", "waited") else None  # type: ignore[assignment]
    made.kept, made.flags, made.files = -1, [], {}
    status = {"cut": "time_limit", "waited and cut": "time_limit", "memory": "memory_limit"}.get(story, "ok")
    made.said = {"status": status, "limit": None, "exit_code": 0, "signal": None, "message": None}
    made._output = {"stdout": output}
    return made


class Runs(Supervisor):
    """A supervisor whose runs end as they are told to: no program can end differently twice on purpose."""

    def __init__(self, *stories: str) -> None:
        self.ends = [report(story) for story in stories]

    def _run(self, *_: object) -> list[Report]:
        return [self.ends.pop(0)]


@pytest.mark.parametrize(
    ("stories", "status"),
    [
        (["within"], "ok"),
        (["cut"], "time_limit"),
        (["over", "over"], "time_limit"),
        (["over", "cut"], "time_limit"),
        (["over", "memory"], "memory_limit"),
        (["over", "within", "within"], "ok"),
        (["over", "within", "over"], "time_limit"),
        (["over", "within", "cut"], "time_limit"),
        (["starved", "within"], "ok"),
        (["starved", "starved"], "internal_error"),
        (["starved", "over", "over"], "time_limit"),
        (["starved", "over", "starved"], "internal_error"),
        (["over", "within", "starved"], "time_limit"),  # three stories
        (["starved", "over", "within"], "time_limit"),
        (["waited", "within"], "ok"),  # what it waited for was in memory
        (["waited and cut", "within"], "ok"),
        (["waited", "cut"], "time_limit"),
        (["waited", "waited and cut"], "time_limit"),
        (["waited and cut", "over", "waited"], "time_limit"),
        (["waited", "starved", "within"], "ok"),
        (["waited", "over", "within"], "time_limit"),
    ],
)
def test_two_of_at_most_three_runs_agree(stories: list[str], status: str) -> None:
    supervisor = Runs(*stories)
    [found] = supervisor._certain([], {"once": False}, b"")[-1]
    assert supervisor.ends == []
    assert found.said["status"] == status
    assert ("rerun" in found.flags) == (len(stories) > 1)
    assert ("starved" in found.flags) == (status == "internal_error")


@pytest.mark.parametrize(
    ("story", "status"),
    [
        ("within", "ok"),
        ("over", "time_limit"),
        ("cut", "time_limit"),
        ("waited", "time_limit"),
        ("waited and cut", "time_limit"),
        ("starved", "internal_error"),
    ],
)
def test_a_job_whose_limits_are_the_limits_runs_once(story: str, status: str) -> None:
    [[found]] = Runs(story)._certain([], {"once": True}, b"")
    assert (found.said["status"], "rerun" in found.flags) == (status, False)


@pytest.mark.parametrize(
    ("outputs", "told"),
    [
        ([b"1"], []),
        ([b"1", b"1", b"1"], []),
        ([b"2", b"1", b"1"], [b"2"]),
        ([b"1", b"2", b"1"], [b"2"]),
        ([b"3", b"2", b"1"], [b"3", b"2"]),
        ([b"2", b"2", b"1"], [b"2"]),
    ],
)
def test_what_the_runs_before_the_last_printed_is_told_once(outputs: list[bytes], told: list[bytes]) -> None:
    found = _different([[report("within", output)] for output in outputs])
    assert [run[0]._output["stdout"] for run in found] == told


@pytest.mark.parametrize("story", ["waited", "waited and cut"])
def test_a_run_that_waited_for_a_disk_is_told_as_one_that_the_host_starved(story: str) -> None:
    """It was cut off or not: only what it did can be judged, and not that it was late."""
    earlier, last = Runs(story, "within")._certain([], {"once": False}, b"")
    assert (last[0].said["status"], last[0].flags) == ("ok", ["rerun"])
    cut = story == "waited and cut"
    assert (earlier[0].said["status"], earlier[0].flags) == (("internal_error", ["starved"]) if cut else ("ok", []))


def test_a_report_of_an_earlier_run_travels_whole() -> None:
    body = Body()
    told = report("within", b"earlier").wire(body)
    assert b"".join(body.parts)[told["stdout"][0] :][: told["stdout"][1]] == b"earlier"


def room() -> Any:
    """A room whose program ended well, within a second of CPU or of sleep."""
    limits = {"cpu_s": 1.0, "wall_s": 1.0}
    return SimpleNamespace(cause=None, full=False, trouble=None, status=0, limits=limits)


@pytest.mark.parametrize(
    ("cpu", "idle", "waited", "unseen", "spare", "story", "limit"),
    [
        (0.5, 0.5, 0.0, 0.0, 0.0, "within", None),
        (1.2, 0.5, 0.0, 0.0, 0.0, "over", None),
        (0.5, 1.2, 0.0, 0.0, 0.0, "decided", "wall_s"),  # sleeping is not noise: it is not run again
        (1.2, 1.2, 0.0, 0.0, 0.0, "decided", "wall_s"),
        (0.5, 1.2, 0.3, 0.0, 0.0, "waited", None),  # nor is it sleeping to wait for a disk
        (1.2, 1.2, 0.3, 0.0, 0.0, "waited", None),
        (0.5, 1.2, 0.1, 0.0, 0.0, "decided", "wall_s"),  # it slept too long beside that
        (0.5, 0.5, 0.0, 0.9, 0.0, "starved", None),  # no look came in time, and the host had no CPU for one
        (0.5, 0.5, 0.0, 0.9, 1.0, "decided", "wall_s"),  # where it had, the program slept
    ],
)
@pytest.mark.parametrize("cut", [False, True])
def test_the_story_of_a_run(
    cpu: float, idle: float, waited: float, unseen: float, spare: float, story: str, limit: str | None, cut: bool
) -> None:
    """It ended by itself, or was cut off where a look found it over its idle limit."""
    ended = room()
    if cut:
        if idle <= ended.limits["wall_s"]:
            return
        ended.cause, limit = "wall_s", "wall_s"
    clock = SimpleNamespace(idle=idle, waited=waited, spare=spare)
    run: Any = SimpleNamespace(rooms=[ended], unseen=unseen, clock=clock)
    found = report("within")
    found.said["cpu_time"] = cpu
    _judge(found, ended, run, out_of_memory=False)
    assert (found.story, found.said["limit"]) == (story, limit)


class Counted:
    """A slot's counter by which nothing of the run got any CPU."""

    counts_cpu = True

    def cpu(self) -> float:
        """Seconds so far."""
        return 0.0


@pytest.mark.parametrize(("spare", "starved"), [(0.0, True), (3.9, True), (4.1, False)])
def test_no_run_is_starved_while_the_host_has_a_cpu_to_give(
    monkeypatch: pytest.MonkeyPatch, spare: float, starved: bool
) -> None:
    """Attack: be awake at every look, as processes that come and go, so that neither work nor idling is seen."""
    counted: Any = Counted()
    clock = Clock(counted)
    monkeypatch.setattr(Clock, "wall", property(lambda _: 4.0))
    monkeypatch.setattr(Clock, "cpu", lambda _: 0.0)
    monkeypatch.setattr(Clock, "spare", property(lambda _: spare))
    assert clock.starved == starved
