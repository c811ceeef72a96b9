"""Episodes: an environment, the actions so far and their results, within limits."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal

from rewarden.errors import InvalidReference
from rewarden_verifiers.contract import Unwatched, Watch
from rewarden_verifiers.environments.contract import (
    MOST_CHARACTERS,
    MOST_OBSERVED,
    MOST_STEPS,
    Asked,
    BadOptions,
    Corpora,
    Environment,
    Illegal,
    NotAMove,
    Observation,
    Turn,
)
from rewarden_verifiers.environments.table import environment_of
from rewarden_verifiers.extraction import encodable
from rewarden_verifiers.schema import BeforeValidator, Misfit, read

MOST_SEED = 2**63 - 1

Ended = Literal["rules", "illegal", "malformed", "too_many_steps"]
"""The reason why an episode ended: the environment's rules, an action, or its step limit."""


def _whole(value: object) -> object:
    """Rejects numbers written as text, and booleans: other readers could parse such a seed differently, and start
    another episode.
    """
    if type(value) is not int:
        raise ValueError("must be a whole number")
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """The start of an episode: everything that determines the effect of actions. environment: its name. options: the
    environment's options. seed: from 0; equal seeds make equal episodes. max_steps: the limit of the episode; by
    default that of the environment. illegal: a malformed or illegal action ends the episode (`end`), or costs a step
    and changes nothing (`again`).
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    environment: str
    options: dict[str, Any] = field(default_factory=dict)
    seed: Annotated[int, BeforeValidator(_whole)]
    max_steps: int | None = None
    illegal: Literal["end", "again"] = "end"

    def begin(self, corpora: Corpora = MappingProxyType({}), watch: Watch | None = None) -> Episode:
        """A new episode. Raises InvalidReference naming the field, MissingDependency."""
        kind = self.kind()
        try:
            options = read(kind.options, dict(self.options), "reference.options")
            with (watch or Unwatched()).loading():
                kind.load(options, corpora)
            return Episode(self, kind, options, corpora)
        except Misfit as error:
            raise InvalidReference(error.message, path=error.path) from None
        except BadOptions as error:
            at = f"options.{error.path}" if error.path else "options"
            raise _invalid(at, str(error)) from None

    def kind(self) -> type[Environment]:
        """The environment's class. Raises InvalidReference, MissingDependency."""
        try:
            return environment_of(self.environment)
        except BadOptions as error:
            raise _invalid("environment", str(error)) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """An action and its result. action: None if a tool was called without its argument."""

    action: str | None
    turn: Turn
    why: str | None = None


class Episode:
    """An episode in progress."""

    def __init__(self, start: Start, kind: type[Environment], options: Any, corpora: Corpora) -> None:
        """Raises BadOptions; InvalidReference for an unknown option."""
        if not 0 <= start.seed <= MOST_SEED:
            raise _invalid("seed", f"must be a whole number from 0 to {MOST_SEED}")
        most = kind.max_steps if start.max_steps is None else start.max_steps
        if not 1 <= most <= MOST_STEPS:
            raise _invalid("max_steps", f"must be 1 to {MOST_STEPS}")
        self.start, self.kind, self.max_steps = start, kind, most
        self.steps: list[Step] = []
        self.ended: Ended | None = None
        self._environment = kind()
        self._environment.corpora = corpora
        self.first = self._last = _cut(self._environment.reset(start.seed, options))

    @property
    def asked(self) -> Asked | None:
        """The question that the episode waits for."""
        return self._environment.asked

    @property
    def observation(self) -> Observation:
        """The last observation."""
        return self.steps[-1].turn.observation if self.steps else self.first

    @property
    def success(self) -> bool:
        """True if the episode ended by its rules and reached its goal."""
        return self.ended == "rules" and self.steps[-1].turn.success

    @property
    def total(self) -> float:
        """The sum of the rewards."""
        return math.fsum(step.turn.reward for step in self.steps)

    @property
    def cost(self) -> float:
        """The sum of the steps' costs."""
        return math.fsum(step.turn.cost for step in self.steps)

    @property
    def parts(self) -> Mapping[str, float]:
        """The criteria of the last step, by name."""
        return self.steps[-1].turn.parts if self.steps else {}

    @property
    def size(self) -> int:
        """The number of characters in the episode."""
        return sum(len(step.action or "") + len(step.turn.observation.text) for step in self.steps)

    def holds(self, actions: Sequence[str | None]) -> bool:
        """Returns whether these actions begin with the episode's actions."""
        return len(self.steps) <= len(actions) and all(
            step.action == action for step, action in zip(self.steps, actions, strict=False)
        )

    def act(self, action: str | None) -> Step:
        """Takes an action. Call it only while `ended` and `asked` are None. To save memory, an action that is too long
        is first truncated to `MOST_CHARACTERS` and one more.
        """
        step = self._tried(action)
        self.steps.append(step)
        if step.turn.done and self.ended is None:
            self.ended = "rules"
        elif self.ended is None and self.asked is None and len(self.steps) >= self.max_steps:
            self.ended = "too_many_steps"
        return step

    def _tried(self, action: str | None) -> Step:
        if action is None:
            return self._refused(action, "malformed", "the call has an unknown argument, or one that is not a string")
        if len(action) > MOST_CHARACTERS:
            return self._refused(action, "malformed", f"it has more than {MOST_CHARACTERS} characters")
        try:
            turn = self._environment.step(action)
        except NotAMove as error:
            return self._refused(action, "malformed", str(error))
        except Illegal as error:
            return self._refused(action, "illegal", str(error))
        turn = replace(turn, observation=_cut(turn.observation))
        self._last = turn.observation
        return Step(action=action, turn=turn, why=turn.why)

    def _refused(self, action: str | None, ended: Literal["illegal", "malformed"], why: str) -> Step:
        """The step for an action that is invalid through the policy's fault."""
        text = f"{ended}: {why}"
        if self.start.illegal == "end":
            self.ended = ended
            turn = Turn(observation=Observation(text), done=True, why=ended)
        else:
            turn = Turn(observation=_cut(Observation(f"{text}\n{self._last.text}", self._last.fields)), why=ended)
        return Step(action=action, turn=turn, why=text)


def _cut(observation: Observation) -> Observation:
    # The text may quote the policy, and a lone surrogate cannot be encoded as UTF-8.
    return Observation(encodable(observation.text[:MOST_OBSERVED]), observation.fields)


def _invalid(field: str, message: str) -> InvalidReference:
    path = f"reference.{field}"
    return InvalidReference(f"{path}: {message}", path=path)


def returned(total: float, ends: tuple[float, float]) -> float:
    """Scales a return to the range 0 to 1."""
    low, high = ends
    return min(1.0, max(0.0, (total - low) / (high - low)))


def fields_of(observation: Observation) -> Mapping[str, Any]:
    """An observation as a single object."""
    return {**observation.fields, "text": observation.text}
