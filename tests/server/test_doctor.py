"""`rewarden doctor`: the state of each part, the settings in effect, and what is missing."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import json
import socket
from pathlib import Path

import pytest

from rewarden.commands.terminal import say_state
from rewarden_server.access.key_record import hash_key
from rewarden_server.cli import doctor, serve
from rewarden_server.cli.doctor import verifiers_state
from rewarden_server.config import load_config
from rewarden_server.observe import installed
from rewarden_verifiers.registry import Registry
from tests.judges.scripted import ScriptedJudge
from tests.server.conftest import Running

pytestmark = pytest.mark.needs_server


def run(*words: str) -> int:
    """Run the command, without a sandbox: tests/server/test_run_command.py has one."""
    parser = argparse.ArgumentParser()
    doctor.configure(parser)
    return doctor.run(parser.parse_args(["--port", "0", "--grpc-port", "0", "--set", "sandbox.launcher=none", *words]))


def test_every_value_is_printed_with_its_source(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("rewarden.toml").write_text("[engine]\nworkers = 3\n")
    monkeypatch.setenv("REWARDEN_LIMITS_MAX_DEPTH", "9")
    run("--all", "--set", "logs.level=error")
    rows = {line.split()[0]: line.split(maxsplit=2)[1:] for line in capsys.readouterr().out.splitlines() if "." in line}
    assert rows["engine.workers"] == ["3", "file rewarden.toml"]
    assert rows["limits.max_depth"] == ["9", "env REWARDEN_LIMITS_MAX_DEPTH"]
    assert rows["logs.level"] == ["error", "flag --set logs.level"]
    assert rows["server.port"] == ["0", "flag --port"]
    assert rows["server.host"] == ["127.0.0.1", "default"]


def test_keys_are_shown_by_name_only(capsys: pytest.CaptureFixture[str]) -> None:
    Path("rewarden.toml").write_text(f'[keys.named]\ntrainer = "{hash_key("k")}"\n')
    run("--all")
    out = capsys.readouterr().out
    assert "trainer" in out
    assert hash_key("k") not in out


def test_a_verifier_that_cannot_be_loaded_is_missing_with_its_fix(capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 1
    out = capsys.readouterr().out
    assert "verifier 'absent' needs the package 'rewarden_testing_absent'" in out
    assert "fix: pip install --force-reinstall rewarden-testing" in out


def test_each_part_is_one_line_with_its_state_and_a_fix_only_below_what_is_broken(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run() == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines if not line.startswith(" ")] == [
        ["✓", "settings"],
        ["✗", "verifiers"],
        ["–", "sandbox"],
        ["–", "sql"],
        ["–", "lean"],
        ["–", "judges"],
        ["–", "models"],
        ["–", "cache"],
        ["✓", "runs"],
    ]
    assert lines[0] == "✓ settings   defaults (./rewarden.toml does not exist); 3 from flags"
    below = [line for line in lines if line.startswith(" ")]
    assert below == lines[2 : 2 + len(below)]
    assert below[-1].startswith("    fix: ")


def test_an_extra_that_is_not_installed_is_no_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    present = installed._present
    monkeypatch.setattr(installed, "_present", lambda name: name != "rdkit" and present(name))
    check = verifiers_state(Registry())
    assert "more with pip install 'rewarden-server[" in check.summary
    assert any(line.startswith("without the extra chem: molecule") for line in check.details)
    assert all("rdkit" not in problem.fix and "[" not in problem.fix for problem in check.problems)


def test_json_is_one_list_of_checks(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--json") == 1
    checks = {check.pop("part"): check for check in json.loads(capsys.readouterr().out)}
    assert checks["judges"] == {
        "state": "unused",
        "summary": "none (no judges.named)",
        "details": [],
        "problems": [],
        "warnings": [],
    }
    assert checks["verifiers"]["state"] == "broken"
    assert "pip install --force-reinstall rewarden-testing" in [one["fix"] for one in checks["verifiers"]["problems"]]
    assert any(line.split()[0] == "server.port" for line in checks["settings"]["details"])


def test_marks_are_ascii_where_the_encoding_lacks_them_and_coloured_on_a_terminal_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert printed("ascii") == b"+ well\n- unset\nx away\n"
    assert printed("utf-8") == "✓ well\n– unset\n✗ away\n".encode()
    assert b"\x1b[31mx\x1b[0m away" in printed("ascii", terminal=True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert printed("ascii", terminal=True) == printed("ascii")


def printed(encoding: str, *, terminal: bool = False) -> bytes:
    """Returns the bytes of a line in each state."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    stream.isatty = lambda: terminal  # type: ignore[method-assign]
    with contextlib.redirect_stdout(stream):
        say_state("works", "well")
        say_state("unused", "unset")
        say_state("broken", "away")
    stream.flush()
    made = stream.buffer
    assert isinstance(made, io.BytesIO)
    return made.getvalue()


async def test_the_ports_of_a_running_server_of_ours_are_no_problem(server: Running) -> None:
    flags = {"server.port": server.port, "server.grpc_port": int(server.serving.grpc.rpartition(":")[2])}
    config = load_config(environ={}, flags={key: ("test", value) for key, value in flags.items()})
    checks = await asyncio.to_thread(doctor.address_checks, config)
    assert [check.part for check in checks if check.problems] == []


def test_an_open_server_a_taken_port_and_a_closed_folder_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    Path("file").touch()
    with socket.socket() as taken:
        taken.bind(("0.0.0.0", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        run("--host", "0.0.0.0", "--port", port, "--set", "engine.cache_dir=file/x")
    out = capsys.readouterr().out
    assert "fix: rewarden keys new NAME" in out
    assert f"0.0.0.0:{port} is used by another program" in out
    assert "engine.cache_dir: file/x cannot be written" in out


def test_a_rule_without_a_key_is_told_with_the_name_that_was_meant(capsys: pytest.CaptureFixture[str]) -> None:
    Path("keys").write_text(f"trainer {hash_key('k')}\n")
    Path("rewarden.toml").write_text('[keys]\nfile = "keys"\n[keys.rules.trianer]\nconcurrency = 1\n')
    run()
    out = capsys.readouterr().out
    assert "keys.rules.trianer: unknown key; did you mean 'trainer'?" in out
    assert "fix: rewarden keys new trianer, or remove [keys.rules.trianer]" in out


def test_no_lean_is_no_problem_and_how_to_have_one_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ELAN_HOME", "elan")
    run("--all")
    lines = capsys.readouterr().out.splitlines()
    at = lines.index("– lean       none (no lean.projects, no toolchain in elan)")
    assert lines[at + 1].startswith("    to install one: curl")
    assert lines[at + 2] == "– judges     none (no judges.named)"


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
    assert run("--all") == 1
    out = capsys.readouterr().out
    assert "✗ lean       4 projects, by default bare" in out
    assert "  bare: Lean 4.9.0, no leanchecker, not tried: there is no sandbox" in out
    assert "  far: a server at http://lean:8000" in out
    assert f"    lean.projects.unbuilt: {Path('unbuilt').absolute()} is not built\n    fix: cd " in out
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
        assert run("--all") == 1
        out = capsys.readouterr().out
        assert "✗ judges     3 configured, by default well" in out
        assert f"  well: m at {scripted.url} answers as m (" in out
        assert "  away: m at http://127.0.0.1:1/v1 does not answer" in out
        assert "    judges.named.away: no connection: " in out
        assert "fix: start the model's server, or correct base_url" in out
        assert "    judges.named.unset: the variable REWARDEN_NO_SUCH_KEY (api_key_env) is not set" in out
        assert "secret" not in out
        assert [request["max_tokens"] for request in scripted.requests] == [1]


def test_each_address_of_a_judge_is_called_upon(capsys: pytest.CaptureFixture[str]) -> None:
    with ScriptedJudge() as scripted:
        scripted.script({"when": "Say yes", "reply": "yes"})
        Path("rewarden.toml").write_text(
            f"[judges.named.many]\nmodel = 'm'\nbase_urls = ['{scripted.url}', 'http://me:secret@127.0.0.1:1/v1']\n"
        )
        assert run("--all") == 1
        out = capsys.readouterr().out
        assert f"  many: m at {scripted.url} answers as m (" in out
        assert "  many: m at http://127.0.0.1:1/v1 does not answer" in out
        assert "    judges.named.many at http://127.0.0.1:1/v1: no connection: " in out
        assert "secret" not in out


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
