"""`rewarden top`: a running server's training runs as text and as JSON, without Textual."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys

import pytest

from rewarden.__main__ import main
from rewarden_server.access.key_record import new_key
from rewarden_server.top import figures, lines
from tests.server.conftest import Running, Start
from tests.server.test_runs import NONE, RIGHT, WRONG, judged, sample, stored
from tests.suite.blocked import WITHOUT


async def fed(server: Running, run: str = "first", steps: int = 2) -> None:
    """A run with two data sources: one of them is right from the second step on."""
    named = {"metadata": {"run": run}}
    for step in range(steps):
        pair = [sample(RIGHT if step else WRONG, group="g", **named), sample(WRONG, group="g", **named)]
        cut = sample(NONE, "other", finish_reason="length", **named)
        await judged(server, *pair, cut, sample(reference=None, **named), step=step)
    await stored(server)


async def top(*words: str) -> int:
    """The command's exit status, from a thread: the server is in the test's loop."""
    return await asyncio.to_thread(main, ["top", *words])


async def test_the_latest_run_is_printed_with_its_figures(server: Running, capsys: pytest.CaptureFixture[str]) -> None:
    await fed(server, "first")
    await fed(server, "second", steps=3)
    assert await top("--once", "--url", server.serving.http) == 0
    head, newest, older, empty, title, *rest = capsys.readouterr().out.splitlines()
    assert head.split() == ["run", "key", "verdicts", "unscored", "reward", "step", "latest"]
    assert newest.split()[:6] == ["second", "anonymous", "12", "25.0%", "0.222", "2"]
    assert older.split()[:6] == ["first", "anonymous", "8", "25.0%", "0.167", "1"]
    assert (empty, title) == ("", "second: 12 verdicts of choice")
    assert rest[0].endswith("steps 0 to 2")
    assert rest[1].split() == ["mc", "0.333", "0.000", "0.500", "▁██"]
    assert rest[2].split() == ["other", "0.000", "0.000", "0.000", "▁▁▁"]
    assert rest[4].split()[:4] == ["all", "25.0%", "25.0%", "25.0%"]
    assert rest[6].split(maxsplit=1) == ["groups", "mixed 66.7%, all wrong 33.3%"]
    assert rest[7].startswith("reasons     wrong 4, ")
    assert "no_answer 3" in rest[8]
    assert "truncated 3" in rest[8]


async def test_a_run_is_chosen_by_name_and_told_as_json(server: Running, capsys: pytest.CaptureFixture[str]) -> None:
    await fed(server, "first")
    await fed(server, "second")
    assert await top("first", "--json", "--url", server.serving.http) == 0
    told = json.loads(capsys.readouterr().out)
    assert [run["name"] for run in told["runs"]] == ["second", "first"]
    run = told["run"]
    assert (run["name"], run["axis"], run["places"]) == ("first", "step", [0, 1])
    assert run["rewards"]["mc"] == {"now": 0.25, "means": [0.0, 0.5]}
    assert (run["all"]["unscored"], run["all"]["groups"]["mixed"]) == (0.25, 0.5)
    assert await top("third", "--once", "--url", server.serving.http) == 2
    # Flake: the server logs its request next to it, before or after.
    assert "rewarden top: no run 'third'\n" in capsys.readouterr().err


async def test_a_server_without_runs_says_why(start: Start, capsys: pytest.CaptureFixture[str]) -> None:
    server, without = await start(), await start({"runs.store": False})
    assert await top("--once", "--url", server.serving.http) == 0
    assert await top("--once", "--url", without.serving.http) == 0
    assert capsys.readouterr().out.splitlines() == [lines.NO_RUNS, lines.NOT_STORED]


async def test_a_key_sees_its_own_runs(
    start: Start, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, theirs = new_key(), new_key()
    server = await start({"keys.named": f"mine={mine[1]},theirs={theirs[1]}"})
    for key, run in ((mine[0], "alpha"), (theirs[0], "beta")):
        body = {"use": "choice", "samples": [sample(metadata={"run": run})]}
        await server.http.post("/v1/verify", json=body, headers={"authorization": f"Bearer {key}"})
    await stored(server)
    assert await top("--once", "--url", server.serving.http) == 2
    assert "rewarden top: " in capsys.readouterr().err
    assert await top("--once", "--url", server.serving.http, "--api-key", mine[0]) == 0
    out = capsys.readouterr().out
    assert ("alpha" in out, "beta" in out) == (True, False)
    monkeypatch.setenv("REWARDEN_API_KEY", theirs[0])
    assert await top("--once", "--url", server.serving.http) == 0
    assert "beta" in capsys.readouterr().out


async def test_a_server_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert await top("--once", "--url", "http://127.0.0.1:9") == 1
    assert "http://127.0.0.1:9 cannot be reached" in capsys.readouterr().err


async def test_a_name_cannot_control_the_terminal(server: Running, capsys: pytest.CaptureFixture[str]) -> None:
    await judged(server, sample(source="\x1b[2Jmc\nmc", metadata={"run": "\x1b[31mred\nrun"}), step=0)
    await stored(server)
    assert await top("--once", "--url", server.serving.http) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\\u001b[31mred\\nrun" in out


def test_the_screen_names_the_extra_that_it_needs() -> None:
    code = "import tests.suite.blocked, sys; from rewarden.__main__ import main; sys.exit(main(['top']))"
    environment = {**os.environ, WITHOUT: "textual", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.returncode == 2
    assert "pip install 'rewarden-server[top]'; --once" in done.stderr


def test_every_line_fits_a_terminal_of_80_columns() -> None:
    long = "a name that is much longer than any column " * 3
    run = {"name": long, "key": long, "verdicts": 123_456_789, "unscored": 7, "mean": 0.5, "last_step": 1_234_567}
    told = {**run, "latest": 0.0, "verifiers": [long]}
    columns: dict[str, list[float]] = {name: [0] for name in ("source", "at", "scored", "cached", *figures.SHARES)}
    columns |= {name: [1] for name in ("verdicts", *figures.GROUPS)}
    columns |= {name: [0.5] for name in ("mean", "run_s", "queue_s")}
    columns |= {"judge_calls": [123_456_789], "judge_tokens": [10**15], "cost_usd": [12_345_678.9]}
    points = {"run": told, "axis": "time", "width": 10, "seq": 1, "sources": [long], "points": columns}
    shown = lines.detail_lines(figures.Figures.of(points, {"reasons": {long: 1}, "flags": {}}), 76)
    assert max(map(len, [lines.list_head(76), lines.list_line(told, 76, 1e6), *shown])) <= 76
