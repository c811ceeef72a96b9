"""An environment of verifiers up to 0.3 (0.3.1) whose rubric is Rewarden's."""

from __future__ import annotations

from datasets import Dataset

import verifiers as vf
from rewarden.adapters.verifiers import rubric


def load_environment() -> vf.Environment:
    """Returns what `vf-eval` and prime-rl call."""
    rows = [{"question": "What is 6 times 7? Put the answer into \\boxed{}.", "answer": "42"}]
    return vf.SingleTurnEnv(dataset=Dataset.from_list(rows), rubric=rubric("math"))
