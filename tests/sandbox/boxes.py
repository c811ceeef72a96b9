"""The steps that tests of boxes repeat."""

from __future__ import annotations

from collections.abc import AsyncIterator

from rewarden_sandboxes.box import Exec
from rewarden_sandboxes.job import Program
from rewarden_sandboxes.remote_box import RemoteBox
from rewarden_sandboxes.remote_exec import RemoteExec


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
