"""The lines of a check on the terminal: its state, and below it each problem with the fix, and each warning."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rewarden.commands.terminal import say, say_state
from rewarden_server.observe.check import Check, Problem


def show_check(check: Check, width: int, *, details: bool = False) -> None:
    """Prints a check. width: the column in which the summary begins."""
    say_state(check.state, f"{check.part:<{width}}  {check.summary}".rstrip())
    for line in check.details if details else ():
        say(f"    {line}")
    _show(check.problems, "", "fix")
    _show(check.warnings, "warning: ", "prevent")


def _show(problems: Sequence[Problem], before: str, mend: str) -> None:
    for fix, alike in groupby(problems, key=lambda problem: problem.fix):
        for problem in alike:
            say(f"    {before}{problem.what}")
        say(f"    {mend}: {fix}")
