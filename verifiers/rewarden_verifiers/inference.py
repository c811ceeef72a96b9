"""Computations that a verifier requests from a model, and their results. `ctx.model` is a `Model`.

Unlike a judge (`chat.py`), which replies, such a model gives numbers: logits of a head, probabilities of tokens,
vectors; or texts, several for one prompt. The server's configuration (`[models]`) decides which models exist and where
they run. The verifier decides what a number means.
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
    """The input that the model reads: a chat, which its own template renders, or a text as it stands.

    messages: OpenAI's form; content is text or parts (text; image_url with a data: address, for models that see). Where
    the last message is the assistant's it is closed as the template does it, or left open (`open`), so that what is
    appended continues it. begin: the template's beginning of the assistant's turn is at the end. text: instead of
    messages; tokens that a tokenizer adds by itself (such as [CLS]) are added. pair: a second text, for models that
    read two.

    candidate: what of this the policy wrote; where the whole is too long, its length says whose doing that is. fit:
    what happens to a whole beyond the model's context: an error, or tokens are dropped at its beginning (`left`) or
    in the middle of it (`middle`).

    Control tokens of the model's that stand within a message's content or a text are made harmless.
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
    changes when they are swapped. tokens: that were read; written: that were generated. truncated: the policy `fit` had
    to drop some; neutralised: control tokens were made harmless. cached: remembered, or computed for another too.
    weak: the model is configured as too small for its numbers to count.
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
    """Raw outputs of a classification head, one a label, before any activation. labels: as the model names them.
    multi: the model's configuration says that its labels do not exclude each other."""

    values: Sequence[float]
    labels: Sequence[str]
    multi: bool = False
    facts: Facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """logprobs: natural logarithm of the probability with which the model goes on with each of the texts that were
    asked for, in their order; a text of several tokens has the sum of theirs."""

    logprobs: Sequence[float]
    facts: Facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Likelihoods:
    """Of a continuation's tokens: their texts, which together are the continuation, and natural logarithms of their
    probabilities given all before them."""

    tokens: Sequence[str]
    logprobs: Sequence[float]
    facts: Facts


@dataclass(frozen=True, slots=True, kw_only=True)
class StepValues:
    """One row a step, in order. With a token-classification head: raw outputs, one a label (`labels`); otherwise the
    log-probabilities of the texts that were asked for (`marks`), at the place of the step's mark."""

    values: Sequence[Sequence[float]]
    labels: Sequence[str]
    facts: Facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """One text that the model wrote. finish: `length`: it was cut off at its limit."""

    text: str
    finish: Literal["stop", "length"] = "stop"
    tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """Samples, as many as were asked for."""

    texts: Sequence[Written]
    facts: Facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Margin:
    """The logit of the first of two texts over the second: above 0 if the head prefers the first."""

    logit: float
    facts: Facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Vector:
    """An embedding as the model's own pooling makes it; of length 1 if it was to be normalised."""

    values: Sequence[float]
    facts: Facts


class Task(Generic[R]):
    """A piece of work for a model; `R` is what comes back."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Classify(Task[Logits]):
    """Run a sequence-classification head over the input."""

    input: Input


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair(Task[Margin]):
    """Compare two responses to a prompt with a head that reads all three at once. Such a head may like a place: what
    counts is asked in both orders.

    candidate: what of the two the policy wrote; fit: as in `Input`, of each of the three texts. The prompt gives way
    first, to three fifths of the context; what it leaves the two share equally.
    """

    prompt: str
    first: str
    second: str
    candidate: str = ""
    fit: Fit = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choose(Task[Choices]):
    """The probability of each of these texts as what comes next. Texts must differ and not be empty."""

    input: Input
    choices: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Likelihood(Task[Likelihoods]):
    """The probability of this continuation of the input, token by token. Not empty. Siblings that share the input and
    continuations that share their beginning cost it once."""

    input: Input
    continuation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate(Task[StepValues]):
    """Values of steps, which stand one after another after the input (an open chat or a text), each followed by `mark`;
    they are read at the mark's last token (`at` "mark"), or from what is predicted to follow it (`at` "next").

    choices: the texts that are compared at that place, for a model without a token-classification head: with `at`
    "next" the probability that they follow the mark (as Math-Shepherd's published code reads " +" and " -" at its tag,
    arXiv 2312.08935), with "mark" that they stand where the mark does; empty for a model with such a head. A blank at
    the beginning counts: it makes another token.
    """

    input: Input
    steps: Sequence[str]
    mark: str
    choices: Sequence[str] = ()
    at: Literal["mark", "next"] = "mark"


@dataclass(frozen=True, slots=True, kw_only=True)
class Write(Task[Texts]):
    """Write `samples` continuations of the input, each at most `max_tokens` long. temperature 0: the most probable
    token each time. seed: the same for the same. stop: texts at which a sample ends, without them.

    thinking_tokens: a thought (from the beginning of what is written up to `close`) longer than this is closed by
    putting `close` there, and what follows is written after it (a budget, as J1 has it, arXiv 2505.11875); None: no
    bound but max_tokens.
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
    """Known facts about a model. kinds: names of the tasks that it can do; context: tokens that it reads at most;
    labels: of its head; version: see `Facts`; source: the folder or name that it was loaded from, without its place."""

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
    """The models that are configured. Inherits the request's deadline and cancellation."""

    async def run(self, task: Task[R], model: str | None = None) -> R:
        """Returns what the model of that name (None: the default one) makes of the task. Equal tasks are done once.

        Raises InvalidParams (`params.model`) for a name that is not configured or a model that cannot do such a task,
        InputTooLong, InvalidSample for an input that the model cannot read, and ModelError where the model cannot be
        reached, runs out of memory even alone, or gives what is not a finite number.
        """
