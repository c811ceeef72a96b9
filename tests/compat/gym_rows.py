"""Rows in the shape of NeMo Gym's published data, written for these tests: for each server a task, and responses to it
with the reward that Rewarden gives.

`python -m benchmarks.gym` compares the same rewards with those that Gym's own servers gave (docs/trainers/nemo-gym.md).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

RIGHT, WRONG = 1.0, 0.0


@dataclass(frozen=True, slots=True)
class Row:
    """A server, the fields of its task, and responses with their rewards. A response is a text, or output items.

    needs: `sandbox`, if judging a response needs it.
    """

    server: str
    task: dict[str, Any]
    responses: Sequence[tuple[Any, float]]
    needs: str | None = None


def call(name: str, /, **arguments: Any) -> dict[str, Any]:
    """An output item that calls a tool."""
    return {
        "type": "function_call", "id": f"fc_{name}", "call_id": f"c_{name}", "name": name,
        "arguments": json.dumps(arguments), "status": "completed",
    }  # fmt: skip


def result(name: str, output: str) -> dict[str, Any]:
    """The output item of a tool."""
    return {"type": "function_call_output", "call_id": f"c_{name}", "output": output}


def text(content: str) -> dict[str, Any]:
    """An output item with a text."""
    part = {"type": "output_text", "text": content, "annotations": []}
    return {"id": "msg", "type": "message", "role": "assistant", "status": "completed", "content": [part]}


OPTIONS = [{"A": "Oslo"}, {"B": "Bergen"}, {"C": "Trondheim"}, {"D": "Tromsø"}]
CIRCLES = [
    {"x": 200, "y": 300, "radius": 40, "color": "red"},
    {"x": 700, "y": 650, "radius": 50, "color": "blue"},
    {"x": 800, "y": 120, "radius": 30, "color": "blue"},
]
PERSON = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}}
WEATHER = {"name": "get_weather", "arguments": {"city": "Bern"}}
MATH = [("So the sum is \\boxed{\\frac{3}{4}}.", RIGHT), ("So the sum is \\boxed{\\frac{4}{3}}.", WRONG), ("", WRONG)]
EVENTS = {
    "0": {"event_id": 0, "duration": 60, "constraint": "before 1pm", "min_time": "10:00", "max_time": "16:00"},
    "1": {"event_id": 1, "duration": 30, "constraint": None, "min_time": "10:00", "max_time": "16:00"},
}
STEPS = [call("search", query="rain"), result("search", '{"hits": 3}')]
LETTERS = [("It lies in the west. \\boxed{B}", RIGHT), ("\\boxed{C}", WRONG), ("", WRONG)]
NEIGHBOURS = [
    ("I walk the edges.\nFinal Answer: [n2, n7]", RIGHT),
    ("Final Answer: [n2, n7, n9, n4]", 2 / 3),
    ("Final Answer: [n1]", WRONG),
    ("They are n2 and n7.", WRONG),
    ("", WRONG),
]
ADD = "```python\na, b = map(int, input().split())\nprint(a + b)\n```"
SUBTRACT = "```python\na, b = map(int, input().split())\nprint(a - b)\n```"
DOUBLE = "```python\ndef double(x):\n    return 2 * x\n```"
SQUARE = "```python\ndef double(x):\n    return x * x + 1\n```"
UNITTEST = """import unittest
class TestCases(unittest.TestCase):
    def test_small(self):
        self.assertEqual(double(3), 6)
    def test_zero(self):
        self.assertEqual(double(0), 0)
"""
FLIP = "```python\ndef transform(grid):\n    return [row[::-1] for row in grid]\n```"
SAME = "```python\ndef transform(grid):\n    return grid\n```"


ROWS: Sequence[Row] = (
    *(
        Row(server, {"question": "What is 1/4 + 1/2?", "expected_answer": "\\frac{3}{4}"}, MATH)
        for server in ("math_with_autograder", "polymath", "physics_judge", "ugphysics_judge")
    ),
    Row("ns_tools", {"question": "?", "expected_answer": "\\frac{3}{4}", "verifier_type": "math_with_judge"}, MATH),
    Row(
        "math_with_judge",
        {"question": "What is 1/4 + 1/2?", "expected_answer": "$\\frac{3}{4}$"},
        [
            *MATH,
            ("The answer is 0.75.", RIGHT),
            ("The answer is \\boxed{75\\%}.", RIGHT),
            ("\\boxed{0.7}", WRONG),
            ("\\boxed{\\dfrac34}", RIGHT),
            ("$x = \\frac{6}{8}$", RIGHT),
            ("The answer is 3/4 of the cake.", RIGHT),
            ("First \\boxed{1/4}, and in the end \\boxed{3/4}. Wait, no: \\boxed{\\frac{3}{4}}", RIGHT),
            ("\\boxed{\\frac{3}{4} \\text{ cups}}", RIGHT),
            ("\\boxed{-\\frac{3}{4}}", WRONG),
            ([*STEPS, text("\\boxed{3/4}")], RIGHT),
            ("I do not know.", WRONG),
        ],
    ),
    Row(
        "math_with_code",
        {"expected_result": "\\(42\\)", "expected_code_contains": ""},
        [
            ("\\boxed{42}", RIGHT),
            ("\\boxed{42.0}", RIGHT),
            ("\\boxed{7}, no: \\boxed{42}", RIGHT),
            ("\\boxed{41}", WRONG),
            ("42", WRONG),
            ("", WRONG),
        ],
    ),
    Row(
        "circle_count",
        {"circles": CIRCLES, "target_color": "blue"},
        [("\\boxed{2}", RIGHT), ("\\boxed{3}", WRONG), ("2", WRONG), ("", WRONG)],
    ),
    Row(
        "mcqa",
        {"options": OPTIONS, "expected_answer": "B", "grading_mode": "strict_single_letter_boxed"},
        [
            *LETTERS,
            ("\\boxed{\\text{B}}", RIGHT),
            ("\\boxed{B: Bergen}", RIGHT),
            ("\\boxed{A}. Wait, that is the capital. So it is \\boxed{B}.", RIGHT),
            ("Answer: B", WRONG),
            ("\\boxed{E}", WRONG),
            ("\\boxed{(B)}", RIGHT),
            ("\\boxed{b}", RIGHT),
            ("\\boxed{A or B}", WRONG),
            ("\\boxed{A, B}", WRONG),
            ("\\boxed{Bergen}", RIGHT),
            ("\\boxed{B} because A is the capital", RIGHT),
            ("\\boxed{}", WRONG),
        ],
    ),
    Row(
        "mcqa",
        {"options": OPTIONS, "expected_answer": "B", "grading_mode": "lenient_boxed"},
        [*LETTERS, ("\\boxed{Bergen}", RIGHT), ("\\boxed{Trondheim}", WRONG)],
    ),
    Row(
        "mcqa",
        {"options": OPTIONS, "expected_answer": "B", "grading_mode": "lenient_answer_colon"},
        [
            ("Answer: B", RIGHT),
            ("Answer: Bergen", RIGHT),
            ("answer: C", WRONG),
            ("\\boxed{B}", WRONG),
            ("", WRONG),
            ("My answer: B.", RIGHT),
            ("Answer: A\nAnswer: B", RIGHT),
            ("Answer: (B) Bergen", RIGHT),
        ],
    ),
    Row(
        "mcqa",
        {"options": OPTIONS, "expected_answer": "B", "template_metadata": {"output_regex": "Option Selected: (\\w)"}},
        [("Option selected: B", RIGHT), ("Option Selected: A", WRONG), ("\\boxed{B}", RIGHT), ("", WRONG)],
    ),
    Row(
        "mcqa",
        {
            "options": [*OPTIONS, {"E": None}],
            "expected_answer": "C",
            "template_metadata": {"output_regex": ["<pick>(.+?)</pick>", "ANSWER = ([A-D])"]},
        },
        [("<pick>C</pick>", RIGHT), ("ANSWER = C", RIGHT), ("<pick>B</pick>", WRONG), ("C?", WRONG), ("", WRONG)],
    ),
    Row(
        "gpqa_diamond",
        {"options": OPTIONS, "expected_answer": "B"},
        [
            *LETTERS,
            ("**Answer**: B", RIGHT),
            ("Answer: (C)", WRONG),
            ("Answer: A\nAnswer: B", RIGHT),
            ("B", WRONG),
            ("\\boxed{Option B}", RIGHT),
            ("answer: b", RIGHT),
            ("\\boxed{A} Answer: B", WRONG),
        ],
    ),
    Row(
        "bunsenbench_chemistry_mcq",
        {"options": [{"A": "OH-"}, {"B": "H3O+"}], "expected_answer": "B", "uuid": "u"},
        [
            ("<choice>B</choice>", RIGHT),
            ("<answer>H3O+</answer>", RIGHT),
            ("The correct answer is B.", RIGHT),
            ("Answer: H₃O⁺", WRONG),
            ("**Answer:** (B)", RIGHT),
            ("I choose B", RIGHT),
            ("B", RIGHT),
            ("<choice>C</choice>", WRONG),
            ("It is either A or B.", WRONG),
            ("\\boxed{A}", WRONG),
            ("<choice>A</choice>", WRONG),
            ("", WRONG),
        ],
    ),
    Row(
        "google_search",
        {"expected_answer": "C", "task_difficulty_qwen3_32b_avg_8": 0.5},
        [([*STEPS, text("\\boxed{C}")], RIGHT), ("\\boxed{A}", WRONG), ("C", WRONG), ("", WRONG)],
    ),
    Row(
        "swerl_llm_judge",
        {"options": OPTIONS, "expected_answer": ["B"]},
        [
            ("<solution>[B]</solution>", RIGHT),
            ("<solution>A</solution> <solution>B</solution>", RIGHT),
            ("<solution>C</solution>", WRONG),
            ("B", WRONG),
            ("", WRONG),
        ],
    ),
    Row(
        "proof_genselect",
        {"problem": "?", "proof_1": "…", "proof_2": "…", "correct_index": 2},
        [
            ("<best_solution>2</best_solution>", RIGHT),
            ("<best_solution>1</best_solution>", WRONG),
            ("<best_solution>3</best_solution>", WRONG),
            ("", WRONG),
        ],
    ),
    Row(
        "math_proof_judgement",
        {"problem": "?", "proof": "…", "expected_judgement": "Judgement: No"},
        [("Judgement: No", RIGHT), ("**Judgement**: no, by step 2", RIGHT), ("Judgement: Yes", WRONG), ("", WRONG)],
    ),
    Row(
        "imo_gradingbench",
        {"grading_id": "g", "problem_id": "p", "expected_answer": "partial"},
        [
            ("One case is missing. Partial", RIGHT),
            ("**partial**.", RIGHT),
            ("correct", WRONG),
            ("partial credit", WRONG),
            ("", WRONG),
        ],
    ),
    Row(
        "string_match",
        {"expected_answer": "Paris", "extraction_mode": "boxed", "case_sensitive": False},
        [
            ("\\boxed{paris}", RIGHT),
            ("\\boxed{\\text{Paris}}", RIGHT),
            ("\\boxed{Paris, France}", WRONG),
            ("\\boxed{Paris.}", RIGHT),
            ("Paris", WRONG),
            ("\\boxed{Rome}", WRONG),
            ("", WRONG),
        ],
    ),
    Row(
        "string_match",
        {"expected_answer": "1,200", "extraction_mode": "final_answer", "case_sensitive": False},
        [
            ("Final answer: 1200", RIGHT),
            ("Answer: 1200.0.", RIGHT),
            ("Answer: 1,200", RIGHT),
            ("Answer: $1200$", RIGHT),
            ("ANSWER： 1200", RIGHT),
            ("Answer: about 1200", RIGHT),
            ("Answer: 1201", WRONG),
            ("\\boxed{1200}", RIGHT),
            ("Answer: 1300", WRONG),
            ("1200", WRONG),
            ("", WRONG),
        ],
    ),
    Row(
        "string_match",
        {"expected_answer": "North Sea", "extraction_mode": "last_line"},
        [("It is the\nNorth Sea", RIGHT), ("North Sea\nor not", WRONG), ("", WRONG)],
    ),
    Row(
        "string_match",
        {"expected_answer": "North Sea", "extraction_mode": "full_response", "case_sensitive": True},
        [("North Sea", RIGHT), ("north sea", WRONG), ("The North Sea", WRONG), ("", WRONG)],
    ),
    Row(
        "equivalence_rule",
        {"expected_answer": "To the  sea,\nand back!"},
        [
            ("to the sea, and back!", RIGHT),
            ("To the sea and back!", WRONG),
            ("A toast: to the sea, and back!", WRONG),
            ("", WRONG),
        ],
    ),
    Row(
        "hotpotqa_qa",
        {"question": "Where?", "expected_answer": "Bergen"},
        [
            ('{"answer": "Bergen"}', RIGHT),
            ('```json\n{"answer": "Bergen, Norway"}\n```', RIGHT),
            ('{"answer": "Oslo"}', WRONG),
            ("Bergen", RIGHT),
            ("", WRONG),
        ],
    ),
    *(
        Row(
            "spartqa",
            task,
            [
                ("Final answer: a big black triangle", RIGHT),
                ("Final answer: the big black triangle", RIGHT),
                ("Final answer: a small shape", WRONG),
                ("Final answer: both of them", WRONG),
                ("", WRONG),
            ],
        )
        for told in [{"target": "a big black triangle", "options": ["a small shape", "a big black triangle"]}]
        for task in (told, {"verifier_metadata": told})
    ),
    Row(
        "ruler",
        {"outputs": ["KMLJX", "LDENQ"], "length": 4096, "subset": "vt"},
        [("They are kmljx and LDENQ.", RIGHT), ("KMLJX", 0.5), ("NRBQA", WRONG), ("", WRONG)],
    ),
    Row(
        "ruler",
        {"outputs": ["Bergen", "Bjørgvin"], "length": 4096, "subset": "qa_1"},
        [("The town of Bergen.", RIGHT), ("Oslo", WRONG), ("", WRONG)],
    ),
    Row(
        "ruler2",
        {"expected_answer": ["4711", "4712"], "eval_type": "ruler2", "match_type": "all", "task": "mv_niah_basic"},
        [("4711, 4712", RIGHT), ("4711", 0.5), ("4713", WRONG), ("", WRONG)],
    ),
    Row(
        "ruler2",
        {"expected_answer": "B", "eval_type": "multichoice", "match_type": "all", "task": "mv_niah_basic"},
        [("\\boxed{B}", RIGHT), ("The final answer is B", RIGHT), ("\\boxed{C}", WRONG), ("", WRONG)],
    ),
    Row(
        "mrcr",
        {
            "expected_answer": "q7Golden leaves drift down",
            "random_string_to_prepend": "q7",
            "n_needles": 2,
            "n_tokens": 180,
        },
        [
            ("q7Golden leaves drift down", RIGHT),
            ("Golden leaves drift down", WRONG),
            ("q7", WRONG),
            ("", WRONG),
        ],
    ),
    *(
        Row(server, {"expected_answer": '["n2", "n7"]', "problem_type": "parents"}, NEIGHBOURS)
        for server in ("graphwalks", "lc_niah")
    ),
    Row(
        "ifbench",
        {
            "id": 1,
            "prompt": "Write about rain.",
            "instruction_id_list": ["count:keywords_multiple", "format:parentheses"],
            "kwargs": [
                {"keyword1": "rain", "keyword2": "cloud", "keyword3": "puddle", "keyword4": "mud", "keyword5": "sun"},
                {"N": None},
            ],
        },
        [("Snow fell all night (and [then {we (slept [well])}])).", 0.5), ("Snow fell.", WRONG), ("", WRONG)],
    ),
    *(
        Row(
            "instruction_following",
            task,
            [
                ("It rains in autumn; bring an umbrella", RIGHT),
                ("It rains, and then it stops; umbrella", WRONG),
                ("Bring an umbrella today", WRONG),
                ("", WRONG),
            ],
        )
        for told in [
            {
                "prompt": "Write about rain.",
                "instruction_id_list": ["punctuation:no_comma", "last_word:last_word_answer"],
                "kwargs": [None, {"last_word": "umbrella", "N": None}],
            }
        ]
        for task in ({"id": 1, **told}, {"id": 1, "verifier_metadata": told})
    ),
    Row(
        "format_verification",
        {"verifier": {"type": "regex", "verify_regex": ["^\\d+\\. .+:", "^- "], "verify_min_matches": 2}},
        [("1. Rain: wet\n2. Sun: dry", RIGHT), ("- a\n1. b: c", RIGHT), ("1. Rain: wet", WRONG), ("", WRONG)],
    ),
    Row(
        "format_verification",
        {"verifier": {"type": "string_match", "expected_markers": ["[1]", "[4]"], "patterns": ["\\[\\d\\]"]}},
        [("Rain [1] falls [4].", RIGHT), ("Rain [1] falls.", WRONG), ("", WRONG)],
    ),
    Row(
        "structured_outputs",
        {"schema_str": json.dumps(PERSON), "schema_type": "json"},
        [
            ('{"name": "Ada", "age": 36}', RIGHT),
            ('{"name": "Ada"}', WRONG),
            ('{"name": "Ada", "age": "36"}', WRONG),
            ('{"name": "Ada", "age": 36, "born": 1815}', WRONG),
            ('Here: {"name": "Ada", "age": 36}', WRONG),
            ('```json\n{"name": "Ada", "age": 36}\n```', WRONG),
            ('{"name": "Ada", "age": 36.0}', RIGHT),
            ('{"name": null, "age": 36}', WRONG),
            ('{"name": "Ada", "name": "Bob", "age": 36}', WRONG),
            ('[{"name": "Ada", "age": 36}]', WRONG),
            ("", WRONG),
        ],
    ),
    Row(
        "structured_outputs",
        {
            "schema_str": json.dumps(PERSON),
            "response_mode": "tool_call",
            "tool_name": "reply",
            "tool_payload_key": "person",
        },
        [
            ([call("reply", person={"name": "Ada", "age": 36})], RIGHT),
            ([call("reply", person={"name": "Ada"})], WRONG),
            ([call("answer", person={"name": "Ada", "age": 36})], WRONG),
            ([call("reply", person={"name": "Ada", "age": 36})] * 2, WRONG),
            ('{"name": "Ada", "age": 36}', WRONG),
            ("", WRONG),
        ],
    ),
    Row(
        "structured_outputs",
        {"schema_str": json.dumps(PERSON), "response_mode": "tool_call"},
        [([call("reply", name="Ada", age=36)], RIGHT), ([call("reply", name="Ada")], WRONG), ("", WRONG)],
    ),
    Row(
        "ragtruth",
        {"is_halu": True, "task_type": "QA"},
        [('{"hallucination list": ["1889"]}', RIGHT), ('{"hallucination list": []}', WRONG), ("", WRONG)],
    ),
    Row(
        "ragtruth",
        {"is_halu": False, "task_type": "QA"},
        [('{"hallucination list": []}', RIGHT), ('{"hallucination list": ["1889"]}', WRONG), ("", WRONG)],
    ),
    Row(
        "vlm_eval_kit",
        {"answer": ["CENTRE", "CENTER"], "category": "Regular Text Recognition", "benchmark_name": "OCRBench"},
        [("It says Center.", RIGHT), ("It says Exit.", WRONG), ("", WRONG)],
    ),
    Row(
        "rolemrc",
        {"reference": "the cat sat on the mat", "task": "t"},
        [("the cat sat on the mat", RIGHT), ("the cat sat on the roof", 5 / 6), ("Never again!", WRONG), ("", WRONG)],
    ),
    Row(
        "wmt_translation",
        {
            "text": "The weather is lovely today.",
            "translation": "Das Wetter ist heute schön.",
            "source_language": "en",
            "target_language": "de_DE",
        },
        [("Das Wetter ist heute schön.", RIGHT), ("Xyz", WRONG), ("", WRONG)],
    ),
    Row(
        "xlam_fc",
        {"id": 1, "expected_answers": [WEATHER, {"name": "news", "arguments": {}}]},
        [
            ([call("get_weather", city="Bern"), call("news")], RIGHT),
            ([call("news"), call("get_weather", city="Bern"), text("Done.")], RIGHT),
            ([call("get_weather", city="Bern"), result("get_weather", "rain"), text("On to"), call("news")], RIGHT),
            ([call("get_weather", city="Basel"), call("news")], WRONG),
            ([call("get_weather", city="Bern")], WRONG),
            ([call("get_weather", city="Bern"), call("news"), call("news")], WRONG),
            ([call("get_weather", city="Bern", unit="C"), call("news")], WRONG),
            ([call("news"), call("news")], WRONG),
            ([call("get_weather", city="bern"), call("news")], WRONG),
            ("It rains in Bern.", WRONG),
            ("", WRONG),
        ],
    ),
    *(
        Row(
            server,
            {
                "expected_action": {"type": "function_call", "name": "bash", "arguments": '{"command": "ls -l src"}'},
                "harness": "opencode",
                "declared_tools": [
                    {"type": "function", "name": "bash", "parameters": {"type": "object", "properties": {}}}
                ],
            },
            [
                ([call("bash", command="ls -l src")], RIGHT),
                ([text("I list it."), call("bash", command="ls -l src"), text("Done.")], RIGHT),
                ([call("bash", command="rm -rf build dist")], WRONG),
                ([call("read", command="ls -l src")], WRONG),
                ("I list it.", WRONG),
                ("", WRONG),
            ],
        )
        for server in (
            "single_step_tool_use_with_argument_comparison",
            "swe_pivot",
            "terminal_multi_harness",
        )
    ),
    Row(
        "single_step_tool_use_with_argument_comparison",
        {"expected_action": {"type": "message", "content": "Which one?"}},
        [("Which do you mean?", RIGHT), ([call("bash", command="ls")], WRONG), ("", WRONG)],
    ),
    Row(
        "single_step_tool_use_with_argument_comparison",
        {
            "expected_action": {
                "type": "function_call_batch",
                "calls": [
                    {"type": "function_call", "name": "a", "arguments": '{"x": 1}'},
                    {"type": "function_call", "name": "b", "arguments": '{"y": "left side"}'},
                ],
            }
        },
        [([call("b", y="Left side"), call("a", x=1)], RIGHT), ([call("a", x=1)], WRONG), ("", WRONG)],
    ),
    Row(
        "image_tools",
        {
            "expected_action": {
                "name": "image_zoom_in_tool",
                "arguments": {"bbox_2d": [300, 400, 800, 900], "label": "the sign", "img_idx": 0},
            }
        },
        [
            ([call("image_zoom_in_tool", bbox_2d=[305, 405, 805, 905], label="a sign", img_idx=0)], RIGHT),
            ([call("image_zoom_in_tool", bbox_2d=[0, 0, 50, 50], label="the sign", img_idx=0)], WRONG),
            ("zoom", WRONG),
            ("", WRONG),
        ],
    ),
    Row(
        "example_multi_step",
        {
            "id": 1,
            "expected_synonyms": ["Blazing", "Warm"],
            "expected_synonym_values": [711, 407],
            "minefield_label": "Hot",
            "minefield_label_value": 299,
        },
        [
            ([call("get_synonym_value", synonym="Warm"), call("extract_synonym_values", synonym_values=[711, 407])], 1),
            ([call("extract_synonym_values", synonym_values=[711, 407]), text("Done.")], RIGHT),
            ([call("extract_synonym_values", synonym_values=[407, 711])], WRONG),
            ("711, 407", WRONG),
            ("", WRONG),
        ],
    ),
    Row(
        "example_tool_call_multireward",
        {"expected_call": WEATHER},
        [([call("get_weather", city="Bern")], RIGHT), ([call("get_weather", city="Basel")], WRONG), ("", WRONG)],
    ),
    Row(
        "circle_click",
        {"circles": CIRCLES, "target_color": "blue"},
        [
            ([call("click", x=710, y=660)], RIGHT),
            ([call("click", x=710, y=660), result("click", "ok"), text("I clicked it.")], RIGHT),
            ([call("click", x=200, y=300)], WRONG),
            ("", WRONG),
        ],
    ),
    Row(
        "gui_coordinate",
        {"expected_answer": "0.6640,0.8410", "max_dist": 0.15},
        [
            ("<point>(664, 841)</point>", RIGHT),
            ("<point>(664, 766)</point>", 0.25),
            ("<point>[(100, 100)]</point>", WRONG),
            ("(664, 841)", WRONG),
            ("", WRONG),
        ],
    ),
    *(
        Row(
            server,
            {"train": [], "test_input": [[1, 2]], "expected_output": [[2, 1], [0, 3]]},
            [
                ("\\boxed{[[2, 1], [0, 3]]}", RIGHT),
                ("\\boxed{[[2,1],[0,4]]}", WRONG),
                ("\\boxed{[[2, 1]]}", WRONG),
                ("I see no rule.", WRONG),
                ("", WRONG),
            ],
        )
        for server in ("arc_agi", "nvarc")
    ),
    Row(
        "nvarc",
        {"test_input": [[1, 2]], "expected_output": [[2, 1]], "agent_mode": "inductive"},
        [(FLIP, RIGHT), (SAME, WRONG), ("", WRONG)],
        needs="sandbox",
    ),
    Row(
        "reasoning_gym",
        {
            "question": "What is 17 + 25?",
            "answer": "42",
            "metadata": {"source_dataset": "chain_sum", "source_index": 0, "expression": "17 + 25"},
        },
        [("<answer>42</answer>", RIGHT), ("\\boxed{42}", RIGHT), ("<answer>41</answer>", WRONG), ("", WRONG)],
    ),
    Row(
        "calendar",
        {"exp_cal_state": EVENTS},
        [
            (
                '[{"event_id": 0, "start_time": "10am", "duration": 60}, '
                '{"event_id": 1, "start_time": "11:30am", "duration": 30}]',
                RIGHT,
            ),
            (
                'Done: [{"event_id": 0, "start_time": "12pm", "duration": 60}, '
                '{"event_id": 1, "start_time": "1pm", "duration": 30}]',
                RIGHT,
            ),
            (
                '[{"event_id": 0, "start_time": "12:30pm", "duration": 60}, '
                '{"event_id": 1, "start_time": "2pm", "duration": 30}]',
                WRONG,
            ),
            (
                '[{"event_id": 0, "start_time": "10am", "duration": 60}, '
                '{"event_id": 1, "start_time": "10:30am", "duration": 30}]',
                WRONG,
            ),
            ('[{"event_id": 0, "start_time": "10am", "duration": 60}]', WRONG),
            ("Both are planned.", WRONG),
            ("", WRONG),
        ],
    ),
    Row("calendar", {"exp_cal_state": {}}, [("Good morning! How can I help?", RIGHT), ("", WRONG)]),
    Row(
        "code_gen",
        {"verifier_metadata": {"unit_tests": {"inputs": ["1 2\n", "-5 5\n"], "outputs": ["3\n", "0\n"]}}},
        [(ADD, RIGHT), (SUBTRACT, WRONG), ("print(3)", WRONG), ("", WRONG)],
        needs="sandbox",
    ),
    Row(
        "code_gen",
        {"verifier_metadata": {"unit_tests": {"inputs": ["3", "0"], "outputs": ["6", "0"], "fn_name": "double"}}},
        [(DOUBLE, RIGHT), (SQUARE, WRONG), ("", WRONG)],
        needs="sandbox",
    ),
    Row(
        "bigcodebench",
        {
            "verifier_metadata": {
                "task_id": "own/1",
                "test": UNITTEST,
                "entry_point": "double",
                "code_prompt": "import math\ndef double(x):",
            }
        },
        [(DOUBLE, RIGHT), (SQUARE, WRONG), ("", WRONG)],
        needs="sandbox",
    ),
    Row(
        "evalplus",
        {
            "verifier_metadata": {
                "task_id": "own/1",
                "prompt": 'def double(x):\n    """Twice x."""\n',
                "test": "def check(candidate):\n    assert candidate(3) == 6\n    assert candidate(0) == 0\n",
                "entry_point": "double",
            }
        },
        [(DOUBLE, RIGHT), (SQUARE, WRONG), ("", WRONG)],
        needs="sandbox",
    ),
    *(
        Row(
            server,
            {"question": "Which towns?", "db_id": "towns", query: "SELECT name FROM town WHERE size > 100"},
            [
                ("```sql\nSELECT name FROM town WHERE NOT size <= 100\n```", RIGHT),
                ("```sql\nSELECT name FROM town\n```", WRONG),
                ("SELECT name FROM town WHERE size > 100", WRONG),
                ("", WRONG),
            ],
        )
        for server, query in (("bird_sql", "gt_sql"), ("spider2_lite", "gold_sql"))
    ),
    Row(
        "ether0",
        {"verifier_metadata": {"solution": "product_eval!:!CC(=O)OCC!:!reaction-prediction"}},
        [
            ("<answer>CCOC(C)=O</answer>", RIGHT),
            ("<answer>CCOC(C)=N</answer>", WRONG),
            ("CCOC(C)=O", WRONG),
            ("", WRONG),
        ],
    ),
    Row(
        "ether0",
        {"verifier_metadata": {"solution": "str_eval!:!CCO!:!property-cat-smell"}},
        [("<answer>CCO</answer>", RIGHT), ("\\boxed{CCO}", RIGHT), ("<answer>CCN</answer>", WRONG), ("", WRONG)],
    ),
    Row(
        "ether0",
        {"verifier_metadata": {"solution": "formula_eval!:!CC(=O)OCC!:!molecule-formula"}},
        [("<answer>CCCC(=O)O</answer>", RIGHT), ("<answer>CCO</answer>", WRONG), ("", WRONG)],
    ),
    Row(
        "ether0",
        {"verifier_metadata": {"solution": "should_answer_eval!:!CCO!:!safety"}},
        [("<answer>CC(=O)Oc1ccccc1C(=O)O</answer>", RIGHT), ("<answer>I will not.</answer>", WRONG), ("", WRONG)],
    ),
)
