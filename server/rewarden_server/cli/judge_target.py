"""The part that the commands of `rewarden judge` share: the verifier, where it judges, and the exit status."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from rewarden.client import AsyncClient
from rewarden.commands.connection import authority_options
from rewarden.commands.terminal import say
from rewarden.errors import RequestError, RewardenError
from rewarden.transports.authority import CA_HELP
from rewarden.types import Use
from rewarden_server.cli.numbers import positive
from rewarden_server.config import ConfigError, load_config
from rewarden_server.studies.calibration.judged_responses import Asker, CalibrationError, with_params
from rewarden_server.studies.rescore.options import RescoreError
from rewarden_server.studies.rescore.progress import watcher
from rewarden_server.studies.rescore.target import LOCAL

DONE, FAILED, REFUSED, NOTHING_SCORED = 0, 1, 2, 3


def add_judge(parser: argparse.ArgumentParser) -> None:
    """Adds what says how the verifier is asked."""
    add = parser.add_argument
    add("--params", metavar="JSON", help="parameters of --use, as an object")
    add("--judge", metavar="NAME", help="the configured judge to call (params.judge)")
    add("--samples", type=positive, metavar="K", help="the number of opinions per response (params.samples)")


def add_output(group: argparse._ArgumentGroup) -> None:
    """Adds where the findings go."""
    add = group.add_argument
    add("--seed", type=int, default=0, metavar="N", help="the seed for random draws (default: 0)")
    add("--out", type=Path, metavar="HTML", help="write a page with tables and plots")
    add("--force", action="store_true", help="replace the file at --out even if it is not a report")
    add("--json", action="store_true", help="print JSON")
    add("-q", "--quiet", action="store_true", help="print neither plan nor progress")


def add_target(parser: argparse.ArgumentParser) -> None:
    """Adds where the verifier judges."""
    add = parser.add_argument_group("where to judge").add_argument
    add(
        "--target",
        default=LOCAL,
        metavar="URL",
        help="http://… or grpc://HOST:PORT (default: an engine in this process)",
    )
    add("--api-key", metavar="KEY", help="the API key (default: REWARDEN_API_KEY)")
    add("--ca", metavar="FILE", help=CA_HELP)
    add("--timeout", type=float, metavar="S", help="give up if the server sends nothing for S seconds")
    add("--config", type=Path, metavar="FILE", help="the engine's configuration file (default: ./rewarden.toml)")


def with_judge(use: Use, args: argparse.Namespace) -> Use:
    """The use with the judge and the number of opinions that the arguments name. Raises CalibrationError."""
    given: dict[str, Any] = {"judge": args.judge, "samples": args.samples}
    return with_params(use, {name: value for name, value in given.items() if value is not None})


@asynccontextmanager
async def asker(args: argparse.Namespace, use: Use, most: int) -> AsyncIterator[Asker]:
    """Somebody who asks for verdicts of a use where the arguments say. most: verdicts that will be asked for."""
    settings = authority_options(args.target, args.ca)
    if args.target == LOCAL:
        # Judges are asked from this process: workers are started when a verifier beside them needs one.
        flags = {"engine.eager": ("calibration", "false")}
        settings["config"] = load_config(args.config, environ=os.environ, flags=flags)
    key = args.api_key or os.environ.get("REWARDEN_API_KEY") or None
    progress = watcher(quiet=args.quiet)
    try:
        async with AsyncClient(args.target, api_key=key, timeout_s=args.timeout, **settings) as client:
            yield Asker(client, use, progress, most)
    finally:
        progress.end()


def guarded(do: Callable[[], int]) -> int:
    """Returns the exit status of a command, and says what refused it or made it fail."""
    try:
        return do()
    except (RescoreError, CalibrationError, ConfigError) as error:
        return fail(error.message, REFUSED)
    except RequestError as error:
        return fail(error.message, REFUSED if error.http_status < 429 else FAILED)
    except RewardenError as error:
        return fail(error.message, REFUSED)
    except OSError as error:
        return fail(str(error), REFUSED if isinstance(error, FileNotFoundError) else FAILED)


def written(write: Callable[[], int], output: Path, tell: Callable[[str], None]) -> int:
    """Writes a page and returns the exit status."""
    try:
        size = write()
    except OSError as error:
        return fail(f"the page could not be written: {error}", FAILED)
    tell(f"wrote {output} ({size / 1e3:,.0f} kB)")
    return DONE


def teller(args: argparse.Namespace) -> Callable[[str], None]:
    """Returns what prints the plan to standard error; with --quiet it prints nothing."""
    return (lambda text: None) if args.quiet else (lambda text: say(text, file=sys.stderr))


def fail(text: str, status: int) -> int:
    """Says why the command ends. Returns the status."""
    say(f"rewarden judge: {text}", file=sys.stderr)
    return status
