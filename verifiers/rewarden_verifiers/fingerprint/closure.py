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
"""Modules that every verdict passes through: they make and check what a verifier reads."""

_OURS = frozenset({"rewarden", "rewarden_sandboxes", "rewarden_verifiers"})

_SERVING = frozenset({"rewarden_server", "rewarden_models"})
"""They hand samples to verifiers. A plug-in that imports them, to test itself say, has them as a library."""

_DESCRIBING = frozenset({"rewarden_verifiers.contract", "rewarden_verifiers.schema"})
"""They read docstrings to show them; no verdict depends on that."""


@dataclass(frozen=True, slots=True)
class Closure:
    """The code, data and libraries that modules reach.

    code: by module. data: other files, and all files of packages that are not ours, by a name that is the same on every
    machine. libraries: top packages that are imported from elsewhere. digest: over code and data, in hex. whole: False
    if some of the code has no file, as in a notebook or a zip, and so cannot be looked at.
    """

    code: Mapping[str, Path]
    data: Mapping[str, Path]
    libraries: frozenset[str]
    digest: str
    whole: bool


@lru_cache(maxsize=1024)
def closure(module: str, *plugin: str) -> Closure:
    """The closure of a verifier's module, of what every verdict passes through, and of the packages that these lie in.

    plugin: modules whose packages count as a whole, with all that their distributions hold.
    """
    walk = _Walk(_name_of(module), [_name_of(name) for name in plugin])
    while walk.waiting:
        walk.visit(walk.waiting.pop())
    digest = _digest(walk.code, walk.data, walk.reading)
    return Closure(walk.code, walk.data, frozenset(walk.libraries), digest, walk.whole)


class _Walk:
    """A closure in the making. reading: top packages whose docstrings are read."""

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
        """Take up a module, and put in line what it asks for."""
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
            self.waiting += [above] if above else []  # a name within a module, or of one that has no file
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
            # The client loads its transports by name, and verifiers know no more of it than types and errors; of a
            # plug-in everything counts already.
            return
        for text in wanted.texts:
            if self._names_code(text, name):
                self.waiting.append(text)
                if top(text) in _OURS:
                    self.data.update(files_in(text))
            self.data.update(files_named(text, name))

    def _names_code(self, text: str, module: str) -> bool:
        """True if a text in a module names another that it may load. Our modules name only their own package's."""
        if top(module) in _OURS and top(text) != top(module):
            return False
        if not all(part.isidentifier() for part in text.split(".")):
            return False
        return find(text) is not None and not self._is_library(top(text))

    def _take(self, package: str) -> None:
        """Take up every file of a package; its modules ask for what they import."""
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
    """The name by which a module is imported: what `python -m` runs has another one when it runs."""
    spec = getattr(sys.modules.get(module), "__spec__", None)
    return spec.name if module == "__main__" and spec is not None else module


def _digest(code: Mapping[str, Path], data: Mapping[str, Path], reading: Set[str]) -> str:
    """reading: top packages that read docstrings, which then count in all of their modules."""
    made = hashlib.blake2b(digest_size=16)
    for name, path in sorted([*code.items(), *data.items()]):
        made.update(f"{name}\0".encode())
        package = name.partition("/")[0].partition(".")[0]
        made.update(_with_docstrings(path) if package in reading else _read(name, path)[1])
    return made.hexdigest()


@lru_cache(maxsize=8192)
def _read(module: str, file: Path) -> tuple[Asked, bytes]:
    """Returns what a module asks for, and the digest of its code without docstrings; of what is not Python, its
    bytes.
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
