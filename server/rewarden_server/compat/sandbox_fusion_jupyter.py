"""SandboxFusion's notebooks: `POST /run_jupyter` runs cells one after the other in a fresh kernel.

    POST /compat/sandbox_fusion/run_jupyter   {"cells": ["a = 1", "a"], "total_timeout": 45}
    → {"status": "Success", "driver": {"status": "Finished", …}, "cells": [{"stdout": "", "display": [], …}, …], …}

Read in bytedance/SandboxFusion (2026-07-14, sandbox/runners/jupyter.py and runtime/jupyter/main.py). A cell that raises
an exception does not keep the next ones from running.
"""

from __future__ import annotations

import asyncio
import base64
import math
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rewarden.errors import InvalidRequest, SandboxError, Unavailable
from rewarden_sandboxes import errors as host_errors
from rewarden_sandboxes.box import BoxSpec
from rewarden_sandboxes.job import Limits
from rewarden_sandboxes.notebook import MOST_ORDER, CellReport, Notebook, NotebookOver, order_bytes
from rewarden_server.compat.peer_requests import REQUIRED
from rewarden_server.compat.sandbox_fusion_fields import files, memory, names, seconds

if TYPE_CHECKING:
    from rewarden_sandboxes.remote_box import RemoteBox
    from rewarden_server.service import Service

SPARE_S = 30.0
"""Seconds beyond the time of all cells within which the reply comes: for a box, its kernel, and the end of a cell that
ignores its interrupt."""

_TOTAL_S = 45.0
_PAUSE_S = 0.1
_MOST_FETCHED = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A parsed request. Times are in seconds; cell_s is infinite if the request has none."""

    cells: Sequence[str]
    cell_s: float
    total_s: float
    memory_mb: int | None
    files: Mapping[str, bytes]
    fetched: Sequence[str]

    @property
    def patience_s(self) -> float:
        """Returns the seconds within which the reply must come."""
        return self.total_s + SPARE_S


def asked(body: Any) -> Asked:
    """Reads a request. Raises InvalidRequest."""
    if type(body) is not dict:
        raise InvalidRequest("the body must be a JSON object")
    if "cells" not in body:
        raise InvalidRequest(REQUIRED, path="cells")
    if body.get("kernel", "python3") != "python3":
        raise InvalidRequest("must be python3", path="kernel")
    none = body.get("cell_timeout", 0) == 0
    cells = names(body["cells"], "cells")
    if any(order_bytes(code) > MOST_ORDER for code in cells):
        raise InvalidRequest(f"must each have at most {MOST_ORDER} bytes as JSON", path="cells")
    return Asked(
        cells=cells,
        cell_s=math.inf if none else seconds(body, "cell_timeout"),
        total_s=seconds(body, "total_timeout", _TOTAL_S),
        memory_mb=memory(body.get("memory_limit_MB", -1)),
        files=files(body.get("files", {})),
        fetched=names(body.get("fetch_files", [])),
    )


async def run(service: Service, asked: Asked) -> dict[str, Any]:
    """Returns the fields of the reply. Raises InvalidRequest for a file that cannot be written, and SandboxError or
    Unavailable if the cells could not run and neither the caller nor the cells are at fault."""
    admission = service.engine.admission
    size = sum(map(len, asked.cells)) + sum(map(len, asked.files.values()))
    while admission.ready and not admission.fits(1, size):
        await asyncio.sleep(_PAUSE_S)
    with admission.running("compat-sandbox_fusion", size):
        try:
            async with _box(service, asked) as box:
                for path, data in asked.files.items():
                    await _put(box, path, data)
                notebook = await Notebook.open(box)
                told = await _Cells(notebook, asked, service.boxes.settings.output_bytes).run()
                return {**told, "executor_pod_name": None, "files": await _fetched(box, asked.fetched)}
        except host_errors.BadJob as error:
            path = "memory_limit_MB" if error.path.endswith("memory_mb") else ""
            if not path:
                raise SandboxError(error.message) from None
            raise InvalidRequest(error.message, path=path) from None
        except (host_errors.HostLost, host_errors.Leaving) as error:
            raise Unavailable(error.message) from None
        except host_errors.HostError as error:
            raise SandboxError(error.message) from None


@asynccontextmanager
async def _box(service: Service, asked: Asked) -> AsyncGenerator[RemoteBox, None]:
    """Yields a box for this request; waits for room as programs do. Raises HostError."""
    settings = service.boxes.settings
    limits = Limits(memory_mb=asked.memory_mb or settings.memory_mb, disk_mb=settings.disk_mb)
    while True:
        try:
            box = await service.engine.sandbox.box(BoxSpec(limits=limits))
            break
        except host_errors.Busy:
            await asyncio.sleep(_PAUSE_S)
    async with box:
        yield box


async def _put(box: RemoteBox, path: str, data: bytes) -> None:
    try:
        await box.put(path, data)
    except host_errors.FileFault as error:
        raise InvalidRequest(f"{path[:100]!r} cannot be written: {error.message}", path="files") from None


async def _fetched(box: RemoteBox, paths: Sequence[str]) -> dict[str, str]:
    """Returns the files that exist, in base64. A file that exceeds the total size is left out."""
    found = {}
    left = _MOST_FETCHED
    for path in paths:
        parts: list[bytes] = []
        try:
            async with aclosing(box.get(path)) as pieces:
                async for piece in pieces:
                    parts.append(piece)
                    left -= len(piece)
                    if left < 0:
                        break
        except host_errors.FileFault:
            continue
        if left >= 0:
            found[path] = base64.b64encode(b"".join(parts)).decode()
        else:
            left += sum(map(len, parts))
    return found


class _Cells:
    """The run of a request's cells."""

    def __init__(self, notebook: Notebook, asked: Asked, output_bytes: int) -> None:
        self._notebook = notebook
        self._asked = asked
        self._left_bytes = output_bytes
        self._left_s = asked.total_s
        self._took_s = 0.0

    async def run(self) -> dict[str, Any]:
        """Returns the status, the driver and the cells of the reply. Raises HostError."""
        cells: list[dict[str, Any]] = []
        for code in self._asked.cells:
            timeout_s = min(self._asked.cell_s, self._left_s)
            try:
                report = await self._notebook.run(code, timeout_s=timeout_s, output_bytes=self._left_bytes)
            except NotebookOver as error:
                if error.fault == "infra":
                    raise
                return self._told(cells, 1, f"cell {len(cells)}: {error.message}")
            cells.append(_cell(report))
            self._took_s += report.wall_time
            self._left_s -= report.counted_s
            self._left_bytes -= report.output_bytes
            if report.status == "time_limit" and timeout_s < self._asked.cell_s:
                return self._told(cells, None, "total_timeout")
            if report.status == "output_limit" or self._left_bytes <= 0:
                return self._told(cells, 1, "output_limit: output_bytes")
            if report.restarted or report.over:
                return self._told(cells, 1, f"cell {len(cells) - 1} ended its kernel: {report.message}")
            if self._left_s <= 0 and len(cells) < len(self._asked.cells):
                return self._told(cells, None, "total_timeout")
        return self._told(cells, 0, "")

    def _told(self, cells: list[dict[str, Any]], code: int | None, message: str) -> dict[str, Any]:
        """code: None for cells that took too long."""
        driver = {
            "status": "TimeLimitExceeded" if code is None else "Finished",
            "execution_time": self._took_s,
            "return_code": code,
            "stdout": "",
            "stderr": message,
        }
        return {"status": "Failed" if message else "Success", "message": message, "driver": driver, "cells": cells}


def _cell(report: CellReport) -> dict[str, Any]:
    text = {"stdout": "", "stderr": ""}
    display, error = [], []
    for output in report.outputs:
        match output["output_type"]:
            case "stream":
                text[output["name"]] += output["text"]
            case "error":
                error.append({name: output[name] for name in ("ename", "evalue", "traceback")})
            case _:
                display.append(output["data"])
    return {**text, "display": display, "error": error, "status": "ok" if report.status == "ok" else "error"}
