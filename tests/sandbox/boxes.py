"""Boxes for the tests: a host behind its socket, and what is done in a box again and again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from rewarden_sandboxes.box import BoxSpec, Exec
from rewarden_sandboxes.client import HostClient
from rewarden_sandboxes.host import Host
from rewarden_sandboxes.job import Limits, Program
from rewarden_sandboxes.remote_box import RemoteBox
from rewarden_sandboxes.remote_exec import RemoteExec
from rewarden_sandboxes.service import make_server
from tests.sandbox.conftest import started


class Served:
    """A host behind its socket, and the address of that."""

    def __init__(self, host: Host, address: str) -> None:
        self.host = host
        self.address = address

    @asynccontextmanager
    async def client(self) -> AsyncIterator[HostClient]:
        """A connection of one's own."""
        client = HostClient(self.address)
        try:
            yield client
        finally:
            await client.close()

    @asynccontextmanager
    async def box(self, **limits: int) -> AsyncIterator[RemoteBox]:
        """A box with these limits, over a connection of its own; closed at the end."""
        async with self.client() as client, await client.box(BoxSpec(limits=Limits(**limits))) as box:
            yield box


async def serving(launcher: str, address: str) -> AsyncIterator[Served]:
    """A host of that launcher behind a socket, which has three boxes."""
    async for host in started(launcher, slots=2, boxes=3, warm=1, queue_timeout_s=30.0):
        server = make_server(host, address)
        await server.start()
        yield Served(host, address)
        await server.stop(0)


def sh(text: str, **more: object) -> Exec:
    return Exec(argv=("sh", "-c", text), **more)  # type: ignore[arg-type]


def python(text: str, **more: object) -> Exec:
    return Exec(program=Program(language="python", code=text.encode()), **more)  # type: ignore[arg-type]


async def said(box: RemoteBox, text: str) -> str:
    """The output of a shell that ends well."""
    report = await box.run(sh(text))
    assert (report.status, report.stderr) == ("ok", b""), report
    return report.stdout.decode()


async def line(running: RemoteExec) -> bytes:
    """The first line of output; nothing follows it yet."""
    found = b""
    async for output in running:
        found += output.data
        if found.endswith(b"\n"):
            break
    return found


async def whole(parts: AsyncIterator[bytes]) -> bytes:
    return b"".join([part async for part in parts])


async def pieces(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part
