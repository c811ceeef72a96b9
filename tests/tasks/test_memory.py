"""The memory of tasks on disk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rewarden_sandboxes.job import Limits
from rewarden_verifiers.tasks.memory import Checked, Memory, StepCheck
from rewarden_verifiers.tasks.shelf import Shelf

LIMITS = Limits(memory_mb=512, disk_mb=512)
SIZE = 64 * 1024


def keep(memory: Memory, digest: str, age: float) -> None:
    """Keeps a state of `SIZE` bytes that was last used so many seconds ago."""
    with memory.shelf.writing(memory._state(digest, "image", LIMITS)) as file:
        file.write(b"x" * SIZE)
    state = memory.state(digest, "image", LIMITS)
    assert state is not None
    with state:
        os.utime(state.fileno(), (1e9 - age, 1e9 - age))


def known(memory: Memory, *digests: str) -> list[bool]:
    """Returns which of these states are kept, without using them."""
    return [memory._state(digest, "image", LIMITS).exists() for digest in digests]


def test_a_check_is_about_a_digest_an_image_and_limits(memory: Memory) -> None:
    found = Checked(
        task="a",
        digest="digest",
        image_id="image",
        steps=(StepCheck(step="", untouched=0.0, solved=1.0, rewritten=("a", "b"), left=True),),
    )
    memory.remember(found, LIMITS)
    assert memory.check("digest", "image", LIMITS) == found
    assert memory.check("other", "image", LIMITS) is None
    assert memory.check("digest", "other", LIMITS) is None
    assert memory.check("digest", "image", Limits(memory_mb=512, disk_mb=1024)) is None
    assert memory.check("digest", "image", Limits(memory_mb=256, disk_mb=512)) is None


def test_a_state_is_about_limits_too(memory: Memory) -> None:
    with memory.shelf.writing(memory._state("digest", "image", LIMITS)) as file:
        file.write(b"changes")
    state = memory.state("digest", "image", LIMITS)
    assert state is not None
    with state:
        assert state.read() == b"changes"
    assert memory.state("digest", "image", Limits(memory_mb=256, disk_mb=512)) is None


def test_what_was_used_longest_ago_is_deleted_first(tmp_path: Path) -> None:
    memory = Memory(Shelf(tmp_path, 3 * SIZE))
    for age, digest in enumerate("cba", 1):
        keep(memory, digest, age)
    used = memory.state("a", "image", LIMITS)
    assert used is not None
    used.close()
    keep(memory, "d", 0)
    assert known(memory, *"abcd") == [True, False, True, True]
    assert sum(path.stat().st_size for path in tmp_path.rglob("*.tar")) <= 3 * SIZE


def test_the_newest_stays_although_it_is_larger_than_all_may_be(tmp_path: Path) -> None:
    memory = Memory(Shelf(tmp_path, SIZE // 2))
    keep(memory, "a", 0)
    keep(memory, "b", 1)
    assert known(memory, "a", "b") == [False, True]


def test_a_file_that_somebody_is_making_stays_and_an_abandoned_one_goes(tmp_path: Path) -> None:
    memory = Memory(Shelf(tmp_path, SIZE))
    with memory.shelf.writing(memory._state("a", "image", LIMITS)) as file:
        file.write(b"x" * SIZE)
        file.flush()
        keep(memory, "b", 0)
        keep(memory, "c", 0)
    assert known(memory, "a", "b", "c") == [True, False, False]
    abandoned = tmp_path / "states" / ".new-x"
    abandoned.write_bytes(b"x" * SIZE)
    os.utime(abandoned, (0, 0))
    keep(memory, "d", 0)
    assert not abandoned.exists()


def test_a_state_in_use_is_whole_though_it_is_deleted(tmp_path: Path) -> None:
    memory = Memory(Shelf(tmp_path, SIZE))
    keep(memory, "a", 9)
    state = memory.state("a", "image", LIMITS)
    assert state is not None
    with state:
        os.utime(state.fileno(), (1, 1))
        keep(memory, "b", 0)
        assert known(memory, "a") == [False]
        assert len(state.read()) == SIZE


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 2, "steps": [{"x": 1}]}', "[" * 9000])
def test_a_check_that_cannot_be_read_is_made_again(memory: Memory, text: str) -> None:
    path = memory._check("digest", "image", LIMITS)
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert memory.check("digest", "image", LIMITS) is None
