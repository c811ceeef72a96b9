"""Limits requests and tokens per minute, first come, first served."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from rewarden.errors import MissingDependency
from rewarden_server.judges.price import prompt_bytes, reply_tokens
from rewarden_server.judges.settings import JudgeEndpoint
from rewarden_verifiers.chat import Question

if TYPE_CHECKING:
    from aiolimiter import AsyncLimiter

_BYTES = 4
"""Average bytes per token in English text: a rate limit needs the usual size, whereas a budget needs the maximum."""


class Pace:
    """Leaky buckets that hold a minute's worth, all of which can be sent at once after a rest."""

    def __init__(self, judge: str, settings: JudgeEndpoint) -> None:
        self._judge = judge
        self._settings = settings
        self._requests: AsyncLimiter | None = None
        self._tokens: AsyncLimiter | None = None
        self._limited = settings.requests_per_minute is not None or settings.tokens_per_minute is not None
        # One at a time: the buckets themselves would serve small requests before large ones.
        self._turn = asyncio.Lock()
        self._waiting: set[asyncio.Task[None]] = set()

    async def keep(self, question: Question) -> bool:
        """Waits until the question may be sent. Returns False if `dissolve` was called meanwhile.

        Raises MissingDependency.
        """
        if not self._limited:
            return True
        self._fill()
        task = asyncio.ensure_future(self._kept(question))
        self._waiting.add(task)
        try:
            await task
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if task.cancelled() and current is not None and not current.cancelling():
                return False
            raise
        finally:
            self._waiting.discard(task)
        return True

    def dissolve(self) -> None:
        """Releases all waiting questions."""
        for task in self._waiting:
            task.cancel()

    async def _kept(self, question: Question) -> None:
        async with self._turn:
            if self._requests is not None:
                await self._requests.acquire()
            if self._tokens is not None:
                usual = prompt_bytes(question) // _BYTES + reply_tokens(self._settings, question)
                await self._tokens.acquire(min(usual, self._tokens.max_rate))

    def _fill(self) -> None:
        if self._requests is not None or self._tokens is not None:
            return
        try:
            from aiolimiter import AsyncLimiter
        except ModuleNotFoundError as error:
            raise MissingDependency(
                f"judge {self._judge!r} needs the package {error.name!r}: pip install 'rewarden-server[judge]'"
            ) from None
        settings = self._settings
        if settings.requests_per_minute is not None:
            self._requests = AsyncLimiter(settings.requests_per_minute, 60)
        if settings.tokens_per_minute is not None:
            self._tokens = AsyncLimiter(settings.tokens_per_minute, 60)
