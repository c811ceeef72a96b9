"""A container engine of the tests' own, which they may kill, fill and starve: the machine's is everybody's."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import docker
import docker.errors
import pytest
import requests.exceptions

from tests.stopped import state_of

IMAGE = "rewarden-sandbox-python:latest"

_CGROUPS = Path("/sys/fs/cgroup")
_PATIENCE_S = 60.0


class PrivateEngine:
    """A dockerd whose data lies in a small file system in memory. `start` and `crash` any number of times."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.address = f"unix://{folder}/docker.sock"
        self.parent = f"rewarden-test-{os.getpid()}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it answers."""
        (self.folder / "docker.pid").unlink(missing_ok=True)
        (self.folder / "daemon.json").write_text("{}")
        # In a namespace for mounts: whatever it mounts is gone when its last process is. In one for networks: an engine
        # without a bridge removes the machine's.
        command = ["unshare", "--mount", "--propagation", "slave", "--net", "dockerd"]
        command += ["--config-file", f"{self.folder}/daemon.json", "--host", self.address]
        command += ["--data-root", f"{self.folder}/data", "--exec-root", f"{self.folder}/exec"]
        command += ["--pidfile", f"{self.folder}/docker.pid", "--cgroup-parent", f"/{self.parent}"]
        command += ["--bridge", "none", "--iptables=false", "--ip6tables=false"]
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            try:
                with contextlib.closing(self.client()) as client:
                    client.ping()
                    return
            except (docker.errors.DockerException, requests.exceptions.RequestException):
                said = (self.folder / "log").read_text(errors="replace")[-2000:] if self._process is not None else ""
                assert time.monotonic() < deadline, f"the engine does not answer: {said}"
            if self._process is None or self._process.poll() is not None:
                # On a busy machine it loses patience with its own containerd.
                with (self.folder / "log").open("ab") as log:
                    self._process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
            time.sleep(0.05)

    def client(self) -> docker.DockerClient:
        """A client, for the caller to close. Raises what the SDK raises where nobody answers."""
        return docker.DockerClient(base_url=self.address, timeout=30)

    def leave(self) -> None:
        """Kill the engine alone: its containers live on."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def crash(self) -> None:
        """Kill the engine and everything in it, as a crash of the machine's service does."""
        if self._process is not None:
            self.leave()
        while pids := [pid for pid in self._processes() if _kill(pid)]:
            for pid in pids:
                while state_of(Path(f"/proc/{pid}")) not in ("Z", "X"):
                    time.sleep(0.01)
        (self.folder / "docker.sock").unlink(missing_ok=True)
        # The dead containerd may not be buried yet, and the next engine would wait 15 s for it to answer.
        (self.folder / "exec/containerd/containerd.pid").unlink(missing_ok=True)

    def _processes(self) -> list[int]:
        """All that belongs to the engine: its containerd, the containers' keepers, and what runs in containers."""
        found = []
        for path in Path("/proc").iterdir():
            if not path.name.isdigit() or int(path.name) == os.getpid():
                continue
            with contextlib.suppress(OSError):
                command = (path / "cmdline").read_bytes()
                ours = command.split(b"\0")[0].rpartition(b"/")[2].startswith((b"containerd", b"dockerd"))
                inside = f"/{self.parent}/" in (path / "cgroup").read_text()
                if (inside or (ours and str(self.folder).encode() in command)) and state_of(path) not in ("Z", "X"):
                    found.append(int(path.name))
        return found

    def limit_processes(self, most: str) -> None:
        """Let all containers together have so many processes; `max` for any number."""
        version2 = _CGROUPS / self.parent / "pids.max"
        (version2 if version2.exists() else _CGROUPS / "pids" / self.parent / "pids.max").write_text(most)

    def remove(self) -> None:
        """End it and take away what it made on the machine."""
        self.crash()
        for root in (_CGROUPS, *(each for each in _CGROUPS.iterdir() if each.is_dir())):
            made = root / self.parent
            if made.is_dir():
                for folder, _, _ in os.walk(made, topdown=False):
                    with contextlib.suppress(OSError):
                        os.rmdir(folder)


def _kill(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


@contextlib.contextmanager
def private_engine() -> Iterator[PrivateEngine]:
    """A started engine that has the Python image; skips where there can be none."""
    if os.geteuid() != 0 or shutil.which("dockerd") is None:
        pytest.skip("a container engine of the test's own needs root and dockerd")
    try:
        everybodys = docker.DockerClient.from_env(timeout=60)
        image = everybodys.images.get(IMAGE)
    except (docker.errors.DockerException, requests.exceptions.RequestException) as error:
        pytest.skip(f"no engine has {IMAGE} to copy: {error}")
    folder = Path(tempfile.mkdtemp(prefix="rwe-"))  # a short name: sockets lie in it
    with contextlib.closing(everybodys), contextlib.ExitStack() as stack:
        stack.callback(folder.rmdir)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1g", "rewarden-test", str(folder)], check=True)
        stack.callback(subprocess.run, ["umount", "--lazy", str(folder)], check=True)
        engine = PrivateEngine(folder)
        stack.callback(engine.remove)
        engine.start()
        with contextlib.closing(engine.client()) as client:
            client.api.load_image(image.save(named=IMAGE))
        yield engine
