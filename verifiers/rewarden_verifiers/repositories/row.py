"""A parsed and validated reference of `swe`."""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from rewarden.errors import InvalidReference
from rewarden_verifiers.patches.patch import Block, FileDiff, Patch, PatchError, safe
from rewarden_verifiers.patches.reading import read_patch
from rewarden_verifiers.repositories.reference import SweReference

COMMIT = re.compile(r"[0-9a-f]{7,64}")
MOST_TESTS = 100_000
MOST_SECONDS = 3600.0
_DJANGO = re.compile(r"(\w+) \(([\w.]+)\)")
"""The name of a test as unittest prints it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """See `SweReference`. digest: of the entire reference. must_pass, must_stay: the distinct ids that count."""

    told: SweReference
    digest: str
    must_pass: Sequence[str]
    must_stay: Sequence[str]
    test_patch: Patch | None
    gold: Patch | None

    @property
    def ids(self) -> Sequence[str]:
        """Returns all ids that count."""
        return (*self.must_pass, *self.must_stay)

    @property
    def reports_itself(self) -> bool:
        """Returns whether tests report over a pipe instead of by their output."""
        return self.told.framework in ("pytest", "unittest")


def read_reference(told: SweReference) -> Row:
    """Parses a reference. Raises InvalidReference."""
    text = json.dumps(asdict(told), sort_keys=True)
    if not told.command.strip():
        raise InvalidReference("command is blank", path="reference.command")
    if told.files is not None and told.folder is not None:
        raise InvalidReference("give files or folder, not both", path="reference.folder")
    if told.commit is not None and not COMMIT.fullmatch(told.commit):
        raise InvalidReference("must be 7 to 64 hexadecimal digits", path="reference.commit")
    if not told.root.startswith("/") or posixpath.normpath(told.root) in ("/", "//"):
        raise InvalidReference("must be an absolute path, and not the root", path="reference.root")
    if not 0 < told.timeout_s <= MOST_SECONDS:
        raise InvalidReference(f"must be above 0 and at most {MOST_SECONDS:g}", path="reference.timeout_s")
    if told.framework == "junit" and not told.report:
        raise InvalidReference("is missing: the file of XML that the command writes", path="reference.report")
    flaky = {canonical(id) for id in told.flaky}
    must_pass = [id for id in dict.fromkeys(map(canonical, told.fail_to_pass)) if id not in flaky]
    must_stay = [id for id in dict.fromkeys(map(canonical, told.pass_to_pass)) if id not in {*flaky, *must_pass}]
    if not must_pass:
        raise InvalidReference("names no test that is not flaky", path="reference.fail_to_pass")
    if len(must_pass) + len(must_stay) > MOST_TESTS:
        raise InvalidReference(f"names more than {MOST_TESTS} tests", path="reference.pass_to_pass")
    return Row(
        told=told,
        digest=hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
        must_pass=must_pass,
        must_stay=must_stay,
        test_patch=_patch(told.test_patch, "test_patch"),
        gold=_patch(told.patch or "", "patch"),
    )


def canonical(id: str) -> str:
    """Returns an id in the form in which tests are reported: `module.Class.test` for unittest's `test
    (module.Class)`.
    """
    found = _DJANGO.fullmatch(id.strip())
    if found is None:
        return id.strip()
    name, place = found[1], found[2]
    return place if place.rpartition(".")[2] == name else f"{place}.{name}"


def paths_of(patch: Patch | None) -> list[str]:
    """Returns the distinct paths that a patch names."""
    names: list[str] = []
    for change in patch.changes if patch is not None else ():
        if isinstance(change, FileDiff):
            names += [path for path in (change.old, change.new) if path is not None]
        elif isinstance(change, Block):
            names.append(change.path)
        else:
            names.append(change.path)
    return list(dict.fromkeys(names))


def _patch(text: str, name: str) -> Patch | None:
    if not text.strip():
        return None
    try:
        return read_patch(text, ("diff",))
    except PatchError as error:
        raise InvalidReference(error.detail, path=f"reference.{name}") from error


def safe_paths(paths: Sequence[str]) -> list[str]:
    """Returns the paths that lie inside the repository."""
    made = []
    for path in paths:
        try:
            made.append(safe(path))
        except PatchError:
            continue
    return made
