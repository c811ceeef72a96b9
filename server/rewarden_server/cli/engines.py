"""The arguments that say where the rows of a file are judged: here, on a server, or on Ray; and the target that they
name."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from rewarden.client import AsyncClient
from rewarden.commands.connection import authority_options
from rewarden.commands.use import functions_of
from rewarden.retry import Retry
from rewarden.transports.authority import CA_HELP
from rewarden.types import Use
from rewarden_server.cli.numbers import positive, seconds
from rewarden_server.config import load_config
from rewarden_server.studies.rescore.options import RescoreError
from rewarden_server.studies.rescore.progress import Watcher
from rewarden_server.studies.rescore.target import LOCAL, Target

_AT_FIRST = Retry(patience_s=5.0)


def add_engines(add: Callable[..., Any]) -> None:
    """Adds --target, --engine and what belongs to them through a parser's `add_argument`."""
    add(
        "--target",
        default=LOCAL,
        metavar="URL",
        help="http://… or grpc://HOST:PORT (default: an engine in this process)",
    )
    add(
        "--engine",
        choices=("local", "ray"),
        default="local",
        help="without --target: judge in this process (local) or on Ray",
    )
    add(
        "--ray-address",
        metavar="ADDRESS",
        help="ray://HOST:PORT, or auto for a Ray that runs here (default: start one)",
    )
    add("--shards", type=positive, metavar="N", help="the number of engines on Ray (default: as many as fit)")
    add("--shard-cores", type=positive, metavar="N", help="cores per engine (default: at most 4)")
    add("--api-key", metavar="KEY", help="the API key (default: REWARDEN_API_KEY)")
    add("--ca", metavar="FILE", help=CA_HELP)
    add("--timeout", type=seconds, metavar="S", help="give up if the server sends nothing for S seconds")


def check_engine(args: argparse.Namespace) -> None:
    """Refuses flags that would have no effect. Raises RescoreError."""
    of_ray = {"--ray-address": args.ray_address, "--shards": args.shards, "--shard-cores": args.shard_cores}
    if args.engine != "ray":
        for flag, value in of_ray.items():
            if value is not None:
                raise RescoreError(f"{flag} needs --engine ray")
        return
    if args.target != LOCAL:
        raise RescoreError("--engine ray starts its own engines: omit --target or --engine")
    for flag, value in {"--api-key": args.api_key, "--ca": args.ca, "--timeout": args.timeout}.items():
        if value is not None:
            raise RescoreError(f"{flag} applies to a server at --target, not to --engine ray")
    if args.workers is not None:
        raise RescoreError("--workers applies to the engine in this process; with --engine ray, use --shard-cores")


@asynccontextmanager
async def judging(args: argparse.Namespace, uses: Sequence[Use], watcher: Watcher) -> AsyncIterator[tuple[Target, int]]:
    """The target that the arguments name, and how many samples it has in hand at once at most (0: as many as any).

    SIGINT and SIGTERM cancel this task. Raises RescoreError, RequestError.
    """
    _end_on_signals()
    if args.engine == "ray":
        from rewarden_server.studies.rescore.ray import RayEngines

        engines = await RayEngines.open(
            load_config(args.config, environ=os.environ),
            uses,
            environ=os.environ,
            address=args.ray_address,
            engines=args.shards,
            cores=args.shard_cores,
            watcher=watcher,
        )
        _end_on_signals()  # Ray has replaced the handlers
        try:
            yield engines, engines.in_hand
        finally:
            await engines.close()
        return
    settings = authority_options(args.target, args.ca)
    if args.target == LOCAL:
        flags = {"engine.workers": ("flag --workers", args.workers)} if args.workers is not None else {}
        settings["config"] = load_config(args.config, environ=os.environ, flags=flags)
        settings["functions"] = functions_of(uses)
    key = args.api_key or os.environ.get("REWARDEN_API_KEY") or None
    if args.target != LOCAL:
        # A mistyped address fails at once; a server that disappears in the middle of a long run is waited for.
        async with AsyncClient(args.target, api_key=key, timeout_s=args.timeout, retry=_AT_FIRST, **settings) as client:
            await client.verifiers()
    async with AsyncClient(args.target, api_key=key, timeout_s=args.timeout, **settings) as client:
        yield client, 0


def _end_on_signals() -> None:
    """Cancels this task on SIGINT and SIGTERM."""
    task = asyncio.current_task()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):
            loop.add_signal_handler(number, task.cancel if task is not None else loop.stop)
