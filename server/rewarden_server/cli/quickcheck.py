"""`rewarden quickcheck`: judges three samples with each judge, model, sandbox language, database and Lean project."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import sys
from pathlib import Path
from typing import Any

from rewarden.client import AsyncClient
from rewarden.commands.connection import authority_options
from rewarden.commands.terminal import say
from rewarden.errors import RequestError, RewardenError
from rewarden.retry import Retry
from rewarden.transports.authority import CA_HELP
from rewarden_server.cli.check_lines import show_check
from rewarden_server.cli.numbers import positive
from rewarden_server.config import load_config
from rewarden_server.studies.quickcheck.trial import Trial
from rewarden_server.studies.quickcheck.trials import trials_of
from rewarden_server.studies.rescore.target import LOCAL

HELP = "judge three samples with each judge, model, language, database and Lean project"

EXPECTED, UNEXPECTED, REFUSED = 0, 1, 2

_DESCRIPTION = """\
Judge a right, a wrong and an empty answer with each configured judge, model, sandbox language, database engine and
Lean project, and with one registered database of each engine, one after another. Show the verdicts and how long they
took.

A judge receives two short questions, which cost what its provider charges. The empty answer is not sent to it.
"""

_EPILOG = """\
examples:
  rewarden quickcheck
  rewarden quickcheck --config rewarden.toml --json
  rewarden quickcheck --target http://127.0.0.1:8080

exit status:
  0  every verdict is as expected
  1  a verdict is not as expected or has no score, or the server failed
  2  refused: arguments, settings, the API key
"""

_PATIENCE = Retry(patience_s=5.0)
_WIDTH = 22
"""The column of the verdicts. Each line is printed when its part is done, before later names are known."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = _DESCRIPTION
    parser.epilog = _EPILOG
    add = parser.add_argument
    add("--config", type=Path, metavar="FILE", help="the engine's configuration file (default: ./rewarden.toml)")
    add("--target", default=LOCAL, metavar="URL", help="a running server (default: an engine in this process)")
    add("--api-key", metavar="KEY", help="the API key (default: REWARDEN_API_KEY)")
    add("--ca", metavar="FILE", help=CA_HELP)
    add("--timeout", type=positive, default=120, metavar="S", help="seconds allowed for each verdict (default: 120)")
    add("--json", action="store_true", help="print JSON, a list with one object for each part")


def run(args: argparse.Namespace) -> int:
    """Returns the exit status that `--help` describes."""
    try:
        trials = asyncio.run(_trials(args))
    except RewardenError as error:
        say(f"rewarden quickcheck: {error.message}", file=sys.stderr)
        failed = isinstance(error, RequestError) and error.http_status >= 429
        return UNEXPECTED if failed else REFUSED
    if args.json:
        say(json.dumps([trial.as_json() for trial in trials], indent=1, ensure_ascii=False))
    return UNEXPECTED if any(trial.check.problems for trial in trials) else EXPECTED


async def _trials(args: argparse.Namespace) -> list[Trial]:
    options: dict[str, Any] = authority_options(args.target, args.ca)
    config = None
    if args.target == LOCAL:
        # Workers start when a part needs one, so that the first verdict's time includes it.
        config = load_config(args.config, environ=os.environ, flags={"engine.eager": ("quickcheck", "false")})
        options["config"] = config
    key = args.api_key or os.environ.get("REWARDEN_API_KEY") or None
    number = random.randrange(1_000, 1_000_000)
    trials = []
    async with AsyncClient(args.target, api_key=key, retry=_PATIENCE, **options) as client:
        async for trial in trials_of(client, config, number, args.timeout):
            trials.append(trial)
            if not args.json:
                show_check(trial.check, _WIDTH)
    return trials
