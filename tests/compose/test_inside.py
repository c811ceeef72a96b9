"""The behaviour of the code that differs within a container."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rewarden_sandboxes import cgroups
from rewarden_server.config import ConfigError, load_config

SECRET = "postgresql://rewarden:s3cret@postgres/postgres"


def test_a_setting_may_stand_in_a_file_that_its_variable_names(tmp_path: Path) -> None:
    (tmp_path / "url").write_text(f"{SECRET}\n")
    environ = {"REWARDEN_SQL_POSTGRES_FILE": str(tmp_path / "url"), "REWARDEN_SQL_MYSQL_FILE": ""}
    config = load_config(environ=environ)
    assert config.sql.postgres == SECRET
    assert config.sql.mysql is None, "an empty variable is what an unset one becomes on its way through compose"
    assert config.source("sql.postgres") == "env REWARDEN_SQL_POSTGRES_FILE"


def test_a_setting_that_is_called_file_is_itself(tmp_path: Path) -> None:
    assert load_config(environ={"REWARDEN_KEYS_FILE": "/etc/keys"}).keys.file == Path("/etc/keys")


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({"REWARDEN_SQL_POSTGRES_FILE": "/nowhere"}, "REWARDEN_SQL_POSTGRES_FILE: the file '/nowhere' cannot be read"),
        ({"REWARDEN_SQL_POSTGRE_FILE": "/nowhere"}, "unknown setting"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(environ: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        load_config(environ=environ)


def test_what_stands_in_such_a_file_is_not_repeated_when_it_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "cert").write_text("s3cret")
    with pytest.raises(ConfigError) as caught:
        load_config(environ={"REWARDEN_JUDGES_NAMED_FILE": str(tmp_path / "cert")})
    assert "s3cret" not in str(caught.value)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The machine's groups of version 2, as a container has them mounted: this process in `docker/own`."""
    for name, pid in (("docker/own", os.getpid()), ("docker/slot", 1), ("", 2)):
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
        (tmp_path / name / "cgroup.procs").write_text(f"{pid}\n")
    (tmp_path / "cgroup.controllers").write_text("cpu memory pids\n")
    monkeypatch.setattr(cgroups, "ROOT", tmp_path)
    cgroups._own_folder.cache_clear()
    yield tmp_path
    cgroups._own_folder.cache_clear()


@pytest.mark.parametrize(
    ("told", "found"),
    [
        ("/../slot", "docker/slot"),  # from our own namespace of groups
        ("/docker/slot", "docker/slot"),  # from the machine's
        ("/", None),  # our own, or the root: no slot's
        ("/../../../etc", None),  # nothing outside of the groups
        ("/../gone", None),
    ],
)
def test_a_siblings_group_is_found_from_within_a_namespace(
    machine: Path, monkeypatch: pytest.MonkeyPatch, told: str, found: str | None
) -> None:
    monkeypatch.setattr(Path, "read_text", _telling(Path.read_text, f"0::{told}\n"))
    group = cgroups.Cgroup.of(4711)
    assert (None if group is None else group.folders) == (None if found is None else {"": machine / found})


def _telling(real: object, text: str) -> object:
    def read_text(path: Path, **options: str) -> str:
        return text if str(path) == "/proc/4711/cgroup" else real(path, **options)  # type: ignore[operator]

    return read_text
