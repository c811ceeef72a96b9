"""The names that test code sees: its own, then the built-in ones, then the candidate's."""

from __future__ import annotations

import ast
import builtins
import contextlib
import importlib
import linecache
import sys
import types
from collections.abc import Iterable
from typing import Any

from rewarden_sandboxes.agent.candidate_client import CandidateClient
from rewarden_sandboxes.agent.faults import SHARED
from rewarden_sandboxes.agent.proxies import PRIVATE


class ProxyModule(types.ModuleType):
    """The module that test code gets from `import solution`."""

    def __init__(self, name: str, names: Names) -> None:
        super().__init__(name)
        self.__dict__["_rewarden_names"] = names

    def __getattr__(self, name: str) -> Any:
        names: Names = self.__dict__["_rewarden_names"]
        if name == "__all__":
            return names.wanted()
        if name.startswith(PRIVATE):
            raise AttributeError(name)
        return names.client.attribute(0, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("__"):  # the import system's own
            return super().__setattr__(name, value)
        client = self.__dict__["_rewarden_names"].client
        client.fail("unsupported", f"a test changes {name!r} in the candidate's module: {SHARED}", "tests")

    def __delattr__(self, name: str) -> None:
        self.__setattr__(name, None)


class Source:
    """Test code. Raises SyntaxError, ValueError."""

    def __init__(self, code: bytes, path: str) -> None:
        self.code = code
        self.path = path
        self.compiled = compile(code, path, "exec", dont_inherit=True)
        self.lines = code.decode("utf-8", "replace").splitlines(True)
        linecache.cache[path] = (len(code), None, self.lines, path)

    def means_module(self, name: str) -> bool:
        """Returns whether a name that the test code does not define is a standard module whose import it forgot: it
        only reads attributes of it. `math.isclose` then means the module, whatever the candidate calls `math`.
        """
        if name not in sys.stdlib_module_names:
            return False
        nodes = list(ast.walk(ast.parse(self.code)))
        owners = [id(node.value) for node in nodes if isinstance(node, ast.Attribute)]
        return all(id(node) in owners for node in nodes if isinstance(node, ast.Name) and node.id == name)

    def lacks(self) -> list[str]:
        """The names that the test code uses and has not."""
        used: set[str] = set()
        bound = set(vars(builtins))
        for node in ast.walk(ast.parse(self.code)):
            if isinstance(node, ast.Name):
                (used if isinstance(node.ctx, ast.Load) else bound).add(node.id)
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                bound.add(node.name)
            elif isinstance(node, ast.arg):
                bound.add(node.arg)
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                bound.update((alias.asname or alias.name).partition(".")[0] for alias in node.names)
        return sorted(name for name in used - bound if not self.means_module(name))


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
"""Names by which everybody compares, and the modules and members behind them."""


class Helpers:
    """The names that test code has from the reference and not from the candidate: functions and imports of the prompt's
    code, and what everybody compares with.

    Attack: define `poly`, which the prompt gave, or `isclose`, whose import the tests forgot, so that all agrees.
    """

    def __init__(self, prompt: str, source: Source, entry_point: str | None) -> None:
        """`prompt`: the code in front of the candidate's, as a module of its own; empty where there is none."""
        self._prompt = prompt
        self._own = _helpers_of(prompt)
        entry = str(entry_point or "").partition(".")[0]
        self._own.discard(entry)
        self._aliases = set(_ALIASES) - {entry}
        # Where no name is left that the candidate must have, one of these is what it was asked for.
        if entry_point is None and not set(source.lacks()) - self._own - self._aliases:
            self._own, self._aliases = set(), set()
        self._module: dict[str, Any] | None = None

    def find(self, name: str) -> Any:
        """The value of a helper. Raises LookupError where there is none of that name."""
        if name in self._own:
            if self._module is None:
                self._module = {"__name__": "prompt"}
                with contextlib.suppress(Exception):  # then the helpers in front of what fails have to do
                    exec(compile(self._prompt, "prompt.py", "exec", dont_inherit=True), self._module)  # noqa: S102
            if name in self._module:
                return self._module[name]
        if name in self._aliases:
            module, member = _ALIASES[name]
            try:
                found = importlib.import_module(module)
            except ImportError:
                raise LookupError(name) from None
            return found if member is None else getattr(found, member)
        raise LookupError(name)


def _helpers_of(prompt: str) -> set[str]:
    """The names of the functions with a body, and of the imports, in the prompt's code.

    None where it defines a class: its functions may make objects that have to be where the candidate is.
    """
    try:
        body = ast.parse(prompt).body
    except (SyntaxError, ValueError):
        return set()
    if any(isinstance(node, ast.ClassDef) for node in body):
        return set()
    found: set[str] = set()
    for node in body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found.update((alias.asname or alias.name).partition(".")[0] for alias in node.names)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not all(map(_says_nothing, node.body)):
            found.add(node.name)
    return found


def _says_nothing(node: ast.stmt) -> bool:
    """Returns whether a statement leaves a body to be written: a text, `pass`, `...`, `raise NotImplementedError`."""
    if isinstance(node, ast.Raise):
        named = [part.id for part in ast.walk(node) if isinstance(part, ast.Name)]
        return named == ["NotImplementedError"]
    return isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


class Names(dict):  # type: ignore[type-arg]
    """The builtins of test code. Python looks here last, after locals, globals and the real builtins, so that nothing
    of the candidate's can hide `len`, `isinstance` or a module that the tests import."""

    def __init__(self, client: CandidateClient, source: Source, entry_point: str | None, prompt: str = "") -> None:
        super().__init__(vars(builtins))
        self.client = client
        self.source = source
        self.entry_point = entry_point
        self.helpers = Helpers(prompt, source, entry_point)

    def __missing__(self, name: str) -> Any:
        if name.startswith("__"):
            raise KeyError(name)
        if self.source.means_module(name):
            self[name] = importlib.import_module(name)
            return self[name]
        if name == "candidate" and self.entry_point is not None:
            return self.entry()
        with contextlib.suppress(LookupError):
            self[name] = self.helpers.find(name)
            return self[name]
        try:
            value = self.client.attribute(0, name)
        except AttributeError:
            raise KeyError(name) from None
        if self.entry_point is not None and name != self.entry_point.partition(".")[0]:
            self.client.provenance.named(name)
        if isinstance(value, (types.FunctionType, type)):
            self[name] = value
        return value

    def entry(self) -> Any:
        """Returns what `check(candidate)` is called with: `f`, or `Solution.f` for the method of a new `Solution()`."""
        name, _, method = str(self.entry_point).replace("()", "").partition(".")
        found = self.client.attribute(0, name)
        if not method:
            return found
        return getattr(found() if isinstance(found, type) else found, method)

    def wanted(self) -> list[str]:
        """Returns what `from solution import *` brings: names that the test code uses, has not, and the candidate
        has.
        """
        found = []
        for name in self.source.lacks():
            try:
                self.client.attribute(0, name)
            except AttributeError:
                continue
            found.append(name)
        return found


def install(names: Names, modules: Iterable[str]) -> None:
    """Puts proxies under the names by which test code imports the candidate, dotted ones with their parents."""
    for name in modules:
        parts = name.split(".")
        for end in range(1, len(parts) + 1):
            full = ".".join(parts[:end])
            if not isinstance(sys.modules.get(full), ProxyModule):
                module = sys.modules[full] = ProxyModule(full, names)
                if end < len(parts):
                    module.__path__ = []
                if end > 1:
                    sys.modules[".".join(parts[: end - 1])].__dict__[parts[end - 1]] = module
