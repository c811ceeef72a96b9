"""The arguments that say which verifier judges the rows of a file."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rewarden.commands.use import RECIPE_SUFFIXES, read_use
from rewarden.errors import RequestError, SampleError
from rewarden.routing import Routing, read_routing
from rewarden.types import Use
from rewarden_server.studies.rescore.options import RescoreError


def add_uses(add: Callable[..., Any], use: str) -> None:
    """Adds --use, --params and --routing through a parser's `add_argument`. use: the help of --use."""
    add("--use", action="append", default=[], metavar="[PATTERN=]USE", help=use)
    add("--params", metavar="JSON", help="parameters of a single --use")
    add("--routing", metavar="FILE", help="instead of --use: a routing file (docs/routing.md), or `starter`")


def routing_of(args: argparse.Namespace) -> Routing:
    """Returns the routing that --use and --params, or --routing, give. Raises RescoreError."""
    if args.routing is None:
        return read_uses(args.use, args.params)
    if args.use or args.params is not None:
        raise RescoreError("--routing cannot be combined with --use or --params; put them into the routing file")
    try:
        return read_routing(args.routing)
    except RequestError as error:
        raise RescoreError(f"--routing {error.message}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise RescoreError(f"--routing {args.routing}: cannot be read: {error}") from None


def read_uses(uses: Sequence[str], params: str | None = None) -> Routing:
    """Reads `--use` flags. Raises RescoreError, naming the one that cannot be read."""
    if params is not None and (len(uses) != 1 or uses[0].lstrip().startswith("{")):
        raise RescoreError('--params needs exactly one --use NAME; otherwise give --use \'{"name": …, "params": {…}}\'')
    found = []
    for text in uses:
        pattern, label = "*", text
        if "=" in text and not text.lstrip().startswith("{"):
            pattern, _, label = text.partition("=")
        try:
            use = _use(label.strip(), params)
        except RequestError as error:
            raise RescoreError(f"--use {text}: {error.message}") from None
        except OSError as error:
            raise RescoreError(f"--use {text}: the recipe cannot be read: {error}") from None
        found.append((pattern.strip(), use, label.strip()))
    return Routing.by_source(found)


def _use(text: str, params: str | None) -> Use:
    if text.endswith(RECIPE_SUFFIXES) and not text.startswith("{"):
        _check_recipe(Path(text))
    return read_use(text, params)


def _check_recipe(path: Path) -> None:
    """Checks a recipe here, because its errors can name the line; the target would name only the field."""
    from rewarden_verifiers.recipes.load import load_recipe

    try:
        load_recipe(path)
    except SampleError as error:
        raise RescoreError(error.message) from None
