"""The monitoring of a server: the alert rules by their own tests, and dashboards on a real Prometheus that scraped a
real server under a little load of every kind."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from tests.judges.scripted import ScriptedJudge
from tests.models.scripted import ScriptedModel
from tests.ports import free_port
from tests.server.conftest import Running, Start
from tests.server.hosts import ScriptedHost, serving

ROOT = Path(__file__).parents[2] / "deploy"
RULES = ROOT / "prometheus" / "alerts.yml"
DASHBOARDS = {path.stem: json.loads(path.read_text()) for path in sorted((ROOT / "grafana/dashboards").glob("*.json"))}

needs_promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason="no promtool (Debian: prometheus)")
needs_prometheus = pytest.mark.skipif(shutil.which("prometheus") is None, reason="no prometheus (Debian: prometheus)")

WANTS_AN_HOUR = {"Moved since an hour ago"}
"""Panels that compare with an hour ago, which a test's Prometheus does not have."""


def panels() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every panel that shows something, with its dashboard's name."""
    for name, dashboard in DASHBOARDS.items():
        yield from ((name, panel) for panel in dashboard["panels"] if panel["type"] != "row")


# --- rules ---------------------------------------------------------------------------------------------------------


@needs_promtool
@pytest.mark.parametrize("words", [("check", "config", "prometheus.yml"), ("test", "rules", "alerts.test.yml")])
@pytest.mark.needs_server
def test_rules_hold(words: tuple[str, ...]) -> None:
    done = subprocess.run(["promtool", *words], cwd=RULES.parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_says_what_happened_and_what_to_do_and_is_tested() -> None:
    rules = [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]
    alerts = [rule for rule in rules if "alert" in rule]
    tested = (RULES.parent / "alerts.test.yml").read_text()
    documented = (ROOT.parent / "docs/watching.md").read_text()
    for alert in alerts:
        assert alert["annotations"].keys() == {"summary", "description"}, alert["alert"]
        assert alert["labels"]["severity"] in ("page", "ticket")
        assert f'"{alert["alert"]}"' in tested, f"{alert['alert']} fires in no test"
        assert f"`{alert['alert']}`" in documented, f"docs/watching.md does not say what to do about {alert['alert']}"


# --- dashboards ----------------------------------------------------------------------------------------------------


def test_dashboards_are_what_their_program_writes() -> None:
    program = ROOT / "grafana" / "generate.py"
    assert subprocess.run([sys.executable, program, "--check"]).returncode == 0


@pytest.mark.parametrize("name", DASHBOARDS)
def test_panels_have_a_place_a_unit_and_words(name: str) -> None:
    dashboard = DASHBOARDS[name]
    assert dashboard["uid"] == name
    variables = {variable["name"] for variable in dashboard["templating"]["list"]}
    taken: set[tuple[int, int]] = set()
    for panel in dashboard["panels"]:
        place = panel["gridPos"]
        columns, rows = (range(place[at], place[at] + place[size]) for at, size in (("x", "w"), ("y", "h")))
        cells = {(x, y) for x in columns for y in rows}
        assert not cells & taken, f"{panel['title']} lies over another"
        assert max(x for x, _ in cells) < 24
        taken |= cells
        if panel["type"] == "row":
            continue
        assert panel["description"]
        assert panel["fieldConfig"]["defaults"]["unit"]
        for target in panel["targets"]:
            used = set(re.findall(r"\$(\w+)", target["expr"])) - {"__rate_interval"}
            assert used <= variables, panel["title"]
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(set(ids)) == len(ids)


def plain(query: str) -> str:
    """A panel's query as Grafana sends it, with every variable at All."""
    return re.sub(r"\$\w+", ".*", query.replace("$__rate_interval", "1m"))


class Prometheus:
    """A real one, with the project's configuration but for its pace and whom it scrapes."""

    def __init__(self, folder: Path, target: str) -> None:
        port = free_port()
        config = yaml.safe_load((RULES.parent / "prometheus.yml").read_text())
        config["global"] = {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}
        config["rule_files"] = [str(RULES)]
        config["scrape_configs"][0]["static_configs"] = [{"targets": [target]}]
        (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
        words = ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
        self._process = subprocess.Popen(
            [*words, f"--web.listen-address=127.0.0.1:{port}"], stderr=subprocess.DEVNULL, env=dict(os.environ)
        )
        self.http = httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=30)

    async def ask(self, query: str) -> list[Any]:
        """Returns what a query gives now. Fails for one that is none."""
        answer = await self.http.get("/api/v1/query", params={"query": query})
        if answer.status_code == 503:
            raise httpx.ConnectError("it listens, and does not answer yet")
        reply = answer.json()
        assert reply["status"] == "success", f"{query}: {reply.get('error')}"
        return list(reply["data"]["result"])

    async def until(self, query: str, seconds: float = 60) -> list[Any]:
        """Returns what a query gives, once it gives something; nothing, where it never does."""
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            try:
                found = await self.ask(query)
            except httpx.TransportError:  # it starts
                found = []
            if found:
                return found
            await asyncio.sleep(0.2)
        return []

    async def close(self) -> None:
        """End it."""
        await self.http.aclose()
        self._process.terminate()
        self._process.wait()


@asynccontextmanager
async def watched(start: Start, folder: Path) -> AsyncIterator[Running]:
    """A server with everything that can be had without engines and weights."""
    with ScriptedJudge() as judge, ScriptedModel() as model:
        judge.script({"when": "ask", "replies": [{"$reply": {"status": 503}}, {"reason": "so", "verdict": "correct"}]})
        model.script({"task": "classify", "when": "ask", "reply": [2.0]})
        priced = judge.settings(input_usd=1.0, output_usd=1.0, budget_usd=9.0, retries=2)
        async with serving(ScriptedHost(), folder) as address:
            yield await start(
                {
                    "sandbox.address": address,
                    "judges.named": {"main": priced},
                    "models.named": {"main": model.settings()},
                    "engine.max_samples": 50,
                    "engine.worker_items": 3,
                    "engine.workers": 2,
                }
            )


async def load(server: Running, turn: int) -> None:
    """Verdicts of every status, fault and lane; a refusal; a group; something cached, something flagged."""
    right = {"response": "A", "reference": "A", "data_source": "gsm"}
    wrong = {**right, "response": f"B{turn}"}
    await server.verify(right, {**wrong, "finish_reason": "length"}, {"response": "A"}, use="same")
    await server.verify(*[{**row, "group": "g"} for row in (right, wrong, wrong)], use="same")
    for response in ("A", "A", *(f"{turn}-{number}" for number in range(5))):
        await server.verify({**right, "response": response}, use="worked")
    await server.verify(right, use="broken")
    ask = {"prompt": f"ask {turn}", "response": "R", "reference": "A"}
    await server.verify(ask, use="judge")
    await server.verify(ask, use="rm_scalar")
    await server.http.post("/v1/run", json={"language": "python", "code": "1"})
    assert (await server.verify(*[right] * 51, use="same")).status_code == 429


@needs_prometheus
async def test_every_panel_shows_something_and_no_rule_names_what_is_not_there(start: Start, tmp_path: Path) -> None:
    async with watched(start, tmp_path) as server:
        await load(server, 0)
        prometheus = Prometheus(tmp_path, server.serving.http.removeprefix("http://"))
        try:
            assert await prometheus.until('up{job="rewarden"} == 1')
            first = (await server.http.get("/metrics")).text
            await load(server, 1)
            # A rate wants a counter before and after.
            assert await prometheus.until("sum(increase(rewarden_judge_cost_usd_total[1m])) > 0")
            empty = [
                f"{name}: {panel['title']}: {query}"
                for name, panel in panels()
                if panel["title"] not in WANTS_AN_HOUR
                for query in [plain(target["expr"]) for target in panel["targets"]]
                if not await prometheus.until(query, 10)
            ]
            assert empty == []
            for _, panel in panels():
                for target in panel["targets"]:
                    await prometheus.ask(plain(target["expr"]))
            known = set(re.findall(r"^(\w+)", first, re.MULTILINE))
            named = set(re.findall(r"\b(?:rewarden|process)_[a-z_]+\b", RULES.read_text()))
            assert {name for name in named if name not in known} == set()
            assert [alert["metric"] for alert in await prometheus.ask('ALERTS{alertstate="firing"}')] == []
        finally:
            await prometheus.close()
