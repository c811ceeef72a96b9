"""Kimina's Lean server: `POST /api/check` and `POST /verify` return Lean's messages about snippets.

    POST /compat/kimina/api/check            {"snippets": [{"id": "1", "code": "#check Nat"}], "timeout": 30}
    POST /compat/kimina/verify               {"codes": [{"custom_id": "1", "proof": "#check Nat"}], "timeout": 300}
    POST /compat/kimina/mathlib/api/check    the same, in the project `mathlib` (`[lean.projects]`)
    GET  /compat/kimina/health               {"status": "ok"}

Read in project-numina/kimina-lean-server (fb2393d, January 2026), server/routers, and in kimina-client 0.2.1, which
tries three times where the status is not 200. Like theirs, this says what Lean said and judges nothing: `valid` is not
proved. The verifier `lean` judges.

A failure of ours is never what Lean said. A snippet that has no answer by our fault has an `error` beside its
neighbours' answers, so that one snippet cannot cost the others theirs; where no snippet of a request has one, the
answer is a 503, or a 429 where no process was free in time, so that the client asks again.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rewarden.errors import (
    InvalidRequest,
    InvalidSample,
    NotFound,
    Overloaded,
    ProviderError,
    RequestError,
    SandboxError,
    Unavailable,
)
from rewarden_sandboxes.job import Limits
from rewarden_server.access.caller import charged
from rewarden_server.compat.kimina_replies import Reply, reply_of
from rewarden_server.compat.peer_requests import REQUIRED, Answer, body_of, paths, unprocessable
from rewarden_server.http.body import unless_gone
from rewarden_server.http.replies import json_reply
from rewarden_server.observe.logs import get_logger
from rewarden_server.service import Service, check_count, run_beside
from rewarden_verifiers.provers import Prover, Snippet

PEER = "kimina"

WAIT_S = 240.0
"""The time that a snippet may wait for a Lean process, in addition to its own time, in seconds; then it is a 429. Their
server waits 60 and fails the whole batch, although kimina-client waits 600."""

TREES = ("full", "tactics", "original", "substantive")

_TRIES = 3
_PAUSE_S = 1.0
"""The number of attempts for a snippet that we fail to answer, and the seconds between them: a client that reads
`error` as "not proved" does not ask again."""

_CHECK_S, _VERIFY_S = 30, 300
"""The default time limit of a snippet, in seconds."""

_log = get_logger("compat")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A parsed request. alone: each snippet in its own process."""

    ids: Sequence[str]
    codes: Sequence[str]
    timeout_s: float
    alone: bool
    infotree: bool
    debug: bool = False


def routes(service: Service) -> list[Route]:
    """The routes of both forms, and of probes."""

    async def check(request: Request) -> Response:
        return await _answer(request, service, _of_check, _for_check)

    async def verify(request: Request) -> Response:
        return await _answer(request, service, _of_verify, _for_verify)

    async def health(request: Request) -> Response:
        _project(request, service.engine.lean)
        return json_reply({"status": "ok"})

    return [
        *_served("/api/check", check),
        *_served("/verify", verify),
        *_served("/one_pass_verify_batch", verify),
        *_served("/health", health, "GET"),
        *_served("", health, "GET"),
    ]


def _served(ending: str, answer: Answer, method: str = "POST") -> list[Route]:
    """The routes of a path, with and without a trailing slash: FastAPI serves or redirects both."""
    found = paths(PEER, ending, answer, method, "project")
    return [*(Route(f"{route.path}/", route.endpoint, methods=[method]) for route in found), *found]


def _project(request: Request, prover: Prover) -> str:
    """The project in the address. Raises NotFound; Unavailable if it cannot be used."""
    try:
        return prover.project(request.path_params.get("project")).name
    except InvalidSample as error:
        raise NotFound(error.message) from None
    except SandboxError as error:
        raise Unavailable(error.message) from None


# --- the request -------------------------------------------------------------------------------------------------


async def _answer(
    request: Request,
    service: Service,
    read: Callable[[Mapping[str, Any]], _Asked],
    write: Callable[[str, Reply], dict[str, Any]],
) -> Response:
    project = _project(request, service.engine.lean)
    try:
        async with body_of(request, service) as body:
            asked = read(body)
            check_count(len(asked.codes), service.limits)
            found = await unless_gone(request.receive, service.until_stopped(_all(service, project, asked)))
    except InvalidRequest as error:
        return unprocessable(error.message, *error.details.get("place", ()))
    results = [write(id, reply) for id, reply in zip(asked.ids, found, strict=True)]
    return await run_beside(partial(json_reply, {"results": results}), sum(reply.size for reply in found))


def _of_check(body: Mapping[str, Any]) -> _Asked:
    snippets = _list(body, "snippets")
    if not snippets:
        raise _wrong("must not be empty", "snippets")
    ids = [_text(each, "id", "snippets", place) for place, each in enumerate(snippets)]
    if len(set(ids)) != len(ids):
        raise _wrong("must have unique ids", "snippets")
    return _Asked(
        ids=ids,
        codes=[_text(each, "code", "snippets", place) for place, each in enumerate(snippets)],
        timeout_s=_seconds(body, _CHECK_S),
        alone=not _flag(body, "reuse", True),
        infotree=_tree(body, "infotree"),
        debug=_flag(body, "debug", False),
    )


def _of_verify(body: Mapping[str, Any]) -> _Asked:
    codes = _list(body, "codes")
    return _Asked(
        ids=[_id(each, "codes", place) for place, each in enumerate(codes)],
        codes=[
            _text(each, "proof" if each.get("proof") is not None else "code", "codes", place)
            for place, each in enumerate(codes)
        ],
        timeout_s=_seconds(body, _VERIFY_S),
        alone=_flag(body, "disable_cache", False),
        infotree=_tree(body, "infotree_type"),
    )


def _list(body: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    if name not in body:
        raise _wrong(REQUIRED, name)
    given = body[name]
    if type(given) is not list:
        raise _wrong("must be a list of objects", name)
    for place, each in enumerate(given):
        if type(each) is not dict:
            raise _wrong("must be an object", name, place)
    return given


def _text(snippet: Mapping[str, Any], name: str, *place: str | int) -> str:
    if snippet.get(name) is None:
        raise _wrong(REQUIRED, *place, name)
    value = snippet[name]
    if type(value) is not str:
        raise _wrong("must be a string", *place, name)
    return value


def _id(snippet: Mapping[str, Any], *place: str | int) -> str:
    value = snippet.get("custom_id")
    return str(value) if type(value) is int else _text(snippet, "custom_id", *place)


def _seconds(body: Mapping[str, Any], default: int) -> float:
    value = body.get("timeout", default)
    if type(value) not in (int, float) or not 0 < value <= sys.float_info.max:
        raise _wrong("must be a number of seconds above 0", "timeout")
    return float(value)


def _flag(body: Mapping[str, Any], name: str, default: bool) -> bool:
    value = body.get(name, default)
    if type(value) is not bool:
        raise _wrong("must be true or false", name)
    return value


def _tree(body: Mapping[str, Any], name: str) -> bool:
    value = body.get(name)
    if value is not None and value not in TREES:
        raise _wrong(f"must be null or one of {', '.join(TREES)}", name)
    return value is not None


def _wrong(message: str, *place: str | int) -> InvalidRequest:
    return InvalidRequest(message, place=place)


# --- the snippets ------------------------------------------------------------------------------------------------


async def _all(service: Service, project: str, asked: _Asked) -> list[Reply]:
    """Checks all snippets, as many in parallel as there are processes, and returns their replies. Raises InvalidRequest
    for a snippet that no project accepts; Overloaded or Unavailable if no snippet has an answer.
    """
    engine, most = service.engine, service.limits.max_sample_bytes
    end = asyncio.get_running_loop().time() + WAIT_S + 2 * asked.timeout_s  # to run and to idle

    async def one(code: str) -> Reply | RequestError:
        if len(code.encode("utf-8", "surrogatepass")) > most:  # its own fault, not its neighbours'
            return Reply(response={"message": f"the snippet has more than {most} bytes (limits.max_sample_bytes)"})
        snippet = Snippet(
            project=project,
            text=code,
            limits=Limits(cpu_s=asked.timeout_s, wall_s=asked.timeout_s),
            sorries=True,
            tactics=asked.infotree,
            alone=asked.alone,
        )
        try:
            async with asyncio.timeout_at(end):
                return await _checked(engine.lean, snippet, asked)
        except TimeoutError:
            waited_s = WAIT_S + 2 * asked.timeout_s
            return Overloaded(f"no Lean process became free within {waited_s:g} s", retry_after_s=1.0)

    count = len(asked.codes)
    with charged(count), engine.admission.running(f"compat-{PEER}", sum(map(len, asked.codes)), count):
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(code)) for code in asked.codes]
    found = [task.result() for task in tasks]
    failures = [each for each in found if isinstance(each, RequestError)]
    for error in failures:
        _log.warning("no_result", peer=PEER, code=error.code, message=error.message)
        if isinstance(error, InvalidRequest) or len(failures) == len(found):
            raise error
    return [_failed(each) if isinstance(each, RequestError) else each for each in found]


def _failed(error: RequestError) -> Reply:
    """A failure of ours. Clients interpret any message with "timed out" as the snippet's own time-out."""
    return Reply(error=error.message.replace("timed out", "had no time left"))


async def _checked(prover: Prover, snippet: Snippet, asked: _Asked) -> Reply | RequestError:
    """Returns the reply to a snippet, or the error that prevented one."""
    tries = 0
    while True:
        try:
            checked = await prover.check(snippet)
        except InvalidSample as error:
            return InvalidRequest(error.message)
        except (SandboxError, ProviderError) as error:
            tries += 1
            if tries >= _TRIES:
                return Unavailable(error.message, retry_after_s=1.0)
            await asyncio.sleep(_PAUSE_S)
        else:
            return reply_of(checked, asked.timeout_s, infotree=asked.infotree, debug=asked.debug)


# --- the replies -------------------------------------------------------------------------------------------------


def _for_check(id: str, reply: Reply) -> dict[str, Any]:
    given = {"error": reply.error, "response": reply.response, "diagnostics": reply.usage}
    return {"id": id, "time": reply.time, **{name: value for name, value in given.items() if value is not None}}


def _for_verify(id: str, reply: Reply) -> dict[str, Any]:
    """`error` is present even without an error: older clients index it."""
    told = {} if reply.response is None else {"response": {**reply.response, "time": reply.time}}
    return {"custom_id": id, "error": reply.error, **told}
