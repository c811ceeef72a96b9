"""Parameters shared by all verifiers in which a hosted model writes text or chooses between words."""

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
    """Options of every verifier that uses a generative model.

    instructions: Further instructions to the model, added to the built-in prompt.
    prompt: Jinja2 templates that replace the built-in prompt.
    plain: For a model trained on its own template: insert untrusted texts as they are, without fences (control tokens
        of chats are still neutralised). If `prompt.user` is given, it is then all that the model reads.
    lead: The beginning of the model's turn, such as `The answer is:` or empty reasoning. It is not read as part of the
        model's output.
    samples: How many texts to write from one prompt.
    temperature: Sampling temperature. Several samples need a temperature above 0.
    top_p: Nucleus sampling.
    seed: Sampling seed.
    max_tokens: Maximum number of tokens of one text, including its reasoning.
    thinking_tokens: Close the reasoning after this many tokens, so that the model goes on to its verdict; null: no
        separate limit.
    opened: Whether the model's chat template opens the reasoning, so that a text without `</think>` contains no
        verdict.
    turns: Further user messages, each sent after the model's answer to the one before (without its reasoning). The
        verdict is requested and read in the last turn (branch and rethink, BR-RM).
    form: Where the verdict is in a written text.
    least_mass: For `by: token`: the minimum probability of all words together. With less, the model was about to say
        something else.
    media: Whether the model sees the images of the sample and of its prompt.
    shown: Maximum number of characters of the model's text in the feedback.
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
    """Returns the words of all groups, by parameter. Raises InvalidParams for an empty group, and if one word is a
    prefix of another, since its probability would include the other's.
    """
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
