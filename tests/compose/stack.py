"""The stack of docker-compose.yml for tests: a project, images and ports of its own, of a copy of the sources."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker
import pytest

from rewarden_sandboxes.building import build_base
from rewarden_sandboxes.images import build_arguments
from tests.ports import free_port

ROOT = Path(__file__).parents[2]
SLOTS = Path("/run/rewarden-slots")
_START_S = 420.0


class Stack:
    """`compose` speaks to it, `container` is a service's, `http` and `grpc` are addresses. Made by `stack`."""

    def __init__(self, folder: Path, client: docker.DockerClient) -> None:
        self.client = client
        self.project = f"rewarden-test-{os.getpid()}"
        self._folder = folder
        http, grpc = free_port(), free_port()
        self.http, self.grpc = f"http://127.0.0.1:{http}", f"grpc://127.0.0.1:{grpc}"
        settings = {
            **build_arguments(),
            "COMPOSE_PROJECT_NAME": self.project,
            "REWARDEN_BASE": build_base(client, log=lambda _: None),
            # Math and code need no extra, and packages of extras weigh a gigabyte.
            "REWARDEN_EXTRAS": "",
            # A tag of its own: images of a person's that stand here are not replaced.
            "REWARDEN_IMAGE_PREFIX": "rewarden-test/",
            "REWARDEN_HTTP_PORT": str(http),
            "REWARDEN_GRPC_PORT": str(grpc),
        }
        (folder / ".env").write_text("".join(f"{name}={value}\n" for name, value in settings.items()))

    def compose(self, *words: str, check: bool = True) -> str:
        """Returns what docker-compose says; with `check`, a failure fails the test with its words."""
        told = subprocess.run(
            ["docker-compose", *words],
            cwd=self._folder,
            # The classic builder: it is what every engine has, and its cache is what the next run begins with.
            env={**os.environ, "DOCKER_BUILDKIT": "0", "COMPOSE_HTTP_TIMEOUT": "300"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=900,
            check=False,
        )
        if check:
            assert told.returncode == 0, f"docker-compose {' '.join(words)}: {told.stdout[-4000:]}"
        return told.stdout

    def container(self, service: str) -> Any:
        """The service's container, as it is now."""
        (found,) = self.client.containers.list(
            all=True,
            filters={
                "label": [f"com.docker.compose.project={self.project}", f"com.docker.compose.service={service}"],
            },
        )
        return found

    def shell(self, service: str, script: str) -> tuple[int, str]:
        """Exit code and output of a shell script in the service's container."""
        code, output = self.container(service).exec_run(["sh", "-c", script])
        return int(code), output.decode("utf-8", "replace")

    def until_healthy(self, service: str) -> None:
        """Wait for its health check."""
        deadline = time.monotonic() + _START_S
        while (state := self.container(service).attrs["State"])["Health"]["Status"] != "healthy":
            assert time.monotonic() < deadline, (service, state)
            time.sleep(0.2)

    def left(self) -> dict[str, list[str]]:
        """Returns what the engine has of the project."""
        of_project = {"label": f"com.docker.compose.project={self.project}"}
        return {
            "containers": [each.name for each in self.client.containers.list(all=True, filters=of_project)],
            "volumes": [each.name for each in self.client.volumes.list(filters=of_project)],
            "networks": [each.name for each in self.client.networks.list(filters=of_project)],
        }


@contextlib.contextmanager
def built(folder: Path) -> Iterator[Stack]:
    """With its images, of the sources as they stand. Skips where this machine cannot have one."""
    if shutil.which("docker-compose") is None:
        pytest.skip("docker-compose is not installed: apt-get install docker-compose")
    try:
        client = docker.from_env(timeout=120)
        client.ping()
    except docker.errors.DockerException as error:
        pytest.skip(f"no container engine answers: {error}")
    with contextlib.closing(client):
        copy_sources(folder)
        made = Stack(folder, client)
        made.compose("build", "sandbox", "server")
        yield made


@contextlib.contextmanager
def stack(folder: Path) -> Iterator[Stack]:
    """Built, started, and healthy; at the end it is taken down."""
    with built(folder) as made:
        try:
            try:
                made.compose("up", "-d")
                made.until_healthy("server")
            except (AssertionError, ValueError) as error:
                pytest.fail(f"{error}\n{made.compose('logs', '--no-color', '--tail=40', check=False)[-4000:]}")
            yield made
        finally:
            made.compose("down", "-v", "--remove-orphans", "-t", "5", check=False)


def copy_sources(target: Path) -> None:
    """Copy the files of a fresh clone, with the machine's own certificate authorities where it has some."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in filter(None, names):
        source = ROOT / name
        if source.is_file() and not name.startswith(("docs/", "tests/", "examples/", "benchmarks/")):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target / name)
    for variable in ("PIP_CERT", "SSL_CERT_FILE"):
        bundle = Path(os.environ.get(variable, ""))
        if bundle.is_file():
            shutil.copy(bundle, target / "deploy/image/ca-bundle.crt")
