"""The HTML report of 20,000 responses: its time and size, and its time as a ratio to reading the file.

Load: a scored file of 20,000 rows in groups of 8 with prompts of 500 characters; responses of random words, no two
alike, once of 300 and once of about 6,000 characters. The baseline reads and decodes the same lines. CPU seconds, since
a single thread does all of the work.
"""

from __future__ import annotations

import json
import random
import tempfile
import time
from pathlib import Path

from benchmarks.report import Report
from rewarden_server.studies.report.page import make_report
from rewarden_server.studies.report.rows import ReportOptions

_ROWS = 20_000
_SIBLINGS = 8


def run() -> list[str]:
    """Runs and reports; returns the broken promises."""
    report = Report("report_page: an HTML report of 20,000 responses, one core")
    with tempfile.TemporaryDirectory() as folder:
        for name, words in (("short", 45), ("long", 900)):
            source, page = Path(folder) / f"{name}.jsonl", Path(folder) / f"{name}.html"
            _write(source, words)
            start = time.process_time()
            with source.open("rb") as lines:
                for line in lines:
                    json.loads(line)
            read = time.process_time() - start
            start = time.process_time()
            size = make_report(ReportOptions(input=source, output=page))
            took = time.process_time() - start
            report.figure(f"{name} responses: the scored file", source.stat().st_size / 1e6, "MB")
            report.figure(f"{name} responses: the page", size / 1e6, "MB", most=100)
            report.figure(f"{name} responses: time to make it", took, "CPU s")
            report.figure(f"{name} responses: times json.loads of each line", took / read, "x")
    return report.broken


def _write(path: Path, words: int) -> None:
    rng = random.Random(7)
    letters = "etaoinshrdlucmfwyp"
    known = ["".join(rng.choices(letters, k=rng.randint(2, 9))) for _ in range(20_000)]
    judge = {"name": "math", "version": "1", "fingerprint": "0" * 24}
    with path.open("w", encoding="utf-8") as file:
        prompt = ""
        for number in range(_ROWS):
            if number % _SIBLINGS == 0:
                prompt = " ".join(rng.choices(known, k=75))
            right = rng.random() < 0.4
            answer = str(rng.randrange(100))
            text = f"{' '.join(rng.choices(known, k=words))} \\boxed{{{answer}}}"
            verdict = {
                "status": "scored",
                "score": float(right),
                "passed": right,
                "reason": None if right else "wrong",
                "fault": None if right else "policy",
                "extracted": answer,
                "evidence": {"rule": "boxed"},
                "verifier": judge,
            }
            row = {"id": f"r{number}", "group": f"g{number // _SIBLINGS}", "prompt": prompt, "response": text}
            file.write(json.dumps({**row, "reference": answer, "score": float(right), "verdict": verdict}) + "\n")
