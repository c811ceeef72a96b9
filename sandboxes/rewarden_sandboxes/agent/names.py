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
from rewarden_sandboxes.agent.helpers import Helpers
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
        with contextlib.suppress(LookupError):
            return names.helpers.find(name)
        return names.client.attribute(0, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("__"):  # set by the import system
            return super().__setattr__(name, value)
        client = self.__dict__["_rewarden_names"].client
        client.fail("unsupported", f"a test changes {name!r} in the candidate's module: {SHARED}", "tests")

    def __delattr__(self, name: str) -> None:
        self.__setattr__(name, None)


class Source:
    """Compiled test code. Raises SyntaxError or ValueError if it does not compile."""

    def __init__(self, code: bytes, path: str) -> None:
        self.code = code
        self.path = path
        self.compiled = compile(code, path, "exec", dont_inherit=True)
        self.lines = code.decode("utf-8", "replace").splitlines(True)
        linecache.cache[path] = (len(code), None, self.lines, path)

    def means_module(self, name: str) -> bool:
        """Returns whether an undefined name of the test code means a standard module whose import it forgot: it only
        reads attributes of it. `math.isclose` then means the module, whatever the candidate calls `math`.
        """
        if name not in sys.stdlib_module_names:
            return False
        nodes = list(ast.walk(ast.parse(self.code)))
        owners = [id(node.value) for node in nodes if isinstance(node, ast.Attribute)]
        return all(id(node) in owners for node in nodes if isinstance(node, ast.Name) and node.id == name)

    def lacks(self) -> list[str]:
        """Returns the names that the test code uses and does not define."""
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
            elif type(node).__name__ in (
                "ExceptHandler",
                "MatchAs",
                "MatchStar",
            ):  # some are missing in the oldest Python of the rooms
                bound.add(str(getattr(node, "name", None)))
        return sorted(name for name in used - bound if not self.means_module(name))


class Names(dict):  # type: ignore[type-arg]
    """The builtins of test code. Python looks a name up here last, after locals, globals and the real builtins, so no
    name of the candidate's can hide `len`, `isinstance` or a module that the tests import.
    """

    def __init__(self, client: CandidateClient, source: Source, entry_point: str | None, prompt: str = "") -> None:
        super().__init__(vars(builtins), zip=client.provenance.zip)
        self.client = client
        self.source = source
        self.entry_point = entry_point
        self.helpers = Helpers(prompt, set(source.lacks()), entry_point)

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
        """Returns the argument of `check(candidate)`: `f`, or for `Solution.f` the method of a new `Solution()`."""
        name, _, method = str(self.entry_point).replace("()", "").partition(".")
        found = self.client.attribute(0, name)
        if not method:
            return found
        return getattr(found() if isinstance(found, type) else found, method)

    def wanted(self) -> list[str]:
        """Returns the names that `from solution import *` binds: those that the test code uses without defining them,
        and that the candidate or the prompt has.
        """
        found = []
        for name in self.source.lacks():
            with contextlib.suppress(AttributeError, LookupError):
                try:
                    self.helpers.find(name)
                except LookupError:
                    self.client.attribute(0, name)
                found.append(name)
        return found


def install(names: Names, modules: Iterable[str]) -> None:
    """Installs proxies under the names by which test code imports the candidate, with the parents of dotted names."""
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
