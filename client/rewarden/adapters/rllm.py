"""rLLM: an evaluator of episodes, and a reward function for its workflows.

    [verifier]                                          # in dataset.toml
    import_path = "rewarden.adapters.rllm:evaluate"     # with settings from the environment (REWARDEN_USE …)

    evaluator = reward("math", target="http://127.0.0.1:8080")      # from rewarden.adapters.rllm
    AgentTrainer(…, evaluator=evaluator)                # or workflow_args={"reward_function": evaluator}

The columns are the task's `metadata`, its `instruction` is the prompt. The response is the one that rLLM's own reward
functions take: `artifacts["answer"]`, or the output or last message of the last trajectory.

**No score**: the evaluator retries transient errors for `patience_s` and then raises. rLLM repeats such a rollout up to
`retry_limit` times, and then stops, or with `raise_on_error` false ends the episode with an error, which
`compact_filtering` (`enable`, `mask_error`) leaves out of its group. `unscored=NUMBER` returns a number instead. An
excluded sample keeps its score. A `tests/evaluate.py` must not call this: rLLM turns its exceptions into 0.0.
**Groups**: not supported, because an evaluator sees one episode.

Checked and run with rLLM at 9beb6e0 (2026-08-15; rllm/eval, rllm/engine/agentflow_engine.py, rllm/rewards).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from typing import Any

from rewarden.adapters.preflight import checked
from rewarden.adapters.rows import sample_of
from rewarden.adapters.scoring import NoScore, Scorer, number_of, passed_of
from rewarden.adapters.settings import Settings
from rewarden.types import Sample, Verdict

_CUT = "max_response_length_exceeded"
"""The reason for which rLLM ends an episode whose response is too long."""

_ASKED = ("messages", "question", "prompt", "problem")
"""The keys in which the tasks of rLLM's workflows have the question, the first that exists."""


class Reward:
    """A picklable evaluator, `evaluate(task, episode)`, that is also a reward function, `(task_info, action)`."""

    def __init__(self, settings: Settings) -> None:
        self._scorer = Scorer(settings)

    def evaluate(self, task: Any, episode: Any) -> Any:
        """Returns rLLM's `EvalOutput`. Raises NoScore, RequestError."""
        types = import_module("rllm.eval.types")
        verdict = self._verdict(episode_sample(task, episode, self._scorer.settings))
        reward = number_of(verdict, self._scorer.settings)
        signals = {"accuracy": float(passed_of(verdict)), "rewarden_unscored": float(verdict.status != "scored")}
        signals |= {name: part.score for name, part in verdict.components.items() if part.score is not None}
        return types.EvalOutput(
            reward=reward,
            is_correct=passed_of(verdict),
            signals=[types.Signal(name=name, value=value) for name, value in signals.items()],
        )

    def __call__(self, task_info: Mapping[str, Any], action: Any) -> Any:
        """Returns rLLM's `RewardOutput`. Raises NoScore, RequestError."""
        types = import_module("rllm.rewards.reward_types")
        text = getattr(action, "action", action)
        verdict = self._verdict(row_sample(task_info, text, self._scorer.settings))
        reward = number_of(verdict, self._scorer.settings)
        return types.RewardOutput(reward=reward, is_correct=passed_of(verdict), metadata={"reason": verdict.reason})

    def _verdict(self, sample: Sample) -> Verdict:
        return self._scorer.run(self._scorer.verdict(sample))


def reward(use: Any = None, **settings: Any) -> Reward:
    """Returns an evaluator. `use` and the settings are those of `rewarden.adapters.Settings`."""
    read = Settings.read(use=use, **settings).refuse("group", why="rLLM evaluates one episode at a time")
    return Reward(checked(read))


def evaluate(task: Any, episode: Any) -> Any:
    """Like `reward().evaluate`, with settings from the environment, for `import_path`."""
    return _from_environment().evaluate(task, episode)


def episode_sample(task: Any, episode: Any, settings: Settings) -> Sample:
    """Returns the sample of an episode. Raises InvalidRequest."""
    cut = getattr(episode.termination_reason, "value", None) == _CUT
    return sample_of(
        response_of(episode),
        task.metadata,
        settings,
        prompt=task.instruction or None,
        finish_reason="length" if cut else None,
    )


def row_sample(row: Mapping[str, Any], response: str, settings: Settings) -> Sample:
    """Returns the sample of a row, or of a workflow's task. Raises InvalidRequest."""
    asked = next((row[name] for name in _ASKED if row.get(name) is not None), None)
    return sample_of(response, row, settings, prompt=asked)


def response_of(episode: Any) -> str:
    """Returns the text that rLLM's own reward functions read from an episode."""
    if "answer" in episode.artifacts:
        return str(episode.artifacts["answer"])
    if not episode.trajectories:
        return ""
    last = episode.trajectories[-1]
    said = [last.output, *(step.output for step in last.steps[-1:])]
    said += [step.model_response for step in reversed(last.steps)]
    return next((str(text) for text in said if text), "")


@lru_cache(maxsize=1)
def _from_environment() -> Reward:
    return reward()


__all__ = ["NoScore", "Reward", "episode_sample", "evaluate", "response_of", "reward", "row_sample"]
