"""The verifiers and recipes that an installation cannot use, grouped by the extra that they need."""

from __future__ import annotations

import pytest

from rewarden_server.observe import installed
from rewarden_server.observe.check import Problem
from rewarden_verifiers.registry import Registry, packages_of_extras
from tests.server.conftest import Running

pytestmark = pytest.mark.needs_server

ABSENT = Problem(
    "verifier 'absent' needs the package 'rewarden_testing_absent'", "pip install --force-reinstall rewarden-testing"
)


def test_the_packages_of_each_extra_are_read_from_the_metadata() -> None:
    assert packages_of_extras(
        [
            "pyyaml<7,>=6.0",
            "uvloop<1; platform_python_implementation == 'CPython'",
            "rdkit>=2024.9; extra == 'chem'",
            "Reasoning_Gym<0.2,>=0.1.19; extra == 'puzzles'",
            "psycopg[binary]<4; extra == 'sql'",
            'apsw>=3.46; extra == "sql"',
            "rewarden-server[chem,sql]; extra == 'all'",
            "rdkit>=2024.9; extra == 'all'",
        ]
    ) == {"chem": {"rdkit"}, "puzzles": {"reasoning-gym"}, "sql": {"psycopg", "apsw"}}


def test_what_cannot_be_used_is_grouped_by_extra_with_one_command_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    present = installed._present
    monkeypatch.setattr(installed, "_present", lambda name: name not in ("rdkit", "reasoning-gym") and present(name))
    whole, found = installed.Installed(), installed.installed(Registry())
    assert whole.problems() == ()
    assert found.lacking["chem"][0] == "molecule"
    assert {"puzzle", "puzzle_rules"} <= set(found.lacking["puzzles"])
    assert ABSENT in found.broken
    assert found.command == f"pip install 'rewarden-server[{','.join(found.lacking)}]'"
    each = [problem.fix for problem in found.problems()]
    assert "pip install 'rewarden-server[chem]'" in each
    assert "pip install 'rewarden-server[puzzles]'" in each


async def test_info_lists_them_once_they_are_known(server: Running) -> None:
    """The first answer does not wait for the process that loads every verifier."""
    info = (await server.http.get("/v1/info")).json()
    finding = server.serving.service.installed._finding
    assert finding is not None
    await finding
    info = (await server.http.get("/v1/info")).json()
    assert {"what": ABSENT.what, "mend": ABSENT.fix} in info["problems"]
