"""The images of docker-compose.yml are built of the sources as they stand.

Minutes of it are spent waiting for packages. Nothing else need wait for that: test_stack.py, alone there, finds
each step in the engine's cache.
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pytest

from tests.compose.stack import built

pytestmark = [pytest.mark.needs_server, pytest.mark.slow]


def test_the_image_of_the_server_has_this_version(tmp_path: Path) -> None:
    with built(tmp_path) as stack:
        said = stack.client.containers.run("rewarden-test/rewarden-server", ["--version"], remove=True)
    assert said.decode().strip() == f"rewarden {version('rewarden-server')}"
