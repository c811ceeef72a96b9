"""Sandbox hosts in processes of their own, at ports of this machine, with TLS and a token, as on other machines."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from rewarden_server.processes.settings import SandboxSettings
from tests.certificates import Authority
from tests.server.hosts import free_address


class HostServer:
    """One of them, run by `rewarden sandbox-host`."""

    def __init__(self, launcher: str, settings: dict[str, str]) -> None:
        self.address = free_address()
        self._settings = {"REWARDEN_SANDBOX_LAUNCHER": launcher, **settings}
        self._process: subprocess.Popen[str] | None = None

    def begin(self) -> None:
        """Start it; it need not answer yet."""
        command = [*REWARDEN, "sandbox-host", "--listen", self.address]
        self._process = subprocess.Popen(
            command, env=self.environment, stdout=subprocess.PIPE, text=True, start_new_session=True
        )

    @property
    def environment(self) -> dict[str, str]:
        """Returns what tells it its settings."""
        others = {name: value for name, value in os.environ.items() if not name.startswith("REWARDEN_")}
        return {**others, **self._settings}

    def until_it_answers(self) -> None:
        """Wait for its first line."""
        assert self._process is not None
        assert self._process.stdout is not None
        assert self._process.stdout.readline().startswith("sandbox host serves at")

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self.begin()
        self.until_it_answers()

    @property
    def pid(self) -> int:
        """Its process."""
        assert self._process is not None
        return self._process.pid

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        os.kill(self.pid, number)

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """End it, however it is, and wait; its exit code."""
        if self._process is None:
            return 0
        if self._process.poll() is None:
            self.send(number)
            self.send(signal.SIGCONT)
        code = self._process.wait(60)
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._process = None
        return code

    def check(self) -> int:
        """Returns what a container's health check would find."""
        command = [*REWARDEN, "sandbox-host", "--check", "--listen", self.address]
        return subprocess.run(command, env=self.environment, timeout=60).returncode


REWARDEN = [sys.executable, "-m", "rewarden"]


def host_servers(folder: Path, launcher: str, number: int) -> tuple[list[HostServer], SandboxSettings]:
    """So many hosts that were not started, and the settings with which a server reaches them."""
    authority = Authority(folder)
    made = authority.made("host")
    token = folder / "token"
    token.write_text("a-token-of-the-tests-alone\n")
    hosts = [
        HostServer(
            launcher,
            {
                "REWARDEN_SANDBOX_TLS_CERT": str(made.cert),
                "REWARDEN_SANDBOX_TLS_KEY": str(made.key),
                "REWARDEN_SANDBOX_TOKEN_FILE": str(token),
                "REWARDEN_SANDBOX_SLOTS": "4",
                "REWARDEN_SANDBOX_SESSIONS": "2",
                "REWARDEN_SANDBOX_WARM": "2",
                "REWARDEN_SANDBOX_UID": str(300_000 + 10_000 * index),
                "REWARDEN_SANDBOX_DRAIN_S": "20",
            },
        )
        for index in range(number)
    ]
    address = ",".join(host.address for host in hosts)
    return hosts, SandboxSettings(address=address, tls_ca=authority.ca, token_file=token)
