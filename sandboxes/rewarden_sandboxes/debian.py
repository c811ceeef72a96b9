"""Debian without a registry of images: a minimal root file system, as `debian:bookworm-slim` has it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from rewarden_sandboxes.images import DEBIAN, ImageError

Log = Callable[[str], None]
"""Is told each step, and each line that a step prints."""

_EXCLUDED = ("usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info", "usr/share/lintian")


def make_debian(target: Path, log: Log) -> None:
    """Fill the empty folder `target` with a minimal Debian, which needs root, debootstrap and a mirror.

    The mirror is debootstrap's own, or that of the variable REWARDEN_DEBIAN_MIRROR. Raises ImageError.
    """
    if shutil.which("debootstrap") is None:
        raise ImageError("debootstrap is not installed", "apt-get install debootstrap")
    if os.geteuid() != 0:
        raise ImageError("debootstrap needs root", "run the same command as root, or install a container engine")
    log(f"debootstrap {DEBIAN}")
    mirror = os.environ.get("REWARDEN_DEBIAN_MIRROR")
    # Whatever the caller's umask: a candidate, an arbitrary uid, must be able to read all of it.
    run(["debootstrap", "--variant=minbase", DEBIAN, str(target), *([mirror] if mirror else [])], log, umask=0o022)
    slim = "".join(f"path-exclude /{folder}/*\n" for folder in _EXCLUDED)
    (target / "etc/dpkg/dpkg.cfg.d/slim").write_text(slim)
    for folder in (*_EXCLUDED, "var/cache/apt/archives", "var/lib/apt/lists", "var/log"):
        for path in (target / folder).iterdir() if (target / folder).is_dir() else ():
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def run(
    command: Sequence[str], log: Log, *, environment: Mapping[str, str] | None = None, umask: int | None = None
) -> None:
    """Carry out a command, its lines going to the log. Raises ImageError with the last of them where it fails."""
    last: list[str] = []
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=environment,
        umask=-1 if umask is None else umask,
    ) as process:
        for line in process.stdout or ():
            log(line.rstrip())
            last = [*last[-14:], line.rstrip()]
    if process.returncode != 0:
        raise ImageError(f"{' '.join(command)}: exit code {process.returncode}\n" + "\n".join(last))
