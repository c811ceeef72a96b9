"""A benchmark's official verdicts on pairs; run by `preset_peers` with an interpreter that can import the grader.

    PYTHON benchmarks/preset_peer.py squad|math_verify|bfcl|chembench|spider|bird PLACE PAIRS

PLACE is the script or package of the grader. PAIRS is a JSON list of `[reference, response, parameters]`. The verdicts
go to stdout as a JSON list of scores, with null if the grader itself fails. Needs none of our code.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import re
import sqlite3
import string
import sys
import tempfile
from collections.abc import Callable
from typing import Any
from unittest import mock

Judge = Callable[[Any, str, dict[str, Any]], float]


def squad(place: str) -> Judge:
    """Runs SQuAD's `evaluate-v2.0.py`: exact match, or F1 in the mode `f1`."""
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
    """Runs Math-Verify as its README calls it."""
    from math_verify import parse, verify

    def judge(reference: Any, response: str, _: dict[str, Any]) -> float:
        gold = parse(reference)
        if not gold:  # as in its `math_metric`
            raise ValueError("no gold targets found")
        return float(verify(gold, parse(response)))

    return judge


def bfcl(_: str) -> Judge:
    """Runs `bfcl_eval`: the decoder for prompted models, and the checker of calls for Python."""
    # Its table of models imports the packages of all providers, and its parsers those of other languages.
    for name in (
        "bfcl_eval.constants.model_config",
        "bfcl_eval.model_handler.parser.java_parser",
        "bfcl_eval.model_handler.parser.js_parser",
    ):
        sys.modules[name] = mock.MagicMock()
    models: Any = sys.modules["bfcl_eval.constants.model_config"]
    models.MODEL_CONFIG_MAPPING = {"any": mock.Mock(underscore_to_dot=False)}
    from bfcl_eval.constants.enums import Language  # type: ignore[import-not-found]
    from bfcl_eval.eval_checker.ast_eval.ast_checker import ast_checker  # type: ignore[import-not-found]
    from bfcl_eval.model_handler.utils import default_decode_ast_prompting  # type: ignore[import-not-found]
    from bfcl_eval.utils import is_empty_output  # type: ignore[import-not-found]

    def judge(reference: Any, response: str, _: dict[str, Any]) -> float:
        calls = reference["calls"]
        try:
            found = default_decode_ast_prompting(response)
        except Exception:  # noqa: BLE001 - as its runner does
            return float(not calls)
        if not calls:
            return float(is_empty_output(found))
        kind = "parallel" if len(calls) > 1 else "multiple" if len(reference["tools"]) > 1 else "simple"
        return float(ast_checker(reference["tools"], found, calls, Language.PYTHON, kind, "any")["valid"])

    return judge


def chembench(_: str) -> Judge:
    """Runs `chembench`: the parser of marked letters and the score of a question with options."""
    while True:  # its imports for models and data sets are not needed
        try:
            from chembench.constant import MCQ_REGEX_TEMPLATE_1  # type: ignore[import-not-found]
            from chembench.metrics import classification_scores  # type: ignore[import-not-found]
            from chembench.prompter import prepare_mcq_answer  # type: ignore[import-not-found]
            from chembench.utils import create_multiple_choice_regex, run_regex  # type: ignore[import-not-found]

            break
        except ModuleNotFoundError as missing:
            sys.modules[str(missing.name)] = mock.MagicMock()

    def judge(reference: Any, response: str, _: dict[str, Any]) -> float:
        if not re.search(MCQ_REGEX_TEMPLATE_1, response, re.DOTALL):
            raise ValueError("it asks a model")
        letters = string.ascii_uppercase[: len(reference["options"])]
        scores = {letter: int(letter in reference["answers"]) for letter in letters}
        prepared = prepare_mcq_answer(response, MCQ_REGEX_TEMPLATE_1)
        found = run_regex(create_multiple_choice_regex(list(scores)), prepared, return_first=False)
        return float(classification_scores(scores, found or [])["hamming"] == 0)

    return judge


def execution(name: str) -> Callable[[str], Judge]:
    """Runs the script of Spider or BIRD, on a separate database for each pair."""

    def of(place: str) -> Judge:
        import sql_peer  # type: ignore[import-not-found]  # beside this file, where the interpreter starts

        ask = sql_peer.bird(place) if name == "bird" else sql_peer.spider(place, keep_distinct=False)

        def judge(reference: Any, response: str, _: dict[str, Any]) -> float:
            with tempfile.TemporaryDirectory() as folder:
                file = f"{folder}/pair.sqlite"
                with contextlib.closing(sqlite3.connect(file)) as connection:
                    connection.executescript(reference["database"]["script"])
                    if name == "bird":  # which rejects every answer if the reference does not run
                        connection.execute(reference["sql"])
                return float(ask(reference["sql"], response, file))

        return judge

    return of


JUDGES = {
    "squad": squad,
    "math_verify": math_verify,
    "bfcl": bfcl,
    "chembench": chembench,
    "spider": execution("spider"),
    "bird": execution("bird"),
}


def main() -> None:
    """Prints the verdicts."""
    name, place, path = sys.argv[1:]
    judge = JUDGES[name](place)
    verdicts: list[float | None] = []
    with open(path, encoding="utf-8") as file:
        pairs = json.load(file)
    for reference, response, params in pairs:
        try:
            verdicts.append(judge(reference, response, params))
        except Exception:  # noqa: BLE001 - any exception in their code means no verdict
            verdicts.append(None)
    sys.stdout.write("\n" + json.dumps(verdicts))


if __name__ == "__main__":
    main()
