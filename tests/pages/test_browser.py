"""The pages in a real browser: a person gets a verdict, nothing that a model wrote runs, and nobody is left out.

Waiting is by locators: a function to wait for would be evaluated from a string, which the pages' policy forbids.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.pages.conftest import KEY, Go, Visit

pytestmark = [pytest.mark.needs_server, pytest.mark.group("browser")]

PAGES = (
    "/",
    "/docs",
    "/docs/choice",
    "/docs/samee",
    "/docs/satori",
    "/gallery",
    "/playground",
    "/playground/math",
    "/health",
)


def check(page: Any) -> list[str]:
    """Returns what axe finds that keeps people out."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="pip install axe-playwright-python").Axe()
    found = axe.run(page).response["violations"]
    return [
        f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found if one["impact"] in ("serious", "critical")
    ]


def use(visited: Visit, case: str) -> Any:
    """Load an example by its title and send it."""
    visited.page.get_by_role("button", name=case, exact=False).first.click()
    return visited.send()


def fill(page: Any, part: str, text: str) -> None:
    """Type into a part of the first sample."""
    page.locator(f"[data-part={part}] textarea").first.fill(text)


@pytest.mark.parametrize("look", [{}, {"dark": True}, {"width": 375}], ids=["light", "dark", "phone"])
def test_nobody_is_kept_out_and_nothing_runs_off_the_side(visit: Go, look: dict[str, Any]) -> None:
    visited = visit(**look)
    for path in PAGES:
        visited.expected = ("404",) if path.endswith("samee") else visited.expected
        page = visited.open(path)
        assert check(page) == [], path
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
        assert page.title()
    visited.open("/playground/math")
    visited.page.click(".params summary")
    use(visited, "a plain integer")
    assert check(visited.page) == []
    assert visited.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_page_is_small_and_asks_its_own_server_alone(visit: Go) -> None:
    visited = visit()
    for path, requests in (("/playground/math", 10), ("/health", 8), ("/docs", 5)):
        visited.answers.clear()
        visited.open(path)
        visited.page.wait_for_load_state("networkidle")
        sizes = {answer.url: len(answer.body()) for answer in visited.answers}
        assert all(url.startswith(visited.root) for url in sizes)
        assert sum(sizes.values()) < 300_000
        assert len(sizes) <= requests


@pytest.mark.parametrize(
    ("name", "case", "words"),
    [
        ("math", "a percentage for its value", ("passed", "1.0", "Extracted")),
        ("choice", "a letter in a box", ("passed", "1.0")),
        ("json", "", ("passed",)),
        ("same", "equal texts", ("passed", "same 1")),
    ],
)
def test_an_example_gets_its_verdict(visit: Go, name: str, case: str, words: tuple[str, ...]) -> None:
    visited = visit()
    page = visited.open(f"/playground/{name}")
    buttons = page.locator("[data-case]")
    chosen = page.locator("[data-case]", has_text=case) if case and case in page.inner_text(".examples") else buttons
    chosen.first.click()
    text = visited.send().inner_text().lower()
    for word in words:
        assert word.lower() in text


def test_the_extracted_answer_is_marked_where_it_was_read(visit: Go) -> None:
    visited = visit()
    page = visited.open("/playground/math")
    fill(page, "response", "First 4, then 42, then 4; so \\boxed{4}, not 4.")
    fill(page, "reference", "4")
    visited.send()
    marks = page.locator(".response mark")
    assert marks.count() == 1
    before = page.evaluate("document.querySelector('.response mark').previousSibling.textContent")
    assert before.endswith("\\boxed{")
    fill(page, "response", "The result is \\boxed{0.5}")
    fill(page, "reference", "1/2")
    visited.send()
    assert page.locator(".response mark").all_inner_texts() == ["0.5"]


def test_what_does_not_stand_in_the_response_is_not_marked_and_the_page_says_so(visit: Go) -> None:
    visited = visit()
    page = visited.open("/playground/same")
    answer = {"verdicts": [{"index": 0, "status": "scored", "score": 0.5, "extracted": "7", "range": [-1, 1]}]}
    page.route("**/v1/verify", lambda route: route.fulfill(json=answer))
    fill(page, "response", "seventeen, or 17")
    visited.send()
    assert page.locator("mark").count() == 0
    assert "does not occur verbatim in the response" in page.inner_text(".verdict")
    assert "-1.0" in page.inner_text(".meter")


def test_a_group_is_judged_together(visit: Go) -> None:
    visited = visit()
    page = visited.open("/playground/consensus")
    use(visited, "majority")
    many = page.locator("article.verdict").count()
    assert many == page.locator("fieldset.sample").count() > 1
    assert page.get_by_role("heading", name="Group").count() == 1
    page.click("#add")
    page.keyboard.type("So it is \\boxed{C}.")
    page.click("#send")
    page.locator("article.verdict").nth(many).wait_for()
    page.locator(".remove").first.click()
    assert page.locator("fieldset.sample").count() == many


def test_a_failure_of_ours_is_no_score(visit: Go) -> None:
    visited = visit()
    visited.open("/playground/code")  # and this server has no sandbox
    card = visited.send()
    assert card.query_selector(".badge").inner_text().endswith("error")
    assert card.query_selector(".score").inner_text() == "–"
    assert "fault: the infrastructure’s" in card.inner_text()


def test_parameters_are_sent_where_they_differ_from_their_defaults(visit: Go) -> None:
    visited = visit()
    page = visited.open("/playground/math")
    sent: list[Any] = []
    page.on("request", lambda request: sent.append(request.post_data_json) if request.method == "POST" else None)
    visited.send()
    assert sent[-1]["use"] == "math"
    page.click(".params summary")
    page.select_option("[data-param=strict] select", label="yes")
    page.fill("[data-param=significant_digits] input", "3")
    page.fill("[data-param=rel_tol] input", "0.01")
    page.fill("[data-param=extraction] textarea", '["boxed"]')
    page.fill("[data-kind=more] textarea", '{"view": "full"}')
    visited.send()
    page.wait_for_selector("#verdicts:not([aria-busy])")
    assert sent[-1]["use"]["params"] == {
        "strict": True,
        "significant_digits": 3,
        "rel_tol": 0.01,
        "extraction": ["boxed"],
        "view": "full",
    }
    assert "5 changed" in page.inner_text("#changed")


def test_json_is_sent_as_it_was_written(visit: Go) -> None:
    visited = visit()
    page = visited.open("/playground/same")
    bodies: list[str] = []
    page.on("request", lambda request: bodies.append(request.post_data) if request.method == "POST" else None)
    page.locator("[data-part=reference] [type=checkbox]").check()
    fill(page, "reference", "[9007199254740993, 1.0]")
    visited.send()
    assert "[9007199254740993,1.0]" in bodies[-1]
    fill(page, "reference", "[1,")
    page.click("#send")
    page.wait_for_selector("[aria-invalid=true]")
    assert "The reference is not valid JSON" in page.inner_text("#told")
    assert len(bodies) == 1


ATTACK = "<img src=x onerror=alert(1)><script>alert(2)</script>\u202egnp.exe\u0007</textarea><b>bold</b>"


def test_what_a_model_wrote_stays_text(visit: Go) -> None:
    visited = visit()
    page = visited.open("/playground/same")
    hostile = {
        "index": 0,
        "status": "scored",
        "score": 0.0,
        "passed": False,
        "extracted": ATTACK,
        "reason": ATTACK,
        "feedback": ATTACK,
        "flags": [ATTACK],
        "evidence": {ATTACK: ATTACK},
        "components": {ATTACK: {"status": "scored", "score": 1.0, "reason": ATTACK, "verifier": ATTACK}},
        "steps": [{"index": 0, "score": 1.0, "label": ATTACK, "feedback": ATTACK}],
        "verifier": {"name": ATTACK, "version": ATTACK, "fingerprint": ATTACK},
    }
    # As JSON text: ASCII, as a server would send it.
    body = json.dumps({"verdicts": [hostile, {**hostile, "index": 1}], "groups": [{"group": ATTACK, "size": 2}]})
    page.route("**/v1/verify", lambda route: route.fulfill(body=body, content_type="application/json"))
    fill(page, "response", ATTACK)
    page.click("#add")
    visited.send()
    assert page.locator("#verdicts img, #verdicts script, #verdicts b:not(.num)").count() == 0
    shown = page.inner_text(".response >> nth=0")
    assert "<img src=x onerror=alert(1)>" in shown
    assert "\u202e" not in shown
    assert page.locator(".response >> nth=0").locator(".control").all_inner_texts() == ["RLO", "U+0007"]
    for kind in ("curl", "python"):
        page.click(f"[data-copy={kind}]")
        page.wait_for_selector(".snippet")
        assert page.locator("#verdicts img, #verdicts script").count() == 0


def test_a_huge_answer_does_not_stop_the_page(visit: Go) -> None:
    visited = visit()
    page = visited.open("/playground/same")
    verdict = {
        "index": 0,
        "status": "scored",
        "score": 1.0,
        "feedback": "x" * 3_000_000,
        "evidence": {"a": ["y" * 50] * 50_000},
    }
    page.route("**/v1/verify", lambda route: route.fulfill(json={"verdicts": [verdict]}))
    visited.send()
    assert "characters omitted" in page.inner_text(".verdict")
    assert page.evaluate("document.querySelector('.verdict').textContent.length") < 200_000


@pytest.mark.parametrize(
    ("status", "headers", "words"),
    [
        (400, {}, ("malformed", "samples[0].steps")),
        (409, {}, ("fingerprint",)),
        (413, {}, ("too large",)),
        (429, {"Retry-After": "7"}, ("Too many requests", "7 s")),
        (503, {"Retry-After": "3"}, ("accepts no work", "3 s")),
        (502, {}, ("proxy",)),
    ],
)
def test_a_refusal_says_what_to_do(visit: Go, status: int, headers: dict[str, str], words: tuple[str, ...]) -> None:
    visited = visit()
    visited.expected = ("Failed to load resource",)
    page = visited.open("/playground/same")
    error = {"error": {"code": "some", "message": "said plainly", "details": {"path": "samples[0].steps"}}}
    body = json.dumps(error) if status != 502 else "<html>Bad gateway</html>"
    page.route("**/v1/verify", lambda route: route.fulfill(status=status, headers=headers, body=body))
    page.click("#send")
    page.wait_for_selector("#told.bad")
    told = page.inner_text("#told")
    for word in words:
        assert word in told
    assert page.inner_text("#send") == "Send"


def test_a_connection_that_breaks_is_said_so(visit: Go) -> None:
    visited = visit()
    visited.expected = ("Failed to load resource",)
    page = visited.open("/playground/same")
    page.route("**/v1/verify", lambda route: route.abort())
    page.click("#send")
    page.wait_for_selector("#told.bad")
    assert "cannot be reached" in page.inner_text("#told")


def test_the_keyboard_is_enough(visit: Go) -> None:
    visited = visit()
    page = visited.open("/playground/choice")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    for _ in range(200):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.dataset.case === '1'"):
            break
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.hasAttribute('aria-current')")
    page.locator("[data-part=response] textarea").focus()
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("article.verdict")
    assert page.inner_text("#told")


def test_a_key_is_asked_for_and_stays_in_the_page(visit: Go, keyed: str) -> None:
    visited = visit(keyed)
    visited.expected = ("401",)
    page = visited.open("/playground/same")
    page.click("#send")
    page.wait_for_selector("#told.bad")
    assert "API key" in page.inner_text("#told")
    assert page.evaluate("document.activeElement.id") == "key"
    page.keyboard.type(KEY)
    visited.send()
    assert KEY not in page.url
    assert page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])") == '[{},{},""]'
    page.click("[data-copy=curl]")
    page.wait_for_selector(".snippet")
    assert KEY not in page.inner_text(".snippet")
    assert "$REWARDEN_API_KEY" in page.inner_text(".snippet")


def test_health_tells_strangers_nothing_and_the_key_opens_it(visit: Go, keyed: str) -> None:
    visited = visit(keyed)
    page = visited.open("/health")
    assert "only with an API key" in page.inner_text("#told")
    assert page.inner_text("#health") == ""
    page.fill("#key", KEY)
    page.keyboard.press("Enter")
    page.wait_for_selector("#health section")
    assert "accepts work" in page.inner_text("#told")


def test_health_says_what_is_missing_and_what_mends_it(visit: Go) -> None:
    visited = visit()
    page = visited.page

    def changed(route: Any) -> None:
        answer = route.fetch()
        found = [{"what": "the sandbox: <b>no</b> launcher", "mend": "apt-get install bubblewrap"}]
        host = {"launcher": "bwrap", "limits": {"cpu_s": 10, "memory_mb": 512}, "enforced": {"cpu_s": "cgroup"}}
        made = {**answer.json(), "problems": found, "sandbox": {"state": "ready", "reason": None, "host": host}}
        route.fulfill(json=made)

    page.route("**/v1/info", changed)
    visited.open("/health")
    assert "1 problem" in page.inner_text("#told")
    assert "<b>no</b> launcher" in page.inner_text(".problems")
    assert page.inner_text(".mend") == "apt-get install bubblewrap"
    assert page.locator("tr", has_text="memory_mb").inner_text().endswith("nothing")
    assert page.locator("tr", has_text="cpu").first.is_visible()


def test_a_name_is_found_by_typing(visit: Go) -> None:
    page = visit().open("/playground")
    page.fill("#find", "TTRL majority")
    assert page.locator(".names li:visible code").first.inner_text() == "consensus"
    page.keyboard.press("Enter")
    page.wait_for_url("**/playground/consensus")


def test_the_copied_request_runs_elsewhere(visit: Go, address: str) -> None:
    visited = visit()
    page = visited.open("/playground/same")
    tricky = "it's $HOME `x` \"q\" \\n\nREQUEST\n'''"
    fill(page, "response", tricky)
    fill(page, "reference", tricky)
    for kind, title, command in (
        ("curl", "Shell", ["bash", "-c"]),
        ("python", "Python", [sys.executable, "-c"]),
    ):
        page.click(f"[data-copy={kind}]")
        page.locator("#verdicts").get_by_role("heading", name=title, exact=True).wait_for()
        text = page.evaluate("document.querySelector('.snippet').textContent")
        done = subprocess.run([*command, text], capture_output=True, text=True, check=True, timeout=60)
        assert "1.0" in done.stdout


@pytest.mark.parametrize("name", ["rubric", "tool_calls"])
def test_every_example_goes_into_the_form_and_comes_out_as_it_was(visit: Go, name: str) -> None:
    visited = visit()
    page = visited.open(f"/playground/{name}")
    sent: list[Any] = []

    def kept(route: Any) -> None:
        sent.append(json.loads(route.request.post_data))
        route.fulfill(json={"verdicts": [{"index": 0, "status": "undecided", "score": None}]})

    page.route("**/v1/verify", kept)
    cases = json.loads(page.evaluate("document.getElementById('data').textContent"))["cases"]
    fields = "[...document.querySelectorAll('.field')].map(field => [field.dataset.param, field.dataset.default])"
    defaults = {name: json.loads(text) for name, text in page.evaluate(fields) if text}
    for number, case in enumerate(cases):
        page.evaluate("number => document.querySelector(`[data-case='${number}']`).click()", number)
        page.evaluate("document.querySelector('form.ask').requestSubmit()")
        page.get_by_role("button", name="Send", exact=True).wait_for()
        assert len(sent) == number + 1, (case["title"], page.inner_text("#told"))
        body = sent[-1]
        params = body["use"]["params"] if isinstance(body["use"], dict) else {}
        nothing = object()
        changed = {key: value for key, value in case["params"].items() if defaults.get(key, nothing) != value}
        assert params == changed, case["title"]
        # An empty field is none: of a sample only the response may be empty.
        given = [{k: v for k, v in one.items() if v != "" or k == "response"} for one in case["samples"]]
        assert body["samples"] == given, case["title"]


WIDTHS = (360, 768, 1280, 1920)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_gallery_and_a_recipe_fit_every_width(visit: Go, width: int) -> None:
    visited = visit(width=width)
    for path in ("/gallery", "/docs", "/docs/satori", "/docs/logic_rl", "/docs/math"):
        page = visited.open(path)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path


def names_shown(page: Any) -> list[str]:
    shown: list[str] = page.locator(".names li:not([hidden]) > a").all_inner_texts()
    return shown


def test_the_gallery_is_narrowed_by_words_and_choices_that_a_link_carries(visit: Go) -> None:
    visited = visit()
    page = visited.open("/gallery")
    whole = len(names_shown(page))
    page.select_option("[data-filter=family]", "With Lean")
    proofs = names_shown(page)
    assert "lean_proof" in proofs
    assert page.locator("h2:visible").all_inner_texts() == [f"With Lean {len(proofs)}"]
    page.select_option("[data-filter=parity]", "reading")
    assert names_shown(page) == ["kimina_prover", "proof_flow"]
    link = page.url.removeprefix(visited.root)
    page.select_option("[data-filter=family]", "")
    page.select_option("[data-filter=parity]", "")
    page.fill("#find", "logic-rl")
    assert names_shown(page) == ["logic_rl"]
    page.fill("#find", "")
    assert len(names_shown(page)) == whole
    page.goto("about:blank")
    assert names_shown(visited.open(link)) == ["kimina_prover", "proof_flow"]
    assert page.inner_text("#found") == f"2 of {whole}"


def test_verifiers_are_narrowed_by_family(visit: Go) -> None:
    page = visit().open("/docs")
    page.select_option("[data-filter=family]", "Puzzles")
    assert "puzzle" in names_shown(page)
    assert "math" not in names_shown(page)


def score_of(page: Any, part: str) -> str:
    return str(page.inner_text(f".tree li[data-part='{part}'] > .node > output"))


def test_a_parameter_of_a_recipe_changes_the_verdict_and_the_drawing_shows_what_each_component_gave(visit: Go) -> None:
    visited = visit()
    page = visited.open("/docs/accuracy_format")
    fill(page, "response", "no tags, but 4")
    visited.send()
    assert [score_of(page, part) for part in ("", "format", "answer")] == ["0.0", "0.0", "not asked"]
    page.click(".params summary")
    page.fill("[data-param=bad_format] input", "-1")
    visited.send()
    assert score_of(page, "") == "-1.0"
    assert page.locator("mi.lit").first.text_content() == "format"
    fill(page, "response", "<think>Half of 8.</think><answer>4</answer>")
    visited.send()
    assert [score_of(page, part) for part in ("", "format", "answer")] == ["1.0", "1.0", "1.0"]
    assert check(page) == []


def test_the_row_of_an_outcome_table_that_decided_is_lit(visit: Go) -> None:
    visited = visit()
    page = visited.open("/docs/logic_rl")
    visited.send()
    assert page.locator("mtr.lit").text_content().startswith("3")
    fill(page, "response", "nothing")
    visited.send()
    assert page.locator("mtr.lit").text_content().startswith("−3")
