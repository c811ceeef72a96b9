"""The notebooks of boxes: what callers do with them, and whose fault it is where one fails."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import fields
from typing import Any

from rewarden.boxes.types import CellRequest, CellResult, NotebookInfo, NotebookRequest, Variable
from rewarden.errors import InvalidRequest, NotebookEnded, NotFound, Unavailable
from rewarden_sandboxes.notebook import CellReport, KernelFault, Notebook, NotebookOver
from rewarden_server.boxes.box import Box
from rewarden_server.boxes.registry import Boxes
from rewarden_server.observe.logs import get_logger

_log = get_logger("notebooks")


class Notebooks:
    """See the module. Every method raises RequestError, and is called by one who may run programs in the box."""

    def __init__(self, boxes: Boxes) -> None:
        self._boxes = boxes
        self._settings = boxes.settings

    async def open(self, box: Box, asked: NotebookRequest) -> NotebookInfo:
        """Starts a notebook."""
        self._make_room(box)
        async with self._boxes.using(box) as remote:
            try:
                made = await Notebook.open(remote, asked.kernel, cwd=asked.cwd or "", env=asked.env)
            except (KernelFault, NotebookOver) as error:
                if remote.fault is not None:
                    raise
                raise await self._blamed(box, asked, error.message) from None
        number = next(box.numbers)
        box.notebooks[number] = made
        return _info(number, made)

    async def _blamed(self, box: Box, asked: NotebookRequest, message: str) -> NotebookEnded | Unavailable:
        """Returns whose fault it is that a kernel does not start: the policy's, where one does start in a box that
        nothing has run in."""
        async with self._boxes.control(box) as fresh:
            try:
                await (await Notebook.open(fresh, asked.kernel)).close()
            except (KernelFault, NotebookOver):
                _log.warning("no kernel starts", box=box.id, image=box.image, message=message)
                return Unavailable(f"the notebook did not start: {message}", fault="infra", retry_after_s=1.0)
        return NotebookEnded(f"{message}; in a box that nothing has run in it starts", fault="policy")

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
        return _result(number, report)

    async def variables(self, box: Box, number: int) -> list[Variable]:
        """Returns the variables of a notebook, as its kernel tells of them."""
        async with self._using(box, number) as notebook:
            found, _ = await notebook.variables(
                timeout_s=self._settings.cell_s, output_bytes=self._settings.output_bytes
            )
        return [Variable(**row) for row in found]

    async def interrupt(self, box: Box, number: int) -> bool:
        """Interrupts the cell that runs. Returns whether there is one."""
        async with self._using(box, number) as notebook:
            return notebook.interrupt()

    async def restart(self, box: Box, number: int) -> NotebookInfo:
        """Gives a notebook a new kernel."""
        async with self._using(box, number) as notebook:
            await notebook.restart()
        return _info(number, notebook)

    async def end(self, box: Box, number: int) -> None:
        """Ends a notebook, and forgets it."""
        async with self._boxes.using(box):
            await self._found(box, number).close()
            box.notebooks.pop(number, None)

    @asynccontextmanager
    async def _using(self, box: Box, number: int) -> AsyncIterator[Notebook]:
        async with self._boxes.using(box):
            notebook = self._found(box, number)
            try:
                yield notebook
            except NotebookOver as error:
                raise NotebookEnded(f"the notebook has ended: {error.message}", fault="policy") from None

    def _found(self, box: Box, number: int) -> Notebook:
        found = box.notebooks.get(number)
        if found is None:
            raise NotFound(f"the box has no notebook {number}: it was ended, or never started")
        return found

    def _make_room(self, box: Box) -> None:
        """Forgets a notebook that has ended, where there are as many as may be. Raises InvalidRequest."""
        if len(box.notebooks) < self._settings.notebooks:
            return
        over = next((number for number, each in box.notebooks.items() if each.message is not None), None)
        if over is None:
            raise InvalidRequest(f"the box has {len(box.notebooks)} notebooks (boxes.notebooks); close one of them")
        del box.notebooks[over]


def _info(number: int, notebook: Notebook) -> NotebookInfo:
    state = "ended" if notebook.message is not None else "busy" if notebook.busy else "idle"
    return NotebookInfo(notebook=number, kernel=notebook.kernel, state=state, message=notebook.message)


def _result(number: int, report: CellReport) -> CellResult:
    told: dict[str, Any] = {each.name: getattr(report, each.name) for each in fields(report)}
    told["message"] = report.message or None
    del told["counted_s"]
    return CellResult(notebook=number, **told)
