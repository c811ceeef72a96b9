"""The tasks that a server's configuration provides for the verifier `task`."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from rewarden_verifiers.state_folder import state_folder
from rewarden_verifiers.tasks.judging import Size
from rewarden_verifiers.tasks.memory import Memory
from rewarden_verifiers.tasks.shelf import Shelf
from rewarden_verifiers.tasks.task import Task


@dataclass(frozen=True, kw_only=True)
class TaskResources:
    """tasks: by id. size: the limits of their boxes. shelf: where results are stored."""

    tasks: Mapping[str, Task] = field(default_factory=dict)
    size: Size = field(default_factory=Size)
    shelf: Shelf = field(default_factory=lambda: Shelf(state_folder("tasks")))

    @property
    def memory(self) -> Memory:
        """Returns the store of task results."""
        return Memory(self.shelf)

    @cached_property
    def fingerprint(self) -> str:
        """See `rewarden_verifiers.contract.Resources`."""
        if not self.tasks and self.size == Size():
            return ""
        rows = sorted((id, task.digest) for id, task in self.tasks.items())
        return hashlib.blake2b(repr((rows, self.size)).encode(), digest_size=12).hexdigest()
