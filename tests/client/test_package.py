"""The cost of `pip install ./client` to a trainer: a small wheel, few packages, and no quarrel over protobuf."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
import tomllib
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

CLIENT = Path(__file__).parents[2] / "client"
PROJECT: dict[str, Any] = tomllib.loads((CLIENT / "pyproject.toml").read_text())["project"]


def closure(declared: list[str], python: str) -> set[str]:
    """The names of all packages that an installation brings on a Python, by what those installed here declare."""
    environment = {"python_version": python, "python_full_version": f"{python}.0", "extra": ""}
    names: set[str] = set()
    left = [Requirement(item) for item in declared]
    while left:
        wanted = left.pop()
        name = wanted.name.lower().replace("_", "-")
        if name in names or (wanted.marker is not None and not wanted.marker.evaluate(environment)):
            continue
        names.add(name)
        try:
            left += [Requirement(item) for item in requires(name) or ()]
        except PackageNotFoundError:  # of another Python's; what it needs in turn is in the list already
            continue
    return names


@pytest.mark.parametrize("python", ["3.10", "3.11", "3.12", "3.13"])
def test_the_client_brings_at_most_eight_packages(python: str) -> None:
    found = closure(PROJECT["dependencies"], python)
    assert "httpcore" in found  # the walk did go on from httpx
    assert len(found) <= 8, sorted(found)


def test_grpc_lives_with_every_protobuf_that_trainers_bring() -> None:
    declared = {item.name: item.specifier for item in map(Requirement, PROJECT["optional-dependencies"]["grpc"])}
    assert set(declared) == {"grpcio", "protobuf"}
    for version in ("4.21.12", "4.25.8", "5.29.5", "6.33.1", "7.34.0"):
        assert declared["protobuf"].contains(version), version
    # Stubs of a newer generator refuse older runtimes: its first line of work is to ask for their version.
    for stub in (CLIENT / "rewarden" / "v1").glob("*_pb2.py"):
        assert "runtime_version" not in stub.read_text(), stub.name


def test_the_wheel_is_small_and_whole(tmp_path: Path) -> None:
    pytest.importorskip("hatchling", reason="builds the wheel")
    build = ["wheel", "--quiet", "--no-deps", "--no-index", "--no-build-isolation", "-w", str(tmp_path), str(CLIENT)]
    subprocess.run([sys.executable, "-m", "pip", *build], check=True, capture_output=True)
    (wheel,) = tmp_path.glob("rewarden-*.whl")
    assert wheel.stat().st_size < 300_000
    with ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if not re.match(r"rewarden-[^/]*\.dist-info/", name)}
        metadata = next(archive.read(name).decode() for name in archive.namelist() if name.endswith("/METADATA"))
    there = (path for path in (CLIENT / "rewarden").rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    assert packed == {path.relative_to(CLIENT).as_posix() for path in there}
    asked = re.search(r"^Requires-Python: (.*)$", metadata, re.MULTILINE)
    assert asked is not None
    assert SpecifierSet(asked[1]).contains("3.10.0")
