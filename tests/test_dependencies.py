"""The dependencies that pyproject.toml declares are those that the code imports, and verifiers name the extra that they
lack.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import tomllib
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from rewarden_verifiers.registry import BUILT_IN, Registry
from tests.imports import FOLDERS
from tests.suite.blocked import WITHOUT
from tests.suite.optional import OPTIONAL
from tests.test_imports import imports_of

ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: Mapping[str, list[str]] = PROJECT["optional-dependencies"]

DISTRIBUTIONS = {
    "google": "protobuf",
    "grpc": "grpcio",
    "grpc_health": "grpcio-health-checking",
    "grpc_reflection": "grpcio-reflection",
    "PIL": "pillow",
    "re2": "google-re2",
    "yaml": "pyyaml",
}
"""The packages whose distributions have other names."""

INDIRECT = {
    "opentelemetry": "the API, which the SDK brings",
    "huggingface-hub": "what transformers reads models with",
}
"""Distributions that one of an extra's brings, and that only code of this extra imports."""

UNNAMED = {
    "httptools": "uvicorn's parser, which rewarden_server.http.protocol extends",
    "websockets": "the library of uvicorn's WebSockets, to which rewarden_server.http.protocol hands over",
}
"""Base dependencies that no import names."""

CALLERS = {
    "ipykernel": "in the sandbox's images, where rewarden_sandboxes.notebook_python runs",
    "jupyter-client": "in the sandbox's images, where rewarden_sandboxes.notebook_driver runs",
    "pytest": "loads the plug-in rewarden_server.pytest_cases",
    "zmq": "comes with jupyter-client",
}
"""Packages that are there wherever the module runs that imports them."""

IN_BOXES = ROOT / "verifiers/rewarden_verifiers/repositories/inside"
"""Programs that run in boxes, beside the packages of a repository."""

FOLDERS_OF_THE_SERVER = [folder for name, folder in FOLDERS.items() if name != "rewarden"]


def declared(requirements: list[str]) -> set[str]:
    return {canonicalize_name(Requirement(line).name) for line in requirements}


def imported() -> dict[str, str]:
    """Returns the distributions that the server's packages import, each with a file that does so."""
    found: dict[str, str] = {}
    for folder in FOLDERS_OF_THE_SERVER:
        for path in folder.rglob("*.py"):
            if path.is_relative_to(IN_BOXES):
                continue
            for module in imports_of(path):
                top = module.partition(".")[0]
                if top not in FOLDERS and top not in sys.stdlib_module_names:
                    found[canonicalize_name(DISTRIBUTIONS.get(top, top))] = str(path.relative_to(ROOT))
    return found


def test_the_base_is_exactly_what_code_imports_that_belongs_to_no_extra() -> None:
    of_extras = {name for lines in EXTRAS.values() for name in declared(lines)}
    there = imported()
    needed = {name: there[name] for name in there.keys() - of_extras - INDIRECT.keys() - CALLERS.keys()}
    base = declared(PROJECT["dependencies"]) - {"rewarden"} - UNNAMED.keys()
    assert {name: path for name, path in needed.items() if name not in base} == {}, "not declared"
    assert base - needed.keys() == set(), "nothing imports it: remove it"


def test_no_extra_brings_what_the_base_has() -> None:
    base = declared(PROJECT["dependencies"])
    assert {extra: names for extra, lines in EXTRAS.items() if (names := declared(lines) & base)} == {}


@pytest.fixture(scope="module")
def bare() -> dict[str, Any]:
    """Returns what verifiers do where no extra is installed."""
    hidden = {name for extra, names in OPTIONAL.items() for name in names}
    environment = {**os.environ, WITHOUT: ",".join(sorted(hidden))}
    command = [sys.executable, "-m", "tests.base_install"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.slow
def test_all_verifiers_and_recipes_load_without_extras_but_those_that_read_sql(bare: dict[str, Any]) -> None:
    registry = Registry()
    reading = {name for name in (*BUILT_IN, *registry.recipe_names()) if "sql" in registry.get(name).requires}
    assert set(bare["problems"]) == reading
    for message in bare["problems"].values():
        assert message == "verifier 'sql' needs the package 'sqlglot': pip install 'rewarden-server[sql]'"


@pytest.mark.slow
def test_cases_lack_only_extras_that_the_verifiers_page_names(bare: dict[str, Any]) -> None:
    registry = Registry()
    for name, messages in bare["lacking"].items():
        spec = registry.get(name)
        named = {found[1] for message in messages if (found := re.search(r"'rewarden-server\[(\w+)\]'$", message))}
        assert named <= {*spec.requires, *spec.optional}, (name, messages)
        assert len(messages) == sum("rewarden-server[" in message for message in messages), messages
    assert bare["lacking"]["molecule"], "the packages of extras were hidden"
