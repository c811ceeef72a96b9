"""The modes of a Python program in a room, other than `script`."""

from __future__ import annotations

from collections.abc import Callable

from rewarden_sandboxes.agent import calling, candidate_room, shared, tests_room

Main = Callable[[bytes, bytes, int, int], int]
"""Takes the code, the request, and the descriptors of the channel and of the reply (-1: none); returns the exit code.
"""

MODES: dict[str, Main] = {
    "serve": candidate_room.main,
    "tests": tests_room.main,
    "call": calling.main,
    "shared": shared.main,
}
"""`serve`: the candidate's room of a pair. `tests`: the tests' room of a pair. `call`: one call. `shared`: tests in the
candidate's own process, which only the reference may choose."""
