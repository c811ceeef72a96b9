"""Docstrings are statements: "Returns the part that is seen.", and not "Which part is seen."."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = ("client", "verifiers", "server", "sandboxes", "tests", "benchmarks", "docs", "examples", "scripts", "deploy")
QUESTION = re.compile(r"(What|Whether|How|Which|Who|Whose|Where|Why|When)\b")


def docstrings(source: str) -> Iterator[tuple[int, str]]:
    """Yields line and text of each docstring: of modules, classes and functions, and behind assignments."""
    pending: list[ast.AST] = [ast.parse(source)]
    while pending:
        node = pending.pop()
        # Docstrings are statements: most of a tree, its expressions, need not be walked.
        pending += [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr)]
        body: list[ast.stmt] = []
        if isinstance(node, ast.Module | ast.ClassDef):
            named = (ast.Assign, ast.AnnAssign)
            body = [after for before, after in zip(node.body, node.body[1:], strict=False) if isinstance(before, named)]
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            body += node.body[:1]
        for each in body:
            if (
                isinstance(each, ast.Expr)
                and isinstance(each.value, ast.Constant)
                and isinstance(each.value.value, str)
            ):
                yield each.lineno, each.value.value.strip()


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_docstring_is_an_indirect_question(folder: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text.splitlines()[0]}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        if "v1" not in path.parts
        for line, text in docstrings(path.read_text(encoding="utf-8"))
        if QUESTION.match(text)
    ]
    assert found == []


def test_every_kind_of_docstring_is_looked_at() -> None:
    inner = '    """C."""\n    y: int = 2\n    """Y."""\n    def f(self):\n        "F."'
    source = f'"""M."""\nX = 1\n"""X."""\nclass C:\n{inner}'
    assert sorted(text for _, text in docstrings(source)) == ["C.", "F.", "M.", "X.", "Y."]
