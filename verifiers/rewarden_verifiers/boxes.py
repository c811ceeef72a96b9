"""A verifier's access to boxes. `ctx.boxes` opens fresh ones; `ctx.box` is the one whose final state is judged."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

from rewarden_sandboxes.job import Limits, Report

T = TypeVar("T")


class BoxFault(Exception):
    """Work on a box's files failed because of the box's content: a missing file, a full disk, an archive member that
    does not fit. Nothing on our side is broken.
    """


@dataclass(frozen=True, slots=True)
class BoxEntry:
    """An entry of a folder in a box. path: relative to the listed folder."""

    path: str
    kind: Literal["file", "folder", "link", "other"]
    size: int


@dataclass(frozen=True, slots=True)
class Requests:
    """Failed requests by a box's programs, each as `HOST:PORT`. unserved: allowed by the box's network, but the host
    could not be reached or did not answer. refused: not allowed by the network.
    """

    unserved: Sequence[str] = ()
    refused: Sequence[str] = ()


class LiveBox(Protocol):
    """The box of a rollout. Judging neither changes nor ends it."""

    @property
    def image(self) -> str:
        """Returns the name of the image with which the box was opened."""

    @property
    def image_id(self) -> str:
        """Returns the identity of the image's content; empty if there is none."""

    @property
    def disk_mb(self) -> int:
        """Returns the disk limit of the box's changes in MiB; 0 if unknown."""

    @property
    def task(self) -> str | None:
        """Returns the id of the task with which the box was opened."""

    def trajectory(self, instruction: str) -> bytes | None:
        """Returns a record of the programs run in the box, as an ATIF file that begins with this instruction. None: no
        record was kept.
        """

    def changes(self) -> AsyncGenerator[bytes, None]:
        """Yields a tar stream of everything that the box has changed in its image. Its programs are paused
        meanwhile.
        """


class FreshBox(Protocol):
    """A box that a verifier opened for itself. All methods raise SandboxError if the box is lost."""

    @property
    def image_id(self) -> str:
        """Returns the identity of the image's content; empty if there is none."""

    async def run(self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str], limits: Limits) -> Report:
        """Runs a program until it ends. Raises BoxFault for an invalid working folder."""

    async def start(self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str]) -> None:
        """Starts a program that runs until the box ends."""

    async def stop(self) -> None:
        """Pauses all programs until `resume`."""

    async def resume(self) -> None:
        """Continues all programs."""

    async def processes(self) -> int:
        """Returns the number of processes running in the box, including orphans."""

    async def requests(self) -> Requests:
        """Returns the failed requests of its programs so far. Without a network, there are none."""

    async def list(self, path: str, depth: int) -> Sequence[BoxEntry]:
        """Returns the entries of a folder. Raises BoxFault."""

    async def read(self, path: str, most: int) -> bytes:
        """Returns the content of a file. Raises BoxFault, also for a file of more than `most` bytes."""

    async def extract(self, path: str, data: AsyncIterable[bytes]) -> None:
        """Extracts a tar stream into a folder. Raises BoxFault."""

    def archive(self, path: str) -> AsyncGenerator[bytes, None]:
        """Yields a tar stream of a folder. Raises BoxFault."""

    def changes(self) -> AsyncGenerator[bytes, None]:
        """See `LiveBox.changes`."""

    async def restore(self, data: AsyncIterable[bytes]) -> None:
        """Applies the changes in a tar stream yielded by `changes` to a box in which nothing has run. Raises
        BoxFault.
        """


class Boxes(Protocol):
    """Opens boxes. They close at the end of their block, and inherit the request's deadline and cancellation."""

    def open(
        self, image: str, *, limits: Limits, env: Mapping[str, str], network: Sequence[str] = ()
    ) -> AbstractAsyncContextManager[FreshBox]:
        """Opens a box, once it is this caller's turn. Open only one at a time. network: names that its programs may
        reach. Raises InvalidSample for an unknown image or limits that no host provides, and SandboxError if no box was
        available, for instance because a host does not allow the network.
        """

    async def identity(self, image: str, limits: Limits) -> str:
        """Returns the identity of an image's content; empty if there is none. Raises the errors of `open`."""

    async def together(self, key: str, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Runs a piece of work once for all callers that request it at the same time. It ends when the last of
        them leaves.
        """
