"""Lean projects: what of this machine a room needs to elaborate texts of one, and the languages that do.

A project is a lake project that is built, or a toolchain by itself. Each gives three rows of the registry: `lean-NAME`
compiles a text, `lean-worker-NAME` elaborates texts as a language server's worker does, in a session, and
`lean-check-NAME` is Python beside the same files, which reads what was compiled. Of a project's folder rooms see the
compiled modules alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from rewarden_sandboxes.job import Limits
from rewarden_sandboxes.lake import LeanError, is_toolchain, packages_of, stats_of, toolchain_of
from rewarden_sandboxes.languages import Language

NAME = re.compile(r"(?!worker-|check-)[a-z0-9][a-z0-9._-]*")
"""The form of a project's name: a part of languages' names, none of which may be another project's."""

TOOLCHAIN = "/mnt/lean/toolchain"
"""The path at which rooms see the toolchain."""

_PROJECT = "/mnt/lean/project"
_PACKAGES = "/mnt/lean/packages"
_VERSION = re.compile(r"Lean \(version ([^\s,)]+)(?:.*?\bcommit ([0-9a-f]{7,40}))?")
_VERSION_S = 60.0
_AGAIN = "install the toolchain again, with elan"
_THREADS = 2
"""Of Lean's own: it would take one for each core of the machine, which a slot does not have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeanProject:
    """A project on this machine.

    toolchain: its folder. mounts: folders of this machine by their path in a room. path: LEAN_PATH in a room. version,
    commit: as `lean --version` says. checker: whether the toolchain has `leanchecker`. identity: changes whenever the
    toolchain or a library does.
    """

    name: str
    toolchain: Path
    mounts: Mapping[str, str]
    path: tuple[str, ...]
    version: str
    commit: str
    checker: bool
    identity: str


def compile_language(name: str) -> str:
    """The language that compiles `Main.lean` to `Main.olean`."""
    return f"lean-{name}"


def worker_language(name: str) -> str:
    """The language whose sessions elaborate texts as a language server's worker does."""
    return f"lean-worker-{name}"


def check_language(name: str) -> str:
    """The language of Python programs that read compiled modules, beside the project's own."""
    return f"lean-check-{name}"


def resolve(name: str, folder: Path) -> LeanProject:
    """The project in a folder: a lake project's or a toolchain's. Runs `lean --version` once for each toolchain.

    Raises LeanError, with what mends it.
    """
    toolchain, mounts, path, digest = _laid_out(name, folder)
    version, commit = _version(str(toolchain), os.stat(toolchain / "bin" / "lean").st_mtime_ns)
    identity = hashlib.blake2b(json.dumps([version, commit, digest]).encode(), digest_size=16).hexdigest()
    return LeanProject(
        name=name,
        toolchain=toolchain,
        mounts=mounts,
        path=path,
        version=version,
        commit=commit,
        checker=(toolchain / "bin" / "leanchecker").is_file(),
        identity=identity,
    )


def _laid_out(name: str, folder: Path) -> tuple[Path, dict[str, str], tuple[str, ...], list[object]]:
    """See `_read`. A folder that this user may not read is a LeanError too."""
    try:
        return _read(name, folder)
    except OSError as error:
        raise LeanError(
            f"{folder} cannot be read: {error}", "let the user of the server and of the host read it"
        ) from None


def _read(name: str, folder: Path) -> tuple[Path, dict[str, str], tuple[str, ...], list[object]]:
    """Toolchain, mounts, LEAN_PATH, and what tells one build from another. Runs nothing."""
    if not NAME.fullmatch(name):
        raise LeanError(
            f"{name!r} names no project",
            "a name is lower-case letters, digits, and . _ - within, and does not begin with worker- or check-",
        )
    folder = folder.absolute()
    if not folder.is_dir():
        raise LeanError(f"{folder} is no folder", "name the folder of a lake project, or of a toolchain")
    if is_toolchain(folder):
        toolchain = folder.resolve()
        return toolchain, {TOOLCHAIN: str(toolchain)}, (), []
    toolchain = toolchain_of(folder)
    mounts = {TOOLCHAIN: str(toolchain)}
    known: list[object] = []
    for package in packages_of(folder):
        inside = _inside(package.name, mounts)
        mounts[inside] = str(package.built)
        # A package of a revision is what it is: Mathlib's files are too many to be looked at one by one.
        content = package.revision or sorted(stats_of(package.built).items())
        known.append([package.name, content])
    return toolchain, mounts, tuple(path for path in mounts if path != TOOLCHAIN), known


def _inside(package: str, taken: Mapping[str, str]) -> str:
    if not package:
        return _PROJECT
    path = f"{_PACKAGES}/{re.sub(r'[^A-Za-z0-9_-]', '_', package)}"
    while path in taken:
        path += "_"
    return path


@lru_cache(maxsize=256)
def _version(toolchain: str, changed: int) -> tuple[str, str]:
    """Version and commit of a toolchain. `changed`: one that was replaced is asked again."""
    lean = f"{toolchain}/bin/lean"
    try:
        told = subprocess.run(
            [lean, "--version"], capture_output=True, text=True, timeout=_VERSION_S, env={"PATH": os.defpath}
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LeanError(f"{lean} does not run ({error})", _AGAIN) from None
    found = _VERSION.search(told.stdout)
    if found is None:
        said = (told.stderr or told.stdout).strip()[-300:]
        raise LeanError(f"{lean} --version says {said!r}", _AGAIN)
    return found[1], found[2] or ""


def languages_of(projects: Mapping[str, str], memory_mb: int) -> Iterator[Language]:
    """The rows of all projects (name to folder); the first one's compiler is also `lean` and `lean4`.

    memory_mb: of each run. A project that cannot be used is told on stderr, and has no rows.
    """
    aliases: tuple[str, ...] = ("lean", "lean4")
    for name, folder in projects.items():
        try:
            _, mounts, path, _ = _laid_out(name, Path(folder))
        except LeanError as error:
            print(f"lean: project {name}: {error}", file=sys.stderr)
        else:
            yield from _rows(name, mounts, path, memory_mb, aliases)
        aliases = ()


def _rows(
    name: str, mounts: Mapping[str, str], path: tuple[str, ...], memory_mb: int, aliases: tuple[str, ...]
) -> Iterator[Language]:
    # Each thread counts as a process, and each module of the path is an open file while it is mapped.
    limits = Limits(cpu_s=120, wall_s=60, memory_mb=memory_mb, processes=128, disk_mb=256, open_files=4096)
    lean = ("env", f"LEAN_PATH={':'.join(path)}", f"LEAN_NUM_THREADS={_THREADS}", f"{TOOLCHAIN}/bin/lean")
    compiler = Language(
        name=compile_language(name),
        images=("python", "toolchains"),
        file="Main.lean",
        # As a run: each case is one compilation, with its own limits.
        run=(*lean, "--json", "-o", "Main.olean", "Main.lean"),
        limits=limits,
        mounts=mounts,
    )
    yield replace(compiler, aliases=aliases, fences=(compile_language(name), *aliases))
    yield replace(
        compiler,
        name=worker_language(name),
        # Told at once, not when a reader's eye can follow. -DElab.async=false would spare a tenth of the CPU of long
        # texts, but versions before 4.12 leave at the sight of an option that they do not know.
        run=(*lean, "--worker", "-Dserver.reportDelayMs=0", "file:///Main.lean"),
    )
    yield replace(
        compiler,
        name=check_language(name),
        file="main.py",
        run=("python3", "main.py"),
        python=True,
    )
