"""`rewarden doctor`: the settings in effect, and what is missing."""

from __future__ import annotations

import argparse
import socket
from pathlib import Path

import pytest

from rewarden_server.access.key_record import hash_key
from rewarden_server.cli import doctor, serve
from tests.judges.scripted import ScriptedJudge

pytestmark = pytest.mark.needs_server


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


def test_a_verifier_that_cannot_be_loaded_is_missing_with_its_fix(capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 1
    out = capsys.readouterr().out
    assert "missing: verifier 'absent' needs the package 'rewarden_testing_absent'" in out
    assert "fix: pip install --force-reinstall rewarden-testing" in out


def test_an_open_server_a_taken_port_and_a_closed_folder_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    Path("file").touch()
    with socket.socket() as taken:
        taken.bind(("0.0.0.0", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        run("--host", "0.0.0.0", "--port", port, "--set", "engine.cache_dir=file/x")
    out = capsys.readouterr().out
    assert "fix: rewarden keys new NAME" in out
    assert f"0.0.0.0:{port} is in use" in out
    assert "engine.cache_dir: file/x cannot be written" in out


def test_a_rule_without_a_key_is_told_with_the_name_that_was_meant(capsys: pytest.CaptureFixture[str]) -> None:
    Path("keys").write_text(f"trainer {hash_key('k')}\n")
    Path("rewarden.toml").write_text('[keys]\nfile = "keys"\n[keys.rules.trianer]\nconcurrency = 1\n')
    run()
    out = capsys.readouterr().out
    assert "missing: keys.rules.trianer: unknown key; did you mean 'trainer'?" in out
    assert "mend: rewarden keys new trianer, or remove [keys.rules.trianer]" in out


def test_no_lean_is_no_problem_and_how_to_have_one_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ELAN_HOME", "elan")
    run("--set", "sandbox.launcher=none")
    out = capsys.readouterr().out
    assert "lean: none (no lean.projects, no toolchain in elan; to install one: curl" in out
    assert "missing: lean" not in out
    assert "judges: none (no judges.named)" in out


def test_a_lean_project_that_cannot_be_used_is_missing_with_its_fix(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ELAN_HOME", "elan")
    put_lean(Path("elan/toolchains/leanprover--lean4---v4.9.0"))
    for name, toolchain in (("unbuilt", "leanprover/lean4:v4.9.0"), ("other", "leanprover/lean4:v4.10.0")):
        Path(name).mkdir()
        Path(name, "lean-toolchain").write_text(toolchain)
    Path("rewarden.toml").write_text(
        "[lean]\nkimina_key = 'secret'\n[lean.projects]\nbare = 'elan/toolchains/leanprover--lean4---v4.9.0'\n"
        "unbuilt = 'unbuilt'\nother = 'other'\nfar = 'http://me:secret@lean:8000'\n"
    )
    assert run("--set", "sandbox.launcher=none") == 1
    out = capsys.readouterr().out
    assert "lean: 4 projects, by default bare" in out
    assert "  bare: Lean 4.9.0, no leanchecker, not tried: there is no sandbox" in out
    assert "  far: a server at http://lean:8000" in out
    assert f"missing: lean.projects.unbuilt: {Path('unbuilt').absolute()} is not built\n    fix: cd " in out
    assert "&& lake exe cache get && lake build" in out
    assert "fix: elan toolchain install leanprover/lean4:v4.10.0" in out
    assert "secret" not in out


def test_each_judge_is_called_upon_and_what_is_wrong_with_it_is_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with ScriptedJudge() as scripted:
        scripted.script({"when": "Say yes", "reply": "yes"})
        Path("rewarden.toml").write_text(
            f"[judges]\ndefault = 'well'\n[judges.named.well]\nmodel = 'm'\nbase_url = '{scripted.url}'\n"
            "[judges.named.away]\nmodel = 'm'\nbase_url = 'http://me:secret@127.0.0.1:1/v1'\napi_key = 'sk-secret'\n"
            "[judges.named.unset]\nmodel = 'm'\napi_key_env = 'REWARDEN_NO_SUCH_KEY'\n"
        )
        assert run("--set", "sandbox.launcher=none") == 1
        out = capsys.readouterr().out
        assert "judges: 3 configured, by default well" in out
        assert f"  well: m at {scripted.url} answers as m (" in out
        assert "  away: m at http://127.0.0.1:1/v1 does not answer" in out
        assert "missing: judges.named.away: no connection: " in out
        assert "fix: start the model's server, or correct base_url" in out
        assert "missing: judges.named.unset: the variable REWARDEN_NO_SUCH_KEY (api_key_env) is not set" in out
        assert "secret" not in out
        assert [request["max_tokens"] for request in scripted.requests] == [1]


def put_lean(toolchain: Path) -> None:
    """A toolchain that says its version."""
    (toolchain / "bin").mkdir(parents=True)
    (toolchain / "bin" / "lean").write_text("#!/bin/sh\necho 'Lean (version 4.9.0, commit 8f9843a4a5fe, Release)'\n")
    (toolchain / "bin" / "lean").chmod(0o755)


def test_settings_that_cannot_be_read_are_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--set", "engine.workerz=1") == 2
    assert run("--set", "engine.workers") == 2
    assert "engine.workers" in capsys.readouterr().err


def test_serve_refuses_wrong_settings_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    serve.configure(parser)
    assert serve.run(parser.parse_args(["--port", "many"])) == 2
    assert "server.port must be a whole number" in capsys.readouterr().err
