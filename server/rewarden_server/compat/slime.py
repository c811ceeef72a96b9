"""slime's remote reward: `POST /rm {"prompt", "response", "label"}`, and the answer's JSON *is* the reward.

slime tries ten times, up to 30 s apart, until it gets a 200, and then stops the rollout (slime/rollout/rm_hub at
624b824, 2026). So the answer for a sample without a score is 503, or 422 if a retry cannot help, unless the address
gives a number to use instead. It is sent within 120 s, after which slime would disconnect. With `?form=object` the
answer is an object for `--reward-key`: the `score` and every named component.
"""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rewarden.adapters.rows import label_fields
from rewarden.errors import InvalidRequest
from rewarden.types import BadSample, Sample
from rewarden_server.compat.peer_requests import asked_of, body_of, judge, number_of, paths, sample_of
from rewarden_server.http.replies import json_reply
from rewarden_server.service import Service

PEER = "slime"

DEADLINE_S = 110.0
"""The time within which there is an answer, in seconds; slime's client waits 120 s."""


def routes(service: Service) -> list[Route]:
    """The route of single rewards."""

    async def rm(request: Request) -> Response:
        asked = asked_of(request, "form")
        form = request.query_params.get("form", "number")
        if form not in ("number", "object"):
            raise InvalidRequest(f"form: must be 'number' or 'object', not {form[:40]!r}", path="form")
        async with body_of(request, service) as body:
            sample = _sample(body)
        verdict = (await judge(request, service, [sample], asked, PEER, deadline_s=DEADLINE_S))[0]
        number = number_of(verdict, asked)
        if form == "number":
            return json_reply(number)
        return json_reply({**{name: each.score for name, each in verdict.components.items()}, "score": number})

    return paths(PEER, "/rm", rm)


def _sample(body: dict[str, Any]) -> Sample | BadSample:
    """slime does not send `metadata` and `data_source` today, but other clients may."""
    fields = label_fields(body.get("label"))
    fields.update({name: body[name] for name in ("response", "prompt", "data_source", "metadata") if name in body})
    return sample_of(fields)
