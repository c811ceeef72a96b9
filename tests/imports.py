"""The imports between our modules, read from their syntax trees."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDERS = {
    "rewarden": ROOT / "client/rewarden",
    "rewarden_verifiers": ROOT / "verifiers/rewarden_verifiers",
    "rewarden_server": ROOT / "server/rewarden_server",
    "rewarden_models": ROOT / "server/rewarden_models",
    "rewarden_sandboxes": ROOT / "sandboxes/rewarden_sandboxes",
}
"""The folder of each package of ours."""


@cache
def graph() -> dict[str, frozenset[str]]:
    """The modules of ours that each module imports: at its top, within functions, or for its types only."""
    files = {name: path for package in FOLDERS for name, path in modules(package).items()}
    found: dict[str, frozenset[str]] = {}
    for module, path in files.items():
        wanted: set[str] = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                wanted |= {alias.name for alias in node.names} & files.keys()
            elif isinstance(node, ast.ImportFrom) and node.module in files:
                # A module imported from its package is that module; the package is only the way to it.
                named = {f"{node.module}.{alias.name}" for alias in node.names}
                wanted |= named if named <= files.keys() else {node.module, *(named & files.keys())}
        found[module] = frozenset(wanted - {module})
    return found


def modules(package: str) -> dict[str, Path]:
    """The files of a package by their modules' names."""
    folder = FOLDERS[package]
    found: dict[str, Path] = {}
    for path in folder.rglob("*.py"):
        parts = [package, *path.relative_to(folder).with_suffix("").parts]
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found
