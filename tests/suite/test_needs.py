"""A table lists the tests that a run skipped: the missing part, the number of tests, and the command that installs
it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.suite.groups import GROUPS
from tests.suite.needs import lacking_in_ci, need_of, needs, table

TESTS = Path(__file__).parents[1]


def test_reasons_are_grouped_by_what_is_missing() -> None:
    skipped = {
        "tests/a.py::test_one": "could not import 'torch': No module named 'torch'",
        "tests/a.py::test_two": "models need torch, transformers, gguf, safetensors",
        "tests/b.py": "no Chromium here (apt-get install chromium)",
    }
    lines = table(skipped, 10)
    assert lines[0] == "Not tried here: 3 of 10 tests."
    assert [line.split()[0] for line in lines[2:]] == ["2", "1"]
    assert "make test MODELS=1" in lines[2]
    assert "apt-get install chromium" in lines[3]
    assert table({}, 10) == ["All 10 tests were tried."]


def test_a_reason_that_is_not_known_is_told_as_it_is() -> None:
    lines = table({"tests/a.py::test_one": "the moon is down"}, 2)
    assert lines[-1].split() == ["1", "the", "moon", "is", "down"]
    assert lacking_in_ci(["the moon is down"]) == ["the moon is down"]


@pytest.mark.parametrize(
    ("reason", "allowed"),
    [
        ("docker: no container engine answers", False),
        ("no redis-server on this machine", False),
        ("models need torch", True),
        (GROUPS["launcher"], True),
        ("wandb writes a run offline", True),
    ],
)
def test_ci_may_lack_only_what_it_installs_later_or_says_why_not(reason: str, allowed: bool) -> None:
    assert (lacking_in_ci([reason]) == []) is allowed


def test_every_need_is_whole() -> None:
    for need in needs():
        assert need.what, need
        assert need.command, need
        assert need.ci in ("core", "extra", "never"), need
        assert (need.ci == "never") is bool(need.because), need


def test_every_reason_that_is_written_down_is_known() -> None:
    """Reasons that are put together when a test runs are held by CI, which fails where it does not know one."""
    unknown = {
        f"{path.relative_to(TESTS)}: {reason}"
        for path in TESTS.rglob("*.py")
        if "suite" not in path.parts and path.name != "hacks.py"  # hacks skip in the sandbox
        for reason in _reasons(path)
        if need_of(reason) is None
    }
    assert unknown == set()


def _reasons(path: Path) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            given = {keyword.arg: keyword.value for keyword in node.keywords}
            if node.func.attr in ("importorskip", "skipif") and "reason" in given:
                found.append(given["reason"])
            elif node.func.attr == "skip" and (node.args or "reason" in given):
                found.append(node.args[0] if node.args else given["reason"])
    return [str(node.value) for node in found if isinstance(node, ast.Constant)]
