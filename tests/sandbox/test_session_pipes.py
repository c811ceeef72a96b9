"""A session's pipes in the slot: what is fed when the program reads it, or is gone."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from rewarden_sandboxes.agent import frames
from rewarden_sandboxes.agent.frames import Body
from rewarden_sandboxes.agent.session import Session

FULL = 1 << 16
"""Bytes that lie in a pipe before it takes no more."""


class Clock:
    idle = 0.0
    resting = False

    def cpu(self) -> float:
        return 0.0

    def tick(self, rooms: object) -> float:
        return 0.0


class Room:
    """A room whose program has a stdin, and no more output. It ends when something can be read from `watch`."""

    pid = init = 1

    def __init__(self) -> None:
        self.stdin, self.feed = os.pipe()
        self.watch, self.dies = os.pipe()
        self.pipes = {}
        for name in ("stdout", "stderr"):
            self.pipes[name], far = os.pipe()
            os.close(far)
        os.set_blocking(self.feed, False)
        self.ended = False

    def reap(self) -> None:
        self.ended = True

    def close(self) -> None:
        for number in (self.feed, self.watch, self.dies, *self.pipes.values()):
            os.close(number)


class Run:
    out_of_memory = False

    def __init__(self, room: Room) -> None:
        self.rooms = [room]
        self.clock = Clock()

    def killed_for_memory(self) -> bool:
        return False


def served(room: Room, *fed: bytes, before: list[Callable[[], object]]) -> list[tuple[str, int]]:
    """Returns what the host is told of a session that is fed so. `before`: done before each look at who is ready."""
    ours, theirs = socket.socketpair()
    told: list[tuple[str, int]] = []
    for data in fed:
        body = Body()
        body.add(data)
        ours.sendall(b"".join(frames.pack({"op": "data"}, body)))

    class Stepped(Session):
        def _poll(self, host: socket.socket) -> set[int]:
            if before:
                before.pop(0)()
            return super()._poll(host)

    def tell(header: dict[str, Any], body: Body | None = None) -> None:
        told.append((header["ev"], header["bytes"]))

    with ours, theirs:
        Stepped(Run(room), room.feed, tell, lambda: frames.receive(theirs)).serve(theirs)  # type: ignore[arg-type]
    return told


def nothing() -> None:
    pass


@pytest.fixture
def room() -> Iterator[Room]:
    made = Room()
    yield made
    made.close()


def test_what_a_program_left_unread_when_it_ended_is_told_once(room: Room) -> None:
    def ends() -> None:  # in one moment its stdin is closed and it can be reaped
        os.close(room.stdin)
        os.write(room.dies, b"x")

    os.write(room.feed, b"x" * FULL)
    assert served(room, b"a" * 10, before=[nothing, ends]) == [("taken", 10)]


def test_what_is_fed_in_the_moment_in_which_the_pipe_empties_is_told_once(room: Room) -> None:
    os.write(room.feed, b"x" * FULL)
    ends = partial(os.write, room.dies, b"x")
    told = served(room, b"a" * 10, b"b" * 5, before=[nothing, partial(os.read, room.stdin, FULL), ends])
    assert told == [("taken", 15)]
    os.close(room.stdin)
