"""One sample at a time in, one request for many out: for trainers that ask for one reward at a time."""

from __future__ import annotations

import asyncio
from typing import Any

from rewarden.client import AsyncClient, Row, UseLike
from rewarden.errors import DeadlineExceeded, InvalidRequest, RewardenError
from rewarden.types import Sample, Verdict
from rewarden.wire.json import good_sample, sample_from_json

_Waiting = tuple[Sample, "asyncio.Future[Verdict]"]


class MicroBatcher:
    """Joins concurrent calls into one request.

    A request leaves when `max_samples` wait or `max_wait_s` has passed since the first of them came. Siblings of a
    group wait for one another, because a group is judged inside one request: give such samples their `group_size`, and
    call for all of them at once. The members of a group that is not whole after `group_wait_s` get DeadlineExceeded.
    Further arguments (`use`, `shared`, `expect` …) go with every request. For one event loop.
    """

    def __init__(
        self,
        client: AsyncClient,
        use: UseLike | None = None,
        *,
        max_samples: int = 256,
        max_wait_s: float = 0.005,
        group_wait_s: float = 60.0,
        **envelope: Any,
    ) -> None:
        self._client = client
        self._envelope = {"use": use, **envelope}
        self._max_samples = max_samples
        self._max_wait_s = max_wait_s
        self._group_wait_s = group_wait_s
        self._ready: list[_Waiting] = []
        self._timer: asyncio.TimerHandle | None = None
        self._groups: dict[str, tuple[list[_Waiting], asyncio.TimerHandle]] = {}
        self._requests: set[asyncio.Task[None]] = set()

    async def verify(self, row: Row) -> Verdict:
        """The sample's verdict, `index` 0. Raises what `AsyncClient.verify` raises for the request that it was part of.

        A caller that is cancelled leaves the others' verdicts alone.
        """
        sample = row if isinstance(row, Sample) else good_sample(sample_from_json(dict(row)), 0)
        future: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()
        if sample.group is None:
            self._enqueue([(sample, future)])
        elif sample.group_size is None:
            raise InvalidRequest("group_size: is needed, to know when the group is whole", path="group_size")
        else:
            self._join(sample.group, sample.group_size, (sample, future))
        return await future

    async def close(self) -> None:
        """Send what waits, and wait for its verdicts. Callers of groups that are not whole get InvalidRequest."""
        for name in list(self._groups):
            self._give_up(name, InvalidRequest(f"group {name!r}: the batcher was closed before it was whole"))
        self._send()
        while self._requests:
            await asyncio.gather(*self._requests)

    def _join(self, name: str, size: int, waiting: _Waiting) -> None:
        loop = asyncio.get_running_loop()
        if name not in self._groups:
            self._groups[name] = ([], loop.call_later(self._group_wait_s, self._expire, name))
        members, timer = self._groups[name]
        # A sibling whose caller left is still a sibling: its group would never be whole without it.
        members.append(waiting)
        if len(members) >= size:
            timer.cancel()
            del self._groups[name]
            self._enqueue(members)

    def _expire(self, name: str) -> None:
        members, _ = self._groups[name]
        size = members[0][0].group_size
        text = f"group {name!r}: {len(members)} of {size} members came within {self._group_wait_s} s"
        self._give_up(name, DeadlineExceeded(text))

    def _give_up(self, name: str, error: RewardenError) -> None:
        members, timer = self._groups.pop(name)
        timer.cancel()
        _fail(members, error)

    def _enqueue(self, waiting: list[_Waiting]) -> None:
        self._ready += waiting
        if len(self._ready) >= self._max_samples:
            self._send()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._max_wait_s, self._send)

    def _send(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        # Whoever left needs no verdict, unless siblings are judged with it.
        batch = [pair for pair in self._ready if pair[0].group is not None or not pair[1].done()]
        self._ready = []
        if batch:
            request = asyncio.create_task(self._request(batch))
            self._requests.add(request)
            request.add_done_callback(self._requests.discard)

    async def _request(self, batch: list[_Waiting]) -> None:
        try:
            result = await self._client.verify([sample for sample, _ in batch], **self._envelope)
        except Exception as error:  # noqa: BLE001 - raised to every caller of this request
            _fail(batch, error)
            return
        for (_, future), verdict in zip(batch, result.verdicts, strict=True):
            if not future.done():
                future.set_result(verdict)


def _fail(waiting: list[_Waiting], error: Exception) -> None:
    for _, future in waiting:
        if not future.done():
            future.set_exception(error)
