"""The pages of a real server, read as text or in a real browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rewarden_server.access.key_record import hash_key
from tests.report.browser import find_chromium
from tests.server.conftest import Running, Start, plugin, server, start
from tests.server.process import ServerProcess

__all__ = ["Running", "Start", "plugin", "server", "start"]

KEY = "rwd_the-key-of-the-tests"

_QUIET = ("--set", "logs.level=error")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """Debian's browser, driven by Playwright: for one file, since its loop would stand in the way of others' tests."""
    command = find_chromium()
    if command is None:
        pytest.skip("no Chromium here (apt-get install chromium)")
    driver = pytest.importorskip("playwright.sync_api", reason="no Playwright here (pip install playwright)")
    with driver.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=command, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server in a process of its own, with the tests' plug-in and without a sandbox."""
    with ServerProcess(tmp_path_factory.mktemp("pages"), *_QUIET) as running:
        yield running.http


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The same, and it asks for a key: `KEY`."""
    settings = ("--set", f"keys.named=tests={hash_key(KEY)}")
    with ServerProcess(tmp_path_factory.mktemp("keyed"), *_QUIET, *settings) as running:
        yield running.http


class Visit:
    """A page of the browser, and what it complained of: exceptions, errors, warnings, violations of the policy."""

    def __init__(self, page: Any, root: str) -> None:
        self.page = page
        self.root = root
        self.faults: list[str] = []
        self.answers: list[Any] = []
        self.expected: tuple[str, ...] = ()
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("console", lambda said: self.faults.append(said.text) if said.type in ("error", "warning") else None)
        page.on("dialog", lambda dialog: (self.faults.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("response", lambda answer: self.answers.append(answer))

    def open(self, path: str) -> Any:
        """Go to a path and wait until its script has drawn it."""
        self.page.goto(self.root + path)
        if self.page.locator("script[type=module]").count() and "filter.js" not in self.page.content():
            self.page.wait_for_selector("html[data-ready=yes]")
        return self.page

    def send(self) -> Any:
        """Press Send; the first verdict's card. An earlier one is taken away, so that it is not taken for it."""
        self.page.evaluate("document.getElementById('verdicts').replaceChildren()")
        self.page.click("#send")
        return self.page.wait_for_selector("article.verdict")


Go = Callable[..., Visit]


@pytest.fixture
def visit(chromium: Any, address: str) -> Iterator[Go]:
    """Open a window; after the test no page may have complained, but of what the test expects."""
    made: list[tuple[Any, Visit]] = []

    def go(root: str = address, *, width: int = 1440, dark: bool = False, **options: Any) -> Visit:
        scheme = "dark" if dark else "light"
        context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, **options)
        visited = Visit(context.new_page(), root)
        made.append((context, visited))
        return visited

    yield go
    for context, visited in made:
        context.close()
        faults = [fault for fault in visited.faults if not any(words in fault for words in visited.expected)]
        assert faults == []
