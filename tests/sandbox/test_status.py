"""A host's report of itself comes at once, whatever its engine does: servers hold one that says nothing to hang."""

from __future__ import annotations

import asyncio
import math
import socket
import threading
from pathlib import Path
from typing import Any, cast

import pytest

from rewarden_sandboxes.host import Host
from rewarden_sandboxes.launchers.docker import DockerLauncher
from rewarden_sandboxes.launchers.launcher import Launcher
from rewarden_sandboxes.settings import HostSettings


class SlowEngine:
    """A launcher that says what an image is when it is let."""

    name = "slow"

    def __init__(self) -> None:
        self.answers = asyncio.Event()
        self.asked = 0
        self.word = "first"

    async def image_id(self, image: str) -> str:
        """See `Launcher.image_id`."""
        self.asked += 1
        await self.answers.wait()
        return self.word

    def close(self) -> None:
        """Nothing is held."""


async def images(host: Host, **asked: bool) -> set[Any]:
    """Returns what its status says of all images; it has to come soon."""
    return set((await asyncio.wait_for(host.status(**asked), 30))["images"].values())


async def test_an_engine_that_answers_slowly_does_not_hold_up_the_status() -> None:
    host, engine = Host(HostSettings(launcher="none")), SlowEngine()
    host._launcher = cast(Launcher, engine)
    engine.answers.set()
    assert await images(host) == {"first"}
    engine.answers.clear()
    engine.word, engine.asked = "second", 0
    host._images_at = -math.inf
    for _ in range(20):  # many who ask are one who asks the engine
        assert await images(host) == {"first"}
        await asyncio.sleep(0)
    assert engine.asked == 1
    probed = asyncio.create_task(images(host, probe=True))
    engine.answers.set()
    assert await probed == {"second"}
    assert await images(host) == {"second"}
    engine.answers.clear()
    host._images_at = -math.inf
    await images(host)
    await host.close()
    assert host._asking is None


async def test_an_engine_that_ends_while_it_is_asked_is_said_to_be_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    with socket.socket(socket.AF_UNIX) as engine:
        engine.bind(f"{tmp_path}/docker.sock")
        engine.listen()
        launcher = DockerLauncher(HostSettings())

        def end() -> None:
            engine.accept()[0].close()

        ending = threading.Thread(target=end)
        ending.start()
        problem = await launcher.problem("python")
        ending.join()
        launcher.close()
    assert problem is not None
    assert problem.startswith("no Docker engine answers")
