"""The runtime: a volume with a Python of its own, which runs a slot's supervisor in images without Python.

It is a copy of the Python in the image `python`, started through its own loader, so it needs nothing from the slot's
image. Boxes do not see it: their root is built without it (`rewarden_sandboxes.agent.box_root`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path

import docker
import docker.errors

from rewarden_sandboxes.agent.box_root import RUNTIME
from rewarden_sandboxes.launchers.launcher import ENVIRONMENT, LABEL

_SCRIPT = Path(__file__).with_name("copy_runtime.py")
_TREE = "tree"
_NAME, _KIND = "runtime-", "runtime"
"""The part of a volume's name before its image, and the value of its label."""
_UNTAGGED = "<none>:<none>"
_PYTHON = f"{RUNTIME}/{_TREE}"

MOUNT_POINT = RUNTIME

COMMAND = (
    *(f"{_PYTHON}/lib/ld.so", "--inhibit-cache", "--library-path", f"{_PYTHON}/lib"),
    *(f"{_PYTHON}/bin/python3", "-I", "-S", "-B", "-c"),
)
"""The command of the runtime's interpreter, without the program text."""

NO_PRELOAD = "/etc/ld.so.preload"
"""A file of the image that would make its loader load the image's libraries into the supervisor."""


def name_of(image: str, prefix: str) -> str:
    """Returns the name of an image's runtime volume, given the image's id."""
    return f"{prefix}{_NAME}{_short(image)}"


def exists(client: docker.DockerClient, name: str) -> bool:
    """Returns whether a volume of that name exists. Raises the SDK's errors."""
    try:
        client.volumes.get(name)
    except docker.errors.NotFound:
        return False
    return True


def make(client: docker.DockerClient, image: str, name: str) -> None:
    """Makes the volume of that name, with an image's runtime. Does nothing if it is complete. Raises the SDK's
    errors.
    """
    client.volumes.create(name, labels={LABEL: _KIND})
    client.containers.run(
        image,
        ["-c", _SCRIPT.read_text(encoding="utf-8"), f"/runtime/{_TREE}"],
        entrypoint="python3",
        user="0:0",
        mounts=[docker.types.Mount("/runtime", name, type="volume")],
        network_mode="none",
        read_only=True,
        cap_drop=["ALL"],
        security_opt=["no-new-privileges"],
        remove=True,
    )


def remove_unused(client: docker.DockerClient) -> list[str]:
    """Removes the volumes of images that hosts can no longer name, because the images lost their tag by a rebuild or
    were removed. Returns the removed names. Raises the SDK's errors.

    A host looks up the image before each slot, so it never asks for a volume that is removed here. The engine refuses
    to remove one that a container uses.
    """
    tagged = {_short(image["Id"]) for image in client.api.images() if set(image.get("RepoTags") or ()) - {_UNTAGGED}}
    removed = []
    for volume in client.volumes.list(filters={"label": f"{LABEL}={_KIND}"}):
        if volume.name.rpartition(_NAME)[2] not in tagged:
            with contextlib.suppress(docker.errors.APIError):  # in use, or removed by another host
                volume.remove()
                removed.append(volume.name)
    return removed


def _short(image: str) -> str:
    return image.removeprefix("sha256:")[:12]


def environment(image: Mapping[str, str]) -> dict[str, str]:
    """The variables of a slot's first process. They override the image's variables, which would affect the loader or
    the interpreter; both treat an empty variable as unset.
    """
    return {**dict.fromkeys(image, ""), **ENVIRONMENT}
