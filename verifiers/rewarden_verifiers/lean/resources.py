"""The resources from a server's configuration for `lean`: its projects."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from rewarden_verifiers.canonical import canonical
from rewarden_verifiers.provers import Project


@dataclass(frozen=True, kw_only=True)
class LeanResources:
    """The configured projects that are usable, by name; they may be resolved lazily. default: the project for samples
    that name none.
    """

    projects: Mapping[str, Project] = field(default_factory=dict)
    default: str | None = None

    @cached_property
    def fingerprint(self) -> str:
        """See `rewarden_verifiers.contract.Resources`. It contains no credentials."""
        if not self.projects:
            return ""
        rows = sorted([name, project.kind, project.identity] for name, project in self.projects.items())
        return hashlib.blake2b(canonical([self.default, rows]).encode(), digest_size=12).hexdigest()
