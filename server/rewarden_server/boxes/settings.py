"""The settings of boxes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rewarden_server.setting import File, Positive, Whole
from rewarden_verifiers.state_folder import state_folder


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxSettings:
    """Boxes (`/v1/sessions`).

    per_key, memory_mb_per_key, disk_mb_per_key: the boxes of one key at once, and their memory and disk together.
    memory_mb, disk_mb: of a box that asks for none. ttl_s, ttl_s_max: seconds that a box lives, by default and at most.
    idle_s: seconds without a request after which it is closed, by default. lease_s_max: seconds that a lease lasts at
    most. output_bytes: output of a program that is returned in one piece, if it sets no limit; background_bytes: kept
    output of a program in the background. execs: programs in the background of one box; execs_per_key: of all boxes of
    one key, which bounds the output that the server keeps for it. notebooks: of one box. cell_s: seconds that a
    notebook's cell may take, if it sets no limit; its output is at most output_bytes.
    dir: the folder of snapshots and of the secret that signs leases (if not set, `$XDG_STATE_HOME/rewarden/boxes`).
    Servers that share it restore each other's snapshots. snapshot_bytes, snapshots: of one key; snapshot_s: seconds
    that a snapshot is kept.
    """

    per_key: Whole = 64
    memory_mb_per_key: Whole = 64 * 1024
    disk_mb_per_key: Whole = 64 * 1024
    memory_mb: Whole = 512
    disk_mb: Whole = 512
    ttl_s: Positive = 3600.0
    ttl_s_max: Positive = 86_400.0
    idle_s: Positive = 600.0
    lease_s_max: Positive = 86_400.0
    output_bytes: Whole = 8 * 1024**2
    background_bytes: Whole = 1024**2
    execs: Whole = 64
    execs_per_key: Whole = 256
    notebooks: Whole = 8
    cell_s: Positive = 60.0
    dir: File | None = None
    snapshot_bytes: Whole = 10 * 1024**3
    snapshots: Whole = 100
    snapshot_s: Positive = 7 * 86_400.0

    @property
    def folder(self) -> Path:
        """Returns the folder in use."""
        return self.dir if self.dir is not None else state_folder("boxes")
