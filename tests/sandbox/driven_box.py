"""A box whose only exec is a notebook's driver that the test plays."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from rewarden_sandboxes.box import BoxSpec, Exec, Output
from rewarden_sandboxes.errors import HostError
from rewarden_sandboxes.job import Clock, Limits, Report

Driver = Callable[["DrivenBox", dict[str, Any]], Any]
"""Answers an order."""


class DrivenBox:
    """A box and its first exec in one, which is always idle. begin: the driver's first line, and later: that of all
    but the first driver; `silent` for none. chatter:
    the event of a line that it writes whenever its clock is read."""

    def __init__(self, driver: Driver, *, begin: str = "ready", spec: BoxSpec | None = None) -> None:
        self.spec = spec or BoxSpec()
        self.execs: list[Exec] = []
        self.driver = driver
        self.begin = begin
        self.later = ""
        self.chatter: str | None = None
        self.report: Report | None = None
        self.orders: list[str] = []
        self.left = False
        self._output: asyncio.Queue[Output | HostError | None] = asyncio.Queue()

    async def exec(self, what: Exec) -> Any:
        """Begins it."""
        self.execs.append(what)
        if len(self.execs) > 1:
            return await DrivenBox(self.driver, begin=self.later or self.begin).exec(what)
        if self.begin != "silent":
            self.say(ev=self.begin, message="says the driver")
        return self

    def say(self, **line: Any) -> None:
        """Writes a line."""
        self.write(json.dumps(line).encode() + b"\n")

    def write(self, data: bytes) -> None:
        """Writes to stdout."""
        self._output.put_nowait(Output("stdout", data))

    def done(self, order: dict[str, Any], status: str = "ok", **more: Any) -> None:
        """Ends a cell."""
        self.say(ev="done", id=order["id"], status=status, count=1, **more)

    def end(self, status: Any = "runtime_error", **more: Any) -> None:
        """Ends the driver."""
        self.report = Report(status=status, **more)
        self._output.put_nowait(None)

    # --- as RemoteExec ---

    async def __aiter__(self) -> AsyncIterator[Output]:
        while (output := await self._output.get()) is not None:
            if isinstance(output, HostError):
                raise output
            yield output

    async def send(self, data: bytes) -> None:
        """Gives an order to the driver."""
        order = json.loads(data)
        self.orders.append(order["do"])
        self.driver(self, order)

    async def clock(self) -> Clock:
        """Returns its clock."""
        if self.chatter is not None:
            self.say(ev=self.chatter, id=1)
        return Clock(cpu_s=0.0, idle_s=asyncio.get_running_loop().time())

    def leave(self) -> None:
        """Kills it."""
        if not self.left:
            self.left = True
            self._output.put_nowait(HostError("the exec was closed"))

    async def close(self) -> None:
        """Kills it."""
        self.leave()

    # --- as RemoteBox ---

    image = "sha256:0"
    fault: HostError | None = None
    host_lost = False

    @property
    def limits(self) -> Limits:
        """Returns those of its spec."""
        return self.spec.limits

    @property
    def enforced(self) -> Mapping[str, str]:
        """Returns none."""
        return {}

    async def put(self, path: str, data: object) -> None:
        """Takes a file."""

    async def wait(self) -> HostError:
        """Never returns: it is never lost."""
        await asyncio.get_running_loop().create_future()
        raise AssertionError

    async def __aenter__(self) -> DrivenBox:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
