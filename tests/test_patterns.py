"""Regular expressions mean the same on every Python that the project supports."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = (
    "client/rewarden",
    "verifiers/rewarden_verifiers",
    "server/rewarden_server",
    "server/rewarden_models",
    "sandboxes/rewarden_sandboxes",
)

GROUP = re.compile(r"(?<!\\)\)(?:[*+?]|\{[0-9]*,?[0-9]*\})\+|\(\?>")
"""A group that is repeated possessively, or an atomic group."""


@pytest.mark.parametrize("package", PACKAGES)
def test_no_pattern_repeats_a_group_possessively(package: str) -> None:
    """Python before 3.11.5, which Debian 12 has, loses the end of such a group (CPython gh-106052): every SQL query
    with a comment was refused there. A single character or set may repeat possessively."""
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.value!r}"
        for path in sorted((ROOT / package).rglob("*.py"))
        if GROUP.search(text := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant)
        and GROUP.search(node.value.decode("latin-1") if isinstance(node.value, bytes) else str(node.value))
    ]
    assert not found, "write it so that nothing is ambiguous:\n" + "\n".join(found)
