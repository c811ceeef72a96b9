"""The first `GET /v1/recipes` of a server that has just started, beside importing all verifiers.

Load: a fresh `rewarden serve` answers the list of recipes once; the lowest CPU time of its own process of three, and
the time by the clock of that one. To list a recipe, the server imports and fingerprints every verifier that it uses.
The baseline is a fresh interpreter that imports the modules of all built-in verifiers that can be imported here, the
lowest CPU time of three, bytecode cached. The table of sources (`rewarden_verifiers/fingerprint/sources.py`) is that of
`make setup`; without it, the ratio is twice as large.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

import httpx

from benchmarks.report import Report
from benchmarks.server import served

IMPORTS = """
import contextlib, importlib
from rewarden_verifiers.registry import BUILT_IN
for place in BUILT_IN.values():
    with contextlib.suppress(ImportError):
        importlib.import_module(place.partition(":")[0])
"""


def _imports_s() -> float:
    """Returns the CPU time of a process that imports all verifiers."""
    process = subprocess.Popen([sys.executable, "-c", IMPORTS])
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError("the verifiers cannot be imported")
    return used.ru_utime + used.ru_stime


def _first_list() -> tuple[float, float]:
    """Returns the CPU time and the time of the first list of a server of its own."""
    with served() as server:
        before, start = server.cpu_seconds(), time.perf_counter()
        httpx.get(f"{server.http}/v1/recipes", timeout=120).raise_for_status()
        return server.cpu_seconds() - before, time.perf_counter() - start


def run() -> list[str]:
    """Runs and reports; returns the broken promises."""
    report = Report("cold: the first list of recipes of a fresh server against importing all verifiers")
    _imports_s()  # writes bytecode
    imports = min(_imports_s() for _ in range(3))
    cpu, seconds = min(_first_list() for _ in range(3))
    report.figure("import of all verifiers, CPU time", imports, "s")
    report.figure("first list of recipes, CPU time", cpu, "s")
    report.figure("first list of recipes, by the clock", seconds, "s")
    report.figure("first list of recipes: ratio", cpu / imports, most=1.2)
    return report.broken
