"""`rewarden compare --report`: a comparison as a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rewarden.__main__ import main
from tests.report.browser import CHROMIUM, Browser
from tests.report.conftest import row, scored
from tests.report.test_page import unpack

in_a_browser = [
    pytest.mark.needs_server,
    pytest.mark.group("browser"),
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here (apt-get install chromium)"),
]

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>{{data}}"


def sides() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Eight responses: of them B loses two, wins one, gives an error on one, and scores one otherwise."""
    a, b = [], []
    for n in range(8):
        told = {"id": f"r{n}", "data_source": f"s{n % 2}", "prompt": f"What is {n}+2?", "reference": "4"}
        response = f"Adding gives $x = 4$ or 5, says number {n}."
        right, wrong = scored(1.0, extracted="4"), scored(0.0, extracted="5")
        b_verdict = {0: wrong, 1: wrong, 2: right, 3: scored(None, "error", reason="crash", fault="infra")}.get(n)
        a_verdict = wrong if n in (2, 4) else right
        if n == 4:
            b_verdict = scored(0.25, passed=False, reason="partial", extracted="5")
        a.append(row(response, verdict=a_verdict, **told))
        b.append(row(response, verdict=b_verdict or a_verdict, **told))
    return a, b


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    return path


def report(folder: Path, a: list[dict[str, Any]], b: list[dict[str, Any]], *more: str) -> Path:
    page = folder / "page.html"
    files = (write(folder / "a.jsonl", a), write(folder / "b.jsonl", b))
    assert main(["compare", *map(str, files), "--report", str(page), "-q", *more]) == 0
    return page


def test_the_page_holds_the_figures_and_what_differs(tmp_path: Path) -> None:
    data = unpack(report(tmp_path, *sides()).read_text(encoding="utf-8"))
    assert data["found"]["differing"] == 5
    assert data["rows"]["id"] == data["other"]["id"] == ["r0", "r1", "r2", "r3", "r4"]
    assert data["rows"]["score"] == [1.0, 1.0, 0.0, 1.0, 0.0]
    assert data["other"]["score"] == [0.0, 0.0, 1.0, None, 0.25]
    assert data["rows"]["extracted"][0] == "4"
    assert data["other"]["extracted"][0] == "5"


def test_the_same_files_make_the_same_bytes(tmp_path: Path) -> None:
    assert report(tmp_path, *sides()).read_bytes() == report(tmp_path, *sides()).read_bytes()


def test_of_many_the_widest_differences_are_kept_in_the_files_order(tmp_path: Path) -> None:
    page = report(tmp_path, *sides(), "--report-rows", "3")
    assert unpack(page.read_text(encoding="utf-8"))["rows"]["id"] == ["r0", "r1", "r3"]


def test_numbers_without_responses_are_compared_too(tmp_path: Path) -> None:
    a, b = [{"id": "x", "reward": 1.0}], [{"id": "x", "reward": 0.0}]
    data = unpack(report(tmp_path, a, b).read_text(encoding="utf-8"))
    assert data["rows"]["id"] == ["x"]
    assert data["rows"]["response"] == [[]]
    assert (data["rows"]["passed"], data["other"]["passed"]) == ([True], [False])


def test_several_responses_of_a_row_are_told_apart(tmp_path: Path) -> None:
    a = [{"responses": ["4", "5"], "verdicts": [scored(1.0), scored(0.0)], "scores": [1, 0]}]
    b = [{"responses": ["4", "5"], "verdicts": [scored(1.0), scored(1.0)], "scores": [1, 1]}]
    data = unpack(report(tmp_path, a, b).read_text(encoding="utf-8"))
    assert data["rows"]["id"] == ["row 1 #2"]
    assert data["rows"]["response"] == [[["", ["5"]]]]


def test_only_a_report_is_replaced_unasked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = write(tmp_path / "a.jsonl", sides()[0])
    page = tmp_path / "page.html"
    page.write_text("mine")
    assert main(["compare", str(a), str(a), "--report", str(page)]) == 2
    assert "is not a report" in capsys.readouterr().err
    assert main(["compare", str(a), str(a), "--report", str(page), "--force"]) == 0


@pytest.fixture
def page(tmp_path: Path) -> Path:
    return report(tmp_path, *sides())


class TestInABrowser:
    pytestmark = in_a_browser

    def test_the_overview_tells_how_far_they_agree(self, browser: Browser, page: Path) -> None:
        browser.open(page)
        tiles = browser.run("Object.fromEntries($$('.tile').map(one => one.innerText.split('\\n')))")
        assert tiles["Responses"] == "8"
        assert tiles["Differences"] == "5"
        assert tiles["Agreement"] == "57.1%"
        assert browser.run("$$('.agree td.num').map(one => one.innerText)") == ["3", "2", "1", "1"]
        assert "crash" in browser.run("text('.bars')")
        browser.run("$('.agree .apart button').click()")
        assert browser.run("text('.counted')") == "2 of 5 differences"
        browser.run("history.back(), until(() => document.body.dataset.view === 'overview')")
        browser.run("$$('.bars button').find(one => one.innerText.includes('partial')).click()")
        assert browser.run("text('.detail h2')") == "r4"

    def test_a_difference_stands_side_by_side_with_its_rollout(self, browser: Browser, page: Path) -> None:
        browser.open(page, "changes?r=0")
        a, b = browser.run("$$('.side-card').map(one => one.innerText)")
        assert "passed" in a
        assert "extracted 4" in a
        assert "not passed" in b
        assert "wrong" in b
        assert browser.run("$$('.detail mark').map(one => (one.querySelector('.judged') || one).textContent)") == [
            "4",
            "5",
        ]
        assert "What is 0+2?" in browser.run("text('.detail')")
        browser.open(page, "changes?r=2")
        assert browser.run("text('.detail h2')") == "r2"

    @pytest.mark.parametrize(
        ("filters", "ids"),
        [
            ("kind=lost", ["r0", "r1"]),
            ("kind=gained", ["r2"]),
            ("kind=unscored", ["r3"]),
            ("kind=score", ["r4"]),
            ("source=s1", ["r1", "r3"]),
            ("change=passed+→+error:+crash", ["r3"]),
            ("q=NUMBER+2", ["r2"]),
            ("sort=gap", ["r3", "r0", "r1", "r2", "r4"]),
        ],
    )
    def test_filters_list_what_they_say(self, browser: Browser, page: Path, filters: str, ids: list[str]) -> None:
        browser.open(page, f"changes?{filters}")
        assert browser.run("$$('.entry .line:first-child .id').map(one => one.innerText)") == ids

    def test_everything_can_be_done_with_keys(self, browser: Browser, page: Path) -> None:
        browser.open(page)
        browser.key("2")
        browser.key("j")
        assert browser.run("text('.detail h2')") == "r1"
        browser.key("k")
        assert browser.run("text('.detail h2')") == "r0"
        browser.key("/")
        browser.send("Input.insertText", text="number 3")
        browser.run("until(() => $('.counted').innerText === '1 of 5 differences')")
        browser.key("Escape")
        browser.key("?")
        assert browser.run("$('dialog').open")

    def test_what_a_model_writes_is_text(self, browser: Browser, tmp_path: Path) -> None:
        told = {"id": HOSTILE, "data_source": HOSTILE, "prompt": HOSTILE, "reference": HOSTILE}
        a = row(HOSTILE, verdict=scored(1.0, extracted=HOSTILE, feedback=HOSTILE), **told)
        b = row(HOSTILE, verdict={**scored(0.0, flags=[HOSTILE]), "reason": HOSTILE}, **told)
        made = report(tmp_path, [a], [b])
        for place in ("overview", "changes"):
            browser.open(made, place)
            assert "<img src=x" in browser.run("document.body.innerText")
            assert browser.run("$$('img').length + document.scripts.length") <= 2

    @pytest.mark.parametrize(("width", "dark"), [(360, False), (768, True), (1280, False), (1920, True)])
    def test_it_fits_every_width_and_is_accessible(self, browser: Browser, page: Path, width: int, dark: bool) -> None:
        browser.shape(width, 900, dark=dark, phone=width < 600)
        for place in ("overview", "changes", "changes?r=0&open=1"):
            browser.open(page, place)
            assert browser.run("document.documentElement.scrollWidth") <= width
            assert browser.violations() == []
