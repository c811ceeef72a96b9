"""The paths that belong to tests, and those that decide how tests run."""

from __future__ import annotations

import pytest

from rewarden_verifiers.repositories.owned import Owned, decides, paths_in


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
        "src/setupTests.js",
        "vitest.setup.ts",
        "yarn.lock",
        "pom.xml",
        "app/build.gradle.kts",
        "gradlew",
        ".mvn/jvm.config",
    ],
)
def test_a_path_that_decides_how_tests_run(path: str) -> None:
    assert decides(path)


@pytest.mark.parametrize("path", ["calc/core.py", "setup.py", "src/config.ts", "docs/conftest.md", "cargo/main.rs"])
def test_a_path_that_does_not(path: str) -> None:
    assert not decides(path)


def test_the_tests_are_those_that_are_named_and_those_with_usual_names() -> None:
    owned = Owned(named=["checks/one.py"], patterns=["more/*"], ids=["checks/three.py"])
    for path in ("checks/one.py", "checks/three.py", "more/a/b.txt", "tests/helpers.py", "a/test_x.py", "x_test.go"):
        assert owned.kind(path) == "test", path
    for path in ("checks/two.py", "calc/core.py", "contest/a.py", "latest.py"):
        assert owned.kind(path) is None, path


def test_what_the_solution_changes_is_no_test_and_nor_are_its_neighbours() -> None:
    owned = Owned(named=["lib/test/test_client.py"], solved=["lib/test/client.py", "a/test_tools.py"])
    for path in ("lib/test/client.py", "lib/test/runner.py", "a/test_tools.py"):
        assert owned.kind(path) is None, path
    for path in ("lib/test/test_client.py", "lib/test/test_more.py", "other/test/client.py"):
        assert owned.kind(path) == "test", path


def test_what_the_solution_changes_is_the_candidates_though_an_id_or_the_command_names_it() -> None:
    owned = Owned(ids=["calc/core.py"], command=["calc/core.py", "calc/more.py"], solved=["calc/core.py", "Makefile"])
    assert owned.kind("calc/core.py") is None
    assert owned.kind("calc/more.py") == owned.kind("Makefile") == "configuration"


def test_libraries_that_go_reads_from_the_repository_are_not_the_candidates() -> None:
    path = "vendor/github.com/stretchr/testify/assert/assertions.go"
    assert Owned(framework="go").kind(path) == "configuration"
    assert Owned(framework="jest").kind("vendor/some.js") is None


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("./run_tests.sh", "run_tests.sh"),
        ("bash ci/run.sh -v", "ci/run.sh"),
        ("cd web && ./run.sh", "web/run.sh"),
        ("make -C web/app check; sh 'x y.sh'", "web/app/check"),
        ("A=1 python /testbed/tools/check.py --fast", "tools/check.py"),
        ("sh -c 'tools/check.py'", "tools/check.py"),
        ("python -m tools.check", "tools/check.py"),
        ("python -m tools.check", "tools/check/__main__.py"),
    ],
)
def test_a_path_that_the_command_names(command: str, path: str) -> None:
    assert path in paths_in(command, "/testbed")


def test_a_command_names_no_path_outside_the_repository() -> None:
    assert paths_in("sh ../a.sh /etc/b.sh /testbed/../c.sh .", "/testbed") == {"sh"}
