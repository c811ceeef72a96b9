"""The runtime: a volume with a Python of its own, by which a slot's supervisor runs in an image that has none.

It is a copy of what the image `python` has, started through its own loader, so that of the slot's image it needs
nothing. Boxes do not see it: their root is built without it (`rewarden_sandboxes.agent.box_root`).
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
"""The end of a volume's name before its image, and the value of its label."""
_UNTAGGED = "<none>:<none>"
_PYTHON = f"{RUNTIME}/{_TREE}"

MOUNT_POINT = RUNTIME

COMMAND = (
    *(f"{_PYTHON}/lib/ld.so", "--inhibit-cache", "--library-path", f"{_PYTHON}/lib"),
    *(f"{_PYTHON}/bin/python3", "-I", "-S", "-B", "-c"),
)
"""The runtime's interpreter, before the text that it runs."""

NO_PRELOAD = "/etc/ld.so.preload"
"""A file of the image by which its loader would have the supervisor load libraries of the image's."""


def name_of(image: str, prefix: str) -> str:
    """Returns the name of the volume with the runtime of an image, given the image's id."""
    return f"{prefix}{_NAME}{_short(image)}"


def exists(client: docker.DockerClient, name: str) -> bool:
    """Returns whether there is a volume of that name. Raises the SDK's errors."""
    try:
        client.volumes.get(name)
    except docker.errors.NotFound:
        return False
    return True


def make(client: docker.DockerClient, image: str, name: str) -> None:
    """Make the volume of that name, with the runtime of an image; nothing changes if it is complete. Raises the SDK's
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
    """Remove the volumes of images that no host can name any more, because they lost their tag: were built anew, or
    removed. Returns the names of those removed. Raises the SDK's errors.

    A host looks up the image before each slot, so it asks for no volume that goes here. The engine refuses to remove
    one that a container has.
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
    """The variables of a slot's first process, where its image has some: those would be the loader's or the
    interpreter's, which takes an empty one for none.
    """
    return {**dict.fromkeys(image, ""), **ENVIRONMENT}
