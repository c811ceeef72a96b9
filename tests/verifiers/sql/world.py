"""A world with databases: the four engines, each with a server where it needs one."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from rewarden.errors import SampleError
from rewarden.types import Outcome
from rewarden_server.engine import failures
from rewarden_verifiers.contract import Unwatched
from rewarden_verifiers.sql.connections import open_session
from rewarden_verifiers.sql.databases import CarriedDatabase, Database, Databases, EngineName, Table
from rewarden_verifiers.sql.engines.engine import Session
from rewarden_verifiers.sql.gold import CONNECTIONS, prepare
from rewarden_verifiers.sql.params import SqlParams
from rewarden_verifiers.sql.reference import SqlReference
from rewarden_verifiers.sql.verifier import sql as verifier

SCRIPT = """
CREATE TABLE city (id INTEGER PRIMARY KEY, name VARCHAR(40) NOT NULL);
CREATE TABLE person (id INTEGER PRIMARY KEY, name VARCHAR(40), age INTEGER, city_id INTEGER REFERENCES city (id));
INSERT INTO city VALUES (1, 'Rome'), (2, 'Oslo'), (3, 'Lima');
INSERT INTO person VALUES (1, 'Ada', 36, 1), (2, 'Bob', 41, 1), (3, 'Cyd', 36, 2), (4, 'Dan', NULL, NULL);
"""
"""Four persons in two of three cities; every engine understands it."""


class World:
    """One engine, and what is needed to judge on it in this process."""

    def __init__(self, engine: EngineName, servers: Mapping[str, str]) -> None:
        self.engine: EngineName = engine
        self.resources = Databases(servers=servers)
        self._sessions: list[Session] = []

    def judge(
        self,
        response: str,
        sql: str | tuple[str, ...] | None = None,
        *,
        script: str = SCRIPT,
        tables: Mapping[str, Table] | None = None,
        reference: SqlReference | None = None,
        **params: Any,
    ) -> Outcome:
        """The outcome of a response against a query on a carried database, or against a reference of any form."""
        if reference is None:
            carried = CarriedDatabase(engine=self.engine, script=script, tables=tables or {})
            reference = SqlReference(database=carried, sql=sql)
        try:
            chosen = SqlParams(**params)
            prepared = prepare(reference, chosen, self.resources, Unwatched())
            found: Outcome = verifier(response, prepared, chosen, Unwatched())
            return found
        except SampleError as error:
            return failures.outcome_of(error)

    def database(self, script: str = SCRIPT, *, tables: Mapping[str, Table] | None = None) -> Database:
        """A database that a script and tables make."""
        version = hashlib.blake2b(repr((script, tables)).encode(), digest_size=12).hexdigest()
        return Database(id="test", engine=self.engine, version=version, script=script, tables=tables or {})

    def session(
        self, script: str = SCRIPT, *, tables: Mapping[str, Table] | None = None, copy: bool = False
    ) -> Session:
        """A session on a database that a script makes, closed after the test."""
        session = open_session(self.database(script, tables=tables), self.resources.servers, copy=copy)
        self._sessions.append(session)
        return session

    def close(self) -> None:
        """Close all sessions, those that the verifier keeps among them."""
        while self._sessions:
            self._sessions.pop().close()
        CONNECTIONS.close()
