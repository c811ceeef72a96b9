"""A box with a repository, in which a patch is applied and the tests run once."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import posixpath
import tarfile
import tempfile
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.resources import files as resource
from typing import IO

from rewarden.errors import InvalidReference, SandboxError
from rewarden_sandboxes.job import Limits, Report
from rewarden_verifiers.boxes import Boxes, BoxFault, FreshBox
from rewarden_verifiers.patches.applying import MOST_CONTENT, apply_patch
from rewarden_verifiers.patches.patch import Patch, PatchError
from rewarden_verifiers.repositories.owned import Kind, Owned, paths_in
from rewarden_verifiers.repositories.reports import Results, read_printed, read_supervised
from rewarden_verifiers.repositories.row import Row, paths_of, safe_paths
from rewarden_verifiers.repositories.source import archive, tree_of
from rewarden_verifiers.repositories.tree import Blob, Repositories, Tree
from rewarden_verifiers.tasks.judging import Size, check_image, tail
from rewarden_verifiers.tasks.task import PATH, Environment

OURS = "/rewarden/tests"
"""The folder of our files in a box."""

_PART = 1 << 20
_OUTPUT_BYTES = 32 * 1024**2
_MOST_REPORT = 32 * 1024**2
_WORDS = 500
"""The maximum number of paths per command."""
_MOST_GUARDED = 128 * 1024**2
"""The maximum size of folders that are compared after the tests, in bytes."""
_SPOOLED = 16 * 1024**2
_PASSED_BY = (".git", "node_modules", "__pycache__", "*.egg-info")
"""Folders that are not compared: they contain none of the repository's own files, or an installation rewrites them,
including the candidate's files.
"""
_ROOM = Limits(cpu_s=60.0, wall_s=60.0, output_bytes=1 << 20)
_SETUP_S = 600.0

_KINDS = """for path; do
if [ -L "$path" ]; then echo link; elif [ -d "$path" ]; then echo folder; elif [ ! -e "$path" ]; then echo none
elif [ -x "$path" ]; then echo program; else echo file; fi; done"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """Everything that a run needs apart from the candidate. tree: the repository, if it is not in the image."""

    boxes: Boxes
    row: Row
    size: Size
    image_id: str
    tree: Tree | None

    @property
    def limits(self) -> Limits:
        """Returns the limits of each box."""
        told = self.row.told
        return self.size.limits(Environment(image=told.image, memory_mb=told.memory_mb, disk_mb=told.disk_mb))


@asynccontextmanager
async def bench(boxes: Boxes, row: Row, size: Size, repositories: Repositories | None) -> AsyncIterator[Bench]:
    """Yields the setup that the runs of a row share. Raises InvalidReference, SandboxError."""
    told = row.told
    limits = size.limits(Environment(image=told.image, memory_mb=told.memory_mb, disk_mb=told.disk_mb))
    image_id = await boxes.identity(told.image, limits)
    tree = await asyncio.to_thread(tree_of, told, repositories)
    yield Bench(boxes=boxes, row=row, size=size, image_id=image_id, tree=tree)


@dataclass(slots=True, kw_only=True)
class Ran:
    """A run of the tests. end: `ended`, or the limit that it reached. rewritten: files that belong to the tests or
    decide how they run, and that changed during the run. dropped: the candidate's paths that were not written, and why.
    """

    end: str
    results: Results
    output: str = ""
    exit_code: int | None = None
    rewritten: Sequence[str] = ()
    dropped: Mapping[str, Kind] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def whole(self) -> bool:
        """Returns whether the tests ran to completion."""
        return self.end == "ended" and self.results.whole

    @property
    def exits_otherwise(self) -> bool:
        """Returns whether the exit code contradicts the report: it must be 0 if and only if no test failed."""
        return (self.results.exit_code != 0) != self.results.failed


@dataclass(slots=True)
class _Written:
    """Changes to the repository. files: new content, or None if removed. programs: the executable ones."""

    files: dict[str, bytes | None] = field(default_factory=dict)
    programs: set[str] = field(default_factory=set)


async def run_tests(own: Bench, patch: Patch | None) -> Ran:
    """Applies a patch in a fresh box, restores the row's tests, and runs them.

    Raises PatchError for a patch that does not apply, InvalidReference for a repository or a test patch that cannot be
    used, SandboxError.
    """
    row = own.row
    async with own.boxes.open(row.told.image, limits=own.limits, env={}) as box:
        check_image(box, own.image_id)
        await _place(box, own)
        candidate = await _applied(box, row, patch)
        tests = await _of_reference(box, row, row.test_patch, "test_patch")
        gold = await _of_reference(box, row, row.gold, "patch")
        owned = _owned(row, tests.files, gold.files)
        kinds = {path: owned.kind(path) for path in candidate.files}
        dropped = {path: kind for path, kind in sorted(kinds.items()) if kind is not None}
        for path in dropped:
            candidate.files.pop(path)
        # The row's configuration decides how tests run, whoever else changes it.
        config = {path: data for path, data in gold.files.items() if owned.kind(path) == "configuration"}
        _check_places(candidate.files, {**config, **tests.files})
        await _write(box, row, candidate, False)
        await _write(box, row, _Written(config, gold.programs), True)
        await _write(box, row, tests, True)
        named = [*config, *tests.files, *_named_by_ids(row)[0]]
        await _lock(box, row, named)
        guarded = await _guarded(box, row, owned, named)
        report, results = await _run(box, row)
        # Attack: adding files that come before the guarded ones, so that these are no longer read. They count as
        # changed.
        now = await _marks(box, row, named, guarded, 2 * _MOST_GUARDED)
        rewritten = [path for path, mark in guarded.items() if now.get(path) != mark]
    end = report.status if report.status in ("time_limit", "memory_limit", "output_limit") else "ended"
    return Ran(
        end=end,
        results=results,
        output=results.output[-4000:],
        exit_code=results.exit_code,
        rewritten=rewritten,
        dropped=dropped,
        seconds=report.wall_time,
    )


# --- the repository --------------------------------------------------------------------------------------------------


async def _place(box: FreshBox, own: Bench) -> None:
    told = own.row.told
    try:
        if own.tree is not None:
            await _done(box, own.row, ("mkdir", "-p", told.root))
            below = {_below(told.root, path): blob for path, blob in own.tree.items()}
            await box.extract("/", _pieces(archive(below)))
        elif told.commit is not None:
            await _check_commit(box, own.row, told.commit)
        if not told.keep_git:
            await _done(box, own.row, ("rm", "-rf", posixpath.join(told.root, ".git")))
        if told.setup is not None:
            report = await box.run(
                ("/bin/bash", "--noprofile", "--norc", "-c", told.setup),
                cwd=told.root,
                env=_env(own.row),
                limits=Limits(cpu_s=_SETUP_S, wall_s=_SETUP_S, output_bytes=_OUTPUT_BYTES),
            )
            _check(report)
            if report.status != "ok":
                raise InvalidReference(f"setup ended with {report.status}: {tail(report)}", path="reference.setup")
    except BoxFault as fault:
        raise InvalidReference(f"the repository cannot be placed: {fault}", path="reference.root") from None


_COMMIT = """set -e
git() { command git -c safe.directory='*' -c core.hooksPath=/dev/null -c core.fsmonitor=false "$@"; }
git merge-base --is-ancestor "$1" HEAD 2>/dev/null || git checkout -q -f "$1" """


async def _check_commit(box: FreshBox, row: Row, commit: str) -> None:
    """Checks out the commit, unless the image's repository is at it or after it. Nothing from a candidate is there
    yet.
    """
    await _done(box, row, ("/bin/bash", "-c", _COMMIT, "commit", commit), row.told.root)


async def _done(box: FreshBox, row: Row, argv: Sequence[str], cwd: str = "/") -> bytes:
    report = await box.run(argv, cwd=cwd, env=_env(row), limits=_ROOM)
    _check(report)
    if report.status != "ok":
        raise BoxFault(f"{' '.join(argv)[:200]}: {tail(report)}")
    return report.stdout


def _check(report: Report) -> None:
    if report.status == "internal_error":
        raise SandboxError(report.message or "a program in a box ended with an error of the sandbox's")


def _env(row: Row) -> dict[str, str]:
    own = {} if "sha256:" in row.told.image else {"PATH": PATH}
    return {**own, "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1", **row.told.env}


def _below(root: str, path: str) -> str:
    return posixpath.join(root, path).lstrip("/")


async def _pieces(data: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(data), _PART):
        yield data[start : start + _PART]


# --- patches ---------------------------------------------------------------------------------------------------------


async def _of_reference(box: FreshBox, row: Row, patch: Patch | None, name: str) -> _Written:
    try:
        return await _applied(box, row, patch)
    except PatchError as error:
        raise InvalidReference(f"does not apply: {error.detail}", path=f"reference.{name}") from error


async def _applied(box: FreshBox, row: Row, patch: Patch | None) -> _Written:
    """Returns the changes that a patch makes to the current repository. Raises PatchError."""
    if patch is None:
        return _Written()
    paths = paths_of(patch)
    parents = {path[:at] for path in paths for at, one in enumerate(path) if one == "/"}
    kinds = await _kinds(box, row, [*paths, *(parents - set(paths))])
    for path, kind in kinds.items():
        if kind == "link":
            # Attack: a path that leaves the repository through one of its links.
            raise PatchError("unsafe_path", f"{path[:80]} is a symbolic link")
        if path in parents and kind in ("file", "program"):
            raise PatchError("path_conflict", f"{path[:80]} is a file")
        if path not in parents and kind == "folder":
            raise PatchError("path_conflict", f"{path[:80]} is a folder")
    texts, dos = {}, set()
    for path in paths:
        if kinds[path] in ("file", "program"):
            data = await _content(box, row, path)
            if data is None:
                raise PatchError("too_expensive", f"{path[:80]} has more than {MOST_CONTENT} bytes")
            text = data.decode("utf-8", "surrogateescape")
            if "\r\n" in text and text.count("\r\n") == text.count("\n"):
                dos.add(path)
                text = text.replace("\r\n", "\n")
            texts[path] = text
    found = await asyncio.to_thread(apply_patch, patch, texts)
    made = _Written()
    for path, text_ in found.files.items():
        if text_ is None:
            made.files[path] = None
            continue
        ended = text_.replace("\n", "\r\n") if path in dos else text_
        made.files[path] = _encoded(ended)
        if kinds.get(path) == "program":
            made.programs.add(path)
    for path, mode in found.modes.items():
        (made.programs.add if mode == "100755" else made.programs.discard)(path)
        if path not in made.files and path in texts:
            made.files[path] = await _content(box, row, path)
    return made


def _encoded(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # attack: an unpaired surrogate, which no file can contain
        return text.encode("utf-8", "replace")


async def _kinds(box: FreshBox, row: Row, paths: Sequence[str]) -> dict[str, str]:
    made: dict[str, str] = {}
    for start in range(0, len(paths), _WORDS):
        some = paths[start : start + _WORDS]
        words = ["/bin/sh", "-c", _KINDS, "sh", *(posixpath.join(row.told.root, path) for path in some)]
        try:
            told = (await _done(box, row, words)).decode().split()
        except BoxFault as fault:
            raise InvalidReference(f"the repository cannot be read: {fault}", path="reference.root") from None
        made.update(zip(some, told, strict=True))
    return made


async def _content(box: FreshBox, row: Row, path: str) -> bytes | None:
    """Returns a file of the repository; None if it cannot be read."""
    try:
        return await box.read(posixpath.join(row.told.root, path), MOST_CONTENT)
    except BoxFault:
        return None


def _check_places(candidate: Mapping[str, bytes | None], row: Mapping[str, bytes | None]) -> None:
    """Raises PatchError if a candidate's file is in the place of one of the row's folders, or vice versa."""
    for path, data in candidate.items():
        if data is not None and any(
            other.startswith(path + "/") or path.startswith(other + "/") for other, theirs in row.items() if theirs
        ):
            raise PatchError("path_conflict", f"{path[:80]} is in the place of a test")


async def _write(box: FreshBox, row: Row, written: _Written, locked: bool) -> None:
    """Writes changes. locked: the files become read-only."""
    gone = [posixpath.join(row.told.root, path) for path, data in written.files.items() if data is None]
    there = {path: data for path, data in written.files.items() if data is not None}
    try:
        # An existing file may be read-only or have several hard links, so it is removed first.
        gone += [posixpath.join(row.told.root, path) for path in there]
        for start in range(0, len(gone), _WORDS):
            await _done(box, row, ("rm", "-f", "--", *gone[start : start + _WORDS]))
        tree = {
            _below(row.told.root, path): Blob(data, mode=(0o555 if path in written.programs else 0o444))
            if locked
            else Blob(data, path in written.programs)
            for path, data in there.items()
        }
        if tree:
            await box.extract("/", _pieces(archive(tree)))
    except BoxFault as fault:
        raise PatchError("path_conflict", f"a file cannot be written: {fault}") from None


# --- the run ---------------------------------------------------------------------------------------------------------


def _owned(row: Row, tests: Collection[str], solved: Collection[str]) -> Owned:
    files, sources = _named_by_ids(row)
    return Owned(
        named=tests,
        ids=files,
        patterns=row.told.test_files,
        solved=solved,
        command=paths_in(row.told.command, posixpath.normpath(row.told.root)) - {*sources},
        framework=row.told.framework,
    )


def _named_by_ids(row: Row) -> tuple[list[str], list[str]]:
    """Returns the test files that ids name (`tests/test_a.py::test_b`), and the source files that they name: those of
    doctests (`a.py::a.f`) and of Cargo's unit tests (`src/lib.rs::tests::b`).
    """
    files: dict[str, None] = {}
    sources: dict[str, None] = {}
    for id in row.ids:
        path, mark, name = id.partition("::")
        doctest = path.endswith(".py") and "." in name.partition("[")[0]
        if mark:
            (sources if doctest or row.told.framework == "cargo" else files)[path] = None
    return safe_paths(list(files)), safe_paths(list(sources))


async def _lock(box: FreshBox, row: Row, paths: Sequence[str]) -> None:
    """Makes files read-only, if they exist and we may change them."""
    names = [posixpath.join(row.told.root, path) for path in dict.fromkeys(paths)]
    for start in range(0, len(names), _WORDS):
        report = await box.run(
            ("chmod", "a-w", "--", *names[start : start + _WORDS]), cwd="/", env=_env(row), limits=_ROOM
        )
        _check(report)


async def _guarded(box: FreshBox, row: Row, owned: Owned, named: Sequence[str]) -> dict[str, str | None]:
    """Returns digests of the files that must not change while the tests run. Nothing from a candidate has run yet."""
    folders = [word for name in _PASSED_BY for word in ("-o", "-name", name)][1:]
    argv = ("find", ".", "(", *folders, ")", "-prune", "-o", "-type", "f", "-print0")
    report = await box.run(argv, cwd=row.told.root, env=_env(row), limits=replace(_ROOM, output_bytes=_OUTPUT_BYTES))
    _check(report)
    listed = [os.fsdecode(name).removeprefix("./") for name in report.stdout.split(b"\0") if name]
    kinds = {path: owned.kind(path) for path in safe_paths(sorted(listed))}
    return await _marks(box, row, named, [path for path, kind in kinds.items() if kind], _MOST_GUARDED)


async def _marks(
    box: FreshBox, row: Row, named: Collection[str], others: Collection[str], most: int
) -> dict[str, str | None]:
    """Returns digests of files; None if a file does not exist. most: the number of bytes to read from the folders in
    `others`; files beyond it are missing.
    """
    found: dict[str, str | None] = {}
    for path in {*named, *(path for path in others if "/" not in path)}:
        data = await _content(box, row, path)
        found[path] = None if data is None else hashlib.sha256(data).hexdigest()
    of_folders: dict[str, set[str]] = {}
    for path in others:
        top, _, inner = path.partition("/")
        if path not in found:
            of_folders.setdefault(top, set()).add(inner)
    for top, wanted in of_folders.items():
        with tempfile.SpooledTemporaryFile(_SPOOLED) as file:
            try:
                async with contextlib.aclosing(box.archive(posixpath.join(row.told.root, top))) as pieces:
                    async for piece in pieces:
                        file.write(piece)
                        most -= len(piece)
                        if most < 0:
                            break
            except BoxFault:
                continue
            marks = await asyncio.to_thread(_marks_in, file, wanted)
        found |= {f"{top}/{inner}": mark for inner, mark in marks.items()}
    return found


def _marks_in(file: IO[bytes], wanted: Collection[str]) -> dict[str, str]:
    file.seek(0)
    made: dict[str, str] = {}
    try:
        with tarfile.open(fileobj=file) as given:
            for member in given:
                name = posixpath.normpath(member.name)
                inner = given.extractfile(member) if member.isreg() and name in wanted else None
                if inner is not None:
                    made[name] = hashlib.sha256(inner.read()).hexdigest()
    except (tarfile.TarError, EOFError):
        return made  # the archive was truncated
    return made


async def _run(box: FreshBox, row: Row) -> tuple[Report, Results]:
    told = row.told
    limits = Limits(cpu_s=told.timeout_s, wall_s=told.timeout_s, output_bytes=_OUTPUT_BYTES)
    if row.reports_itself:
        await box.extract("/", _pieces(archive(_ours())))
        plan = {"command": told.command, "framework": told.framework, "cwd": told.root, "python": f"{OURS}/python"}
        argv = (told.python, "-I", "-S", "-B", f"{OURS}/supervisor.py", json.dumps(plan))
        report = await box.run(argv, cwd=told.root, env=_env(row), limits=limits)
        _check(report)
        await box.stop()
        return report, await asyncio.to_thread(read_supervised, report, row.ids)
    if told.report is not None:
        # Attack: a report that exists before the tests run.
        await _done(box, row, ("rm", "-rf", "--", posixpath.join(told.root, told.report)))
    shell = ("/bin/bash", "--noprofile", "--norc", "-c", told.command)
    report = await box.run(shell, cwd=told.root, env=_env(row), limits=limits)
    _check(report)
    # Attack: a process that the tests started writes the report after they have ended.
    await box.stop()
    written = None
    if told.report is not None:
        try:
            written = await box.read(posixpath.join(told.root, told.report), _MOST_REPORT)
        except BoxFault:
            written = b""
    return report, await asyncio.to_thread(read_printed, told.framework, report, written, row.ids)


@lru_cache(maxsize=1)
def digest_of_ours() -> str:
    """Returns a digest of our files in a box."""
    return hashlib.sha256(archive(_ours())).hexdigest()


@lru_cache(maxsize=1)
def _ours() -> dict[str, Blob]:
    package = resource("rewarden_verifiers.repositories.inside")
    places = {"sitecustomize.py": "python/sitecustomize.py", "supervisor.py": "supervisor.py"}
    return {
        posixpath.join(OURS, place).lstrip("/"): Blob(package.joinpath(name).read_bytes())
        for name, place in places.items()
    }
