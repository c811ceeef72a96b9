"""SkyRL: an environment of skyrl-gym whose reward is a verdict.

    import skyrl_gym
    skyrl_gym.register(id="rewarden", entry_point="rewarden.adapters.skyrl:RewardenEnv",
                       kwargs={"use": "math", "target": "http://127.0.0.1:8080"})      # env_class: rewarden

`kwargs` are the settings of `rewarden.adapters.Settings`. SkyRL's configuration of the environment (`env_config`) can
contain the same settings and `max_turns`, and overrides `kwargs`. The expected answer is the row's
`reward_spec.ground_truth`, unless `reference` names another column; columns of `extra_info` count as columns of the
row. With more than one turn (`max_turns`), a response that does not pass gets the verdict's feedback as an answer, and
the model tries again. The reward is that of the last turn; earlier turns have 0.0.

**No score**: SkyRL cannot express it: None ends the run, and NaN would reach the weights (skyrl 0.3.0,
`skyrl_gym_generator.py`). A step therefore retries transient errors for `patience_s` and then raises `NoScore`, which
ends the run; `unscored=NUMBER` returns a number instead. A recipe's `exclude` has no effect; the metric
`rewarden_excluded` counts it. **Groups**: not supported, because an environment sees only one rollout.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from typing import Any

from rewarden.adapters.example import prompt_of
from rewarden.adapters.rows import plain, sample_of, tell_passed
from rewarden.adapters.scoring import number_of, passed_of, scorer
from rewarden.adapters.settings import Settings, unwrapped
from rewarden.types import Sample, Verdict
from rewarden.wire.json import verdict_to_json

_AGAIN = "This is not right yet. Try again."


class Episode:
    """One rollout: the base of `RewardenEnv`, next to skyrl-gym's own base class."""

    turns: int
    max_turns: int

    def __init__(self, env_config: Any = None, extras: Mapping[str, Any] | None = None, **settings: Any) -> None:
        """`env_config`: a mapping or an object with fields, from SkyRL's configuration; it overrides `settings`.
        `extras`: the row's columns. Raises InvalidRequest.
        """
        super().__init__()  # skyrl-gym's class sets its own turns, so ours come after it
        extras = extras or {}
        told = {**settings, **_fields(env_config)}
        most = int(told.pop("max_turns", 1))
        # SkyRL puts its own limit (`generator.max_turns`) into every row; ours may only be shorter.
        self.max_turns = min(most, int(extras.get("max_turns", most)))
        self.turns = 0
        self._scorer = scorer(**told)
        self._scorer.settings.refuse("group", why="a SkyRL environment sees only one rollout")
        self._columns = _columns(extras)
        self._prompt: Any = None
        self._verdict: Verdict | None = None

    def init(self, prompt: Any) -> tuple[Any, dict[str, Any]]:
        """Returns the chat messages for the model, unchanged."""
        self._prompt = prompt
        return prompt, {}

    def step(self, action: str) -> dict[str, Any]:
        """Returns the result of a response: `observations`, `reward`, `done`, and `metadata` with the verdict as JSON.

        Raises NoScore, RequestError.
        """
        self.turns += 1
        verdict = self._verdict = self._scorer.score([self._sample(action)])[0]
        done = self.turns >= self.max_turns or verdict.status != "scored" or passed_of(verdict)
        return {
            "observations": [] if done else [{"role": "user", "content": verdict.feedback or _AGAIN}],
            "reward": number_of(verdict, self._scorer.settings) if done else 0.0,
            "done": done,
            "metadata": {"verdict": verdict_to_json(verdict)},
        }

    def get_metrics(self) -> dict[str, Any]:
        """Returns the numbers that SkyRL logs for an episode; it averages them over episodes."""
        verdict = self._verdict
        if verdict is None:
            return {"rewarden_turns": self.turns}
        scored = verdict.status == "scored"
        return {
            "rewarden_turns": self.turns,
            "rewarden_unscored": float(not scored),
            "rewarden_excluded": float(verdict.exclude),
            **({"rewarden_passed": float(passed_of(verdict))} if scored else {}),
        }

    def _sample(self, action: str) -> Sample:
        return _sample(action, self._columns, self._prompt, self._scorer.settings)


def row_sample(row: Mapping[str, Any], response: str, settings: Settings) -> Sample:
    """Returns the sample of a row of a data set. See `rewarden.adapters.example`."""
    return _sample(response, _columns(row), prompt_of(row), settings)


def _columns(row: Mapping[str, Any]) -> dict[str, Any]:
    return {**_mapping(row.get("extra_info")), **row}


def _sample(action: str, columns: Mapping[str, Any], prompt: Any, settings: Settings) -> Sample:
    spec = _mapping(columns.get("reward_spec"))
    given = {}
    if settings.reference is None and "ground_truth" in spec:
        given["reference"] = plain(spec["ground_truth"])
        tell_passed("reward_spec.ground_truth", given["reference"], settings, "SkyRL")
    return sample_of(action, columns, settings, prompt=prompt, **given)


def __getattr__(name: str) -> Any:
    """Creates `RewardenEnv` on first use, so that this module can be imported without skyrl-gym."""
    if name != "RewardenEnv":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _environment()


@lru_cache(maxsize=1)
def _environment() -> type[Any]:
    base = import_module("skyrl_gym.envs.base_text_env").BaseTextEnv
    return type("RewardenEnv", (Episode, base), {"__module__": __name__, "__doc__": Episode.__doc__})


def _fields(config: Any) -> dict[str, Any]:
    """Returns a configuration (None, a mapping, also of OmegaConf, or an object with fields) as a mapping."""
    found = config if isinstance(config, Mapping) else vars(config) if hasattr(config, "__dict__") else {}
    return {str(name): unwrapped(value) for name, value in found.items() if value is not None}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
