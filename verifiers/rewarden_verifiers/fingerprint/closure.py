"""Every module and data file that a verifier's code reaches, from syntax trees alone.

It includes too much rather than too little: a module counts wherever it is imported, even in a function that is never
called. For a plug-in, all packages of its distribution count, because code can find modules at run time. For everything
else, imports and the names in modules decide; for our own, tests observe what they really load and open.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from rewarden_verifiers.fingerprint import sources, tree
from rewarden_verifiers.fingerprint.imports import Asked
from rewarden_verifiers.fingerprint.modules import files_in, files_named, find, is_library, packages_of, siblings, top

SHARED = tuple(f"rewarden_verifiers.{name}" for name in ("contract", "outcome", "schema", "view"))
"""Modules that every verdict passes through: they prepare and check the input of verifiers."""

_OURS = frozenset({"rewarden", "rewarden_sandboxes", "rewarden_verifiers"})

_SERVING = frozenset({"rewarden_server", "rewarden_models"})
"""Packages that pass samples to verifiers. For a plug-in that imports them, say for its own tests, they are
libraries.
"""

_DESCRIBING = frozenset({"rewarden_verifiers.contract", "rewarden_verifiers.schema"})
"""Modules that read docstrings to display them; no verdict depends on those."""


@dataclass(frozen=True, slots=True)
class Closure:
    """The code, data and libraries that modules reach.

    code: by module. data: other files, and all files of third-party packages, by names that are the same on every
    machine. libraries: top-level packages imported from elsewhere. digest: over code and data, in hex. whole: False if
    some of the code has no file, as in a notebook or a zip, and so cannot be inspected.
    """

    code: Mapping[str, Path]
    data: Mapping[str, Path]
    libraries: frozenset[str]
    digest: str
    whole: bool


@lru_cache(maxsize=1024)
def closure(module: str, *plugin: str) -> Closure:
    """Computes the closure of a verifier's module, of the modules that every verdict passes through, and of the
    packages that contain them.

    plugin: modules whose packages count as a whole, with everything that their distributions contain.
    """
    walk = _Walk(_name_of(module), [_name_of(name) for name in plugin])
    while walk.waiting:
        walk.visit(walk.waiting.pop())
    digest = _digest(walk.code, walk.data, walk.reading)
    return Closure(walk.code, walk.data, frozenset(walk.libraries), digest, walk.whole)


class _Walk:
    """A closure under construction. reading: top-level packages whose docstrings are read."""

    def __init__(self, module: str, plugin: Sequence[str]) -> None:
        self.code: dict[str, Path] = {}
        self.data: dict[str, Path] = {}
        self.libraries: set[str] = set()
        self.reading: set[str] = set()
        self.whole = find(module) is not None
        self._own = top(plugin[0] if plugin else module)
        self._plugin = {name for root in plugin for name in (top(root), *siblings(top(root)))} - _OURS
        self.waiting = [module, *plugin, *SHARED, *self._plugin]
        self._seen: set[str] = set()

    def visit(self, name: str) -> None:
        """Adds a module, and queues what it asks for."""
        if name in self._seen:
            return
        self._seen.add(name)
        if self._is_library(top(name)):
            self.libraries.add(top(name))
            return
        place = find(name)
        if name in self._plugin and place is not None and place.folders:
            self._take(name)
        if place is None:
            above = name.rpartition(".")[0]
            self.waiting += [above] if above else []  # a name within a module, or within one that has no file
            return
        self.waiting += packages_of(name)
        if place.file is None:
            self.whole = self.whole and bool(place.folders)
            return
        self.code[name] = place.file
        self._ask(name, _read(name, place.file)[0])

    def _ask(self, name: str, wanted: Asked) -> None:
        self.waiting += wanted.modules
        if wanted.reads and name not in _DESCRIBING:
            self.reading.add(top(name))
        if not wanted.reaches or top(name) == "rewarden" or top(name) in self._plugin:
            # The client loads its transports by name, and verifiers use only its types and errors; all files of a
            # plug-in count anyway.
            return
        for text in wanted.texts:
            if self._names_code(text, name):
                self.waiting.append(text)
                if top(text) in _OURS:
                    self.data.update(files_in(text))
            self.data.update(files_named(text, name))

    def _names_code(self, text: str, module: str) -> bool:
        """Returns whether a text in a module names another module that it can load. Our modules only name modules of
        their own package.
        """
        if top(module) in _OURS and top(text) != top(module):
            return False
        if not all(part.isidentifier() for part in text.split(".")):
            return False
        return find(text) is not None and not self._is_library(top(text))

    def _take(self, package: str) -> None:
        """Adds every file of a package, and queues the imports of its modules."""
        for name, path in files_in(package):
            self.data[name] = path
            if path.suffix == ".py":
                module = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
                self._ask(module, _read(module, path)[0])

    def _is_library(self, package: str) -> bool:
        if package in _OURS or package == self._own:
            return False
        return self._own in _OURS or package in _SERVING or is_library(package, self._own)


def _name_of(module: str) -> str:
    """The import name of a module, which for a module run by `python -m` differs from `__main__`."""
    spec = getattr(sys.modules.get(module), "__spec__", None)
    return spec.name if module == "__main__" and spec is not None else module


def _digest(code: Mapping[str, Path], data: Mapping[str, Path], reading: Set[str]) -> str:
    """reading: top-level packages that read docstrings, which then count in all of their modules."""
    made = hashlib.blake2b(digest_size=16)
    for name, path in sorted([*code.items(), *data.items()]):
        made.update(f"{name}\0".encode())
        package = name.partition("/")[0].partition(".")[0]
        made.update(_with_docstrings(path) if package in reading else _read(name, path)[1])
    return made.hexdigest()


@lru_cache(maxsize=8192)
def _read(module: str, file: Path) -> tuple[Asked, bytes]:
    """Returns what a module asks for, and the digest of its code without docstrings; for files that are not Python, the
    digest of their bytes.
    """
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    found = sources.read(file.read_bytes(), package) if file.suffix == ".py" else None
    return (Asked(), _of_bytes(file)) if found is None else found


@lru_cache(maxsize=1024)
def _with_docstrings(file: Path) -> bytes:
    parsed = sources.parse(file.read_bytes()) if file.suffix == ".py" else None
    return _of_bytes(file) if parsed is None else tree.digest(parsed, docstrings=True)


def _of_bytes(file: Path) -> bytes:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, lambda: hashlib.blake2b(digest_size=16)).digest()
