"""Runs that were broken off or are complete already: which of them a command goes on with, and which it refuses."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from rewarden_server.studies.rescore.destinations import beside
from rewarden_server.studies.rescore.journal import Journal, Recovered, read_header
from rewarden_server.studies.rescore.options import RescoreError
from rewarden_server.studies.rescore.read import WORK_SUFFIX


class Resumable(Protocol):
    """The options of a run that writes an output."""

    @property
    def output(self) -> Path:
        """The file or folder that is written."""

    @property
    def resume(self) -> bool:
        """True to go on with a run, if there is one."""

    @property
    def force(self) -> bool:
        """True if an output or an unfinished run may be replaced."""


def published(output: Path) -> dict[str, Any] | None:
    """The summary, as JSON, of the run whose output stands there whole; None if there is none, or where a run is to be
    gone on with."""
    if not output.exists() or (beside(output, WORK_SUFFIX) / "journal").exists():
        return None
    try:
        told = json.loads(beside(output, ".summary.json").read_text(encoding="utf-8"))
        del told["run"]
    except (OSError, ValueError, KeyError):
        return None
    return dict(told)


def is_kept(output: Path | None) -> bool:
    """Returns whether the folder of a run that can be gone on with is next to an output."""
    return output is not None and beside(output, WORK_SUFFIX).exists()


def is_finished(options: Resumable, header: Mapping[str, Any], work: Path) -> bool:
    """Returns whether there is nothing left to do. Raises RescoreError when something stands in the way."""
    unfinished = (work / "journal").exists() and read_header(work / "journal") is not None
    if options.force and not options.resume:
        return False
    if unfinished:
        if options.resume:
            return False
        raise RescoreError(f"{str(work)!r} holds an unfinished run: continue with --resume, or start over with --force")
    there = options.output.exists() and (not options.output.is_dir() or any(options.output.iterdir()))
    if not there:
        return False
    if not options.resume:
        raise RescoreError(f"the output {str(options.output)!r} already exists; replace it with --force")
    try:
        earlier = json.loads(beside(options.output, ".summary.json").read_text(encoding="utf-8"))["run"]
    except (OSError, ValueError, KeyError):
        raise RescoreError(
            f"there is no unfinished run to resume, and {str(options.output)!r} already exists; replace it with --force"
        ) from None
    refuse_differences(earlier, header, "the finished output")
    return True


def open_journal(work: Path, header: Mapping[str, Any], options: Resumable) -> tuple[Journal, Recovered]:
    """The journal in a run's folder: of the run to go on with, or a new one. Raises RescoreError if they differ."""
    path = work / "journal"
    if options.resume and path.exists() and read_header(path) is not None:
        journal, recovered = Journal.reopen(path)
        try:
            refuse_differences(recovered.header, header, "the unfinished run")
        except RescoreError:
            journal.close()
            raise
        return journal, recovered
    for entry in work.iterdir():
        if entry.name != "lock":
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    return Journal.create(path, header), Recovered(header)


def refuse_differences(old: Mapping[str, Any], new: Mapping[str, Any], what: str) -> None:
    """Raises RescoreError if the headers of two runs differ. what: the older one, in words."""
    found = differences(old, new)
    if found:
        raise RescoreError(
            f"{what} had other inputs or options:\n  "
            + "\n  ".join(found)
            + "\nuse the same, or start over with --force"
        )


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Returns the differences between the headers of two runs, for people."""
    found = []
    if old.get("format") != new.get("format"):
        found.append(f"journal format {old.get('format')}, now {new.get('format')}")
    before = {entry["name"]: entry for entry in old.get("input", ())}
    after = {entry["name"]: entry for entry in new.get("input", ())}
    for name in sorted(before.keys() | after.keys()):
        one, other = before.get(name), after.get(name)
        if one is None or other is None:
            found.append(f"input {name}: {'new' if one is None else 'gone'}")
        else:
            meanings: tuple[tuple[str, Callable[[Any], str]], ...] = (
                ("size", lambda value: f"{value} bytes"),
                ("head", lambda value: f"begins with {value[:8]}…"),
                ("mtime_ns", lambda value: f"changed at {value / 1e9:.3f}"),
            )
            shown = [f"{say(one[key])}, now {say(other[key])}" for key, say in meanings if one[key] != other[key]]
            if shown:
                found.append(f"input {name}: {'; '.join(shown)}")
    for part, label in (("options", ""), ("columns", "--column "), ("verifiers", "fingerprint of ")):
        one, other = old.get(part) or {}, new.get(part) or {}
        for key in sorted(one.keys() | other.keys()):
            if one.get(key) != other.get(key):
                found.append(f"{label}{key}: {json.dumps(one.get(key))}, now {json.dumps(other.get(key))}")
    return found
