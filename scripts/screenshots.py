"""Takes the pictures that the documentation shows, from the running product: `make screenshots`.

They land in docs/site/screens/. Needs Chromium (Debian: chromium) and Playwright's Python side. The pictures are of the
demo's rollouts, so they show what `make demo` gives.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # before packages that installed tests of their own under that name

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
    """The address of the demo's report."""
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
    """See the module."""
    command = find_chromium()
    if command is None:
        print("no Chromium here: apt-get install chromium", file=sys.stderr)
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
