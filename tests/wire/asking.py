"""Tells as JSON what a client hears of a server: run with the client package of any release on the path.

    python asking.py ADDRESS...

It uses what every release has, and imports nothing of ours but the client.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

import rewarden
from rewarden import Client
from rewarden.errors import RequestError
from rewarden.retry import Retry
from rewarden.types import Progress, Sample, Step, Use

RECIPE = {
    "uses": {"answer": "same", "again": "worked"},
    "score": "0.25 * answer.score + 0.25 * again.score",
    "inputs": ["reference"],
}
SAMPLES = [
    Sample(response="4", reference="4", id="right", group="g", metadata={"n": 2**53 + 1}),
    Sample(response="é\u2028😀", reference="4", id="wrong", group="g", data_source="d"),
    Sample(response=[{"role": "assistant", "content": "4"}], reference="4", prompt="?", steps=(Step(start=0, end=1),)),
    Sample(response="4", reference=4, id="no text"),
    Sample(response="4", reference="4", use=Use(name="worked"), finish_reason="length", token_count=1),
    Sample(response="A", reference="a", use=Use(name="same", params={"matters": False})),
    Sample(response="So it is \\boxed{4}.", reference_key="answer", use=Use(name="math")),
    Sample(response="4", reference="4", use=Use(name="nobody")),
    Sample(response="4", reference="4", use=Use(recipe=RECIPE)),
]
SHARED = {"answer": "4"}
TIMES = ("queue_s", "run_s", "cached")
"""The fields that differ from one call to the next."""


def heard(call: Callable[[], Any]) -> Any:
    """Returns what a call returns, or the error that it raises, as JSON values."""
    try:
        return plain(call())
    except RequestError as error:
        return {"refused": type(error).__name__, "message": error.message, "details": dict(error.details)}


def plain(value: Any) -> Any:
    """A value of the client's as JSON values, without what differs from one call to the next."""
    if is_dataclass(value):
        value = {each.name: getattr(value, each.name) for each in fields(value) if each.name not in TIMES}
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def conversation(target: str) -> dict[str, Any]:
    """Everything that a client asks of one address."""
    # What is refused for the moment is refused for good here: nothing is asked again.
    with Client(target, retry=Retry(patience_s=0.0)) as client:
        return {
            "batch": heard(lambda: client.verify(SAMPLES, use="same", shared=SHARED, progress=Progress(step=3))),
            "fields": heard(lambda: client.verify(SAMPLES[:2], use="same", fields=("score",))),
            "stream": heard(lambda: sorted(plain(list(client.stream(SAMPLES[:3], use="same"))), key=json.dumps)),
            "one": heard(lambda: client.verify_one("4", "4", use="same")),
            "moved": heard(lambda: client.verify(SAMPLES[:1], use="same", expect={"same": "same@0"})),
            "no such use": heard(lambda: client.verify(SAMPLES[:1], use=Use(name="nobody"))),
            "no program": heard(lambda: client.run("print(1)")),
            "verifiers": heard(lambda: sorted(entry["name"] for entry in client.verifiers())),
            "verifier": heard(lambda: client.verifiers("same")[0]["name"]),
            "info": heard(lambda: isinstance(client.info(), dict)),
        }


if __name__ == "__main__":
    json.dump(
        {"client": rewarden.__file__, "heard": {target: conversation(target) for target in sys.argv[1:]}}, sys.stdout
    )
