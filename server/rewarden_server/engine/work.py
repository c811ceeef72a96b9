"""A piece of pure work, and those who wait for it."""

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
    """A use, resolved and validated once: what every sample with that use shares. `id` names it to the workers;
    `resources` is what the server's configuration provides for the verifier, `epoch` how often that of any had moved
    before.
    """

    id: int
    spec: VerifierSpec
    params: Any
    view: View
    ref: VerifierRef
    resources: Any = None
    epoch: int = 0


@dataclass(slots=True, eq=False)
class Result:
    """The end of a piece of work: `outcome` (op verify) or `value` (read, same; None when it failed)."""

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
        """Returns whether anybody still waits."""
        return any(waiter.open for waiter in self.waiters)

    def tell(self, result: Result) -> None:
        """Hands the result to everybody who still waits."""
        for waiter in self.waiters:
            waiter.tell(result)


class Waiter:
    """Somebody who waits for a piece of work. Told once; then closed.

    Who is told usually knows the waiter: a closed one lets go of them, for in a cycle the samples of a request would
    stay in memory until the collector comes, hundreds of megabytes where texts are long.
    """

    __slots__ = ("_tell",)

    def __init__(self, tell: Callable[[Result], None]) -> None:
        self._tell: Callable[[Result], None] | None = tell

    @property
    def open(self) -> bool:
        """Returns whether it still waits."""
        return self._tell is not None

    def tell(self, result: Result) -> None:
        """Hand over the result, unless the waiter has left."""
        tell, self._tell = self._tell, None
        if tell is not None:
            tell(result)

    def leave(self) -> None:
        """Wait no more."""
        self._tell = None
