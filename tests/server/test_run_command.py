"""`rewarden run`, `rewarden sandbox-host`, and what `rewarden doctor` says of the sandbox."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rewarden.__main__ import main
from rewarden.errors import InvalidRequest
from rewarden_sandboxes.job import Report
from rewarden_server.cli.run import language_of
from tests.server.hosts import ScriptedProcess

pytestmark = pytest.mark.needs_server


@pytest.fixture
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The sandbox of the target `local` is a scripted host: it answers what the program's arguments say."""
    with ScriptedProcess(tmp_path) as made:
        monkeypatch.setenv("REWARDEN_SANDBOX_ADDRESS", made)
        monkeypatch.delenv("REWARDEN_TARGET", raising=False)
        yield made


def program(text: str = "print(1)", name: str = "p.py") -> str:
    """A program's file."""
    Path(name).write_text(text)
    return name


def report(**fields: object) -> str:
    """A program's argument that tells the scripted host how it ended."""
    return json.dumps({"status": "runtime_error", **fields})


def test_what_it_writes_is_printed_as_it_is(address: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    Path("in").write_bytes(b"\xff\x00no newline")
    assert main(["run", program(), "--stdin", "in"]) == 0
    out, err = capfdbinary.readouterr()
    assert out == b"\xff\x00no newline"
    assert err == b""


def on_a_terminal(*words: str) -> str:
    """All that a command writes where its standard output and error are one terminal."""
    ours, its = os.openpty()
    with open(ours, "rb") as screen:
        command = [sys.executable, "-m", "rewarden", *words]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=its, stderr=its) as started:
            os.close(its)
            written = b""
            with contextlib.suppress(OSError):  # the terminal's end, once the last that holds it has left
                while part := os.read(screen.fileno(), 65_536):
                    written += part
        assert started.wait() == 0
    return written.decode().replace("\r\n", "\n")


def test_a_program_cannot_steer_the_terminal_that_shows_it(address: str) -> None:
    Path("in").write_text("caf\u00e9\tfine\n\x1b]0;title\x07\x1b[2J\x9b\u202e\r rewarden: accepted\n", newline="")
    assert on_a_terminal("run", program(), "--stdin", "in") == (
        "caf\u00e9\tfine\n\\u001b]0;title\\u0007\\u001b[2J\\u009b\\u202e\\u000d rewarden: accepted\n"
    )


def test_what_is_no_text_is_shown_on_a_terminal_as_its_bytes(address: str) -> None:
    Path("in").write_bytes(b"fine \xff\x00\n")
    assert on_a_terminal("run", program(), "--stdin", "in") == "fine \\xff\\u0000\n"


def test_standard_input_is_passed_on_when_it_is_asked_for(
    address: str, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"5\n")))
    assert main(["run", program(), "--stdin", "-"]) == 0
    assert capfdbinary.readouterr().out == b"5\n"


@pytest.mark.parametrize(
    ("told", "code"),
    [
        (Report(status="ok", exit_code=0), 0),
        (Report(status="runtime_error", exit_code=3), 3),
        (Report(status="runtime_error", signal=11), 139),
        (Report(status="time_limit", limit="cpu_s", signal=9), 124),
        (Report(status="memory_limit", limit="memory_mb", signal=9), 137),
        (Report(status="output_limit", limit="output_bytes"), 153),
        (Report(status="internal_error", message="the disk is full"), 70),
    ],
    ids=lambda value: value.status if isinstance(value, Report) else str(value),
)
def test_its_end_is_ours(address: str, capfd: pytest.CaptureFixture[str], told: Report, code: int) -> None:
    fields = {name: getattr(told, name) for name in ("status", "exit_code", "signal", "limit", "message")}
    assert main(["run", program(), "--arg", report(**fields)]) == code
    err = capfd.readouterr().err
    if told.status not in ("ok", "runtime_error"):
        assert told.status.replace("_", " ") in err
        assert (told.limit or told.message or "") in err


def test_the_whole_result_is_printed_as_json(address: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["run", program(), "--json", "--arg", report(status="time_limit", limit="cpu_s")]) == 0
    result = json.loads(capfd.readouterr().out)
    assert (result["status"], result["limit"]) == ("time_limit", "cpu_s")


def test_what_is_logged_without_any_set_up_is_no_output() -> None:
    words = "from rewarden_server.observe.logs import get_logger; get_logger('part').warning('a word')"
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
    assert done.stdout == ""
    assert "a word" in done.stderr


def test_files_and_limits_go_along(address: str, capfd: pytest.CaptureFixture[str]) -> None:
    Path("data.txt").write_text("x")
    assert main(["run", program(), "--file", "data.txt", "--file", "b/c=data.txt", "--limit", "cpu_s=2"]) == 0
    assert main(["run", program(), "--limit", "cpu_s=many"]) == 2
    assert main(["run", program(), "--limit", "cpu=2"]) == 2
    assert main(["run", program(), "--limit", "cpu_s=-1"]) == 2
    assert main(["run", program(), "--file", "../x=data.txt"]) == 2
    assert main(["run", "nowhere.py"]) == 2
    said = capfd.readouterr().err
    for words in ("such as cpu_s=2", "did you mean 'cpu_s'", "limits.cpu_s", "files['../x']", "nowhere.py"):
        assert words in said


def test_a_program_that_is_no_text_is_refused(address: str, capfd: pytest.CaptureFixture[str]) -> None:
    Path("p.py").write_bytes(b"\xff")
    assert main(["run", "p.py"]) == 2
    assert "UTF-8" in capfd.readouterr().err


def test_without_a_sandbox_it_says_so(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REWARDEN_SANDBOX_LAUNCHER", "none")
    monkeypatch.setattr("rewarden.retry.Retry.wait_s", lambda *_: None)
    assert main(["run", program()]) == 1
    assert "sandbox.launcher is none" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("file", "code", "language"),
    [
        ("a.py", "", "python"),
        ("a.c", "", "c"),
        ("a.cpp", "", "cpp"),
        ("a.cc", "", "cpp"),
        ("a.cxx", "", "cpp"),
        ("a.js", "", "javascript"),
        ("a.sh", "", "bash"),
        ("a", "#!/usr/bin/env python3\n", "python"),
        ("a", "#!/usr/bin/python3.11 -u\n", "python"),
        ("a", "#!/bin/sh\n", "bash"),
        ("a", "#!/usr/bin/env -S node --x\n", "javascript"),
        ("a.txt", "#!/bin/bash", "bash"),
    ],
)
def test_the_language_is_told_by_the_name_or_the_first_line(file: str, code: str, language: str) -> None:
    assert language_of(file, code) == language


@pytest.mark.parametrize(("file", "code"), [("a", ""), ("a.xyz", "print(1)"), ("-", "#!"), ("a", "#!/bin/cat\n")])
def test_a_language_that_cannot_be_told_is_asked_for(file: str, code: str) -> None:
    with pytest.raises(InvalidRequest, match="--language"):
        language_of(file, code)


# --- the host by itself


def test_a_host_by_itself_serves_and_ends_with_sigterm(tmp_path: Path) -> None:
    path = tmp_path / "h.sock"
    words = [sys.executable, "-m", "rewarden", "sandbox-host", "--set", "sandbox.launcher=none"]
    with subprocess.Popen(
        [*words, "--listen", f"unix:{path}"], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL
    ) as host:
        assert host.stdout is not None
        assert host.stdout.readline() == f"sandbox host serves at unix:{path}\n".encode()
        taken = subprocess.run([*words, "--listen", f"unix:{path}"], capture_output=True, text=True, check=False)
        assert taken.returncode == 2
        assert "already serving at" in taken.stderr
        check = subprocess.run([*words, "--check", "--listen", f"unix:{path}"], capture_output=True, text=True)
        assert check.returncode == 1
        assert "not ready" in check.stderr
        os.kill(host.pid, signal.SIGTERM)
        assert host.wait(30) == 0
    assert not path.exists()
    gone = subprocess.run([*words, "--check", "--listen", f"unix:{path}"], capture_output=True, text=True)
    assert gone.returncode == 1
    assert "cannot be reached" in gone.stderr


def test_a_host_without_an_address_says_how_to_give_one(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["sandbox-host"]) == 2
    assert "--listen" in capfd.readouterr().err


# --- doctor


def doctor(capfd: pytest.CaptureFixture[str], *words: str) -> str:
    """Returns what it prints of the sandbox."""
    main(["doctor", "--all", "--port", "0", "--grpc-port", "0", *words])
    return re.split(r" sql  ", re.split(r"\n(?=\S sandbox )", capfd.readouterr().out)[1])[0]


def test_doctor_runs_a_program_and_tells_the_limits(address: str, capfd: pytest.CaptureFixture[str]) -> None:
    said = doctor(capfd)
    assert said.startswith("✓ sandbox    scripted runs programs\n")
    assert "cpu_s: cgroup" in said
    assert "memory_mb: no" in said
    assert "fix: " not in said


def test_doctor_says_which_host_does_not_answer(capfd: pytest.CaptureFixture[str]) -> None:
    said = doctor(capfd, "--set", "sandbox.address=unix:/nowhere/host.sock")
    assert said.startswith("✗ sandbox    missing\n    the sandbox host unix:/nowhere/host.sock: ")
    assert "fix: rewarden sandbox-host --listen unix:/nowhere/host.sock" in said


def test_doctor_has_the_command_that_makes_what_is_missing(capfd: pytest.CaptureFixture[str]) -> None:
    said = doctor(capfd, "--set", "sandbox.launcher=bwrap", "--set", "sandbox.rootfs=/nowhere")
    assert said.startswith("✗ sandbox    ")
    assert said.count("fix: ") == 1
    assert "fix: apt-get install bubblewrap" in said or "fix: rewarden sandbox-host build" in said


def test_doctor_leaves_a_switched_off_sandbox_alone(capfd: pytest.CaptureFixture[str]) -> None:
    said = doctor(capfd, "--set", "sandbox.launcher=none")
    assert said.startswith("– sandbox    none (sandbox.launcher = none)\n")
    assert "fix: " not in said
