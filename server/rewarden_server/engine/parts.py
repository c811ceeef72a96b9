"""The parts of the engine that every request works with."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from rewarden_server.engine.dispatch import Dispatch
from rewarden_server.engine.early import Early
from rewarden_server.engine.lanes.boxes import BoxLane
from rewarden_server.engine.lanes.judges import JudgeLane
from rewarden_server.engine.lanes.lean import LeanLane
from rewarden_server.engine.lanes.models import ModelLane
from rewarden_server.engine.lanes.sandbox import SandboxLane
from rewarden_server.engine.observer import Observer
from rewarden_server.engine.plan import Planner
from rewarden_server.engine.rechecks import Rechecks
from rewarden_server.engine.tap import OpenTap
from rewarden_server.observe.record import Recorder


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """orchestrations: has one permit for each orchestrator that may be at work. early: None if nobody wants advice on
    early answers.
    """

    planner: Planner
    dispatch: Dispatch
    sandbox: SandboxLane
    boxes: BoxLane
    lean: LeanLane
    judges: JudgeLane
    models: ModelLane
    observer: Observer
    recorder: Recorder | None
    orchestrations: asyncio.Semaphore
    rechecks: Rechecks
    early: Early | None = None
    open_tap: OpenTap | None = None
