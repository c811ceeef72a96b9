"""The external sort: sorted, stable, in bounded memory, and whole or not at all."""

from __future__ import annotations

import random
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarden_server.studies.rescore import sort
from rewarden_server.studies.rescore.sort import ExternalSort


def filled(folder: Path, records: list[tuple[bytes, bytes]], memory_mb: int = 1) -> ExternalSort:
    made = ExternalSort(folder, 2, memory_mb)
    for key, payload in records:
        made.add(key, payload)
    made.close()
    return made


@given(st.lists(st.tuples(st.binary(min_size=2, max_size=2), st.binary(max_size=8)), max_size=60), st.integers(1, 9))
def test_sorts_by_key_and_keeps_the_order_of_equals(
    tmp_path_factory: pytest.TempPathFactory, records: list[tuple[bytes, bytes]], spill_each: int
) -> None:
    made = ExternalSort(tmp_path_factory.mktemp("sort"), 2)
    for position, (key, payload) in enumerate(records):
        made.add(key, payload)
        if position % spill_each == 0:
            made._spill()
    made.close()
    assert list(made) == sorted(records, key=lambda record: record[0])


def test_more_runs_than_can_be_open_at_once_are_merged_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sort, "_FAN_IN", 3)
    records = [(bytes([random.Random(n).randrange(4), 0]), b"%d" % n) for n in range(100)]
    made = ExternalSort(tmp_path, 2)
    for key, payload in records:
        made.add(key, payload)
        made._spill()
    made.close()
    assert len(list(tmp_path.glob("*.run"))) <= 3
    assert list(made) == sorted(records, key=lambda record: record[0])
    assert list(ExternalSort(tmp_path, 2)) == list(made)


def test_a_complete_sort_is_found_again_and_a_broken_one_begins_anew(tmp_path: Path) -> None:
    filled(tmp_path / "done", [(b"bb", b"2"), (b"aa", b"1")])
    again = ExternalSort(tmp_path / "done", 2)
    assert again.complete
    assert list(again) == [(b"aa", b"1"), (b"bb", b"2")]
    broken = ExternalSort(tmp_path / "broken", 2)
    broken.add(b"zz", b"old")
    broken._spill()
    assert list(filled(tmp_path / "broken", [(b"aa", b"new")])) == [(b"aa", b"new")]


@pytest.mark.slow
def test_memory_does_not_grow_with_the_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sort, "_FAN_IN", 4)  # each open run has a buffer

    def peak(count: int, again: int = 0) -> int:
        made = ExternalSort(tmp_path / f"{count}-{again}", 8, memory_mb=1)
        tracemalloc.start()
        for number in range(count):
            made.add(b"%08d" % (number * 7919 % count), b"%d" % number * 200)
        made.close()
        assert sum(1 for _ in made) == count
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    # The least of three: threads that others left in this process are counted too.
    assert min(peak(20_000, again) for again in range(3)) < 1.5 * peak(4_000)
