"""The root file system of slots without a container engine: an image's files in a folder.

If an engine is available, its image is exported. Otherwise the image's Dockerfile is executed here, with chroot, in a
Debian made by debootstrap; that needs root.
"""

from __future__ import annotations

import fcntl
import fnmatch
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from rewarden_sandboxes.images import DEBIAN, FOLDER, Image, ImageError, build_arguments, chain, read_images, substitute

Log = Callable[[str], None]
"""Called with each step, and with each line that a step prints."""

State = Literal["current", "old", "missing"]

MARKER = "etc/rewarden-image"
"""The file in a root file system with the digest of its build inputs."""

_EXCLUDED = ("usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info", "usr/share/lintian")
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def default_folder() -> Path:
    """Returns the folder of the root file systems, one folder for each image: below /var/lib for root, otherwise in the
    user's data folder.
    """
    if os.geteuid() == 0:
        return Path("/var/lib/rewarden/rootfs")
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share", "rewarden/rootfs")


def rootfs_state(target: Path, image: str = "toolchains", folder: Path = FOLDER) -> State:
    """Returns whether the root file system at `target` is there and matches the image's files."""
    try:
        digest = (target / MARKER).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return "missing"
    return "current" if digest == chain(read_images(folder), image)[-1].digest else "old"


@contextmanager
def replacing(target: Path, digest: str) -> Iterator[Path]:
    """Yields an empty folder to fill. On success it replaces the target; otherwise it is removed.

    Only one builder runs at a time. Running slots that use the old folder lose their files: restart the host.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        lock = (target.parent / f".{target.name}.lock").open("w")
    except OSError as error:
        raise ImageError(
            f"{target}: {error.strerror}", "name another place with --target, or run it as root"
        ) from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for left in target.parent.glob(f".{target.name}.*/"):  # left by a killed builder
            shutil.rmtree(left)
        fresh = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        fresh.chmod(0o755)
        try:
            yield fresh
            (fresh / MARKER).write_text(f"{digest}\n", encoding="ascii")
            old = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
            if target.exists():
                target.rename(old / "rootfs")
            fresh.rename(target)
            shutil.rmtree(old)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)


def build_without_engine(target: Path, image: str, folder: Path, log: Log) -> None:
    """Execute the Dockerfiles of the image and of its parents. Raises ImageError; needs root and debootstrap."""
    images = chain(read_images(folder), image)
    with replacing(target, images[-1].digest) as root:
        make_debian(root, log)
        for each in images:
            carry_out(each, root, log)
        for device in (root / "dev").iterdir():
            # The launcher decides which devices a slot sees.
            shutil.rmtree(device) if device.is_dir() and not device.is_symlink() else device.unlink()


def make_debian(target: Path, log: Log) -> None:
    """Fill the empty folder `target` with a minimal Debian like `debian:bookworm-slim`, without an image registry.
    Needs root, debootstrap and a mirror.

    The mirror is debootstrap's default, or REWARDEN_DEBIAN_MIRROR if that is set. Raises ImageError.
    """
    if shutil.which("debootstrap") is None:
        raise ImageError("debootstrap is not installed", "apt-get install debootstrap")
    if os.geteuid() != 0:
        raise ImageError("debootstrap needs root", "run the same command as root, or install a container engine")
    log(f"debootstrap {DEBIAN}")
    mirror = os.environ.get("REWARDEN_DEBIAN_MIRROR")
    _run(["debootstrap", "--variant=minbase", DEBIAN, str(target), *([mirror] if mirror else [])], log)
    (target / "etc/hosts").touch()  # the launcher mounts its own over this
    slim = "".join(f"path-exclude /{folder}/*\n" for folder in _EXCLUDED)
    (target / "etc/dpkg/dpkg.cfg.d/slim").write_text(slim)
    for folder in (*_EXCLUDED, "var/cache/apt/archives", "var/lib/apt/lists", "var/log"):
        for path in (target / folder).iterdir() if (target / folder).is_dir() else ():
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def carry_out(image: Image, root: Path, log: Log) -> None:
    """Execute an image's instructions in the root file system of its parent. Needs root.

    As in an engine, ARG and ENV apply from their line on, and commands see no other variables. /proc is mounted while a
    command runs, in a mount namespace of its own, so nothing stays mounted however the command ends.
    """
    given = build_arguments()
    environment = {"PATH": _PATH, "HOME": "/root"} | {
        name: given[name] for name in given if name.lower().endswith("_proxy")
    }
    resolver = root / "etc/resolv.conf"
    resolver.unlink(missing_ok=True)  # it may be a link to this machine's own file
    resolver.write_bytes(Path("/etc/resolv.conf").read_bytes())
    for instruction in image.instructions:
        log(f"{image.name}: {instruction.verb} {instruction.text}")
        if instruction.verb == "ARG":
            name, _, value = shlex.split(instruction.text)[0].partition("=")
            if name in given or value:
                environment[name] = given.get(name, value)
        elif instruction.verb == "ENV":
            for word in shlex.split(instruction.text):
                name, _, value = word.partition("=")
                environment[name] = substitute(value, environment)
        elif instruction.verb == "COPY":
            _copy(image, substitute(instruction.text, environment).split(), root, log)
        elif instruction.verb == "RUN":
            _inside(root, ["/bin/sh", "-c", instruction.text], environment, log)
    resolver.write_text("")


def _copy(image: Image, words: list[str], root: Path, log: Log) -> None:
    *patterns, place = words
    files = {name: path for name, path in image.context().items() if any(fnmatch.fnmatch(name, p) for p in patterns)}
    if not files:
        raise ImageError(f"{image.folder}/Dockerfile: COPY {' '.join(words)}: there is no such file")
    with tempfile.TemporaryDirectory(prefix=".copy-", dir=root) as staged:
        for name, path in files.items():
            copy = Path(staged, name)
            shutil.copyfile(path, copy)
            copy.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)
        # Copy from inside, where the tree's absolute links (/var/run to /run) cannot lead out of it. A target that ends
        # in a slash is a folder; with a letter appended, its `dirname` is that folder itself.
        script = 'mkdir -p "$(dirname "$2x")" && cp "$1"/* "$2"'
        _inside(root, ["/bin/sh", "-c", script, "copy", f"/{Path(staged).name}", place], {"PATH": _PATH}, log)


def _inside(root: Path, command: list[str], environment: Mapping[str, str], log: Log) -> None:
    own = ["unshare", "--mount", "--pid", "--fork", "--kill-child", f"--mount-proc={root}/proc", "chroot", str(root)]
    _run([*own, *command], log, environment=environment)


def _run(command: Sequence[str], log: Log, *, environment: Mapping[str, str] | None = None) -> None:
    """Run a command, with its output in the log. Raises ImageError with the last lines if it fails."""
    last: list[str] = []
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=environment,
        umask=0o022,  # not the caller's: candidates, with any uid, must be able to read all files
    ) as process:
        for line in process.stdout or ():
            log(line.rstrip())
            last = [*last[-14:], line.rstrip()]
    if process.returncode != 0:
        raise ImageError(f"{' '.join(command)}: exit code {process.returncode}\n" + "\n".join(last))


def unpack(export: Iterator[bytes], root: Path, log: Log) -> None:
    """Unpack an engine's export of a container into the folder, without its /dev. Needs no root."""
    owner = ["--same-owner", "--numeric-owner"] if os.geteuid() == 0 else ["--no-same-owner"]
    command = ["tar", "--extract", "--same-permissions", *owner, "--exclude=dev/*", "--exclude=.dockerenv"]
    log(f"unpacking into {root}")
    with tempfile.TemporaryFile() as words:
        with subprocess.Popen([*command, "--directory", str(root)], stdin=subprocess.PIPE, stderr=words) as tar:
            assert tar.stdin is not None
            # A broken pipe: tar failed, and its output has the reason.
            with suppress(BrokenPipeError), tar.stdin:
                for chunk in export:
                    tar.stdin.write(chunk)
        words.seek(0)
        if tar.returncode != 0:
            raise ImageError(f"tar: exit code {tar.returncode}: {words.read(2000).decode(errors='replace')}")
