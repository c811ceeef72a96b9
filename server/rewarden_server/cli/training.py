"""Options for the progress of training, which scheduled values of recipes read."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from rewarden.types import Progress
from rewarden_server.cli.numbers import count, positive


def add_progress(add: Callable[..., Any]) -> None:
    """Adds --step and --total-steps."""
    add("--step", type=count, metavar="N", help="the step of training, for values scheduled by it")
    add("--total-steps", type=positive, metavar="N", help="all steps of training, for values scheduled by its fraction")


def progress_of(args: argparse.Namespace) -> Progress | None:
    """Returns the progress that these options set; None if neither was given."""
    if args.step is None and args.total_steps is None:
        return None
    return Progress(step=args.step or 0, total_steps=args.total_steps)
