"""The paths of a repository that belong to its tests, and those that decide how tests are found and run.

A candidate's changes to both are dropped. Attack: edit the tests, skip them in a `conftest.py`, collect nothing by
`pytest.ini`, start with the interpreter (`sitecustomize.py`, `*.pth`), register a plug-in by package metadata.

What the reference's solution changes as well is no test: a library for tests lies in folders of such names.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Collection, Sequence

_FOLDERS = frozenset({"test", "tests", "__tests__", "testdata", "__snapshots__", "spec", "specs", "e2e"})
_TESTS = (
    "test_*.py",
    "*_test.py",
    "tests.py",
    "*_test.go",
    "*.test.[jt]s",
    "*.test.[jt]sx",
    "*.test.[cm][jt]s",
    "*.spec.[jt]s",
    "*.spec.[jt]sx",
    "*.spec.[cm][jt]s",
    "*.snap",
    "*Test.java",
    "*Tests.java",
    "*_spec.rb",
)
_DECIDING = (
    "conftest.py",
    "pytest.ini",
    ".pytest.ini",
    "pytest.toml",
    ".pytest.toml",
    "tox.ini",
    "setup.cfg",
    "pyproject.toml",
    "noxfile.py",
    ".coveragerc",
    "sitecustomize.py",
    "usercustomize.py",
    "*.pth",
    "*.pyc",
    "*.egg-link",
    "pyvenv.cfg",
    "package.json",
    "package-lock.json",
    ".npmrc",
    "jest.config.*",
    "jest.setup.*",
    "jest-setup.*",
    "vitest.config.*",
    "vite.config.*",
    "babel.config.*",
    ".babelrc",
    ".babelrc.*",
    ".swcrc",
    ".mocharc*",
    "karma.conf.*",
    "tsconfig*.json",
    "go.mod",
    "go.sum",
    "go.work",
    "go.work.sum",
    "build.rs",
    "rust-toolchain",
    "rust-toolchain.toml",
    "Makefile",
    "GNUmakefile",
    "makefile",
    "Cargo.toml",
    "Cargo.lock",
    ".gitattributes",
    ".gitmodules",
)
_DECIDING_FOLDERS = ("*.egg-info", "*.dist-info", "__pycache__", ".cargo", "node_modules", "__mocks__")


def decides(path: str) -> bool:
    """Returns whether a path decides how tests are found, built or run."""
    *folders, name = path.split("/")
    return _any(name, _DECIDING) or any(_any(folder, _DECIDING_FOLDERS) for folder in folders)


class Owned:
    """The paths of a repository that are its tests'. named: files that the reference names, and patterns of more.
    solved: the paths that its solution changes."""

    def __init__(self, named: Collection[str], patterns: Sequence[str], solved: Collection[str]) -> None:
        self._named = frozenset(named)
        self._patterns = tuple(patterns)
        self._solved = frozenset(solved)

    def __contains__(self, path: str) -> bool:
        if path in self._named or _any(path, self._patterns):
            return True
        if path in self._solved:
            return False
        *folders, name = path.split("/")
        if _any(name, _TESTS):
            return True
        for number, folder in enumerate(folders, 1):
            head = "/".join(folders[:number]) + "/"
            if folder in _FOLDERS and not any(solved.startswith(head) for solved in self._solved):
                return True
        return False


def _any(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
