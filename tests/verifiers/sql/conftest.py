"""The four engines, each with a server where it needs one.

Fixtures import what they use: packages of databases may be missing, and then each file of tests skips by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.verifiers.sql import servers
    from tests.verifiers.sql.world import World


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[servers.Server]:
    """A private PostgreSQL, started once."""
    from tests.verifiers.sql import servers

    try:
        with servers.postgres() as server:
            yield server
    except servers.Unavailable as missing:
        pytest.skip(f"no PostgreSQL: {missing}")


@pytest.fixture(scope="session")
def mysql_server() -> Iterator[servers.Server]:
    """A private MariaDB, started once."""
    from tests.verifiers.sql import servers

    try:
        with servers.mysql() as server:
            yield server
    except servers.Unavailable as missing:
        pytest.skip(f"no MariaDB: {missing}")


@pytest.fixture(
    params=[
        "sqlite",
        "duckdb",
        pytest.param("postgres", marks=pytest.mark.needs_server),
        pytest.param("mysql", marks=pytest.mark.needs_server),
    ]
)
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """The same for each engine."""
    from tests.verifiers.sql.world import World

    engine = request.param
    needed = {"postgres": "postgres_server", "mysql": "mysql_server"}.get(engine)
    world = World(engine, {} if needed is None else {engine: request.getfixturevalue(needed).dsn})
    yield world
    world.close()
