"""The table of graders in docs/extraction.md: each setting reads what the grader reads, and nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from rewarden.types import Sample, Use
from rewarden.wire.json import use_from_json
from rewarden_server.engine.plan import Planner
from rewarden_verifiers.registry import Registry
from tests.verifiers.direct import outcome_of

PAGE = (Path(__file__).parents[2] / "docs/extraction.md").read_text(encoding="utf-8")
ROWS = re.findall(
    r"^\| ((?:verl|the same|TRL|OpenRLHF|NeMo|open-instruct|lm-eval)[^|]*) \| [^|]* \| `(\{.*\})` \|$", PAGE, re.M
)
USES: dict[str, Any] = {name: json.loads(use.replace("\\|", "|")) for name, use in ROWS}
PLANNER = Planner(Registry())

BOX, HASH, LINE, PHRASE = "So \\boxed{72}.", "36+36\n#### 72", "36+36\nAnswer: 72", "The final answer is $72$."
LAST, SPAN, TAG = "First 36, and 36 more: 72", "Adding both, we get $72$.", "<answer>72</answer>"
MINERVA = "Final Answer: The final answer is $72$. I hope it is correct."

READ: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "verl `gsm8k`, lm-eval `gsm8k` (strict-match)": ((HASH,), (BOX, LINE, PHRASE, LAST)),
    "verl `gsm8k` (flexible)": ((HASH, BOX, LINE, LAST, "72"), ("seventy-two",)),
    "verl `math` (`math_reward`)": ((BOX,), (HASH, LINE, PHRASE, LAST)),
    "verl `math_dapo`": ((LINE, "Answer: 7\nanswer : 72\n"), (BOX, HASH, LAST)),
    "verl `prime_math`": ((BOX, LINE, PHRASE, "The answer is 72."), (LAST, SPAN)),
    "verl `math_verify`, NeMo-RL": ((BOX, PHRASE, LAST, SPAN, HASH), ("none of them",)),
    "the same": ((BOX, PHRASE, SPAN, LAST), ("none of them",)),
    "verl `search_r1_like_qa_em`": ((TAG, "<answer>7</answer> no, <answer>The 72.</answer>"), (BOX, HASH, LAST)),
    "TRL `accuracy_reward`": ((BOX, PHRASE), (HASH, LAST, SPAN)),
    "OpenRLHF": ((LINE, BOX, "\\boxed{7}\nAnswer: 72"), (HASH, LAST, SPAN)),
    "NeMo Gym": ((BOX, PHRASE, LAST), ("none of them",)),
    "open-instruct `math`": ((BOX, MINERVA, SPAN), (HASH, "no")),
    "open-instruct `strict_math`": ((MINERVA, PHRASE), (BOX, HASH, LAST, SPAN)),
    "lm-eval `hendrycks_math`": ((BOX, SPAN), (HASH, LAST)),
    "NeMo-RL `english_multichoice`": (("Answer: B", "Respuesta: B", "The answer is (B)."), ("B", "I like (B)")),
    "lm-eval `mmlu_flan_cot_*` (flexible": (("First (A), but (B) fits.", "The answer is (B)."), ("Answer: B", "B")),
}
"""Responses that a grader reads and pays, and right ones that it does not read, by the beginning of its row."""


def test_every_row_of_the_table_has_its_examples() -> None:
    assert [[name for name in USES if name.startswith(begin)] for begin in READ] == [[name] for name in USES]


@pytest.mark.parametrize("begin", READ)
async def test_a_setting_reads_what_its_grader_reads(begin: str) -> None:
    (use,) = (use_from_json(use) for name, use in USES.items() if name.startswith(begin))
    PLANNER.bind(use)  # as it stands; a judge is asked of nothing here
    use = Use(name=use.name, params={name: value for name, value in use.params.items() if "fallback" not in name})
    reference = "B" if use.name == "choice" else "72"
    wrong = "C" if use.name == "choice" else "73"
    read, unread = READ[begin]
    for response in read:
        paid = await outcome_of(PLANNER, use, Sample(response=response, reference=reference))
        assert paid.passed, (response, paid)
        other = await outcome_of(PLANNER, use, Sample(response=response, reference=wrong))
        assert other.passed is False, (response, other)
    for response in unread:
        outcome = await outcome_of(PLANNER, use, Sample(response=response, reference=reference))
        assert outcome.passed is False, (response, outcome)
