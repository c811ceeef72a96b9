"""OpenRLHF's remote reward: `POST /get_reward {"query", "prompts", "labels"}`, lists of equal length.

The answer always has `rewards`, `scores` and `extra_logs`, lists of the same length: releases before 0.9.1 need all
three. OpenRLHF tries five times, a second apart, with 180 s each, and stops if it still has no reward (0.11.2,
openrlhf/utils/agent.py). A restart takes longer than five seconds, so transient errors are retried here. A sample that
stays without a score fails its micro-batch with 503, or with 422 if a retry cannot help, unless the address gives a
number to use instead: the answer has no way to leave a sample out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rewarden.adapters.openrlhf import answer_of, response_of
from rewarden.adapters.rows import label_fields
from rewarden.errors import InvalidRequest, Overloaded
from rewarden.types import BadSample, Sample, Verdict
from rewarden_server.compat.peer_requests import Asked, asked_of, body_of, judge, number_of, paths, pause, sample_of
from rewarden_server.http.replies import json_reply
from rewarden_server.observe.logs import get_logger
from rewarden_server.service import Service, run_beside

PEER = "openrlhf"

HOLD_S = 150.0
"""The time for which a request is held while its failure may be transient, in seconds; OpenRLHF's client waits 180
s."""

_FIRST_S, _MOST_S = 0.2, 5.0

_log = get_logger("compat")


def routes(service: Service) -> list[Route]:
    """The route of rewards."""

    async def get_reward(request: Request) -> Response:
        asked = asked_of(request)
        async with body_of(request, service) as body:
            queries = body.get("query")
            size = sum(len(query) for query in queries if isinstance(query, str)) if isinstance(queries, list) else 0
            samples = await run_beside(lambda: _samples(body), size)
            verdicts = await _held(request, service, samples, asked) if samples else []
        return json_reply(answer_of(verdicts, [number_of(verdict, asked) for verdict in verdicts]))

    return paths(PEER, "/get_reward", get_reward)


async def _held(
    request: Request, service: Service, samples: Sequence[Sample | BadSample], asked: Asked
) -> Sequence[Verdict]:
    """The verdicts, once no retry can change them, or as they are after `HOLD_S`. Raises RequestError."""
    loop = asyncio.get_running_loop()
    end = loop.time() + HOLD_S
    seconds = _FIRST_S
    while True:
        left = end - loop.time()
        try:
            verdicts = await judge(request, service, samples, asked, PEER, deadline_s=max(left, _FIRST_S))
            if not any(verdict.status != "scored" and verdict.retryable for verdict in verdicts) or left <= seconds:
                return verdicts
        except Overloaded:
            if left <= seconds:
                raise
        _log.info("held", samples=len(samples), again_in_s=seconds, left_s=round(left, 1))
        await pause(request, service, seconds)
        seconds = min(2 * seconds, _MOST_S)


def _samples(body: dict[str, Any]) -> list[Sample | BadSample]:
    """Raises InvalidRequest if the lists do not match."""
    queries = body.get("query")
    if not isinstance(queries, list):
        raise InvalidRequest("query: must be a list of strings, each a prompt with its response", path="query")
    prompts = body.get("prompts")
    if not isinstance(prompts, list) or len(prompts) != len(queries):
        raise InvalidRequest(
            f"prompts: must be a list of {len(queries)}, one for each query; without them, prompts and responses "
            "cannot be separated",
            path="prompts",
        )
    labels = body.get("labels")
    if labels is None:
        labels = [None] * len(queries)
    if not isinstance(labels, list) or len(labels) != len(queries):
        raise InvalidRequest(f"labels: must be a list of {len(queries)}, one for each query", path="labels")
    return [_sample(*row) for row in zip(queries, prompts, labels, strict=True)]


def _sample(query: Any, prompt: Any, label: Any) -> Sample | BadSample:
    if not isinstance(query, str) or not isinstance(prompt, str):
        return BadSample(message="must be strings", path="query" if isinstance(prompt, str) else "prompts")
    try:
        response = response_of(query, prompt)
    except InvalidRequest as error:
        return BadSample(message=error.message, path="query")
    return sample_of({"response": response, "prompt": prompt, **label_fields(label)})
