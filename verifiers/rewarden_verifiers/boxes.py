"""A verifier's access to boxes. `ctx.boxes` opens fresh ones; `ctx.box` is the one whose final state is judged."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

from rewarden_sandboxes.job import Limits, Report

T = TypeVar("T")


class BoxFault(Exception):
    """Work on a box's files failed because of what is in the box: a missing file, a full disk, a member that does not
    fit. Nothing of ours is broken."""


@dataclass(frozen=True, slots=True)
class BoxEntry:
    """A name in a box's folder. path: relative to the listed folder."""

    path: str
    kind: Literal["file", "folder", "link", "other"]
    size: int


@dataclass(frozen=True, slots=True)
class Requests:
    """Requests of a box's programs that went wrong, each as `HOST:PORT`. unserved: the box's network allows them, and
    the host was not reached, or did not answer. refused: the network does not allow them."""

    unserved: Sequence[str] = ()
    refused: Sequence[str] = ()


class LiveBox(Protocol):
    """A box that a rollout lives in. Judging it neither changes it nor ends it."""

    @property
    def image(self) -> str:
        """Returns the name of the image, as the box was opened with it."""

    @property
    def image_id(self) -> str:
        """Returns the identity of the image's content; empty if there is none."""

    @property
    def disk_mb(self) -> int:
        """Returns the MiB that the box's changes may take; 0 if that is unknown."""

    @property
    def task(self) -> str | None:
        """Returns the id of the task with which the box was opened."""

    def trajectory(self, instruction: str) -> bytes | None:
        """Returns a record of what was run in the box, as a file in ATIF that begins with this instruction. None: no
        record was kept."""

    def changes(self) -> AsyncGenerator[bytes, None]:
        """Yields a tar stream of all that the box has changed in its image. Its programs stand still meanwhile."""


class FreshBox(Protocol):
    """A box that a verifier opened for itself. All methods raise SandboxError if the box is lost."""

    @property
    def image_id(self) -> str:
        """Returns the identity of the image's content; empty if there is none."""

    async def run(self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str], limits: Limits) -> Report:
        """Runs a program to its end. Raises BoxFault if its working folder is not one."""

    async def start(self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str]) -> None:
        """Starts a program that lives until the box ends."""

    async def stop(self) -> None:
        """Has all programs stand still until `resume`."""

    async def resume(self) -> None:
        """Has them go on."""

    async def processes(self) -> int:
        """Returns the number of processes that live in the box, also of those that programs left behind."""

    async def requests(self) -> Requests:
        """Returns the requests of its programs, so far, that went wrong. Without a network, none is made."""

    async def list(self, path: str, depth: int) -> Sequence[BoxEntry]:
        """Returns the entries of a folder. Raises BoxFault."""

    async def read(self, path: str, most: int) -> bytes:
        """Returns the bytes of a file. Raises BoxFault, also for a file of more than `most` bytes."""

    async def extract(self, path: str, data: AsyncIterable[bytes]) -> None:
        """Extracts a tar stream below a folder. Raises BoxFault."""

    def archive(self, path: str) -> AsyncGenerator[bytes, None]:
        """Yields a tar stream of a folder. Raises BoxFault."""

    def changes(self) -> AsyncGenerator[bytes, None]:
        """See `LiveBox.changes`."""

    async def restore(self, data: AsyncIterable[bytes]) -> None:
        """Makes the changes of a tar stream that `changes` yielded, in a box in which nothing has run. Raises
        BoxFault."""


class Boxes(Protocol):
    """Opens boxes. They close at the end of their block, and inherit the request's deadline and cancellation."""

    def open(
        self, image: str, *, limits: Limits, env: Mapping[str, str], network: Sequence[str] = ()
    ) -> AbstractAsyncContextManager[FreshBox]:
        """Opens a box, when it is its turn: a holder must not open another. network: names that its programs may
        reach. Raises InvalidSample for an unknown image or limits that no host gives, SandboxError where no box could
        be had, also because a host does not allow the network."""

    async def identity(self, image: str, limits: Limits) -> str:
        """Returns the identity of an image's content; empty if there is none. Raises as `open` does."""

    async def together(self, key: str, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Does a piece of work once for all who want it at the same time. It ends when the last of them leaves."""
