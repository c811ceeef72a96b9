"""The screen of `rewarden top`, driven by Textual's pilot on 80 by 24 cells, against a real server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from textual.pilot import Pilot
from textual.widgets import OptionList, Static

from rewarden_server.top.lines import NO_RUNS
from rewarden_server.top.screen import Help, Top
from tests.server.conftest import Running
from tests.server.test_runs import judged, runs, sample
from tests.server.test_top import fed


def screen(server: Running, run: str | None = None) -> Top:
    return Top(server.serving.http, {"base_url": server.serving.http}, run)


def shown(app: Top, id: str = "#figures") -> str:
    """The text of a part of the screen."""
    return str(app.query_one(id, Static).content)


async def until(pilot: Pilot[None], done: Callable[[], bool]) -> None:
    """Wait until the screen shows something."""
    async with asyncio.timeout(30):
        while not done():
            await asyncio.sleep(0.01)
            await pilot.pause()


async def test_the_selected_run_is_shown_and_arrows_select_another(server: Running) -> None:
    await fed(server, "first")
    await fed(server, "second [red]")
    app = screen(server)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: shown(app).startswith("second [red]: 8 verdicts"))
        options = app.query_one(OptionList)
        assert [str(option.prompt).split()[0] for option in options.options] == ["second", "first"]
        await pilot.press("down")
        await until(pilot, lambda: shown(app).startswith("first: 8 verdicts"))
        await pilot.press("up")
        await until(pilot, lambda: shown(app).startswith("second [red]: 8 verdicts"))


async def test_the_run_that_was_named_is_selected(server: Running) -> None:
    await fed(server, "first")
    await fed(server, "second")
    first = next(run["id"] for run in await runs(server) if run["name"] == "first")
    app = screen(server, first)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: shown(app).startswith("first: 8 verdicts"))
        assert app.query_one(OptionList).highlighted == 1


async def test_a_new_step_appears_by_itself(server: Running) -> None:
    app = screen(server)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: shown(app, "#state").endswith("live"))
        assert shown(app) == NO_RUNS
        await judged(server, sample(metadata={"run": "mine"}), step=1)
        await until(pilot, lambda: "steps 1 to 1" in shown(app))
        await judged(server, sample(metadata={"run": "mine"}), step=2)
        await until(pilot, lambda: "steps 1 to 2" in shown(app))
        assert shown(app).startswith("mine: 2 verdicts of choice")


async def test_enter_fills_the_screen_with_all_data_sources(server: Running) -> None:
    await judged(server, *(sample(source=f"source {number}") for number in range(8)), step=0)
    app = screen(server)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "and 3 more data sources" in shown(app))
        await pilot.press("enter")
        await until(pilot, lambda: "source 7" in shown(app))
        assert not app.query_one(OptionList).display
        await pilot.press("escape")
        await until(pilot, lambda: "and 3 more data sources" in shown(app))
        assert app.query_one(OptionList).has_focus


async def test_s_sorts_the_list_and_keeps_the_selection(server: Running) -> None:
    await fed(server, "b")
    await fed(server, "a", steps=3)
    await fed(server, "c", steps=1)
    app = screen(server)
    async with app.run_test(size=(80, 24)) as pilot:

        def names() -> list[str]:
            return [str(option.prompt).split()[0] for option in app.query_one(OptionList).options]

        await until(pilot, lambda: shown(app).startswith("c: "))
        assert names() == ["c", "a", "b"]
        found = {}
        for _ in range(6):
            await pilot.press("s")
            found[shown(app, "#state").rpartition(", by ")[2].removesuffix(": live")] = names()
            assert shown(app).startswith("c: ")
        assert found == {
            "latest verdict": ["c", "a", "b"],
            "name": ["a", "b", "c"],
            "reward, lowest first": ["c", "b", "a"],
            "unscored, most first": ["c", "a", "b"],
            "verdicts": ["a", "b", "c"],
            "beginning": ["c", "a", "b"],
        }


async def test_the_question_mark_explains_and_q_quits(server: Running) -> None:
    app = screen(server)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(app.screen, Help))
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, Help))
        await pilot.press("q")
    assert app.return_code == 0


async def test_a_server_that_stops_is_told_and_asked_again(server: Running) -> None:
    app = screen(server)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: shown(app, "#state").endswith("live"))
        await server.serving.drain(0.0)
        await until(pilot, lambda: "trying again" in shown(app, "#state"))
