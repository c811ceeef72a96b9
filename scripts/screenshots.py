"""Takes the documentation's screenshots from the running product: `make screenshots`.

Writes them to docs/site/screens/. Needs Chromium (Debian: chromium) and Playwright for Python. The screenshots show the
demo's rollouts, as in `make demo`.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # before installed packages that also contain `tests`

from tests.report.browser import find_chromium  # noqa: E402
from tests.server.process import ServerProcess  # noqa: E402

SCREENS = ROOT / "docs/site/screens"
SIZE = {"width": 1280, "height": 800}
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
        ServerProcess(Path(name), "--set", "logs.level=error") as server,
        sync_playwright() as playwright,
    ):
        page_of_report = report(Path(name))
        views: dict[str, tuple[str, Callable[[Page], None] | None]] = {
            "report": (page_of_report, None),
            "responses": (page_of_report, one_response),
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
