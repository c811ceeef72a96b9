"""Lean projects: the files of this machine that rooms need to elaborate their texts, and the languages that do so.

A project is a lake project that is built, or only a toolchain. Each adds three rows to the registry: `lean-NAME`
compiles a text, `lean-worker-NAME` elaborates texts in a session, like a language server's worker, and
`lean-check-NAME` is Python with the same files, which reads compiled modules. Rooms see only the compiled modules of a
project's folder.
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
"""The form of a project's name, which is part of its languages' names: no two projects may share one of those."""

TOOLCHAIN = "/mnt/lean/toolchain"
"""The path of the toolchain in a room."""

_PROJECT = "/mnt/lean/project"
_PACKAGES = "/mnt/lean/packages"
_VERSION = re.compile(r"Lean \(version ([^\s,)]+)(?:.*?\bcommit ([0-9a-f]{7,40}))?")
_VERSION_S = 60.0
_AGAIN = "install the toolchain again, with elan"
_THREADS = 2
"""The number of Lean's threads: by default it starts one for each core of the machine, more than a slot has."""


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
    """Returns the language that compiles `Main.lean` to `Main.olean`."""
    return f"lean-{name}"


def worker_language(name: str) -> str:
    """Returns the language whose sessions elaborate texts like a language server's worker."""
    return f"lean-worker-{name}"


def check_language(name: str) -> str:
    """Returns the language of Python programs that read compiled modules, with the project's own modules."""
    return f"lean-check-{name}"


def resolve(name: str, folder: Path) -> LeanProject:
    """Returns the project in a folder: a lake project's or a toolchain's. Runs `lean --version` once for each
    toolchain.

    Raises LeanError, with the fix.
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
    """See `_read`. Also raises LeanError for a folder that this user cannot read."""
    try:
        return _read(name, folder)
    except OSError as error:
        raise LeanError(
            f"{folder} cannot be read: {error}", "let the user of the server and of the host read it"
        ) from None


def _read(name: str, folder: Path) -> tuple[Path, dict[str, str], tuple[str, ...], list[object]]:
    """Returns toolchain, mounts, LEAN_PATH, and the content that distinguishes builds. Runs nothing."""
    if not NAME.fullmatch(name):
        raise LeanError(
            f"no project is called {name!r}",
            "a name is lower-case letters, digits, and . _ - within, and does not begin with worker- or check-",
        )
    folder = folder.absolute()
    if not folder.is_dir():
        raise LeanError(f"{folder} is not a folder", "name the folder of a lake project, or of a toolchain")
    if is_toolchain(folder):
        toolchain = folder.resolve()
        return toolchain, {TOOLCHAIN: str(toolchain)}, (), []
    toolchain = toolchain_of(folder)
    mounts = {TOOLCHAIN: str(toolchain)}
    known: list[object] = []
    for package in packages_of(folder):
        inside = _inside(package.name, mounts)
        mounts[inside] = str(package.built)
        # A revision identifies a package's content: Mathlib has too many files to check each.
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
    """Returns version and commit of a toolchain. `changed`: part of the cache key, so that a replaced toolchain runs
    again.
    """
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
    """Yields the rows of all projects (name to folder); the first one's compiler is also `lean` and `lean4`.

    memory_mb: of each run. A project that cannot be used is reported on stderr, and has no rows.
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
    # Each thread counts as a process, and each module of the path keeps a file open while it is mapped.
    limits = Limits(cpu_s=120, wall_s=60, memory_mb=memory_mb, processes=128, disk_mb=256, open_files=4096)
    lean = ("env", f"LEAN_PATH={':'.join(path)}", f"LEAN_NUM_THREADS={_THREADS}", f"{TOOLCHAIN}/bin/lean")
    compiler = Language(
        name=compile_language(name),
        images=("python", "toolchains"),
        file="Main.lean",
        # A run, not a compilation: each case compiles once, with its own limits.
        run=(*lean, "--json", "-o", "Main.olean", "Main.lean"),
        limits=limits,
        mounts=mounts,
    )
    yield replace(compiler, aliases=aliases, fences=(compile_language(name), *aliases))
    yield replace(
        compiler,
        name=worker_language(name),
        # Report at once, without the delay for human readers. -DElab.async=false saves a tenth of the CPU of long
        # texts, but versions before 4.12 exit on an unknown option.
        run=(*lean, "--worker", "-Dserver.reportDelayMs=0", "file:///Main.lean"),
    )
    yield replace(
        compiler,
        name=check_language(name),
        file="main.py",
        run=("python3", "main.py"),
        python=True,
    )
