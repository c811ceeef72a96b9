"""Builds what slots are made of: images in a container engine, and root file systems if there is none.

    python -m rewarden_sandboxes.building images     the images python and toolchains, for the docker launcher
    python -m rewarden_sandboxes.building images --only jvm        an image by name, with its parents
    python -m rewarden_sandboxes.building rootfs     the root file system, for the bubblewrap launcher
    python -m rewarden_sandboxes.building rootfs --image jvm       that of an image by name
    python -m rewarden_sandboxes.building all        the images if there is an engine, and the root file system
    python -m rewarden_sandboxes.building base       only the Debian below the images

Images and root file systems that are current are left alone, which takes no time. Nothing here runs by itself.
"""

from __future__ import annotations

import argparse
import io
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Literal

from rewarden_sandboxes import rootfs
from rewarden_sandboxes.images import (
    DEBIAN,
    FOLDER,
    PREFIX,
    TIERS,
    Image,
    ImageError,
    build_arguments,
    chain,
    read_images,
)
from rewarden_sandboxes.rootfs import Log, State, make_debian

LABEL = "rewarden.image"
"""The label of an image with the digest of its build inputs."""

PULLED = f"debian:{DEBIAN}-slim"
MADE = f"{PREFIX}base"
"""The image of Debian that is made here if no registry with `PULLED` can be reached."""


class NoEngine(ImageError):
    """No container engine is available, or its Python client is not installed."""


@contextmanager
def engine() -> Iterator[Any]:
    """Yields a client of the container engine of the environment (DOCKER_HOST).

    Raises NoEngine, and ImageError if the engine fails while the client is in use.
    """
    try:
        import docker
        from docker.errors import DockerException
        from requests.exceptions import RequestException
    except ImportError as error:
        raise NoEngine(f"the engine's Python client is missing: {error}", "pip install 'docker>=7.1,<8'") from error
    try:
        client = docker.from_env(timeout=600)
        client.ping()
    except (DockerException, RequestException) as error:
        mend = "apt-get install docker.io && systemctl start docker (or, to do without: build the rootfs)"
        if "Permission denied" in str(error):
            mend = "usermod -aG docker $USER, then log in again (members of that group have the rights of root)"
        raise NoEngine(f"no container engine answers: {error}", mend) from error
    try:
        yield client
    except (DockerException, RequestException) as error:
        raise ImageError(f"the container engine failed: {error}") from error
    finally:
        client.close()


def image_states(client: Any, folder: Path = FOLDER, prefix: str = PREFIX) -> dict[str, State]:
    """Returns each image's state in the engine: current, outdated or missing."""
    return {name: _state(client, prefix + name, image) for name, image in read_images(folder).items()}


def build_images(
    client: Any,
    *,
    only: Sequence[str] = (),
    folder: Path = FOLDER,
    prefix: str = PREFIX,
    force: bool = False,
    log: Log = print,
) -> dict[str, str]:
    """Build the images of the folder that are not current, and return each image's tag.

    only: these images and their parents; by default all but `TIERS`. force: rebuild even current images, from the first
    line on, which brings in Debian's updates. Raises ImageError with the last lines of a failed step.
    """
    tags = {}
    images = read_images(folder)
    wanted = {below.name for name in only or images.keys() - TIERS for below in chain(images, name)}
    for name, image in images.items():
        if name not in wanted:
            continue
        tags[name] = tag = prefix + name
        if force or _state(client, tag, image) != "current":
            below = {"PREFIX": prefix} if image.parent else {"BASE": build_base(client, force=force, log=log)}
            _build(client, image, tag, below, force, log)
    return tags


def build_base(client: Any, *, force: bool = False, log: Log = print) -> str:
    """Returns the tag of a minimal Debian in the engine: an existing one (except with force), otherwise pulled,
    otherwise made here.

    Raises ImageError.
    """
    from docker.errors import DockerException, ImageNotFound

    for tag in () if force else (PULLED, MADE):
        with suppress(ImageNotFound):
            client.images.get(tag)
            return tag
    try:
        log(f"pulling {PULLED}")
        client.images.pull(PULLED)
        return PULLED
    except DockerException as error:
        log(f"it cannot be pulled ({error}); making one")
    with tempfile.TemporaryDirectory(prefix="rewarden-base-") as made:
        make_debian(Path(made), log)
        command = ["tar", "--create", "--directory", made, "--exclude=./dev/*", "."]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as tar:
            assert tar.stdout is not None
            client.api.import_image_from_data(_chunks(tar.stdout), repository=MADE, tag="latest")
        if tar.returncode != 0:
            raise ImageError(f"tar: exit code {tar.returncode}")
    return MADE


def build_rootfs(
    target: Path | None = None,
    *,
    image: str = "toolchains",
    folder: Path = FOLDER,
    prefix: str = PREFIX,
    source: Literal["auto", "engine", "debootstrap"] = "auto",
    force: bool = False,
    log: Log = print,
) -> Path:
    """Make the image's root file system in `target`, unless it is current. Returns the folder.

    target: by default the image's name in `rootfs.default_folder()`. source: an engine's image, built if necessary;
    Debian's packages by debootstrap, which needs root; or the first of the two that is available. force: even if it is
    current; only `build_images` rebuilds an engine's image. Raises ImageError.
    """
    target = target or rootfs.default_folder() / image
    if not force and rootfs.rootfs_state(target, image, folder) == "current":
        return target
    if source != "debootstrap":
        try:
            with engine() as client:
                _export(client, target, image, folder, prefix, log)
            return target
        except NoEngine as error:
            if source == "engine":
                raise
            log(f"without an engine: {error.message}")
    rootfs.build_without_engine(target, image, folder, log)
    return target


def _state(client: Any, tag: str, image: Image) -> State:
    from docker.errors import ImageNotFound

    try:
        labels: Mapping[str, str] = client.images.get(tag).labels
    except ImageNotFound:
        return "missing"
    return "current" if labels.get(LABEL) == image.digest else "old"


def _build(client: Any, image: Image, tag: str, below: Mapping[str, str], force: bool, log: Log) -> None:
    from docker.errors import APIError, DockerException, ImageNotFound

    log(f"building {tag}")
    last: list[str] = []
    try:
        replaced = client.images.get(tag).id
    except ImageNotFound:
        replaced = None
    try:
        events = client.api.build(
            fileobj=_context(image),
            custom_context=True,
            tag=tag,
            labels={LABEL: image.digest},
            buildargs={**build_arguments(), **below},
            network_mode="host",  # during the build; a slot has none
            nocache=force,
            rm=True,
            forcerm=True,
            decode=True,
        )
        for event in events:
            for line in event.get("stream", "").splitlines():
                log(line)
                last = [*last[-14:], line]
            if "error" in event:
                raise ImageError(f"{image.folder}/Dockerfile: {event['error']}\n" + "\n".join(last))
        if replaced not in (None, client.images.get(tag).id):
            # The engine refuses while a container or another image uses it: then it is in use, or the next build
            # removes it.
            with suppress(APIError):
                client.images.remove(replaced)
    except DockerException as error:
        raise ImageError(f"{tag}: {error}") from error


def _context(image: Image) -> io.BytesIO:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, path in sorted(image.context().items()):
            content = path.read_bytes()
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            entry.mode = 0o755 if path.stat().st_mode & 0o100 else 0o644
            archive.addfile(entry, io.BytesIO(content))
    packed.seek(0)
    return packed


def _export(client: Any, target: Path, name: str, folder: Path, prefix: str, log: Log) -> None:
    images = chain(read_images(folder), name)
    tags = build_images(client, only=[name], folder=folder, prefix=prefix, log=log)
    container = client.containers.create(tags[name], command=["true"], network_mode="none")
    try:
        with rootfs.replacing(target, images[-1].digest) as root:
            rootfs.unpack(container.export(chunk_size=1 << 20), root, log)
    finally:
        container.remove()


def _chunks(stream: IO[bytes]) -> Iterator[bytes]:
    return iter(lambda: stream.read(1 << 20), b"")


def main(argv: Sequence[str] | None = None) -> int:
    """Returns 0 if everything requested is built and current; 1 if a build failed, with the reason on stderr."""
    parser = argparse.ArgumentParser(
        prog="python -m rewarden_sandboxes.building", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("what", choices=["images", "rootfs", "all", "base"])
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="IMAGE", help="build these images (default: python toolchains)"
    )
    parser.add_argument("--folder", type=Path, default=FOLDER, help="the images' folder (default: the project's)")
    parser.add_argument("--prefix", default=PREFIX, help="of the images' tags (default: %(default)s)")
    parser.add_argument("--target", type=Path, help=f"of the rootfs (default: {rootfs.default_folder()}/IMAGE)")
    parser.add_argument(
        "--image", default="toolchains", help="the image to make the rootfs from (default: %(default)s)"
    )
    parser.add_argument("--source", choices=["auto", "engine", "debootstrap"], default="auto", help="of the rootfs")
    parser.add_argument("--force", action="store_true", help="build even what is current")
    parser.add_argument("--quiet", action="store_true", help="print only failures")
    args = parser.parse_args(argv)

    def log(line: str) -> None:
        if not args.quiet:
            print(line, flush=True)

    try:
        if args.what != "rootfs":
            _in_engine(args, log)
        if args.what in ("rootfs", "all"):
            target = build_rootfs(
                args.target,
                image=args.image,
                folder=args.folder,
                prefix=args.prefix,
                source=args.source,
                force=args.force,
                log=log,
            )
            log(f"current: {target}")
    except (ImageError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _in_engine(args: argparse.Namespace, log: Log) -> None:
    try:
        with engine() as client:
            if args.what == "base":
                log(f"built: {build_base(client, force=args.force, log=log)}")
                return
            tags = build_images(
                client, only=args.only, folder=args.folder, prefix=args.prefix, force=args.force, log=log
            )
            log(f"current: {', '.join(tags.values())}")
    except NoEngine as error:
        if args.what != "all":
            raise
        log(f"no images: {error.message}")


if __name__ == "__main__":
    sys.exit(main())
