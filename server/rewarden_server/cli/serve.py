"""`rewarden serve`: serves over HTTP and gRPC until a signal, then drains."""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import signal
import sys
from pathlib import Path

import uvloop

from rewarden.commands.terminal import add_examples, say
from rewarden_server.cli.settings import add_settings, read_settings
from rewarden_server.config import Config, ConfigError
from rewarden_server.listening import use_all_descriptors
from rewarden_server.observe.logs import get_logger, set_up_logs
from rewarden_server.serving import Serving

HELP = "serve verdicts over HTTP and gRPC"

_log = get_logger("serve")


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's flags."""
    add_settings(parser)
    parser.add_argument(
        "--ready-file",
        type=Path,
        metavar="FILE",
        help="when ready, write both addresses to this file, as a JSON object",
    )
    add_examples(
        parser,
        "rewarden serve",
        "rewarden serve --host 0.0.0.0 --config rewarden.toml --record records --set engine.workers=4",
    )


def run(args: argparse.Namespace) -> int:
    """Serves until SIGTERM or SIGINT. Returns 0 after draining, 2 for a wrong setting; a second signal exits with 1."""
    try:
        config = read_settings(args)
        set_up_logs(config.logs)
        use_all_descriptors()
        uvloop.run(serve(config, args.ready_file))
    except ConfigError as error:
        say(f"rewarden serve: {error.message}", file=sys.stderr)
        return 2
    return 0


async def serve(config: Config, ready_file: Path | None = None) -> None:
    """Serves until SIGTERM or SIGINT, then drains. Raises ConfigError before anything is started."""
    stop = _signals()
    serving = Serving(config)
    await serving.start()
    # A large batch is many small objects that all stay until its answer: the default thresholds would have the
    # collector walk them, and everything loaded at the start, again and again.
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    if not serving.service.keys.required and config.server.host not in ("127.0.0.1", "localhost", "::1"):
        _log.warning("no API keys: open to everyone", host=config.server.host, fix="rewarden keys new NAME")
    if serving.service.audit is not None:
        # Log rotation moves the file away, and then sends this signal.
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, serving.service.audit.reopen)
    if ready_file is not None:
        _write(ready_file, {"http": serving.http, "grpc": serving.grpc, "pid": os.getpid()})
    say(f"rewarden serves on {serving.http} and {serving.grpc}", flush=True)
    await stop.wait()
    _log.info("drain", seconds=config.server.drain_s)
    await serving.drain(config.server.drain_s)
    _log.info("end")


def _signals() -> asyncio.Event:
    """Returns an event for the first SIGTERM or SIGINT; the second ends the process at once."""
    stop = asyncio.Event()

    def stopped() -> None:
        if stop.is_set():
            os._exit(1)  # workers end by themselves: their fork server's socket is gone
        stop.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped)
    return stop


def _write(path: Path, value: dict[str, object]) -> None:
    """Writes the file atomically, so that a process that waits for it never reads half of it."""
    temporary = path.with_name(path.name + ".part")
    temporary.write_text(json.dumps(value), encoding="utf-8")
    temporary.replace(path)
