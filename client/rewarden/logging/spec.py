"""Logs from a line of text: `REWARDEN_LOG`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl

from rewarden.errors import InvalidRequest
from rewarden.logging.jsonl import to_jsonl
from rewarden.logging.mlflow import to_mlflow
from rewarden.logging.report import Sink
from rewarden.logging.reward_log import EVERY_S, PREFIX, RewardLog
from rewarden.logging.tensorboard import to_tensorboard
from rewarden.logging.trackio import to_trackio
from rewarden.logging.wandb import to_wandb

EVERY = 512

_KINDS: Mapping[str, tuple[str, Callable[..., Sink]]] = {
    "jsonl": ("a file", to_jsonl),
    "mlflow": ("", lambda experiment=None: to_mlflow(experiment=experiment)),
    "tensorboard": ("a folder", to_tensorboard),
    "trackio": ("", lambda project="rewarden": to_trackio(project=project)),
    "wandb": ("", lambda project=None: to_wandb(project=project)),
}


@functools.lru_cache(maxsize=64)
def read_log(spec: str) -> RewardLog:
    """The log that a text describes; the same text is the same log, in one process.

    `KIND[:TARGET]`, or several with commas, then `?every=512&every_s=30&worst=16&prefix=rewarden` where other than
    these defaults is wanted. KIND and TARGET: `jsonl:FILE`, `tensorboard:FOLDER`, `wandb[:PROJECT]`,
    `trackio[:PROJECT]`, `mlflow[:EXPERIMENT]`. Raises InvalidRequest.
    """
    body, _, query = spec.partition("?")
    sinks = [_sink(part.strip()) for part in body.split(",")]
    options: dict[str, Any] = {"every": EVERY, "every_s": EVERY_S, "worst": 16, "prefix": PREFIX}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in options:
            raise InvalidRequest(f"log: unknown option {name!r}; use {', '.join(options)}")
        if name != "prefix" and not value.isdecimal():
            raise InvalidRequest(f"log: {name} must be a whole number, not {value!r}")
        options[name] = value if name == "prefix" else int(value)
    log = RewardLog(*sinks, **options)
    log.rebuild = read_log, (spec,)  # copies in another process share one log there, too
    return log


def _sink(part: str) -> Sink:
    kind, _, target = part.partition(":")
    if kind not in _KINDS:
        raise InvalidRequest(f"log: {part!r} is not one of {', '.join(_KINDS)}, such as jsonl:rewards.jsonl")
    needed, make = _KINDS[kind]
    if needed and not target:
        raise InvalidRequest(
            f"log: {kind} needs {needed}, such as {kind}:{'rewards.jsonl' if kind == 'jsonl' else 'runs'}"
        )
    return make(target) if target else make()
