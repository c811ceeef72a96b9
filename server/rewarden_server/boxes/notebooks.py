"""The notebooks of boxes: what callers can do with them, and whose fault a failure is.

If a kernel does not start, a control run proves that it is the policy's fault: a kernel of the same kind starts in a
box of the same kind in which the policy has run nothing. If no host has room for that box, an earlier start in such a
box is the proof. Attack: a policy that breaks its notebook while the host is full, so that nobody can tell.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import fields
from typing import Any

from rewarden.boxes.types import CellRequest, CellResult, NotebookInfo, NotebookRequest, Variable
from rewarden.errors import InvalidRequest, NotebookEnded, NotFound, RequestError, Unavailable
from rewarden_sandboxes.notebook import (
    RESTART_S,
    START_S,
    CellReport,
    Fault,
    LateKernel,
    NoKernel,
    Notebook,
    NotebookOver,
)
from rewarden_sandboxes.remote_box import RemoteBox
from rewarden_server.boxes.box import Box
from rewarden_server.boxes.registry import Boxes
from rewarden_server.observe.logs import get_logger

_MOST_KINDS = 4096
"""The number of kinds of notebooks to remember. Attack: an endless variety of environments."""

_log = get_logger("notebooks")


class Notebooks:
    """See the module. Every method raises RequestError. The caller must have the right `exec` in the box."""

    def __init__(self, boxes: Boxes) -> None:
        self._boxes = boxes
        self._settings = boxes.settings
        self.counted_s = 0.0
        """Total time for which the cells ran or were idle, in seconds."""

    async def open(self, box: Box, asked: NotebookRequest) -> NotebookInfo:
        """Starts a notebook."""
        with self._place(box):
            untouched = box.untouched
            async with self._boxes.using(box) as remote:
                try:
                    made = await _opened(remote, asked, START_S)
                except NotebookOver as error:
                    if remote.fault is not None:
                        raise
                    if error.fault == "infra":
                        raise _unavailable(error.message) from None
                    made = await self._again(box, remote, asked, error)
            if untouched:  # attack: a forged driver that claims to start a kernel that the image does not have
                self._remember(_kind(box, asked))
            number = next(box.numbers)
            box.notebooks[number] = made
        return _info(number, made)

    def listed(self, box: Box) -> list[NotebookInfo]:
        """Returns the notebooks of a box."""
        return [_info(number, notebook) for number, notebook in box.notebooks.items()]

    async def run(self, box: Box, number: int, asked: CellRequest) -> CellResult:
        """Runs a cell."""
        timeout_s = self._settings.cell_s if asked.timeout_s is None else asked.timeout_s
        if not 0 < timeout_s <= self._settings.ttl_s_max:
            most = f"{self._settings.ttl_s_max:g} (boxes.ttl_s_max)"
            raise InvalidRequest(f"timeout_s: must be above 0 and at most {most}", path="timeout_s")
        most_bytes = self._settings.output_bytes
        output_bytes = most_bytes if asked.output_bytes is None else asked.output_bytes
        if not 0 < output_bytes <= most_bytes:
            raise InvalidRequest(
                f"output_bytes: must be above 0 and at most {most_bytes} (boxes.output_bytes)", path="output_bytes"
            )
        async with self._using(box, number) as notebook:
            report = await notebook.run(asked.code, timeout_s=timeout_s, output_bytes=output_bytes)
        self._boxes.cells[report.status] += 1
        self.counted_s += report.counted_s
        return _result(number, report)

    async def variables(self, box: Box, number: int) -> list[Variable]:
        """Returns the variables of a notebook, as its kernel lists them. If the kernel has died, there are none; the
        next cell reports that."""
        async with self._using(box, number) as notebook:
            found, report = await notebook.variables(
                timeout_s=self._settings.cell_s, output_bytes=self._settings.output_bytes
            )
            if report.over:
                assert notebook.ended is not None
                raise notebook.ended
        return [Variable(**row) for row in found]

    async def interrupt(self, box: Box, number: int) -> bool:
        """Interrupts the running cell. Returns False if no cell is running."""
        async with self._using(box, number) as notebook:
            return notebook.interrupt()

    async def restart(self, box: Box, number: int) -> NotebookInfo:
        """Restarts a notebook with a new kernel."""
        async with self._using(box, number) as notebook:
            await notebook.restart()
        return _info(number, notebook)

    async def end(self, box: Box, number: int) -> None:
        """Ends a notebook, and forgets it."""
        async with self._boxes.using(box):
            await self._found(box, number).close()
            box.notebooks.pop(number, None)

    # --- whose fault it is -------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _using(self, box: Box, number: int) -> AsyncIterator[Notebook]:
        async with self._boxes.using(box) as remote:
            notebook = self._found(box, number)
            try:
                yield notebook
            except NotebookOver as error:
                if remote.fault is not None:
                    raise
                if error.fault is not None:
                    raise _ended(error.message, error.fault) from None
                asked = NotebookRequest(kernel=notebook.kernel, cwd=notebook.cwd or None, env=notebook.env)
                refusal = await self._judged(box, asked, error.message)
                if isinstance(refusal, NotebookEnded):
                    notebook.ended = NotebookOver(error.message, refusal.details["fault"])
                raise refusal from None

    async def _again(self, box: Box, remote: RemoteBox, asked: NotebookRequest, error: NotebookOver) -> Notebook:
        """Tries once more to start a notebook, and raises the error if it fails again. Flake: on a slow disk, the first
        kernel takes a minute to read its files, and the control run, which finds them cached, takes no time."""
        refusal = await self._judged(box, asked, error.message)
        if not isinstance(error, LateKernel) or refusal.details.get("fault") != "policy":
            raise refusal from None
        try:
            return await _opened(remote, asked, RESTART_S)
        except NotebookOver:
            if remote.fault is not None:
                raise
            raise refusal from None

    async def _judged(self, box: Box, asked: NotebookRequest, message: str) -> RequestError:
        """Returns the error for a notebook whose kernel does not start, with the fault that a control run proves."""
        try:
            fault = await self._start_elsewhere(box, asked, plain=False)
        except RequestError as trouble:
            if _kind(box, asked) in self._boxes.kernels:
                return _ended(f"{message}; a kernel of this kind has started before", "policy")
            _log.warning("no control run", box=box.id, image=box.image, message=trouble.message)
            return _unavailable(f"{message}; the fault cannot be determined now: {trouble.message}")
        if fault is None:
            return _ended(f"{message}; in a box in which nothing has run, a kernel starts", "policy")
        if isinstance(fault, NoKernel):
            return InvalidRequest(fault.message)
        if box.env or asked.env or asked.cwd or box.task:
            with contextlib.suppress(RequestError):
                if await self._start_elsewhere(box, asked, plain=True) is None:
                    return InvalidRequest(f"no kernel starts with this task, env and cwd: {fault.message}")
        _log.warning("no kernel starts", box=box.id, image=box.image, message=message)
        return _unavailable(f"{message}; nor does one start in a box in which nothing has run")

    async def _start_elsewhere(self, box: Box, asked: NotebookRequest, *, plain: bool) -> NotebookOver | None:
        """Returns the reason why no kernel starts in a fresh box; None if one starts. plain: without the caller's
        environment, task and working folder. Raises RequestError if there is no such box."""
        async with self._boxes.control(box, plain=plain) as fresh:
            given: dict[str, Any] = {} if plain else {"cwd": asked.cwd or "", "env": asked.env}
            try:
                await (await Notebook.open(fresh, asked.kernel, **given)).close()
            except NotebookOver as error:
                return error
        if not plain:
            self._remember(_kind(box, asked))
        return None

    def _remember(self, kind: str) -> None:
        if len(self._boxes.kernels) >= _MOST_KINDS:
            self._boxes.kernels.clear()
        self._boxes.kernels.add(kind)

    # --- its place in the box ----------------------------------------------------------------------------------------

    def _found(self, box: Box, number: int) -> Notebook:
        found = box.notebooks.get(number)
        if found is None:
            raise NotFound(f"the box has no notebook {number}: it was ended, or never started")
        return found

    @contextmanager
    def _place(self, box: Box) -> Iterator[None]:
        """Reserves a place for a notebook while it starts, so that concurrent callers cannot exceed the limit. If there
        are too many, an ended notebook is forgotten. Raises InvalidRequest."""
        count = len(box.notebooks) + box.starting
        if count >= self._settings.notebooks:
            over = next((number for number, each in box.notebooks.items() if each.ended is not None), None)
            if over is None:
                raise InvalidRequest(f"the box has {count} notebooks (boxes.notebooks); close one of them")
            del box.notebooks[over]
        box.starting += 1
        try:
            yield
        finally:
            box.starting -= 1


async def _opened(remote: RemoteBox, asked: NotebookRequest, start_s: float) -> Notebook:
    return await Notebook.open(remote, asked.kernel, cwd=asked.cwd or "", env=asked.env, start_s=start_s)


def _ended(message: str, fault: Fault) -> NotebookEnded:
    return NotebookEnded(f"the notebook has ended: {message}", fault=fault)


def _unavailable(message: str) -> Unavailable:
    return Unavailable(f"the notebook did not start: {message}", fault="infra", retry_after_s=1.0)


def _kind(box: Box, asked: NotebookRequest) -> str:
    """Returns the digest of everything that a kernel's start depends on, except for what the policy has done."""
    limits = box.remote.limits.given()
    parts = [box.image, box.remote.image, box.task, limits, dict(box.env), asked.kernel, asked.cwd, dict(asked.env)]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _info(number: int, notebook: Notebook) -> NotebookInfo:
    ended = notebook.ended
    state = "ended" if ended is not None else "busy" if notebook.busy else "idle"
    return NotebookInfo(
        notebook=number, kernel=notebook.kernel, state=state, message=None if ended is None else ended.message
    )


def _result(number: int, report: CellReport) -> CellResult:
    told: dict[str, Any] = {each.name: getattr(report, each.name) for each in fields(report)}
    told["message"] = report.message or None
    for name in ("counted_s", "output_bytes"):
        del told[name]
    return CellResult(notebook=number, **told)
