"""A small repository that tests make with git, and the rows about it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FILES: Mapping[str, str] = {
    "calc/__init__.py": "",
    "calc/core.py": "def add(a, b):\n    return a - b\n\n\ndef twice(a):\n    return 2 * a\n",
    "tests/__init__.py": "",
    "tests/test_core.py": "from calc.core import twice\n\n\ndef test_twice():\n    assert twice(4) == 8\n",
    "pyproject.toml": '[project]\nname = "calc"\nversion = "1"\n',
}

FIX = """\
diff --git a/calc/core.py b/calc/core.py
--- a/calc/core.py
+++ b/calc/core.py
@@ -1,2 +1,2 @@
 def add(a, b):
-    return a - b
+    return a + b
"""

TEST_PATCH = """\
diff --git a/tests/test_core.py b/tests/test_core.py
--- a/tests/test_core.py
+++ b/tests/test_core.py
@@ -1,5 +1,9 @@
-from calc.core import twice
+from calc.core import add, twice


 def test_twice():
     assert twice(4) == 8
+
+
+def test_add():
+    assert add(2, 3) == 5
"""

UNITTEST_FILES: Mapping[str, str] = {
    **FILES,
    "tests/test_core.py": (
        "import unittest\n\nfrom calc import core\n\n\nclass Core(unittest.TestCase):\n"
        "    def test_twice(self):\n        self.assertEqual(core.twice(4), 8)\n"
    ),
}

UNITTEST_PATCH = """\
diff --git a/tests/test_core.py b/tests/test_core.py
--- a/tests/test_core.py
+++ b/tests/test_core.py
@@ -6,3 +6,6 @@
 class Core(unittest.TestCase):
     def test_twice(self):
         self.assertEqual(core.twice(4), 8)
+
+    def test_add(self):
+        self.assertEqual(core.add(2, 3), 5)
"""


def row(**changed: Any) -> dict[str, Any]:
    """Returns a row whose tests are pytest's."""
    return {
        "files": dict(FILES),
        "command": "python3 -m pytest -q -p no:cacheprovider tests",
        "framework": "pytest",
        "fail_to_pass": ["tests/test_core.py::test_add"],
        "pass_to_pass": ["tests/test_core.py::test_twice"],
        "test_patch": TEST_PATCH,
        "patch": FIX,
        "timeout_s": 20,
        **changed,
    }


def unittest_row(**changed: Any) -> dict[str, Any]:
    """Returns a row whose tests are unittest's."""
    return row(
        **{
            "files": dict(UNITTEST_FILES),
            "command": "python3 -m unittest -v tests.test_core",
            "framework": "unittest",
            "fail_to_pass": ["tests.test_core.Core.test_add"],
            "pass_to_pass": ["test_twice (tests.test_core.Core)"],
            "test_patch": UNITTEST_PATCH,
            **changed,
        }
    )


def git(folder: Path, *words: str) -> str:
    """Runs git, untouched by the machine's settings, and returns what it printed."""
    names = ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL")
    env = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    env |= dict.fromkeys(names, "calc@example.org")
    return subprocess.run(
        ["git", "-C", str(folder), *words], check=True, env=env, capture_output=True, text=True
    ).stdout.strip()


def repository(folder: Path, files: Mapping[str, str] = FILES) -> str:
    """Makes a git repository of files, and returns its commit."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(folder, "init", "-q")
    git(folder, "add", "-A", "-f")
    git(folder, "commit", "-q", "-m", "Begin")
    return git(folder, "rev-parse", "HEAD")


def files_answer(files: Mapping[str, str]) -> str:
    """Returns a response of whole files."""
    return "\n".join(f"{name}\n````\n{text.rstrip()}\n````\n" for name, text in files.items())


def r2e_row() -> dict[str, Any]:
    """Returns a row of R2E-Gym about the repository: its commit mends `add`, and changes a test next to it."""
    test = "from calc.core import add, twice\n\n\ndef test_twice():\n    assert twice(4) == 8\n"
    hunk = {
        "descriptor": {"old_range": {"start": 1, "length": 2}, "new_range": {"start": 1, "length": 2}, "section": ""},
        "line_group": {
            "all_lines": [
                {"content": "def add(a, b):", "type": "context"},
                {"content": "    return a - b", "type": "deleted"},
                {"content": "    return a + b", "type": "added"},
            ]
        },
    }
    return {
        "repo_name": "calc",
        "commit_hash": "9c1d7e2",
        "parsed_commit_content": json.dumps(
            {
                "old_commit_hash": "4f2a9c1",
                "new_commit_hash": "9c1d7e2",
                "file_diffs": [
                    {
                        "header": {"file": {"path": path}, "misc_line": None},
                        "minus_file": {"path": f"a/{path}"},
                        "plus_file": {"path": f"b/{path}"},
                        "hunks": [hunk],
                    }
                    for path in ("calc/core.py", "tests/test_core.py")
                ],
            }
        ),
        "execution_result_content": json.dumps(
            {
                "test_file_names": ["__init__.py", "test_1.py"],
                "test_file_codes": ["", test + "\n\ndef test_add():\n    assert add(2, 3) == 5"],
                "old_commit_res_stdout": "F.\n=== short test summary info ===\nPASSED r2e_tests/test_1.py::test_twice\n"
                "FAILED r2e_tests/test_1.py::test_add - assert -1 == 5\n=== 1 failed, 1 passed ===\n",
                "new_commit_res_stdout": "..\n=== short test summary info ===\nPASSED r2e_tests/test_1.py::test_twice\n"
                "PASSED r2e_tests/test_1.py::test_add\n=== 2 passed ===\n",
            }
        ),
        "expected_output_json": json.dumps({"\x1b[1mtest_twice\x1b[0m": "PASSED", "test_add": "PASSED"}),
    }
