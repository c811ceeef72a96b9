"""The catalogue: which databases are registered here, read from one TOML file, whose folder its paths begin at.

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
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import tomllib

from rewarden.errors import InvalidRequest, near
from rewarden_verifiers.sql.databases import Database, Databases, EngineName

SUFFIXES: Mapping[str, EngineName] = {".sqlite": "sqlite", ".sqlite3": "sqlite", ".db": "sqlite", ".duckdb": "duckdb"}
"""Files that a folder of databases may hold."""

_KEYS = ("engine", "file", "variants", "dsn", "dsn_env", "version", "script")
_WHOLE = 16 * 1024**2
_BLOCKS = 256
_BLOCK = 4096


def read_catalogue(path: Path, servers: Mapping[str, str]) -> Databases:
    """The databases of a catalogue. `servers`: where databases may be made, by engine.

    Raises InvalidRequest naming the entry and the key at fault, OSError for a file that cannot be read.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidRequest(f"{path}: is no TOML: {error}") from None
    if strange := data.keys() - {"folders", "databases"}:
        raise InvalidRequest(f"{path}: there is no key {min(strange)!r}; there is folders and [databases.ID]")
    folders, entries = data.get("folders", []), data.get("databases", {})
    if not isinstance(folders, list) or not all(isinstance(item, str) for item in folders):
        raise InvalidRequest(f"{path}: folders must be a list of paths")
    if not isinstance(entries, dict) or not all(isinstance(item, dict) for item in entries.values()):
        raise InvalidRequest(f"{path}: databases must be tables: [databases.ID]")
    known: dict[str, tuple[Database, ...]] = {}
    for folder in folders:
        for id, found in _of_folder(path.parent / folder, str(path)):
            if id in known:
                raise InvalidRequest(f"{path}: two folders hold a database {id!r}")
            known[id] = found
    for id, entry in entries.items():
        if id in known:
            raise InvalidRequest(f"{path}: database {id!r} stands in a folder as well")
        known[id] = _Entry(id, entry, f"{path}: databases.{id}", path.parent).databases()
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


class _Entry:
    """One [databases.ID]."""

    def __init__(self, id: str, entry: Mapping[str, Any], where: str, folder: Path) -> None:
        self._id, self._entry, self._where, self._folder = id, entry, where, folder

    def databases(self) -> tuple[Database, ...]:
        """The database and its variants. Raises InvalidRequest, OSError."""
        for name, value in self._entry.items():
            if name not in _KEYS:
                self._fail(f"there is no key {name!r}{near(name, _KEYS)}")
            if name != "variants" and (not isinstance(value, str) or not value):
                self._fail(f"{name} must be a text")
        engine = self._entry.get("engine", "sqlite")
        if engine not in get_args(EngineName):
            self._fail(f"engine must be one of {', '.join(get_args(EngineName))}, not {engine!r}")
        places = [name for name in ("file", "dsn", "dsn_env", "script") if name in self._entry]
        if len(places) != 1:
            self._fail("give one of file, dsn, dsn_env and script")
        if places == ["script"]:
            return self._script(engine), *self._variants(engine)
        if places == ["file"]:
            if engine not in ("sqlite", "duckdb"):
                self._fail(f"{engine} has no files: give dsn or script")
            return self._file(engine, self._entry["file"]), *self._variants(engine)
        return (self._served(engine, places[0]),)

    def _variants(self, engine: EngineName) -> Sequence[Database]:
        files = self._entry.get("variants", [])
        if not isinstance(files, list) or not all(isinstance(item, str) for item in files):
            self._fail("variants must be a list of paths")
        if files and engine not in ("sqlite", "duckdb"):
            self._fail(f"variants are files, and {engine} has none")
        return [self._file(engine, file) for file in files]

    def _file(self, engine: EngineName, name: str) -> Database:
        file = self._folder / name
        if not file.is_file():
            self._fail(f"there is no file {str(file)!r}")
        return file_database(self._id, engine, file)

    def _script(self, engine: EngineName) -> Database:
        file = self._folder / self._entry["script"]
        if not file.is_file():
            self._fail(f"there is no file {str(file)!r}")
        found = file.stat()
        return Database(
            id=self._id,
            engine=engine,
            version=content_version(file),
            script_file=os.path.abspath(file),
            stat=(found.st_size, found.st_mtime_ns),
        )

    def _served(self, engine: EngineName, key: str) -> Database:
        if engine not in ("postgres", "mysql"):
            self._fail(f"{engine} has no server: give file or script")
        dsn = self._entry[key] if key == "dsn" else os.environ.get(self._entry[key])
        if not dsn:
            self._fail(f"the variable {self._entry[key]!r} is not set")
        if "version" not in self._entry:
            # Verdicts are kept, and compared over months: nobody else can know when these rows change.
            self._fail("give version: a text that says in what state the database is, changed whenever its rows change")
        return Database(id=self._id, engine=engine, version=self._entry["version"], dsn=dsn)

    def _fail(self, message: str) -> None:
        raise InvalidRequest(f"{self._where}: {message}")


def file_database(id: str, engine: EngineName, file: Path) -> Database:
    """A database file as it is now. Raises OSError."""
    found = file.stat()
    return Database(
        id=id,
        engine=engine,
        version=content_version(file),
        file=os.path.abspath(file),
        stat=(found.st_size, found.st_mtime_ns),
    )


def content_version(file: Path) -> str:
    """A digest of a file's content: of all of it up to 16 MiB. Of a larger one, of its size, its head, which in SQLite
    holds a counter of changes, its end, and 256 blocks between them: a hundred databases of a gigabyte would take
    minutes to read.
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
