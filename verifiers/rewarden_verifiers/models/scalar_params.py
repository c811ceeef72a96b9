"""The options of `rm_scalar`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from rewarden_verifiers.models.outputs import Output
from rewarden_verifiers.models.params import ModelParams

_PLACES = re.compile(r"\{(prompt|response|system|principles)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ensembled:
    """One of several models.

    weight: Its weight in a mean.
    output, alpha, shift: As the parameters of the same names, for this model; null: the values of those parameters.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    weight: float = 1.0
    output: Output | dict[str, float] | None = None
    alpha: float | None = None
    shift: float | None = None


@dataclass(frozen=True, kw_only=True)
class Params(ModelParams):
    """Options of `rm_scalar`.

    models: Several models instead of `model`: each name with its weight, or with `{weight, output, alpha, shift}`. Each
        model's score is a component.
    combine: How to combine several scores: their weighted `mean`, `min`, `max` or `median`.
    form: `chat`: the model's own chat template renders prompt and response; `text`: `template` does; `pair`: they are
        the two texts of a model that reads pairs.
    template: The template for `form: text`. It must contain {response}, and can contain {prompt}, {system} and
        {principles}.
    show: What the model sees: `response`: the response as selected by the view; `transcript`, for `form: chat`: all
        messages of the response after the prompt (earlier assistant messages without their reasoning).
    turn: Whether the response is a complete turn: `closed`; `open`: a beginning that can continue, such as a sequence
        being decoded (Transfer Q*); `as_finished`: open if the response ended at a limit (`finish_reason` length).
    media: Whether the model sees the sample's images, for `form: chat`. It always sees images within the prompt.
    system: The text before everything else.
    principles: What the model must judge by (SALMON, arXiv 2310.05910), one line each after `system`.
    principles_from: The field of the sample's metadata that contains such a list, instead of `principles`.
    output: The output that counts, by index or name, if the head has several; or a weight for each output that counts.
    transform: How the reward r becomes the score. With x = alpha × (r - shift): `sigmoid`: 1 / (1 + exp(-x)); `tanh`:
        tanh(x); `linear`: x, limited to `low` and `high`. `probability`: the output's share, by softmax if the model's
        labels exclude each other, else by sigmoid.
    alpha: The factor in `transform`.
    shift: The offset in `transform`, subtracted from r.
    low: The lower end of the range of `linear`.
    high: The upper end of the range of `linear`.
    baseline: `reference`: first subtract the reward of the reference as a response to the same prompt.
    length_penalty: Subtract this from r for each `length_unit` of the response (RLHF Workflow, arXiv 2405.07863).
    length_unit: `characters`, `words`, or `tokens` (the policy's own, from the sample's `token_count`).
    threshold: The lowest score that passes; null: `passed` is not set.
    """

    models: dict[str, float | Ensembled] = field(default_factory=dict)
    combine: Literal["mean", "min", "max", "median"] = "mean"
    form: Literal["chat", "text", "pair"] = "chat"
    template: str = "{prompt}\n\n{response}"
    show: Literal["response", "transcript"] = "response"
    turn: Literal["closed", "open", "as_finished"] = "closed"
    media: bool = False
    system: str = ""
    principles: tuple[str, ...] = ()
    principles_from: str | None = None
    output: Output | dict[str, float] | None = None
    transform: Literal["sigmoid", "tanh", "linear", "probability"] = "sigmoid"
    alpha: float = 1.0
    shift: float = 0.0
    low: float = -10.0
    high: float = 10.0
    baseline: Literal["reference"] | None = None
    length_penalty: float = 0.0
    length_unit: Literal["characters", "words", "tokens"] = "characters"
    threshold: float | None = None

    def __post_init__(self) -> None:
        numbers = [self.alpha, self.shift, self.low, self.high, self.length_penalty]
        for one in self.ensemble.values():
            numbers += [one.weight, one.alpha or 0.0, one.shift or 0.0, *weights_of(one.output)]
            if one.weight <= 0:
                raise ValueError("the weight of each of models must be above 0")
        if not all(math.isfinite(number) for number in (*numbers, *weights_of(self.output), self.threshold or 0.0)):
            raise ValueError("numbers must be finite")
        if self.alpha == 0 or any(one.alpha == 0 for one in self.ensemble.values()):
            raise ValueError("alpha must not be 0: all would earn the same")
        if not self.low < self.high:
            raise ValueError("low must be below high")
        if self.models and self.model is not None:
            raise ValueError("give either model or models")
        if self.output == {} or any(one.output == {} for one in self.ensemble.values()):
            raise ValueError("output weighs at least one")
        if self.length_penalty < 0:
            raise ValueError("length_penalty must be at least 0")
        if self.principles and self.principles_from is not None:
            raise ValueError("give either principles or principles_from")
        if self.show == "transcript" and self.form != "chat":
            raise ValueError("a transcript is shown in the form 'chat'")
        if self.turn != "closed" and self.form != "chat":
            raise ValueError("only in the form 'chat' there are turns that may be open")
        self._check_template()
        if self.transform == "probability":
            self._check_probability()
        if self.threshold is not None and not bounds(self)[0] <= self.threshold <= bounds(self)[1]:
            raise ValueError("threshold must lie within the range of the scores")

    def _check_template(self) -> None:
        if self.form != "text":
            return
        named = set(_PLACES.findall(self.template))
        if "response" not in named:
            raise ValueError("template must hold {response}")
        for name, given in (("principles", self.principles or self.principles_from), ("system", self.system)):
            if given and name not in named:
                raise ValueError(f"template must hold {{{name}}}, since {name} is given")

    def _check_probability(self) -> None:
        if self.baseline is not None or self.length_penalty:
            raise ValueError("from a probability neither a baseline nor a length is subtracted")
        if any(isinstance(one, dict) for one in (self.output, *(one.output for one in self.ensemble.values()))):
            raise ValueError("a probability is that of one output")

    @property
    def ensemble(self) -> Mapping[str, Ensembled]:
        """The `models`, each with its options."""
        return {
            name: made if isinstance(made, Ensembled) else Ensembled(weight=made) for name, made in self.models.items()
        }


def weights_of(output: Output | dict[str, float] | None) -> Sequence[float]:
    """The weights of several outputs; empty for a single output."""
    return tuple(output.values()) if isinstance(output, dict) else ()


def bounds(params: Params) -> tuple[float, float]:
    """The range of the scores."""
    if params.transform == "linear":
        return params.low, params.high
    return (-1.0, 1.0) if params.transform == "tanh" else (0.0, 1.0)


def filled(template: str, **texts: str) -> str:
    """Fills the template in one pass, so that text within a value is never taken for a placeholder."""
    return _PLACES.sub(lambda found: texts[found.group(1)], template)
