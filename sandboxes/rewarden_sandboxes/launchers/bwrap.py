"""Slots as bubblewrap processes, for machines without a container engine."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import shutil
import signal
import subprocess
from pathlib import Path

from rewarden_sandboxes import rootfs
from rewarden_sandboxes.agent import boot
from rewarden_sandboxes.box import is_own
from rewarden_sandboxes.cgroups import Cgroup
from rewarden_sandboxes.errors import NoRoom
from rewarden_sandboxes.images import chain, read_images
from rewarden_sandboxes.launchers.launcher import ENVIRONMENT, Defaults, Lease, build_command
from rewarden_sandboxes.settings import HostSettings

_WORDS = 4096

_HOSTS = "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n"
"""The host names that programs can resolve, as in an engine's containers."""

_OVERLAY = """
source=$1 none=$2 own=$3 count=$4; shift 4
mount -t overlay rewarden -o "ro,lowerdir=$source:$none" "$own" || mount --bind "$source" "$own" || exit 1
while [ "$count" -gt 0 ]; do
    mount --bind -o ro,nosuid,nodev "$1" "$2" || exit 1
    mount -t overlay rewarden -o "ro,nosuid,nodev,lowerdir=$2:$none" "$2" 2> /dev/null || true
    shift 2; count=$((count - 1))
done
exec "$@"
"""
"""Mounts the root file system and the lease's mounts so that only this slot sees them, with separate inodes if the
kernel supports that. This also works for folders that the slot's user may not enter. The mounts end with the slot's
processes.
"""


class BwrapLauncher:
    """See the module."""

    name = "bwrap"

    def __init__(self, settings: HostSettings) -> None:
        self._settings = settings

    async def problem(self, image: str) -> str | None:
        """See `Launcher.problem`."""
        if is_own(image):
            return "the launcher bwrap knows the tiers of images only; for own images set sandbox.launcher to docker"
        if shutil.which("bwrap") is None:
            return "bubblewrap is not installed: apt-get install bubblewrap"
        if self._settings.rootfs == "host":
            return None if os.access("/usr/bin/python3", os.X_OK) else "this machine has no /usr/bin/python3"
        if self._root(image) is None:
            return (
                f"no root file system of the image {image} in {self._settings.rootfs}; make one: "
                f"{build_command(image, 'rootfs')}, "
                'or set sandbox.rootfs = "host" to use the machine\'s own /usr'
            )
        return None

    async def image_id(self, image: str) -> str:
        """See `Launcher.image_id`."""
        root = self._root(image)
        if root is None:
            return "host" if self._settings.rootfs == "host" else ""
        try:
            return (root / rootfs.MARKER).read_text(encoding="utf-8", errors="replace").strip()[:200]
        except OSError:  # not built by this package
            return str(root)

    async def start(self, lease: Lease) -> BwrapPlace:
        """See `Launcher.start`."""
        problem = await self.problem(lease.image)
        if problem is not None:
            raise NoRoom(problem)
        group = Cgroup.make(lease.name, lease.memory_mb, lease.processes)
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command(lease),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=ENVIRONMENT,
                cwd="/",
                start_new_session=True,
            )
        except OSError as error:
            if group is not None:
                group.remove()
            raise NoRoom(f"bubblewrap cannot be started: {error.strerror or error}") from None
        return BwrapPlace(process, group, self._identity(lease.image))

    def close(self) -> None:
        """See `Launcher.close`."""

    def _identity(self, image: str) -> str:
        """Returns the identity of a slot's root file system: the folder that was built, with its build time. Other
        folders can change in place, like the machine's own /usr, so they have none.
        """
        root = self._root(image)
        if root is None:
            return ""
        try:
            marker = root / rootfs.MARKER
            about = marker.stat()
            text = marker.read_bytes()
        except OSError:
            return ""
        # Hashed, because callers see it and must not learn the machine's folders.
        told = f"{root} {about.st_dev} {about.st_ino} {about.st_mtime_ns}".encode()
        return "sha256:" + hashlib.sha256(told + b"\0" + text).hexdigest()

    def _root(self, image: str) -> Path | None:
        """Returns the image's own root file system, or that of an image built on it."""
        if self._settings.rootfs == "host":
            return None
        images = read_images()
        above = [name for name in images if any(below.name == image for below in chain(images, name))]
        for name in dict.fromkeys((image, *above)):
            root = Path(self._settings.rootfs) / name
            if (root / "usr/bin/python3").exists():
                return root
        return None

    def _command(self, lease: Lease) -> list[str]:
        root = self._root(lease.image)
        source = str(root if root is not None else "/usr")
        before: list[str] = []
        mounts = dict(lease.mounts)
        if os.geteuid() == 0:
            # Locks and watches on shared files reach other slots, so each slot gets inodes of its own.
            own = lease.folder / "root"
            for made in (own, lease.folder / "none"):
                made.mkdir()
            mounts = {inside: str(lease.folder / f"mount{n}") for n, inside in enumerate(lease.mounts)}
            for bound in mounts.values():
                os.mkdir(bound)
            pairs = [path for inside, bound in mounts.items() for path in (lease.mounts[inside], bound)]
            # Root may not make the nested mounts, so the slot has its own user.
            user = [f"--reuid={lease.uid}", f"--regid={lease.uid}", "--clear-groups"]
            before = ["unshare", "--mount", "--propagation", "private", "sh", "-c", _OVERLAY, "sh", source]
            before += [str(lease.folder / "none"), str(own), str(len(mounts)), *pairs, "setpriv", *user]
            source = str(own)
        command = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--hostname", "sandbox"]
        if root is not None:
            command += ["--ro-bind", source, "/"]
        else:
            # Only the machine's programs are visible: no home folders, no data, and no /etc with its secrets.
            command += ["--ro-bind", source, "/usr"]
            for name in ("bin", "sbin", "lib", "lib64", "lib32"):
                path = Path("/") / name
                if path.is_symlink():
                    command += ["--symlink", os.readlink(path), str(path)]
                elif path.is_dir():
                    command += ["--ro-bind", str(path), str(path)]
            for name in ("alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "mime.types"):
                command += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
        if root is None or (root / "etc/hosts").exists():  # bubblewrap cannot create it in a read-only root
            hosts = lease.folder / "hosts"
            hosts.write_text(_HOSTS, encoding="ascii")
            command += ["--ro-bind", str(hosts), "/etc/hosts"]
        command += ["--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
        command += ["--tmpfs", "/dev/shm", "--mqueue", "/dev/mqueue"]
        command += ["--tmpfs", "/run", "--bind", str(lease.folder), os.path.dirname(boot.SOCKET)]
        # The slot's user owns /dev, so it is read-only. Attack: leave files there for the next run.
        command += ["--remount-ro", "/dev", "--remount-ro", "/run"]
        if mounts:
            command += ["--tmpfs", "/mnt"]
            for inside, bound in mounts.items():
                command += ["--ro-bind", bound, inside]
            command += ["--remount-ro", "/mnt"]
        if root is None:
            command += ["--dir", "/var/tmp", "--dir", "/sys", "--remount-ro", "/"]
        return [*before, *command, "python3", "-c", boot.source()]


class BwrapPlace:
    """A bubblewrap process and its cgroup, if it has one."""

    def __init__(self, process: asyncio.subprocess.Process, group: Cgroup | None, image: str) -> None:
        self.image = image
        self.defaults: Defaults | None = None
        self._process = process
        self._group = group
        self._ended = False

    async def counters(self) -> dict[str, int]:
        """See `Place.counters`. Called after the supervisor has connected, when all processes of the place exist."""
        if self._group is None:
            return {}
        for pid in _family(self._process.pid):
            try:
                self._group.add(pid)
            except OSError:
                return {}
        return self._group.counters()

    async def end(self) -> None:
        """See `Place.end`."""
        if self._ended:
            return
        self._ended = True
        for pid in reversed(_family(self._process.pid)):  # killing its init ends the supervisor's namespace
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._process.communicate()
        if self._group is not None:
            for _ in range(50):
                self._group.remove()
                if not any(folder.exists() for folder in self._group.folders.values()):
                    break
                await asyncio.sleep(0.02)  # the kernel is still tearing the namespace down

    async def over(self) -> None:
        """See `Place.over`."""
        await self._process.wait()

    async def last_words(self) -> str:
        """See `Place.last_words`."""
        assert self._process.stderr is not None
        with contextlib.suppress(TimeoutError):
            said = await asyncio.wait_for(self._process.stderr.read(_WORDS), 0.5)
            text = said.decode("utf-8", "replace").strip()
            if "setting up uid map" in text or "Operation not permitted" in text or "No permissions" in text:
                text += " (user namespaces are restricted here: sysctl kernel.unprivileged_userns_clone, "
                text += "kernel.apparmor_restrict_unprivileged_userns)"
            return text or f"bubblewrap ended with {self._process.returncode}"
        return "bubblewrap gave no reason"


def _family(pid: int) -> list[int]:
    """Returns a process and its descendants, parents first."""
    found, pending = [], [pid]
    while pending:
        each = pending.pop()
        found.append(each)
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{each}/task"):
                children = Path(f"/proc/{each}/task/{task}/children").read_text(encoding="ascii")
                pending.extend(map(int, children.split()))
    return found
