"""OpenEnv: a rubric whose score is a verdict, alone or inside OpenEnv's containers.

    from rewarden.adapters.openenv import rubric

    class MyEnvironment(Environment):
        def __init__(self):
            super().__init__(rubric=rubric("math", target="http://127.0.0.1:8080"))

        def reset(self, seed=None, episode_id=None, **kwargs):
            self._reset_rubric()
            self.rubric.begin({"answer": "42"}, prompt="What is 6 times 7?")
            …

        def step(self, action, timeout_s=None, **kwargs):
            observation = MyObservation(done=True)
            observation.reward = self._apply_rubric(action, observation)
            return observation

The expected answer is a column of the row that `begin` gets, so that it is in no observation, which the policy sees.
The response is the action's field of text; `response` names it if there are several.

**No score**: a rubric returns a number, and OpenEnv's containers calculate with it. `forward` therefore retries
transient errors for `patience_s` and then raises `NoScore`, which the client of the environment sees as an error of the
step; `unscored=NUMBER` returns a number instead. A recipe's `exclude` has no effect; `last_verdict` has it. **Groups**:
not supported, because an environment sees only one episode.

Checked against openenv 0.10.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from typing import Any

from rewarden.adapters.rows import plain, sample_of
from rewarden.adapters.scoring import NoScore, Scorer, number_of, scorer
from rewarden.errors import InvalidRequest
from rewarden.types import Sample, Verdict


class Judged:
    """The base of both rubrics, next to OpenEnv's own base class."""

    last_verdict: Verdict | None = None

    def __init__(self, scorer: Scorer, response: str | None) -> None:
        super().__init__()
        self._scorer = scorer
        self._response = response
        self._row: Mapping[str, Any] = {}
        self._prompt: Any = None

    def begin(self, row: Mapping[str, Any], *, prompt: Any = None) -> None:
        """Sets the episode's row of the data set, and its prompt: text or chat messages."""
        self._row, self._prompt = row, prompt

    def reset(self) -> None:
        """Forgets the episode. OpenEnv calls this from an environment's `_reset_rubric`."""
        self._row, self._prompt, self.last_verdict = {}, None, None

    def _sample(self, action: Any) -> Sample:
        return sample_of(written(action, self._response), self._row, self._scorer.settings, prompt=self._prompt)

    def _number(self, verdict: Verdict) -> float:
        self.last_verdict = verdict
        return number_of(verdict, self._scorer.settings)


class _Blocking(Judged):
    def forward(self, action: Any, observation: Any) -> float:
        """Returns the score of an action. Raises NoScore, RequestError."""
        return self._number(self._scorer.score([self._sample(action)])[0])


class _Awaited(Judged):
    async def forward(self, action: Any, observation: Any) -> float:
        """Returns the score of an action. Raises NoScore, RequestError."""
        return self._number(await self._scorer.verdict(self._sample(action)))


def rubric(use: Any = None, *, response: str | None = None, **settings: Any) -> Any:
    """Returns a `Rubric` for environments with `step`. `response` names the field of the action that is judged; `use`
    and the settings are those of `rewarden.adapters.Settings`. Raises RequestError.
    """
    return _class_of(_Blocking)(_scorer(use, settings), response)


def arubric(use: Any = None, *, response: str | None = None, **settings: Any) -> Any:
    """Returns a `Rubric` for environments with `step_async`: concurrent episodes share a stream. Otherwise as `rubric`.

    Raises RequestError.
    """
    return _class_of(_Awaited)(_scorer(use, settings), response)


def written(action: Any, field: str | None) -> Any:
    """Returns the text of an action: of the named field, or of its only field of text. Raises InvalidRequest."""
    if isinstance(action, str):
        return action
    fields = dict(action) if isinstance(action, Mapping) else action.model_dump()
    fields.pop("metadata", None)
    if field is not None:
        if field not in fields:
            raise InvalidRequest(f"response: no field {field!r} in the action; its fields are {', '.join(fields)}")
        return plain(fields[field])
    texts = [name for name, value in fields.items() if isinstance(value, str)]
    if len(texts) != 1:
        found = ", ".join(texts) or "none"
        raise InvalidRequest(f"response: name the field of the action that is judged; its fields of text are: {found}")
    return fields[texts[0]]


def _scorer(use: Any, settings: Mapping[str, Any]) -> Scorer:
    """Returns one scorer for all environments of the process with the same settings."""
    found = scorer(use=use, **settings)
    found.settings.refuse("group", why="an OpenEnv environment sees only one episode")
    return found


@lru_cache(maxsize=2)
def _class_of(kind: type[Judged]) -> type[Any]:
    base = import_module("openenv.core.rubrics").Rubric
    return type("RewardenRubric", (kind, base), {"__module__": __name__, "__doc__": kind.forward.__doc__})  # type: ignore[attr-defined]


__all__ = ["Judged", "NoScore", "arubric", "rubric", "written"]
