"""The files that a test file reaches, and so the tests that a change must run again.

A file reaches what it imports when it runs, wherever in it the import stands, and so on; the `__init__` files of those
packages; the `conftest.py` files above it; modules that it names in a text, as one that starts
`python -m rewarden_server` does; what SHIPS lists; the commands, which entry points name; and the verifiers and recipes
that a test names, which the registry imports by that name, or all of them where a test goes through the registry.
Imports run one way (tests/test_imports.py), so what is not reached in this way is not loaded.

Files that are not Python are reached with the modules of the nearest folder that has any; outside the packages they are
reached by the tests that name one of their folders, or the file, in a text.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Set
from functools import cache, lru_cache
from pathlib import Path

import tomllib

from rewarden_verifiers.fingerprint.imports import asked
from rewarden_verifiers.registry import BUILT_IN, GALLERY
from tests.imports import FOLDERS, ROOT

TESTS = ROOT / "tests"
PACKAGES = {**FOLDERS, "tests": TESTS, "benchmarks": ROOT / "benchmarks"}
EVERYTHING = (
    "Makefile",
    ".ci",
    "pyproject.toml",
    "client/pyproject.toml",
    "scripts",
    "locks",
    "tests/suite",
    "tests/conftest.py",
    "tests/imports.py",
    "verifiers/rewarden_verifiers/fingerprint/imports.py",
)
"""Files and folders that install, run and select the suite, and so reach every test; and requirements*.txt."""
SHIPS = {
    PACKAGES["rewarden_sandboxes"] / "slot.py": PACKAGES["rewarden_sandboxes"] / "agent",
    PACKAGES["rewarden_verifiers"] / "lean/inspecting.py": PACKAGES["rewarden_verifiers"] / "lean/inspection",
}
"""Modules that read the sources of others, and send them into a sandbox."""
PROCESSES = ("rewarden_sandboxes", "rewarden_models")
"""Packages that the server runs as processes of their own, naming them in a command line."""
REGISTRY = frozenset(PACKAGES["rewarden_verifiers"] / name for name in ("registry.py", "cases.py"))
MODULE = re.compile(r"\b(?:rewarden(?:_\w+)?|tests|benchmarks)(?:\.\w+)+")
COMMANDS = PACKAGES["rewarden"] / "__main__.py"
WHOLE = TESTS / "compose"
"""Tests that build images of the whole checkout."""
CASES = (TESTS / "verifiers/test_cases.py",)
"""Tests that run for every verifier there is, without naming any."""


def tests_reached(changed: Iterable[Path]) -> set[Path]:
    """Files of tests that reach a changed file in any way."""
    touched = set(changed)
    every = set(TESTS.rglob("test_*.py"))
    if any(_is_everyones(path) for path in touched):
        return every
    modules, loose = _sorted_out(touched)
    whole = {test for test in every if test.is_relative_to(WHOLE)}
    return whole | {test for test in every - whole if reached(test) & modules or _mentions(test, loose)}


def tests_near(changed: Iterable[Path]) -> set[Path]:
    """Files of tests that import a changed file, whatever verifiers they name: what a change is proven with first."""
    touched = set(changed)
    modules, loose = _sorted_out(touched)
    near = {
        test for test in TESTS.rglob("test_*.py") if closure(_start(test), imports) & modules or _mentions(test, loose)
    }
    return near | set(CASES if any(path.is_relative_to(PACKAGES["rewarden_verifiers"]) for path in touched) else ())


@cache
def reached(test: Path) -> frozenset[Path]:
    """Every Python file that a file of tests may load, the verifiers that it names included."""
    own = closure(_start(test), loads)
    ours = [path for path in own if path.is_relative_to(TESTS)]
    if any(imports(path) & REGISTRY for path in ours):
        named: Set[str] = {*BUILT_IN}
    else:
        named = {word for path in ours for word in texts(path)}
    return own | closure(frozenset(module for name in named for module in judges(name)), loads)


@cache
def judges(name: str) -> frozenset[Path]:
    """The modules of a verifier, or of the verifiers that a recipe's text names."""
    if name in BUILT_IN:
        found = find(BUILT_IN[name].partition(":")[0])
        return frozenset() if found is None else frozenset({found})
    recipe = GALLERY / f"{name}.yaml"
    if "/" in name or "\0" in name or len(name) > 100 or not recipe.is_file():
        return frozenset()
    words = set(re.findall(r"\w+", recipe.read_text(encoding="utf-8"))) & set(BUILT_IN)
    return frozenset().union(*(judges(word) for word in words))


def closure(start: frozenset[Path], step: Callable[[Path], frozenset[Path]]) -> frozenset[Path]:
    """These files, and all that is reached from them step by step."""
    found, waiting = set(start), list(start)
    while waiting:
        for path in step(waiting.pop()) - found:
            found.add(path)
            waiting.append(path)
    return frozenset(found)


@cache
def loads(path: Path) -> frozenset[Path]:
    """The files of ours that one file imports, names as modules in a text, or sends elsewhere."""
    found = set(imports(path))
    if path in SHIPS:
        found.update(SHIPS[path].rglob("*.py"))
    if path == COMMANDS:
        found.update(each for module in _entry_points().values() for each in _with_parents(module))
    for text in texts(path):
        if path.is_relative_to(TESTS):
            names = {_entry_points().get(text, ""), *MODULE.findall(text), *({text} & set(PACKAGES))} - {"", "tests"}
        else:  # its texts are names and addresses of many kinds: only those that are modules and nothing else
            names = {text} if "." in text or text in PROCESSES else set()
        found.update(each for name in names for one in (name, f"{name}.__main__") for each in _with_parents(one))
    return frozenset(found - {path})


@lru_cache(maxsize=1)
def _entry_points() -> dict[str, str]:
    """Returns what the client finds through entry points: name to module."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    return {name: str(value).partition(":")[0] for group in groups.values() for name, value in group.items()}


@cache
def imports(path: Path) -> frozenset[Path]:
    """The files of ours that one file imports."""
    names = asked(_tree(path), _package(path)).modules
    return frozenset({each for name in names for each in _with_parents(name)} - {path})


def find(module: str) -> Path | None:
    """The file of a module of ours, or None."""
    top, *parts = module.split(".")
    if top not in PACKAGES:
        return None
    place = PACKAGES[top].joinpath(*parts)
    return next((path for path in (place.with_name(f"{place.name}.py"), place / "__init__.py") if path.is_file()), None)


@cache
def texts(path: Path) -> frozenset[str]:
    """Every text that is in a file, docstrings aside."""
    found: set[str] = set()
    prose: set[ast.AST] = set()
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Expr):  # walked before what is in it
            prose.add(node.value)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in prose:
            found.add(node.value)
    return frozenset(found)


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _with_parents(module: str) -> Iterator[Path]:
    """The file of a module and the `__init__` files above it; of a name within a module, nothing but those."""
    parts = module.split(".")
    places = [find(".".join(parts[:end])) for end in range(len(parts), 0, -1)]
    yield from filter(None, places if any(places[:2]) else ())


def _package(path: Path) -> str:
    for name, folder in PACKAGES.items():
        if path.is_relative_to(folder):
            return ".".join([name, *path.relative_to(folder).parts[:-1]])
    return ""


def _start(test: Path) -> frozenset[Path]:
    above = [folder / name for folder in test.parents for name in ("conftest.py", "__init__.py")]
    return frozenset({test, *(path for path in above if path.is_relative_to(TESTS) and path.is_file())})


def _is_everyones(path: Path) -> bool:
    name = path.relative_to(ROOT)
    return any(name.is_relative_to(each) for each in EVERYTHING) or name.name.startswith("requirements")


def _sorted_out(changed: Set[Path]) -> tuple[set[Path], set[str]]:
    """Modules that changed, or are next to a file that did; and what tests may call the other files by."""
    modules: set[Path] = set()
    loose: set[str] = set()
    for path in changed:
        if not any(path.is_relative_to(folder) for folder in PACKAGES.values()):
            loose.update(path.relative_to(ROOT).parts)
        elif path.suffix == ".py":
            modules.add(path)
        else:
            modules.update(next(filter(None, ([*folder.glob("*.py")] for folder in path.parents if folder.is_dir()))))
    return modules, loose


def _mentions(test: Path, names: Set[str]) -> bool:
    """Returns whether a file of tests, or what it imports of the tests, names one of these in a text."""
    if not names:
        return False
    words = (word for path in closure(_start(test), imports) if path.is_relative_to(TESTS) for word in texts(path))
    return any(part in names for word in words for part in word.split("/"))
