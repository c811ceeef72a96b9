"""Computations that a verifier requests from a model, and their results. `ctx.model` is a `Model`.

Unlike a judge (`chat.py`), which replies, such a model returns numbers (logits of a head, probabilities of tokens,
vectors) or texts, several per prompt. The server's configuration (`[models]`) decides which models exist and where they
run. The verifier decides what a number means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, Protocol, TypeVar

from rewarden_verifiers.chat import Message

Fit = Literal["error", "left", "middle"]

R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """The input for a model: a chat, which the model's own template renders, or a literal text.

    messages: in OpenAI's format; content is text or parts (text; image_url with a data: address, for vision models). If
    the last message is the assistant's, the template closes it, or it is left open (`open`), so that appended text
    continues it. begin: append the template's beginning of an assistant turn. text: instead of messages; tokens that
    the tokenizer adds by itself (such as [CLS]) are added. pair: a second text, for models that read two.

    candidate: the part of the input that the policy wrote; if the input is too long, its length shows who is to blame.
    fit: what to do with an input beyond the model's context: raise an error, or drop tokens at its beginning (`left`)
    or in its middle (`middle`).

    The model's control tokens within a message's content or a text are neutralised.
    """

    messages: Sequence[Message] | None = None
    text: str | None = None
    pair: str | None = None
    begin: bool = False
    open: bool = False
    candidate: str = ""
    fit: Fit = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The provenance of a result. model: its configured name; version: identifies weights, revision and dtype, and
    changes when they are swapped. tokens: the number read; written: the number generated. truncated: `fit` dropped
    some; neutralised: control tokens were neutralised. cached: taken from the cache, or computed for another request
    too. weak: the model is configured as too small for its numbers to count.
    """

    model: str
    version: str
    tokens: int = 0
    written: int = 0
    truncated: bool = False
    neutralised: bool = False
    cached: bool = False
    weak: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Logits:
    """Raw outputs of a classification head, one per label, before any activation. labels: the model's names for them.
    multi: the model's configuration says that its labels are not mutually exclusive.
    """

    values: Sequence[float]
    labels: Sequence[str]
    multi: bool = False
    facts: Facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """logprobs: for each requested text, the natural log-probability that the model continues with it, summed over its
    tokens.
    """

    logprobs: Sequence[float]
    facts: Facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Likelihoods:
    """The tokens of a continuation: their texts, which together are the continuation, and their natural
    log-probabilities given everything before them.
    """

    tokens: Sequence[str]
    logprobs: Sequence[float]
    facts: Facts


@dataclass(frozen=True, slots=True, kw_only=True)
class StepValues:
    """One row per step, in order: with a token-classification head, its raw outputs, one per label (`labels`);
    otherwise, the log-probabilities of the requested texts at the step's mark.
    """

    values: Sequence[Sequence[float]]
    labels: Sequence[str]
    facts: Facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A text written by the model. finish: `length`: truncated at its limit."""

    text: str
    finish: Literal["stop", "length"] = "stop"
    tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """The requested number of samples."""

    texts: Sequence[Written]
    facts: Facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Margin:
    """The logit of the first of two texts over the second: above 0 if the head prefers the first."""

    logit: float
    facts: Facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Vector:
    """An embedding, pooled as the model defines it; of length 1 if normalisation was requested."""

    values: Sequence[float]
    facts: Facts


class Task(Generic[R]):
    """A piece of work for a model; `R` is the type of its result."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Classify(Task[Logits]):
    """Runs a sequence-classification head over the input."""

    input: Input


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair(Task[Margin]):
    """Compares two responses to a prompt with a head that reads all three at once. Such a head can have a position
    bias, so ask in both orders if the result matters.

    candidate: the part of the two that the policy wrote; fit: as in `Input`, for each of the three texts. The prompt is
    shortened first, to three fifths of the context; the two texts share the rest equally.
    """

    prompt: str
    first: str
    second: str
    candidate: str = ""
    fit: Fit = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choose(Task[Choices]):
    """The probability that each of these texts comes next. Texts must be distinct and not empty."""

    input: Input
    choices: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Likelihood(Task[Likelihoods]):
    """The probability of this continuation of the input, token by token. Not empty. Siblings that share the input, and
    continuations that share their beginning, compute it once.
    """

    input: Input
    continuation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate(Task[StepValues]):
    """Values of steps. The steps follow the input (an open chat or a text), each followed by `mark`. Values are read at
    the mark's last token (`at` "mark"), or from the prediction of the token after it (`at` "next").

    choices: for a model without a token-classification head, the texts to compare at that position: with `at` "next",
    the probability that they follow the mark (as Math-Shepherd's published code reads " +" and " -" at its tag, arXiv
    2312.08935); with "mark", the probability that they stand in place of the mark. Empty for a model with such a head.
    A leading space counts: it makes another token.
    """

    input: Input
    steps: Sequence[str]
    mark: str
    choices: Sequence[str] = ()
    at: Literal["mark", "next"] = "mark"


@dataclass(frozen=True, slots=True, kw_only=True)
class Write(Task[Texts]):
    """Writes `samples` continuations of the input, each of at most `max_tokens`. temperature 0: greedy. seed: equal
    seeds give equal samples. stop: texts that end a sample, and are not part of it.

    thinking_tokens: reasoning (from the beginning of the output to `close`) longer than this is ended by inserting
    `close`, after which the model continues (a budget, as in J1, arXiv 2505.11875); None: no limit but max_tokens.
    """

    input: Input
    samples: int = 1
    max_tokens: int = 1024
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int = 0
    stop: Sequence[str] = ()
    thinking_tokens: int | None = None
    close: str = "</think>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Embed(Task[Vector]):
    """The vector of an input."""

    input: Input
    normalise: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """Facts about a model. kinds: names of the tasks it supports; context: the maximum number of tokens it reads;
    labels: those of its head; version: see `Facts`; source: the name of the folder or repository it was loaded from,
    without its location.
    """

    model: str
    version: str
    kinds: Sequence[str]
    context: int
    labels: Sequence[str] = ()
    dtype: str = ""
    device: str = ""
    source: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)


class Model(Protocol):
    """The configured models. Inherits the request's deadline and cancellation."""

    async def run(self, task: Task[R], model: str | None = None) -> R:
        """Runs the task on the named model (None: the default). Equal tasks are run once.

        Raises InvalidParams (`params.model`) for a name that is not configured or a model that does not support the
        task, InputTooLong, InvalidSample for an input that the model cannot read, and ModelError if the model cannot be
        reached, runs out of memory even with this task alone, or returns numbers that are not finite.
        """
