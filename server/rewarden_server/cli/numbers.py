"""Numbers that commands take as arguments."""

from __future__ import annotations

import argparse


def count(text: str) -> int:
    """A whole number from 0 on. Raises what argparse tells as the argument's fault."""
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError("must be at least 0")
    return number


def positive(text: str) -> int:
    """A whole number from 1 on. Raises what argparse tells as the argument's fault."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def share(text: str) -> float:
    """A number from 0 to 1. Raises what argparse tells as the argument's fault."""
    number = float(text)
    if not 0 <= number <= 1:
        raise argparse.ArgumentTypeError("must be from 0 to 1")
    return number


def seconds(text: str) -> float:
    """A number of seconds above 0. Raises what argparse tells as the argument's fault."""
    number = float(text)
    if not 0 < number < 1e9:
        raise argparse.ArgumentTypeError("must be a number of seconds above 0")
    return number
