"""A NeMo Gym resources server that hands each rollout to Rewarden, and its verdict back.

Gym's own client and launcher know a server by host and port alone, so a path such as `/compat/gym/math` or
`/compat/gym-env/task` cannot stand in Gym's configuration. This server, which Gym starts as any other, has it: see
`config.yaml` beside it. Copy the folder to `resources_servers/rewarden` of a Gym checkout, or name `app.py` by its full
path as the entry point.
"""

from __future__ import annotations

import asyncio
import os
from http.cookiejar import CookieJar, DefaultCookiePolicy
from urllib.parse import quote

import httpx
from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from nemo_gym.base_resources_server import BaseResourcesServerConfig, SimpleResourcesServer
from pydantic import Field


class RewardenConfig(BaseResourcesServerConfig):
    """`rewarden_url`: the address up to the name of the judge, such as `http://127.0.0.1:8080/compat/gym/math`, or of
    an environment with sessions, such as `http://127.0.0.1:8080/compat/gym-env/task`.
    `query`: what else stands in the address, such as `{reference: gold}`. `patience_s`: for how many seconds a
    Rewarden that cannot be reached is asked again, before the rollout is masked; with `mask_faults` false, it fails
    instead, and NeMo RL dispatches it again.
    """

    rewarden_url: str
    query: dict[str, str] = Field(default_factory=dict)
    patience_s: float = 300.0
    mask_faults: bool = True


class RewardenResourcesServer(SimpleResourcesServer):
    """`POST /verify`, `/seed_session`, `/reset`, `/step`, `/close` and the policy's tools are Rewarden's; metrics are
    Gym's own. A session is Rewarden's cookie, which goes through."""

    config: RewardenConfig

    def setup_webserver(self) -> FastAPI:
        """Gym's routes, with one connection pool to Rewarden."""
        key = os.environ.get("REWARDEN_API_KEY")
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        # Cookies belong to rollouts: kept here, one rollout's would go into another's session.
        none = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
        limits = httpx.Limits(max_connections=None)
        self._client = httpx.AsyncClient(timeout=None, headers=headers, limits=limits, cookies=none)
        app = super().setup_webserver()
        app.post("/{ending:path}", response_model=None)(self.forward)  # after Gym's own routes, which come first
        return app

    # Annotated as Requests, so that every field of the task comes through, and goes back, as it is.
    async def seed_session(self, body: Request) -> Response:  # type: ignore[override]
        """Rewarden's reply, which begins a session of an environment."""
        return await self.forward("seed_session", body)

    async def forward(self, ending: str, body: Request) -> Response:
        """Rewarden's reply, whatever it is. Only what was never sent is sent again: a step may have happened."""
        end = asyncio.get_running_loop().time() + self.config.patience_s
        while True:
            try:
                return _reply(await self._sent(ending, body))
            except httpx.ConnectError:
                if asyncio.get_running_loop().time() >= end:
                    raise
                await asyncio.sleep(1.0)

    async def _sent(self, ending: str, body: Request) -> httpx.Response:
        kept = {name: body.headers[name] for name in ("content-type", "cookie") if name in body.headers}
        # Attack: a tool called `..`, for another route of Rewarden's.
        url = f"{self.config.rewarden_url}/{quote(ending, safe='').replace('.', '%2E')}"
        return await self._client.post(url, content=await body.body(), params=self.config.query, headers=kept)

    async def verify(self, body: Request) -> Response:  # type: ignore[override]
        """Rewarden's reply: the request, `reward`, `mask_sample`, `failure_kind`, `failure_reason`."""
        given = await body.json()
        end = asyncio.get_running_loop().time() + self.config.patience_s
        while True:
            try:
                answer = await self._sent("verify", body)
                answer.raise_for_status()
                return _reply(answer)
            except (httpx.TransportError, httpx.HTTPStatusError) as error:
                refused = isinstance(error, httpx.HTTPStatusError) and error.response.status_code not in (429, 503)
                over = asyncio.get_running_loop().time() >= end
                if refused or (over and not self.config.mask_faults):
                    raise
                if over:
                    masked = {
                        "reward": 0.0,
                        "mask_sample": True,
                        "instance_config": {**(given.get("instance_config") or {}), "mask_sample": True},
                        "failure_kind": "rewarden:infra",
                        "failure_reason": f"Rewarden cannot be reached: {error}",
                        "_ng_failure_class": "judge_failed",
                        "_ng_failure_judge_error": str(error),
                    }
                    return JSONResponse(given | masked)
                await asyncio.sleep(1.0)


def _reply(answer: httpx.Response) -> Response:
    made = Response(answer.content, answer.status_code, media_type=answer.headers.get("content-type"))
    for cookie in answer.headers.get_list("set-cookie"):
        made.headers.append("set-cookie", cookie)
    return made


if __name__ == "__main__":
    RewardenResourcesServer.run_webserver()
