"""Notebooks whose driver is played by the test: what a hostile or a broken one can do."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from rewarden_sandboxes.errors import BadJob
from rewarden_sandboxes.notebook import (
    MOST_ORDER,
    VARIABLES,
    CellReport,
    KernelFault,
    NoKernel,
    Notebook,
    NotebookOver,
)
from rewarden_sandboxes.notebook_outputs import values
from tests.sandbox.driven_box import DrivenBox, Driver


async def opened(driver: Driver) -> tuple[DrivenBox, Notebook]:
    """A notebook, and its box."""
    box = DrivenBox(driver)
    made: Any = box
    return box, await Notebook.open(made)


def silent(box: DrivenBox, order: dict[str, Any]) -> None:
    """A driver that a program of the box has stopped."""


async def run(notebook: Notebook, code: str = "1", *, timeout_s: float = 60.0) -> CellReport:
    return await notebook.run(code, timeout_s=timeout_s, output_bytes=10_000)


@pytest.fixture
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time limits that are over at once."""
    for name in ("GRACE_S", "RESTART_S"):
        monkeypatch.setattr(f"rewarden_sandboxes.notebook.{name}", 0.05)


# --- whose fault it is ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("begin", "kind"), [("missing", NoKernel), ("failed", KernelFault)])
async def test_only_a_control_run_can_tell_why_no_kernel_starts(begin: str, kind: type[KernelFault]) -> None:
    box: Any = DrivenBox(silent, begin=begin)
    with pytest.raises(kind, match="says the driver") as caught:
        await Notebook.open(box)
    assert caught.value.fault is None
    assert box.left


@pytest.mark.parametrize(
    ("status", "fault"), [("runtime_error", "policy"), ("memory_limit", "policy"), ("internal_error", "infra")]
)
async def test_a_host_that_fails_is_not_the_policys_fault(status: Any, fault: str) -> None:
    _, notebook = await opened(lambda box, order: box.end(status))
    if fault == "policy":
        report = await run(notebook)
        assert (report.status, report.over) == ("kernel_died", True)
    with pytest.raises(NotebookOver) as caught:
        await run(notebook)
    assert caught.value.fault == fault


async def test_closing_a_notebook_is_the_callers_doing() -> None:
    begun = asyncio.Event()
    _, notebook = await opened(lambda box, order: begun.set())
    running = asyncio.create_task(run(notebook))
    await begun.wait()
    await notebook.close()
    with pytest.raises(NotebookOver, match="closed") as caught:
        await running
    assert caught.value.fault == "caller"


@pytest.mark.usefixtures("hurry")
async def test_a_driver_that_was_stopped_ends_the_notebook_soon() -> None:
    """Without waiting for a new kernel, which could take longer than the caller waits."""
    box, notebook = await opened(silent)
    report = await run(notebook, timeout_s=0.05)
    assert (report.status, report.over, box.left) == ("time_limit", True, True)
    assert "does not answer" in report.message
    assert box.orders == ["run", "interrupt", "restart"]


@pytest.mark.usefixtures("hurry")
@pytest.mark.parametrize("event", ["stop", "restarting"])
async def test_a_driver_cannot_ask_for_more_time_again_and_again(event: str) -> None:
    box, notebook = await opened(silent)
    box.chatter = event
    report = await run(notebook, timeout_s=0.05)
    assert (report.status, report.over) == ("time_limit", True)
    assert box.orders == ["run", "interrupt", "restart"]


async def test_a_kernel_that_does_not_start_again_is_not_yet_anybodys_fault() -> None:
    def breaks(box: DrivenBox, order: dict[str, Any]) -> None:
        box.say(ev="restarting")
        box.say(ev="failed", message="no room in /tmp")

    _, notebook = await opened(breaks)
    with pytest.raises(KernelFault, match="no room in /tmp") as caught:
        await notebook.restart()
    assert caught.value.fault is None

    _, notebook = await opened(breaks)
    report = await run(notebook)  # the cell has ended its own kernel, whatever keeps the next one from starting
    assert (report.status, report.over) == ("kernel_died", True)
    assert isinstance(notebook.ended, KernelFault)


async def test_a_death_that_no_caller_saw_is_reported_by_the_next_cell() -> None:
    def dies_once(box: DrivenBox, order: dict[str, Any]) -> None:
        box.done(order, "died" if len(box.orders) == 1 else "ok", signal=9)

    box, notebook = await opened(dies_once)
    rows, listing = await notebook.variables(timeout_s=60, output_bytes=1000)
    assert (rows, listing.status) == ([], "kernel_died")
    assert (await run(notebook)).signal == 9
    assert box.orders == ["variables"]
    assert (await run(notebook)).status == "ok"


# --- size ----------------------------------------------------------------------------------------------------------


async def test_a_cell_that_is_too_long_is_refused_and_the_notebook_lives() -> None:
    _, notebook = await opened(lambda box, order: box.done(order))
    with pytest.raises(BadJob, match="bytes as JSON"):
        await run(notebook, "é" * (MOST_ORDER // 6 + 1))
    assert (await run(notebook, "x" * (MOST_ORDER - 2))).status == "ok"


@pytest.mark.parametrize("piece", [b"x", b"[],", b'"",'])
async def test_a_driver_that_was_replaced_cannot_fill_the_memory(piece: bytes) -> None:
    def floods(box: DrivenBox, order: dict[str, Any]) -> None:
        box.write(b'{"ev":"output","output":{"output_type":"display_data","data":{"x":[')
        for _ in range(40):
            box.write(piece * ((1 << 16) // len(piece)))
        box.write(b"0]}}}\n")
        box.done(order)

    _, notebook = await opened(floods)
    report = await run(notebook)
    assert (report.over, report.outputs) == (True, [])


async def test_structured_output_counts_more_than_its_text() -> None:
    def shows(box: DrivenBox, order: dict[str, Any]) -> None:
        data = {"application/json": [0] * 1000}
        box.say(ev="output", output={"output_type": "display_data", "data": data, "metadata": {}})
        box.done(order)

    _, notebook = await opened(shows)
    assert 60_000 < (await run(notebook)).output_bytes < 80_000


@pytest.mark.parametrize(
    ("value", "most"),
    [
        ([], 2),
        ([1, 2, 3], 4),
        ({"a": [{}, 'x,"[\\'], 'b\\"': "\\"}, 8),
        ("[" * 1000 + '",:' * 1000, 0),
        ([""] * 1000, 1001),
    ],
)
def test_values_are_counted_without_parsing(value: Any, most: int) -> None:
    assert most // 2 <= values(json.dumps(value).encode()) <= most


async def test_what_a_kernel_lists_is_checked_row_by_row() -> None:
    row = {"name": "x", "type": "int", "size": None, "shape": None, "text": "1"}

    def lists(box: DrivenBox, order: dict[str, Any]) -> None:
        data = {VARIABLES: [row, {**row, "shape": ["3"]}, {**row, "size": True}, {"name": "x"}, 3]}
        box.say(ev="output", output={"output_type": "display_data", "data": data, "metadata": {}})
        box.done(order)

    _, notebook = await opened(lists)
    assert (await notebook.variables(timeout_s=60, output_bytes=1000))[0] == [row]
