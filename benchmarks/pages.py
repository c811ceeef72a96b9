"""The pages in a real browser: first paint over loopback, and size."""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.report import Report
from tests.report.browser import find_chromium
from tests.server.process import ServerProcess

PATHS = ("/", "/docs", "/docs/math", "/playground", "/playground/math", "/playground/sql", "/health")
ROUNDS = 7
MOST_MS = 300
MOST_KB = 300

_PAINT = """new Promise(done => new PerformanceObserver(list => {
  for (const entry of list.getEntries()) if (entry.name === 'first-contentful-paint') done(entry.startTime / 1000);
}).observe({ type: 'paint', buffered: true }))"""


def run() -> list[str]:
    """Runs and reports; returns the broken promises. The first visit can import a verifier, so it is reported
    separately.
    """
    report = Report("pages: first contentful paint over loopback, empty browser cache")
    command = find_chromium()
    if command is None:
        print("Chromium is not installed (apt-get install chromium)")
        return []
    from playwright.sync_api import sync_playwright

    with (
        tempfile.TemporaryDirectory() as folder,
        ServerProcess(Path(folder), "--set", "logs.level=error") as server,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=command, args=["--no-sandbox", "--disable-gpu"])
        for path in PATHS:
            visits = [_visit(browser, server.http + path) for _ in range(ROUNDS + 1)]
            paints = [paint * 1e3 for paint, _ in visits]
            report.figure(f"{path}: the first visit", paints[0], "ms")
            report.figure(
                f"{path}: the median of {ROUNDS} later ones", statistics.median(paints[1:]), "ms", most=MOST_MS
            )
            report.figure(f"{path}: total size", visits[-1][1] / 1e3, "kB", most=MOST_KB)
        browser.close()
    return report.broken


def _visit(browser: Any, url: str) -> tuple[float, int]:
    """Returns the seconds to the first paint with an empty browser cache, and the bytes of everything that the page
    loads.
    """
    context = browser.new_context()
    page = context.new_page()
    answers: list[Any] = []
    page.on("response", lambda answer: answers.append(answer))
    page.goto(url)
    page.wait_for_load_state("networkidle")
    paint = float(page.evaluate(_PAINT))
    weight = sum(len(answer.body()) for answer in answers)
    context.close()
    return paint, weight
