"""An image of somebody else's for tests: a shell and a few tools, and no Python."""

from __future__ import annotations

import base64
import io
import secrets
import tarfile
from collections.abc import Iterator, Sequence
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

_FOLDERS = ("lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu", "usr", "usr/bin", "srv", "srv/app")


@contextmanager
def own_image(*, changes: Sequence[str] = ()) -> Iterator[str]:
    """An image with these lines of a Dockerfile, by its id. It is removed at the end."""
    settings = HostSettings()
    client = docker.from_env()
    tag = PREFIX + secrets.token_hex(4)
    try:
        image = f"{settings.image_prefix}python:{settings.image_tag}"
        tools = client.containers.run(
            image, ["-c", _COPY], entrypoint="sh", network_mode="none", remove=True, tmpfs={"/tmp": ""}
        )
        client.api.import_image_from_data(_with_files(base64.b64decode(tools)), repository=tag, changes=list(changes))
        yield str(client.images.get(tag).id)
    finally:
        try:
            client.images.remove(tag, force=True)
        finally:
            client.close()


def _with_files(tools: bytes) -> bytes:
    """The tools as an archive that has the image's own files as well."""
    made = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(tools)) as source, tarfile.open(fileobj=made, mode="w") as image:
        for name in _FOLDERS:  # the engine would make them so that nobody without capabilities may enter
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o755
            image.addfile(folder)
        for member in source:
            image.addfile(member, source.extractfile(member) if member.isreg() else None)
        for name, mode, text in (("srv/app/readme", 0o644, b"of the image\n"), ("srv/app/secret", 0o600, b"root\n")):
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(text), mode
            image.addfile(info, io.BytesIO(text))
        link = tarfile.TarInfo("bin")
        link.type, link.linkname = tarfile.SYMTYPE, "usr/bin"
        image.addfile(link)
        shell = tarfile.TarInfo("usr/bin/sh")
        shell.type, shell.linkname = tarfile.SYMTYPE, "dash"
        image.addfile(shell)
    return made.getvalue()
