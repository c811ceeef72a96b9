"""Files to lines: any packing, any place to go on, nothing lost without a word."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from rewarden_server.studies.rescore.options import RescoreError
from rewarden_server.studies.rescore.read import Inputs, find_inputs, read_lines


def one(path: Path) -> Inputs:
    return Inputs(path, (path,))


def zstd_frames(*parts: bytes) -> bytes:
    return b"".join(zstandard.compress(part) for part in parts)


PACKINGS = {
    "plain": lambda data: data,
    "gzip": gzip.compress,
    "gzip in two members": lambda data: gzip.compress(data[:7]) + gzip.compress(data[7:]),
    "zstd": zstd_frames,
    "zstd in two frames": lambda data: zstd_frames(data[:7], data[7:]),
}


@pytest.mark.parametrize("packing", PACKINGS)
def test_lines_are_the_same_however_the_file_is_packed_and_whatever_its_name(tmp_path: Path, packing: str) -> None:
    path = tmp_path / "any.name"
    path.write_bytes(PACKINGS[packing](b'{"a":1}\r\n\n  {"b":2}  \n{"c":3}'))
    lines = [line for line, _ in read_lines(one(path))]
    assert [(line.number, line.row, line.data) for line in lines] == [
        (1, 0, b'{"a":1}'),
        (3, 1, b'{"b":2}'),
        (4, 2, b'{"c":3}'),
    ]


@pytest.mark.parametrize("packing", PACKINGS)
def test_reading_goes_on_from_any_place(tmp_path: Path, packing: str) -> None:
    path = tmp_path / "in"
    path.write_bytes(PACKINGS[packing](b"".join(b'{"row": %d}\n\n' % row for row in range(50))))
    everything = list(read_lines(one(path)))
    for position, (_, place) in enumerate(everything):
        again = list(read_lines(one(path), place))
        assert [line for line, _ in again] == [line for line, _ in everything[position + 1 :]]


def test_a_directory_is_read_in_natural_order_and_rows_are_counted_through(tmp_path: Path) -> None:
    for name in ("10.jsonl", "2.jsonl", "sub/1.ndjson.gz", "notes.txt", ".hidden.jsonl", "out.rescore/rows.jsonl"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        data = f'{{"from":"{name}"}}\n'.encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    inputs = find_inputs(tmp_path)
    assert inputs.names == ("2.jsonl", "10.jsonl", "sub/1.ndjson.gz")
    assert [(line.file, line.row) for line, _ in read_lines(inputs)] == [(0, 0), (1, 1), (2, 2)]


def test_an_empty_directory_and_a_missing_file_are_named(tmp_path: Path) -> None:
    with pytest.raises(RescoreError, match="holds no"):
        find_inputs(tmp_path)
    with pytest.raises(RescoreError, match="there is no file"):
        find_inputs(tmp_path / "missing")


@pytest.mark.parametrize("packing", ["gzip", "zstd"])
def test_a_packed_file_that_breaks_off_is_a_fault_and_the_next_file_is_read(tmp_path: Path, packing: str) -> None:
    data = b"".join(b'{"row": %d, "noise": "%d"}\n' % (row, row * 7919) for row in range(20_000))
    (tmp_path / "1.jsonl").write_bytes(PACKINGS[packing](data)[:-2000])
    (tmp_path / "2.jsonl").write_bytes(b'{"row": "last"}\n')
    lines = [line for line, _ in read_lines(find_inputs(tmp_path))]
    faults = [line for line in lines if line.fault is not None]
    assert len(faults) == 1
    assert faults[0].fault is not None
    assert "is truncated or damaged after line" in faults[0].fault
    assert lines[-1].data == b'{"row": "last"}'
    assert [line.row for line in lines] == list(range(len(lines)))


def test_a_line_over_the_limit_is_passed_over_without_being_held(tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_bytes(b'{"a":1}\n' + b"x" * 5000 + b'\n{"b":2}\n')
    lines = [line for line, _ in read_lines(one(path), limit=100)]
    assert [line.number for line in lines] == [1, 2, 3]
    assert lines[1].fault == "the line has 5001 bytes; the limit is 100"
    assert len(lines[1].data) <= 1000
    assert lines[2].data == b'{"b":2}'


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_bytes(b'\xef\xbb\xbf{"a":1}\n')
    assert [line.data for line, _ in read_lines(one(path))] == [b'{"a":1}']


@given(st.lists(st.binary(max_size=20).map(lambda raw: raw.replace(b"\n", b"").strip(b" \t\r")), max_size=20))
def test_every_line_that_is_not_blank_is_read_once(tmp_path_factory: pytest.TempPathFactory, rows: list[bytes]) -> None:
    path = tmp_path_factory.mktemp("read") / "in"
    data = b"\n".join(rows)
    # What begins like a packed file is taken for one.
    if data[:2] == b"\x1f\x8b" or data[:4] == b"\x28\xb5\x2f\xfd" or data[:3] == b"\xef\xbb\xbf":
        return
    path.write_bytes(data)
    assert [line.data for line, _ in read_lines(one(path))] == [row for row in rows if row]
