"""The pages in a real browser: first paint over loopback, size, and how a run's page draws and follows.

Load of a run: 12,500 steps of 8 data sources, which are 100,000 stored points. Script time is the CPU time that the
browser spends in scripts until the page is drawn; all CPU time adds the reading of the points, layout and paint. A live
step is sent as one request, and is there when the page shows it.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx

from benchmarks.report import Report
from rewarden.types import Batch, Progress, Sample, VerifierRef
from rewarden_server.engine.verdicts import make_verdict
from rewarden_server.engine.work import Result
from rewarden_server.runs.settings import RunSettings
from rewarden_server.runs.store import Store
from rewarden_verifiers.outcome import right, wrong
from tests.report.browser import find_chromium
from tests.server.process import ServerProcess

STEPS, SOURCES = 12_500, 8
MOST_SCRIPT_MS = 200
PATHS = ("/", "/docs", "/docs/math", "/playground", "/playground/math", "/playground/sql", "/health", "/runs")
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

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_fill(Path(folder) / "runs"))
        settings = ("--set", "logs.level=error", "--set", f"runs.dir={folder}/runs")
        with ServerProcess(Path(folder), *settings) as server, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=command, args=["--no-sandbox", "--disable-gpu"])
            _paints(report, browser, server.http)
            _run_page(report, browser, server.http)
            browser.close()
    return report.broken


def _paints(report: Report, browser: Any, http: str) -> None:
    for path in PATHS:
        visits = [_visit(browser, http + path) for _ in range(ROUNDS + 1)]
        paints = [paint * 1e3 for paint, _ in visits]
        report.figure(f"{path}: the first visit", paints[0], "ms")
        report.figure(f"{path}: the median of {ROUNDS} later ones", statistics.median(paints[1:]), "ms", most=MOST_MS)
        report.figure(f"{path}: total size", visits[-1][1] / 1e3, "kB", most=MOST_KB)


def _run_page(report: Report, browser: Any, http: str) -> None:
    run = httpx.get(f"{http}/v1/runs").json()["runs"][0]["id"]
    address = f"{http}/runs/{run}"
    drawn = [_draw(browser, address) for _ in range(ROUNDS + 1)][1:]
    paint, script, whole = (statistics.median(one) for one in zip(*drawn, strict=True))
    report.figure("a run of 100,000 points: first paint", paint, "ms", most=MOST_MS)
    report.figure("a run of 100,000 points: CPU time in scripts", script, "ms", most=MOST_SCRIPT_MS)
    report.figure("a run of 100,000 points: all CPU time of the page", whole, "ms")
    page = browser.new_page()
    page.goto(address)
    page.locator(".live", has_text="live").wait_for()
    delays = [_follow(page, http, STEPS + step) for step in range(ROUNDS)]
    report.figure("a new step, from the response to the page", statistics.median(delays), "ms", most=1000)
    page.close()


async def _fill(folder: Path) -> None:
    store = Store(RunSettings(dir=folder))
    ref = VerifierRef(name="math", version="1", fingerprint="0123456789abcdef")
    for step in range(STEPS):
        tap = store.feed.open(Batch(progress=Progress(step=step)))
        assert tap is not None
        for source in range(SOURCES):
            sample = Sample(response="x" * (100 + step % 900), data_source=f"source {source}")
            outcome = right() if (step * 7 + source) % 11 < 6 else wrong()
            tap.verdict(sample, make_verdict(source, sample, outcome, ref, Result(queue_s=0.001, run_s=0.002)))
        if step % 500 == 0:
            await store.flush()
    await store.close()


def _draw(browser: Any, address: str) -> tuple[float, float, float]:
    """Returns the milliseconds to the first paint, and until the page is drawn those of scripts and of everything."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(address)
    page.wait_for_selector("html[data-ready=yes]")
    page.wait_for_selector(".bars button")
    figures = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    paint = float(page.evaluate(_PAINT))
    context.close()
    return 1e3 * paint, 1e3 * figures["ScriptDuration"], 1e3 * figures["TaskDuration"]


def _follow(page: Any, http: str, step: int) -> float:
    """Returns the milliseconds from the response to a step's request until the page shows the step."""
    sample = {"response": "It is (A).", "reference": "A", "data_source": "source 0"}
    body = {"use": "choice", "samples": [sample], "progress": {"step": step}}
    httpx.post(f"{http}/v1/verify", json=body).raise_for_status()
    start = time.perf_counter()
    page.locator(".run-head p", has_text=f"step {step:,}").wait_for()
    return 1e3 * (time.perf_counter() - start)


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
