"""NeMo Gym's resources servers: `POST /verify` echoes the whole request, and adds `reward` and what failed.

    POST /compat/gym/mcqa/verify      {"responses_create_params": …, "response": …, "expected_answer": "B", …}
    POST /compat/gym/math/verify?reference=verifier_metadata.solution      the reference stands in another field

The name in the address is one of Gym's published servers (`gym_servers`), or a verifier or recipe. Without a name, the
server's routing decides; without a routing, the server of the row's agent (`agent_ref.name`).

A sample without a score is answered with HTTP 200, `reward` 0.0, `mask_sample` true, `failure_kind` and
`failure_reason`, as Gym's own servers do since September 2026 (NVIDIA-NeMo/Gym #2608, #2611), and with
`_ng_failure_class`, by which earlier ones set such a row aside. For clients that read nothing but the reward,
`/compat/gym-strict/…` answers with 503 instead, or with 422 where asking again would not help; `/compat/gym-rl/…` is
for NeMo RL, which dispatches a rollout again for any status, and counts masked rewards in a group's baseline: 503 for
faults of the infrastructure, and a mask for all others. `?unscored=NUMBER` puts a number in its place. A recipe's wish
to leave a sample out is `mask_sample` too. Several components are also `reward_components`, and numbers of their own.

Nothing is kept between requests: `POST /seed_session` sets a cookie, as clients wait for, and `GET /reverify_mode`
says `stateless`. `gym_sessions` has the servers that keep an episode. `POST /aggregate_metrics` is in `gym_metrics`.
See docs/trainers/nemo-gym.md.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rewarden.adapters.rows import plain
from rewarden.columns import GUESSES
from rewarden.errors import DeadlineExceeded, InvalidRequest, Overloaded, RequestError, Unavailable
from rewarden.types import BadSample, Sample, Verdict
from rewarden_server.compat.gym_fields import at, lettered
from rewarden_server.compat.gym_metrics import aggregate
from rewarden_server.compat.gym_servers import NotJudged, Server, server_named, server_of
from rewarden_server.compat.peer_requests import (
    Answer,
    Asked,
    asked_of,
    body_of,
    judge,
    number_of,
    paths,
    pause,
    sample_of,
)
from rewarden_server.http.replies import json_reply
from rewarden_server.responses_api import (
    arguments_of,
    called,
    finish_reason_of,
    messages_of,
    prompt_of,
    token_count_of,
    written,
)
from rewarden_server.service import Service

PEER, STRICT, RL = "gym", "gym-strict", "gym-rl"

REFERENCES = (
    "expected_answer",
    "expected_answers",
    "expected_action",
    "expected_output",
    "gt_sql",
    *GUESSES["reference"],
    "verifier_metadata.unit_tests",
    "verifier_metadata.solution",
)
"""The fields in which the tasks of Gym's own servers have their reference, the likeliest first; `?reference=` names
another field."""

COOKIE = "rewarden_session"

HOLD_S = 25.0
"""The time for which requests are held during an overload, in seconds: Gym's clients ask only once, and the least
patient one waits 30 s."""

_OWN = ("responses_create_params", "response")
_SOURCES = ("data_source", "dataset", "agent_ref.name")
_OF_FAILURES = ("_ng_failure_class", "_ng_failure_judge_error", "reward_components")


class Unprocessable(RequestError):
    """The body is JSON, but not in the route's form: FastAPI's status for that."""

    code = "unprocessable"
    http_status = 422


def routes(service: Service) -> list[Route]:
    """The routes of a resources server, and of two variants that answer with an error status if there is no score. The
    variants have separate paths, because clients append `/verify` to the address that they are given.
    """

    def verifying(peer: str) -> Answer:
        async def verify(request: Request) -> Response:
            address = _address(request)
            async with body_of(request, service) as body:
                asked = address.asked
                sample = _sample(body, address.reference, address.reads or "last")
                if asked.use is None and (address.server or service.routing is None):
                    asked, sample = _published(body, sample, address)
                verdict = await _verdict(request, service, sample, asked)
                if verdict.status != "scored" and asked.unscored is None:
                    if peer == STRICT:
                        number_of(verdict, asked)  # raises
                    if peer == RL and (verdict.retryable or verdict.fault == "infra"):
                        raise Unavailable(f"sample {verdict.index} has no score ({verdict.reason})", fault="infra")
                told = {"verdict_reason": verdict.reason, "verdict_extracted": verdict.extracted}
                return echo(reply_to(body, verdict, asked) | (told if "explain" in request.query_params else {}))

        return verify

    async def seed_session(request: Request) -> Response:
        reply = json_reply({})
        reply.set_cookie(COOKIE, request.cookies.get(COOKIE) or uuid.uuid4().hex, httponly=True, samesite="lax")
        return reply

    async def aggregate_metrics(request: Request) -> Response:
        async with body_of(request, service) as body:
            return echo(aggregate(replies_of(body)))

    async def reverify_mode(request: Request) -> Response:
        return json_reply("stateless")

    async def alive(request: Request) -> Response:
        return json_reply({"status": "ok"})

    return [
        route
        for peer in (PEER, STRICT, RL)
        for route in (
            *paths(peer, "/verify", verifying(peer)),
            *paths(peer, "/seed_session", seed_session),
            *paths(peer, "/aggregate_metrics", aggregate_metrics),
            *paths(peer, "/reverify_mode", reverify_mode, "GET"),
            *paths(peer, "/", alive, "GET"),
        )
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Address:
    """The parts of an address: a published server or None, the settings, the place of the reference, the part of the
    trajectory to read, the values of the server's options, and parameters that override those of its verifier."""

    asked: Asked
    server: Server | None
    reference: str | None
    reads: str | None
    options: Mapping[str, str]
    params: Mapping[str, Any]


def _address(request: Request) -> _Address:
    query = request.query_params
    server = server_named(request.path_params.get("use", query.get("use", "")))
    options = () if server is None else server.options
    asked = asked_of(request, "reference", "reads", "explain", *options)
    reads = query.get("reads")
    if reads is not None and reads not in _READ:
        raise InvalidRequest(f"reads: must be one of {', '.join(_READ)}, not {reads[:40]!r}", path="reads")
    if server is not None and server.needs is not None:
        raise InvalidRequest(f"use: {server.name} is not judged here; it needs {server.needs}", path="use")
    if server is None and reads is None and asked.use is not None and asked.use.name == "tool_calls":
        reads = "calls"  # a call followed by text is still a call
    params = {} if server is None or asked.use is None else asked.use.params
    return _Address(
        asked=asked if server is None else replace(asked, use=None),
        server=server,
        reference=query.get("reference"),
        reads=reads,
        options={name: query[name] for name in options if name in query},
        params=params or {},
    )


_READ: Mapping[str, Callable[[list[dict[str, Any]]], list[dict[str, Any]]]] = {
    "last": lambda messages: messages,
    "text": written,
    "calls": called,
}


def _published(
    body: Mapping[str, Any], sample: Sample | BadSample, address: _Address
) -> tuple[Asked, Sample | BadSample]:
    """The sample as one of Gym's servers judges it: the server in the address, or that of the row's agent."""
    server = address.server or server_of(at(body, "agent_ref.name"))
    if server is None or isinstance(sample, BadSample):
        return address.asked, sample
    asked = replace(address.asked, by_sample=True)
    try:
        judged = server.judged(sample.metadata or {}, address.options, address.params)
    except NotJudged as error:
        return asked, BadSample(message=str(error), path="reference", id=sample.id)
    messages = messages_of(body["response"]["output"])
    if judged.reads == "arguments":
        response = arguments_of(messages, judged.call)
    else:
        response = _READ[address.reads or judged.reads](messages)
    named = sample.reference if address.reference is not None else judged.reference
    fields = {
        "response": response,
        "use": judged.use,
        "reference": named,
        "data_source": sample.data_source or server.name,
    }
    kept = {name: getattr(sample, name) for name in ("prompt", "finish_reason", "token_count", "metadata")}
    return asked, sample_of({**kept, **fields})


def replies_of(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The replies to compute metrics from. Raises Unprocessable."""
    replies = body.get("verify_responses")
    if not isinstance(replies, list) or not all(isinstance(reply, dict) for reply in replies):
        raise Unprocessable("verify_responses: must be a list of objects", path="verify_responses")
    return replies


def echo(reply: Mapping[str, Any]) -> Response:
    """The answer. Numbers that JSON does not have, but Python's clients send anyway, are returned as null."""
    try:
        return json_reply(reply)
    except ValueError:
        return json_reply(plain(reply))


def _sample(body: Mapping[str, Any], named: str | None, reads: str = "last") -> Sample | BadSample:
    params, response = (_object(body, name) for name in _OWN)
    output = response.get("output")
    if not isinstance(output, list):
        raise Unprocessable("response.output: must be a list of items", path="response.output")
    task = {name: value for name, value in body.items() if name not in _OWN and not name.startswith("_ng_")}
    source = next((value for name in _SOURCES if (value := at(task, name)) is not None), None)
    fields = {
        "response": _READ[reads](messages_of(output)),
        "prompt": prompt_of(params) or None,
        "reference": _reference(task, named),
        "data_source": None if source is None else str(source),
        "finish_reason": finish_reason_of(response),
        "token_count": token_count_of(response),
        "metadata": task or None,
    }
    return sample_of(fields)


def _object(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = body.get(name)
    if not isinstance(value, Mapping):
        raise Unprocessable(f"{name}: is required: an object as in OpenAI's Responses API", path=name)
    return value


def _reference(task: Mapping[str, Any], named: str | None) -> Any:
    if named is None:
        return next((value for name in REFERENCES if (value := at(task, name)) is not None), None)
    places = [_place(name) for name in named.split(",")]
    found = {name: lettered(at(task, field)) for name, field in places}
    missing = next((field for name, field in places if found[name] is None), None)
    if missing is not None:
        raise InvalidRequest(
            f"reference: the task has no {missing!r}; it has {', '.join(task) or 'no fields'}", path="reference"
        )
    return found if len(places) > 1 or ":" in named else found[places[0][0]]


def _place(named: str) -> tuple[str, str]:
    """`NAME:FIELD`, or a field whose last part is its name."""
    name, colon, field = named.partition(":")
    return (name, field) if colon else (named.rpartition(".")[2], named)


async def _verdict(request: Request, service: Service, sample: Sample | BadSample, asked: Asked) -> Verdict:
    end = time.monotonic() + HOLD_S
    wait_s = 0.0
    while True:
        try:
            if wait_s:
                await pause(request, service, wait_s)
            return (await judge(request, service, [sample], asked, PEER))[0]
        except (Overloaded, Unavailable, DeadlineExceeded) as error:
            left = end - time.monotonic()
            if left <= 0 or not isinstance(error, Overloaded):
                return Verdict(status="error", reason=error.code, fault="infra", feedback=error.message, retryable=True)
            wait_s = min(left, float(error.details.get("retry_after_s", 1.0)))


def reply_to(body: Mapping[str, Any], verdict: Verdict, asked: Asked) -> dict[str, Any]:
    """The request with our fields added. Every reply has the same fields, except for `reward_components`."""
    kind = reason = None
    scored = verdict.status == "scored"
    if not scored:
        kind = f"rewarden:{verdict.fault or verdict.status}"
        reason = ": ".join(told for told in (verdict.reason or verdict.status, verdict.feedback) if told)
    elif verdict.exclude:
        kind, reason = "rewarden:excluded", verdict.exclude_reason or verdict.reason
    masked = verdict.exclude if scored else asked.unscored is None
    reply = {name: value for name, value in body.items() if name not in _OF_FAILURES}
    parts = {name: part.score for name, part in verdict.components.items() if part.score is not None}
    # Gym's metrics only read numbers at the top level; the task's own fields keep their names.
    reply |= {name: score for name, score in parts.items() if name not in body}
    if parts:
        reply["reward_components"] = parts
    if masked and not scored:
        # Gym before #2611 only knows this class: it sets the row aside, and `gym eval reverify` asks for it again.
        reply |= {"_ng_failure_class": "judge_failed", "_ng_failure_judge_error": reason}
    instance = body.get("instance_config")
    told = instance if isinstance(instance, Mapping) else {}
    if masked or "mask_sample" in told:  # the only place where NeMo RL looks for the mask
        reply["instance_config"] = {**told, "mask_sample": masked}
    return reply | {
        "reward": 0.0 if masked and not scored else number_of(verdict, asked),
        "mask_sample": masked,
        "failure_kind": kind,
        "failure_reason": reason,
    }
