"""Frameworks of JavaScript, run in boxes: rows are checked, and patches judged, by what their programs report."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from rewarden import Client
from rewarden.types import Sample, Use
from tests.repositories.made import repository

pytestmark = [pytest.mark.needs_server, pytest.mark.slow]

MODULES = "REWARDEN_TEST_JEST"
"""The variable that names a folder `node_modules` with Jest."""

TESTS = {
    "junit": """\
const { test } = require("node:test");
const assert = require("node:assert");
const { add, twice } = require("../src/core");
test("adds", () => assert.equal(add(2, 3), 5));
test("doubles", () => assert.equal(twice(4), 8));
""",
    "jest": """\
const { add, twice } = require("../src/core");
test("adds", () => expect(add(2, 3)).toBe(5));
test("doubles", () => expect(twice(4)).toBe(8));
""",
}
COMMANDS = {
    "junit": "node --test --test-reporter=junit --test-reporter-destination=report.xml tests/core.test.js",
    "jest": "node node_modules/jest/bin/jest.js --json --ci --cacheDirectory=/tmp/jest",
}
WRONG = "exports.add = (a, b) => a - b;\nexports.twice = (a) => 2 * a;\n"
RIGHT, BREAKS = WRONG.replace("a - b", "a + b"), WRONG.replace("a - b", "a + b").replace("2 * a", "3 * a")


def patch(text: str) -> str:
    """Returns the diff of the source to this text."""
    old, new = WRONG.splitlines(), text.splitlines()
    lines = [*(f"-{line}" for line in old), *(f"+{line}" for line in new)]
    head = "diff --git a/src/core.js b/src/core.js\n--- a/src/core.js\n+++ b/src/core.js\n"
    return head + f"@@ -1,{len(old)} +1,{len(new)} @@\n" + "\n".join(lines) + "\n"


@pytest.mark.parametrize("framework", ["junit", "jest"])
def test_a_framework_s_own_program_judges_patches(client: Client, folder: Path, launcher: str, framework: str) -> None:
    if launcher == "bwrap" and shutil.which("node") is None:
        pytest.skip("node is not on this machine")
    place = folder / f"{launcher}-{framework}"
    files = {"src/core.js": WRONG, "tests/core.test.js": TESTS[framework], "package.json": '{"name": "calc"}\n'}
    repository(place, files)
    if framework == "jest":
        modules = os.environ.get(MODULES)
        if modules is None:
            pytest.skip(f"Jest is not on this machine: {MODULES} names no node_modules with it")
        shutil.copytree(modules, place / "node_modules", symlinks=True)
    row: dict[str, Any] = {
        "folder": place.name,
        "image": "toolchains",
        "command": COMMANDS[framework],
        "framework": framework,
        "fail_to_pass": ["adds"],
        "pass_to_pass": ["doubles"],
        "patch": patch(RIGHT),
        "timeout_s": 60,
        "memory_mb": 1024,
    }
    if framework == "junit":
        row["report"] = "report.xml"
    samples = [Sample(response=f"```diff\n{patch(text)}```", reference=row) for text in (RIGHT, BREAKS)]
    right, breaks = client.verify(samples, use=Use(name="swe")).verdicts
    assert (right.status, right.score, right.reason) == ("scored", 1.0, None), right
    assert (breaks.status, breaks.score, breaks.reason) == ("scored", 0.0, "tests_failed"), breaks
