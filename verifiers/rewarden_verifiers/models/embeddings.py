"""Texts as vectors, and their similarity: how `similarity`, `consensus` and `diversity` use embedding models.

Vectors are compared in this process, in a thread: with numpy if it is installed, else in plain Python. Both give the
same numbers within a double's last digits, and neither blocks the event loop.
"""

from __future__ import annotations

import asyncio
import importlib
import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import mul
from typing import Any, ClassVar, Literal

from rewarden.errors import InputTooLong, MissingDependency, ModelError
from rewarden_verifiers.contract import Context
from rewarden_verifiers.inference import Embed, Fit, Input, Vector
from rewarden_verifiers.judges.gather import gather
from rewarden_verifiers.models.model_tasks import ask
from rewarden_verifiers.models.seen import Seen

Near = Literal["positive", "shifted"]

MOST_PLAIN = 128
"""Maximum number of vectors compared in pairs without numpy: less than a second for 384 numbers each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedding:
    """Settings for turning texts into vectors.

    model: a name in the server's `[models.named]`; None: the server's default. prefix: prepended to each text, for
    models trained with a prefix ("query: "). fit: what to do with a text longer than the model's context, as for all
    models.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    model: str | None = None
    prefix: str = ""
    fit: Fit = "error"


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """Unit vectors by text. long: the error for each text that does not fit into the model's context."""

    of: dict[str, array[float]]
    long: dict[str, InputTooLong]


async def vectors(ctx: Context, texts: Sequence[str], how: Embedding, seen: Seen, *, written: bool = True) -> Vectors:
    """The vectors of texts; each distinct text is requested once. written: whether the policy wrote the texts.

    Raises ModelError if vectors have different lengths, or one has no direction.
    """
    distinct = list(dict.fromkeys(texts))
    results = await gather(*(_vector(ctx, text, how, seen, written) for text in distinct))
    of: dict[str, array[float]] = {}
    long: dict[str, InputTooLong] = {}
    for text, found in zip(distinct, results, strict=True):
        if isinstance(found, InputTooLong):
            long[text] = found
        else:
            of[text] = _unit(found.values)
    if len({len(one) for one in of.values()}) > 1:
        raise ModelError("the model gave vectors of different lengths")
    return Vectors(of, long)


async def _vector(ctx: Context, text: str, how: Embedding, seen: Seen, written: bool) -> Vector | InputTooLong:
    given = Input(text=how.prefix + text, candidate=text if written else "", fit=how.fit)
    try:
        return await ask(ctx, Embed(input=given), how.model, seen)
    except InputTooLong as error:
        return error


def _unit(values: Sequence[float]) -> array[float]:
    length = math.hypot(*values) if values else 0.0
    if not (math.isfinite(length) and length > 0):
        raise ModelError("the model gave a vector without a direction")
    return array("d", (value / length for value in values))


def near(cosine: float, scale: Near) -> float:
    """Maps a cosine to a nearness from 0 to 1. `positive`: negative values become 0; `shifted`: (1 + cosine) / 2."""
    found = cosine if scale == "positive" else (1.0 + cosine) / 2.0
    return 1.0 if found >= 1.0 - 1e-9 else max(0.0, found)  # rounding: the cosine of equal texts can miss 1


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    """The cosine of two unit vectors."""
    return math.fsum(map(mul, a, b))


async def cosines(one: Sequence[float], others: Sequence[Sequence[float]]) -> Sequence[float]:
    """The cosines of one vector with each of the others."""
    return await asyncio.to_thread(_row, one, others)


async def mean_distances(found: Sequence[Sequence[float]]) -> Sequence[float]:
    """For each of several unit vectors, 1 - its mean cosine with the others, from 0 to 1. Takes linear time: the mean
    follows from the cosine with the sum of all vectors.
    """
    return await asyncio.to_thread(_mean_distances, found)


async def nearest_distances(found: Sequence[Sequence[float]]) -> Sequence[float]:
    """For each of several unit vectors, 1 - its largest cosine with another one, from 0 to 1.

    Raises MissingDependency for more than `MOST_PLAIN` vectors if numpy is not installed.
    """
    if len(found) > MOST_PLAIN and _numpy() is None:
        raise MissingDependency(
            f"the nearest of {len(found)} vectors need the package 'numpy': pip install numpy", verifier="diversity"
        )
    return await asyncio.to_thread(_nearest_distances, found)


def _row(one: Sequence[float], others: Sequence[Sequence[float]]) -> Sequence[float]:
    if (numpy := _numpy()) is not None and others:
        made: list[float] = (numpy.asarray(others) @ numpy.asarray(one)).tolist()
        return made
    return [cosine(one, other) for other in others]


def _mean_distances(found: Sequence[Sequence[float]]) -> Sequence[float]:
    total = [math.fsum(column) for column in zip(*found, strict=True)]
    return [_distance((cosine(one, total) - 1.0) / (len(found) - 1)) for one in found]


def _nearest_distances(found: Sequence[Sequence[float]]) -> Sequence[float]:
    if (numpy := _numpy()) is not None:
        matrix = numpy.asarray(found)
        table = matrix @ matrix.T
        numpy.fill_diagonal(table, -numpy.inf)
        return [_distance(value) for value in table.max(axis=1).tolist()]
    most = [-1.0] * len(found)
    for place, one in enumerate(found):
        for other in range(place):
            value = cosine(one, found[other])
            most[place], most[other] = max(most[place], value), max(most[other], value)
    return [_distance(value) for value in most]


def _distance(value: float) -> float:
    distance = 1.0 - value
    return 0.0 if distance <= 1e-9 else min(1.0, distance)  # rounding: equal vectors can miss 0


@lru_cache(maxsize=1)
def _numpy() -> Any:
    try:
        return importlib.import_module("numpy")
    except ImportError:
        return None
