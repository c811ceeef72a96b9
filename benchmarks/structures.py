"""`json` and `tool_calls`: verdicts per second in one process, next to the limit that their libraries set.

Load: 2,000 responses for 50 references each, seeded: right ones, wrong ones, malformed ones and ones without an answer,
as models write them. The baseline of `json` is jsonschema-rs on the output of the standard library's parser; that of
`tool_calls` is the standard library's parser on the same calls.
"""

from __future__ import annotations

import ast
import json
import random
import time
from collections.abc import Callable, Sequence
from typing import Any

import jsonschema_rs

from benchmarks.report import Report
from rewarden.types import Outcome
from rewarden_verifiers.structure.json.comparing import Field
from rewarden_verifiers.structure.json.reading import JsonParams
from rewarden_verifiers.structure.json.verifier import json as json_verifier
from rewarden_verifiers.tools.tool_calls.verifier import ToolCallsParams, prepare, tool_calls

REFERENCES = 50
SIBLINGS = 40
ROUNDS = 5

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1},
        "age": {"type": "integer", "minimum": 0},
        "tags": {"type": "array", "items": {"type": "string"}},
        "address": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "zip": {"type": "string", "pattern": "^\\d{5}$"}},
            "required": ["city"],
        },
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}


def records(seed: int = 3) -> list[tuple[dict[str, Any], str]]:
    """Returns references with a response each."""
    rng = random.Random(seed)
    made: list[tuple[dict[str, Any], str]] = []
    for _ in range(REFERENCES):
        gold = {
            "name": f"Person {rng.randint(1, 999)}",
            "age": rng.randint(18, 99),
            "tags": rng.sample(["red", "green", "blue", "loud", "quiet"], 3),
            "address": {"city": rng.choice(["Oslo", "Lisbon", "Lyon"]), "zip": f"{rng.randint(10000, 99999)}"},
        }
        for _ in range(SIBLINGS):
            value, kind = dict(gold), rng.random()
            if kind > 0.6:
                value["age"] = gold["age"] + rng.choice([-1, 1, 10])
            if kind > 0.9:
                value["note"] = "as asked"
            text = json.dumps(value)
            if kind > 0.95:
                text = text[:-9]
            made.append((gold, text if rng.random() < 0.5 else f"Here is the record:\n```json\n{text}\n```"))
    return made


def calls(seed: int = 4) -> list[tuple[list[dict[str, Any]], str]]:
    """Returns references with a response each, in every shape."""
    rng = random.Random(seed)
    made: list[tuple[list[dict[str, Any]], str]] = []
    for _ in range(REFERENCES):
        gold = [
            {"name": "get_weather", "arguments": {"city": rng.choice(["Oslo", "Lyon"]), "days": rng.randint(1, 9)}},
            {"name": "search", "arguments": {"query": f"ferries {rng.randint(1, 99)}", "lang": ["no", "en"]}},
        ][: rng.randint(1, 2)]
        for _ in range(SIBLINGS):
            value = [dict(call) for call in gold]
            if rng.random() > 0.6:
                value[0]["arguments"] = {**value[0]["arguments"], rng.choice(["days", "query", "x"]): rng.randint(1, 9)}
            kind = rng.random()
            if kind < 0.4:
                text = "\n".join(f"<tool_call>\n{json.dumps(call)}\n</tool_call>" for call in value)
            elif kind < 0.7:
                text = json.dumps(value)
            elif kind < 0.95:
                text = "[" + ", ".join(_python(call) for call in value) + "]"
            else:
                text = "I would rather not call anything here."
            made.append((gold, text))
    return made


def _python(call: dict[str, Any]) -> str:
    return f"{call['name']}({', '.join(f'{name}={value!r}' for name, value in call['arguments'].items())})"


def _seconds(work: Callable[[], object]) -> float:
    """Returns the CPU seconds of the fastest of several rounds."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def _judge(load: Sequence[tuple[Any, str]], verdict: Callable[[Any, str], Outcome]) -> float:
    return len(load) / _seconds(lambda: [verdict(gold, text) for gold, text in load])


def run() -> list[str]:
    """Runs and reports; returns the broken promises."""
    report = Report("json and tool_calls: 2,000 responses each, one process, CPU time")
    load = records()
    validator = jsonschema_rs.validator_for(SCHEMA)
    bare = [json.dumps(gold) for gold, _ in load]
    bound = len(bare) / _seconds(lambda: [validator.is_valid(json.loads(text)) for text in bare])
    report.figure("jsonschema-rs on json.loads, bare texts", bound, "/s")
    for title, params in (
        ("json: schema and exact content", JsonParams(schema=SCHEMA)),
        ("json: F-beta", JsonParams(content="f_beta")),
        (
            "json: schema, F-beta, unordered, normal text",
            JsonParams(schema=SCHEMA, content="f_beta", lists="multiset", text="normal"),
        ),
        (
            "json: with rules by path",
            JsonParams(content="f_beta", fields=(Field(path="age", weight=2), Field(path="**.zip", ignore=True))),
        ),
    ):
        speed = _judge(load, lambda gold, text, params=params: json_verifier(text, params, gold))  # type: ignore[misc]
        report.figure(title, speed, "/s", least=20_000)
        report.figure("   share of the library's own speed", speed / bound)
    spoken = calls()
    plain = [(json.dumps(gold), "[" + ", ".join(map(_python, gold)) + "]") for gold, _ in spoken]
    for title, work in (
        ("json.loads, the calls as JSON", lambda: [json.loads(text) for text, _ in plain]),
        ("ast.parse, the calls as Python", lambda: [ast.parse(text) for _, text in plain]),
    ):
        report.figure(title, len(plain) / _seconds(work), "/s")
    for title, own in (
        ("tool_calls: all or nothing", ToolCallsParams()),
        ("tool_calls: by level", ToolCallsParams(credit="levels")),
    ):
        goldens = {json.dumps(gold): prepare(gold, own) for gold, _ in spoken}
        keyed = [(goldens[json.dumps(gold)], text) for gold, text in spoken]
        speed = _judge(keyed, lambda gold, text, own=own: tool_calls(text, gold, own))  # type: ignore[misc]
        report.figure(title, speed, "/s", least=10_000)
    return report.broken


if __name__ == "__main__":
    run()
