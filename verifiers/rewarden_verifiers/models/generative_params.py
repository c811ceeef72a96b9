"""The options that all verifiers share which have a model that we host write, or choose between words."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

from rewarden.errors import InvalidParams
from rewarden_verifiers.judges.params import Prompt, positive_share
from rewarden_verifiers.models.params import ModelParams, within
from rewarden_verifiers.models.verdicts import Form


@dataclass(frozen=True, kw_only=True)
class GenerativeParams(ModelParams):
    """Options of every verifier that asks a generative model.

    instructions: what the model is told beside the built-in prompt, in your words.
    prompt: Jinja2 texts in the place of the built-in prompt.
    plain: for a model that was trained on a template of its own: what others wrote stands in the prompt as it is, not
        fenced (chat control tokens are harmless all the same); a `prompt.user` is then all that the model reads.
    lead: how the model's turn begins, such as `The answer is:` or an empty thought; it is not read as written by it.
    samples: how many texts are written, of one prompt.
    temperature, top_p, seed: of the writing; several samples need a temperature.
    max_tokens: of one text, its thought included.
    thinking_tokens: after so many a thought is closed, and the model goes on to its verdict; none: no bound of its own.
    opened: the model's chat template opens the thought, so that a text without `</think>` never left it.
    turns: further messages of the user's, each behind what the model wrote to the one before (its thought left out);
        the verdict is asked for and read in the last turn (branch and rethink, BR-RM).
    form: where in a written text the verdict stands.
    least_mass: by token: the probability that all words together must have; with less the model was about to say
        something else.
    media: whether the model is shown the sample's images and those of its prompt.
    shown: characters of the model's text in the feedback.
    """

    instructions: str = ""
    prompt: Prompt = field(default_factory=Prompt)
    plain: bool = False
    lead: str = ""
    samples: int = 1
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int = 0
    max_tokens: int = 2048
    thinking_tokens: int | None = None
    opened: bool = False
    turns: tuple[str, ...] = ()
    form: Form = field(default_factory=Form)
    least_mass: float = 0.01
    media: bool = False
    shown: int = 2000

    def __post_init__(self) -> None:
        within("samples", self.samples, 1, 64)
        within("temperature", self.temperature, 0, 2)
        within("max_tokens", self.max_tokens, 1, 10**6)
        within("least_mass", self.least_mass, 0, 1)
        within("shown", self.shown, 0, 10**6)
        within("seed", self.seed, 0, 2**53)
        positive_share("top_p", self.top_p)
        within("thinking_tokens", self.thinking_tokens, 0, self.max_tokens)
        if self.samples > 1 and self.temperature == 0:
            message = "params.temperature: at 0 all samples are the same text; give a temperature, or samples: 1"
            raise InvalidParams(message, path="params.temperature")
        if len(self.turns) > 8 or not all(turn.strip() for turn in self.turns):
            raise InvalidParams("params.turns must be at most 8 texts, none of them blank", path="params.turns")
        self.form.check("params.form")


def words(groups: Sequence[tuple[str, Sequence[str]]]) -> tuple[str, ...]:
    """The words of all groups, by parameter. Raises InvalidParams for an empty group and for words that cannot be told
    apart: one of them is another's beginning, so that its probability would hold the other's."""
    for name, group in groups:
        if not group or not all(group):
            raise InvalidParams(f"params.{name} must be words, none of them empty", path=f"params.{name}")
    for (name, group), (_, other) in itertools.product(groups, repeat=2):
        for place, word in enumerate(group):
            for number, longer in enumerate(other):
                if (group is not other or place != number) and longer.startswith(word):
                    message = f"params.{name}: {word!r} is the beginning of {longer!r}, whose probability it would hold"
                    raise InvalidParams(message, path=f"params.{name}[{place}]")
    return tuple(word for _, group in groups for word in group)
