"""verifiers and prime-rl: rewards for tasks (verifiers 0.4, `verifiers.v1`) and rubrics (verifiers up to 0.3).

    score = reward("math", target="http://127.0.0.1:8080")          # from rewarden.adapters.verifiers

    class MyTask(vf.Task):                                           # import verifiers.v1 as vf
        @vf.reward
        async def correct(self, task, trace): return await score(task, trace)

Without code, in the configuration: `[env.taskset.task.rewards.rewarden]` with
`fn = "rewarden.adapters.verifiers:configured"`, and settings in the environment (`REWARDEN_TARGET`, `REWARDEN_USE` …).
For verifiers up to 0.3: `rubric("math", target="http://127.0.0.1:8080")` returns a `vf.Rubric`; `reward_func` and
`group_reward_func` return its functions, to combine with others.

**No score**: an exception in a task's reward marks the trace as failed, without a reward; prime-rl drops such traces
and trains on the rest of the group. Samples that are unscored after `patience_s`, or that a recipe excludes
(`exclude`), therefore raise. In a rubric, exceptions count as 0.0 (verifiers 0.3.1, `rubric.py`). There the adapter
sets the rollout's `state["error"]`, which makes verifiers repeat it and prime-rl drop it, and returns NaN as the
reward: if the error is overlooked, the number is visibly broken instead of a false zero. `unscored=NUMBER` returns a
number instead.
**Groups**: in verifiers 0.4, a task's reward sees one trace; `group_reward_func` judges the rollouts of a group
together.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from typing import Any

from rewarden.adapters.example import prompt_of, said
from rewarden.adapters.preflight import checked
from rewarden.adapters.rows import sample_of
from rewarden.adapters.scoring import NoScore, Scorer, number_of
from rewarden.adapters.settings import Settings
from rewarden.errors import RewardenError
from rewarden.types import Sample, Verdict
from rewarden.wire.json import verdict_to_json

_log = logging.getLogger("rewarden.adapters")


class LeftOut(RewardenError):
    """A recipe excludes this rollout (`exclude`): it has a score, but must not be trained on."""


class _Reward:
    """The part that all reward functions share."""

    def __init__(self, settings: Settings) -> None:
        self._scorer = Scorer(settings)
        self.__name__ = "rewarden"


class TraceReward(_Reward):
    """An async `(task, trace) -> float` for verifiers 0.4. Picklable."""

    async def __call__(self, task: Any, trace: Any) -> float:
        """Returns the score of a trace of a task (`TaskData`), and stores the verdict in `trace.info["rewarden"]`.

        Raises NoScore, LeftOut, RequestError: verifiers marks the trace as failed.
        """
        settings = self._scorer.settings
        verdict = await self._scorer.verdict(_trace_sample(task, trace, settings))
        trace.info["rewarden"] = verdict_to_json(verdict, _NOTED)
        if verdict.exclude:
            raise LeftOut(f"excluded: {verdict.exclude_reason or verdict.reason or 'by a recipe'}")
        return number_of(verdict, settings)


class RolloutReward(_Reward):
    """An async reward function of a rubric (verifiers up to 0.3), for one rollout. Picklable."""

    async def __call__(
        self, prompt: Any, completion: Any, answer: Any, state: dict[str, Any], info: Any = None, **columns: Any
    ) -> float:
        """Returns the score, or NaN with `state["error"]` set. Never raises, because a rubric turns errors into 0.0."""
        settings = self._scorer.settings
        try:
            sample = _rollout_sample(prompt, completion, answer, state, info, columns, settings)
            verdict = await self._scorer.verdict(sample)
            return _number_or_nan(verdict, state, settings)
        except RewardenError as error:
            return _failed(state, error)


class GroupReward(_Reward):
    """An async reward function of a rubric (verifiers up to 0.3), for the rollouts of a group together. Picklable."""

    async def __call__(
        self, prompts: list[Any], completions: list[Any], answers: list[Any], states: list[dict[str, Any]]
    ) -> list[float]:
        """Returns the scores, in order, or NaN with the state's `error` set. Never raises."""
        settings = self._scorer.settings
        group = {"group": "group", "group_size": len(states)}
        try:
            samples = [
                _rollout_sample(prompt, completion, answer, state, state.get("info"), {}, settings, **group)
                for prompt, completion, answer, state in zip(prompts, completions, answers, states, strict=True)
            ]
            verdicts = await self._scorer.verdicts(samples)
        except RewardenError as error:
            return [_failed(state, error) for state in states]
        return [_number_or_nan(verdict, state, settings) for verdict, state in zip(verdicts, states, strict=True)]


def reward(use: Any = None, **settings: Any) -> TraceReward:
    """Returns a reward function of traces, for `@vf.reward` (verifiers 0.4). The settings are those of `Settings`."""
    return TraceReward(checked(Settings.read(use=use, **settings)))


async def configured(task: Any, trace: Any) -> float:
    """Returns the reward of a trace, with settings from the environment, for `rewards.NAME.fn` in a task's config.

    NAME must be the name of the task's own reward method, which it then replaces; verifiers adds any other to it.
    """
    if len(trace.rewards) > 1:
        _tell_added(tuple(trace.rewards))
    return await _configured()(task, trace)


def reward_func(use: Any = None, **settings: Any) -> RolloutReward:
    """Returns a rubric's reward function for one rollout (verifiers up to 0.3)."""
    return RolloutReward(checked(Settings.read(use=use, **settings)))


def group_reward_func(use: Any = None, **settings: Any) -> GroupReward:
    """Returns a rubric's reward function for a group of rollouts (verifiers up to 0.3)."""
    return GroupReward(checked(Settings.read(use=use, **settings)))


def rubric(use: Any = None, *, group: bool = False, **settings: Any) -> Any:
    """Returns a `vf.Rubric` (verifiers up to 0.3) with one reward function of weight 1; `group` judges groups together.

    Advantages within a group are computed from the rollouts that have a score. Raises AttributeError if the installed
    version of verifiers has no rubrics.
    """
    func = group_reward_func(use, **settings) if group else reward_func(use, **settings)
    return _rubric_class()(funcs=[func], weights=[1.0])


def row_sample(row: Mapping[str, Any], response: str, settings: Settings) -> Sample:
    """Returns the sample of a row of a data set, which a task or an environment makes rollouts of. See
    `rewarden.adapters.example`."""
    columns = {name: value for name, value in row.items() if name not in ("prompt", "answer", "info")}
    prompt = prompt_of(row)
    return _rollout_sample(
        prompt, said(response, prompt), row.get("answer"), {"task": row.get("task")}, row.get("info"), columns, settings
    )


@lru_cache(maxsize=1)
def _configured() -> TraceReward:
    return reward()


@lru_cache(maxsize=16)
def _tell_added(names: tuple[str, ...]) -> None:
    """Warns once of rewards that are added up."""
    _log.warning(
        "the rewards %s are added up: if Rewarden's is to replace a task's own reward, name the entry of the "
        "configuration as the task's method, [….task.rewards.METHOD]",
        ", ".join(names),
    )


@lru_cache(maxsize=1)
def _rubric_class() -> type[Any]:
    base: Any = import_module("verifiers").Rubric

    class RewardenRubric(base):  # type: ignore[misc]
        """A rubric whose groups ignore rollouts without a score."""

        async def score_group(self, states: list[dict[str, Any]], *args: Any, **kwargs: Any) -> None:
            """Scores a group like the base class, but without NaN rewards, which would make the mean NaN."""
            await super().score_group(states, *args, **kwargs)
            scored = [state["reward"] for state in states if not math.isnan(state["reward"])]
            if len(scored) == len(states):
                return
            mean = sum(scored) / len(scored) if scored else 0.0
            for state in states:
                known = not math.isnan(state["reward"])
                state["advantage"] = state["reward"] - mean if known else 0.0
                for step in state.get("trajectory") or ():
                    if math.isnan(step["advantage"]):  # what the environment set itself stays
                        step["advantage"] = state["advantage"]

    return RewardenRubric


def _trace_sample(task: Any, trace: Any, settings: Settings) -> Sample:
    columns = task.model_dump()
    prompt = columns.pop("prompt", None)
    fields: dict[str, Any] = {}
    if columns.get(settings.data_source) is None:
        fields["data_source"] = trace.task.type  # the task's class: what a task set is told by
    if trace.is_truncated:
        fields["finish_reason"] = "length"
    return sample_of(_sampled(trace), columns, settings, prompt=_chat(prompt), **fields)


def _sampled(trace: Any) -> Any:
    """Returns the text that the model wrote: the messages of the last branch, from the model's first on."""
    if getattr(trace, "root_reply", None) is not None:  # other agents' branches hang on the root's
        return trace.root_reply
    branches = trace.branches
    found: list[dict[str, Any]] = []
    for node in branches[-1].nodes if branches else ():
        own = node.sampled and node.message.role == "assistant"
        if own or (found and node.message.role != "assistant"):
            found.append(_message(node.message))
    return found or ""


def _rollout_sample(
    prompt: Any,
    completion: Any,
    answer: Any,
    state: Mapping[str, Any],
    info: Any,
    columns: Mapping[str, Any],
    settings: Settings,
    **fields: Any,
) -> Sample:
    row = {"info": info, **(info if isinstance(info, Mapping) else {}), **columns}
    if answer not in (None, ""):  # verifiers' own word for a row without one
        row["answer"] = answer
    task = state.get("task")
    if row.get(settings.data_source) is None and isinstance(task, str):
        fields["data_source"] = task
    if state.get("is_truncated"):
        fields["finish_reason"] = "length"
    return sample_of(_chat(completion), row, settings, prompt=_chat(prompt), **fields)


def _chat(value: Any) -> Any:
    """Returns text unchanged, and messages as JSON."""
    if value is None or isinstance(value, str):
        return value
    return [_message(item) for item in value]


def _message(message: Any) -> dict[str, Any]:
    found: Mapping[str, Any] = message if isinstance(message, Mapping) else message.model_dump(exclude_none=True)
    return {name: found[name] for name in _OF_A_MESSAGE if found.get(name) is not None}


_OF_A_MESSAGE = ("role", "content", "reasoning_content", "tool_calls")
# What providers add next to it (signatures, encrypted thoughts) is long, and says nothing to a judge.


def _number_or_nan(verdict: Verdict, state: dict[str, Any], settings: Settings) -> float:
    if verdict.exclude:
        return _failed(state, LeftOut(f"excluded: {verdict.exclude_reason or verdict.reason or 'by a recipe'}"))
    try:
        return number_of(verdict, settings)
    except NoScore as error:
        return _failed(state, error)


def _failed(state: dict[str, Any], error: RewardenError) -> float:
    """Mark a rollout as failed, unless it failed before. verifiers repeats those with an `InfraError`."""
    _log.error("%s", error)
    if state.get("error") is None:
        vf = import_module("verifiers")
        ours = error.verdict.retryable if isinstance(error, NoScore) else error.retryable
        state["error"] = (vf.InfraError if ours else vf.Error)(str(error))
    return math.nan


_NOTED = ("status", "score", "passed", "reason", "fault", "feedback", "flags", "exclude", "exclude_reason", "verifier")
