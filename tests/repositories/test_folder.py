"""A git repository of the server's, from the row to the verdict."""

from __future__ import annotations

from pathlib import Path

import pytest

from rewarden import Client
from rewarden.types import Sample, Use
from rewarden_server.config import load_config
from tests.repositories.made import FIX, repository, row
from tests.server.box_host import HostProcess

pytestmark = [pytest.mark.needs_server, pytest.mark.slow]


def test_a_repository_below_the_setting_is_judged_at_its_commit_without_its_history(
    host: HostProcess, tmp_path: Path
) -> None:
    commit = repository(tmp_path / "repositories" / "calc")
    (tmp_path / "repositories" / "calc" / "calc" / "core.py").write_text("later")
    flags = {
        "sandbox.address": host.address,
        "tasks.dir": str(tmp_path / "rows"),
        "tasks.repositories": str(tmp_path / "repositories"),
    }
    config = load_config(environ={}, flags={name: ("test", value) for name, value in flags.items()})
    reference = row(files=None, folder="calc", commit=commit, setup="test ! -e .git && test -e calc/core.py")
    with Client("local", config=config) as client:
        (verdict,) = client.verify([Sample(response=FIX, reference=reference)], use=Use(name="swe")).verdicts
    assert (verdict.status, verdict.score, verdict.flags) == ("scored", 1.0, ()), verdict
