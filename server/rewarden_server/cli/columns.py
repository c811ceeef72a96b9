"""The arguments that map a file's columns to the fields of samples."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

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


def columns_of(args: argparse.Namespace) -> dict[str, str]:
    """Returns the columns that --columns and --column name. Raises RescoreError."""
    columns = read_columns_file(args.columns) if args.columns is not None else {}
    for text in args.column:
        field, equals, column = text.partition("=")
        if not equals:
            raise RescoreError(f"--column must be FIELD=COLUMN, not {text!r}")
        columns[field.strip()] = column.strip()
    return columns
