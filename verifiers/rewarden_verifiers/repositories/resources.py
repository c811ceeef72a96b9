"""The resources of the verifier `swe`: limits of its boxes, and repositories."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property

from rewarden_verifiers.repositories.tree import Repositories
from rewarden_verifiers.state_folder import state_folder
from rewarden_verifiers.tasks.judging import Size
from rewarden_verifiers.tasks.shelf import Shelf


@dataclass(frozen=True, kw_only=True)
class SweResources:
    """size: the limits of the boxes. shelf: where checks are stored. repositories: reads the repositories that
    references name, or None if the server has none.
    """

    size: Size = field(default_factory=Size)
    shelf: Shelf = field(default_factory=lambda: Shelf(state_folder("tasks")))
    repositories: Repositories | None = None

    @cached_property
    def fingerprint(self) -> str:
        """See `rewarden_verifiers.contract.Resources`."""
        if self.size == Size() and self.repositories is None:
            return ""
        return hashlib.blake2b(repr((self.size, self.repositories)).encode(), digest_size=12).hexdigest()
