"""slime: a custom reward model for single samples and for groups.

    export REWARDEN_TARGET=http://127.0.0.1:8080 REWARDEN_USE=math
    python train.py … --custom-rm-path rewarden.adapters.slime.custom_rm \\
        --custom-reward-post-process-path rewarden.adapters.slime.post_process

**No score**: transient errors are retried for `patience_s`; then the sample is removed from the loss
(`Sample.remove_sample`). slime still counts its reward, which must be a number, in the mean and deviation of its group;
`post_process` excludes it there too. Without `post_process`, if slime normalises rewards, `NoScore` is raised and stops
the rollout. In evaluation no sample can be dropped, so `NoScore` is raised as well. `unscored=NUMBER` returns a number
instead. Samples that a recipe excludes are removed, too. **Groups**: with `--group-rm`, a group is judged as a whole;
without it, each sample is judged separately as soon as it ends.

Settings can also be given as a mapping `rewarden:` in the file of `--custom-config-path`. The verdict of each sample is
in its metadata, under `rewarden`. Checked against slime at 624b824 (2026-08; slime/rollout, slime/ray/rollout.py).
"""

from __future__ import annotations

import logging
import statistics
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from rewarden.adapters.example import label_of, prompt_of, text_of_prompt, unnamed
from rewarden.adapters.rows import label_fields, sample_of, tell_passed
from rewarden.adapters.scoring import NoScore, Scorer, number_of, scorer
from rewarden.adapters.settings import Settings
from rewarden.errors import InvalidRequest
from rewarden.types import Sample, Verdict

_log = logging.getLogger("rewarden.adapters")

_FINISH = {"completed": "stop", "truncated": "length", "aborted": "abort", "failed": "abort"}
_GROUP_NORMS = ("grpo", "gspo", "cispo", "reinforce_plus_plus_baseline")
_STD_NORMS = ("grpo", "gspo", "cispo")
_EPSILON = 1e-6
_REMOVED = 0.0
"""The reward of a removed sample: slime needs a number for its tensor, and `post_process` ignores it."""


async def custom_rm(args: Any, sample: Any, **kwargs: Any) -> Any:
    """Returns the reward of a `slime.utils.types.Sample`, or a list for a list, judged as a group under `--group-rm`.

    A reward is a number, or, with `--reward-key`, an object with the `score` and all named components.
    Raises NoScore, RequestError.
    """
    scorer = scorer_of(args)
    settings = scorer.settings
    if not isinstance(sample, list):
        return _take(args, sample, await scorer.verdict(_sample(sample, settings)), settings)
    group = {}
    if args.group_rm and sample:
        group = {"group": str(sample[0].group_index), "group_size": len(sample)}
    verdicts = await scorer.verdicts([_sample(each, settings, **group) for each in sample])
    return [_take(args, each, verdict, settings) for each, verdict in zip(sample, verdicts, strict=True)]


def post_process(args: Any, samples: Sequence[Any]) -> tuple[list[float], list[float]]:
    """Returns the raw rewards, and the rewards that slime trains on: normalised as slime does, within each group.

    Samples that this adapter removed do not count in mean and deviation, and get 0.0. Groups are identified by
    `Sample.group_index`, so they can differ in size. A group with a single counting sample gets 0.0.
    """
    raw = [sample.get_reward_value(args) for sample in samples]
    if args.advantage_estimator not in _GROUP_NORMS or not args.rewards_normalization:
        return raw, list(raw)
    counting: dict[Any, list[float]] = {}
    for sample, value in zip(samples, raw, strict=True):
        if not _is_out(sample):
            counting.setdefault(sample.group_index, []).append(value)
    by_std = args.advantage_estimator in _STD_NORMS and args.grpo_std_normalization
    normal = []
    for sample, value in zip(samples, raw, strict=True):
        siblings = counting.get(sample.group_index, [])
        if _is_out(sample) or len(siblings) < 2:
            normal.append(0.0)
            continue
        difference = value - statistics.fmean(siblings)
        normal.append(difference / (statistics.stdev(siblings) + _EPSILON) if by_std else difference)
    return raw, normal


def scorer_of(args: Any) -> Scorer:
    """Returns the scorer for slime's arguments: their `rewarden`, then the environment. Raises InvalidRequest.

    slime has no name for a run but the one it gives to W&B.
    """
    return scorer(getattr(args, "wandb_group", None), **(getattr(args, "rewarden", None) or {}))


def row_sample(row: Mapping[str, Any], response: str, settings: Settings) -> Sample:
    """Returns the sample of a row of a data set: slime passes its label, and its column `metadata`
    (`--metadata-key`). See `rewarden.adapters.example`."""
    made = SimpleNamespace(
        response=response,
        prompt=text_of_prompt(prompt_of(row)),
        label=label_of(row, settings),
        metadata=row.get("metadata"),
        index=None,
        status=SimpleNamespace(value="completed"),
        response_length=None,
    )
    return _sample(made, unnamed(settings))


def _sample(sample: Any, settings: Settings, **fields: Any) -> Sample:
    columns = sample.metadata if isinstance(sample.metadata, dict) else {}
    if settings.reference is None:
        fields.update(label_fields(sample.label))
        if fields["reference"] is None:
            del fields["reference"]
        else:
            tell_passed("label", fields["reference"], settings, "slime")
    else:
        columns = {"label": sample.label, **columns}
    return sample_of(
        sample.response,
        columns,
        settings,
        prompt=sample.prompt or None,
        id=None if sample.index is None else str(sample.index),
        finish_reason=_FINISH.get(sample.status.value),
        token_count=sample.response_length or None,
        **fields,
    )


def _take(args: Any, sample: Any, verdict: Verdict, settings: Settings) -> Any:
    """Returns the reward that slime gets for a verdict, and marks samples that are unscored or excluded."""
    trains = args.group_rm or sample.group_index is not None  # samples of an evaluation are in no group
    key = args.reward_key if trains else args.eval_reward_key or args.reward_key
    value = _value(verdict, key)
    number = value
    if value is None:
        if settings.unscored is not None or not trains or not _can_leave_out(args):
            number = number_of(verdict, settings)
        else:
            number = _REMOVED
            _log.warning(
                "a sample is removed from training: it has no score (%s, fault %s)", verdict.reason, verdict.fault
            )
    out = trains and (verdict.exclude or (value is None and settings.unscored is None))
    if out:
        sample.remove_sample = True
    if not isinstance(sample.metadata, dict):
        sample.metadata = {}
    sample.metadata["rewarden"] = {
        "status": verdict.status,
        "score": verdict.score,
        "passed": verdict.passed,
        "reason": verdict.reason,
        "fault": verdict.fault,
        "out": out,
    }
    if key is None:
        return number
    scores = {name: component.score for name, component in verdict.components.items()}
    return {**scores, "score": verdict.score, key: number}


def _value(verdict: Verdict, key: str | None) -> float | None:
    """Returns the number that slime will use, or None if there is none. Raises InvalidRequest."""
    if verdict.status != "scored" or key is None or key == "score":
        return verdict.score
    if key not in verdict.components:
        names = ", ".join(("score", *verdict.components))
        raise InvalidRequest(f"--reward-key: the verdict has no {key!r}; it has {names}")
    return verdict.components[key].score


def _can_leave_out(args: Any) -> bool:
    """Returns whether a sample that is removed from the loss does not affect its siblings either."""
    if getattr(args, "custom_reward_post_process_path", None) is not None:
        return True
    return args.advantage_estimator not in _GROUP_NORMS or not args.rewards_normalization


def _is_out(sample: Any) -> bool:
    told = sample.metadata.get("rewarden") if isinstance(sample.metadata, dict) else None
    return bool(told and told["out"])


__all__ = ["NoScore", "custom_rm", "post_process", "scorer_of"]
