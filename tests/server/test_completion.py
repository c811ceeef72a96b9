"""Completion of the command line: the words that a shell is offered, and what is imported for them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rewarden.__main__ import main
from rewarden.commands.completion import candidates


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["verif"], ["verifiers", "verify"]),
        (["--v"], ["--version"]),
        (["verify", "--fo"], ["--format"]),
        (["verify", "--format", ""], ["json", "text"]),
        (["verify", "--format=j"], ["--format=json"]),
        (["verify", "--use", "choi"], ["choice"]),
        (["verify", "--use", "logic_r"], ["logic_rl"]),
        (["rescore", "in.jsonl", "--use", "gsm8k/*=math_v"], ["gsm8k/*=math_verify"]),
        (["verifiers", "math_v"], ["math_verify"]),
        (["recipes", "logic_r"], ["logic_rl"]),
        (["recipes", "math_verify"], []),
        (["scorecard", "math_v"], ["math_verify"]),
        (["models", "re"], ["reload"]),
        (["top", "--o"], ["--once"]),
        (["keys", "new", "trainer", "--exp"], ["--expires"]),
        (["keys", "--json", "rev"], ["revoke"]),
        (["completion", "f"], ["fish"]),
        (["verify", "sam"], []),
        (["verify", "--params", ""], []),
        (["no-such-command", "--he"], ["--help"]),
    ],
)
def test_a_word_is_completed_by_what_can_stand_there(typed: list[str], offered: list[str]) -> None:
    assert candidates(["rewarden", *typed]) == offered


def test_completing_imports_neither_the_command_nor_the_server() -> None:
    code = (
        "import sys; from rewarden.__main__ import main;"
        "main(['completion', 'fish', 'rewarden', 'rescore', '--use', 'math_v']); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    offered, modules = done.stdout.splitlines()
    assert offered == "math_verify"
    loaded = {name for name in modules.split() if name.startswith(("rewarden", "httpx", "sympy"))}
    assert "rewarden.client" not in loaded
    assert {name for name in loaded if name.startswith("rewarden_")} <= {"rewarden_server", "rewarden_server.cli"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_accepts_its_script(shell: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["completion", shell]) == 0
    script = tmp_path / "script"
    script.write_text(capsys.readouterr().out)
    if (path := shutil.which(shell)) is None:
        pytest.skip(f"{shell} is not installed")
    subprocess.run([path, "-n", str(script)], check=True)


@pytest.mark.parametrize(
    ("words", "reply"),
    [
        (("verify", "--use", "math_v"), "math_verify"),
        (("verify", "--use", "=", "math_v"), "math_verify"),  # bash splits --use=math_v
        (("verify", "--use", "="), None),
        (("verify", "no-such-f"), ""),
    ],
)
def test_bash_is_offered_the_words(words: tuple[str, ...], reply: str | None, tmp_path: Path) -> None:
    executable = tmp_path / "rewarden"
    executable.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m rewarden "$@"\n')
    executable.chmod(0o755)
    asking = " ".join(["rewarden", *words])
    program = (
        f'eval "$({executable} completion bash)"; COMP_WORDS=({asking}); COMP_CWORD={len(words)};'
        f'_rewarden {executable}; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True)
    offered = done.stdout.split()
    if reply is None:  # every name, without what stands before the `=`
        assert {"math", "logic_rl"} <= set(offered)
    else:
        assert offered == reply.split()
