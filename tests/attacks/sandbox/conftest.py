"""Every attack meets both launchers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attacks.sandbox.grounds import LAUNCHERS, Ground, ground

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All of this needs real sandboxes."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.needs_server)
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="module", params=LAUNCHERS)
def launcher(request: pytest.FixtureRequest) -> str:
    """The launcher's name."""
    return str(request.param)


@pytest.fixture(scope="module")
def host(launcher: str) -> Iterator[Ground]:
    """A host of two slots."""
    with ground(launcher) as made:
        yield made
