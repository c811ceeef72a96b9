"""Every command of the documentation is one that exists: commands, options, extras, targets, services and files.

What a command does is test_run.py's; these tests hold also for commands that no test machine can run.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import shlex
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
import tomllib
import yaml

from rewarden.__main__ import _load, known_commands
from rewarden.commands.terminal import Parser
from tests.documents.blocks import PAGES, ROOT, Block, blocks

OURS = ("rewarden", "rewarden_server", "rewarden_models", "rewarden_verifiers", "rewarden_sandboxes", "benchmarks")
FOLDERS = ("benchmarks", "client", "deploy", "docs", "examples", "locks", "protos", "scripts", "tests")
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
COMPOSE_VALUES = {"--entrypoint", "--profile"}
"""Options of docker compose with a value."""


def commands(*program: str) -> Iterator[tuple[Block, list[str]]]:
    """The words behind each simple command of any block that begins with these words."""
    for block in blocks():
        for step in block.steps():
            for words in step.simple():
                if tuple(words[: len(program)]) == program:
                    yield block, words[len(program) :]


def each(found: Iterator[tuple[Block, list[str]]]) -> pytest.MarkDecorator:
    """Parametrises a test by commands."""
    cases = [pytest.param(block, words, id=f"{block} {shlex.join(words)[:60]}") for block, words in found]
    assert cases, "the pages have no such command, or it is not found any more"
    return pytest.mark.parametrize(("block", "words"), cases)


@lru_cache(maxsize=64)
def parser_of(name: str) -> Parser:
    """The parser of one of the script's commands."""
    command = _load(known_commands()[name])
    parser = Parser(prog=f"rewarden {name}", description=command.HELP)
    command.configure(parser)
    return parser


def in_containers() -> Iterator[tuple[Block, list[str]]]:
    """The words of `rewarden` that docker compose hands to a container of the server."""
    for block, words in commands("docker", "compose"):
        what, *more = compose_words(words)
        if what in ("run", "exec") and more[0] == "server" and "--entrypoint" not in words:
            yield block, more[2:] if more[1] == "rewarden" else more[1:]


def compose_words(words: list[str]) -> list[str]:
    """A command of docker compose without the options before and behind it."""
    bare, rest = [], list(words)
    while rest:
        word = rest.pop(0)
        if not word.startswith("-"):
            bare.append(word)
            if len(bare) > 1 and bare[0] in ("run", "exec"):
                return bare + rest  # what follows the service is the container's
        elif word in COMPOSE_VALUES:
            rest.pop(0)
    return bare


@each(iter([*commands("rewarden"), *in_containers()]))
def test_the_script_understands_its_arguments(
    block: Block, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    name, *rest = words
    assert name in known_commands()
    try:
        parser_of(name).parse_args(rest)
    except SystemExit:
        pytest.fail(capsys.readouterr().err)


def options_of(parser: argparse.ArgumentParser) -> set[str]:
    """The options of a parser and of those below it, and the names of those below it."""
    found: set[str] = set()
    for action in parser._actions:
        found |= set(action.option_strings)
        if isinstance(action, argparse._SubParsersAction):
            found |= set(action.choices)
            for below in action.choices.values():
                found |= options_of(below)
    return found


@pytest.mark.parametrize("page", PAGES)
def test_commands_in_the_text_exist_with_their_options(page: str) -> None:
    text = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for span in re.findall(r"`rewarden\s+([a-z][^`]*)`", text):
        name, *rest = re.sub(r"\[[^\]]*\]", "", span).split()
        assert name in known_commands(), span
        named = {word.partition("=")[0] for word in rest if re.match(r"--?[a-z]", word)}
        assert named <= options_of(parser_of(name)), span


def test_lists_of_options_of_rescore_are_understood() -> None:
    lines = [
        line
        for block in blocks()
        if block.page == "docs/rescoring.md" and block.mark == ""
        for line in block.text.splitlines()
        if re.match(r"--\w", line)
    ]
    assert len(lines) >= 8
    for line in lines:
        parser_of("rescore").parse_args(["in.jsonl", *shlex.split(re.split(r"\s{2,}", line)[0])])


@each(commands("make"))
def test_targets_of_make_exist(block: Block, words: list[str]) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^([a-z-]+(?: [a-z-]+)*):(?!=)", makefile, re.MULTILINE)
    assert set(words) <= {target for names in targets for target in names.split()}


@lru_cache(maxsize=2)
def extras(folder: Path) -> set[str]:
    """The extras of the distribution in this folder."""
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return set(project["optional-dependencies"])


@each(commands("pip", "install"))
def test_what_pip_installs_is_in_a_clone_and_has_the_extras(block: Block, words: list[str]) -> None:
    """Until the first release, no index has `rewarden` or `rewarden-server`: another's package may have the name."""
    for word in words:
        name, _, wanted = word.rstrip("]").partition("[")
        assert name not in ("rewarden", "rewarden-server"), "install it from a clone: pip install ./client ."
        if name in (".", "./client"):
            assert set(filter(None, wanted.split(","))) <= extras(ROOT / name)


@pytest.mark.parametrize("page", PAGES)
def test_extras_that_the_text_names_exist(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert not re.search(r"pip install (--\S+ )*rewarden(-server)?(?![\w\[-])", text), "install it from a clone"
    for name, wanted in re.findall(r"\b(rewarden(?:-server)?)\[([\w,]+)\]", text):
        assert set(wanted.split(",")) <= extras(ROOT / ("client" if name == "rewarden" else ".")), wanted


@each(commands("docker", "compose"))
def test_services_and_profiles_exist(block: Block, words: list[str]) -> None:
    what, *named = compose_words(words)
    services = named[:1] if what in ("run", "exec") else named
    assert set(services) <= set(COMPOSE["services"])
    wanted = {words[index + 1] for index, word in enumerate(words) if word == "--profile"}
    assert wanted <= {profile for service in COMPOSE["services"].values() for profile in service.get("profiles", ())}


def test_settings_of_env_files_are_known() -> None:
    known = set(re.findall(r"^#?(\w+)=", (ROOT / ".env.example").read_text(encoding="utf-8"), re.MULTILINE))
    files = [block for block in blocks() if block.settings]
    assert files
    for block in files:
        assert set(re.findall(r"^(\w+)=", block.text, re.MULTILINE)) <= known, block


def test_modules_exist() -> None:
    named = {words[0] for program in ("python", "python3") for _, words in commands(program, "-m")}
    ours = {module for module in named if module.partition(".")[0] in OURS}
    assert len(ours) >= 3
    assert [module for module in ours if importlib.util.find_spec(module) is None] == []


@pytest.mark.parametrize("page", PAGES)
def test_files_of_the_repository_exist(page: str) -> None:
    for block in blocks():
        if block.page == page:
            for step in block.steps():
                for word in re.findall(rf"(?<![\w/.=-])(?:{'|'.join(FOLDERS)})/[\w./-]+", step.command):
                    path = ROOT / word
                    written = f"> {word}" in step.command
                    assert path.parent.is_dir() if written else path.exists(), step.command
