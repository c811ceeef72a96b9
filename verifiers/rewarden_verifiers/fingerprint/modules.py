"""The locations of modules, and the files next to them, found without importing anything."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES
from pathlib import Path

from rewarden_verifiers.fingerprint.sources import TABLE

_SUFFIXES = (*SOURCE_SUFFIXES, *EXTENSION_SUFFIXES)

_NO_DATA = (".pyc", ".cases.jsonl")
"""Suffixes of files that no verdict depends on: bytecode, and cases, which are documentation."""

_LONGEST_NAME = 200
"""In bytes. Longer texts are not file names, and systems raise an error for them."""

_DISTRIBUTIONS = {
    "re2": "google-re2",
    "yaml": "pyyaml",
}
"""Packages that our verifiers import and whose distributions have other names: searching all installed packages takes
half a second.
"""


@dataclass(frozen=True, slots=True)
class Place:
    """The location of a module. file: None for a package without `__init__`, and for code without a file of its own.
    folders: the folders of its submodules; empty for a module that is not a package.
    """

    file: Path | None
    folders: tuple[Path, ...] = ()


@lru_cache(maxsize=16384)
def find(module: str) -> Place | None:
    """The location of a module, or None if there is no such module."""
    above, _, name = module.rpartition(".")
    if above:
        package = find(above)
        found = None if package is None else _within(package.folders, name)
        return found or _loaded(module)
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):  # a script, `__main__`, has no spec
        spec = None
    if spec is None:
        return _loaded(module)
    folders = [*(spec.submodule_search_locations or ()), *_path_of(module)]
    return Place(_file(spec.origin) if spec.has_location else None, _existing(folders))


def _within(folders: Sequence[Path], name: str) -> Place | None:
    """The location of a submodule. The import system cannot be used, because it imports the parent packages."""
    parts: list[Path] = []
    for folder in folders:
        names = _names_in(folder)
        if name in names and (init := folder / name / "__init__.py").is_file():
            return Place(init, (folder / name,))
        for suffix in _SUFFIXES:
            if f"{name}{suffix}" in names and (file := folder / f"{name}{suffix}").is_file():
                return Place(file)
        if name in names and (folder / name).is_dir():
            parts.append(folder / name)  # a package without `__init__`, perhaps split over several folders
    return Place(None, tuple(parts)) if parts else None


def _loaded(module: str) -> Place | None:
    """The location of a loaded module that is on no path, as with an editable install of a part."""
    loaded = sys.modules.get(module)
    return None if loaded is None else Place(_file(getattr(loaded, "__file__", None)), _existing(_path_of(module)))


def _path_of(module: str) -> list[str]:
    """The folders of a loaded package: code can add to them."""
    return [*getattr(sys.modules.get(module), "__path__", ())]


def _existing(folders: Sequence[str]) -> tuple[Path, ...]:
    return tuple(path for path in map(Path, dict.fromkeys(folders)) if path.is_dir())


def _file(name: str | None) -> Path | None:
    """The file of that name; None for a module within a zip, which has no file of its own."""
    return path if name is not None and (path := Path(name)).is_file() else None


@lru_cache(maxsize=1024)
def _names_in(folder: Path) -> frozenset[str]:
    return frozenset(os.listdir(folder)) if folder.is_dir() else frozenset()


def top(module: str) -> str:
    """The top-level package."""
    return module.partition(".")[0]


def packages_of(module: str) -> list[str]:
    """The packages that contain a module, from the top; includes the module itself if it is a package."""
    parts = module.split(".")
    names = [".".join(parts[:end]) for end in range(1, len(parts) + 1)]
    return [name for name in names if (place := find(name)) is not None and place.folders]


# --- files of a package -----------------------------------------------------------------------------------------------


def files_in(package: str, folder: str = "") -> Iterator[tuple[str, Path]]:
    """Every file in a package, or in a folder of it, by a name that is the same on every machine."""
    for base in _folders(package):
        seen: set[str] = set()
        for place, folders, names in os.walk(base / folder, followlinks=True):
            if (real := os.path.realpath(place)) in seen:  # a cyclic link
                folders.clear()
                continue
            seen.add(real)
            folders[:] = sorted(name for name in folders if name != "__pycache__")
            for name in sorted(names):
                path = Path(place, name)
                if path.is_file() and not name.endswith(_NO_DATA) and path != TABLE:
                    yield f"{package}/{path.relative_to(base).as_posix()}", path


def files_named(text: str, module: str) -> Iterator[tuple[str, Path]]:
    """The files that a text in a module can name: next to the module, or in a package that contains it.

    A folder stands for every file in it.
    """
    if not text.strip("./") or not text.isprintable() or len(text.encode()) > _LONGEST_NAME:
        return
    packages = packages_of(module)
    inside = ".." not in text and not text.startswith("/")  # folders elsewhere, such as "/", are not the module's data
    for package in packages:
        for folder in _folders(package):
            if (folder / text).is_file() and not text.endswith(_NO_DATA):
                yield f"{package}/{text}", folder / text
        if inside:
            yield from files_in(package, text)
    place = find(module)
    if not packages and place is not None and place.file is not None:  # a script, or a module outside any package
        named = place.file.parent / text
        beside = [named] if named.is_file() else sorted(named.rglob("*")) if inside else []
        for path in beside:
            if path.is_file():
                yield f"{module}/{os.path.relpath(path, place.file.parent)}", path


def _folders(package: str) -> tuple[Path, ...]:
    place = find(package)
    return () if place is None else place.folders


# --- distributions ----------------------------------------------------------------------------------------------------


def is_library(package: str, of: str) -> bool:
    """Returns whether a top-level package is a library to the package `of`, so that its version identifies its
    behaviour.

    The standard library is one, and so is anything that another distribution has installed. A package on the path that
    is not installed, such as a helper next to a script or an editable install, is code of `of` itself.
    """
    place = find(package)
    if place is None:
        return True
    lies = [path for path in (place.file, *place.folders) if path is not None]
    if any(_is_standard(path) for path in lies) or (not lies and package in sys.stdlib_module_names):
        return True
    owners = set(distributions().get(package, ()))
    if not owners or owners & set(distributions().get(of, ())):
        return False
    bases = [Path(str(importlib.metadata.distribution(owner).locate_file(""))) for owner in owners]
    return any(path.is_relative_to(base) for path in lies for base in bases)


def _is_standard(path: Path) -> bool:
    """Returns whether a file belongs to the standard library, judged by its location: a helper can have the name of a
    standard module.
    """
    standard = Path(sysconfig.get_path("stdlib"))
    return path.is_relative_to(standard) and not {"site-packages", "dist-packages"} & set(path.parts)


def siblings(package: str) -> list[str]:
    """The top-level packages that come from the same distribution as this one."""
    own = set(distributions().get(package, ()))
    return [name for name, owners in distributions().items() if own & set(owners)]


@lru_cache(maxsize=1024)
def distributions_of(package: str) -> tuple[str, ...]:
    """The names of the distributions that provide a top-level package; its own name if none is installed."""
    known = _DISTRIBUTIONS.get(package, package)
    try:
        return (_normalised(importlib.metadata.distribution(known).name),)
    except importlib.metadata.PackageNotFoundError:
        # A namespace package, such as `google`, comes from several.
        installed = distributions().get(package, ()) if find(package) is not None else ()
        return tuple(sorted({_normalised(name) for name in installed or [known]}))


def _normalised(name: str) -> str:
    """Normalises a name as the Python Packaging User Guide defines it: Jinja2 and jinja2 are the same."""
    return re.sub(r"[-_.]+", "-", name).lower()


@lru_cache(maxsize=1)
def distributions() -> Mapping[str, Sequence[str]]:
    """The names of the distributions that provide each top-level package."""
    return importlib.metadata.packages_distributions()
