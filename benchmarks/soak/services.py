"""The services under load: a server and the sandbox hosts that it uses. Each is a separate process that can be stopped,
killed, and restarted at the same address.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import httpx

STARTING_S = 60.0
DRAIN_S = 20.0


class Service:
    """A supervised command. Its output goes to `<name>.log` in the folder."""

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
        """Returns its process id."""
        assert self._process is not None
        return self._process.pid

    def begin(self) -> None:
        """Starts it; returns at once."""
        with open(self._folder / f"{self.name}.log", "ab") as log:
            self._process = subprocess.Popen(
                self._command, cwd=self._folder, env=self._environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )
        self.pids.append(self._process.pid)

    def end(self, number: int) -> float:
        """Sends a signal and waits until it has ended; returns the seconds that it took."""
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
            raise RuntimeError(f"{self.name} did not end cleanly: {self._process.returncode} after SIGTERM")
        return time.monotonic() - began

    def check(self) -> None:
        """Raises RuntimeError if it ended unexpectedly."""
        if self._process is not None and self._process.poll() is not None:
            log = (self._folder / f"{self.name}.log").read_text(errors="replace")
            raise RuntimeError(f"{self.name} ended by itself ({self._process.returncode}):\n{log[-2000:]}")

    def close(self) -> None:
        """Ends it, if it runs."""
        if self._process is not None and self._process.poll() is None:
            self.end(signal.SIGTERM)


class Services:
    """A server on its own ports, and its sandbox hosts, in a folder that contains everything they write."""

    def __init__(self, folder: Path, launcher: str, hosts: int, settings: Mapping[str, str]) -> None:
        """settings: further variables of the environment, for all of them."""
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        port, grpc_port = _free_port(), _free_port()
        self.http, self.grpc = f"http://127.0.0.1:{port}", f"grpc://127.0.0.1:{grpc_port}"
        addresses = [f"unix:{folder}/host-{number}.sock" for number in range(hosts)]
        # The machine's cores in equal parts; by default each host uses them all.
        cores = len(os.sched_getaffinity(0))
        self.slots = hosts * max(2, 4 * cores // hosts)
        told = {
            **settings,
            "REWARDEN_SANDBOX_LAUNCHER": launcher,
            "REWARDEN_SANDBOX_SLOTS": str(self.slots // hosts),
            "REWARDEN_SANDBOX_CPU_PERMITS": str(max(1, (cores + 1) // hosts)),  # they share the cores
            "REWARDEN_SANDBOX_WARM": str(max(1, cores // hosts)),
        }
        # The kernel counts processes by user, so the count is per slot only if no two slots share a user id.
        self.hosts = [
            Service(
                f"host-{number}",
                folder,
                ["sandbox-host", "--listen", address],
                {**told, "REWARDEN_SANDBOX_UID": str(200_000 + 1000 * number)},
            )
            for number, address in enumerate(addresses)
        ]
        served = {
            **settings,
            "REWARDEN_SANDBOX_ADDRESS": ",".join(addresses),
            "REWARDEN_SANDBOX_REQUIRED": "true",
            "REWARDEN_ENGINE_CACHE": "false",
            "REWARDEN_ENGINE_EAGER": "true",
            "REWARDEN_SERVER_DRAIN_S": str(DRAIN_S),
        }
        ports = ["--host", "127.0.0.1", "--port", str(port), "--grpc-port", str(grpc_port)]
        self.server = Service("server", folder, ["serve", *ports], served)

    @property
    def all(self) -> list[Service]:
        """Returns all services: hosts first, because the server needs them."""
        return [*self.hosts, self.server]

    def start(self) -> None:
        """Starts all and waits until the server is ready. Raises RuntimeError."""
        for service in self.all:
            service.begin()
        self.wait_ready()

    def wait_ready(self) -> float:
        """Waits until the server reports that it can judge, programs too; returns the seconds that it took."""
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
        """Ends all."""
        with contextlib.ExitStack() as stack:
            for service in self.all:  # the last one first
                stack.callback(service.close)


@contextlib.contextmanager
def services(
    folder: Path, launcher: str, hosts: int, settings: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Services]:
    """Starts the services, with so many sandbox hosts, and ends them with the block."""
    made = Services(folder, launcher, hosts, settings)
    try:
        made.start()
        yield made
    finally:
        made.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
