"""What holds for all tests."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

# No test asserts on time: a busy machine must not fail one. CI searches the same examples every time, so that a red
# run is the change's doing; elsewhere the search is random.
settings.register_profile(
    "rewarden",
    deadline=None,
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("rewarden")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever uses a server of `tests.server.conftest.start` needs one.

    Tests that fork this process come first: a fork beside threads that others started (gRPC's) may never return. For
    the same reason they run in no process of pytest-xdist's, see the Makefile's groups. Then come files with slow
    tests: begun last, one alone would keep one process busy when the others have ended.
    """
    for item in items:
        if "start" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.needs_server)
    long = {item.path for item in items if item.get_closest_marker("slow") and not item.get_closest_marker("alone")}
    items.sort(key=lambda item: (item.get_closest_marker("forks") is None, item.path not in long))
