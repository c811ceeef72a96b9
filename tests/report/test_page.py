"""The page as a file: complete in itself, the same for the same rows, and closed to what models write."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import re
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from rewarden_server.studies.report.page import check_output, make_report
from rewarden_server.studies.rescore.options import RescoreError
from tests.report.conftest import Desk, row, scored

HOSTILE = "</script><script>alert(1)</script>{{script}}{{data}}<!--\u2028\u2029\ud800<img src=x onerror=alert(2)>"


def unpack(page: str) -> dict[str, Any]:
    packed = re.search(r'id="data">([A-Za-z0-9+/=]*)</script>', page)
    assert packed is not None
    text = gzip.decompress(base64.b64decode(packed.group(1)))
    found: dict[str, Any] = json.loads(text, parse_constant=_refuse)
    return found


def _refuse(constant: str) -> None:
    raise AssertionError(f"no browser reads {constant} in JSON")


def test_the_page_needs_nothing_from_outside(desk: Desk) -> None:
    page = desk.report([row("So 4")])
    assert page.startswith("<!doctype html>\n<!-- a report by Rewarden -->\n")
    own = re.sub(r"http://www\.w3\.org/(2000/svg|1998/Math/MathML)", "", page)
    assert not re.search(r"https?://|//cdn|@import|url\(|<link|src=", own)


def test_the_policy_lets_only_the_pages_own_script_and_style_in(desk: Desk) -> None:
    page = desk.report([row(HOSTILE, id=HOSTILE, data_source=HOSTILE)])
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    script = page[page.rindex("<script>") + 8 : page.rindex("</script>")]
    style = page[page.index("<style>") + 7 : page.index("</style>")]
    for text, name in ((script, "script-src"), (style, "style-src")):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{name} 'sha256-{digest}'" in policy.group(1)
    assert "default-src 'none'" in policy.group(1)
    assert "require-trusted-types-for 'script'" in policy.group(1)
    assert "unsafe" not in policy.group(1)


def test_what_a_model_wrote_is_in_no_markup(desk: Desk) -> None:
    verdict = scored(0.0, extracted=HOSTILE, evidence={HOSTILE: HOSTILE}, flags=[HOSTILE], feedback=HOSTILE)
    hostile = row(HOSTILE, prompt=HOSTILE, reference=HOSTILE, id=HOSTILE, data_source=HOSTILE, group=HOSTILE)
    page = desk.report([{**hostile, "verdict": {**verdict, "reason": HOSTILE}}])
    assert page.count("<script") == 2
    assert page.count("alert(") == page.count(html.escape("alert(1)")) + page.count("=alert(2)")
    assert "<img" not in page
    table = page[page.index("<pre>") + 5 : page.index("</pre>")]
    assert "<" not in table
    data = unpack(page)
    assert data["tables"]["prompt"][0][0][1] == [HOSTILE]
    assert data["tables"]["flag"] == [HOSTILE]


@pytest.mark.parametrize(
    ("text", "katex", "prism"),
    [
        ("4", False, False),
        ("$5 for a\nand $6", False, False),
        ("it is $x+1$", True, False),
        ("\\(x\\)", True, False),
        ("\\boxed{4}", True, False),
        ("```python\nx\n```", False, True),
        ("<tool_call>\n{}\n</tool_call>", False, True),
        ("$$x$$\n~~~\ny\n~~~", True, True),
    ],
)
def test_the_page_holds_the_packages_that_its_texts_need(desk: Desk, text: str, katex: bool, prism: bool) -> None:
    for one in (row(text), row("4", prompt=text), row("4", verdict=scored(0.0, feedback=text))):
        page = desk.report([one])
        assert ("__renderToDomTree:" in page) == katex
        assert ("self.Prism = Prism" in page) == prism
        assert page.count("<script") == 2


def test_packages_of_others_cannot_end_the_script_that_holds_them() -> None:
    for path in ("katex/katex.min.js", "prismjs/prism.js"):
        text = (resources.files("rewarden_server") / "pages" / "vendor" / path).read_text(encoding="utf-8").lower()
        assert "</script" not in text
        assert "<!--" not in text


def test_tests_of_a_program_are_listed_up_to_the_first_that_failed(desk: Desk) -> None:
    tests = [{"id": str(n), "verdict": "AC", "cpu_time": 0.5, "peak_memory": 1024} for n in range(99)]
    tests[1]["cpu_time"] = float("nan")
    tests.append({"id": "99", "verdict": "RE", "signal": 11, "message": "m" * 1000, "flags": ["odd"]})
    evidence = {"verdict": "RE", "total": 200, "passed": 150, "tests": tests}
    data = unpack(desk.report([row(verdict=scored(0.0, evidence=evidence)), row()]))
    made, none = data["rows"]["tests"]
    assert none is None
    assert (made["passed"], made["total"], len(made["listed"])) == (150, 200, 40)
    assert made["listed"][0] == ["0", "AC", 0.5, 1024, ""]
    name, word, time, memory, told = made["listed"][-1]
    assert (name, word, time, memory) == ("99", "RE", None, None)
    assert told.startswith("signal 11 · mmm")
    assert len(told) < 310
    assert ["evidence.verdict", "RE"] in data["rows"]["details"][0]
    assert not any(name == "evidence.tests" for name, _ in data["rows"]["details"][0])


def test_no_script_of_the_page_can_turn_text_into_markup() -> None:
    folder = resources.files("rewarden_server.studies.report") / "js"
    for script in folder.iterdir():
        text = script.read_text(encoding="utf-8")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|Function\(|DOMParser", text)
        assert "</script" not in text.lower()


def test_the_same_rows_make_the_same_bytes(desk: Desk) -> None:
    rows = [row(f"\\boxed{{{n}}}", score=float(n % 2), group=str(n // 4)) for n in range(100)]
    assert desk.report(rows) == desk.report(rows)
    assert desk.report(rows, rows=20) == desk.report(rows, rows=20)


def test_whole_groups_are_drawn_and_unscored_rows_before_others(desk: Desk) -> None:
    rows = [row(score=float(n % 2), group=str(n // 4), id=str(n)) for n in range(4000)]
    rows[1234] = row(score=None, id="lost", group="lost", verdict=scored(None, "error", reason="crash", fault="infra"))
    data = unpack(desk.report(rows, rows=100))
    assert data["total"] == data["summary"]["responses"] == 4000
    shown = data["rows"]
    assert len(shown["id"]) == 100
    assert "lost" in shown["id"]
    sizes = sorted(shown["group"].count(group) for group in set(shown["group"]))
    assert sizes[:2] in ([1, 3], [1, 4])  # the lost one; then at most one group that the limit cut
    assert set(sizes[2:]) == {4}
    numbers = [int(name) for name in shown["id"] if name != "lost"]
    assert numbers == sorted(numbers)


def test_groups_of_one_name_in_two_sources_are_two(desk: Desk) -> None:
    data = unpack(desk.report([row(group="1", data_source="a"), row(group="1", data_source="b")]))
    assert data["rows"]["group"] == [0, 1]


def test_a_list_of_responses_is_a_group_whose_members_have_their_own_verdicts(desk: Desk) -> None:
    two = {"responses": ["\\boxed{4}", "?"], "prompt": "2+2?", "scores": [1, 0], "verdicts": [scored(1), scored(0)]}
    data = unpack(desk.report([two]))
    assert data["rows"]["id"] == ["scored.jsonl:1 #1", "scored.jsonl:1 #2"]
    assert data["rows"]["score"] == [1, 0]
    assert data["tables"]["group"] == ["@row:0"]
    assert data["summary"]["pass_at"]["2"] == {"mean": 1.0, "groups": 1}


def test_what_has_no_verdict_or_is_no_row_is_counted(desk: Desk) -> None:
    options = desk.options([row(), {"response": "x", "prompt": "y"}])
    with options.input.open("a") as file:  # type: ignore[union-attr]
        file.write("{broken\n")
    make_report(options)
    data = unpack(desk.output.read_text())
    assert (data["total"], data["unjudged"], data["unread"]) == (1, 1, 1)


def test_the_report_opens_with_where_the_files_scores_and_ours_disagree(desk: Desk) -> None:
    rows = [row(score=1.0, reward=1), row(score=0.0, reward=1), row(score=1.0, reward=0), row(score=1.0)]
    page = desk.report(rows, baseline="reward")
    data = unpack(page)
    assert data["rows"]["theirs"] == [1.0, 1.0, 0.0, None]
    assert data["rows"]["versus"] == ["agree", "only_theirs", "only_ours", "without"]
    assert data["summary"]["baseline"]["disagree"] == 2
    assert "baseline   reward (passes from 0.5): 3 responses compared, 2 disagree (66.7%)" in page
    assert "baseline" not in unpack(desk.report(rows))["summary"]


def test_a_file_that_is_not_scored_is_refused_with_what_to_do(desk: Desk) -> None:
    with pytest.raises(RescoreError, match=r"score the file first \(--use NAME -o OUT\)"):
        desk.report([{"response": "x"}])


def test_texts_are_cut_and_the_answer_stays(desk: Desk) -> None:
    long = "a" * 50_000 + "\\boxed{4}" + "b" * 50_000
    page = desk.report([row(long, prompt="p" * 50_000, reference="r" * 50_000)], chars=600)
    data = unpack(page)
    ((role, pieces),) = data["rows"]["response"][0]
    assert role == ""
    assert ["4"] in pieces
    assert (
        sum(len(piece if isinstance(piece, str) else piece[0]) for piece in pieces if not isinstance(piece, int)) < 1200
    )
    assert len(json.dumps(data)) < 12_000


def test_components_steps_and_evidence_are_told(desk: Desk) -> None:
    verdict = scored(
        0.5,
        components={"format": {"status": "scored", "score": 1.0}, "judge": {"status": "error", "reason": "timeout"}},
        steps=[{"index": 2, "score": 0.25, "label": "bad", "feedback": "sign"}],
        evidence={"rule": "boxed", "tests": [{"ok": True}]},
        feedback="close",
    )
    data = unpack(desk.report([row(verdict=verdict)]))
    assert data["rows"]["details"] == [
        [
            ["feedback", "close"],
            ["evidence.rule", "boxed"],
            ["evidence.tests", '[{"ok": true}]'],
            ["component format", "1.0"],
            ["component judge", "error · timeout"],
            ["step 2", "0.25 · bad · sign"],
        ]
    ]


def test_only_a_report_is_replaced_unasked(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    check_output(path)
    path.write_text("<!doctype html>\n<p>mine")
    with pytest.raises(RescoreError, match="is not a report"):
        check_output(path)
    check_output(path, force=True)
    path.write_text("<!doctype html>\n<!-- a report by Rewarden -->")
    check_output(path)


# --- colours -----------------------------------------------------------------------------------------------------


def themes() -> dict[str, dict[str, str]]:
    css = (resources.files("rewarden_server.studies.report") / "page.css").read_text(encoding="utf-8")
    light, system_dark, dark = (
        dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", block))
        for block in re.findall(r":root[^{]*\{([^}]*--ground[^}]*)\}", css)
    )
    assert system_dark == dark
    return {"light": light, "dark": dark}


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


STATES = ("passed", "failed", "plain", "undecided", "error")
TEXTS = [
    *((text, on) for text in ("ink", "muted", "accent") for on in ("ground", "surface", "raised", "accent-soft")),
    *((state, f"{state}-soft") for state in STATES),
    ("ink", "mark"),
    ("failed", "surface"),
]
SHAPES = [*((state, "surface") for state in STATES), ("strong-line", "surface"), ("mark-line", "mark")]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_texts_and_shapes_stand_out_as_wcag_aa_asks(theme: str) -> None:
    colours = themes()[theme]
    for pairs, least in ((TEXTS, 4.5), (SHAPES, 3.0)):
        for one, other in pairs:
            assert contrast(colours[one], colours[other]) >= least, (one, other)
