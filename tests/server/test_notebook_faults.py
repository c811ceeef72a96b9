"""The faults of notebooks that do not start or have ended. Their driver is played by the test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest

from rewarden.boxes.types import BoxLimits, BoxRequest, CellRequest, NotebookRequest
from rewarden.errors import BoxEnded, InvalidRequest, NotebookEnded, RequestError, Unavailable
from rewarden_sandboxes.box import BoxSpec
from rewarden_sandboxes.errors import Busy, HostError
from rewarden_sandboxes.job import Limits
from rewarden_server.boxes.box import Box
from rewarden_server.boxes.notebooks import Notebooks
from rewarden_server.boxes.registry import Boxes
from rewarden_server.boxes.settings import BoxSettings
from tests.sandbox.driven_box import DrivenBox, Driver


def answers(box: DrivenBox, order: dict[str, Any]) -> None:
    """A driver that works."""
    if order["do"] == "restart":
        box.say(ev="restarting")
        box.say(ev="ready")
    elif "id" in order:
        box.done(order)


def broken(box: DrivenBox, order: dict[str, Any]) -> None:
    """A driver that starts no second kernel."""
    box.say(ev="failed", message="no room in /tmp")


class Lane:
    """A host whose boxes begin as planned; the first is the policy's. driver: of the policy's box."""

    def __init__(self, *begins: str | Exception, driver: Driver = answers) -> None:
        self._begins = list(begins)
        self._driver = driver
        self.boxes: list[DrivenBox] = []

    async def box(self, spec: BoxSpec) -> Any:
        """Opens the next box."""
        begin = self._begins.pop(0)
        if isinstance(begin, Exception):
            raise begin
        self.boxes.append(DrivenBox(answers if self.boxes else self._driver, begin=begin, spec=spec))
        return self.boxes[-1]


class Tasks:
    """A task, whose boxes have an environment and files."""

    image = "python"
    env: Mapping[str, str] = MappingProxyType({"OF": "task"})
    limits = Limits(memory_mb=400, disk_mb=100)

    def __init__(self) -> None:
        self.filled: list[Any] = []

    @asynccontextmanager
    async def ready(self, id: str) -> AsyncIterator[Any]:
        """Yields its beginning."""
        yield self

    async def fill(self, remote: Any) -> None:
        """Notes a box."""
        self.filled.append(remote)


async def opened(lane: Lane, tasks: Any = None, **asked: Any) -> tuple[Notebooks, Box]:
    """The notebooks of a box on that host."""
    boxes = Boxes(BoxSettings(notebooks=2), lane, tasks)
    return Notebooks(boxes), await boxes.open(BoxRequest(**asked), "key")


async def refusal(lane: Lane, **asked: Any) -> RequestError:
    """The refusal of a notebook in a new box on that host."""
    notebooks, box = await opened(lane)
    with pytest.raises(RequestError) as caught:
        await notebooks.open(box, NotebookRequest(**asked))
    return caught.value


def fault(error: RequestError) -> object:
    return error.details.get("fault")


# --- a kernel that does not start ----------------------------------------------------------------------------------


@pytest.mark.parametrize("begin", ["failed", "missing"])
async def test_one_that_starts_in_a_fresh_box_is_broken_by_the_policy(begin: str) -> None:
    error = await refusal(Lane(begin, "ready"))
    assert (type(error), fault(error)) == (NotebookEnded, "policy")


async def test_one_that_starts_nowhere_is_our_fault() -> None:
    error = await refusal(Lane("failed", "failed"))
    assert (type(error), fault(error)) == (Unavailable, "infra")


async def test_one_that_the_image_does_not_have_is_the_callers_fault() -> None:
    error = await refusal(Lane("missing", "missing"))
    assert isinstance(error, InvalidRequest)
    assert "has no kernel" in error.message


async def test_one_that_starts_without_the_callers_environment_alone_is_the_callers_fault() -> None:
    lane = Lane("failed", "failed", "ready")
    error = await refusal(lane, env={"PYTHONHOME": "/nowhere"}, cwd="/app")
    assert isinstance(error, InvalidRequest)
    assert [box.execs[0].env for box in lane.boxes] == [{"PYTHONHOME": "/nowhere"}] * 2 + [{}]
    assert [box.execs[0].cwd for box in lane.boxes] == ["/app", "/app", ""]


async def test_a_full_host_excuses_nobody_once_such_a_kernel_has_started() -> None:
    lane = Lane("ready", Busy("full"))
    notebooks, box = await opened(lane)
    await notebooks.open(box, NotebookRequest())
    lane.boxes[0].begin = "failed"
    with pytest.raises(NotebookEnded) as caught:
        await notebooks.open(box, NotebookRequest())
    assert fault(caught.value) == "policy"


async def test_a_start_in_a_box_that_its_caller_has_used_proves_nothing() -> None:
    """Attack: a forged driver that says that a kernel starts which the image does not have. A later start of the same
    kind, while the host is full, would be its policy's fault."""
    lane = Lane("ready", Busy("full"))
    notebooks, box = await opened(lane)
    async with notebooks._boxes.using(box):
        pass
    await notebooks.open(box, NotebookRequest())
    lane.boxes[0].begin = "failed"
    with pytest.raises(Unavailable) as caught:
        await notebooks.open(box, NotebookRequest())
    assert fault(caught.value) == "infra"


async def test_a_start_in_a_box_that_begins_with_its_callers_files_proves_nothing() -> None:
    lane = Lane("ready", Busy("full"))
    notebooks, box = await opened(lane, files={"a": "b"})
    await notebooks.open(box, NotebookRequest())
    lane.boxes[0].begin = "failed"
    with pytest.raises(Unavailable):
        await notebooks.open(box, NotebookRequest())


async def test_a_start_that_a_control_run_has_shown_is_remembered() -> None:
    lane = Lane("failed", "ready", Busy("full"))
    notebooks, box = await opened(lane)
    for _ in range(2):
        with pytest.raises(NotebookEnded) as caught:
            await notebooks.open(box, NotebookRequest())
        assert fault(caught.value) == "policy"


async def test_a_kernel_that_was_late_is_started_once_more_before_anyone_is_blamed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Flake: a cold disk, from which the first kernel's files come slowly, and the control run's do not."""
    monkeypatch.setattr("rewarden_server.boxes.notebooks.START_S", 0.05)
    lane = Lane("silent", "ready")
    notebooks, box = await opened(lane)
    lane.boxes[0].later = "ready"
    assert (await notebooks.open(box, NotebookRequest())).state == "idle"
    assert len(lane.boxes) == 2


async def test_a_kernel_that_is_late_again_is_stopped_by_the_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Attack: SIGSTOP to the driver while it starts."""
    for name in ("START_S", "RESTART_S"):
        monkeypatch.setattr(f"rewarden_server.boxes.notebooks.{name}", 0.05)
    error = await refusal(Lane("silent", "ready"))
    assert (type(error), fault(error)) == (NotebookEnded, "policy")


async def test_a_full_host_where_none_has_started_proves_nothing() -> None:
    error = await refusal(Lane("failed", Busy("full")))
    assert (type(error), fault(error)) == (Unavailable, "infra")
    assert "cannot be determined" in error.message


async def test_the_control_box_is_of_the_same_kind() -> None:
    lane, tasks = Lane("failed", "ready"), Tasks()
    limits = BoxLimits(memory_mb=300)
    caller = {"OF": "caller", "X": "1"}
    notebooks, box = await opened(lane, tasks, task="t", env=caller, limits=limits, network=("packages.example",))
    with pytest.raises(NotebookEnded):
        await notebooks.open(box, NotebookRequest(cwd="/app"))
    policys, control = lane.boxes
    assert control.spec == replace(policys.spec, label=f"{policys.spec.label}-control")
    assert (control.spec.env, control.spec.network) == (caller, ("packages.example",))
    assert tasks.filled == [policys, control]
    assert (control.execs, control.left, policys.left) == (policys.execs, True, True)


# --- one that has ended --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("begin", "kind", "whose"), [("ready", NotebookEnded, "policy"), ("failed", Unavailable, "infra")]
)
async def test_a_restart_that_fails_is_judged_by_a_control_run(
    begin: str, kind: type[RequestError], whose: str
) -> None:
    notebooks, box = await opened(Lane("ready", begin, driver=broken))
    number = (await notebooks.open(box, NotebookRequest())).notebook
    with pytest.raises(kind) as caught:
        await notebooks.restart(box, number)
    assert fault(caught.value) == whose


async def test_a_fault_that_was_proven_is_not_proven_again() -> None:
    lane = Lane("ready", "ready", driver=broken)
    notebooks, box = await opened(lane)
    number = (await notebooks.open(box, NotebookRequest())).notebook
    for _ in range(3):
        with pytest.raises(NotebookEnded) as caught:
            await notebooks.restart(box, number)
        assert fault(caught.value) == "policy"
    assert len(lane.boxes) == 2


@pytest.mark.parametrize(("status", "whose"), [("internal_error", "infra"), ("runtime_error", "policy")])
async def test_a_driver_that_the_host_lost_was_not_killed_by_the_policy(status: str, whose: str) -> None:
    lane = Lane("ready", driver=lambda box, order: box.end(status))
    notebooks, box = await opened(lane)
    number = (await notebooks.open(box, NotebookRequest())).notebook
    with pytest.raises(NotebookEnded) as caught:
        await notebooks.variables(box, number)
    assert fault(caught.value) == whose


async def test_closing_a_notebook_while_its_cell_runs_is_the_callers_doing() -> None:
    begun = asyncio.Event()
    notebooks, box = await opened(Lane("ready", driver=lambda box, order: begun.set()))
    number = (await notebooks.open(box, NotebookRequest())).notebook
    running = asyncio.create_task(notebooks.run(box, number, CellRequest(code="1")))
    await begun.wait()
    await notebooks.end(box, number)
    with pytest.raises(NotebookEnded) as caught:
        await running
    assert fault(caught.value) == "caller"


class DyingBox(DrivenBox):
    """A box whose programs break a moment before it says that it was lost."""

    def __init__(self) -> None:
        super().__init__(answers)
        self.broken = asyncio.Event()

    async def exec(self, what: Any) -> Any:
        """Breaks."""
        self.broken.set()
        raise HostError("the slot is gone")

    async def wait(self) -> HostError:
        """Returns why it was lost."""
        await self.broken.wait()
        self.fault = HostError("the slot is gone")
        return self.fault


async def test_a_slot_that_dies_under_a_program_is_no_internal_error() -> None:
    lane: Any = Lane("ready")
    lane.box = lambda spec: asyncio.sleep(0, DyingBox())
    notebooks, box = await opened(lane)
    with pytest.raises(BoxEnded) as caught:
        await notebooks.open(box, NotebookRequest())
    assert caught.value.details["reason"] == "slot_lost"


# --- their number --------------------------------------------------------------------------------------------------


async def test_callers_at_the_same_time_start_no_more_notebooks_than_one_after_the_other() -> None:
    notebooks, box = await opened(Lane("ready"))
    found = await asyncio.gather(*(notebooks.open(box, NotebookRequest()) for _ in range(4)), return_exceptions=True)
    assert [type(each) for each in found].count(InvalidRequest) == 2
    assert len(box.notebooks) == 2
