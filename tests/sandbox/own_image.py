"""An image of somebody else's for tests: a shell and a few tools, and no Python."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import secrets
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import docker

from rewarden_sandboxes.settings import HostSettings

PREFIX = "rewarden-test-own-"
_COPY = """
set -e
for tool in sh cat ls id mkdir rm touch chmod grep sleep stat readlink tail env; do
    path=$(readlink -f "$(command -v $tool)"); echo "$path"; ldd "$path" | grep -o '/[^ ]*'
done | sort -u | while read -r path; do readlink -f "$path"; echo "$path"; done | sort -u > /tmp/names
tar -c -h -T /tmp/names 2> /tmp/errors | base64
"""
"""Shell: a tar archive of some tools with what they need, each under the name by which it is asked for. The
engine keeps output as text."""

_FOLDERS = ("lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu", "usr", "usr/bin", "srv", "srv/app", "mnt")


@contextmanager
def own_image(
    *, changes: Sequence[str] = (), links: Mapping[str, str] | None = None, large: bool = False
) -> Iterator[str]:
    """An image with these lines of a Dockerfile, and these links, by its id. It is removed at the end. large: a file at
    its top has 3 MB.
    """
    settings = HostSettings()
    client = docker.from_env()
    tag = PREFIX + secrets.token_hex(4)
    try:
        image = f"{settings.image_prefix}python:{settings.image_tag}"
        tools = client.containers.run(
            image, ["-c", _COPY], entrypoint="sh", network_mode="none", remove=True, tmpfs={"/tmp": ""}
        )
        client.api.import_image_from_data(
            _with_files(base64.b64decode(tools), links or {}, large=large), repository=tag, changes=list(changes)
        )
        yield str(client.images.get(tag).id)
    finally:
        try:
            client.images.remove(tag, force=True)
        finally:
            client.close()


@contextmanager
def foreign_image(architecture: str) -> Iterator[str]:
    """An image without files that says it is for another architecture, by its id. It is removed at the end."""
    layer = _tar({})
    about = {
        "architecture": architecture,
        "os": "linux",
        "config": {"Labels": {"test": secrets.token_hex(4)}},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
    }
    manifest = [{"Config": "config.json", "RepoTags": None, "Layers": ["layer.tar"]}]
    files = {
        "config.json": json.dumps(about).encode(),
        "layer.tar": layer,
        "manifest.json": json.dumps(manifest).encode(),
    }
    client = docker.from_env()
    try:
        [image] = client.images.load(_tar(files))
        try:
            yield str(image.id)
        finally:
            client.images.remove(image.id, force=True)
    finally:
        client.close()


def _tar(files: Mapping[str, bytes]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return made.getvalue()


def _with_files(tools: bytes, links: Mapping[str, str], *, large: bool) -> bytes:
    """The tools as an archive that has the image's own files as well."""
    made = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(tools)) as source, tarfile.open(fileobj=made, mode="w") as image:
        for name in _FOLDERS:  # the engine would make them so that nobody without capabilities may enter
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o755
            image.addfile(folder)
        for member in source:
            image.addfile(member, source.extractfile(member) if member.isreg() else None)
        for name, mode, text in (
            ("srv/app/readme", 0o644, b"of the image\n"),
            ("srv/app/secret", 0o600, b"root\n"),
            ("entry.sh", 0o755, b"#!/bin/sh\necho entered\n" + bytes(3_000_000 if large else 0)),
            ("mnt/data", 0o644, b"of /mnt\n"),
        ):
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(text), mode
            image.addfile(info, io.BytesIO(text))
        for name, target in {"bin": "usr/bin", "usr/bin/sh": "dash", **links}.items():
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, target
            image.addfile(link)
    return made.getvalue()
