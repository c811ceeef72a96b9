"""The default folders for data that outlives a process."""

from __future__ import annotations

import os
from pathlib import Path


def state_folder(name: str) -> Path:
    """Returns `$XDG_STATE_HOME/rewarden/NAME`; the variable defaults to `~/.local/state` if it is unset or empty."""
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(state).expanduser() / "rewarden" / name
