"""The client: samples in, verdicts out, over any transport.

`AsyncClient` and `Client` have the same methods. Any number of tasks or threads can share a client. It opens no
connection before its first call.
"""

from __future__ import annotations

import asyncio
import copy
import time
import weakref
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import aclosing
from dataclasses import fields as dataclass_fields
from dataclasses import replace
from typing import Any, TypeVar, Union

from rewarden.after_fork import start_in_child
from rewarden.boxes.blocking import Box
from rewarden.boxes.box import AsyncBox, Desk, listed
from rewarden.boxes.call import BoxCall, with_boxes
from rewarden.boxes.types import BoxInfo, BoxLimits, BoxRequest
from rewarden.errors import DeadlineExceeded, InvalidRequest, Overloaded, RequestError, Unavailable
from rewarden.loop_thread import LoopThread
from rewarden.resume import resume
from rewarden.retry import NO_RETRY, Retry, Tries, may_pass
from rewarden.sample_stream import SampleStream
from rewarden.transports.base import Transport
from rewarden.transports.targets import open_target, proxied
from rewarden.types import (
    BadSample,
    Batch,
    BatchResult,
    Group,
    Limits,
    Progress,
    Run,
    RunResult,
    Sample,
    Text,
    Use,
    Verdict,
)
from rewarden.wire.json import (
    content_of,
    dumps,
    good_sample,
    header_to_json,
    run_from_json,
    run_to_json,
    sample_from_json,
    use_from_json,
)

T = TypeVar("T")

DEFAULT_TARGET = "http://127.0.0.1:8080"
STREAM_ABOVE = 1000
STREAM_ABOVE_CHARACTERS = 16_000_000

_MOST_STREAMS = 8
"""Streams of a `Client` at a time: callers may invent parameters without end. Beyond it, a sample has a request of its
own."""

Row = Union[Sample, Mapping[str, Any]]
"""A sample, or its JSON form as a mapping."""

UseLike = Union[str, Mapping[str, Any], Use]
"""A verifier's or recipe's name, `{name, params}`, `{recipe}`, or a `Use`."""


Content = Union[str, bytes, Mapping[str, str]]
"""Content that a program reads: text, bytes, or `{"base64": "…"}`."""


class AsyncClient:
    """A client for asyncio.

    target: `http://…`, `https://…`, `grpc://host:port`, `grpcs://…`, or `local` (the engine in this process; needs
    rewarden-server). `https://` and `grpcs://` accept `ca=FILE`, or `REWARDEN_CA`: a PEM file with the only CA
    certificates to trust. api_key: sent with every request. timeout_s: raises DeadlineExceeded if the server is silent
    for longer; None waits without limit. retry: see `Retry`. stream_above: batches with more samples than this, or
    more than 16 million characters, are sent as a stream, and their verdicts are returned in the request's order.
    Other options go to the target (see its documentation).

    Every method raises `rewarden.errors.RequestError` subclasses. A sample that cannot be judged raises nothing: it
    has a verdict with status `error` or `undecided`.
    """

    def __init__(
        self,
        target: str = DEFAULT_TARGET,
        *,
        api_key: str | None = None,
        timeout_s: float | None = None,
        retry: Retry = Retry(),  # noqa: B008,RUF100 - frozen
        stream_above: int = STREAM_ABOVE,
        **options: Any,
    ) -> None:
        if api_key is not None and not (api_key.isascii() and api_key.isprintable() and api_key.strip() == api_key):
            raise InvalidRequest("api_key must be printable ASCII without surrounding spaces; use strip()")
        self.target = target
        self._options = {"api_key": api_key, "timeout_s": timeout_s, **options}
        self._retry = retry
        self._stream_above = stream_above
        self._transport: Transport | None = None
        self._loop: weakref.ref[asyncio.AbstractEventLoop] | None = None

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def verify(
        self,
        samples: Batch | Iterable[Row],
        use: UseLike | None = None,
        *,
        shared: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
        deadline_s: float | None = None,
        group_deadline_s: float | None = None,
        expect: Mapping[str, str] | None = None,
        fields: Sequence[str] | None = None,
    ) -> BatchResult:
        """Returns the verdicts of samples (or of a `Batch`, whose fields the arguments override), in order.

        The arguments are the fields of `rewarden.types.Batch`.
        """
        batch = _batch(
            samples,
            use=use,
            shared=shared,
            progress=progress,
            deadline_s=deadline_s,
            group_deadline_s=group_deadline_s,
            expect=expect,
            fields=fields,
        )
        result = await self._judged(batch)
        return await self._ask_again(batch, result) if self._retry.verdicts else result

    async def verify_one(
        self, response: Text, reference: Any = None, use: UseLike | None = None, **fields: Any
    ) -> Verdict:
        """Returns the verdict of one response; `fields` are further fields of `rewarden.types.Sample`."""
        result = await self.verify([Sample(response=response, reference=reference, **fields)], use)
        return result.verdicts[0]

    async def stream(
        self,
        samples: Batch | Iterable[Row] | AsyncIterable[Row],
        use: UseLike | None = None,
        *,
        shared: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
        deadline_s: float | None = None,
        group_deadline_s: float | None = None,
        expect: Mapping[str, str] | None = None,
        fields: Sequence[str] | None = None,
    ) -> AsyncGenerator[Verdict | Group, None]:
        """Yields verdicts as they finish, while `samples` are still being produced, and the statistics of each group
        after the verdicts of its members.

        `Verdict.index` counts the samples in the order in which they were taken. Set the `group_size` of grouped
        samples, so that a group is complete before the end of the stream. Exceptions of `samples` are raised here.
        """
        rows = samples.samples if isinstance(samples, Batch) else samples
        header = _batch(
            replace(samples, samples=()) if isinstance(samples, Batch) else (),
            use=use,
            shared=shared,
            progress=progress,
            deadline_s=deadline_s,
            group_deadline_s=group_deadline_s,
            expect=expect,
            fields=fields,
        )
        async with aclosing(self._resumed(header, _rows(rows), self._retry)) as items:
            async for item in items:
                yield item

    async def run(
        self,
        code: str,
        language: str = "python",
        *,
        stdin: Content = "",
        files: Mapping[str, Content] | None = None,
        args: Sequence[str] = (),
        limits: Limits | Mapping[str, Any] | None = None,
        collect: Sequence[str] = (),
    ) -> RunResult:
        """Runs a program in the target's sandbox and returns its result. The arguments are the fields of
        `rewarden.types.Run`.

        Everything that the program does is in the result. Raises InvalidRequest for a program that no sandbox can run
        (an unknown language, a path that leaves the working folder), and Unavailable if the sandbox has no room.
        """
        run = _run(code, language, stdin=stdin, files=files or {}, args=args, limits=limits or {}, collect=collect)
        return await self._tries(lambda transport: transport.run(run))

    async def verifiers(self, name: str | None = None) -> list[dict[str, Any]]:
        """Returns the verifiers and recipes of the target; with a name, the full description of that one. Raises
        NotFound."""
        return await self._tries(lambda transport: transport.verifiers(name))

    async def info(self) -> dict[str, Any]:
        """Returns information on the target: versions, lanes, limits."""
        return await self._tries(lambda transport: transport.info())

    def box(
        self,
        image: str = "python",
        *,
        env: Mapping[str, str] | None = None,
        files: Mapping[str, Content] | None = None,
        limits: BoxLimits | Mapping[str, int] | None = None,
        ttl_s: float | None = None,
        idle_s: float | None = None,
        rollout: str | None = None,
        snapshot: str | None = None,
        task: str | None = None,
        network: Sequence[str] | None = None,
    ) -> AsyncBox:
        """Returns a box of the server, a sandbox that lives for a rollout; `async with` opens and closes it. The
        arguments are the fields of `rewarden.boxes.types.BoxRequest`."""
        asked = _box_request(
            image=image,
            env=env,
            files=files,
            limits=limits,
            ttl_s=ttl_s,
            idle_s=idle_s,
            rollout=rollout,
            snapshot=snapshot,
            task=task,
            network=network,
        )
        return AsyncBox(self._desk(), asked, None)

    def join(self, box: str, lease: str | None = None) -> AsyncBox:
        """Returns an open box by its id, of the client's key or by a lease. It is not closed at the end of `async
        with`."""
        return AsyncBox(self._desk(), None, BoxInfo(id=box), lease)

    async def boxes(self) -> list[BoxInfo]:
        """Returns the key's open boxes."""
        return listed(await self._desk().call(BoxCall(operation="list")))

    async def delete_snapshot(self, snapshot: str) -> None:
        """Deletes a snapshot."""
        await self._desk().call(BoxCall(operation="forget", box=snapshot))

    def _desk(self) -> Desk:
        return Desk(lambda: with_boxes(self._open(), self.target), self._retry, self._options["timeout_s"])

    async def close(self) -> None:
        """Closes the connections; pending calls fail. A closed client can be used again."""
        transport, self._transport = self._transport, None
        if transport is not None and self._loop is not None and self._loop() is asyncio.get_running_loop():
            await transport.close()

    def _open(self) -> Transport:
        # Connections belong to the loop that opened them; another `asyncio.run` needs its own.
        loop = asyncio.get_running_loop()
        if self._transport is None or self._loop is None or self._loop() is not loop:
            self._transport = open_target(self.target, **self._options)
            self._loop = weakref.ref(loop)
        return self._transport

    async def _tries(self, call: Callable[[Transport], Awaitable[T]]) -> T:
        transport = self._open()
        tries = Tries(self._retry)
        while True:
            try:
                return await call(transport)
            except (Overloaded, Unavailable) as error:
                await tries.failed(error)

    def _resumed(
        self, header: Batch, samples: AsyncIterator[Sample], retry: Retry
    ) -> AsyncGenerator[Verdict | Group, None]:
        transport = self._open()
        return resume(lambda taken: transport.stream(header, taken), samples, retry)

    async def _judged(self, batch: Batch) -> BatchResult:
        if self._is_large(batch):
            return await self._verify_streaming(batch)
        return await self._tries(lambda transport: transport.verify(batch))

    async def _ask_again(self, batch: Batch, result: BatchResult) -> BatchResult:
        """Returns the result after retrying verdicts with transient errors."""
        verdicts, groups = list(result.verdicts), {group.group: group for group in result.groups}
        names = [sample.group if isinstance(sample, Sample) else None for sample in batch.samples]
        tries = Tries(self._retry)
        began = time.monotonic()
        before = len(verdicts) + 1
        while failed := {place for place, verdict in enumerate(verdicts) if self._retry.asks_again(verdict)}:
            if len(failed) < before:
                tries.brought()
            before = len(failed)
            wait = tries.wait_s(may_pass(verdicts[min(failed)]))
            left = None if batch.deadline_s is None else batch.deadline_s - (time.monotonic() - began)
            if wait is None or (left is not None and left <= wait):
                break
            await asyncio.sleep(wait)
            # A group is judged as a whole: one member again is all of them again.
            whole = {names[place] for place in failed} - {None}
            places = [place for place, name in enumerate(names) if place in failed or name in whole]
            rest = [batch.samples[place] for place in places]
            try:
                answer = await self._judged(
                    replace(batch, samples=rest, deadline_s=None if left is None else left - wait)
                )
            except (Overloaded, Unavailable, DeadlineExceeded):
                break  # what is known already is not lost with it
            for place, verdict in zip(places, answer.verdicts, strict=True):
                verdicts[place] = replace(verdict, index=place)
            groups |= {group.group: group for group in answer.groups}
        return replace(result, verdicts=tuple(verdicts), groups=tuple(groups.values()))

    def _is_large(self, batch: Batch) -> bool:
        if len(batch.samples) > self._stream_above:
            return True
        characters = sum(len(sample.response) for sample in batch.samples if isinstance(sample, Sample))
        return characters > STREAM_ABOVE_CHARACTERS

    async def _verify_streaming(self, batch: Batch) -> BatchResult:
        samples = [good_sample(sample, index) for index, sample in enumerate(batch.samples)]
        sizes: dict[str, int] = {}
        for sample in samples:
            if sample.group is not None:
                sizes[sample.group] = sizes.get(sample.group, 0) + 1
        # A batch ends all its groups at once; a stream must be told when each is whole.
        sized = [
            sample
            if sample.group is None or sample.group_size is not None
            else replace(sample, group_size=sizes[sample.group])
            for sample in samples
        ]
        verdicts: list[Any] = [None] * len(samples)
        groups: dict[str, list[Group]] = {name: [] for name in sizes}
        # Verdicts that may pass are `_ask_again`'s: two loops around each other would multiply the patience.
        retry = replace(self._retry, verdicts=False)
        async with aclosing(self._resumed(replace(batch, samples=()), _rows(sized), retry)) as items:
            async for item in items:
                if isinstance(item, Group):
                    groups.setdefault(item.group, []).append(item)
                else:
                    verdicts[item.index] = item
        return BatchResult(
            verdicts=tuple(verdicts), groups=tuple(group for found in groups.values() for group in found)
        )


class _SharingClient(AsyncClient):
    """An `AsyncClient` that sends a batch of one sample through a stream, which all such calls with the same envelope
    share. Results and errors are those of a request for that sample alone.
    """

    def __init__(self, target: str, **settings: Any) -> None:
        super().__init__(target, **settings)
        self._streams: dict[bytes, SampleStream] = {}

    async def close(self) -> None:
        """As `AsyncClient.close`."""
        for stream in self._streams.values():
            if not stream.busy:  # others would be waited for, but pending calls fail
                await stream.close()
        self._streams.clear()
        await super().close()

    async def _judged(self, batch: Batch) -> BatchResult:
        stream = self._stream_of(batch)
        if stream is None:
            return await super()._judged(batch)
        (sample,) = batch.samples
        try:
            verdict = await self._tries(lambda transport: stream.verify(sample))  # type: ignore[arg-type]
        except (Overloaded, Unavailable, DeadlineExceeded):
            raise
        except RequestError:
            return await super()._judged(batch)  # it may be a neighbour's: each of the stream's callers asks alone
        return BatchResult(verdicts=(verdict if verdict.index == 0 else replace(verdict, index=0),))

    def _stream_of(self, batch: Batch) -> SampleStream | None:
        """Returns the stream for a batch of one sample; None for any other, and for what only a request can state."""
        if len(batch.samples) != 1 or batch.shared or batch.deadline_s is not None or self._is_large(batch):
            return None
        if proxied(self.target):
            return None
        (sample,) = batch.samples
        if not isinstance(sample, Sample) or sample.group is not None:
            return None
        try:
            key = dumps(header_to_json(batch))
        except ValueError:
            return None
        streams = self._streams
        if key not in streams:
            for idle in [known for known, stream in streams.items() if not stream.open]:
                del streams[idle]
            if len(streams) >= _MOST_STREAMS:
                return None
            self._open()
            # Of one attempt: retries are those of each call, as they are with requests.
            once = copy.copy(self)
            once._retry = NO_RETRY
            header = {name: getattr(batch, name) for name in ("use", "progress", "expect", "fields")}
            streams[key] = SampleStream(once, timeout_s=self._options["timeout_s"], **header)
        return streams[key]


class Client:
    """A blocking client: the same as `AsyncClient`, without `await`.

    It works from any thread and also inside a running event loop (a notebook), because its own event loop runs in a
    separate thread. Calls with a single sample share a stream, so that many threads get the rate of a batch. After a
    fork, the child process opens its own connections.
    """

    def __init__(
        self,
        target: str = DEFAULT_TARGET,
        *,
        api_key: str | None = None,
        timeout_s: float | None = None,
        retry: Retry = Retry(),  # noqa: B008,RUF100 - frozen
        stream_above: int = STREAM_ABOVE,
        **options: Any,
    ) -> None:
        self.target = target
        self._settings: dict[str, Any] = {
            "api_key": api_key,
            "timeout_s": timeout_s,
            "retry": retry,
            "stream_above": stream_above,
            **options,
        }
        self._start()
        start_in_child(self, Client._start)

    def _start(self) -> None:
        self._client = _SharingClient(self.target, **self._settings)
        self._thread = LoopThread("rewarden-client")

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def verify(self, samples: Batch | Iterable[Row], use: UseLike | None = None, **envelope: Any) -> BatchResult:
        """As `AsyncClient.verify`."""
        client, thread = self._client, self._thread
        rows = samples if isinstance(samples, Batch) else list(samples)
        return thread.run(client.verify(rows, use, **envelope))

    def verify_one(self, response: Text, reference: Any = None, use: UseLike | None = None, **fields: Any) -> Verdict:
        """As `AsyncClient.verify_one`."""
        client, thread = self._client, self._thread
        return thread.run(client.verify_one(response, reference, use, **fields))

    def stream(
        self, samples: Batch | Iterable[Row], use: UseLike | None = None, **envelope: Any
    ) -> Iterator[Verdict | Group]:
        """As `AsyncClient.stream`. A generator of samples runs in a thread, so it can block."""
        client, thread = self._client, self._thread
        given: Any = samples if isinstance(samples, (Batch, Sequence)) else _in_thread(samples)
        return thread.iterate(lambda: client.stream(given, use, **envelope))

    def run(self, code: str, language: str = "python", **fields: Any) -> RunResult:
        """As `AsyncClient.run`."""
        client, thread = self._client, self._thread
        return thread.run(client.run(code, language, **fields))

    def verifiers(self, name: str | None = None) -> list[dict[str, Any]]:
        """As `AsyncClient.verifiers`."""
        client, thread = self._client, self._thread
        return thread.run(client.verifiers(name))

    def info(self) -> dict[str, Any]:
        """As `AsyncClient.info`."""
        client, thread = self._client, self._thread
        return thread.run(client.info())

    def box(self, image: str = "python", **options: Any) -> Box:
        """As `AsyncClient.box`, with `with`."""
        client, thread = self._client, self._thread
        return Box(client.box(image, **options), thread)

    def join(self, box: str, lease: str | None = None) -> Box:
        """As `AsyncClient.join`."""
        client, thread = self._client, self._thread
        return Box(client.join(box, lease), thread)

    def boxes(self) -> list[BoxInfo]:
        """As `AsyncClient.boxes`."""
        client, thread = self._client, self._thread
        return thread.run(client.boxes())

    def delete_snapshot(self, snapshot: str) -> None:
        """As `AsyncClient.delete_snapshot`."""
        client, thread = self._client, self._thread
        thread.run(client.delete_snapshot(snapshot))

    def close(self) -> None:
        """Closes the connections and ends the thread. Pending calls and streams raise Unavailable. A closed client can
        be used again."""
        self._thread.stop(self._client.close())


def _batch(samples: Batch | Iterable[Row], *, use: UseLike | None, **envelope: Any) -> Batch:
    given = {name: value for name, value in envelope.items() if value is not None}
    if use is not None:
        given["use"] = use if isinstance(use, Use) else use_from_json(use if isinstance(use, str) else dict(use))
    if isinstance(samples, Batch):
        return replace(samples, **given) if given else samples
    return Batch(samples=[_sample(row, index) for index, row in enumerate(samples)], **given)


def _run(
    code: str,
    language: str,
    *,
    stdin: Content,
    files: Mapping[str, Content],
    args: Sequence[str],
    limits: Limits | Mapping[str, Any],
    collect: Sequence[str],
) -> Run:
    for name, given in (("args", args), ("collect", collect)):
        if isinstance(given, str):  # a sequence of strings too, one for each character
            raise InvalidRequest(f"{name}: must be a list of strings, not a string", path=name)
    made = Run(
        language=language,
        code=code,
        stdin=_content(stdin),
        files={path: _content(item) for path, item in files.items()},
        args=args,
        limits=limits if isinstance(limits, Limits) else Limits(),
        collect=collect,
    )
    value = run_to_json(made)
    if not isinstance(limits, Limits):
        value["limits"] = dict(limits)
    return run_from_json(value)  # read as the server would: what is wrong is told here, by field


def _box_request(
    *, files: Mapping[str, Content] | None, limits: BoxLimits | Mapping[str, int] | None, **fields: Any
) -> BoxRequest:
    given = {name: value for name, value in fields.items() if value is not None}
    if files is not None:
        given["files"] = {path: _content(item) for path, item in files.items()}
    if limits is not None:
        try:
            given["limits"] = limits if isinstance(limits, BoxLimits) else BoxLimits(**limits)
        except TypeError:
            known = ", ".join(each.name for each in dataclass_fields(BoxLimits))
            raise InvalidRequest(
                f"limits: a box has {known}, and a program in it cpu_s, wall_s, output_bytes (box.exec(…, limits=…))",
                path="limits",
            ) from None
    return BoxRequest(**given)


def _content(content: Content) -> str | Mapping[str, str]:
    if isinstance(content, bytes):
        return content_of(content)
    return dict(content) if isinstance(content, Mapping) else content


def _sample(row: Row | BadSample, index: int) -> Sample:
    if isinstance(row, Sample):
        return row
    return good_sample(row if isinstance(row, BadSample) else sample_from_json(dict(row)), index)


async def _rows(rows: Iterable[Any] | AsyncIterable[Any]) -> AsyncIterator[Sample]:
    index = 0
    if isinstance(rows, AsyncIterable):
        async for row in rows:
            yield _sample(row, index)
            index += 1
    else:
        for row in rows:
            yield _sample(row, index)
            index += 1


async def _in_thread(rows: Iterable[Row]) -> AsyncIterator[Row]:
    """The rows of an iterable that may take its time, made on other threads, one at a time."""
    iterator = iter(rows)
    end = object()
    while (row := await asyncio.to_thread(next, iterator, end)) is not end:
        yield row  # type: ignore[misc]
