"""The settings of task folders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from rewarden_sandboxes.network.rules import read_rule
from rewarden_server.setting import File, Parts, Text, Whole, texts
from rewarden_verifiers.schema import AfterValidator, Misfit
from rewarden_verifiers.state_folder import state_folder
from rewarden_verifiers.tasks.judging import Size
from rewarden_verifiers.tasks.shelf import MOST_BYTES, Shelf


def _rules(texts: tuple[str, ...]) -> tuple[str, ...]:
    for text in texts:
        try:
            read_rule(text)
        except ValueError as error:
            raise Misfit(f": {error}") from None
    return texts


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSettings:
    """Task folders, in Harbor's format.

    folders: folders of tasks, or task folders. A task's id is the name of its folder. dir: the folder of what is
    remembered of tasks: their checks, and their environments (if not set, `$XDG_STATE_HOME/rewarden/tasks`).
    max_bytes: its size; what was used longest ago is deleted first. memory_mb, disk_mb: the most that a task's box
    gets, MiB, whatever the task asks for. repositories: the folder below which the repositories lie that references of
    `swe` name. network: names that the tests of tasks may reach, if the task wants them, as in `sandbox.network`, which
    must list them as well.
    """

    folders: Annotated[tuple[Text, ...], Parts, texts("/data/tasks")] = ()
    dir: File | None = None
    max_bytes: Whole = MOST_BYTES
    memory_mb: Whole = 2048
    disk_mb: Whole = 1024
    repositories: File | None = None
    network: Annotated[tuple[Text, ...], Parts, AfterValidator(_rules), texts("packages.example:443")] = ()

    @property
    def shelf(self) -> Shelf:
        """Returns what is remembered of tasks and rows."""
        return Shelf(self.dir if self.dir is not None else state_folder("tasks"), self.max_bytes)

    @property
    def size(self) -> Size:
        """Returns the size of tasks' boxes."""
        return Size(memory_mb=self.memory_mb, disk_mb=self.disk_mb, network=self.network)
