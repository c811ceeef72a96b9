"""Every module and data file that a verifier's code reaches, from syntax trees alone.

Too much rather than not enough: a module counts wherever it is imported, even in a function that is never called.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Mapping, Set
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from rewarden_verifiers.fingerprint import tree
from rewarden_verifiers.fingerprint.imports import Asked, asked
from rewarden_verifiers.fingerprint.modules import data_in, data_named, find, is_library, modules_in, packages_of, top

SHARED = tuple(f"rewarden_verifiers.{name}" for name in ("contract", "outcome", "schema", "view"))
"""What every verdict passes through: what a verifier reads is made and checked there."""

_OURS = frozenset({"rewarden", "rewarden_verifiers"})

_DESCRIBING = frozenset({"rewarden_verifiers.contract", "rewarden_verifiers.schema"})
"""They read docstrings to show them; no verdict depends on that."""


@dataclass(frozen=True, slots=True)
class Closure:
    """What a module's code reaches. code: by module; data: by a name that is the same on every machine; libraries: top
    packages that are imported from elsewhere. digest: over code and data, in hex. whole: False if some of the code has
    no file, as in a notebook or a zip, and so cannot be looked at.
    """

    code: Mapping[str, Path]
    data: Mapping[str, Path]
    libraries: frozenset[str]
    digest: str
    whole: bool


@lru_cache(maxsize=1024)
def closure(module: str) -> Closure:
    """The closure of a verifier's module, of what every verdict passes through, and of the packages that these lie in.

    Of libraries only the names are told. A verifier's own package, and what it imports that is not installed, is code;
    where that finds files or modules by names that it makes, all of its package is.
    """
    code: dict[str, Path] = {}
    data: dict[str, Path] = {}
    libraries: set[str] = set()
    reading: set[str] = set()
    seen: set[str] = set()
    whole = find(module) is not None
    waiting = [module, *SHARED]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        if top(name) not in (*_OURS, top(module)) and (top(module) in _OURS or is_library(top(name), top(module))):
            libraries.add(top(name))
            continue
        place = find(name)
        if place is None:
            continue  # a name within a module
        waiting += packages_of(name)
        if place.file is None:
            whole = whole and bool(place.folders)
            continue
        code[name] = place.file
        wanted, _ = _read(name, place.file)
        waiting += wanted.modules
        if wanted.reads and name not in _DESCRIBING:
            reading.add(top(name))
        if wanted.reaches:
            modules, files = _reached(name, wanted)
            waiting += modules
            data.update(files)
    return Closure(code, data, frozenset(libraries), _digest(code, data, reading), whole)


def _digest(code: Mapping[str, Path], data: Mapping[str, Path], reading: Set[str]) -> str:
    """reading: top packages that read docstrings, which then count in all of their modules."""
    made = hashlib.blake2b(digest_size=16)
    for name, path in sorted(code.items()):
        made.update(f"{name}\0".encode())
        made.update(_with_docstrings(path) if top(name) in reading else _read(name, path)[1])
    for name, path in sorted(data.items()):
        made.update(f"{name}\0".encode())
        made.update(_of_bytes(path))
    return made.hexdigest()


def _reached(module: str, wanted: Asked) -> tuple[list[str], dict[str, Path]]:
    """The modules and the data that a module may find by names that it makes.

    Ours write those names out, and a test watches what they really open. Of others', everything in their package.
    """
    own, packages = top(module), packages_of(module)
    if own == "rewarden":
        return [], {}  # the client, which loads its transports so; verifiers know no more of it than types and errors
    if own not in _OURS and packages:
        return [*modules_in(own)], dict(data_in(own))
    named = [text for text in wanted.texts if top(text) == own and find(text) is not None]
    modules = [*named, *(name for text in named for name in modules_in(text))]
    return modules, {name: path for text in wanted.texts for name, path in data_named(text, module)}


@lru_cache(maxsize=4096)
def _read(module: str, file: Path) -> tuple[Asked, bytes]:
    """What a module asks for, and the digest of its code without docstrings; of a compiled one, its bytes.

    A file that is not Python although it is called so, such as a template in a package, is never imported.
    """
    parsed = _parsed(file)
    if parsed is None:
        return Asked(), _of_bytes(file)
    place = find(module)
    package = module if place is not None and place.folders else module.rpartition(".")[0]
    return asked(parsed, package), tree.digest(parsed, docstrings=False)


@lru_cache(maxsize=1024)
def _with_docstrings(file: Path) -> bytes:
    parsed = _parsed(file)
    return _of_bytes(file) if parsed is None else tree.digest(parsed, docstrings=True)


def _parsed(file: Path) -> ast.Module | None:
    if file.suffix != ".py":
        return None
    try:
        return ast.parse(file.read_bytes(), filename=str(file))
    except (SyntaxError, ValueError, RecursionError):
        return None


def _of_bytes(file: Path) -> bytes:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, lambda: hashlib.blake2b(digest_size=16)).digest()
