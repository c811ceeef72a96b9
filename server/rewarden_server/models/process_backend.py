"""The engine's interface to models: a model process, over its wire protocol. Many tasks go in few requests."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from time import monotonic
from typing import Any, TypeVar, cast
from urllib.parse import quote

import msgspec

from rewarden.errors import InvalidParams, InvalidSample, ModelError, SampleError
from rewarden_models.endpoint import ModelEndpoint
from rewarden_models.settings import Place
from rewarden_models.wire import RESULTS, error_from_wire, kind_of
from rewarden_server.models.connection import Connection, ProcessLost
from rewarden_server.models.process import ModelProcess, processes_of
from rewarden_server.models.result_check import check_result
from rewarden_server.models.settings import ModelSettings
from rewarden_server.models.suspects import culprits
from rewarden_server.observe.logs import get_logger
from rewarden_verifiers.inference import About, Task

R = TypeVar("R")

_log = get_logger("models")

_MOST_ITEMS = 512
_MOST_BYTES = 8 * 1024**2
"""Limit for one request; a single item may be larger."""

_PAUSE_S = 0.001
"""Per request in flight, how long tasks are gathered for the next one. A fast process has few in flight, so nothing
waits; with tasks that take a minute, some hundreds are open and a task waits some tenths of a second.
"""

_TRIES = 2
"""Attempts to reach an unreachable process, and to send a task if processes are told to stop."""

_AGAIN_S = 0.2
"""Pause before a process that is not ours to start is tried again."""

_LAST_WORDS_S = 1.0

_LOOK_S = (0.05, 1.0)
"""The first and the longest pause between checks of a model that is loading."""


class _Line(msgspec.Struct):
    id: int
    result: msgspec.Raw = msgspec.Raw()
    error: Any = None


_line = msgspec.json.Decoder(_Line).decode
_results = {kind: msgspec.json.Decoder(made).decode for kind, made in RESULTS.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise NotImplementedError


_encode = msgspec.json.Encoder(enc_hook=_plain).encode


@dataclass(slots=True, eq=False)
class _Item:
    """A task that a caller waits for. call: the request in which it was sent. losses: how often its process was lost
    during it; why: the reason the last time."""

    kind: str
    task: Task[Any]
    body: bytes
    answer: asyncio.Future[Any]
    losses: int = 0
    why: str = ""
    call: _Call | None = None
    number: int = 0


@dataclass(slots=True, eq=False)
class _Call:
    """One request. left: items without an answer, by number; given_up: numbers of abandoned items that the process is
    about to be told; connection: None until there is one; sent: when it was sent, by the monotonic clock; stopped: the
    process reported that it was told to stop."""

    name: str
    left: dict[int, _Item]
    given_up: list[int]
    connection: Connection | None = None
    sent: float = 0.0
    stopped: bool = False
    work: asyncio.Task[None] | None = None


class ProcessBackend:
    """One configured model. Used on one event loop. name: also the model's name in the process. process: one of ours;
    without it, the settings have an address. start_s: how long to wait for a process to start and a model to load."""

    def __init__(
        self, name: str, settings: ModelEndpoint, process: ModelProcess | None = None, start_s: float = 600.0
    ) -> None:
        self._name = name
        self._settings = settings
        self._process = process
        self._start_s = start_s
        self._remote: Connection | None = None
        if process is None:
            assert settings.address is not None, "a model without a process has an address"
            self._remote = Connection(settings.address, settings.key)
        self._places = asyncio.Semaphore(settings.concurrency)
        self._waiting: list[_Item] = []
        self._sending: asyncio.Handle | None = None
        self._calls: set[_Call] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._about: tuple[Connection, About] | None = None
        self._learning: asyncio.Task[About] | None = None
        self._problem: str | None = None
        self._version = ""
        self._heard = 0.0
        self._items: set[_Item] = set()
        self._suspects: list[_Item] = []
        self._trial: asyncio.Task[None] | None = None
        self._alone = asyncio.Lock() if process is None else process.trial
        self._lost: Connection | None = None
        self._closed = False

    def start(self) -> None:
        """If the process is ours, begin to start it and to load its models; returns at once. Without this call the
        first task does so."""
        if self._process is not None and not self._closed:
            self._process.start()

    async def run(self, task: Task[R]) -> R:
        """See `rewarden_verifiers.inference.Model.run`. Cancelling the call abandons the work."""
        kind = kind_of(task)
        try:
            body = _encode(task)
        except UnicodeEncodeError:
            raise InvalidSample("the text contains a lone surrogate, which has no UTF-8 encoding") from None
        async with self._places:
            await self._known()  # a task's timeout does not run while its model loads
            if self._closed:
                raise self._error("the server is stopping", "stopped")
            item = _Item(kind, task, body, asyncio.get_running_loop().create_future())
            self._items.add(item)
            try:
                self._put(item)
                await self._answered(item)
                return cast(R, item.answer.result())
            finally:
                self._items.discard(item)
                if not item.answer.done():
                    self._give_up(item)

    async def about(self) -> About:
        """The facts about the model. Waits until it is loaded. Raises ModelError if it is not available."""
        made = await self._learn()
        self._version = made.version
        return made

    async def reload(self, model: str | None, revision: str | None) -> About:
        """Swap the weights for those of another folder or revision, or for whatever is in the same place now. No work
        in progress is lost. Raises ModelError if they are not available (the old weights then stay), and InvalidParams
        if the reload is not allowed or not possible here."""
        connection = await self._connection()
        try:
            told = await connection.post(
                f"/v1/models/{quote(self._name, safe='')}/reload", {"model": model, "revision": revision}
            )
            made = msgspec.convert(told.get("about") if isinstance(told, dict) else None, About)
        except ProcessLost as error:
            raise self._error(f"its process was lost during the reload: {error}", "lost") from None
        except msgspec.ValidationError as error:
            raise self._error(f"its process sent an invalid description: {error}", "garbage") from None
        except InvalidParams as error:
            raise InvalidParams(error.message, **{**error.details, "path": "model"}) from None
        self._about, self._version, self._problem = (connection, made), made.version, None
        if self._process is not None and told.get("place") is not None:
            self._process.swapped(self._name, msgspec.convert(told["place"], Place))
        return made

    def status(self) -> dict[str, Any]:
        """JSON-ready: `state` (starting, ready, failed, remote), `problem`, `version`, `in_flight`, and more."""
        problem = self._problem
        if self._process is None:
            state = "remote" if problem is None else "failed"
        elif self._process.answers and self._about is not None:
            state = "ready"
        else:
            problem = self._process.problem or problem
            state = "starting" if problem is None else "failed"
        return {
            "state": state,
            **({} if problem is None else {"problem": problem}),
            "version": self._version,
            "in_flight": len(self._items),
            "requests": len(self._calls),
            **({} if self._process is None else {"pid": self._process.pid, "starts": self._process.starts}),
        }

    async def close(self) -> None:
        """Release everything; work in progress fails. If the process is ours, it ends too, with all models of its
        device."""
        self._closed = True
        if self._sending is not None:
            self._sending.cancel()
        for item in self._items:
            self._fail(item, self._error("the server is stopping", "stopped"))
        tasks = [*self._tasks, *filter(None, [self._learning])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._remote is not None:
            await self._remote.close()
        if self._process is not None:
            await self._process.close()

    # --- the process ------------------------------------------------------------------------------------------------

    async def _connection(self) -> Connection:
        """The connection to the process. Raises ModelError if there is none."""
        if self._closed:
            raise self._error("the server is stopping", "stopped")
        if self._remote is not None:
            return self._remote
        assert self._process is not None
        return await self._process.client(self._start_s)

    async def _known(self) -> None:
        """Return once the model is known to be loaded."""
        if self._about is None or (self._process is not None and self._process.current is not self._about[0]):
            await self._learn()

    async def _learn(self) -> About:
        """The process's description of the model, once it is loaded; requested once for all waiting callers."""
        if self._learning is None or self._learning.done():
            self._learning = asyncio.get_running_loop().create_task(self._ask_about())
        learning = self._learning
        try:
            return await asyncio.shield(learning)
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if learning.cancelled() and current is not None and not current.cancelling():
                raise self._error("the server is stopping", "stopped") from None
            raise

    async def _ask_about(self) -> About:
        try:
            async with asyncio.timeout(self._start_s):
                connection, made = await self._loaded()
        except TimeoutError:
            self._problem = f"it did not load within {self._start_s:g} s (models.start_s)"
            raise self._error(self._problem, "loading") from None
        except SampleError as error:
            self._problem = error.message
            raise
        self._about, self._problem = (connection, made), None
        if self._process is not None:
            self._process.loaded(connection)
        return made

    async def _loaded(self) -> tuple[Connection, About]:
        pause, lost = _LOOK_S[0], 0
        while True:
            connection = await self._connection()
            try:
                told = await connection.get("/v1/models")
            except ProcessLost as error:
                lost += 1
                if lost >= _TRIES:
                    raise self._error(f"its process cannot be reached: {error}", "lost") from None
                await self._until_left(connection)
                continue
            models = told.get("models") if isinstance(told, dict) else None
            found = models.get(self._name) if isinstance(models, dict) else None
            if not isinstance(found, dict):
                raise self._error("its process does not serve it", "unknown_model")
            if found.get("state") == "failed":
                raise error_from_wire({"kind": found.get("kind", "failed"), "message": str(found.get("problem"))})
            if found.get("about") is not None:
                try:
                    return connection, msgspec.convert(found["about"], About)
                except msgspec.ValidationError as error:
                    raise self._error(f"its process sent an invalid description: {error}", "garbage") from None
            await asyncio.sleep(pause)
            pause = min(1.5 * pause, _LOOK_S[1])

    async def _until_left(self, connection: Connection) -> None:
        if self._process is not None:
            await self._process.until_left(connection)
        else:
            await asyncio.sleep(_AGAIN_S)

    # --- waiting ----------------------------------------------------------------------------------------------------

    async def _answered(self, item: _Item) -> None:
        """Return when the item has its answer. Raises ModelError if its process is silent for too long."""
        limit_s = self._settings.timeout_s
        while (left_s := limit_s - self._silent_s(item)) > 0:
            await asyncio.wait({item.answer}, timeout=left_s)
            if item.answer.done():
                return
        raise self._error(f"no answer to any task within {limit_s:g} s (timeout_s)", "timeout")

    def _silent_s(self, item: _Item) -> float:
        """Seconds for which the process or engine that computes the task has produced no result for anyone. 0 until the
        task is sent: waiting for a process, or for others to go first, has limits of its own."""
        call = item.call
        if call is None or call.connection is None:
            return 0.0
        # Other engines share only the process that sends them requests: results of one do not excuse the silence of
        # another.
        heard = call.connection.heard if self._settings.backend == "own" else self._heard
        return monotonic() - max(call.sent, heard)

    # --- gathering --------------------------------------------------------------------------------------------------

    def _put(self, item: _Item) -> None:
        self._waiting.append(item)
        if self._sending is None:
            loop = asyncio.get_running_loop()
            pause = _PAUSE_S * len(self._calls)
            self._sending = loop.call_later(pause, self._send) if pause else loop.call_soon(self._send)

    def _send(self) -> None:
        """Send everything that waits, unless suspects go first."""
        self._sending = None
        if self._trial is None:
            waiting, self._waiting = self._waiting, []
            self._call(waiting)

    def _call(self, items: list[_Item]) -> None:
        """Send the items that a caller still waits for, in as few requests as they fit into."""
        batch: list[_Item] = []
        size = 0
        for item in items:
            if item.answer.done():
                continue
            if batch and (len(batch) >= _MOST_ITEMS or size + len(item.body) > _MOST_BYTES):
                self._request(batch)
                batch, size = [], 0
            batch.append(item)
            size += len(item.body)
        if batch:
            self._request(batch)

    def _request(self, items: list[_Item]) -> None:
        call = _Call(secrets.token_hex(8), dict(enumerate(items)), [])
        for number, item in call.left.items():
            item.call, item.number = call, number
        self._calls.add(call)
        call.work = self._begin(self._talk(call))

    def _begin(self, work: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _talk(self, call: _Call) -> None:
        """Run one request, from the connection to the answers of all its items."""
        try:
            connection = call.connection = await self._connection()
            call.sent = monotonic()
            try:
                async with (
                    asyncio.timeout(None) as limit,
                    aclosing(connection.lines("/v1/work", self._body(call))) as answer,
                ):
                    async for lines in answer:
                        for line in lines:
                            self._take(call, line)
                        if not call.left:  # the rest is of no use, but once it ends the connection is free
                            limit.reschedule(asyncio.get_running_loop().time() + _LAST_WORDS_S)
                why = "its response ended before all results arrived"
            except TimeoutError:
                return
            except ProcessLost as error:
                why = str(error)
            if call.left:
                self._lose(call, connection, why)
        except Exception as error:  # noqa: BLE001 - a defect must not leave anyone waiting
            self._fail_all(call.left.values(), error)
        finally:
            self._calls.discard(call)

    def _body(self, call: _Call) -> bytes:
        items = b",".join(
            b'{"id":%d,"kind":"%s","task":%s}' % (number, item.kind.encode(), item.body)
            for number, item in call.left.items()
        )
        return b'{"call":"%s","model":%s,"items":[%s]}' % (call.name.encode(), _encode(self._name), items)

    def _take(self, call: _Call, line: bytes) -> None:
        """Handle one line. Raises ModelError for an invalid one, since nobody knows whose answer it is."""
        if not line:
            return
        try:
            said = _line(line)
        except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError):
            raise self._error("its process sent an invalid message", "garbage") from None
        if isinstance(said.error, dict) and said.error.get("kind") == "stopped":
            call.stopped = True
            return  # treated as a lost process: there will be another one
        if said.result and call.connection is not None:
            call.connection.heard = self._heard = monotonic()
        item = call.left.pop(said.id, None)
        if item is None or item.answer.done():
            return
        try:
            if not said.result:
                raise error_from_wire(said.error)
            result = _results[item.kind](said.result)
            check_result(item.task, result)
        except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
            self._fail(item, self._error(f"its process sent an invalid result for {item.kind!r}: {error}", "garbage"))
        except SampleError as error:
            self._fail(item, error)
        else:
            self._version = result.facts.version
            item.answer.set_result(result)

    # --- another process --------------------------------------------------------------------------------------------

    def _lose(self, call: _Call, connection: Connection, why: str) -> None:
        """Handle a process lost during a request: each item left may have killed it, unless it was told to stop."""
        left = list(call.left.values())
        for item in left:
            item.call, item.why = None, why
            item.losses += 1
        self._lost = connection
        if call.stopped and all(item.losses < _TRIES for item in left):
            self._begin(self._again(left))
            return
        self._suspects += left
        if self._trial is None:
            self._trial = self._begin(self._try())

    async def _again(self, items: list[_Item]) -> None:
        try:
            await self._recovered()
        except Exception as error:  # noqa: BLE001 - a defect must not leave anyone waiting
            self._fail_all(items, error)
        for item in items:
            self._put(item)

    async def _recovered(self) -> None:
        """Return once a lost process has a successor with the model loaded. Raises SampleError if there is none."""
        lost, self._lost = self._lost, None
        if lost is not None:
            await self._until_left(lost)
        await self._learn()

    async def _try(self) -> None:
        """Retry the suspects, alone in the process: all other tasks wait, and so do the suspects of its other models,
        which would die along with these."""
        suspects: list[_Item] = []
        try:
            async with self._alone:
                while self._suspects:
                    await self._ended(self._calls)
                    suspects, self._suspects = self._suspects, []
                    async for item in culprits(suspects, self._attempt):
                        times = "once" if item.losses == 1 else f"{item.losses} times"
                        words = f"its process was lost {times} during the task: {item.why}"
                        self._fail(item, self._error(words, "killed" if self._process is not None else "lost"))
        except Exception as error:  # noqa: BLE001 - a defect must not leave anyone waiting
            self._fail_all([*suspects, *self._suspects], error)
            self._suspects = []
        finally:
            self._trial = None
            self._send()

    async def _attempt(self, group: list[_Item]) -> list[_Item]:
        """The items of the group, if any, during which the process was lost."""
        await self._recovered()
        before = set(self._calls)
        self._call(group)
        await self._ended(self._calls - before)
        lost, self._suspects = self._suspects, []
        return lost

    async def _ended(self, calls: Iterable[_Call]) -> None:
        """Return when the calls have ended, or after `timeout_s`: one endless task must not hold up all others."""
        if works := [call.work for call in calls if call.work is not None]:
            await asyncio.wait(works, timeout=self._settings.timeout_s)

    # --- giving up --------------------------------------------------------------------------------------------------

    def _give_up(self, item: _Item) -> None:
        """Abandon an item that no caller waits for any more: tell the process, or drop the request if it was the last
        item in it."""
        item.answer.cancel()
        call = item.call
        if call is None or call.left.pop(item.number, None) is None:
            return
        if not call.left:
            if call.work is not None:
                call.work.cancel()
            return
        call.given_up.append(item.number)
        if len(call.given_up) == 1:
            self._begin(self._tell(call))

    async def _tell(self, call: _Call) -> None:
        await asyncio.sleep(0)  # collect items that are abandoned together
        given_up, call.given_up = call.given_up, []
        if call.connection is not None and call.left:
            with contextlib.suppress(ProcessLost, SampleError):
                await call.connection.post("/v1/cancel", {"call": call.name, "ids": given_up})

    def _fail(self, item: _Item, error: SampleError) -> None:
        if not item.answer.done():
            item.answer.set_exception(error)
            item.answer.exception()  # mark as retrieved: if the caller leaves now, the loop would log it

    def _fail_all(self, items: Iterable[_Item], error: Exception) -> None:
        """Fail items with this error, or, if it is a defect of ours, with only its name."""
        if not isinstance(error, SampleError):
            name = type(error).__name__
            _log.error("a request to a model's process failed", model=self._name, error=name)
            error = self._error(f"the request failed: {name}", "failed")
        for item in items:
            self._fail(item, error)

    def _error(self, text: str, kind: str) -> ModelError:
        return ModelError(f"model {self._name!r}: {text}", kind=kind)


def backends_of(settings: ModelSettings) -> dict[str, ProcessBackend]:
    """The backend of each model. Starts nothing and sends no request."""
    processes = processes_of(settings)
    return {
        name: ProcessBackend(name, made, processes.get(name), settings.start_s) for name, made in settings.named.items()
    }
