"""The catalogue of registered databases, read from a TOML file; its paths are relative to that file's folder.

# Each folder <id>/ in it is a database, <id>/<id>.sqlite; the other database files of that folder are its variants.
folders = ["spider/database"]

[databases.shop]
engine = "sqlite"                       # the default; duckdb, postgres, mysql
file = "shop.sqlite"                    # embedded engines
variants = ["shop_2.sqlite"]            # the same schema with other rows, for `databases: suite`

[databases.orders]
engine = "postgres"
dsn = "postgresql://reader@db/orders"   # a database that is there already; or dsn_env: the variable that holds it
version = "2026-11"                     # says in what state it is: change it whenever its rows change

[databases.toy]
script = "toy.sql"                      # made from statements: in each worker, or once on the scratch server
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tomllib
from annotated_types import MinLen

from rewarden.errors import InvalidRequest
from rewarden_verifiers.schema import Misfit, read
from rewarden_verifiers.sql.databases import Database, Databases, EngineName

SUFFIXES: Mapping[str, EngineName] = {".sqlite": "sqlite", ".sqlite3": "sqlite", ".db": "sqlite", ".duckdb": "duckdb"}
"""Maps the file endings of databases to their engines."""

_Text = Annotated[str, MinLen(1)]
_WHOLE = 16 * 1024**2
_BLOCKS = 256
_BLOCK = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """One [databases.ID] entry, as written in the file."""

    engine: EngineName = "sqlite"
    file: _Text | None = None
    variants: tuple[_Text, ...] = ()
    dsn: _Text | None = None
    dsn_env: _Text | None = None
    version: _Text | None = None
    script: _Text | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Catalogue:
    folders: tuple[_Text, ...] = ()
    databases: Mapping[str, _Entry] = field(default_factory=dict)


def read_catalogue(path: Path, servers: Mapping[str, str]) -> Databases:
    """Reads a catalogue. `servers`: where databases can be made, by engine.

    Raises InvalidRequest naming the entry and the key at fault, OSError for a file that cannot be read.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        catalogue: _Catalogue = read(_Catalogue, data, "", unknown="there is no key {}", table="a table")
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidRequest(f"{path}: is not TOML: {error}") from None
    except Misfit as misfit:
        raise InvalidRequest(f"{path}: {misfit.message}") from None
    known: dict[str, tuple[Database, ...]] = {}
    for folder in catalogue.folders:
        for id, found in _of_folder(path.parent / folder, str(path)):
            if id in known:
                raise InvalidRequest(f"{path}: two folders hold a database {id!r}")
            known[id] = found
    for id, entry in catalogue.databases.items():
        if id in known:
            raise InvalidRequest(f"{path}: database {id!r} is also in a folder")
        try:
            known[id] = _of_entry(id, entry, path.parent)
        except Misfit as misfit:
            raise InvalidRequest(f"{path}: databases.{id}: {misfit.words}") from None
    return Databases(known=known, servers=servers)


def _of_folder(folder: Path, where: str) -> Iterator[tuple[str, tuple[Database, ...]]]:
    if not folder.is_dir():
        raise InvalidRequest(f"{where}: folders: there is no folder {str(folder)!r}")
    count = 0
    for inner in sorted(folder.iterdir()):
        if not inner.is_dir():
            continue
        files = sorted(file for file in inner.iterdir() if file.suffix in SUFFIXES and file.is_file())
        files.sort(key=lambda file: file.stem != inner.name)
        if files and files[0].stem == inner.name:
            count += 1
            yield inner.name, tuple(file_database(inner.name, SUFFIXES[file.suffix], file) for file in files)
    if not count:
        raise InvalidRequest(f"{where}: folders: {str(folder)!r} holds no <id>/<id>.sqlite")


def _of_entry(id: str, entry: _Entry, folder: Path) -> tuple[Database, ...]:
    """The database and its variants. Raises Misfit, OSError."""
    places = [name for name in ("file", "dsn", "dsn_env", "script") if getattr(entry, name) is not None]
    if len(places) != 1:
        raise Misfit("give one of file, dsn, dsn_env and script")
    if entry.dsn is not None or entry.dsn_env is not None:
        return (_served(id, entry),)
    embedded = entry.engine in ("sqlite", "duckdb")
    if entry.file is not None and not embedded:
        raise Misfit(f"{entry.engine} has no files: give dsn or script")
    if entry.variants and not embedded:
        raise Misfit(f"variants are files, and {entry.engine} has none")
    variants = [file_database(id, entry.engine, _existing(folder / name)) for name in entry.variants]
    if entry.file is not None:
        return file_database(id, entry.engine, _existing(folder / entry.file)), *variants
    script = _existing(folder / str(entry.script))
    found = script.stat()
    made = Database(
        id=id,
        engine=entry.engine,
        version=content_version(script),
        script_file=os.path.abspath(script),
        stat=(found.st_size, found.st_mtime_ns),
    )
    return made, *variants


def _existing(file: Path) -> Path:
    if not file.is_file():
        raise Misfit(f"there is no file {str(file)!r}")
    return file


def _served(id: str, entry: _Entry) -> Database:
    if entry.engine not in ("postgres", "mysql"):
        raise Misfit(f"{entry.engine} has no server: give file or script")
    dsn = entry.dsn or os.environ.get(entry.dsn_env or "")
    if not dsn:
        raise Misfit(f"the variable {entry.dsn_env!r} is not set")
    if entry.version is None:
        # Verdicts are stored and compared over months, and only the owner knows when these rows change.
        raise Misfit("give version: a text that says in what state the database is, changed whenever its rows change")
    return Database(id=id, engine=entry.engine, version=entry.version, dsn=dsn)


def file_database(id: str, engine: EngineName, file: Path) -> Database:
    """Returns a database file in its current state. Raises OSError."""
    found = file.stat()
    return Database(
        id=id,
        engine=engine,
        version=content_version(file),
        file=os.path.abspath(file),
        stat=(found.st_size, found.st_mtime_ns),
    )


def content_version(file: Path) -> str:
    """Returns a digest of a file's content: of all of it up to 16 MiB. For a larger file, it covers the size, the head
    (which in SQLite contains a change counter), the end, and 256 blocks in between: reading a hundred databases of a
    gigabyte would take minutes.
    """
    digest = hashlib.blake2b(digest_size=12)
    size = file.stat().st_size
    with file.open("rb") as content:
        if size <= _WHOLE:
            digest.update(content.read())
        else:
            digest.update(f"{size}:".encode())
            for place in range(_BLOCKS + 1):
                content.seek((size - _BLOCK) * place // _BLOCKS)
                digest.update(content.read(_BLOCK))
    return digest.hexdigest()
