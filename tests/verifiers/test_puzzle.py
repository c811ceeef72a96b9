"""`puzzle` as a specification: references and parameters that make no sense, every end of the table, what the sandbox
is asked and what is made of its reports, and that no text raises or takes more than near-linear work.

What answers are worth is in the cases, which run here too except those that need a sandbox.
"""

from __future__ import annotations

import json
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewarden.types import Outcome, Sample, Use
from rewarden.wire.json import sample_from_json
from rewarden_sandboxes.job import CaseResult, Job, Report
from rewarden_server.engine.plan import Planner
from rewarden_verifiers.cases import Case, load_cases, mismatches
from rewarden_verifiers.puzzles import arithmetic, integrals
from rewarden_verifiers.puzzles.countdown import Countdown
from rewarden_verifiers.puzzles.findings import Checker
from rewarden_verifiers.puzzles.rules import TASKS
from rewarden_verifiers.registry import Registry
from tests.verifiers.counting import HOSTILE, steps
from tests.verifiers.direct import DirectContext, direct_judge, outcome_of

REGISTRY = Registry()
PLANNER = Planner(REGISTRY)
JUDGE = direct_judge(REGISTRY)

TWENTY_FOUR = {"task": "24", "numbers": [3, 3, 8, 8]}
SUDOKU = {
    "task": "sudoku",
    "puzzle": ["3_42", "4_1_", "2___", "1_2_"],
    "solution": [[3, 1, 4, 2], [4, 2, 1, 3], [2, 4, 3, 1], [1, 3, 2, 4]],
}
KNIGHTS = {"task": "knights_knaves", "solution": {"Ann": "knight", "Bob": "knave", "Cid": "knave", "Dan": "knight"}}
INTEGRAL = {
    "dataset": "simple_integration",
    "entry": {"answer": "x**2 + C", "metadata": {"variable": "x", "integrand": "2*x"}},
}
REFERENCES: dict[str, dict[str, Any]] = {
    "countdown": {"numbers": [39, 14, 93, 51], "target": 169},
    "24": TWENTY_FOUR,
    "sudoku": SUDOKU,
    "futoshiki": {"puzzle": ["___"] * 3, "constraints": [[0, 0, 0, 1, "<"]]},
    "knights_knaves": KNIGHTS,
    "zebra": {"solution": {"House 1": {"Name": "Ann", "Pet": "cat"}, "House 2": {"Name": "Bob", "Pet": "dog"}}},
    "n_queens": {"n": 6},
    "maze": {"grid": ["S.", ".G"]},
    "grid": {"solution": [[1, 2], [2, 1]]},
    "assignment": {"solution": {"A": 1, "B": 2}},
    "reasoning_gym": INTEGRAL,
}


def checker(task: str) -> Checker:
    found: Checker = PLANNER.bind(Use(name="puzzle_rules")).spec.prepare(  # type: ignore[misc]
        {"task": task, **REFERENCES[task]}, PLANNER.bind(Use(name="puzzle_rules")).params
    )
    return found


async def judged(answer: str, reference: Any, **params: Any) -> Outcome:
    sample = Sample(response=f"<answer>{answer}</answer>", reference=reference)
    return await outcome_of(PLANNER, Use(name="puzzle", params=params), sample)


DIRECT = [
    case
    for case in load_cases(REGISTRY.get("puzzle"))
    if case.samples[0]["reference"].get("dataset") not in integrals.DATASETS
]


@pytest.mark.parametrize("case", DIRECT, ids=[case.title for case in DIRECT])
async def test_the_case_holds_without_a_sandbox(case: Case) -> None:
    (verdict,) = await JUDGE(Use(name="puzzle", params=case.params), [sample_from_json(case.samples[0])])
    assert mismatches(case.expects[0], verdict) == []


# --- references and parameters -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ({}, "reference.task"),
        ({"task": "countdown"}, "numbers"),
        ({"task": "countdown", "numbers": []}, "numbers must hold"),
        ({"task": "countdown", "numbers": ["X"]}, "neither a whole number nor a card"),
        ({"task": "countdown", "numbers": [1], "target": "1e999999999"}, "target"),
        ({"task": "countdown", "numbers": [1], "target": "1/0"}, "target"),
        ({"task": "countdown", "numbers": [1], "goal": 1}, "there is no such field"),
        ({"task": "sudoku", "puzzle": ["12", "1"]}, "rows of one length"),
        ({"task": "sudoku", "puzzle": ["123", "___", "___"]}, "box"),
        ({"task": "sudoku", "puzzle": [[5, 0, 0, 0]] + [[0] * 4] * 3}, "neither a number from 1 to 4"),
        ({"task": "sudoku", "puzzle": [[0] * 4] * 4, "solution": [[0] * 4] * 4}, "solution"),
        ({"task": "futoshiki", "puzzle": ["__", "__"], "constraints": [[0, 0, 0, 2, "<"]]}, "outside"),
        ({"task": "knights_knaves", "people": ["Ann"]}, "give statements, a solution, or both"),
        ({"task": "knights_knaves", "people": ["Ann"], "statements": [["shout", "Ann"]]}, "not a statement"),
        ({"task": "knights_knaves", "people": ["Ann"], "statements": [["knight", "Bob"]]}, "nobody is"),
        ({"task": "knights_knaves", "people": ["Ann"], "statements": [["not"] * 2]}, "not a statement"),
        ({"task": "knights_knaves", "people": ["Ann", "ann"], "statements": [None, None]}, "different names"),
        ({"task": "knights_knaves", "solution": {"Ann": "spy"}}, "one of the roles"),
        (
            {"task": "knights_knaves", "solution": {"Ann": "knight"}, "statements": [["knave", "Ann"]]},
            "contradicts the statements",
        ),
        ({"task": "zebra", "solution": {"header": ["House"], "rows": [["1", "2"]]}}, "solution must give"),
        ({"task": "n_queens"}, "n must be"),
        ({"task": "n_queens", "n": 4, "board": ["Q"]}, "n must be"),
        ({"task": "maze", "grid": ["S#G"]}, "no path leads"),
        ({"task": "maze", "grid": ["S.", "G"]}, "differ in length"),
        ({"task": "maze", "grid": ["S.S", "..G"]}, "occurs once"),
        ({"task": "grid", "solution": [[1]], "puzzle": [[1, 2]]}, "differ in size"),
        ({"task": "assignment", "solution": {}}, "empty"),
        ({"dataset": "chess", "seed": 1}, "no data set"),
        ({"dataset": "chain_sum"}, "either entry"),
        ({"dataset": "chain_sum", "seed": 1, "entry": {}}, "either entry"),
        ({"dataset": "chain_sum", "seed": -1}, "negative"),
        ({"dataset": "chain_sum", "seed": 1, "config": {"x": 1}}, "config"),
        ({"dataset": "chain_sum", "seed": 1, "config": {"min_terms": -5}}, "config"),
        ({"dataset": "spell_backward", "seed": 1, "config": {"data_file": "../x"}}, "must not name files"),
        ({"dataset": "codeio", "seed": 1}, "entry is needed"),
        ({"dataset": "chain_sum", "entry": {"answer": "1"}}, "metadata"),
        ({"dataset": "sudoku", "entry": {"answer": "1", "metadata": {}}}, "not an item of 'sudoku'"),
        ({"dataset": "rush_hour", "entry": {"answer": None, "metadata": {}}}, "not an item of 'rush_hour'"),
        ({"dataset": "number_sorting", "entry": {"answer": "exit()", "metadata": {}}}, "not an item"),
        ({"dataset": "number_format", "entry": {"answer": "1", "metadata": {"solution": 2}}}, "own answer is wrong"),
    ],
)
async def test_a_reference_that_is_no_puzzle_leaves_it_undecided(reference: dict[str, Any], said: str) -> None:
    outcome = await judged("1", reference)
    assert (outcome.status, outcome.fault) == ("undecided", "reference"), outcome
    assert said in str(outcome.feedback)


@pytest.mark.parametrize(
    "params",
    [
        {"outcomes": {"wrong": 1.0}},
        {"outcomes": {"no_answer": 0.5}},
        {"outcomes": {"malformed": -1.0}},
        {"outcomes": {"right": float("nan")}},
        {"credit": "some"},
        {"extraction": "last"},
        {"tasks": "sudoku"},
    ],
)
async def test_parameters_that_make_no_sense_are_the_callers_fault(params: dict[str, Any]) -> None:
    outcome = await judged("1", TWENTY_FOUR, **params)
    assert (outcome.status, outcome.fault, outcome.reason) == ("error", "caller", "invalid_params")


TABLE = {"right": 2.0, "wrong": -0.5, "illegal": -1.0, "malformed": -1.5, "no_answer": -2.0}


@pytest.mark.parametrize(
    ("response", "score"),
    [
        ("<answer>8/(3-8/3)</answer>", 2.0),
        ("<answer>8+8+3+3</answer>", -0.5),
        ("<answer>24</answer>", -1.0),
        ("<answer>I think</answer>", -1.5),
        ("I do not know", -2.0),
        ("<think>8/(3-8/3)", -2.0),
        ("", -2.0),
        ("<answer>8/(3-8/3)</answer> <answer>8*3</answer>", -2.0),
        (f"<answer>{'(' * 30_000}</answer>", -2.0),
    ],
)
async def test_every_end_has_its_worth(response: str, score: float) -> None:
    sample = Sample(response=response, reference=TWENTY_FOUR)
    outcome = await outcome_of(PLANNER, Use(name="puzzle", params={"outcomes": TABLE}), sample)
    assert (outcome.score, outcome.range, outcome.passed) == (score, (-2.0, 2.0), score == 2.0)
    assert outcome.fault == (None if outcome.passed else "policy")


async def test_partial_credit_lies_between_wrong_and_right() -> None:
    half = "3 1 4 2\n4 2 1 3\n2 4 3 3\n1 3 2 4"
    share = (await judged(half, SUDOKU, credit="partial")).score
    scaled = (await judged(half, SUDOKU, credit="partial", outcomes=TABLE)).score
    assert share is not None
    assert 0 < share < 1
    assert scaled == pytest.approx(-0.5 + share * 2.5)


# --- agreement with what a puzzle is -----------------------------------------------------------------------------


def test_expressions_have_the_value_that_python_gives_them() -> None:
    """Side by side with Python's own arithmetic over fractions, on expressions that this test makes."""
    from fractions import Fraction

    rng = random.Random(5)
    for _ in range(300):
        numbers = [rng.randint(0, 20) for _ in range(rng.randint(1, 6))]
        parts = [(str(n), f"Fraction({n})") for n in numbers]
        while len(parts) > 1:
            at = rng.randrange(len(parts) - 1)
            sign = rng.choice("+-*/")
            (a, x), (b, y) = parts[at], parts[at + 1]
            parts[at : at + 2] = [(f"({a} {sign} {b})", f"({x} {sign} {y})")]
        ours, theirs = parts[0]
        try:
            wanted = eval(theirs, {"Fraction": Fraction})  # noqa: S307 - made above, of numbers and signs
        except ZeroDivisionError:
            with pytest.raises(arithmetic.Undefined):
                arithmetic.evaluate(ours)
            continue
        found = arithmetic.evaluate(ours)
        assert (found.value, found.numbers) == (wanted, numbers)


def test_only_solutions_of_small_queens_pass() -> None:
    """All placements of five queens, one in each row: exactly the ten solutions pass."""
    import itertools

    board = TASKS["n_queens"](n=5).checker()
    passed = [p for p in itertools.product(range(5), repeat=5) if board.check(json.dumps(p)).reason is None]
    assert len(passed) == 10
    assert all(len(set(p)) == 5 for p in passed)


def test_knights_and_knaves_by_statements_agree_with_trying_all() -> None:
    """Random statements over three people: what passes is what a truth table says."""
    rng = random.Random(3)

    def claim(depth: int) -> list[Any]:
        if depth == 0 or rng.random() < 0.3:
            return [rng.choice(["knight", "knave"]), rng.randrange(3)]
        word = rng.choice(["not", "and", "or", "implies", "iff", "xor"])
        return [word, *(claim(depth - 1) for _ in range(1 if word == "not" else 2))]

    def true(said: list[Any], who: tuple[bool, ...]) -> bool:
        word, *rest = said
        if word in ("knight", "knave"):
            return who[rest[0]] == (word == "knight")
        held = [true(part, who) for part in rest]
        return {
            "not": lambda: not held[0],
            "and": lambda: held[0] and held[1],
            "or": lambda: held[0] or held[1],
            "implies": lambda: held[1] or not held[0],
            "iff": lambda: held[0] == held[1],
            "xor": lambda: held[0] != held[1],
        }[word]()

    names = ("Ann", "Bob", "Cid")
    for _ in range(100):
        statements = tuple(claim(2) for _ in names)
        puzzle = TASKS["knights_knaves"](people=names, statements=statements).checker()
        for place in range(8):
            who = tuple(bool(place >> n & 1) for n in range(3))
            fits = all(true(said, who) == speaker for said, speaker in zip(statements, who, strict=True))
            roles = zip(names, who, strict=True)
            answer = ", ".join(f"{name} is a {'knight' if one else 'knave'}" for name, one in roles)
            assert (puzzle.check(answer).reason is None) is fits


@pytest.mark.parametrize(
    "answer",
    [
        "3142\n4213\n2431\n1324",
        "3142421324311324",
        "3,1,4,2\n4,2,1,3\n2,4,3,1\n1,3,2,4",
        "| 3 | 1 | 4 | 2 |\n|---|---|---|---|\n| 4 | 2 | 1 | 3 |\n| 2 | 4 | 3 | 1 |\n| 1 | 3 | 2 | 4 |",
        '{"solution": [[3,1,4,2],[4,2,1,3],[2,4,3,1],[1,3,2,4]]}',
        "[3, 1, 4, 2]\n[4, 2, 1, 3]\n[2, 4, 3, 1]\n[1, 3, 2, 4]",
        "```\n3 1 4 2\n4 2 1 3\n2 4 3 1\n1 3 2 4\n```",
    ],
)
async def test_a_grid_may_be_written_in_many_ways(answer: str) -> None:
    assert (await judged(answer, SUDOKU)).score == 1.0


# --- no text raises, none takes more than near-linear work --------------------------------------------------------

WORDS = "Q S G knight knave Ann House Name U right (0,1) [1,2] \\frac{1}{2} NaN 1e999 x C sin( ** \ud800 İ ٣ ² ½"
MARKUP = r"→ \to \begin{array} & \quad $ \("
PIECES = st.sampled_from(
    [*"0123456789+-*/()[]{},:;=|_#.'\"\n \\^", "is a", '{"header": [], "rows": [[]]}', *WORDS.split(), *MARKUP.split()]
)
CHECKERS = {task: checker(task) for task in REFERENCES}


@settings(max_examples=250, deadline=None)
@given(st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=40).map("".join)))
def test_no_answer_raises(answer: str) -> None:
    for puzzle in CHECKERS.values():
        finding = puzzle.check(answer)
        assert finding.reason in (None, "wrong", "illegal", "malformed", integrals.NEEDS_SANDBOX)
        assert 0 <= finding.share < 1
        json.dumps(dict(finding.evidence), allow_nan=False)


FILLERS = (*HOSTILE, "(1,2)", "1 ", "[1", "[", '{"a":', "1+", "1\n", "x=1,", "U", "right ", "Ann is a ", "sin(", "'")
MARKED = ("Ann , ", "**1", "\\quad", "\\frac ")


@pytest.mark.parametrize("task", REFERENCES)
def test_work_grows_no_faster_than_the_answer(task: str) -> None:
    puzzle = CHECKERS[task]
    for filler in (*FILLERS, *MARKED):
        answers = [filler * (size // len(filler)) for size in (750, 1500, 3000)]
        costs = [steps(partial(puzzle.check, answer)) for answer in answers]
        assert costs[2] <= 5 * costs[0] + 2000, (filler, costs)


@pytest.mark.parametrize("answer", ["1" * 19_000, "9" * 15 + "*9" * 400, "(" * 19_000, "1" + "/1" * 9_000])
def test_long_expressions_are_refused_or_computed(answer: str) -> None:
    finding = Countdown(numbers=(1, 2)).checker().check(answer)
    assert finding.reason in ("malformed", "illegal")


# --- antiderivatives: what the sandbox is asked, and what is made of its report -----------------------------------


@dataclass
class Scripted:
    """A sandbox that reports as it was told to."""

    report: Report
    jobs: list[Job] = field(default_factory=list)

    async def run(self, job: Job) -> AsyncIterator[CaseResult]:
        self.jobs.append(job)
        yield CaseResult(index=0, program=self.report)


class Context(DirectContext):
    """A context whose sandbox is scripted."""

    def __init__(self, sandbox: Scripted, sample: Sample) -> None:
        super().__init__(PLANNER, sample)
        self._scripted = sandbox

    @property
    def sandbox(self) -> Scripted:
        return self._scripted


async def integral(answer: str, report: Report) -> tuple[Outcome, Scripted]:
    sandbox = Scripted(report)
    sample = Sample(response=f"<answer>{answer}</answer>", reference=INTEGRAL)
    return await outcome_of(PLANNER, Use(name="puzzle"), sample, Context(sandbox, sample)), sandbox


def printed(score: float) -> Report:
    return Report(status="ok", exit_code=0, stdout=json.dumps({"score": score}).encode())


async def test_the_sandbox_sees_the_answer_written_anew_and_never_the_right_one() -> None:
    outcome, sandbox = await integral("x^2+C", printed(1.0))
    assert (outcome.score, outcome.passed) == (1.0, True)
    (job,) = sandbox.jobs
    asked = json.loads(job.cases[0].stdin)
    assert asked["answer"] == "x ** 2 + C"
    assert asked["entry"]["answer"] == ""
    assert "reasoning_gym/algebra/simple_integration.py" in job.program.files


@pytest.mark.parametrize(
    ("report", "status", "reason"),
    [
        (printed(0.0), "scored", "wrong"),
        (Report(status="time_limit"), "scored", "too_expensive"),
        (Report(status="memory_limit"), "scored", "too_expensive"),
        (Report(status="internal_error", message="no room"), "error", "sandbox_failed"),
        (Report(status="runtime_error", exit_code=1), "error", "sandbox_failed"),
        (Report(status="ok", stdout=b"nonsense"), "error", "sandbox_failed"),
        (Report(status="ok", stdout=b'{"score": 7}'), "error", "sandbox_failed"),
    ],
)
async def test_what_a_report_comes_to(report: Report, status: str, reason: str) -> None:
    outcome, _ = await integral("x", report)
    assert (outcome.status, outcome.reason) == (status, reason)
    assert outcome.score == (0.0 if status == "scored" else None)


@pytest.mark.parametrize(
    "answer",
    [
        "__import__('os').system('true')",
        "x.__class__",
        "(lambda: 1)()",
        "[1][0]",
        "Integral(2*x, x)",
        "Symbol('x')",
        "x if x else x",
        "x; x",
        "x\nimport os",
        "2x",
        "x(x)",
        "sin",
        "sin x",
        "y**2",
        "x**2 +",
        "(x",
        "x)",
        "x = 1",
        "'x'",
        "0x10",
        "1e5",
        "1_000",
        "x!",
        "x ** 2 #",
        "E'x'",
        "",
    ],
)
async def test_what_is_no_expression_reaches_no_sandbox(answer: str) -> None:
    outcome, sandbox = await integral(answer, printed(1.0))
    assert outcome.score == 0.0
    assert outcome.reason in ("malformed", "no_answer")
    assert sandbox.jobs == []


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("x^2", "x ** 2"),
        ("-x**2/2 + C", "- x ** 2 / 2 + C"),
        ("ln(abs(x))", "log ( Abs ( x ) )"),
        ("2·sin( x )×exp(−x)", "2 * sin ( x ) * exp ( - x )"),
        ("arctan(x/π)", "atan ( x / pi )"),
        ("0.5*x", "0.5 * x"),
    ],
)
def test_expressions_are_written_anew(answer: str, text: str) -> None:
    assert integrals.rewritten(answer, "x") == text
