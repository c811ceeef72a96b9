"""A row of each data set, in the shape in which it is published: the tasks are the tests' own."""

from __future__ import annotations

import base64
import json
import pickle
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SQUARE = "print(int(input()) ** 2)"
TWICE = "print(int(input()) * 2)"
CPP_SQUARE = "#include <iostream>\nint main() { long n; std::cin >> n; std::cout << n * n; }"
CPP_TWICE = "#include <iostream>\nint main() { long n; std::cin >> n; std::cout << n * 2; }"
FILES_SQUARE = "n = int(open('square.in').read())\nwith open('square.out', 'w') as file:\n    print(n ** 2, file=file)"
FILES_SOLVED = {"language": [3], "solution": [FILES_SQUARE]}
READING_SQUARE = "print(int(open('square.in').read()) ** 2)"
CPP_FILES_SQUARE = (
    '#include <fstream>\nint main() { long n; std::ifstream("input.txt") >> n; std::ofstream("output.txt") << n * n; }'
)
ADD = "def add(a, b):\n    return a + b"
SUBTRACT = "def add(a, b):\n    return a - b"
METHOD = "class Solution:\n    def add(self, a: int, b: List[int]) -> int:\n        return a + sum(b)"
WRONG_METHOD = "class Solution:\n    def add(self, a: int, b: List[int]) -> int:\n        return a"

LISTS = {"inputs": ["3\n", "5\n"], "outputs": ["9\n", "25\n"]}
CALLS = {"fn_name": "add", "inputs": [[1, 2], [0, 5]], "outputs": [[3], [5]]}
PAIRS = [{"input": "3\n", "output": "9\n"}, {"input": "5\n", "output": "25\n"}]
FUNCTIONAL = [{"input": "1\n[2, 3]", "output": "6", "testtype": "functional"}]


@dataclass(frozen=True)
class Published:
    """A row, a program that passes its tests, and one that does not. broken: rows with a mistake, by the path that the
    error names."""

    title: str
    dataset: str
    row: Any
    gold: str
    wrong: str
    label: str = "python"
    metadata: Mapping[str, Any] | None = None
    broken: Mapping[str, Any] = field(default_factory=dict)


def packed(tests: Any) -> str:
    """Returns tests as LiveCodeBench packs them: base64 of zlib of the pickle of JSON."""
    return base64.b64encode(zlib.compress(pickle.dumps(json.dumps(tests)))).decode()


HUMANEVAL = {
    "task_id": "HumanEval/1000",
    "prompt": 'from typing import List\n\n\ndef add(a: int, b: int) -> int:\n    """Returns the sum."""\n',
    "entry_point": "add",
    "canonical_solution": "    return a + b\n",
    "test": "\n\ndef check(candidate):\n    assert candidate(1, 2) == 3\n    assert candidate(0, 5) == 5\n",
}
HUMANEVAL_PLUS = {
    **HUMANEVAL,
    "test": "\n\nimport numpy as np\n\ndef is_floats(x) -> bool:\n    return isinstance(x, float)\n\n\n"
    "def assertion(out, exp, atol):\n    if atol == 0 and is_floats(exp):\n        atol = 1e-6\n"
    "    if out != exp and atol != 0:\n        assert np.allclose(out, exp, rtol=1e-07, atol=atol)\n"
    "    else:\n        assert out == exp, f'out: {out}, exp: {exp}'\n\n\n"
    "def ref_func(a, b):\n    return b + a\n\n\n"
    "def check(candidate):\n    inputs = [[1, 2], [0, 5], [0.1, 0.2]]\n    results = [3, 5, 0.3]\n"
    "    for i, (inp, exp) in enumerate(zip(inputs, results)):\n        assertion(candidate(*inp), exp, 0)\n"
    "        assertion(candidate(*inp), ref_func(*inp), 0)\n",
}
MBPP = {
    "task_id": 9000,
    "text": "Write a function to add two numbers.",
    "code": ADD,
    "test_list": ["assert add(1, 2) == 3", "assert add(0, 5) == 5"],
    "test_setup_code": "",
    "challenge_test_list": [],
}
MBPP_PLUS = {
    "task_id": 9000,
    "code": ADD,
    "prompt": "Write a function to add two numbers.",
    "test_imports": [],
    "test_list": ["assert add(1, 2) == 3"],
    "test": "inputs = [[1, 2], [0, 5]]\nresults = [3, 5]\n"
    "for i, (inp, exp) in enumerate(zip(inputs, results)):\n    assert add(*inp) == exp\n",
}
KODCODE = {
    "style": "instruct",
    "question_id": "Prefill_9000_I",
    "question": "Write a function that adds two numbers, and one that tests a sum.",
    "solution": f"{ADD}\n\ndef test_sum(a, b, c):\n    return add(a, b) == c",
    "test": "from solution import add, test_sum\n\ndef test_small():\n    assert add(1, 2) == 3\n\n"
    "def test_its_test():\n    assert test_sum(0, 5, 5)\n    assert not test_sum(0, 5, 6)\n",
    "test_info": [{"function_name": "add", "parameter_list": "(a, b)"}],
}
LEETCODE = {
    "task_id": "add-numbers",
    "entry_point": "Solution().add",
    "prompt": "import random\nfrom typing import *\n\n\nclass ListNode:\n    def __init__(self, val=0, next=None):\n"
    "        self.val = val\n        self.next = next\n",
    "starter_code": "class Solution:\n    def add(self, a: int, b: List[int]) -> int:\n        ",
    "completion": METHOD,
    "test": "def check(candidate):\n    assert candidate(a = 1,b = [2, 3]) == 6\n"
    "    assert candidate(a = 0,b = []) == 0\n",
    "input_output": [{"input": "a = 1, b = [2, 3]", "output": "6"}],
}
BIGCODEBENCH = {
    "task_id": "BigCodeBench/9000",
    "code_prompt": "import os\ndef task_func(path):\n",
    "complete_prompt": 'import os\n\ndef task_func(path):\n    """Returns whether a path exists."""\n',
    "canonical_solution": "    return os.path.exists(path)\n",
    "entry_point": "task_func",
    "libs": "['os']",
    "test": "import unittest\nfrom unittest.mock import patch\n\nclass TestCases(unittest.TestCase):\n"
    "    def test_there(self):\n        with patch('os.path.exists', return_value=True) as asked:\n"
    "            self.assertTrue(task_func('/x'))\n            asked.assert_called_once_with('/x')\n\n"
    "    def test_missing(self):\n        self.assertFalse(task_func('/nowhere'))\n",
}
CODEFORCES = {
    "id": "9000/A",
    "time_limit": 2.0,
    "memory_limit": 256.0,
    "input_mode": "stdio",
    "interaction_format": None,
    "examples": PAIRS[:1],
    "official_tests": PAIRS,
    "official_tests_complete": True,
    "generated_checker": None,
    "generated_tests": 12,
}
CHECKER = (
    "import sys\n\ninput_path, answer_path, output_path = sys.argv[1:]\n"
    "n = int(open(input_path).read())\ngot = list(map(int, open(output_path).read().split()))\n"
    "print(1 if len(got) == 2 and sum(got) == n else 0)\n"
)
CODECONTESTS = {
    "name": "9000_A. Square",
    "public_tests": {"input": ["3\n"], "output": ["9\n"]},
    "private_tests": {"input": ["5\n"], "output": ["25\n"]},
    "generated_tests": {"input": ["-2\n"], "output": ["4\n"]},
    "solutions": {"language": [2, 3], "solution": [CPP_SQUARE, SQUARE]},
    "time_limit": {"seconds": 1, "nanos": 500_000_000},
    "memory_limit_bytes": 256_000_000,
    "input_file": "",
    "output_file": "",
}
LIVECODEBENCH = {
    "question_id": "9000",
    "starter_code": "",
    "public_test_cases": json.dumps([{**PAIRS[0], "testtype": "stdin"}]),
    "private_test_cases": packed([{**PAIRS[1], "testtype": "stdin"}]),
    "metadata": "{}",
}
PRIME = {"language": "python", "test_cases": [{"type": "stdin_stdout", "fn_name": None, **pair} for pair in PAIRS]}
PRIME_CALL = {
    "language": "python",
    "test_cases": [{"type": "function_call", "fn_name": "add", "input": [1, 2], "output": 3}],
}
GOLD = f"```python\n{SQUARE}\n```"
INFERENCES = [
    {"model_name": "one", "completion_id": 0, "completion": f"So:\n```python\n{SUBTRACT}\n```", "pass_rate": 0.5},
    {"model_name": "two", "completion_id": 0, "completion": f"So:\n```python\n{ADD}\n```", "pass_rate": 1.0},
]
MULTIPL_E = {
    "py": {
        "name": "HumanEval_9000_add",
        "language": "py",
        "prompt": 'from typing import List\n\ndef add(a: int, b: int) -> int:\n    """Returns the sum.\n    """\n',
        "tests": "def check(candidate):\n    assert candidate(1, 2) == 3\n    assert candidate(0, 5) == 5\n\n"
        "def test_check():\n    check(add)\n\ntest_check()\n",
        "stop_tokens": ["\ndef", "\n#", "\nif", "\nclass"],
    },
    "js": {
        "name": "HumanEval_9000_add",
        "language": "js",
        "prompt": "//Returns the sum. Not so:\n//function sub(a, b){\nfunction add(a, b){\n",
        "tests": "const assert = require('node:assert');\n\n\nfunction test() {\n  let candidate = add;\n"
        "  assert.deepEqual(candidate(1, 2),3);\n  assert.deepEqual(candidate(0, 5),5);\n}\n\ntest();",
        "stop_tokens": ["\nfunction ", "\n/*", "\n//", "\nconsole.log"],
    },
    "cpp": {
        "name": "HumanEval_9000_add",
        "language": "cpp",
        "prompt": "#include<assert.h>\n#include<bits/stdc++.h>\n// Returns the sum.\nlong add(long a, long b) {\n",
        "tests": "}\nint main() {\n    auto candidate = add;\n    assert(candidate((1), (2)) == (3));\n"
        "    assert(candidate((0), (5)) == (5));\n}\n",
        "stop_tokens": ["\n}"],
    },
}

PUBLISHED = [
    Published(
        "APPS, stdin",
        "apps",
        {"problem_id": 9000, "input_output": json.dumps(LISTS), "solutions": json.dumps([SQUARE]), "starter_code": ""},
        SQUARE,
        TWICE,
        broken={
            "reference.input_output": {"problem_id": 9000, "input_output": ""},
            "reference.input_output.outputs": {"input_output": json.dumps({**LISTS, "outputs": ["9"]})},
            "reference.input_output.inputs[1]": {"input_output": json.dumps({**LISTS, "inputs": ["3", 5]})},
        },
    ),
    Published("APPS, calls", "apps", {"input_output": json.dumps(CALLS)}, ADD, SUBTRACT),
    Published("APPS, the tests alone", "apps", json.dumps(LISTS), SQUARE, TWICE),
    Published(
        "TACO",
        "taco",
        {
            "input_output": json.dumps(CALLS),
            "solutions": json.dumps(["class Solution:\n    def add(self, a, b):\n        return [a + b]", ""]),
            "starter_code": "class Solution:",
            "time_limit": "2 seconds",
            "memory_limit": "256 megabytes",
        },
        "class Solution:\n    def add(self, a, b):\n        return [a + b]",
        "class Solution:\n    def add(self, a, b):\n        return [a]",
        broken={
            "reference.time_limit": {"input_output": json.dumps(LISTS), "time_limit": "soon"},
            "reference.input_output.fn_name": {"input_output": json.dumps({**CALLS, "fn_name": "a b"})},
        },
    ),
    Published("CodeContests", "codecontests", CODECONTESTS, SQUARE, TWICE),
    Published(
        "CodeContests, C++",
        "codecontests",
        CODECONTESTS,
        CPP_SQUARE,
        CPP_TWICE,
        label="cpp",
        broken={
            "reference.public_tests.output": {"public_tests": {"input": ["3"], "output": []}},
            "reference.public_tests": {"name": "9000_A"},
            "reference.input_file": {**CODECONTESTS, "input_file": "../in.txt"},
            "reference.output_file": {**CODECONTESTS, "output_file": "/out.txt"},
        },
    ),
    Published(
        "CodeContests, files",
        "codecontests",
        {**CODECONTESTS, "input_file": "square.in", "output_file": "square.out", "solutions": FILES_SOLVED},
        FILES_SQUARE,
        FILES_SQUARE.replace("** 2", "* 2"),
    ),
    Published(
        "CodeContests, a file to read",
        "codecontests",
        {**CODECONTESTS, "input_file": "square.in", "solutions": {"language": [3], "solution": [READING_SQUARE]}},
        READING_SQUARE,
        "print(int(open('square.in').read()) * 2)",
    ),
    Published(
        "LiveCodeBench, stdin",
        "livecodebench",
        LIVECODEBENCH,
        SQUARE,
        "n = int(input())\nprint(9 if n == 3 else 0)",  # right where the tests are public
        broken={
            "reference.private_test_cases": {
                **LIVECODEBENCH,
                "private_test_cases": base64.b64encode(zlib.compress(pickle.dumps([1]))).decode(),
            },
            "reference.public_test_cases": {"question_id": "9000"},
            "reference.public_test_cases[0].fn_name": {"public_test_cases": json.dumps(FUNCTIONAL)},
        },
    ),
    Published(
        "LiveCodeBench, functional",
        "livecodebench",
        {
            **LIVECODEBENCH,
            "starter_code": "class Solution:\n    def add(self, a: int, b: List[int]) -> int:\n        ",
            "public_test_cases": json.dumps(FUNCTIONAL),
            "private_test_cases": packed(FUNCTIONAL),
            "metadata": json.dumps({"func_name": "add"}),
        },
        METHOD,
        WRONG_METHOD,
    ),
    Published(
        "DeepCoder, LiveCodeBench's part",
        "deepcoder",
        {
            "problem": "…",
            "tests": json.dumps([{**FUNCTIONAL[0], "metadata": {"func_name": "add"}}]),
            "solutions": [f"```python\n{METHOD}\n```"],
        },
        METHOD,
        WRONG_METHOD,
        broken={"reference.tests": {"problem": "…"}, "reference.tests[0].output": {"tests": [{"input": "3"}]}},
    ),
    Published("DeepCoder, TACO's part", "deepcoder", {"tests": json.dumps(CALLS)}, ADD, SUBTRACT),
    Published(
        "DeepCoder, PrimeIntellect's part",
        "deepcoder",
        {"tests": json.dumps(PRIME["test_cases"])},
        SQUARE,
        TWICE,
    ),
    Published(
        "PrimeIntellect",
        "primeintellect",
        {"problem_id": "vcp_9000", "verification_info": json.dumps(PRIME), "gold_standard_solution": GOLD},
        SQUARE,
        TWICE,
        broken={
            "reference.verification_info": {"problem_id": "vcp_9000"},
            "reference.verification_info.test_cases": {"verification_info": {"language": "python"}},
        },
    ),
    Published(
        "SYNTHETIC-1",
        "synthetic_1",
        {"verification_info": repr(PRIME_CALL), "gold_standard_solution": ADD},
        ADD,
        SUBTRACT,
    ),
    Published(
        "SYNTHETIC-1, C++",
        "synthetic_1",
        {"verification_info": json.dumps({**PRIME, "language": "cpp"})},
        CPP_SQUARE,
        CPP_TWICE,
        label="cpp",
    ),
    Published(
        "SYNTHETIC-2",
        "synthetic_2",
        {
            "task_type": "prime_rl_code",
            "verification_info": json.dumps({"test_cases": json.dumps(CALLS)}),
            "gold_standard_solution": ADD,
        },
        ADD,
        SUBTRACT,
    ),
    Published(
        "AceCode",
        "acecode",
        {"id": "oss_9000", "question": "…", "test_cases": MBPP["test_list"], "inferences": INFERENCES},
        ADD,
        SUBTRACT,
        broken={"reference.test_cases[0]": {"test_cases": [3]}, "reference.test_cases": {"id": "oss_9000"}},
    ),
    Published(
        "KodCode",
        "kodcode",
        KODCODE,
        str(KODCODE["solution"]),
        f"{SUBTRACT}\n\ndef test_sum(a, b, c):\n    return True",
        broken={
            "reference.test": {"test": "from solution import test_sum\n"},
            "reference.test_code": {"test_code": "def test(:"},
        },
    ),
    Published(
        "LeetCodeDataset",
        "leetcode",
        LEETCODE,
        METHOD,
        WRONG_METHOD,
        broken={"reference.entry_point": {**LEETCODE, "entry_point": "Solution(); f"}},
    ),
    Published(
        "HumanEval",
        "humaneval",
        HUMANEVAL,
        ADD,
        SUBTRACT,
        broken={"reference.test": {**HUMANEVAL, "test": " "}, "reference.entry_point": {**HUMANEVAL, "entry_point": 1}},
    ),
    Published("HumanEval+", "humaneval", HUMANEVAL_PLUS, ADD, SUBTRACT),
    Published("HumanEval, continued", "humaneval", HUMANEVAL, "    return a + b", "    return a - b"),
    Published("MBPP", "mbpp", MBPP, ADD, SUBTRACT, broken={"reference.test_list": {**MBPP, "test_list": None}}),
    Published(
        "MultiPL-E, Python",
        "multipl_e",
        MULTIPL_E["py"],
        ADD,
        SUBTRACT,
        broken={
            "reference.language": {**MULTIPL_E["py"], "language": "klingon"},
            "reference.tests": {**MULTIPL_E["py"], "tests": ""},
            "reference.prompt": {**MULTIPL_E["py"], "prompt": "def other(a, b):\n"},
            "reference.stop_tokens": {**MULTIPL_E["py"], "stop_tokens": [1]},
        },
    ),
    Published(
        "MultiPL-E, Python, continued",
        "multipl_e",
        MULTIPL_E["py"],
        "    return a + b\n\nif __name__ == '__main__':\n    raise SystemExit",
        "    return a - b",
    ),
    Published(
        "MultiPL-E, JavaScript",
        "multipl_e",
        MULTIPL_E["js"],
        "const add = (a, b) => a + b;",
        "const add = (a, b) => a - b;",
        label="javascript",
    ),
    Published(
        "MultiPL-E, C++, continued",
        "multipl_e",
        MULTIPL_E["cpp"],
        "    return a + b;\n}\nint main() {}",
        "    return a - b;\n}",
        label="cpp",
    ),
    Published("MBPP+", "mbpp", MBPP_PLUS, ADD, "def add(a, b):\n    return 3"),
    Published(
        "BigCodeBench",
        "bigcodebench",
        BIGCODEBENCH,
        "import os\ndef task_func(path):\n    return os.path.exists(path)",
        "import os\ndef task_func(path):\n    return True",
        broken={
            "reference.entry_point": {**BIGCODEBENCH, "entry_point": "a.b"},
            "reference.test": {**BIGCODEBENCH, "test": "x = 1"},
        },
    ),
    Published(
        "open-r1/codeforces",
        "codeforces",
        CODEFORCES,
        CPP_SQUARE,
        CPP_TWICE,
        label="cpp",
        broken={
            "reference.input_mode": {**CODEFORCES, "input_mode": "interactive"},
            "reference.interaction_format": {**CODEFORCES, "interaction_format": "Ask."},
            "reference.official_tests[0].input": {**CODEFORCES, "official_tests": [{"output": "1"}]},
            "reference.official_tests": {**CODEFORCES, "official_tests": []},
        },
    ),
    Published(
        "open-r1/codeforces, a checker",
        "codeforces",
        {**CODEFORCES, "language": "python", "generated_checker": CHECKER, "official_tests": [PAIRS[1]]},
        "n = int(input())\nprint(1, n - 1)",
        "n = int(input())\nprint(1, n)",
    ),
    Published(
        "open-r1/codeforces, files",
        "codeforces",
        {**CODEFORCES, "input_mode": "file"},
        CPP_FILES_SQUARE,
        CPP_FILES_SQUARE.replace("n * n", "n * 2"),
        label="cpp",
    ),
    Published(
        "open-r1/codeforces, a checker of files",
        "codeforces",
        {
            **CODEFORCES,
            "language": "python",
            "input_mode": "file",
            "generated_checker": CHECKER,
            "official_tests": [PAIRS[1]],
        },
        "n = int(open('input.txt').read())\nprint(1, n - 1, file=open('output.txt', 'w'))",
        "n = int(open('input.txt').read())\nprint(1, n, file=open('output.txt', 'w'))",
    ),
    Published(
        "Codeforces-Python-Submissions",
        "codeforces_python",
        {
            "contestId": 9000,
            "time-limit": "2 seconds",
            "memory-limit": "256 megabytes",
            "test_cases": PAIRS,
            "programmingLanguage": "PyPy 3-64",
            "verdict": "OK",
            "code": SQUARE,
        },
        SQUARE,
        TWICE,
        broken={"reference.test_cases": {"contestId": 9000}},
    ),
    Published(
        "rStar-Coder, stdin",
        "rstar_coder",
        {"question_id": "seed_9000", "inputs": json.dumps(LISTS["inputs"]), "outputs": json.dumps(LISTS["outputs"])},
        SQUARE,
        TWICE,
        broken={"reference.inputs": {"question_id": "seed_9000", "outputs": "[]"}},
    ),
    Published(
        "rStar-Coder, calls",
        "rstar_coder",
        {"func_name": "add", "inputs": json.dumps(CALLS["inputs"]), "outputs": json.dumps(CALLS["outputs"])},
        ADD,
        SUBTRACT,
    ),
    Published(
        "Eurus-2",
        "eurus_2",
        {"data_source": "taco", "reward_model": {"style": "rule", "ground_truth": json.dumps(LISTS)}},
        SQUARE,
        TWICE,
        broken={"reference.ground_truth.inputs": {"ground_truth": "{}"}},
    ),
    Published("Eurus-2, verl's column", "eurus_2", json.dumps(CALLS), ADD, SUBTRACT),
    Published("verl, assertions", "eurus_2", {"assert_case": MBPP["test_list"]}, ADD, SUBTRACT),
    Published(
        "Reasoning360",
        "reasoning360",
        json.dumps({"functional": "def check(f):\n    assert f(1, 2) == 3\n\ncheck(add)"}),
        ADD,
        SUBTRACT,
        metadata={"prefix": "import math\n"},
        broken={"reference.pytest": "{}"},
    ),
]
