"""`rewarden models`: which process it becomes, and what it says of a server's models."""

from __future__ import annotations

import argparse
import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from rewarden.errors import InvalidRequest, ModelError
from rewarden_models.settings import settings_from_json
from rewarden_server.cli import models as command
from rewarden_server.models import process_backend
from tests.models.stand_in import StandIn
from tests.server.conftest import Running, Start, start

__all__ = ["start"]

CONFIG = """
[models.named.rm]
model = "/models/rm"
address = "http://127.0.0.1:9000"
api_key = "sesame"
device = "cuda:0"

[models.named.prm]
model = "/models/prm"
address = "http://127.0.0.1:9001"
api_key_env = "THE_KEY"
device = "cuda:1"

[models.named.far]
model = "far"
backend = "vllm"
address = "http://127.0.0.1:9002"
"""


class Became(Exception):
    """The command that the process would be by now."""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration; the process does not really become another."""

    def execve(path: str, words: list[str], environment: dict[str, str]) -> None:
        raise Became(words, environment)

    monkeypatch.setattr(command.os, "execve", execve)
    file = tmp_path / "rewarden.toml"
    file.write_text(CONFIG)
    return file


def call(*words: str) -> int:
    parser = argparse.ArgumentParser()
    command.configure(parser)
    return command.run(parser.parse_args(words))


def became(*words: str) -> tuple[dict[str, str], Any, dict[str, str]]:
    """The flags, the settings and the environment of the process."""
    with pytest.raises(Became) as found:
        call("serve", *words)
    line, environment = found.value.args
    assert line[1:4] == ["-P", "-m", "rewarden_models"]
    flags = dict(zip(line[4::2], line[5::2], strict=True))
    assert "sesame" not in " ".join(line)
    return flags, settings_from_json(flags["--settings"]), environment


def test_it_serves_the_models_of_a_device_at_their_address(config: Path) -> None:
    flags, settings, environment = became("--config", str(config), "--device", "cuda")
    assert flags["--address"] == "127.0.0.1:9000"
    assert settings.models.keys() == {"rm"}
    assert environment[settings.key_env] == "sesame"
    flags, settings, environment = became("--config", str(config), "--device", "cuda:1")
    assert flags["--address"] == "127.0.0.1:9001"
    assert (settings.models.keys(), settings.key_env) == ({"prm"}, "THE_KEY")


def test_it_serves_the_models_of_an_address(config: Path) -> None:
    _, settings, _ = became("--config", str(config), "--listen", "127.0.0.1:9001")
    assert settings.models.keys() == {"prm"}
    flags, settings, _ = became("--config", str(config), "--device", "cuda:0", "--listen", "unix:/run/rm.sock")
    assert (flags["--address"], settings.models.keys()) == ("unix:/run/rm.sock", {"rm"})
    _, settings, _ = became("--config", str(config), "--device", "cuda:1", "--key-env", "ANOTHER")
    assert settings.key_env == "ANOTHER"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--device", "cuda:7"], "has no model to run here"),
        (["--listen", "127.0.0.1:9"], "--device: cuda:0, cuda:1"),
        ([], "choose one with --device"),
    ],
)
def test_what_it_cannot_tell_it_asks_for(config: Path, words: list[str], said: str) -> None:
    with pytest.raises(InvalidRequest, match=said):
        call("serve", "--config", str(config), *words)


@pytest.mark.parametrize("address", ["0.0.0.0:8090", "http://models:8090", "[::]:8090", "10.0.0.5:8090"])
def test_where_others_reach_it_it_asks_for_a_key(config: Path, address: str) -> None:
    config.write_text('[models.named.rm]\nmodel = "/models/rm"\n')
    with pytest.raises(InvalidRequest, match="api_key_file"):
        call("serve", "--config", str(config), "--listen", address)
    (config.parent / "key").write_text("sesame\n")
    config.write_text(f'[models.named.rm]\nmodel = "/models/rm"\napi_key_file = "{config.parent / "key"}"\n')
    _, settings, environment = became("--config", str(config), "--listen", address)
    assert environment[settings.key_env] == "sesame"


@pytest.mark.parametrize("address", ["127.0.0.1:8090", "http://localhost:8090", "[::1]:8090", "unix:/run/rm.sock"])
def test_where_this_machine_alone_reaches_it_it_needs_none(config: Path, address: str) -> None:
    config.write_text('[models.named.rm]\nmodel = "/models/rm"\n')
    _, settings, _ = became("--config", str(config), "--listen", address)
    assert settings.key_env is None


def test_files_that_a_server_alone_sees_do_not_keep_it_from_serving(config: Path) -> None:
    judge = '[judges.named.far]\nmodel = "m"\napi_key_file = "/nowhere/key"\n'
    config.write_text(f'[models.named.rm]\nmodel = "/models/rm"\n{judge}')
    _, settings, _ = became("--config", str(config), "--listen", "127.0.0.1:8090")
    assert list(settings.models) == ["rm"]


def test_without_an_address_it_asks_for_one(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text('[models.named.rm]\nmodel = "/models/rm"\n')
    with pytest.raises(InvalidRequest, match="--listen"):
        call("serve", "--config", str(tmp_path / "c.toml"))


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """The backend of `main`, the only model of a server."""
    made = StandIn()
    monkeypatch.setattr(
        process_backend, "backends_of", lambda settings: {name: made(name, None) for name in settings.named}
    )  # type: ignore[arg-type]
    return made


@pytest.fixture
async def server(start: Start, backend: StandIn) -> Running:
    """A server with that model."""
    return await start({"models.named": json.dumps({"main": {"model": "/models/rm"}})})


@pytest.mark.needs_server
async def test_models_are_listed_and_reloaded(
    server: Running, backend: StandIn, capsys: pytest.CaptureFixture[str]
) -> None:
    url = ["--url", server.serving.http]
    assert await asyncio.to_thread(call, "list", *url) == 0
    assert capsys.readouterr().out.split() == ["main", "ready"]
    assert await asyncio.to_thread(call, "list", "--json", *url) == 0
    assert json.loads(capsys.readouterr().out)[0]["name"] == "main"
    backend.version = "v2"
    assert await asyncio.to_thread(call, "reload", "main", "--model", "/allowed", "--revision", "r", *url) == 0
    name, version = capsys.readouterr().out.split()
    assert name == "main"
    assert version.startswith("v2")
    assert backend.reloads == [("/allowed", "r")]
    assert await asyncio.to_thread(call, "reload", "main", *url) == 0
    assert backend.reloads[1:] == [(None, None)]


@pytest.mark.needs_server
async def test_what_goes_wrong_is_said_and_tells_whose_fault_it_is(
    server: Running, backend: StandIn, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = ["--url", server.serving.http]
    assert await asyncio.to_thread(call, "reload", "nobody", *url) == 2
    assert "main" in capsys.readouterr().err

    async def reload(model: str | None, revision: str | None) -> Any:
        raise ModelError("no room beside the old ones")

    monkeypatch.setattr(backend, "reload", reload)
    assert await asyncio.to_thread(call, "reload", "main", *url) == 1
    assert "no room" in capsys.readouterr().err
    assert await asyncio.to_thread(call, "list", "--url", "http://127.0.0.1:1") == 1
    assert "cannot be reached" in capsys.readouterr().err
