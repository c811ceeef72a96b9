"""Imports run one way: DESIGN's house, held by reading every module's imports."""

from __future__ import annotations

import ast
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.imports import FOLDERS, ROOT, graph

OURS = tuple(FOLDERS)
TASKS = ("rewarden_verifiers.inference", "rewarden_verifiers.chat", "rewarden_verifiers.judges.gather")
"""The tasks that verifiers give to models, and the way to do several of them at once."""

SANDBOX = ("rewarden_sandboxes.job", "rewarden_sandboxes.languages", "rewarden_sandboxes.network.rules")
"""A program as the sandbox takes it, the languages' names, which references and fences give, and the rules of a
network, which tasks give."""

MODEL_WIRE = ("rewarden_models.wire", "rewarden_models.settings", "rewarden_models.endpoint")
"""The wire of the model process, and the settings on its command line."""


@cache
def imports_of(path: Path) -> tuple[str, ...]:
    """Absolute names of the modules that a file imports, wherever in it."""
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return tuple(names)


def foreign(package: str, allowed: tuple[str, ...]) -> list[str]:
    """Imports of a package that reach into another package of ours beyond what is allowed."""
    found = []
    for path in sorted(FOLDERS[package].rglob("*.py")):
        for name in imports_of(path):
            top = name.split(".")[0]
            permitted = any(name == module or name.startswith(module + ".") for module in allowed)
            if top in OURS and top != package and not permitted and name != top:
                found.append(f"{path.relative_to(ROOT)}: {name}")
    return found


@pytest.mark.parametrize(
    ("package", "allowed"),
    [
        ("rewarden", ()),
        ("rewarden_sandboxes", ()),
        ("rewarden_verifiers", ("rewarden.types", "rewarden.errors", *SANDBOX)),
        ("rewarden_models", ("rewarden.errors", "rewarden_sandboxes.stale", *TASKS)),
        ("rewarden_server", ("rewarden", "rewarden_verifiers", "rewarden_sandboxes", *MODEL_WIRE)),
    ],
)
def test_imports_run_one_way(package: str, allowed: tuple[str, ...]) -> None:
    assert foreign(package, allowed) == []


def test_no_imports_form_a_cycle() -> None:
    try:
        TopologicalSorter(graph()).prepare()
    except CycleError as error:
        pytest.fail("imports form a cycle: " + " → ".join(reversed(error.args[1])))


@pytest.mark.parametrize("module", ["pydantic", "TypeAdapter"])
def test_pydantic_is_known_to_one_module(module: str) -> None:
    users = {
        str(path.relative_to(ROOT))
        for folder in FOLDERS.values()
        for path in folder.rglob("*.py")
        if any(module in name.split(".") for name in imports_of(path))
    }
    assert users == {"verifiers/rewarden_verifiers/schema.py"}


def test_a_verifier_knows_no_transport_and_no_engine() -> None:
    banned = {"http", "httpx", "grpc", "starlette", "uvicorn", "socket", "subprocess", "multiprocessing"}
    banned |= {"threading"}
    outside = (
        ROOT / "verifiers/rewarden_verifiers/sql/engines",  # what waits for databases, in workers of its own
        ROOT / "verifiers/rewarden_verifiers/smt/solver.py",  # what waits for Z3, which is a process of its own
        ROOT / "verifiers/rewarden_verifiers/lean/inspection",  # a program of its own, which runs in a room
        ROOT / "verifiers/rewarden_verifiers/execution/shims/sources",  # programs of their own, which run in rooms
        ROOT / "verifiers/rewarden_verifiers/repositories/inside",  # the same, in boxes
    )
    found = [
        f"{path.relative_to(ROOT)}: {name}"
        for folder in FOLDERS["rewarden_verifiers"].iterdir()
        if folder.name != "recipes"
        for path in folder.rglob("*.py")
        if not any(path.is_relative_to(folder) for folder in outside)
        for name in imports_of(path)
        if name.split(".")[0] in banned
    ]
    assert found == []


def test_the_client_needs_nothing_but_httpx_and_that_lazily() -> None:
    standard = __import__("sys").stdlib_module_names
    for path in FOLDERS["rewarden"].rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if "v1" in path.parts:
            continue
        for node in tree.body:  # top level only: functions may import what an extra brings
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module]
            for name in names:
                top = name.split(".")[0]
                grpc_only = path.name in ("grpc.py", "protobuf.py")
                assert top in standard or top == "rewarden" or grpc_only, f"{path.relative_to(ROOT)} imports {name}"
