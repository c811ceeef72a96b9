"""The network of a task's tests: who lacks what, and what a request that fails is worth."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from rewarden import AsyncClient, Verdict
from tests.server.box_host import HostProcess
from tests.server.conftest import Start
from tests.server.launchers import launcher as launcher
from tests.tasks.folders import TOML, parts

pytestmark = [pytest.mark.needs_server, pytest.mark.slow]

DONE, UNDONE = "```sh\necho yes >/app/done\n```", "```sh\necho no >/app/done\n```"

ASK = """
import sys, urllib.request
urllib.request.proxy_bypass = lambda host: False  # the proxy is spared for the box's own names, of which this is one
try:
    print(urllib.request.urlopen("http://" + sys.argv[1]).read().decode())
except OSError:
    print("failed")
"""


class Site:
    """A server on this machine. silent: it ends without an answer."""

    def __init__(self) -> None:
        self.silent = False
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers one request."""
        await reader.readuntil(b"\r\n\r\n")
        if not self.silent:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
        writer.close()


class Judge:
    """A server with tasks whose tests may reach the site."""

    def __init__(self, client: AsyncClient, site: Site) -> None:
        self._client = client
        self.site = site

    def task(self, tests: str, **more: str) -> dict[str, str]:
        """Returns a task whose tests may ask the site. In them, `ask` prints the answer of `HOST:PORT`, or `failed`."""
        shell = f"ask() {{ python3 /tests/ask.py $1; }}; site=localhost:{self.site.port}\n"
        toml = TOML + 'network_mode = "allowlist"\nallowed_hosts = ["localhost"]\n'
        return {**parts(**{"task_toml": toml, **more}), "tests/test.sh": shell + tests, "tests/ask.py": ASK}

    async def verdict(self, response: str, files: Mapping[str, str]) -> Verdict:
        """Returns the verdict on a script."""
        return await self._client.verify_one(response, {"files": dict(files)}, "task")


@asynccontextmanager
async def judging(start: Start, launcher: str, tmp_path: Path, **settings: Any) -> AsyncIterator[Judge]:
    """Yields a server whose settings allow the site to tests, unless others are given."""
    site = Site()
    async with await asyncio.start_server(site.serve, "127.0.0.1", 0) as serving:
        site.port = serving.sockets[0].getsockname()[1]
        rule = f"localhost:{site.port}"
        network = {"network": [rule], "network_private": ["127.0.0.1"], "network_log": str(tmp_path / "log")}
        host = await asyncio.to_thread(HostProcess, tmp_path, launcher, **network)
        given = {"sandbox.address": host.address, "tasks.dir": str(tmp_path / "tasks"), "tasks.network": rule}
        try:
            running = await start({**given, **settings})
            async with AsyncClient(running.serving.http) as client:
                yield Judge(client, site)
        finally:
            await asyncio.to_thread(host.end)


HEARS = 'r=0; [ "$(cat /app/done)-$(ask $site)" = yes-hello ] && r=1; echo $r >/logs/verifier/reward.txt\n'
"""Tests that need the site."""
TRIES = 'ask $site; r=0; [ "$(cat /app/done)" = yes ] && r=1; echo $r >/logs/verifier/reward.txt\n'
"""Tests that ask the site and do without it."""
FOLLOWS = "cat /app/host 2>/dev/null && ask $(cat /app/host)\n" + TRIES
"""Tests that ask a host that the policy names."""


def said(verdict: Verdict) -> tuple[str, float | None, str | None, str | None]:
    """Returns what a verdict says, without words."""
    return verdict.status, verdict.score, verdict.reason, verdict.fault


async def test_a_request_that_could_not_be_served_is_nobodys_zero(start: Start, launcher: str, tmp_path: Path) -> None:
    async with judging(start, launcher, tmp_path) as judge:
        hears, tries = judge.task(HEARS), judge.task(TRIES)
        judge.site.silent = True
        unchecked = await judge.verdict(DONE, hears)
        assert said(unchecked) == ("error", None, "sandbox_failed", "infra")
        assert f"requests to localhost:{judge.site.port} could not be served" in (unchecked.feedback or "")
        judge.site.silent = False
        # The check that failed with the network was not remembered.
        assert (await judge.verdict(DONE, hears)).score == 1.0
        assert said(await judge.verdict(UNDONE, hears))[:3] == ("scored", 0.0, "tests_failed")
        assert (await judge.verdict(UNDONE, tries)).score == 0.0
        judge.site.silent = True
        assert said(await judge.verdict(DONE, hears)) == ("error", None, "sandbox_failed", "infra")
        assert said(await judge.verdict(UNDONE, hears)) == ("error", None, "sandbox_failed", "infra")
        assert (await judge.verdict(DONE, tries)).score == 1.0


async def test_a_name_that_is_not_listed_is_the_tasks_fault_unless_the_policy_brought_it(
    start: Start, launcher: str, tmp_path: Path
) -> None:
    async with judging(start, launcher, tmp_path) as judge:
        elsewhere = judge.task(HEARS.replace("$site", "files.example"))
        refused = await judge.verdict(DONE, elsewhere)
        assert said(refused) == ("undecided", None, "task_refused", "reference")
        assert "the tests asked for files.example:80, which they may not reach" in (refused.feedback or "")
        follows = judge.task(FOLLOWS)
        led = await judge.verdict("```sh\necho no >/app/done; echo files.example >/app/host\n```", follows)
        assert said(led)[:3] == ("scored", 0.0, "tests_failed")
        assert "network_refused" in led.flags
        assert led.evidence["refused"] == ["files.example:80"]
        # Nothing shows that the tests of a task without a solution need no such host.
        unsolved = {name: text for name, text in follows.items() if name != "solution/solve.sh"}
        led = await judge.verdict("```sh\necho no >/app/done; echo files.example >/app/host\n```", unsolved)
        assert said(led) == ("undecided", None, "network_refused", "reference")


async def test_tests_have_no_network_unless_task_and_server_say_so(start: Start, launcher: str, tmp_path: Path) -> None:
    async with judging(start, launcher, tmp_path) as judge:
        unstated = await judge.verdict(DONE, judge.task(HEARS, task_toml=TOML))
        assert (unstated.reason, unstated.fault) == ("task_refused", "reference")
        assert (await judge.verdict(DONE, judge.task(HEARS, task_toml=TOML + 'network_mode = "public"'))).score == 1.0
    apart = tmp_path / "apart"
    apart.mkdir()
    async with judging(start, launcher, apart, **{"tasks.network": ""}) as judge:
        off = await judge.verdict(DONE, judge.task(HEARS))
        assert (off.reason, off.fault) == ("task_refused", "reference")
        assert "may not reach localhost: the setting tasks.network lists no such host" in (off.feedback or "")
