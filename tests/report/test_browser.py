"""The page in a real browser: it opens without a fault, does what it shows, and lets nothing run that a model wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.report.browser import CHROMIUM, Browser
from tests.report.conftest import Desk, row, scored

pytestmark = [
    pytest.mark.needs_server,
    pytest.mark.group("browser"),
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here (apt-get install chromium)"),
]

MANY = 20_000


def rows() -> list[dict[str, Any]]:
    """Ten groups of four. Of group g, g % 5 members are right; one row is an error, one undecided, one flagged."""
    made = []
    for number in range(40):
        group, member = divmod(number, 4)
        right = member < group % 5
        answer = "4" if right else "5"
        verdict = scored(float(right), extracted=answer, evidence={"rule": "boxed"})
        made.append(
            row(
                f"Adding gives \\boxed{{{answer}}}, said number {number}.",
                id=f"r{number}",
                group=f"g{group}",
                prompt=f"What is 2+2, asks {group}?",
                data_source=f"source/{group % 2}",
                verdict=verdict,
            )
        )
    made[7]["verdict"] = scored(None, "error", reason="crash", fault="infra")
    made[8]["verdict"] = scored(None, "undecided", reason="too_long", fault="verifier")
    made[9]["verdict"] = scored(0.5, passed=False, reason="partial", extracted="5", flags=["truncated"])
    return made


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    desk = Desk(tmp_path_factory.mktemp("small"))
    desk.report(rows())
    return desk.output


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    desk = Desk(tmp_path_factory.mktemp("large"))
    desk.report(
        row(
            f"Number {n} says \\boxed{{{n % 7}}}",
            id=f"r{n}",
            group=f"g{n // 8}",
            prompt=f"question {n // 8}",
            data_source=f"s{n // 8 % 3}",
            verdict=scored(float(n % 7 == 4), extracted=str(n % 7), evidence={"rule": "boxed"}),
        )
        for n in range(MANY)
    )
    return desk.output


def counted(browser: Browser) -> str:
    text: str = browser.run("text('.counted')")
    return text


def test_the_overview_tells_what_came_out(browser: Browser, small: Path) -> None:
    browser.open(small)
    assert browser.run("$$('.tile dt').map(one => one.innerText)")[:3] == ["Responses", "Mean score", "Passed"]
    assert browser.run("text('.tile:nth-child(1) dd')").startswith("40")
    charts = browser.run("$$('figure svg[role=img]').map(one => one.getAttribute('aria-label'))")
    assert len(charts) == 3
    assert charts[0].startswith("Histogram of scores, All scores.")
    cards = browser.run(
        "Object.fromEntries($$('.bars').map(one => [one.parentElement.firstChild.innerText, one.innerText]))"
    )
    assert "? too_long" in cards["UNSCORED"]
    assert "fault: infra" in cards["UNSCORED"]
    assert "truncated" in cards["FLAGS"]
    browser.run("$$('.bars button').find(one => one.innerText.includes('crash')).click()")
    assert counted(browser) == "1 of 40 responses"
    assert browser.run("text('.detail h2')") == "r7"
    browser.run("history.back(), until(() => document.body.dataset.view === 'overview')")


def test_what_has_no_verdict_is_listed_and_not_counted(browser: Browser, desk: Desk) -> None:
    desk.report([row(), {"prompt": "2+2?", "response": "4", "id": "bare"}], unjudged=True)
    browser.open(desk.output)
    assert browser.run("$$('.note').map(one => one.innerText)") == [
        "1 response without a verdict: listed, but not counted."
    ]
    assert browser.run("text('.tile')").split("\n") == ["Responses", "2", "1 without a verdict"]
    assert browser.run("text('table tbody tr')").split("\t")[1:4] == ["1", "1", "0"]
    browser.open(desk.output, "responses?state=missing")
    assert browser.run("text('.detail h2')") == "bare"
    assert "no verdict" in browser.run("text('.detail .verdict')")
    desk.report([{"prompt": "2+2?", "response": "4"}], unjudged=True)
    browser.open(desk.output)
    assert browser.run("$$('.tile').length") == 1
    assert browser.run("$$('figure, table').length") == 0


def test_a_bar_of_a_chart_leads_to_its_responses(browser: Browser, small: Path) -> None:
    browser.open(small)
    right = sum(min(group % 5, 4) for group in range(10)) - 2  # less rows 8 and 9, whose verdicts are others
    browser.run("$$('figure:first-child .bin').pop().dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    assert counted(browser) == f"{right} of 40 responses"
    browser.open(small)
    browser.run("$('figure details').open = true, $$('figure:first-child td:last-child').length")
    browser.run("$$('figure:first-child tbody button')[1].click()")
    assert browser.run("$$('.entry .score').map(one => one.innerText)") == ["0.5"]


@pytest.mark.parametrize(
    ("filters", "ids"),
    [
        ("list=unscored", ["r7", "r8"]),
        ("list=flagged", ["r9"]),
        ("state=error", ["r7"]),
        ("reason=partial", ["r9"]),
        ("fault=verifier", ["r8"]),
        ("flag=truncated", ["r9"]),
        ("low=0.2&high=0.8", ["r9"]),
        ("q=said+number+12.", ["r12"]),
        ("q=ASKS+3&source=source%2F1", ["r12", "r13", "r14", "r15"]),
        ("q=nowhere", []),
    ],
)
def test_filters_list_what_they_say(browser: Browser, small: Path, filters: str, ids: list[str]) -> None:
    browser.open(small, f"responses?{filters}")
    assert browser.run("$$('.entry .line:first-child .id').map(one => one.innerText)") == ids


def test_controls_do_what_links_do(browser: Browser, small: Path) -> None:
    browser.open(small, "responses")
    assert counted(browser) == "40 responses"
    choose = "const menu = $('select[name=state]'); menu.value = 'undecided'; menu.dispatchEvent(new Event('change'))"
    browser.run(f"(() => {{ {choose} }})()")
    assert counted(browser) == "1 of 40 responses"
    assert "state=undecided" in browser.run("location.hash")
    browser.run("$('.clear').click()")
    assert counted(browser) == "40 responses"
    browser.run("$('input[name=q]').focus()")
    browser.send("Input.insertText", text="number 33")
    browser.run("until(() => $('.counted').innerText === '1 of 40 responses')")
    assert browser.run("text('.detail h2')") == "r33"
    browser.run("$('.clear').click()")
    browser.run("$$('.segments button').find(one => one.innerText === 'Best').click()")
    assert browser.run("text('.entry .score')") == "1.0"
    browser.run("$$('.segments button').find(one => one.innerText === 'Worst').click()")
    assert browser.run("text('.entry .score')") == "0.0"


def test_a_response_shows_its_texts_with_the_judged_answer_marked(browser: Browser, small: Path) -> None:
    browser.open(small, "responses?r=4")
    assert browser.run("$$('.detail mark').map(one => one.innerText)") == ["4"]
    shown = browser.run("text('.detail')")
    for part in ("r4", "source/1", "math 1", "What is 2+2, asks 1?", "said number 4", "Group g1 · 1 of 3 passed"):
        assert part in shown
    browser.run("$$('.siblings .dot')[3].click()")
    assert browser.run("text('.detail h2')") == "r7"
    assert "crash" in browser.run("text('.detail .verdict')")


def test_groups_stand_side_by_side(browser: Browser, small: Path) -> None:
    browser.open(small, "groups?mix=mixed")
    assert browser.run("$$('.entry .id').map(one => one.innerText)") == ["g1", "g3", "g6", "g7", "g8"]
    browser.run("$$('.entry')[1].click()")
    assert browser.run("text('.siblings-panel h2')") == "g3"
    assert "asks 3?" in browser.run("text('.siblings-panel')")
    # Not innerText: of a card that is not laid out yet, that is empty.
    assert browser.run("$$('.sibling .verdict .score').map(one => one.textContent)") == ["1.0", "1.0", "1.0", "0.0"]
    assert len(browser.run("$$('.sibling mark')")) == 4
    tops = browser.run("$$('.sibling').slice(0, 3).map(one => one.getBoundingClientRect().top)")
    assert len(set(tops)) == 1
    browser.run("$('.sibling button').click()")
    assert browser.run("text('.detail h2')") == "r12"


def test_a_long_sibling_is_read_from_its_judged_answer_on(browser: Browser, desk: Desk) -> None:
    long = "Let me think.\n" * 200
    desk.report([row(f"{long}So \\boxed{{{n}}}.", group="g", verdict=scored(0.0, extracted=str(n))) for n in range(40)])
    browser.open(desk.output, "groups?g=0")
    seen = (
        "(box => { const mark = box.querySelector('mark').getBoundingClientRect(), own = box.getBoundingClientRect();"
    )
    seen += " return mark.top >= own.top && mark.bottom <= own.bottom; })"
    browser.run(f"until(() => {seen}($('.reading')))")
    browser.run("$('.sibling:nth-child(32)').scrollIntoView()")
    browser.run(f"until(() => {seen}($$('.reading')[31]))")
    browser.run("$('.siblings-panel .wide-button').click(), $('.sibling:nth-child(40)').scrollIntoView()")
    browser.run(f"until(() => {seen}($$('.reading')[39]))")


def test_everything_can_be_done_with_keys(browser: Browser, small: Path) -> None:
    browser.open(small)
    browser.key("2")
    browser.key("j")
    browser.key("j")
    browser.key("k")
    assert browser.run("text('.detail h2')") == "r1"
    browser.key("g")
    assert browser.run("text('.siblings-panel h2')") == "g0"
    browser.key("j")
    assert browser.run("text('.siblings-panel h2')") == "g1"
    browser.key("2")
    browser.key("/")
    assert browser.run("document.activeElement.type") == "search"
    browser.key("Escape")
    browser.run("$('.scroller').focus()")
    browser.key("End")
    assert browser.run("text('.detail h2')") == "r39"
    assert browser.run("$('#' + $('.scroller').getAttribute('aria-activedescendant')).innerText").find("r39") >= 0
    browser.key("?")
    assert browser.run("$('dialog').open")
    browser.key("Escape")
    browser.run("until(() => !$('dialog').open)")


def test_twenty_thousand_rows_are_drawn_a_few_at_a_time(browser: Browser, large: Path) -> None:
    browser.open(large, "responses")
    assert counted(browser) == "20,000 responses"
    assert browser.run("$$('.entry').length") < 60
    browser.run("$('.scroller').scrollTop = 1e9, settle()")
    browser.run("until(() => $$('.entry .id').some(one => one.innerText === 'r19999'))")
    assert browser.run("$$('.entry').length") < 60
    browser.open(large, "responses?q=number+19998+says")
    assert browser.run("text('.detail h2')") == "r19998"
    browser.open(large, "groups?mix=mixed")
    assert browser.run("$$('.sibling').length") == 8
    browser.open(large)
    assert browser.run("text('.tile dd')").startswith("20,000")


@pytest.mark.parametrize("width", [360, 390, 768, 1440])
@pytest.mark.parametrize("dark", [False, True])
def test_no_width_has_to_be_scrolled_sideways(browser: Browser, small: Path, width: int, dark: bool) -> None:
    browser.shape(width, 800, dark=dark, phone=width < 600)
    for place in ("overview", "responses", "responses?r=9&open=1", "groups", "groups?g=3&open=1"):
        browser.open(small, place)
        assert browser.run("document.documentElement.scrollWidth") <= width
        ground = browser.run("getComputedStyle(document.body).backgroundColor")
        assert (ground == "rgb(16, 19, 24)") == dark


def test_the_theme_can_be_chosen_against_the_system(browser: Browser, small: Path) -> None:
    browser.open(small)
    browser.run("$('.theme').click(), $('.theme').click()")
    assert browser.run("text('.theme')") == "Theme: dark"
    assert browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(16, 19, 24)"
    browser.run("$('.theme').click()")
    assert browser.run("text('.theme')") == "Theme: system"


def test_on_a_phone_the_list_and_a_response_take_turns(browser: Browser, small: Path) -> None:
    browser.shape(390, 800, phone=True)
    browser.open(small, "responses")
    assert not browser.run("$('.detail').checkVisibility()")
    browser.run("$$('.entry')[2].click()")
    assert browser.run("$('.detail').checkVisibility()")
    assert not browser.run("$('.scroller').checkVisibility()")
    browser.run("history.back(), until(() => $('.scroller').checkVisibility())")


HOSTILE = [
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    "<img src=x onerror=alert(3)>",
    "<svg onload=alert(4)>",
    "<a href='javascript:alert(5)' autofocus onfocus=alert(6)>x</a>",
    "{{script}} ${alert(7)} `+alert(8)+`",
    "\u2028alert(9)//\u2029",
    "\ud800 half \udfff",
    "<iframe srcdoc='<script>parent.alert(10)</script>'></iframe>",
    "<meta http-equiv=refresh content='0;url=https://example.org'>",
    "__proto__",
    "constructor",
    "\x00\x1b[31m\u202e\ufeff",
]


def test_what_a_model_writes_is_text_and_never_runs(browser: Browser, desk: Desk) -> None:
    made = []
    for number, text in enumerate(HOSTILE * 2):
        verdict = scored(0.0, extracted=text, evidence={text: text}, flags=[text], feedback=text)
        own = {"prompt": text, "reference": text, "id": text, "data_source": text, "group": f"{text}{number % 13}"}
        made.append(row(f"{text} \\boxed{{4}} {text}", verdict={**verdict, "reason": text, "fault": text}, **own))
    desk.report(made)
    browser.open(desk.output)
    assert "<script>alert(1)</script>" in browser.run("document.body.innerText")
    for number, text in enumerate(HOSTILE):
        browser.open(desk.output, f"responses?r={number}")
        shown = browser.run("$('.detail').textContent")
        assert text.replace("\x00", "\ufffd") in shown or "\ud800" in text or "\x00" in text
        browser.open(desk.output, f"groups?g={number}")
    assert browser.run("document.scripts.length") <= 2
    assert browser.run("$$('img, iframe, a[href^=javascript], svg[onload], [onerror]').length") == 0


def test_even_a_mistake_in_the_page_would_run_nothing(running: Browser, small: Path) -> None:
    running.open(small)
    refused = running.run(
        """(() => {
          const found = [];
          const image = document.createElement('img');
          const markup = () => { document.body.innerHTML = '<img src=x onerror=alert(1)>'; };
          const handler = () => image.setAttribute('onerror', 'alert(3)');
          for (const write of [markup, () => eval('alert(2)'), handler]) {
            try { write(); found.push('ran'); } catch (error) { found.push(error.name); }
          }
          image.src = 'https://example.org/x.png';
          document.body.append(image);
          return found;
        })()"""
    )
    running.run("settle()")
    assert len(refused) == 3
    assert "ran" not in refused
    assert running.dialogs == []
    assert any("Content Security Policy" in fault for fault in running.faults)  # the image, too, was refused


def test_a_page_that_was_cut_short_says_so(running: Browser, small: Path, tmp_path: Path) -> None:
    page = small.read_text(encoding="utf-8")
    at = page.index('id="data">') + 500
    broken = tmp_path / "broken.html"
    broken.write_text(page[:at] + page[page.index("</script>", at) :], encoding="utf-8")
    running.open(broken)
    assert "The report cannot be opened" in running.run("text('[role=alert]')")


def test_where_the_files_scores_and_ours_disagree_comes_first(browser: Browser, desk: Desk) -> None:
    rows = [row(score=float(n % 2), id=f"r{n}", reward=float(n in (1, 3, 4))) for n in range(6)]
    desk.report(rows, baseline="reward")
    browser.open(desk.output)
    assert browser.run("$('.overview > section').className").endswith("versus")
    told = browser.run("$$('.versus tbody tr').map(one => [...one.children].map(cell => cell.innerText))")
    assert told == [
        ["theirs fails, ours passes", "accepted", "1", "16.7%", "scored.jsonl:6"],
        ["theirs passes, ours fails", "wrong", "1", "16.7%", "scored.jsonl:5"],
    ]
    browser.run("$$('.versus tbody button')[1].click()")
    assert counted(browser) == "1 of 6 responses"
    assert browser.run("text('.detail h2')") == "r4"
    assert "baseline 1.0" in browser.run("$('.detail .verdict').innerText")
    assert "versus=only_theirs" in browser.run("location.hash")
    choose = "const menu = $('select[name=versus]'); menu.value = 'agree'; menu.dispatchEvent(new Event('change'))"
    browser.run(f"(() => {{ $('.clear').click(); {choose} }})()")
    assert counted(browser) == "4 of 6 responses"
