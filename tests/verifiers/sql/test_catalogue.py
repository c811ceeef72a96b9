"""The catalogue of databases: what registers one, and how a mistake is told."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from rewarden.errors import InvalidRequest, InvalidSample
from rewarden_verifiers.sql import catalogue
from rewarden_verifiers.sql.catalogue import read_catalogue
from rewarden_verifiers.sql.databases import Databases


def sqlite_file(path: Path, rows: int = 1) -> Path:
    """A database with a table `t` of so many rows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (a INTEGER)")
        connection.executemany("INSERT INTO t VALUES (?)", [(place,) for place in range(rows)])
    connection.close()
    return path


def read(folder: Path, text: str) -> Databases:
    """A catalogue of that text."""
    path = folder / "databases.toml"
    path.write_text(text)
    return read_catalogue(path, {"postgres": "postgresql://maker@db/"})


def test_a_file_is_registered_beside_the_catalogue_with_its_variants(tmp_path: Path) -> None:
    sqlite_file(tmp_path / "data" / "shop.sqlite")
    sqlite_file(tmp_path / "data" / "shop_2.sqlite", rows=2)
    found = read(tmp_path, '[databases.shop]\nfile = "data/shop.sqlite"\nvariants = ["data/shop_2.sqlite"]\n')
    first, second = found.find("shop")
    assert first.engine == "sqlite"
    assert first.file == str(tmp_path / "data" / "shop.sqlite")
    assert (first.id, second.id) == ("shop", "shop")
    assert first.key != second.key


def test_a_folder_in_the_layout_of_spider_and_bird_is_a_database_each(tmp_path: Path) -> None:
    sqlite_file(tmp_path / "database" / "concert" / "concert.sqlite")
    sqlite_file(tmp_path / "database" / "concert" / "concert_fuzzed.sqlite", rows=3)
    sqlite_file(tmp_path / "database" / "pets" / "pets.sqlite")
    (tmp_path / "database" / "pets" / "schema.sql").write_text("")
    (tmp_path / "database" / "notes").mkdir()
    found = read(tmp_path, 'folders = ["database"]\n')
    assert set(found.known) == {"concert", "pets"}
    assert [Path(item.file or "").stem for item in found.find("concert")] == ["concert", "concert_fuzzed"]


def test_databases_of_servers_and_scripts_are_registered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORDERS", "mysql://reader@db/orders")
    (tmp_path / "toy.sql").write_text("CREATE TABLE t (a INTEGER);")
    found = read(
        tmp_path,
        '[databases.a]\nengine = "postgres"\ndsn = "postgresql://reader@db/a"\nversion = "1"\n'
        '[databases.b]\nengine = "mysql"\ndsn_env = "ORDERS"\nversion = "1"\n'
        '[databases.c]\nengine = "postgres"\nscript = "toy.sql"\n',
    )
    assert found.find("a")[0].dsn == "postgresql://reader@db/a"
    assert found.find("b")[0].dsn == "mysql://reader@db/orders"
    assert found.find("c")[0].made
    assert found.servers == {"postgres": "postgresql://maker@db/"}


def test_the_fingerprint_moves_with_the_content_and_not_with_the_address(tmp_path: Path) -> None:
    text = '[databases.a]\nengine = "postgres"\ndsn = "{}"\nversion = "{}"\n'
    one = read(tmp_path, text.format("postgresql://reader:secret@db/a", "1")).fingerprint
    assert read(tmp_path, text.format("postgresql://other@db2/a", "1")).fingerprint == one
    assert read(tmp_path, text.format("postgresql://reader:secret@db/a", "2")).fingerprint != one
    assert Databases().fingerprint == ""


def test_equal_files_have_equal_versions_wherever_they_lie(tmp_path: Path) -> None:
    one = sqlite_file(tmp_path / "one.sqlite")
    other = tmp_path / "other.sqlite"
    other.write_bytes(one.read_bytes())
    os.utime(other, (1, 1))
    assert catalogue.content_version(one) == catalogue.content_version(other)
    assert catalogue.content_version(sqlite_file(tmp_path / "more.sqlite", rows=2)) != catalogue.content_version(one)


@pytest.mark.parametrize("place", [0, 10_000, -1], ids=["its head", "within", "its end"])
def test_a_large_file_is_known_by_its_size_and_by_parts_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    monkeypatch.setattr(catalogue, "_WHOLE", 4096)
    content = bytearray(os.urandom(200_000))
    path = tmp_path / "large.sqlite"
    path.write_bytes(content)
    before = catalogue.content_version(path)
    content[place] ^= 1
    path.write_bytes(content)
    assert catalogue.content_version(path) != before


MISTAKES = [
    ("databases = 3", "databases must be a table, not 3"),
    ("[database.a]\nfile = 'x'", "there is no key database; did you mean 'databases'?"),
    ("folders = 'x'", "folders must be a list of strings"),
    ("folders = ['nowhere']", "there is no folder"),
    ("folders = ['empty']", "holds no <id>/<id>.sqlite"),
    ("[databases.a]\nfil = 'x'", "there is no key databases.a.fil; did you mean 'file'?"),
    ("[databases.a]\nfile = 3", "databases.a.file must be a string, not 3"),
    ("[databases.a]\nengine = 'oracle'\nfile = 'x'", "engine must be one of sqlite, duckdb, postgres, mysql"),
    ("[databases.a]\nengine = 'sqlite'", "give one of file, dsn, dsn_env and script"),
    ("[databases.a]\nfile = 'x'\nscript = 'y'", "give one of file, dsn, dsn_env and script"),
    ("[databases.a]\nfile = 'nowhere.sqlite'", "there is no file"),
    ("[databases.a]\nscript = 'nowhere.sql'", "there is no file"),
    ("[databases.a]\nengine = 'postgres'\nfile = 'x'", "postgres has no files"),
    ("[databases.a]\ndsn = 'postgresql://x'", "sqlite has no server"),
    ("[databases.a]\nengine = 'mysql'\ndsn = 'mysql://x/y'", "give version"),
    ("[databases.a]\nengine = 'mysql'\ndsn_env = 'NOT_SET_ANYWHERE'\nversion = '1'", "the variable 'NOT_SET_ANYWHERE'"),
    ("[databases.a", "is not TOML"),
]


@pytest.mark.parametrize(("text", "said"), MISTAKES, ids=[said for _, said in MISTAKES])
def test_a_mistake_is_told_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidRequest) as raised:
        read(tmp_path, text)
    assert said in raised.value.message
    assert "databases.toml" in raised.value.message


def test_an_unknown_database_is_the_callers_fault_with_near_names(tmp_path: Path) -> None:
    sqlite_file(tmp_path / "concert.sqlite")
    found = read(tmp_path, '[databases.concert_singer]\nfile = "concert.sqlite"\n')
    with pytest.raises(InvalidSample, match="did you mean 'concert_singer'"):
        found.find("concert_singers")
    with pytest.raises(InvalidSample, match=r"sql\.catalogue"):
        Databases().find("x")
