"""One published script's verdicts on pairs of queries; run by `sql_peers` with an interpreter that can import it.

    PYTHON benchmarks/sql_peer.py spider|spider-distinct|bird CHECKOUT PAIRS

PAIRS is a JSON list of `[reference, answer, database file]`. The verdicts go to stdout as a JSON list: true, false, or
null if the script itself failed or did not end. Each pair is judged in a separate process, which is killed after ten
seconds, because Spider's script cannot stop a running query. Needs none of our code.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
from collections.abc import Callable
from typing import Any

_KILL_S = 10.0
_BIRD_S = 5.0
"""BIRD's own limit; its default is 30."""

Judge = Callable[[str, str, str], bool]


def spider(checkout: str, *, keep_distinct: bool) -> Judge:
    """Runs Spider's test-suite script, `exec_eval.eval_exec_match`, for a model that also predicts values."""
    sys.path.insert(0, checkout)
    from exec_eval import eval_exec_match  # type: ignore[import-not-found]

    def judge(reference: str, answer: str, file: str) -> bool:
        return bool(eval_exec_match(file, answer, reference, False, keep_distinct, False))

    return judge


def bird(checkout: str) -> Judge:
    """Runs BIRD's mini-dev script, `evaluation_ex.execute_model`."""
    sys.path.insert(0, f"{checkout}/evaluation")
    from evaluation_ex import execute_model  # type: ignore[import-not-found]

    def judge(reference: str, answer: str, file: str) -> bool:
        return bool(execute_model(answer, reference, file, 0, _BIRD_S, "SQLite")["res"])

    return judge


def _judged(judge: Judge, pair: tuple[str, str, str], said: Any) -> None:
    said.send(judge(*pair))


def main() -> None:
    """Prints the verdicts."""
    name, checkout, path = sys.argv[1:]
    judge = bird(checkout) if name == "bird" else spider(checkout, keep_distinct=name == "spider-distinct")
    context = multiprocessing.get_context("fork")
    verdicts: list[bool | None] = []
    with open(path, encoding="utf-8") as file:
        pairs = json.load(file)
    for pair in pairs:
        ours, theirs = context.Pipe(duplex=False)
        child = context.Process(target=_judged, args=(judge, pair, theirs))
        child.start()
        theirs.close()
        try:
            verdicts.append(ours.recv() if ours.poll(_KILL_S) else None)
        except EOFError:
            verdicts.append(None)
        child.kill()
        child.join()
    sys.stdout.write(json.dumps(verdicts))


if __name__ == "__main__":
    main()
