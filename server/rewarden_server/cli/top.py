"""`rewarden top`: the training runs of a server in the terminal, live."""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import sys
import time
from typing import Any

from rewarden.commands.terminal import add_examples, say
from rewarden.errors import InvalidRequest, RequestError
from rewarden_server.cli.server import add_server, options_of
from rewarden_server.top.figures import Figures
from rewarden_server.top.lines import ASCII_BARS, BARS, NO_RUNS, NOT_STORED, detail_lines, list_head, list_line
from rewarden_server.top.watched import PATIENCE_S, Watched, chosen

HELP = "watch the training runs of a server: rewards, reasons and flags, live"

_INSTALL = "pip install 'rewarden-server[top]'"


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.add_argument("name", nargs="?", metavar="RUN", help="the run to show first (default: the latest)")
    parser.add_argument("--once", action="store_true", help="print the state as text, and exit")
    parser.add_argument("--json", action="store_true", help="print the state as JSON, and exit")
    add_server(parser)
    add_examples(
        parser, "rewarden top", "rewarden top --url https://rewards.example:8080", "rewarden top qwen-grpo --once"
    )


def run(args: argparse.Namespace) -> int:
    """Returns 0 on success, 1 if the server failed or cannot be reached, and 2 if an argument is wrong, or Textual is
    not installed."""
    try:
        if args.once or args.json:
            told, figures = asyncio.run(_asked(args))
            _print_json(told, figures) if args.json else _print(told, figures)
        else:
            _watch(args)
    except RequestError as error:
        say(f"rewarden top: {error.message}", file=sys.stderr)
        return 2 if error.http_status < 429 else 1
    return 0


async def _asked(args: argparse.Namespace) -> tuple[dict[str, Any], Figures | None]:
    """Returns the runs, and the figures of the chosen one. Raises RequestError."""
    async with Watched(args.url, options_of(args, PATIENCE_S)) as server:
        told = await server.runs()
        id = chosen(told, args.name)
        return told, None if id is None else await server.figures(id)


def _print_json(told: dict[str, Any], figures: Figures | None) -> None:
    state = {**told, "run": None if figures is None else figures.to_json()}
    say(json.dumps(state, indent=1, ensure_ascii=False))


def _print(told: dict[str, Any], figures: Figures | None) -> None:
    if figures is None:
        say(NO_RUNS if told["store"] else NOT_STORED)
        return
    width = shutil.get_terminal_size((100, 24)).columns
    say(list_head(width))
    for each in told["runs"]:
        say(list_line(each, width, time.time()))
    say()
    for line in detail_lines(figures, width, everything=True, bars=_bars()):
        say(line)


def _bars() -> str:
    try:
        BARS.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return ASCII_BARS
    return BARS


def _watch(args: argparse.Namespace) -> None:
    """Shows the screen until the user leaves it. Raises RequestError."""
    try:
        from rewarden_server.top.screen import Top
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("textual"):
            raise
        raise InvalidRequest(f"the screen needs Textual: {_INSTALL}; --once prints the state without it") from None
    if not sys.stdout.isatty():
        raise InvalidRequest("the screen needs a terminal; --once prints the state without one")
    told, figures = asyncio.run(_asked(args))  # a wrong address or key is told before the screen opens
    if not told["store"]:
        raise InvalidRequest(NOT_STORED)
    Top(args.url, options_of(args, PATIENCE_S), None if figures is None else figures.run["id"]).run()
