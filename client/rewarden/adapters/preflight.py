"""The check of an adapter's settings before training: the server's address, the key, the verifiers, their parameters.

An adapter is often made on another machine than the one that scores, or before the server is up. Mistakes that no wait
and no other process can correct therefore raise at once, and everything else is a warning: the first request decides.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import pickle
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from rewarden.adapters.settings import Settings
from rewarden.client import AsyncClient
from rewarden.errors import (
    REQUEST_ERRORS,
    DeadlineExceeded,
    FingerprintMoved,
    Forbidden,
    InternalError,
    InvalidRequest,
    MissingDependency,
    NotFound,
    Overloaded,
    RequestError,
    Unauthorized,
    Unavailable,
)
from rewarden.loop_thread import LoopThread
from rewarden.retry import NO_RETRY
from rewarden.routing import STARTER
from rewarden.transports.authority import authority
from rewarden.transports.http import tls_context
from rewarden.transports.port import WITHIN_S as PROBE_S
from rewarden.transports.port import spoken
from rewarden.transports.targets import declares
from rewarden.types import Use
from rewarden.wire.json import use_to_json

_log = logging.getLogger("rewarden")

WITHIN_S = 5.0
"""Seconds that the check of a server may take, and likewise the search for the cause if it fails, once in a process."""

_HTTP, _GRPC = ("http", "https"), ("grpc", "grpcs")
_DEFAULT_PORTS = {"http": 80, "https": 443, "grpc": 80, "grpcs": 443}

_APART = "import sys; sys.path[:] = sys.argv[1:]; from rewarden.adapters import preflight; preflight.answer()"
_START_S = 60.0
"""Seconds that another interpreter may take to start and to import gRPC, on a busy machine."""

_passed: set[str] = set()
"""The settings that this process has checked. A forked child need not check them again."""
_locks: dict[int, threading.Lock] = {}
"""By process: a lock that another thread holds during a fork is never released in the child."""


def checked(settings: Settings) -> Settings:
    """Returns the settings, after checking them against their server, once in a process.

    Raises RequestError for a certain mistake: another server or port, a path in the target, a rejected key, an unknown
    verifier or recipe, parameters that it does not accept, a fingerprint that is not the expected one. Warns if the
    server cannot be reached. Can be called in a running event loop, which it blocks for at most twice `WITHIN_S`.
    """
    if not settings.preflight:
        return settings
    key = _key(settings)
    with _locks.setdefault(os.getpid(), threading.Lock()):
        if key in _passed:
            return settings
        problems = _examine_apart(settings) if _scheme(settings.target) in _GRPC else _examine_here(settings)
        for problem in problems:
            _log.warning("%s", problem)
        _passed.add(key)
    return settings


def _examine_here(settings: Settings) -> list[str]:
    """`examine`, for blocking callers."""
    thread = LoopThread("rewarden-preflight")
    try:
        return thread.run(examine(settings))
    finally:
        thread.stop(_nothing())


def _examine_apart(settings: Settings) -> list[str]:
    """`examine` in another process. Flake: a process that has used gRPC leaves locks of gRPC's threads to the children
    that it forks, and trainers fork: now and then, one of a hundred children waited forever.
    """
    asked = pickle.dumps(replace(settings, log=None))
    try:
        ended = subprocess.run(
            [sys.executable, "-c", _APART, *sys.path],
            input=asked,
            stdout=subprocess.PIPE,
            timeout=_START_S + 2 * WITHIN_S,
            check=True,
        )
        answered: list[str] | RequestError = pickle.loads(ended.stdout)  # noqa: S301 - our own process's
    except (OSError, subprocess.SubprocessError, pickle.UnpicklingError, EOFError) as error:
        return [f"{shown(settings.target)} could not be checked: {error}{_later(settings)}"]
    if isinstance(answered, RequestError):
        raise answered
    return answered


def answer() -> None:
    """Reads settings from standard input, examines them, and writes the problems, or the error, to standard output."""
    out = os.dup(1)
    os.dup2(2, 1)  # nothing that a library prints comes between
    answered: list[str] | RequestError
    try:
        answered = _examine_here(pickle.loads(sys.stdin.buffer.read()))  # noqa: S301 - from `_examine_apart`
    except RequestError as error:
        answered = error
    with open(out, "wb") as file:
        file.write(pickle.dumps(answered))


def _scheme(target: str) -> str:
    return target.partition("://")[0] if "://" in target else ""


async def examine(settings: Settings) -> list[str]:
    """Returns the problems that may pass, or that only this process has. Raises RequestError for a certain mistake."""
    target = shown(settings.target)
    if target == "local" and not declares(target):
        return ["target 'local' needs rewarden-server, which is not installed here: pip install . in a clone"]
    try:
        authority(settings.ca)
    except InvalidRequest as error:
        return [f"{error.message} (on this machine)"]
    scheme = _scheme(target)
    if scheme in _GRPC:
        if find_spec("grpc") is None:
            return [f"target {target!r} needs gRPC, which is not installed here: pip install 'rewarden[grpc]'"]
        if urlsplit(target).path.strip("/"):
            raise InvalidRequest(f"target {target!r} has a path; use {scheme}://{urlsplit(target).netloc}")
    if scheme not in (*_HTTP, *_GRPC):
        return await _check_uses(settings, None)
    try:
        urlsplit(target).port  # noqa: B018 - parsed here
    except ValueError as error:
        raise InvalidRequest(f"target {target!r}: {error}") from None
    try:
        return await _check_uses(settings, WITHIN_S)
    except FingerprintMoved:
        raise
    except RequestError as error:
        if "reason" in error.details:  # of the use
            raise
        try:
            return [await asyncio.wait_for(_explain(error, settings, scheme), WITHIN_S)]
        except asyncio.TimeoutError:
            return [f"{target}: {error.message}{_later(settings)}"]


async def _check_uses(settings: Settings, within_s: float | None) -> list[str]:
    """Sends a batch without samples for each use: the server binds the use, and judges nothing. Returns the problems
    that need not stop a run. Raises RequestError."""
    problems: list[str] = []
    end = None if within_s is None else time.monotonic() + within_s
    async with _opened(settings) as client:
        for place, (label, use) in enumerate(_uses(settings).items()):
            work = client.verify([], use, expect=settings.expect or None, fields=("status", "score"))
            try:
                await asyncio.wait_for(work, None if end is None else end - time.monotonic())
            except (asyncio.TimeoutError, DeadlineExceeded):
                if place == 0:
                    problems.append(
                        f"{shown(settings.target)} has not answered within {within_s:g} s{_later(settings)}"
                    )
                break  # a new server imports each verifier first; samples check the other routes
            except Overloaded:
                break  # the server is there
            except InvalidRequest as error:
                reason = error.details.get("reason")
                if reason is None:
                    raise
                if reason != MissingDependency.reason or settings.routing is None:
                    raise InvalidRequest(f"{shown(settings.target)}: {label}{error.message}", **error.details) from None
                problems.append(f"{label}{error.message}")  # a run may have no data for this route
    return problems


@asynccontextmanager
async def _opened(settings: Settings) -> AsyncIterator[AsyncClient]:
    options: dict[str, Any] = {} if settings.ca is None else {"ca": settings.ca}
    client = AsyncClient(settings.target, api_key=_api_key(settings), timeout_s=WITHIN_S, retry=NO_RETRY, **options)
    try:
        yield client
    finally:
        await client.close()


def _uses(settings: Settings) -> dict[str, Use | None]:
    """Returns the uses by their place in messages. Without any, the server's own routing decides; the routes that ship
    need no check."""
    if settings.routing is None or settings.routing.source == STARTER:
        return {"": settings.use}
    found: dict[str, tuple[str, Use]] = {}
    for route in settings.routing.routes:
        written = json.dumps(use_to_json(route.use), sort_keys=True, default=str)
        found.setdefault(written, (f"{settings.routing.source}: route {route.describe()}: ", route.use))
    return dict(found.values())


def shown(target: str) -> str:
    """Returns the target without a key that is in it as a password."""
    scheme, mark, rest = target.partition("://")
    return scheme + mark + rest.rpartition("@")[2]


def _api_key(settings: Settings) -> str | None:
    return settings.api_key or os.environ.get("REWARDEN_API_KEY") or None


def _key(settings: Settings) -> str:
    uses = [None if use is None else use_to_json(use) for use in _uses(settings).values()]
    parts = [settings.target, _api_key(settings), settings.ca, dict(settings.expect), uses]
    return json.dumps(parts, sort_keys=True, default=str)


# --- errors ----------------------------------------------------------------------------------------------------


async def _explain(error: RequestError, settings: Settings, scheme: str) -> str:
    """Returns the problem if it may pass, or only this process has it. Raises RequestError for a certain mistake."""
    target, place = shown(settings.target), urlsplit(shown(settings.target))
    later = _later(settings)
    if isinstance(error, InvalidRequest) and "its certificate" in error.message:
        if authority(settings.ca) is None:  # another process may know its CA
            return error.message
        raise error
    answer = await _answer(settings, settings.target.rstrip("/")) if scheme in _HTTP else None
    if answer is not None:
        await _raise_for_other_server(settings, answer)
    elif isinstance(error, (Unavailable, InvalidRequest)):
        try:
            found = await spoken(place.hostname or "", place.port or _DEFAULT_PORTS[scheme])
        except OSError as unreachable:
            return _unreachable(unreachable, target, scheme) + later
        if found is not None and found != scheme:
            raise InvalidRequest(_other_scheme(target, place.netloc, scheme, found))
    if isinstance(error, Unavailable):
        return f"{error.message}{later}"
    if isinstance(error, Unauthorized):
        if _api_key(settings) is None:
            return (
                f"{target} needs an API key, and this process has none: set REWARDEN_API_KEY where the rewards are "
                "requested"
            )
        raise Unauthorized(f"{target} rejects the API key (api_key=…, or REWARDEN_API_KEY): {error.message}")
    if isinstance(error, Forbidden):
        raise Forbidden(f"{target}: {error.message}", **error.details)
    if scheme in _GRPC and isinstance(error, NotFound):
        raise InvalidRequest(f"target {target!r} is a gRPC server, but not Rewarden: {error.message}")
    if isinstance(error, InternalError) and "cannot be read" not in error.message:
        return f"{target}: the server failed: {error.message}"
    if isinstance(error, (InternalError, InvalidRequest, NotFound)):
        raise type(error)(f"{target}: {error.message}{await _versions(settings)}", **error.details)
    raise error


def _other_scheme(target: str, netloc: str, scheme: str, spoken: str) -> str:
    if scheme in _HTTP and spoken in _GRPC:
        return f"target {target!r} is a gRPC port; use {spoken}://{netloc}, or the server's HTTP port (8080 by default)"
    if scheme in _GRPC and spoken in _HTTP:
        return (
            f"target {target!r} is an HTTP port; use {spoken}://{netloc}, or the server's gRPC port (50051 by default)"
        )
    uses = "uses TLS" if spoken.endswith("s") else "does not use TLS"
    return f"target {target!r}: the server {uses}; use {spoken}://{netloc}"


def _unreachable(error: OSError, target: str, scheme: str) -> str:
    place = urlsplit(target)
    if isinstance(error, socket.gaierror):
        return f"{target} cannot be reached: the name {place.hostname!r} cannot be resolved"
    if isinstance(error, TimeoutError):
        return f"{target} cannot be reached: no connection within {PROBE_S:g} s"
    text = f"{target} cannot be reached: {_said(error)}"
    if place.port is None:
        text += f"; the target names no port, and a server listens on {8080 if scheme in _HTTP else 50051} by default"
    return text


def _said(error: OSError) -> str:
    # asyncio puts the errors of several addresses (IPv4, IPv6) into the text of one.
    refused = isinstance(error, ConnectionRefusedError) or "Connect call failed" in str(error)
    return "nothing listens there (connection refused)" if refused else error.strerror or str(error)


def _later(settings: Settings) -> str:
    return f". The first request retries for up to {settings.patience_s:g} s"


async def _raise_for_other_server(settings: Settings, answer: _Answer) -> None:
    """Raises InvalidRequest if what answers at the target is not a Rewarden server, or is one at another path."""
    target, place = shown(settings.target), urlsplit(settings.target)
    path = place.path.rstrip("/")
    if path and not answer.knows_itself:
        origin = f"{place.scheme}://{place.netloc}"
        there = await _answer(settings, origin)
        if there is not None and there.ours:
            raise InvalidRequest(f"target {target!r} has the path {path!r}; use {shown(origin)}")
    if not answer.ours and answer.status < 500:  # a proxy whose server is down answers 502
        text = f"target {target!r} is not a Rewarden server: it answers {answer.text}"
        if place.scheme in getproxies() and not proxy_bypass(place.netloc):
            text += f". Requests go through a proxy ({place.scheme.upper()}_PROXY): add {place.hostname} to NO_PROXY"
        raise InvalidRequest(text)


class _Answer:
    """The answer to `GET /v1/info`. ours: it is in a Rewarden server's form. knows_itself: it is not a 404 either."""

    def __init__(self, status: int, kind: str, server: str, body: bytes) -> None:
        self.status = status
        value: Any = None
        with suppress(ValueError):
            value = json.loads(body)
        told = value.get("error") if isinstance(value, dict) else None
        code = told.get("code") if isinstance(told, dict) else None
        self.version = str(value["version"]) if isinstance(value, dict) and status == 200 and "version" in value else ""
        self.ours = bool(self.version) or (isinstance(code, str) and code in REQUEST_ERRORS)
        self.knows_itself = self.ours and status != 404
        excerpt = " ".join(body[:2000].decode(errors="replace").split())[:120]
        by = f" by {server}" if server else ""
        self.text = f"{status}{by} ({kind or 'no content type'}): {excerpt or 'nothing'}"


async def _answer(settings: Settings, base: str) -> _Answer | None:
    """Returns what `GET /v1/info` answers below an address, or None if nothing does."""
    import httpx

    key = _api_key(settings)
    headers = {"Accept": "application/json"} | ({} if key is None else {"Authorization": f"Bearer {key}"})
    secure = base.startswith("https:")
    verify = tls_context(httpx, settings.ca) if secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        async with httpx.AsyncClient(timeout=PROBE_S, verify=verify, headers=headers) as client:
            reply = await client.get(f"{base}/v1/info")
    except httpx.HTTPError:
        return None
    return _Answer(
        reply.status_code, reply.headers.get("Content-Type", ""), reply.headers.get("Server", ""), reply.content
    )


async def _versions(settings: Settings) -> str:
    """Returns the end of a message about a request or a response that one side does not understand."""
    try:
        async with _opened(settings) as client:
            theirs = str((await client.info()).get("version", ""))
        ours = version("rewarden")
    except (RequestError, PackageNotFoundError):
        return ""
    if not theirs or theirs == ours:
        return ""
    return f" (the server's version is {theirs}, this client's is {ours}: install the server's version of the client)"


async def _nothing() -> None:
    """The last work of the check's loop."""
