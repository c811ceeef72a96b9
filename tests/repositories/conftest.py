"""A server's host of boxes, and a server with repositories, for tests of these."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rewarden import Client
from rewarden_server.config import load_config
from tests.server.box_host import HostProcess
from tests.server.box_host import host as host
from tests.server.launchers import launcher as launcher


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the repositories."""
    return tmp_path_factory.mktemp("repositories")


@pytest.fixture(scope="module")
def client(host: HostProcess, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A client of a server in this process."""
    flags = {
        "sandbox.address": host.address,
        "tasks.dir": str(tmp_path_factory.mktemp("rows")),
        "tasks.repositories": str(folder),
    }
    config = load_config(environ={}, flags={name: ("test", value) for name, value in flags.items()})
    with Client("local", config=config) as made:
        yield made
