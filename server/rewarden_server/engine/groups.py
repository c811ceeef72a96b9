"""Groups within one request, stream or job: when they are whole, and their statistics."""

from __future__ import annotations

from dataclasses import dataclass, field

from rewarden.types import Sample, Verdict
from rewarden_server.engine.work import BoundUse


@dataclass(slots=True, eq=False)
class OpenGroup:
    """A group whose members still come in.

    `seen` members were announced and `arrived` were planned; `size` is what was promised, where it was. `waiting`
    holds the members of group verifiers, by use. `inline`: a recipe that stood in the request judged a member.
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
        """Returns whether all the members that were promised have come."""
        return self.size is not None and self.arrived >= self.size

    @property
    def judged(self) -> bool:
        """Returns whether no more members come and all have their verdicts."""
        return self.closed and len(self.verdicts) >= self.seen
