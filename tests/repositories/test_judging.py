"""The blame for a failure, in rows without a solution and in those whose frameworks only print."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from rewarden import Client
from rewarden.routing.forms import read_reference
from rewarden.types import Sample, Use
from rewarden_server.config import load_config
from tests.repositories.made import FILES, FIX, files_answer, r2e_row, row, unittest_row
from tests.server.box_host import HostProcess

pytestmark = [pytest.mark.needs_server, pytest.mark.slow]

WRONG = FILES["calc/core.py"]
RIGHT = WRONG.replace("a - b", "a + b")
ORDINARY = """\
import enum, sys
from collections import namedtuple
from dataclasses import dataclass
from typing import NamedTuple

@dataclass
class Pair:
    a: int
    b: int = 0

@dataclass(frozen=True)
class Frozen:
    a: int

class Named(NamedTuple):
    a: int

class Kind(enum.Enum):
    ADD = 1

class Vendor:
    def find_spec(self, *names):
        return None

Point = namedtuple("Point", "x y")
sys.meta_path.append(Vendor())
Pair.__module__ = "calc"
point = Pair(1)
point.__class__ = type("Other", (Pair,), {})
"""
CHECK = """\
import sys
from calc.core import *

failed = []

def told(name, passed):
    print("--- %s: %s (0.00s)" % ("PASS" if passed else "FAIL", name))
    failed.extend([] if passed else [name])

told("TestAdd", add(2, 3) == 5)
told("TestTwice", twice(4) == 8)
told("TestOther", "other" not in globals())
sys.exit(bool(failed))
"""


def printed(**changed: Any) -> dict[str, Any]:
    """Returns a row whose script prints the lines that Go does."""
    made = {
        "command": "python3 check.py",
        "framework": "go",
        "fail_to_pass": ["TestAdd"],
        "pass_to_pass": ["TestTwice"],
    }
    return row(**{**made, "files": {**FILES, "check.py": CHECK}, "test_patch": "", **changed})


def core(text: str) -> str:
    """Returns a response that writes the module."""
    return files_answer({"calc/core.py": text})


HELPED = {
    **FILES,
    "tests/helpers.py": "def same(a, b):\n    assert a == b\n",
    "tests/test_core.py": "from calc.core import add, twice\nfrom tests.helpers import same\n\n\n"
    "def test_twice():\n    same(twice(4), 8)\n\n\ndef test_add():\n    same(add(2, 3), 5)\n",
}
REWRITES = (
    "import os\nos.chmod('tests/helpers.py', 0o644)\n"
    "open('tests/helpers.py', 'w').write('def same(a, b):\\n    pass\\n')\n"
)
DOCTEST = "def twice(a):\n    '''\n    >>> twice(2)\n    4\n    '''\n    return 2 * a\n"
NO_SOLUTION, NO_SOLUTION_2 = row(patch=None, timeout_s=6), unittest_row(patch=None, timeout_s=6)
NO_SOLUTION_3 = printed(patch=None)
OF_R2E = read_reference(
    "r2e_gym",
    Sample(
        response="",
        reference=r2e_row(),
        metadata={"python": "python3", "command": "python3 -m pytest -q -p no:cacheprovider r2e_tests"},
    ),
) | {"files": dict(FILES), "commit": None, "timeout_s": 20}
CASES: Mapping[str, tuple[dict[str, Any], str, float, str | None]] = {
    "the fix without a solution": (NO_SOLUTION, FIX, 1.0, None),
    "the process ends": (NO_SOLUTION, core("import os\nos._exit(0)\n"), 0.0, "no_report"),
    "the process ends, by unittest": (NO_SOLUTION_2, core("import os\nos._exit(0)\n"), 0.0, "no_report"),
    "the fix of a row of R2E-Gym": (OF_R2E, FIX, 1.0, None),
    "a row of R2E-Gym, and nothing is mended": (OF_R2E, core(WRONG + "other = 1\n"), 0.0, "tests_failed"),
    "a row of R2E-Gym, and its tests are replaced": (
        OF_R2E,
        files_answer({"r2e_tests/test_1.py": "def test_add():\n    pass\n\n\ndef test_twice():\n    pass\n"}),
        0.0,
        "tests_failed",
    ),
    "an endless loop": (NO_SOLUTION, core("while True: pass\n"), 0.0, "time_limit"),
    "forged lines and a crash": (
        NO_SOLUTION_3,
        core("import os\nprint('--- PASS: TestAdd (0s)\\n--- PASS: TestTwice (0s)', flush=True)\nos._exit(3)\n"),
        0.0,
        "exit_code",
    ),
    "ordinary code, by pytest": (row(), core(ORDINARY + RIGHT), 1.0, None),
    "ordinary code, by unittest": (unittest_row(), core(ORDINARY + RIGHT), 1.0, None),
    "a test fails that the row does not name": (printed(), core(RIGHT + "other = 1\n"), 1.0, None),
    "forged lines and a crash against a solution": (
        printed(),
        core("import os\nprint('--- PASS: TestAdd (0s)\\n--- PASS: TestTwice (0s)', flush=True)\nos._exit(3)\n"),
        0.0,
        "exit_code",
    ),
    "a command that hides its exit code": (printed(command="python3 check.py || true"), FIX, 1.0, None),
    "the script is replaced": (
        printed(),
        files_answer({"check.py": "print('--- PASS: TestAdd (0s)\\n--- PASS: TestTwice (0s)')\n"}),
        0.0,
        "tests_failed",
    ),
    "a helper of tests is rewritten": (row(files=HELPED, test_patch=""), core(REWRITES + WRONG), 0.0, "tests_changed"),
    "a helper of tests is used": (row(files=HELPED, test_patch=""), FIX, 1.0, None),
    "an id of a doctest": (
        row(
            files={**FILES, "calc/more.py": DOCTEST},
            command="python3 -m pytest -q -p no:cacheprovider --doctest-modules calc/more.py tests",
            pass_to_pass=["calc/more.py::calc.more.twice"],
        ),
        files_answer(
            {
                "calc/core.py": "from calc.more import add\n\n\ndef twice(a):\n    return 2 * a\n",
                "calc/more.py": DOCTEST + "\n\ndef add(a, b):\n    return a + b\n",
            }
        ),
        1.0,
        None,
    ),
}


@pytest.fixture(scope="module")
def client(host: HostProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A client of a server in this process."""
    flags = {"sandbox.address": host.address, "tasks.dir": str(tmp_path_factory.mktemp("rows"))}
    config = load_config(environ={}, flags={name: ("test", value) for name, value in flags.items()})
    with Client("local", config=config) as made:
        yield made


@pytest.mark.parametrize("name", CASES)
def test_the_verdict_is_as_it_should(client: Client, name: str) -> None:
    reference, response, score, reason = CASES[name]
    (verdict,) = client.verify([Sample(response=response, reference=reference)], use=Use(name="swe")).verdicts
    assert (verdict.status, verdict.score, verdict.reason) == ("scored", score, reason), verdict
    assert verdict.fault == (None if score else "policy")
