"""The services under load, each a process of its own that can be ended, killed, and started again where it was: a
server, and the sandbox hosts that it shares its programs among."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx

STARTING_S = 60.0
DRAIN_S = 20.0


class Service:
    """A command that is kept by hand. What it says goes to `<name>.log` in the folder."""

    def __init__(self, name: str, folder: Path, command: list[str], environment: dict[str, str]) -> None:
        self.name = name
        self._command = [sys.executable, "-m", "rewarden", *command]
        self._folder = folder
        self._environment = {**os.environ, "TMPDIR": str(folder / "tmp"), "REWARDEN_LOGS_LEVEL": "warning"}
        self._environment |= environment
        self._process: subprocess.Popen[bytes] | None = None
        self.pids: list[int] = []
        """Of all times that it was started."""

    @property
    def pid(self) -> int:
        """Its process."""
        assert self._process is not None
        return self._process.pid

    def begin(self) -> None:
        """Start it; returns at once."""
        with open(self._folder / f"{self.name}.log", "ab") as log:
            self._process = subprocess.Popen(
                self._command, cwd=self._folder, env=self._environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )
        self.pids.append(self._process.pid)

    def end(self, number: int) -> float:
        """Send a signal and wait until it has ended; the seconds that it took."""
        assert self._process is not None
        began = time.monotonic()
        self._process.send_signal(number)
        try:
            self._process.wait(DRAIN_S + 30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise RuntimeError(f"{self.name} did not end within {DRAIN_S + 30:g} s of SIGTERM") from None
        if number == signal.SIGTERM and self._process.returncode != 0:
            raise RuntimeError(f"{self.name} did not end well: {self._process.returncode} after SIGTERM")
        return time.monotonic() - began

    def check(self) -> None:
        """Raises RuntimeError when it ended unasked."""
        if self._process is not None and self._process.poll() is not None:
            log = (self._folder / f"{self.name}.log").read_text(errors="replace")
            raise RuntimeError(f"{self.name} ended by itself ({self._process.returncode}):\n{log[-2000:]}")

    def close(self) -> None:
        """End it, if it runs."""
        if self._process is not None and self._process.poll() is None:
            self.end(signal.SIGTERM)


class Services:
    """A server on ports of its own, and its sandbox hosts, in a folder that holds all that they write."""

    def __init__(self, folder: Path, launcher: str, hosts: int) -> None:
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        port, grpc_port = _free_port(), _free_port()
        self.http, self.grpc = f"http://127.0.0.1:{port}", f"grpc://127.0.0.1:{grpc_port}"
        addresses = [f"unix:{folder}/host-{number}.sock" for number in range(hosts)]
        # One machine's cores, in equal parts: by default each host takes it to be its own.
        cores = len(os.sched_getaffinity(0))
        self.slots = hosts * max(2, 4 * cores // hosts)
        told = {
            "REWARDEN_SANDBOX_LAUNCHER": launcher,
            "REWARDEN_SANDBOX_SLOTS": str(self.slots // hosts),
            "REWARDEN_SANDBOX_CPU_PERMITS": str(max(1, (cores + 1) // hosts)),  # they share the cores
            "REWARDEN_SANDBOX_WARM": str(max(1, cores // hosts)),
        }
        # What the kernel counts by user (processes) is counted for each slot apart only where no two share a number.
        self.hosts = [
            Service(
                f"host-{number}",
                folder,
                ["sandbox-host", "--listen", address],
                {**told, "REWARDEN_SANDBOX_UID": str(200_000 + 1000 * number)},
            )
            for number, address in enumerate(addresses)
        ]
        settings = {
            "REWARDEN_SANDBOX_ADDRESS": ",".join(addresses),
            "REWARDEN_SANDBOX_REQUIRED": "true",
            "REWARDEN_ENGINE_CACHE": "false",
            "REWARDEN_ENGINE_EAGER": "true",
            "REWARDEN_SERVER_DRAIN_S": str(DRAIN_S),
        }
        ports = ["--host", "127.0.0.1", "--port", str(port), "--grpc-port", str(grpc_port)]
        self.server = Service("server", folder, ["serve", *ports], settings)

    @property
    def all(self) -> list[Service]:
        """Hosts first: the server asks them."""
        return [*self.hosts, self.server]

    def start(self) -> None:
        """Start all and wait until the server is ready. Raises RuntimeError."""
        for service in self.all:
            service.begin()
        self.wait_ready()

    def wait_ready(self) -> float:
        """Wait until the server says that it can judge, programs too; the seconds that it took."""
        began = time.monotonic()
        while time.monotonic() - began < STARTING_S:
            for service in self.all:
                service.check()
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(f"{self.http}/readyz", timeout=5.0).status_code == 200:
                    return time.monotonic() - began
            time.sleep(0.1)
        raise RuntimeError(f"the server was not ready within {STARTING_S:g} s: {self._state()}")

    def _state(self) -> str:
        try:
            return httpx.get(f"{self.http}/readyz", timeout=5.0).text[:1000]
        except httpx.HTTPError as error:
            return str(error)

    def close(self) -> None:
        """End all."""
        with contextlib.ExitStack() as stack:
            for service in self.all:  # the last one first
                stack.callback(service.close)


@contextlib.contextmanager
def services(folder: Path, launcher: str, hosts: int) -> Iterator[Services]:
    """Services that run, with so many sandbox hosts; ended in the end."""
    made = Services(folder, launcher, hosts)
    try:
        made.start()
        yield made
    finally:
        made.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
