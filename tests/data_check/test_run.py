"""A check as a run: its plan, its files, going on where it was broken off, and what is refused."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rewarden.client import AsyncClient
from rewarden.errors import Unavailable
from rewarden.types import Verdict
from rewarden_server.cli.uses import read_uses
from rewarden_server.config import Config
from rewarden_server.studies.data_check.checked import Measured
from rewarden_server.studies.data_check.figures import Figures
from rewarden_server.studies.data_check.run import CheckOptions, check_data
from tests.data_check.command import ran, written

ROWS = [{"question": f"{n} + 1?", "answer": str(n + 1), "note": "k\u00e9pt"} for n in range(40)]
BROKEN = {"question": "?", "answer": ""}


class Leaving:
    """A target that is lost after so many verdicts."""

    target = "local"

    def __init__(self, client: AsyncClient, verdicts: int) -> None:
        self._client, self._left = client, verdicts

    async def stream(self, samples: Any, use: Any = None, **more: Any) -> AsyncIterator[Any]:
        async with aclosing(self._client.stream(samples, use, **more)) as items:
            async for item in items:
                yield item
                self._left -= isinstance(item, Verdict)
                if self._left <= 0:
                    raise Unavailable("the server is gone")


def options(source: Path, **more: Any) -> CheckOptions:
    return CheckOptions(
        paths=[source], output=source.with_name("good.jsonl"), routing=read_uses(["math"]), window=4, **more
    )


async def check(given: CheckOptions, leaves_after: int | None = None) -> Figures | None:
    async with AsyncClient("local", config=Config()) as client:
        target: Any = client if leaves_after is None else Leaving(client, leaves_after)
        return await check_data(given, target)


def test_a_run_that_was_broken_off_goes_on(tmp_path: Path) -> None:
    source = written(tmp_path, [*ROWS, BROKEN])
    whole = asyncio.run(check(options(source)))
    assert whole is not None
    good = (tmp_path / "good.jsonl").read_bytes()
    for path in tmp_path.glob("good.jsonl*"):
        path.unlink()

    with pytest.raises(Unavailable):
        asyncio.run(check(options(source), leaves_after=whole.verdicts // 2))
    assert not (tmp_path / "good.jsonl").exists()
    rest = asyncio.run(check(options(source, resume=True)))
    assert rest is not None
    assert [replace(row, measured=Measured()) for row in rest.rows] == [
        replace(row, measured=Measured()) for row in whole.rows
    ]
    assert rest.verdicts < whole.verdicts * 2 // 3
    assert (tmp_path / "good.jsonl").read_bytes() == good
    assert asyncio.run(check(options(source, resume=True))) is None


def test_only_good_rows_are_copied_byte_for_byte(tmp_path: Path) -> None:
    source = tmp_path / "rows.jsonl"
    lines = ['{"question":"a", "answer":"1" ,"x":1.50}', '{"answer": ""}', "not json", '{"answer": "2"}']
    source.write_text("\n".join(lines), encoding="utf-8")
    assert ran(source, "--use", "math", "-o", tmp_path / "good.jsonl", "-q") == 1
    assert (tmp_path / "good.jsonl").read_text(encoding="utf-8") == f"{lines[0]}\n{lines[3]}\n"
    told = [json.loads(line) for line in (tmp_path / "good.jsonl.check.jsonl").read_text().splitlines()]
    assert [row["good"] for row in told] == [True, False, False, True]
    assert told[2]["findings"][0]["name"] == "unreadable_row"


def test_parquet_keeps_its_schema(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    import pyarrow.parquet as pq

    table = pa.table(
        {"answer": ["1", "", "3"], "n": pa.array([1, 2, 3], pa.int16())},
    ).replace_schema_metadata({"huggingface": "{}"})
    pq.write_table(table, tmp_path / "rows.parquet")
    assert ran(tmp_path / "rows.parquet", "--use", "math", "-o", tmp_path / "good.parquet", "-q") == 1
    good = pq.read_table(tmp_path / "good.parquet")
    assert good.schema.equals(table.schema, check_metadata=True)
    assert good.to_pylist() == [{"answer": "1", "n": 1}, {"answer": "3", "n": 3}]


def test_the_plan_names_the_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"question": "a", "answer": "1", "canonical_solution": "So it is 1."}]
    assert ran(written(tmp_path, rows), "--use", "math") == 0
    plan = capsys.readouterr().err
    assert "reference       ← answer  (guessed)" in plan
    assert "solutions  canonical_solution  (guessed)" in plan


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--solutions", "none_such"], "--solutions none_such: no row has this column"),
        (["--column", "reference=-"], "no column contains the expected answer or the tests"),
        (["--resume"], "--resume needs -o"),
        (["--resume", "--force"], "give one of them"),
        (["--use", '{"name": "group_stats", "params": {"use": "math"}}'], "judges the members of a group"),
        (["--use", "mathh"], "did you mean"),
        (["--shards", "2"], "--shards needs --engine ray"),
    ],
)
def test_mistakes_are_refused_before_any_work(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    use = [] if "--use" in words else ["--use", "math"]
    assert ran(written(tmp_path, ROWS[:1]), *use, *words) == 2
    assert message in capsys.readouterr().err


def test_an_output_is_replaced_only_by_force(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [written(tmp_path, ROWS[:2]), "--use", "math", "-o", tmp_path / "good.jsonl", "-q"]
    assert ran(*words) == 0
    assert ran(*words) == 2
    assert "already exists; replace it with --force" in capsys.readouterr().err
    assert ran(*words, "--force") == 0
    assert ran(*words, "--resume") == 0
    assert "is already complete" in capsys.readouterr().err
