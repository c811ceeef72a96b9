"""The site of docs/ is whole: no broken link, no page that the navigation forgets, nothing fetched from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from rewarden_verifiers.registry import BUILT_IN

ROOT = Path(__file__).parent.parent

pytestmark = pytest.mark.slow


class Loads(HTMLParser):
    """The addresses that a browser loads by itself when it opens a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        wanted = "href" if tag == "link" and given.get("rel") != "canonical" else "src"
        if address := given.get(wanted):
            self.found.append(address)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site. Strict: any warning fails."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert "WARNING" not in said, said
    return folder


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 80
    for page in pages:
        reader = Loads()
        reader.feed(page.read_text(encoding="utf-8"))
        away = [address for address in reader.found if re.match(r"(https?:)?//", address)]
        assert away == [], page
    styles = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    assert re.findall(r"url\(\s*[\"']?(?:https?:)?//[^)]*\)|@import[^;]*", styles) == []


def test_every_verifier_has_a_page_that_the_search_finds(site: Path) -> None:
    index = (site / "search/search_index.json").read_text(encoding="utf-8")
    for name in BUILT_IN:
        assert (site / f"verifiers/{name}.html").exists(), name
        assert f'"verifiers/{name}.html"' in index, name
