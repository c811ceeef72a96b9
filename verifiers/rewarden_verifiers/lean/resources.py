"""Resources that a server's configuration provides for `lean`: its projects."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from rewarden_verifiers.canonical import canonical
from rewarden_verifiers.provers import Project


@dataclass(frozen=True, kw_only=True)
class LeanResources:
    """The projects that can be used, by name, which may be found no sooner than they are asked for. default: of samples
    that name none."""

    projects: Mapping[str, Project] = field(default_factory=dict)
    default: str | None = None

    @cached_property
    def fingerprint(self) -> str:
        """See `rewarden_verifiers.contract.Resources`. Credentials are not in it."""
        if not self.projects:
            return ""
        rows = sorted([name, project.kind, project.identity] for name, project in self.projects.items())
        return hashlib.blake2b(canonical([self.default, rows]).encode(), digest_size=12).hexdigest()
