"""EasyR1: the file that `worker.reward.reward_function` names. It judges whole batches.

    worker.reward.reward_function=$(python -m rewarden.adapters easyr1):compute_score
    worker.reward.reward_function_kwargs.use=math
    worker.reward.reward_function_kwargs.target=http://127.0.0.1:8080

EasyR1 passes only the response, its length and the column `answer_key`. If more is needed (a data source for routing, a
group), that column contains a JSON object with `reference` and any of `data_source`, `prompt`, `metadata`, `group` and
`id`: `{"reference": "72", "data_source": "openai/gsm8k"}`.

**No score**: EasyR1's rewards are numbers, so the call retries transient errors for `patience_s` and then raises
`NoScore`, which stops training; `unscored=NUMBER` returns a number instead. An excluded sample keeps its score.
**Groups**: the samples of a batch with the same `group` are judged as one group.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rewarden.adapters.example import label_of
from rewarden.adapters.rows import plain, tell_passed, text_of, texts
from rewarden.adapters.scoring import Scorer, number_of, scorer
from rewarden.adapters.settings import Settings
from rewarden.types import Sample, Verdict

REWARD_NAME = "rewarden"
REWARD_TYPE = "batch"

KEYS = ("overall", "format", "accuracy", "unscored", "truncated")
"""The metrics reported for every sample; EasyR1 averages each of them, so all are floats."""

_COLUMNS = ("reference", "group", "id", "metadata")
"""Settings that name columns, which EasyR1 does not pass."""

_FOLDED = frozenset(("reference", "data_source", "prompt", "metadata", "group", "id"))


def compute_score(
    reward_inputs: Sequence[Mapping[str, Any]], max_response_length: int | None = None, **settings: Any
) -> list[dict[str, float]]:
    """Returns the scores of a batch, in order, by `KEYS`: `format` is 0 if no answer was found, `accuracy` is `passed`.

    `max_response_length`: the value of `data.max_response_length`, in tokens, to recognize truncated responses.
    Raises NoScore for the first sample without a score, and RequestError.
    """
    found: Scorer = scorer(**settings)
    found.settings.refuse(*_COLUMNS, why="EasyR1 passes only answer_key; put the other fields into it, as JSON")
    samples = [_sample(row, max_response_length, found.settings) for row in reward_inputs]
    return [scores_of(verdict, found.settings) for verdict in found.score(samples)]


def scores_of(verdict: Verdict, settings: Settings) -> dict[str, float]:
    """Returns a verdict by `KEYS`. If the verifier sets no `passed`, `accuracy` is the score. Raises NoScore."""
    score = float(number_of(verdict, settings))
    scored = verdict.status == "scored"
    return {
        "overall": score,
        "format": float(scored and "no_answer" not in verdict.flags),
        "accuracy": float(verdict.passed) if scored and verdict.passed is not None else score,
        "unscored": float(not scored),
        "truncated": float("truncated" in verdict.flags),
    }


def row_sample(row: Mapping[str, Any], response: str, settings: Settings) -> Sample:
    """Returns the sample of a row of a data set; `data.answer_key` names the label. See `rewarden.adapters.example`."""
    length = len(response.split())
    return _sample(
        {"response": response, "response_length": length, "ground_truth": label_of(row, settings)}, None, settings
    )


def _sample(row: Mapping[str, Any], longest: int | None, settings: Settings) -> Sample:
    length = int(row["response_length"])
    fields = _unfold(row["ground_truth"])
    tell_passed("answer_key", fields.get("reference"), settings, "EasyR1")
    return Sample(
        response=text_of(row["response"]),
        token_count=length,
        finish_reason=None if longest is None else "length" if length >= longest else "stop",
        **fields,
    )


def _unfold(truth: Any) -> dict[str, Any]:
    """Returns the fields in `ground_truth`: an object counts only if it has `reference` and no unknown keys."""
    try:
        value = json.loads(truth) if isinstance(truth, str) and truth.lstrip().startswith("{") else truth
    except ValueError:
        value = truth
    if isinstance(value, Mapping) and "reference" in value and _FOLDED.issuperset(value):
        return texts({name: plain(item) for name, item in value.items() if item is not None})
    return {"reference": plain(truth)}
