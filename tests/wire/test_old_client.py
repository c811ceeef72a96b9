"""The client of the last release understands today's server: it hears what today's client hears."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
import tomllib

from tests.server.process import ServerProcess
from tests.wire import asking

pytestmark = pytest.mark.needs_server

ROOT = Path(__file__).parents[2]
COMMIT: str = tomllib.loads(Path(__file__).with_name("released.toml").read_text(encoding="utf-8"))["commit"]
TRANSPORTS = ("http", "grpc")


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the client package of the last release lies in."""
    folder = tmp_path_factory.mktemp("released")
    git = ["git", "-C", str(ROOT)]
    try:
        packed = subprocess.run([*git, "archive", "--format=zip", COMMIT, "client/rewarden"], capture_output=True)
        shallow = subprocess.run([*git, "rev-parse", "--is-shallow-repository"], capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("the released client is not in this clone: git is not installed")
    if packed.returncode:
        assert shallow.stdout.strip() != "false", f"released.toml names no commit of this repository: {COMMIT}"
        pytest.skip("the released client is not in this clone: its history is cut off")
    with ZipFile(io.BytesIO(packed.stdout)) as archive:
        archive.extractall(folder)
    return folder / "client"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """Today's server."""
    with ServerProcess(tmp_path_factory.mktemp("server")) as running:
        yield running


def told(client: Path, server: ServerProcess, folder: Path) -> dict[str, Any]:
    """Returns what the client package in a folder hears of a server: by transport."""
    targets = [getattr(server, transport) for transport in TRANSPORTS]
    command = [sys.executable, str(Path(asking.__file__)), *targets]
    # Stands before what is installed; the folder of the tests' own modules does too, and has no package of this name.
    environment = {**os.environ, "PYTHONPATH": str(client)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder, timeout=120)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert Path(answer["client"]).is_relative_to(client)
    return {transport: answer["heard"][target] for transport, target in zip(TRANSPORTS, targets, strict=True)}


@pytest.fixture(scope="module")
def old(released: Path, server: ServerProcess, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Everything that the released client hears."""
    return told(released, server, tmp_path_factory.mktemp("old"))


@pytest.fixture(scope="module")
def new(server: ServerProcess, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Everything that today's client hears."""
    return told(ROOT / "client", server, tmp_path_factory.mktemp("new"))


def known(new: Any, old: Any) -> Any:
    """Returns what is new without the fields that the old has never heard of: those of a later version."""
    if isinstance(new, dict) and isinstance(old, dict):
        return {name: known(item, old[name]) for name, item in new.items() if name in old}
    if isinstance(new, list) and isinstance(old, list) and len(new) == len(old):
        return [known(one, other) for one, other in zip(new, old, strict=True)]
    return new


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_released_client_hears_what_todays_hears(old: dict[str, Any], new: dict[str, Any], transport: str) -> None:
    assert known(new[transport], old[transport]) == old[transport]


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_what_it_hears_is_the_verdicts(old: dict[str, Any], transport: str) -> None:
    """Two that fail alike would be equal too."""
    heard = old[transport]
    verdicts = heard["batch"]["verdicts"]
    assert [(verdict["status"], verdict["score"]) for verdict in verdicts] == [
        ("scored", 1.0),
        ("scored", 0.0),
        ("scored", 1.0),
        ("undecided", None),
        ("scored", 1.0),
        ("scored", 1.0),
        ("scored", 1.0),
        ("error", None),
        ("scored", 0.5),
    ]
    assert verdicts[0]["metadata"] == {"n": 2**53 + 1}
    assert heard["batch"]["groups"][0]["mean"] == 0.5
    assert [verdict["extracted"] for verdict in heard["fields"]["verdicts"]] == [None, None]
    assert len(heard["stream"]) == 4
    assert heard["one"]["score"] == 1.0
    assert heard["moved"]["refused"] == "FingerprintMoved"
    assert heard["no program"]["refused"] == "Unavailable"
    assert "same" in heard["verifiers"]


def test_fields_of_a_later_version_are_left_out_and_nothing_else() -> None:
    old = {"score": 1.0, "steps": [{"index": 0}], "flags": ["a"]}
    assert known({**old, "fresh": 1, "steps": [{"index": 0, "fresh": 2}]}, old) == old
    assert known({**old, "score": 0.0}, old) != old
    assert known({"score": 1.0}, old) != old
    assert known({**old, "flags": ["a", "b"]}, old) != old
