"""A piece of pure work, and its waiters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from rewarden.types import Outcome, VerifierRef
from rewarden_verifiers.contract import VerifierSpec
from rewarden_verifiers.view import View

Op = Literal["verify", "read", "same"]


@dataclass(frozen=True, slots=True, eq=False)
class BoundUse:
    """A use, resolved and validated once, which every sample with that use shares.

    `id` is its name among the workers; `resources` are the verifier's resources from the server's configuration;
    `epoch` is how often any resources had changed before. `immediate`: the verdict waits for nothing, because the
    verifier and all that it calls are inline.
    """

    id: int
    spec: VerifierSpec
    params: Any
    view: View
    ref: VerifierRef
    resources: Any = None
    epoch: int = 0
    immediate: bool = False


@dataclass(slots=True, eq=False)
class Result:
    """The result of a piece of work: `outcome` (op verify) or `value` (read, same; None if it failed)."""

    outcome: Outcome | None = None
    value: Any = None
    cached: bool = False
    queue_s: float = 0.0
    run_s: float = 0.0


@dataclass(slots=True, eq=False)
class Work:
    """A piece of work for a worker. Equal work of several requests is one `Work` with several waiters.

    `key` is its content (None: not shared, not cached); `reference_key` sends equal references to the same worker.
    """

    use: BoundUse
    op: Op
    arguments: dict[str, Any]
    key: bytes | None = None
    reference_key: bytes | None = None
    waiters: list[Waiter] = field(default_factory=list)
    queued_at: float = 0.0
    started_at: float = 0.0
    deaths: int = 0
    slow: bool = False
    started: bool = False

    @property
    def wanted(self) -> bool:
        """Returns whether any waiter is left."""
        return any(waiter.open for waiter in self.waiters)

    def tell(self, result: Result) -> None:
        """Passes the result to all waiters that are left."""
        for waiter in self.waiters:
            waiter.tell(result)


class Waiter:
    """A waiter for a piece of work. It is notified once, and then closed.

    Its callback usually refers to the waiter. A closed waiter drops the callback, because the cycle would keep a
    request's samples in memory until the next garbage collection: hundreds of megabytes for long texts.
    """

    __slots__ = ("_tell",)

    def __init__(self, tell: Callable[[Result], None]) -> None:
        self._tell: Callable[[Result], None] | None = tell

    @property
    def open(self) -> bool:
        """Returns whether it still waits."""
        return self._tell is not None

    def tell(self, result: Result) -> None:
        """Passes on the result, unless the waiter has left."""
        tell, self._tell = self._tell, None
        if tell is not None:
            tell(result)

    def leave(self) -> None:
        """Stops waiting."""
        self._tell = None
