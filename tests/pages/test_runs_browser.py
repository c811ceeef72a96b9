"""The pages of runs in a real browser, on a real server: what was rewarded is seen as it comes, and a point leads to
the responses behind it.

Of the run `trained`, steps 0 to 9 are judged by `same` without regard to case, and steps 10 to 19 with it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from rewarden_server.access.key_record import hash_key
from tests.judges.scripted import ScriptedJudge
from tests.pages.conftest import KEY, Go, Visit
from tests.pages.test_browser import check
from tests.server.process import ServerProcess

pytestmark = [pytest.mark.needs_server, pytest.mark.group("browser")]

QUIET = ("--set", "logs.level=error")
HOSTILE = "<img src=x onerror=alert(1)><b>bold</b>\u202egnp"
SIBLINGS = ("Paris", "paris", "London", HOSTILE)
STEPS = 20
LATER = 10
LOOKS = [(360, False), (768, True), (1280, False), (1920, True)]
"""Every width, and both colour schemes at narrow and wide ones."""
VIEWS = ("", "#responses", "#groups", "#moved?a=0-9&b=10-19")


def send(http: str, run: str, step: int, *, source: str = "capitals", matters: bool = True, **headers: str) -> None:
    """A step of a run: two groups of four responses, each with one that fails alone on the case."""
    samples = [
        {
            "response": response,
            "prompt": f"The capital of France, asks {group}?",
            "reference": "Paris",
            "group": f"{source} {step} {group}",
            "group_size": len(SIBLINGS),
            "data_source": source,
            "metadata": {"run": run},
        }
        for group in range(2)
        for response in SIBLINGS
    ]
    body = {"use": {"name": "same", "params": {"matters": matters}}, "samples": samples, "progress": {"step": step}}
    httpx.post(f"{http}/v1/verify", json=body, headers=headers).raise_for_status()


def until(http: str, test: Callable[[list[dict[str, Any]]], Any], **headers: str) -> Any:
    """The first result that is true of the runs that the server lists."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        found = test(httpx.get(f"{http}/v1/runs", headers=headers).raise_for_status().json()["runs"])
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError("the runs never became so")


def stored(http: str, name: str, verdicts: int, **headers: str) -> str:
    """The id of a run, once it has so many verdicts."""

    def fits(runs: list[dict[str, Any]]) -> list[str]:
        return [run["id"] for run in runs if run["name"] == name and run["verdicts"] >= verdicts]

    return str(until(http, fits, **headers)[0])


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The address of a server that keeps texts, and the path of the page of its run."""
    folder = tmp_path_factory.mktemp("trained")
    settings = ("--set", f"runs.dir={folder / 'runs'}", "--set", "runs.texts=true")
    with ServerProcess(folder, *QUIET, *settings) as server:
        for step in range(STEPS):
            send(server.http, "trained", step, matters=step >= LATER)
            send(server.http, "trained", step, source="cities", matters=step >= LATER)
        yield server.http, f"/runs/{stored(server.http, 'trained', STEPS * 16)}"


@pytest.fixture
def overview(visit: Go, trained: tuple[str, str]) -> Visit:
    """The page of the run, drawn."""
    root, path = trained
    visited = visit(root, width=1280)
    visited.open(path)
    visited.page.wait_for_selector(".bars button")
    return visited


def state(page: Any) -> str:
    return str(page.evaluate("decodeURIComponent(location.hash)"))


def brush(page: Any, low: float, high: float, chart: int = 0) -> None:
    """Drag over a part of a chart, in shares of its width."""
    box = page.locator(".u-over").nth(chart).bounding_box()
    page.mouse.move(box["x"] + low * box["width"], box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + high * box["width"], box["y"] + 50, steps=5)
    page.mouse.up()


def test_the_list_shows_the_latest_run_first_with_its_curve(visit: Go, trained: tuple[str, str]) -> None:
    root, path = trained
    send(root, HOSTILE, 0)
    stored(root, HOSTILE, 8)
    page = visit(root).open("/runs")
    names = page.locator("tbody th a")
    assert "<img src=x onerror=alert(1)>" in names.first.inner_text()
    assert page.locator("main img, main b:not(.num)").count() == 0
    page.fill("#find", "trained cities")
    assert names.all_inner_texts() == ["trained"]
    assert page.inner_text("#found") == "1 of 2"
    row = page.locator("tbody tr").inner_text()
    assert "0.375" in row
    assert "320" in row
    assert "mean reward from 0.50 to 0.25" in (page.locator("svg.spark").get_attribute("aria-label") or "")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{path}")


def test_a_new_step_appears_by_itself(visit: Go, trained: tuple[str, str]) -> None:
    root, _ = trained
    send(root, "growing", 0)
    page = visit(root).open(f"/runs/{stored(root, 'growing', 8)}")
    page.locator(".live", has_text="live").wait_for()
    page.locator(".board").first.focus()
    page.evaluate("scrollTo(0, 300)")
    for step in (1, 2):
        send(root, "growing", step)
        page.locator(".run-head p", has_text=f"step {step}").wait_for()
    page.locator(".tile dd").first.get_by_text("24").wait_for()
    assert page.locator(".board").first.get_attribute("aria-valuemax") == "2"
    assert page.evaluate("scrollY") == 300
    assert page.evaluate("document.activeElement.className") == "board"


def test_a_connection_that_breaks_is_said_and_made_again_from_where_it_was(visit: Go, trained: tuple[str, str]) -> None:
    root, _ = trained
    send(root, "broken", 0)
    visited = visit(root)
    visited.expected = ("Failed to load resource",)
    asked: list[str] = []

    def once(route: Any) -> None:
        asked.append(route.request.url)
        if len(asked) == 1:
            route.abort()
        else:
            route.continue_()

    visited.page.route("**/events?**", once)
    page = visited.open(f"/runs/{stored(root, 'broken', 8)}")
    page.locator(".live.reconnecting").wait_for()
    page.locator(".live", has_text="live").wait_for()
    send(root, "broken", 1)
    page.locator(".run-head p", has_text="step 1").wait_for()
    assert all("after=" in url for url in asked)


def test_the_figures_are_those_of_the_verdicts(overview: Visit) -> None:
    page = overview.page
    tiles = dict(
        zip(page.locator(".tile dt").all_inner_texts(), page.locator(".tile dd").all_inner_texts(), strict=True)
    )
    assert "Spent on judges" not in tiles
    assert page.locator(".plot:visible", has_text="Spent on judges").count() == 0
    assert tiles["Verdicts"].startswith("320")
    assert tiles["Mean reward"].startswith("0.375")
    assert tiles["Passed"].startswith("37.5%")
    assert tiles["Mixed groups"].startswith("100.0%")
    table = page.locator("[aria-label='Figures by data source'] tbody tr").all_inner_texts()
    assert [row.split()[:3] for row in table] == [["capitals", "160", "0.375"], ["cities", "160", "0.375"]]
    assert "wrong" in page.locator(".bars").first.inner_text()
    assert page.locator("[aria-label=Verifiers] tbody tr").count() == 2  # two fingerprints


def test_a_range_is_chosen_everywhere_and_stands_in_the_address(overview: Visit) -> None:
    page = overview.page
    brush(page, 0.55, 1.0)
    page.locator(".tile dd").first.get_by_text("144").wait_for()
    assert state(page) == "#overview?from=11&to=19"
    assert page.locator(".plot:visible .shade").count() == page.locator(".plot:visible").count() > 4
    page.locator("[aria-label=Verifiers] tbody tr").nth(1).wait_for(state="detached")
    page.get_by_role("button", name="Zoom in").click()
    assert page.locator(".board").first.get_attribute("aria-valuemin") == "11"
    link = page.url
    page.goto("about:blank")
    page.goto(link)
    page.locator(".tile dd").first.get_by_text("144").wait_for()
    assert page.locator(".board").first.get_attribute("aria-valuemin") == "11"
    page.get_by_role("button", name="Show all").click()
    page.keyboard.press("Escape")
    assert state(page) == "#overview"


def test_one_source_can_be_chosen(overview: Visit) -> None:
    page = overview.page
    page.locator("[aria-label='Figures by data source'] button", has_text="cities").click()
    page.locator(".tile dd").first.get_by_text("160").wait_for()
    assert state(page) == "#overview?source=cities"
    assert page.locator(".plot-key").first.locator("button").all_inner_texts() == ["cities"]


def test_charts_obey_the_keyboard(overview: Visit) -> None:
    page = overview.page
    board = page.locator(".board").first
    board.focus()
    page.keyboard.press("End")
    assert (board.get_attribute("aria-valuetext") or "").startswith("step 19: capitals 0.250")
    page.keyboard.press("Home")
    assert "cities 0.500" in (board.get_attribute("aria-valuetext") or "")
    page.keyboard.press("ArrowRight")
    for _ in range(3):
        page.keyboard.press("Shift+ArrowRight")
    assert state(page) == "#overview?from=1&to=4"
    page.keyboard.press("Enter")
    assert state(page).startswith("#responses?from=4&to=4")


def test_steps_can_be_typed_and_averaged(overview: Visit) -> None:
    page = overview.page
    page.fill("[name=from]", "12")
    page.keyboard.press("Enter")
    page.locator(".tile dd").first.get_by_text("128").wait_for()
    assert state(page) == "#overview?from=12&to=19"
    page.select_option("[name=every]", "5")
    page.locator(".board").first.focus()
    page.keyboard.press("Home")
    assert (page.locator(".board").first.get_attribute("aria-valuetext") or "").startswith("steps 0 to 4:")


def test_the_axis_can_be_time(overview: Visit) -> None:
    page = overview.page
    page.select_option("[name=axis]", "time")
    page.locator("[name=from][type=datetime-local]").wait_for()
    assert state(page) == "#overview?axis=time"
    assert page.locator(".tile dd").first.inner_text().startswith("320")


def test_a_point_leads_to_the_responses_behind_it(overview: Visit) -> None:
    page = overview.page
    box = page.locator(".u-over").first.bounding_box()
    page.mouse.click(box["x"] + box["width"] - 2, box["y"] + 10)
    page.locator(".counted").wait_for()
    assert "from=19&to=19" in state(page)
    page.keyboard.press("j")
    assert "rollout=" in state(page)
    assert page.inner_text(".detail h2").startswith("step 19 · ")
    page.keyboard.press("g")
    page.locator(".sibling").first.wait_for()
    assert page.locator(".sibling").count() == len(SIBLINGS)
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.type") == "search"
    page.keyboard.press("Escape")
    page.keyboard.press("2")
    assert state(page).startswith("#responses")
    page.keyboard.press("1")
    assert state(page).startswith("#overview")
    page.keyboard.press("?")
    assert "side by side" in page.inner_text("dialog")


def test_a_bar_leads_to_its_responses_and_what_a_model_wrote_stays_text(overview: Visit) -> None:
    page = overview.page
    page.locator(".bars button", has_text="wrong").click()
    page.locator(".counted").wait_for()
    assert "reason=wrong" in state(page)
    page.fill("[name=q]", "onerror")
    page.locator(".detail", has_text="onerror").wait_for()
    assert "<img src=x onerror=alert(1)>" in page.inner_text(".detail")
    assert page.locator("main img, main b:not(.num)").count() == 0
    link = page.url
    page.goto("about:blank")
    page.goto(link)
    page.locator(".detail", has_text="onerror").wait_for()


def test_two_ranges_say_why_the_reward_moved(overview: Visit) -> None:
    page = overview.page
    brush(page, 0.55, 1.0)
    page.get_by_role("button", name="Compare with before").click()
    page.locator(".headline").wait_for()
    assert state(page).endswith("a=2-10&b=11-19")
    page.fill("[name=a-from]", "0")
    page.fill("[name=a-to]", "9")
    page.fill("[name=b-from]", "10")
    page.get_by_role("button", name="Compare", exact=True).click()
    page.locator(".headline", has_text="0.500 → 0.250").wait_for()
    assert "fell" in page.inner_text(".headline")
    changed = page.locator("[aria-label='What changed most'] tbody tr").all_inner_texts()
    assert any(row.split()[:5] == ["wrong", "reason", "50.0%", "75.0%", "+25.0"] for row in changed)
    assert page.locator("[aria-label='Changed fingerprints'] tbody tr").inner_text().split()[-1] == "10"
    assert page.locator(".columns").first.locator(".column").count() == 2
    page.get_by_role("button", name="Judge B as in A").click()
    page.locator(".rejudged .note").wait_for()
    assert "differ" in page.inner_text(".rejudged .note")
    assert "0.0" in page.inner_text(".rejudged table")


def test_two_ranges_can_be_drawn(visit: Go, trained: tuple[str, str]) -> None:
    root, path = trained
    page = visit(root).open(f"{path}#moved")
    assert "Choose two ranges" in page.inner_text(".result")
    brush(page, 0.0, 0.3)
    page.locator(".shade.a").wait_for()
    brush(page, 0.6, 1.0)
    page.locator(".headline").wait_for()
    assert state(page).startswith("#moved?a=0-")


def test_an_interval_of_two_shares_is_newcombes(visit: Go, trained: tuple[str, str]) -> None:
    """The example of Newcombe (1998), method 10: 56 of 70 against 48 of 80."""
    root, path = trained
    page = visit(root).open(path)
    found = page.evaluate(
        "async () => { const root = document.querySelector('script[type=module]').src;"
        " const { compareShares } = await import(root.replace('run.js', 'run-moved.js'));"
        " return compareShares(48, 80, 56, 70); }"
    )
    assert (found["difference"], found["low"], found["high"]) == pytest.approx((0.2, 0.0524, 0.3339), abs=1e-4)


def test_what_judges_cost_has_a_chart_a_column_and_a_place_in_the_list(visit: Go, tmp_path: Path) -> None:
    with ScriptedJudge() as judge:
        judge.script({"when": "Lisbon", "reply": {"reason": "the same city", "verdict": "correct"}})
        named = {"main": judge.settings(input_usd=2000.0, output_usd=0.0)}
        settings = ("--set", f"runs.dir={tmp_path / 'runs'}", "--set", f"judges.named={json.dumps(named)}")
        with ServerProcess(tmp_path, *QUIET, *settings) as server:
            for step in range(3):
                text = f"Lisbon, {step}"
                sample = {"response": text, "prompt": "?", "reference": text, "data_source": "cities"}
                body = {"use": "judge", "samples": [sample], "progress": {"step": step}}
                httpx.post(f"{server.http}/v1/verify", json=body, timeout=60).raise_for_status()
            run = stored(server.http, "default", 3)
            (cost,) = (run["cost_usd"] for run in httpx.get(f"{server.http}/v1/runs").json()["runs"])
            visited = visit(server.http)
            visited.expected = ("Failed to load resource",)  # the server stops before the page
            page = visited.open("/runs")
            assert f"${cost:.2f}" in page.locator("tbody tr").inner_text()
            page.goto(f"{server.http}/runs/{run}")
            tile = page.locator(".tile", has_text="Spent on judges")
            tile.wait_for()
            assert f"${cost:.2f}" in tile.inner_text()
            assert "3 requests" in tile.inner_text()
            assert page.locator(".plot:visible", has_text="Spent on judges").count() == 1
            assert f"${cost:.2f}" in page.locator("[aria-label='Figures by data source'] tbody tr").inner_text()


def test_without_texts_the_page_says_how_to_keep_them(visit: Go, tmp_path: Path) -> None:
    with ServerProcess(tmp_path, *QUIET, "--set", f"runs.dir={tmp_path / 'runs'}") as server:
        send(server.http, "short", 0)
        page = visit(server.http).open(f"/runs/{stored(server.http, 'short', 8)}#responses")
        page.locator(".note", has_text="REWARDEN_RUNS_TEXTS=true").wait_for()
        assert "texts = true" in page.inner_text(".note")
        page.close()  # before its server: a stream that breaks is an error in the console


def test_a_server_that_stores_no_runs_says_so(visit: Go, tmp_path: Path) -> None:
    with ServerProcess(tmp_path, *QUIET, "--set", "runs.store=false") as server:
        page = visit(server.http).open("/runs")
        assert "REWARDEN_RUNS_STORE=true" in page.inner_text("#runs")
        page = visit(server.http).open("/")
        assert "REWARDEN_RUNS_STORE=true" in page.inner_text("#run")


def test_a_key_opens_its_own_runs_alone(visit: Go, tmp_path: Path) -> None:
    other = "rwd_another-key"
    settings = ("--set", f"keys.named=tests={hash_key(KEY)},others={hash_key(other)}")
    with ServerProcess(tmp_path, *QUIET, "--set", f"runs.dir={tmp_path / 'runs'}", *settings) as server:
        mine, theirs = ({"Authorization": f"Bearer {key}"} for key in (KEY, other))
        send(server.http, "mine", 0, **mine)
        send(server.http, "theirs", 0, **theirs)
        stored(server.http, "theirs", 8, **theirs)
        path = f"/runs/{stored(server.http, 'mine', 8, **mine)}"
        page = visit(server.http).open("/runs")
        assert "only with an API key" in page.inner_text("#told")
        page.fill("#key", KEY)
        page.keyboard.press("Enter")
        page.locator("tbody tr").wait_for()
        assert page.locator("tbody th a").all_inner_texts() == ["mine"]
        page = visit(server.http).open(path)
        page.fill("#key", KEY)
        page.keyboard.press("Enter")
        page.locator(".live", has_text="live").wait_for()
        page.close()  # before its server: a stream that breaks is an error in the console
        visited = visit(server.http)
        visited.expected = ("404",)
        page = visited.open(path)
        page.fill("#key", other)
        page.keyboard.press("Enter")
        page.locator("#told.bad").wait_for()


def test_the_index_shows_the_latest_run(visit: Go, trained: tuple[str, str]) -> None:
    root, _ = trained
    send(root, "newest", 0)
    stored(root, "newest", 8)
    page = visit(root).open("/")
    assert "accepts work" in page.inner_text("#told")
    assert page.inner_text("#run strong") == "newest"
    page.click("#run a >> nth=0")
    page.wait_for_url("**/runs/*")


@pytest.mark.parametrize(("width", "dark"), LOOKS)
def test_nobody_is_kept_out_of_runs(visit: Go, trained: tuple[str, str], width: int, dark: bool) -> None:
    root, path = trained
    visited = visit(root, width=width, dark=dark)
    for address in ("/", "/runs", *(f"{path}{view}" for view in VIEWS)):
        visited.page.goto("about:blank")
        page = visited.open(address)
        if address.startswith(path):
            page.locator(".bars, .counted, .headline").first.wait_for()
        assert check(page) == [], address
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), address


def test_a_hundred_thousand_points_are_merged_into_what_a_chart_can_show(visit: Go, trained: tuple[str, str]) -> None:
    root, path = trained
    visited = visit(root)
    many = 12_500
    ones = ("verdicts", "scored", "passed", "mean", "score", "chars")
    unknown = ("tokens", "run_s", "queue_s")
    known = {
        "source": [source for _ in range(many) for source in range(8)],
        "at": [at for at in range(many) for _ in range(8)],
        **dict.fromkeys(ones, [1] * many * 8),
        **dict.fromkeys(unknown, [None] * many * 8),
    }

    def answer(route: Any) -> None:
        made = route.fetch().json()
        points = dict.fromkeys(made["points"], [0] * many * 8) | known
        body = json.dumps({**made, "sources": [*"abcdefgh"], "points": points})
        route.fulfill(body=body, content_type="application/json")

    visited.page.route("**/points?**", answer)
    page = visited.open(path)
    assert page.locator(".tile dd").first.inner_text().startswith("100,000")
    assert (page.locator(".board").first.get_attribute("aria-valuetext") or "").count("1.000") == 8
