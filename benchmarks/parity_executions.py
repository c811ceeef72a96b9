"""Rows for comparing rewards of predictions: the text that a program prints, and its variables at the end."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.parity_rows import Row, drawn, thought

_WORDS = ("abba", "Level", "two words", "YES", "no way")


def _value(rng: random.Random) -> tuple[Any, Any, Any]:
    """Returns a value, the same in another spelling, and another value."""
    a, b = rng.randint(2, 99), rng.randint(2, 99)
    word, other = rng.sample(_WORDS, 2)
    return rng.choice(
        [
            (a, float(a), a + 1),
            (a, str(a), -a),
            (a + 0.5, f" {a}.50 ", a + 0.25),
            (word, f"{word} ", other),
            (word, word, word.swapcase()),
            (True, "true", False),
            (True, 1, "yes"),
            (False, "False", None),
            (None, "None", 0),
            ([a, b], [a, str(b)], [a, b + 1]),
            ([a, b], f"[{a}, {b}]", [a]),
            ([a, word], [a, f"{word} "], [a, word, b]),
            ([[a], [b]], [[float(a)], [b]], [[a], [a + b]]),
            ({"k": a, "v": [b]}, {"v": [b], "k": f"{a}"}, {"k": a}),
            ({"k": a}, {"k": a}, {"k": a, "v": b}),
            ([], "[]", {}),
        ]
    )


def _printed(rng: random.Random) -> tuple[str, Any, Any]:
    """Returns a text that a program prints, another spelling of it, and another text."""
    a, b = rng.randint(2, 99), rng.randint(2, 99)
    return rng.choice(
        [
            (f"{a}", a, a + 1),
            (f"{a}.50", a + 0.5, f"{a}.05"),
            (f"{a}\n{b}", f"{a}\n{b}\n", f"{a} {b}"),
            (f"[{a}, {b}]", [a, b], [b, a]),
            ("YES", " YES", "Yes"),
            ("True", True, False),
            (f"Case #1: {a}", f"Case #1: {a}", f"case #1: {a}"),
        ]
    )


def executions() -> Callable[[random.Random], Row]:
    """Returns a maker of rows whose last line predicts what a program prints, and up to three of its variables."""

    def make(rng: random.Random) -> Row:
        output, variables = _printed(rng), {name: _value(rng) for name in rng.sample("abcnrs", rng.randint(0, 3))}
        reference = {"final_output": output[0], "variables": {name: each[0] for name, each in variables.items()}}
        kinds = {
            "right": 6, "spelled": 6, "some": 6, "wrong": 3, "missing": 2, "more": 2, "nothing": 2,
            "large": 1, "list": 1,
        }  # fmt: skip
        kind = rng.choices(list(kinds), weights=list(kinds.values()))[0]
        if kind == "large":
            reference["final_output"] = f"{2**53 + 2 * rng.randint(1, 999)}"
        said = _said(rng, kind, reference, output, variables)
        line, why = json.dumps(said), thought(rng)
        forms = {
            "plain": (12, f"{why}\n{line}"),
            "alone": (2, line),
            "indented": (1, f"{why}\n   {line}  \n\n"),
            "thought": (2, f"<think>\n{why}\n</think>\n{line}"),
            "twice": (1, f"{line}\n{json.dumps({**said, 'final_output': 'x'})}"),
            "repeated": (1, f"{why}\n" + '{"final_output": "x", ' + line[1:]),
            "same line": (1, f"{why} {line}"),
            "after": (1, f"{why}\n{line}\nThis is what it prints."),
            "fenced": (1, f"{why}\n```json\n{line}\n```"),
            "spread": (1, f"{why}\n{json.dumps(said, indent=1)}"),
            "quoted": (1, f"{why}\n{said}" if str(said) != line else why),
            "no variables": (1, f"{why}\n{json.dumps({'final_output': said['final_output']})}"),
            "no output": (1, f"{why}\n{json.dumps({'variables': said['variables']})}"),
            "in a list": (1, f"{why}\n[{line}]"),
            "a number": (1, f"{why}\n{len(why)}"),
            "cut": (1, f"{why}\n{line[: len(line) // 2]}"),
            "empty": (1, ""),
        }  # fmt: skip
        form, response = drawn(rng, forms)
        return Row(f"{kind}, {form}", response, reference)

    return make


def _said(
    rng: random.Random,
    kind: str,
    reference: Mapping[str, Any],
    output: tuple[Any, Any, Any],
    variables: Mapping[str, tuple[Any, Any, Any]],
) -> dict[str, Any]:
    """Returns a prediction of a kind."""
    if kind == "large":
        return {"final_output": f"{int(reference['final_output']) + 1}", "variables": reference["variables"]}
    if kind == "list":
        return {"final_output": output[0], "variables": ["x"]}
    if kind == "nothing":
        return {"final_output": "", "variables": {}}
    place = {"right": (0,), "spelled": (0, 1), "some": (0, 1, 2), "wrong": (2,)}.get(kind, (0, 1))
    said = {name: each[rng.choice(place)] for name, each in variables.items()}
    if kind == "missing" and said:
        del said[next(iter(said))]
    if kind == "more":
        said["other"] = 7
    return {"final_output": output[rng.choice(place)], "variables": said}
