"""A `reasoning-gym` item over several turns: a wrong answer can be corrected (extra `puzzles`)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from rewarden.errors import InvalidReference
from rewarden_verifiers.environments.contract import BadOptions, Corpora, Environment, NotAMove, Observation, Tool, Turn
from rewarden_verifiers.puzzles import library
from rewarden_verifiers.puzzles.generators import Generated
from rewarden_verifiers.puzzles.integrals import DATASETS as NEED_SANDBOX

_ANSWER = Tool(name="answer", argument="answer", meaning="Answer the question.")
_ACTION = re.compile(r"answer:(.*)", re.ASCII | re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class ReasoningOptions:
    """Options of `reasoning_gym`.

    dataset: the generator, which uses the episode's seed. index: the item's index. config: the generator's own
    settings. attempts: the number of answers; a right n-th answer has the reward 1/n. With several attempts, a question
    with few possible answers can be guessed.
    """

    dataset: str
    index: int = 0
    config: dict[str, Any] = field(default_factory=dict)
    attempts: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.attempts <= 20:
            raise ValueError("attempts must be 1 to 20")
        if not 0 <= self.index <= 100_000:
            raise ValueError("index must be 0 to 100,000")


class Reasoning(Environment):
    """A question from one of reasoning-gym's generators."""

    options = ReasoningOptions
    tools = (_ANSWER,)
    max_steps = 20

    @classmethod
    def load(cls, options: Any, corpora: Corpora) -> None:
        """Checks that the library is installed. Raises MissingDependency. Each data set's module is imported when it is
        used."""
        library.folder()

    def reset(self, seed: int, options: ReasoningOptions) -> Observation:
        """See `Environment`. Raises MissingDependency."""
        if options.dataset in NEED_SANDBOX:
            raise BadOptions("its answers are judged in the sandbox; use the verifier `puzzle`", "dataset")
        try:
            made = Generated(dataset=options.dataset, seed=seed, index=options.index, config=options.config)
            question, self._checker = made.posed()
        except InvalidReference as error:
            path = str(error.details.get("path", "")).removeprefix("reference").lstrip(".")
            raise BadOptions(error.message, path) from None
        except ValueError as error:
            raise BadOptions(str(error)) from None
        self._tried, self._attempts = 0, options.attempts
        return Observation(f"{question}\nAction: answer: YOUR ANSWER.")

    def step(self, action: str) -> Turn:
        """See `Environment`."""
        found = _ACTION.fullmatch(action.strip())
        if found is None or not found[1].strip():
            raise NotAMove("an action is answer: YOUR ANSWER")
        self._tried += 1
        finding = self._checker.check(found[1].strip())
        if finding.reason is None:
            return Turn(observation=Observation("Right."), reward=1 / self._tried, done=True, success=True)
        left = self._attempts - self._tried
        # The checker's message is about the answer's form and the rules; it never contains the right answer.
        text = f"{finding.reason}: {finding.why or 'it is not right'}. Attempts left: {left}."
        return Turn(observation=Observation(text), done=not left, why="wrong")
