"""The parameters of `task`, and its references."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskParams:
    """step: The step to judge, of a task that has steps.
    form: The form of a response that is run in a fresh box. `script` is a shell script, in its last fence or bare.
    `files` is a JSON object of path to text; relative paths begin in the task's working folder.
    """

    step: str | None = None
    form: Literal["script", "files"] = "script"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskReference:
    """A task that comes with the request. files: path to text, as they lie in a task folder. Scripts need no mode."""

    files: Mapping[str, str]
