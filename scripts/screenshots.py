"""Takes the documentation's screenshots from the running product: `make screenshots`.

Writes them to docs/site/screens/. Needs Chromium (Debian: chromium) and Playwright for Python. The screenshots show the
demo's rollouts, as in `make demo`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # before installed packages that also contain `tests`

from examples.demo.train import GROUPS, SIBLINGS, play  # noqa: E402
from rewarden import Client  # noqa: E402
from tests.report.browser import find_chromium  # noqa: E402
from tests.server.process import ServerProcess  # noqa: E402

SCREENS = ROOT / "docs/site/screens"
SIZE = {"width": 1280, "height": 800}
STEPS = 300
DEMO = (
    "rescore",
    "examples/demo/rollouts.jsonl",
    "--columns",
    "examples/demo/columns.toml",
    "--use",
    "demo/math=math",
    "--use",
    "demo/choice=choice",
    "--force",
)


def runs_in(folder: Path) -> tuple[str, ...]:
    """The settings of a server that keeps runs, with their texts, in a folder."""
    return ("--set", f"runs.dir={folder / 'runs'}", "--set", "runs.texts=true")


def report(folder: Path) -> str:
    """Makes the demo's report and returns its address."""
    rewarden = str(Path(sys.executable).with_name("rewarden"))
    page = folder / "report.html"
    command = [rewarden, *DEMO, "-o", str(folder / "demo.jsonl"), "--report", str(page)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return page.as_uri()


def one_response(page: Page) -> None:
    """Opens the first response of the list."""
    page.click("text=Responses")
    page.wait_for_timeout(500)


def listed(page: Page) -> None:
    """Waits for the curves of all runs."""
    page.locator("svg.spark").nth(1).wait_for()


def moved(page: Page) -> None:
    """Waits for the comparison of two ranges."""
    page.wait_for_selector(".headline")


def read(page: Page) -> None:
    """Opens the first rollout of a range."""
    page.wait_for_selector(".entry")
    page.keyboard.press("j")
    page.wait_for_selector(".place:not([aria-busy]) .detail .text")


def counted(page: Page) -> None:
    """Waits for the reasons of a range."""
    page.wait_for_selector(".bars button")


def played(http: str) -> str:
    """Plays the demo's training run; the path of its page. The rollouts alone are a run too, which has no steps."""
    with Client(http) as client:
        for _ in play(client, "smollm2-demo", STEPS):
            pass
    while True:
        runs = json.loads(urllib.request.urlopen(f"{http}/v1/runs").read())["runs"]
        for run in runs:
            if run["last_step"] == STEPS - 1 and run["verdicts"] == STEPS * GROUPS * SIBLINGS:
                return f"{http}/runs/{run['id']}"
        time.sleep(0.1)


def judged(page: Page) -> None:
    """Sends the playground's example."""
    page.click("#send")
    page.wait_for_selector("article.verdict")


def main() -> int:
    """Returns the exit status: 1 if Chromium is missing."""
    command = find_chromium()
    if command is None:
        print("Chromium is not installed; run apt-get install chromium", file=sys.stderr)
        return 1
    SCREENS.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as name,
        ServerProcess(Path(name), "--set", "logs.level=error", *runs_in(Path(name))) as server,
        sync_playwright() as playwright,
    ):
        page_of_report = report(Path(name))
        run = played(server.http)
        views: dict[str, tuple[str, Callable[[Page], None] | None]] = {
            "report": (page_of_report, None),
            "responses": (page_of_report, one_response),
            "runs": (f"{server.http}/runs", listed),
            "run": (f"{run}#overview?every=5&from=200&to=239", counted),
            "moved": (f"{run}#moved?every=5&a=160-199&b=200-239", moved),
            "run-responses": (f"{run}#responses?from=200&to=239&reason=no_answer", read),
            "playground": (f"{server.http}/playground/math", judged),
            "health": (f"{server.http}/health", None),
            "verifiers": (f"{server.http}/docs", None),
        }
        browser = playwright.chromium.launch(executable_path=command, args=["--no-sandbox", "--disable-gpu"])
        for view, (address, act) in views.items():
            page = browser.new_page(viewport=SIZE, color_scheme="light")
            page.goto(address)
            page.wait_for_selector("html[data-ready=yes], main")
            if act is not None:
                act(page)
            page.screenshot(path=SCREENS / f"{view}.png")
            page.close()
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
