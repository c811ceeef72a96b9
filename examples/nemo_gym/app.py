"""A NeMo Gym resources server that hands each rollout to Rewarden, and its verdict back.

Gym's own client and launcher know a server by host and port alone, so a path such as `/compat/gym/math` cannot stand
in Gym's configuration. This server, which Gym starts as any other, has it: see `config.yaml` beside it. Copy the
folder to `resources_servers/rewarden` of a Gym checkout, or name `app.py` by its full path as the entry point.
"""

from __future__ import annotations

import asyncio
import os
from typing import Any

import httpx
from fastapi import FastAPI, Request
from nemo_gym.base_resources_server import BaseResourcesServerConfig, SimpleResourcesServer
from pydantic import Field


class RewardenConfig(BaseResourcesServerConfig):
    """`rewarden_url`: the address up to the judge's name, such as `http://127.0.0.1:8080/compat/gym/math`.
    `query`: what else stands in the address, such as `{reference: gold}`. `patience_s`: for how many seconds a
    Rewarden that cannot be reached is asked again, before the rollout is masked; with `mask_faults` false, it fails
    instead, and NeMo RL dispatches it again.
    """

    rewarden_url: str
    query: dict[str, str] = Field(default_factory=dict)
    patience_s: float = 300.0
    mask_faults: bool = True


class RewardenResourcesServer(SimpleResourcesServer):
    """`POST /verify` is Rewarden's; sessions and metrics are Gym's own."""

    config: RewardenConfig

    def setup_webserver(self) -> FastAPI:
        """Gym's routes, with one connection pool to Rewarden."""
        key = os.environ.get("REWARDEN_API_KEY")
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._client = httpx.AsyncClient(timeout=None, headers=headers, limits=httpx.Limits(max_connections=None))
        return super().setup_webserver()

    # Annotated as a Request, so that every field of the task comes through, and goes back, as it is.
    async def verify(self, body: Request) -> dict[str, Any]:  # type: ignore[override]
        """Rewarden's reply: the request, `reward`, `mask_sample`, `failure_kind`, `failure_reason`."""
        given = await body.json()
        end = asyncio.get_running_loop().time() + self.config.patience_s
        while True:
            try:
                url = f"{self.config.rewarden_url}/verify"
                answer = await self._client.post(url, json=given, params=self.config.query)
                answer.raise_for_status()
                return dict(answer.json())
            except (httpx.TransportError, httpx.HTTPStatusError) as error:
                refused = isinstance(error, httpx.HTTPStatusError) and error.response.status_code not in (429, 503)
                over = asyncio.get_running_loop().time() >= end
                if refused or (over and not self.config.mask_faults):
                    raise
                if over:
                    return given | {
                        "reward": 0.0,
                        "mask_sample": True,
                        "instance_config": {**(given.get("instance_config") or {}), "mask_sample": True},
                        "failure_kind": "rewarden:infra",
                        "failure_reason": f"Rewarden cannot be reached: {error}",
                        "_ng_failure_class": "judge_failed",
                        "_ng_failure_judge_error": str(error),
                    }
                await asyncio.sleep(1.0)


if __name__ == "__main__":
    RewardenResourcesServer.run_webserver()
