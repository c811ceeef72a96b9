"""Antiderivatives: tokenised, rewritten, and only then passed to the library's scorer, which runs in the sandbox.

That scorer calls SymPy's `parse_expr`, which is `eval`. Only numbers, the variable, the constant, a few functions and
operators of an answer reach it: no attributes, strings, indices, keywords or other names (`Integral(f, x)` would be a
right answer). What remains can still run forever (`9**9**9**9`), so it runs in a locked room under limits.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rewarden_sandboxes.job import Case, Job, Limits, Program, Report, source
from rewarden_verifiers.puzzles import library
from rewarden_verifiers.puzzles.findings import Finding, malformed

DATASETS = frozenset({"intermediate_integration", "simple_integration"})
NEEDS_SANDBOX = "needs_sandbox"

_NAMES = "sin cos tan sec csc cot asin acos atan arcsin arccos arctan sinh cosh tanh asinh acosh atanh exp log ln sqrt"
_FUNCTIONS = frozenset({*_NAMES.split(), "Abs", "abs"})
_SPELLINGS: Mapping[str, str] = {
    "^": "**",
    "\u2212": "-",
    "\u00b7": "*",
    "\u00d7": "*",
    "ln": "log",
    "abs": "Abs",
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "π": "pi",
}
_CONSTANTS = frozenset({"pi", "E", "C"})
_TOKEN = re.compile(r"\s*(?:(\d{1,40}(?:\.\d{1,40})?)|([A-Za-zπ]{1,10})|(\*\*|[-+*/^()\u2212\u00b7\u00d7]))", re.ASCII)
MAX_TOKENS = 1000
MAX_DEPTH = 50

LIMITS = Limits(cpu_s=10, wall_s=10, memory_mb=1024, processes=16, output_bytes=10_000)


@dataclass(frozen=True, slots=True)
class IntegralChecker:
    """The data set, the variable and the integrand."""

    dataset: str
    variable: str
    integrand: str

    def check(self, answer: str) -> Finding:
        """`malformed`, or else the request to the sandbox."""
        text = rewritten(answer, self.variable)
        if text is None:
            return malformed("it is not an expression of the variable, C, numbers and elementary functions")
        entry = {"answer": "", "metadata": {"variable": self.variable, "integrand": self.integrand}}
        return Finding(
            reason=NEEDS_SANDBOX, evidence={"ask": {"dataset": self.dataset, "answer": text, "entry": entry}}
        )


def rewritten(answer: str, variable: str) -> str | None:
    """The expression, rebuilt from its tokens; None if a token or the order of tokens is not permitted."""
    tokens: list[str] = []
    at, depth = 0, 0
    end = len(answer.rstrip())
    expects_value = True
    while at < end:
        match = _TOKEN.match(answer, at)
        if match is None or len(tokens) > MAX_TOKENS:
            return None
        at = match.end()
        number, name, sign = match.groups()
        if sign == ")":
            depth -= 1
            if expects_value or depth < 0:
                return None
        elif sign is not None and sign != "(" and not expects_value:
            expects_value = True
        elif not expects_value:
            return None  # two adjacent values, or a call of a value
        elif sign == "(":
            depth += 1
            if depth > MAX_DEPTH:
                return None
        elif number is not None or name == variable or name in _CONSTANTS or name == "π":
            expects_value = False
        elif sign not in ("-", "+", "\u2212") and not (name in _FUNCTIONS and answer[at:].lstrip()[:1] == "("):
            return None
        token = number or name or sign
        tokens.append(_SPELLINGS.get(token, token))
    return None if expects_value or depth else " ".join(tokens)


# The scorer's module with the few modules that it needs; the packages' own `__init__` would import the whole library.
_MAIN = """
import importlib
import json
import sys

import sympy

asked = json.load(sys.stdin)
importlib.import_module("reasoning_gym.algebra." + asked["dataset"])
from reasoning_gym.factory import DATASETS

dataset_type, config_type = DATASETS[asked["dataset"]]
score = dataset_type(config_type(seed=0)).score_answer(asked["answer"], asked["entry"])
print(json.dumps({"score": float(score)}))
"""
_FILES = ("factory.py", "dataset.py", "utils.py", "coaching/attributes.py", "coaching/base_curriculum.py")
_COACHING = b"from .attributes import *\nfrom .base_curriculum import *\n"


def job(ask: Mapping[str, Any]) -> Job:
    """A job that runs the library's scorer on one answer. Raises MissingDependency. Reads a dozen small files on the
    first call.
    """
    program = _program(ask["dataset"])
    return Job(program=program, cases=[Case(stdin=json.dumps(ask).encode(), limits=LIMITS)])


@lru_cache(maxsize=len(DATASETS))
def _program(dataset: str) -> Program:
    root = library.folder()
    files = {f"{library.NAME}/{name}": (root / name).read_bytes() for name in (*_FILES, f"algebra/{dataset}.py")}
    files |= {f"{library.NAME}/{name}": b"" for name in ("__init__.py", "algebra/__init__.py")}
    files[f"{library.NAME}/coaching/__init__.py"] = _COACHING
    return Program(language="python", code=source(_MAIN), files=files, limits=LIMITS)


def score_of(report: Report) -> float | None:
    """The score that the program printed, or None if the program failed, which only the answer can have caused."""
    if report.status != "ok":
        return None
    try:
        score = json.loads(report.stdout)["score"]
    except (ValueError, KeyError, TypeError):
        return None
    return float(score) if isinstance(score, (int, float)) and 0.0 <= score <= 1.0 else None
