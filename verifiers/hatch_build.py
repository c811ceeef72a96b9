"""A step of building the server's distribution: writes what fingerprints need to know of our sources."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGES = ("verifiers/rewarden_verifiers", "sandboxes/rewarden_sandboxes", "client/rewarden")
TABLE = "verifiers/rewarden_verifiers/fingerprint/sources.json"


class SourcesHook(BuildHookInterface):  # type: ignore[type-arg]
    """Writes the table, for an installation that can be edited as well, and packs it although git ignores it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by Hatch before it collects files."""
        root = Path(self.root)
        packages = [str(root / package) for package in PACKAGES]
        # In a process of its own, started where the sources are: an older release may be installed beside Hatch.
        command = [sys.executable, "-m", "rewarden_verifiers.fingerprint.sources", *packages]
        subprocess.run(command, cwd=root / "verifiers", check=True)
        build_data["artifacts"].append(TABLE)
