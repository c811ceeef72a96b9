"""`rewarden serve` in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from tests.server.conftest import PLUGIN

COMMAND = (
    "import argparse, sys; from rewarden_server.cli import serve; parser = argparse.ArgumentParser(); "
    "serve.configure(parser); sys.exit(serve.run(parser.parse_args()))"
)


_SMALL = ["--set", "engine.workers=1", "--set", "sandbox.launcher=none"]


class ServerProcess:
    """Started on free ports; waits until it is ready. `http` and `grpc` are its addresses.

    `command` and `environment` are this interpreter and its environment, with the plug-in of the tests, unless given.
    What it writes goes to files: a pipe that nobody reads while the test runs would hold the server up once it is full.
    """

    def __init__(
        self,
        folder: Path,
        *flags: str,
        command: Sequence[str | Path] = (sys.executable, "-c", COMMAND),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._ready = folder / "ready.json"
        self._folder = folder
        self._out, self._err = folder / "server.out", folder / "server.err"
        self._flags = flags
        self._command = command
        self._environment = environment
        self.http = ""
        self.grpc = ""

    def __enter__(self) -> ServerProcess:
        ports = ["--port", "0", "--grpc-port", "0", "--ready-file", str(self._ready)]
        path = os.pathsep.join(filter(None, [str(PLUGIN), os.environ.get("PYTHONPATH")]))
        environment = {**os.environ, "PYTHONPATH": path} if self._environment is None else self._environment
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                [*self._command, *ports, *_SMALL, *self._flags],
                env=environment,
                cwd=self._folder,
                stdout=out,
                stderr=err,
            )
        until = time.monotonic() + 60
        while not self._ready.exists():
            assert self.process.poll() is None, self._err.read_text()
            assert time.monotonic() < until, "the server was not ready within a minute"
            time.sleep(0.01)
        told = json.loads(self._ready.read_text())
        self.http, self.grpc = told["http"], told["grpc"]
        return self

    def end(self) -> tuple[int, str, str]:
        """Wait for its end: exit code, standard output, standard error."""
        code = self.process.wait(60)
        return code, self._out.read_text(), self._err.read_text()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
