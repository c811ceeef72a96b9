"""The pages as text: what they tell, and that nothing of a caller's or a plug-in's becomes markup."""

from __future__ import annotations

import json
import posixpath
import re
import subprocess
import sys
from html.parser import HTMLParser

import pytest

from rewarden_server.pages.formula import drawn
from rewarden_server.pages.structure import drawing
from rewarden_verifiers.recipes.load import parse_recipe
from rewarden_verifiers.registry import Registry
from rewarden_verifiers.summaries import FILE, summaries
from tests.server.conftest import Running, Start


class Page(HTMLParser):
    """Reads a page: links, text; and that every tag is closed in order."""

    EMPTY = frozenset({"meta", "link", "input"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.tags: list[str] = []
        self.parts: list[str] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in self.EMPTY:
            self.open.append(tag)
        for name, value in attrs:
            assert not name.startswith("on")
            assert name != "style"
            if name in ("href", "src"):
                self.links.append(value or "")
            if name == "data-part":
                self.parts.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


async def read(server: Running, path: str, status: int = 200) -> Page:
    """A page, with the headers that all have."""
    answer = await server.http.get(path)
    assert answer.status_code == status
    assert answer.headers["Content-Type"].startswith("text/html")
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    return Page(answer.text)


async def test_the_contents_list_everything_that_judges(server: Running) -> None:
    verifiers, gallery, playground = [await read(server, f"/{place}") for place in ("docs", "gallery", "playground")]
    registry = server.serving.service.engine.registry
    assert {f"docs/{name}" for name in registry.names()} <= set(verifiers.links)
    assert {f"docs/{name}" for name in registry.recipe_names()} <= set(gallery.links)
    assert {f"playground/{name}" for name in registry} <= set(playground.links)
    for page in (verifiers, playground):
        assert summaries()["math"].summary in page.text
        assert "from the package rewarden-testing" in page.text  # a plug-in's summary is known to its module alone


async def test_the_gallery_tells_a_recipe_s_sources_and_how_it_was_compared_with_them(server: Running) -> None:
    page = await read(server, "/gallery")
    assert {"https://arxiv.org/abs/2508.07976", "https://github.com/inclusionAI/ASearcher"} <= set(page.links)
    assert "checked by reading the published code" in page.text
    assert "needs rewarden-server[judge]" in page.text


async def test_a_recipe_s_page_names_the_systems_that_it_covers_with_their_parameters(server: Running) -> None:
    page = await read(server, "/docs/accuracy")
    assert "https://arxiv.org/abs/2505.16400" in page.links
    assert "AlphaMed: Beyond Distillation" in page.text
    assert '{"verifier": "choice"}' in page.text
    assert "published systems" in (await read(server, "/gallery")).text


def test_every_recipe_of_the_gallery_is_drawn_with_each_of_its_components() -> None:
    registry = Registry()
    for name in registry.recipe_names():
        spec = registry.get(name)
        assert spec.source_text is not None
        recipe = parse_recipe(spec.source_text)
        page = Page(drawing(recipe))
        for component in recipe.components:
            assert page.parts.count(component) >= 2, name  # in the formula and in the tree
            assert component in page.text, name


@pytest.mark.parametrize(
    ("score", "drawing"),
    [
        ("a.score * (1.0 - params.share) + b.score", "score=a·(1−share)+b"),
        ("a.score - (b.score - 0.5)", "score=a−(b−0.5)"),
        ("a.passed && !b.passed ? 1.0 : 0.0", "score=1if\u00a0a✓\u00a0and\u00a0b✗0otherwise"),
        (
            "(a.passed || b.passed) && has(sample.token_count) ? 1.0 : 0.0",
            "score=1if\u00a0(a✓\u00a0or\u00a0b✓)\u00a0and\u00a0token_count\u00a0given0otherwise",
        ),
        ("-(a.score + b.score) / 2.0", "score=−(a+b)2"),
        ("max(a.score, abs(b.score))", "score=max(a,|b|)"),
    ],
)
def test_a_formula_is_drawn_as_it_is_meant(score: str, drawing: str) -> None:
    recipe = parse_recipe(
        {
            "name": "drawn",
            "inputs": ["reference", *(["token_count"] if "token_count" in score else [])],
            "params": {"share": {"default": 0.5}} if "params" in score else {},
            "uses": {"a": "math", "b": "choice"},
            "main": "a",
            "range": [-9, 9],
            "score": score,
        }
    )
    assert Page(drawn(recipe)).text == drawing


def test_the_contents_import_no_verifier() -> None:
    script = (
        "import sys\n"
        "from rewarden_server.config import load_config\n"
        "from rewarden_server.service import Service\n"
        "from rewarden_server.pages.contents import lines, listing, summary\n"
        "service = Service.build(load_config(environ={}, flags={}))\n"
        "before = set(sys.modules)\n"
        "assert 'math' in listing(lines(service.engine, 'verifier'), 'docs/', summary, [])\n"
        "print(sorted(name for name in set(sys.modules) - before if name.startswith('rewarden_verifiers')))\n"
        "assert 'rewarden_verifiers.answer.math.verifier' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_summaries_name_every_built_in_one() -> None:
    registry = Registry()
    assert set(json.loads(FILE.read_text())) == {name for name in registry if registry.plugin_of(name) is None}


async def test_a_page_shows_parameters_and_cases_as_text(server: Running) -> None:
    page = await read(server, "/docs/same")
    assert "The response <b>is</b> the reference." in page.text  # escaped, its `reference` in a code element
    assert "b" not in page.tags
    assert "matters" in page.text
    assert '"response": "a < b"' in page.text
    assert "../playground/same" in page.links


@pytest.mark.parametrize("place", ["docs", "playground"])
async def test_one_that_cannot_be_loaded_says_so_and_what_mends_it(server: Running, place: str) -> None:
    assert "Cannot be loaded: verifier 'absent'" in (await read(server, f"/{place}/absent")).text


@pytest.mark.parametrize("place", ["docs", "playground"])
async def test_a_name_that_is_none_is_a_page_too_with_near_ones(server: Running, place: str) -> None:
    page = await read(server, f"/{place}/samee", status=404)
    assert "'same'" in page.text
    page = await read(server, f"/{place}/%3Cscript%3Ealert(1)%3C%5Cscript%3E", status=404)
    assert "<script>alert(1)" in page.text
    assert "script" not in page.tags


async def test_the_index_leads_to_everything(server: Running) -> None:
    links = (await read(server, "/")).links
    assert {"runs", "playground", "docs", "health"} <= set(links)
    for link in links:
        assert not link.startswith(("/", "http"))  # relative: a proxy may put the pages below a prefix
        assert (await server.http.get(f"/{link.removeprefix('./')}")).status_code == 200


async def test_what_a_page_needs_is_kept_for_good_and_moves_with_its_content(server: Running) -> None:
    answer = await server.http.get("/playground/same")
    needed = [link for link in Page(answer.text).links if "/static/" in link]
    assert {re.sub(r".*/", "", link) for link in needed} >= {"playground.js", "verdict.js", "icon.svg"}
    for link in needed:
        assert link.startswith("../static/")
        asset = await server.http.get(link.removeprefix(".."))
        assert asset.status_code == 200
        assert "immutable" in asset.headers["Cache-Control"]
        assert asset.headers["X-Content-Type-Options"] == "nosniff"
    assert (await server.http.get("/static/0000000000000000/playground.js")).status_code == 404
    other = needed[0].removeprefix("..").rpartition("/")[0]
    for name in (
        "page.css",
        "__init__.py",
        "..%2Fshell.py",
        "%2e%2e/shell.py",
        "report/..%2f..%2fpage.py",
        "vendor/uplot/LICENSE",
        "",
    ):
        assert (await server.http.get(f"{other}/{name}")).status_code == 404


async def test_every_module_is_announced_with_the_page(server: Running) -> None:
    """A module that only another one names would be fetched a round trip later."""
    for path in ("/", "/playground/same", "/runs", "/runs/some", "/health", "/docs"):
        text = (await server.http.get(path)).text
        told = {re.sub(r".*static/[0-9a-f]+/", "", link) for link in Page(text).links if link.endswith(".js")}
        base = "/static/" + re.findall(r"static/([0-9a-f]+)/", text)[0]
        for name in told:
            source = (await server.http.get(f"{base}/{name}")).text
            needed = re.findall(r"^import .* from '(\./[\w./-]+)';", source, re.MULTILINE)
            assert {posixpath.normpath(posixpath.join(posixpath.dirname(name), one)) for one in needed} <= told


async def test_pages_ask_for_no_key_and_tell_nothing_of_the_server(start: Start) -> None:
    server = await start({"keys.named": "a=" + "0" * 64})
    for path in ("/", "/docs", "/docs/same", "/playground", "/playground/same", "/runs", "/runs/some", "/health"):
        await read(server, path)
    text = (await read(server, "/health")).text
    assert "worker" not in text
    assert "sandbox" not in text
    assert (await server.http.get("/v1/info")).status_code == 401


@pytest.mark.parametrize(
    "path",
    ["/gallery", "/docs/satori", "/playground/sql", "/playground/code", "/playground/text", "/runs/some"],
)
async def test_the_largest_pages_stay_small(server: Running, path: str) -> None:
    answer = await server.http.get(path)
    total = len(answer.content)
    for link in {link for link in Page(answer.text).links if "/static/" in link}:
        total += len((await server.http.get(link.removeprefix(".."))).content)
    assert total < 300_000
