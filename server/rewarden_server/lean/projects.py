"""The configuration's Lean projects, resolved when they are used: nothing is checked earlier, and a broken project
affects no other."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from rewarden.errors import InvalidSample, SandboxError, near
from rewarden_sandboxes.lake import INSTALL, LeanError, elan_home, elan_toolchains
from rewarden_sandboxes.lean import NAME, LeanProject, resolve
from rewarden_server.lean.settings import LeanSettings
from rewarden_verifiers.provers import Project

_REMOTE = ("http://", "https://")


class Projects(Mapping[str, Project]):
    """The usable projects by name. Pickled as a dictionary.

    A project is resolved at its first use and kept. One that was repaired is found again; one that was rebuilt is
    noticed only at the next start, because processes have loaded the old one.
    """

    def __init__(self, settings: LeanSettings) -> None:
        self._places = places_of(settings)
        self._default = settings.default
        self._found: dict[str, LeanProject] = {}

    @property
    def default(self) -> str | None:
        """The project of samples that name none; None if there is no project."""
        return self._default or next(iter(self._places), None)

    def names(self) -> tuple[str, ...]:
        """Returns all names, including those of broken projects."""
        return tuple(self._places)

    def address(self, name: str) -> str | None:
        """Returns the configured server of a remote project; None for a local one. Raises KeyError."""
        place = self._places[name]
        return place if is_remote(place) else None

    def find(self, name: str | None) -> Project:
        """Returns the project of that name; None: the default.

        Raises InvalidSample for an unknown name, and SandboxError for an unusable project, with the fix.
        """
        wanted = self._known(name)
        place = self._places[wanted]
        if is_remote(place):
            return Project(name=wanted, kind="remote", identity=without_credentials(place))
        try:
            local = self.resolved(wanted)
        except LeanError as error:
            raise SandboxError(f"the Lean project {wanted!r} cannot be used: {error}") from None
        return Project(
            name=wanted,
            kind="local",
            identity=local.identity,
            version=local.version,
            path=local.path,
            replays=local.checker,
        )

    def resolved(self, name: str) -> LeanProject:
        """Returns a local project. Raises LeanError, and KeyError for an unknown name."""
        if name not in self._found:
            self._found[name] = resolve(name, Path(self._places[name]))
        return self._found[name]

    def told(self) -> dict[str, dict[str, Any]]:
        """Returns all projects by name, ready for JSON, for `/v1/info`: unusable ones with their problem and the
        fix."""
        rows: dict[str, dict[str, Any]] = {}
        for name in self._places:
            try:
                project = self.find(name)
            except SandboxError as error:
                rows[name] = {"problem": error.message}
            else:
                rows[name] = {"kind": project.kind, "version": project.version, "replays": project.replays}
        return rows

    def _known(self, name: str | None) -> str:
        wanted = name or self.default
        if wanted is None:
            raise InvalidSample(
                f"Lean is not installed: no lean.projects, and no toolchain in {elan_home()}: {INSTALL}",
                path="params.project",
            )
        if wanted not in self._places:
            hint = near(wanted, self._places)
            raise InvalidSample(f"unknown Lean project {wanted!r} (lean.projects){hint}", path="params.project")
        return wanted

    def __getitem__(self, name: str) -> Project:
        try:
            return self.find(name)
        except (InvalidSample, SandboxError):
            raise KeyError(name) from None

    def __iter__(self) -> Iterator[str]:
        for name in self._places:
            with contextlib.suppress(SandboxError):
                self.find(name)
                yield name

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __reduce__(self) -> tuple[type[dict[str, Project]], tuple[dict[str, Project]]]:
        return dict, (dict(self),)


def places_of(settings: LeanSettings) -> dict[str, str]:
    """Returns every project's folder or address, by name: the configured ones, or else elan's toolchains, newest
    first."""
    if settings.projects:
        return dict(settings.projects)
    return {name: str(folder) for name, folder in elan_toolchains().items() if NAME.fullmatch(name)}


def local_places(settings: LeanSettings) -> dict[str, str]:
    """Returns the folders of the projects for a sandbox host, the default project's first."""
    places = {name: os.path.abspath(place) for name, place in places_of(settings).items() if not is_remote(place)}
    first = {settings.default: places[settings.default]} if settings.default in places else {}
    return first | places


def is_remote(place: str) -> bool:
    """Returns whether a project's place is the address of a server."""
    return place.startswith(_REMOTE)


def shown_place(place: str) -> str:
    """Returns a project's place in a form that can be shown."""
    return without_credentials(place) if is_remote(place) else place


def without_credentials(address: str) -> str:
    """Returns an address in a form that can be shown and still identifies it: without name, password and query."""
    parts = urlsplit(address)
    return urlunsplit((parts.scheme, re.sub(r".*@", "", parts.netloc), parts.path, "", ""))
