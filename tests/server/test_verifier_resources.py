"""AllResources that the configuration provides for single verifiers."""

from __future__ import annotations

import argparse
import sqlite3
from pathlib import Path

import pytest

from rewarden_server.cli import doctor
from rewarden_server.config import Config, ConfigError, load_config
from rewarden_server.verifier_resources import resources_of, without_password
from rewarden_verifiers.environments.resources import EnvironmentResources
from rewarden_verifiers.lean.resources import LeanResources
from rewarden_verifiers.sql.databases import Databases


def configured(text: str) -> Config:
    """A configuration of that [sql] section."""
    Path("rewarden.toml").write_text(f"[sql]\n{text}\n")
    return load_config(environ={})


def shop() -> None:
    """A catalogue with one database."""
    sqlite3.connect("shop.sqlite").execute("CREATE TABLE t (a)").connection.close()
    Path("databases.toml").write_text("[databases.shop]\nfile = 'shop.sqlite'\n")


def test_the_catalogue_and_the_servers_become_the_databases_of_sql() -> None:
    shop()
    found = resources_of(configured("catalogue = 'databases.toml'\npostgres = 'postgresql://maker:pw@db/'"))["sql"]
    assert isinstance(found, Databases)
    assert list(found.known) == ["shop"]
    assert found.servers == {"postgres": "postgresql://maker:pw@db/"}


def test_a_broken_catalogue_stops_the_start_and_names_the_setting() -> None:
    Path("databases.toml").write_text("[databases.shop]\n")
    with pytest.raises(ConfigError, match=r"file rewarden.toml: sql.catalogue: .*databases.shop: give one of"):
        resources_of(configured("catalogue = 'databases.toml'"))
    with pytest.raises(ConfigError, match=r"sql\.catalogue: .*nowhere"):
        resources_of(configured("catalogue = 'nowhere.toml'"))


def test_the_corpora_are_read_at_the_start() -> None:
    Path("towns.jsonl").write_text('{"id": "a", "text": "Ulm"}\n')
    config = configured("\n[environments.corpora]\ntowns = 'towns.jsonl'")
    found = resources_of(config)["environment"]
    assert isinstance(found, EnvironmentResources)
    assert found.corpora == {"towns": Path("towns.jsonl")}
    for text, says in (
        ('{"id": "a", "text": "b"}\n' * 2, "two documents have the id 'a'"),
        ("", "no documents"),
        ("\n[]", "towns.jsonl:2"),
    ):
        Path("towns.jsonl").write_text(text)
        with pytest.raises(ConfigError, match=rf"environments\.corpora: .*{says}"):
            resources_of(config)
    Path("towns.jsonl").unlink()
    with pytest.raises(ConfigError, match=r"environments\.corpora: .*towns\.jsonl"):
        resources_of(config)


def test_an_address_that_is_none_is_refused_without_repeating_it() -> None:
    with pytest.raises(ConfigError, match=r"sql\.postgres must be a URL") as raised:
        resources_of(configured("postgres = 'mysql://me:secret@db/'"))
    assert "secret" not in raised.value.message


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[lean.projects]\nMine = '/a'", "lean.projects: invalid name 'Mine'; use lowercase letters"),
        ("[lean.projects]\na = 'ftp://me:secret@lean'", "lean.projects.a: must be a folder, or a URL"),
        ("[lean.projects]\na = ''", "lean.projects.a: must be a folder, or a URL"),
        ("[lean]\ndefault = 'b'\n[lean.projects]\na = '/a'", "lean.default: unknown project 'b'; known: a"),
        ("[lean.projects]\na = '/a'\n[lean.warm]\nb = 'import B'", "lean.warm: unknown project 'b'; known: a"),
    ],
)
def test_lean_settings_without_sense_stop_the_start_and_are_named(text: str, says: str) -> None:
    Path("rewarden.toml").write_text(text)
    with pytest.raises(ConfigError) as raised:
        resources_of(load_config(environ={}))
    assert f"file rewarden.toml: {says}" in raised.value.message
    assert "secret" not in raised.value.message


def test_a_lean_project_that_is_not_there_stops_nothing() -> None:
    Path("rewarden.toml").write_text("[lean.projects]\na = 'nowhere'\nb = 'http://lean'")
    resources = resources_of(load_config(environ={}))["lean"]
    assert isinstance(resources, LeanResources)
    assert (list(resources.projects), resources.default) == (["b"], "a")


@pytest.mark.parametrize(
    "dsn",
    [
        "mysql://me:secret@db:3306/x",
        "postgresql://me:secret@/x?host=/run",
        "postgresql://me@db/?password=secret",
        "mysql://me:a/secret#b@db/x",
        "mysql://me:a@secret@db/x",
    ],
)
def test_passwords_are_not_shown(dsn: str) -> None:
    assert "secret" not in without_password(dsn)
    assert "me" in without_password(dsn)


def run_doctor(capsys: pytest.CaptureFixture[str]) -> str:
    """Returns what `rewarden doctor` prints."""
    parser = argparse.ArgumentParser()
    doctor.configure(parser)
    doctor.run(parser.parse_args(["--all", "--port", "0", "--grpc-port", "0", "--set", "sandbox.launcher=none"]))
    return capsys.readouterr().out


def test_the_doctor_opens_a_database_of_each_engine(capsys: pytest.CaptureFixture[str]) -> None:
    shop()
    configured("catalogue = 'databases.toml'\nmysql = 'mysql://me:secret@127.0.0.1:1/'")
    told = run_doctor(capsys)
    assert "databases registered: 1 on sqlite; for those sent with requests: mysql" in told
    assert "sqlite: shop opens" in told
    assert "\n    mysql: " in told
    assert "\n    fix: see sql.catalogue" in told
    assert "secret" not in told
