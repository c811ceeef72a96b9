"""Texts made readable in a real browser: formulas, code, tests, turns; the judged answer stays marked, and nothing of
what a model writes runs, hides or hangs the page."""

from __future__ import annotations

from typing import Any

import pytest

from tests.report.browser import CHROMIUM, Browser
from tests.report.conftest import Desk, row, scored

pytestmark = [
    pytest.mark.needs_server,
    pytest.mark.group("browser"),
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here (apt-get install chromium)"),
]

MATH = r"""The roots of $x^2-5x+6=0$ are \(x_1 = 3\) and
$$x_2 = \frac{5-1}{2} = 2.$$
\begin{align*} x_1 + x_2 &= 5 \end{align*}
They cost $5 and $10, so \boxed{\frac{10}{2}}."""

PROGRAM = 'def add(a, b):\n    # adds\n    return a + b + 1  # "two"\n'


def response(
    browser: Browser, desk: Desk, *rows: dict[str, Any], place: str = "responses?r=0&open=1", chars: int = 4_000
) -> None:
    desk.report(rows, chars=chars)
    browser.open(desk.output, place)


def test_formulas_are_set_and_the_judged_answer_is_marked_in_them(browser: Browser, desk: Desk) -> None:
    verdict = scored(1.0, extracted=r"\frac{10}{2}", evidence={"rule": "boxed"})
    response(browser, desk, row(MATH, prompt="What is $1+1$?", verdict=verdict))
    assert browser.run("$$('.detail math').length") == 6
    assert browser.run("$$('.detail math[display=block]').length") == 2
    assert "They cost $5 and $10, so" in browser.run("text('.detail')")
    marked = browser.run("$$('.detail mark').map(one => one.querySelector('.judged').outerHTML)")
    assert len(marked) == 1
    assert "<mfrac><mn>10</mn><mn>2</mn></mfrac>" in marked[0]
    assert browser.run("$('.judged').closest('.boxed') !== null")
    assert not browser.run("$('.detail').textContent").count("\\frac{5-1}")


def test_the_text_is_a_click_away(browser: Browser, desk: Desk) -> None:
    verdict = scored(1.0, extracted=r"\frac{10}{2}", evidence={"rule": "boxed"})
    response(browser, desk, row(MATH, verdict=verdict))
    browser.run("$('.raw').click()")
    assert browser.run("$$('.detail math').length") == 0
    assert MATH in browser.run("$('.detail').textContent")
    assert browser.run("text('.detail mark')") == r"\frac{10}{2}"
    assert browser.run("document.activeElement === $('.raw') && $('.raw').ariaPressed") == "true"
    browser.run("$('.raw').click()")
    assert browser.run("$$('.detail math').length") == 5


@pytest.mark.parametrize(
    ("text", "extracted", "marked"),
    [
        ("so $x = 12$ it is", "12", "12"),
        ("so $x = 12$ it is", "x = 12", "x=12"),
        (r"so \(\frac{1}{2}\)", r"\frac{1}{2}", "12"),
        (r"so $\sqrt{16} = 4$", r"{16}", "16=4"),  # no part of it: the whole formula is marked
        ("so **12**", "12", "12"),
    ],
)
def test_a_mark_survives_wherever_it_lies(browser: Browser, desk: Desk, text: str, extracted: str, marked: str) -> None:
    response(browser, desk, row(f"$1$ {text}", verdict=scored(1.0, extracted=extracted)))
    shown = browser.run("$$('.detail mark').map(one => (one.querySelector('.judged') || one).textContent)")
    assert [one.replace(" ", "") for one in shown] in ([marked], [marked.removesuffix("=4")])


@pytest.mark.parametrize(
    "text",
    [
        "prices of $5, $6 and US$7",
        "$ x $ has spaces",
        r"an escaped \$x\$",
        "`$x$` is code",
        "a shell: `echo $HOME` and $PATH",
        r"never closed: \(x",
        r"never closed: \boxed{4",
        "not $a\n\nb$ over paragraphs",
        r"wrong $\frac{1}$ here",
        r"a comment $x % hidden$ here",
        r"a macro $\def\a{x}\a$ here",
        r"a link $\href{javascript:alert(1)}{x}$ here",
        r"a style $\htmlStyle{color:red}{x}$ here",
        r"a picture $\includegraphics{https://example.org/x.png}$ here",
        r"a bomb $\def\a{\a\a}\a$ here",
        "long $" + "x" * 2500 + "$ here",
    ],
)
def test_what_is_no_formula_or_none_that_is_allowed_stays_text(browser: Browser, desk: Desk, text: str) -> None:
    response(browser, desk, row(text, verdict=scored(0.0)), row("$x$"))
    assert text in browser.run("$('.detail').textContent")
    assert browser.run("$$('.detail math, .detail a, .detail img, .detail [style]').length") == 0


@pytest.mark.parametrize("begin", ["\\(", "\\[", "$$", "\\begin{align}", "`"])
def test_after_beginnings_that_never_end_a_formula_is_still_found(browser: Browser, desk: Desk, begin: str) -> None:
    text = f"{begin}\n\n" + f"{begin} " * (begin not in ("$$", "`")) * 500 + "word " * 1000 + r"so \(x\) and \[y\]"
    response(browser, desk, row(text, verdict=scored(0.0)), chars=20_000)
    assert browser.run("$$('.detail math').map(one => one.textContent)") == ["x", "y"]


def test_colours_and_phantoms_hide_nothing(browser: Browser, desk: Desk) -> None:
    text = r"$\color{white}a\phantom{b}\colorbox{black}{c}\fcolorbox{red}{black}{d}\textcolor{white}{e}$"
    response(browser, desk, row(text, verdict=scored(0.0)))
    assert browser.run("$('.detail math').textContent").replace(" ", "") == "abcde"
    assert (
        browser.run("$$('mphantom, [mathcolor], [mathbackground], [style]').filter(one => one.closest('math')).length")
        == 0
    )


def test_code_is_coloured_and_the_judged_program_marked(browser: Browser, desk: Desk) -> None:
    text = f"Here:\n```python\n{PROGRAM}```\nand `x`.\n\n~~~\nno language\n~~~\n```c\nint never_closed;"
    response(browser, desk, row(text, verdict=scored(1.0, extracted=PROGRAM)))
    assert browser.run("$$('.code code').map(one => one.textContent)") == [
        PROGRAM.rstrip("\n"),
        "no language",
        "int never_closed;",
    ]
    kinds = "['keyword', 'name', 'comment', 'number'].map(kind => $('.code .t-' + kind).textContent)"
    assert browser.run(kinds) == ["def", "add", "# adds", "1"]
    assert browser.run("text('.fenced .role')") == "python · the answer that was judged"
    assert browser.run("$$('.code mark').map(one => one.textContent)") == [PROGRAM.rstrip("\n")]
    assert browser.run("$$('.code.whole').length") == 1


def test_code_that_is_cut_stays_code(browser: Browser, desk: Desk) -> None:
    text = "```python\n" + "x = 1  # $a$ and $b$\n" * 200 + "```\nthen $y$"
    desk.report([row(text, verdict=scored(0.0))], chars=600)
    browser.open(desk.output, "responses?r=0")
    assert browser.run("$$('.code').length") == 2
    assert browser.run("$$('.detail .cut').length") == 1
    assert browser.run("$$('.detail math').map(one => one.textContent)") == ["y"]


def test_tests_of_a_program_are_a_table(browser: Browser, desk: Desk) -> None:
    tests = [
        {"id": "1", "verdict": "AC", "cpu_time": 0.0123, "peak_memory": 9_437_184},
        {"id": "<b>2</b>", "verdict": "WA", "cpu_time": 0.2, "message": "expected 3, got <i>4</i>"},
        {"id": "3", "verdict": "SK"},
    ]
    evidence = {"verdict": "WA", "total": 5, "passed": 1, "tests": tests}
    response(browser, desk, row(PROGRAM, verdict=scored(0.0, evidence=evidence, feedback="1 of 5 passed.")))
    cells = browser.run("$$('.tests tr').map(line => [...line.cells].map(cell => cell.innerText.trim()))")
    assert cells == [
        ["test", "end", "CPU time", "memory", "told"],
        ["1", "✓\npassed", "12 ms", "9.0 MiB", ""],
        ["<b>2</b>", "✗\nwrong answer", "200 ms", "–", "expected 3, got <i>4</i>"],
        ["3", "–\nskipped", "–", "–", ""],
    ]
    shown = browser.run("text('.detail')")
    assert "TESTS: 1 OF 5 PASSED" in shown
    assert "2 tests not listed." in shown
    assert not browser.run("$('.evidence').open")
    assert "1 of 5 passed." in shown


def test_tool_calls_are_turns_and_the_answer_after_them_is_marked(browser: Browser, desk: Desk) -> None:
    call = {"function": {"name": "search", "arguments": '{"query": "Everest"}'}}
    chat = [
        {"role": "assistant", "content": "I look.", "tool_calls": [call]},
        {"role": "tool", "content": "8849 m"},
        {"role": "assistant", "content": "It is 8849."},
    ]
    text = 'So:\n<tool_call>\n{"name": "f"}\n</tool_call>\n<tool_response>\n<b>4</b>\n</tool_response>\nIt is 4.'
    response(browser, desk, row(chat, verdict=scored(1.0, extracted="8849")), row(text))
    assert browser.run("$$('.detail .message > .role').map(one => one.innerText)") == [
        "assistant",
        "tool call",
        "tool",
        "assistant",
    ]
    assert browser.run("$$('.code code').map(one => one.textContent)") == ['{\n  "query": "Everest"\n}']
    assert browser.run("$$('.message').findIndex(one => one.querySelector('mark'))") == 4
    browser.open(desk.output, "responses?r=1")
    assert browser.run("$$('.turn .role').map(one => one.innerText)") == ["tool call", "tool response"]
    assert browser.run("$$('.turn code').map(one => one.textContent.trim())") == ['{"name": "f"}', "<b>4</b>"]


def test_reasons_of_a_judge_are_read_without_unfolding(browser: Browser, desk: Desk) -> None:
    verdict = scored(
        0.5,
        feedback="The proof of $x>0$ is missing.",
        steps=[{"index": 0, "score": 0.0, "label": "Proves it", "feedback": "It does not."}],
        evidence={"opinions": [0.5, 0.5], "spread": 0.0},
    )
    response(browser, desk, row("4", verdict=verdict))
    shown = browser.run("text('.detail')")
    assert "is missing." in shown
    assert "Proves it · It does not." in shown
    assert "opinions" not in shown
    browser.run("$('.evidence summary').click()")
    assert "evidence.opinions" in browser.run("text('.detail')")


HEAVY = [
    "$" + "{" * 900 + "x" + "}" * 900 + "$",
    "$x$ " * 20_000,
    "\\boxed{" * 10_000,
    "`" * 60_000,
    "```" * 20_000,
    "<tool_call>" * 5_000,
    "$a" * 30_000,
    "$$" * 30_000,
    "\\begin{align}" * 4_000,
    "```javascript\n" + "/[" * 25_000,
    '```bash\n"$(' * 4_000,
    "$\\sqrt{" * 9_000,
]


def test_the_work_on_a_text_is_bounded_whatever_it_holds(browser: Browser, desk: Desk) -> None:
    desk.report([row(text, verdict=scored(0.0)) for text in HEAVY], chars=100_000)
    for number, text in enumerate(HEAVY):
        browser.open(desk.output, f"responses?r={number}")
        assert browser.run("$$('.detail math').length") <= 150
        browser.run("$('.raw') ? ($('.raw').click(), true) : true")
        assert text[:50_000] in browser.run("$('.detail').textContent")


@pytest.mark.parametrize(("width", "dark"), [(360, False), (768, True), (1280, False), (1920, True)])
def test_typeset_texts_fit_every_width_and_are_accessible(browser: Browser, desk: Desk, width: int, dark: bool) -> None:
    tests = [{"id": "1", "verdict": "WA", "cpu_time": 1.0, "message": "m" * 200}]
    code = scored(0.0, extracted=PROGRAM, evidence={"tests": tests, "total": 1, "passed": 0})
    long = MATH + "\n$$" + "+".join(f"x_{{{n}}}" for n in range(100)) + "$$\n```python\n" + PROGRAM * 9 + "```"
    browser.shape(width, 900, dark=dark, phone=width < 600)
    desk.report([row(long, group="g", verdict=code), row(MATH, group="g")])
    for place in ("responses?r=0&open=1", "groups?g=0&open=1"):
        browser.open(desk.output, place)
        assert browser.run("document.documentElement.scrollWidth") <= width
        assert browser.violations() == []
