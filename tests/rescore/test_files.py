"""Files that hold rows and not lines: lists in JSON, CSV, Arrow, logs; in whole, from a place on, and damaged."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import pytest

from rewarden.errors import Unavailable
from rewarden_server.studies.rescore import json_list
from rewarden_server.studies.rescore.options import RescoreError
from rewarden_server.studies.rescore.read import Line, find_inputs, read_lines
from tests.rescore.conftest import Desk, read_rows
from tests.rescore.toy import ToyClient

ITEMS = [{"response": "yes " + 'ä"\\]},[{' * n, "n": n} for n in range(40)]


def lines(path: Path, limit: int = 10_000) -> list[Line]:
    return [line for line, _ in read_lines(find_inputs(path), limit=limit)]


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("piece", [1, 7, 1024])
def test_items_of_a_list_are_rows_wherever_a_piece_of_the_file_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, indent: int | None, piece: int
) -> None:
    monkeypatch.setattr(json_list, "_PIECE", piece)
    path = tmp_path / "rows.json"
    path.write_text("\ufeff  " + json.dumps(ITEMS, indent=indent, ensure_ascii=False) + "\n", encoding="utf-8")
    found = lines(path)
    assert [json.loads(line.data) for line in found] == ITEMS
    assert not any(b"\n" in line.data for line in found)
    assert [line.number for line in found] == list(range(1, 41))


def test_numbers_in_a_list_keep_their_digits(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text('[{"a": 1.50, "b": 12345678901234567890},\n {"a":\n  1e2}]')
    assert [line.data for line in lines(path)] == [b'{"a": 1.50, "b": 12345678901234567890}', b'{"a": 1e2}']


@pytest.mark.parametrize(
    ("text", "good", "fault"),
    [
        ('[{"a": 1}, {"a": 2}', 2, "the file ends within the list"),
        ('[{"a": 1}, {"a": ', 1, "cannot be read after item 1"),
        ('[{"a": 1} {"a": 2}]', 1, "not followed by ',' or ']'"),
        ('[{"a": 1}, nonsense]', 1, "cannot be read after item 1"),
        ("[]", 0, None),
    ],
)
def test_what_follows_a_mistake_in_a_list_is_one_fault(tmp_path: Path, text: str, good: int, fault: str | None) -> None:
    path = tmp_path / "rows.json"
    path.write_text(text)
    found = lines(path)
    assert [line.fault for line in found[:good]] == [None] * good
    assert len(found) == good + (fault is not None)
    if fault is not None:
        assert fault in str(found[-1].fault)


def test_a_list_is_no_line_of_a_file_that_is_named_as_lines(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('[1]\n{"a": 1}\n')
    assert [line.data for line in lines(path)] == [b"[1]", b'{"a": 1}']


def test_records_with_too_few_or_too_many_values_are_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text('\ufeffa,b\n1,2\n3\n\n4,5,6\n"7\n8",""\n', encoding="utf-8")
    found = lines(path)
    assert [json.loads(line.data) for line in found if line.fault is None] == [
        {"a": "1", "b": "2"},
        {"a": "7\n8", "b": ""},
    ]
    assert [line.fault for line in found[1:3]] == [f"the record has {n} values for 2 columns" for n in (1, 3)]


@pytest.mark.parametrize("name", ["rows.json", "rows.csv", "rows.json.gz", "rows.arrow"])
def test_reading_goes_on_from_every_place(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name.endswith("arrow"):
        pa = pytest.importorskip("pyarrow")
        table = pa.Table.from_pylist(ITEMS)
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=7)
    else:
        text = json.dumps(ITEMS) if "json" in name else "n,m\n" + "".join(f"{n},x\n" for n in range(40))
        path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    inputs = find_inputs(path)
    whole = list(read_lines(inputs))
    assert len(whole) == 40
    for at, (_, place) in enumerate(whole):
        assert [line for line, _ in read_lines(inputs, place)] == [line for line, _ in whole[at + 1 :]]


async def test_a_run_that_was_broken_off_in_a_list_ends_with_the_same_bytes(desk: Desk) -> None:
    desk.input = desk.folder / "in.json"
    desk.input.write_text(json.dumps(ITEMS, indent=1))
    await desk.rescore()
    expected = desk.output.read_bytes()
    with pytest.raises(Unavailable):
        await desk.rescore(ToyClient(break_at=11), force=True)
    await desk.rescore(resume=True)
    assert desk.output.read_bytes() == expected


async def test_a_sample_that_broke_off_before_the_model_spoke_has_no_response(desk: Desk) -> None:
    good = {"id": 1, "epoch": 1, "input": "?", "target": "x", "output": {"completion": "yes"}, "scores": {}}
    bad = {"id": 2, "epoch": 1, "input": "?", "target": "x", "messages": [], "error": {"message": "timed out"}}
    log = {"version": 2, "eval": {"task": "t"}, "samples": [good, bad]}
    (desk.folder / "log.json").write_text(json.dumps(log))
    await desk.rescore(input=desk.folder / "log.json")
    assert [row["score"] for row in desk.rows()] == [1.0, None]
    assert desk.rows()[1]["verdict"]["status"] == "error"
    assert desk.rows()[1]["inspect"]["explanation"] == "timed out"


async def test_in_a_folder_lines_and_parquet_come_before_other_kinds(desk: Desk) -> None:
    folder = desk.folder / "dump"
    folder.mkdir()
    (folder / "rows.csv").write_text("response\nyes\n")
    (folder / "more.json").write_text('[{"response": "no"}]')
    (folder / "settings.json").write_text('{"lr": 1}')
    assert [path.name for path in find_inputs(folder).files] == ["more.json", "rows.csv"]
    await desk.rescore(input=folder, output=desk.folder / "out")
    assert [row["score"] for row in read_rows(desk.folder / "out" / "rows.csv.jsonl")] == [1.0]
    assert [row["score"] for row in read_rows(desk.folder / "out" / "more.json.jsonl")] == [0.0]
    (folder / "1.jsonl").write_text('{"response": "yes"}\n')
    assert [path.name for path in find_inputs(folder).files] == ["1.jsonl"]


async def test_other_kinds_are_not_written(desk: Desk) -> None:
    desk.write([{"response": "yes"}])
    with pytest.raises(RescoreError, match="not written; name a"):
        await desk.rescore(output=desk.folder / "out.csv")


def test_a_data_set_on_the_hub_needs_its_name_and_the_hubs_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(RescoreError, match="pip install huggingface_hub"):
        find_inputs(Path("hf:openai/gsm8k"))
    with pytest.raises(RescoreError, match="write hf:OWNER/NAME"):
        find_inputs(Path("hf:gsm8k"))
