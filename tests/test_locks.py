"""locks/ holds what pyproject.toml and requirements-*.txt ask for: one version for each Python, with its hashes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import tomllib
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PYTHONS = ("3.11.0", "3.11.9", "3.12.4", "3.13.1")
OURS = {"rewarden", "rewarden-server"}
ENTRY = re.compile(r"^(?P<pin>[a-z0-9][^\\\n]*?)(?P<hashes>(?: \\\n    --hash=sha256:[0-9a-f]{64})*)$", re.MULTILINE)


def lock(name: str) -> list[tuple[Requirement, int]]:
    """Each entry of a lock, and how many hashes it has."""
    text = (ROOT / f"locks/{name}.lock").read_text(encoding="utf-8")
    return [(Requirement(found["pin"]), found["hashes"].count("--hash")) for found in ENTRY.finditer(text)]


def holds(requirement: Requirement, python: str) -> bool:
    """Returns whether it is for this Python on Linux; whoever installs asks for no extra of it."""
    environment = {
        **default_environment(),
        "python_version": python.rpartition(".")[0],
        "python_full_version": python,
        "sys_platform": "linux",
        "extra": "",
    }
    return requirement.marker is None or requirement.marker.evaluate(environment)


def versions(name: str, python: str) -> dict[str, str]:
    """The version of each package that a lock has for a Python."""
    found: dict[str, str] = {}
    for requirement, _ in lock(name):
        if holds(requirement, python):
            (pin,) = requirement.specifier
            package = canonicalize_name(requirement.name)
            assert (pin.operator, package in found) == ("==", False), requirement
            found[package] = pin.version
    return found


def listed(file: str) -> list[str]:
    """Returns what a file of requirements asks for."""
    lines = (line.partition("#")[0].strip() for line in (ROOT / file).read_text(encoding="utf-8").splitlines())
    return list(filter(None, lines))


def asked(name: str) -> list[str]:
    """Returns what a lock must hold."""
    if name != "setup":
        return listed(f"requirements-{name}.txt")
    server, client = (
        tomllib.loads((ROOT / file).read_text(encoding="utf-8"))["project"]
        for file in ("pyproject.toml", "client/pyproject.toml")
    )
    extras = Requirement(server["optional-dependencies"]["all"][0]).extras
    of_extras = [line for extra in sorted(extras) for line in server["optional-dependencies"][extra]]
    of_client = [*client["dependencies"], *client["optional-dependencies"]["grpc"]]
    return [*server["dependencies"], *of_extras, *of_client, *listed("requirements-dev.txt")]


@pytest.mark.parametrize("name", ["setup", "trainers", "apart", "lean"])
@pytest.mark.parametrize("python", PYTHONS)
def test_a_lock_holds_what_is_asked_for_in_its_range(name: str, python: str) -> None:
    locked = versions(name, python)
    for line in asked(name):
        requirement = Requirement(line)
        if requirement.name not in OURS and holds(requirement, python):
            version = locked.get(canonicalize_name(requirement.name))
            assert version is not None, f"{line}: `make lock` was not run"
            assert requirement.specifier.contains(version, prereleases=True), (line, version)


@pytest.mark.parametrize("name", ["setup", "trainers", "apart", "lean"])
def test_every_file_is_known_by_its_hash(name: str) -> None:
    assert [str(requirement) for requirement, hashes in lock(name) if not hashes] == []


@pytest.mark.parametrize("python", PYTHONS)
def test_what_two_locks_hold_is_the_same(python: str) -> None:
    setup, trainers = versions("setup", python), versions("trainers", python)
    assert {package: trainers[package] for package in setup.keys() & trainers.keys()} == {
        package: setup[package] for package in setup.keys() & trainers.keys()
    }


def test_torch_is_taken_as_the_machine_has_it() -> None:
    """A hash would name one build of it, and what a build for GPUs needs weighs gigabytes."""
    for name in ("setup", "trainers"):
        locked = versions(name, "3.11.9")
        assert [package for package in locked if package == "torch" or package.startswith("nvidia-")] == []
