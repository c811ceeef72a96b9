"""The trials of all parts of a target, one after another, so that none delays another."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from itertools import chain
from typing import Any

from rewarden.client import AsyncClient
from rewarden_server.config import Config
from rewarden_server.studies.quickcheck import part
from rewarden_server.studies.quickcheck.part import Part
from rewarden_server.studies.quickcheck.trial import Trial, tried
from rewarden_server.verifier_resources import engines_of, resources_of
from rewarden_verifiers.sql.databases import Databases

_LOOKS, _PAUSE_S = 20, 0.5
"""A host's status in `/v1/info` can be a second old, and a busy host may not report it in time."""


async def trials_of(client: AsyncClient, config: Config | None, number: int, patience_s: float) -> AsyncIterator[Trial]:
    """Yields the trial of each part of a client's target as it ends.

    config: the configuration of an engine in this process; a server lists its parts in `/v1/info`, without its
    registered databases. number: a part of each question. patience_s: the limit for each verdict. Raises RequestError,
    and ConfigError for a catalogue that cannot be read.
    """
    info = await client.info()
    sandbox = info["sandbox"].get("state") != "off"
    for one in chain(part.judges(info["judges"], number), part.models(info["models"], number)):
        yield await tried(client, one, patience_s)
    if sandbox:
        yield (python := await tried(client, part.python(number), patience_s))
        # If Python does not run, nothing else does.
        for one in part.languages(await _host(client), number) if python.problem is None else ():
            yield await tried(client, one, patience_s)
    else:
        yield await tried(client, Part(kind="language", unused="no sandbox (sandbox.launcher = none)"), patience_s)
    lean = part.lean_projects(info["lean"]["projects"], number, sandbox=sandbox)
    for one in chain(_databases(info, config, number), lean):
        yield await tried(client, one, patience_s)


async def _host(client: AsyncClient) -> Mapping[str, Any]:
    """Returns the status of a sandbox host that has run a program, without languages if it does not report them."""
    for _ in range(_LOOKS):
        host: Mapping[str, Any] = (await client.info())["sandbox"].get("host") or {}
        if host.get("languages"):
            return host
        await asyncio.sleep(_PAUSE_S)
    return {"languages": {}}


def _databases(info: Mapping[str, Any], config: Config | None, number: int) -> Iterator[Part]:
    if config is None:
        return part.databases(info.get("sql", {}).get("engines", ()), None, number)
    registered = resources_of(config)["sql"]
    assert isinstance(registered, Databases)
    return part.databases(engines_of(config.sql), registered, number)
