"""The paths that belong to tests, and those that decide how tests run."""

from __future__ import annotations

import pytest

from rewarden_verifiers.repositories.owned import Owned, decides


@pytest.mark.parametrize(
    "path",
    [
        "conftest.py",
        "src/pkg/conftest.py",
        "pytest.ini",
        "setup.cfg",
        "pyproject.toml",
        "tox.ini",
        "sitecustomize.py",
        "lib/x.pth",
        "calc.egg-info/entry_points.txt",
        "calc/__pycache__/core.cpython-311.pyc",
        "jest.config.mjs",
        "web/package.json",
        "tsconfig.build.json",
        "go.mod",
        ".cargo/config.toml",
        "Makefile",
    ],
)
def test_a_path_that_decides_how_tests_run(path: str) -> None:
    assert decides(path)


@pytest.mark.parametrize("path", ["calc/core.py", "setup.py", "src/config.ts", "docs/conftest.md", "cargo/main.rs"])
def test_a_path_that_does_not(path: str) -> None:
    assert not decides(path)


def test_the_tests_are_those_that_are_named_and_those_with_usual_names() -> None:
    owned = Owned(["checks/one.py"], ["more/*"], [])
    for path in ("checks/one.py", "more/a/b.txt", "tests/helpers.py", "a/test_x.py", "x_test.go", "ui/a.spec.tsx"):
        assert path in owned, path
    for path in ("checks/two.py", "calc/core.py", "contest/a.py", "latest.py"):
        assert path not in owned, path


def test_what_the_solution_changes_is_no_test_and_nor_are_its_neighbours() -> None:
    owned = Owned(["lib/test/test_client.py"], [], ["lib/test/client.py", "a/test_tools.py"])
    for path in ("lib/test/client.py", "lib/test/runner.py", "a/test_tools.py"):
        assert path not in owned, path
    for path in ("lib/test/test_client.py", "lib/test/test_more.py", "other/test/client.py"):
        assert path in owned, path
