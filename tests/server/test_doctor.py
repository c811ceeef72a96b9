"""`rewarden doctor`: what is in force, what is missing."""

from __future__ import annotations

import argparse
import socket
from pathlib import Path

import pytest

from rewarden_server.cli import doctor, serve
from rewarden_server.keys import Keys, hash_key


def run(*words: str) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser()
    doctor.configure(parser)
    return doctor.run(parser.parse_args(["--port", "0", "--grpc-port", "0", *words]))


def test_every_value_is_printed_with_its_source(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("rewarden.toml").write_text("[engine]\nworkers = 3\n")
    monkeypatch.setenv("REWARDEN_LIMITS_MAX_DEPTH", "9")
    run("--set", "logs.level=error")
    rows = {line.split()[0]: line.split(maxsplit=2)[1:] for line in capsys.readouterr().out.splitlines() if "." in line}
    assert rows["engine.workers"] == ["3", "file rewarden.toml"]
    assert rows["limits.max_depth"] == ["9", "env REWARDEN_LIMITS_MAX_DEPTH"]
    assert rows["logs.level"] == ["error", "flag --set logs.level"]
    assert rows["server.port"] == ["0", "flag --port"]
    assert rows["server.host"] == ["127.0.0.1", "default"]


def test_keys_are_shown_by_name_only(capsys: pytest.CaptureFixture[str]) -> None:
    Path("rewarden.toml").write_text(f'[keys.named]\ntrainer = "{hash_key("k")}"\n')
    run()
    out = capsys.readouterr().out
    assert "trainer" in out
    assert hash_key("k") not in out


def test_a_verifier_that_cannot_be_loaded_is_missing_with_its_mend(capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 1
    out = capsys.readouterr().out
    assert "missing: verifier 'absent' needs the package 'rewarden_testing_absent'" in out
    assert "mend: pip install --force-reinstall rewarden-testing" in out


def test_an_open_server_a_taken_port_and_a_closed_folder_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    Path("file").touch()
    with socket.socket() as taken:
        taken.bind(("0.0.0.0", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        run("--host", "0.0.0.0", "--port", port, "--set", "engine.cache_dir=file/x")
    out = capsys.readouterr().out
    assert "mend: rewarden doctor --new-key NAME" in out
    assert f"0.0.0.0:{port} is taken" in out
    assert "engine.cache_dir: file/x cannot be written" in out


def test_a_new_key_is_printed_once_with_the_hash_that_knows_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--new-key", "trainer") == 0
    out = capsys.readouterr().out
    key = next(word for word in out.split() if word.startswith("rwd_"))
    name, digest = out.splitlines()[-1].split()
    assert Keys({name: digest}).check(f"Bearer {key}") == "trainer"
    assert run("--new-key", "no/name") == 2


def test_settings_that_cannot_be_read_are_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--set", "engine.workerz=1") == 2
    assert run("--set", "engine.workers") == 2
    assert "engine.workers" in capsys.readouterr().err


def test_serve_refuses_wrong_settings_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    serve.configure(parser)
    assert serve.run(parser.parse_args(["--port", "many"])) == 2
    assert "server.port must be a whole number" in capsys.readouterr().err
