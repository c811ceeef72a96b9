"""The database engines, behind one protocol: `engine`. Each is imported when a database first asks for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rewarden.errors import MissingDependency
from rewarden_verifiers.sql.databases import EngineName
from rewarden_verifiers.sql.engines.engine import Engine


def engine_named(name: EngineName) -> Engine:
    """The engine of that name. Raises MissingDependency with the pip command."""
    try:
        return _ENGINES[name]()
    except ModuleNotFoundError as error:
        raise MissingDependency(
            f"{name} needs the package {error.name!r}: pip install 'rewarden-server[sql]'", verifier="sql"
        ) from error


# Imports are written out, not made from names: fingerprints follow them to the sources.


def _sqlite() -> Engine:
    from rewarden_verifiers.sql.engines.sqlite import ENGINE

    return ENGINE


def _duckdb() -> Engine:
    from rewarden_verifiers.sql.engines.duckdb import ENGINE

    return ENGINE


def _postgres() -> Engine:
    from rewarden_verifiers.sql.engines.postgres import ENGINE

    return ENGINE


def _mysql() -> Engine:
    from rewarden_verifiers.sql.engines.mysql import ENGINE

    return ENGINE


_ENGINES: Mapping[EngineName, Callable[[], Engine]] = {
    "sqlite": _sqlite,
    "duckdb": _duckdb,
    "postgres": _postgres,
    "mysql": _mysql,
}
