"""Tinker's cookbook: a `ProblemEnv` whose reward is a verdict.

    from rewarden.adapters.tinker import RewardenEnv
    make = partial(RewardenEnv, renderer, "What is 8 times 9?", {"answer": "72"}, use="math")
    ProblemGroupBuilder(env_thunk=make, num_envs=8)

The third argument is the row: its columns, with the reference. The others are the settings of
`rewarden.adapters.Settings`, and `convo_prefix` of the cookbook. The reward is the score: the cookbook's `format_coef`
is not added, because verifiers judge the format themselves.

**No score**: a step retries transient errors for `patience_s` and then raises `NoScore`. By default that stops the run;
with the cookbook's `rollout_error_tolerance` (`True`, `RetryOnFailure`, `MinViableGroup`) it repeats the rollout, or
goes on with the siblings that have a score, whose advantages are then computed without it. `unscored=NUMBER` returns a
number instead. An excluded sample keeps its score. **Groups**: not supported, because an environment sees one rollout.

Checked and run with tinker-cookbook 0.6.1 (tinker_cookbook/rl/problem_env.py, rollout_strategy.py).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from typing import Any

from rewarden.adapters.rows import plain, reference_of, sample_of
from rewarden.adapters.scoring import NoScore, number_of, passed_of, scorer
from rewarden.types import Sample


class Problem:
    """One question: the base of `RewardenEnv`, next to the cookbook's own base class."""

    renderer: Any
    convo_prefix: Any
    stop_condition: Any

    def __init__(
        self, renderer: Any, question: str, row: Mapping[str, Any], convo_prefix: Any = None, **settings: Any
    ) -> None:
        """Raises InvalidRequest."""
        super().__init__(renderer, convo_prefix)  # type: ignore[call-arg] # the cookbook's class comes next
        self._question = question
        self._row = row
        self._scorer = scorer(**settings)
        self._scorer.settings.refuse("group", why="an environment sees only one rollout")

    async def step(self, action: Any, *, extra: Any = None) -> Any:
        """Returns the cookbook's `StepResult`; the episode ends here. Raises NoScore, RequestError."""
        message, _ = self.renderer.parse_response(action)
        text = import_module("tinker_cookbook.renderers").get_text_content(message)
        verdict = await self._scorer.verdict(self._sample(text, len(action), (extra or {}).get("stop_reason")))
        scored = verdict.status == "scored"
        return import_module("tinker_cookbook.rl.types").StepResult(
            reward=number_of(verdict, self._scorer.settings),
            episode_done=True,
            next_observation=import_module("tinker").ModelInput.empty(),
            next_stop_condition=self.stop_condition,
            metrics={
                "correct": float(passed_of(verdict)),
                "format": float(scored and "no_answer" not in verdict.flags),
                "rewarden_unscored": float(not scored),
                "rewarden_excluded": float(verdict.exclude),
            },
            logs={"reason": verdict.reason or "", "reference_answer": self.get_reference_answer()},
        )

    def get_question(self) -> str:
        """Returns the question."""
        return self._question

    def get_reference_answer(self) -> str:
        """Returns the reference, as text."""
        reference = reference_of(self._row, self._scorer.settings)
        return reference if isinstance(reference, str) else json.dumps(plain(reference))

    def check_answer(self, sample_str: str) -> bool:
        """Returns whether a response passes. Raises NoScore, RequestError."""
        verdict = self._scorer.score([self._sample(sample_str)])[0]
        number_of(verdict, self._scorer.settings)
        return passed_of(verdict)

    def check_format(self, sample_str: str) -> bool:
        """Returns True: the verifier judges the format, too."""
        return True

    def _sample(self, text: str, count: int | None = None, stop_reason: str | None = None) -> Sample:
        asked = [*self.convo_prefix, {"role": "user", "content": self._question}]
        told = {"finish_reason": stop_reason, "token_count": count}
        return sample_of(text, self._row, self._scorer.settings, prompt=asked, **told)


def __getattr__(name: str) -> Any:
    """Creates `RewardenEnv` on first use, so that this module can be imported without the cookbook."""
    if name != "RewardenEnv":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _environment()


@lru_cache(maxsize=1)
def _environment() -> type[Any]:
    base = import_module("tinker_cookbook.rl.problem_env").ProblemEnv
    return type("RewardenEnv", (Problem, base), {"__module__": __name__, "__doc__": Problem.__doc__})


__all__ = ["NoScore", "Problem"]
