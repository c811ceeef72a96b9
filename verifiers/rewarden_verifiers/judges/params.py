"""Parameters shared by all verifiers with a judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rewarden.errors import InvalidParams

Aggregate = Literal["mean", "majority", "median", "any", "all"]


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """A prompt that replaces the built-in one: Jinja2 templates with the same variables. An empty part keeps the
    built-in text. Untrusted texts are always fenced, and the form of the reply is always appended.
    """

    system: str = ""
    user: str = ""


LONGEST = 60_000
"""Maximum number of characters of a response shown to a judge, unless the request or the judge's context sets another
limit.
"""


MOST_PORTIONS = 64


def positive_share(name: str, value: float | None) -> None:
    """Raises InvalidParams unless the parameter is null, or above 0 and at most 1."""
    if value is not None and not 0 < value <= 1:
        raise InvalidParams(f"params.{name} must be above 0 and at most 1", path=f"params.{name}")


@dataclass(frozen=True, kw_only=True)
class JudgeParams:
    """Options of every verifier that asks a judge.

    judge: The name of a judge in the server's `[judges.named]`; null: the server's default.
    instructions: Further instructions to the judge, added to the built-in prompt.
    prompt: Templates that replace the built-in prompt.
    samples: How many opinions to ask for.
    aggregate: How to combine the opinions: the `mean` or `median` of their scores, or whether the `majority`, `any` or
        `all` of them pass.
    tie: What to do if `majority` ends in a tie: `fail`, or `undecided`.
    temperature: Sampling temperature of the judge; null: as the judge is configured.
    top_p: Nucleus sampling of the judge; null: as the judge is configured.
    max_tokens: Maximum number of tokens of a reply, besides its `thinking_tokens`; null: as the judge is configured.
    seed: Sampling seed of the judge; null: as the judge is configured.
    longest: Maximum length of a response in characters; a longer one gets the lowest score (`too_long`) without asking
        the judge. null: 60,000; for `judge`, `rubric`, `checklist` and `fact`, as much as fits into the judge's
        context, if its size is known.
    hollow: What to do with a response without substance: `refuse` (the lowest score, without asking the judge) or
        `ask`.
    shown: Maximum number of characters of the judge's reasons in the feedback.
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
    longest: int | None = None
    hollow: Literal["refuse", "ask"] = "refuse"
    shown: int = 2000

    def __post_init__(self) -> None:
        for name, low, high in (("samples", 1, 64), ("longest", 1, 10**7), ("shown", 0, 10**6)):
            value = getattr(self, name)
            if value is not None and not low <= value <= high:
                raise InvalidParams(f"params.{name} must be from {low} to {high}, not {value}", path=f"params.{name}")
        if self.temperature is not None and not 0 <= self.temperature <= 2:
            raise InvalidParams("params.temperature must be from 0 to 2", path="params.temperature")
        positive_share("top_p", self.top_p)
        if self.max_tokens is not None and not 1 <= self.max_tokens <= 10**7:
            raise InvalidParams("params.max_tokens must be from 1 to 10000000", path="params.max_tokens")
        if self.seed is not None and not -(2**63) <= self.seed < 2**63:
            raise InvalidParams("params.seed must be an integer of 64 bits", path="params.seed")

    @property
    def most_shown(self) -> int:
        """The maximum number of characters of a response shown to a judge."""
        return LONGEST if self.longest is None else self.longest


def check_portions(portions: int) -> None:
    """Raises InvalidParams for an invalid number of portions."""
    if not 1 <= portions <= MOST_PORTIONS:
        raise InvalidParams(f"params.portions must be from 1 to {MOST_PORTIONS}", path="params.portions")
