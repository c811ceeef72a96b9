"""Runs: what was rewarded, by step and data source, of each key's runs, live."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from rewarden_server.access.key_record import new_key
from rewarden_server.runs import database, reader, retention
from tests.server.conftest import Running, Start

RIGHT, WRONG, NONE = "It is (A).", "It is (B).", "I cannot say."


def sample(response: str = RIGHT, source: str = "mc", **fields: Any) -> dict[str, Any]:
    return {"response": response, "reference": "A", "data_source": source, **fields}


async def judged(server: Running, *samples: Any, step: int | None = None, **envelope: Any) -> None:
    """The samples, judged in one request of that step."""
    progress = {} if step is None else {"progress": {"step": step}}
    answer = await server.verify(*samples, **{"use": "choice", **progress, **envelope})
    answer.raise_for_status()


async def stored(server: Running) -> None:
    """Wait until nothing waits to be written."""
    store = server.serving.service.runs
    assert store is not None
    async with asyncio.timeout(30):
        while not store.idle:
            await store.changed(0.05)


async def runs(server: Running, **headers: str) -> list[dict[str, Any]]:
    await stored(server)
    answer = await server.http.get("/v1/runs", headers=headers)
    found: list[dict[str, Any]] = answer.raise_for_status().json()["runs"]
    return found


async def get(server: Running, path: str, **query: Any) -> Any:
    """A part of the only run."""
    (run,) = await runs(server)
    answer = await server.http.get(f"/v1/runs/{run['id']}/{path}", params=query)
    return answer.raise_for_status().json()


async def points(server: Running, **query: Any) -> list[dict[str, Any]]:
    """The points of the only run, as rows; data sources by name."""
    found = await get(server, "points", **query)
    columns = found["points"]
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return [{**row, "source": found["sources"][row["source"]]} for row in rows]


def only(rows: list[dict[str, Any]], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in rows]


async def test_a_run_is_what_its_samples_name(server: Running) -> None:
    await judged(server, sample(metadata={"run": "first"}), sample(metadata={"run": "second", "more": 1}), sample())
    await judged(server, sample(metadata={"run": "first"}), sample(metadata={"run": 7}), "no sample")
    found = {run["name"]: run["verdicts"] for run in await runs(server)}
    assert found == {"first": 2, "second": 1, "default": 3}


async def test_points_are_steps_of_data_sources(server: Running) -> None:
    for step in (0, 5):
        await judged(server, sample(), sample(WRONG), sample(NONE, "other", finish_reason="length"), step=step)
    await judged(server, sample(token_count=30), sample(token_count=10), step=5)
    rows = await points(server)
    assert only(rows, "at", "source", "verdicts", "passed", "failed", "mean", "std") == [
        (0, "mc", 2, 1, 1, 0.5, 0.5),
        (0, "other", 1, 0, 1, 0.0, 0.0),
        (5, "mc", 4, 3, 1, 0.75, pytest.approx(0.433013)),
        (5, "other", 1, 0, 1, 0.0, 0.0),
    ]
    assert only(rows, "no_answer", "truncated", "tokens", "chars") == [
        (0, 0, None, 10.0),
        (1, 1, None, 13.0),
        (0, 0, 20.0, 10.0),
        (1, 1, None, 13.0),
    ]
    (run,) = await runs(server)
    assert (run["axis"], run["last_step"], run["sources"], run["verifiers"]) == ("step", 5, ["mc", "other"], ["choice"])
    assert (run["verdicts"], run["scored"], run["unscored"], run["mean"]) == (8, 8, 0, 0.5)


async def test_what_is_not_scored_has_no_position(server: Running) -> None:
    await judged(server, sample(), {"response": "x", "reference": None}, sample(use="unknown"), step=1)
    (mc, bare) = sorted(await points(server), key=lambda row: -row["verdicts"])
    assert (mc["verdicts"], mc["scored"], mc["unscored"], mc["mean"]) == (2, 1, 1, 1.0)
    assert (bare["scored"], bare["unscored"], bare["mean"], bare["std"], bare["score"]) == (0, 1, None, None, None)
    counts = await get(server, "counts")
    assert counts["statuses"]["scored"] == 1
    assert sum(counts["statuses"].values()) == counts["verdicts"] == 3
    assert counts["reasons"]["unknown_verifier"] == counts["faults"]["caller"] == 1


async def test_without_steps_the_axis_is_time(server: Running) -> None:
    await judged(server, sample(), sample(WRONG))
    (row,) = await points(server)
    assert (await get(server, "points"))["axis"] == "time"
    assert 0 <= row["began"] - row["at"] <= (await get(server, "points"))["width"]
    assert await points(server, axis="step") == []


async def test_steps_have_a_time_too(server: Running) -> None:
    await judged(server, sample(), step=1)
    await judged(server, sample(WRONG), step=2)
    rows = await points(server, axis="time", most=1)
    assert sum(row["verdicts"] for row in rows) == 2
    counts = await get(server, "counts", axis="time", **{"from": rows[0]["began"] - 60})
    assert counts["verdicts"] == 2


async def test_neighbouring_points_are_merged_where_fewer_are_asked_for(server: Running) -> None:
    for step in range(10):
        await judged(server, sample(RIGHT if step < 5 else WRONG), step=step)
    assert (await get(server, "points", most=2))["width"] == 5
    assert only(await points(server, most=2), "at", "verdicts", "mean") == [(0, 5, 1.0), (5, 5, 0.0)]


async def test_groups_are_counted_by_kind(server: Running) -> None:
    texts = {"a": (RIGHT, RIGHT), "b": (WRONG, WRONG), "c": (RIGHT, WRONG), "d": (RIGHT,)}
    samples = [sample(text, group=group) for group, members in texts.items() for text in members]
    await judged(server, *samples, step=3)
    (row,) = await points(server)
    kinds = ("all_pass", "all_fail", "mixed", "single", "flat", "partly")
    assert [row[kind] for kind in kinds] == [1, 1, 1, 1, 0, 0]
    assert (await get(server, "counts"))["groups"] == {"all_pass": 1, "all_fail": 1, "mixed": 1, "single": 1}


async def test_counts_are_those_of_a_range_and_a_source(server: Running) -> None:
    for step in range(4):
        await judged(server, sample(), sample(NONE), sample(WRONG, "other"), step=step)
    assert (await get(server, "counts", **{"from": 1, "to": 2}))["verdicts"] == 6
    counts = await get(server, "counts", **{"from": 2, "source": "mc"})
    assert (counts["verdicts"], counts["reasons"], counts["flags"]["no_answer"]) == (4, {"no_answer": 2}, 2)
    assert counts["positions"] == [[0.0, 0.0, 2], [1.0, 1.0, 2]]
    assert counts["lengths"] == [[8, 11, 2], [12, 15, 2]]
    (verifier,) = counts["verifiers"]
    assert (verifier["name"], verifier["first"], verifier["last"], verifier["verdicts"]) == ("choice", 2, 3, 4)
    assert len(verifier["fingerprint"]) > 8
    assert (await get(server, "counts", source="unknown"))["verdicts"] == 0


async def test_streams_are_stored_too(server: Running) -> None:
    lines = [{"batch": {"use": "choice", "progress": {"step": 9}}}, sample(group="g"), sample(WRONG, group="g")]
    body = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    answer = await server.http.post("/v1/verify/stream", content=body)
    answer.raise_for_status()
    assert only(await points(server), "at", "verdicts", "mixed") == [(9, 2, 1)]


async def test_jobs_are_in_the_run_of_their_key(start: Start, tmp_path: Path) -> None:
    key, digest = new_key()
    server = await start({"jobs.dir": str(tmp_path / "jobs"), "keys.named": f"loader={digest}"})
    server.http.headers["authorization"] = f"Bearer {key}"
    body = b"".join(json.dumps(row).encode() + b"\n" for row in (sample(), sample(metadata={"run": "named"})))
    query = {"job": json.dumps({"use": "choice", "columns": {"metadata": "metadata"}})}
    headers = {"content-type": "application/x-ndjson"}
    answer = await server.http.post("/v1/jobs", params=query, content=body, headers=headers)
    job = answer.raise_for_status().json()["id"]
    async with asyncio.timeout(60):
        while (await server.http.get(f"/v1/jobs/{job}")).json()["status"] != "finished":
            await asyncio.sleep(0.02)
    assert {(run["key"], run["name"], run["verdicts"]) for run in await runs(server)} == {
        ("loader", "loader", 1),
        ("loader", "named", 1),
    }


async def test_the_run_is_no_part_of_what_is_judged(server: Running) -> None:
    """The metadata reaches recipes and verifiers without it, so that the same sample is the same work in every run."""
    recipe = {
        "uses": {"answer": "choice"},
        "score": "has(sample.metadata.run) ? 0.0 : answer.score",
    }
    answer = await server.verify(sample(metadata={"run": "r", "kept": 1}), use={"recipe": recipe})
    (verdict,) = answer.json()["verdicts"]
    assert (verdict["status"], verdict["score"], verdict["metadata"]) == ("scored", 1.0, {"run": "r", "kept": 1})


async def events_of(server: Running, id: str, **query: Any) -> AsyncGenerator[Any, None]:
    """The events of a run, as they come."""
    async with server.http.stream("GET", f"/v1/runs/{id}/events", params=query) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        async for line in answer.aiter_lines():
            if line.startswith("data: "):
                yield json.loads(line.removeprefix("data: "))


async def test_events_end_when_their_key_is_revoked(start: Start, tmp_path: Path) -> None:
    file = tmp_path / "keys"
    (one, digest), (_, other) = new_key(), new_key()
    file.write_text(f"one {digest}\nother {other}\n")
    server = await start({"keys.file": str(file)})
    server.http.headers["authorization"] = f"Bearer {one}"
    await judged(server, sample(), step=1)
    (run,) = await runs(server)
    async with asyncio.timeout(30), aclosing(events_of(server, run["id"])) as events:
        await anext(events)
        fresh = file.with_name("fresh")
        fresh.write_text(f"other {other}\n")
        fresh.replace(file)
        assert [event async for event in events] == []


async def test_events_bring_the_points_that_changed(server: Running) -> None:
    await judged(server, sample(), step=1)
    await judged(server, sample(), step=2)
    (run,) = await runs(server)
    async with asyncio.timeout(30), aclosing(events_of(server, run["id"])) as events:
        first = await anext(events)
        assert first["points"]["at"] == [1, 2]
        await judged(server, sample(WRONG), step=2)
        second = await anext(events)
        assert (second["points"]["at"], second["points"]["verdicts"]) == ([2], [2])
        await judged(server, sample(WRONG), step=3)
        third = await anext(events)
        assert third["points"]["at"] == [3]
        assert first["seq"] < second["seq"] < third["seq"]
    async with asyncio.timeout(30), aclosing(events_of(server, run["id"], after=second["seq"])) as events:
        assert (await anext(events))["points"]["at"] == [3]


async def test_events_end_with_their_run_and_with_the_server(start: Start) -> None:
    server = await start()
    await judged(server, sample(metadata={"run": "a"}), sample(metadata={"run": "b"}))
    ends = []
    for run in await runs(server):
        events = events_of(server, run["id"])
        await anext(events)
        ends.append(asyncio.ensure_future(anext(events, "ended")))
        if len(ends) == 1:
            (await server.http.delete(f"/v1/runs/{run['id']}")).raise_for_status()
            assert await asyncio.wait_for(ends[0], 30) == "ended"
    await server.serving.drain(0.0)
    assert await asyncio.wait_for(ends[1], 30) == "ended"


async def test_two_servers_share_a_folder(start: Start, tmp_path: Path) -> None:
    one, other = [await start({"runs.dir": str(tmp_path / "shared")}) for _ in range(2)]
    await judged(one, sample(), step=1)
    (run,) = await runs(one)
    async with asyncio.timeout(30), aclosing(events_of(one, run["id"])) as events:
        await anext(events)
        await judged(other, sample(WRONG), step=1)
        assert (await anext(events))["points"]["verdicts"] == [2]
    assert only(await points(other), "verdicts", "mean") == [(2, 0.5)]


async def test_what_is_stored_outlives_the_server(start: Start, tmp_path: Path) -> None:
    settings = {"runs.dir": str(tmp_path / "kept")}
    server = await start(settings)
    await judged(server, sample(), step=1)
    await server.serving.drain(0.0)
    again = await start(settings)
    assert only(await points(again), "at", "verdicts") == [(1, 1)]
    assert (tmp_path / "kept").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "kept" / database.NAME).stat().st_mode & 0o777 == 0o600


def test_a_reader_that_finds_the_file_finds_its_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Flake: a page that listed the runs while the first was being stored got a 503."""
    seen: list[str] = []

    class Watched(sqlite3.Connection):
        def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
            self._look()
            return super().execute(sql, *values)

        def executescript(self, sql: str) -> sqlite3.Cursor:
            self._look()
            return super().executescript(sql)

        def _look(self) -> None:
            if database.identity(tmp_path) is None:
                seen.append("no file")
                return
            with contextlib.closing(real(tmp_path / database.NAME)) as other:
                seen.append(f"{len(other.execute('SELECT number FROM runs').fetchall())} runs")

    real = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *given, **named: real(*given, factory=Watched, **named))
    database.open_for_writing(tmp_path).close()
    assert (seen[0], seen[-1], set(seen)) == ("no file", "0 runs", {"no file", "0 runs"})


async def test_one_setting_turns_it_off(start: Start, tmp_path: Path) -> None:
    server = await start({"runs.store": False, "runs.dir": str(tmp_path / "off")})
    await judged(server, sample())
    answer = (await server.http.get("/v1/runs")).json()
    assert (answer["runs"], answer["store"]) == ([], False)
    refused = await server.http.get("/v1/runs/x/points")
    assert refused.status_code == 404
    assert "runs.store" in refused.json()["error"]["message"]
    assert not (tmp_path / "off").exists()


@pytest.fixture
async def keyed(start: Start) -> tuple[Running, dict[str, dict[str, str]]]:
    """A server with three keys, and the headers of each; `operator` has the scope admin."""
    keys = {name: new_key() for name in ("alice", "bob", "operator")}
    rules = {"operator": {"scopes": ["read", "admin"]}}
    named = ",".join(f"{name}={digest}" for name, (_, digest) in keys.items())
    server = await start({"keys.named": named, "keys.rules": json.dumps(rules)})
    return server, {name: {"authorization": f"Bearer {key}"} for name, (key, _) in keys.items()}


async def test_each_key_sees_its_own_runs_and_an_operator_all(
    keyed: tuple[Running, dict[str, dict[str, str]]],
) -> None:
    server, headers = keyed
    for name in ("alice", "bob"):
        body = {"use": "choice", "samples": [sample(), sample(metadata={"run": "shared name"})]}
        (await server.http.post("/v1/verify", json=body, headers=headers[name])).raise_for_status()
    own = {name: await runs(server, **headers[name]) for name in headers}
    assert {(run["key"], run["name"]) for run in own["alice"]} == {("alice", "alice"), ("alice", "shared name")}
    assert {(run["key"], run["name"]) for run in own["bob"]} == {("bob", "bob"), ("bob", "shared name")}
    assert len(own["operator"]) == 4
    foreign = own["bob"][0]["id"]
    for method, path in (("GET", "points"), ("GET", "counts"), ("GET", "events"), ("DELETE", "")):
        route = f"/v1/runs/{{}}/{path}".rstrip("/")
        answers = [
            await server.http.request(method, route.format(id), headers=headers["alice"]) for id in (foreign, "0" * 16)
        ]
        assert [answer.status_code for answer in answers] == [404, 404]
        told = [answer.json()["error"]["message"].replace(foreign, "0" * 16) for answer in answers]
        assert told[0] == told[1]
    deleted = await server.http.delete(f"/v1/runs/{foreign}", headers=headers["operator"])
    assert deleted.status_code == 204
    assert len(await runs(server, **headers["bob"])) == 1


@pytest.mark.parametrize(
    ("path", "query", "field"),
    [
        ("points", {"axis": "sideways"}, "axis"),
        ("points", {"most": "0"}, "most"),
        ("points", {"most": str(reader.MOST_POINTS + 1)}, "most"),
        ("counts", {"from": "nan"}, "from"),
        ("counts", {"to": "soon"}, "to"),
        ("events", {"after": "-1"}, "after"),
    ],
)
async def test_a_wrong_parameter_is_named(server: Running, path: str, query: dict[str, str], field: str) -> None:
    await judged(server, sample())
    (run,) = await runs(server)
    answer = await server.http.get(f"/v1/runs/{run['id']}/{path}", params=query)
    assert answer.status_code == 400
    assert answer.json()["error"]["details"]["path"] == field


async def test_names_without_end_are_counted_as_other(server: Running) -> None:
    many = [sample(source=f"source {number}", metadata={"run": "one"}) for number in range(300)]
    await judged(server, *many, step=0)
    await judged(server, *(sample(metadata={"run": f"run {number}"}) for number in range(300)), step=0)
    found = {run["name"]: run for run in await runs(server)}
    assert len(found) <= 102
    assert len(found["one"]["sources"]) <= 101
    assert found["other"]["verdicts"] > 100
    assert found["one"]["verdicts"] == 300


async def test_hostile_names_are_data(server: Running) -> None:
    name = "\u001b[2J'; DROP TABLE runs; --\u0000<script>" + "x" * 500
    await judged(server, sample(source=name, metadata={"run": name}), step=2**62)
    await judged(server, sample(source=name, metadata={"run": name}), step=2**62)
    (run,) = await runs(server)
    assert run["name"].startswith("\u001b[2J'; DROP TABLE runs; --\ufffd<script>")
    assert len(run["name"]) == 200
    assert only(await points(server), "at", "verdicts") == [(2**62, 2)]


async def test_a_run_with_too_many_points_keeps_them_twice_as_wide(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "MOST_POINTS", 5)
    monkeypatch.setattr(retention, "EVERY_S", 0.0)
    server = await start()
    for step in range(12):
        await judged(server, sample(RIGHT if step < 6 else WRONG), step=step)
        await stored(server)
    assert (await get(server, "points"))["width"] == 4
    assert only(await points(server), "at", "verdicts", "mean") == [(0, 4, 1.0), (4, 4, 0.5), (8, 4, 0.0)]
    assert (await get(server, "counts"))["reasons"] == {"wrong": 6}
    assert (await get(server, "counts", **{"from": 8}))["verdicts"] == 4


async def test_a_broken_file_is_set_aside(start: Start, tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    folder.mkdir()
    (folder / database.NAME).write_bytes(b"this is not a database " * 1000)
    server = await start()
    await judged(server, sample(), step=1)
    assert only(await points(server), "verdicts") == [(1,)]
    assert (folder / f"{database.NAME}.{database.BROKEN}").read_bytes().startswith(b"this is not a database")


async def test_a_disk_that_cannot_be_written_costs_no_verdict(
    start: Start, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    server = await start({"runs.dir": str(tmp_path / "file" / "runs")})
    for step in range(3):
        await judged(server, sample(), step=step)
        await stored(server)
    assert (await server.http.get("/v1/runs")).json()["runs"] == []
    store = server.serving.service.runs
    assert store is not None
    assert store.problem is not None
    assert capsys.readouterr().err.count("runs cannot be stored") == 1
