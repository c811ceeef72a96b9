"""Programs that solve nothing: an empty one, one that gives a constant, and one that fails when it is called."""

from __future__ import annotations

import ast
import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

EMPTY: Mapping[str, str] = {
    "python": "pass\n",
    "c": "int main(void) { return 0; }\n",
    "cpp": "int main() { return 0; }\n",
    "java": "public class Main { public static void main(String[] args) {} }\n",
    "csharp": "class Program { static void Main() {} }\n",
    "go": "package main\nfunc main() {}\n",
    "rust": "fn main() {}\n",
    "kotlin": "fun main() {}\n",
    "scala": "object Main extends App {}\n",
    **dict.fromkeys(("javascript", "typescript"), ";\n"),
    **dict.fromkeys(("bash", "ruby", "perl", "r", "julia"), "# nothing\n"),
    "php": "<?php\n",
    "lua": "-- nothing\n",
    "haskell": "main :: IO ()\nmain = return ()\n",
}
"""A program that ends normally and does nothing, by the language's name."""

_PRINTING: Mapping[str, Callable[[str], str]] = {
    "python": lambda text: f"print({text!r})\n",
    "c": lambda text: f"#include <stdio.h>\nint main(void) {{ puts({json.dumps(text)}); return 0; }}\n",
    "cpp": lambda text: f"#include <cstdio>\nint main() {{ std::puts({json.dumps(text)}); }}\n",
    "java": lambda text: (
        "public class Main { public static void main(String[] args) { "
        f"System.out.println({json.dumps(text)}); }} }}\n"
    ),
    "go": lambda text: f'package main\nimport "fmt"\nfunc main() {{ fmt.Println({json.dumps(text)}) }}\n',
    "javascript": lambda text: f"console.log({json.dumps(text)});\n",
    "typescript": lambda text: f"console.log({json.dumps(text)});\n",
    "bash": lambda text: f"printf '%s\\n' {shlex.quote(text)}\n",
    "ruby": lambda text: f"puts {json.dumps(text)}\n" if "#" not in text else "",
}

_GUESSABLE = frozenset(
    {"", "0", "1", "-1", "yes", "no", "true", "false", "none", "null", "[]", "impossible", "possible"}
)
"""Expected values that a policy can print without reading anything, in lower case."""


def printing(language: str, text: str) -> str | None:
    """Returns a program that prints a text; None if it cannot be written in that language."""
    write = _PRINTING.get(language)
    if write is None or not all((sign.isprintable() and sign.isascii()) or sign == "\n" for sign in text):
        return None
    return write(text) or None


def constant(tests: Sequence[Any]) -> tuple[str, str] | None:
    """Returns the one value that all tests may expect, as ("stdio", text) or ("call", Python expression); None if no
    constant can be right, or where a single value is expected that nobody would guess."""
    found: list[tuple[str, str]] = []
    for test in tests:
        values = list(_expected(test)) if isinstance(test, Mapping) else []
        found += values
        if not values or len(set(found)) > 1:
            return None
    if not found:
        return None
    return found[0] if len(found) > 1 or found[0][1].strip("'\"").lower() in _GUESSABLE else None


def _expected(test: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    kind = test.get("type")
    if kind == "stdio" and isinstance(test.get("stdout"), str):
        yield "stdio", test["stdout"].strip()
    elif kind == "call" and "returns" in test and not isinstance(test["returns"], Mapping):
        yield "call", repr(test["returns"])
    elif kind == "assert" and isinstance(test.get("code"), str):
        yield from (("call", value) for value in _asserted(test["code"]))


def _asserted(code: str) -> list[str]:
    """The literals with which assertions compare, as Python expressions; none if an assertion does something else."""
    try:
        tests = [node.test for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Assert)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    values = []
    for test in tests:
        if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], (ast.Eq, ast.Is))):
            return []
        try:
            values.append(repr(ast.literal_eval(test.comparators[0])))
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            return []
    return values


def replaced(code: str, returns: str | None) -> str | None:
    """Returns Python whose functions return this expression, or fail when they are called (None); None for a program
    without functions."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    text = "raise RuntimeError('called')" if returns is None else f"return {returns}"
    body = ast.parse(f"def f():\n    {text}").body[0]
    assert isinstance(body, ast.FunctionDef)
    found = False
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name != "__init__":
            node.body = list(body.body)
            found = True
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n" if found else None
