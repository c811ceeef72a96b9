"""The paths of a repository that belong to its tests, and those that decide how tests are found and run.

A candidate's changes to both are dropped. Attack: edit the tests, skip them in a `conftest.py`, collect nothing by
`pytest.ini`, run code at interpreter startup (`sitecustomize.py`, `*.pth`), register a plug-in by package metadata.

A file that the reference's solution also changes is not a test: testing libraries have folders with such names, and a
doctest's id names its source file.
"""

from __future__ import annotations

import fnmatch
import posixpath
import re
from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Literal

Kind = Literal["configuration", "test"]

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
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "pnpm-workspace.yaml",
    ".npmrc",
    ".yarnrc*",
    ".pnp.*",
    "jest.config.*",
    "jest.setup.*",
    "jest-setup.*",
    "jest-preset.*",
    "setupTests.*",
    "setup-tests.*",
    "setup-jest.*",
    "setupJest.*",
    "test-setup.*",
    "vitest.config.*",
    "vitest.setup.*",
    "vitest.workspace.*",
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
    "pom.xml",
    "build.xml",
    "build.gradle",
    "build.gradle.kts",
    "settings.gradle",
    "settings.gradle.kts",
    "gradle.properties",
    "gradlew",
    "gradlew.bat",
    "mvnw",
    "mvnw.cmd",
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
_DECIDING_FOLDERS = ("*.egg-info", "*.dist-info", "__pycache__", ".cargo", ".mvn", "node_modules", "__mocks__")
_GO_FOLDERS = ("vendor",)
_WORD = re.compile(r"[^\s;&|()<>'\"`=]+")
_MOST_WORDS = 10_000
_AT = ("cd", "pushd", "-C", "--prefix", "--directory")
"""Words before a folder to which a command's later paths are relative."""


def decides(path: str) -> bool:
    """Returns whether a path decides how tests are found, built or run."""
    *folders, name = path.split("/")
    return _any(name, _DECIDING) or any(_any(folder, _DECIDING_FOLDERS) for folder in folders)


def paths_in(command: str, root: str) -> frozenset[str]:
    """Returns the paths that a command may refer to: scripts that run the tests, and modules (`-m tools.check`)."""
    words = _WORD.findall(command)[:_MOST_WORDS]
    folders = ["", *(after for word, after in pairwise(words) if word in _AT)][:20]
    named = list(words)
    for word, module in pairwise(words):
        if word == "-m":
            path = module.replace(".", "/")
            named += [f"{path}.py", f"{path}/__main__.py"]
    whole = {posixpath.normpath(posixpath.join(root, folder, word)) for folder in folders for word in named}
    return frozenset(posixpath.relpath(path, root) for path in whole if path.startswith(root.rstrip("/") + "/"))


class Owned:
    """The paths of a repository that belong to its tests or decide how they run. named: files that the row changes for
    its tests. ids: files that test ids name. patterns: of further tests. solved: the paths that the solution changes.
    command: the paths that the command names.
    """

    def __init__(
        self,
        *,
        named: Collection[str] = (),
        ids: Collection[str] = (),
        patterns: Sequence[str] = (),
        solved: Collection[str] = (),
        command: Collection[str] = (),
        framework: str = "",
    ) -> None:
        self._named = frozenset(named)
        self._ids = frozenset(ids)
        self._patterns = tuple(patterns)
        self._solved = frozenset(path for path in solved if not self._decides(path, framework))
        self._command = frozenset(command)
        self._framework = framework

    def kind(self, path: str) -> Kind | None:
        """Returns the kind of a path; None if the candidate may change it."""
        if self._decides(path, self._framework):
            return "configuration"
        if path in self._named or _any(path, self._patterns):
            return "test"
        if path in self._solved:
            return None
        if path in self._ids or self._has_name_of_test(path):
            return "test"
        return "configuration" if path in self._command else None

    @staticmethod
    def _decides(path: str, framework: str) -> bool:
        # Attack: replacing the assertions of a library that Go reads from the repository.
        return decides(path) or (framework == "go" and any(one in _GO_FOLDERS for one in path.split("/")[:-1]))

    def _has_name_of_test(self, path: str) -> bool:
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
