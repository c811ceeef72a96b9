"""Parquet in and out: the same rows, columns, faults and resuming as with lines; types survive."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from rewarden.errors import Unavailable
from rewarden_server.studies.rescore.options import RescoreError
from rewarden_server.studies.rescore.parquet import partition_of
from rewarden_server.studies.rescore.read import Inputs, find_inputs, read_lines
from rewarden_server.studies.rescore.run import rescore
from tests.rescore.conftest import SIBLINGS, Desk, read_rows, write_rows
from tests.rescore.toy import ToyClient

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def verl(count: int) -> Any:
    """Rows as verl's preprocessing leaves them, with what a policy answered."""
    return pa.Table.from_pylist(
        [
            {
                "data_source": "openai/gsm8k",
                "prompt": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": f"{n}+1?"}],
                "ability": "math",
                "reward_model": {"style": "rule", "ground_truth": str(n + 1)},
                "extra_info": {"index": n, "split": "train", "tools": None if n % 2 else "none"},
                "response": f"{'yes' if n % 3 else 'no'} {n}",
                "at": dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc),
                "price": Decimal("1.50"),
                "image": b"\xff\xd8",
            }
            for n in range(count)
        ]
    )


class Files(Desk):
    """A desk for Parquet."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.input = folder / "in.parquet"

    def put(self, table: Any, group: int = 100) -> None:
        pq.write_table(table, self.input, row_group_size=group)

    def to(self, name: str) -> Files:
        self.output = self.folder / name
        self.work = self.folder / f"{name}.rescore"
        return self


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


async def test_a_file_of_verl_is_read_without_a_word_and_comes_out_as_lines(files: Files) -> None:
    files.put(verl(250))
    summary = await files.rescore()
    assert summary.total.scored == 250
    rows = files.rows()
    assert [row["response"] for row in rows] == [f"{'yes' if n % 3 else 'no'} {n}" for n in range(250)]
    assert rows[1]["prompt"][1] == {"role": "user", "content": "1+1?"}
    assert rows[1]["verdict"]["evidence"] == {"reference": "2"}
    assert rows[0]["extra_info"] == {"index": 0, "split": "train", "tools": "none"}
    assert rows[1]["extra_info"] == {"index": 1, "split": "train"}
    assert (rows[0]["at"], rows[0]["price"]) == ("2024-01-01T00:00:00Z", "1.50")
    assert rows[0]["image"] == {"base64": "/9g="}
    assert list(summary.tally.sources) == ["openai/gsm8k"]


async def test_parquet_comes_out_with_every_column_as_it_was_and_ours_behind(files: Files) -> None:
    table = verl(250).append_column("kind", pa.array(["a", "b"] * 125).dictionary_encode())
    files.put(table)
    await files.to("out.parquet").rescore()
    made = pq.read_table(files.output)
    assert made.select(table.column_names).equals(table)
    assert made.column_names == [*table.column_names, "score", "verdict"]
    assert made.column("score").to_pylist() == [float(n % 3 > 0) for n in range(250)]
    verdict = made.column("verdict").to_pylist()[3]
    assert (verdict["status"], verdict["passed"], verdict["reason"]) == ("scored", False, "wrong")
    assert verdict["evidence"] == '{"reference":"4"}'
    assert verdict["verifier"] == {"name": "yes", "version": "1", "fingerprint": "print-of-yes"}
    assert made.schema.field("verdict").type.field("evidence").metadata == {b"rewarden": b"json"}


async def test_scores_that_stand_in_the_column_of_ours_keep_it(files: Files) -> None:
    table = verl(6).append_column("score", pa.array([0.0] * 6))
    files.put(table)
    summary = await files.to("out.parquet").rescore(baseline="score")
    made = pq.read_table(files.output)
    assert made.select(table.column_names).equals(table)
    assert made.column_names == [*table.column_names, "rewarden_score", "verdict"]
    assert summary.to_json()["baseline"]["only_ours"] == 4


async def test_an_output_is_an_input_again_and_only_what_is_asked_for_is_judged_anew(files: Files) -> None:
    rows = [{"response": f"{word} {n}", "answer": n} for n in range(20) for word in ("yes", "broken")]
    files.put(pa.Table.from_pylist(rows))
    await files.to("first.parquet").rescore()
    files.input = files.output
    for name in ("second.parquet", "second.jsonl"):
        client = ToyClient()
        summary = await files.to(name).rescore(client, only=frozenset(("error",)))
        assert len(client.seen) == 20
        assert all("broken" in text for text in client.seen)
        assert summary.total.copied == 20
    again = pq.read_table(files.folder / "second.parquet")
    assert again.equals(pq.read_table(files.input))
    assert files.rows()[0]["verdict"]["evidence"] == {"reference": 0}


async def test_lists_of_responses_get_lists(files: Files) -> None:
    files.put(pa.table({"responses": [["yes", "no"], ["yes"], []], "uid": [1, 2, 3]}))
    summary = await files.to("out.parquet").rescore()
    assert summary.total.responses == 3
    made = pq.read_table(files.output)
    assert made.column("scores").to_pylist() == [[1.0, 0.0], [1.0], []]
    assert [len(each) for each in made.column("verdicts").to_pylist()] == [2, 1, 0]
    assert made.column_names == ["responses", "uid", "scores", "verdicts"]


@pytest.mark.parametrize(("unscored", "scores"), [(-1.0, [1.0, -1.0]), ("skip", [1.0]), (None, [1.0, None])])
async def test_what_is_unscored_is_as_in_lines(files: Files, unscored: Any, scores: list[float | None]) -> None:
    files.put(pa.table({"response": ["yes", "unclear"]}))
    await files.to("out.parquet").rescore(unscored=unscored)
    made = pq.read_table(files.output)
    assert made.column("score").to_pylist() == scores
    assert made.column("response").to_pylist() == ["yes", "unclear"][: len(scores)]


@pytest.mark.parametrize("name", ["out.jsonl", "out.parquet"])
@pytest.mark.parametrize("use", ["yes", "siblings"])
async def test_a_run_that_was_broken_off_goes_on_and_makes_the_same_bytes(files: Files, name: str, use: str) -> None:
    table = verl(500).append_column("uid", pa.array([str(n % 125) for n in range(500)]))
    files.put(table, group=70)
    options: dict[str, Any] = {} if use == "yes" else {"routing": SIBLINGS, "sort": True}
    await files.to(name).rescore(**options)
    whole = files.output.read_bytes()
    files.output.unlink()
    seen: list[str] = []
    for seed in range(3):
        client = ToyClient(seed=seed, break_at=120)
        with pytest.raises(Unavailable):
            await rescore(files.options(resume=seed > 0, force=seed == 0, **options), client)  # type: ignore[arg-type]
        seen += client.seen
    last = ToyClient()
    await files.rescore(last, resume=True, **options)
    assert files.output.read_bytes() == whole
    if use == "yes":
        assert sorted(seen + last.seen) == sorted(table.column("response").to_pylist())


def test_reading_goes_on_from_any_row(files: Files) -> None:
    files.put(verl(300), group=130)
    inputs = Inputs(files.input, (files.input,))
    everything = list(read_lines(inputs))
    assert [(line.number, line.row) for line, _ in everything] == [(n + 1, n) for n in range(300)]
    for position in range(0, 300, 7):
        again = list(read_lines(inputs, everything[position][1]))
        assert [line for line, _ in again] == [line for line, _ in everything[position + 1 :]]


async def test_a_bad_row_is_set_aside_with_its_place_and_costs_no_other(files: Files) -> None:
    good, bad = b"yes", b"yes \xff"
    raw = pa.array([good, bad, good])
    table = pa.table({"response": pa.Array.from_buffers(pa.string(), 3, raw.buffers()), "n": [1, 2, 3]})
    files.put(table)
    summary = await files.rescore()
    assert (summary.total.scored, summary.tally.rejected) == (2, 1)
    (rejected,) = files.rejected()
    assert (rejected["file"], rejected["line"]) == ("in.parquet", 2)
    assert rejected["error"] == "column 'response' holds a string that is not UTF-8"
    await files.to("out.parquet").rescore()
    assert pq.read_table(files.output).column("n").to_pylist() == [1, 3]


async def test_a_row_over_the_limit_is_set_aside(files: Files) -> None:
    files.put(pa.table({"response": ["yes", "yes" * 500_000, "no"]}))
    summary = await files.rescore(line_mb=1)
    assert (summary.total.scored, summary.tally.rejected) == (2, 1)
    (rejected,) = files.rejected()
    assert rejected["error"].startswith("the row has 15000")
    assert len(rejected["text"]) == 1000


async def test_a_damaged_row_group_costs_no_other_group_and_no_other_file(files: Files) -> None:
    folder = files.folder / "in"
    folder.mkdir()
    files.input = folder / "1.parquet"
    files.put(verl(300))
    chunk = pq.ParquetFile(files.input).metadata.row_group(1).column(0)
    data = bytearray(files.input.read_bytes())
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    data[start : start + 20] = b"\xee" * 20
    files.input.write_bytes(data)
    (folder / "2.parquet").write_bytes(b"no Parquet at all")
    (folder / "3.parquet").write_bytes(data[: len(data) // 2])
    write_rows(folder / "4.jsonl", [{"response": "yes last"}])
    files.input = folder
    summary = await files.rescore()
    assert summary.total.scored == 201
    assert [(one["file"], one["line"]) for one in files.rejected()] == [
        ("1.parquet", 101),
        ("2.parquet", 1),
        ("3.parquet", 1),
    ]
    assert "rows 101 to 200 cannot be read" in files.rejected()[0]["error"]


async def test_a_directory_is_mirrored_and_its_folders_name_columns(files: Files) -> None:
    root = files.folder / "in"
    for name, words in {"lang=en/10": ["yes a"], "lang=en/2": ["no b"], "lang=de%20at/1": ["yes c"]}.items():
        path = root / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"response": words}), path)
    (root / "lang=en" / "_SUCCESS").touch()
    files.input = root
    await files.to("out").rescore(columns={"data_source": "lang"})
    names = find_inputs(root).names
    assert names == ("lang=de%20at/1.parquet", "lang=en/2.parquet", "lang=en/10.parquet")
    for name in names:  # `ParquetFile` reads the file alone: the folders' columns are not in it
        assert pq.ParquetFile(files.output / name).schema_arrow.names == ["response", "score", "verdict"]
    summary = await files.to("one.parquet").rescore(columns={"data_source": "lang"})
    made = pq.read_table(files.output)
    assert made.column("lang").to_pylist() == ["de at", "en", "en"]
    assert made.column("response").to_pylist() == ["yes c", "no b", "yes a"]
    assert list(summary.tally.sources) == ["de at", "en"]


def test_folders_name_columns() -> None:
    assert partition_of("a=1/b=__HIVE_DEFAULT_PARTITION__/c/=x/part.parquet") == {"a": "1", "b": None}


async def test_several_inputs_of_several_kinds_make_one_output(files: Files) -> None:
    files.put(pa.table({"response": ["yes 1"]}))
    lines = write_rows(files.folder / "more" / "x.jsonl", [{"response": "yes 2"}])
    await files.to("out.jsonl").rescore(input=(files.input, lines.parent))
    assert [row["response"] for row in files.rows()] == ["yes 1", "yes 2"]
    await files.to("out").rescore(input=(files.input, lines.parent))
    assert read_rows(files.output / "more" / "x.jsonl")[0]["score"] == 1.0
    assert pq.read_table(files.output / "in.parquet").column("score").to_pylist() == [1.0]


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ({"response": [1]}, "are not those of"),
        ("jsonl", "a Parquet output needs Parquet inputs"),
    ],
)
async def test_what_one_parquet_file_cannot_hold_is_refused_before_any_work(
    files: Files, second: Any, message: str
) -> None:
    files.put(pa.table({"response": ["yes"]}))
    other = files.folder / "other"
    if second == "jsonl":
        write_rows(other, [{"response": "yes"}])
    else:
        pq.write_table(pa.table(second), other)
    files.to("out.parquet")
    with pytest.raises(RescoreError, match=message):
        await files.rescore(input=(files.input, other))
    assert not files.work.exists()


async def test_an_output_that_would_replace_an_input_is_refused(files: Files) -> None:
    files.put(pa.table({"response": ["yes"]}))
    other = write_rows(files.folder / "x.jsonl", [{"response": "yes"}])
    with pytest.raises(RescoreError, match="would replace the input"):
        await files.rescore(input=(files.input, other), output=files.folder)


async def test_a_column_of_our_name_is_replaced_only_when_asked_for(files: Files) -> None:
    files.put(pa.table({"score": ["mine"], "response": ["yes"]}))
    files.to("out.parquet")
    with pytest.raises(RescoreError, match="already has a column 'score'"):
        await files.rescore()
    await files.rescore(overwrite=True)
    made = pq.read_table(files.output)
    assert made.column_names == ["response", "score", "verdict"]
    assert made.column("score").to_pylist() == [1.0]


async def test_files_without_rows_make_files_without_rows(files: Files) -> None:
    files.put(pa.table({"response": pa.array([], pa.string())}))
    await files.to("out.parquet").rescore()
    assert pq.read_table(files.output).column_names == ["response", "score", "verdict"]


@pytest.mark.slow
def test_ten_times_the_rows_of_one_row_group_take_about_the_same_memory(tmp_path: Path) -> None:
    def peak(count: int) -> int:
        path = tmp_path / f"{count}.parquet"
        texts = [f"{n * 7919} " * 100 for n in range(count)]
        pq.write_table(pa.table({"response": texts}), path, row_group_size=count)
        pool = pa.proxy_memory_pool(before)
        pa.set_memory_pool(pool)
        try:
            assert sum(1 for _ in read_lines(Inputs(path, (path,)))) == count
        finally:
            pa.set_memory_pool(before)
        most: int = pool.max_memory()
        return most

    before = pa.default_memory_pool()
    assert peak(100_000) < 2 * peak(10_000)


def test_values_that_json_has_not_got_are_null(files: Files) -> None:
    files.put(pa.table({"response": ["yes"], "loss": [float("nan")], "most": [float("inf")]}))
    ((line, _),) = read_lines(Inputs(files.input, (files.input,)))
    assert json.loads(line.data) == {"response": "yes", "loss": None, "most": None}
