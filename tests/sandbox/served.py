"""A host behind its socket, for the tests of what lives there for long: sessions and boxes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from rewarden_sandboxes.box import BoxSpec
from rewarden_sandboxes.client import HostClient
from rewarden_sandboxes.host import Host
from rewarden_sandboxes.job import Limits, Program
from rewarden_sandboxes.remote_box import RemoteBox
from rewarden_sandboxes.remote_session import RemoteSession
from rewarden_sandboxes.service import make_server
from tests.sandbox.conftest import started


def python(code: str, **program: object) -> Program:
    return Program(language="python", code=code.encode(), **program)  # type: ignore[arg-type]


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
    async def session(self, code: str, **program: object) -> AsyncIterator[RemoteSession]:
        """A session of a Python program, over a connection of its own; closed at the end."""
        async with self.client() as client:
            session = await client.session(python(code, **program))
            try:
                yield session
            finally:
                await session.close()

    @asynccontextmanager
    async def box(self, image: str = "python", **limits: int) -> AsyncIterator[RemoteBox]:
        """A box with these limits, over a connection of its own; closed at the end."""
        async with self.client() as client, await client.box(BoxSpec(image=image, limits=Limits(**limits))) as box:
            yield box


async def serving(launcher: str, address: str, **settings: object) -> AsyncIterator[Served]:
    """A host of that launcher behind a socket, with two slots for runs."""
    async for host in started(launcher, slots=2, warm=1, queue_timeout_s=30.0, **settings):
        server = make_server(host, address)
        await server.start()
        yield Served(host, address)
        await server.stop(0)


def called(name: str) -> list[int]:
    """Processes of this machine that call themselves so."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "comm").read_text().strip() == name:
                found.append(int(folder.name))
        except OSError:
            continue
    return found
