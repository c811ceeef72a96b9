"""The answer to `GET /v1/info` and gRPC's `Info`: versions, places where work runs, limits. No secret, no name of a
key."""

from __future__ import annotations

import dataclasses
from importlib.metadata import version
from typing import Any

from rewarden_server.observe.health import problems
from rewarden_server.service import Service
from rewarden_server.verifier_resources import engines_of


async def info(service: Service) -> dict[str, Any]:
    """Returns information on the server, ready for JSON. `limits` are those that a client must keep to; `sandbox` says
    which limits of programs are enforced; `boxes` counts the boxes; `lean` lists the projects and their problems;
    `judges` says what each judge has spent and has left; `models` gives the state of each model; `sql` lists the
    engines on which a request's databases can be made; `runs` says what is stored of training runs; `problems` lists
    everything that is missing, with the fix."""
    made = await _parts(service)
    found = problems(
        made, service.config, keys_usable=service.keys.problem is None, verifiers=service.installed.problems()
    )
    return {**made, "problems": found}


async def _parts(service: Service) -> dict[str, Any]:
    limits = {name: value for name, value in dataclasses.asdict(service.limits).items() if name != "blob_dir"}
    return {
        "name": "rewarden",
        "version": version("rewarden-server"),
        "engine": service.engine.info(),
        "sandbox": await service.engine.sandbox.status(),
        "boxes": service.boxes.figures(),
        "lean": await service.engine.lean.status(),
        "judges": service.engine.judges.status(),
        "models": service.engine.models.status(),
        "sql": {"engines": engines_of(service.config.sql)},
        "runs": _runs(service),
        "limits": limits,
        "keys": service.keys.required,
    }


def _runs(service: Service) -> dict[str, Any]:
    settings = service.config.runs
    told = {"store": settings.store, "texts": settings.texts, "max_bytes": settings.max_bytes}
    failing = service.runs is not None and service.runs.problem is not None
    return {**told, "state": "off" if not settings.store else "failing" if failing else "ready"}
