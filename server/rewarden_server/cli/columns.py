"""The arguments that map a file's columns to the fields of samples."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rewarden_server.studies.rescore.baseline import PASSES
from rewarden_server.studies.rescore.columns import read_columns_file
from rewarden_server.studies.rescore.options import RescoreError


def add_columns(add: Callable[..., Any], when: str = "") -> None:
    """Adds --column and --columns through a parser's `add_argument`. when: words before the help of each."""
    add(
        "--column",
        action="append",
        default=[],
        metavar="FIELD=COLUMN",
        help=f"{when}the column of a field, such as reference=extra.answer (- for none; the rest is guessed)",
    )
    add("--columns", type=Path, metavar="FILE", help=f"{when}columns from a TOML or JSON file")


def add_baseline(add: Callable[..., Any]) -> None:
    """Adds --baseline and --baseline-passes through a parser's `add_argument`."""
    add(
        "--baseline",
        metavar="COLUMN",
        help="the column of existing scores, to compare with ours (- for none; known for the files of most trainers)",
    )
    add(
        "--baseline-passes",
        type=_number,
        default=PASSES,
        metavar="SCORE",
        help=f"the lowest score in that column that passes (default: {PASSES:g})",
    )


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise argparse.ArgumentTypeError("must be a number")
    return number


def columns_of(args: argparse.Namespace) -> dict[str, str]:
    """Returns the columns that --columns and --column name. Raises RescoreError."""
    columns = read_columns_file(args.columns) if args.columns is not None else {}
    for text in args.column:
        field, equals, column = text.partition("=")
        if not equals:
            raise RescoreError(f"--column must be FIELD=COLUMN, not {text!r}")
        columns[field.strip()] = column.strip()
    return columns
