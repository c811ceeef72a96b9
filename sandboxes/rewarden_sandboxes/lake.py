"""Finds Lean on this machine: elan's toolchains, and the modules that lake built for a project and its packages.

Layouts: elan keeps `leanprover/lean4:v4.9.0` in `toolchains/leanprover--lean4---v4.9.0`, and a linked folder under the
name of its link. lake writes compiled modules to `.lake/build/lib/lean` (before Lean 4.13 without the last `lean`,
before 4.3 to `build/lib`) and other packages to `.lake/packages` (before 4.3 `lake-packages`).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_BUILT = (".lake/build/lib/lean", ".lake/build/lib", "build/lib/lean", "build/lib")
_PACKAGES = (".lake/packages", "lake-packages")
_RELEASE = re.compile(r"v?(\d+)\.(\d+)\.(\d+)(?:-rc(\d+))?")
_OURS = re.compile(r"leanprover--lean4(?:-nightly)?---")

BUILD = "lake exe cache get && lake build"
"""The commands that build a project; the first is for projects with Mathlib among their packages."""


INSTALL = "curl -sSf https://elan.lean-lang.org/elan-init.sh | sh -s -- -y"
"""The command that installs elan, and with it the current Lean."""


class LeanError(ValueError):
    """A project or toolchain cannot be used: the message says why, `mend` how to fix it."""

    def __init__(self, message: str, mend: str) -> None:
        super().__init__(f"{message}: {mend}")
        self.message = message
        self.mend = mend


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """A package with compiled modules in `built`. revision: git's; None if only its files identify it."""

    name: str
    built: Path
    revision: str | None = None


def elan_home() -> Path:
    """Returns elan's folder, which may not exist."""
    return Path(os.environ.get("ELAN_HOME") or os.path.expanduser("~/.elan"))


def elan_toolchains() -> dict[str, Path]:
    """Returns elan's toolchains by short name (`4.9.0`, `nightly-2025-01-01`, a link's own): newest release first, then
    release candidates, then all others.
    """
    found: dict[str, Path] = {}
    for folder in sorted((elan_home() / "toolchains").glob("*")):
        if is_toolchain(folder):
            short = _OURS.sub("", folder.name)
            found.setdefault(short[1:] if _RELEASE.fullmatch(short) and short.startswith("v") else short, folder)
    return {name: found[name].resolve() for name in sorted(found, key=_age)}


def _age(name: str) -> tuple[Any, ...]:
    release = _RELEASE.fullmatch(name)
    if release is None:
        return (2, name)
    numbers = [-int(part) for part in release.groups(default="0")]
    return (1 if release[4] else 0, *numbers)


def is_toolchain(folder: Path) -> bool:
    """Returns whether a folder is a toolchain's."""
    return os.path.isfile(folder / "bin" / "lean")


def toolchain_of(project: Path) -> Path:
    """Returns the toolchain that a project's `lean-toolchain` names. Raises LeanError."""
    file = project / "lean-toolchain"
    try:
        name = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise LeanError(
            f"{project} has no file lean-toolchain", "name the folder of a lake project, or of a toolchain"
        ) from None
    if not name or "\0" in name or "\n" in name:
        raise LeanError(f"{file} names no toolchain", "it should say, for example, leanprover/lean4:v4.9.0")
    for folder in _folders_of(name):
        if is_toolchain(folder):
            return folder.resolve()
    home = elan_home()
    if not home.is_dir():
        raise LeanError(f"{file} names {name}, and elan is not installed at {home} (ELAN_HOME)", INSTALL)
    raise LeanError(f"{file} names {name}, which elan does not have in {home}", f"elan toolchain install {name}")


def _folders_of(name: str) -> Iterator[Path]:
    """Yields the folders where elan may keep the toolchain of that name."""
    toolchains = elan_home() / "toolchains"
    if "/" not in name and ":" not in name:
        if name not in (".", ".."):
            yield toolchains / name  # a link
        name = f"leanprover/lean4:{name}"
    origin, _, version = name.partition(":")
    if _RELEASE.fullmatch(version) and not version.startswith("v"):
        version = f"v{version}"
    yield toolchains / f"{origin.replace('/', '--')}---{version}"
    if version in ("stable", "beta") and origin == "leanprover/lean4":
        # Current versions of elan keep a channel's toolchain under the name of its release.
        for short, folder in elan_toolchains().items():
            release = _RELEASE.fullmatch(short)
            if release is not None and (version == "beta" or not release[4]):
                yield folder


def packages_of(project: Path) -> list[Package]:
    """Returns the project's packages that have compiled modules, its own (named "") first. Raises LeanError if nothing
    was built, or a package of the manifest is missing.
    """
    found = []
    own = _built(project)
    if own is not None:
        found.append(Package(name="", built=own))
    for name, folder, revision in _manifest(project):
        if not folder.is_dir():
            raise LeanError(f"{project}: its package {name} is not at {folder}", f"cd {project} && {BUILD}")
        built = _built(folder)
        if built is not None:  # lake does not build packages that nothing imports
            found.append(Package(name=name, built=built, revision=revision))
    if not found:
        raise LeanError(f"{project} is not built", f"cd {project} && {BUILD}")
    return found


def _built(folder: Path) -> Path | None:
    return next((path.resolve() for path in (folder / place for place in _BUILT) if path.is_dir()), None)


def _manifest(project: Path) -> Iterator[tuple[str, Path, str | None]]:
    """Yields name, folder and revision of each package in the manifest, in lake's formats 4 to 7 and 1.x."""
    file = project / "lake-manifest.json"
    try:
        manifest = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        raise LeanError(f"{file} cannot be read ({error})", f"cd {project} && lake update") from None
    try:
        where = manifest.get("packagesDir")
        folders = [project / where] if where else [project / each for each in _PACKAGES]
        packages = next((each for each in folders if each.is_dir()), folders[0])
        for entry in manifest["packages"]:
            kind, row = (entry["type"], entry) if "type" in entry else next(iter(entry.items()))
            name = str(row["name"]).strip("«»")
            if kind == "path":
                yield name, project / row["dir"], None
            else:
                yield name, packages / name / (row.get("subDir?") or row.get("subDir") or ""), str(row["rev"])
    except (AttributeError, KeyError, TypeError, StopIteration):
        raise LeanError(f"{file} is not a lake manifest of a known version", f"cd {project} && lake update") from None


def stats_of(folder: Path) -> Mapping[str, tuple[int, int]]:
    """Returns size and modification time (ns) of each compiled module below a folder."""
    found = {}
    for path, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".olean"):
                about = os.stat(os.path.join(path, name))
                found[os.path.relpath(os.path.join(path, name), folder)] = (about.st_size, about.st_mtime_ns)
    return found
