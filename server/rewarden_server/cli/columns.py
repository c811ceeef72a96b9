"""The arguments by which commands learn which column of a file holds what."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rewarden_server.studies.rescore.columns import read_columns_file
from rewarden_server.studies.rescore.options import RescoreError


def add_columns(add: Callable[..., Any], when: str = "") -> None:
    """Add --column and --columns through a parser's `add_argument`. when: words before the help of each."""
    add(
        "--column",
        action="append",
        default=[],
        metavar="FIELD=COLUMN",
        help=f"{when}such as reference=extra.answer; - for none; the rest is guessed",
    )
    add("--columns", type=Path, metavar="FILE", help=f"{when}the same from a TOML or JSON file")


def columns_of(args: argparse.Namespace) -> dict[str, str]:
    """The columns that --columns and --column name. Raises RescoreError."""
    columns = read_columns_file(args.columns) if args.columns is not None else {}
    for text in args.column:
        field, equals, column = text.partition("=")
        if not equals:
            raise RescoreError(f"--column takes FIELD=COLUMN, not {text!r}")
        columns[field.strip()] = column.strip()
    return columns
