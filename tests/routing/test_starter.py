"""The routes that ship, on rows as verl's, open-instruct's, Reasoning360's and others' data have them, with a real
engine."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rewarden import Client
from rewarden.routing import Routing, read_routing
from rewarden.routing.forms import FORMS
from rewarden.types import BadSample, Sample
from tests.programs import LEAN, LEAN_PROJECTS, SANDBOXED, lacking
from tests.verifiers.published_rows import CPP_SQUARE, PUBLISHED

ROUTING = read_routing("starter")


@dataclass(frozen=True)
class Row:
    """A row of a data set, and what responses to it earn."""

    source: str
    reference: Any
    earns: Mapping[str, float]
    metadata: Mapping[str, Any] | None = None


def block(code: str) -> str:
    return f"Like this:\n```python\n{code}\n```"


SQUARE, WRONG = block("print(int(input()) ** 2)"), block("print(9)")
ADD, ALWAYS_3 = block("def add(a, b):\n    return a + b"), block("def add(a, b):\n    return 3")
ADD_METHOD = block("class Solution:\n    def add(self, a, b):\n        return a + b")
IDS = "[{'instruction_id': ['change_case:english_lowercase', 'punctuation:no_comma'], 'kwargs': [None, {}]}]"
ZEBRA = {"header": ["Position", "Job"], "rows": [["1", "cook"], ["2", "smith"], ["3", "judge"], ["4", "clerk"]]}
SWAPPED = {**ZEBRA, "rows": [["1", "smith"], ["2", "cook"], ["3", "judge"], ["4", "clerk"]]}

MATH = {"Thus \\boxed{\\frac12}.": 1.0, "Thus \\boxed{2}.": 0.0, "Thus 1/2.": 0.0}
DAPO = {
    "Think.\nAnswer: 34": 1.0,
    "**Answer:** $34$": 1.0,
    "Answer: 35": 0.0,
    "So \\boxed{34}": 1.0,
    "\\boxed{34}, no.\nAnswer: 35": 0.0,
    "It is 34": 0.0,
}
QA = {"<answer>paris.</answer>": 1.0, "<answer>Rome</answer>": 0.0, "Paris": 0.0}
ARC = {"<answer>[[1, 2],\n [3, 4]]</answer>": 1.0, "<answer>[[1, 2], [3, 5]]</answer>": 0.0, "[[1, 2], [3, 4]]": 0.0}

CITIES = {"tables": {"city": {"columns": ["name", "people"], "rows": [["Lyon", 520000], ["Pisa", 90000]]}}}
BY_FIRST = "theorem k (p q : Prop) : p → q → p := fun hp _ => hp"
BY_SECOND = "theorem k (p q : Prop) : p → q → p := fun _ hq => hq"
TACTICS = f"<think>\n```tactics\n{BY_FIRST}\n```\nor else\n```tactics\n{BY_SECOND}\n```\n</think>"
FIRST, SECOND = f"```lean4\n{BY_FIRST}\n```", f"```lean4\n{BY_SECOND}\n```"
LARGE, SMALL = "SELECT name FROM city WHERE people >= 500000", "SELECT name FROM city WHERE people < 500000"

ROWS = [
    # verl
    Row("openai/gsm8k", "72", {"So 48+24=72.\n#### 72": 1.0, "#### 71": 0.0, "\\boxed{72}": 0.0}),
    *(
        Row(name, "\\frac{1}{2}", MATH)
        for name in ("lighteval/MATH", "DigitalLearningGmbH/MATH-lighteval", "HuggingFaceH4/MATH-500")
    ),
    *(Row(name, "34", DAPO) for name in ("math_dapo", "math_dapo_reasoning", "aime2024")),
    *(
        Row(f"numina_{name}", "2\\pi", {"The answer is: $2\\pi$": 1.0, "\\boxed{2\\pi}": 1.0, "The answer is 3": 0.0})
        for name in ("aops_forum", "synthetic_math", "amc_aime", "synthetic_amc", "cn_k12", "olympiads")
    ),
    Row(
        "codecontests",
        json.dumps({"inputs": ["3\n", "4\n"], "outputs": ["9\n", "16\n"]}),
        {SQUARE: 1.0, WRONG: 0.5, f"```cpp\n{CPP_SQUARE}\n```": 1.0, "```java\nclass Main {}\n```": 0.0},
    ),
    Row(
        "taco",
        json.dumps({"fn_name": "add", "inputs": [[1, 2], [[1], [0.2]]], "outputs": [[3], [[1, 0.2]]]}),
        {ADD: 1.0, ADD_METHOD: 1.0, ALWAYS_3: 0.5},
    ),
    Row(
        "hiyouga/geometry3k",
        "48",
        {
            "<think>hm</think> So \\boxed{48}": 1.0,
            "So \\boxed{48}": 0.9,
            "<think>hm</think> \\boxed{4}": 0.1,
            "4": 0.0,
        },
    ),
    *(
        Row(f"searchR1_{name}", {"target": ["Paris", "City of Paris"]}, QA)
        for name in ("nq", "triviaqa", "popqa", "hotpotqa", "2wikimultihopqa", "musique", "bamboogle")
    ),
    # open-instruct
    Row("gsm8k", ["42"], {"So the answer is 42.": 1.0, "We get 6*7 = 42": 1.0, "We get 41": 0.0}),
    Row(
        "math",
        ["34"],
        {"Final Answer: The final answer is $34$. I hope it is correct.": 1.0, "\\boxed{34}": 1.0, "\\boxed{3}": 0.0},
    ),
    Row("MATH", "34", DAPO),
    Row("strict_math", "42", {"The final answer is 42. I hope it is correct.": 1.0, "\\boxed{42}": 0.0}),
    Row("ifeval", IDS, {"only small letters here.": 1.0, "One Capital here.": 0.5, "One, two": 0.0}),
    Row("ifeval", [IDS], {"only small letters here.": 1.0, "One, two": 0.0}),
    Row("flan", "the blue whale", {"It swims. The answer is: Blue whale": 1.0, "The answer is: a shark": 0.0}),
    Row("string_matcher", "Paris", QA),
    Row("puzzle", "a knight", {"<think>hm</think>knight": 1.0, "<think>hm</think><answer>Knave</answer>": 0.0}),
    Row("string_f1", ["blue whale", "whale"], {"The blue whale": 1.0, "<answer>big whale</answer>": 2 / 3, "cat": 0.0}),
    Row("re_search", '["Paris", "City of Paris"]', {"<finish>Paris</finish>": 1.0, "<answer>Paris</answer>": 0.0}),
    Row("re_search_f1", "Paris", {"<finish>Paris</finish>": 1.0, "<finish>Rome</finish>": 0.1, "Paris": 0.0}),
    Row("code", ["assert add(1, 2) == 3", "assert add(0, 0) == 0"], {ADD: 1.0, ALWAYS_3: 0.5}),
    Row("code_stdio", [{"input": "3\n", "output": "9\n"}], {SQUARE: 1.0, "print(9)": 1.0}),
    # Reasoning360
    Row("math__deepscaler_preview", "7", {"<think>7</think>\\boxed{7}": 1.0, "\\boxed{8}": 0.0, "7": 0.0}),
    Row(
        "codegen__leetcode2k",
        json.dumps(
            {"functional": "def check(candidate):\n    assert candidate(a=1, b=[0]) == 1\n\ncheck(Solution().f)"}
        ),
        {block("class Solution:\n    def f(self, a: int, b: List[int]) -> int:\n        return a"): 1.0, ADD: 0.0},
        {"prefix": "from typing import *\n"},
    ),
    Row(
        "codegen__pytest",
        json.dumps({"pytest": "from solution import add\n\ndef test_add():\n    assert add(1, 2) == 3\n"}),
        {ADD: 1.0, block("x = 1"): 0.0},
    ),
    Row(
        "codegen__file",
        json.dumps({"solution_file": "from solution import add\nassert add(2, 2) == 4\n"}),
        {ALWAYS_3: 0.0},
    ),
    Row(
        "simulation__codeio",
        '"output": {"sum": [1, 2], "ok": "true"}',
        {
            '```json\n{"output": {"sum": [1, 2], "ok": true}}\n```': 1.0,
            '```json\n{"sum": [1, 2], "ok": true}\n```': 1.0,
            '```json\n{"output": {"sum": [2, 1], "ok": true}}\n```': 0.0,
        },
    ),
    Row("simulation__codeio", '"input": 3', {'\\boxed{{"input": 3}}': 1.0, '```json\n{"input": 4}\n```': 0.0}),
    *(Row(name, [[1, 2], [3, 4]], ARC) for name in ("simulation__arcagi1", "simulation__barc")),
    Row(
        "logic__zebra_puzzle_dataset",
        ZEBRA,
        {
            f"<answer>{json.dumps(ZEBRA)}</answer>": 1.0,
            f"<answer> {ZEBRA} </answer>": 1.0,
            f"<answer>{json.dumps(SWAPPED)}</answer>": 1 / 3,
        },
    ),
    Row(
        "logic__ordering_puzzle_dataset",
        ["pigeon", "sparrow", "quail"],
        {
            "<answer> ['pigeon', 'sparrow', 'quail'] </answer>": 1.0,
            '<answer>["Pigeon", "sparrow", "quail"]</answer>': 1.0,
            "<answer> ['sparrow', 'pigeon', 'quail'] </answer>": 0.0,
            "<answer> ['pigeon', 'sparrow'] </answer>": 0.0,
        },
    ),
    Row("logic__graph_logical_dataset", "Arlene", {"<answer>arlene</answer>": 1.0, "<answer>Bob</answer>": 0.0}),
    Row("table__multihier", "12.5", {"\\boxed{12.5}": 1.0, "\\boxed{12.51}": 1.0, "\\boxed{13}": 0.0}),
    Row("table__hitab", "New York", {"\\boxed{New York}": 1.0, "\\boxed{Boston}": 0.0}),
    Row("table__finqa", 0.25, {"\\boxed{25\\%}": 1.0, "\\boxed{0.35}": 0.0}),
    Row("stem__gpqa_diamond_no_box", "C", {"So.\nAnswer: C": 1.0, "Answer: B": 0.0}),
    Row("stem__gpqa_diamond", "C", {"\\boxed{C}": 1.0, "\\boxed{B}": 0.0, "C or D": 0.0}),
    Row("stem__supergpqa", "J", {"\\boxed{J}": 1.0, "\\boxed{(A)}": 0.0}),
    Row("stem_web", "3 N", {"The force is 3 N.": 0.0}),
    Row(
        "reasoning_gym",
        "4",
        {"<answer>4</answer>": 1.0, "<answer>5</answer>": 0.0},
        {"task": "basic_arithmetic", "metadata": '{"difficulty": 1}'},
    ),
    Row(
        "ood__ifeval",
        [{"num_words": 3.0, "relation": "at least"}, {}],
        {"one two three four": 1.0, "one two three, four": 0.0},
        {"instruction_id_list": ["length_constraints:number_words", "punctuation:no_comma"], "prompt": "…"},
    ),
    Row(
        "ood__ifbench",
        '[{"instruction_id": ["count:word_count_range"], "kwargs": [{"min_words": 2, "max_words": 4}]}]',
        {"one two three": 1.0, "one": 0.0},
    ),
    # text to SQL; the data has an id where a database stands here
    Row(
        "bird_sql_simple_agent",
        LARGE,
        {f"```sql\n{LARGE}\n```": 1.0, f"```sql\n{SMALL}\n```": 0.0, LARGE: 0.0},
        {"db_id": CITIES, "difficulty": "simple"},
    ),
    Row(
        "synsql",
        {"db_id": CITIES, "sql": LARGE},
        {
            f"<think>x</think><answer>\n```sql\n{LARGE}\n```\n</answer>": 1.0,
            f"<think>x</think><solution>{LARGE}</solution>": 1.0,
            f"<answer>{SMALL}</answer>": 0.0,
        },
    ),
    Row(
        "skysql",
        LARGE,
        {
            f"<think>x</think><solution>{LARGE}</solution>": 1.0,
            f"<think>x</think><solution>{SMALL}</solution>": 0.0,
            f"<solution>{LARGE}</solution>": -1.0,
        },
        {"db_id": CITIES},
    ),
    # theorems in Lean
    Row(
        "AI-MO/minif2f_test",
        "Should be solved in Lean 4.",
        {f"{TACTICS}\n\n{FIRST}": 1.0, f"{TACTICS}\n\n{SECOND}": 0.0, FIRST: 0.0},
        {"formal_statement": "prelude\n\ntheorem k (p q : Prop) : p → q → p := fun hp _ => hp"},
    ),
]

SETS = {
    "codeparrot/apps": "apps",
    "BAAI/TACO-verified": "taco",
    "deepmind/code_contests": "codecontests",
    "livecodebench/code_generation_lite": "livecodebench",
    "agentica-org/DeepCoder-Preview-Dataset": "deepcoder",
    "PrimeIntellect/verifiable-coding-problems": "primeintellect",
    "PrimeIntellect/SYNTHETIC-1": "synthetic_1",
    "PrimeIntellect/SYNTHETIC-2": "synthetic_2",
    "TIGER-Lab/AceCode-87K": "acecode",
    "KodCode/KodCode-V1": "kodcode",
    "newfacade/LeetCodeDataset": "leetcode",
    "openai/openai_humaneval": "humaneval",
    "evalplus/mbppplus": "mbpp",
    "bigcode/bigcodebench": "bigcodebench",
    "nuprl/MultiPL-E": "multipl_e",
    "open-r1/codeforces": "codeforces",
    "MatrixStudio/Codeforces-Python-Submissions": "codeforces_python",
    "microsoft/rStar-Coder": "rstar_coder",
}
"""Data sets of programs by their names at Hugging Face."""
KINDS = {"task_type": "verifiable_code"}
for source, name in SETS.items():
    one = next(one for one in PUBLISHED if one.dataset == name)
    texts = {f"```{one.label}\n{code}\n```": score for code, score in ((one.gold, 1.0), (one.wrong, 0.0))}
    ROWS.append(Row(source, one.row, texts, KINDS))

WITHOUT = [
    *("ood__livebench", "simulation__cruxeval-i", "simulation__cruxeval-o"),
    *("general-quality", "general-quality_ref", "general-quality_rubric", "rubric"),
    *("ifeval_old", "max_length", "up_to_max_length", "passthrough", "mathvision", "somewhere/else", None),
]
"""Sources that nobody here can judge, or that are none: a row of one is an error that names it, and never a number."""


def judged(rows: list[Row], routing: Routing = ROUTING) -> list[Any]:
    """Returns what each response earns, in order."""
    samples = []
    for row in rows:
        for text in row.earns:
            given = Sample(response=text, reference=row.reference, data_source=row.source, metadata=row.metadata)
            routed = routing.apply(given)
            assert isinstance(routed, Sample), routed
            samples.append(routed)
    with Client("local") as client:
        return [
            (verdict.data_source, sample.response, verdict.score if verdict.status == "scored" else verdict.feedback)
            for sample, verdict in zip(samples, client.verify(samples).verdicts, strict=True)
        ]


def expected(rows: list[Row]) -> list[Any]:
    return [(row.source, text, pytest.approx(score)) for row in rows for text, score in row.earns.items()]


def kind_of(row: Row) -> str:
    """Returns what judging it runs."""
    route = ROUTING.find(Sample(response="", data_source=row.source, metadata=row.metadata))
    assert route is not None, row.source
    name = route.use.name
    return "proofs" if name in LEAN else "programs" if name in SANDBOXED - {"puzzle"} else "texts"


@pytest.mark.needs_server
@pytest.mark.parametrize("kind", ["texts", "programs", "proofs"])
def test_rows_of_every_source_are_judged_rightly(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if (problem := lacking(kind)) is not None:
        pytest.skip(problem)
    if kind == "proofs":
        monkeypatch.setenv("REWARDEN_LEAN_PROJECTS", LEAN_PROJECTS)
    rows = [row for row in ROWS if kind_of(row) == kind]
    assert judged(rows) == expected(rows)


@pytest.mark.parametrize("source", WITHOUT)
def test_what_nobody_here_can_judge_is_an_error_that_names_it(source: str | None) -> None:
    routed = ROUTING.apply(Sample(response="x", reference="1", data_source=source))
    assert isinstance(routed, BadSample)
    assert f"the data source {source!r}" in routed.message


@pytest.mark.parametrize(
    ("source", "judge"),
    [(name, "code") for name in ("apps", "codeforces", "codegen__mbpp", "codegen__livecodebench")]
    + [(f"logic__{name}", "puzzle") for name in ("arcagi2", "barc")]
    + [("ordering_puzzle_dataset", "label"), ("graph_logical_dataset", "text"), ("IFEval", "instructions")],
)
def test_names_that_share_a_route(source: str, judge: str) -> None:
    route = ROUTING.find(Sample(response="", data_source=source))
    assert route is not None
    assert route.use.name == judge


@pytest.mark.needs_server
def test_a_route_to_a_judge_says_that_none_is_configured() -> None:
    ((_, _, said),) = judged([Row("stem_web_physics", "3 N", {"It is \\boxed{3\\,N}.": 1.0})])
    assert "no judge is named, and the server has no default" in said


def test_every_route_has_a_row() -> None:
    met = [ROUTING.find(Sample(response="", data_source=row.source, metadata=row.metadata)) for row in ROWS]
    assert [route.describe() for route in ROUTING.routes if route not in met] == []


def test_the_page_names_every_source_and_form() -> None:
    page = (Path(__file__).parents[2] / "docs" / "routing.md").read_text(encoding="utf-8")
    patterns = {pattern for route in ROUTING.routes for pattern in route.match["data_source"]}
    assert {name for name in patterns | set(FORMS) if f"`{name}`" not in page} == set()
