"""A sandbox host with room for boxes, in a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rewarden_sandboxes.client import HostClient
from rewarden_sandboxes.errors import HostLost

IMAGES = {"image_prefix": prefix} if (prefix := os.environ.get("REWARDEN_TEST_IMAGES")) else {}
"""The images under test, where they are not those that are installed."""


class HostProcess:
    """A sandbox host in a process of its own, which a test may kill. `address`: where it listens. more: settings."""

    def __init__(self, folder: Path, launcher: str, **more: object) -> None:
        self.address = f"unix:{folder}/host.sock"
        settings = json.dumps({"launcher": launcher, "slots": 1, "warm_boxes": 2, **IMAGES, **more})
        command = [sys.executable, "-P", "-m", "rewarden_sandboxes", "--address", self.address, "--tied"]
        self.process = subprocess.Popen(
            [*command, "--settings", settings], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
        )
        asyncio.run(self._ready())

    async def _ready(self) -> None:
        client = HostClient(self.address)
        async with asyncio.timeout(60):
            while True:
                with contextlib.suppress(HostLost):
                    if (await client.status(timeout_s=10))["ready"]:
                        return await client.close()
                await asyncio.sleep(0.05)

    def kill(self) -> None:
        """Kills it, as a machine that dies does."""
        self.process.kill()
        self.process.wait()

    def end(self) -> None:
        """Lets it end by itself."""
        self.process.communicate()


@pytest.fixture(scope="module")
def host(launcher: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostProcess]:
    """A host that the tests of a file share."""
    made = HostProcess(tmp_path_factory.mktemp("host"), launcher)
    yield made
    made.end()
