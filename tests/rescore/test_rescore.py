"""A rescore as a whole, with a target that answers in any order."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from rewarden.errors import Unavailable
from rewarden.routing import Routing
from rewarden.types import Use
from rewarden_server.studies.rescore import run as runs
from rewarden_server.studies.rescore.options import RescoreError
from rewarden_server.studies.rescore.progress import Watcher
from rewarden_server.studies.rescore.read import find_inputs
from rewarden_server.studies.rescore.run import peek, rescore
from tests.rescore.conftest import SIBLINGS, Desk, read_rows, write_rows
from tests.rescore.toy import ToyClient

Rollouts = Callable[..., list[dict[str, Any]]]


class Notes(Watcher):
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.shares: list[float] = []

    def plan(self, lines: Any) -> None:
        self.lines += lines

    def note(self, text: str) -> None:
        self.lines.append(text)

    def advance(self, rows: int, share: float) -> None:
        self.shares.append(share)


async def test_rows_come_out_in_order_with_their_columns_a_score_and_a_verdict(desk: Desk, rollouts: Rollouts) -> None:
    rows = rollouts(100)
    desk.write(rows)
    client = ToyClient()
    await desk.rescore(client)
    assert client.seen != [row["response"] for row in rows]  # the toy does answer in another order
    made = desk.rows()
    assert [{name: row[name] for name in rows[0]} for row in made] == rows
    for row in made:
        assert row["score"] == float("yes" in row["response"])
        assert row["verdict"]["evidence"] == {"reference": row["reference"]}
        assert row["verdict"]["verifier"]["fingerprint"] == "print-of-yes"
    assert not desk.work.exists()


async def test_the_plan_is_told_before_the_work_and_the_progress_ends_at_the_whole(
    desk: Desk, rollouts: Rollouts
) -> None:
    desk.write(rollouts(10))
    notes = Notes()
    await desk.rescore(watcher=notes)
    assert any("response" in line and "guessed" in line for line in notes.lines)
    assert notes.shares == sorted(notes.shares)
    assert notes.shares[-1] == 1.0


async def test_routes_choose_the_verifier_by_data_source(desk: Desk) -> None:
    desk.write(
        [
            {"response": "yes", "data_source": "demo/a", "uid": 1},
            {"response": "yes", "data_source": "demo/b", "uid": 2},
            {"response": "yes", "data_source": "other", "uid": 3},
        ]
    )
    routing = Routing.by_source([("demo/a", Use(name="yes")), ("demo/*", Use(name="siblings"))])
    await desk.rescore(routing=routing)
    one, two, three = desk.rows()
    assert one["verdict"]["verifier"]["name"] == "yes"
    assert two["verdict"]["verifier"]["name"] == "siblings"
    assert (three["verdict"]["status"], three["verdict"]["fault"]) == ("error", "caller")
    assert "no --use matches the data source 'other'; add --use 'other=NAME'" in three["verdict"]["feedback"]


async def test_several_responses_a_row_stay_one_row_and_make_a_group(desk: Desk) -> None:
    desk.write([{"responses": ["yes", "no", "yes"], "n": n} for n in range(5)])
    summary = await desk.rescore()
    for row in desk.rows():
        assert row["scores"] == [1.0, 0.0, 1.0]
        assert [verdict["passed"] for verdict in row["verdicts"]] == [True, False, True]
    assert summary.total.rows == 5
    assert summary.total.responses == 15
    assert {found.k: (found.mean, found.groups) for found in summary.pass_at_all} == {
        1: (pytest.approx(2 / 3), 5),
        2: (1.0, 5),
    }
    await desk.rescore(routing=SIBLINGS, force=True)
    assert [row["scores"] for row in desk.rows()] == [[0.03] * 3] * 5


async def test_a_bad_row_costs_only_itself(desk: Desk) -> None:
    desk.write(
        [
            {"response": "yes 1"},
            "{not json",
            {"response": None},
            {"response": 17},
            {"response": "yes 2", "finish_reason": "exploded"},
            '["a list"]',
            {"response": "yes 3", "finish_reason": "length"},
        ]
    )
    summary = await desk.rescore(columns={"finish_reason": "finish_reason"})
    assert [row["verdict"]["status"] for row in desk.rows()] == ["scored", "error", "error", "error", "scored"]
    assert {row["verdict"]["fault"] for row in desk.rows()[1:4]} == {"caller"}
    assert summary.total.truncated == 1
    first, second = desk.rejected()
    assert (first["line"], first["text"]) == (2, "{not json")
    assert "column 2" in first["error"]
    assert (second["line"], second["error"]) == (6, "not a JSON object, but a list")


async def test_an_input_of_nothing_but_faults_is_refused(desk: Desk) -> None:
    desk.write(["not json", "nor this"])
    with pytest.raises(RescoreError, match=r"has no readable rows.*in\.jsonl:1"):
        await desk.rescore()


async def test_an_empty_input_makes_an_empty_output(desk: Desk) -> None:
    desk.write([])
    summary = await desk.rescore()
    assert desk.rows() == []
    assert not summary.all_failed


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
async def test_an_output_is_packed_as_its_name_says(desk: Desk, rollouts: Rollouts, suffix: str) -> None:
    desk.write(rollouts(10))
    await desk.rescore()
    packed = desk.output.with_name("out.jsonl" + suffix)
    await desk.rescore(output=packed)
    unpack = gzip.decompress if suffix == ".gz" else lambda data: zstandard.ZstdDecompressor().decompress(data)
    assert unpack(packed.read_bytes()) == desk.output.read_bytes()


async def test_a_directory_is_mirrored_or_joined(desk: Desk, rollouts: Rollouts) -> None:
    source = desk.folder / "runs"
    for step in (1, 2, 10):
        write_rows(source / "dump" / f"{step}.jsonl", rollouts(step))
    write_rows(source / "empty.jsonl", [])
    await desk.rescore(input=source, output=desk.folder / "mirrored")
    made = desk.folder / "mirrored"
    assert {path.relative_to(made).as_posix() for path in made.rglob("*.jsonl")} == {
        "dump/1.jsonl",
        "dump/2.jsonl",
        "dump/10.jsonl",
        "empty.jsonl",
    }
    await desk.rescore(input=source)
    joined = [row for step in (1, 2, 10) for row in read_rows(made / "dump" / f"{step}.jsonl")]
    assert desk.rows() == joined
    assert len(joined) == 52


async def test_a_users_score_column_is_never_replaced_unasked(desk: Desk) -> None:
    desk.write([{"response": "yes", "score": 0.25}])
    with pytest.raises(RescoreError, match=r"column 'score'.*--score-column.*--overwrite"):
        await desk.rescore()
    assert not desk.work.exists()
    await desk.rescore(score_column="reward")
    assert desk.rows()[0]["score"] == 0.25
    assert desk.rows()[0]["reward"] == 1.0
    await desk.rescore(overwrite=True, force=True)
    assert desk.rows()[0]["score"] == 1.0


async def test_a_users_column_that_shows_up_late_sets_the_row_aside(desk: Desk) -> None:
    desk.write([*({"response": "yes"} for _ in range(1000)), {"response": "yes", "score": 0.25}])
    summary = await desk.rescore()
    assert summary.tally.rejected == 1
    assert "--overwrite" in desk.rejected()[0]["error"]


async def test_the_output_of_a_rescore_can_be_rescored(desk: Desk, rollouts: Rollouts) -> None:
    desk.write(rollouts(10))
    await desk.rescore()
    again = desk.folder / "again.jsonl"
    await desk.rescore(input=desk.output, output=again)
    assert read_rows(again) == desk.rows()


async def test_only_some_verdicts_are_made_again_and_the_rest_is_copied(desk: Desk) -> None:
    desk.write([{"response": text} for text in ("yes", "broken", "unclear", "no")] + [{"response": ["yes", "broken"]}])
    await desk.rescore()
    first = desk.output.read_bytes().splitlines()
    mended = [line.replace(b'"broken"', b'"yes then"') for line in first]
    desk.input.write_bytes(b"\n".join(mended))
    client = ToyClient()
    summary = await desk.rescore(client, only=frozenset({"error"}), force=True)
    assert sorted(client.seen) == ["yes then", "yes then"]
    made = desk.output.read_bytes().splitlines()
    assert [made[0], made[2], made[3]] == [mended[0], mended[2], mended[3]]
    assert desk.rows()[1]["score"] == 1.0
    assert desk.rows()[4]["scores"] == [1.0, 1.0]
    assert summary.total.copied == 3
    assert summary.total.scored == 5


async def test_only_with_a_verifier_of_groups_judges_the_whole_group_again(desk: Desk) -> None:
    desk.write([{"response": f"{g} {i}", "group": g} for g in "ab" for i in range(3)])
    await desk.rescore(routing=SIBLINGS)
    lines = desk.output.read_text().splitlines()
    broken = json.loads(lines[1])
    broken["verdict"] = {"status": "error", "score": None}
    lines[1] = json.dumps(broken)
    desk.input.write_text("\n".join(lines))
    client = ToyClient()
    await desk.rescore(client, routing=SIBLINGS, only=frozenset({"error"}), force=True)
    assert sorted(client.seen) == ["a 0", "a 1", "a 2"]
    assert [row["score"] for row in desk.rows()] == [0.03] * 6


async def test_only_without_earlier_verdicts_is_refused(desk: Desk, rollouts: Rollouts) -> None:
    desk.write(rollouts(1))
    with pytest.raises(RescoreError, match="--only needs the output of an earlier rescore"):
        await desk.rescore(only=frozenset({"error"}))
    summary = await desk.rescore(only=frozenset({"missing"}))
    assert summary.total.scored == 4


async def test_an_output_that_is_there_is_not_replaced_unasked(desk: Desk, rollouts: Rollouts) -> None:
    desk.write(rollouts(1))
    desk.output.write_text("mine")
    with pytest.raises(RescoreError, match="--force"):
        await desk.rescore()
    assert desk.output.read_text() == "mine"
    await desk.rescore(force=True)
    assert len(desk.rows()) == 4


async def test_the_output_must_not_be_or_lie_in_the_input(desk: Desk, rollouts: Rollouts) -> None:
    desk.write(rollouts(1))
    with pytest.raises(RescoreError, match="the output is the input"):
        await desk.rescore(output=desk.input)
    with pytest.raises(RescoreError, match="inside the input directory"):
        await desk.rescore(input=desk.folder, output=desk.folder / "out.jsonl")


async def test_a_misspelt_verifier_is_refused_before_any_work(desk: Desk, rollouts: Rollouts) -> None:
    desk.write(rollouts(1))
    with pytest.raises(RescoreError, match="--use yess: there is no verifier"):
        await desk.rescore(routing=Routing.by_source([("*", Use(name="yess"))]))
    assert not desk.work.exists()


# --- groups ----------------------------------------------------------------------------------------------------


async def test_verifiers_of_groups_get_each_group_whole(desk: Desk) -> None:
    sizes = {"a": 3, "b": 7, "c": 1}
    desk.write([{"response": "x", "group": name} for name, size in sizes.items() for _ in range(size)])
    await desk.rescore(routing=SIBLINGS)
    assert [row["score"] for row in desk.rows()] == [size / 100 for size in sizes.values() for _ in range(size)]


async def test_a_group_that_comes_again_is_refused_before_any_work_and_sort_is_named(desk: Desk) -> None:
    desk.write([{"response": "x", "group": name} for name in "aabba"])
    client = ToyClient()
    with pytest.raises(RescoreError, match=r"rows of group 'a' are not adjacent \(in\.jsonl:1, in\.jsonl:5\) .*--sort"):
        await desk.rescore(client, routing=SIBLINGS)
    assert client.seen == []
    assert not desk.work.exists()


async def test_sorting_brings_groups_together_and_the_output_keeps_the_inputs_order(desk: Desk) -> None:
    names = [f"g{n * 7919 % 50}" for n in range(300)]
    desk.write([{"response": f"x {n}", "group": name, "n": n} for n, name in enumerate(names)] + ["{broken"])
    summary = await desk.rescore(routing=SIBLINGS, sort=True)
    made = desk.rows()
    assert [row["n"] for row in made] == list(range(300))
    assert all(row["score"] == 0.06 for row in made)
    assert summary.tally.rejected == 1
    assert desk.rejected()[0]["line"] == 301


async def test_a_sorted_directory_is_mirrored_with_groups_across_files(desk: Desk) -> None:
    for file in range(3):
        write_rows(desk.folder / "in" / f"{file}.jsonl", [{"response": "x", "group": g, "f": file} for g in "abc"])
    await desk.rescore(input=desk.folder / "in", output=desk.folder / "out", routing=SIBLINGS, sort=True)
    for file in range(3):
        rows = read_rows(desk.folder / "out" / f"{file}.jsonl")
        assert [(row["group"], row["f"], row["score"]) for row in rows] == [(g, file, 0.03) for g in "abc"]


async def test_a_verifier_of_groups_without_a_group_column_is_refused(desk: Desk) -> None:
    desk.write([{"response": "x"}])
    with pytest.raises(RescoreError, match=r"judges groups.*--group"):
        await desk.rescore(routing=SIBLINGS)


async def test_a_group_without_end_is_refused_not_held(desk: Desk) -> None:
    desk.write([{"response": "x", "group": "same"} for _ in range(50)])
    with pytest.raises(RescoreError, match="more than 20 rows; check the column of --group"):
        await desk.rescore(routing=SIBLINGS, group_rows=20)


async def test_pass_at_k_does_not_need_groups_to_stand_together(desk: Desk, rollouts: Rollouts) -> None:
    rows = rollouts(30)
    desk.write(rows)
    together = await desk.rescore()
    desk.write(sorted(rows, key=lambda row: row["extra"]))
    apart = await desk.rescore(force=True)
    assert [f.k for f in together.pass_at_all] == [1, 2, 4]
    assert apart.pass_at_all == together.pass_at_all
    assert apart.pass_at_all[0].groups == 30


# --- going on --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sort", [False, True])
@pytest.mark.parametrize("routes", ["yes", "siblings"])
async def test_a_run_that_was_broken_off_anywhere_ends_the_same(
    desk: Desk, rollouts: Rollouts, sort: bool, routes: str
) -> None:
    rows: list[Any] = rollouts(30)
    if sort:
        rows.sort(key=lambda row: row["extra"])
    rows[40:40] = ["{broken"]
    desk.write(rows)
    chosen = {} if routes == "yes" else {"routing": SIBLINGS}
    if sort is False or routes == "siblings":
        whole = desk.folder / "whole.jsonl"
        await desk.rescore(output=whole, sort=sort, **chosen)
    else:
        whole = desk.folder / "whole.jsonl"
        await desk.rescore(output=whole, **chosen)
    for break_at in (0, 1, 17, 64, 119):
        with pytest.raises(Unavailable):
            await desk.rescore(ToyClient(seed=break_at, break_at=break_at), sort=sort, force=True, **chosen)
        assert not desk.output.exists() or break_at
        client = ToyClient(seed=1)
        await desk.rescore(client, sort=sort, resume=True, **chosen)
        assert desk.output.read_bytes() == whole.read_bytes()
        assert (desk.folder / "out.jsonl.rejected.jsonl").read_bytes() == (
            desk.folder / "whole.jsonl.rejected.jsonl"
        ).read_bytes()
        if routes == "yes":
            assert len(client.seen) == 120 - break_at  # nothing is judged twice


async def test_a_journal_torn_anywhere_ends_the_same(desk: Desk, rollouts: Rollouts) -> None:
    desk.write(rollouts(30))
    whole = desk.folder / "whole.jsonl"
    await desk.rescore(output=whole)
    with pytest.raises(Unavailable):
        await desk.rescore(ToyClient(break_at=60))
    journal = desk.work / "journal"
    torn = {path.name: path.read_bytes() for path in desk.work.iterdir()}
    header = torn["journal"].index(b"\n") + 1
    for cut in range(header, len(torn["journal"]), 611):
        desk.work.mkdir(exist_ok=True)
        for name, data in torn.items():
            (desk.work / name).write_bytes(data)
        os.truncate(journal, cut)
        desk.output.unlink(missing_ok=True)
        await desk.rescore(resume=True)
        assert desk.output.read_bytes() == whole.read_bytes()


async def test_a_kill_during_the_very_finish_is_finished_by_resume(
    desk: Desk, rollouts: Rollouts, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rewarden_server.studies.rescore.stage import Outputs

    desk.write(rollouts(10))

    def killed(self: Outputs) -> None:
        raise OSError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(Outputs, "publish", killed)
        with pytest.raises(OSError, match="killed"):
            await desk.rescore()
    client = ToyClient()
    summary = await desk.rescore(client, resume=True)
    assert client.seen == []
    assert len(desk.rows()) == summary.total.rows == 40
    assert summary.pass_at_all[-1].k == 4
    assert not desk.work.exists()


async def test_resume_of_a_finished_run_does_nothing_and_of_no_run_begins(desk: Desk, rollouts: Rollouts) -> None:
    desk.write(rollouts(2))
    await desk.rescore(resume=True)
    before = desk.output.read_bytes()
    client = ToyClient()
    assert await rescore(desk.options(resume=True), client) is None  # type: ignore[arg-type]
    assert client.seen == []
    assert desk.output.read_bytes() == before


async def test_an_unfinished_run_is_not_thrown_away_unasked(desk: Desk, rollouts: Rollouts) -> None:
    desk.write(rollouts(30))
    with pytest.raises(Unavailable):
        await desk.rescore(ToyClient(break_at=20))
    with pytest.raises(RescoreError, match=r"holds an unfinished run.*--resume"):
        await desk.rescore()


async def test_resume_with_other_options_or_another_input_says_what_differs(desk: Desk, rollouts: Rollouts) -> None:
    desk.write(rollouts(30))
    with pytest.raises(Unavailable):
        await desk.rescore(ToyClient(break_at=20))
    with pytest.raises(RescoreError, match=r"--unscored: null, now 0\.0"):
        await desk.rescore(resume=True, unscored=0.0)
    with pytest.raises(RescoreError, match='--column reference: "reference", now null'):
        await desk.rescore(resume=True, columns={"reference": "-"})
    with pytest.raises(RescoreError, match="--use"):
        await desk.rescore(resume=True, routing=SIBLINGS)
    status = desk.input.stat()
    os.utime(desk.input, ns=(status.st_atime_ns, status.st_mtime_ns + 10**9))
    with pytest.raises(RescoreError, match=r"input in\.jsonl: changed at"):
        await desk.rescore(resume=True)
    desk.write(rollouts(31))
    with pytest.raises(RescoreError, match=r"input in\.jsonl: \d+ bytes, now \d+ bytes"):
        await desk.rescore(resume=True)
    os.utime(desk.input, ns=(status.st_atime_ns, status.st_mtime_ns))


async def test_a_resumed_run_demands_the_fingerprints_of_its_first_sitting(desk: Desk, rollouts: Rollouts) -> None:
    desk.write(rollouts(30))
    with pytest.raises(Unavailable):
        await desk.rescore(ToyClient(break_at=90))
    client = ToyClient()
    await desk.rescore(client, resume=True)
    assert client.expected == {"yes": "print-of-yes"}


async def test_one_slow_row_stops_the_reading_not_the_memory(desk: Desk) -> None:
    desk.write([{"response": "yes" if n else "slow", "n": n} for n in range(2000)])
    client = ToyClient(hold="slow")
    written: list[int] = []

    class Pace(Watcher):
        def advance(self, rows: int, share: float) -> None:
            written.append(rows)

    await desk.rescore(client, watcher=Pace(), window_rows=100)
    assert written[0] <= 101  # what had to wait for the first row
    assert len(desk.rows()) == 2000


async def test_summary_beside_the_output(desk: Desk, rollouts: Rollouts) -> None:
    desk.write(rollouts(5))
    await desk.rescore()
    made = json.loads((desk.folder / "out.jsonl.summary.json").read_text())
    assert made["rows"] == 20
    assert made["run"]["options"]["--use"] == [[{}, "yes"]]


async def test_a_named_column_may_begin_late(tmp_path: Path) -> None:
    """Rows of several kinds, one kind after the other, are looked at until every named column was seen."""
    lines = [{"response": "yes", "reference": "yes"}] * 300 + [{"response": "yes", "reference": "yes", "extra": 1}]
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    rows = peek(find_inputs(path), {"metadata": "extra"}, 64)
    assert sum("extra" in row for row in rows) == 1


async def test_who_breaks_a_run_off_goes_on_once_its_files_are_at_rest(
    desk: Desk, rollouts: Rollouts, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.write(rollouts(3))
    begun, go_on = threading.Event(), threading.Event()
    publish = runs._Run._publish

    def slowly(run: Any, *given: Any) -> None:
        begun.set()
        go_on.wait()
        publish(run, *given)

    monkeypatch.setattr(runs._Run, "_publish", slowly)
    run = asyncio.create_task(desk.rescore())
    await asyncio.to_thread(begun.wait)
    run.cancel()
    await asyncio.wait({run}, timeout=0.05)
    assert not run.done()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert len(desk.rows()) == 12
