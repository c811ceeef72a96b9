"""The exit code of a command that ran a program, and the line that explains an end at a limit."""

from __future__ import annotations

import sys

from rewarden.commands.terminal import say
from rewarden.types import RunResult

EXIT = {
    "time_limit": 124,
    "memory_limit": 137,
    "output_limit": 153,
    "compile_error": 65,
    "internal_error": 70,
}
"""Exit codes for programs that have none: those of `timeout`, SIGKILL and SIGXFSZ, and two from sysexits.h."""


def exit_code_of(result: RunResult) -> int:
    """Returns the program's exit code, or 128 + its signal; for another end, the code in `EXIT`, after a line that
    explains it on standard error."""
    if result.status not in ("ok", "runtime_error"):
        words = result.status.replace("_", " ")
        about = result.message or (f"{result.limit} was reached" if result.limit else "")
        say(f"rewarden: {words}{': ' if about else ''}{about}", file=sys.stderr)
        return EXIT.get(result.status, EXIT["internal_error"])
    if result.exit_code is not None:
        return result.exit_code
    return 128 + (result.signal or 0)
