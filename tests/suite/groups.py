"""Tests that `make test` leaves to `make test-all`, and to CI where the files that they reach changed.

They repeat what others show: the same attacks on the second launcher, problems in each language where the core runs a
program in each, the same programs over every transport. Or they drive what is heavy and seldom changes: a browser, the
images of the whole. Or they are slow: together they take longer than all others, and a machine on which the quick tests
pass fails none of them for a reason of its own.
"""

from __future__ import annotations

from functools import lru_cache

import pytest

GROUPS = {
    "launcher": "the second sandbox launcher",
    "transports": "programs over each transport",
    "languages": "problems, calls and tests in each language of the sandbox",
    "browser": "the pages in a browser",
    "stack": "the stack of docker-compose.yml",
    "slow": "slow tests",
}
"""Name to what the group shows. A test is in one by its marker `group(name)`, by its launcher, or by its marker
`slow`."""


def group_of(item: pytest.Item) -> str | None:
    """The group that a test is in, or None for one of the core."""
    marker = item.get_closest_marker("group")
    if marker is not None:
        (name,) = marker.args
        assert name in GROUPS, f"{item.nodeid}: there is no group {name!r}"
        return str(name)
    if item.get_closest_marker("needs_server") is not None:
        values = getattr(getattr(item, "callspec", None), "params", {}).values()
        if second_launcher() in [value for value in values if isinstance(value, str)]:
            return "launcher"
    return "slow" if item.get_closest_marker("slow") is not None else None


@lru_cache(maxsize=1)
def second_launcher() -> str:
    """The launcher that is left to the group `launcher`: bubblewrap where a container engine answers, else Docker."""
    import docker
    from docker.errors import DockerException

    try:
        engine = docker.from_env(timeout=5)
        try:
            engine.ping()
        finally:
            engine.close()
    except (DockerException, OSError):
        return "docker"
    return "bwrap"


def leave_out(items: list[pytest.Item]) -> None:
    """Skip every test that is in a group, with the group's text as the reason."""
    for item in items:
        group = group_of(item)
        if group is not None:
            item.add_marker(pytest.mark.skip(reason=GROUPS[group]))
