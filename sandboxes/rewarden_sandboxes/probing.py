"""Cleanup of the resources that killed hosts left behind, for `rewarden doctor --clean`."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import stat
import tempfile
from pathlib import Path

import docker
import docker.errors
import requests.exceptions

from rewarden_sandboxes import cgroups, socket_folder
from rewarden_sandboxes.launchers import runtime
from rewarden_sandboxes.launchers.docker import leftovers as containers

_GROUP = re.compile(r"rewarden-(\d+)-")


def clean(folder: Path | None = None) -> list[str]:
    """Remove the containers, socket folders and cgroups of dead hosts. Returns a line for each that was removed or
    could not be. `folder`: the folder in which hosts put their sockets, by default the temporary folder.
    """
    base = folder or Path(tempfile.gettempdir())
    return [*_clean_containers(), *_clean_groups(), *socket_folder.clean(base), *_clean_sockets(base)]


def _clean_containers() -> list[str]:
    said = []
    try:
        client = docker.DockerClient.from_env(timeout=30)
    except (docker.errors.DockerException, requests.exceptions.RequestException):
        return []  # no engine, no containers
    with contextlib.closing(client):
        try:
            for container in containers(client, alive):
                with contextlib.suppress(docker.errors.NotFound):  # already removed by another process
                    container.remove(force=True, v=True)
                    said.append(f"removed the container {container.name}")
            said += [f"removed the volume {name}" for name in runtime.remove_unused(client)]
        except (docker.errors.DockerException, requests.exceptions.RequestException) as error:
            said.append(f"the Docker engine refused: {error}")
    return said


def _clean_groups() -> list[str]:
    said = []
    for group in cgroups.leftovers():
        owner = _GROUP.match(group.name)
        if owner is None or alive(int(owner.group(1))):
            continue
        with contextlib.suppress(OSError, ValueError):
            for pid in (group / "cgroup.procs").read_text(encoding="ascii").split():
                os.kill(int(pid), signal.SIGKILL)
                said.append(f"killed the process {pid} of {group.name}")
        try:
            group.rmdir()
        except OSError as error:
            said.append(f"the cgroup {group} cannot be removed: {error.strerror}")
        else:
            said.append(f"removed the cgroup {group}")
    return said


def _clean_sockets(base: Path) -> list[str]:
    """Remove the folders of hosts' own sockets that no process serves any more."""
    said = []
    for path in sorted(base.glob("rewarden-host-*")):
        about = path.lstat()
        if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.geteuid():
            continue
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(str(path / "host.sock"))
            except ConnectionRefusedError:
                shutil.rmtree(path, ignore_errors=True)
                said.append(f"removed the folder {path}")
            except OSError:
                continue  # no socket: a starting host has not made it yet
    return said


def alive(pid: int) -> bool:
    """Returns whether a live process with this pid can be a host: pids are reused."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return b"python" in command or b"rewarden" in command
