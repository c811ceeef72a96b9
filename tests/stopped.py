"""The states of processes, and how to have one stand still."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

_STILL = {"T", "t", "Z", "X"}
"""States of a thread that runs no more: stopped, traced, dead."""


def stop(pid: int) -> None:
    """Stops a process, and returns once none of its threads runs. `SIGCONT` lets it go on.

    Flake: the kernel stops the threads when one of them has taken the signal, and that one may have to wait for a CPU.
    Until then, on a busy machine, the others go on and answer.
    """
    os.kill(pid, signal.SIGSTOP)
    while not _states(pid) <= _STILL:
        time.sleep(0.001)


def state_of(folder: Path) -> str:
    """The state of the process or thread with that folder in /proc, as in proc(5); `X` where it is gone."""
    with suppress(OSError):
        return (folder / "stat").read_text(errors="replace").rpartition(") ")[2][:1]
    return "X"


def _states(pid: int) -> set[str]:
    """The states of its threads, as in proc(5); none of a process that is gone."""
    states: set[str] = set()
    with suppress(FileNotFoundError):
        for thread in list(Path(f"/proc/{pid}/task").iterdir()):
            states.add(state_of(thread))
    return states
