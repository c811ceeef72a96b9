"""A running server's runs, fetched once or watched."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any
from urllib.parse import quote

import httpx

from rewarden.errors import NotFound
from rewarden.wire.json import loads
from rewarden_server.cli.server import answer_of, reaching
from rewarden_server.top.figures import Figures

PATIENCE_S = 30.0

_PLACES = 400
"""Points of a curve, more than a terminal has columns."""

_REST_S = 0.5
"""Seconds between two requests for the same run, however often it changes."""

_SILENCE_S = 60.0
"""Seconds of silence after which an event stream counts as dead: four of its heartbeats."""


ORDERS: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
    "beginning": lambda run: -run["began"],
    "latest verdict": lambda run: -run["latest"],
    "name": lambda run: run["name"],
    "reward, lowest first": lambda run: (run["mean"] is None, run["mean"]),
    "unscored, most first": lambda run: -run["unscored"] / max(run["verdicts"], 1),
    "verdicts": lambda run: -run["verdicts"],
}
"""The orders of the list. In the first, the default, a run keeps its line until another begins."""


class Watched:
    """Runs of the server that a client is connected to. Use as an async context manager. `options`: see
    `rewarden_server.cli.server.options_of`."""

    def __init__(self, url: str, options: Mapping[str, Any]) -> None:
        self.url = url
        self._client = httpx.AsyncClient(**options)

    async def __aenter__(self) -> Watched:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    async def runs(self) -> dict[str, Any]:
        """Returns the answer of `/v1/runs`, its runs in the first of the `ORDERS`. Raises RequestError."""
        told = await self._get("/v1/runs")
        return {**told, "runs": sorted(told["runs"], key=next(iter(ORDERS.values())))}

    async def figures(self, id: str) -> Figures:
        """Returns a run's figures. Raises RequestError."""
        path = f"/v1/runs/{quote(id, safe='')}"
        points, counts = await asyncio.gather(self._get(f"{path}/points", most=_PLACES), self._get(f"{path}/counts"))
        return Figures.of(points, counts)

    async def changes(self, id: str) -> AsyncIterator[Figures]:
        """Yields a run's figures, now and after each change, until the server ends the stream. Raises RequestError."""
        figures = await self.figures(id)
        yield figures
        path = f"/v1/runs/{quote(id, safe='')}/events"
        timeout = httpx.Timeout(PATIENCE_S, read=_SILENCE_S)
        with reaching(self.url):
            async with self._client.stream("GET", path, params={"after": figures.seq}, timeout=timeout) as reply:
                if reply.status_code != 200:
                    await reply.aread()
                    answer_of(self.url, reply)
                async for line in reply.aiter_lines():
                    # An event only says that something changed; the server merges the figures to our width.
                    if line.startswith("data: ") and loads(line[6:].encode())["seq"] > figures.seq:
                        figures = await self.figures(id)
                        yield figures
                        await asyncio.sleep(_REST_S)

    async def _get(self, path: str, **query: Any) -> dict[str, Any]:
        with reaching(self.url):
            return answer_of(self.url, await self._client.get(path, params=query))


def chosen(runs: Mapping[str, Any], wanted: str | None) -> str | None:
    """Returns the id of the latest run, or of the latest with this name or id; None if there are no runs. Raises
    RequestError if there is none with the name."""
    found = [run for run in runs["runs"] if wanted is None or wanted in (run["name"], run["id"])]
    if not found and wanted is not None:
        raise NotFound(f"no run {wanted!r}")
    latest: str | None = max(found, key=lambda run: run["latest"], default={"id": None})["id"]
    return latest
