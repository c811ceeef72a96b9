"""The part of a peer's request that is not in its body: the verifier, and the number for samples without a score. Often
the address is all that the user of a peer's client can configure. So the address has it: /compat/slime/rm the server's
own routing decides (`routing.file`) /compat/slime/math/rm the verifier or recipe `math`
/compat/slime/rm?use=math&params={…} the same, with parameters /compat/slime/rm?unscored=-1 what stands if there is no
score, for peers that know only numbers Keys: clients that set no headers send theirs within the address,
`http://any:KEY@host:port/…`.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rewarden.adapters.rows import plain
from rewarden.errors import InvalidParams, InvalidRequest, RequestError, Unavailable, UnknownVerifier
from rewarden.types import BadSample, Batch, Sample, Use, Verdict
from rewarden.wire.json import loads, sample_from_json, use_from_json
from rewarden_server.http.body import check_content_type, read_body, unless_gone
from rewarden_server.http.replies import JSON, json_reply
from rewarden_server.intake.json_expansion import read_json
from rewarden_server.observe.logs import get_logger
from rewarden_server.service import Service, run_beside

_log = get_logger("compat")

Answer = Callable[[Request], Awaitable[Response]]

REQUIRED = "Field required"
"""FastAPI's words for a missing field."""

_OF_ADDRESSES = (UnknownVerifier.reason, InvalidParams.reason)
"""Reasons that are the address's fault: no sample sent to it can get a score."""


class Unscored(RequestError):
    """A sample has no score, and a retry cannot help."""

    code = "unscored"
    http_status = 422


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The verifier (None: the server's routing), and the number for samples without a score (None: the peer's own way).
    `by_sample`: every sample names its own verifier."""

    use: Use | None = None
    unscored: float | None = None
    by_sample: bool = False


def paths(peer: str, ending: str, answer: Answer, method: str = "POST", chosen: str = "use") -> list[Route]:
    """The routes of a peer's path: without and with the verifier's name, or with whatever else is `chosen` there."""
    plain, named = f"/compat/{peer}{ending}", f"/compat/{peer}/{{{chosen}}}{ending}"

    return [Route(plain, answer, methods=[method]), Route(named, answer, methods=[method])]


def asked_of(request: Request, *own: str) -> Asked:
    """Returns the settings in the address. `own`: further parameters of the route. Raises InvalidRequest, naming the
    parameter: a misspelt one would silently change the scores.
    """
    query = request.query_params
    known = ("use", "params", "unscored", *own)
    unknown = next((name for name in query if name not in known), None)
    if unknown is not None:
        raise InvalidRequest(
            f"{unknown[:40]}: unknown parameter; this URL accepts {', '.join(known)}", path=unknown[:40]
        )
    if "use" in query and "use" in request.path_params:
        raise InvalidRequest("use: the path of the URL already names the verifier", path="use")
    name = request.path_params.get("use", query.get("use"))
    if name is None and "params" in query:
        raise InvalidRequest("params: needs a verifier; add use=NAME to the URL", path="params")
    use = None
    if name is not None:
        params = loads(query["params"]) if "params" in query else {}
        use = use_from_json(loads(name) if name.startswith("{") else {"name": name, "params": params})
    unscored = query.get("unscored")
    return Asked(use=use, unscored=None if unscored is None else _number(unscored))


@asynccontextmanager
async def body_of(request: Request, service: Service) -> AsyncIterator[dict[str, Any]]:
    """Yields the request's JSON object, which counts against the memory limit during the block: waiting requests must
    not fill the memory.

    Raises InvalidRequest, TooLarge, Overloaded.
    """
    check_content_type(request, JSON)
    async with read_body(request, service.bodies, service.limits.max_body_bytes, "max_body_bytes") as body:
        value = await run_beside(partial(read_json, body, service.limits), len(body))
        if type(value) is not dict:
            raise InvalidRequest("the body must be a JSON object")
        yield value


async def pause(request: Request, service: Service, seconds: float) -> None:
    """Waits before a held request is retried. Raises ClientGone, and Unavailable when the server stops."""
    await unless_gone(request.receive, service.until_stopped(asyncio.sleep(seconds)))


def sample_of(fields: Mapping[str, Any]) -> Sample | BadSample:
    """Returns the sample from the fields that a peer's client sent; a field that is None is absent.

    Lone surrogates and non-finite numbers are replaced, as in the adapters: we cannot fix the client, and one character
    must not cost a reward.
    """
    told = {name: value for name, value in fields.items() if value is not None}
    sample = sample_from_json(told)
    return sample_from_json(plain(told)) if isinstance(sample, BadSample) else sample


async def judge(
    request: Request,
    service: Service,
    samples: Sequence[Sample | BadSample],
    asked: Asked,
    peer: str,
    *,
    deadline_s: float | None = None,
) -> Sequence[Verdict]:
    """The verdicts on what a peer's client sent, in order. `deadline_s` ends before that client gives up. Raises
    RequestError; InvalidRequest if the address names no verifier, which is not the sample's fault and must not become a
    number.
    """
    if asked.use is None and service.routing is None and not asked.by_sample:
        raise InvalidRequest(
            f"no verifier: name a verifier or recipe in the URL, /compat/{peer}/NAME/… or ?use=NAME, or set "
            "routing.file on the server",
            path="use",
        )
    batch = service.take_batch(Batch(samples=samples, use=asked.use, deadline_s=deadline_s))
    verdicts = (await unless_gone(request.receive, service.verify(batch, f"compat-{peer}"))).verdicts
    if asked.use is not None:
        wrong = next((verdict for verdict in verdicts if verdict.reason in _OF_ADDRESSES), None)
        if wrong is not None:
            raise InvalidRequest(f"the URL: {wrong.feedback}", path="use")
    return verdicts


def number_of(verdict: Verdict, asked: Asked) -> float:
    """The score, or the address's number for samples without one. Otherwise raises Unavailable (503) for transient
    errors and Unscored (422) for permanent ones: peers that only know numbers then report a problem, which a number
    would hide.
    """
    if verdict.status == "scored" and verdict.score is not None:
        return verdict.score
    if asked.unscored is not None:
        _log.warning("unscored", reason=verdict.reason, fault=verdict.fault, stands=asked.unscored)
        return asked.unscored
    kind = Unavailable if verdict.retryable else Unscored
    raise kind(
        f"sample {verdict.index} has no score ({verdict.reason}, fault {verdict.fault}): "
        f"{verdict.feedback or 'see the verdict'}; add ?unscored=NUMBER to the URL to return a number instead",
        reason=verdict.reason,
        fault=verdict.fault,
    )


def unprocessable(message: str, *place: str | int) -> Response:
    """A 422 in FastAPI's form. place: the location of the fault in the body."""
    kind = "missing" if message == REQUIRED else "value_error"
    return json_reply({"detail": [{"type": kind, "loc": ["body", *place], "msg": message}]}, 422)


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InvalidRequest(f"unscored: must be a finite number, not {text[:40]!r}", path="unscored")
    return number
