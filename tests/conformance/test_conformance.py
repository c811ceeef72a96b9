"""Every adapter and route in every situation, as the table of docs/trainers/README.md says."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from rewarden_server.compat import gym
from tests.conformance import table
from tests.conformance.conftest import Gates, Start
from tests.conformance.fronts import ADAPTERS, EACH, NEEDS, ROUTES, Front, Row
from tests.programs import no_sandbox
from tests.server.process import ServerProcess

pytestmark = [pytest.mark.needs_server, pytest.mark.slow]

FRONTS: dict[str, Front] = {**ADAPTERS, **ROUTES}
TABLE = table.read()

RIGHT = Row("So it is \\boxed{4}.", "4")
WRONG = Row("So it is \\boxed{5}.", "4")
BAD = Row("So it is \\boxed{4}.", "\\frac{")
UNICODE = Row("Ответ: π ≈ 3 😀 \u202eright to left\u202c \x00 half \ud83d a pair \\boxed{4}", "4")
LONG = Row("x " * 500_000 + "\\boxed{4}", "4")
ENDLESS = Row(
    "```python\nwhile True:\n    pass\n```",
    {"language": "python", "tests": [{"type": "stdio", "stdin": "", "stdout": ""}], "limits": {"cpu_s": 0.2}},
)


@pytest.fixture(autouse=True)
def needed(request: pytest.FixtureRequest) -> None:
    """Skips a front whose trainer's package is not installed."""
    front = request.node.callspec.params.get("front") if hasattr(request.node, "callspec") else None
    if front in NEEDS:
        pytest.importorskip(NEEDS[front], reason=f"{front}: {NEEDS[front]} is not installed")


def words(front: str) -> dict[str, str]:
    """The front's row of the table."""
    return TABLE[front]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server that stays."""
    flags = ["--set", "sandbox.launcher=auto", "--set", "logs.level=error"]  # a line for each request fills the pipe
    with ServerProcess(tmp_path_factory.mktemp("served"), *flags) as server:
        yield server.http


async def outcome(front: str, target: str, use: Any, rows: list[Row], *, unhurried: bool = False) -> list[str]:
    """Returns what became of the rows, in the table's words."""
    try:
        answers = await FRONTS[front](target, use, rows, unhurried)
    except Exception as error:  # noqa: BLE001 - which one is what is looked at
        return [f"raises {type(error).__name__}"] * len(rows)
    return [f"{answer:g}" if isinstance(answer, float) else str(answer) for answer in answers]


def test_the_table_has_a_row_for_every_adapter_and_route() -> None:
    assert set(TABLE) == set(FRONTS)


@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize(
    ("situation", "row"),
    [("right", RIGHT), ("wrong", WRONG), ("bad reference", BAD), ("Unicode", UNICODE), ("1 MB response", LONG)],
)
async def test_one_sample(served: str, front: str, situation: str, row: Row) -> None:
    assert await outcome(front, served, "math", [row]) == [words(front)[situation]]


@pytest.mark.parametrize("front", FRONTS)
async def test_a_batch_of_a_thousand(served: str, front: str) -> None:
    rows = [Row(f"\\boxed{{{n % 7}}}", "3") for n in range(1000)]
    expected = [words(front)["right" if n % 7 == 3 else "wrong"] for n in range(1000)]
    assert await outcome(front, served, "math", rows) == expected
    assert words(front)["1,000 samples"] == "1,000"


@pytest.mark.parametrize("front", FRONTS)
async def test_a_candidate_that_runs_out_of_time(served: str, front: str) -> None:
    if (problem := no_sandbox()) is not None:
        pytest.skip(problem)
    assert await outcome(front, served, "code", [ENDLESS]) == [words(front)["timed-out candidate"]]


@pytest.mark.parametrize("front", ADAPTERS)
async def test_a_server_that_is_down(front: str) -> None:
    assert await outcome(front, "http://127.0.0.1:9", "math", [RIGHT]) == [words(front)["server down"]]


@pytest.mark.parametrize("front", FRONTS)
async def test_a_server_that_is_overloaded(
    start: Start, gate: Gates, front: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gym, "HOLD_S", 0.5)  # else that route is patient for as long as its clients
    server = await start({"engine.max_samples": 1})
    holding = asyncio.create_task(server.verify({"response": "x"}, use=gate.use))
    await gate.entered()
    expected = words(front)["overloaded"]
    if expected != "waits":
        assert await outcome(front, server.serving.http, "same", [Row("x", "x")]) == [expected]
        gate.open()
        await holding
        return
    asking = asyncio.create_task(outcome(front, server.serving.http, "same", [Row("x", "x")], unhurried=True))
    for _ in range(20):  # until it was refused (streams wait at the door instead, which nothing tells)
        if 'status="429"' in (await server.http.get("/metrics")).text:
            break
        await asyncio.sleep(0.01)
    assert not asking.done()
    gate.open()
    assert await asking == ["1"]
    await holding


@pytest.mark.parametrize("front", FRONTS)
async def test_a_server_that_is_restarted_in_the_middle(start: Start, gate: Gates, front: str) -> None:
    server = await start()
    target = server.serving.http
    asking = asyncio.create_task(outcome(front, target, gate.use, [Row("x", "x")], unhurried=True))
    await gate.entered()
    await server.serving.drain(0.0)
    gate.open()
    if front in ADAPTERS:
        await start({"server.port": server.port})
        assert await asking == ["1"]
        assert words(front)["restarted"] == "waits"
    else:
        assert await asking == [words(front)["restarted"]]


@pytest.mark.parametrize("front", ADAPTERS)
async def test_a_slow_sibling(start: Start, gate: Gates, front: str) -> None:
    if front not in EACH:
        assert words(front)["slow sibling"] == "one call"
        return
    server = await start()
    use = {"name": "gated", "params": {"folder": str(gate.folder), "only": "slow"}}
    ask = EACH[front](server.serving.http, use, True)
    slow = asyncio.ensure_future(ask(Row("slow", "x")))
    await gate.entered()
    assert await asyncio.gather(*(ask(Row("quick", "x")) for _ in range(8))) == [1.0] * 8
    assert not slow.done()
    gate.open()
    assert await slow == 1.0
    assert words(front)["slow sibling"] == "streams"
