"""The lines of a check on the terminal: its state, and below it each problem with the fix."""

from __future__ import annotations

from itertools import groupby

from rewarden.commands.terminal import say, say_state
from rewarden_server.observe.check import Check


def show_check(check: Check, width: int, *, details: bool = False) -> None:
    """Prints a check. width: the column in which the summary begins."""
    say_state(check.state, f"{check.part:<{width}}  {check.summary}".rstrip())
    for line in check.details if details else ():
        say(f"    {line}")
    for fix, problems in groupby(check.problems, key=lambda problem: problem.fix):
        for problem in problems:
            say(f"    {problem.what}")
        say(f"    fix: {fix}")
