"""NeMo Gym's resources servers with sessions, over environments: `/compat/gym-env/NAME/…`, the session in a cookie.

    POST …/seed_session      begins an episode by the row's `verifier_metadata`, as Gym's `simple_agent` does
    POST …/TOOL              a call of the policy's; the answer is what the policy sees
    POST …/verify            ends the episode; its reward is the verdict on the same state

    POST …/reset, …/step, …/close      the same for Gym's `gymnasium_agent`, whose steps have the model's responses

Gym's agent posts the name that the policy wrote as a path, with the policy's arguments as its body. So a session
started by `seed_session` treats every path except `verify` as a tool's name, and no session starts twice: a policy that
calls `reset`, `close` or `seed_session` only makes a mistake, and one that calls `verify` ends its episode. Each answer
sets the cookie again, because that agent keeps only the cookies of the last answer.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rewarden.errors import InvalidRequest, NotFound, RequestError, TooLarge
from rewarden.types import Fault, Verdict
from rewarden_server.access.caller import Caller, charged
from rewarden_server.compat import gym
from rewarden_server.compat.gym_metrics import aggregate
from rewarden_server.compat.peer_requests import Asked, body_of
from rewarden_server.environments.boxed import BoxedEpisode
from rewarden_server.environments.calls import UnknownTool, action_of_call
from rewarden_server.environments.live import Ended, LiveEpisode, Place, Seen
from rewarden_server.environments.lived import act, begin, begin_of, caller_of, end, name_of, place_kind
from rewarden_server.http.body import check_content_type, read_body, unless_gone
from rewarden_server.http.replies import JSON, error_reply, json_reply
from rewarden_server.intake.json_expansion import read_json
from rewarden_server.responses_api import messages_of
from rewarden_server.service import Service
from rewarden_verifiers.view import apply_view

PEER = "gym-env"
ROW = "verifier_metadata"
"""The field of a row with the arguments of `reset`."""

_MOST = 10_000
"""The number of ended sessions whose verdicts are kept for a repeated `verify`."""

By = Literal["seed_session", "reset"]


@dataclass(eq=False, slots=True)
class Session:
    """A session. by: the request that started it, which decides what requests it accepts. fault: an error of ours that
    the policy has seen, after which its reward would be a matter of luck. verdict: set once requested. judging: a lock
    held meanwhile, so that a repeated request waits for the same verdict."""

    place: Place
    by: By
    fault: RequestError | None = None
    verdict: Verdict | None = None
    judging: asyncio.Lock = field(default_factory=asyncio.Lock)


class Sessions:
    """The sessions of a server, by key and cookie."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._open: OrderedDict[tuple[str, str], Session] = OrderedDict()

    def find(self, caller: Caller, name: str, cookie: str | None) -> Session:
        """A session. Raises NotFound."""
        found = self._open.get((caller.name, cookie or ""))
        if found is None or found.place.environment != name:
            raise NotFound(f"there is no session of {name} under this cookie; seed one")
        return found

    async def begin(self, caller: Caller, name: str, cookie: str | None, row: Mapping[str, Any], by: By) -> _Begun:
        """Starts a session. Raises InvalidRequest if the cookie has one. Attack: a policy restarts its episode with
        easier options, by calling a tool of that name."""
        if (caller.name, cookie or "") in self._open:
            raise InvalidRequest("the session has already begun")
        given = row.get(ROW)
        if given is not None and not isinstance(given, dict):
            raise InvalidRequest(f"{ROW}: must be an object with the arguments of reset", path=ROW)
        asked = begin_of(given or {})
        with self._service.episodes.opening(caller.name, name, None, place_kind(name)) as place:
            seen, seed = await begin(self._service, caller, place, asked)
        self._open[caller.name, place.id] = Session(place, by)
        self._forget()
        return _Begun(place, seen, seed)

    def _forget(self) -> None:
        """If there are too many sessions, forgets the oldest ones that have a verdict or were abandoned."""
        for key, each in list(self._open.items()) if len(self._open) > _MOST else ():
            if len(self._open) <= _MOST:
                return
            if not self._service.episodes.holds(each.place):
                del self._open[key]

    async def call(self, caller: Caller, session: Session, tool: str, arguments: Any) -> Seen:
        """Carries out a call of the policy. Raises RequestError, and remembers an error that is our fault."""
        if session.verdict is not None:
            return _said(session, "ended", "The episode has ended.")
        try:
            action = action_of_call(session.place.environment, tool, arguments)
        except UnknownTool as mistake:
            with charged(1):
                return _said(session, "unknown_tool", str(mistake))
        return await self.act(caller, session, action)

    async def act(self, caller: Caller, session: Session, action: Mapping[str, Any]) -> Seen:
        """Takes an action. Raises RequestError, and remembers an error that is our fault."""
        try:
            return await act(self._service, caller, session.place, action)
        except Ended as error:
            return _said(session, "ended", error.message)
        except RequestError as error:
            session.fault = error
            raise

    async def judge(self, caller: Caller, session: Session) -> Verdict:
        """Ends a session and returns its verdict. An error is not kept, so the verdict can be requested again."""
        async with session.judging:
            if session.verdict is None:
                try:
                    verdict = await self._judged(caller, session.place)
                except RequestError as error:
                    return _none(error)
                session.verdict = verdict if session.fault is None else _none(session.fault)
                await end(self._service, caller, session.place)
            return session.verdict

    async def close(self, caller: Caller, session: Session) -> None:
        """Ends a session without a verdict."""
        self._open.pop((caller.name, session.place.id), None)
        await end(self._service, caller, session.place)

    async def _judged(self, caller: Caller, place: Place) -> Verdict:
        if isinstance(place, LiveEpisode):
            if place.verdict is None:
                raise InvalidRequest("the episode has not begun")
            return place.verdict
        assert isinstance(place, BoxedEpisode)
        while not place.done:
            await act(self._service, caller, place, {"tool": "submit"})
        if not place.verdicts:
            raise InvalidRequest(f"{ROW}.score: is missing; this box has no verifier", path=f"{ROW}.score")
        first, *others = place.verdicts
        if not others:
            return first
        scores = [each.score or 0.0 for each in place.verdicts]
        excluded = next((each for each in place.verdicts if each.exclude), first)
        return replace(excluded, score=sum(scores) / len(scores))


@dataclass(frozen=True, slots=True)
class _Begun:
    """The start of a session."""

    place: Place
    seen: Seen
    seed: int | None


def routes(service: Service) -> list[Route]:
    """The routes of a resources server with sessions."""
    sessions = Sessions(service)

    async def seed_session(request: Request) -> Response:
        return await seeded(request, "seed_session")

    async def reset(request: Request) -> Response:
        return await seeded(request, "reset")

    async def seeded(request: Request, by: By) -> Response:
        caller, name, cookie = _asked(request)
        if by == "reset" and (session := _known(sessions, caller, name, cookie)) and session.by != by:
            return await tool(request, "reset")
        async with body_of(request, service) as row:
            work = sessions.begin(caller, name, cookie, row, by)
            begun = await _answered(cookie, unless_gone(request.receive, work))
        if isinstance(begun, Response):
            return begun
        info = {"supports_explicit_close": True, "seed": begun.seed}
        return _kept(json_reply({"observation": begun.seen.observation["text"], "info": info}), begun.place.id)

    async def step(request: Request) -> Response:
        caller, name, cookie = _asked(request)
        session = sessions.find(caller, name, cookie)
        if session.by == "seed_session":
            return await tool(request, "step")
        async with body_of(request, service) as body:
            work = _steps(sessions, caller, session, body)
            told = await _answered(cookie, unless_gone(request.receive, work))
        return told if isinstance(told, Response) else _kept(json_reply(told), cookie)

    async def close(request: Request) -> Response:
        caller, name, cookie = _asked(request)
        session = sessions.find(caller, name, cookie)
        if session.by == "seed_session":
            return await tool(request, "close")
        await sessions.close(caller, session)
        return json_reply({})

    async def any_tool(request: Request) -> Response:
        return await tool(request, request.path_params["tool"])

    async def tool(request: Request, called: str) -> Response:
        caller, name, cookie = _asked(request)
        session = sessions.find(caller, name, cookie)
        if session.by == "reset":
            raise NotFound("a session that was begun by reset has no tools but those of its steps")
        check_content_type(request, JSON)
        arguments = await _arguments(request, service)
        work = sessions.call(caller, session, called, arguments)
        seen = await _answered(cookie, unless_gone(request.receive, work))
        return seen if isinstance(seen, Response) else _kept(json_reply(dict(seen.observation)), cookie)

    async def verify(request: Request) -> Response:
        caller, name, cookie = _asked(request)
        async with body_of(request, service) as body:
            try:
                session = sessions.find(caller, name, cookie)
                verdict = await unless_gone(request.receive, sessions.judge(caller, session))
            except NotFound as error:
                verdict = replace(_none(error), reason="no_session", fault="infra")
            return _kept(gym.echo(gym.reply_to(body, verdict, Asked())), cookie)

    async def aggregate_metrics(request: Request) -> Response:
        async with body_of(request, service) as body:
            return gym.echo(aggregate(gym.replies_of(body)))

    async def reverify_mode(request: Request) -> Response:
        return json_reply("unsupported")

    def path(ending: str) -> str:
        return f"/compat/{PEER}/{{name}}/{ending}"

    return [
        Route(path("reverify_mode"), reverify_mode, methods=["GET"]),
        *(
            Route(path(ending), answer, methods=["POST"])
            for ending, answer in (
                ("seed_session", seed_session),
                ("verify", verify),
                ("aggregate_metrics", aggregate_metrics),
                ("reset", reset),
                ("step", step),
                ("close", close),
                ("{tool:path}", any_tool),  # attack: a tool's name with a slash, which matches no route
            )
        ),
    ]


def _asked(request: Request) -> tuple[Caller, str, str | None]:
    """The caller, the environment and the cookie. Raises NotFound, Forbidden."""
    name = name_of(request.path_params["name"])
    return caller_of(name), name, request.cookies.get(gym.COOKIE)


async def _arguments(request: Request, service: Service) -> Any:
    """The arguments of a call; for an unreadable body, a text that is not JSON, which every tool refuses. Attack:
    arguments so deep or large that the request fails, and with it the session, to avoid a bad reward."""
    most = service.episodes.settings.message_bytes
    try:
        async with read_body(request, service.bodies, most, "environments.message_bytes") as body:
            return read_json(bytes(body), service.limits) if body else {}
    except (InvalidRequest, TooLarge):
        return ""


def _known(sessions: Sessions, caller: Caller, name: str, cookie: str | None) -> Session | None:
    try:
        return sessions.find(caller, name, cookie)
    except NotFound:
        return None


async def _answered(cookie: str | None, work: Awaitable[Any]) -> Any:
    """The result of the work, or an answer with the reason why there is none; the session is kept."""
    try:
        return await work
    except RequestError as error:
        return _kept(error_reply(error), cookie)


def _kept(reply: Response, cookie: str | None) -> Response:
    if cookie is not None:
        reply.set_cookie(gym.COOKIE, cookie, httponly=True, samesite="lax")
    return reply


async def _steps(sessions: Sessions, caller: Caller, session: Session, body: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to a model's response: its calls are actions, or otherwise its text is one. Raises RequestError."""
    response = body.get("response")
    output = response.get("output") if isinstance(response, dict) else None
    if not isinstance(output, list):
        raise InvalidRequest("response.output: must be a list of items", path="response.output")
    turn = next(each for each in reversed(messages_of(output)) if each["role"] == "assistant")
    reward, outputs, seen = 0.0, [], None
    for call in turn.get("tool_calls", []):
        function = call["function"]
        seen = await sessions.call(caller, session, str(function["name"]), function["arguments"])
        outputs.append({"call_id": call["id"], "output": seen.observation["text"]})
        reward += seen.reward or 0.0
    observation = None
    if seen is None:
        text = apply_view(turn["content"]).text or ""
        boxed = isinstance(session.place, BoxedEpisode)
        seen = await sessions.act(caller, session, {"tool": "", "arguments": {}} if boxed else {"text": text.strip()})
        observation, reward = seen.observation["text"], seen.reward or 0.0
    place = session.place
    long = isinstance(place, LiveEpisode) and place.ended == "too_many_steps"
    return {
        "observation": observation,
        "reward": reward,
        "terminated": place.done and not long,
        "truncated": long,
        "info": {"tool_outputs": outputs},
    }


def _said(session: Session, kind: str, text: str) -> Seen:
    return Seen({"text": text, "error": kind}, None, session.place.done)


def _none(error: RequestError) -> Verdict:
    """The verdict of an error."""
    fault: Fault = error.details.get("fault") or ("caller" if isinstance(error, InvalidRequest) else "infra")
    reason = error.details.get("reason") or error.code
    retryable = fault == "infra"
    return Verdict(status="error", reason=reason, fault=fault, feedback=error.message, retryable=retryable)
