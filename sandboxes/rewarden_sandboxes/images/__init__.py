"""The images that slots are made of: a folder each, with a Dockerfile of a small dialect.

The dialect (FROM, ARG, ENV, COPY, RUN; no stages) is what both a container engine and `rewarden_sandboxes.rootfs`
can carry out. An image's digest covers its folder and its parents, so that what is built is known to be current.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
"""The images that come with the project."""

TIERS = frozenset({"jvm", "native", "python-science", "scripts"})
"""Images of many languages or large libraries, which are built only where they are asked for by name."""

PREFIX = "rewarden-sandbox-"
"""The prefix of an image's name in an engine's tag."""

PYTHON = "/usr/bin/python3"
"""The interpreter inside every image. Its site has the packages of `python/requirements.txt`."""

DEBIAN = "bookworm"
"""The release of Debian below all images."""

CA_BUNDLE = "ca-bundle.crt"
"""File of the context that holds the building machine's certificate authorities, where it has its own."""

VERBS = ("FROM", "ARG", "ENV", "COPY", "RUN")


class ImageError(Exception):
    """An image cannot be built, or not read. `mend`: the command or change that mends it, where one is known."""

    def __init__(self, message: str, mend: str = "") -> None:
        super().__init__(f"{message}\n  fix: {mend}" if mend else message)
        self.message = message
        self.mend = mend


@dataclass(frozen=True, slots=True)
class Instruction:
    """A line of a Dockerfile: its verb in capitals, and what follows with continued lines joined."""

    verb: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """A folder of images/. `parent`: the sibling it stands on, None where that is Debian itself."""

    name: str
    folder: Path
    instructions: tuple[Instruction, ...]
    parent: str | None
    digest: str

    def context(self) -> dict[str, Path]:
        """Returns what COPY may name: each file of the folder, by name, and the bundle of authorities."""
        files = _files(self.folder)
        bundle = _ca_bundle()
        return files if bundle is None else files | {CA_BUNDLE: bundle}


def read_images(folder: Path = FOLDER) -> dict[str, Image]:
    """The images of a folder by name, parents before children. Raises ImageError naming the file and the line."""
    names = sorted(path.parent.name for path in folder.glob("*/Dockerfile"))
    if not names:
        raise ImageError(f"{folder}: has no */Dockerfile")
    scripts = {name: tuple(_instructions(folder / name / "Dockerfile")) for name in names}
    parents = {name: _parent(script, names) for name, script in scripts.items()}
    images: dict[str, Image] = {}
    while len(images) < len(names):
        ready = [name for name in names if name not in images and (parents[name] is None or parents[name] in images)]
        if not ready:
            raise ImageError(f"{folder}: images are built on each other: {', '.join(set(names) - set(images))}")
        for name in ready:
            parent = parents[name]
            below = DEBIAN if parent is None else images[parent].digest
            images[name] = Image(
                name=name,
                folder=folder / name,
                instructions=scripts[name],
                parent=parent,
                digest=_digest(folder / name, below),
            )
    return images


def chain(images: Mapping[str, Image], name: str) -> list[Image]:
    """The image and all below it, the lowest first. Raises ImageError for a name that is not there."""
    if name not in images:
        raise ImageError(f"unknown image {name!r}; known: {', '.join(images)}")
    image = images[name]
    return [*(chain(images, image.parent) if image.parent is not None else []), image]


def substitute(text: str, values: Mapping[str, str]) -> str:
    """`$NAME` and `${NAME}` replaced by their values, by nothing where there is none."""
    return re.sub(r"\$(?:\{(\w+)\}|(\w+))", lambda match: values.get(match[1] or match[2], ""), text)


def build_arguments() -> dict[str, str]:
    """Returns what of this machine's environment a build must know to reach the package registries."""
    proxies = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
    names = (*proxies, "PIP_INDEX_URL", "TORCH_INDEX")
    return {name: os.environ[name] for name in names if os.environ.get(name)}


def _instructions(path: Path) -> Iterator[Instruction]:
    text = re.sub(r"^\s*#.*\n?", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    for line in re.sub(r"\\\n", " ", text).splitlines():
        verb, _, rest = line.strip().partition(" ")
        if not verb:
            continue
        if verb.upper() not in VERBS:
            raise ImageError(f"{path}: {verb} is not supported; known: {', '.join(VERBS)}")
        # Flags (--from, --mount …) and the JSON form are things that the builder without an engine does not know.
        if rest.lstrip().startswith(("--", "[")):
            raise ImageError(f"{path}: {verb}: neither flags nor the JSON form are supported")
        yield Instruction(verb.upper(), rest.strip())


def _parent(script: tuple[Instruction, ...], names: list[str]) -> str | None:
    defaults: dict[str, str] = {}
    for instruction in script:
        if instruction.verb == "ARG":
            name, _, value = shlex.split(instruction.text)[0].partition("=")
            defaults[name] = value
        elif instruction.verb == "FROM":
            stem = substitute(instruction.text, defaults).removeprefix(PREFIX)
            return stem if stem in names else None
    return None


def _digest(folder: Path, below: str) -> str:
    digest = hashlib.sha256(below.encode())
    for name, path in sorted(_files(folder).items()):
        content = path.read_bytes()
        executable = bool(path.stat().st_mode & 0o100)
        digest.update(f"\n{name} {executable} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def _files(folder: Path) -> dict[str, Path]:
    return {path.name: path for path in folder.iterdir() if path.is_file() and path.name != CA_BUNDLE}


def _ca_bundle() -> Path | None:
    for variable in ("PIP_CERT", "SSL_CERT_FILE"):
        path = Path(os.environ.get(variable, ""))
        if path.is_file():
            return path
    return None
