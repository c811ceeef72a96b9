"""The settings of the store of runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rewarden_server.setting import File, Whole
from rewarden_verifiers.state_folder import state_folder


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """The store of training runs. `store`: if false, nothing is stored; `dir`: its folder (if not set,
    `$XDG_STATE_HOME/rewarden/runs`, which is `~/.local/state/rewarden/runs` by default); `texts`: also keep rollouts,
    which contain prompts and responses; `max_bytes`: its size; the oldest rollouts are deleted first, then the oldest
    runs."""

    store: bool = True
    dir: File | None = None
    texts: bool = False
    max_bytes: Whole = 1024**3

    @property
    def folder(self) -> Path:
        """Returns the folder in use."""
        return self.dir if self.dir is not None else state_folder("runs")
