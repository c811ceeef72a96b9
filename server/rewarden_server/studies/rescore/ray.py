"""`--engine ray`: whole engines over a Ray cluster, behind the same interface as one engine.

The driver reads, cuts, journals and writes, as for any other target; only the judging is elsewhere. docs/scaling.md
says how to lay it out.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from rewarden.errors import Unavailable, WorkerError
from rewarden.resume import samples_cancelled
from rewarden.types import Batch, Group, Progress, Sample, Use, Verdict
from rewarden.wire.json import dumps, error_from_json, header_to_json, loads, outcome_to_json, verdict_from_json
from rewarden_server.config import Config
from rewarden_server.engine import failures
from rewarden_server.studies.rescore.options import RescoreError
from rewarden_server.studies.rescore.pieces import Piece, Pieces
from rewarden_server.studies.rescore.progress import Watcher
from rewarden_server.studies.rescore.ray_engine import RayEngine, fingerprints, has_budgets, pack
from rewarden_server.studies.rescore.target import RAY

_LANES = 8
"""Pieces that one engine has in hand: enough that it never waits for the driver."""

_LEAST, _MOST = 16, 256
"""Samples of a piece. Slow ones travel in small pieces, so that no engine is left alone with many at the end."""

_QUICK_S, _LONG_S = 0.5, 8.0
"""A piece that is back sooner may be larger; one that is back later should be smaller."""

_LIVES = 3
"""The number of times that the place of a lost engine is filled again."""

_START_S = 300.0
"""Seconds for an engine to start: nodes that are cold import for a while, and may first have to be made."""

_LOOK_S, _SILENT_S = 30.0, 120.0
"""The seconds between checks that an engine still answers, and the silence after which it counts as hung, and is
killed."""

_STORE_BYTES = 256 * 1024**2
"""The object store of a cluster that we start: pieces are small, and Ray's own default takes a third of the memory."""

_Answers = asyncio.Queue[list[Verdict] | BaseException | None]
"""The verdicts of pieces, as they come; what ends the stream; None when all samples were taken."""


class RayEngines:
    """A `Target`. Make one with `open`; `close` ends the engines, and the cluster where it was begun here."""

    target = RAY

    def __init__(
        self, ray: Any, told: bytes, uses: Sequence[Use], *, engines: int, cores: int, revives: bool, own: bool
    ) -> None:
        self._ray = ray
        self._own = own
        expected = fingerprints(uses)
        self._places = [_Place(ray, told, expected, cores, _LIVES if revives else 0) for _ in range(engines)]
        self._size = _LEAST

    @classmethod
    async def open(
        cls,
        config: Config,
        uses: Sequence[Use],
        *,
        environ: Mapping[str, str],
        address: str | None = None,
        engines: int | None = None,
        cores: int | None = None,
        watcher: Watcher | None = None,
    ) -> RayEngines:
        """Connect (to a cluster of this machine's own, begun now, if there is no address), and start engines.

        engines: none: as many as the cluster has room for. cores: of one engine; none: at most 4. uses: what will
        judge, which must be the same on the nodes as here. Raises RescoreError, Unavailable.
        """
        ray = _import()
        for name, model in config.models.named.items():
            if model.address is None:
                raise RescoreError(
                    f"models.named.{name}: every engine would load it; start it with `rewarden models serve` and set "
                    "its address"
                )
        # One that the caller is connected to already is the caller's.
        own = address is None and not ray.is_initialized()
        await asyncio.to_thread(_connect, ray, address, (engines or 1) * (cores or 1))
        try:
            nodes = [int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"]]
            cores = cores or max(1, min(4, *nodes))
            room = sum(node // cores for node in nodes)
            if not room or (engines or 0) > room:
                raise RescoreError(
                    f"--shards {engines or 1} with {cores} cores each do not fit: the cluster has room for {room} "
                    f"(its nodes have {', '.join(map(str, nodes))} cores); see --shards and --shard-cores"
                )
            count = engines or room
            told = pack(config, environ, uses, cores=cores, engines=count)
            made = cls(ray, told, uses, engines=count, cores=cores, revives=not has_budgets(config), own=own)
        except BaseException:
            if own:
                await asyncio.to_thread(ray.shutdown)
            raise
        if watcher is not None:
            watcher.note(f"starting {count} engine{'s' if count > 1 else ''} of {cores} cores on Ray …")
        try:
            await made._first()
        except BaseException:
            await made.close()
            raise
        return made

    @property
    def in_hand(self) -> int:
        """Samples that the engines may have in hand together."""
        return len(self._places) * _LANES * _MOST

    async def _first(self) -> None:
        """Wait until one engine has started. Raises what kept the first that did not, when none has."""
        waiting = {asyncio.ensure_future(place.engine()) for place in self._places}
        try:
            while waiting:
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                for one in done:
                    error = one.exception()
                    if error is None:
                        return
                    if isinstance(error, RescoreError) or not waiting:
                        raise error
        finally:
            for one in waiting:
                one.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    async def stream(
        self,
        samples: AsyncIterator[Sample],
        use: Use | None = None,
        *,
        progress: Progress | None = None,
        expect: Mapping[str, str] | None = None,
    ) -> AsyncGenerator[Verdict | Group, None]:
        """Like `AsyncClient.stream`, without groups' statistics. Raises Unavailable when the engines are lost."""
        header = dumps(header_to_json(Batch(samples=(), use=use, progress=progress, expect=dict(expect or {}))))
        pieces = Pieces()
        out: _Answers = asyncio.Queue()
        feeder = asyncio.create_task(_feed(pieces, samples, out))
        lanes = [
            asyncio.create_task(self._lane(place, pieces, header, out)) for place in self._places for _ in range(_LANES)
        ]
        ends = asyncio.create_task(_outlive(lanes, out))
        answered, fed = 0, False
        try:
            while not (fed and answered == pieces.count):
                item = await out.get()
                if item is None:
                    fed = True
                elif isinstance(item, BaseException):
                    raise item
                else:
                    answered += len(item)
                    for verdict in item:
                        yield verdict
        finally:
            for task in (feeder, ends, *lanes):
                task.cancel()
            await asyncio.gather(feeder, ends, *lanes, return_exceptions=True)

    async def verifiers(self, name: str | None = None) -> list[dict[str, Any]]:
        """Like `AsyncClient.verifiers`, for the first engine."""
        engine = await self._places[0].engine()
        found = loads(await _told(engine.verifiers.remote(name)))
        if isinstance(found, dict):
            raise error_from_json(found)
        return list(found)

    async def close(self) -> None:
        """End the engines."""
        await asyncio.gather(*(place.close() for place in self._places))
        if self._own:
            await asyncio.to_thread(self._ray.shutdown)

    async def _lane(self, place: _Place, pieces: Pieces, header: bytes, out: _Answers) -> None:
        """Takes pieces to one place's engine, one after the other, until there is no engine any more."""
        lost = _lost(self._ray)
        while True:
            await place.engine()  # whoever has none must not take
            piece = await pieces.take(self._size)
            try:
                engine = await place.engine()  # it may have been replaced meanwhile
            except BaseException:
                pieces.give_back(piece)
                raise
            begun = time.monotonic()
            try:
                reply = loads(await _told(engine.judge.remote(header, piece.data)))
            except lost:
                place.lost(engine)
                piece.losses += 1
                if piece.losses > 1:
                    out.put_nowait(_unjudged(piece))
                else:
                    pieces.give_back(piece)
                continue
            except (self._ray.exceptions.RayError, OSError) as error:
                pieces.give_back(piece)  # others may go on, and then nothing must be missing
                raise Unavailable(f"an engine on Ray failed: {_cause(error)}") from None
            if isinstance(reply, dict):
                pieces.give_back(piece)
                raise error_from_json(reply)
            self._pace(time.monotonic() - begun)
            out.put_nowait([verdict_from_json({**value, "index": piece.first + value["index"]}) for value in reply])

    def _pace(self, seconds: float) -> None:
        if seconds < _QUICK_S:
            self._size = min(_MOST, 2 * self._size)
        elif seconds > _LONG_S:
            self._size = max(_LEAST, self._size // 2)


class _Place:
    """The place where an engine runs; a lost one is replaced, a few times."""

    def __init__(self, ray: Any, told: bytes, expected: Sequence[str | None], cores: int, lives: int) -> None:
        self._ray = ray
        self._told = told
        self._expected = expected
        self._cores = cores
        self._lives = lives
        self._actor: Any = None
        self._starting: asyncio.Task[Any] | None = None
        self._watching: asyncio.Task[None] | None = None

    async def engine(self) -> Any:
        """The engine, started. Raises Unavailable when there is none any more, RescoreError for one that differs."""
        if self._starting is None:
            self._starting = asyncio.create_task(self._start())
        return await asyncio.shield(self._starting)

    def lost(self, engine: Any) -> None:
        """This engine died. Told by each who had work there; the first counts."""
        if engine is not self._actor:
            return
        self._end()  # it may only be out of reach, and would keep its cores
        if self._lives:  # otherwise whoever asks next finds it dead again
            self._lives -= 1
            self._starting = None
        else:
            self._starting = asyncio.create_task(_gone())

    async def close(self) -> None:
        """End the engine, its processes first."""
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.gather(self._starting, return_exceptions=True)
        try:
            if self._actor is not None:
                with contextlib.suppress(Exception, TimeoutError):  # dead already, or the cluster is
                    async with asyncio.timeout(10):
                        await _told(self._actor.close.remote())
        finally:
            self._end()

    def _end(self) -> None:
        """Kill the engine, whatever it does."""
        if self._watching is not None:
            self._watching.cancel()
        actor, self._actor = self._actor, None
        if actor is not None:
            with contextlib.suppress(Exception):
                self._ray.kill(actor)

    async def _watch(self, actor: Any) -> None:
        """Kills an engine that has stopped answering, so that those who wait for it learn that it is lost."""
        while True:
            await asyncio.sleep(_LOOK_S)
            try:
                async with asyncio.timeout(_SILENT_S):
                    await _told(actor.here.remote())
            except TimeoutError:
                self._ray.kill(actor)
                return
            except (self._ray.exceptions.RayError, OSError):
                return  # whoever has work there learns it too

    async def _start(self) -> Any:
        kind = self._ray.remote(RayEngine).options(
            num_cpus=self._cores, max_concurrency=2 * _LANES, scheduling_strategy="SPREAD"
        )
        while True:
            self._actor = actor = kind.remote(self._told)
            try:
                async with asyncio.timeout(_START_S):
                    said = loads(await _told(actor.start.remote()))
            except TimeoutError:
                raise Unavailable(f"an engine has not started within {_START_S:g} s; see `ray status`") from None
            except _lost(self._ray) as error:
                if not self._lives:
                    raise Unavailable(f"an engine on Ray stopped during startup: {_cause(error)}") from None
                self._lives -= 1
                continue
            except (self._ray.exceptions.RayError, OSError) as error:
                raise Unavailable(f"an engine on Ray did not start: {_cause(error)}") from None
            # Rows may name verifiers that nobody has told of yet: the version stands for those.
            if said["fingerprints"] != self._expected or said["version"] != version("rewarden-server"):
                raise RescoreError(
                    f"the node {said['host']} (rewarden-server {said['version']}) judges differently from this "
                    "machine: install the same packages on all nodes (see docs/scaling.md)"
                )
            self._watching = asyncio.create_task(self._watch(actor))
            return actor


def _told(answer: Any) -> asyncio.Future[Any]:
    """Returns an engine's answer. It is shielded from cancellation: Ray's client would print a traceback for each
    answer that came after that.
    """
    waiting = asyncio.ensure_future(answer)
    waiting.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody may be left to hear of it
    return asyncio.shield(waiting)


async def _gone() -> None:
    raise Unavailable("an engine on Ray was lost and will not be replaced")


async def _feed(pieces: Pieces, samples: AsyncIterator[Sample], out: _Answers) -> None:
    try:
        async for sample in samples:
            await pieces.put(sample)
        pieces.finish()
        out.put_nowait(None)
    except asyncio.CancelledError:
        # Something that the caller's iterator awaits was cancelled; or we were, and then nobody listens.
        out.put_nowait(samples_cancelled())
        raise
    except Exception as error:  # noqa: BLE001 - the caller's own; it is raised to the caller
        out.put_nowait(error)


async def _outlive(lanes: Sequence[asyncio.Task[None]], out: _Answers) -> None:
    """Reports the end of lanes: at once for a failure that no other lane could avoid, otherwise when the last has
    ended. That an engine is unavailable is of one place alone."""
    left = set(lanes)
    while left:
        done, left = await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
        for lane in done:
            error = lane.exception()
            if error is not None and (not left or not isinstance(error, Unavailable)):
                out.put_nowait(error)


def _unjudged(piece: Piece) -> list[Verdict]:
    """Errors of ours for a piece that two engines died with: nobody can say whether it killed them."""
    outcome = failures.outcome_of(WorkerError("two engines on Ray were lost while they judged this and others"))
    value = {**outcome_to_json(outcome), "retryable": failures.retryable(outcome)}
    return [verdict_from_json({**value, "index": piece.first + place}) for place in range(piece.count)]


def _lost(ray: Any) -> tuple[type[Exception], ...]:
    """Returns the exceptions that mean that an actor is dead or out of reach."""
    found = ray.exceptions
    return (found.RayActorError, found.OutOfMemoryError, found.WorkerCrashedError, found.NodeDiedError)


def _import() -> Any:
    # Nobody is told that it runs, unless the user has said so.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError:
        raise RescoreError("--engine ray needs a package: pip install 'rewarden-server[ray]'") from None
    return ray


def _connect(ray: Any, address: str | None, cpus: int) -> None:
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    if address is None and ray.is_initialized():
        return
    try:
        if address is None:
            # `local`: never a cluster that happens to run here.
            least = max(cpus, len(os.sched_getaffinity(0)))
            ray.init("local", num_cpus=least, include_dashboard=False, object_store_memory=_STORE_BYTES, **quiet)
        else:
            ray.init(address, **quiet)
    except (ConnectionError, ValueError, RuntimeError) as error:
        where = f"--ray-address {address}" if address is not None else "Ray on this machine"
        # A cluster that asks for a token does not answer whoever has none, and does not say so.
        token = (
            ""
            if address is None or "RAY_AUTH_MODE" in os.environ
            else "; if it requires a token, set RAY_AUTH_MODE=token"
        )
        raise Unavailable(f"{where}: {_cause(error)}{token}") from None


def _cause(error: BaseException) -> str:
    """Returns the cause of a failure on a node: the first line of the error, and the last line of its traceback there,
    if there is one.
    """
    lines = [line for line in str(error).splitlines() if line.strip()]
    first = (str(error).strip() or type(error).__name__).splitlines()[0]
    return first if len(lines) < 2 or lines[-1].startswith((" ", "\t")) else f"{first} {lines[-1].strip()}"
