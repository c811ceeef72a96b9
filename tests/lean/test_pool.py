"""Many texts, few processes: who gets which, and that no text harms the next. The workers are scripted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest
import pytest_asyncio

from rewarden.errors import InvalidSample, ProviderError, SandboxError
from rewarden.retry import Retry
from rewarden_sandboxes import lean as projects
from rewarden_sandboxes.job import Limits
from rewarden_server.engine.lanes.lean import LeanLane
from rewarden_server.engine.lanes.sandbox import SandboxLane
from rewarden_server.engine.observer import Observer
from rewarden_server.lean.pool import PASSES
from rewarden_server.lean.settings import LeanSettings
from rewarden_verifiers.provers import Checked, Snippet
from tests.lean.workers import NONSENSE, Box


class Counter(Observer):
    """Snippets by status."""

    def __init__(self) -> None:
        self.statuses: list[str] = []

    def program_ended(self, language: str, status: str, seconds: float) -> None:
        self.statuses.append(f"{language} {status}")


class Lanes:
    """Makes lanes over a box of scripted workers."""

    def __init__(self, box: Box) -> None:
        self.box = box
        self.made: list[LeanLane] = []
        self.counter = Counter()

    def __call__(self, processes: int = 1, **settings: Any) -> LeanLane:
        told = LeanSettings(projects={"p": "/nowhere"}, processes=processes, **settings)
        lane = LeanLane(told, cast(SandboxLane, self.box), self.counter)
        self.made.append(lane)
        return lane


@pytest_asyncio.fixture
async def lanes(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Lanes]:
    """Closed after the test, when no worker may be left."""

    def resolved(name: str, folder: Path) -> projects.LeanProject:
        return projects.LeanProject(
            name=name, toolchain=folder, mounts={}, path=(), version="4", commit="", checker=False, identity="i"
        )

    monkeypatch.setattr("rewarden_server.lean.projects.resolve", resolved)
    made = Lanes(Box())
    yield made
    for lane in made.made:
        await lane.close()
    assert not made.box.living


def snippet(text: str, header: str = "A", **fields: Any) -> Snippet:
    """A text that imports `header`."""
    return Snippet(project="p", text=f"import {header}\n{text}\n", **fields)


def told(checked: Checked) -> list[str]:
    """Returns what it was told of the body."""
    return [message.text for message in checked.messages if not message.text.startswith("import")]


async def test_a_process_serves_one_text_after_another(lanes: Lanes) -> None:
    lane = lanes()
    first, second = await lane.check(snippet("a")), await lane.check(snippet("b"))
    assert (told(first), told(second)) == (["a"], ["b"])
    assert (first.warm, second.warm) == (False, True)
    assert len(lanes.box.started) == 1


async def test_places_are_those_of_the_text_that_was_given(lanes: Lanes) -> None:
    checked = await lanes().check(Snippet(project="p", text="/- x -/ import   A\n\n\nhere"))
    assert [(each.text, each.start.line) for each in checked.messages] == [("import A", 1), ("here", 4)]


async def test_as_many_texts_at_once_as_processes_and_no_more_processes_than_that(lanes: Lanes) -> None:
    lane = lanes(processes=3)
    await asyncio.gather(*(lane.check(snippet(str(number), f"H{number % 5}")) for number in range(60)))
    assert lanes.box.most == 3


async def test_the_process_that_was_used_longest_ago_makes_place(lanes: Lanes) -> None:
    lane = lanes(processes=2)
    for header in ("A", "B", "A", "C", "A"):
        checked = await lane.check(snippet("x", header))
    assert checked.warm
    assert len(lanes.box.started) == 3


async def test_nobody_starves_behind_those_whose_imports_are_loaded(lanes: Lanes) -> None:
    lane = lanes()
    order: list[str] = []

    async def check(name: str, header: str) -> None:
        await lane.check(snippet(name, header))
        order.append(name)

    tasks = [asyncio.ensure_future(check("a", "A")), asyncio.ensure_future(check("other", "B"))]
    tasks += [asyncio.ensure_future(check(f"a{number}", "A")) for number in range(3 * PASSES)]
    await asyncio.gather(*tasks)
    assert order.index("other") == 1 + PASSES
    assert [name for name in order if name != "other"] == ["a", *(f"a{number}" for number in range(3 * PASSES))]


@pytest.mark.parametrize("word", ["DIE", "HUNGRY", "SPIN", "SLEEP", "FLOOD", "FAT", "#eval", *NONSENSE])
async def test_whatever_a_text_does_to_its_process_the_next_one_has_another(lanes: Lanes, word: str) -> None:
    lane = lanes()
    await lane.check(snippet(word, limits=Limits(cpu_s=9.0, wall_s=9.0, output_bytes=1_000_000)))
    after = await lane.check(snippet("honest"))
    assert (after.status, told(after)) == ("ok", ["honest"])
    assert not after.warm
    assert lanes.box.started[0].closed


@pytest.mark.parametrize("word", ["DIE", "HUNGRY", "GARBAGE"])
async def test_a_text_that_ends_a_used_process_is_tried_once_more_in_a_fresh_one(lanes: Lanes, word: str) -> None:
    lane = lanes()
    await lane.check(snippet("a"))
    checked = await lane.check(snippet(word))
    assert checked.status == ("memory_limit" if word == "HUNGRY" else "crashed")
    assert len(lanes.box.started) == 2


async def test_a_death_that_was_the_process_s_own_costs_a_text_nothing(lanes: Lanes) -> None:
    lane = lanes()
    await lane.check(snippet("a"))
    checked = await lane.check(snippet("POISONED"))  # dies where others were before
    assert (checked.status, told(checked)) == ("ok", ["POISONED"])


async def test_a_time_out_is_not_tried_again(lanes: Lanes) -> None:
    lane = lanes()
    await lane.check(snippet("a"))
    assert (await lane.check(snippet("SPIN", limits=Limits(cpu_s=9.0)))).limit == "cpu_s"
    assert len(lanes.box.started) == 1


async def test_what_was_said_before_a_limit_is_told(lanes: Lanes) -> None:
    checked = await lanes().check(snippet("before\nSPIN", limits=Limits(cpu_s=9.0)))
    assert told(checked) == ["before", "SPIN"]


async def test_alone_means_before_and_after(lanes: Lanes) -> None:
    lane = lanes(processes=2)
    await lane.check(snippet("a"))
    assert not (await lane.check(snippet("b", alone=True))).warm
    assert (await lane.check(snippet("c"))).warm
    assert [len(worker.texts) for worker in lanes.box.started] == [3, 2]


async def test_a_process_is_replaced_after_so_many_texts(lanes: Lanes) -> None:
    lane = lanes(snippets=2)
    for number in range(5):
        await lane.check(snippet(str(number)))
    assert [len(worker.texts) - 1 for worker in lanes.box.started] == [2, 2, 1]


async def test_a_caller_who_leaves_takes_its_process_along_and_nobody_else_s(lanes: Lanes) -> None:
    lane = lanes()
    hanging = asyncio.ensure_future(lane.check(snippet("GATE")))
    await lanes.box.entered.wait()
    waiting = asyncio.ensure_future(lane.check(snippet("a")))
    leaving = asyncio.ensure_future(lane.check(snippet("b", "B")))
    await asyncio.sleep(0)
    leaving.cancel()
    hanging.cancel()
    assert told(await waiting) == ["a"]
    assert lanes.box.started[0].closed
    assert (await lane.status())["processes"] == {"most": 1, "alive": 1, "idle": 1, "waiting": 0}


async def test_places_survive_callers_who_leave_at_any_moment(lanes: Lanes) -> None:
    lane = lanes(processes=2)
    for steps in range(25):
        tasks = [asyncio.ensure_future(lane.check(snippet(str(each), f"H{each % 3}"))) for each in range(6)]
        for _ in range(steps):
            await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        done = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(each, Checked) for each in done[1::2])
    processes = (await lane.status())["processes"]
    assert processes["alive"] == processes["idle"] <= 2


async def test_imports_that_cannot_be_loaded_are_the_text_s_messages_and_keep_no_process(lanes: Lanes) -> None:
    lane = lanes()
    for _ in range(2):
        checked = await lane.check(snippet("x", "NO_SUCH"))
        assert checked.status == "ok"
        assert [message.text for message in checked.messages] == ["import NO_SUCH"]
    assert len(lanes.box.started) == 1, "what is known to fail is not loaded again"
    assert not lanes.box.living


async def test_warm_headers_are_loaded_first_and_again(lanes: Lanes) -> None:
    lane = lanes(warm={"p": "import  A"})
    lane.start()
    for text in ("a", "#eval 1", "b"):
        async with asyncio.timeout(30):
            while not (await lane.status())["headers"]:
                await asyncio.sleep(0)
        assert (await lane.check(snippet(text))).warm


async def test_a_room_that_was_lost_while_it_idled_costs_a_text_nothing(lanes: Lanes) -> None:
    lane = lanes()
    await lane.check(snippet("a"))
    await lanes.box.started[0].close()
    assert told(await lane.check(snippet("b"))) == ["b"]


async def test_a_room_that_is_lost_twice_is_ours(lanes: Lanes) -> None:
    lane = lanes()
    with pytest.raises(SandboxError):
        await lane.check(snippet("LOST"))
    assert told(await lane.check(snippet("b"))) == ["b"]


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize(("text", "header"), [("UNLUCKY", "A"), ("a", "UNLUCKY")])
async def test_a_host_that_is_lost_costs_a_text_nothing(lanes: Lanes, text: str, header: str, alone: bool) -> None:
    """In a fresh process as well, while it loads or elaborates: no text of another had to do with that."""
    lanes.box.hosts_to_lose = 1
    checked = await lanes().check(snippet(text, header, alone=alone))
    assert (checked.status, told(checked)) == ("ok", [text])
    assert len(lanes.box.started) == 2


@pytest.mark.parametrize("alone", [False, True])
async def test_a_text_that_loses_two_hosts_is_tried_on_no_third(lanes: Lanes, alone: bool) -> None:
    lanes.box.hosts_to_lose = 3
    with pytest.raises(SandboxError):
        await lanes().check(snippet("UNLUCKY", alone=alone))
    assert (len(lanes.box.started), lanes.box.hosts_to_lose) == (2, 1)


async def test_a_text_whose_fresh_room_alone_is_lost_is_not_tried_again(lanes: Lanes) -> None:
    """A proof that kills what it runs in must not be run twice for it."""
    with pytest.raises(SandboxError):
        await lanes().check(snippet("LOST"))
    assert len(lanes.box.started) == 1


async def test_axioms_are_asked_for_again_where_a_host_is_lost(lanes: Lanes) -> None:
    lane = lanes()
    assert await lane.axioms("p", "import UNLUCKY", ["a"]) == {"a": None}
    lanes.box.hosts_to_lose = 1
    assert await lane.axioms("p", "import UNLUCKY", ["b"]) == {"b": None}
    assert (len(lanes.box.started), lanes.box.hosts_to_lose) == (2, 0)


async def test_closing_ends_who_waits_and_who_works(lanes: Lanes) -> None:
    lane = lanes()
    working = asyncio.ensure_future(lane.check(snippet("GATE")))
    await lanes.box.entered.wait()
    waiting = asyncio.ensure_future(lane.check(snippet("a")))
    await asyncio.sleep(0)
    await lane.close()
    assert [type(each) for each in await asyncio.gather(working, waiting, return_exceptions=True)] == [SandboxError] * 2


async def test_snippets_are_counted_by_status(lanes: Lanes) -> None:
    lane = lanes()
    for word in ("a", "DIE"):
        await lane.check(snippet(word))
    assert lanes.counter.statuses == ["lean-worker-p ok", "lean-worker-p crashed"]


async def test_a_remote_project_only_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rewarden_server.lean.remote.RETRY", Retry(attempts=1, first_s=0.0, most_s=0.0, patience_s=0.0))
    settings = LeanSettings(projects={"far": "http://127.0.0.1:9/"})
    lane = LeanLane(settings, cast(SandboxLane, Box()), Observer())
    with pytest.raises(ProviderError):
        await lane.check(Snippet(project="far", text="", limits=Limits(cpu_s=1.0)))
    with pytest.raises(InvalidSample):
        await lane.compile("far", "", Limits())
    with pytest.raises(InvalidSample):
        await lane.axioms("far", "", ["x"])
    await lane.close()
