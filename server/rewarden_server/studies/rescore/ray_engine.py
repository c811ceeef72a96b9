"""One engine on a Ray cluster: the code that runs there, and the settings that it is started with.

Everything travels as JSON, so that nodes of another version refuse what they cannot read instead of misreading it.
"""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rewarden.errors import Overloaded, RequestError, SampleError
from rewarden.types import Batch, Use, Verdict
from rewarden.wire.json import (
    dumps,
    error_to_json,
    header_from_json,
    loads,
    sample_from_json,
    use_from_json,
    use_to_json,
    verdict_to_json,
)
from rewarden_server.config import FILE_VARIABLE, PREFIX, Config, load_config
from rewarden_server.engine.plan import Planner
from rewarden_server.judges.settings import JudgeEndpoint
from rewarden_server.local import LocalTransport
from rewarden_verifiers.registry import Registry

_API_KEY = f"{PREFIX}API_KEY"
_DEFAULT_KEY = "OPENAI_API_KEY"
"""The variable that the clients of judges' servers read where nothing is said."""


def pack(config: Config, environ: Mapping[str, str], uses: Sequence[Use], *, cores: int, engines: int) -> bytes:
    """Returns the settings of every engine: the configuration as this process read it (the file's text, our variables),
    the variables that hold judges' keys, its number of cores, and the number of engines that share the judges' limits.

    They hold secrets, and so are passed to the engines alone, as an argument, and never in a runtime environment, which
    Ray shows.
    """
    keys = {_DEFAULT_KEY}
    keys.update(judge.api_key_env for judge in config.judges.named.values() if judge.api_key_env)
    keys.update(model.api_key_env for model in config.models.named.values() if model.api_key_env)
    ours = {
        name: value
        for name, value in environ.items()
        if name.startswith(PREFIX) and name not in (FILE_VARIABLE, _API_KEY)
    }
    return dumps(
        {
            "toml": config.file.read_text(encoding="utf-8") if config.file is not None else None,
            "environ": ours,
            "keys": {name: environ[name] for name in sorted(keys) if name in environ},
            "uses": [use_to_json(use) for use in uses],
            "cores": cores,
            "engines": engines,
        }
    )


def unpack(told: Mapping[str, Any]) -> Config:
    """The configuration of one engine. Settings without a value are sized by its cores, not by those of the machine,
    which it shares; limits on judges are this engine's part of them. Raises ConfigError."""
    cores = told["cores"]
    flags = {"engine.workers": ("flag --shard-cores", cores)}
    with tempfile.NamedTemporaryFile("w", suffix=".toml", encoding="utf-8") as file:
        # An empty file where there was none: one that lies in the node's working folder is not ours.
        file.write(told["toml"] or "")
        file.flush()
        config = load_config(Path(file.name), environ=told["environ"], flags=flags)
    sized = {
        "engine": {"query_workers": 2 * cores, "slow_query_workers": cores},
        "sandbox": {"slots": 4 * cores},
        "lean": {"processes": cores},
    }
    made = {
        section: replace(
            getattr(config, section),
            **{name: value for name, value in values.items() if config.source(f"{section}.{name}") == "default"},
        )
        for section, values in sized.items()
    }
    named = {name: _part(judge, told["engines"]) for name, judge in config.judges.named.items()}
    return replace(config, **made, judges=replace(config.judges, named=named), file=None)


def has_budgets(config: Config) -> bool:
    """Returns whether any judge has a budget, of which each engine has a part that ends with it."""
    return any(
        limit is not None
        for judge in config.judges.named.values()
        for limit in (judge.budget_usd, judge.budget_tokens, judge.budget_calls)
    )


def _part(judge: JudgeEndpoint, engines: int) -> JudgeEndpoint:
    def whole(limit: int | None, least: int) -> int | None:
        return max(least, limit // engines) if limit is not None else None

    return replace(
        judge,
        concurrency=max(1, judge.concurrency // engines),
        requests_per_minute=whole(judge.requests_per_minute, 1),
        tokens_per_minute=whole(judge.tokens_per_minute, 1),
        budget_usd=judge.budget_usd / engines if judge.budget_usd is not None else None,
        budget_tokens=whole(judge.budget_tokens, 0),
        budget_calls=whole(judge.budget_calls, 0),
    )


def fingerprints(uses: Sequence[Use]) -> list[str | None]:
    """Returns the fingerprints of uses with the packages that are installed here; None for a use that cannot be
    resolved."""
    planner = Planner(Registry())
    found: list[str | None] = []
    for use in uses:
        try:
            found.append(planner.bind(use).ref.fingerprint)
        except SampleError:
            found.append(None)
    return found


class RayEngine:
    """The actor: an engine behind calls of bytes. Its methods run on one loop, many at once."""

    def __init__(self, told: bytes) -> None:
        self._told = loads(told)
        os.environ.update(self._told["keys"])
        self._target = LocalTransport(config=unpack(self._told))

    async def start(self) -> bytes:
        """Start; says where it is and what it would judge with."""
        info = await self._target.info()
        uses = [use_from_json(use) for use in self._told["uses"]]
        return dumps(
            {
                "host": socket.gethostname(),
                "pid": os.getpid(),
                "children": info["lanes"]["cpu"]["pids"],
                "version": version("rewarden-server"),
                "fingerprints": fingerprints(uses),
            }
        )

    async def here(self) -> None:
        """Answers where it is not hung."""

    async def judge(self, header: bytes, samples: bytes) -> bytes:
        """Verdicts of a piece, in its order, as one JSON list; or `{"error": …}` of a request's error."""
        batch: Batch = replace(
            header_from_json(loads(header)), samples=[sample_from_json(sample) for sample in loads(samples)]
        )
        try:
            verdicts = await self._judged(batch)
        except RequestError as error:
            return dumps(error_to_json(error))
        return dumps([verdict_to_json(verdict) for verdict in verdicts])

    async def _judged(self, batch: Batch) -> Sequence[Verdict]:
        """The verdicts of a piece, in its order."""
        try:
            return (await self._target.verify(batch)).verdicts
        except Overloaded:
            pass
        # A batch costs the loop less, but comes in whole or not at all. A stream waits for room, sample by sample, so
        # that a piece is judged that is larger than `engine.max_samples`.
        header, samples = replace(batch, samples=()), _each(batch.samples)
        verdicts: dict[int, Verdict] = {}
        async with aclosing(self._target.stream(header, samples)) as items:
            async for item in items:
                if isinstance(item, Verdict):
                    verdicts[item.index] = item
        return [verdicts[index] for index in range(len(batch.samples))]

    async def verifiers(self, name: str | None) -> bytes:
        """Returns the verifiers and recipes of this engine, as JSON."""
        try:
            return dumps(await self._target.verifiers(name))
        except RequestError as error:
            return dumps(error_to_json(error))

    async def close(self) -> None:
        """Stop; what runs is cancelled."""
        await self._target.close()


async def _each(samples: Sequence[Any]) -> AsyncIterator[Any]:
    for sample in samples:
        yield sample
