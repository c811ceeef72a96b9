"""Runs Z3 as a process that exits or is killed; the solver never runs in the worker.

Z3 counts its work (`rlimit`), so the same check ends the same way on any machine. As a backstop, the kernel limits CPU
time, memory and files.
"""

from __future__ import annotations

import importlib.metadata
import os
import resource
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from rewarden.errors import MissingDependency, PluginError, WorkerError
from rewarden_verifiers.contract import Expired, Watch

Answer = Literal["sat", "unsat", "unknown", "error", "time_limit", "memory_limit", "crashed"]

_PACKAGE = "z3-solver"
_OUTPUT = 4_000_000
_SPARE_MB = 512
"""The address space for the process in addition to the memory that Z3 counts: code and stacks."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits of one call. work: Z3's `rlimit`. cpu_s: CPU seconds. memory_mb: MiB."""

    work: int
    cpu_s: float
    memory_mb: int


@dataclass(frozen=True, slots=True)
class Solved:
    """An answer. output: what Z3 printed after it: a model or an error message."""

    answer: Answer
    output: str = ""

    @property
    def decided(self) -> bool:
        """Returns whether the answer is `sat` or `unsat`."""
        return self.answer in ("sat", "unsat")


@lru_cache(maxsize=1)
def program() -> str:
    """The path of the packaged program. Raises MissingDependency."""
    try:
        files = importlib.metadata.files(_PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        raise MissingDependency(
            f"verifier 'smt' needs the package '{_PACKAGE}': pip install 'rewarden-server[smt]'", verifier="smt"
        ) from None
    for file in files or ():
        if file.name in ("z3", "z3.exe") and "bin" in file.parts:
            path = Path(str(file.locate())).resolve()
            if path.is_file() and os.access(path, os.X_OK):
                return str(path)
    raise MissingDependency(f"the package {_PACKAGE} has no program `z3`: pip install --force-reinstall {_PACKAGE}")


def solve(text: str, bounds: Bounds, watch: Watch, *, model: bool = False) -> Solved:
    """Runs Z3 on a script that we wrote, followed by `(check-sat)`. model: whether to print a model after `sat`.

    Raises Expired if long work must start again elsewhere.
    """
    options = [f"rlimit={bounds.work}", f"memory_max_size={bounds.memory_mb}", "-in", "-smt2"]
    given = f"{text}(check-sat)\n{'(get-model)' if model else ''}\n"
    # The backstop is CPU time. A process may have to wait for a CPU, so it gets ten times as long.
    patience = bounds.cpu_s * 10 + 10
    wait = patience if watch.quick_s is None else min(watch.quick_s, patience)
    with watch.limit(wall_s=patience + 5):
        ended = _run([program(), *options], given.encode(), bounds, wait)
    if ended is None:
        if watch.quick_s is not None and watch.quick_s < patience:
            raise Expired
        # Its CPU limit would have ended it, so the host gave it too little CPU.
        raise WorkerError("z3 got too little of a CPU to finish; the host is overloaded")
    code, printed = ended
    return _read(code, printed.decode("utf-8", "replace"))


def _run(command: list[str], given: bytes, bounds: Bounds, wait: float) -> tuple[int, bytes] | None:
    """The exit code and the output, or None if it timed out."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env={"LC_ALL": "C"},
        start_new_session=True,
    )
    try:
        with suppress(ProcessLookupError):
            # Set before it reads a byte: it waits for its input.
            for limit, value in _limits(bounds).items():
                resource.prlimit(process.pid, limit, (value, value))
        printed, _ = process.communicate(given, timeout=wait)
        return process.returncode, printed[:_OUTPUT]
    except subprocess.TimeoutExpired:
        return None
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def _limits(bounds: Bounds) -> Mapping[int, int]:
    return {
        resource.RLIMIT_CPU: max(1, round(bounds.cpu_s)),
        resource.RLIMIT_AS: (bounds.memory_mb + _SPARE_MB) * 1024**2,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NOFILE: 16,
        resource.RLIMIT_CORE: 0,
    }


def _read(code: int, printed: str) -> Solved:
    if -code in (signal.SIGXCPU, signal.SIGKILL):
        return Solved("time_limit")
    if "out of memory" in printed or code == 101:
        return Solved("memory_limit")
    if code < 0:
        return Solved("crashed", signal.Signals(-code).name)
    first, _, rest = printed.partition("\n")
    first = first.strip()
    if first.startswith("(error"):
        return Solved("error", first)
    if first in ("sat", "unsat", "unknown"):
        return Solved(first, rest)  # type: ignore[arg-type]
    raise PluginError(f"z3 ended with code {code} and printed {printed[:200]!a}")
