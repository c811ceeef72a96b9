"""Slots as containers, through the Docker engine."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import docker
import docker.errors
import requests.exceptions

from rewarden_sandboxes.agent import boot
from rewarden_sandboxes.agent.room import BOX
from rewarden_sandboxes.box import is_own
from rewarden_sandboxes.cgroups import Cgroup
from rewarden_sandboxes.errors import NoRoom
from rewarden_sandboxes.launchers import runtime
from rewarden_sandboxes.launchers.launcher import ENVIRONMENT, LABEL, Defaults, Lease, build_command
from rewarden_sandboxes.settings import HostSettings

T = TypeVar("T")

PROFILE = Path(__file__).with_name("seccomp.json")
_LOOK_S = 1.0
_PYTHON_IMAGE = "python"
"""The image whose interpreter runs the supervisors in own images."""
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""The engine's default, for an own image that sets no PATH."""
_FAILURES = (docker.errors.DockerException, requests.exceptions.RequestException, OSError)


class DockerLauncher:
    """See the module. It has one client, whose calls run in separate threads because the SDK blocks."""

    name = "docker"

    def __init__(self, settings: HostSettings) -> None:
        self._settings = settings
        self._threads = ThreadPoolExecutor(4, thread_name_prefix="rewarden-docker")
        self._client: docker.DockerClient | None = None
        self._runtime: str | None = None
        self._runtime_lock = threading.Lock()
        self._profile = json.dumps(json.loads(PROFILE.read_text(encoding="utf-8")), separators=(",", ":"))

    async def problem(self, image: str) -> str | None:
        """See `Launcher.problem`."""
        looked_for = image
        try:
            found = await self._call(lambda client: client.images.get(self._image(image)))
            if not is_own(image):
                return None
            looked_for = _PYTHON_IMAGE
            runtimes = await self._call(lambda client: client.images.get(self._image(_PYTHON_IMAGE)))
        except docker.errors.ImageNotFound:
            return self._missing(looked_for)
        except _FAILURES as error:
            return _words(error)
        return _misfit(image, found, runtimes)

    async def image_id(self, image: str) -> str:
        """See `Launcher.image_id`."""
        try:
            found = await self._call(lambda client: client.images.get(self._image(image)))
        except _FAILURES:
            return ""
        return str(found.id)

    async def start(self, lease: Lease) -> DockerPlace:
        """See `Launcher.start`."""
        try:
            return await self._call(lambda client: self._start(client, lease))
        except docker.errors.ImageNotFound:
            raise NoRoom(self._missing(lease.image)) from None
        except _FAILURES as error:
            raise NoRoom(_words(error)) from None

    def close(self) -> None:
        """See `Launcher.close`."""
        self._threads.shutdown(wait=True)
        if self._client is not None:
            self._client.close()

    def _image(self, image: str) -> str:
        return image if is_own(image) else f"{self._settings.image_prefix}{image}:{self._settings.image_tag}"

    def _missing(self, image: str) -> str:
        if is_own(image):
            command = "docker load, or build it" if image.startswith("sha256:") else f"docker pull {image}"
            return f"the image {image} is not on the machine of the sandbox host; get it there: {command}"
        return f"the image {self._image(image)} does not exist; build it: {build_command(image, 'images')}"

    def _start(self, client: docker.DockerClient, lease: Lease) -> DockerPlace:
        settings = self._settings
        config, mounts = {}, [_mount(inside, outside) for inside, outside in lease.mounts.items()]
        command, user, env = ["python3", "-c"], f"{lease.uid}:{lease.uid}", dict(ENVIRONMENT)
        defaults: Defaults | None = None
        if is_own(lease.image):
            config = _config(client.images.get(lease.image))
            defaults = _defaults(config)
            command, user = list(runtime.COMMAND), config.get("User") or "0:0"
            env = runtime.environment(defaults.env)
            mounts += [
                docker.types.Mount(runtime.MOUNT_POINT, self._runtime_volume(client), type="volume", read_only=True),
                docker.types.Mount(runtime.NO_PRELOAD, os.devnull, type="bind", read_only=True),
            ]
        security = ["no-new-privileges", f"seccomp={self._profile}"]
        if settings.apparmor is not None:
            security.append(f"apparmor={settings.apparmor}")
        elif any("apparmor" in option for option in client.info().get("SecurityOptions") or ()):
            # Docker's default profile denies mount, without which rooms cannot be made. The engine knows whether it
            # applies: a host inside a container does not see the machine's profiles.
            security.append("apparmor=unconfined")
        host = client.api.create_host_config(
            binds={str(lease.folder): {"bind": os.path.dirname(boot.SOCKET), "mode": "rw"}},
            mounts=mounts,
            network_mode="none",
            read_only=True,
            tmpfs={"/tmp": "size=16m,nr_inodes=1024,mode=1777,nosuid,nodev,exec"},
            shm_size="1m",
            cap_drop=["ALL"],
            # Becoming the image's user 0 in a new user namespace requires this capability, and no other.
            cap_add=["SETFCAP"] if defaults is not None else None,
            security_opt=security,
            mem_limit=f"{lease.memory_mb}m",
            memswap_limit=f"{lease.memory_mb}m",
            pids_limit=lease.processes,
            nano_cpus=int(settings.cpus * 1e9),
            log_config={"Type": "none"},
            ipc_mode="private",
            runtime=settings.runtime,
            ulimits=[docker.types.Ulimit(name="core", soft=0, hard=0)],
            # A host that is killed leaves no containers behind: their supervisors exit when their socket closes.
            auto_remove=True,
        )
        # A room mounts its own /proc, which the kernel allows only if nothing in this one is masked. The SDK's
        # high-level call does not offer this.
        host["MaskedPaths"] = []
        host["ReadonlyPaths"] = []
        container = client.api.create_container(
            self._image(lease.image),
            command=[*command, boot.source()],
            entrypoint="",
            user=user,  # with its group: otherwise it would be in group 0
            environment=env,
            hostname="sandbox",
            working_dir="/",
            labels={LABEL: str(os.getpid())},
            name=lease.name,
            # The first process of a namespace receives no other signal, and an engine that restarts would wait for it.
            stop_signal="SIGKILL",
            healthcheck={"test": ["NONE"]},  # an own image's check would run beside the supervisor
            host_config=host,
        )
        number = str(container["Id"])
        try:
            client.api.start(number)
            about = client.api.inspect_container(number)
            pid, image = int(about["State"]["Pid"]), str(about["Image"])
        except BaseException:
            with contextlib.suppress(*_FAILURES):
                client.api.remove_container(number, force=True)
            raise
        return DockerPlace(self, number, pid, image, defaults)

    def _runtime_volume(self, client: docker.DockerClient) -> str:
        """Returns the runtime volume of the current image: the image may have been rebuilt, and the previous volume
        removed. Raises NoRoom.
        """
        with self._runtime_lock:
            try:
                image = str(client.images.get(self._image(_PYTHON_IMAGE)).id)
            except docker.errors.ImageNotFound:
                raise NoRoom(self._missing(_PYTHON_IMAGE)) from None
            name = runtime.name_of(image, self._settings.image_prefix)
            if name != self._runtime or not runtime.exists(client, name):
                runtime.make(client, image, name)
                self._runtime = name
                runtime.remove_unused(client)
            return name

    async def _call(self, work: Callable[[docker.DockerClient], T]) -> T:
        def with_client() -> T:
            if self._client is None:
                self._client = docker.DockerClient.from_env(timeout=60, max_pool_size=8)
            return work(self._client)

        return await asyncio.get_running_loop().run_in_executor(self._threads, with_client)


class DockerPlace:
    """A container."""

    def __init__(self, launcher: DockerLauncher, number: str, pid: int, image: str, defaults: Defaults | None) -> None:
        self.image = image
        self.defaults = defaults
        self._launcher = launcher
        self._number = number
        self._pid = pid
        self._ended = False

    async def counters(self) -> dict[str, int]:
        """See `Place.counters`."""
        group = Cgroup.of(self._pid) if self._pid else None
        # A container that shares our group, as in some nested engines, has no counters of its own.
        if group is None or group == Cgroup.of(os.getpid()):
            return {}
        return group.counters()

    async def end(self) -> None:
        """See `Place.end`."""
        if self._ended:
            return
        self._ended = True
        for _ in range(3):
            try:
                await self._launcher._call(lambda client: client.api.remove_container(self._number, force=True, v=True))
            except docker.errors.NotFound:
                return
            except _FAILURES:
                await asyncio.sleep(1.0)  # the engine is down; `doctor --clean` finds it by its label
            else:
                return

    async def over(self) -> None:
        """See `Place.over`."""
        while True:
            await asyncio.sleep(_LOOK_S)
            with contextlib.suppress(*_FAILURES):
                try:
                    found = await self._launcher._call(lambda client: client.api.inspect_container(self._number))
                except docker.errors.NotFound:
                    return
                if not found["State"]["Running"]:
                    return

    async def last_words(self) -> str:
        """See `Place.last_words`."""
        try:
            state = (await self._launcher._call(lambda client: client.api.inspect_container(self._number)))["State"]
        except _FAILURES as error:
            return _words(error)
        if state.get("OOMKilled"):
            return "the container ran out of memory"
        return f"the container is {state.get('Status')}, exit code {state.get('ExitCode')} {state.get('Error') or ''}"


def _config(image: Any) -> dict[str, Any]:
    """The configuration of an image, empty if it has none."""
    return image.attrs.get("Config") or {}


def _misfit(image: str, found: Any, runtimes: Any) -> str | None:
    """Returns the reason why boxes cannot use an own image, or None if they can. runtimes: the image whose interpreter
    runs its supervisor.
    """
    nested = [path for path in _config(found).get("Volumes") or () if path.strip("/").count("/")]
    if nested:
        return f"the image {image} declares the volume {nested[0]}, above which a box has no layer; build it without"
    built, ours = _platform(found), _platform(runtimes)
    # The engine starts it anyway; it then fails in the image's first program, or runs emulated at an unpredictable
    # speed.
    if built != ours:
        return f"the image {image} is for {built}, and this host runs images for {ours}; name one that is built for it"
    return None


def _platform(image: Any) -> str:
    return f"{image.attrs.get('Os')}/{image.attrs.get('Architecture')}"


def _defaults(config: dict[str, Any]) -> Defaults:
    env = dict(pair.partition("=")[::2] for pair in config.get("Env") or ())
    home = "/root" if (config.get("User") or "0").partition(":")[0] in ("0", "root") else "/"
    return Defaults(env={"PATH": _PATH, "HOME": home, **env}, folder=config.get("WorkingDir") or BOX)


def _mount(inside: str, outside: str) -> dict[str, Any]:
    """A folder of the machine, mounted read-only."""
    mount = docker.types.Mount(inside, outside, type="bind", read_only=True)
    # Attack: in engines before 25, mounts below such a folder stay writable. The SDK has no option for this.
    return {**mount, "BindOptions": {"NonRecursive": True}}


_AWAY = ("No such file or directory", "Connection refused", "FileNotFoundError", "Connection aborted", "reset by peer")
"""Words in errors that mean that no engine responds, or that one shut down during a request."""


def _words(error: Exception) -> str:
    text = str(getattr(error, "explanation", None) or error)
    if any(words in text for words in _AWAY):
        return "no Docker engine answers; start it (systemctl start docker), or set sandbox.launcher to bwrap"
    if "Permission denied" in text or "PermissionError" in text:
        return "this user has no access to the Docker engine; add it to the group docker"
    if "no space left" in text.lower():
        return f"the disk of the Docker engine is full; free some space (docker system prune): {text}"
    if "resource temporarily unavailable" in text.lower() or "final child's pid from pipe" in text.lower():
        return f"the machine is out of processes (pids); raise the limit or stop some: {text}"
    return f"the Docker engine refused: {text}"


def leftovers(client: Any, alive: Callable[[int], bool]) -> list[Any]:
    """Our containers whose host is dead."""
    # Live hosts start and remove containers meanwhile, so a container that has disappeared is not an error.
    found = client.containers.list(all=True, filters={"label": LABEL}, ignore_removed=True)
    return [each for each in found if not alive(int(each.labels.get(LABEL) or 0))]
