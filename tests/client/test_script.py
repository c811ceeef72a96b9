"""The `rewarden` script: its output, its exit codes, and that it never shows a traceback."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import types
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rewarden import __main__ as script_module
from rewarden.__main__ import main
from rewarden.errors import InternalError, NotFound, Overloaded
from rewarden.loop_thread import LoopThread
from rewarden.types import Use, Verdict
from tests.client.servers import Script, http_server

pytestmark = pytest.mark.needs_server

HOSTILE = "\x1b[2J\x9b\x07\x7f\r\u202e\u2066\u2028"
STEERING = set(HOSTILE) - set("[2J")


@pytest.fixture(autouse=True)
def served(script: Script, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A scripted server, which the environment names."""
    thread = LoopThread("server")
    server = http_server(script)
    address = thread.run(server.__aenter__())  # type: ignore[arg-type]
    monkeypatch.setenv("REWARDEN_TARGET", address)
    yield address
    thread.stop(server.__aexit__(None, None, None))  # type: ignore[arg-type]


def declare(monkeypatch: pytest.MonkeyPatch, name: str, **attributes: Any) -> None:
    """Install a command, as a package would."""
    module = types.ModuleType(f"pretended_{name}")
    module.__dict__.update({"HELP": f"does {name}", "configure": lambda parser: None, **attributes})
    monkeypatch.setitem(sys.modules, module.__name__, module)
    point = types.SimpleNamespace(name=name, value=module.__name__)
    missing = types.SimpleNamespace(name="broken", value="no_such_module_of_any_package")
    monkeypatch.setattr(script_module, "entry_points", lambda group: [point, missing])


def test_one_response_is_judged_and_explained(capsys: pytest.CaptureFixture[str], script: Script) -> None:
    assert main(["verify", "--use", "equal", "--params", '{"a": 1}', "--response", "42", "--reference", "42"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "0: scored 1 (passed)"
    assert script.headers[0].use == Use(name="equal", params={"a": 1})


def test_a_file_of_samples_gives_verdicts_in_lines_and_bad_lines_are_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "samples.jsonl"
    file.write_bytes(
        b'{"id": "a", "response": "x\xe2\x80\xa8y"}\n\nnot json\n'
        b'{"id": "b", "respones": ""}\n{"id": "c", "response": ""}'
    )
    assert main(["verify", str(file), "--use", "equal"]) == 1
    printed = capsys.readouterr()
    verdicts = [json.loads(line) for line in printed.out.splitlines()]
    assert [(verdict["id"], verdict["index"]) for verdict in verdicts] == [("a", 0), ("c", 3)]  # rows 1, 2 are none
    assert f"{file}:3: not JSON: line 1, column 1" in printed.err
    assert f"{file}:4: respones: a sample has no such field; did you mean 'response'?" in printed.err


def test_what_a_policy_wrote_cannot_steer_the_terminal(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, script: Script
) -> None:
    hostile = HOSTILE
    name = f"{hostile}\n0: scored 1 (passed)"
    script.judge = lambda sample, index: Verdict(
        status="scored", score=0.0, id=sample.id, index=index, extracted=f"caf\u00e9 {hostile}", feedback="a\nb: c"
    )
    file = tmp_path / "samples.jsonl"
    file.write_text(json.dumps({"id": name, "response": "x"}) + "\n" + json.dumps({hostile: 1}))
    assert main(["verify", str(file), "--format", "text"]) == 1
    shown = capsys.readouterr()
    assert not set(shown.out + shown.err) & STEERING
    assert "caf\u00e9 \\u001b[2J\\u009b" in shown.out  # what is only not ASCII is shown as it is
    assert len([line for line in shown.out.splitlines() if not line.startswith("    ")]) == 1
    main(["verify", str(file)])
    told = capsys.readouterr().out
    assert not set(told) & STEERING
    assert json.loads(told)["id"] == name


VERDICTS = {
    "right": Verdict(status="scored", score=1.0, passed=True),
    "wrong": Verdict(status="scored", score=0.0, passed=False),
    "full marks": Verdict(status="scored", score=1.0),
    "half marks": Verdict(status="scored", score=0.5),
    "undecided": Verdict(status="undecided", score=None),
    "error": Verdict(status="error", score=None, fault="infra"),
}


@pytest.mark.parametrize(
    ("flags", "failing"),
    [
        ([], {"error"}),
        (["--fail-on", "wrong"], {"wrong", "half marks", "error"}),
        (["--fail-on", "unscored"], {"undecided", "error"}),
        (["--fail-on", "wrong,unscored"], {"wrong", "half marks", "undecided", "error"}),
        (["--fail-on", "wrong", "--fail-on", "unscored"], {"wrong", "half marks", "undecided", "error"}),
    ],
)
def test_verdicts_that_fail_a_gate_give_status_1(script: Script, flags: list[str], failing: set[str]) -> None:
    failed = set()
    for name, verdict in VERDICTS.items():
        script.judge = lambda sample, index, verdict=verdict: replace(verdict, index=index)  # type: ignore[misc]
        if main(["verify", "--response", "x", *flags]):
            failed.add(name)
    assert failed == failing


def test_an_unknown_gate_is_refused(capsys: pytest.CaptureFixture[str], script: Script) -> None:
    assert main(["verify", "--response", "x", "--fail-on", "wrong,wrng"]) == 2
    assert "--fail-on: unknown value 'wrng'; use wrong or unscored" in capsys.readouterr().err
    assert script.batches == []


def test_a_quiet_verify_prints_one_line_per_verdict(capsys: pytest.CaptureFixture[str], script: Script) -> None:
    script.judge = lambda sample, index: Verdict(status="scored", score=0.0, index=index, feedback="because")
    assert main(["verify", "--response", "x", "--quiet"]) == 0
    assert capsys.readouterr().out == "0: scored 0\n"


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("right", "\x1b[32mscored 1 (passed)\x1b[0m"),
        ("wrong", "\x1b[31mscored 0 (not passed)\x1b[0m"),
        ("undecided", "\x1b[33mundecided\x1b[0m"),
        ("error", "\x1b[31merror\x1b[0m"),
    ],
)
def test_a_terminal_shows_status_and_score_in_colour(
    monkeypatch: pytest.MonkeyPatch, script: Script, name: str, head: str
) -> None:
    script.judge = lambda sample, index: replace(VERDICTS[name], id=f"{HOSTILE}a", index=index)
    shown = on_terminal(monkeypatch, ["verify", "--response", "x"], {"TERM": "xterm"})
    line = shown.splitlines()[0]
    assert line.endswith(f": {head}")
    assert not set(line.removesuffix(head)) & STEERING  # an id brings no colours of its own


@pytest.mark.parametrize("environment", [{"TERM": "dumb"}, {"TERM": "xterm", "NO_COLOR": "1"}])
def test_colours_can_be_declined(monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]) -> None:
    assert on_terminal(monkeypatch, ["--help"], {"TERM": "xterm"}).startswith("\x1b[1musage:\x1b[0m rewarden")
    assert "\x1b" not in on_terminal(monkeypatch, ["--help"], environment)


def on_terminal(monkeypatch: pytest.MonkeyPatch, arguments: list[str], environment: dict[str, str]) -> str:
    """Run the script with a terminal as its standard output, and return what it prints."""
    with monkeypatch.context() as patch:
        patch.delenv("NO_COLOR", raising=False)
        for name, value in environment.items():
            patch.setenv(name, value)
        output = io.StringIO()
        output.isatty = lambda: True  # type: ignore[method-assign]
        patch.setattr(sys, "stdout", output)
        main(arguments)
    return output.getvalue()


PRINTING = re.compile(r"(?<![\w.])print\(|\bstd(?:out|err)\.(?:write|buffer)|\bargparse\.ArgumentParser\(")
"""Ways round `terminal`: they would print foreign text, or an argument that argparse repeats, as it is."""


@pytest.mark.parametrize("package", ["client/rewarden", "server/rewarden_server"])
def test_whatever_prints_does_so_by_the_one_way_that_escapes(package: str) -> None:
    root = Path(__file__).parents[2] / package
    printing = {
        str(file.relative_to(root))
        for file in root.rglob("*.py")
        for line in file.read_text(encoding="utf-8").splitlines()
        # Programs of other places, which stand here as text: they print nothing here.
        if PRINTING.search(re.sub(r"(?:\"[^\"]*\"|'[^']*')", "", line))
    }
    assert printing - {"compat/sandbox_fusion.py"} == ({"commands/terminal.py"} if "client" in package else set())


@pytest.mark.parametrize("arguments", [["verify", "x", "--no" + HOSTILE], [HOSTILE]])
def test_an_argument_that_is_refused_cannot_steer_the_terminal(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert not set(said) & STEERING
    assert "\\" in said


def test_an_argument_that_is_only_not_ascii_is_repeated_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "x", "--caf\u00e9"]) == 2
    assert "--caf\u00e9" in capsys.readouterr().err


def test_a_recipe_may_be_a_file(tmp_path: Path, script: Script) -> None:
    pytest.importorskip("yaml")
    recipe = {"uses": {"a": {"name": "equal"}}, "score": "a.score"}
    (tmp_path / "r.json").write_text(json.dumps(recipe))
    (tmp_path / "r.yaml").write_text("uses:\n  a: {name: equal}\nscore: a.score\n")
    for name in ("r.json", "r.yaml"):
        assert main(["verify", "--use", str(tmp_path / name), "--response", "x"]) == 0
    assert [header.use for header in script.headers] == [Use(recipe=recipe)] * 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "either a file of samples or --response"),
        (["x.jsonl", "--response", "y"], "either a file of samples or --response"),
        (["no-such-file.jsonl"], "no-such-file.jsonl: No such file"),
        (["--response", "x", "--params", "{}"], "--params needs --use"),
        (["--response", "x", "--use", "equal", "--params", "{"], "--params: not JSON"),
        (["--response", "x", "--use", "equal", "--params", "[]"], "use.params: must be an object"),
        (["--response", "x", "--reference", "a", "--reference-json", "1"], "either --reference or --reference-json"),
        (["x.jsonl", "--reference", "a"], "need --response"),
        (["--target", "ftp://x", "--response", "x"], "use http://HOST:PORT"),
    ],
)
def test_wrong_arguments_end_with_one_clear_line_and_status_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert main(["verify", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("rewarden: ")
    assert said in printed.err
    assert printed.err.count("\n") == 1


def test_arguments_that_no_command_knows_end_with_usage_and_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "--colour"]) == 2
    assert "usage: rewarden verify" in capsys.readouterr().err
    assert main(["verfy"]) == 2
    assert "did you mean 'verify'?" in capsys.readouterr().err
    assert main([]) == 2


@pytest.mark.parametrize(("refusal", "status"), [(NotFound("there is no such"), 2), (InternalError("a defect"), 1)])
def test_what_the_server_refuses_is_said_in_its_words(
    capsys: pytest.CaptureFixture[str], script: Script, refusal: Any, status: int
) -> None:
    script.refusals.extend([refusal] * 2)  # of a stream, and of a request for this sample alone
    assert main(["verify", "--response", "x"]) == status
    assert capsys.readouterr().err == f"rewarden: {refusal.message}\n"


def test_the_verifiers_are_listed_and_one_is_told_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verifiers"]) == 0
    assert capsys.readouterr().out == "equal  Are they equal?\n"
    assert main(["verifiers", "equal"]) == 0
    assert json.loads(capsys.readouterr().out) == {"name": "equal", "doc": "All of it."}


def test_the_help_names_every_command_even_beside_a_broken_package(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    declare(monkeypatch, "juggle")
    assert main(["--help"]) == 0
    told = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    helps = dict(told)
    assert helps["juggle"] == "does juggle"
    assert helps["verify"].startswith("judge one response")
    assert helps["broken"].startswith("(cannot be loaded")


def test_the_help_imports_no_command() -> None:
    code = "import sys; from rewarden.__main__ import main; main(['--help']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = done.stdout.splitlines()[-1].split()
    assert [name for name in modules if name.startswith(("rewarden_server.", "rewarden.commands."))] == [
        "rewarden.commands.terminal",
        "rewarden_server.cli",
    ]


def test_a_package_adds_a_command_and_only_that_module_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    def configure(parser: Any) -> None:
        parser.add_argument("--balls", type=int)

    declare(monkeypatch, "juggle", configure=configure, run=lambda args: args.balls)
    assert main(["juggle", "--balls", "7"]) == 7


def test_a_command_that_cannot_be_loaded_says_why(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    declare(monkeypatch, "juggle")
    assert main(["broken"]) == 1
    assert "command 'broken' cannot be loaded: No module named" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("raised", "status"), [(KeyboardInterrupt(), 130), (Overloaded("busy"), 1), (PermissionError(13, "denied", "f"), 2)]
)
def test_however_a_command_ends_the_shell_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, raised: BaseException, status: int
) -> None:
    def run(args: Any) -> int:
        raise raised

    declare(monkeypatch, "juggle", run=run)
    assert main(["juggle"]) == status
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("target", ["local", "http://127.0.0.1:1", "grpc://127.0.0.1:1"])
def test_an_authority_is_for_targets_with_tls(capsys: pytest.CaptureFixture[str], target: str) -> None:
    assert main(["verifiers", "--target", target, "--ca", "ca.pem"]) == 2
    assert f"--ca: target '{target}' does not use TLS" in capsys.readouterr().err
