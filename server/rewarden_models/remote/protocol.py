"""The interface to another engine, whatever its protocol, and the checks of its replies."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from rewarden_models.failure import Failure
from rewarden_models.row import Row
from rewarden_verifiers.inference import Written

PROBES = ("It is.", "The capital of France is Paris.", "no no no no", "x = 3; therefore the answer is 12.")
"""Texts that reveal whether a server returns raw outputs; see `raw`."""


@dataclass(frozen=True, slots=True)
class Served:
    """A server's description of its model. name: as served. context: input tokens, None if it does not say. version:
    whatever tells the weights apart; empty if it says nothing."""

    name: str
    context: int | None
    version: str


class Engine(Protocol):
    """One model behind one protocol. Every method raises Failure."""

    async def about(self) -> Served:
        """The server's description of the model."""

    async def classified(self, ids: Sequence[int]) -> list[float]:
        """Raw outputs of a sequence head."""

    async def paired(self, text: str, other: str) -> list[float]:
        """The raw output of a cross-encoder for two texts."""

    async def embedded(self, ids: Sequence[int]) -> list[float]:
        """The pooled vector."""

    async def outputs(self, ids: Sequence[int]) -> list[list[float]]:
        """Raw outputs of a token head: one row per token, or fewer if the server pools by steps."""

    async def labelled(self, ids: Sequence[int], reads: Sequence[int]) -> list[list[float]]:
        """Raw outputs of a token head at these positions."""

    async def predicted(self, row: Row) -> list[list[float]]:
        """Log-probabilities of `row.targets` at `row.reads`."""

    async def written(
        self, ids: Sequence[int], *, max_tokens: int, temperature: float, top_p: float, seed: int, stop: Sequence[str]
    ) -> Written:
        """The text that the model generates after these tokens, up to any text in `stop`."""


def numbers(value: Any, what: str) -> list[float]:
    """A list of finite numbers. Raises Failure for anything else; of kind `not_finite` for null, which both engines
    write for NaN and infinity."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        value = [value]
    if value is None or (isinstance(value, list) and None in value):
        raise Failure("not_finite", f"the model's server returned {what} that is not finite")
    if not isinstance(value, list) or not value:
        raise Failure("failed", f"the model's server returned {what} that is not a list of numbers")
    if not all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in value):
        raise Failure("failed", f"the model's server returned {what} that is not a list of numbers")
    made = [float(one) for one in value]
    if not all(map(math.isfinite, made)):
        raise Failure("not_finite", f"the model's server returned {what} that is not finite")
    return made


def first(reply: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The only entry of a list of objects. Raises Failure unless there is exactly one."""
    found = reply.get(name)
    if not isinstance(found, list) or len(found) != 1 or not isinstance(found[0], Mapping):
        raise Failure("failed", f"the model's server returned no {name!r} with one entry")
    return found[0]


def in_order(reply: Mapping[str, Any], name: str, count: int) -> list[Mapping[str, Any]]:
    """The entries of a list of `count` objects, ordered by their `index`. Raises Failure if there are more or fewer, or
    if an index is missing: one prompt's number must not be taken for another's."""
    found = reply.get(name)
    rows = {
        row["index"]: row
        for row in (found if isinstance(found, list) else [])
        if isinstance(row, Mapping) and isinstance(row.get("index"), int)
    }
    if rows.keys() != set(range(count)) or len(found or ()) != count:
        raise Failure("failed", f"the model's server returned no {name!r} with {count} entries, each with its index")
    return [rows[place] for place in range(count)]


def logprob(value: Any) -> float:
    """A log-probability. Raises Failure if it is not one."""
    made = numbers(value, "a log-probability")[0]
    if made > 1e-4:
        raise Failure("failed", f"the model's server returned a log-probability of {made}")
    return min(made, 0.0)


def check_raw(outputs: Sequence[Sequence[float]]) -> None:
    """Raises Failure if all outputs lie between 0 and 1; see `raw`."""
    if not raw(outputs):
        raise Failure(
            "unsupported",
            "the model's server gives outputs between 0 and 1 alone, as after a softmax or sigmoid, and rewards would "
            "be flat; use a version of vLLM that knows use_activation, or our own process",
        )


def named(labels: Sequence[str], count: int) -> tuple[str, ...]:
    """Labels for `count` outputs: the known ones, or numbered ones if there is not one for each."""
    return tuple(labels) if len(labels) == count else tuple(f"LABEL_{place}" for place in range(count))


def raw(outputs: Sequence[Sequence[float]]) -> bool:
    """Returns whether the outputs of several texts are a head's raw ones and not those of a softmax or sigmoid: at
    least one lies outside [0, 1]. A server that ignores the request for raw outputs does not say so, and every reward
    would lie between 0 and 1.
    """
    return any(not 0.0 <= value <= 1.0 for row in outputs for value in row)
