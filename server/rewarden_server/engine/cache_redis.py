"""Outcomes that several servers share, in Redis. The engine never waits for it: a look-up without a prompt answer
counts as unknown, and a failing Redis is skipped for a while.

A value contains its own key and, if a key file is set, an authentication code over both that only holders of the file
can make. A value that cannot be read, belongs to another key, or has a wrong code counts as unknown too.
"""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import Callable, Sequence
from typing import Any

from rewarden.errors import InvalidRequest, MissingDependency, TooLarge
from rewarden.types import Outcome
from rewarden.wire.json import dumps, loads, outcome_from_json, outcome_to_json
from rewarden_server.engine.observer import Observer
from rewarden_server.engine.settings import EngineSettings
from rewarden_server.observe.logs import get_logger

_PREFIX = b"rewarden:outcome:1:"
_PLAIN, _SIGNED = b"rw1-", b"rw1+"
"""The beginning of a value: the version of its format. Values of other versions count as unknown."""

_MAC_BYTES = 32
_MOST_BYTES = 1024**2
"""The size of the largest value that is stored; larger outcomes are not shared."""

_LOOKUP_S = 0.05
"""A look-up that takes longer has failed: most work takes less time."""

_STORE_S = 1.0
_STORE_SOON_S = 0.02
_BATCH = 256
_STORES = 4
"""Batches that are being written at once; further outcomes are not stored."""

_FAILURES = 3
_REST_S = 5.0
"""After `_FAILURES` failures in a row Redis is left alone for `_REST_S` seconds; then a single look-up tries again."""

Tell = Callable[["Outcome | None"], None]
"""Receives the result of a look-up."""


class RedisCache:
    """Used on one loop. Connects at the first look-up.

    url: `redis://`, `rediss://` or `unix://`. password: used instead of the url's. secret: the key for the
    authentication codes of values; None: no codes. ttl_s: seconds until an outcome expires. Raises MissingDependency
    without the package.
    """

    def __init__(self, url: str, *, password: str | None, secret: bytes | None, ttl_s: int, observer: Observer) -> None:
        try:
            from redis import RedisError
            from redis.asyncio import BlockingConnectionPool, Redis
            from redis.asyncio.retry import Retry
            from redis.backoff import NoBackoff
        except ImportError:
            raise MissingDependency(
                "engine.cache_redis needs a package: pip install 'rewarden-server[redis]'"
            ) from None
        given = {"password": password} if password is not None else {}
        self._client: Any = Redis.from_pool(
            BlockingConnectionPool.from_url(
                url,
                max_connections=8,
                timeout=_LOOKUP_S,
                socket_timeout=_STORE_S,
                socket_connect_timeout=_STORE_S,
                retry=Retry(NoBackoff(), 0),  # a second attempt would take longer than the work
                **given,
            )
        )
        self._broken: tuple[type[Exception], ...] = (RedisError, OSError, TimeoutError, ValueError)
        self._secret = secret
        self._ttl_s = ttl_s
        self._observer = observer
        self._asked: list[tuple[bytes, Tell]] = []
        self._pending: dict[bytes, Outcome] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._stores = 0
        self._failures = 0
        self._rests_until = 0.0
        self._closed = False
        self._log = get_logger("cache")

    @classmethod
    def of(cls, settings: EngineSettings, observer: Observer | None = None) -> RedisCache:
        """Returns the cache that the settings name. Raises MissingDependency, OSError for the files of secrets."""
        password, key = settings.cache_redis_password_file, settings.cache_key_file
        assert settings.cache_redis is not None
        return cls(
            settings.cache_redis,
            password=password.read_text(encoding="utf-8").strip() if password is not None else None,
            secret=key.read_bytes().strip() if key is not None else None,
            ttl_s=settings.cache_redis_ttl_s,
            observer=observer or Observer(),
        )

    async def probe(self) -> str | None:
        """Returns the name of the error that keeps Redis from answering, or None if it answers."""
        try:
            async with asyncio.timeout(_STORE_S):
                await self._client.mget([_PREFIX])
        except self._broken as error:
            return _kind(error)
        return None

    @property
    def away(self) -> bool:
        """Returns whether Redis is skipped at the moment."""
        return time.monotonic() < self._rests_until

    def ask(self, key: bytes, tell: Tell) -> bool:
        """Begins the look-up of a key; `tell` is always called later, within a bounded time.

        Returns False, without calling `tell`, if Redis is skipped. All look-ups of one turn of the loop share one round
        trip.
        """
        if self.away or self._closed:
            return False
        if not self._asked:
            if self._failures >= _FAILURES:
                self._rest()  # this look-up tries; others do not wait for it
            asyncio.get_running_loop().call_soon(self._look)
        self._asked.append((key, tell))
        return True

    def put(self, key: bytes, outcome: Outcome) -> None:
        """Stores an outcome soon, if possible."""
        if self.away or self._closed:
            return
        if not self._pending:
            asyncio.get_running_loop().call_later(_STORE_SOON_S, self._write)
        self._pending[key] = outcome
        if len(self._pending) >= _BATCH:
            self._write()

    async def close(self) -> None:
        """Writes pending entries, and disconnects."""
        self._closed = True
        self._look()
        self._write()
        while self._tasks:  # look-ups start tasks of their own
            await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._client.aclose()

    # --- look-ups -----------------------------------------------------------------------------------------------

    def _look(self) -> None:
        asked, self._asked = self._asked, []
        for first in range(0, len(asked), _BATCH):
            self._begin(self._fetch(asked[first : first + _BATCH]))

    async def _fetch(self, asked: Sequence[tuple[bytes, Tell]]) -> None:
        values: Sequence[Any] = [None] * len(asked)
        try:
            # A late look-up may continue until the socket's time-out: the time may have gone into connecting (TLS, a
            # password), and the next look-up then finds the connection ready.
            asking = self._begin(self._client.mget([_PREFIX + key for key, _ in asked]))
            if not (await asyncio.wait({asking}, timeout=_LOOKUP_S))[0]:
                raise TimeoutError
            found = asking.result()
            # The caller must get an answer, even if the server is not Redis or sends invalid data.
            if not isinstance(found, list) or len(found) != len(asked):
                raise ValueError("not one value for each key")
            values = found
            self._works()
        except self._broken as error:
            self._failed(error)
        finally:
            for (key, tell), value in zip(asked, values, strict=True):
                tell(self._read(key, value))

    def _read(self, key: bytes, value: Any) -> Outcome | None:
        if not isinstance(value, bytes):
            return None
        head = _PLAIN if self._secret is None else _SIGNED
        if not value.startswith(head):
            return None
        body = value[len(head) :]
        if self._secret is not None:
            code, body = body[:_MAC_BYTES], body[_MAC_BYTES:]
            if not hmac.compare_digest(code, self._code(body)):
                return None
        # A value under another's key is another sample's verdict: a mixed-up connection, or a malicious copy.
        if not body.startswith(key):
            return None
        try:
            outcome = outcome_from_json(loads(body[len(key) :]))
        except (ValueError, InvalidRequest, TooLarge):
            return None
        return outcome if outcome.status != "error" else None

    # --- storing ------------------------------------------------------------------------------------------------

    def _write(self) -> None:
        batch, self._pending = self._pending, {}
        if not batch or self._stores >= _STORES or self.away:
            return
        self._stores += 1
        self._begin(self._store(batch))

    async def _store(self, batch: dict[bytes, Outcome]) -> None:
        try:
            pipe = self._client.pipeline(transaction=False)
            for key, outcome in batch.items():
                body = key + dumps(outcome_to_json(outcome))
                if len(body) <= _MOST_BYTES:
                    value = _PLAIN + body if self._secret is None else _SIGNED + self._code(body) + body
                    pipe.set(_PREFIX + key, value, ex=self._ttl_s)
            async with asyncio.timeout(_STORE_S):
                await pipe.execute()
        except self._broken as error:
            self._failed(error)
        finally:
            self._stores -= 1

    def _code(self, body: bytes) -> bytes:
        assert self._secret is not None
        return hmac.digest(self._secret, body, "sha256")

    # --- how it is ----------------------------------------------------------------------------------------------

    def _begin(self, work: Any) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # a late look-up: it already counted as failed

    def _works(self) -> None:
        if self._failures >= _FAILURES:
            self._log.info("the shared cache answers again")
        self._failures = 0
        self._rests_until = 0.0

    def _failed(self, error: Exception) -> None:
        self._failures += 1
        self._observer.cache_failed("redis")
        if self._failures == _FAILURES:
            # Only the kind of error: a server's message can repeat what it received.
            self._log.warning("the shared cache is bypassed", kind=_kind(error), rests_s=_REST_S)
        if self._failures >= _FAILURES:
            self._rest()

    def _rest(self) -> None:
        self._rests_until = time.monotonic() + _REST_S


def _kind(error: BaseException) -> str:
    """Returns the name of the original error: a refused password surfaces as a connection error."""
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    return type(error).__name__
