"""A cpu worker: receives items on its socket, runs pure verifiers on them, and sends back the results.

It is forked from the fork server (`fork_server.py`), loads no asyncio, gRPC or HTTP, and can be killed at any moment.
An item's clock is this process's CPU time: a signal raises `Expired` inside the verifier when it runs out; code that
does not return to the interpreter is ended from outside. Incoming messages were pickled by the engine itself; outgoing
ones are JSON, because a verifier that was taken over by a candidate's text must not be able to attack the engine.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import math
import pickle
import resource
import signal
import socket
import sys
import time
import traceback
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rewarden.errors import SampleError
from rewarden.types import Outcome
from rewarden.wire.json import dumps, outcome_to_json
from rewarden_server.engine.frames import FrameReader, pack
from rewarden_server.engine.shared_progress import SharedProgress
from rewarden_verifiers.contract import Expired, VerifierSpec, call_prepare, call_pure, spec_of
from rewarden_verifiers.function_file import declared

PREPARED = 4096
"""Parsed references that a worker keeps."""

PREPARED_WAITING = 512
"""The same for verifiers that wait: their prepared references can contain a database."""

PREPARED_BYTES = 64 * 1024**2
"""Bytes of the messages in which these references arrived, as an estimate of their size: a reference can contain a
database."""

_RUN, _PREPARE = 2, 1


@dataclass(frozen=True, slots=True)
class Bound:
    """A verifier with parameters, in a worker."""

    spec: VerifierSpec
    params: Any
    equivalence: Any
    resources: Any


class Clock:
    """Raises `Expired` in the main thread after this many seconds of the process's CPU time."""

    def __init__(self) -> None:
        self._armed = False
        signal.signal(signal.SIGPROF, self._strike)

    def _strike(self, number: int, frame: Any) -> None:
        if self._armed:
            raise Expired

    def run(self, limit_s: float, call: Callable[[], Any]) -> Any:
        """Returns the result of `call`. Raises Expired if the time runs out."""
        try:
            self._armed = True
            # The interval fires again if a bare `except:` swallowed the first signal.
            signal.setitimer(signal.ITIMER_PROF, limit_s, 0.01)
            return call()
        finally:
            self._armed = False
            signal.setitimer(signal.ITIMER_PROF, 0.0)


class RowWatch:
    """A `rewarden_verifiers.contract.Watch` that lets the engine end this process, through the shared page."""

    def __init__(self, board: SharedProgress, row: int) -> None:
        self._board = board
        self._row = row
        self._item = 0
        self._began = 0.0
        self.quick_s: float | None = None
        self.phase = _RUN

    def begin(self, item: int, phase: int) -> None:
        """Records the process's activity from now on."""
        self.phase = phase
        self._item, self._began = item, time.process_time()
        self._board.write(self._row, item, phase, self._began)

    @contextlib.contextmanager
    def loading(self) -> Iterator[None]:
        """See `Watch.loading`."""
        before = time.process_time()
        left, again = signal.setitimer(signal.ITIMER_PROF, 0.0)
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        held = _address_space()
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
        self._board.write(self._row, self._item, self.phase, math.inf)  # the engine's back-stop waits as well
        try:
            yield
        finally:
            if soft != resource.RLIM_INFINITY:
                resource.setrlimit(resource.RLIMIT_AS, (soft + _address_space() - held, hard))
            self._began += time.process_time() - before
            self._board.write(self._row, self._item, self.phase, self._began)
            if left > 0.0:
                signal.setitimer(signal.ITIMER_PROF, left, again)

    @contextlib.contextmanager
    def preparing(self) -> Iterator[None]:
        """See `Watch.preparing`."""
        before = self.phase
        self._set(_PREPARE)
        try:
            yield
        except (Expired, MemoryError, RecursionError):
            raise  # handlers of these read the phase
        except BaseException:
            self._set(before)
            raise
        self._set(before)

    def _set(self, phase: int) -> None:
        self.phase = phase
        self._board.phase(self._row, phase)

    @contextlib.contextmanager
    def limit(self, *, cpu_s: float | None = None, wall_s: float | None = None) -> Iterator[None]:
        """See `Watch.limit`."""
        cpu_until = 0.0 if cpu_s is None else time.process_time() + cpu_s
        wall_until = 0.0 if wall_s is None else time.monotonic() + wall_s
        self._board.limit(self._row, cpu_until, wall_until)
        try:
            yield
        finally:
            self._board.limit(self._row, 0.0, 0.0)


class Worker:
    """The state and loop of one worker process."""

    def __init__(
        self, connection: socket.socket, board: SharedProgress, row: int, memory_mb: int, warm: Sequence[str]
    ) -> None:
        self._socket = connection
        self._board = board
        self._row = row
        self._bound: dict[int, Bound] = {}
        self._prepared: OrderedDict[tuple[int, bytes], tuple[Any, int]] = OrderedDict()
        self._held = 0
        self._slow: OrderedDict[tuple[int, bytes], None] = OrderedDict()
        self._clock = Clock()
        self._watch = RowWatch(board, row)
        self._memory = memory_mb * 1024**2
        self._warm = set(warm)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        self._limit_memory()

    def _limit_memory(self) -> None:
        # Only the soft limit, so that the size of later imports can be added.
        limit = _address_space() + self._memory
        resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))

    def loop(self) -> None:
        """Serves until the engine closes the socket."""
        reader = FrameReader()
        while True:
            data = self._socket.recv(1 << 18)
            if not data:
                return
            for payload in reader.feed(data):
                message = pickle.loads(payload)  # noqa: S301 - written by the engine, never by a caller
                if message[0] == "use":
                    self._bind(*message[1:])
                elif message[0] == "forget":
                    self._bound.clear()
                else:
                    reply = self._serve(len(payload), *message[1:])
                    self._socket.sendall(pack(dumps(reply)))

    def _bind(self, use_id: int, module: str, attribute: str, params: Any, resources: Any) -> None:
        """Prepares for a use. The time and memory of loading count for no item: no clock runs, and the memory limit is
        set again afterwards."""
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
        known = len(sys.modules)
        function = getattr(importlib.import_module(module), attribute)
        spec = spec_of(function) or declared(function)
        if spec.warm is not None and spec.name not in self._warm:
            spec.warm()
            self._warm.add(spec.name)
            known = 0
        if len(sys.modules) > known:
            self._limit_memory()
        else:
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        equivalence = spec.equivalence(params) if spec.equivalence is not None else None
        self._bound[use_id] = Bound(spec, params, equivalence, resources)

    def _serve(
        self,
        size: int,
        item: int,
        use_id: int,
        op: str,
        reference_key: bytes | None,
        arguments: dict[str, Any],
        limit_s: float,
        quick: bool,
    ) -> list[Any]:
        """[item, kind, payload, seconds]; kinds: outcome, value, cpu, memory, recursion, failed. size: bytes of the
        message.
        """
        start = time.perf_counter()
        bound = self._bound[use_id]
        self._watch.quick_s = limit_s if quick else None
        kind: str
        payload: Any
        try:
            if reference_key is not None:
                self._watch.begin(item, _PREPARE)
                arguments["prepared"] = self._prepare(bound, use_id, reference_key, arguments, limit_s, size)
            self._watch.begin(item, _RUN)
            kind, payload = self._clock.run(limit_s, lambda: self._run(bound, op, arguments))
        except Expired:
            kind, payload = "cpu", self._watch.phase
        except MemoryError:
            kind, payload = "memory", self._watch.phase
        except RecursionError:  # a text that is nested this deeply is to blame for it
            kind, payload = "recursion", self._watch.phase
        except SampleError as error:
            kind = "failed"
            payload = [error.status, error.reason, error.fault, error.message]
        except Exception as error:  # noqa: BLE001 - an exception of a plug-in is the plug-in's defect
            where = traceback.extract_tb(error.__traceback__)[-1]
            text = f"verifier {bound.spec.name!r} raised {type(error).__name__} at {where.name}:{where.lineno}"
            kind, payload = "failed", ["error", "verifier_raised", "verifier", text]
        self._board.write(self._row, 0, 0, 0.0)
        return [item, kind, payload, time.perf_counter() - start]

    def _prepare(
        self, bound: Bound, use_id: int, reference_key: bytes, arguments: dict[str, Any], limit_s: float, size: int
    ) -> Any:
        key = (use_id, reference_key)
        if key in self._prepared:
            self._prepared.move_to_end(key)
            found = self._prepared[key][0]
        else:
            if key in self._slow and self._watch.quick_s is not None:
                raise Expired  # as for its siblings: a slow worker prepares it once
            try:
                found = self._clock.run(
                    limit_s,
                    lambda: call_prepare(
                        bound.spec, arguments["reference"], bound.params, bound.resources, self._watch
                    ),
                )
            except Expired:
                self._slow[key] = None
                if len(self._slow) > PREPARED:
                    self._slow.popitem(last=False)
                raise
            except SampleError as error:
                if error.retryable:  # a database that does not answer now may answer later
                    raise
                found = error  # an invalid reference is invalid for its siblings too
            self._prepared[key] = found, size
            self._held += size
            most = PREPARED_WAITING if bound.spec.blocking else PREPARED
            while len(self._prepared) > most or (self._held > PREPARED_BYTES and len(self._prepared) > 1):
                self._held -= self._prepared.popitem(last=False)[1][1]
        if isinstance(found, SampleError):
            raise found
        return found

    def _run(self, bound: Bound, op: str, arguments: dict[str, Any]) -> tuple[str, Any]:
        spec = bound.spec
        if op == "verify":
            arguments = {**arguments, "params": bound.params, "resources": bound.resources, "watch": self._watch}
            given = {name: arguments[name] for name in spec.reads}
            outcome: Outcome = call_pure(spec, given)
            return "outcome", outcome_to_json(outcome)
        if op == "read":
            answer = bound.equivalence.extract(arguments["text"])
            return "value", None if answer is None else [answer, bound.equivalence.key(answer)]
        return "value", bound.equivalence.same(arguments["a"], arguments["b"])


def _address_space() -> int:
    """Returns the size of this process's address space in bytes."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def serve(connection: socket.socket, board: SharedProgress, row: int, memory_mb: int, warm: Sequence[str]) -> None:
    """Runs a worker process until it ends. warm: the verifiers that its template has warmed."""
    # Parse trees are made by the thousand and are mostly freed by reference counts. Python's default, a search for
    # cycles every 700 objects, would cost SQL a fifth of its time.
    gc.set_threshold(20_000, 20, 50)
    Worker(connection, board, row, memory_mb, warm).loop()
