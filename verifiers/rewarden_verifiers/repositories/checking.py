"""Checks a row before its first use: its solution must pass all tests, and some tests must fail without it.

The check is the control run for every verdict: a failure that occurs only in a candidate's run is the candidate's
fault.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from rewarden.errors import InvalidReference
from rewarden_verifiers.patches.patch import PatchError
from rewarden_verifiers.repositories.bench import Bench, Ran, digest_of_ours, run_tests
from rewarden_verifiers.repositories.reports import PASSED, XFAILED
from rewarden_verifiers.repositories.row import Row
from rewarden_verifiers.tasks.shelf import Shelf

VERSION = 2
"""Incremented when the meaning of an entry or the way to compute it changes."""
_SHOWN = 5
_REFUSED_S = 86_400.0
"""Seconds until a rejection expires: the cause may have been the machine, or a flaky test."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCheck:
    """The check of a row. problem: why it cannot judge, or None. solved: whether its solution was run. whole: whether
    the control run (of the solution, or else without a patch) completed, so that an incomplete run is the candidate's
    fault. exits: whether the command's exit code shows that a test failed, so that a candidate's must match its report.
    prints: digests of the tests' code, for tests on which both runs agree. alarms, states, changed, rewritten: see
    `Ran` and `Results`. excused: tests that are expected to fail. python: see `Results`. made_at: seconds since the
    epoch.
    """

    problem: str | None = None
    solved: bool = False
    whole: bool = False
    exits: bool = False
    prints: Mapping[str, str] = field(default_factory=dict)
    alarms: Sequence[str] = ()
    states: Sequence[str] = ()
    changed: Sequence[str] = ()
    rewritten: Sequence[str] = ()
    excused: Sequence[str] = ()
    python: str = ""
    seconds: float = 0.0
    made_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Checks:
    """The store of checked rows. All methods block. now: returns seconds since the epoch."""

    shelf: Shelf
    now: Callable[[], float] = time.time

    def find(self, digest: str, image_id: str) -> RowCheck | None:
        """Returns the stored check of a row on an image, or None."""
        file = self.shelf.open(self._path(digest, image_id))
        if file is None:
            return None
        try:
            with file:
                known = RowCheck(**json.load(file))
        except (OSError, ValueError, TypeError, RecursionError):
            return None  # the check runs again
        if known.problem is not None and not 0 <= self.now() - known.made_at < _REFUSED_S:
            return None
        return known

    def remember(self, digest: str, image_id: str, found: RowCheck) -> None:
        """Stores the result of a check."""
        with self.shelf.writing(self._path(digest, image_id)) as file:
            file.write(json.dumps(asdict(replace(found, made_at=self.now()))).encode())

    def _path(self, digest: str, image_id: str) -> Path:
        key = hashlib.sha256(f"{VERSION} {digest_of_ours()} {digest} {image_id}".encode()).hexdigest()
        return self.shelf.folder / "rows" / f"{key}.json"


def digest_of(own: Bench) -> str:
    """Returns a digest of a row, its repository's files, and the limits of its boxes, because a solution may fail under
    lower limits.
    """
    made = hashlib.sha256(repr((own.row.digest, own.size)).encode())
    for path, blob in sorted((own.tree or {}).items()):
        made.update(repr((path, len(blob.data), blob.executable, blob.link)).encode("utf-8", "surrogatepass"))
        made.update(blob.data)
    return made.hexdigest()


async def checked(own: Bench, checks: Checks, python: str = "") -> RowCheck:
    """Returns the check of a row, and runs it if no result is stored. Raises SandboxError.

    python: the version reported by a run of the row, if any (see `Results`). A check made with another version is
    repeated: digests of tests differ, and so do changes that a framework makes by itself. An image without an identity
    may have been updated.
    """
    digest = await asyncio.to_thread(digest_of, own)
    known = await asyncio.to_thread(checks.find, digest, own.image_id)
    if known is None or (python and known.python and known.python != python):
        key = f"row {digest} {own.image_id} {python}"
        known = await own.boxes.together(key, lambda: _check(own, checks, digest))
    return known


async def _check(own: Bench, checks: Checks, digest: str) -> RowCheck:
    found = await _made(own)
    if found.problem is not None:
        # A flaky test or a machine under load must not reject a row.
        found = await _made(own)
    await asyncio.to_thread(checks.remember, digest, own.image_id, found)
    return found


async def _made(own: Bench) -> RowCheck:
    row = own.row
    try:
        before = await run_tests(own, None)
        if (problem := _of_untouched(row, before)) is not None:
            return RowCheck(problem=problem)
        if row.gold is None:
            return RowCheck(**_seen(row, before, before), solved=False)
        after = await run_tests(own, row.gold)
    except InvalidReference as error:
        return RowCheck(problem=f"{error.details.get('path', 'reference')}: {error.message}")
    except PatchError as error:
        return RowCheck(problem=f"reference.patch: {error.detail}")
    return RowCheck(**_seen(row, before, after), solved=True, problem=_of_solved(row, after))


def _seen(row: Row, before: Ran, after: Ran) -> dict[str, Any]:
    first, last = before.results, after.results
    return {
        "whole": after.whole,
        "exits": not row.reports_itself and _exits(before) and (after is before or not after.exits_otherwise),
        "prints": {id: mark for id, mark in last.prints.items() if first.prints.get(id, mark) == mark},
        "alarms": sorted({*first.alarms, *last.alarms}),
        "states": sorted({*first.states, *last.states}),
        "changed": sorted({*first.changed, *last.changed}),
        "rewritten": sorted({*before.rewritten, *after.rewritten}),
        "excused": [id for id, status in last.tests.items() if status == XFAILED],
        "python": last.python,
        "seconds": after.seconds,
    }


def _exits(before: Ran) -> bool:
    """Returns whether the exit code reveals failed tests (no `|| true` or pipe hides them). It may also report build
    failures.
    """
    return not before.results.failed or before.results.exit_code != 0


def _of_untouched(row: Row, ran: Ran) -> str | None:
    if ran.results.refusal is not None:
        return f"reference.command: {ran.results.refusal}"
    tests = ran.results.tests
    passing = [id for id in row.must_pass if tests.get(id) == PASSED]
    if passing:
        return f"without the solution, these of fail_to_pass pass: {_some(passing)}"
    if ran.end != "ended":
        return None  # this fault may be the reason why they hang
    failing = [id for id in row.must_stay if tests.get(id) not in (PASSED, XFAILED)]
    # A test patch that needs the solution can break a whole file without it.
    if failing and row.gold is None:
        return f"without any patch, these of pass_to_pass do not pass: {_some(failing)}{_said(ran)}"
    return None


def _of_solved(row: Row, ran: Ran) -> str | None:
    if ran.end != "ended":
        return f"the tests of the solution reached the {ran.end.replace('_', ' ')}{_said(ran)}"
    if not ran.results.whole:
        return f"the tests of the solution gave no report{_said(ran)}"
    failing = [id for id in row.ids if ran.results.tests.get(id) not in (PASSED, XFAILED)]
    if failing:
        return f"with the solution, these tests do not pass: {_some(failing)}{_said(ran)}"
    return None


def _some(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
    return ", ".join(id[:200] for id in ids[:_SHOWN]) + more


def _said(ran: Ran) -> str:
    said = "\n".join([*ran.results.errors[:3], ran.output]).strip()
    return f": {said[-2000:]}" if said else ""
