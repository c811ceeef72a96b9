"""The helpers of test code: names that it takes from the prompt's code and from well-known libraries, so that no
candidate can redefine them.

Attack: define `poly`, which the prompt gave, or `isclose`, whose import the tests forgot, so that every comparison
succeeds.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import importlib
from typing import Any

from rewarden_sandboxes.agent.candidate_room import PLAIN_MODULES

_ALIASES = {
    "np": ("numpy", None),
    "numpy": ("numpy", None),
    "pd": ("pandas", None),
    "pandas": ("pandas", None),
    "pytest": ("pytest", None),
    "isclose": ("math", "isclose"),
    "allclose": ("numpy", "allclose"),
    "approx": ("pytest", "approx"),
}
"""Names that tests commonly compare with, and the modules and members that they mean."""

_MODULES = frozenset({*PLAIN_MODULES, "numpy"})
_REACHING_OUT = frozenset({"input", "open", "exec", "eval", "compile", "globals", "locals", "vars", "__import__"})
"""Built-in functions whose effect depends on where they are called. `print` is not one: the output of test code and
candidate is not judged, and a test that captures output gets that of both."""


class Helpers:
    """See the module. The prompt's helpers are its pure functions and its imports from plain modules.

    A function that keeps state, makes objects of the prompt's classes, or calls the function to be written must run in
    the candidate's room.
    """

    def __init__(self, prompt: str, lacking: set[str], entry_point: str | None) -> None:
        """prompt: the code before the candidate's, as a module of its own, or empty. lacking: the names that the test
        code uses and does not define. Without an entry point any of these names may be the one that the prompt asks
        for.
        """
        entry = str(entry_point or "").partition(".")[0]
        self._aliases = set(_ALIASES) - {entry}
        if not entry and not lacking - self._aliases:
            self._aliases = set()  # the prompt can only have asked for one of these
        self._body = _pure(prompt, entry) if entry else []
        self._names: dict[str, Any] | None = None

    def find(self, name: str) -> Any:
        """Returns the value of a helper. Raises LookupError if there is none of that name."""
        if self._names is None:
            self._names = {"__name__": "prompt"}
            for node in self._body:
                with contextlib.suppress(Exception):  # a missing module's names are not helpers
                    code = compile(ast.Module([node], []), "prompt.py", "exec", dont_inherit=True)
                    exec(code, self._names)  # noqa: S102 - the reference's code, in a room of its own
        if name in self._names and not name.startswith("__"):
            return self._names[name]
        if name in self._aliases:
            module, member = _ALIASES[name]
            try:
                found = importlib.import_module(module)
            except ImportError:
                raise LookupError(name) from None
            return found if member is None else getattr(found, member)
        raise LookupError(name)


def _pure(prompt: str, entry: str) -> list[ast.stmt]:
    """Returns the imports of plain modules and the pure functions of the prompt's code, in order."""
    try:
        body = ast.parse(prompt).body
    except (SyntaxError, ValueError):
        return []
    imports = [node for node in body if _is_plain_import(node)]
    known = {name for node in imports for name in _brings(node)}
    functions = {
        node.name: node
        for node in body
        if isinstance(node, ast.FunctionDef) and node.name != entry and not all(map(_says_nothing, node.body))
    }
    while impure := [name for name, node in functions.items() if not _is_pure(node, known | functions.keys(), body)]:
        for name in impure:
            del functions[name]
    return [*imports, *functions.values()]


def _is_plain_import(node: ast.stmt) -> bool:
    if isinstance(node, ast.Import):
        return all(alias.name in _MODULES for alias in node.names)
    return isinstance(node, ast.ImportFrom) and node.level == 0 and node.module in _MODULES


def _brings(node: ast.stmt) -> set[str]:
    """Returns the names that an import of a plain module binds."""
    assert isinstance(node, (ast.Import, ast.ImportFrom))
    names = {alias.asname or alias.name for alias in node.names}
    if isinstance(node, ast.ImportFrom) and node.module is not None and "*" in names:
        with contextlib.suppress(ImportError):
            names |= set(dir(importlib.import_module(node.module)))
    return names


def _is_pure(function: ast.FunctionDef, known: set[str], body: list[ast.stmt]) -> bool:
    """Returns whether a function depends only on its arguments, the known names, and Python itself."""
    nodes = list(ast.walk(function))
    if any(isinstance(node, (ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom, ast.ClassDef)) for node in nodes):
        return False
    if sum(isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == function.name for node in body) > 1:
        return False
    bound = {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    bound |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    bound |= {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ExceptHandler)) and node.name}
    used = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)} - bound
    return not used & _REACHING_OUT and used <= known | vars(builtins).keys()


def _says_nothing(node: ast.stmt) -> bool:
    """Returns whether a statement is a placeholder for a body: a docstring, `pass`, `...`, `return None`, `raise
    NotImplementedError`.
    """
    if isinstance(node, ast.Raise):
        return [part.id for part in ast.walk(node) if isinstance(part, ast.Name)] == ["NotImplementedError"]
    if isinstance(node, ast.Return):
        return node.value is None or not any(isinstance(part, ast.Name) for part in ast.walk(node.value))
    return isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
