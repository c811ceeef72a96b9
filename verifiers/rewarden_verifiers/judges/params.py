"""The options that all verifiers share which ask judges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rewarden.errors import InvalidParams

Aggregate = Literal["mean", "majority", "median", "any", "all"]


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """A prompt in the place of the built-in one: Jinja2 texts over the same variables. An empty part stays as built in.
    What others wrote stands in them fenced, and the form of the reply is said behind them, whatever they say."""

    system: str = ""
    user: str = ""


def positive_share(name: str, value: float | None) -> None:
    """Raises InvalidParams for a parameter that is given, and is not above 0 and at most 1."""
    if value is not None and not 0 < value <= 1:
        raise InvalidParams(f"params.{name} must be above 0 and at most 1", path=f"params.{name}")


@dataclass(frozen=True, kw_only=True)
class JudgeParams:
    """Options of every verifier that asks judges.

    judge: a name of the server's `[judges.named]`; none: its default.
    instructions: what the judge is told beside the built-in prompt, in your words.
    prompt: texts in the place of the built-in prompt.
    samples: how many opinions are asked for.
    aggregate: what becomes of them: the `mean` or `median` of their scores; whether the `majority`, `any` or `all` of
        them pass.
    tie: what a majority does that is none: `fail`, or `undecided`.
    temperature, top_p, max_tokens, seed: of the judge's sampling; none: as the judge is configured.
    longest: characters of a response that a judge is still shown; a longer one is zero (`too_long`).
    hollow: whether a response without substance is zero without asking: `refuse`, or `ask`.
    shown: characters of the judge's reasons in the feedback.
    """

    judge: str | None = None
    instructions: str = ""
    prompt: Prompt = Prompt()
    samples: int = 1
    aggregate: Aggregate = "mean"
    tie: Literal["fail", "undecided"] = "fail"
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    longest: int = 60_000
    hollow: Literal["refuse", "ask"] = "refuse"
    shown: int = 2000

    def __post_init__(self) -> None:
        for name, low, high in (("samples", 1, 64), ("longest", 1, 10**7), ("shown", 0, 10**6)):
            value = getattr(self, name)
            if not low <= value <= high:
                raise InvalidParams(f"params.{name} must be from {low} to {high}, not {value}", path=f"params.{name}")
        if self.temperature is not None and not 0 <= self.temperature <= 2:
            raise InvalidParams("params.temperature must be from 0 to 2", path="params.temperature")
        positive_share("top_p", self.top_p)
        if self.max_tokens is not None and not 1 <= self.max_tokens <= 10**7:
            raise InvalidParams("params.max_tokens must be from 1 to 10000000", path="params.max_tokens")
        if self.seed is not None and not -(2**63) <= self.seed < 2**63:
            raise InvalidParams("params.seed must be an integer of 64 bits", path="params.seed")
