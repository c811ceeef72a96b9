"""The database engines, with the interface in `engine`. Each is imported when a database first needs it."""

from __future__ import annotations

from rewarden.errors import MissingDependency
from rewarden_verifiers.sql.databases import EngineName
from rewarden_verifiers.sql.engines.engine import Engine


def engine_named(name: EngineName) -> Engine:
    """Returns the engine of that name. Raises MissingDependency with the pip command."""
    # Imports are literal, because fingerprints follow them to the sources.
    try:
        if name == "sqlite":
            from rewarden_verifiers.sql.engines import sqlite

            return sqlite
        if name == "duckdb":
            from rewarden_verifiers.sql.engines import duckdb

            return duckdb
        if name == "postgres":
            from rewarden_verifiers.sql.engines import postgres

            return postgres
        from rewarden_verifiers.sql.engines import mysql

        return mysql
    except ModuleNotFoundError as error:
        raise MissingDependency(
            f"{name} needs the package {error.name!r}: pip install 'rewarden-server[sql]'", verifier="sql"
        ) from error
