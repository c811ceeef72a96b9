"""NeMo RL: an environment (`EnvironmentInterface`, a Ray actor) whose rewards are verdicts.

    from rewarden.adapters.nemo_rl import register
    register()          # before NeMo RL sets up its data, whose configuration has `env_name: rewarden`

`env.rewarden` in NeMo RL's configuration has the settings of `rewarden.adapters.Settings`. The columns are the row's
`extra_env_info`, in which NeMo RL's data processors put `ground_truth`. An episode is one response.

**No score**: NeMo RL lets an environment of this kind mask nothing, and computes a group's baseline from all of its
rewards, so no number is right. A step therefore retries transient errors for `patience_s` and then raises: `NoScore`,
which ends the run, or ConnectionError for a fault of the infrastructure, which NeMo RL's single controller dispatches
again. `unscored: siblings` gives such a sample, and one that a recipe excludes, the mean of its siblings: its own
advantage is then 0, and the mean of the others stays theirs. `unscored: NUMBER` returns a number instead.
**Groups**: the samples of a step with the same prompt are judged as one group with `group: prompt`.

Checked and run with NeMo RL at 7ea279a (2026-08-22; nemo_rl/environments, nemo_rl/experience, nemo_rl/algorithms).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from importlib import import_module
from statistics import fmean
from typing import Any

from rewarden.adapters.preflight import checked
from rewarden.adapters.rows import sample_of
from rewarden.adapters.scoring import NoScore, Scorer, number_of, passed_of
from rewarden.adapters.settings import Settings, unwrapped
from rewarden.errors import DeadlineExceeded, Overloaded, Unavailable
from rewarden.types import Sample, Verdict

SIBLINGS = "siblings"
"""The value of `unscored` for the mean of the siblings."""

_NAME = "rewarden"
_PROMPT = "prompt"
"""The value of `group` by which siblings are the samples with the same prompt: NeMo RL numbers no groups."""


class Environment:
    """The base of `RewardenEnvironment`, next to NeMo RL's own."""

    def __init__(self, cfg: Any = None) -> None:
        """`cfg`: `env.rewarden` of NeMo RL's configuration. Raises InvalidRequest."""
        told = {str(name): value for name, value in unwrapped(cfg or {}).items() if value is not None}
        self._by_siblings = told.get("unscored") == SIBLINGS
        if self._by_siblings:
            told["unscored"] = "native"
        self._grouped = told.get("group") == _PROMPT
        if self._grouped:
            del told["group"]
        self._scorer = Scorer(checked(Settings.read(**told)))

    def step(self, message_log_batch: Any, metadata: Any, return_extracted_answer: bool = False) -> Any:
        """Returns NeMo RL's `EnvironmentReturn`: every episode ends here. Raises NoScore, ConnectionError."""
        verdicts, rewards = self.judged(message_log_batch, metadata)
        torch = import_module("torch")
        return import_module("nemo_rl.environments.interfaces").EnvironmentReturn(
            observations=[{"role": "environment", "content": f"Environment: {_said(each)}"} for each in verdicts],
            metadata=metadata,
            next_stop_strings=[None] * len(verdicts),
            rewards=torch.tensor(rewards, dtype=torch.float32),
            terminateds=torch.ones(len(verdicts)),
            answers=[_answer(each) for each in verdicts] if return_extracted_answer else None,
        )

    def judged(self, logs: Sequence[Any], rows: Sequence[Any]) -> tuple[list[Verdict], list[float]]:
        """Returns the verdicts and rewards of a step. Raises NoScore, InvalidRequest, ConnectionError."""
        chats = [_split(log) for log in logs]
        prompts = [json.dumps(prompt, sort_keys=True) for prompt, _ in chats]
        samples = [self._sample(prompt, reply, row) for (prompt, reply), row in zip(chats, rows, strict=True)]
        if self._grouped:
            places = {prompt: str(place) for place, prompt in enumerate(dict.fromkeys(prompts))}
            samples = [
                replace(sample, group=places[prompt], group_size=prompts.count(prompt))
                for sample, prompt in zip(samples, prompts, strict=True)
            ]
        try:
            verdicts = self._scorer.score(samples)
            return verdicts, self._rewards(verdicts, prompts)
        except (Overloaded, Unavailable, DeadlineExceeded) as error:
            raise ConnectionError(error.message) from error
        except NoScore as error:
            if error.verdict.fault != "infra":
                raise
            raise ConnectionError(error.message) from error

    def global_post_process_and_metrics(self, batch: Any) -> tuple[Any, dict[str, float]]:
        """Returns the batch unchanged. The setting `log` reports figures, by data source."""
        return batch, {}

    def shutdown(self) -> None:
        """Ends nothing: the actor's connections end with it."""

    def _sample(self, prompt: list[Any], reply: list[Any], row: Any) -> Sample:
        columns = row if isinstance(row, Mapping) else {}
        return sample_of(reply, columns, self._scorer.settings, prompt=prompt or None)

    def _rewards(self, verdicts: Sequence[Verdict], prompts: Sequence[str]) -> list[float]:
        settings = self._scorer.settings
        if not self._by_siblings:
            return [number_of(verdict, settings) for verdict in verdicts]
        scores = [each.score if each.status == "scored" and not each.exclude else None for each in verdicts]
        siblings: dict[str, list[float | None]] = {}
        for score, prompt in zip(scores, prompts, strict=True):
            siblings.setdefault(prompt, []).append(score)
        rewards = []
        for verdict, score, prompt in zip(verdicts, scores, prompts, strict=True):
            if score is None:  # without siblings in this step there is no mean: they may be in other steps
                score = _mean(siblings[prompt]) if len(siblings[prompt]) > 1 else number_of(verdict, settings)
            rewards.append(score)
        return rewards


def register(name: str = _NAME) -> None:
    """Registers the environment with NeMo RL, under the name by which `env_name` and `env` find it."""
    path = f"{__name__}.RewardenEnvironment"
    pythons = import_module("nemo_rl.distributed.ray_actor_environment_registry").ACTOR_ENVIRONMENT_REGISTRY
    pythons[path] = import_module("nemo_rl.distributed.virtual_cluster").PY_EXECUTABLES.SYSTEM
    import_module("nemo_rl.environments.utils").register_env(name, path)


def __getattr__(name: str) -> Any:
    """Creates `RewardenEnvironment` on first use, so that this module can be imported without NeMo RL."""
    if name != "RewardenEnvironment":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _actor()


@lru_cache(maxsize=1)
def _actor() -> Any:
    base = import_module("nemo_rl.environments.interfaces").EnvironmentInterface
    made = type("RewardenEnvironment", (Environment, base), {"__module__": __name__, "__doc__": Environment.__doc__})
    # As NeMo RL's own: restarted when its node is lost, and open to concurrent steps of asynchronous rollouts.
    return import_module("ray").remote(max_restarts=-1, max_task_retries=-1, max_concurrency=1000)(made)


def _split(log: Sequence[Mapping[str, Any]]) -> tuple[list[Any], list[Any]]:
    """Returns the messages of the prompt, and those from the policy's reply on."""
    messages = [{"role": str(each["role"]), "content": each["content"]} for each in log]
    first = len(messages)
    while first and messages[first - 1]["role"] == "assistant":
        first -= 1
    return messages[:first], messages[first:]


def _mean(scores: Sequence[float | None]) -> float:
    """Returns the mean of the known scores; 0.0 if all are missing, so that all advantages are 0."""
    known = [score for score in scores if score is not None]
    return fmean(known) if known else 0.0


def _said(verdict: Verdict) -> str:
    if verdict.status != "scored":
        return "unscored"
    return "correct" if passed_of(verdict) else "incorrect"


def _answer(verdict: Verdict) -> str | None:
    return None if verdict.extracted is None else str(verdict.extracted)


__all__ = ["SIBLINGS", "Environment", "NoScore", "register"]
