"""An exec's output at its end, at the moments that a live box reaches only by chance."""

from __future__ import annotations

import os
from typing import Any

import pytest

from rewarden_sandboxes.agent.exec import Exec
from rewarden_sandboxes.agent.frames import Body


class Ended:
    """A program that has ended by the time it is first looked at, and what it left in its pipes."""

    def __init__(self, output_bytes: int, **written: bytes) -> None:
        self.limits = {"output_bytes": output_bytes}
        self.cause: str | None = None
        self.ended = False
        self.status: int | None = None
        self.pid = self.watch = -2
        self.pipes = {}
        for name, data in written.items():
            self.pipes[name], far = os.pipe()
            os.write(far, data)
            os.close(far)

    def reap(self) -> None:
        self.ended, self.status = True, 0


@pytest.mark.parametrize(
    ("output_bytes", "written", "passed_on", "cause"),
    [
        (1000, {"stdout": b"x" * 5000}, 1000, "output_bytes"),
        (1000, {"stdout": b"x" * 1000}, 1000, None),
        (1000, {"stdout": b"x" * 1000, "stderr": b"x"}, 1000, "output_bytes"),
        (1000, {"stdout": b"x" * 600, "stderr": b"x" * 400}, 1000, None),
        (0, {"stdout": b"x"}, 0, "output_bytes"),
        (0, {"stdout": b""}, 0, None),
    ],
)
def test_what_a_program_wrote_before_it_was_read_is_bounded_and_comes_to_an_end(
    output_bytes: int, written: dict[str, bytes], passed_on: int, cause: str | None
) -> None:
    told: list[int] = []

    def tell(header: dict[str, Any], body: Body | None = None) -> None:
        assert body is not None
        told.append(body.size)

    room: Any = Ended(output_bytes, **written)
    clock: Any = None  # it measures nothing here
    each = Exec(1, room, clock, None, tell, helper=False, memory_kills=0)
    for _ in range(5):
        each.turn({room.watch, *room.pipes.values()}, 0)
    assert each.over
    assert (sum(told), room.cause) == (passed_on, cause)
