"""Configuration that holds for all tests."""

from __future__ import annotations

import gc
import os
import tempfile
import time
from collections.abc import Generator
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.suite import groups, optional, stress
from tests.suite.record import Recorder

# No test asserts on time: a busy machine must not fail one. The same examples are tried every time, so that red is
# the change's doing; `make stress` searches for others.
settings.register_profile("suite", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("search", settings.get_profile("suite"), derandomize=False)
settings.load_profile("suite")

# All that the collection of twenty thousand tests makes stays in use; the garbage collector looked through it again and
# again, for a third of the time that collection takes.
gc.disable()

# Servers store runs in the user's state folder, unless told otherwise: not in that of whoever runs the tests.
_STATE = tempfile.TemporaryDirectory(prefix="rewarden-tests-")
os.environ["XDG_STATE_HOME"] = _STATE.name

SERVERS = {"make_engine", "open_lane", "scripted", "start", "target"}
"""Fixtures that start a server, or an engine with its processes: a test that uses one is marked `needs_server`."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that tests.suite asks for."""
    suite = parser.getgroup("suite")
    suite.addoption("--core", action="store_true", help="skip the tests that are in a group of tests/suite/groups.py")
    suite.addoption(
        "--only", metavar="FILE", help="run only the tests, or files of tests, that this file names, one a line"
    )
    suite.addoption("--until", type=float, metavar="SECONDS", help="skip tests that would begin after this time (Unix)")
    suite.addoption("--stress", type=int, default=0, metavar="N", help="run only tests marked `stress`, N times each")
    suite.addoption("--record", metavar="FILE", help="write what was skipped, and how long each test took, as JSON")


def pytest_configure(config: pytest.Config) -> None:
    """One process records: under pytest-xdist that which gives out the tests."""
    if config.getoption("--stress"):
        settings.load_profile("search")
    path = config.getoption("--record")
    if path and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder(Path(path), tell=partial(_tell, config)))


def _tell(config: pytest.Config, line: str) -> None:
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None:
        terminal.ensure_newline()
        terminal.write_line(line)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Begin no test after the time that `--until` names."""
    until = item.config.getoption("--until")
    if until and time.time() > until:
        pytest.skip("no time is left in this run")


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """A file that cannot be read for want of an optional package is skipped."""
    report = yield
    if report.failed:
        optional.skip_instead(report, report.call.excinfo.value)  # type: ignore[attr-defined]
    return report


def pytest_collection_finish() -> None:
    """Keep what was collected out of the garbage collector's sight; from here on it looks at what tests make."""
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    """Give everything back to the collector: libraries complain at exit about objects that were never collected."""
    gc.unfreeze()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Tests that fight the kernel are repeated where that is asked for."""
    times = metafunc.config.getoption("--stress")
    if times:
        stress.repeat(metafunc, times)


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None, None, None]:
    """Mark tests before pytest selects by marks, and order them afterwards.

    Tests that fork this process come first: a fork beside threads that others started (gRPC's) may never return. For
    the same reason they run in no process of pytest-xdist's, see tests/suite. Then come files with slow tests: begun
    last, one alone would keep one process busy when the others have ended.
    """
    for item in items:
        if SERVERS & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.needs_server)
    yield
    stress.select(items, repeating=config.getoption("--stress") > 0)
    if config.getoption("--core"):
        groups.leave_out(items)
    only = config.getoption("--only")
    if only:
        named = set(Path(only).read_text(encoding="utf-8").splitlines())
        items[:] = [item for item in items if {item.nodeid, item.nodeid.partition("::")[0]} & named]
    long = {item.path for item in items if item.get_closest_marker("slow") and not item.get_closest_marker("alone")}
    items.sort(key=lambda item: (item.get_closest_marker("forks") is None, item.path not in long))
