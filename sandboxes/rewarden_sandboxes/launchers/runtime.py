"""The runtime: a volume with a Python of its own, by which a slot's supervisor runs in an image that has none.

It is a copy of what the image `python` has, started through its own loader, so that of the slot's image it needs
nothing. Boxes do not see it: their root is built without it (`rewarden_sandboxes.agent.box_root`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import docker

from rewarden_sandboxes.agent.box_root import RUNTIME
from rewarden_sandboxes.launchers.launcher import ENVIRONMENT, LABEL

_SCRIPT = Path(__file__).with_name("copy_runtime.py")
_TREE = "tree"
_PYTHON = f"{RUNTIME}/{_TREE}"

MOUNT_POINT = RUNTIME

COMMAND = (
    *(f"{_PYTHON}/lib/ld.so", "--inhibit-cache", "--library-path", f"{_PYTHON}/lib"),
    *(f"{_PYTHON}/bin/python3", "-I", "-S", "-B", "-c"),
)
"""The runtime's interpreter, before the text that it runs."""

NO_PRELOAD = "/etc/ld.so.preload"
"""A file of the image by which its loader would have the supervisor load libraries of the image's."""


def volume(client: docker.DockerClient, image: str, prefix: str) -> str:
    """The name of the volume with the runtime of the image `python`, which is made where there is none. Raises the
    SDK's errors.
    """
    number = str(client.images.get(image).id)
    name = f"{prefix}runtime-{number.removeprefix('sha256:')[:12]}"
    client.volumes.create(name, labels={LABEL: "runtime"})
    client.containers.run(
        number,
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
    return name


def environment(image: Mapping[str, str]) -> dict[str, str]:
    """The variables of a slot's first process, where its image has some: those would be the loader's or the
    interpreter's, which takes an empty one for none.
    """
    return {**dict.fromkeys(image, ""), **ENVIRONMENT}
