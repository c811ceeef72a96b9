"""Groups within one request, stream or job: when they are complete, and their statistics."""

from __future__ import annotations

from dataclasses import dataclass, field

from rewarden.types import Sample, Verdict
from rewarden_server.engine.work import BoundUse


@dataclass(slots=True, eq=False)
class OpenGroup:
    """A group whose members are still arriving.

    `seen` members were announced and `arrived` were planned; `size` is the promised number, if any. `waiting` holds the
    members of group verifiers, by use. `inline`: a recipe within the request judged a member.
    """

    name: str
    order: int
    size: int | None = None
    seen: int = 0
    arrived: int = 0
    closed: bool = False
    inline: bool = False
    verdicts: list[Verdict] = field(default_factory=list)
    waiting: dict[int, tuple[BoundUse, list[tuple[int, Sample]]]] = field(default_factory=dict)

    @property
    def whole(self) -> bool:
        """Returns whether all promised members have arrived."""
        return self.size is not None and self.arrived >= self.size

    @property
    def judged(self) -> bool:
        """Returns whether no more members can arrive and all have their verdicts."""
        return self.closed and len(self.verdicts) >= self.seen
