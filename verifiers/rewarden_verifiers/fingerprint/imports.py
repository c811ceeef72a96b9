"""Names in one module's source: the modules that it imports, and the strings through which it can reach others."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

_REACHING = frozenset(
    {"__file__", "__path__", "__spec__", "__loader__", "__import__", "importlib", "pkgutil", "runpy", "zipimport"}
)
"""Names used by code that finds files next to it, or modules whose names it computes."""

_READING = frozenset({"__doc__", "getdoc", "getcomments", "getsource", "getsourcelines"})
"""Names used by code that reads docstrings, or the text of a source."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The modules and texts that a source asks for.

    modules: absolute names, including names within modules, which may or may not be modules. reaches: whether it finds
    files or modules by computed names; texts: all strings that could be such names. reads: whether it reads docstrings.
    """

    modules: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()
    reaches: bool = False
    reads: bool = False


def asked(tree: ast.Module, package: str) -> Asked:
    """Returns what a module of `package` asks for, wherever in the module an import occurs.

    Imports only for type checkers (`if TYPE_CHECKING:`) are skipped: they do not run.
    """
    modules: set[str] = set()
    names: set[str] = set()
    texts: set[str] = set()
    for node in _executed(tree):
        if isinstance(node, ast.Import):
            modules.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            source = _absolute(node, package)
            modules.update([source, *(f"{source}.{alias.name}" for alias in node.names)])
        elif isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Attribute):
            names.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.add(node.value)
    modules = {name for name in modules if name and not name.startswith(".")}  # relative imports of a script fail
    names.update(part for module in modules for part in module.split("."))
    reaches = bool(names & _REACHING)
    return Asked(frozenset(modules), frozenset(texts) if reaches else frozenset(), reaches, bool(names & _READING))


def _executed(tree: ast.AST) -> Iterator[ast.AST]:
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.If) and _is_type_checking(node.test):
            waiting += node.orelse
            continue
        for field in node._fields:
            value = getattr(node, field, None)
            if isinstance(value, list):
                waiting += [item for item in value if isinstance(item, ast.AST)]
            elif isinstance(value, ast.AST) and not isinstance(value, ast.expr_context):
                waiting.append(value)


def _is_type_checking(test: ast.expr) -> bool:
    return (test.id if isinstance(test, ast.Name) else getattr(test, "attr", "")) == "TYPE_CHECKING"


def _absolute(node: ast.ImportFrom, package: str) -> str:
    """The module named by `from … import`, with leading dots resolved."""
    if not node.level:
        return str(node.module)
    above = package.split(".")
    return ".".join([*above[: len(above) - node.level + 1], *filter(None, [node.module])])
