"""The cost of importing, in fresh interpreters: the client and its adapters, as ratios to `import httpx`.

Load: `python -c "import …"` in this environment, the lowest CPU time (user and system) of ten, minus that of a bare
interpreter. A trainer imports an adapter in each of its reward workers.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys

from benchmarks.report import Report

BASELINE = "import httpx"
IMPORTS = (
    ("import rewarden", 0.6),
    ("from rewarden import Client", 1.2),
    ("from rewarden.adapters.plain import reward", 1.5),
)


def _cpu_ms(code: str) -> float:
    """Returns the lowest CPU time of a process that runs the code."""
    best = math.inf
    for _ in range(10):
        process = subprocess.Popen([sys.executable, "-c", code])
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(f"{code!r} failed")
        best = min(best, used.ru_utime + used.ru_stime)
    return 1000 * best


def run() -> list[str]:
    """Runs and reports; returns the broken promises."""
    report = Report("imports: the client and its adapters against httpx")
    bare = _cpu_ms("pass")
    baseline = _cpu_ms(BASELINE) - bare
    report.figure(f"{BASELINE}", baseline, "ms")
    for code, most in IMPORTS:
        cost = _cpu_ms(code) - bare
        report.figure(code, cost, "ms", most=150 if code == "import rewarden" else None)
        report.figure(f"{code}: ratio", cost / baseline, most=most)
    return report.broken
