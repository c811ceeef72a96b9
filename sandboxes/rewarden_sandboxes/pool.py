"""A pool of slots of one kind: starts them, lends them out, and replaces them."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import math
import os
import secrets
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path

from rewarden_sandboxes.errors import HostError, NoRoom
from rewarden_sandboxes.launchers.launcher import Launcher, Lease
from rewarden_sandboxes.settings import HostSettings
from rewarden_sandboxes.slot import Slot, words_of

_BACK_OFF_S = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
_HOPELESS = 3
"""Consecutive failed starts, with no slot alive, after which waiting jobs are refused."""
_IDLE_S = 300.0
_SLOT_TASKS = 64
_WARM_MB = 768
"""The memory that the zygotes of all tiers may use, in addition to the runs."""
_NUMBERS = itertools.count(1)
"""Numbers the slots of all pools."""


class Pool:
    """See the module. `memory_mb`: the largest memory limit of a run here; `processes`: what all programs of a slot may
    have together; `most`: the most slots; `warm`: slots that are always kept ready; `spare`: idle slots that are kept
    ready in addition to those in use. `losses`: slots that have died; `idle_losses`: those that died while idle.
    `image_id`: the identity of the image of the newest slot; empty before the first.
    """

    def __init__(
        self,
        launcher: Launcher,
        settings: HostSettings,
        image: str,
        folder: Path,
        *,
        memory_mb: int,
        processes: int,
        mounts: Mapping[str, str],
        most: int,
        warm: int,
        spare: int,
        tiers: tuple[str, ...],
        rooms: bool,
        starts: asyncio.Semaphore,
    ) -> None:
        self.image = image
        self.problem: str | None = None
        self.losses = 0
        self.idle_losses = 0
        self.image_id = ""
        self._launcher = launcher
        self._settings = settings
        self._folder = folder
        self._memory_mb = memory_mb
        self._processes = processes
        self._mounts = mounts
        self._most = most
        self._warm = warm
        self._spare = spare
        self._tiers = tiers
        self._rooms = rooms
        self._starts = starts
        self._idle: list[Slot] = []
        self._all: set[Slot] = set()
        self._waiting: deque[asyncio.Future[Slot]] = deque()
        self._starting = 0
        self._failures = 0
        self._retry_at = 0.0
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    # --- lending ---------------------------------------------------------------------------------------------------

    async def acquire(self, tiers: frozenset[str], patience_s: float) -> Slot:
        """Take an idle slot, preferably one that is warm for these tiers. Waits up to `patience_s` for one; with
        `math.inf`, as long as there are slots or can be. Raises NoRoom.
        """
        self._sweep()
        if self._idle:
            place = next((n for n in reversed(range(len(self._idle))) if tiers <= self._idle[n].tiers), -1)
            return self._idle.pop(place)
        if self.hopeless and time.monotonic() < self._retry_at:
            raise NoRoom(self.problem or "no slot can be started")
        future: asyncio.Future[Slot] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        self.grow()
        taken = False
        try:
            async with asyncio.timeout(patience_s if patience_s < math.inf else None):
                slot = await future
                taken = True
            return slot
        except TimeoutError:
            raise NoRoom(
                self.problem or f"all {len(self._all)} slots of {self.image!r} were busy for {patience_s:g} s"
            ) from None
        finally:
            if not future.done():
                future.cancel()
            elif not taken and not future.cancelled() and future.exception() is None:
                self.release(future.result())  # handed over just as the caller gave up
            with contextlib.suppress(ValueError):
                self._waiting.remove(future)

    def release(self, slot: Slot) -> None:
        """Take a slot back. A slot that is lost, worn out or without rooms is replaced."""
        if slot.lost:
            self.losses += 1
        if self._closed or slot.gone or not self._rooms or slot.runs >= self._settings.runs:
            self.discard(slot)
            return
        self._offer(slot)

    def discard(self, slot: Slot) -> None:
        """End a slot; start another if one is needed."""
        self._all.discard(slot)
        with contextlib.suppress(ValueError):
            self._idle.remove(slot)
        self._begin(slot.close())
        self.grow()

    def _offer(self, slot: Slot) -> None:
        while self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                future.set_result(slot)
                return
        self._idle.append(slot)

    # --- growing ---------------------------------------------------------------------------------------------------

    def grow(self) -> None:
        """Start the slots that are kept ready, and those that jobs wait for."""
        if self._closed:
            return
        wanted = max(self._warm, len(self._all) - len(self._idle) + len(self._waiting) + self._spare)
        for _ in range(min(wanted, self._most) - len(self._all) - self._starting):
            self._starting += 1
            self._begin(self._start())

    async def _start(self) -> None:
        slot: Slot | None = None
        try:
            async with self._starts:
                slot = await Slot.start(
                    self._launcher, self._lease(), self._rooms, network=bool(self._settings.network)
                )
        except Exception as error:  # noqa: BLE001 - an unreported failure leaves every job waiting
            self.problem = error.message if isinstance(error, HostError) else words_of(error)
            self._failures += 1
            wait = _BACK_OFF_S[min(self._failures, len(_BACK_OFF_S)) - 1]
            self._retry_at = time.monotonic() + wait
            if self.hopeless:
                self._refuse(self.problem)
            await asyncio.sleep(wait)
        finally:
            self._starting -= 1
        if slot is None:
            if self._waiting or self._warm > len(self._all):
                self.grow()
            else:
                self.problem = None  # other starts succeeded, or no job needs the slot any more
            return
        self.problem = None
        self._failures = 0
        self._all.add(slot)
        self.image_id = slot.image
        if self._closed:
            self.discard(slot)
            return
        if not self._waiting:
            await self._prepare(slot)
        if slot.gone:
            self.discard(slot)
        else:
            self._offer(slot)

    async def _prepare(self, slot: Slot) -> None:
        """Warm the tiers that most programs need, while no job waits for the slot."""
        for tier in self._tiers:
            if self._waiting:
                return
            with contextlib.suppress(HostError):
                await slot.warm(tier)

    @property
    def empty(self) -> bool:
        """Returns whether there is no slot, and nobody wants one."""
        return not (self._all or self._waiting or self._starting or self._tasks)

    @property
    def hopeless(self) -> bool:
        """Returns whether no slot is alive and several consecutive starts have failed."""
        return self._failures >= _HOPELESS and not self._all

    def _refuse(self, message: str) -> None:
        while self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                future.set_exception(NoRoom(message))

    def _lease(self) -> Lease:
        number = next(_NUMBERS)
        name = f"rewarden-{os.getpid()}-{secrets.token_hex(3)}-{number}"
        return Lease(
            name=name,
            image=self.image,
            folder=self._folder / str(number),
            uid=self._settings.uid + number % 10_000,
            memory_mb=self._memory_mb + _WARM_MB,
            processes=self._processes + _SLOT_TASKS,
            mounts=self._mounts,
        )

    def tend(self) -> None:
        """Replace slots that died while idle, and end those that are not needed. Called periodically."""
        self._sweep()
        now = time.monotonic()
        for slot in list(self._idle):
            if len(self._all) > self._warm and len(self._idle) > self._spare and now - slot.used > _IDLE_S:
                self.discard(slot)
        self.grow()

    def _sweep(self) -> None:
        for slot in [slot for slot in self._idle if slot.gone]:
            self.losses += 1
            self.idle_losses += 1
            self.discard(slot)

    # --- the end ---------------------------------------------------------------------------------------------------

    def status(self) -> dict[str, object]:
        """Returns the pool's state, ready for JSON."""
        return {
            "slots": len(self._all),
            "idle": len(self._idle),
            "starting": self._starting,
            "waiting": len(self._waiting),
            "lost": self.losses,
            "problem": self.problem,
        }

    @property
    def sample(self) -> Slot | None:
        """Returns any slot, to read its enforced limits; None if there is none."""
        return next(iter(self._all), None)

    async def close(self) -> None:
        """End every slot, including those in use."""
        self._closed = True
        self._refuse("the sandbox host stops")
        for slot in list(self._all):
            self.discard(slot)
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _begin(self, work: object) -> None:
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(work)  # type: ignore[arg-type]
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
