"""verl: `compute_score` for its custom reward function; `rewarden.adapters.verl_manager` is its reward manager.

    reward.custom_reward_function.path=pkg://rewarden.adapters.verl
    reward.custom_reward_function.name=acompute_score
    +reward.custom_reward_function.reward_kwargs.use=math

`acompute_score` is async and called once per sample, `compute_score` is its blocking form, and `compute_score_batch` is
for the batch manager of older versions. `reward_kwargs` are the settings of `rewarden.adapters.Settings`.

**No score**: verl's rewards are numbers, so the call retries transient errors for `patience_s` and then raises
`NoScore`. verl's default trainer (`trainer.use_v1`) then drops the sample; the old trainer stops. The managers
`rate_limited` and `prime` turn the error into 0.0, so do not use them. `unscored=NUMBER` returns a number instead.
**Groups**: verl passes one rollout at a time; only the reward manager can judge groups.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Union

from rewarden.adapters.rows import plain, sample_of, step_of, tell_passed
from rewarden.adapters.scoring import number_of, scorer
from rewarden.adapters.settings import Settings
from rewarden.errors import InvalidRequest
from rewarden.types import Progress, Sample, Verdict

Scores = dict[str, Union[float, str]]

KEYS = ("score", "acc", "unscored", "excluded", "truncated", "no_answer", "pred", "reason", "fault")
"""The values reported for every sample, because verl takes the names from the first sample of a batch and looks them up
in all others. The last three are strings, which verl's validation does not average (it votes by `pred`); the others are
floats, which it averages."""

_LONGEST = 64 * 1024
"""Characters of JSON: longer entries of `extra_info` (images, whole tables) are not sent as metadata."""

_PRED_LENGTH = 1000

_ROLLOUTS = frozenset(
    {
        *("num_turns", "rollout_reward_scores", "turn_scores", "tool_rewards", "raw_prompt", "experiment_name"),
        *("global_steps", "min_global_steps", "max_global_steps", "reward_extra_info"),
    }
)
"""Keys that verl's managers and agent loops write into `extra_info`. They describe the rollout, not the problem."""


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | None = None,
    *,
    reward_router_address: str | None = None,
    reward_model_tokenizer: Any = None,
    **settings: Any,
) -> Scores:
    """Returns the scores of one response, by `KEYS`. Blocks; can be called from any thread.

    The two arguments about verl's reward model are ignored. Raises NoScore, RequestError.
    """
    found = scorer(**settings)
    one = _alone(sample(data_source, solution_str, ground_truth, extra_info, found.settings))
    (verdict,) = found.score([one], progress=_progress(extra_info))
    return scores_of(verdict, found.settings)


async def acompute_score(
    data_source: str,
    solution_str: str,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | None = None,
    *,
    reward_router_address: str | None = None,
    reward_model_tokenizer: Any = None,
    **settings: Any,
) -> Scores:
    """Like `compute_score`, for verl's event loop: concurrent calls share a stream, and do not wait for each other."""
    found = scorer(**settings)
    one = _alone(sample(data_source, solution_str, ground_truth, extra_info, found.settings))
    return scores_of(await found.verdict(one, progress=_progress(extra_info)), found.settings)


def compute_score_batch(
    data_sources: Sequence[str],
    solution_strs: Sequence[str],
    ground_truths: Sequence[Any],
    extra_infos: Sequence[Mapping[str, Any] | None] | None = None,
    **settings: Any,
) -> list[Scores]:
    """Returns the scores of a batch, in order, with one request. `group` can name a key of `extra_info` of siblings.

    Raises NoScore for the first sample without a score, and RequestError.
    """
    found = scorer(**settings)
    infos = [None] * len(solution_strs) if extra_infos is None else extra_infos
    rows = zip(data_sources, solution_strs, ground_truths, infos, strict=True)
    verdicts = found.score([sample(*row, found.settings) for row in rows])
    return [scores_of(verdict, found.settings) for verdict in verdicts]


def sample(
    data_source: Any,
    solution_str: str,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | None,
    settings: Settings,
    **fields: Any,
) -> Sample:
    """Returns a row of verl as a sample; `fields` are further fields of the sample. Raises InvalidRequest."""
    info = dict(extra_info or {})
    columns = {
        **info,
        "data_source": data_source,
        "ground_truth": ground_truth,
        "reward_model": {"ground_truth": ground_truth},
        "extra_info": info,
    }
    if settings.reference is None:
        fields["reference"] = plain(ground_truth)
        tell_passed("reward_model.ground_truth", fields["reference"], settings, "verl")
    if not settings.metadata:
        fields["metadata"] = _metadata(info)
    return sample_of(solution_str, columns, settings, **fields)


def row_sample(row: Mapping[str, Any], response: str, settings: Settings) -> Sample:
    """Returns the sample of a row of a data set. See `rewarden.adapters.example`.

    Raises InvalidRequest for a row without verl's columns.
    """
    model = row.get("reward_model")
    if "data_source" not in row or not isinstance(model, Mapping) or "ground_truth" not in model:
        raise InvalidRequest(
            f"verl needs the columns data_source and reward_model.ground_truth; the columns are {', '.join(row)}"
        )
    return sample(row["data_source"], response, model["ground_truth"], row.get("extra_info"), settings)


def scores_of(verdict: Verdict, settings: Settings) -> Scores:
    """Returns a verdict by `KEYS`. If the verifier sets no `passed`, `acc` is the score. Raises NoScore."""
    score = float(number_of(verdict, settings))
    passed = verdict.passed if verdict.status == "scored" else None
    values: tuple[float | str, ...] = (
        score,
        score if passed is None else float(passed),
        float(verdict.status != "scored"),
        float(verdict.exclude),
        float("truncated" in verdict.flags),
        float("no_answer" in verdict.flags),
        _pred(verdict.extracted),
        verdict.reason or "",
        verdict.fault or "",
    )
    return dict(zip(KEYS, values, strict=True))


def _alone(one: Sample) -> Sample:
    if one.group is not None:
        raise InvalidRequest("group: verl calls this function with one rollout at a time; use the reward manager")
    return one


def _progress(info: Mapping[str, Any] | None) -> Progress | None:
    """Returns the step of the weights that ended the response, which verl's rollout servers note (since 0.9)."""
    return step_of((info or {}).get("max_global_steps"))


def _metadata(info: Mapping[str, Any]) -> dict[str, Any] | None:
    values = {name: plain(value) for name, value in info.items() if name not in _ROLLOUTS and value is not None}
    kept = {name: value for name, value in values.items() if len(json.dumps(value, ensure_ascii=False)) <= _LONGEST}
    return kept or None


def _pred(extracted: Any) -> str:
    text = extracted if isinstance(extracted, str) else "" if extracted is None else json.dumps(plain(extracted))
    return text[:_PRED_LENGTH]
