"""The journal: whatever is cut off its end, what comes before is found again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rewarden_server.studies.rescore import journal as module
from rewarden_server.studies.rescore.journal import Journal, hold
from rewarden_server.studies.rescore.options import RescoreError

HEADER = {"input": "x"}


def written(path: Path, units: int) -> list[int]:
    """A journal of so many verdicts; the sizes after each."""
    journal = Journal.create(path, HEADER)
    sizes = [path.stat().st_size]
    for unit in range(units):
        journal.verdicts(unit, {0: b'{"score":%d}' % unit})
        journal.flush()
        sizes.append(path.stat().st_size)
    journal.close()
    return sizes


def test_a_journal_cut_at_any_byte_gives_back_every_whole_record(tmp_path: Path) -> None:
    sizes = written(tmp_path / "whole", 4)
    data = (tmp_path / "whole").read_bytes()
    for cut in range(sizes[0], len(data) + 1):
        path = tmp_path / "cut"
        path.write_bytes(data[:cut])
        journal, recovered = Journal.reopen(path)
        whole = sum(size <= cut for size in sizes) - 1
        assert recovered.verdicts == {unit: {0: {"score": unit}} for unit in range(whole)}
        journal.verdicts(9, {0: b'{"score":9}'})
        journal.close()
        assert 9 in Journal.reopen(path)[1].verdicts  # what is written after a cut is read again


def test_a_damaged_record_ends_the_journal_before_it(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    sizes = written(path, 3)
    data = bytearray(path.read_bytes())
    data[sizes[1] + 20] ^= 1
    path.write_bytes(data)
    assert Journal.reopen(path)[1].verdicts == {0: {0: {"score": 0}}}


def test_without_its_header_a_journal_is_of_no_use(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    path.write_bytes(b"garbage\n")
    assert module.read_header(path) is None
    with pytest.raises(RescoreError, match=r"damaged at its beginning.*--force"):
        Journal.reopen(path)


def test_a_checkpoint_lets_go_of_the_verdicts_before_it(tmp_path: Path) -> None:
    journal = Journal.create(tmp_path / "journal", HEADER)
    for unit in (0, 2, 1, 3):
        journal.verdicts(unit, {0: b"{}"})
    journal.checkpoint({"units": 2})
    journal.close()
    _, recovered = Journal.reopen(tmp_path / "journal")
    assert recovered.checkpoint == {"units": 2}
    assert set(recovered.verdicts) == {2, 3}
    assert not recovered.finished


def test_a_grown_journal_is_written_anew_with_what_is_still_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "COMPACT_BYTES", 2000)
    path = tmp_path / "journal"
    journal = Journal.create(path, HEADER)
    for unit in range(100):
        journal.verdicts(unit, {0: b'"%d"' % unit})
    assert journal.grown
    journal.compact({"units": 98}, [(98, {0: b'"a"'}), (99, {0: b'"b"', 1: b'"c"'})])
    journal.verdicts(100, {0: b'"d"'})
    journal.close()
    assert path.stat().st_size < 500
    _, recovered = Journal.reopen(path)
    assert recovered.header == HEADER
    assert recovered.verdicts == {98: {0: "a"}, 99: {0: "b", 1: "c"}, 100: {0: "d"}}


def test_only_one_run_holds_a_folder(tmp_path: Path) -> None:
    first = hold(tmp_path)
    with pytest.raises(RescoreError, match="another run is working"):
        hold(tmp_path)
    os.close(first)
    os.close(hold(tmp_path))
