"""A benchmark's official verdicts on pairs; run by `preset_peers` with an interpreter that has what the grader imports.

    PYTHON benchmarks/preset_peer.py squad|math_verify PLACE PAIRS

PLACE is the script or package of the grader. PAIRS is a JSON list of `[reference, response, parameters]`; the verdicts
go to stdout as a JSON list of scores, or null where the grader itself fails. Needs nothing of ours.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable
from typing import Any

Judge = Callable[[Any, str, dict[str, Any]], float]


def squad(place: str) -> Judge:
    """SQuAD's `evaluate-v2.0.py`: exact match, or F1 where the mode is `f1`."""
    spec = importlib.util.spec_from_file_location("squad_script", place)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)

    def judge(reference: Any, response: str, params: dict[str, Any]) -> float:
        texts = [reference] if isinstance(reference, str) else reference
        question = {"id": "0", "answers": [{"text": text} for text in texts]}
        exact, f1 = script.get_raw_scores([{"paragraphs": [{"qas": [question]}]}], {"0": response})
        return float((f1 if params.get("mode") == "f1" else exact)["0"])

    return judge


def math_verify(_: str) -> Judge:
    """Math-Verify as its README calls it."""
    from math_verify import parse, verify

    def judge(reference: Any, response: str, _: dict[str, Any]) -> float:
        gold = parse(reference)
        if not gold:  # as its `math_metric` has it
            raise ValueError("no gold targets found")
        return float(verify(gold, parse(response)))

    return judge


JUDGES = {"squad": squad, "math_verify": math_verify}


def main() -> None:
    """See the module."""
    name, place, path = sys.argv[1:]
    judge = JUDGES[name](place)
    verdicts: list[float | None] = []
    with open(path, encoding="utf-8") as file:
        pairs = json.load(file)
    for reference, response, params in pairs:
        try:
            verdicts.append(judge(reference, response, params))
        except Exception:  # noqa: BLE001 - whatever their code raises is no verdict
            verdicts.append(None)
    sys.stdout.write("\n" + json.dumps(verdicts))


if __name__ == "__main__":
    main()
